//! exp, exp2 and expm1: an integer power of two times a polynomial on [-ln 2 / 2, ln 2 / 2].

use crate::arithmetic::{LN2_LOW, SHIFT, covered, fast_two_sum, halves};
use crate::blocks::Lanes1;
use crate::libm::{Exp, Exp2, Expm1};
use std::f64::consts::{LN_2, LOG2_E};

/// (exp(r) - 1 - r) / r².
#[inline(always)]
fn tail(r: f64, r2: f64) -> f64 {
    halves!(r, r2;
        [0.5000000000000011, 0.04166666666652816, 0.0013888888944148872, 2.480149257094778e-05, 2.763043280194218e-07]
        [0.16666666666666696, 0.008333333333308475, 0.00019841269915053588, 2.755721811012668e-06, 2.5117353772937456e-08])
}

/// `x` as `n * ln 2 + r`; `n` is in the low bits of the first result.
#[inline(always)]
fn reduce(x: f64) -> (u64, f64, f64) {
    let shifted = x.mul_add(LOG2_E, SHIFT);
    let n = shifted - SHIFT;
    (shifted.to_bits(), n, n.mul_add(-LN_2, x))
}

/// `p * 2^n`, which must be a normal number.
#[inline(always)]
pub(crate) fn scaled(p: f64, n_bits: u64) -> f64 {
    f64::from_bits(p.to_bits().wrapping_add(n_bits << 52))
}

/// exp(x), a normal number.
#[inline(always)]
pub(crate) fn exp_normal(x: f64) -> f64 {
    let (n_bits, n, r) = reduce(x);
    let r = n.mul_add(-LN2_LOW, r);
    let r2 = r * r;
    let (sum, error) = fast_two_sum(1.0, r);
    scaled(sum + tail(r, r2).mul_add(r2, error), n_bits)
}

/// Where 2^n times what is left is a normal number; `n` is in the low bits. One comparison of integers is cheaper than two
/// of numbers.
#[inline(always)]
fn is_normal(n_bits: u64) -> bool {
    const LEAST: i64 = -1021;
    n_bits.wrapping_sub(SHIFT.to_bits().wrapping_add_signed(LEAST)) <= (1023 - LEAST) as u64
}

/// exp(x + low) for a `low` that is small beside `x`, to little over half an ulp, and whether it is a normal number.
#[inline(always)]
pub(crate) fn exp_extended(x: f64, low: f64) -> (f64, bool) {
    let (n_bits, n, r0) = reduce(x);
    let c = n.mul_add(LN2_LOW, -low);
    let r = r0 - c;
    let r2 = r * r;
    let (sum, error) = fast_two_sum(1.0, r0);
    (scaled(sum + tail(r, r2).mul_add(r2, error - c), n_bits), is_normal(n_bits))
}

/// What is left of a number by ln 2. The parts are for the first term of a series, where rounding counts.
pub(crate) struct Reduced {
    /// The multiple, in the low bits.
    pub n_bits: u64,
    pub r: f64,
    /// `first - last` is `r`, before rounding.
    pub first: f64,
    pub last: f64,
}

#[inline(always)]
pub(crate) fn reduce_extended(x: f64) -> Reduced {
    let (n_bits, n, first) = reduce(x);
    let last = n * LN2_LOW;
    Reduced { n_bits, r: first - last, first, last }
}

/// (exp(x) - 1) / 2 as an unevaluated sum, for `n` from -1021 to 1024.
#[inline(always)]
pub(crate) fn half_expm1(x: f64) -> (f64, f64) {
    let Reduced { n_bits, r, first, last } = reduce_extended(x);
    let r2 = r * r;
    let rest = tail(r, r2).mul_add(r2, -last);
    let high = first + rest;
    let low = rest - (high - first);
    let half = scaled(0.5, n_bits);
    // The first term is zero or the larger one for every `n`.
    let (sum, error) = fast_two_sum(half - 0.5, half * high);
    (sum, half.mul_add(low, error))
}

impl Lanes1<f64> for Exp {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        covered(is_normal(reduce(x).0), exp_normal(x))
    }
}

/// 2^x, a normal number.
#[inline(always)]
pub(crate) fn exp2_normal(x: f64) -> f64 {
    let shifted = x + SHIFT;
    let r = x - (shifted - SHIFT);
    let r2 = r * r;
    let tail = halves!(r, r2;
        [0.24022650695910128, 0.00961812910759496, 0.00015403530456352976, 1.3215435564629143e-06, 7.073746122858029e-09]
        [0.05550410866482169, 0.001333355814638761, 1.5252733861740073e-05, 1.0178048296282209e-07, 4.4571667771645437e-10]);
    scaled(1.0 + r.mul_add(LN_2, tail.mul_add(r2, r * LN2_LOW)), shifted.to_bits())
}

impl Lanes1<f64> for Exp2 {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        covered(is_normal((x + SHIFT).to_bits()), exp2_normal(x))
    }
}

impl Lanes1<f64> for Expm1 {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        // Below -40 the result is -1 whatever the argument.
        let clamped = if x < -40.0 { -40.0 } else { x };
        let (high, low) = half_expm1(clamped);
        let y = 2.0 * (high + low);
        covered(x < 709.5, if x.abs() < 1e-17 { x } else { y })
    }
}
