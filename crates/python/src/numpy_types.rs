//! NumPy's own types given our arrays: `np.uint8(x)` is `x.astype(np.uint8, copy=False)` and stays in the runtime, where
//! NumPy itself would bring the elements to the host and answer an array of its own, without a word; a scalar or an array of
//! NumPy's on the left of an operator goes straight to ours (`operator_slots`).
//!
//! The types are NumPy's (`x.dtype.type is np.uint8` must hold), so their functions are replaced in place; calls without an
//! array of ours go on to what was there. Where a type's fields lie elsewhere (see `slots`), it is left alone.

use crate::numpy_api::api;
use crate::object;
use crate::operator_slots;
use crate::slots::{RawType, answer, held, tried};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

macro_rules! scalar_types {
    ($($number:literal $name:literal)*) => {
        /// Lets NumPy's types take our arrays.
        pub fn install(py: Python<'_>) -> PyResult<()> {
            let numpy = api(py).numpy(py);
            operator_slots::install::<ARRAY>(&numpy.getattr(intern!(py, "ndarray"))?.cast_into::<PyType>()?);
            $({
                static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

                unsafe extern "C" fn make(
                    class: *mut ffi::PyTypeObject,
                    args: *mut ffi::PyObject,
                    named: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    let py = Python::assume_attached();
                    match tried(|| cast(py, class, args, named)) {
                        Some(done) => answer(py, done),
                        None => std::mem::transmute::<usize, ffi::newfunc>(ORIGINAL.load(Relaxed))(class, args, named),
                    }
                }

                let class = numpy.getattr(intern!(py, $name))?.cast_into::<PyType>()?;
                replace(&class, &ORIGINAL, make)?;
                operator_slots::install::<$number>(&class);
            })*
            Ok(())
        }
    };
}

/// The number of NumPy's `ndarray` in `operator_slots`; those of the scalar types stand before their names.
const ARRAY: usize = 17;

// Every class once; `single`, `intp` and the like are other names of these.
scalar_types! {
    1 "bool_" 2 "int8" 3 "int16" 4 "int32" 5 "int64" 6 "longlong" 7 "uint8" 8 "uint16" 9 "uint32" 10 "uint64"
    11 "ulonglong" 12 "float16" 13 "float32" 14 "float64" 15 "complex64" 16 "complex128"
}

/// Puts `make` where `class` and the classes that took over its way of making objects have another.
fn replace(class: &Bound<'_, PyType>, original: &AtomicUsize, make: ffi::newfunc) -> PyResult<()> {
    let Some(mut raw) = RawType::of(class) else { return Ok(()) };
    // SAFETY: checked there; the interpreter's lock is held, so nobody makes an object meanwhile.
    let field = unsafe { raw.as_mut() }.make();
    let Some(was) = *field else { return Ok(()) };
    let first = original.compare_exchange(0, was as usize, Relaxed, Relaxed).is_ok();
    if !first && was as usize != original.load(Relaxed) {
        return Ok(());
    }
    *field = Some(make);
    // Python refuses `Base.__new__(Derived)` where the two disagree about the function.
    let derived = class.call_method0(intern!(class.py(), "__subclasses__"))?.cast_into::<PyList>()?;
    derived.iter().try_for_each(|d| replace(&d.cast_into::<PyType>()?, original, make))
}

/// The array given as the only argument, cast to the scalar type `class`; `None` when it is not that.
unsafe fn cast(
    py: Python<'_>,
    class: *mut ffi::PyTypeObject,
    args: *mut ffi::PyObject,
    named: *mut ffi::PyObject,
) -> Option<PyResult<Py<PyAny>>> {
    if !named.is_null() || ffi::PyTuple_Size(args) != 1 {
        return None;
    }
    let given = ffi::PyTuple_GetItem(args, 0);
    let array = object::contents(given)?;
    // One element becomes a scalar; a class derived from a scalar type is not one.
    if (*array).array.view.ndim() == 0 || api(py).dtype_of_scalar_type(class).is_none() {
        return None;
    }
    let cast = || {
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "copy"), false)?;
        held(py, given).call_method(intern!(py, "astype"), (held(py, class.cast()),), Some(&keywords))
    };
    Some(cast().map(Bound::unbind))
}
