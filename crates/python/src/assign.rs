//! Writing `x[index] = value`: copies into views, predicated copies through masks, scatters through index arrays.

use crate::convert::{self, Arg};
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::index::{self, Item, Plan, shape_text};
use crate::numpy_api::api;
use crate::{dispatch, errors, protocols, provenance, quick_index};
use numloom_ir::promote::{Casting, can_cast};
use numloom_ir::{DType, Dims, Kind, Value, View};

use numloom_library::{Mode, Put};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use smallvec::SmallVec;

/// What is assigned: an array of any type, or one element already in the destination's type.
pub enum Source {
    Array(Array),
    Value(Value),
}

/// Reads a value to be stored in an array of `dtype`, as NumPy converts it.
pub fn source(obj: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Source> {
    let py = obj.py();
    if let Some(number) = convert::python_number(obj)? {
        return match exact(&number, dtype) {
            Some(v) => Ok(Source::Value(v)),
            None => Ok(Source::Value(through_numpy(obj, dtype)?)),
        };
    }
    if let Some(a) = handle::as_ndarray(obj) {
        return Ok(Source::Array(a.borrow().array.clone()));
    }
    if let Some(s) = handle::as_scalar(obj) {
        let array = s.borrow().array.clone();
        // A number that an integer may not hold is looked at, as NumPy's are.
        if dtype.is_integer() && !can_cast(array.view.dtype, dtype, Casting::Safe) {
            let number = api(py).make_scalar(py, &convert::value_of(py, &array)?)?;
            return source(number.bind(py), dtype);
        }
        return Ok(Source::Array(array));
    }
    if api(py).is_array(obj) {
        let shared = match convert::borrow_numpy(obj) {
            Err(e) if errors::is_unsupported(py, &e) => convert::copy_numpy(obj)?,
            shared => shared?.0,
        };
        return Ok(Source::Array(shared));
    }
    if is_plain_sequence(obj)? {
        // Elements of nested lists are converted one by one, with NumPy's checks.
        let made = api(py).numpy(py).call_method1("asarray", (obj, convert::dtype_to_py(py, dtype)))?;
        return Ok(Source::Array(convert::own_numpy(&made)?));
    }
    let known = match convert::arg(obj) {
        Ok(Arg::Array { array }) => return Ok(Source::Array(array)),
        Ok(arg) => exact(&arg, dtype),
        Err(e) if errors::is_unsupported(py, &e) => None,
        Err(e) => return Err(e),
    };
    match known {
        Some(v) => Ok(Source::Value(v)),
        None => Ok(Source::Value(through_numpy(obj, dtype)?)),
    }
}

/// The same for selected elements, to which NumPy casts its numbers as it does arrays, whatever that loses.
fn selected_source(obj: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Source> {
    if let Some(s) = handle::as_scalar(obj) {
        return Ok(Source::Array(s.borrow().array.clone()));
    }
    if api(obj.py()).is_scalar(obj)
        && let Ok(arg @ Arg::Value(v)) = convert::arg(obj)
    {
        return match exact(&arg, dtype) {
            Some(v) => Ok(Source::Value(v)),
            None => Ok(Source::Array(convert::constant(obj.py(), v)?)),
        };
    }
    source(obj, dtype)
}

/// A list or the like, whose elements are assigned one by one.
fn is_plain_sequence(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let numpy = api(value.py());
    let whole = handle::as_ndarray(value).is_some()
        || handle::as_scalar(value).is_some()
        || numpy.is_array(value)
        || numpy.is_scalar(value)
        || value.is_instance_of::<PyString>();
    Ok(!whole && value.hasattr("__len__")?)
}

/// The number in `dtype` when that needs neither a warning nor an error.
fn exact(arg: &Arg, dtype: DType) -> Option<Value> {
    let number = match *arg {
        Arg::Int(v) => {
            let made = Value::from_i128(dtype, v);
            return match dtype.kind() {
                Kind::Bool => Some(made),
                Kind::Signed | Kind::Unsigned => (made.to_i128() == v).then_some(made),
                _ => made.to_f64().is_finite().then_some(made),
            };
        }
        Arg::Float(v) => Value::from_f64(DType::F64, v),
        Arg::Complex(re, im) => Value::from_complex(DType::C128, re, im),
        Arg::Value(v) => v,
        _ => return None,
    };
    if number.dtype == dtype {
        return Some(number);
    }
    if number.dtype.is_complex() && !dtype.is_complex() {
        return None;
    }
    let made = number.cast(dtype);
    let kept = match (number.dtype.is_inexact(), dtype.kind()) {
        (_, Kind::Bool) => true,
        (false, Kind::Signed | Kind::Unsigned) => made.to_i128() == number.to_i128(),
        (true, Kind::Signed | Kind::Unsigned) => {
            number.to_f64().abs() < 9e15 && made.to_f64() == number.to_f64().trunc()
        }
        _ => same_finiteness(&number, &made),
    };
    kept.then_some(made)
}

fn same_finiteness(a: &Value, b: &Value) -> bool {
    a.to_f64().is_finite() == b.to_f64().is_finite() && a.imag().is_finite() == b.imag().is_finite()
}

/// Conversions that warn or fail are NumPy's own, so that the words are.
fn through_numpy(obj: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Value> {
    let py = obj.py();
    let cell = api(py).numpy(py).call_method1("empty", (PyTuple::empty(py), convert::dtype_to_py(py, dtype)))?;
    cell.set_item(PyTuple::empty(py), obj)?;
    convert::value_of(py, &convert::own_numpy(&cell)?)
}

/// `x[index] = value`.
pub fn set(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Some(done) = quick_index::set(x, index, value) {
        return done;
    }
    let py = x.py();
    if !x.borrow().writeable {
        return Err(read_only());
    }
    let array = handle::sized(x)?;
    match set_native(py, &array, index, value) {
        Err(e) if errors::is_unsupported(py, &e) => protocols::to_numpy(py, &array, true)?.set_item(index, value),
        done => done,
    }
}

pub fn read_only() -> PyErr {
    PyValueError::new_err("assignment destination is read-only")
}

fn set_native(py: Python<'_>, x: &Array, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let (items, _) = index::parse(index)?;
    let dtype = x.view.dtype;
    if let Some(mask) = index::whole_mask(&items, x) {
        let (from, by_mask) = (selected_source(value, dtype)?, matches!(items.as_slice(), [Item::Mask(_)]));
        if by_mask || !matches!(&from, Source::Array(a) if a.view.ndim() > 1) {
            return set_masked(py, x, &mask, from, by_mask);
        }
    }
    if let [Item::Mask(mask)] = items.as_slice()
        && set_leading(py, x, mask, value)?
    {
        return Ok(());
    }
    if let ([Item::Flag(on)], 0) = (items.as_slice(), x.view.ndim()) {
        check_flag_values(py, *on, &source(value, dtype)?)?;
    }
    let plan = index::plan(py, &x.view, &items)?;
    let Some(view) = plan.basic() else { return scatter(py, x, &plan, selected_source(value, dtype)?) };
    let dest = x.with_view(view.clone());
    match source(value, dtype) {
        Ok(Source::Array(a)) if a.view.ndim() > view.ndim() && (plan.is_element || is_plain_sequence(value)?) => {
            refused(py, &dest, value, plan.is_element)
        }
        Err(_) if is_plain_sequence(value)? => refused(py, &dest, value, plan.is_element),
        given => store(py, &dest, given?, None),
    }
}

/// Sequences where they do not belong: NumPy knows which of them it takes, and what to say about the others.
fn refused(py: Python<'_>, dest: &Array, value: &Bound<'_, PyAny>, is_element: bool) -> PyResult<()> {
    let target = protocols::to_numpy(py, dest, true)?;
    let value = dispatch::to_numpy_args(value)?;
    if is_element { target.set_item(PyTuple::empty(py), value) } else { target.set_item(py.Ellipsis(), value) }
}

/// Warns as NumPy does when imaginary parts are lost.
pub fn warn_complex(py: Python<'_>, from: DType, to: DType) -> PyResult<()> {
    if from.is_complex() && !to.is_complex() && to != DType::Bool {
        let class = errors::COMPLEX_WARNING.get(py)?;
        PyErr::warn(py, &class, c"Casting complex values to real discards the imaginary part", 1)?;
    }
    Ok(())
}

/// Leading axes of extent 1 beyond the destination's dimensions do not count.
fn drop_leading_ones(v: &View, ndim: usize) -> View {
    let mut v = v.clone();
    while v.ndim() > ndim && v.shape[0] == 1 {
        v = v.squeeze(0);
    }
    v
}

/// Copies `from` into all of `dest`, or where `mask` (of its shape) is true.
pub fn store(py: Python<'_>, dest: &Array, from: Source, mask: Option<&Array>) -> PyResult<()> {
    let watch = Watch::new(py);
    let at = || watch.here();
    let flags = match from {
        Source::Value(v) => record::map(MapOp::Copy, &[Operand::Value(v)], &[dest], mask, at),
        Source::Array(mut a) => {
            errors::resolve(py, &mut a)?;
            let view = drop_leading_ones(&a.view, dest.view.ndim());
            if view.broadcast_to(&dest.view.shape).is_none() {
                return Err(PyValueError::new_err(format!(
                    "could not broadcast input array from shape {} into shape {}",
                    shape_text(&view.shape),
                    shape_text(&dest.view.shape)
                )));
            }
            warn_complex(py, a.view.dtype, dest.view.dtype)?;
            record::map(MapOp::Copy, &[Operand::Array(&a.with_view(view))], &[dest], mask, at)
        }
    };
    watch.finish(flags.map_err(|e| errors::raise(py, e))?, "cast", dest)
}

/// `x[mask] = from` for a mask of x's own shape, or for the places of its trues.
fn set_masked(py: Python<'_>, x: &Array, mask: &Array, from: Source, by_mask: bool) -> PyResult<()> {
    let Source::Array(values) = from else { return store(py, x, from, Some(mask)) };
    let ndim = values.view.ndim();
    if ndim == 0 {
        return store(py, x, Source::Array(values), Some(mask));
    }
    if ndim > 1 {
        return Err(too_many_dimensions(ndim));
    }
    let same = values.symbol().is_some() && record::same_mask(&values, mask);
    let values = if same { values } else { fit_to_mask(py, mask, values, by_mask)? };
    if !same && values.view.ndim() == 0 {
        return store(py, x, Source::Array(values), Some(mask));
    }
    warn_complex(py, values.view.dtype, x.view.dtype)?;
    let watch = Watch::new(py);
    let flags = record::unpack(x, mask, &values, || watch.here());
    watch.finish(flags.map_err(|e| errors::raise(py, e))?, "cast", x)
}

/// Masks of up to this many elements are counted in the call.
const COUNTED_HERE: usize = 4096;
/// Indices of an index array whose reach is worth remembering.
const REMEMBERED: usize = 1 << 16;

/// Values as many as the mask has trues; 0-d when one stands for all.
fn fit_to_mask(py: Python<'_>, mask: &Array, mut values: Array, by_mask: bool) -> PyResult<Array> {
    errors::resolve(py, &mut values)?;
    let n = values.view.shape[0];
    if n == 1 {
        let one = values.view.index(0, 0);
        return Ok(values.with_view(one));
    }
    let count = count_trues(py, mask)?;
    match n == count {
        true => Ok(values),
        false if by_mask => Err(wrong_count(n, count)),
        false => Err(not_broadcast(&[n], &[count])),
    }
}

fn too_many_dimensions(ndim: usize) -> PyErr {
    PyTypeError::new_err(format!(
        "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has {ndim} dimensions"
    ))
}

fn wrong_count(n: usize, count: usize) -> PyErr {
    PyValueError::new_err(format!(
        "NumPy boolean array indexing assignment cannot assign {n} input values to the {count} output values where the mask is true"
    ))
}

fn not_broadcast(values: &[usize], result: &[usize]) -> PyErr {
    PyValueError::new_err(format!(
        "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}",
        shape_text(values),
        shape_text(result)
    ))
}

/// A boolean scalar is the mask of a 0-d array, and its values are checked like those of a mask.
fn check_flag_values(py: Python<'_>, on: bool, from: &Source) -> PyResult<()> {
    let Source::Array(values) = from else { return Ok(()) };
    let mut values = values.clone();
    errors::resolve(py, &mut values)?;
    match values.view.shape.as_slice() {
        [] | [1] => Ok(()),
        &[n] if n == on as usize => Ok(()),
        &[n] => Err(wrong_count(n, on as usize)),
        shape => Err(too_many_dimensions(shape.len())),
    }
}

/// How many elements a mask selects; a sync point.
fn count_trues(py: Python<'_>, mask: &Array) -> PyResult<usize> {
    if record::is_ready(mask) && mask.view.size() <= COUNTED_HERE {
        let _still = record::still();
        let data = record::data(mask).map_err(|e| errors::raise(py, e))?;
        let mut count = 0;
        index::each_offset(&mask.view, |offset| {
            // SAFETY: the mask is ready and the offset lies inside its view.
            count += unsafe { data.offset(offset).read() != 0 } as usize;
            Ok(())
        })?;
        return Ok(count);
    }
    let mut trues = record::pack(mask, mask, || provenance::here(py)).map_err(|e| errors::raise(py, e))?;
    errors::resolve(py, &mut trues)?;
    Ok(trues.view.shape[0])
}

/// `x[mask] = value` for a mask of the leading axes and a value without an axis for the selected elements:
/// a predicated copy. False when it is not of that form.
fn set_leading(py: Python<'_>, x: &Array, mask: &Array, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let lead = mask.view.ndim();
    if mask.symbol().is_some() || lead > x.view.ndim() || mask.view.shape[..] != x.view.shape[..lead] {
        return Ok(false);
    }
    let from = selected_source(value, x.view.dtype)?;
    if let Source::Array(a) = &from {
        let rest = &x.view.shape[lead..];
        if a.symbol().is_some() || drop_leading_ones(&a.view, rest.len()).broadcast_to(rest).is_none() {
            return Ok(false);
        }
    }
    let mut over = mask.view.clone();
    over.shape = x.view.shape.clone();
    over.strides.resize(x.view.ndim(), 0);
    store(py, x, from, Some(&mask.with_view(over)))?;
    Ok(true)
}

/// `x[advanced index] = from`.
fn scatter(py: Python<'_>, x: &Array, plan: &Plan, from: Source) -> PyResult<()> {
    let axes = plan.result_axes();
    let gathered = plan.gathered_shape();
    let result: Dims = axes.iter().map(|&a| gathered[a]).collect();
    let mut values = match from {
        Source::Value(v) => convert::constant(py, v)?,
        Source::Array(a) => a,
    };
    errors::resolve(py, &mut values)?;
    // NumPy looks at shapes first, then at indices, and casts what has passed.
    if drop_leading_ones(&values.view, result.len()).broadcast_to(&result).is_none() {
        return Err(not_broadcast(&values.view.shape, &result));
    }
    plan.check_bounds(py)?;
    warn_complex(py, values.view.dtype, x.view.dtype)?;
    // Indices not there yet are looked at even where they select nothing.
    let looked_at = plan.has_picked() && plan.indices().iter().all(|i| i.view.size() > 0);
    if result.contains(&0) && !looked_at {
        return Ok(());
    }
    let values = index::cast(py, &values, x.view.dtype)?;
    let Some(spread) = drop_leading_ones(&values.view, result.len()).broadcast_to(&result) else {
        return Err(not_broadcast(&values.view.shape, &result));
    };
    if !plan.has_picked() {
        let dest = plan.flagged().unwrap_or_else(|| x.view.clone());
        return store(py, &x.with_view(dest), Source::Array(values.with_view(spread)), None);
    }
    let mut back: Dims = SmallVec::from_elem(0, axes.len());
    for (i, &a) in axes.iter().enumerate() {
        back[a] = i;
    }
    let spread = values.with_view(spread.transpose(&back));
    let indices = plan.indices();
    let mut ins: SmallVec<[&Array; 4]> = indices.iter().collect();
    ins.push(&spread);
    let base = x.with_view(plan.base());
    let mut op = Put::new(&plan.axes(), Mode::Raise);
    if let [index] = &indices[..]
        && index.view.size() >= REMEMBERED
    {
        op = op.remembering(record::reaches_of(index, base.view.shape[0]));
    }
    record::library(Box::new(op), &ins, &[&base], || provenance::here(py)).map_err(|e| errors::raise(py, e))?;
    Ok(())
}
