//! log, log2, log10, log1p, logaddexp and logaddexp2: the argument as 2^k (1 + f) with 1 + f between
//! √½ and √2, and a series in s = f / (2 + f).

use crate::arithmetic::{LN2_42, LN2_REST, covered, halves};
use crate::blocks::{Lanes1, Lanes2};
use crate::exponential::{exp_normal, exp2_normal};
use crate::libm::{Log, Log1p, Log2, Log10, Logaddexp, Logaddexp2};
use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
pub(crate) const MANTISSA: u64 = (1 << 52) - 1;

/// A positive normal number as `2^k * m`: `k` with the exponent's bias, and `m` from √½ to √2.
#[inline(always)]
fn split(x: f64) -> (u64, f64) {
    let shifted = x.to_bits().wrapping_add(1f64.to_bits() - SQRT_HALF_BITS);
    (shifted >> 52, f64::from_bits((shifted & MANTISSA).wrapping_add(SQRT_HALF_BITS)))
}

/// The exponent of [`split`] as a number.
#[inline(always)]
pub(crate) fn exponent(biased: u64) -> f64 {
    const TWO_52: f64 = 4503599627370496.0;
    f64::from_bits(biased | TWO_52.to_bits()) - (TWO_52 + 1023.0)
}

/// `2^k (1 + f)` as `(k, f)`.
#[inline(always)]
pub(crate) fn exponent_and_fraction(x: f64) -> (f64, f64) {
    let (biased, m) = split(x);
    (exponent(biased), m - 1.0)
}

/// `f²/2`, and what `f - f²/2` still lacks of log(1 + f), by a series in s² with what it needs of s⁴.
#[inline(always)]
fn half_square_and_rest(f: f64, series: impl FnOnce(f64, f64) -> f64) -> (f64, f64) {
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    (half_square, s * z.mul_add(series(z, z * z), half_square))
}

/// log of a positive normal number.
#[inline(always)]
pub(crate) fn log_normal(x: f64) -> f64 {
    let (k, f) = exponent_and_fraction(x);
    let (half_square, rest) = half_square_and_rest(f, |z, w| {
        halves!(z, w;
            [0.6666666666666698, 0.2857142870386262, 0.1818339415065562, 0.14757975928082542]
            [0.39999999999611907, 0.2222220213979604, 0.1531809709650472])
    });
    k.mul_add(LN2_42, f - (half_square - k.mul_add(LN2_REST, rest)))
}

/// One comparison of integers, which is cheaper than two of numbers.
#[inline(always)]
pub(crate) fn is_positive_normal(x: f64) -> bool {
    const LEAST: u64 = f64::MIN_POSITIVE.to_bits();
    x.to_bits().wrapping_sub(LEAST) < f64::INFINITY.to_bits() - LEAST
}

impl Lanes1<f64> for Log {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        covered(is_positive_normal(x), log_normal(x))
    }
}

/// What the logarithm of 1 + f in a base has beyond the product of `f` and the double nearest to 1 / log(base): `series` is
/// made for the base, and `half` and `low` are half and the rest of that factor.
#[inline(always)]
fn rest_in_base(f: f64, half: f64, low: f64, series: [f64; 7]) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let r = z * halves!(z, w; [series[0], series[2], series[4], series[6]] [series[1], series[3], series[5]]);
    let half_square = half * f * f;
    f.mul_add(low, s.mul_add(half_square + r, -half_square))
}

impl Lanes1<f64> for Log2 {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let (k, f) = exponent_and_fraction(x);
        let series = [
            0.9617966939259854,
            0.5770780163471396,
            0.4121985855778594,
            0.32059855675887405,
            0.26233338258204436,
            0.22093499978220943,
            0.21346093715747624,
        ];
        let rest = rest_in_base(f, 0.5 * LOG2_E, 2.0355273740931033e-17, series);
        covered(is_positive_normal(x), k + f.mul_add(LOG2_E, rest))
    }
}

impl Lanes1<f64> for Log10 {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let (k, f) = exponent_and_fraction(x);
        let series = [
            0.28952965460217084,
            0.1737177927587583,
            0.1240841384292022,
            0.09650978215100249,
            0.07897021702119034,
            0.06650806202646019,
            0.06425814498694443,
        ];
        let rest = rest_in_base(f, 0.5 * LOG10_E, 1.098319650216765e-17, series);
        let low = k.mul_add(-2.8037281277851704e-18, rest);
        covered(is_positive_normal(x), k.mul_add(LOG10_2, f.mul_add(LOG10_E, low)))
    }
}

/// log(1 + x) for `x` above -1 and not among the largest, whose inverse is subnormal.
#[inline(always)]
pub(crate) fn log1p_finite(x: f64) -> f64 {
    // 1 + x is 2^k (1 + f), with 1 + f from ¾ to 3/2. Then `f` is exact: `x` has no bit beyond those of `f`.
    let biased = (1.0 + x).to_bits().wrapping_add(1f64.to_bits() - 0.75f64.to_bits()) >> 52;
    let k = exponent(biased);
    let down = f64::from_bits(2046u64.wrapping_sub(biased) << 52);
    let f = x.mul_add(down, down - 1.0);
    let (half_square, rest) = half_square_and_rest(f, |z, w| {
        halves!(z, w;
            [0.666666666666666, 0.28571428555767797, 0.18181665511883988, 0.13173412869526194]
            [0.4000000000005695, 0.22222224302858562, 0.1539112337754514, 0.13844271546766412])
    });
    k.mul_add(LN2_42, f - (half_square - k.mul_add(LN2_REST, rest))).copysign(x)
}

impl Lanes1<f64> for Log1p {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        covered((x > -1.0) & (x < 1e300), log1p_finite(x))
    }
}

/// Differences beyond this leave the larger argument, except beside 0: libm decides.
const FAR: f64 = 700.0;

impl Lanes2<f64> for Logaddexp {
    #[inline(always)]
    fn lane(a: f64, b: f64) -> f64 {
        let larger = if a > b { a } else { b };
        let distance = (a - b).abs();
        let y = larger + log1p_finite(exp_normal(-distance));
        let y = if a == b { a + LN_2 } else { y };
        covered((distance < FAR) | (a == b), y)
    }
}

impl Lanes2<f64> for Logaddexp2 {
    #[inline(always)]
    fn lane(a: f64, b: f64) -> f64 {
        let larger = if a > b { a } else { b };
        let distance = (a - b).abs();
        let y = LOG2_E.mul_add(log1p_finite(exp2_normal(-distance)), larger);
        let y = if a == b { a + 1.0 } else { y };
        covered((distance < FAR) | (a == b), y)
    }
}
