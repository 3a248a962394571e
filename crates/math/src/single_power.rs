//! power and cbrt of `f32`, in single precision throughout.

use crate::arithmetic::horner;
use crate::blocks::{Lanes1, Lanes2};
use crate::libm::{Cbrt, Power};
use crate::single::{SHIFT, covered, scaled};
use crate::single_logarithm::{exponent, is_positive_normal};
use std::f32::consts::{LN_2, SQRT_2};

const SIGN: u32 = 1 << 31;
const LEAST: u32 = f32::MIN_POSITIVE.to_bits();

/// log2 of a positive normal number to 31 bits, as an unevaluated sum.
///
/// The argument is 2^k m with m from 2^-¼ to 2^¾, and c is 1 or √2, whichever is nearer to m. With s = (m - c) / (m + c)
/// log2(m / c) is s (2 / ln 2 + s² q(s²)); what q adds is below 2^-8 of it, so that one single is enough for it.
#[inline(always)]
fn extended_log2(x: f32) -> (f32, f32) {
    const LEAST_BITS: u32 = 0x3f57_44fd;
    const FOURTH_ROOT_OF_2: f32 = 1.1892071;
    const SQRT_2_LOG_LOW: f32 = -2.4690674e-08;
    const SCALE: f32 = 2.88539;
    const SCALE_LOW: f32 = 3.851926e-08;

    let shifted = x.to_bits().wrapping_add(1f32.to_bits() - LEAST_BITS);
    let m = f32::from_bits((shifted & 0x7f_ffff) + LEAST_BITS);
    let upper = m > FOURTH_ROOT_OF_2;
    let c = if upper { SQRT_2 } else { 1.0 };
    let c_log_low = if upper { SQRT_2_LOG_LOW } else { 0.0 };
    let k = exponent(shifted);
    let whole = if upper { k + 0.5 } else { k };

    let f = m - c;
    let below = c + m;
    let below_low = (c - below) + m;
    let inverse = 1.0 / below;
    let s = f * inverse;
    let remainder = s.mul_add(-below_low, s.mul_add(-below, f));
    let z = s * s;
    let q = horner!(z; 0.9617967, 0.57705784, 0.41683856);

    // Exact, as `whole` is 0 or more than twice the product.
    let sum = s.mul_add(SCALE, whole);
    let error = s.mul_add(SCALE, whole - sum) + c_log_low;
    (sum, remainder.mul_add(inverse * SCALE, s.mul_add(z.mul_add(q, SCALE_LOW), error)))
}

/// 2^(x + low), and whether it is between 2^-125.5 and 2^127.5.
#[inline(always)]
fn exp2_extended(x: f32, low: f32) -> (f32, bool) {
    const LEAST_BITS: u32 = (SHIFT - 125.0).to_bits();
    let shifted = (x + low) + SHIFT;
    let r = (x - (shifted - SHIFT)) + low;
    let r2 = r * r;
    let tail =
        r2.mul_add(r2.mul_add(0.0001547188, r.mul_add(0.0013390459, 0.0096180225)), r.mul_add(0.055503618, 0.2402265));
    let sum = r.mul_add(LN_2, 1.0);
    let error = r.mul_add(LN_2, 1.0 - sum);
    let n_bits = shifted.to_bits();
    (scaled(sum + tail.mul_add(r2, error), n_bits), n_bits.wrapping_sub(LEAST_BITS) < 253)
}

/// Of a power of `x`, in the sign bit: whether it is negative, and whether it is none, as `y` is not an integer.
#[inline(always)]
fn signs_of_power(x: f32, y: f32) -> (u32, u32) {
    let half = 0.5 * y;
    let odd = (half.floor() - half).to_bits();
    let broken = (y.floor() - y).to_bits();
    let negative = x.to_bits() & SIGN;
    (negative & odd, negative & broken)
}

/// The power of a number that is not negative, and whether it is covered; it is not if the sign bit of `none` is set.
#[inline(always)]
fn power_above_zero(a: f32, y: f32, none: u32) -> (f32, bool) {
    let (log, log_low) = extended_log2(a);
    let exponent = y * log;
    let low = y.mul_add(log_low, y.mul_add(log, -exponent));
    let (magnitude, inside) = exp2_extended(exponent, low);
    let normal = (a.to_bits().wrapping_sub(LEAST) | none) < f32::INFINITY.to_bits() - LEAST;
    (magnitude, normal & inside)
}

impl Lanes2<f32> for Power {
    #[inline(always)]
    fn lane(x: f32, y: f32) -> f32 {
        let (negative, none) = signs_of_power(x, y);
        let (magnitude, inside) = power_above_zero(x.abs(), y, none);
        covered(inside, f32::from_bits(magnitude.to_bits() ^ negative))
    }

    const ABOVE_ZERO: bool = true;

    #[inline(always)]
    fn lane_above_zero(x: f32, y: f32) -> f32 {
        let (magnitude, inside) = power_above_zero(x, y, 0);
        covered(inside, magnitude)
    }
}

impl Lanes1<f32> for Cbrt {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        // A third of the exponent and mantissa together, from a constant: the inverse of the root to 4%. The integers
        // stand in the low bits of numbers from 2^23 to 2^24.
        const TWO_23: f32 = 8388608.0;
        const BIAS: f32 = TWO_23 + TWO_23 / 3.0 + 2773243.0;
        let a = x.abs();
        let number = f32::from_bits((a.to_bits() >> 9) | TWO_23.to_bits());
        let guess = f32::from_bits(number.mul_add(-1.0 / 3.0, BIAS).to_bits() << 9);

        let error = (a * guess).mul_add(-(guess * guess), 1.0);
        let series = horner!(error; 0.33332753, 0.22349966, 0.17470686);
        let inverse = (guess * error).mul_add(series, guess);
        // One step of Newton's from 17 bits.
        let y = a * inverse * inverse;
        let residual = (y * y).mul_add(y, -a);
        let y = (inverse * (inverse * (-1.0 / 3.0))).mul_add(residual, y);
        covered(is_positive_normal(a), y.copysign(x))
    }
}
