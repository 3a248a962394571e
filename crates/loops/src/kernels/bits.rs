//! Operations on bits, and tests of bits.

use crate::element::{Bool, C64, C128, Float, Half};
use crate::kernel_macros::{one, two};

two!(BitwiseAnd, Ieee, [u8 u16 u32 u64], |a, b| a & b);
two!(BitwiseOr, Ieee, [u8 u16 u32 u64], |a, b| a | b);
two!(BitwiseXor, Ieee, [u8 u16 u32 u64], |a, b| a ^ b);
two!(BitwiseAnd, Ieee, [Bool], |a, b| Bool::new(a.get() & b.get()));
two!(BitwiseOr, Ieee, [Bool], |a, b| Bool::new(a.get() | b.get()));
two!(BitwiseXor, Ieee, [Bool], |a, b| Bool::new(a.get() ^ b.get()));

one!(Invert, Ieee, [u8 u16 u32 u64], |a| !a);
one!(Invert, Ieee, [Bool], |a| Bool::new(!a.get()));

// A negative count, read as unsigned, is above every width.
two!(LeftShift, Ieee, [i8 u8 i16 u16 i32 u32 i64 u64], |a, b| {
    let shifted = a.wrapping_shl(b as u32);
    if (b as u64) < T::BITS as u64 { shifted } else { 0 }
});
two!(RightShift, Ieee, [i8 u8 i16 u16 i32 u32 i64 u64], |a, b| {
    let inside = (b as u64) < T::BITS as u64;
    // Shifting by all places but one leaves only copies of a sign bit; an unsigned type needs one more.
    let signed = T::MIN != 0;
    let shifted = a.wrapping_shr(if inside { b as u32 } else { T::BITS - 1 });
    if inside | signed { shifted } else { 0 }
});

one!(BitwiseCount, Ieee, [i8 i16 i32 i64] -> u8, |a| a.unsigned_abs().count_ones() as u8);
one!(BitwiseCount, Ieee, [u8 u16 u32 u64] -> u8, |a| a.count_ones() as u8);

one!(Isfinite, Scalar, [u8 u16 u32 u64] -> Bool, |_a| Bool(1));
one!(Isinf, Scalar, [u8 u16 u32 u64] -> Bool, |_a| Bool(0));
one!(Isnan, Scalar, [u8 u16 u32 u64] -> Bool, |_a| Bool(0));
one!(Isfinite, Ieee, [Half f32 f64] -> Bool, |a| Bool::new(a.finite()));
one!(Isinf, Ieee, [Half f32 f64] -> Bool, |a| Bool::new(a.infinite()));
one!(Isnan, Ieee, [Half f32 f64] -> Bool, |a| Bool::new(a.nan()));
one!(Isfinite, Ieee, [C64 C128] -> Bool, |a| Bool::new(a.re.finite() & a.im.finite()));
one!(Isinf, Ieee, [C64 C128] -> Bool, |a| Bool::new(a.re.infinite() | a.im.infinite()));
one!(Isnan, Ieee, [C64 C128] -> Bool, |a| Bool::new(a.re.nan() | a.im.nan()));
one!(Signbit, Ieee, [Half f32 f64] -> Bool, |a| Bool::new(a.negative()));

two!(Copysign, Ieee, [f32 f64], |a, b| a.with_sign_of(b));
two!(Copysign, Ieee, [Half], |a, b| Half(a.0 & 0x7fff | b.0 & 0x8000));
