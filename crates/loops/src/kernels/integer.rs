//! Powers, divisors and reciprocals of integers.

// The same text serves all widths.
#![allow(clippy::unnecessary_cast)]

use crate::kernel_macros::{one, two};
use crate::{FP_DIVIDE, FP_INVALID};

macro_rules! power {
    ($base:ident, $exponent:ident) => {{
        let (mut square, mut left, mut result) = ($base, $exponent, 1 as T);
        loop {
            if left & 1 != 0 {
                result = result.wrapping_mul(square);
            }
            left >>= 1;
            if left == 0 {
                break result;
            }
            square = square.wrapping_mul(square);
        }
    }};
}
// Negative exponents are refused before a loop runs; here they give the truncated quotient.
two!(Power, Scalar, [i8 i16 i32 i64], |a, b| {
    if b >= 0 {
        power!(a, b)
    } else {
        match a {
            1 => 1,
            -1 => 1 - 2 * (b & 1),
            _ => 0,
        }
    }
});
two!(Power, Scalar, [u8 u16 u32 u64], |a, b| power!(a, b));

two!(Gcd, Scalar, [i8 i16 i32 i64], |a, b| gcd(a.unsigned_abs() as u64, b.unsigned_abs() as u64) as T);
two!(Gcd, Scalar, [u8 u16 u32 u64], |a, b| gcd(a as u64, b as u64) as T);
two!(Lcm, Scalar, [i8 i16 i32 i64], |a, b| lcm(a.unsigned_abs() as u64, b.unsigned_abs() as u64) as T);
two!(Lcm, Scalar, [u8 u16 u32 u64], |a, b| lcm(a as u64, b as u64) as T);

/// Stein's: subtractions and shifts instead of divisions.
#[inline]
fn gcd(mut a: u64, mut b: u64) -> u64 {
    if a == 0 || b == 0 {
        return a | b;
    }
    let twos = (a | b).trailing_zeros();
    a >>= a.trailing_zeros();
    while b != 0 {
        b >>= b.trailing_zeros();
        (a, b) = (a.min(b), a.abs_diff(b));
    }
    a << twos
}

#[inline]
fn lcm(a: u64, b: u64) -> u64 {
    match gcd(a, b) {
        0 => 0,
        divisor => (a / divisor).wrapping_mul(b),
    }
}

// The reciprocal of zero is what x86 makes of converting infinity: the lowest number of 32 or 64 bits, cut to width;
// unsigned it is zero.
one!(Reciprocal, Ieee, [i8 i16 i32 i64], |a, flags| {
    *flags |= if a == 0 { FP_DIVIDE | FP_INVALID } else { 0 };
    let lowest = if T::BITS == 64 { i64::MIN as T } else { i32::MIN as T };
    if a == 0 { lowest } else if (a == 1) | (a == -1) { a } else { 0 }
});
one!(Reciprocal, Ieee, [u8 u16 u32 u64], |a, flags| {
    *flags |= if a == 0 { FP_DIVIDE | FP_INVALID } else { 0 };
    (a == 1) as T
});
