//! `Scalar`: a 0-d result that may not be there yet. It answers like the NumPy scalar it stands for; what it
//! does not know itself it asks that scalar, which forces the value.

use crate::handle::{self, Scalar};
use crate::index::{Item, copy_as, parse};
use crate::layout::CopyArg;
use crate::numpy_api::api;
use crate::protocols;
use crate::{convert, create};
use numloom_ir::view::Order;
use numloom_ir::{DType, Dims, Value, View};
use pyo3::exceptions::{PyAttributeError, PyIndexError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyTuple};
use std::ffi::c_int;

/// The value; a sync point.
fn value(slf: &Bound<'_, Scalar>) -> PyResult<Value> {
    let array = slf.borrow().array.clone();
    convert::value_of(slf.py(), &array)
}

/// The NumPy scalar this one stands for.
pub fn numpy_scalar(slf: &Bound<'_, Scalar>) -> PyResult<Py<PyAny>> {
    api(slf.py()).make_scalar(slf.py(), &value(slf)?)
}

fn bound_scalar<'py>(slf: &Bound<'py, Scalar>) -> PyResult<Bound<'py, PyAny>> {
    Ok(numpy_scalar(slf)?.into_bound(slf.py()))
}

fn number<'py>(slf: &Bound<'py, Scalar>) -> PyResult<Bound<'py, PyAny>> {
    Ok(convert::value_to_py(slf.py(), &value(slf)?)?.into_bound(slf.py()))
}

#[pymethods]
impl Scalar {
    #[classattr]
    #[allow(non_upper_case_globals)]
    const __array_priority__: f64 = -1_000_000.0;

    /// Code that makes a number of the class of another, as `statistics.mean` does.
    #[new]
    fn new(value: &Bound<'_, PyAny>) -> PyResult<Scalar> {
        let view = View::dense(DType::F64, &Dims::new(), Order::C);
        Ok(Scalar { array: create::filled(value.py(), view, Value::from_f64(DType::F64, value.extract()?))? })
    }

    /// NumPy's scalar type, so that `isinstance` holds for it and its bases.
    #[getter]
    fn __class__(&self, py: Python<'_>) -> Py<PyAny> {
        api(py).scalar_type(self.array.view.dtype).clone_ref(py)
    }

    #[getter]
    fn dtype(&self, py: Python<'_>) -> Py<PyAny> {
        convert::dtype_to_py(py, self.array.view.dtype)
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        PyTuple::empty(py)
    }

    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        PyTuple::empty(py)
    }

    #[getter]
    fn ndim(&self) -> usize {
        0
    }

    #[getter]
    fn size(&self) -> usize {
        1
    }

    #[getter]
    fn itemsize(&self) -> usize {
        self.array.view.dtype.size()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.array.view.dtype.size()
    }

    #[getter]
    fn device(&self) -> &'static str {
        "cpu"
    }

    #[getter(T)]
    fn t(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[getter]
    fn real(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        part(slf, 0)
    }

    #[getter]
    fn imag(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        part(slf, 1)
    }

    #[pyo3(signature = (*args))]
    fn item<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        if args.is_empty() { number(slf) } else { bound_scalar(slf)?.call_method1("item", args) }
    }

    fn tolist<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        number(slf)
    }

    #[pyo3(signature = (dtype, **kwargs))]
    fn astype<'py>(
        slf: &Bound<'py, Self>,
        dtype: &Bound<'py, PyAny>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let array = slf.borrow().array.clone();
        match convert::dtype_from_py(dtype) {
            Ok(d) if kwargs.is_none() && (d.is_complex() || !array.view.dtype.is_complex()) => {
                let made = copy_as(py, &array, array.view.dense_like(d))?;
                Ok(handle::wrap_result(py, made)?.into_bound(py))
            }
            _ => bound_scalar(slf)?.call_method("astype", (dtype,), kwargs),
        }
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        let v = value(slf)?;
        numloom_profile::record::values_read(1);
        crate::assign::warn_complex(slf.py(), v.dtype, DType::F64)?;
        Ok(v.to_f64())
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let v = value(slf)?;
        if v.dtype.is_complex() {
            return bound_scalar(slf)?.call_method0("__int__");
        }
        number(slf)?.call_method0("__int__")
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyComplex>> {
        let v = value(slf)?;
        Ok(PyComplex::from_doubles(slf.py(), v.to_f64(), v.imag()))
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(value(slf)?.cast(DType::Bool).bytes[0] != 0)
    }

    fn __index__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if !slf.borrow().array.view.dtype.is_integer() {
            let name = bound_scalar(slf)?.get_type().fully_qualified_name()?;
            return Err(PyTypeError::new_err(format!("'{name}' object cannot be interpreted as an integer")));
        }
        number(slf)
    }

    #[pyo3(signature = (ndigits=None))]
    fn __round__<'py>(slf: &Bound<'py, Self>, ndigits: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        // As a function, which knows what cannot be rounded.
        let round = slf.py().import("builtins")?.getattr("round")?;
        match ndigits {
            Some(n) => round.call1((bound_scalar(slf)?, n)),
            None => round.call1((bound_scalar(slf)?,)),
        }
    }

    fn __trunc__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        bound_scalar(slf)?.call_method0("__trunc__")
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        bound_scalar(slf)?.hash()
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Ok(bound_scalar(slf)?.repr()?.into_any())
    }

    fn __str__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Ok(bound_scalar(slf)?.str()?.into_any())
    }

    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bound_scalar(slf)?.call_method1("__format__", (spec,))
    }

    fn __getitem__(slf: &Bound<'_, Self>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if index.cast::<PyTuple>().is_ok_and(|t| t.is_empty()) {
            return Ok(slf.clone().into_any().unbind());
        }
        let (items, _) = parse(index)?;
        if !items.iter().all(|i| matches!(i, Item::Ellipsis | Item::NewAxis | Item::Flag(_))) {
            return Err(PyIndexError::new_err("invalid index to scalar variable."));
        }
        let array = slf.borrow().array.clone();
        let own = handle::wrap(py, copy_as(py, &array, array.view.clone())?)?;
        Ok(own.bind(py).get_item(index)?.unbind())
    }

    #[pyo3(signature = (dtype=None, copy=CopyArg::default()))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: CopyArg,
    ) -> PyResult<Bound<'py, PyAny>> {
        let copy = copy.0;
        let array = slf.borrow().array.clone();
        // The value may not be changed through the array.
        let view = protocols::to_numpy(slf.py(), &array, false)?;
        protocols::array_protocol(view, dtype, if copy.is_none() && dtype.is_none() { Some(true) } else { copy })
    }

    /// The bytes of a copy, which may be written: NumPy makes its arrays of us through it.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyValueError::new_err("NULL view in getbuffer"));
        }
        (*view).obj = std::ptr::null_mut();
        let py = slf.py();
        let copy = api(py).numpy(py).call_method1("array", (bound_scalar(&slf)?,))?;
        if ffi::PyObject_GetBuffer(copy.as_ptr(), view, flags) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        bound_scalar(slf)?.call_method0("__reduce__")
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// What only NumPy's scalar has.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        // Special methods are looked up by duck-typing protocols we do not take part in.
        if name.starts_with("__") && name.ends_with("__") {
            return Err(PyAttributeError::new_err(format!("'numloom.Scalar' object has no attribute '{name}'")));
        }
        bound_scalar(slf)?.getattr(name)
    }
}

/// The real (0) or imaginary (1) part, still deferred.
fn part(slf: &Bound<'_, Scalar>, which: usize) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    let array = slf.borrow().array.clone();
    let dtype = array.view.dtype;
    if dtype.is_complex() {
        let mut view = array.view.clone();
        view.dtype = dtype.real();
        view.offset += which * view.dtype.size();
        return handle::wrap_result(py, array.with_view(view));
    }
    if which == 0 {
        return Ok(slf.clone().into_any().unbind());
    }
    api(py).make_scalar(py, &Value::from_i128(dtype, 0))
}
