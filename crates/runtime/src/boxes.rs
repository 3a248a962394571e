//! Elementwise operations at once on small arrays of any strides and shapes that broadcast: the operands are gathered in the
//! order in which the result will lie, and computed block by block.

use crate::array::Array;
use crate::error::ExecError;
use crate::inline::{SMALL, is_part_of_many, room};
use crate::lines::{gather_box, slot};
use crate::near;
use crate::prompt;
use crate::record::Operand;
use crate::stats;
use numloom_ir::view::{broadcast_shapes, checked_size, keep_order_strides};
use numloom_ir::{DType, Dims, ScalarOp, Strides, View};
use numloom_loops::{In, block_fn, cast_fn, fp_clear, fp_status};
use smallvec::SmallVec;

/// A scalar operation into a new array, as `inline::map_new` does it, whatever the strides. `None` when the operands do not
/// fit that.
pub fn map_new(op: ScalarOp, lp: u8, ins: &[Operand]) -> Option<Result<(Array, u8), ExecError>> {
    let types = &op.loops()[lp as usize];
    let ([dtype], wanted) = (types.outs(), types.ins()) else { return None };
    let arrays = ins.iter().filter_map(|i| match i {
        Operand::Array(a) => Some(*a),
        Operand::Value(_) => None,
    });
    let shape = broadcast_shapes(arrays.clone().map(|a| a.view.shape.as_slice())).filter(|s| !s.is_empty())?;
    let n = checked_size(&shape)?;
    if n == 0 || !prompt::runs_at_once(n) || is_part_of_many(ins, n) {
        return None;
    }
    let all = arrays.map(|a| a.view.broadcast_to(&shape)).collect::<Option<SmallVec<[View; 2]>>>()?;
    let of: SmallVec<[&Strides; 2]> = all.iter().map(|v| &v.strides).collect();
    let strides = keep_order_strides(dtype.size(), &shape, &of);
    // The axes, from the outermost of the result inwards.
    let mut axes: Dims = (0..shape.len()).collect();
    axes.sort_by_key(|&axis| -strides[axis]);
    let mut extents: Dims = axes.iter().map(|&axis| shape[axis]).collect();
    // As many of the outermost rows at once as a block has room for.
    let row = extents[1..].iter().product::<usize>();
    let rows = (SMALL / row).min(extents[0]);
    if rows == 0 {
        return None;
    }
    let mut all = all.iter();
    let mut boxes: SmallVec<[Given; 2]> = SmallVec::new();
    for (i, &want) in ins.iter().zip(wanted) {
        boxes.push(match i {
            Operand::Value(v) if v.dtype == want => Given::Value(v.bytes.as_ptr()),
            Operand::Value(_) => return None,
            Operand::Array(a) => {
                let (from, view) = (near::there(a)?, all.next()?.transpose(&axes));
                Given::Box { from: from.ptr, dense: view.is_c_contiguous(), dtype: view.dtype, steps: view.strides }
            }
        });
    }
    let store = room(n, *dtype)?;
    let (f, mut to, mut flags, all) = (block_fn(op, lp as usize), store.ptr(), 0, extents[0]);
    fp_clear();
    for first in (0..all).step_by(rows) {
        extents[0] = rows.min(all - first);
        let len = extents[0] * row;
        let mut args = [In { ptr: std::ptr::null(), step: 0 }; 2];
        for (k, ((arg, given), &want)) in args.iter_mut().zip(&boxes).zip(wanted).enumerate() {
            // SAFETY: the box lies inside its view, and slots have room for a block of any type.
            *arg = unsafe { given.rows(first, &extents, want, k, &mut flags) };
        }
        // SAFETY: every input has `len` elements, or one for all; the output is new and has as many left.
        unsafe {
            flags |= f(len, args.as_ptr(), &to);
            to = to.add(len * dtype.size());
        }
    }
    stats::count_inline(op.name());
    let view = View { dtype: *dtype, offset: 0, shape, strides };
    Some(Ok((Array::first(store, view), flags | fp_status())))
}

/// An operand: one value for all, or a box of them.
enum Given {
    Value(*const u8),
    Box { from: *const u8, dtype: DType, steps: Strides, dense: bool },
}

impl Given {
    /// The elements of some rows in the type of the loop, as they lie or in slot `k` or `k + 3`.
    unsafe fn rows(&self, first: usize, extents: &[usize], want: DType, k: usize, flags: &mut u8) -> In {
        match self {
            Given::Value(ptr) => In { ptr: *ptr, step: 0 },
            Given::Box { from, dtype, steps, dense } => {
                let (from, size) = (from.offset(first as isize * steps[0]), dtype.size());
                let mut run = In { ptr: from, step: size };
                if !dense {
                    gather_box(size, extents, steps, from, slot(k));
                    run.ptr = slot(k);
                }
                if *dtype == want { run } else { cast(run, *dtype, want, extents.iter().product(), k, flags) }
            }
        }
    }
}

/// A run in another type, in slot `k + 3`.
///
/// # Safety
/// The run has `n` elements, not more than a block.
pub unsafe fn cast(run: In, from: DType, to: DType, n: usize, k: usize, flags: &mut u8) -> In {
    let room = slot(k + 3);
    *flags |= cast_fn(from, to)(n, &run, &room);
    In { ptr: room, step: to.size() }
}
