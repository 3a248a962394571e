//! The functions of `f32`: the most used in single precision throughout, the others by way of the
//! double-precision lanes.

use crate::arithmetic::horner;
use crate::blocks::{Lanes1, Lanes2};
use crate::exponential::{exp_is_normal, exp_normal};
use crate::libm::*;
use crate::logarithm::log_normal;
use crate::power::with_sign_of_power;
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, LN_2, LOG2_E, LOG10_2, LOG10_E};

const SHIFT: f32 = 12582912.0;

#[inline(always)]
fn covered(inside: bool, y: f32) -> f32 {
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
fn scaled(p: f32, n_bits: u32) -> f32 {
    f32::from_bits(p.to_bits().wrapping_add(n_bits << 23))
}

impl Lanes1<f32> for Exp {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let shifted = x.mul_add(LOG2_E, SHIFT);
        let n = shifted - SHIFT;
        let r = n.mul_add(-LN2_LOW, n.mul_add(-LN_2, x));
        let y = scaled(1.0 + tail(r).mul_add(r * r, r), shifted.to_bits());
        covered((x > -87.3) & (x < 88.7), y)
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
        let double = 2.0 * if a > 10.0 { 10.0 } else { a };
        let shifted = double.mul_add(LOG2_E, SHIFT);
        let n = shifted - SHIFT;
        let r = n.mul_add(-LN2_LOW, n.mul_add(-LN_2, double));
        let p = tail(r).mul_add(r * r, r);
        let scale = scaled(1.0, shifted.to_bits());
        let expm1 = scale.mul_add(p, scale - 1.0);
        let y = expm1 / (expm1 + 2.0);
        if a < 1e-4 { x } else { y.copysign(x) }
    }
}

/// A positive normal number as `2^k (1 + f)`, and what `f` lacks of log(1 + f).
#[inline(always)]
fn log_parts(x: f32) -> (f32, f32, f32) {
    const SQRT_HALF_BITS: u32 = 0x3f35_04f3;
    const TWO_23: f32 = 8388608.0;
    let shifted = x.to_bits().wrapping_add(1f32.to_bits() - SQRT_HALF_BITS);
    let k = f32::from_bits((shifted >> 23) | TWO_23.to_bits()) - (TWO_23 + 127.0);
    let f = f32::from_bits((shifted & 0x7f_ffff) + SQRT_HALF_BITS) - 1.0;
    let series = horner!(f; 0.33333313, -0.24999987, 0.20002072, -0.16669194, 0.1422127, -0.123864435, 0.11857816,
        -0.11773782, 0.06928266);
    let square = f * f;
    (k, f, square.mul_add(-0.5, series * (square * f)))
}

#[inline(always)]
fn is_positive_normal(x: f32) -> bool {
    (x >= f32::MIN_POSITIVE) & (x <= f32::MAX)
}

impl Lanes1<f32> for Log {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        // ln 2 to nine bits, so that its product with an exponent is exact, and the rest.
        const LN2_9: f32 = 355.0 / 512.0;
        const LN2_REST: f32 = -0.00021219444;
        let (k, f, rest) = log_parts(x);
        let y = k.mul_add(LN2_9, f + k.mul_add(LN2_REST, rest));
        covered(is_positive_normal(x), y)
    }
}

/// log in the base whose log(2) and 1 / log(base) are given in two parts.
#[inline(always)]
fn log_in_base(x: f32, (log2, log2_low): (f32, f32), (scale, scale_low): (f32, f32)) -> f32 {
    let (k, f, rest) = log_parts(x);
    let high = f + rest;
    let low = rest - (high - f);
    let fraction = high * scale;
    let fraction_low = low.mul_add(scale, high.mul_add(scale_low, high.mul_add(scale, -fraction)));
    let whole = k * log2;
    let whole_low = k.mul_add(log2_low, k.mul_add(log2, -whole));
    let sum = whole + fraction;
    let error = (whole - sum) + fraction;
    covered(is_positive_normal(x), sum + (error + (fraction_low + whole_low)))
}

impl Lanes1<f32> for Log2 {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        log_in_base(x, (1.0, 0.0), (LOG2_E, 1.925963e-08))
    }
}

impl Lanes1<f32> for Log10 {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        log_in_base(x, (LOG10_2, -1.4320989e-08), (LOG10_E, -1.010305e-08))
    }
}

/// Beyond this libm reduces the argument.
const REACH: f32 = 65536.0;

/// sin and cos of what is left of `x` by π/2, and the quadrant in the low bits.
#[inline(always)]
fn reduced(x: f32) -> (f32, f32, u32) {
    let shifted = x.mul_add(FRAC_2_PI, SHIFT);
    let n = shifted - SHIFT;
    let r = n.mul_add(1.7151245e-15, n.mul_add(4.371139e-08, n.mul_add(-FRAC_PI_2, x)));
    let z = r * r;
    let sin = horner!(z; -0.16666655, 0.0083322, -0.00019519587).mul_add(z * r, r);
    let cos = horner!(z; -0.5, 0.041666653, -0.0013887588, 2.4460247e-05).mul_add(z, 1.0);
    (sin, cos, shifted.to_bits())
}

#[inline(always)]
fn by_quadrant(sin: f32, cos: f32, quadrant: u32) -> f32 {
    let value = if quadrant & 1 != 0 { cos } else { sin };
    f32::from_bits(value.to_bits() ^ ((quadrant & 2) << 30))
}

impl Lanes1<f32> for Sin {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (sin, cos, quadrant) = reduced(x);
        let y = by_quadrant(sin, cos, quadrant);
        covered(x.abs() < REACH, if x.abs() < 1e-4 { x } else { y })
    }
}

impl Lanes1<f32> for Cos {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (sin, cos, quadrant) = reduced(x);
        covered(x.abs() < REACH, by_quadrant(sin, cos, quadrant.wrapping_add(1)))
    }
}

macro_rules! through_f64 {
    ($($name:ident)*) => {$(
        impl Lanes1<f32> for $name {
            #[inline(always)]
            fn lane(x: f32) -> f32 {
                let y = <$name as Lanes1<f64>>::lane(x as f64) as f32;
                covered(y.abs() <= f32::MAX, y)
            }
        }
    )*};
}
through_f64! { Expm1 Log1p Tan Arcsin Arccos Arctan Sinh Cosh Arcsinh Arccosh Arctanh Cbrt }

macro_rules! pairs_through_f64 {
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
pairs_through_f64! { Arctan2 Logaddexp Logaddexp2 Fmod }

/// A normal number is right as it is; libm finds out whether zero or a subnormal one underflowed.
#[inline(always)]
fn rounded_normal(y: f64) -> f32 {
    let y = y as f32;
    covered((y.abs() >= f32::MIN_POSITIVE) & (y.abs() <= f32::MAX), y)
}

impl Lanes2<f32> for Power {
    #[inline(always)]
    fn lane(x: f32, y: f32) -> f32 {
        let (x, y) = (x as f64, y as f64);
        let a = x.abs();
        let exponent = y * log_normal(a);
        let magnitude = with_sign_of_power(exp_normal(exponent), x, y);
        let inside = (a > 0.0) & (a <= f64::MAX) & exp_is_normal(exponent);
        rounded_normal(if inside { magnitude } else { f64::NAN })
    }
}

impl Lanes2<f32> for Hypot {
    #[inline(always)]
    fn lane(a: f32, b: f32) -> f32 {
        let (a, b) = (a as f64, b as f64);
        let y = a.mul_add(a, b * b).sqrt() as f32;
        covered(y <= f32::MAX, y)
    }
}
