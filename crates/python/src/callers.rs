//! Libraries that know NumPy's arrays and nothing else, told by the file and the function that is running.
//!
//! What they compute of our arrays with NumPy's functions they hand on to code in C, which takes NumPy's arrays alone; so
//! they get those. And where they ask `isinstance(x, numpy.ndarray)` to tell an array from a list, or a mask from labels,
//! the answer is yes. That is a table of functions and not an answer for all: most code that asks does so to convert what
//! is none, which must go on.

use parking_lot::Mutex;
use pyo3::ffi;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Packages whose calls of NumPy's functions give NumPy's arrays.
const LIBRARIES: [&str; 4] = ["scipy/", "sklearn/", "pandas/", "pyarrow/"];

/// Functions that tell arrays from other things, by file.
const ASKING: &[(&str, &[&str])] = &[
    ("pandas/core/common.py", &["is_bool_indexer"]),
    ("pandas/core/dtypes/common.py", &["is_array_like_deprecate_non_pandas"]),
    ("pandas/core/groupby/grouper.py", &["__init__", "get_grouper", "is_in_axis", "_convert_grouper", "<genexpr>"]),
    ("pandas/core/frame.py", &["_align_for_op", "set_index", "__setitem__", "_setitem_frame"]),
    ("pandas/core/algorithms.py", &["_ensure_arraylike", "factorize", "unique_with_mask"]),
    ("pandas/core/arraylike.py", &["array_ufunc"]),
    ("scipy/sparse/_sputils.py", &["isdense"]),
    ("scipy/sparse/linalg/_interface.py", &["aslinearoperator"]),
    ("scipy/linalg/interpolative.py", &["_as_linear_operator", "svd", "estimate_rank", "interp_decomp"]),
    ("scipy/signal/_peak_finding.py", &["_unpack_condition_args"]),
    ("sklearn/model_selection/_search.py", &["__init__"]),
    ("sklearn/utils/_param_validation.py", &["is_satisfied_by"]),
];

#[derive(Clone, Copy, Default)]
struct Caller {
    is_library: bool,
    asks: bool,
}

/// Code objects that are remembered; a program may make new ones without end.
const MOST: usize = 1 << 14;

/// What is known of code objects, which are kept: an address never changes its meaning.
static KNOWN: OnceLock<Mutex<FxHashMap<usize, Caller>>> = OnceLock::new();

fn judged(code: &Bound<'_, PyAny>) -> PyResult<Caller> {
    let file: String = code.getattr("co_filename")?.extract()?;
    let name: String = code.getattr("co_name")?.extract()?;
    let file = file.replace(std::path::MAIN_SEPARATOR, "/");
    let inside =
        ["site-packages/", "dist-packages/"].iter().find_map(|folder| file.rsplit_once(folder)).map(|(_, f)| f);
    Ok(inside.map_or(Caller::default(), |file| Caller {
        is_library: LIBRARIES.iter().any(|l| file.starts_with(l)),
        asks: ASKING.iter().any(|(f, names)| *f == file && names.contains(&name.as_str())),
    }))
}

/// The Python function that is running.
fn caller(py: Python<'_>) -> Caller {
    // SAFETY: attached; the frame is borrowed, its code a new reference.
    let code = unsafe {
        let frame = ffi::PyEval_GetFrame();
        if frame.is_null() {
            return Caller::default();
        }
        Bound::from_owned_ptr(py, ffi::PyFrame_GetCode(frame).cast())
    };
    let known = KNOWN.get_or_init(Mutex::default);
    let key = code.as_ptr() as usize;
    if let Some(&found) = known.lock().get(&key) {
        return found;
    }
    let found = judged(&code).unwrap_or_default();
    let mut known = known.lock();
    if known.len() < MOST {
        known.insert(key, found);
        std::mem::forget(code);
    }
    found
}

/// Whether a function asks that takes our arrays as it takes NumPy's.
pub fn asks_for_arrays(py: Python<'_>) -> bool {
    caller(py).asks
}

/// Whether a library calls that wants NumPy's arrays.
pub fn is_library(py: Python<'_>) -> bool {
    caller(py).is_library
}
