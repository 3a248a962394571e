//! sinh and cosh from what is left of the argument by ln 2, tanh from an extended expm1; arcsinh and arccosh from log1p.

use crate::arithmetic::{covered, fast_two_sum, horner, two_sum};
use crate::blocks::Lanes1;
use crate::exponential::{Reduced, half_expm1, reduce_extended, scaled};
use crate::libm::{Arccosh, Arcsinh, Arctanh, Cosh, Sinh, Tanh};
use crate::logarithm::{MANTISSA, exponent, log1p_finite};
use std::f64::consts::LN_2;

/// Up to here half of exp is finite and half of its inverse is not subnormal.
const LARGEST: f64 = 708.0;

/// Below this tanh and the inverse functions are their argument.
const LINEAR: f64 = 1e-9;

/// What sinh and cosh are made of, for `x = n ln 2 + r`: half of 2^n and of 2^-n, r, and what sinh(r) has beyond r and
/// cosh(r) beyond 1.
///
/// Neither an inverse of exp nor another polynomial for small arguments is needed: where `n` is 0, sinh is sinh(r).
#[inline(always)]
fn parts(x: f64) -> (f64, f64, f64, f64, f64) {
    let Reduced { n_bits, r, first, last } = reduce_extended(x);
    let z = r * r;
    let sinh = horner!(z; 0.16666666666666677, 0.00833333333332167, 0.0001984126988602259, 2.7557244316486192e-06,
        2.5108998961740805e-08);
    let cosh = horner!(z; 0.5, 0.04166666666666671, 0.0013888888888863931, 2.480158736340523e-05, 2.7557241816834384e-07,
        2.0924427884762023e-09);
    (scaled(0.5, n_bits), scaled(0.5, n_bits.wrapping_neg()), first, sinh.mul_add(z * r, -last), cosh * z)
}

/// `(first + lost) * cosh(r) + second * sinh(r)`, for what [`parts`] gave of r.
#[inline(always)]
fn turned(first: f64, lost: f64, second: f64, (r, sinh_rest, cosh_rest): (f64, f64, f64)) -> f64 {
    let sum = second.mul_add(r, first);
    let error = second.mul_add(r, first - sum) + lost;
    sum + second.mul_add(sinh_rest, first.mul_add(cosh_rest, error))
}

impl Lanes1<f64> for Sinh {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let (up, down, r, sinh_rest, cosh_rest) = parts(x.abs());
        let (difference, error) = fast_two_sum(up, -down);
        let y = turned(difference, error, up + down, (r, sinh_rest, cosh_rest));
        covered(x.abs() < LARGEST, y.copysign(x))
    }
}

impl Lanes1<f64> for Cosh {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let (up, down, r, sinh_rest, cosh_rest) = parts(x.abs());
        let (sum, error) = fast_two_sum(up, down);
        let y = turned(sum, error, up - down, (r, sinh_rest, cosh_rest));
        covered(x.abs() < LARGEST, y)
    }
}

impl Lanes1<f64> for Tanh {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let a = x.abs();
        // Beyond 22 the result is 1.
        let a = if a > 22.0 { 22.0 } else { a };
        let (high, low) = half_expm1(2.0 * a);
        let (below, below_low) = two_sum(1.0, high);
        let below_low = below_low + low;
        let inverse = 1.0 / below;
        let quotient = high * inverse;
        let remainder = quotient.mul_add(-below, high) + quotient.mul_add(-below_low, low);
        let y = remainder.mul_add(inverse, quotient);
        if a < LINEAR { x } else { y.copysign(x) }
    }
}

/// Beyond this a square overflows.
const SQUARABLE: f64 = 1e150;

impl Lanes1<f64> for Arcsinh {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let a = x.abs();
        let square = a * a;
        let y = log1p_finite(a + square / (1.0 + (1.0 + square).sqrt()));
        covered(a < SQUARABLE, if a < LINEAR { x } else { y.copysign(x) })
    }
}

impl Lanes1<f64> for Arccosh {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let d = x - 1.0;
        let y = log1p_finite(d + d.mul_add(d, 2.0 * d).sqrt());
        covered((x >= 1.0) & (x < SQUARABLE), y)
    }
}

impl Lanes1<f64> for Arctanh {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        // Beyond this 1 + 2^k is rounded.
        const LARGEST: f64 = 0.999999999999999;
        // Less than half of the step, so that `k` is 0 up to ¼: the parts of a small result must not cancel.
        const ROUNDING: u64 = 1 << 50;
        let a = x.abs();
        // 2^k is near (1 + a) / (1 - a): the difference of the bits is nearly that of the logarithms.
        let nearest = (1.0 + a).to_bits().wrapping_sub((1.0 - a).to_bits()).wrapping_add(1f64.to_bits() + ROUNDING);
        let k = exponent(nearest >> 52);
        let scale = f64::from_bits(nearest & !MANTISSA);
        // arctanh(a) is k ln(2) / 2 + arctanh(s), and s is a where k is 0.
        let (sum, difference) = (1.0 + scale, 1.0 - scale);
        let s = a.mul_add(sum, difference) / a.mul_add(difference, sum);
        let z = s * s;
        let series = horner!(z; 0.3333333333333358, 0.19999999999877052, 0.14285714306779254, 0.11111109344537697,
            0.0909099268972647, 0.07689927920768862, 0.06708109725418605, 0.05453486225723507, 0.07630982268377715);
        let y = k.mul_add(0.5 * LN_2, series.mul_add(z * s, s));
        covered(a < LARGEST, y.copysign(x))
    }
}
