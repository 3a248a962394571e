//! The two classes Python holds: `ndarray`, and `Scalar`, a 0-d result standing in for a NumPy scalar.

use crate::numpy_api::api;
use crate::{convert, errors, object};
use numloom_ir::View;
use numloom_runtime::{Array, record};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

#[pyclass(name = "ndarray", module = "numloom", subclass, weakref)]
pub struct NdArray {
    pub array: Array,
    pub writeable: bool,
    /// The array this one is a view of, or whatever owns the memory.
    pub base: Option<Py<PyAny>>,
    /// Set once the address was given away with no way to see when it is let go.
    pub exported: Option<Py<PyAny>>,
}

impl NdArray {
    /// An array that owns its data.
    pub fn owning(array: Array) -> NdArray {
        NdArray { array, writeable: true, base: None, exported: None }
    }
}

// A mapping, so that its `__getitem__` does not make it iterable.
#[pyclass(name = "Scalar", module = "numloom", weakref, mapping)]
pub struct Scalar {
    pub array: Array,
}

/// A new `ndarray` that owns its data.
#[inline]
pub fn wrap(py: Python<'_>, array: Array) -> PyResult<Py<PyAny>> {
    object::make(py, array, true, None)
}

/// What a function returns: an `ndarray`, or for 0-d a `Scalar`, and NumPy's own scalar if the value is
/// already there.
#[inline]
pub fn wrap_result(py: Python<'_>, array: Array) -> PyResult<Py<PyAny>> {
    if array.view.ndim() > 0 {
        return wrap(py, array);
    }
    if record::is_ready(&array) {
        return api(py).make_scalar(py, &convert::ready_value(py, &array)?);
    }
    Ok(Py::new(py, Scalar { array })?.into_any())
}

/// A view of `parent`: as writeable as it, and with the same base.
pub fn wrap_view(parent: &Bound<'_, NdArray>, array: Array) -> PyResult<Py<PyAny>> {
    wrap_part(parent.py(), parent, &parent.borrow(), array)
}

/// `wrap_view` for a parent whose contents are at hand.
#[inline]
pub fn wrap_part(py: Python<'_>, parent: &Bound<'_, NdArray>, contents: &NdArray, array: Array) -> PyResult<Py<PyAny>> {
    object::make(py, array, contents.writeable, Some(base_of(py, parent, contents)))
}

/// As in NumPy, the base of a view of a view is the array that owns the data.
#[inline]
fn base_of(py: Python<'_>, parent: &Bound<'_, NdArray>, contents: &NdArray) -> Py<PyAny> {
    match &contents.base {
        // SAFETY: any object has a type.
        Some(b) if unsafe { pyo3::ffi::Py_TYPE(b.as_ptr()) } == object::class() => b.clone_ref(py),
        Some(b) if b.bind(py).is_instance_of::<NdArray>() => b.clone_ref(py),
        _ => parent.clone().unbind().into_any(),
    }
}

/// A view of `parent` that differs by what `change` does to its layout.
#[inline]
pub fn wrap_changed(
    py: Python<'_>,
    parent: &Bound<'_, NdArray>,
    contents: &NdArray,
    change: impl FnOnce(&mut View),
) -> PyResult<Py<PyAny>> {
    let base = base_of(py, parent, contents);
    object::make_like(py, contents, base, change)
}

/// The object as an `ndarray` of ours (or a subclass).
#[inline]
pub fn as_ndarray<'a, 'py>(obj: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, NdArray>> {
    obj.cast::<NdArray>().ok()
}

#[inline]
pub fn as_scalar<'a, 'py>(obj: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, Scalar>> {
    obj.cast_exact::<Scalar>().ok()
}

/// The array of a handle with its shape known; forcing it is a sync point for data-dependent lengths.
pub fn sized(handle: &Bound<'_, NdArray>) -> PyResult<Array> {
    let mut array = handle.borrow().array.clone();
    if array.symbol().is_some() {
        errors::resolve(handle.py(), &mut array)?;
        // Another thread may be reading the handle; then the next one to ask keeps the length.
        if let Ok(mut h) = handle.try_borrow_mut() {
            h.array = array.clone();
        }
    }
    Ok(array)
}

/// Refuses a class that is derived from ours as the class of a view: results would be of our class all the same. Classes derived from NumPy's are
/// NumPy's business.
pub fn refuse_derived(class: &Bound<'_, PyAny>) -> PyResult<()> {
    let Ok(class) = class.cast::<PyType>() else { return Ok(()) };
    let ours = class.py().get_type::<NdArray>();
    if class.is(&ours) || !class.is_subclass(&ours)? {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "{} is derived from numloom.ndarray, whose operations give arrays of that class alone; derive it from numpy.ndarray: \
         numloom's functions take such arrays and leave them to NumPy",
        class.name()?
    )))
}

/// Whether this is an array of ours, whatever `isinstance` says.
#[pyfunction]
pub fn is_ours(x: &Bound<'_, PyAny>) -> bool {
    x.is_instance_of::<NdArray>()
}

/// Makes `class`, which is derived from `type` and adds nothing to its objects, the class of `ndarray`.
#[pyfunction]
pub fn set_array_type(class: &Bound<'_, PyType>) -> PyResult<()> {
    let py = class.py();
    let (array, plain) = (py.get_type::<NdArray>(), py.get_type::<PyType>());
    let size = |c: &Bound<'_, PyType>| c.getattr("__basicsize__")?.extract::<usize>();
    if !class.is_subclass(&plain)? || size(class)? != size(&plain)? || !array.get_type().is(&plain) {
        return Err(PyTypeError::new_err("not a class that ndarray can have"));
    }
    // SAFETY: a type object of the same size and fields as before, which is never freed, nor is its new class.
    unsafe { (*array.as_ptr()).ob_type = class.clone().into_ptr().cast() };
    Ok(())
}
