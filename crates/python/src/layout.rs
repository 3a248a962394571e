//! Shapes, orders and axes as Python gives them, with NumPy's words when they are wrong.

use crate::errors;
use numloom_ir::view::Order;
use numloom_ir::{Dims, View};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};
use smallvec::SmallVec;

pub type Extents = SmallVec<[isize; 4]>;

/// The `order=` argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderArg {
    C,
    F,
    A,
    K,
}

/// Reads `order=`; `None` means `default`.
pub fn order(obj: Option<&Bound<'_, PyAny>>, default: OrderArg) -> PyResult<OrderArg> {
    let Some(obj) = obj.filter(|o| !o.is_none()) else { return Ok(default) };
    let text = obj.cast::<PyString>().map_err(|_| {
        let name = obj.get_type().name().map_or(String::new(), |n| n.to_string());
        PyTypeError::new_err(format!("order must be str, not {name}"))
    })?;
    let text = text.to_string_lossy();
    match &*text {
        "C" => return Ok(OrderArg::C),
        "K" => return Ok(OrderArg::K),
        _ => {}
    }
    match text.to_ascii_uppercase().as_str() {
        "C" => Ok(OrderArg::C),
        "F" => Ok(OrderArg::F),
        "A" => Ok(OrderArg::A),
        "K" => Ok(OrderArg::K),
        _ => Err(PyValueError::new_err(format!("order must be one of 'C', 'F', 'A', or 'K' (got '{text}')"))),
    }
}

impl OrderArg {
    /// The layout of a copy of `like` in this order.
    pub fn layout(self, like: &View, dtype: numloom_ir::DType) -> View {
        match self {
            OrderArg::K => like.dense_like(dtype),
            _ => View::dense(dtype, &like.shape, self.plain(like)),
        }
    }

    /// C or F, where A and K follow the array.
    pub fn plain(self, like: &View) -> Order {
        match self {
            OrderArg::C => Order::C,
            OrderArg::F => Order::F,
            OrderArg::A | OrderArg::K if like.is_f_contiguous() && !like.is_c_contiguous() => Order::F,
            _ => Order::C,
        }
    }

    /// Whether the view is already laid out so.
    pub fn is_met_by(self, v: &View) -> bool {
        match self {
            OrderArg::C => v.is_c_contiguous(),
            OrderArg::F => v.is_f_contiguous(),
            OrderArg::A => v.is_c_contiguous() || v.is_f_contiguous(),
            OrderArg::K => true,
        }
    }
}

/// One extent; beyond the address space is NumPy's ValueError.
fn extent(obj: &Bound<'_, PyAny>) -> PyResult<isize> {
    obj.extract::<isize>().map_err(|e| {
        if e.is_instance_of::<PyOverflowError>(obj.py()) {
            PyValueError::new_err("Maximum allowed dimension exceeded")
        } else {
            e
        }
    })
}

/// An int or a sequence of ints.
pub fn extents(obj: &Bound<'_, PyAny>) -> PyResult<Extents> {
    if obj.is_exact_instance_of::<PyInt>() {
        return Ok(SmallVec::from_elem(extent(obj)?, 1));
    }
    if let Ok(t) = obj.cast::<PyTuple>() {
        return t.iter_borrowed().map(|d| extent(&d)).collect();
    }
    if obj.hasattr("__index__")? {
        return Ok(SmallVec::from_elem(extent(obj)?, 1));
    }
    if !obj.hasattr("__len__")? {
        let text = obj.repr()?;
        return Err(PyTypeError::new_err(format!("expected a sequence of integers or a single integer, got '{text}'")));
    }
    obj.try_iter()?.map(|d| extent(&d?)).collect()
}

/// Variadic `reshape(2, 3)` or `reshape((2, 3))`.
pub fn variadic(args: &Bound<'_, PyTuple>) -> PyResult<Extents> {
    if args.len() == 1 { extents(&args.get_item(0)?) } else { extents(args.as_any()) }
}

/// The shape of a new array.
pub fn shape(obj: &Bound<'_, PyAny>) -> PyResult<Dims> {
    extents(obj)?
        .into_iter()
        .map(|d| usize::try_from(d).map_err(|_| PyValueError::new_err("negative dimensions are not allowed")))
        .collect()
}

/// A shape with at most one -1, filled in for `size` elements.
pub fn complete(size: usize, wanted: &[isize]) -> PyResult<Dims> {
    let unknown = wanted.iter().filter(|&&d| d < 0).count();
    if unknown > 1 {
        return Err(PyValueError::new_err("can only specify one unknown dimension"));
    }
    let wrong = || {
        let parts: Vec<String> =
            wanted.iter().map(|&d| if d < 0 { "newaxis".to_owned() } else { d.to_string() }).collect();
        let text = if parts.len() == 1 { format!("({},)", parts[0]) } else { format!("({})", parts.join(",")) };
        PyValueError::new_err(format!("cannot reshape array of size {size} into shape {text}"))
    };
    let known =
        wanted.iter().filter(|&&d| d >= 0).try_fold(1usize, |n, &d| n.checked_mul(d as usize)).ok_or_else(wrong)?;
    let fits = if unknown == 1 { known > 0 && size.is_multiple_of(known) } else { known == size };
    if !fits {
        return Err(wrong());
    }
    if wanted.len() > 64 {
        let message = format!("maximum supported dimension for an ndarray is currently 64, found {}", wanted.len());
        return Err(PyValueError::new_err(message));
    }
    Ok(wanted.iter().map(|&d| if d < 0 { size / known } else { d as usize }).collect())
}

/// An axis of an `ndim`-dimensional array, counted from either end.
pub fn axis(py: Python<'_>, axis: isize, ndim: usize) -> PyResult<usize> {
    let at = if axis < 0 { axis + ndim as isize } else { axis };
    if at < 0 || at >= ndim as isize { Err(errors::axis_error(py, axis, ndim)) } else { Ok(at as usize) }
}
