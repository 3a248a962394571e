//! The processor's sticky floating-point status, which the kernels leave as they found it.

/// The status on entry to a kernel.
pub(crate) struct Status(registers::Word);

impl Status {
    #[inline(always)]
    pub fn read() -> Status {
        Status(registers::read())
    }

    /// Takes back the divide, overflow, underflow and invalid bits raised since.
    ///
    /// The inexact and denormal bits are left alone: no caller reads them, and writing the register
    /// costs more than the arithmetic on a short array.
    #[inline(always)]
    pub fn restore(self) {
        if (registers::read() ^ self.0) & registers::REPORTED != 0 {
            registers::write(self.0);
        }
    }

    #[cfg(test)]
    pub fn reported(&self) -> registers::Word {
        self.0 & registers::REPORTED
    }

    #[cfg(test)]
    pub fn clear() {
        registers::write(registers::read() & !registers::REPORTED);
    }
}

#[cfg(target_arch = "x86_64")]
mod registers {
    use std::arch::asm;

    pub type Word = u32;
    pub const REPORTED: Word = 0x1d;

    #[inline(always)]
    pub fn read() -> Word {
        let mut word: Word = 0;
        // SAFETY: stores MXCSR into `word`. Not `nomem`: the stores of the results must not cross it.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline(always)]
    pub fn write(word: Word) {
        // SAFETY: `word` was read from MXCSR.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod registers {
    use std::arch::asm;

    pub type Word = u64;
    pub const REPORTED: Word = 0x0f;

    #[inline(always)]
    pub fn read() -> Word {
        let word: Word;
        // SAFETY: reads FPSR. Not `nomem`: the stores of the results must not cross it.
        unsafe { asm!("mrs {}, fpsr", out(reg) word, options(nostack, preserves_flags)) };
        word
    }

    #[inline(always)]
    pub fn write(word: Word) {
        // SAFETY: `word` was read from FPSR.
        unsafe { asm!("msr fpsr, {}", in(reg) word, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod registers {
    pub type Word = u32;
    pub const REPORTED: Word = 0;

    pub fn read() -> Word {
        0
    }

    pub fn write(_: Word) {}
}
