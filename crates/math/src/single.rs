//! The functions of `f32`: the most used in single precision throughout, the others by way of the
//! double-precision lanes.

use crate::arithmetic::horner;
use crate::blocks::{Lanes1, Lanes2};
use crate::libm::*;
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, PI};

/// Adding this leaves a number rounded to an integer in the low bits of the sum.
pub(crate) const SHIFT: f32 = 12582912.0;

#[inline(always)]
pub(crate) fn covered(inside: bool, y: f32) -> f32 {
    if inside { y } else { f32::NAN }
}

/// ln 2 beyond its single.
const LN2_LOW: f32 = -1.9046542e-09;

/// (exp(r) - 1 - r) / r², for r in [-ln 2 / 2, ln 2 / 2].
#[inline(always)]
fn tail(r: f32) -> f32 {
    horner!(r; 0.5, 0.1666652, 0.041666213, 0.008368756, 0.0013950184)
}

/// `p * 2^n`, a normal number; `n` is in the low bits.
#[inline(always)]
pub(crate) fn scaled(p: f32, n_bits: u32) -> f32 {
    f32::from_bits(p.to_bits().wrapping_add(n_bits << 23))
}

/// `2^n` in the low bits of the first result, and `exp(x) / 2^n - 1`.
#[inline(always)]
fn exp_parts(x: f32) -> (u32, f32) {
    let shifted = x.mul_add(LOG2_E, SHIFT);
    let n = shifted - SHIFT;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN_2, x));
    (shifted.to_bits(), tail(r).mul_add(r * r, r))
}

/// exp(x), a normal number.
#[inline(always)]
fn exp_normal(x: f32) -> f32 {
    let (n_bits, p) = exp_parts(x);
    scaled(1.0 + p, n_bits)
}

/// exp(x) - 1, for exp(x) below 2^127.
#[inline(always)]
fn expm1_normal(x: f32) -> f32 {
    let (n_bits, p) = exp_parts(x);
    let scale = scaled(1.0, n_bits);
    scale.mul_add(p, scale - 1.0)
}

impl Lanes1<f32> for Exp {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        covered((x > -87.3) & (x < 88.7), exp_normal(x))
    }
}

impl Lanes1<f32> for Expm1 {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        // Below -20 the result is -1 whatever the argument.
        let y = expm1_normal(if x < -20.0 { -20.0 } else { x });
        covered(x < 88.0, if x.abs() < 1e-9 { x } else { y })
    }
}

/// Up to here half of exp is finite and half of its inverse is not subnormal.
const LARGEST: f32 = 87.6;

/// What sinh and cosh are made of, for `x = n ln 2 + r`: half of 2^n and of 2^-n, sinh(r) and cosh(r) - 1.
///
/// Neither an inverse of exp nor another polynomial for small arguments is needed: where `n` is 0, sinh is sinh(r).
#[inline(always)]
fn hyperbolic_parts(x: f32) -> (f32, f32, f32, f32) {
    let shifted = x.mul_add(LOG2_E, SHIFT);
    let n = shifted - SHIFT;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN_2, x));
    let z = r * r;
    let sinh = horner!(z; 0.16666667, 0.008333175, 0.00019974085).mul_add(z * r, r);
    let cosh_less_1 = z * horner!(z; 0.5, 0.04166646, 0.0013935426);
    let n_bits = shifted.to_bits();
    (scaled(0.5, n_bits), scaled(0.5, n_bits.wrapping_neg()), sinh, cosh_less_1)
}

impl Lanes1<f32> for Sinh {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (up, down, sinh, cosh_less_1) = hyperbolic_parts(x.abs());
        let difference = up - down;
        let lost = (up - difference) - down;
        let y = difference + (up + down).mul_add(sinh, difference.mul_add(cosh_less_1, lost));
        covered(x.abs() < LARGEST, y.copysign(x))
    }
}

impl Lanes1<f32> for Cosh {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (up, down, sinh, cosh_less_1) = hyperbolic_parts(x.abs());
        let sum = up + down;
        let lost = (up - sum) + down;
        let y = sum + (up - down).mul_add(sinh, sum.mul_add(cosh_less_1, lost));
        covered(x.abs() < LARGEST, y)
    }
}

impl Lanes1<f32> for Exp2 {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let shifted = x + SHIFT;
        let fraction = x - (shifted - SHIFT);
        let r = fraction * LN_2;
        let r_low = fraction.mul_add(LN_2, -r) + fraction * LN2_LOW;
        let y = scaled(1.0 + (r + tail(r).mul_add(r * r, r_low)), shifted.to_bits());
        covered((x > -126.0) & (x < 127.0), y)
    }
}

impl Lanes1<f32> for Tanh {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let a = x.abs();
        // Beyond 10 the result is 1.
        let expm1 = expm1_normal(2.0 * if a > 10.0 { 10.0 } else { a });
        let y = expm1 / (expm1 + 2.0);
        if a < 1e-4 { x } else { y.copysign(x) }
    }
}

/// Beyond this libm reduces the argument.
const REACH: f32 = 65536.0;

const HALF_PI_MIDDLE: f32 = 4.371139e-08;
const HALF_PI_LAST: f32 = 1.7151245e-15;

/// What is left of `x` by the high part of π/2, how many times that was taken, and the quadrant in the low bits.
#[inline(always)]
fn reduced(x: f32) -> (f32, f32, u32) {
    let shifted = x.mul_add(FRAC_2_PI, SHIFT);
    let n = shifted - SHIFT;
    (n.mul_add(-FRAC_PI_2, x), n, shifted.to_bits())
}

/// sin and cos of what is left of `x`, and the quadrant.
#[inline(always)]
fn sin_cos(x: f32) -> (f32, f32, u32) {
    let (r, n, quadrant) = reduced(x);
    let r = n.mul_add(HALF_PI_LAST, n.mul_add(HALF_PI_MIDDLE, r));
    let z = r * r;
    let sin = horner!(z; -0.16666655, 0.0083322, -0.00019519587).mul_add(z * r, r);
    let cos = horner!(z; -0.5, 0.041666653, -0.0013887588, 2.4460247e-05).mul_add(z, 1.0);
    (sin, cos, quadrant)
}

#[inline(always)]
fn by_quadrant(sin: f32, cos: f32, quadrant: u32) -> f32 {
    let value = if quadrant & 1 != 0 { cos } else { sin };
    f32::from_bits(value.to_bits() ^ ((quadrant & 2) << 30))
}

impl Lanes1<f32> for Sin {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (sin, cos, quadrant) = sin_cos(x);
        let y = by_quadrant(sin, cos, quadrant);
        covered(x.abs() < REACH, if x.abs() < 1e-4 { x } else { y })
    }
}

impl Lanes1<f32> for Cos {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (sin, cos, quadrant) = sin_cos(x);
        covered(x.abs() < REACH, by_quadrant(sin, cos, quadrant.wrapping_add(1)))
    }
}

impl Lanes1<f32> for Tan {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (r0, n, quadrant) = reduced(x);
        // tan is steeper than sin: it needs what rounding takes from r.
        let t = n * HALF_PI_MIDDLE;
        let r = r0 + t;
        let low = ((r0 - r) + t) + n.mul_add(HALF_PI_LAST, n.mul_add(HALF_PI_MIDDLE, -t));
        let z = r * r;
        let series = horner!(z; 0.33333156, 0.13338836, 0.0534082, 0.024441393, 0.0031014741, 0.009396535);
        let tan = r + series.mul_add(z * r, low);
        let y = if quadrant & 1 != 0 { -1.0 / tan } else { tan };
        covered(x.abs() < REACH, if x.abs() < 1e-4 { x } else { y })
    }
}

pub(crate) const PI_LOW: f32 = -8.742278e-8;
pub(crate) const HALF_PI_LOW: f32 = -4.371139e-8;
const QUARTER_PI_LOW: f32 = -2.1855694e-8;
const THREE_QUARTERS_PI: f32 = 2.3561945;
const THREE_QUARTERS_PI_LOW: f32 = -5.9624404e-9;

/// The angle of `(b, a)` as in double precision: turned by a multiple of π/4 to within tan(π/8).
#[inline(always)]
fn angle(a: f32, b: f32, left: bool) -> f32 {
    const TAN_PI_8: f32 = 0.41421357;
    const TAN_3PI_8: f32 = 2.4142137;
    let steep = a > b * TAN_3PI_8;
    let middle = a > b * TAN_PI_8;
    let above = if middle { a - b } else { a };
    let above = if steep { -b } else { above };
    let above = if left { -above } else { above };
    let below = if middle { a + b } else { b };
    let below = if steep { a } else { below };
    let flat = if left { (PI, PI_LOW) } else { (0.0, 0.0) };
    let diagonal = if left { (THREE_QUARTERS_PI, THREE_QUARTERS_PI_LOW) } else { (FRAC_PI_4, QUARTER_PI_LOW) };
    let (base, base_low) = if middle { diagonal } else { flat };
    let (base, base_low) = if steep { (FRAC_PI_2, HALF_PI_LOW) } else { (base, base_low) };
    let t = above / below;
    let z = t * t;
    let series = horner!(z; -0.33333316, 0.19998486, -0.14243785, 0.10595496, -0.060821064);
    let sum = base + t;
    let error = (base - sum) + t;
    sum + (error + series.mul_add(z * t, base_low))
}

impl Lanes1<f32> for Arctan {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        angle(x.abs(), 1.0, false).copysign(x)
    }
}

impl Lanes2<f32> for Arctan2 {
    #[inline(always)]
    fn lane(y: f32, x: f32) -> f32 {
        let (a, b) = (y.abs(), x.abs());
        let larger = if a > b { a } else { b };
        let result = angle(a, b, x.is_sign_negative()).copysign(y);
        // A NaN may hide from `larger` in the smaller place; it still makes the angle NaN.
        let normal = (result.abs() >= f32::MIN_POSITIVE) | (a == 0.0);
        covered((larger > 1e-30) & (larger < 1e37) & normal, result)
    }
}

macro_rules! through_f64 {
    ($($name:ident)*) => {$(
        impl Lanes2<f32> for $name {
            #[inline(always)]
            fn lane(a: f32, b: f32) -> f32 {
                let y = <$name as Lanes2<f64>>::lane(a as f64, b as f64) as f32;
                covered(y.abs() <= f32::MAX, y)
            }
        }
    )*};
}
through_f64! { Logaddexp Logaddexp2 Fmod }

impl Lanes2<f32> for Hypot {
    #[inline(always)]
    fn lane(a: f32, b: f32) -> f32 {
        let (a, b) = (a as f64, b as f64);
        let y = a.mul_add(a, b * b).sqrt() as f32;
        covered(y <= f32::MAX, y)
    }
}
