//! Where in the user's program an operation was recorded: the innermost Python frame outside this package.
//!
//! A provenance is (index of an interned code object, byte offset of the instruction). Code objects are kept
//! alive by the table, so an index never changes its meaning; text is made only when somebody asks.

use crate::fperr;
use numloom_runtime::Provenance;
use parking_lot::Mutex;
use pyo3::ffi;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use std::ffi::c_int;
use std::sync::OnceLock;

// Public since 3.9 and 3.11 and unchanged, though not in the limited API's headers.
unsafe extern "C" {
    fn PyFrame_GetBack(frame: *mut ffi::PyFrameObject) -> *mut ffi::PyFrameObject;
    fn PyFrame_GetLasti(frame: *mut ffi::PyFrameObject) -> c_int;
}

struct Code {
    /// A strong reference, never released.
    object: *mut ffi::PyObject,
    internal: bool,
}

struct Table {
    codes: Vec<Code>,
    index: FxHashMap<usize, u32>,
    last: (usize, u32),
}

// SAFETY: the pointers are only dereferenced while attached to the interpreter.
unsafe impl Send for Table {}

static TABLE: OnceLock<Mutex<Table>> = OnceLock::new();
/// Frames of files under this folder are ours, not the user's.
static PACKAGE: OnceLock<String> = OnceLock::new();

fn table() -> &'static Mutex<Table> {
    TABLE.get_or_init(|| {
        // Index 0 is "no Python frame".
        let nowhere = Code { object: std::ptr::null_mut(), internal: true };
        Mutex::new(Table { codes: vec![nowhere], index: FxHashMap::default(), last: (0, 0) })
    })
}

/// The folder of the package, once it is imported.
fn package_folder(py: Python<'_>) -> Option<&'static str> {
    if let Some(folder) = PACKAGE.get() {
        return Some(folder);
    }
    let modules = py.import("sys").and_then(|s| s.getattr("modules")).ok()?;
    let file: String = modules.get_item("numloom").ok()?.getattr("__file__").ok()?.extract().ok()?;
    let folder = file.rsplit_once(std::path::MAIN_SEPARATOR)?.0;
    Some(PACKAGE.get_or_init(|| format!("{folder}{}", std::path::MAIN_SEPARATOR)))
}

/// The user's place right now.
pub fn here(py: Python<'_>) -> Provenance {
    // SAFETY: attached; frames walked by PyFrame_GetBack are owned and released, the first one is borrowed.
    unsafe {
        let mut frame = ffi::PyEval_GetFrame();
        let mut owned = false;
        let mut found = Provenance::default();
        while !frame.is_null() {
            let code = ffi::PyFrame_GetCode(frame).cast::<ffi::PyObject>();
            let (index, internal) = intern(py, code);
            ffi::Py_DECREF(code);
            found = Provenance { code: index, at: PyFrame_GetLasti(frame).max(0) as u32 };
            if !internal {
                break;
            }
            let back = PyFrame_GetBack(frame);
            if owned {
                ffi::Py_DECREF(frame.cast());
            }
            frame = back;
            owned = true;
        }
        if owned && !frame.is_null() {
            ffi::Py_DECREF(frame.cast());
        }
        found
    }
}

unsafe fn intern(py: Python<'_>, code: *mut ffi::PyObject) -> (u32, bool) {
    let key = code as usize;
    {
        let mut t = table().lock();
        if t.last.0 == key {
            let i = t.last.1;
            return (i, t.codes[i as usize].internal);
        }
        if let Some(&i) = t.index.get(&key) {
            t.last = (key, i);
            return (i, t.codes[i as usize].internal);
        }
    }
    // Reading the file name runs Python, so it is done outside the lock.
    let file: String =
        Bound::from_borrowed_ptr(py, code).getattr("co_filename").and_then(|f| f.extract()).unwrap_or_default();
    let internal = package_folder(py).is_some_and(|p| file.starts_with(p));
    let mut t = table().lock();
    let next = t.codes.len() as u32;
    let i = *t.index.entry(key).or_insert(next);
    if i == next {
        ffi::Py_INCREF(code);
        t.codes.push(Code { object: code, internal });
    }
    t.last = (key, i);
    (i, internal)
}

/// A provenance in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub function: String,
}

/// File, line and function; `None` for operations that no Python frame recorded.
pub fn text(py: Python<'_>, p: Provenance) -> Option<Place> {
    let p = fperr::place(p);
    let object = table().lock().codes.get(p.code as usize)?.object;
    if object.is_null() {
        return None;
    }
    // SAFETY: the table keeps the code object alive.
    let code = unsafe { Bound::from_borrowed_ptr(py, object) };
    read_place(&code, p.at).ok()
}

fn read_place(code: &Bound<'_, PyAny>, at: u32) -> PyResult<Place> {
    let file = code.getattr("co_filename")?.extract()?;
    let function = code.getattr("co_qualname")?.extract()?;
    let mut line: u32 = code.getattr("co_firstlineno")?.extract()?;
    for row in code.call_method0("co_lines")?.try_iter()? {
        let (start, end, here): (u32, u32, Option<u32>) = row?.extract()?;
        if start <= at && at < end {
            line = here.unwrap_or(line);
            break;
        }
    }
    Ok(Place { file, line, function })
}

/// `FILE:LINE`, or `?` when nobody knows.
pub fn line(py: Python<'_>, p: Provenance) -> String {
    text(py, p).map_or_else(|| "?".to_owned(), |at| format!("{}:{}", at.file, at.line))
}
