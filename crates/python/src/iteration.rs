//! Iteration over the first axis: elements as NumPy scalars, rows as views. A class by hand, because what one step of
//! it does takes less time than PyO3's bookkeeping around it.

use crate::handle::{self, NdArray};
use crate::numpy_api::api;
use crate::slots::{answer, held, tried};
use crate::{convert, object, quick_index};
use numloom_ir::Value;
use numloom_runtime::record;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

#[repr(C)]
struct Iteration {
    head: ffi::PyObject,
    array: *mut ffi::PyObject,
    next: usize,
}

static CLASS: OnceLock<Py<PyType>> = OnceLock::new();

/// Makes the class; called once when the module is imported.
pub fn init(py: Python<'_>) -> PyResult<()> {
    let methods = Box::leak(Box::new([
        ffi::PyMethodDef {
            ml_name: c"__length_hint__".as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunction: length_hint },
            ml_flags: ffi::METH_NOARGS,
            ml_doc: std::ptr::null(),
        },
        ffi::PyMethodDef::zeroed(),
    ]));
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_iter, ffi::PyObject_SelfIter as *mut c_void),
        slot(ffi::Py_tp_iternext, next as *mut c_void),
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(0, std::ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"numloom._ArrayIterator".as_ptr(),
        basicsize: size_of::<Iteration>() as c_int,
        itemsize: 0,
        flags: ffi::Py_TPFLAGS_DEFAULT as u32,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the class copies the slots; the name and the methods stay.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&mut spec))? };
    let _ = CLASS.set(class.cast_into::<PyType>()?.unbind());
    Ok(())
}

/// An iterator over an array of at least one dimension, whose length is known.
pub fn begin(array: &Bound<'_, NdArray>) -> PyResult<Py<PyAny>> {
    let py = array.py();
    let class = CLASS.get().ok_or_else(|| PyRuntimeError::new_err("numloom is not imported"))?;
    // SAFETY: a new object of our class, whose fields are written before anybody sees it.
    unsafe {
        let alloc: ffi::allocfunc = std::mem::transmute(ffi::PyType_GetSlot(class.as_ptr().cast(), ffi::Py_tp_alloc));
        let made = Bound::from_owned_ptr_or_err(py, alloc(class.as_ptr().cast(), 0))?;
        let fields = made.as_ptr().cast::<Iteration>();
        (&raw mut (*fields).array).write(array.clone().into_ptr());
        (&raw mut (*fields).next).write(0);
        Ok(made.unbind())
    }
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    let class = ffi::Py_TYPE(object);
    ffi::Py_DecRef((*object.cast::<Iteration>()).array);
    let free: ffi::freefunc = std::mem::transmute(ffi::PyType_GetSlot(class, ffi::Py_tp_free));
    free(object.cast());
    ffi::Py_DecRef(class.cast());
}

/// The next element or row; null without an exception at the end.
unsafe extern "C" fn next(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let py = Python::assume_attached();
    let fields = object.cast::<Iteration>();
    let (array, at) = ((*fields).array, (*fields).next);
    let step = tried(|| {
        let quick = element(py, array, at).or_else(|| row(py, array, at));
        Some(quick.unwrap_or_else(|| part(&held(py, array), at).transpose()))
    });
    let panicked = || Some(Err(PyRuntimeError::new_err("iteration failed")));
    match step.unwrap_or_else(panicked) {
        Some(done) => {
            (*fields).next = at + 1;
            answer(py, done)
        }
        None => std::ptr::null_mut(),
    }
}

/// An element of a 1-d array that is there; `Some(None)` past the last.
#[inline]
unsafe fn element(py: Python<'_>, x: *mut ffi::PyObject, at: usize) -> Option<Option<PyResult<Py<PyAny>>>> {
    let array = &(*object::contents(x)?).array;
    let (&[n], &[step]) = (array.view.shape.as_slice(), array.view.strides.as_slice()) else { return None };
    if at >= n {
        return array.symbol().is_none().then_some(None);
    }
    // Not `read_element`, which tells the profile of indexing: the iteration was told of when it began.
    let dtype = array.view.dtype;
    let from = || Some(record::there(array)?.ptr.offset(at as isize * step));
    // What was read stays what it is: making an object may run Python code.
    let still = record::still();
    Some(Some(match dtype.size() {
        8 => {
            let bits = from()?.cast::<u64>().read_unaligned();
            drop(still);
            api(py).make_scalar_of(py, dtype, bits)
        }
        4 => {
            let bits = from()?.cast::<u32>().read_unaligned();
            drop(still);
            api(py).make_scalar_of(py, dtype, bits)
        }
        n => {
            let value = Value::from_bytes(dtype, std::slice::from_raw_parts(from()?, n));
            drop(still);
            api(py).make_scalar(py, &value)
        }
    }))
}

/// A row of an array of more dimensions whose length is known; `Some(None)` past the last.
#[inline]
unsafe fn row(py: Python<'_>, x: *mut ffi::PyObject, at: usize) -> Option<Option<PyResult<Py<PyAny>>>> {
    let this = &*object::contents(x)?;
    let view = &this.array.view;
    if this.array.symbol().is_some() || view.ndim() < 2 {
        return None;
    }
    if at >= *view.shape.first()? {
        return Some(None);
    }
    let skipped = at as isize * view.strides.first()?;
    let x = held(py, x).cast_unchecked::<NdArray>();
    Some(Some(handle::wrap_changed(py, &x, this, |view| quick_index::row(view, skipped))))
}

fn part(x: &Bound<'_, PyAny>, at: usize) -> PyResult<Option<Py<PyAny>>> {
    let (py, x) = (x.py(), x.cast::<NdArray>()?);
    let array = x.borrow().array.clone();
    if array.view.shape.first().is_none_or(|&n| at >= n) {
        return Ok(None);
    }
    let part = array.with_view(array.view.index(0, at));
    if part.view.ndim() > 0 {
        return handle::wrap_view(x, part).map(Some);
    }
    // A value enters Python here, so there is nothing to defer.
    api(py).make_scalar(py, &convert::value_of(py, &part)?).map(Some)
}

unsafe extern "C" fn length_hint(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let py = Python::assume_attached();
    let fields = &*object.cast::<Iteration>();
    let left = tried(|| {
        let x = held(py, fields.array).cast::<NdArray>().ok()?.borrow().array.view.shape.first().copied();
        Some(x?.saturating_sub(fields.next))
    });
    ffi::PyLong_FromSize_t(left.unwrap_or(0))
}
