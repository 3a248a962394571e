//! New arrays: empty, filled, counted, and made from other objects.

use crate::assign::{self, Source};
use crate::convert;
use crate::handle::{self, NdArray};
use crate::index::{check_new_size, copy_as};
use crate::interchange;
use crate::layout::{self, CopyArg, OrderArg};
use crate::lists;
use crate::numpy_api::api;
use crate::{errors, provenance};
use numloom_ir::{DType, Value, View};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyTuple};

/// An array without contents, from Python's arguments.
pub fn empty_array(
    shape: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: Option<&Bound<'_, PyAny>>,
) -> PyResult<Array> {
    let py = shape.py();
    let dtype = convert::dtype_option(dtype)?.unwrap_or(DType::F64);
    let order = layout::order(order, OrderArg::C)?;
    let shape = layout::shape(shape)?;
    check_new_size(&shape, dtype)?;
    let plain = if order == OrderArg::F { numloom_ir::view::Order::F } else { numloom_ir::view::Order::C };
    record::empty(dtype, &shape, plain, || provenance::here(py)).map_err(|e| errors::raise(py, e))
}

/// An array of layout `view` with one value everywhere.
pub fn filled(py: Python<'_>, view: View, value: Value) -> PyResult<Array> {
    let at = || provenance::here(py);
    let out = record::empty_view(view, at).map_err(|e| errors::raise(py, e))?;
    record::map(MapOp::Copy, &[Operand::Value(value)], &[&out], None, at).map_err(|e| errors::raise(py, e))?;
    Ok(out)
}

#[pyfunction]
#[pyo3(signature = (shape, dtype=None, order=None))]
fn empty(
    shape: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    handle::wrap(shape.py(), empty_array(shape, dtype, order)?)
}

fn uniform(
    value: i128,
    shape: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let py = shape.py();
    let out = empty_array(shape, dtype, order)?;
    let value = Value::from_i128(out.view.dtype, value);
    record::map(MapOp::Copy, &[Operand::Value(value)], &[&out], None, || provenance::here(py))
        .map_err(|e| errors::raise(py, e))?;
    handle::wrap(py, out)
}

#[pyfunction]
#[pyo3(signature = (shape, dtype=None, order=None))]
fn zeros(
    shape: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    uniform(0, shape, dtype, order)
}

#[pyfunction]
#[pyo3(signature = (shape, dtype=None, order=None))]
fn ones(
    shape: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    uniform(1, shape, dtype, order)
}

/// `arange` of Python ints within 32 bits; None for anything else.
#[pyfunction]
fn arange_ints(
    start: &Bound<'_, PyAny>,
    stop: &Bound<'_, PyAny>,
    step: &Bound<'_, PyAny>,
) -> PyResult<Option<Py<PyAny>>> {
    let py = start.py();
    let read = |obj: &Bound<'_, PyAny>| -> Option<i64> {
        let small = obj.is_exact_instance_of::<PyInt>().then(|| convert::small_int(obj).ok().flatten()).flatten()?;
        i32::try_from(small).ok().map(i64::from)
    };
    let bounds = if stop.is_none() { (Some(0), read(start)) } else { (read(start), read(stop)) };
    let (Some(start), Some(stop), Some(step)) = (bounds.0, bounds.1, read(step)) else { return Ok(None) };
    if step == 0 {
        return Ok(None);
    }
    // The distance over the step, rounded up.
    let (distance, size) = if step > 0 { (stop - start, step) } else { (start - stop, -step) };
    let n = (distance + size - 1).div_euclid(size).max(0);
    let value = |v: i64| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&v.to_le_bytes());
        Value { dtype: DType::I64, bytes }
    };
    let (start, step) = (value(start), value(step));
    if let Some(out) = record::iota_new(&start, &step, n as usize) {
        return handle::wrap(py, out).map(Some);
    }
    let at = || provenance::here(py);
    let out = record::empty(DType::I64, &[n as usize], numloom_ir::view::Order::C, at);
    let out = out.map_err(|e| errors::raise(py, e))?;
    let op = MapOp::Iota { start, step };
    record::map(op, &[], &[&out], None, at).map_err(|e| errors::raise(py, e))?;
    handle::wrap(py, out).map(Some)
}

/// An array like `x` in shape and, for order K, in layout; without contents.
#[pyfunction]
#[pyo3(signature = (x, dtype=None, order=None, shape=None))]
fn empty_like(
    x: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: Option<&Bound<'_, PyAny>>,
    shape: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let py = x.py();
    let like = convert::sized_array(x)?;
    let dtype = convert::dtype_option(dtype)?.unwrap_or(like.view.dtype);
    let order = layout::order(order, OrderArg::K)?;
    let view = match shape.filter(|s| !s.is_none()) {
        None => order.layout(&like.view, dtype),
        Some(s) => order.layout_as(&like.view, dtype, &layout::shape(s)?),
    };
    check_new_size(&view.shape, dtype)?;
    let out = record::empty_view(view, || provenance::here(py)).map_err(|e| errors::raise(py, e))?;
    handle::wrap(py, out)
}

#[pyfunction]
#[pyo3(signature = (shape, fill_value, dtype=None, order=None))]
fn full(
    shape: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let py = shape.py();
    let dtype = match convert::dtype_option(dtype)? {
        Some(d) => d,
        None => convert::array(fill_value)?.view.dtype,
    };
    let value = assign::source(fill_value, dtype)?;
    let descr = convert::dtype_to_py(py, dtype);
    let out = empty_array(shape, Some(descr.bind(py)), order)?;
    assign::store(py, &out, value, None)?;
    handle::wrap(py, out)
}

/// `start + step * i` for `i < n`, in `dtype`.
#[pyfunction]
fn iota(start: &Bound<'_, PyAny>, step: &Bound<'_, PyAny>, n: usize, dtype: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = start.py();
    let dtype = convert::dtype_from_py(dtype)?;
    let read = |obj: &Bound<'_, PyAny>| -> PyResult<Value> {
        match assign::source(obj, dtype)? {
            Source::Value(v) => Ok(v),
            Source::Array(a) => Ok(convert::value_of(py, &a)?.cast(dtype)),
        }
    };
    let (start, step) = (read(start)?, read(step)?);
    check_new_size(&[n], dtype)?;
    let at = || provenance::here(py);
    let out = record::empty(dtype, &[n], numloom_ir::view::Order::C, at).map_err(|e| errors::raise(py, e))?;
    record::map(MapOp::Iota { start, step }, &[], &[&out], None, at).map_err(|e| errors::raise(py, e))?;
    handle::wrap(py, out)
}

/// What `numpy.asarray` and `numpy.array` do, for dtypes that are ours.
#[pyfunction]
#[pyo3(signature = (obj, dtype=None, copy=CopyArg::default(), order=None, ndmin=0))]
pub fn asarray(
    obj: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    copy: CopyArg,
    order: Option<&Bound<'_, PyAny>>,
    ndmin: isize,
) -> PyResult<Py<PyAny>> {
    let py = obj.py();
    let ndmin = ndmin.max(0) as usize;
    if ndmin > 64 {
        return Err(PyValueError::new_err("ndmin must be <= ndmax (64)"));
    }
    let copy = copy.0;
    let wanted = convert::dtype_option(dtype)?;
    let how = layout::order(order, OrderArg::K)?;
    if let Some(x) = handle::as_ndarray(obj) {
        let array = handle::sized(x)?;
        return settle(py, array, wanted, copy, how, ndmin, |array, same| match same {
            true => Ok(obj.clone().unbind()),
            false => handle::wrap_view(x, array),
        });
    }
    if api(py).is_array(obj) {
        // A shared array could change behind our back, so nothing on it could be deferred: we copy,
        // unless that was forbidden.
        if copy != Some(false) && convert::ours(obj)?.is_none() {
            let array = convert::copy_numpy(obj)?;
            return settle(py, array, wanted, None, how, ndmin, |array, _| handle::wrap(py, array));
        }
        let (array, writeable) = convert::borrow_numpy(obj)?;
        return settle(py, array, wanted, copy, how, ndmin, |array, _| {
            let base = Some(obj.clone().unbind());
            Ok(Py::new(py, NdArray { array, writeable, base, exported: None })?.into_any())
        });
    }
    if let Some(s) = handle::as_scalar(obj) {
        let array = s.borrow().array.clone();
        return settle(py, array, wanted, Some(true), how, ndmin, |array, _| handle::wrap(py, array));
    }
    if numloom_profile::on()
        && let Ok(items) = obj.cast::<pyo3::types::PyList>()
    {
        numloom_profile::record::array_from(items.len());
    }
    if wanted.is_none()
        && order.is_none()
        && ndmin == 0
        && copy != Some(false)
        && let Some(array) = lists::plain(obj)
    {
        return handle::wrap(py, array);
    }
    let plain = obj.is_instance_of::<pyo3::types::PyFloat>() || obj.is_instance_of::<pyo3::types::PyInt>();
    // NumPy's doubles are numbers of Python's, too, but cast to integers as arrays are.
    let casts = wanted.is_some_and(|d| !d.is_inexact()) && !obj.is_exact_instance_of::<pyo3::types::PyFloat>();
    let doubles = casts && obj.is_instance_of::<pyo3::types::PyFloat>();
    if plain && copy != Some(false) && !doubles {
        let array = match wanted {
            None => convert::array(obj)?,
            Some(d) => match assign::source(obj, d)? {
                Source::Value(v) => convert::constant(py, v)?,
                Source::Array(a) => a,
            },
        };
        return handle::wrap(py, array.with_view(at_least(&array.view, ndmin)));
    }
    if let Some(on_gpu) = interchange::from_interface(obj, copy)? {
        let x = on_gpu.bind(py).cast::<NdArray>()?;
        let array = x.borrow().array.clone();
        return settle(py, array, wanted, None, how, ndmin, |array, same| match same {
            true => Ok(on_gpu.clone_ref(py)),
            false => handle::wrap_view(x, array),
        });
    }
    // A list is always copied; other objects may share their memory, which only NumPy's copy= settles.
    let is_list = obj.is_exact_instance_of::<PyList>() || obj.is_exact_instance_of::<PyTuple>();
    let plainly = wanted.is_none() && order.is_none() && ndmin == 0;
    if plainly && (copy.is_none() || (is_list && copy == Some(true))) {
        return own(convert::made_by_numpy(obj, |o| api(py).asarray(o))?);
    }
    let kwargs = PyDict::new(py);
    kwargs.set_item("dtype", dtype)?;
    kwargs.set_item("copy", copy)?;
    kwargs.set_item("order", order.map_or_else(|| "K".into_pyobject(py).map(|s| s.into_any()), |o| Ok(o.clone()))?)?;
    kwargs.set_item("ndmin", ndmin)?;
    own(convert::made_by_numpy(obj, |o| api(py).numpy(py).call_method("array", (o,), Some(&kwargs)))?)
}

/// An array that was made for us; one of ours as it is.
fn own(made: Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    match handle::as_ndarray(&made) {
        Some(_) => Ok(made.unbind()),
        None => convert::own_handle(&made, 1),
    }
}

fn at_least(view: &View, ndmin: usize) -> View {
    let mut v = view.clone();
    while v.ndim() < ndmin {
        v = v.expand(0);
    }
    v
}

/// The array itself where it already is what was asked for, else a copy.
fn settle(
    py: Python<'_>,
    array: Array,
    dtype: Option<DType>,
    copy: Option<bool>,
    order: OrderArg,
    ndmin: usize,
    share: impl FnOnce(Array, bool) -> PyResult<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let to = dtype.unwrap_or(array.view.dtype);
    let view = at_least(&array.view, ndmin);
    let same = view.ndim() == array.view.ndim();
    // To NumPy A asks for no order here, but that of a plain copy.
    let met = order == OrderArg::A || order.is_met_by(&array.view);
    if copy != Some(true) && to == array.view.dtype && met {
        return share(array.with_view(view), same);
    }
    if copy == Some(false) {
        return Err(PyValueError::new_err(
            "Unable to avoid copy while creating an array as requested.\nIf using `np.array(obj, copy=False)` replace it with `np.asarray(obj)` to allow a copy when needed (no behavior change in NumPy 1.x).\nFor more details, see https://numpy.org/devdocs/numpy_2_0_migration_guide.html#adapting-to-changes-in-the-copy-keyword.",
        ));
    }
    assign::warn_complex(py, array.view.dtype, to)?;
    let order = if order == OrderArg::A && to != array.view.dtype { OrderArg::K } else { order };
    let made = copy_as(py, &array, order.layout(&array.view, to))?;
    let view = at_least(&made.view, ndmin);
    handle::wrap(py, made.with_view(view))
}

/// An array over a NumPy array's memory (`copy=False`), which both sides go on seeing, or a copy of it.
#[pyfunction]
#[pyo3(signature = (array, copy=false))]
fn from_numpy(array: &Bound<'_, PyAny>, copy: bool) -> PyResult<Py<PyAny>> {
    convert::expect_numpy(array)?;
    asarray(array, None, CopyArg(Some(copy)), None, 0)
}

/// Takes over a fresh NumPy result without a copy; one that somebody else still holds stays shared.
#[pyfunction]
fn adopt_numpy(array: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    convert::expect_numpy(array)?;
    // Two variables on the way here and the argument itself; newer interpreters do not count all of them.
    // SAFETY: a number of the interpreter's that stays as it is.
    let held = if unsafe { pyo3::ffi::Py_Version } >= 0x030e_0000 { 1 } else { 3 };
    convert::own_handle(array, held)
}

/// An array over memory that another library exports by DLPack.
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
fn from_dlpack(x: &Bound<'_, PyAny>, device: Option<&Bound<'_, PyAny>>, copy: Option<bool>) -> PyResult<Py<PyAny>> {
    let py = x.py();
    if device.is_none()
        && let Some(on_gpu) = interchange::from_dlpack(x, copy)?
    {
        return Ok(on_gpu);
    }
    let kwargs = PyDict::new(py);
    kwargs.set_item("device", device)?;
    kwargs.set_item("copy", copy)?;
    let numpy = api(py).numpy(py).call_method("from_dlpack", (x,), Some(&kwargs))?;
    let found = api(py).describe(&numpy)?;
    let whole = match handle::as_ndarray(x) {
        Some(ours) => Some(handle::sized(ours)?),
        None if api(py).is_array(x) => convert::ours(x)?,
        None => None,
    };
    // What lies in an array of ours is a view of it, whoever showed it.
    if let Some(array) = whole.and_then(|w| convert::within(&w, &found)) {
        let base = Some(x.clone().unbind());
        return Ok(Py::new(py, NdArray { array, writeable: found.writeable, base, exported: None })?.into_any());
    }
    asarray(&numpy, None, CopyArg(Some(false)), None, 0)
}

/// Unpickles: `version` says how `data` is to be read.
#[pyfunction]
fn _reconstruct(version: u32, data: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if version != crate::protocols::PICKLE_VERSION {
        return Err(PyValueError::new_err(format!(
            "this pickle of a numloom array has version {version}; this numloom reads version {}",
            crate::protocols::PICKLE_VERSION
        )));
    }
    adopt_numpy(data)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(empty, m)?)?;
    m.add_function(wrap_pyfunction!(zeros, m)?)?;
    m.add_function(wrap_pyfunction!(ones, m)?)?;
    m.add_function(wrap_pyfunction!(arange_ints, m)?)?;
    m.add_function(wrap_pyfunction!(empty_like, m)?)?;
    m.add_function(wrap_pyfunction!(full, m)?)?;
    m.add_function(wrap_pyfunction!(iota, m)?)?;
    m.add_function(wrap_pyfunction!(asarray, m)?)?;
    m.add_function(wrap_pyfunction!(from_numpy, m)?)?;
    m.add_function(wrap_pyfunction!(adopt_numpy, m)?)?;
    m.add_function(wrap_pyfunction!(from_dlpack, m)?)?;
    m.add_function(wrap_pyfunction!(_reconstruct, m)?)
}
