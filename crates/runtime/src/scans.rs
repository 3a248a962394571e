//! Scans and indexed updates of small 1-d arrays that are there, at once.

use crate::array::Array;
use crate::boxes;
use crate::inline::{dense_run, room};
use crate::lines;
use crate::record::Operand;
use crate::small::is_small;
use crate::{spill, stats};
use numloom_ir::view::Order;
use numloom_ir::{DType, ScalarOp, View};
use numloom_library::{Fold, Run};
use numloom_loops::{In, block_fn, fp_clear, fp_status};
use std::sync::Arc;

/// All the folds of a line's first elements, in `dtype`, and the floating-point flags they raised.
pub fn scan_small(fold: &Fold, a: &Array, dtype: DType) -> Option<(Array, u8)> {
    let _still = spill::inline();
    let n = a.view.size();
    if a.view.ndim() != 1 || !is_small(n) || !fold.fits(dtype) {
        return None;
    }
    let mut flags = 0;
    let mut from = lines::run(a, a.view.dtype, &a.view.shape, 0)?;
    let store = room(n, dtype)?;
    // SAFETY: `n` elements, not more than a block; the output is new.
    unsafe {
        if a.view.dtype != dtype {
            from = boxes::cast(from, a.view.dtype, dtype, n, 0, &mut flags);
        }
        fp_clear();
        numloom_library::scan_few(fold, dtype, from.ptr, n, store.ptr());
    }
    if fold.raises() {
        flags |= fp_status();
    }
    stats::count_inline("accumulate");
    Some((Array::first(store, View::dense(dtype, &[n], Order::C)), flags))
}

/// The folds of a line's elements from each start to the next, and the floating-point flags they raised.
pub fn reduce_stretches_small(fold: &Fold, a: &Array, starts: &Array) -> Option<(Array, u8)> {
    let _still = spill::inline();
    let (dtype, n) = (a.view.dtype, a.view.size());
    let &[stretches] = starts.view.shape.as_slice() else { return None };
    if a.view.ndim() != 1 || !is_small(n) || !is_small(stretches) || !fold.fits(dtype) {
        return None;
    }
    let from = lines::run(a, dtype, &a.view.shape, 0)?;
    let starts = dense_run(starts, DType::I64, &starts.view.shape).filter(|s| s.ptr.cast::<i64>().is_aligned())?;
    let store = room(stretches, dtype)?;
    let x = Run { ptr: from.ptr, step: dtype.size() as isize, len: n };
    fp_clear();
    // SAFETY: `n` elements and so many starts; the output is new and has room for as many.
    let inside = unsafe {
        let starts = std::slice::from_raw_parts(starts.ptr.cast(), stretches);
        numloom_library::reduce_stretches(fold, dtype, x, starts, store.ptr())
    };
    let flags = if fold.raises() { fp_status() } else { 0 };
    stats::count_inline("reduceat");
    inside.then(|| (Array::first(store, View::dense(dtype, &[stretches], Order::C)), flags))
}

/// `x[i] = op(x[i], value)` for one index after another, of a line and dense indices that are there, all of them in bounds.
/// The values are one for all, or a dense line of as many, of the line's own type. Answers the floating-point flags.
pub fn update_small(op: ScalarOp, lp: u8, x: &Array, index: &Array, value: &Operand) -> Option<u8> {
    let _still = spill::inline();
    let (&[extent], &[stride], &[n]) =
        (x.view.shape.as_slice(), x.view.strides.as_slice(), index.view.shape.as_slice())
    else {
        return None;
    };
    let (dtype, types) = (x.view.dtype, &op.loops()[lp as usize]);
    let free = x.store.is_idle() && !x.store.is_away() && !x.store.is_broken() && x.symbol().is_none();
    if types.ins() != [dtype; 2] || types.outs() != [dtype] || !free || !is_small(n) {
        return None;
    }
    let from = match value {
        Operand::Value(v) if v.dtype == dtype => In { ptr: v.bytes.as_ptr(), step: 0 },
        Operand::Array(a) if !Arc::ptr_eq(&a.store, &x.store) => dense_run(a, dtype, &index.view.shape)?,
        _ => return None,
    };
    let places = dense_run(index, DType::I64, &index.view.shape).filter(|_| !Arc::ptr_eq(&index.store, &x.store))?;
    let place = |k: usize| {
        // SAFETY: `n` dense indices.
        let i = unsafe { places.ptr.cast::<i64>().add(k).read_unaligned() };
        (if i < 0 { i + extent as i64 } else { i }) as usize
    };
    if (0..n).any(|k| place(k) >= extent) {
        return None;
    }
    let base = x.store.materialise().ok()?;
    let (run, mut flags) = (block_fn(op, lp as usize), 0);
    fp_clear();
    for k in 0..n {
        // SAFETY: in bounds of the view, which lies inside its store; nothing recorded touches it.
        unsafe {
            let at = base.add(x.view.offset).offset(place(k) as isize * stride);
            let ins = [In { ptr: at, step: dtype.size() }, In { ptr: from.ptr.add(k * from.step), step: dtype.size() }];
            flags |= run(1, ins.as_ptr(), &at);
        }
    }
    x.store.wrote();
    stats::count_inline(op.name());
    Some(flags | fp_status())
}
