//! Conversions of binary16, branch-free so that they vectorise on every instruction set.

use crate::element::Half;
use crate::{FP_OVERFLOW, FP_UNDERFLOW};

const INFINITY: u16 = 0x7c00;

impl Half {
    #[inline(always)]
    pub fn nan(self) -> bool {
        self.0 & 0x7fff > INFINITY
    }

    #[inline(always)]
    pub fn infinite(self) -> bool {
        self.0 & 0x7fff == INFINITY
    }

    #[inline(always)]
    pub fn finite(self) -> bool {
        self.0 & 0x7fff < INFINITY
    }

    #[inline(always)]
    pub fn negative(self) -> bool {
        self.0 >> 15 != 0
    }

    #[inline(always)]
    pub fn zero(self) -> bool {
        self.0 & 0x7fff == 0
    }

    #[inline(always)]
    pub fn widen(self) -> f32 {
        let magnitude = (self.0 & 0x7fff) as u32;
        let sign = ((self.0 & 0x8000) as u32) << 16;
        // The exponent bias differs by 112; a product with 2^112 also normalises subnormals, exactly.
        let finite = (f32::from_bits(magnitude << 13) * f32::from_bits((112 + 127) << 23)).to_bits();
        let special = magnitude << 13 | 0x7f80_0000;
        f32::from_bits(sign | if magnitude >= INFINITY as u32 { special } else { finite })
    }

    /// Rounds to nearest, ties to even; says in `flags` when that overflowed or lost a subnormal.
    #[inline(always)]
    pub fn narrow(x: f32, flags: &mut u8) -> Half {
        let bits = x.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = bits & 0x7fff_ffff;
        let normal = magnitude.wrapping_add(0xfff + (magnitude >> 13 & 1)).wrapping_sub(112 << 23) >> 13;
        // Adding 0.5 puts a value below 2^-14 in the last places of the sum, rounded once. Larger
        // values do not take this way; they are replaced before the addition so that it raises nothing.
        let tiny = magnitude < 113 << 23;
        let low = f32::from_bits(if tiny { magnitude } else { 0 });
        let subnormal = (low + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let finite = magnitude < 0x7f80_0000;
        // 65520 is the first value that rounds to infinity.
        let overflow = magnitude >= 0x477f_f000;
        let special = if magnitude > 0x7f80_0000 { 0x7e00 } else { INFINITY as u32 };
        let rounded = if overflow {
            special
        } else if tiny {
            subnormal
        } else {
            normal
        };
        let lost = tiny && (subnormal as f32) * f32::from_bits((127 - 24) << 23) != low;
        *flags |= if overflow && finite { FP_OVERFLOW } else { 0 } | if lost { FP_UNDERFLOW } else { 0 };
        Half(rounded as u16 | sign)
    }

    /// As `narrow`, rounding only once.
    #[inline(always)]
    pub fn narrow_f64(x: f64, flags: &mut u8) -> Half {
        // To odd: truncate to f32's normal precision and keep a sticky bit, which the second rounding
        // (13 places further) sees and no tie can hide.
        let bits = x.to_bits();
        let magnitude = bits & 0x7fff_ffff_ffff_ffff;
        let sign = (bits >> 32) as u32 & 0x8000_0000;
        let sticky = (magnitude & 0x1fff_ffff != 0) as u64;
        let wide = (magnitude >> 29 | sticky).wrapping_sub(896 << 23);
        let clamped = if magnitude > 0x7ff0_0000_0000_0000 {
            0x7fc0_0000
        } else if magnitude == 0x7ff0_0000_0000_0000 {
            0x7f80_0000
        } else if magnitude >= 1039 << 52 {
            // 65536 and above: any finite value that overflows.
            0x4780_0000
        } else if magnitude >= 897 << 52 {
            wide as u32
        } else if magnitude != 0 {
            1
        } else {
            0
        };
        Half::narrow(f32::from_bits(clamped | sign), flags)
    }
}
