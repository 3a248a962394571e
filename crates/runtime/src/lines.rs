//! Strided lines as block loops take them: gathered into buffers of the thread's, and scattered out of them.

use crate::array::Array;
use crate::inline::{SMALL, dense_run, is_dense};
use numloom_ir::{DType, View};
use numloom_loops::{BLOCK, In, gather, scatter};
use std::mem::MaybeUninit;

const SLOTS: usize = 7;
type Slot = [u64; 2 * BLOCK];

/// The thread's buffer `k`, with room for a block of any type. Nothing is kept in it: whoever fills it is done with it
/// before anything else on the thread fills it, as none of them calls another.
pub fn slot(k: usize) -> *mut u8 {
    thread_local! {
        // Memory that nobody has written to yet takes none.
        static ROOM: std::cell::UnsafeCell<Box<[MaybeUninit<Slot>]>> = std::cell::UnsafeCell::new(Box::new_uninit_slice(SLOTS));
    }
    // SAFETY: only the address is taken, and nobody else refers to the list.
    ROOM.with(|r| unsafe { (&mut *r.get())[k].as_mut_ptr().cast() })
}

/// The elements of a small array that may be read now: as they lie where they are dense, or gathered into slot
/// `k`. `None` when they can be neither.
#[inline]
pub fn run(a: &Array, dtype: DType, shape: &[usize], k: usize) -> Option<In> {
    dense_run(a, dtype, shape).or_else(|| copied(a, dtype, shape, k))
}

/// The elements of a line, copied into slot `k`.
pub fn copied(a: &Array, dtype: DType, shape: &[usize], k: usize) -> Option<In> {
    let (v, from) = (&a.view, a.store.ptr());
    let (&[n], [stride]) = (v.shape.as_slice(), v.strides.as_slice()) else { return None };
    let is_there = !from.is_null() && a.store.is_settled() && a.symbol().is_none() && !a.store.is_broken();
    if v.dtype != dtype || v.shape.as_slice() != shape || n > SMALL || !is_there {
        return None;
    }
    let slot = slot(k);
    // SAFETY: a view lies inside its store, and a slot has room for `SMALL` elements of any type.
    unsafe { gather(dtype.size(), n, from.add(v.offset), *stride, slot) };
    Some(In { ptr: slot, step: dtype.size() })
}

/// Whether results for a view can be computed in place, or in a slot and scattered from there.
#[inline]
pub fn takes_results(v: &View) -> bool {
    is_dense(v) || v.ndim() == 1
}

/// Writes one value to every element of a line.
///
/// # Safety
/// `base` is the address of the view's store, which nothing else touches; the value is of the view's type.
pub unsafe fn fill(v: &View, value: *const u8, base: *mut u8) {
    unsafe fn all<T: Copy>(n: usize, stride: isize, value: *const u8, to: *mut u8) {
        let value = value.cast::<T>().read_unaligned();
        for i in 0..n as isize {
            to.offset(i * stride).cast::<T>().write_unaligned(value);
        }
    }
    let (&[n], &[stride]) = (v.shape.as_slice(), v.strides.as_slice()) else { return };
    let to = base.add(v.offset);
    match v.dtype.size() {
        1 => all::<u8>(n, stride, value, to),
        2 => all::<u16>(n, stride, value, to),
        4 => all::<u32>(n, stride, value, to),
        8 => all::<u64>(n, stride, value, to),
        _ => all::<u128>(n, stride, value, to),
    }
}

/// Writes a line's elements, computed in a slot, to where they belong.
///
/// # Safety
/// `base` is the address of the view's store, which nothing else touches; the slot has the view's elements.
pub unsafe fn put(v: &View, slot: *const u8, base: *mut u8) {
    if let (&[n], [stride]) = (v.shape.as_slice(), v.strides.as_slice()) {
        scatter(v.dtype.size(), n, slot, base.add(v.offset), *stride);
    }
}
