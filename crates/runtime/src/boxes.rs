//! Elementwise operations at once on small arrays of any strides and shapes that broadcast: the operands are gathered in the
//! order in which the result will lie, and computed in one block.

use crate::array::Array;
use crate::error::ExecError;
use crate::inline::{SMALL, is_part_of_many, room};
use crate::lines::{are_dense, gather_box, slot, steps};
use crate::near;
use crate::record::Operand;
use crate::stats;
use numloom_ir::view::{broadcast_shapes, checked_size, keep_order_strides};
use numloom_ir::{Dims, ScalarOp, Strides, View};
use numloom_loops::{In, block_fn, fp_clear, fp_status};
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
    let shape = broadcast_shapes(arrays.clone().map(|a| a.view.shape.as_slice()))?;
    let n = checked_size(&shape)?;
    if n == 0 || n > SMALL || n > numloom_config::current().inline_size || is_part_of_many(ins, n) {
        return None;
    }
    let all = arrays.map(|a| steps(&a.view, &shape)).collect::<Option<SmallVec<[Strides; 2]>>>()?;
    let of: SmallVec<[&Strides; 2]> = all.iter().collect();
    let strides = keep_order_strides(dtype.size(), &shape, &of);
    // The axes, from the outermost of the result inwards.
    let mut axes: Dims = (0..shape.len()).collect();
    axes.sort_by_key(|&axis| -strides[axis]);
    let extents: Dims = axes.iter().map(|&axis| shape[axis]).collect();
    let mut all = all.iter();
    let mut args = [In { ptr: std::ptr::null(), step: 0 }; 2];
    for (k, ((arg, i), &want)) in args.iter_mut().zip(ins).zip(wanted).enumerate() {
        *arg = match i {
            Operand::Value(v) if v.dtype == want => In { ptr: v.bytes.as_ptr(), step: 0 },
            Operand::Value(_) => return None,
            Operand::Array(a) => {
                let (from, given) = (near::there(a).filter(|_| a.view.dtype == want)?, all.next()?);
                let given: Strides = axes.iter().map(|&axis| given[axis]).collect();
                if are_dense(want.size(), &extents, &given) {
                    In { ptr: from.ptr, step: want.size() }
                } else {
                    // SAFETY: a view lies inside its store, and a slot has room for `SMALL` elements of any type.
                    unsafe { gather_box(want.size(), &extents, &given, from.ptr, slot(k)) };
                    In { ptr: slot(k), step: want.size() }
                }
            }
        };
    }
    let store = room(n, *dtype)?;
    let to = store.ptr();
    fp_clear();
    // SAFETY: every input has `n` elements, or one for all; the output is new.
    let flags = unsafe { block_fn(op, lp as usize)(n, args.as_ptr(), &to) } | fp_status();
    stats::count_inline(op.name());
    Some(Ok((Array::first(store, View { dtype: *dtype, offset: 0, shape, strides }), flags)))
}
