//! `ufunc.accumulate`, `reduceat`, `outer` and `at`.

use super::arguments::{Bound1, axis, bind, given};
use super::call::{call_full, compute, refuse_negative_powers};
use super::input::{Input, Native, Stop, failed, filled};
use super::keywords::{Keywords, outputs};
use super::products::{cast, narrowed};
use super::reduction::{result, scan_loop};
use crate::assign::warn_complex;
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::index::{self, Item, Plan};
use crate::{convert, provenance, quick};
use numloom_ir::promote::ArgType;
use numloom_ir::view::keep_order_strides;
use numloom_ir::{DType, Dims, ScalarOp, Strides, Value, View};
use numloom_library::{Accumulate, BinaryFn, Fold, LibraryOp, ReduceAt, ScatterApply};
use numloom_loops::{In, block_fn, cast_fn, fp_raise};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;
use std::sync::Arc;

/// One element of a binary loop at a time.
fn element_loop(op: ScalarOp, lp: u8) -> BinaryFn {
    let types = &op.loops()[lp as usize];
    let (a_step, b_step) = (types.ins()[0].size(), types.ins()[1].size());
    let run = block_fn(op, lp as usize);
    Arc::new(move |a, b, out| {
        let ins = [In { ptr: a, step: a_step }, In { ptr: b, step: b_step }];
        // SAFETY: the library hands one element of each of the loop's types.
        unsafe {
            fp_raise(run(1, ins.as_ptr(), &out));
        }
    })
}

/// The library's name for folding with `op`.
pub fn library_fold(op: ScalarOp, lp: u8) -> Fold {
    match op {
        ScalarOp::Add => Fold::Add,
        ScalarOp::Multiply => Fold::Multiply,
        ScalarOp::Minimum => Fold::Minimum,
        ScalarOp::Maximum => Fold::Maximum,
        ScalarOp::LogicalAnd => Fold::LogicalAnd,
        ScalarOp::LogicalOr => Fold::LogicalOr,
        ScalarOp::LogicalXor => Fold::LogicalXor,
        _ => Fold::Call(element_loop(op, lp)),
    }
}

fn writeable<'py>(out: Option<&Bound<'py, PyAny>>) -> Native<Option<Bound<'py, NdArray>>> {
    let Some(out) = out.map(|o| outputs(o, 1)).transpose()?.and_then(|o| o.into_iter().next().flatten()) else {
        return Ok(None);
    };
    if out.borrow().writeable { Ok(Some(out)) } else { Err(Stop::ToNumpy) }
}

/// Runs a library operation that folds in `dtype` into `out`, or into a new array.
fn folded_into<'py>(
    py: Python<'py>,
    op: Box<dyn LibraryOp>,
    ins: &[&Array],
    shape: &Dims,
    dtype: DType,
    strides: Strides,
    out: Option<Bound<'py, NdArray>>,
) -> Native<Py<PyAny>> {
    let at = || provenance::here(py);
    let target = out.as_ref().map(handle::sized).transpose()?;
    if target.as_ref().is_some_and(|t| t.view.shape != *shape) {
        return Err(Stop::ToNumpy);
    }
    let array = match &target {
        Some(t) if t.view.dtype == dtype => t.clone(),
        _ => {
            let view = View { dtype, offset: 0, shape: shape.clone(), strides };
            record::empty_view(view, at).map_err(|e| failed(py, e))?
        }
    };
    let name = op.name();
    let watch = Watch::new(py);
    let flags = record::library(op, ins, &[&array], || watch.here()).map_err(|e| failed(py, e))?;
    watch.finish(flags, name, &array)?;
    if let Some(t) = target.filter(|t| t.view.dtype != dtype) {
        let flags = record::map(MapOp::Copy, &[Operand::Array(&array)], &[&t], None, || watch.here());
        watch.finish(flags.map_err(|e| failed(py, e))?, name, &t)?;
    }
    Ok(result(py, array, out)?)
}

/// The axis of a scan: the first unless another is given. None means all of them, of which there may be but one.
fn only_axis<'py>(py: Python<'py>, value: &Bound1<'py>, ndim: usize) -> Native<usize> {
    match value {
        Some(a) if a.is_none() && ndim > 1 => Err(Stop::ToNumpy),
        _ => given(value).map_or(Ok(0), |a| axis(py, a, ndim)),
    }
}

/// `accumulate` of an array that is there already, along one axis.
pub fn accumulate_array<'py>(
    py: Python<'py>,
    op: ScalarOp,
    input: &Array,
    axis: usize,
    dtype: Option<DType>,
    out: Option<Bound<'py, NdArray>>,
) -> Native<Py<PyAny>> {
    let out_dtype = out.as_ref().map(|o| o.borrow().array.view.dtype);
    let lp = scan_loop(op, input.view.dtype, dtype, out_dtype).ok_or(Stop::ToNumpy)?;
    let dtype = op.loops()[lp as usize].outs()[0];
    let input = &narrowed(py, input.clone(), dtype)?;
    if let Some(rest) = input.view.shape[axis].checked_sub(1) {
        let exponents = input.with_view(input.view.slice(axis, rest.min(1), 1, rest));
        // What is negative once it is cast.
        let exponents = if op == ScalarOp::Power { cast(py, exponents, dtype)? } else { exponents };
        refuse_negative_powers(py, op, dtype, &exponents)?;
    }
    let scan = Accumulate::new(library_fold(op, lp), axis);
    let shape = &input.view.shape;
    // The axes lie as the input's do.
    let strides = keep_order_strides(dtype.size(), shape, &[&input.view.strides]);
    folded_into(py, Box::new(scan), &[input], shape, dtype, strides, out)
}

/// `ufunc.accumulate(array, axis=0, dtype=None, out=None)`.
pub fn accumulate<'py>(
    op: ScalarOp,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Native<Py<PyAny>> {
    let py = args.py();
    if kwargs.is_none() && args.len() == 1 {
        let x = args.get_borrowed_item(0)?;
        // SAFETY: no Python code runs before the array is done with.
        if let Some(done) = unsafe { quick::peek(&x) }.and_then(|x| quick::scan(py, op, &x.array)) {
            return Ok(done?);
        }
    }
    let [array, at, dtype, out] = bind(["array", "axis", "dtype", "out"], args, kwargs)?;
    if op.nin() != 2 || op.nout() != 1 {
        return Err(Stop::ToNumpy);
    }
    let input = Input::from_py(&array.ok_or(Stop::ToNumpy)?)?.resolve(py)?.into_array(py)?;
    if input.view.ndim() == 0 {
        return Err(Stop::ToNumpy);
    }
    let at = only_axis(py, &at, input.view.ndim())?;
    accumulate_array(py, op, &input, at, convert::dtype_option(given(&dtype))?, writeable(given(&out))?)
}

/// Indices that are looked at in the call, at most.
const CHECKED: usize = 1 << 16;

/// `ufunc.reduceat(array, indices, axis=0, dtype=None, out=None)`.
pub fn reduceat<'py>(
    op: ScalarOp,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Native<Py<PyAny>> {
    let py = args.py();
    if kwargs.is_none()
        && args.len() == 2
        && let Some(done) = quick::stretches(op, &args.get_item(0)?, &args.get_item(1)?)
    {
        return Ok(done?);
    }
    let [array, indices, at, dtype, out] = bind(["array", "indices", "axis", "dtype", "out"], args, kwargs)?;
    let (Some(array), Some(indices)) = (array, indices) else { return Err(Stop::ToNumpy) };
    if op.nin() != 2 || op.nout() != 1 {
        return Err(Stop::ToNumpy);
    }
    let input = Input::from_py(&array)?.resolve(py)?.into_array(py)?;
    let indices = integer_indices(py, &indices)?;
    if input.view.ndim() == 0 || indices.view.ndim() != 1 {
        return Err(Stop::ToNumpy);
    }
    let at = only_axis(py, &at, input.view.ndim())?;
    let out = writeable(given(&out))?;
    let out_dtype = out.as_ref().map(|o| o.borrow().array.view.dtype);
    let dtype = convert::dtype_option(given(&dtype))?;
    let lp = scan_loop(op, input.view.dtype, dtype, out_dtype).ok_or(Stop::ToNumpy)?;
    let dtype = op.loops()[lp as usize].outs()[0];
    check_starts(py, op, &indices, input.view.shape[at])?;
    let input = narrowed(py, input, dtype)?;
    refuse_negative_powers(py, op, dtype, &input)?;
    let mut shape = input.view.shape.clone();
    shape[at] = indices.view.shape[0];
    let fold = ReduceAt::new(library_fold(op, lp), at, op.name());
    // The other axes lie as the input's do, and this one among them as they come.
    let mut steps = input.view.strides.clone();
    steps[at] = 0;
    let strides = keep_order_strides(dtype.size(), &shape, &[&steps]);
    folded_into(py, Box::new(fold), &[&input, &indices], &shape, dtype, strides, out)
}

/// Refuses indices that lie outside, if they are there; others are looked at where the work is done.
fn check_starts(py: Python<'_>, op: ScalarOp, indices: &Array, extent: usize) -> Native<()> {
    if !record::is_ready(indices) || indices.view.size() > CHECKED {
        return Ok(());
    }
    let from = record::data(indices).map_err(|e| failed(py, e))?;
    for i in 0..indices.view.shape[0] as isize {
        // SAFETY: the array is there, and `i` one of its elements.
        let v = unsafe { (from.offset(i * indices.view.strides[0]) as *const i64).read_unaligned() };
        if v < 0 || v as usize >= extent {
            let text = format!("index {v} out-of-bounds in {}.reduceat [0, {extent})", op.name());
            return Err(Stop::Raise(PyIndexError::new_err(text)));
        }
    }
    Ok(())
}

/// An index array as int64.
fn integer_indices<'py>(py: Python<'py>, obj: &Bound<'py, PyAny>) -> Native<Array> {
    let a = Input::from_py(obj)?.resolve(py)?.into_array(py)?;
    if a.view.dtype.is_integer() { Ok(cast(py, a, DType::I64)?) } else { Err(Stop::ToNumpy) }
}

/// The array with `n` axes of extent 1 after its own.
fn before(a: Array, n: usize) -> Native<Array> {
    if a.view.ndim() + n > 64 {
        return Err(Stop::ToNumpy);
    }
    let view = (0..n).fold(a.view.clone(), |view, _| view.expand(view.ndim()));
    Ok(a.with_view(view))
}

/// `op` of every pair of elements: the axes of `a`, then those of `b`.
pub fn outer_arrays(py: Python<'_>, op: ScalarOp, a: Array, b: Array) -> Native<Array> {
    let spread = before(a, b.view.ndim())?;
    compute(py, op, &[Input::Array(spread), Input::Array(b)])
}

/// `ufunc.outer(A, B, **kwargs)`.
pub fn outer<'py>(op: ScalarOp, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> Native<Py<PyAny>> {
    let py = args.py();
    if args.len() != 2 || op.nin() != 2 {
        return Err(Stop::ToNumpy);
    }
    let (a, b) = (Input::from_py(&args.get_item(0)?)?, Input::from_py(&args.get_item(1)?)?);
    let keywords = Keywords::parse(op, &[], kwargs)?;
    // Python's numbers count as arrays here.
    let (a, b) = (a.resolve(py)?.into_array(py)?, b.resolve(py)?.into_array(py)?);
    let a = handle::wrap(py, before(a, b.view.ndim())?)?.into_bound(py);
    let b = handle::wrap(py, b)?.into_bound(py);
    call_full(py, op, &[a, b], &keywords)
}

/// What `at` does with one element of type `dtype`: reads it, runs the loop, and casts the result back.
fn element_update(op: ScalarOp, lp: u8, dtype: DType) -> Fold {
    let types = &op.loops()[lp as usize];
    let (first, result) = (types.ins()[0], types.outs()[0]);
    if op.nin() == 2 && first == dtype && result == dtype {
        return match op {
            // Half precision overflows in the loop's conversions, which say so.
            ScalarOp::Add | ScalarOp::Multiply if dtype != DType::F16 => library_fold(op, lp),
            _ => Fold::Call(element_loop(op, lp)),
        };
    }
    let value_step = types.ins().get(1).map_or(0, |t| t.size());
    let (read, run, write) = (cast_fn(dtype, first), block_fn(op, lp as usize), cast_fn(result, dtype));
    Fold::Call(Arc::new(move |x, value, out| {
        let (mut arg, mut made) = (0u128, 0u128);
        let (arg, made) = (&raw mut arg as *mut u8, &raw mut made as *mut u8);
        let ins = [In { ptr: arg, step: first.size() }, In { ptr: value, step: value_step }];
        // SAFETY: the library hands an element of the array and a value in the loop's type; the cells hold any type.
        unsafe {
            fp_raise(read(1, &In { ptr: x, step: dtype.size() }, &arg));
            fp_raise(run(1, ins.as_ptr(), &made));
            fp_raise(write(1, &In { ptr: made, step: result.size() }, &out));
        }
    }))
}

/// `ufunc.at(a, indices, b)`, without `b` for ufuncs of one argument.
pub fn at<'py>(op: ScalarOp, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> Native<Py<PyAny>> {
    let py = args.py();
    if kwargs.is_none() && args.len() == 3 {
        let [x, index, value] = [args.get_borrowed_item(0)?, args.get_borrowed_item(1)?, args.get_borrowed_item(2)?];
        if let Some(done) = quick::update(op, &x, &index, &value) {
            done?;
            return Ok(py.None());
        }
    }
    let [a, indices, b] = bind(["a", "indices", "b"], args, kwargs)?;
    let (Some(a), Some(indices)) = (a, indices) else { return Err(Stop::ToNumpy) };
    let handle = a.cast::<NdArray>().map_err(|_| Stop::ToNumpy)?;
    if op.nin() != 1 + b.is_some() as usize || op.nout() != 1 || !handle.borrow().writeable {
        return Err(Stop::ToNumpy);
    }
    let base = handle::sized(handle)?;
    let dtype = base.view.dtype;
    // Python's numbers count as arrays here.
    let values = b.map(|b| Input::from_py(&b)?.resolve(py)?.into_array(py)).transpose()?;
    let mut arguments: SmallVec<[ArgType; 2]> = SmallVec::from_slice(&[ArgType::Strong(dtype)]);
    arguments.extend(values.as_ref().map(|v| ArgType::Strong(v.view.dtype)));
    let lp = super::resolve::loop_for(op, &arguments).ok_or(Stop::ToNumpy)?;
    let types = &op.loops()[lp as usize];
    let as_given = types.ins()[0] == dtype && values.as_ref().is_some_and(|v| v.view.dtype == dtype);
    let values = match values {
        Some(v) => {
            refuse_negative_powers(py, op, types.ins()[0], &v)?;
            cast(py, v, types.ins()[1])?
        }
        None => filled(py, Value::from_i128(DType::Bool, 0), &[])?,
    };
    // Indices that select nothing in NumPy's eyes are refused in NumPy's words.
    let (items, _) = index::parse(&indices).map_err(|_| Stop::ToNumpy)?;
    let plan = index::plan(py, &base.view, &items).map_err(|_| Stop::ToNumpy)?;
    plan.check_bounds(py).map_err(|_| Stop::ToNumpy)?;
    let selected = Selected::new(py, &base, &plan)?;
    // The places of a single index array, or just one.
    let line = match items[..] {
        [Item::Indices(_) | Item::Mask(_)] => true,
        _ => !plan.has_picked() && selected.shape.iter().product::<usize>() == 1,
    };
    let plain = as_given && line && base.view.ndim() == 1 && values.view.ndim() <= 1;
    let update = Update { fold: element_update(op, lp, dtype), name: if plain { name_at(op, dtype) } else { "at" } };
    let values = values.with_view(selected.spread(&values.view)?);
    warn_complex(py, types.outs()[0], dtype)?;
    selected.update(py, &values, update)?;
    Ok(py.None())
}

/// What warnings call `op.at` of 1-d arrays without casts: NumPy names the ufunc where it has a loop for just this.
fn name_at(op: ScalarOp, dtype: DType) -> &'static str {
    use ScalarOp::*;
    match op {
        Add | Subtract | Multiply | FloorDivide | Maximum | Minimum | Fmax | Fmin => op.name(),
        Divide if !dtype.is_complex() => op.name(),
        _ => "at",
    }
}

struct Update {
    fold: Fold,
    /// The name in warnings.
    name: &'static str,
}

/// The places that an index selects, as a scatter takes them.
struct Selected {
    base: Array,
    indices: SmallVec<[Array; 2]>,
    /// Numbers of the picked axes, for errors.
    axes: Dims,
    /// The shape of the selection, and where each of the scatter's axes stands in it.
    shape: Dims,
    order: Dims,
    /// Whether the selection is a view, under a first axis of extent 1.
    is_view: bool,
}

impl Selected {
    fn new(py: Python<'_>, x: &Array, plan: &Plan) -> Native<Selected> {
        if plan.has_picked() {
            let (axes, gathered) = (plan.result_axes(), plan.gathered_shape());
            let mut order: Dims = SmallVec::from_elem(0, axes.len());
            for (i, &a) in axes.iter().enumerate() {
                order[a] = i;
            }
            return Ok(Selected {
                base: x.with_view(plan.base()),
                indices: plan.indices(),
                axes: plan.axes(),
                shape: axes.iter().map(|&a| gathered[a]).collect(),
                order,
                is_view: false,
            });
        }
        // A view: every place once, as the only element of a new axis.
        let view = plan.basic().cloned().or_else(|| plan.flagged()).ok_or(Stop::ToNumpy)?;
        let view = view.expand(0);
        let zero = filled(py, Value::from_i128(DType::I64, 0), &[1])?;
        Ok(Selected {
            shape: view.shape.clone(),
            order: (0..view.ndim()).collect(),
            base: x.with_view(view),
            indices: SmallVec::from_iter([zero]),
            axes: Dims::from_slice(&[0]),
            is_view: true,
        })
    }

    /// Values for every selected place, in the scatter's order of axes.
    fn spread(&self, values: &View) -> Native<View> {
        // The axis that a view was given is none of the selection's. NumPy is not asked for the words: it reads memory
        // that is not there where an ellipsis precedes a number and there are too many axes.
        let fits = values.ndim() <= self.shape.len() - self.is_view as usize;
        let spread = values.broadcast_to(&self.shape).filter(|_| fits);
        let refused = || Stop::Raise(PyValueError::new_err("array is not broadcastable to correct shape"));
        Ok(spread.ok_or_else(refused)?.transpose(&self.order))
    }

    fn update(&self, py: Python<'_>, values: &Array, update: Update) -> Native<()> {
        if self.shape.contains(&0) {
            return Ok(());
        }
        let ins: SmallVec<[&Array; 3]> = self.indices.iter().chain([values]).collect();
        let scatter = ScatterApply::new(&self.axes, update.fold, update.name);
        let watch = Watch::new(py);
        let flags = record::library(Box::new(scatter), &ins, &[&self.base], || watch.here());
        Ok(watch.finish(flags.map_err(|e| failed(py, e))?, update.name, &self.base)?)
    }
}
