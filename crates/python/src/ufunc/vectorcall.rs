//! `np.add(a, b)` and `np.add(a, b, out=c)` of arrays of ours without a tuple of arguments, as `slots` does it.

use super::products::Product;
use super::{Kind, Ufunc};
use crate::bare::PyObject_Vectorcall;
use crate::numpy_api::api;
use crate::quick;
use crate::slots::{self, answer, held, tried};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// `tp_call` as PyO3 made it.
static CALL: AtomicUsize = AtomicUsize::new(0);

/// Makes Python call ufuncs through `vectorcall`.
pub fn install(sample: &Bound<'_, Ufunc>) {
    let class = sample.get_type();
    if let Some(mut raw) = slots::RawType::of(&class) {
        let at = &raw const sample.get().vectorcall as usize - sample.as_ptr() as usize;
        // SAFETY: as in `slots::install`.
        CALL.store(unsafe { raw.as_mut() }.call_through(at), Relaxed);
    }
}

/// The number of positional arguments; the highest bit says that there is room before them.
fn count(nargs: usize) -> usize {
    nargs & (usize::MAX >> 1)
}

pub unsafe extern "C" fn vectorcall(
    callable: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    nargs: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let py = Python::assume_attached();
    let n = count(nargs);
    let this = held(py, callable).cast_unchecked::<Ufunc>();
    if let Kind::Scalar(op) = this.get().kind
        && n == op.nin()
        && (n == 1 || n == 2)
    {
        let arg = |i: usize| held(py, *args.add(i));
        if op.nout() == 2 {
            let second = (n == 2).then(|| arg(1));
            if names.is_null()
                && let Some(done) = tried(|| quick::pair(op, &arg(0), second.as_deref()))
            {
                return answer(py, done);
            }
        } else if names.is_null() {
            let done = tried(|| match n {
                1 => quick::unary(op, &arg(0)),
                _ => quick::binary(op, &arg(0), &arg(1)),
            });
            if let Some(done) = done {
                return answer(py, done);
            }
        } else if is_out_alone(names) {
            let out = arg(n);
            let second = (n == 2).then(|| arg(1));
            if let Some(done) = tried(|| quick::into(op, &arg(0), second.as_deref(), &out)) {
                return answer(py, done.map(|()| out.to_owned().unbind()));
            }
        }
    }
    // Numbers alone are NumPy's: what its ufunc does with them takes less time than an array of them.
    if names.is_null()
        && n > 0
        && (0..n).all(|i| is_number(&held(py, *args.add(i))))
        && let Ok(numpy) = this.get().of_numpy_itself(py)
    {
        return PyObject_Vectorcall(numpy.as_ptr(), args, nargs, names);
    }
    if let Kind::Product(Product::MatMul) = this.get().kind
        && n == 2
        && names.is_null()
        && let Some(done) = tried(|| quick::dot(&held(py, *args), &held(py, *args.add(1))))
    {
        return answer(py, done);
    }
    call_in_full(callable, args, n, names)
}

/// A number of Python's or NumPy's.
fn is_number(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_exact_instance_of::<PyFloat>() || obj.is_exact_instance_of::<PyInt>() || api(obj.py()).is_scalar(obj)
}

unsafe fn is_out_alone(names: *mut ffi::PyObject) -> bool {
    ffi::PyTuple_Size(names) == 1
        && ffi::PyUnicode_CompareWithASCIIString(ffi::PyTuple_GetItem(names, 0), c"out".as_ptr()) == 0
}

/// The call with a tuple and a dictionary.
unsafe fn call_in_full(
    callable: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let tuple = ffi::PyTuple_New(n as isize);
    if tuple.is_null() {
        return tuple;
    }
    for i in 0..n {
        let item = *args.add(i);
        ffi::Py_IncRef(item);
        ffi::PyTuple_SetItem(tuple, i as isize, item);
    }
    let mut keywords = std::ptr::null_mut();
    if !names.is_null() {
        keywords = ffi::PyDict_New();
        for i in 0..ffi::PyTuple_Size(names) {
            let name = ffi::PyTuple_GetItem(names, i);
            if keywords.is_null() || ffi::PyDict_SetItem(keywords, name, *args.add(n + i as usize)) != 0 {
                ffi::Py_DecRef(tuple);
                ffi::Py_DecRef(keywords);
                return std::ptr::null_mut();
            }
        }
    }
    let call: ffi::ternaryfunc = std::mem::transmute(CALL.load(Relaxed));
    let result = call(callable, tuple, keywords);
    ffi::Py_DecRef(tuple);
    ffi::Py_DecRef(keywords);
    result
}
