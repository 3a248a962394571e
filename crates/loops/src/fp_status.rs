//! The floating-point exceptions that the processor has seen.

use crate::{FP_DIVIDE, FP_INVALID, FP_OVERFLOW, FP_UNDERFLOW};

/// The sticky exception bits of MXCSR.
#[cfg(target_arch = "x86_64")]
const STICKY: u32 = 0x3f;

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read() -> u32 {
    let mut csr = 0u32;
    // SAFETY: stores 4 bytes into `csr`. The statement also orders itself against the loads and stores
    // of the loops around it, on which their arithmetic hangs.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut csr, options(nostack, preserves_flags)) };
    csr
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn write(csr: u32) {
    // SAFETY: `csr` came from `read` with at most sticky bits changed, so no exception is unmasked.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &csr, options(nostack, preserves_flags)) };
}

/// The exceptions seen since the last clear, as `FP_*` flags.
pub fn fp_status() -> u8 {
    #[cfg(target_arch = "x86_64")]
    {
        let csr = read();
        let bit = |place: u32, flag: u8| if csr >> place & 1 != 0 { flag } else { 0 };
        bit(0, FP_INVALID) | bit(2, FP_DIVIDE) | bit(3, FP_OVERFLOW) | bit(4, FP_UNDERFLOW)
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Forgets the exceptions seen so far.
pub fn fp_clear() {
    #[cfg(target_arch = "x86_64")]
    {
        let csr = read();
        if csr & STICKY != 0 {
            write(csr & !STICKY);
        }
    }
}

/// Has the processor remember exceptions that a loop found by itself (integers have no hardware flags).
#[inline]
pub fn fp_raise(flags: u8) {
    #[cfg(target_arch = "x86_64")]
    if flags != 0 {
        let bit = |place: u32, flag: u8| if flags & flag != 0 { 1 << place } else { 0 };
        let bits = bit(0, FP_INVALID) | bit(2, FP_DIVIDE) | bit(3, FP_OVERFLOW) | bit(4, FP_UNDERFLOW);
        write(read() | bits);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = flags;
}

/// Keeps the exceptions of what runs between `begin` and `end` from being seen.
#[derive(Clone, Copy)]
pub struct Quiet {
    #[cfg(target_arch = "x86_64")]
    csr: u32,
}

impl Quiet {
    #[inline(always)]
    pub fn begin() -> Quiet {
        Quiet {
            #[cfg(target_arch = "x86_64")]
            csr: read(),
        }
    }

    #[inline(always)]
    pub fn end(self) {
        #[cfg(target_arch = "x86_64")]
        if read() != self.csr {
            write(self.csr);
        }
    }
}
