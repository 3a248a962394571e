//! Strided lines as block loops take them: gathered into buffers of the thread's, and scattered out of them.

use crate::array::Array;
use crate::inline::{SMALL, dense_run, is_dense};
use numloom_ir::{DType, View};
use numloom_loops::{BLOCK, In, gather, scatter};

/// Buffers for one block each, kept by the thread.
pub struct Room(*mut u8);

const SLOTS: usize = 7;

impl Room {
    pub fn take() -> Room {
        thread_local! {
            static ROOM: std::cell::UnsafeCell<Box<[[u64; 2 * BLOCK]; SLOTS]>> =
                std::cell::UnsafeCell::new(Box::new([[0; 2 * BLOCK]; SLOTS]));
        }
        // SAFETY: whoever takes it is done with it before anything else on the thread takes it: none of them calls another.
        ROOM.with(|r| Room(unsafe { (*r.get()).as_mut_ptr() as *mut u8 }))
    }

    pub fn slot(&mut self, k: usize) -> *mut u8 {
        // SAFETY: `k < SLOTS`.
        unsafe { self.0.add(k * 2 * BLOCK * 8) }
    }
}

/// The elements of a small array that may be read now: as they lie where they are dense, or gathered into `slot`, one of
/// `Room`'s. `None` when they can be neither.
#[inline]
pub fn run(a: &Array, dtype: DType, shape: &[usize], slot: *mut u8) -> Option<In> {
    dense_run(a, dtype, shape).or_else(|| copied(a, dtype, shape, slot))
}

/// The elements of a line, copied into `slot`.
pub fn copied(a: &Array, dtype: DType, shape: &[usize], slot: *mut u8) -> Option<In> {
    let (v, from) = (&a.view, a.store.ptr());
    let (&[n], [stride]) = (v.shape.as_slice(), v.strides.as_slice()) else { return None };
    let is_there = !from.is_null() && a.store.is_settled() && a.symbol().is_none() && !a.store.is_broken();
    if v.dtype != dtype || v.shape.as_slice() != shape || n > SMALL || !is_there {
        return None;
    }
    // SAFETY: a view lies inside its store, and a slot has room for `SMALL` elements of any type.
    unsafe { gather(dtype.size(), n, from.add(v.offset), *stride, slot) };
    Some(In { ptr: slot, step: dtype.size() })
}

/// Whether results for a view can be computed in place, or in a slot and scattered from there.
#[inline]
pub fn takes_results(v: &View) -> bool {
    is_dense(v) || v.ndim() == 1
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
