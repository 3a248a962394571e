//! The floating-point status flags that NumPy reports, in the control register of this thread.

use std::arch::asm;

/// Invalid, divide by zero, overflow, underflow.
const REPORTED: u32 = 0b01_1101;

fn read() -> u32 {
    let mut word = 0u32;
    // SAFETY: stores the control register into `word`.
    unsafe { asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack)) };
    word
}

/// The flags raised since the last call; clears them.
pub fn take() -> u32 {
    let word = read();
    set(0);
    word & REPORTED
}

/// Makes `flags` the only ones raised.
pub fn set(flags: u32) {
    let word = (read() & !0x3f) | flags;
    // SAFETY: only status flags differ from the register's present contents.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &word, options(nostack, readonly)) };
}
