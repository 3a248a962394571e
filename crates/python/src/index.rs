//! Reading `x[index]`: what an index means, and the view, packed array or gather it gives.

use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::numpy_api::api;
pub use crate::selection::{Plan, check_ready, each_offset, plan, wrap_index};
use crate::{convert, errors, provenance, quick_index};
use numloom_ir::view::Order;
use numloom_ir::{DType, View};
use numloom_library::{Mode, Take};

use numloom_runtime::memory::Memory;
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySequence, PySlice, PyTuple};
use smallvec::SmallVec;

/// One part of an index.
pub enum Item<'py> {
    Int(isize),
    Slice(Bound<'py, PySlice>),
    Ellipsis,
    NewAxis,
    /// A boolean array of one or more dimensions.
    Mask(Array),
    /// A boolean scalar: a new axis of extent 0 or 1.
    Flag(bool),
    /// An integer array of one or more dimensions.
    Indices(Array),
}

pub type Items<'py> = SmallVec<[Item<'py>; 4]>;

const INVALID: &str = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices";

/// The parts of an index, and whether a 0-d array stood for an integer (the result is then a copy).
pub fn parse<'py>(index: &Bound<'py, PyAny>) -> PyResult<(Items<'py>, bool)> {
    let mut items = Items::new();
    let mut from_array = false;
    match index.cast::<PyTuple>() {
        Ok(tuple) => {
            for part in tuple.iter_borrowed() {
                items.push(item(&part, &mut from_array)?);
            }
        }
        Err(_) => items.push(item(index, &mut from_array)?),
    }
    Ok((items, from_array))
}

#[inline]
fn item<'py>(part: &Bound<'py, PyAny>, from_array: &mut bool) -> PyResult<Item<'py>> {
    if part.is_exact_instance_of::<PyInt>() {
        return int_item(part);
    }
    if let Ok(s) = part.cast_exact::<PySlice>() {
        return Ok(Item::Slice(s.clone()));
    }
    if part.is_none() {
        return Ok(Item::NewAxis);
    }
    if part.is_exact_instance_of::<PyEllipsis>() {
        return Ok(Item::Ellipsis);
    }
    if let Ok(b) = part.cast_exact::<PyBool>() {
        return Ok(Item::Flag(b.is_true()));
    }
    if let Ok(a) = part.cast_exact::<NdArray>() {
        let a = a.borrow();
        if a.array.view.ndim() > 0 && a.array.view.dtype == DType::Bool {
            return Ok(Item::Mask(a.array.clone()));
        }
        if a.array.view.ndim() > 0 && a.array.view.dtype.is_integer() {
            return Ok(Item::Indices(a.array.clone()));
        }
    }
    array_item(part, from_array)
}

fn int_item<'py>(part: &Bound<'py, PyAny>) -> PyResult<Item<'py>> {
    let py = part.py();
    // SAFETY: a plain call; the error is fetched.
    let v = unsafe { ffi::PyNumber_AsSsize_t(part.as_ptr(), std::ptr::null_mut()) };
    if v == -1 && PyErr::occurred(py) {
        let e = PyErr::fetch(py);
        return Err(if e.is_instance_of::<PyOverflowError>(py) { e } else { PyIndexError::new_err(INVALID) });
    }
    // NumPy clips nothing: an int beyond the address space is too large, or no index at all.
    if v == isize::MAX || v == isize::MIN {
        match convert::small_int(part).ok().flatten() {
            Some(held) if held == v as i128 => {}
            Some(_) => return Err(PyOverflowError::new_err("Python int too large to convert to C long")),
            None => return Err(PyIndexError::new_err(INVALID)),
        }
    }
    Ok(Item::Int(v))
}

#[cold]
fn array_item<'py>(part: &Bound<'py, PyAny>, from_array: &mut bool) -> PyResult<Item<'py>> {
    let py = part.py();
    let numpy = api(py);
    if let Some(v) = numpy.scalar_value(part) {
        return match v.dtype {
            DType::Bool => Ok(Item::Flag(v.bytes[0] != 0)),
            d if d.is_integer() => int_item(part),
            _ => Err(PyIndexError::new_err(INVALID)),
        };
    }
    let is_array = handle::as_ndarray(part).is_some() || handle::as_scalar(part).is_some() || numpy.is_array(part);
    if !is_array && part.hasattr("__index__")? {
        return int_item(part);
    }
    if !is_array && (part.cast::<PySequence>().is_err() || part.is_instance_of::<pyo3::types::PyString>()) {
        let numeric = part.is_instance_of::<pyo3::types::PyFloat>() || !part.hasattr("__array__")?;
        if numeric {
            return Err(PyIndexError::new_err(INVALID));
        }
    }
    let array = match convert::array(part) {
        Ok(a) => a,
        Err(e) if errors::is_unsupported(py, &e) && is_array => swapped_integers(part)?,
        Err(e) if errors::is_unsupported(py, &e) => return Err(not_integer(is_array)),
        Err(e) => return Err(e),
    };
    match array.view.dtype {
        DType::Bool if array.view.ndim() == 0 => Ok(Item::Flag(convert::value_of(py, &array)?.bytes[0] != 0)),
        DType::Bool => Ok(Item::Mask(array)),
        d if d.is_integer() && array.view.ndim() == 0 => {
            *from_array |= handle::as_scalar(part).is_none();
            Ok(Item::Int(convert::value_of(py, &array)?.to_i128() as isize))
        }
        d if d.is_integer() => Ok(Item::Indices(array)),
        // An empty list has no type of its own.
        _ if !is_array && array.view.size() == 0 => Ok(Item::Indices(as_int64(py, &array)?)),
        _ => Err(not_integer(is_array)),
    }
}

/// A NumPy array of integers in a layout that is not ours; any other is no index.
fn swapped_integers(part: &Bound<'_, PyAny>) -> PyResult<Array> {
    let kind: String = part.getattr("dtype")?.getattr("kind")?.extract()?;
    if kind != "i" && kind != "u" {
        return Err(not_integer(true));
    }
    convert::own_numpy(&part.call_method1("astype", (convert::dtype_to_py(part.py(), DType::I64),))?)
}

fn not_integer(is_array: bool) -> PyErr {
    PyIndexError::new_err(if is_array {
        "arrays used as indices must be of integer (or boolean) type"
    } else {
        INVALID
    })
}

/// The array as int64.
pub fn as_int64(py: Python<'_>, a: &Array) -> PyResult<Array> {
    cast(py, a, DType::I64)
}

/// The array in another type: itself, or a new one.
pub fn cast(py: Python<'_>, a: &Array, to: DType) -> PyResult<Array> {
    if a.view.dtype == to { Ok(a.clone()) } else { copy_as(py, a, a.view.dense_like(to)) }
}

/// A new array of layout `view` with the elements of `a`; of unknown length if `a` is.
pub fn copy_as(py: Python<'_>, a: &Array, view: View) -> PyResult<Array> {
    let watch = Watch::new(py);
    let out = match a.symbol() {
        Some(_) => record::empty_packed(a, view.dtype, || provenance::here(py)),
        None => record::empty_view(view, || provenance::here(py)),
    };
    let out = out.map_err(|e| errors::raise(py, e))?;
    let flags = record::map(MapOp::Copy, &[Operand::Array(a)], &[&out], None, || watch.here());
    watch.finish(flags.map_err(|e| errors::raise(py, e))?, "cast", &out)?;
    Ok(out)
}

pub fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",")),
    }
}

/// The mask that an index stands for, if it selects elements by one mask of all of x: the mask itself, or the
/// arrays of its `nonzero`.
pub fn whole_mask(items: &[Item<'_>], x: &Array) -> Option<Array> {
    let mask = match items {
        [Item::Mask(m)] => m.clone(),
        _ => {
            let mut indices: SmallVec<[&Array; 4]> = SmallVec::new();
            for i in items {
                let Item::Indices(a) = i else { return None };
                indices.push(a);
            }
            if indices.len() != x.view.ndim() || indices.is_empty() {
                return None;
            }
            record::nonzero_mask(&indices)?
        }
    };
    (mask.view.shape == x.view.shape && mask.symbol().is_none() && x.symbol().is_none()).then_some(mask)
}

/// `x[index]`.
pub fn get(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    match quick_index::get(x, index) {
        Some(done) => done,
        None => get_any(x, index),
    }
}

fn get_any(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = x.py();
    let array = handle::sized(x)?;
    if index.is_exact_instance_of::<PyInt>() && array.view.ndim() > 0 {
        let Item::Int(i) = int_item(index)? else { return Err(PyTypeError::new_err(INVALID)) };
        let at = wrap_index(i, array.view.shape[0], 0)?;
        let part = array.with_view(array.view.index(0, at));
        return if part.view.ndim() == 0 { element(py, &part) } else { handle::wrap_view(x, part) };
    }
    if let (Ok(s), Some(&extent)) = (index.cast_exact::<PySlice>(), array.view.shape.first()) {
        let r = s.indices(extent as isize)?;
        let mut view = array.view.clone();
        if r.slicelength > 0 {
            view.offset = (view.offset as isize + r.start * view.strides[0]) as usize;
        }
        view.shape[0] = r.slicelength;
        view.strides[0] = view.strides[0].wrapping_mul(r.step);
        return handle::wrap_view(x, array.with_view(view));
    }
    let (items, from_array) = parse(index)?;
    if let Some(mask) = whole_mask(&items, &array) {
        let packed = record::pack(&array, &mask, || provenance::here(py)).map_err(|e| errors::raise(py, e))?;
        return handle::wrap(py, packed);
    }
    let plan = plan(py, &array.view, &items)?;
    if let Some(view) = plan.basic() {
        let part = array.with_view(view.clone());
        return match (plan.is_element, from_array) {
            (true, _) => element(py, &part),
            (false, true) => handle::wrap(py, copy_as(py, &part, part.view.dense_like(part.view.dtype))?),
            (false, false) => handle::wrap_view(x, part),
        };
    }
    handle::wrap(py, gather(py, &array, &plan)?)
}

/// One element: NumPy's scalar if the value is there, else a `Scalar` of a copy, for scalars do not change
/// with the array.
fn element(py: Python<'_>, part: &Array) -> PyResult<Py<PyAny>> {
    if record::is_ready(part) {
        return api(py).make_scalar(py, &convert::ready_value(py, part)?);
    }
    let copy = copy_as(py, part, View::dense(part.view.dtype, &[], Order::C))?;
    handle::wrap_result(py, copy)
}

/// The elements an advanced index selects, as a new array.
pub fn gather(py: Python<'_>, x: &Array, plan: &Plan) -> PyResult<Array> {
    if !plan.has_picked() {
        let view = plan.flagged().unwrap_or_else(|| x.view.clone());
        let part = x.with_view(view);
        return copy_as(py, &part, plan.gathered_layout().transpose(&plan.result_axes()));
    }
    plan.check_bounds(py)?;
    let shape = plan.gathered_shape();
    let at = || provenance::here(py);
    let dtype = x.view.dtype;
    check_new_size(&shape, dtype)?;
    let out = record::empty_view(plan.gathered_layout(), at).map_err(|e| errors::raise(py, e))?;
    let base = x.with_view(plan.base());
    let mut indices = plan.indices();
    let mut target = out.clone();
    if let Some(order) = plan.index_order(&out.view) {
        // Both are walked as the result lies in memory.
        target = out.with_view(out.view.transpose(&order));
        for i in &mut indices {
            *i = i.with_view(i.view.transpose(&order[..i.view.ndim()]));
        }
    }
    let mut ins: SmallVec<[&Array; 4]> = SmallVec::new();
    ins.push(&base);
    ins.extend(indices.iter());
    let op = Take::new(&plan.axes(), Mode::Raise);
    record::library(Box::new(op), &ins, &[&target], at).map_err(|e| errors::raise(py, e))?;
    let view = out.view.transpose(&plan.result_axes());
    Ok(out.with_view(view))
}

/// What a process can address at most; fewer bytes may still turn out not to be there.
const ADDRESSABLE: usize = 1 << 47;

/// How many times the machine's memory an array may have that need never be there as a whole.
const PASSES: usize = 64;

/// Arrays of more bytes are refused in the call, as NumPy refuses what the system does not promise.
pub fn most_bytes() -> usize {
    static MOST: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *MOST.get_or_init(|| match numloom_config::Machine::here().memory() {
        Some(bytes) if Memory::Spill.capacity() == 0 => bytes.saturating_mul(PASSES).min(ADDRESSABLE),
        _ => ADDRESSABLE,
    })
}

/// NumPy's error for memory that is not there.
fn no_memory(shape: &[usize], dtype: DType) -> PyErr {
    static CLASS: errors::NumpyClass = errors::NumpyClass::new("numpy._core._exceptions", "_ArrayMemoryError");
    Python::attach(|py| {
        let made = PyTuple::new(py, shape).and_then(|s| CLASS.get(py)?.call1((s, convert::dtype_to_py(py, dtype))));
        made.map_or_else(|e| e, PyErr::from_value)
    })
}

/// NumPy's refusal of arrays beyond the address space and of too many dimensions.
pub fn check_new_size(shape: &[usize], dtype: DType) -> PyResult<()> {
    use pyo3::exceptions::PyValueError;
    crate::layout::check_count(shape.len())?;
    let bytes = numloom_ir::view::checked_size(shape).and_then(|n| n.checked_mul(dtype.size()));
    match bytes {
        Some(n) if n <= most_bytes() => Ok(()),
        Some(n) if n <= isize::MAX as usize => Err(no_memory(shape, dtype)),
        _ => Err(PyValueError::new_err(
            "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.",
        )),
    }
}
