//! NumPy's C interface of a bit generator: ours offered to others, and others' used as ours.

use crate::bits::Bits;
use crate::generator::BitGen;
use std::ffi::c_void;

/// `bitgen_t` of NumPy's public headers.
#[repr(C)]
pub struct Interface {
    pub state: *mut c_void,
    pub next_u64: unsafe extern "C" fn(*mut c_void) -> u64,
    pub next_u32: unsafe extern "C" fn(*mut c_void) -> u32,
    pub next_f64: unsafe extern "C" fn(*mut c_void) -> f64,
    pub next_raw: unsafe extern "C" fn(*mut c_void) -> u64,
}

/// A bit generator that is not ours. Its state lies elsewhere and changes with every call, so it is neither copied
/// nor read ahead; whoever draws holds its lock.
#[derive(Clone, Debug)]
pub struct Foreign(*const Interface);

// SAFETY: an address; calls through it happen under the lock of the generator (see `new`).
unsafe impl Send for Foreign {}
unsafe impl Sync for Foreign {}

impl Foreign {
    /// # Safety
    /// `interface` outlives everything drawn through it, and its calls are safe on any thread that holds its lock.
    pub unsafe fn new(interface: *const Interface) -> Foreign {
        Foreign(interface)
    }
}

impl Bits for Foreign {
    const JUMPS: bool = false;
    const COPIES: bool = false;

    #[inline]
    fn next_u64(&mut self) -> u64 {
        // SAFETY: by the contract of `new`, here and below.
        unsafe { ((*self.0).next_u64)((*self.0).state) }
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        unsafe { ((*self.0).next_u32)((*self.0).state) }
    }

    #[inline]
    fn next_raw(&mut self) -> u64 {
        unsafe { ((*self.0).next_raw)((*self.0).state) }
    }

    #[inline]
    fn next_f64(&mut self) -> f64 {
        unsafe { ((*self.0).next_f64)((*self.0).state) }
    }
}

/// Our generator at `state`, for others.
pub fn interface(state: *mut BitGen) -> Interface {
    // SAFETY (of the functions): they are called with the state they were given out with, under its lock.
    unsafe extern "C" fn next_u64(state: *mut c_void) -> u64 {
        crate::with_bits!((*state.cast::<BitGen>()).settled(), b => b.next_u64())
    }
    unsafe extern "C" fn next_u32(state: *mut c_void) -> u32 {
        crate::with_bits!((*state.cast::<BitGen>()).settled(), b => b.next_u32())
    }
    unsafe extern "C" fn next_f64(state: *mut c_void) -> f64 {
        crate::with_bits!((*state.cast::<BitGen>()).settled(), b => b.next_f64())
    }
    unsafe extern "C" fn next_raw(state: *mut c_void) -> u64 {
        crate::with_bits!((*state.cast::<BitGen>()).settled(), b => b.next_raw())
    }
    Interface { state: state.cast(), next_u64, next_u32, next_f64, next_raw }
}
