//! The logarithms of `f32`, in single precision throughout: the argument as 2^k (1 + f), and a polynomial in f made for
//! each base, whose first coefficient is in two parts.

use crate::arithmetic::horner;
use crate::blocks::Lanes1;
use crate::libm::{Log, Log1p, Log2, Log10};
use crate::single::covered;
use std::f32::consts::{LOG2_E, LOG10_2, LOG10_E};

const TWO_23: f32 = 8388608.0;

/// The exponent in the bits of a positive number, as a number.
#[inline(always)]
pub(crate) fn exponent(bits: u32) -> f32 {
    f32::from_bits((bits >> 23) | TWO_23.to_bits()) - (TWO_23 + 127.0)
}

/// A positive normal number as `2^k (1 + f)`, with 1 + f from √½ to √2.
#[inline(always)]
pub(crate) fn exponent_and_fraction(x: f32) -> (f32, f32) {
    const SQRT_HALF_BITS: u32 = 0x3f35_04f3;
    let shifted = x.to_bits().wrapping_add(1f32.to_bits() - SQRT_HALF_BITS);
    (exponent(shifted), f32::from_bits((shifted & 0x7f_ffff) + SQRT_HALF_BITS) - 1.0)
}

/// What `f` lacks of log(1 + f).
#[inline(always)]
fn log_rest(f: f32) -> f32 {
    let series = horner!(f; 0.33333313, -0.24999987, 0.20002072, -0.16669194, 0.1422127, -0.123864435, 0.11857816,
        -0.11773782, 0.06928266);
    let square = f * f;
    square.mul_add(-0.5, series * (square * f))
}

/// ln 2 to nine bits, so that its product with an exponent is exact, and the rest.
const LN2_9: f32 = 355.0 / 512.0;
const LN2_REST: f32 = -0.00021219444;

/// One comparison of integers, which is cheaper than two of numbers.
#[inline(always)]
pub(crate) fn is_positive_normal(x: f32) -> bool {
    const LEAST: u32 = f32::MIN_POSITIVE.to_bits();
    x.to_bits().wrapping_sub(LEAST) < f32::INFINITY.to_bits() - LEAST
}

impl Lanes1<f32> for Log {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (k, f) = exponent_and_fraction(x);
        let y = k.mul_add(LN2_9, f + k.mul_add(LN2_REST, log_rest(f)));
        covered(is_positive_normal(x), y)
    }
}

/// log(1 + x) for `x` above -1 and not among the largest, whose inverse is subnormal.
#[inline(always)]
pub(crate) fn log1p_finite(x: f32) -> f32 {
    // 1 + x is 2^k (1 + f), with 1 + f from ¾ to 3/2. Then `f` is exact: `x` has no bit beyond those of `f`.
    let shifted = (1.0 + x).to_bits().wrapping_add(1f32.to_bits() - 0.75f32.to_bits());
    let k = exponent(shifted);
    let down = f32::from_bits((254 << 23) - (shifted & 0x7f80_0000));
    let f = x.mul_add(down, down - 1.0);
    let series = horner!(f; 0.33333337, -0.25000167, 0.19999847, -0.1665555, 0.14270449, -0.12714872, 0.11736793,
        -0.09254065, 0.038814004);
    let square = f * f;
    let rest = square.mul_add(-0.5, series * (square * f));
    k.mul_add(LN2_9, f + k.mul_add(LN2_REST, rest)).copysign(x)
}

impl Lanes1<f32> for Log1p {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        covered((x > -1.0) & (x < 1e37), log1p_finite(x))
    }
}

impl Lanes1<f32> for Log2 {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (k, f) = exponent_and_fraction(x);
        let series = horner!(f; -0.72134733, 0.48089823, -0.36069658, 0.28856748, -0.23961842, 0.20460048, -0.1910558,
            0.18617176, -0.10995952);
        let rest = f * f.mul_add(series, 1.925963e-08);
        covered(is_positive_normal(x), k + f.mul_add(LOG2_E, rest))
    }
}

impl Lanes1<f32> for Log10 {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (k, f) = exponent_and_fraction(x);
        let series = horner!(f; -0.21714719, 0.1447648, -0.10858049, 0.08686747, -0.072132334, 0.06159088, -0.05751353,
            0.056043282, -0.03310111);
        let rest = k.mul_add(-1.4320989e-08, f * f.mul_add(series, -1.010305e-08));
        covered(is_positive_normal(x), k.mul_add(LOG10_2, f.mul_add(LOG10_E, rest)))
    }
}
