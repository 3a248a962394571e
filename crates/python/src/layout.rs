//! Shapes, orders and axes as Python gives them, with NumPy's words when they are wrong.

use crate::{errors, handle};
use numloom_ir::view::Order;
use numloom_ir::{Dims, View};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString, PyTuple};
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

/// The `copy=` argument: always, never, or (None) where needed. Takes NumPy's `_CopyMode` and truth values too.
#[derive(Clone, Copy, Default)]
pub struct CopyArg(pub Option<bool>);

static COPY_MODE: errors::NumpyClass = errors::NumpyClass::new("numpy", "_CopyMode");

impl<'py> FromPyObject<'_, 'py> for CopyArg {
    type Error = PyErr;

    fn extract(obj: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<CopyArg> {
        let py = obj.py();
        if let Ok(b) = obj.cast_exact::<PyBool>() {
            return Ok(CopyArg(Some(b.is_true())));
        }
        if obj.is_none() {
            return Ok(CopyArg(None));
        }
        if obj.is_instance_of::<PyString>() {
            let text = "strings are not allowed for 'copy' keyword. Use True/False/None instead.";
            return Err(PyValueError::new_err(text));
        }
        if obj.is_instance(&COPY_MODE.get(py)?)? {
            // ALWAYS is True, NEVER is False, IF_NEEDED is 2.
            let mode: u8 = obj.getattr("value")?.extract()?;
            return Ok(CopyArg((mode < 2).then_some(mode == 1)));
        }
        obj.is_truthy().map(|b| CopyArg(Some(b)))
    }
}

/// An argument of which only the truth counts: NumPy takes 0 and 1 for these, too.
#[derive(Clone, Copy)]
pub struct Truth(pub bool);

impl<'py> FromPyObject<'_, 'py> for Truth {
    type Error = PyErr;

    fn extract(obj: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<Truth> {
        obj.is_truthy().map(Truth)
    }
}

/// An argument for which None is a word like others: told from one that was not given.
pub struct Word<'py>(pub Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Word<'py> {
    type Error = PyErr;

    fn extract(obj: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<Word<'py>> {
        Ok(Word(Some(obj.to_owned())))
    }
}

/// An axis: a number, but no truth value.
#[derive(Clone, Copy)]
pub struct Axis(pub isize);

impl<'py> FromPyObject<'_, 'py> for Axis {
    type Error = PyErr;

    fn extract(obj: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<Axis> {
        if obj.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err("an integer is required for the axis"));
        }
        obj.extract().map(Axis)
    }
}

/// A number that NumPy reads as one of C's ints.
#[derive(Clone, Copy)]
pub struct Short(pub isize);

impl<'py> FromPyObject<'_, 'py> for Short {
    type Error = PyErr;

    fn extract(obj: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<Short> {
        let long: std::ffi::c_long = obj.extract().map_err(|e: PyErr| {
            let beyond = e.is_instance_of::<PyOverflowError>(obj.py());
            if beyond { PyOverflowError::new_err("Python int too large to convert to C long") } else { e }
        })?;
        match std::ffi::c_int::try_from(long) {
            Ok(_) => Ok(Short(long as isize)),
            Err(_) if long < 0 => Err(PyOverflowError::new_err("signed integer is less than minimum")),
            Err(_) => Err(PyOverflowError::new_err("signed integer is greater than maximum")),
        }
    }
}

/// The `copy=` argument of `astype`: a truth value.
pub struct CastCopy(pub bool);

impl<'py> FromPyObject<'_, 'py> for CastCopy {
    type Error = PyErr;

    fn extract(obj: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<CastCopy> {
        if let Ok(b) = obj.cast_exact::<PyBool>() {
            return Ok(CastCopy(b.is_true()));
        }
        if obj.is_instance(&COPY_MODE.get(obj.py())?)? {
            let text = "_CopyMode enum is not allowed for astype function. Use true/false instead.";
            return Err(PyValueError::new_err(text));
        }
        obj.is_truthy().map(CastCopy)
    }
}

/// `copy=` as True, False or None.
#[pyfunction]
pub fn copy_mode(copy: CopyArg) -> Option<bool> {
    copy.0
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
        self.layout_as(like, dtype, &like.shape)
    }

    /// The same in another shape; K is C where the numbers of dimensions differ.
    pub fn layout_as(self, like: &View, dtype: numloom_ir::DType, shape: &[usize]) -> View {
        match self {
            OrderArg::K if shape.len() == like.ndim() => like.dense_like_as(dtype, shape),
            OrderArg::K => View::dense(dtype, shape, Order::C),
            _ => View::dense(dtype, shape, self.plain(like)),
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
    if obj.is_exact_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("an integer is required"));
    }
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
    if let Some(a) = handle::as_ndarray(obj).filter(|a| a.borrow().array.view.ndim() > 0) {
        return a.try_iter()?.map(|d| extent(&d?)).collect();
    }
    if obj.hasattr("__index__")? && !obj.is_exact_instance_of::<PyBool>() {
        return Ok(SmallVec::from_elem(extent(obj)?, 1));
    }
    // SAFETY: a live object.
    let is_sequence = unsafe { pyo3::ffi::PySequence_Check(obj.as_ptr()) } != 0;
    if obj.is_exact_instance_of::<PyBool>() || !is_sequence {
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

/// NumPy's refusal of too many dimensions.
pub fn check_count(ndim: usize) -> PyResult<()> {
    if ndim <= 64 {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("maximum supported dimension for an ndarray is currently 64, found {ndim}")))
}

/// A shape with at most one -1, filled in for `size` elements.
pub fn complete(size: usize, wanted: &[isize]) -> PyResult<Dims> {
    let unknown = wanted.iter().filter(|&&d| d < 0).count();
    if unknown > 1 {
        return Err(PyValueError::new_err("can only specify one unknown dimension"));
    }
    let wrong = || {
        // NumPy leaves out an unknown extent that comes first.
        let known = wanted.iter().skip_while(|&&d| d < 0);
        let parts: Vec<String> = known.map(|&d| if d < 0 { "newaxis".to_owned() } else { d.to_string() }).collect();
        let text = if wanted.len() == 1 { format!("({},)", parts[0]) } else { format!("({})", parts.join(",")) };
        PyValueError::new_err(format!("cannot reshape array of size {size} into shape {text}"))
    };
    let known =
        wanted.iter().filter(|&&d| d >= 0).try_fold(1usize, |n, &d| n.checked_mul(d as usize)).ok_or_else(wrong)?;
    let fits = if unknown == 1 { known > 0 && size.is_multiple_of(known) } else { known == size };
    if !fits {
        return Err(wrong());
    }
    check_count(wanted.len())?;
    Ok(wanted.iter().map(|&d| if d < 0 { size / known } else { d as usize }).collect())
}

/// An axis of an `ndim`-dimensional array, counted from either end.
pub fn axis(py: Python<'_>, axis: isize, ndim: usize) -> PyResult<usize> {
    if i32::try_from(axis).is_err() {
        return Err(PyValueError::new_err("integer won't fit into a C int"));
    }
    let at = if axis < 0 { axis + ndim as isize } else { axis };
    if at < 0 || at >= ndim as isize { Err(errors::axis_error(py, axis, ndim)) } else { Ok(at as usize) }
}
