//! power, cbrt, hypot and fmod.

use crate::arithmetic::{LN2_42, LN2_REST, covered, halves, horner, two_product, two_sum};
use crate::blocks::{Lanes1, Lanes2};
use crate::exponential::exp_extended;
use crate::libm::{Cbrt, Fmod, Hypot, Power};
use crate::logarithm::{exponent_and_fraction, is_positive_normal};

const SIGN: u64 = 1 << 63;
const LEAST: u64 = f64::MIN_POSITIVE.to_bits();

/// log of a positive normal number to about 65 bits, as an unevaluated sum.
///
/// With s = f / (2 + f), log(1 + f) is s (2 + s² (2/3 + s² q(s²))). The parts down to 2/3 are carried
/// in two doubles; what q adds is below 2^-13 of the result, so one double is enough for it. q also
/// makes up for what the double 2/3 lacks.
#[inline(always)]
fn extended_log(x: f64) -> (f64, f64) {
    const TWO_THIRDS: f64 = 0.6666666666666666;

    let (k, f) = exponent_and_fraction(x);
    let inverse = 1.0 / (2.0 + f);
    let s = f * inverse;
    // The inner difference is exact, as its parts are nearly equal.
    let s_low = s.mul_add(-f, f - (s + s)) * inverse;

    let (z, z_low) = two_product(s, s);
    let q = halves!(z, z * z;
        [0.40000000000004926, 0.22222222607040412, 0.1538698923035764, 0.1323486337685474]
        [0.28571428569410845, 0.18181778347859076, 0.132521388968929]);
    let c = z.mul_add(q, TWO_THIRDS);
    let c_low = z.mul_add(q, TWO_THIRDS - c);
    let g = z.mul_add(c, 2.0);
    let g_low = z.mul_add(c_low, z_low.mul_add(c, z.mul_add(c, 2.0 - g)));

    // 2 / (1 - s²), which is how the logarithm grows with s, to 2^-9.
    let slope = (g - 4.0) + (g + g);
    let whole = k * LN2_42;
    let sum = s.mul_add(g, whole);
    let low = s.mul_add(g_low, s_low.mul_add(slope, s.mul_add(g, whole - sum)));
    (sum, k.mul_add(LN2_REST, low))
}

/// Of a power of `x`, in the sign bit: whether it is negative, and whether it is none, as `y` is not an integer.
#[inline(always)]
fn signs_of_power(x: f64, y: f64) -> (u64, u64) {
    let half = 0.5 * y;
    let odd = (half.floor() - half).to_bits();
    let broken = (y.floor() - y).to_bits();
    let negative = x.to_bits() & SIGN;
    (negative & odd, negative & broken)
}

/// The power of a number that is not negative, and whether it is covered; it is not if the sign bit of `none` is set.
#[inline(always)]
fn power_above_zero(a: f64, y: f64, none: u64) -> (f64, bool) {
    let (log, log_low) = extended_log(a);
    let (exponent, error) = two_product(y, log);
    let (magnitude, inside) = exp_extended(exponent, y.mul_add(log_low, error));
    let normal = (a.to_bits().wrapping_sub(LEAST) | none) < f64::INFINITY.to_bits() - LEAST;
    (magnitude, normal & inside)
}

impl Lanes2<f64> for Power {
    #[inline(always)]
    fn lane(x: f64, y: f64) -> f64 {
        let (negative, none) = signs_of_power(x, y);
        let (magnitude, inside) = power_above_zero(x.abs(), y, none);
        covered(inside, f64::from_bits(magnitude.to_bits() ^ negative))
    }

    const ABOVE_ZERO: bool = true;

    #[inline(always)]
    fn lane_above_zero(x: f64, y: f64) -> f64 {
        let (magnitude, inside) = power_above_zero(x, y, 0);
        covered(inside, magnitude)
    }
}

impl Lanes1<f64> for Cbrt {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        // A third of the exponent and mantissa together, and the bias put right: good to 3%.
        const BIAS: u64 = 715094163;
        const THIRD: u64 = 0xaaaa_aaab;
        let a = x.abs();
        let third = ((a.to_bits() >> 32) * THIRD) >> 33;
        let guess = f64::from_bits((third + BIAS) << 32);

        let inverse = 1.0 / a;
        let error = (guess * guess * guess).mul_add(inverse, -1.0);
        let t = guess
            * horner!(error; 1.0000000047010218, -0.3333303223409689, 0.22221524246364335, -0.1742137708149469,
                0.1457469210570704);
        // One step of Newton's from 22 bits, with the cube taken in two parts.
        let (square, square_low) = two_product(t, t);
        let (cube, cube_error) = two_product(square, t);
        let residual = ((cube - a) + square_low.mul_add(t, cube_error)) * inverse;
        // (1 + residual)^(-1/3) - 1.
        let step = residual * residual.mul_add(2.0 / 9.0, -1.0 / 3.0);
        let y = step.mul_add(t, t).copysign(x);
        covered(is_positive_normal(a) & (a < 1e300), y)
    }
}

impl Lanes2<f64> for Hypot {
    #[inline(always)]
    fn lane(a: f64, b: f64) -> f64 {
        let (a, b) = (a.abs(), b.abs());
        let larger = if a > b { a } else { b };
        let (a2, a2_low) = two_product(a, a);
        let (b2, b2_low) = two_product(b, b);
        let (sum, error) = two_sum(a2, b2);
        let root = sum.sqrt();
        let residual = root.mul_add(-root, sum) + (error + (a2_low + b2_low));
        let y = root + residual / (2.0 * root);
        covered((larger > 1e-140) & (larger < 1e150), y)
    }
}

impl Lanes2<f64> for Fmod {
    #[inline(always)]
    fn lane(x: f64, y: f64) -> f64 {
        const EXACT: f64 = 4503599627370496.0;
        let (a, b) = (x.abs(), y.abs());
        let quotient = (a / b).trunc();
        // The rounded quotient may be one off; the remainder of it is exact all the same.
        let r = quotient.mul_add(-b, a);
        let r = if r < 0.0 { r + b } else { r };
        let r = if r >= b { r - b } else { r };
        covered((quotient < EXACT) & (b <= f64::MAX), r.copysign(x))
    }
}
