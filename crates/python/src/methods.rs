//! Attributes and methods of `ndarray` that are neither views, indexing, reductions nor operators.

use crate::assign;
use crate::convert;
use crate::flags::Flags;
use crate::handle::{self, NdArray};
use crate::index::{self, copy_as};
use crate::layout::{self, CastCopy, OrderArg, Truth};
use crate::numpy_api::api;
use crate::quick::peek;
use crate::ufunc::fallback::call_numpy;
use crate::{callers, create, dispatch, errors, iteration, manipulate, protocols, provenance};
use numloom_ir::promote::{Casting, can_cast};
use numloom_ir::view::Order;
use numloom_ir::{DType, Dims, ScalarOp, Value, View};
use numloom_library::{Mode, Take};

use numloom_runtime::profile::{self as told, Use};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::exceptions::{PyAttributeError, PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Raises where NumPy refuses to cast.
pub fn check_cast(from: DType, to: DType, casting: Casting) -> PyResult<()> {
    if can_cast(from, to, casting) {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "Cannot cast array data from dtype('{from}') to dtype('{to}') according to the rule '{}'",
        casting.name()
    )))
}

/// Reads `casting=`.
pub fn casting(text: &str) -> PyResult<Casting> {
    Casting::from_name(text).ok_or_else(|| {
        PyValueError::new_err(format!(
            "casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe', 'same_value' (got '{text}')"
        ))
    })
}

/// Where the elements differ from zero, as a bool array.
pub fn truth_mask(py: Python<'_>, x: &Array) -> PyResult<Array> {
    let dtype = x.view.dtype;
    if dtype == DType::Bool {
        return Ok(x.clone());
    }
    let at = || provenance::here(py);
    let lp = ScalarOp::NotEqual.loop_for(dtype).unwrap_or(0) as u8;
    let mask = record::empty_view(x.view.dense_like(DType::Bool), at).map_err(|e| errors::raise(py, e))?;
    let zero = Value::from_i128(dtype, 0);
    let op = MapOp::Scalar { op: ScalarOp::NotEqual, lp };
    record::map(op, &[Operand::Array(x), Operand::Value(zero)], &[&mask], None, at)
        .map_err(|e| errors::raise(py, e))?;
    Ok(mask)
}

/// `nonzero` as a tuple of index arrays.
pub fn nonzero<'py>(py: Python<'py>, x: &Array) -> PyResult<Bound<'py, PyTuple>> {
    if x.view.ndim() == 0 {
        return Err(PyValueError::new_err(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.",
        ));
    }
    let mask = truth_mask(py, x)?;
    let found = record::nonzero(&mask, || provenance::here(py)).map_err(|e| errors::raise(py, e))?;
    let found: PyResult<Vec<_>> = found.into_iter().map(|a| handle::wrap(py, a)).collect();
    PyTuple::new(py, found?)
}

fn take_mode(mode: &str) -> PyResult<Mode> {
    match mode {
        "raise" => Ok(Mode::Raise),
        "wrap" => Ok(Mode::Wrap),
        "clip" => Ok(Mode::Clip),
        _ => Err(PyValueError::new_err(format!("clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')"))),
    }
}

/// `x.take(indices, axis)` as a new array.
fn take(py: Python<'_>, x: &Array, indices: &Array, axis: usize, mode: Mode) -> PyResult<Array> {
    let at = || provenance::here(py);
    check_cast(indices.view.dtype, DType::I64, Casting::SameKind)?;
    let mut shape: Dims = x.view.shape[..axis].iter().copied().collect();
    shape.extend_from_slice(&indices.view.shape);
    shape.extend_from_slice(&x.view.shape[axis + 1..]);
    index::check_new_size(&shape, x.view.dtype)?;
    let nothing = shape.contains(&0);
    if x.view.shape[axis] == 0 && !nothing {
        return Err(PyIndexError::new_err("cannot do a non-empty take from an empty axes."));
    }
    let out = record::empty(x.view.dtype, &shape, Order::C, at).map_err(|e| errors::raise(py, e))?;
    // As in NumPy, indices are looked at for every element of the axes before theirs, whatever comes behind.
    if indices.view.size() == 0 || x.view.shape[..axis].contains(&0) {
        return Ok(out);
    }
    let indices = index::as_int64(py, indices)?;
    if mode == Mode::Raise {
        index::check_ready(py, &indices, x.view.shape[axis], axis)?;
    }
    let n = indices.view.ndim();
    let mut front: Dims = (0..x.view.ndim()).filter(|&a| a != axis).collect();
    front.insert(0, axis);
    let base = x.with_view(x.view.transpose(&front));
    let mut perm: Dims = (axis..axis + n).collect();
    perm.extend(0..axis);
    perm.extend(axis + n..shape.len());
    let target = out.with_view(out.view.transpose(&perm));
    let op = Take::new(&[axis], mode);
    record::library(Box::new(op), &[&base, &indices], &[&target], at).map_err(|e| errors::raise(py, e))?;
    Ok(out)
}

fn at_least_1d(array: Array) -> Array {
    if array.view.ndim() > 0 { array } else { array.with_view(array.view.expand(0)) }
}

/// Indices of `take`: integer arrays, or anything whose elements are integers when taken one by one.
fn index_operand(obj: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = obj.py();
    let is_array = handle::as_ndarray(obj).is_some() || handle::as_scalar(obj).is_some() || api(py).is_array(obj);
    if is_array {
        return convert::sized_array(obj);
    }
    let made = api(py).numpy(py).call_method1("asarray", (obj, convert::dtype_to_py(py, DType::I64)))?;
    convert::own_numpy(&made)
}

fn not_scalar() -> PyErr {
    PyTypeError::new_err("only 0-dimensional arrays can be converted to Python scalars")
}

fn one_value(slf: &Bound<'_, NdArray>) -> PyResult<Value> {
    let array = handle::sized(slf)?;
    if array.view.ndim() > 0 {
        return Err(not_scalar());
    }
    convert::value_of(slf.py(), &array)
}

#[pymethods]
impl NdArray {
    #[new]
    #[allow(clippy::new_ret_no_self)] // Python's constructor may answer with an array of NumPy's
    #[pyo3(signature = (shape, dtype=None, buffer=None, offset=0, strides=None, order=None))]
    fn new(
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        buffer: Option<&Bound<'_, PyAny>>,
        offset: usize,
        strides: Option<&Bound<'_, PyAny>>,
        order: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let py = shape.py();
        if shape.is_none() {
            return Err(PyTypeError::new_err("Use () not None as shape arguments"));
        }
        let plain = [buffer, strides].iter().flatten().all(|o| o.is_none());
        if plain {
            match create::empty_array(shape, dtype, order) {
                Err(e) if errors::is_unsupported(py, &e) => {}
                made => return Ok(Py::new(py, NdArray::owning(made?))?.into_any()),
            }
        }
        let class = api(py).numpy(py).getattr("ndarray")?;
        let shape = dispatch::to_numpy_args(shape)?;
        let made = class.call1((shape, dtype, buffer, offset, strides, order))?;
        match convert::borrow_numpy(&made) {
            // Another dtype: the array stays NumPy's.
            Err(e) if errors::is_unsupported(py, &e) => Ok(made.unbind()),
            shared => {
                let (mut array, mut writeable) = shared?;
                if let Some(owner) = buffer.and_then(handle::as_ndarray) {
                    // A view of the array, so that work on both keeps its order.
                    let (at, owned) = (array.store.ptr() as usize + array.view.offset, handle::sized(owner)?);
                    let offset = at - owned.store.ptr() as usize;
                    array = owned.with_view(View { offset, ..array.view.clone() });
                    writeable &= owner.borrow().writeable;
                }
                let base = buffer.map(|b| b.clone().unbind());
                Ok(Py::new(py, NdArray { array, writeable, base, exported: None })?.into_any())
            }
        }
    }

    /// `ndarray[shape, dtype]` in annotations.
    #[classmethod]
    fn __class_getitem__<'py>(
        cls: &Bound<'py, pyo3::types::PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        cls.py().import("types")?.call_method1("GenericAlias", (cls, item))
    }

    #[getter]
    fn shape<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        {
            let x = slf.borrow();
            if x.array.symbol().is_none() {
                return PyTuple::new(slf.py(), x.array.view.shape.iter());
            }
        }
        PyTuple::new(slf.py(), handle::sized(slf)?.view.shape.iter())
    }

    #[getter]
    fn strides<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(slf.py(), handle::sized(slf)?.view.strides.iter())
    }

    #[getter]
    fn dtype(&self, py: Python<'_>) -> Py<PyAny> {
        convert::dtype_to_py(py, self.array.view.dtype)
    }

    /// The same bytes, read as another type from now on.
    #[setter]
    fn set_dtype(slf: &Bound<'_, Self>, dtype: &Bound<'_, PyAny>) -> PyResult<()> {
        let seen = slf.call_method1("view", (dtype,))?;
        let Ok(seen) = seen.cast::<NdArray>() else {
            let text =
                "numloom.ndarray cannot change to this dtype in place; use .view(dtype), which gives a NumPy array";
            return Err(PyTypeError::new_err(text));
        };
        let array = seen.borrow().array.clone();
        slf.borrow_mut().array = array;
        Ok(())
    }

    #[deleter(dtype)]
    fn delete_dtype(&self) -> PyResult<()> {
        Err(PyAttributeError::new_err("Cannot delete array dtype"))
    }

    #[deleter(real)]
    fn delete_real(&self) -> PyResult<()> {
        Err(PyAttributeError::new_err("Cannot delete array real part"))
    }

    #[deleter(imag)]
    fn delete_imag(&self) -> PyResult<()> {
        Err(PyAttributeError::new_err("Cannot delete array imaginary part"))
    }

    /// NumPy's class for functions that tell our arrays from other things by it.
    #[getter]
    fn __class__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static NDARRAY: errors::NumpyClass = errors::NumpyClass::new("numpy", "ndarray");
        if callers::asks_for_arrays(slf.py()) { NDARRAY.get(slf.py()) } else { Ok(slf.get_type().into_any()) }
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.array.view.ndim()
    }

    #[getter]
    fn size(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(handle::sized(slf)?.view.size())
    }

    #[getter]
    fn itemsize(&self) -> usize {
        self.array.view.dtype.size()
    }

    #[getter]
    fn nbytes(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(handle::sized(slf)?.view.nbytes())
    }

    #[getter]
    pub fn base(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.base.as_ref().map(|b| b.clone_ref(py))
    }

    #[getter]
    fn flags(slf: &Bound<'_, Self>) -> Flags {
        Flags::new(slf.clone().unbind())
    }

    #[pyo3(signature = (write=None, align=None, uic=None))]
    fn setflags(slf: &Bound<'_, Self>, write: Option<Truth>, align: Option<Truth>, uic: Option<Truth>) -> PyResult<()> {
        // Our elements lie aligned, whatever is said of them.
        let _ = align;
        if uic.is_some_and(|uic| uic.0) {
            return Err(PyValueError::new_err("cannot set WRITEBACKIFCOPY flag to True"));
        }
        write.map_or(Ok(()), |w| Flags::new(slf.clone().unbind()).set_writeable(slf.py(), w.0))
    }

    #[getter]
    fn device(&self) -> &'static str {
        "cpu"
    }

    #[setter]
    fn set_device(&self, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyAttributeError::new_err("attribute 'device' of 'numpy.ndarray' objects is not writable"))
    }

    #[pyo3(signature = (device, *, stream=None))]
    fn to_device(slf: &Bound<'_, Self>, device: &str, stream: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        if stream.is_some_and(|s| !s.is_none()) {
            return Err(PyValueError::new_err("The stream argument in to_device() is not supported"));
        }
        if device != "cpu" {
            return Err(PyValueError::new_err(format!("Unsupported device: {device}. Only 'cpu' is accepted.")));
        }
        Ok(slf.clone().into_any().unbind())
    }

    #[getter]
    fn real(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        if !slf.borrow().array.view.dtype.is_complex() {
            return Ok(slf.clone().into_any().unbind());
        }
        let array = handle::sized(slf)?;
        handle::wrap_view(slf, array.with_view(part_view(&array.view, 0)))
    }

    #[setter]
    fn set_real(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        set_part(slf, value, 0)
    }

    #[getter]
    fn imag(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let array = handle::sized(slf)?;
        if array.view.dtype.is_complex() {
            return handle::wrap_view(slf, array.with_view(part_view(&array.view, 1)));
        }
        let like = OrderArg::A.layout(&array.view, array.view.dtype);
        let zeros = create::filled(py, like, Value::from_i128(array.view.dtype, 0))?;
        Ok(Py::new(py, NdArray { writeable: false, ..NdArray::owning(zeros) })?.into_any())
    }

    #[setter]
    fn set_imag(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if !slf.borrow().array.view.dtype.is_complex() {
            return Err(PyTypeError::new_err("array does not have imaginary part to set"));
        }
        set_part(slf, value, 1)
    }

    #[pyo3(signature = (dtype, order=None, casting="unsafe", subok=Truth(true), copy=CastCopy(true)))]
    fn astype(
        slf: &Bound<'_, Self>,
        dtype: &Bound<'_, PyAny>,
        order: Option<&Bound<'_, PyAny>>,
        casting: &str,
        subok: Truth,
        copy: CastCopy,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let copy = copy.0;
        let to = match convert::dtype_from_py(dtype) {
            Ok(d) => d,
            Err(e) if errors::is_unsupported(py, &e) => {
                let kwargs = PyDict::new(py);
                kwargs.set_item("casting", casting)?;
                kwargs.set_item("subok", subok.0)?;
                order.map_or(Ok(()), |o| kwargs.set_item("order", o))?;
                let numpy = protocols::to_numpy(py, &handle::sized(slf)?, true)?;
                return Ok(numpy.call_method("astype", (dtype,), Some(&kwargs))?.unbind());
            }
            Err(e) => return Err(e),
        };
        let order = layout::order(order, OrderArg::K)?;
        let array = slf.borrow().array.clone();
        let from = array.view.dtype;
        let rule = self::casting(casting)?;
        if array.view.ndim() == 0 && !can_cast(from, to, rule) {
            return Err(PyTypeError::new_err(format!(
                "Cannot cast scalar from dtype('{from}') to dtype('{to}') according to the rule '{casting}'"
            )));
        }
        check_cast(from, to, rule)?;
        if !copy && from == to && order.is_met_by(&array.view) {
            return Ok(slf.clone().into_any().unbind());
        }
        assign::warn_complex(py, from, to)?;
        handle::wrap(py, copy_as(py, &array, order.layout(&array.view, to))?)
    }

    #[pyo3(signature = (order=None))]
    fn copy(slf: &Bound<'_, Self>, order: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let order = layout::order(order, OrderArg::C)?;
        let array = slf.borrow().array.clone();
        handle::wrap(py, copy_as(py, &array, order.layout(&array.view, array.view.dtype))?)
    }

    fn __copy__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let array = handle::sized(slf)?;
        handle::wrap(slf.py(), copy_as(slf.py(), &array, array.view.dense_like(array.view.dtype))?)
    }

    fn __deepcopy__(slf: &Bound<'_, Self>, _memo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::__copy__(slf)
    }

    fn fill(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if !slf.borrow().writeable {
            return Err(assign::read_only());
        }
        let array = handle::sized(slf)?;
        match assign::source(value, array.view.dtype) {
            Ok(assign::Source::Array(a)) if a.view.ndim() > 0 => {}
            Err(e) if errors::is_unsupported(slf.py(), &e) => {}
            from => return assign::store(slf.py(), &array, from?, None),
        }
        let target = protocols::to_numpy(slf.py(), &array, true)?;
        target.call_method1("fill", (dispatch::to_numpy_args(value)?,)).map(|_| ())
    }

    #[pyo3(signature = (*args))]
    fn item(slf: &Bound<'_, Self>, args: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let array = handle::sized(slf)?;
        if args.is_empty() {
            if array.view.size() != 1 {
                return Err(PyValueError::new_err("can only convert an array of size 1 to a Python scalar"));
            }
            return convert::value_to_py(py, &convert::value_of(py, &array)?);
        }
        Ok(protocols::to_numpy(py, &array, false)?.call_method1("item", args)?.unbind())
    }

    fn tolist(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        numloom_profile::record::values_read(handle::sized(slf)?.view.size());
        Ok(through_numpy(slf)?.call_method0("tolist")?.unbind())
    }

    #[pyo3(signature = (order=None))]
    fn tobytes(slf: &Bound<'_, Self>, order: Option<&str>) -> PyResult<Py<PyAny>> {
        Ok(through_numpy(slf)?.call_method1("tobytes", (order.unwrap_or("C"),))?.unbind())
    }

    #[pyo3(signature = (fid, sep="", format="%s"))]
    fn tofile(slf: &Bound<'_, Self>, fid: &Bound<'_, PyAny>, sep: &str, format: &str) -> PyResult<()> {
        through_numpy(slf)?.call_method1("tofile", (fid, sep, format)).map(|_| ())
    }

    #[pyo3(signature = (inplace=Truth(false)))]
    fn byteswap(slf: &Bound<'_, Self>, inplace: Truth) -> PyResult<Py<PyAny>> {
        if inplace.0 {
            protocols::to_numpy(slf.py(), &handle::sized(slf)?, slf.borrow().writeable)?
                .call_method1("byteswap", (true,))?;
            return Ok(slf.clone().into_any().unbind());
        }
        let swapped = through_numpy(slf)?.call_method0("byteswap")?;
        handle::wrap(slf.py(), convert::own_numpy(&swapped)?)
    }

    fn nonzero<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        nonzero(slf.py(), &handle::sized(slf)?)
    }

    #[pyo3(signature = (indices, axis=None, out=None, mode="raise"))]
    fn take(
        slf: &Bound<'_, Self>,
        indices: &Bound<'_, PyAny>,
        axis: Option<layout::Axis>,
        out: Option<&Bound<'_, PyAny>>,
        mode: &str,
    ) -> PyResult<Py<PyAny>> {
        let (py, axis) = (slf.py(), axis.map(|a| a.0));
        let (mode_name, given_axis) = (mode, axis.map(|a| a.into_pyobject(py)).transpose()?.map(Bound::into_any));
        let mode = take_mode(mode)?;
        let array = handle::sized(slf)?;
        let (array, axis) = match axis {
            Some(a) => (at_least_1d(array), layout::axis(py, a, slf.borrow().array.view.ndim().max(1))?),
            None => {
                let n = array.view.size();
                let flat = array.view.reshape(&[n], Order::C);
                let flat = match flat {
                    Some(view) => array.with_view(view),
                    None => manipulate::flat_copy(py, &array, &[n], Order::C)?,
                };
                (flat, 0)
            }
        };
        let to_numpy = || {
            let kwargs = PyDict::new(py);
            for (name, value) in [("out", out), ("axis", given_axis.as_ref())] {
                value.map_or(Ok(()), |v| kwargs.set_item(name, v))?;
            }
            kwargs.set_item("mode", mode_name)?;
            let args = PyTuple::new(py, [slf.as_any(), indices])?;
            call_numpy(py, "ndarray", Some("take"), &args, Some(&kwargs))
        };
        let indices = match index_operand(indices) {
            Err(e) if errors::is_unsupported(py, &e) => return to_numpy(),
            operand => operand?,
        };
        let Some(out) = out.filter(|o| !o.is_none()) else {
            return handle::wrap_result(py, take(py, &array, &indices, axis, mode)?);
        };
        // Another type or shape: NumPy says what it takes, before it looks at an index.
        let Some(target) = handle::as_ndarray(out).filter(|o| o.borrow().writeable) else { return to_numpy() };
        let target_array = handle::sized(target)?;
        let (view, (before, behind)) = (&target_array.view, array.view.shape.split_at(axis));
        let shape = before.iter().chain(&indices.view.shape).chain(&behind[1..]);
        if view.dtype != array.view.dtype || !view.shape.iter().eq(shape) {
            return to_numpy();
        }
        let found = take(py, &array, &indices, axis, mode)?;
        assign::set(target, &py.Ellipsis().into_bound(py), handle::wrap(py, found)?.bind(py))?;
        Ok(out.clone().unbind())
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        // SAFETY: nothing runs Python code before the contents are done with.
        if let Some(x) = unsafe { peek(slf.as_any()) }
            && let (Some(&n), None) = (x.array.view.shape.first(), x.array.symbol())
        {
            return Ok(n);
        }
        let array = handle::sized(slf)?;
        array.view.shape.first().copied().ok_or_else(|| PyTypeError::new_err("len() of unsized object"))
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        if slf.borrow().array.view.ndim() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-d array"));
        }
        let array = handle::sized(slf)?;
        told::used(Use::Iteration, "iteration", array.view.shape[0]);
        iteration::begin(slf)
    }

    fn __getitem__(slf: &Bound<'_, Self>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        index::get(slf, index)
    }

    fn __setitem__(slf: &Bound<'_, Self>, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        assign::set(slf, index, value)
    }

    fn __delitem__(&self, _index: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyValueError::new_err("cannot delete array elements"))
    }

    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        slf.as_any().rich_compare(value, pyo3::basic::CompareOp::Eq)?.call_method0("any")?.is_truthy()
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let array = handle::sized(slf)?;
        match array.view.size() {
            1 => {
                let v = convert::value_of(slf.py(), &array)?;
                Ok(v.cast(DType::Bool).bytes[0] != 0)
            }
            0 => Err(PyValueError::new_err(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty.",
            )),
            _ => Err(PyValueError::new_err(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
            )),
        }
    }

    fn __int__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let v = one_value(slf)?;
        if v.dtype.is_complex() {
            let message = "int() argument must be a string, a bytes-like object or a real number, not 'complex'";
            return Err(PyTypeError::new_err(message));
        }
        Ok(convert::value_to_py(slf.py(), &v)?.bind(slf.py()).call_method0("__int__")?.unbind())
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        let v = one_value(slf)?;
        numloom_profile::record::values_read(1);
        if v.dtype.is_complex() {
            let message = "float() argument must be a string or a real number, not 'complex'";
            return Err(PyTypeError::new_err(message));
        }
        Ok(v.to_f64())
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, pyo3::types::PyComplex>> {
        let v = one_value(slf)?;
        Ok(pyo3::types::PyComplex::from_doubles(slf.py(), v.to_f64(), v.imag()))
    }

    fn __index__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let array = handle::sized(slf)?;
        if array.view.ndim() > 0 || !array.view.dtype.is_integer() {
            return Err(PyTypeError::new_err("only integer scalar arrays can be converted to a scalar index"));
        }
        convert::value_to_py(slf.py(), &convert::value_of(slf.py(), &array)?)
    }

    fn __format__(slf: &Bound<'_, Self>, spec: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Ok(through_numpy(slf)?.call_method1("__format__", (spec,))?.unbind())
    }

    fn __sizeof__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        let own = if slf.borrow().base.is_none() { handle::sized(slf)?.view.nbytes() } else { 0 };
        Ok(size_of::<NdArray>() + 32 + own)
    }
}

/// A read-only NumPy view of the array's current contents.
pub fn through_numpy<'py>(slf: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    protocols::to_numpy(slf.py(), &handle::sized(slf)?, false)
}

/// The real (0) or imaginary (1) parts of a complex view.
fn part_view(v: &View, part: usize) -> View {
    let real = v.dtype.real();
    View { dtype: real, offset: v.offset + part * real.size(), ..v.clone() }
}

fn set_part(slf: &Bound<'_, NdArray>, value: &Bound<'_, PyAny>, part: usize) -> PyResult<()> {
    if !slf.borrow().writeable {
        return Err(assign::read_only());
    }
    let array = handle::sized(slf)?;
    let view = if array.view.dtype.is_complex() { part_view(&array.view, part) } else { array.view.clone() };
    // An array is made of whatever it is, which is cast as arrays are.
    let from = convert::sized_array(value).or_else(|e| match errors::is_unsupported(slf.py(), &e) {
        true => assign::source(value, view.dtype).map(|from| match from {
            assign::Source::Array(a) => Ok(a),
            assign::Source::Value(v) => convert::constant(slf.py(), v),
        })?,
        false => Err(e),
    })?;
    assign::store(slf.py(), &array.with_view(view), assign::Source::Array(from), None)
}
