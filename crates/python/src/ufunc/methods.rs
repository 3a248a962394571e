//! `ufunc.accumulate`, `reduceat`, `outer` and `at`.

use super::arguments::{axis, bind, given};
use super::call::compute;
use super::input::{Input, Native, Stop, failed};
use super::keywords::outputs;
use super::products::cast;
use super::reduction::{reduction_loop, result};
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::{convert, provenance};
use numloom_ir::promote::{ArgType, Casting, can_cast, weak_dtype};
use numloom_ir::view::{broadcast_shapes, keep_order_strides};
use numloom_ir::{DType, Dims, ScalarOp, View};
use numloom_library::{Accumulate, BinaryFn, Fold, LibraryOp, ReduceAt, ScatterApply};
use numloom_loops::{In, block_fn, fp_raise};
use numloom_runtime::{Array, record};
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
fn library_fold(op: ScalarOp, lp: u8) -> Fold {
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
    out: Option<Bound<'py, NdArray>>,
) -> Native<Py<PyAny>> {
    let at = || provenance::here(py);
    let array = match &out {
        Some(o) => {
            let a = handle::sized(o)?;
            if a.view.dtype != dtype || a.view.shape != *shape {
                return Err(Stop::ToNumpy);
            }
            a
        }
        None => {
            // The axes lie as the input's do.
            let strides = keep_order_strides(dtype.size(), shape, &[&ins[0].view.strides]);
            let view = View { dtype, offset: 0, shape: shape.clone(), strides };
            record::empty_view(view, at).map_err(|e| failed(py, e))?
        }
    };
    let name = op.name();
    let watch = Watch::new(py);
    let flags = record::library(op, ins, &[&array], || watch.here()).map_err(|e| failed(py, e))?;
    watch.finish(flags, name, &array)?;
    Ok(result(py, array, out)?)
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
    let lp = reduction_loop(op, input.view.dtype, dtype, out_dtype).ok_or(Stop::ToNumpy)?;
    let dtype = op.loops()[lp as usize].outs()[0];
    let scan = Accumulate::new(library_fold(op, lp), axis);
    folded_into(py, Box::new(scan), &[input], &input.view.shape, dtype, out)
}

/// `ufunc.accumulate(array, axis=0, dtype=None, out=None)`.
pub fn accumulate<'py>(
    op: ScalarOp,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Native<Py<PyAny>> {
    let py = args.py();
    let [array, at, dtype, out] = bind(["array", "axis", "dtype", "out"], args, kwargs)?;
    if op.nin() != 2 || op.nout() != 1 {
        return Err(Stop::ToNumpy);
    }
    let input = Input::from_py(&array.ok_or(Stop::ToNumpy)?)?.resolve(py)?.into_array(py)?;
    if input.view.ndim() == 0 {
        return Err(Stop::ToNumpy);
    }
    let at = match given(&at) {
        Some(a) => axis(py, a, input.view.ndim())?,
        None => 0,
    };
    accumulate_array(py, op, &input, at, convert::dtype_option(given(&dtype))?, writeable(given(&out))?)
}

/// `ufunc.reduceat(array, indices, axis=0, dtype=None, out=None)`.
pub fn reduceat<'py>(
    op: ScalarOp,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Native<Py<PyAny>> {
    let py = args.py();
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
    let at = match given(&at) {
        Some(a) => axis(py, a, input.view.ndim())?,
        None => 0,
    };
    let out = writeable(given(&out))?;
    let out_dtype = out.as_ref().map(|o| o.borrow().array.view.dtype);
    let dtype = convert::dtype_option(given(&dtype))?;
    let lp = reduction_loop(op, input.view.dtype, dtype, out_dtype).ok_or(Stop::ToNumpy)?;
    let dtype = op.loops()[lp as usize].outs()[0];
    let mut shape = input.view.shape.clone();
    shape[at] = indices.view.shape[0];
    let fold = ReduceAt::new(library_fold(op, lp), at, op.name());
    folded_into(py, Box::new(fold), &[&input, &indices], &shape, dtype, out)
}

/// An index array as int64.
fn integer_indices<'py>(py: Python<'py>, obj: &Bound<'py, PyAny>) -> Native<Array> {
    let a = Input::from_py(obj)?.resolve(py)?.into_array(py)?;
    if a.view.dtype.is_integer() { Ok(cast(py, a, DType::I64)?) } else { Err(Stop::ToNumpy) }
}

/// `op` of every pair of elements: the axes of `a`, then those of `b`.
pub fn outer_arrays(py: Python<'_>, op: ScalarOp, a: Array, b: Array) -> Native<Array> {
    if a.view.ndim() + b.view.ndim() > 64 {
        return Err(Stop::ToNumpy);
    }
    let mut view = a.view.clone();
    for _ in 0..b.view.ndim() {
        view = view.expand(view.ndim());
    }
    let spread = a.with_view(view);
    compute(py, op, &[Input::Array(spread), Input::Array(b)])
}

/// `ufunc.outer(A, B)`.
pub fn outer<'py>(op: ScalarOp, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> Native<Py<PyAny>> {
    let py = args.py();
    if kwargs.is_some_and(|k| !k.is_empty()) || args.len() != 2 || op.nin() != 2 || op.nout() != 1 {
        return Err(Stop::ToNumpy);
    }
    let a = Input::from_py(&args.get_item(0)?)?;
    let b = Input::from_py(&args.get_item(1)?)?;
    if a.is_weak() || b.is_weak() {
        return Ok(handle::wrap_result(py, compute(py, op, &[a, b])?)?);
    }
    let (a, b) = (a.resolve(py)?.into_array(py)?, b.resolve(py)?.into_array(py)?);
    Ok(handle::wrap_result(py, outer_arrays(py, op, a, b)?)?)
}

/// `ufunc.at(a, indices, b)` for integer index arrays; other indices are NumPy's.
pub fn at<'py>(op: ScalarOp, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> Native<Py<PyAny>> {
    let py = args.py();
    let [a, indices, b] = bind(["a", "indices", "b"], args, kwargs)?;
    let (Some(a), Some(indices), Some(b)) = (a, indices, b) else { return Err(Stop::ToNumpy) };
    let handle = a.cast::<NdArray>().map_err(|_| Stop::ToNumpy)?;
    if op.nin() != 2 || op.nout() != 1 || !handle.borrow().writeable {
        return Err(Stop::ToNumpy);
    }
    let base = handle::sized(handle)?;
    let values = Input::from_py(&b)?.resolve(py)?;
    let dtype = base.view.dtype;
    let lp = super::resolve::loop_for(op, &[ArgType::Strong(dtype), values.arg_type()]).ok_or(Stop::ToNumpy)?;
    let types = &op.loops()[lp as usize];
    let casts = match values.arg_type() {
        ArgType::Strong(d) => can_cast(d, types.ins()[1], Casting::Safe),
        _ => true,
    };
    if types.ins()[0] != dtype || types.outs()[0] != dtype || !casts || op == ScalarOp::Power {
        return Err(Stop::ToNumpy);
    }
    let as_given = weak_dtype(values.arg_type(), None) == dtype;
    let values = match values.array() {
        Some(v) => cast(py, v.clone(), types.ins()[1])?,
        None => super::input::filled(py, values.value(types.ins()[1])?, &[])?,
    };
    let mut index_arrays: SmallVec<[Array; 2]> = SmallVec::new();
    match indices.cast::<PyTuple>() {
        Ok(t) => {
            for i in t.iter() {
                index_arrays.push(integer_indices(py, &i)?);
            }
        }
        Err(_) => index_arrays.push(integer_indices(py, &indices)?),
    }
    if index_arrays.is_empty() || index_arrays.len() > base.view.ndim() {
        return Err(Stop::ToNumpy);
    }
    let name = if as_given { name_at(op, &base, &index_arrays) } else { "at" };
    scatter(py, &base, &index_arrays, &values, element_loop(op, lp), name)?;
    Ok(py.None())
}

/// What warnings call `op.at`: NumPy names the ufunc where it has a loop for just this.
fn name_at(op: ScalarOp, base: &Array, indices: &[Array]) -> &'static str {
    use ScalarOp::*;
    let own_loop = match op {
        Add | Subtract | Multiply | FloorDivide | Maximum | Minimum | Fmax | Fmin => true,
        Divide => !base.view.dtype.is_complex(),
        _ => false,
    };
    let line = base.view.ndim() == 1 && matches!(indices, [i] if i.view.ndim() == 1);
    if own_loop && line { op.name() } else { "at" }
}

fn scatter(
    py: Python<'_>,
    base: &Array,
    indices: &[Array],
    values: &Array,
    apply: BinaryFn,
    name: &'static str,
) -> Native<()> {
    let common = broadcast_shapes(indices.iter().map(|i| &i.view.shape[..])).ok_or(Stop::ToNumpy)?;
    let full: Dims = common.iter().chain(&base.view.shape[indices.len()..]).copied().collect();
    let values = values.with_view(values.view.broadcast_to(&full).ok_or(Stop::ToNumpy)?);
    let mut spread: SmallVec<[Array; 3]> = SmallVec::new();
    for i in indices {
        spread.push(i.with_view(i.view.broadcast_to(&common).ok_or(Stop::ToNumpy)?));
    }
    spread.push(values);
    let refs: SmallVec<[&Array; 3]> = spread.iter().collect();
    let axes: Dims = (0..indices.len()).collect();
    let scatter = ScatterApply::new(&axes, apply, name);
    let watch = Watch::new(py);
    let flags = record::library(Box::new(scatter), &refs, &[base], || watch.here()).map_err(|e| failed(py, e))?;
    Ok(watch.finish(flags, name, base)?)
}
