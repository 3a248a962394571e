//! `ufunc.reduce`: folding an array over axes.

use super::arguments::{Axes, axes_beside, bind, flag, given, is_no_value};
use super::call::{compute, refuse_negative_powers};
use super::input::{Input, Native, Stop, failed};
use super::keywords::{mask, outputs};
use super::products::cast;
use super::resolve::{loop_for, loop_with_signature};
use crate::assign::warn_complex;
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::{convert, provenance};
use numloom_ir::promote::ArgType;
use numloom_ir::view::keep_order_strides;
use numloom_ir::{DType, Dims, Identity, Kind, ScalarOp, Strides, Value, View};
use numloom_library::ReduceLeft;
use numloom_runtime::{Array, ExecError, MapOp, Operand, record};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

/// What a reduction starts from.
#[derive(Default)]
pub enum Initial<'py> {
    /// The operation's identity.
    #[default]
    Identity,
    /// The first element, even where there is an identity (`initial=None`).
    First,
    Given(Input<'py>),
}

/// Everything but the operation and its input.
#[derive(Default)]
pub struct Fold<'py> {
    pub axes: Axes,
    pub dtype: Option<DType>,
    pub out: Option<Bound<'py, NdArray>>,
    pub keepdims: bool,
    pub initial: Initial<'py>,
    pub mask: Option<Array>,
}

/// Operations whose folds may be regrouped. The others fold strictly from the left, over one axis.
fn is_associative(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(op, Maximum | Minimum | Fmax | Fmin) || op.identity() != Identity::None
}

/// The loop of `accumulate` and `reduceat`: two equal inputs and an output of the same type.
pub fn scan_loop(op: ScalarOp, input: DType, dtype: Option<DType>, out: Option<DType>) -> Option<u8> {
    let same = |lp: &u8| op.loops()[*lp as usize].ins().iter().all(|t| *t == op.loops()[*lp as usize].outs()[0]);
    reduction_loop(op, input, dtype, out).filter(same)
}

/// The loop a reduction runs in: its first input and its output have the same type.
fn reduction_loop(op: ScalarOp, input: DType, dtype: Option<DType>, out: Option<DType>) -> Option<u8> {
    use ScalarOp::{Add, LogicalAnd, LogicalOr, LogicalXor, Multiply};
    if matches!(op, LogicalAnd | LogicalOr | LogicalXor) {
        return if dtype.is_none_or(|d| d == DType::Bool) { loop_of_bools(op) } else { None };
    }
    // Truths compare alike in any type, and only they stay what they are.
    if op.is_comparison() && input == DType::Bool && dtype.is_none() {
        return loop_of_bools(op);
    }
    let widened = match (op, input.kind()) {
        (Add | Multiply, Kind::Bool | Kind::Signed) => DType::I64,
        (Add | Multiply, Kind::Unsigned) => DType::U64,
        _ => input,
    };
    let lp = match (dtype, out) {
        (Some(d), _) => {
            // The exponent is the only operand that is not of the output's type.
            let second = if op == ScalarOp::Ldexp { input } else { d };
            loop_with_signature(op, &[ArgType::Strong(d), ArgType::Strong(second)], &[None, None, Some(d)])
        }
        (None, Some(out)) => loop_for(op, &[ArgType::Strong(out), ArgType::Strong(input)]),
        (None, None) => loop_for(op, &[ArgType::Strong(widened); 2]),
    }?;
    let types = &op.loops()[lp as usize];
    // NumPy warns about each imaginary part that is lost in an output.
    let drops_imaginary = types.outs()[0].is_complex() && out.is_some_and(|o| !o.is_complex());
    if types.ins()[0] == types.outs()[0] && !drops_imaginary { Some(lp) } else { None }
}

fn loop_of_bools(op: ScalarOp) -> Option<u8> {
    op.loop_for(DType::Bool).map(|l| l as u8)
}

/// `op.reduce(input, ...)`: the result as an array without the reduced axes (with extent 1 under `keepdims`).
pub fn fold<'py>(py: Python<'py>, op: ScalarOp, input: &Array, f: &Fold<'py>) -> Native<Array> {
    let out_array = match &f.out {
        Some(o) if !o.borrow().writeable => return Err(Stop::ToNumpy),
        Some(o) => Some(handle::sized(o)?),
        None => None,
    };
    let lp = reduction_loop(op, input.view.dtype, f.dtype, out_array.as_ref().map(|o| o.view.dtype));
    let lp = lp.ok_or(Stop::ToNumpy)?;
    // NumPy begins with what the output makes of the first element.
    let through_output = op.identity() == Identity::None
        && f.axes.len() == 1
        && out_array.as_ref().is_some_and(|o| o.view.dtype != op.loops()[lp as usize].outs()[0]);
    let from_the_left = !is_associative(op) || through_output;
    if from_the_left && f.axes.len() > 1 {
        return Err(Stop::ToNumpy);
    }
    let dtype = op.loops()[lp as usize].outs()[0];
    warn_complex(py, input.view.dtype, dtype)?;
    let initial = initial_value(op, dtype, input, f)?;
    // Where nothing is selected it comes out as it is; folded with an identity it would lose its sign.
    let signed = matches!(op, ScalarOp::Gcd | ScalarOp::Hypot) && initial.is_some_and(|v| v.to_f64() < 0.0);
    if signed && f.mask.is_some() {
        return Err(Stop::ToNumpy);
    }
    if from_the_left && let Some(exponents) = exponents(input, &f.axes, initial.is_some()) {
        refuse_negative_powers(py, op, dtype, &exponents)?;
    }
    let final_view = reduced_view(input, f.mask.as_ref(), &f.axes, dtype, f.keepdims);
    let out = match out_array {
        Some(o) if o.view.shape != final_view.shape => return Err(Stop::ToNumpy),
        Some(o) => o,
        None => record::empty_view(final_view, || provenance::here(py)).map_err(|e| failed(py, e))?,
    };
    let target = if f.keepdims { out.clone() } else { out.with_view(with_axes(&out.view, &f.axes)) };
    let watch = Watch::new(py);
    let flags = if from_the_left {
        fold_left(op, lp, input, f, initial, &target, &watch)
    } else if f.axes.iter().all(|&a| input.view.shape[a] == 1) && initial.is_none() && f.mask.is_none() {
        let first = Operand::Value(Value::from_i128(dtype, 0));
        match op {
            // Their identity is one for numbers that are not negative.
            ScalarOp::Gcd | ScalarOp::Hypot => {
                let op = MapOp::Scalar { op, lp };
                record::map(op, &[first, Operand::Array(input)], &[&target], None, || watch.here())
            }
            // What the loop makes of an element shows in an output of another type.
            _ => {
                let seen = if target.view.dtype == dtype { input.clone() } else { cast(py, input.clone(), dtype)? };
                record::map(MapOp::Copy, &[Operand::Array(&seen)], &[&target], None, || watch.here())
            }
        }
    } else {
        // Sums of halves are kept in singles, but of what are halves.
        let (halves, cast) = match dtype == DType::F16 && input.view.dtype.size() > 1 && input.view.dtype != dtype {
            true => as_halves(input, &watch).map_err(|e| failed(py, e))?,
            false => (input.clone(), 0),
        };
        record::reduce(op, lp, &halves, &f.axes, &target, f.mask.as_ref(), initial, || watch.here()).map(|f| f | cast)
    };
    watch.finish(flags.map_err(|e| failed(py, e))?, "reduce", &out)?;
    Ok(out)
}

/// An array as halves, and the flags that were raised: the reduction's.
fn as_halves(input: &Array, watch: &Watch<'_>) -> Result<(Array, u8), ExecError> {
    let halves = record::empty_view(input.view.dense_like(DType::F16), || watch.here())?;
    let flags = record::map(MapOp::Copy, &[Operand::Array(input)], &[&halves], None, || watch.here())?;
    Ok((halves, flags))
}

/// What is folded into the first element, or into the initial value.
fn exponents(input: &Array, axes: &[usize], after_initial: bool) -> Option<Array> {
    match *axes {
        _ if after_initial => Some(input.clone()),
        [axis] => {
            let rest = input.view.shape[axis].checked_sub(1)?;
            Some(input.with_view(input.view.slice(axis, rest.min(1), 1, rest)))
        }
        _ => None,
    }
}

/// Folds over the only axis in `f`, or over one of extent 1, strictly from the left.
fn fold_left(
    op: ScalarOp,
    lp: u8,
    input: &Array,
    f: &Fold<'_>,
    initial: Option<Value>,
    target: &Array,
    watch: &Watch<'_>,
) -> Result<u8, ExecError> {
    let ndim = input.view.ndim();
    let axis = f.axes.first().copied();
    let spread = |a: &Array| match axis {
        Some(_) => a.clone(),
        None => a.with_view(a.view.expand(ndim)),
    };
    let mask = f.mask.as_ref().and_then(|m| Some(spread(&m.with_view(m.view.broadcast_to(&input.view.shape)?))));
    let input = spread(input);
    let ins: SmallVec<[&Array; 2]> = std::iter::once(&input).chain(&mask).collect();
    let reduce = ReduceLeft::new(op, lp, axis.unwrap_or(ndim), initial);
    record::library(Box::new(reduce), &ins, &[&spread(target)], || watch.here())
}

/// The value folded in first, in the loop's type; NumPy raises where there must be one and is none.
fn initial_value(op: ScalarOp, dtype: DType, input: &Array, f: &Fold<'_>) -> Native<Option<Value>> {
    // An axis of nothing raises even where the result has no elements.
    let nothing_to_fold = f.axes.iter().any(|&a| input.view.shape[a] == 0);
    let needed = nothing_to_fold || f.mask.is_some();
    // NumPy refuses what an integer does not hold.
    let held = |v: Value| match dtype.is_integer() && (v.dtype.is_inexact() || v.cast(dtype).to_i128() != v.to_i128()) {
        true => Err(Stop::ToNumpy),
        false => Ok(Some(v.cast(dtype))),
    };
    match &f.initial {
        Initial::Given(Input::Value(v)) => held(*v),
        Initial::Given(v) => match v.array() {
            Some(a) if a.view.ndim() == 0 => held(Python::attach(|py| convert::value_of(py, a))?),
            Some(_) => Err(Stop::ToNumpy),
            None => v.value(dtype).map(Some),
        },
        Initial::Identity if op == ScalarOp::BitwiseAnd => {
            // All ones as far as the output can hold them.
            let narrow = f.out.as_ref().map(|o| o.borrow().array.view.dtype).filter(|&o| o != dtype);
            Ok(narrow.map(|o| Value::from_i128(o, -1).cast(dtype)))
        }
        Initial::First if needed => Err(Stop::ToNumpy),
        Initial::Identity if op.identity() == Identity::None && needed => Err(Stop::ToNumpy),
        _ => Ok(None),
    }
}

/// The result's view: dense, its axes in the order in which those of the input (and the mask) lie in memory.
fn reduced_view(input: &Array, mask: Option<&Array>, axes: &[usize], dtype: DType, keepdims: bool) -> View {
    if axes.len() == input.view.ndim() && !keepdims {
        return View { dtype, offset: 0, shape: SmallVec::new(), strides: SmallVec::new() };
    }
    let kept = |i: &usize| keepdims || !axes.contains(i);
    let extent = |i: usize| if axes.contains(&i) { 1 } else { input.view.shape[i] };
    let shape: Dims = (0..input.view.ndim()).filter(kept).map(extent).collect();
    let strides = |v: &View| -> Strides { (0..v.ndim()).filter(kept).map(|i| v.strides[i]).collect() };
    let spread = mask.and_then(|m| m.view.broadcast_to(&input.view.shape));
    let operands: SmallVec<[Strides; 2]> = std::iter::once(&input.view).chain(&spread).map(strides).collect();
    let operands: SmallVec<[&Strides; 2]> = operands.iter().collect();
    let dense = keep_order_strides(dtype.size(), &shape, &operands);
    View { dtype, offset: 0, shape, strides: dense }
}

/// The view with axes of extent 1 put back where they were reduced (`axes` ascending).
fn with_axes(view: &View, axes: &[usize]) -> View {
    let mut v = view.clone();
    for &a in axes {
        v.shape.insert(a, 1);
        v.strides.insert(a, 0);
    }
    v
}

/// The array to fold. Its length may stay unknown if an empty fold has an answer.
pub fn fold_input<'py>(op: ScalarOp, obj: &Bound<'py, PyAny>) -> Native<Array> {
    let input = Input::from_py(obj)?;
    let input = if op.identity() == Identity::None { input.resolve(obj.py())? } else { input };
    input.into_array(obj.py())
}

/// A reduction over everything.
pub fn fold_all(py: Python<'_>, op: ScalarOp, input: &Array) -> Native<Array> {
    fold(py, op, input, &Fold { axes: (0..input.view.ndim()).collect(), ..Fold::default() })
}

/// What the caller gets back: the `out=` it gave, or the new array.
pub fn result(py: Python<'_>, array: Array, out: Option<Bound<'_, NdArray>>) -> PyResult<Py<PyAny>> {
    match out {
        Some(o) => Ok(o.into_any().unbind()),
        None => handle::wrap_result(py, array),
    }
}

pub fn initial<'py>(value: Option<&Bound<'py, PyAny>>) -> Native<Initial<'py>> {
    match value {
        None => Ok(Initial::Identity),
        Some(v) if is_no_value(v) => Ok(Initial::Identity),
        Some(v) if v.is_none() => Ok(Initial::First),
        Some(v) => Ok(Initial::Given(Input::from_py(v)?)),
    }
}

/// `where=` of a reduction; must broadcast to the input.
pub fn reduction_mask(value: Option<&Bound<'_, PyAny>>, input: &Array) -> Native<Option<Array>> {
    if value.is_some_and(|v| v.is_none()) {
        // False, to NumPy.
        return Err(Stop::ToNumpy);
    }
    let Some(m) = value.filter(|v| !is_no_value(v)).map(mask).transpose()?.flatten() else { return Ok(None) };
    if m.view.broadcast_to(&input.view.shape).is_none() { Err(Stop::ToNumpy) } else { Ok(Some(m)) }
}

/// One `out=` of a reduction.
pub fn reduction_out<'py>(value: Option<&Bound<'py, PyAny>>) -> Native<Option<Bound<'py, NdArray>>> {
    match value {
        Some(v) if !is_no_value(v) => Ok(outputs(v, 1)?.into_iter().next().flatten()),
        _ => Ok(None),
    }
}

/// Elements from which on arrays are folded where they lie, and the most of them.
const LARGE: usize = 1 << 15;
const MOST: usize = 64;

/// A list of large arrays folded one by one, which need not be put together for it: what comes out is the same, and no
/// flag that is raised on the way. `None` for others.
fn one_by_one(op: ScalarOp, list: &Bound<'_, PyAny>) -> Option<Native<Array>> {
    use ScalarOp::{Add, BitwiseAnd, BitwiseOr, BitwiseXor, Maximum, Minimum, Multiply};
    let list = list.cast_exact::<PyList>().ok().filter(|list| (2..=MOST).contains(&list.len()))?;
    let mut arrays: SmallVec<[Array; 8]> = SmallVec::new();
    for item in list.iter() {
        let array = item.cast_exact::<NdArray>().ok()?.try_borrow().ok()?.array.clone();
        let alike = arrays.first().is_none_or(|a| a.view.shape == array.view.shape && a.view.dtype == array.view.dtype);
        let large = array.symbol().is_none() && array.view.size() >= LARGE && array.view.is_c_contiguous();
        if !alike || !large {
            return None;
        }
        arrays.push(array);
    }
    let dtype = arrays[0].view.dtype;
    let is_silent = match op {
        Maximum | Minimum => !dtype.is_complex(),
        BitwiseAnd | BitwiseOr | BitwiseXor => !dtype.is_inexact(),
        // Smaller ones are widened.
        Add | Multiply => matches!(dtype, DType::I64 | DType::U64),
        _ => false,
    };
    let mut arrays = arrays.into_iter();
    let first = arrays.next().filter(|_| is_silent)?;
    let both = |a, b| compute(list.py(), op, &[Input::Array(a), Input::Array(b)]);
    Some(arrays.try_fold(first, both))
}

/// `ufunc.reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial=<no value>, where=True)`.
pub fn reduce_method<'py>(
    op: ScalarOp,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Native<Py<PyAny>> {
    let py = args.py();
    let names = ["array", "axis", "dtype", "out", "keepdims", "initial", "where"];
    let [array, axis, dtype, out, keepdims, start, place] = bind(names, args, kwargs)?;
    if op.nin() != 2 || op.nout() != 1 {
        return Err(Stop::ToNumpy);
    }
    let array = array.ok_or(Stop::ToNumpy)?;
    let others = [&axis, &dtype, &out, &keepdims, &start, &place];
    if others.into_iter().all(Option::is_none)
        && let Some(made) = one_by_one(op, &array)
    {
        return Ok(handle::wrap(py, made?)?);
    }
    let input = fold_input(op, &array)?;
    let ndim = input.view.ndim();
    let axes = match &axis {
        Some(a) => axes_beside(py, Some(a), ndim, &[&dtype, &out, &keepdims, &start, &place])?,
        None => (0..ndim.min(1)).collect(),
    };
    let f = Fold {
        axes,
        dtype: convert::dtype_option(given(&dtype))?,
        out: reduction_out(given(&out))?,
        keepdims: flag(keepdims.as_ref())?,
        initial: initial(start.as_ref())?,
        mask: reduction_mask(place.as_ref(), &input)?,
    };
    let array = fold(py, op, &input, &f)?;
    Ok(result(py, array, f.out)?)
}
