//! Methods that change how the elements are seen, without moving them where strides allow.

use crate::convert;
use crate::handle::{self, NdArray};
use crate::index::{check_new_size, copy_as, shape_text};
use crate::layout::{self, OrderArg};
use crate::quick::peek;
use crate::{assign, create, errors, protocols};
use numloom_ir::view::{Order, checked_size};
use numloom_ir::{Dims, Value, View};
use numloom_runtime::{Array, record};
use pyo3::exceptions::{PyAttributeError, PyDeprecationWarning, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use smallvec::SmallVec;

/// `x` under another shape: a view, or a copy where strides cannot express it.
pub fn reshape(x: &Bound<'_, NdArray>, wanted: &[isize], order: Order, copy: Option<bool>) -> PyResult<Py<PyAny>> {
    let py = x.py();
    let array = handle::sized(x)?;
    let shape = layout::complete(array.view.size(), wanted)?;
    if copy != Some(true)
        && let Some(view) = array.view.reshape(&shape, order)
    {
        return handle::wrap_view(x, array.with_view(view));
    }
    if copy == Some(false) {
        return Err(PyValueError::new_err("Unable to avoid creating a copy while reshaping."));
    }
    // As in NumPy, the result is a view of the copy.
    let copy = Bound::new(py, NdArray::owning(flat_copy(py, &array, &shape, order)?))?;
    let view = copy.borrow().array.clone();
    handle::wrap_view(&copy, view)
}

/// A dense copy in `order`, reshaped in that order.
pub fn flat_copy(py: Python<'_>, array: &Array, shape: &[usize], order: Order) -> PyResult<Array> {
    let dense = copy_as(py, array, View::dense(array.view.dtype, &array.view.shape, order))?;
    let view = dense.view.reshape(shape, order).unwrap_or_else(|| dense.view.clone());
    Ok(dense.with_view(view))
}

/// The axes from the outermost in memory to the innermost. Those without a stride stay where they stand among the others.
fn memory_order(view: &View) -> Dims {
    let mut axes = Dims::new();
    for a in 0..view.ndim() {
        let step = view.strides[a].unsigned_abs();
        let before = |&b: &usize| view.strides[b] == 0 || step == 0 || view.strides[b].unsigned_abs() >= step;
        let at = axes.iter().rposition(before).map_or(0, |b| b + 1);
        axes.insert(at, a);
    }
    axes
}

fn transpose_axes(py: Python<'_>, wanted: &[isize], ndim: usize) -> PyResult<Dims> {
    if wanted.len() != ndim {
        return Err(PyValueError::new_err("axes don't match array"));
    }
    let mut axes = Dims::new();
    for &a in wanted {
        let a = layout::axis(py, a, ndim)?;
        if axes.contains(&a) {
            return Err(PyValueError::new_err("repeated axis in transpose"));
        }
        axes.push(a);
    }
    Ok(axes)
}

fn named_axis(py: Python<'_>, name: &str, axis: isize, ndim: usize) -> PyResult<usize> {
    layout::axis(py, axis, ndim).map_err(|e| {
        match errors::AXIS_ERROR.get(py).and_then(|c| c.call1((axis, ndim, name))) {
            Ok(named) => PyErr::from_value(named),
            Err(_) => e,
        }
    })
}

/// NumPy's conditions for other memory under the same object.
fn check_sole(x: &Bound<'_, NdArray>, refcheck: bool) -> PyResult<()> {
    let py = x.py();
    if x.borrow().base.is_some() {
        return Err(PyValueError::new_err("cannot resize this array: it does not own its data"));
    }
    // The caller's variable and the call.
    // SAFETY: a live object.
    let held = unsafe { pyo3::ffi::Py_REFCNT(x.as_ptr()) } > 2;
    let weak = || py.import("weakref")?.call_method1("getweakrefcount", (x,))?.extract::<usize>();
    if refcheck && (held || weak()? > 0) {
        return Err(PyValueError::new_err(
            "cannot resize an array that references or is referenced\nby another object in this way.\nUse the np.resize function to get a new resized copy or\n set refcheck=False to disable this check",
        ));
    }
    Ok(())
}

/// Where the bytes of an array begin and end; a sync point.
fn addresses(py: Python<'_>, array: &Array) -> PyResult<(isize, isize)> {
    errors::sync(py, array)?;
    let first = record::data(array).map_err(|e| errors::raise(py, e))? as isize - array.view.offset as isize;
    let (lo, hi) = array.view.byte_bounds();
    Ok((first + lo as isize, first + hi as isize))
}

#[pymethods]
impl NdArray {
    #[pyo3(signature = (*shape, order=None, copy=layout::CopyArg::default()))]
    fn reshape(
        slf: &Bound<'_, Self>,
        shape: &Bound<'_, PyTuple>,
        order: Option<&Bound<'_, PyAny>>,
        copy: layout::CopyArg,
    ) -> PyResult<Py<PyAny>> {
        if shape.is_empty() {
            return Err(PyTypeError::new_err("reshape() takes exactly 1 argument (0 given)"));
        }
        let order = layout::order(order, OrderArg::C)?;
        if shape.len() == 1 && shape.get_borrowed_item(0)?.is_none() {
            return handle::wrap_view(slf, handle::sized(slf)?);
        }
        let order = match order {
            OrderArg::K => return Err(PyValueError::new_err("order 'K' is not permitted for reshaping")),
            OrderArg::C => Order::C,
            order => order.plain(&handle::sized(slf)?.view),
        };
        reshape(slf, &layout::variadic(shape)?, order, copy.0)
    }

    #[setter(shape)]
    fn set_shape(slf: &Bound<'_, Self>, shape: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = handle::sized(slf)?;
        let wanted = layout::extents(shape)?;
        layout::check_count(wanted.len())?;
        let shape = layout::complete(array.view.size(), &wanted)?;
        let Some(view) = array.view.reshape(&shape, Order::C) else {
            return Err(PyAttributeError::new_err(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape.",
            ));
        };
        slf.borrow_mut().array = array.with_view(view);
        Ok(())
    }

    #[deleter(shape)]
    fn delete_shape(&self) -> PyResult<()> {
        Err(PyAttributeError::new_err("Cannot delete array shape"))
    }

    #[deleter(strides)]
    fn delete_strides(&self) -> PyResult<()> {
        Err(PyAttributeError::new_err("Cannot delete array strides"))
    }

    /// In place, in the order of memory; zeros follow what was there.
    #[pyo3(signature = (*new_shape, refcheck=1))]
    fn resize(slf: &Bound<'_, Self>, new_shape: &Bound<'_, PyTuple>, refcheck: i32) -> PyResult<()> {
        let refcheck = refcheck != 0;
        let py = slf.py();
        if new_shape.is_empty() || (new_shape.len() == 1 && new_shape.get_item(0)?.is_none()) {
            return Ok(());
        }
        let extents = layout::variadic(new_shape)?;
        let Some(shape) = extents.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Dims>>() else {
            return Err(PyValueError::new_err("negative dimensions not allowed"));
        };
        check_new_size(&shape, slf.borrow().array.view.dtype)?;
        let old = handle::sized(slf)?;
        let order = match (old.view.is_c_contiguous(), old.view.is_f_contiguous()) {
            (true, _) => Order::C,
            (_, true) => Order::F,
            _ => return Err(PyValueError::new_err("resize only works on single-segment arrays")),
        };
        let view = View::dense(old.view.dtype, &shape, order);
        if view.size() == old.view.size() {
            let view = View { offset: old.view.offset, ..view };
            slf.borrow_mut().array = old.with_view(view);
            return Ok(());
        }
        check_sole(slf, refcheck)?;
        let new = create::filled(py, view, Value::from_i128(old.view.dtype, 0))?;
        let kept = old.view.size().min(new.view.size());
        let line = |a: &Array| a.view.reshape(&[a.view.size()], order).map(|v| a.with_view(v.slice(0, 0, 1, kept)));
        if let (Some(from), Some(to)) = (line(&old), line(&new)) {
            assign::store(py, &to, assign::Source::Array(from), None)?;
        }
        slf.borrow_mut().array = new;
        Ok(())
    }

    #[setter(strides)]
    fn set_strides(slf: &Bound<'_, Self>, strides: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let text = c"Setting the strides on a NumPy array has been deprecated in NumPy 2.4.\nAs an alternative, you can create a new view using np.lib.stride_tricks.as_strided.";
        PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), text, 1)?;
        let array = handle::sized(slf)?;
        let view = View { strides: layout::extents(strides)?.into_iter().collect(), ..array.view.clone() };
        if view.strides.len() != view.ndim() {
            let message = format!("strides must be  same length as shape ({})", view.ndim());
            return Err(PyValueError::new_err(message));
        }
        // What may be reached: the array this one is in the end a view of.
        let mut whole = slf.clone();
        while let Some(base) = NdArray::base(&whole.borrow(), py).and_then(|b| b.into_bound(py).cast_into().ok()) {
            whole = base;
        }
        let (lo, hi) = addresses(py, &handle::sized(&whole)?)?;
        let (from, to) = addresses(py, &array.with_view(view.clone()))?;
        if view.size() > 0 && (from < lo || to > hi) {
            return Err(PyValueError::new_err("strides is not compatible with available memory"));
        }
        slf.borrow_mut().array = array.with_view(view);
        Ok(())
    }

    #[pyo3(signature = (order=None))]
    fn ravel(slf: &Bound<'_, Self>, order: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let order = layout::order(order, OrderArg::C)?;
        let array = handle::sized(slf)?;
        let n = [array.view.size()];
        let (array, plain) = match order {
            OrderArg::K => (array.with_view(array.view.transpose(&memory_order(&array.view))), Order::C),
            _ => {
                let plain = order.plain(&array.view);
                (array, plain)
            }
        };
        let dense = if plain == Order::C { array.view.is_c_contiguous() } else { array.view.is_f_contiguous() };
        if dense && let Some(view) = array.view.reshape(&n, plain) {
            return handle::wrap_view(slf, array.with_view(view));
        }
        handle::wrap(py, flat_copy(py, &array, &n, plain)?)
    }

    #[pyo3(signature = (order=None))]
    fn flatten(slf: &Bound<'_, Self>, order: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let order = layout::order(order, OrderArg::C)?;
        let array = handle::sized(slf)?;
        let n = [array.view.size()];
        let (array, plain) = match order {
            OrderArg::K => (array.with_view(array.view.transpose(&memory_order(&array.view))), Order::C),
            _ => {
                let plain = order.plain(&array.view);
                (array, plain)
            }
        };
        handle::wrap(py, flat_copy(py, &array, &n, plain)?)
    }

    #[getter(T)]
    fn t(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        // SAFETY: nothing runs Python code before the contents are done with.
        if let Some(x) = unsafe { peek(slf.as_any()) }
            && x.array.symbol().is_none()
        {
            return handle::wrap_part(slf.py(), slf, x, x.array.with_view(x.array.view.reversed_axes()));
        }
        let array = handle::sized(slf)?;
        handle::wrap_view(slf, array.with_view(array.view.reversed_axes()))
    }

    #[getter(mT)]
    fn matrix_transpose(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let array = handle::sized(slf)?;
        let n = array.view.ndim();
        if n < 2 {
            return Err(PyValueError::new_err("matrix transpose with ndim < 2 is undefined"));
        }
        let mut axes: Dims = (0..n).collect();
        axes.swap(n - 2, n - 1);
        handle::wrap_view(slf, array.with_view(array.view.transpose(&axes)))
    }

    #[pyo3(signature = (*axes))]
    fn transpose(slf: &Bound<'_, Self>, axes: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let array = handle::sized(slf)?;
        if axes.is_empty() || (axes.len() == 1 && axes.get_item(0)?.is_none()) {
            return Self::t(slf);
        }
        let axes = transpose_axes(slf.py(), &layout::variadic(axes)?, array.view.ndim())?;
        handle::wrap_view(slf, array.with_view(array.view.transpose(&axes)))
    }

    fn swapaxes(slf: &Bound<'_, Self>, axis1: layout::Short, axis2: layout::Short) -> PyResult<Py<PyAny>> {
        let array = handle::sized(slf)?;
        let n = array.view.ndim();
        let a = named_axis(slf.py(), "axis1", axis1.0, n)?;
        let b = named_axis(slf.py(), "axis2", axis2.0, n)?;
        let mut axes: Dims = (0..n).collect();
        axes.swap(a, b);
        handle::wrap_view(slf, array.with_view(array.view.transpose(&axes)))
    }

    #[pyo3(signature = (axis=None))]
    fn squeeze(slf: &Bound<'_, Self>, axis: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let array = handle::sized(slf)?;
        let n = array.view.ndim();
        let mut gone: SmallVec<[usize; 4]> = SmallVec::new();
        match axis.filter(|a| !a.is_none()) {
            None => {
                gone.extend((0..n).filter(|&a| array.view.shape[a] == 1));
                if gone.is_empty() {
                    return Ok(slf.clone().into_any().unbind());
                }
            }
            Some(given) => {
                let alone = !given.is_instance_of::<PyTuple>();
                if alone {
                    given.extract::<layout::Axis>()?;
                }
                for a in layout::extents(given)? {
                    if alone && n == 0 && (a == 0 || a == -1) {
                        continue;
                    }
                    let a = layout::axis(py, a, n)?;
                    if gone.contains(&a) {
                        return Err(PyValueError::new_err("duplicate value in 'axis'"));
                    }
                    gone.push(a);
                }
                if gone.iter().any(|&a| array.view.shape[a] != 1) {
                    let message = "cannot select an axis to squeeze out which has size not equal to one";
                    return Err(PyValueError::new_err(message));
                }
            }
        }
        let keep: Dims = (0..n).filter(|a| !gone.contains(a)).collect();
        handle::wrap_view(slf, array.with_view(array.view.transpose(&keep)))
    }

    #[pyo3(signature = (offset=layout::Short(0), axis1=layout::Short(0), axis2=layout::Short(1)))]
    fn diagonal(
        slf: &Bound<'_, Self>,
        offset: layout::Short,
        axis1: layout::Short,
        axis2: layout::Short,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let array = handle::sized(slf)?;
        let n = array.view.ndim();
        if n < 2 {
            return Err(PyValueError::new_err("diag requires an array of at least two dimensions"));
        }
        let (a, b) = (named_axis(py, "axis1", axis1.0, n)?, named_axis(py, "axis2", axis2.0, n)?);
        if a == b {
            return Err(PyValueError::new_err("axis1 and axis2 cannot be the same"));
        }
        let part = handle::wrap_view(slf, array.with_view(array.view.diagonal(offset.0, a, b)))?;
        convert::expect_ndarray(part.bind(py), "diagonal")?.borrow_mut().writeable = false;
        Ok(part)
    }

    /// The same bytes as another type.
    #[pyo3(signature = (dtype=layout::Word(None), r#type=None))]
    fn view<'py>(
        slf: &Bound<'py, Self>,
        dtype: layout::Word<'py>,
        r#type: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let dtype = dtype.0.as_ref();
        let array = handle::sized(slf)?;
        let ours = py.get_type::<NdArray>();
        [dtype, r#type].into_iter().flatten().try_for_each(handle::refuse_derived)?;
        if r#type.is_some_and(|t| !t.is_none() && !t.is_instance_of::<PyType>()) {
            return Err(PyValueError::new_err("Type must be a sub-type of ndarray type"));
        }
        let Some(wanted) = dtype.filter(|d| !d.is(&ours)) else {
            return match r#type.filter(|t| !t.is_none() && !t.is(&ours)) {
                None => handle::wrap_view(slf, array),
                Some(t) => {
                    Ok(protocols::to_numpy(py, &array, slf.borrow().writeable)?.call_method1("view", (t,))?.unbind())
                }
            };
        };
        let to = match convert::dtype_from_py(wanted) {
            Ok(d) => d,
            Err(_) => {
                let numpy = protocols::to_numpy(py, &array, slf.borrow().writeable)?;
                return Ok(numpy.call_method1("view", (wanted,))?.unbind());
            }
        };
        let view = reinterpret(&array.view, to)?;
        handle::wrap_view(slf, array.with_view(view))
    }
}

/// The view of the same bytes in elements of another size.
fn reinterpret(from: &View, to: numloom_ir::DType) -> PyResult<View> {
    let (old, new) = (from.dtype.size(), to.size());
    let mut v = from.clone();
    v.dtype = to;
    if old == new {
        return Ok(v);
    }
    let Some(last) = v.ndim().checked_sub(1) else {
        let message = "Changing the dtype of a 0d array is only supported if the itemsize is unchanged";
        return Err(PyValueError::new_err(message));
    };
    if v.size() > 0 && v.shape[last] != 1 && v.strides[last] != old as isize {
        let message = "To change to a dtype of a different size, the last axis must be contiguous";
        return Err(PyValueError::new_err(message));
    }
    let bytes = v.shape[last] * old;
    if !bytes.is_multiple_of(new) {
        return Err(PyValueError::new_err(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis of the array.",
        ));
    }
    v.shape[last] = bytes / new;
    v.strides[last] = new as isize;
    Ok(v)
}

/// A view of `x` broadcast to `shape`; read-only, as NumPy's.
#[pyfunction]
pub fn broadcast_to(x: &Bound<'_, PyAny>, shape: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = x.py();
    let shape = layout::shape(shape)?;
    layout::check_count(shape.len())?;
    let array = convert::sized_array(x)?;
    let bytes = checked_size(&shape).and_then(|n| n.checked_mul(array.view.dtype.size()));
    if bytes.is_none_or(|n| n > isize::MAX as usize) {
        return Err(PyValueError::new_err("the shape is beyond all memory"));
    }
    let Some(view) = array.view.broadcast_to(&shape) else {
        return Err(PyValueError::new_err(format!(
            "operands could not be broadcast together with remapped shapes [original->remapped]: {}  and requested shape {}",
            shape_text(&array.view.shape),
            shape_text(&shape)
        )));
    };
    let part = array.with_view(view);
    let wide = match handle::as_ndarray(x) {
        Some(parent) => handle::wrap_view(parent, part)?,
        None => handle::wrap(py, part)?,
    };
    convert::expect_ndarray(wide.bind(py), "broadcast_to")?.borrow_mut().writeable = false;
    Ok(wide)
}

/// A view with the given shape and strides in bytes, checked to lie inside the array's store.
#[pyfunction]
pub fn strided_view(
    x: &Bound<'_, NdArray>,
    shape: &Bound<'_, PyAny>,
    strides: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let array = handle::sized(x)?;
    let mut view = array.view.clone();
    view.shape = layout::shape(shape)?;
    view.strides = layout::extents(strides)?.into_iter().collect();
    if view.shape.len() != view.strides.len() {
        return Err(PyValueError::new_err("mismatch in length of strides and shape"));
    }
    let (lo, hi) = array.view.byte_bounds();
    let (from, to) = view.byte_bounds();
    if !view.shape.contains(&0) && (from < lo || to > hi) {
        return Err(PyValueError::new_err("the view does not lie inside the array"));
    }
    handle::wrap_view(x, array.with_view(view))
}
