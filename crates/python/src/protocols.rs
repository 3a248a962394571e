//! How other libraries see our arrays: NumPy views, the buffer protocol, DLPack, pickles.
//!
//! Everything goes through one door, `to_numpy`: a NumPy array over our memory whose base is an `Exporter`.
//! NumPy's own buffer and DLPack exports of that view keep it, and so the exporter, alive for as long as the
//! other side needs it.

use crate::create::asarray;
use crate::errors;
use crate::handle::{self, NdArray};
use crate::interchange;
use crate::layout::CopyArg;
use crate::methods::through_numpy;
use crate::numpy_api::api;
use numloom_runtime::Array;
use numloom_runtime::record::{self, Exposure};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::c_int;

/// How pickles are laid out: `_reconstruct(version, numpy array)`.
pub const PICKLE_VERSION: u32 = 1;

/// Keeps memory that foreign code can see: while it lives, operations on the store are not deferred.
#[pyclass(name = "_Exporter", module = "numloom", frozen)]
pub struct Exporter {
    array: Array,
    _exposure: Exposure,
}

impl Exporter {
    pub fn array(&self) -> Array {
        self.array.clone()
    }
}

/// Waits for the contents and answers the address of the first element, with what keeps it valid.
pub fn export(py: Python<'_>, array: &Array) -> PyResult<(*mut u8, Py<Exporter>)> {
    errors::sync(py, array)?;
    // Exposed memory stays where it is, so its address is asked for afterwards.
    let exporter = Py::new(py, Exporter { array: array.clone(), _exposure: record::expose(array) })?;
    let data = record::data(array).map_err(|e| errors::raise(py, e))?;
    Ok((data, exporter))
}

/// A NumPy array over our memory. The length must be known.
pub fn to_numpy<'py>(py: Python<'py>, array: &Array, writeable: bool) -> PyResult<Bound<'py, PyAny>> {
    let (data, exporter) = export(py, array)?;
    let v = &array.view;
    // SAFETY: the exporter keeps the store, and so the memory, alive.
    unsafe { api(py).make_array(py, v.dtype, &v.shape, &v.strides, data, writeable, exporter.into_any()) }
}

/// A NumPy view of an `ndarray`, as writeable as it is.
pub fn numpy_view<'py>(x: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let writeable = x.borrow().writeable;
    to_numpy(x.py(), &handle::sized(x)?, writeable)
}

/// `__array__` with its two arguments, for a NumPy view of our memory.
pub fn array_protocol<'py>(
    view: Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = view.py();
    let kwargs = PyDict::new(py);
    kwargs.set_item("dtype", dtype)?;
    kwargs.set_item("copy", copy)?;
    api(py).numpy(py).call_method("array", (view,), Some(&kwargs))
}

#[pymethods]
impl NdArray {
    #[classattr]
    #[allow(non_upper_case_globals)]
    const __array_priority__: f64 = 0.0;

    #[pyo3(signature = (dtype=None, copy=CopyArg::default()))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: CopyArg,
    ) -> PyResult<Bound<'py, PyAny>> {
        let copy = copy.0;
        let view = numpy_view(slf)?;
        if dtype.is_none() && copy != Some(true) {
            return Ok(view);
        }
        array_protocol(view, dtype, copy)
    }

    /// There is one class, so there is nothing to finish.
    #[pyo3(signature = (_obj, /))]
    fn __array_finalize__(&self, _obj: &Bound<'_, PyAny>) {}

    /// A result of NumPy's as ours.
    #[pyo3(signature = (array, context=None, return_scalar=false, /))]
    fn __array_wrap__<'py>(
        &self,
        array: &Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
        return_scalar: bool,
    ) -> PyResult<Py<PyAny>> {
        let (py, _) = (array.py(), context);
        if !api(py).is_array(array) && handle::as_ndarray(array).is_none() {
            let class = array.get_type().name()?;
            let text = format!("__array_wrap__() argument 1 must be numpy.ndarray, not {class}");
            return Err(PyTypeError::new_err(text));
        }
        let made = match asarray(array, None, CopyArg::default(), None, 0) {
            // Another dtype: the array stays NumPy's.
            Err(e) if errors::is_unsupported(py, &e) => array.clone(),
            made => made?.into_bound(py),
        };
        let is_scalar = return_scalar && made.len().is_err();
        if is_scalar { Ok(made.get_item(PyTuple::empty(py))?.unbind()) } else { Ok(made.unbind()) }
    }

    #[getter]
    fn __array_struct__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        numpy_view(slf)?.getattr("__array_struct__")
    }

    /// The address is given away for as long as this object lives.
    #[getter]
    fn __array_interface__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let view = numpy_view(slf)?;
        let exporter = api(py).base(&view).map(|b| b.cast_into::<Exporter>()).transpose()?;
        slf.borrow_mut().exported = exporter.map(|e| e.into_any().unbind());
        view.getattr("__array_interface__")
    }

    #[getter]
    fn data<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        numpy_view(slf)?.getattr("data")
    }

    #[getter]
    fn ctypes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        numpy_view(slf)?.getattr("ctypes")
    }

    /// NumPy fills in the buffer of the view; releasing it is NumPy's business too.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyValueError::new_err("NULL view in getbuffer"));
        }
        (*view).obj = std::ptr::null_mut();
        // NumPy takes an exception here for "no buffer", and asks in another way.
        let array = slf.borrow().array.clone();
        errors::look(slf.py(), &array)?;
        let numpy = numpy_view(&slf)?;
        if ffi::PyObject_GetBuffer(numpy.as_ptr(), view, flags) != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        Ok(())
    }

    #[pyo3(signature = (**kwargs), text_signature = "($self, *, stream=None, max_version=None, dl_device=None, copy=None)")]
    fn __dlpack__<'py>(slf: &Bound<'py, Self>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(on_gpu) = interchange::dlpack(slf, kwargs)? {
            return Ok(on_gpu.into_bound(slf.py()));
        }
        numpy_view(slf)?.call_method("__dlpack__", (), kwargs)
    }

    fn __dlpack_device__(&self) -> (u32, u32) {
        interchange::dlpack_device(&self.array).unwrap_or((1, 0))
    }

    /// Only arrays on a GPU have it. The memory is given away for as long as this object lives.
    #[getter]
    fn __cuda_array_interface__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let (described, keeper) = interchange::cuda_array_interface(slf)?;
        slf.borrow_mut().exported = Some(keeper.into_any());
        Ok(described)
    }

    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyModule>> {
        let known = ["2021.12", "2022.12", "2023.12", "2024.12"];
        if let Some(v) = api_version.filter(|v| !v.is_none())
            && !known.contains(&v.extract::<String>()?.as_str())
        {
            return Err(PyValueError::new_err(format!("Version \"{v}\" of the Array API Standard is not supported.")));
        }
        py.import("numloom")
    }

    /// Newer protocols take the memory itself, beside the pickle if asked to.
    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i32) -> PyResult<Bound<'py, PyTuple>> {
        if protocol < 5 {
            return Self::__reduce__(slf);
        }
        let py = slf.py();
        let rebuild = py.import("numloom._core")?.getattr("_reconstruct")?;
        (rebuild, (PICKLE_VERSION, numpy_view(slf)?)).into_pyobject(py)
    }

    /// Takes what NumPy's arrays answer as the last part of `__reduce__`.
    fn __setstate__(slf: &Bound<'_, Self>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let made = slf.py().import("numpy")?.call_method1("empty", (0,))?;
        made.call_method1("__setstate__", (state,))?;
        let array = crate::convert::own_numpy(&made)?;
        let mut own = slf.borrow_mut();
        (own.array, own.base, own.writeable) = (array, None, true);
        Ok(())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let rebuild = py.import("numloom._core")?.getattr("_reconstruct")?;
        // As NumPy: a copy keeps the order of what is dense column by column, and drops what a view does not show.
        let data = through_numpy(slf)?.call_method1("copy", ("A",))?;
        PyTuple::new(py, [rebuild, PyTuple::new(py, [PICKLE_VERSION.into_pyobject(py)?.into_any(), data])?.into_any()])
    }
}

/// A NumPy array over an array's memory; NumPy scalars for `Scalar`s; anything else as it is.
#[pyfunction]
fn to_numpy_object(x: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if let Some(a) = handle::as_ndarray(x) {
        return Ok(numpy_view(a)?.unbind());
    }
    if let Some(s) = handle::as_scalar(x) {
        return crate::scalar::numpy_scalar(s);
    }
    Ok(x.clone().unbind())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let f = wrap_pyfunction!(to_numpy_object, m)?;
    m.add("to_numpy", f)
}
