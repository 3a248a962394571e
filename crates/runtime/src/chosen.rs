//! Elements of small arrays that are chosen by their place, a mask or indices: read and written at once, where nothing
//! recorded is on its way to them.

use crate::array::Array;
use crate::boxes;
use crate::inline::{SMALL, dense_run, is_dense, line, room};
use crate::profile;
use crate::prompt;
use crate::record::Operand;
use crate::spill;
use crate::stats;
use crate::store::Store;
use numloom_ir::{DType, Value};
use numloom_loops::{BLOCK, In, compress, count_true, expand};
use std::sync::Arc;
/// The element `at` bytes from the view's first, if it is there.
#[inline(always)]
pub fn read_element(a: &Array, at: isize) -> Option<Value> {
    let _still = spill::inline();
    let p = a.store.ptr();
    if p.is_null() || !a.store.is_settled() || a.symbol().is_some() || a.store.is_broken() {
        return None;
    }
    let mut v = Value { dtype: a.view.dtype, bytes: [0; 16] };
    // SAFETY: the caller's element lies inside the view, which lies inside the store.
    unsafe {
        let from = p.add(a.view.offset).offset(at);
        match v.dtype.size() {
            8 => std::ptr::copy_nonoverlapping(from, v.bytes.as_mut_ptr(), 8),
            n => std::ptr::copy_nonoverlapping(from, v.bytes.as_mut_ptr(), n),
        }
    }
    profile::element(&a.store, false);
    prompt::value();
    Some(v)
}

/// Writes the element `at` bytes from the view's first; false when it cannot be written at once.
#[inline]
pub fn write_element(a: &Array, at: isize, v: &Value) -> bool {
    v.dtype == a.view.dtype && write_bytes(a, at, &v.bytes[..v.dtype.size()])
}

/// As `write_element`, the bytes of a value of the view's type. They come as they are: a `Value` would be put together,
/// and taken apart again, which takes as long as all the rest.
#[inline]
pub fn write_bytes(a: &Array, at: isize, bytes: &[u8]) -> bool {
    let _still = spill::inline();
    let store = &a.store;
    if !store.is_idle() || store.is_away() || a.symbol().is_some() || store.is_broken() {
        return false;
    }
    let Ok(p) = a.store.materialise() else { return false };
    // SAFETY: as in `read_element`; nothing recorded touches the store.
    unsafe {
        let to = p.add(a.view.offset).offset(at);
        match bytes.len() {
            8 => std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, 8),
            n => std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, n),
        }
    }
    a.store.wrote();
    profile::element(&a.store, true);
    stats::count_inline("setitem");
    true
}

/// `x[mask]` of small dense arrays of one shape that are there.
pub fn pack_small(x: &Array, mask: &Array) -> Option<Array> {
    let _still = spill::inline();
    let n = x.view.size();
    if n == 0 || n > SMALL || n > numloom_config::current().inline_size || x.view.ndim() == 0 {
        return None;
    }
    let from = dense_run(x, x.view.dtype, &x.view.shape)?;
    let chosen = dense_run(mask, DType::Bool, &x.view.shape).filter(|m| m.step != 0)?;
    // SAFETY: both are dense over `n` elements, and the result has room for what is chosen.
    unsafe {
        let count = count_true(n, chosen.ptr);
        let store = Store::to_fill(count * x.view.dtype.size()).ok()?;
        compress(x.view.dtype.size(), n, from.ptr, chosen.ptr, store.ptr());
        stats::count_inline("boolean index");
        Some(line(store, x.view.dtype, count))
    }
}

/// `x[index] = value` of a 1-d array and dense indices that are there, every one in bounds; the values are one for all, or
/// a dense array of as many. False where they are not so.
pub fn put_small(x: &Array, index: &Array, value: &Operand) -> bool {
    let _still = spill::inline();
    let (&[extent], &[stride], &[n]) =
        (x.view.shape.as_slice(), x.view.strides.as_slice(), index.view.shape.as_slice())
    else {
        return false;
    };
    let (dtype, shape) = (x.view.dtype, &index.view.shape);
    let free = x.store.is_idle() && !x.store.is_away() && !x.store.is_broken() && x.symbol().is_none();
    if n == 0 || !free || !prompt::runs_at_once(n) || Arc::ptr_eq(&x.store, &index.store) {
        return false;
    }
    let from = match value {
        Operand::Value(v) if v.dtype == dtype => Some(In { ptr: v.bytes.as_ptr(), step: 0 }),
        Operand::Array(a) if !Arc::ptr_eq(&a.store, &x.store) => dense_run(a, dtype, shape),
        _ => None,
    };
    let (Some(from), Some(places)) = (from, places(index)) else { return false };
    let Ok(base) = x.store.materialise() else { return false };
    // SAFETY: `n` dense indices, each checked before it is used; the view lies inside its store, which nothing recorded
    // touches.
    let all = unsafe {
        let to = base.add(x.view.offset);
        match dtype.size() {
            1 => put::<u8>(from, extent, places.ptr, n, to, stride),
            2 => put::<u16>(from, extent, places.ptr, n, to, stride),
            4 => put::<u32>(from, extent, places.ptr, n, to, stride),
            8 => put::<u64>(from, extent, places.ptr, n, to, stride),
            _ => put::<u128>(from, extent, places.ptr, n, to, stride),
        }
    };
    if all {
        x.store.wrote();
        stats::count_inline("put");
    }
    all
}

/// Whether all indices were in bounds; otherwise nothing is written.
unsafe fn put<T: Copy>(from: In, extent: usize, places: *const u8, n: usize, to: *mut u8, stride: isize) -> bool {
    let place = |k: usize| {
        let i = places.cast::<i64>().add(k).read_unaligned();
        (if i < 0 { i + extent as i64 } else { i }) as usize
    };
    if (0..n).fold(false, |out, k| out | (place(k) >= extent)) {
        return false;
    }
    for k in 0..n {
        let value = from.ptr.add(k * from.step).cast::<T>().read_unaligned();
        to.offset(place(k) as isize * stride).cast::<T>().write_unaligned(value);
    }
    true
}

/// Dense indices that are there, as int64: as they lie, or a block of another type cast in the thread's buffer.
fn places(index: &Array) -> Option<In> {
    let (dtype, shape, n) = (index.view.dtype, &index.view.shape, index.view.size());
    let run = dense_run(index, dtype, shape).filter(|run| run.step > 0)?;
    match dtype {
        DType::I64 => Some(run),
        // SAFETY: dense over `n` elements, not more than a block; an integer that int64 holds raises nothing.
        _ if dtype.is_integer() && dtype != DType::U64 && n <= BLOCK => {
            Some(unsafe { boxes::cast(run, dtype, DType::I64, n, 0, &mut 0) })
        }
        _ => None,
    }
}

/// `x[mask] = values` of dense arrays that are there, as many values as the mask has trues. False where they are not so.
pub fn unpack_small(x: &Array, mask: &Array, values: &Array) -> bool {
    let _still = spill::inline();
    let (n, dtype) = (x.view.size(), x.view.dtype);
    let free = x.store.is_idle() && !x.store.is_away() && !x.store.is_broken() && x.symbol().is_none();
    let apart = [mask, values].iter().all(|a| !Arc::ptr_eq(&a.store, &x.store));
    let &[count] = values.view.shape.as_slice() else { return false };
    if n == 0 || !free || !apart || !is_dense(&x.view) || !prompt::runs_at_once(n) {
        return false;
    }
    let chosen = dense_run(mask, DType::Bool, &x.view.shape).filter(|m| m.step != 0);
    let from = dense_run(values, dtype, &values.view.shape);
    let (Some(chosen), Some(from)) = (chosen, from) else { return false };
    // SAFETY: all are dense, over as many elements as is said; what is written is nobody else's, as asked above.
    unsafe {
        if count_true(n, chosen.ptr) != count {
            return false;
        }
        let Ok(base) = x.store.materialise() else { return false };
        expand(dtype.size(), n, from.ptr, chosen.ptr, base.add(x.view.offset));
    }
    x.store.wrote();
    stats::count_inline("boolean assignment");
    true
}

/// `x[index]` of small 1-d dense arrays that are there, with every index in bounds.
#[inline]
pub fn take_small(x: &Array, index: &Array) -> Option<Array> {
    let _still = spill::inline();
    let (&[extent], &[n]) = (x.view.shape.as_slice(), index.view.shape.as_slice()) else { return None };
    if n == 0 || !prompt::runs_at_once(extent.max(n)) {
        return None;
    }
    let from = dense_run(x, x.view.dtype, &x.view.shape)?;
    let places = places(index)?;
    let store = room(n, x.view.dtype)?;
    let to = store.ptr();
    // SAFETY: `n` dense indices, each checked before it is used; the result has `n` elements.
    let all = unsafe {
        match x.view.dtype.size() {
            1 => take::<u8>(from.ptr, extent, places.ptr, n, to),
            2 => take::<u16>(from.ptr, extent, places.ptr, n, to),
            4 => take::<u32>(from.ptr, extent, places.ptr, n, to),
            8 => take::<u64>(from.ptr, extent, places.ptr, n, to),
            _ => take::<u128>(from.ptr, extent, places.ptr, n, to),
        }
    };
    if !all {
        return None;
    }
    stats::count_inline("take");
    Some(line(store, x.view.dtype, n))
}

/// Whether all indices were in bounds; the elements up to the first that was not are written.
unsafe fn take<T: Copy>(from: *const u8, extent: usize, places: *const u8, n: usize, to: *mut u8) -> bool {
    let (from, places, to) = (from.cast::<T>(), places.cast::<i64>(), to.cast::<T>());
    for k in 0..n {
        let i = places.add(k).read_unaligned();
        let at = if i < 0 { i + extent as i64 } else { i } as usize;
        if at >= extent {
            return false;
        }
        to.add(k).write_unaligned(from.add(at).read_unaligned());
    }
    true
}
