//! Calling a ufunc: from Python arguments to one recorded operation.

use super::input::{Input, Native, Stop, bounds, failed};
use super::keywords::Keywords;
use super::layout::{Arrays, OutputOrder, common_shape, result_view};
use super::products::{cast, narrowed};
use super::resolve::{loop_for, loop_with_signature};
use crate::assign::warn_complex;
use crate::fperr::Watch;
use crate::{convert, errors, handle, provenance, quick};
use numloom_ir::promote::{ArgType, Casting, can_cast, weak_dtype};
use numloom_ir::{DType, ScalarOp, Value};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::{SmallVec, smallvec};

type Types = SmallVec<[ArgType; 2]>;

/// One result of `op` on `ins`, as an operator gives it.
#[inline]
pub fn compute(py: Python<'_>, op: ScalarOp, ins: &[Input<'_>]) -> Native<Array> {
    compute_named(py, op, ins, op.name())
}

/// `compute`, with the name that floating-point warnings give the operation.
pub fn compute_named(py: Python<'_>, op: ScalarOp, ins: &[Input<'_>], name: &str) -> Native<Array> {
    let types: Types = ins.iter().map(Input::arg_type).collect();
    let lp = loop_for(op, &types).ok_or(Stop::ToNumpy)?;
    let arrays: Arrays = ins.iter().filter_map(Input::array).collect();
    if arrays.iter().any(|a| a.symbol().is_some()) && !same_symbol(&arrays) {
        return compute_resolved(py, op, ins, name);
    }
    let shape = common_shape(&arrays)?;
    let (map_op, operands) = step(op, lp, ins)?;
    if map_op == MapOp::Copy && arrays.iter().any(|a| a.symbol().is_some()) {
        return compute_resolved(py, op, ins, name);
    }
    let lp_types = &op.loops()[lp as usize];
    check_exponent(py, op, lp_types.ins()[0], ins)?;
    let out = new_result(py, lp_types.outs()[0], &shape, &arrays, OutputOrder::K)?;
    let watch = Watch::new(py);
    let flags = record::map(map_op, &operands, &[&out], None, || watch.here());
    watch.finish(flags.map_err(|e| failed(py, e))?, name, &out)?;
    Ok(out)
}

#[cold]
fn compute_resolved(py: Python<'_>, op: ScalarOp, ins: &[Input<'_>], name: &str) -> Native<Array> {
    let mut sized: SmallVec<[Input; 2]> = SmallVec::new();
    for i in ins {
        sized.push(i.sized(py)?);
    }
    compute_named(py, op, &sized, name)
}

/// Whether all arrays of unknown length have the same one, beside 0-d arrays only.
pub fn same_symbol(arrays: &[&Array]) -> bool {
    let mut symbols = arrays.iter().filter_map(|a| a.symbol());
    let Some(first) = symbols.next() else { return false };
    symbols.all(|s| std::sync::Arc::ptr_eq(s, first))
        && arrays.iter().all(|a| a.symbol().is_some() || a.view.ndim() == 0)
}

/// A new array for a result; of unknown length if the operands are.
pub fn new_result(
    py: Python<'_>,
    dtype: DType,
    shape: &numloom_ir::Dims,
    arrays: &[&Array],
    order: OutputOrder,
) -> PyResult<Array> {
    let at = || provenance::here(py);
    let made = match arrays.iter().find(|a| a.symbol().is_some()) {
        Some(like) => record::empty_packed(like, dtype, at),
        None => record::empty_view(result_view(dtype, shape, arrays, order), at),
    };
    made.map_err(|e| failed(py, e))
}

/// The operation on elements and its operands; where the answer is the same for all, a copy of it.
fn step<'a>(op: ScalarOp, lp: u8, ins: &'a [Input<'_>]) -> Native<(MapOp, SmallVec<[Operand<'a>; 2]>)> {
    if let Some(answer) = decided_comparison(op, ins) {
        let value = Value::from_i128(DType::Bool, answer as i128);
        return Ok((MapOp::Copy, smallvec![Operand::Value(value)]));
    }
    let mut operands = SmallVec::new();
    for (input, &dtype) in ins.iter().zip(op.loops()[lp as usize].ins()) {
        operands.push(input.operand(dtype)?);
    }
    Ok((MapOp::Scalar { op, lp }, operands))
}

/// A comparison of integers with a Python int beyond their type: the same answer for every element.
fn decided_comparison(op: ScalarOp, ins: &[Input<'_>]) -> Option<bool> {
    if !op.is_comparison() {
        return None;
    }
    // `v op dtype`, so mirrored when the number stands second.
    let (dtype, v, op) = match (&ins[0], &ins[1]) {
        (Input::Int(v), other) => (other.arg_type(), *v, op),
        (other, Input::Int(v)) => (other.arg_type(), *v, mirrored(op)),
        _ => return None,
    };
    let ArgType::Strong(dtype) = dtype else { return None };
    let (lo, hi) = bounds(dtype);
    if !dtype.is_integer() || (lo <= v && v <= hi) {
        return None;
    }
    let above = v > hi;
    Some(match op {
        ScalarOp::Equal => false,
        ScalarOp::NotEqual => true,
        ScalarOp::Less | ScalarOp::LessEqual => !above,
        _ => above,
    })
}

/// The comparison with its sides exchanged.
pub fn mirrored(op: ScalarOp) -> ScalarOp {
    match op {
        ScalarOp::Less => ScalarOp::Greater,
        ScalarOp::LessEqual => ScalarOp::GreaterEqual,
        ScalarOp::Greater => ScalarOp::Less,
        ScalarOp::GreaterEqual => ScalarOp::LessEqual,
        same => same,
    }
}

/// Integers to negative powers are refused by NumPy, which depends on the exponent's values.
#[inline]
fn check_exponent(py: Python<'_>, op: ScalarOp, dtype: DType, ins: &[Input<'_>]) -> Native<()> {
    if op == ScalarOp::Power && dtype.is_integer() { refuse_negative(py, &ins[1], dtype) } else { Ok(()) }
}

#[cold]
fn refuse_negative(py: Python<'_>, exponent: &Input<'_>, dtype: DType) -> Native<()> {
    let negative = match exponent {
        Input::Int(v) => *v < 0,
        Input::Value(v) => v.to_i128() < 0 || v.cast(dtype).to_i128() < 0,
        _ => match exponent.array() {
            Some(a) if may_be_negative(a.view.dtype, dtype) => any_negative(py, &cast(py, a.clone(), dtype)?)?,
            _ => false,
        },
    };
    if negative { Err(Stop::ToNumpy) } else { Ok(()) }
}

/// `check_exponent` for all elements of an array that are folded in as exponents, in the type `dtype`.
pub fn refuse_negative_powers(py: Python<'_>, op: ScalarOp, dtype: DType, exponents: &Array) -> Native<()> {
    let may_be = op == ScalarOp::Power && may_be_negative(exponents.view.dtype, dtype);
    if may_be && any_negative(py, exponents)? { Err(Stop::ToNumpy) } else { Ok(()) }
}

/// Whether numbers of one type may be negative in a loop's.
fn may_be_negative(given: DType, dtype: DType) -> bool {
    let holds_all = match given.kind() {
        numloom_ir::Kind::Bool => true,
        numloom_ir::Kind::Unsigned => given.size() < dtype.size(),
        _ => false,
    };
    dtype.kind() == numloom_ir::Kind::Signed && !holds_all
}

fn any_negative(py: Python<'_>, a: &Array) -> Native<bool> {
    let below = compute(py, ScalarOp::Less, &[Input::Array(a.clone()), Input::Int(0)])?;
    let any = super::reduction::fold_all(py, ScalarOp::LogicalOr, &below)?;
    Ok(convert::value_of(py, &any)?.to_i128() != 0)
}

/// `op(*args)` without keywords.
#[inline]
pub fn call_plain<'py>(py: Python<'py>, op: ScalarOp, args: &Bound<'py, PyTuple>) -> Native<Py<PyAny>> {
    let first = args.get_borrowed_item(0)?;
    if op.nin() == 1 {
        if let Some(done) = quick::unary(op, &first) {
            return Ok(done?);
        }
        return Ok(handle::wrap_result(py, compute(py, op, &[Input::from_py(&first)?])?)?);
    }
    let second = args.get_borrowed_item(1)?;
    if let Some(done) = quick::binary(op, &first, &second) {
        return Ok(done?);
    }
    let first = Input::from_py(&first)?;
    let second = Input::from_py(&second)?;
    Ok(handle::wrap_result(py, compute(py, op, &[first, second])?)?)
}

/// `op(*args, out=out)` for a single output: the usual way to avoid a new array.
pub fn call_out<'py>(
    py: Python<'py>,
    op: ScalarOp,
    args: &Bound<'py, PyTuple>,
    out: &Bound<'py, handle::NdArray>,
) -> Native<Py<PyAny>> {
    let first = args.get_borrowed_item(0)?;
    let second = if op.nin() == 2 { Some(args.get_borrowed_item(1)?) } else { None };
    if op.nin() <= 2
        && let Some(done) = quick::into(op, &first, second.as_deref(), out.as_any())
    {
        done?;
        return Ok(out.clone().into_any().unbind());
    }
    let target = {
        let handle = out.try_borrow().map_err(PyErr::from)?;
        if !handle.writeable {
            return Err(Stop::ToNumpy);
        }
        handle.array.clone()
    };
    let mut ins: SmallVec<[Input; 2]> = SmallVec::new();
    for i in 0..op.nin() {
        let arg = args.get_borrowed_item(i)?;
        ins.push(Input::from_py(&arg)?);
    }
    compute_into(py, op, &ins, &target)?;
    Ok(out.clone().into_any().unbind())
}

/// `op(*args, **kwargs)` in full.
pub fn call_full<'py>(
    py: Python<'py>,
    op: ScalarOp,
    args: &[Bound<'py, PyAny>],
    kw: &Keywords<'py>,
) -> Native<Py<PyAny>> {
    let mut ins: SmallVec<[Input; 2]> = SmallVec::new();
    for a in args {
        ins.push(Input::from_py(a)?.resolve(py)?);
    }
    let types: Types = ins.iter().map(Input::arg_type).collect();
    let lp = if kw.fixed.is_empty() { loop_for(op, &types) } else { loop_with_signature(op, &types, &kw.fixed) };
    let lp = lp.ok_or(Stop::ToNumpy)?;
    let lp_types = &op.loops()[lp as usize];
    check_input_casts(&types, lp_types.ins(), kw)?;
    for (input, &dtype) in ins.iter_mut().zip(lp_types.ins()) {
        match input.array() {
            // A mask leaves out what a cast of all would warn about.
            Some(a) if kw.mask.is_some() => warn_complex(py, a.view.dtype, dtype)?,
            Some(a) if a.view.dtype != dtype => *input = Input::Array(narrowed(py, a.clone(), dtype)?),
            _ => {}
        }
    }
    let mut outs: SmallVec<[Option<Array>; 2]> = SmallVec::new();
    for (i, &dtype) in lp_types.outs().iter().enumerate() {
        outs.push(match kw.outs.get(i).and_then(|o| o.as_ref()) {
            Some(o) => Some(writeable_output(o, dtype, kw)?),
            None => None,
        });
    }
    for (out, &dtype) in outs.iter().zip(lp_types.outs()) {
        out.as_ref().map_or(Ok(()), |o| warn_complex(py, dtype, o.view.dtype))?;
    }
    let in_arrays: Arrays = ins.iter().filter_map(Input::array).collect();
    let all: Arrays = in_arrays.iter().copied().chain(outs.iter().flatten()).chain(kw.mask.as_ref()).collect();
    let shape = common_shape(&all)?;
    if outs.iter().flatten().any(|o| o.view.shape != shape) {
        return Err(Stop::ToNumpy);
    }
    let (map_op, operands) = step(op, lp, &ins)?;
    check_exponent(py, op, lp_types.ins()[0], &ins)?;
    kw.warn_uninitialised(py)?;
    let mut arrays: SmallVec<[Array; 2]> = SmallVec::new();
    // New results lie as the inputs, the mask and the given results do, as far as these agree.
    for (given, &dtype) in outs.iter().zip(lp_types.outs()) {
        arrays.push(match given {
            Some(a) => a.clone(),
            None => new_result(py, dtype, &shape, &all, kw.order)?,
        });
    }
    let watch = Watch::new(py);
    let flags = {
        let refs: SmallVec<[&Array; 2]> = arrays.iter().collect();
        record::map(map_op, &operands, &refs, kw.mask.as_ref(), || watch.here())
    };
    watch.finish(flags.map_err(|e| failed(py, e))?, op.name(), &arrays[0])?;
    let mut results: SmallVec<[Py<PyAny>; 2]> = SmallVec::new();
    for (i, array) in arrays.into_iter().enumerate() {
        results.push(match kw.outs.get(i).and_then(|o| o.as_ref()) {
            Some(o) => o.clone().into_any().unbind(),
            None => handle::wrap_result(py, array)?,
        });
    }
    if results.len() == 1 {
        return Ok(results.remove(0));
    }
    Ok(PyTuple::new(py, results)?.into_any().unbind())
}

fn check_input_casts(types: &[ArgType], want: &[DType], kw: &Keywords<'_>) -> Native<()> {
    let allowed = types.iter().zip(want).all(|(t, &w)| match t {
        ArgType::Strong(d) => can_cast(*d, w, kw.casting),
        _ if matches!(kw.casting, Casting::No | Casting::Equiv) => false,
        // Alone, a number of Python's has the type it has in an array.
        weak if types.len() == 1 => can_cast(weak_dtype(*weak, None), w, kw.casting),
        weak => w != DType::Bool || can_cast(weak_dtype(*weak, None), w, kw.casting),
    });
    if allowed { Ok(()) } else { Err(Stop::ToNumpy) }
}

/// The array of an `out=` argument that may take a result of `dtype`.
fn writeable_output(out: &Bound<'_, handle::NdArray>, dtype: DType, kw: &Keywords<'_>) -> Native<Array> {
    let array = handle::sized(out)?;
    if !out.borrow().writeable || !can_cast(dtype, array.view.dtype, kw.casting) {
        return Err(Stop::ToNumpy);
    }
    Ok(array)
}

/// `out = op(*ins)` in place, as an in-place operator does it.
pub fn compute_into(py: Python<'_>, op: ScalarOp, ins: &[Input<'_>], out: &Array) -> Native<()> {
    compute_into_named(py, op, ins, out, op.name())
}

/// `compute_into`, with the name that floating-point warnings give the operation.
pub fn compute_into_named(py: Python<'_>, op: ScalarOp, ins: &[Input<'_>], out: &Array, name: &str) -> Native<()> {
    let types: Types = ins.iter().map(Input::arg_type).collect();
    let lp = loop_for(op, &types).ok_or(Stop::ToNumpy)?;
    let lp_types = &op.loops()[lp as usize];
    let mut arrays: Arrays = ins.iter().filter_map(Input::array).collect();
    arrays.push(out);
    let unsized_operands = arrays.iter().any(|a| a.symbol().is_some());
    if unsized_operands && !same_symbol(&arrays) {
        let mut sized: SmallVec<[Input; 2]> = SmallVec::new();
        for i in ins {
            sized.push(i.sized(py)?);
        }
        let mut out = out.clone();
        errors::resolve(py, &mut out)?;
        return compute_into_named(py, op, &sized, &out, name);
    }
    if !can_cast(lp_types.outs()[0], out.view.dtype, Casting::SameKind) || common_shape(&arrays)? != out.view.shape {
        return Err(Stop::ToNumpy);
    }
    let (map_op, operands) = step(op, lp, ins)?;
    check_exponent(py, op, lp_types.ins()[0], ins)?;
    let watch = Watch::new(py);
    let flags = record::map(map_op, &operands, &[out], None, || watch.here());
    Ok(watch.finish(flags.map_err(|e| failed(py, e))?, name, out)?)
}
