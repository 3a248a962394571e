//! What `task.rs` needs, over `loom`.

pub use loom::sync::atomic;

use self::atomic::{AtomicBool, Ordering};
use loom::sync::MutexGuard;

pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

/// Orders what `set` saw before what follows a `get` that finds it, as that of the standard library does.
pub struct OnceLock<T> {
    is_set: AtomicBool,
    value: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    pub fn new() -> OnceLock<T> {
        OnceLock { is_set: AtomicBool::new(false), value: std::sync::OnceLock::new() }
    }

    pub fn get(&self) -> Option<&T> {
        if self.is_set.load(Ordering::Acquire) { self.value.get() } else { None }
    }

    pub fn set(&self, value: T) -> Result<(), T> {
        let answer = self.value.set(value);
        self.is_set.store(true, Ordering::Release);
        answer
    }
}
