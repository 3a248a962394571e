//! Small things at once that are not one block loop: products, extremes and sums along one axis of arrays that are there.

use crate::array::Array;
use crate::error::ExecError;
use crate::inline::{SMALL, dense_run, is_dense};
use crate::provenance::Provenance;
use crate::record::{MapOp, Operand};
use crate::store::Store;
use crate::{spill, stats};
use numloom_ir::view::{Order, dense_strides};
use numloom_ir::{DType, Dims, ScalarOp, Value, View};
use numloom_loops::{In, block_fn, fold_fn, fp_clear, fp_status};

#[inline]
pub(crate) fn is_small(elements: usize) -> bool {
    elements > 0 && elements <= SMALL && elements <= numloom_config::current().inline_size
}

/// Integer divisions of up to this many elements that are there run in the call, and are heard of there.
const DIVISION: usize = 1 << 14;

/// How many elements an operation counts as when it is decided whether it runs at once. A division of integers takes
/// time enough in any case, and a program that divides by zero wants to know where; arrays of one value are where such
/// a division's operands often come from, and take next to none.
pub fn weight(op: MapOp, ins: &[Operand], elements: usize) -> usize {
    use ScalarOp::{Divmod, FloorDivide, Fmod, Remainder};
    let inline = numloom_config::current().inline_size;
    if elements > DIVISION || inline == 0 {
        return elements;
    }
    let at_once = match op {
        MapOp::Scalar { op: op @ (FloorDivide | Remainder | Fmod | Divmod), lp } => {
            op.loops()[lp as usize].ins()[0].is_integer()
        }
        MapOp::Copy => matches!(ins, [Operand::Value(_)]),
        _ => false,
    };
    if at_once { elements.min(inline) } else { elements }
}

/// The dot product of two small vectors of doubles or singles.
pub fn dot(a: &Array, b: &Array) -> Option<Value> {
    let _still = spill::inline();
    let (dtype, n) = (a.view.dtype, a.view.size());
    if a.view.ndim() != 1 || b.view.ndim() != 1 || !is_small(n) {
        return None;
    }
    let (x, y) = (dense_run(a, dtype, &a.view.shape)?, dense_run(b, dtype, &a.view.shape)?);
    if !(x.ptr as usize | y.ptr as usize).is_multiple_of(dtype.align()) {
        return None;
    }
    let mut sum = 0u64;
    // SAFETY: both are dense over `n` aligned elements.
    let known = unsafe { numloom_library::dot_dense(dtype, x.ptr, y.ptr, n, (&raw mut sum).cast()) };
    stats::count_inline("dot");
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&sum.to_ne_bytes());
    known.then_some(Value { dtype, bytes })
}

/// The first place of the extreme of a small array, in C order.
pub fn extreme_place(a: &Array, max: bool) -> Option<usize> {
    let _still = spill::inline();
    let n = a.view.size();
    if a.view.ndim() == 0 || !is_small(n) {
        return None;
    }
    let run = dense_run(a, a.view.dtype, &a.view.shape)?;
    stats::count_inline(if max { "argmax" } else { "argmin" });
    // SAFETY: dense over `n` elements.
    unsafe { numloom_library::extreme_place(a.view.dtype, max, run.ptr, n).ok() }
}

/// A small array that has its memory at once: zeros, or whatever lies there.
#[inline]
pub fn new_small(dtype: DType, shape: Dims, zeros: bool) -> Option<Array> {
    let n = numloom_ir::view::checked_size(&shape)?;
    if !is_small(n) {
        return None;
    }
    let store = Store::to_fill(n * dtype.size()).ok()?;
    if zeros {
        // SAFETY: the store has room for `n` elements; zeros of every type are zero bytes.
        unsafe { store.ptr().write_bytes(0, n * dtype.size()) };
    }
    stats::count_inline("zeros");
    let strides = dense_strides(dtype.size(), &shape, Order::C);
    Some(Array::first(store, View { dtype, offset: 0, shape, strides }))
}

/// A small dense matrix folded along one axis: row by row, or each row by itself.
pub fn fold_axis(
    op: ScalarOp,
    lp: u8,
    input: &Array,
    axes: &[usize],
    out: &Array,
    initial: Option<Value>,
) -> Option<Result<u8, ExecError>> {
    let _still = spill::inline();
    let (lp, dtype) = crate::lower::accumulator(op, lp);
    let (&[rows, columns], &[axis]) = (input.view.shape.as_slice(), axes) else { return None };
    let fits = input.view.dtype == dtype && out.view.dtype == dtype && is_dense(&input.view) && is_dense(&out.view);
    if !fits || !is_small(rows * columns) || input.store.ptr().is_null() {
        return None;
    }
    let fold = fold_fn(op, lp as usize)?;
    let to = match out.store.materialise() {
        Ok(p) => p,
        Err(e) => return Some(Err(ExecError::no_memory(e, "reduce", Provenance::default()))),
    };
    let (size, combine) = (dtype.size(), block_fn(op, lp as usize));
    let mut flags = 0;
    // SAFETY: the input is dense over rows and columns, the output over what is left; nothing else touches them.
    unsafe {
        let to = to.add(out.view.offset);
        let from = input.store.ptr().add(input.view.offset);
        let row = |i: usize| In { ptr: from.add(i * columns * size), step: size };
        let mut left = columns;
        fp_clear();
        if axis == 0 {
            std::ptr::copy_nonoverlapping(from, to, columns * size);
            for i in 1..rows {
                let ins = [In { ptr: to, step: size }, row(i)];
                flags |= combine(columns, ins.as_ptr(), &to);
            }
        } else {
            left = rows;
            for i in 0..rows {
                flags |= fold(columns, row(i), to.add(i * size));
            }
        }
        if let Some(v) = initial {
            let v = v.cast(dtype);
            let ins = [In { ptr: v.bytes.as_ptr(), step: 0 }, In { ptr: to, step: size }];
            flags |= combine(left, ins.as_ptr(), &to);
        }
        flags |= fp_status();
    }
    out.store.wrote();
    Some(Ok(flags))
}
