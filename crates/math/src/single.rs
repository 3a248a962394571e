//! The functions of `f32`: the most used in single precision throughout, the others by way of the
//! double-precision lanes.

use crate::arithmetic::{SHIFT as WIDE_SHIFT, horner};
use crate::blocks::{Lanes1, Lanes2};
use crate::libm::*;
use crate::logarithm::exponent_and_fraction;
use crate::power::with_sign_of_power;
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, LOG10_2, LOG10_E, PI};

const SHIFT: f32 = 12582912.0;

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
fn scaled(p: f32, n_bits: u32) -> f32 {
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

/// Up to here half of exp is finite.
const LARGEST: f32 = 88.0;

impl Lanes1<f32> for Sinh {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let a = x.abs();
        let half = 0.5 * exp_normal(a);
        let large = half - 0.25 / half;
        let z = a * a;
        let series = horner!(z; 0.16666667, 0.008333333, 0.0001984127, 2.7557319e-6, 2.5052108e-8);
        let small = series.mul_add(z * a, a);
        covered(a < LARGEST, if a < 1.0 { small } else { large }.copysign(x))
    }
}

impl Lanes1<f32> for Cosh {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let half = 0.5 * exp_normal(x.abs());
        covered(x.abs() < LARGEST, half + 0.25 / half)
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

/// A positive normal number as `2^k (1 + f)`, and what `f` lacks of log(1 + f).
#[inline(always)]
fn log_parts(x: f32) -> (f32, f32, f32) {
    const SQRT_HALF_BITS: u32 = 0x3f35_04f3;
    const TWO_23: f32 = 8388608.0;
    let shifted = x.to_bits().wrapping_add(1f32.to_bits() - SQRT_HALF_BITS);
    let k = f32::from_bits((shifted >> 23) | TWO_23.to_bits()) - (TWO_23 + 127.0);
    let f = f32::from_bits((shifted & 0x7f_ffff) + SQRT_HALF_BITS) - 1.0;
    (k, f, log_rest(f))
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

#[inline(always)]
fn is_positive_normal(x: f32) -> bool {
    (x >= f32::MIN_POSITIVE) & (x <= f32::MAX)
}

impl Lanes1<f32> for Log {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (k, f, rest) = log_parts(x);
        let y = k.mul_add(LN2_9, f + k.mul_add(LN2_REST, rest));
        covered(is_positive_normal(x), y)
    }
}

/// log(1 + x) for `x` above -1 and not among the largest, whose inverse is subnormal.
#[inline(always)]
pub(crate) fn log1p_finite(x: f32) -> f32 {
    let u = 1.0 + x;
    let x_kept = u - 1.0;
    let lost = (1.0 - (u - x_kept)) + (x - x_kept);
    let (k, m, _) = log_parts(u);
    let unscaled = k == 0.0;
    let f = if unscaled { x } else { m };
    // `lost / u` to seven bits is enough for what is this small.
    let down = scaled(1.0, (SHIFT - k).to_bits());
    let inverse = f.mul_add(f.mul_add(0.9706801, -1.088377), 1.0017835);
    let correction = if unscaled { 0.0 } else { lost * down * inverse };
    let low = k.mul_add(LN2_REST, log_rest(f) + correction);
    k.mul_add(LN2_9, f + low).copysign(x)
}

impl Lanes1<f32> for Log1p {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        covered((x > -1.0) & (x < 1e37), log1p_finite(x))
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
        impl Lanes1<f32> for $name {
            #[inline(always)]
            fn lane(x: f32) -> f32 {
                let y = <$name as Lanes1<f64>>::lane(x as f64) as f32;
                covered(y.abs() <= f32::MAX, y)
            }
        }
    )*};
}
through_f64! { Tan Cbrt }

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
pairs_through_f64! { Logaddexp Logaddexp2 Fmod }

/// A normal number is right as it is; libm finds out whether zero or a subnormal one underflowed.
#[inline(always)]
fn rounded_normal(y: f64) -> f32 {
    let y = y as f32;
    covered((y.abs() >= f32::MIN_POSITIVE) & (y.abs() <= f32::MAX), y)
}

/// log2 of a positive normal number to 37 bits. The quotient starts from the inverse in single precision, whose
/// division is much faster.
#[inline(always)]
fn log2_for_power(x: f64) -> f64 {
    let (k, f) = exponent_and_fraction(x);
    let below = 2.0 + f;
    let inverse = (1.0 / below as f32) as f64;
    let inverse = inverse.mul_add(inverse.mul_add(-below, 1.0), inverse);
    let s = f * inverse;
    let z = s * s;
    let series = horner!(z; 2.8853900817902067, 0.9617966731918633, 0.5770836132231494, 0.4116710314265094,
        0.34076134573893496);
    s.mul_add(series, k)
}

/// 2^x, a normal double, to 29 bits.
#[inline(always)]
fn exp2_for_power(x: f64) -> f64 {
    let shifted = x + WIDE_SHIFT;
    let r = x - (shifted - WIDE_SHIFT);
    let p = horner!(r; 1.0000000005541883, 0.693147205737198, 0.24022646890479404, 0.05550328777077041,
        0.009618488973843339, 0.0013399931183319476, 0.0001534580750520858);
    f64::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 52))
}

impl Lanes2<f32> for Power {
    #[inline(always)]
    fn lane(x: f32, y: f32) -> f32 {
        let (x, y) = (x as f64, y as f64);
        let a = x.abs();
        let exponent = y * log2_for_power(a);
        let magnitude = with_sign_of_power(exp2_for_power(exponent), x, y);
        let inside = (a > 0.0) & (a <= f64::MAX) & (exponent.abs() < 200.0);
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
