//! The parts of floating-point numbers: exponents, mantissas, neighbours, steps.

use crate::element::{Float, Half};
use crate::kernel_macros::{one, two};
use crate::kernels;
use crate::map::{OneToTwo, Style};
use crate::{FP_INVALID, FP_OVERFLOW, FP_UNDERFLOW};

two!(Heaviside, Quiet, [f32 f64], |a, b| {
    let step = if a > 0.0 { 1.0 } else { 0.0 };
    if a.nan() { a } else if a == 0.0 { b } else { step }
});
two!(Heaviside, Quiet, [Half], |a, b| {
    let step = if a.negative() { 0 } else { 0x3c00 };
    if a.nan() {
        a
    } else if a.zero() {
        b
    } else {
        Half(step)
    }
});

// Bits of one sign are in the order of the magnitudes. Without branches, for vectors.
two!(Nextafter, Quiet, [f32 f64], |a, b, flags| {
    let away = (a < b) == (a > 0.0);
    let bits = a.to_bits();
    let beside = T::from_bits(if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) });
    let next = if a == 0.0 { T::from_bits(1).with_sign_of(b) } else { beside };
    let moves = (a < b) | (a > b);
    *flags |= if moves & next.infinite() & a.finite() { FP_OVERFLOW } else { 0 };
    *flags |= if moves & (next.abs() < T::MIN_POSITIVE) { FP_UNDERFLOW } else { 0 };
    let stays = if a == b { b } else { a + b };
    if moves { next } else { stays }
});
two!(Nextafter, Quiet, [Half], |a, b, flags| {
    let (x, y) = (a.widen(), b.widen());
    let away = (x < y) == (x > 0.0);
    let beside = Half(if away { a.0.wrapping_add(1) } else { a.0.wrapping_sub(1) });
    let next = if a.zero() { Half(1 | b.0 & 0x8000) } else { beside };
    let moves = (x < y) | (x > y);
    *flags |= if moves & next.infinite() & a.finite() { FP_OVERFLOW } else { 0 };
    let stays = if a.nan() | b.nan() { Half(0x7e00) } else { a };
    if moves { next } else { stays }
});

one!(Spacing, Quiet, [f32 f64], |a, flags| {
    let next = T::from_bits(a.to_bits().wrapping_add(1));
    *flags |= if next.infinite() & a.finite() { FP_OVERFLOW } else { 0 };
    let step = if a == 0.0 { T::from_bits(1) } else { next - a };
    if a.nan() { a } else if a.infinite() { T::NAN } else { step }
});
// NumPy measures binary16 towards plus infinity, wider floats away from zero.
one!(Spacing, Quiet, [Half], |a, flags| {
    let next = Half(if a.negative() { a.0.wrapping_sub(1) } else { a.0.wrapping_add(1) });
    *flags |= if a.finite() { 0 } else { FP_INVALID };
    *flags |= if next.infinite() & a.finite() { FP_OVERFLOW } else { 0 };
    let step = Half::narrow(next.widen() - a.widen(), flags);
    let step = if next.infinite() { next } else { step };
    let step = if a.zero() { Half(1) } else { step };
    if a.finite() { step } else { Half(0x7e00) }
});

/// Splitting into, and putting together from, mantissa and exponent.
trait Parts: Float {
    /// `self = mantissa * 2^exponent` with the mantissa in [0.5, 1).
    fn split(self) -> (Self, i32);
    /// `self * 2^exponent`, rounded once.
    fn scale(self, exponent: i64, flags: &mut u8) -> Self;
    /// Fractional and integral part, each with the sign of the whole.
    fn fraction(self) -> (Self, Self);
}

macro_rules! parts {
    ($t:ty, $bits:ty, $places:literal, $bias:literal) => {
        impl Parts for $t {
            #[inline(always)]
            fn split(self) -> ($t, i32) {
                let plain = (self != 0.0) & self.finite();
                // 2^64 lifts every subnormal among the normal numbers.
                let lifted = self.abs() < <$t>::MIN_POSITIVE;
                let whole = self * if lifted { 18446744073709551616.0 } else { 1.0 };
                const MASK: $bits = (2 * $bias + 1) << $places;
                let exponent = ((whole.to_bits() & MASK) >> $places) as i32 - ($bias - 1);
                let mantissa = <$t>::from_bits(whole.to_bits() & !MASK | ($bias - 1) << $places);
                let exponent = exponent - if lifted { 64 } else { 0 };
                (if plain { mantissa } else { self }, if plain { exponent } else { 0 })
            }

            #[inline(always)]
            fn scale(self, exponent: i64, flags: &mut u8) -> $t {
                // What has no mantissa is what it is, times any power of two.
                let (mantissa, own) = self.split();
                let total = (exponent.clamp(-10_000, 10_000) as i32) + own;
                // A power of two by its bits; only the last of the two products can round.
                let two_to = |e: i32| <$t>::from_bits(((e + $bias) as $bits) << $places);
                let (first, last) = if total > $bias + 1 {
                    (<$t>::MAX, 4.0)
                } else if total > $bias - 1 {
                    (two_to(total - 1), 2.0)
                } else if total >= 2 - $bias {
                    (two_to(total), 1.0)
                } else {
                    (two_to(2 - $bias), two_to((total - 2 + $bias).max(1 - $bias)))
                };
                let (exact, y) = (mantissa * first, mantissa * first * last);
                *flags |= if y.infinite() & self.finite() { FP_OVERFLOW } else { 0 };
                // The last factor's inverse is a power of two as well.
                let inverse = <$t>::from_bits(((2 * $bias as $bits) << $places).wrapping_sub(last.to_bits()));
                let tiny = (y.abs() < <$t>::MIN_POSITIVE) & (y * inverse != exact);
                *flags |= if tiny { FP_UNDERFLOW } else { 0 };
                y
            }

            #[inline(always)]
            fn fraction(self) -> ($t, $t) {
                let whole = self.trunc();
                let rest = if self.infinite() { 0.0 } else { self - whole };
                (if self.nan() { self } else { rest.with_sign_of(self) }, whole)
            }
        }
    };
}

parts!(f32, u32, 23, 127);
parts!(f64, u64, 52, 1023);

macro_rules! ldexp {
    ($($t:ty)*) => { $(
        two!(@ Ldexp, Quiet, $t, i32, $t, a, b, flags, a.scale(b as i64, flags));
        two!(@ Ldexp, Quiet, $t, i64, $t, a, b, flags, a.scale(b, flags));
    )* };
}
ldexp!(f32 f64);

macro_rules! pair {
    ($k:ident, $style:ident, $t:ty, $second:ty, |$a:ident, $flags:ident| $e:expr) => {
        impl OneToTwo<$t> for kernels::$k {
            type First = $t;
            type Second = $second;
            const STYLE: Style = Style::$style;
            #[inline(always)]
            fn call($a: $t, $flags: &mut u8) -> ($t, $second) {
                $e
            }
        }
    };
}

pair!(Modf, Quiet, f32, f32, |a, _flags| a.fraction());
pair!(Modf, Quiet, f64, f64, |a, _flags| a.fraction());
pair!(Modf, QuietScalar, Half, Half, |a, flags| halves(a.widen().fraction(), flags));
pair!(Frexp, Quiet, f32, i32, |a, _flags| a.split());
pair!(Frexp, Quiet, f64, i32, |a, _flags| a.split());
pair!(Frexp, QuietScalar, Half, i32, |a, flags| {
    let (mantissa, exponent) = a.widen().split();
    (Half::narrow(mantissa, flags), exponent)
});

fn halves((a, b): (f32, f32), flags: &mut u8) -> (Half, Half) {
    (Half::narrow(a, flags), Half::narrow(b, flags))
}
