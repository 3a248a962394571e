//! Names and shapes as numbers: given once, the same for all threads and sessions. A thread remembers those it has asked
//! for, so that the lock is taken for new ones only.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::LazyLock;

#[derive(Default)]
struct Names {
    numbers: FxHashMap<String, u32>,
    texts: Vec<String>,
}

impl Names {
    fn number(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&n) = self.numbers.get(text) {
            return n;
        }
        self.texts.push(text.to_string());
        let n = self.texts.len() as u32;
        self.numbers.insert(text.to_string(), n);
        n
    }

    fn text(&self, number: u32) -> String {
        number.checked_sub(1).and_then(|n| self.texts.get(n as usize)).cloned().unwrap_or_default()
    }
}

/// Names of operations, few, and all other texts.
static NAMES: LazyLock<Mutex<Names>> = LazyLock::new(Mutex::default);
static TEXTS: LazyLock<Mutex<Names>> = LazyLock::new(Mutex::default);

thread_local! {
    static KNOWN: RefCell<FxHashMap<usize, u16>> = RefCell::default();
    static SHAPES: RefCell<FxHashMap<(usize, Vec<usize>), u32>> = RefCell::default();
}

/// The number of any text; 0 is the empty one.
pub fn number(text: &str) -> u32 {
    TEXTS.lock().number(text)
}

/// The number of a name that stands in the program itself.
pub fn known(name: &'static str) -> u16 {
    let key = name.as_ptr() as usize ^ name.len() << 48;
    KNOWN.with_borrow_mut(|known| *known.entry(key).or_insert_with(|| NAMES.lock().number(name) as u16))
}

/// The number of an array's type and extents, as `float32[1000,1000]`.
pub fn shape(dtype: &'static str, extents: &[usize]) -> u32 {
    /// Loops over ever new shapes must not fill the memory.
    const MOST: usize = 1 << 14;
    SHAPES.with_borrow_mut(|shapes| {
        let key = (dtype.as_ptr() as usize, extents.to_vec());
        if let Some(&n) = shapes.get(&key) {
            return n;
        }
        if shapes.len() >= MOST {
            return number(dtype);
        }
        let extents: Vec<String> =
            extents.iter().map(|&n| if n > isize::MAX as usize { "?".into() } else { n.to_string() }).collect();
        let n = number(&format!("{dtype}[{}]", extents.join(",")));
        shapes.insert(key, n);
        n
    })
}

/// The text of a number from `number` or `shape`.
pub fn text(number: u32) -> String {
    TEXTS.lock().text(number)
}

/// The text of a number from `known`.
pub fn known_text(number: u16) -> String {
    NAMES.lock().text(number as u32)
}

/// A text that stays as long as the process.
pub fn lasting(text: &str) -> &'static str {
    static KEPT: LazyLock<Mutex<FxHashMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    let mut kept = KEPT.lock();
    match kept.get(text) {
        Some(there) => there,
        None => {
            let stays: &'static str = Box::leak(text.to_string().into_boxed_str());
            kept.insert(text.to_string(), stays);
            stays
        }
    }
}
