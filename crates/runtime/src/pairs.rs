//! Elementwise operations with two results, at once on small arrays of one shape.

use crate::array::Array;
use crate::boxes;
use crate::inline::room;
use crate::lines;
use crate::record::Operand;
use crate::small::is_small;
use crate::{spill, stats};
use numloom_ir::view::Order;
use numloom_ir::{ScalarOp, View};
use numloom_loops::{In, block_fn, fp_clear, fp_status};

/// Both results and their floating-point flags. `None` when the operands do not fit that.
pub fn map_pair(op: ScalarOp, lp: u8, ins: &[Operand]) -> Option<(Array, Array, u8)> {
    let _still = spill::inline();
    let types = &op.loops()[lp as usize];
    let [first, second] = types.outs() else { return None };
    let like = ins.iter().find_map(|i| match i {
        Operand::Array(a) if a.view.ndim() > 0 => Some(*a),
        _ => None,
    })?;
    let (n, shape) = (like.view.size(), &like.view.shape);
    if !is_small(n) || !like.view.is_c_contiguous() {
        return None;
    }
    let mut flags = 0;
    fp_clear();
    let mut args = [In { ptr: std::ptr::null(), step: 0 }; 2];
    for (k, ((arg, i), &want)) in args.iter_mut().zip(ins).zip(types.ins()).enumerate() {
        *arg = match i {
            Operand::Value(v) if v.dtype == want => In { ptr: v.bytes.as_ptr(), step: 0 },
            Operand::Value(_) => return None,
            Operand::Array(a) => {
                let run = lines::run(a, a.view.dtype, shape, k).filter(|run| run.step != 0)?;
                match a.view.dtype == want {
                    true => run,
                    // SAFETY: `n` elements, not more than a block.
                    false => unsafe { boxes::cast(run, a.view.dtype, want, n, k, &mut flags) },
                }
            }
        };
    }
    let stores = [room(n, *first)?, room(n, *second)?];
    let outs = [stores[0].ptr(), stores[1].ptr()];
    // SAFETY: the inputs have `n` elements, or one for all, not more than a block; the outputs are new.
    flags |= unsafe { block_fn(op, lp as usize)(n, args.as_ptr(), outs.as_ptr()) } | fp_status();
    stats::count_inline(op.name());
    let [x, y] = stores;
    let made = |store, dtype| Array::first(store, View::dense(dtype, shape, Order::C));
    Some((made(x, *first), made(y, *second), flags))
}
