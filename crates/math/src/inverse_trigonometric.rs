//! arcsin, arccos, arctan and arctan2.

use crate::arithmetic::{covered, fast_two_sum, halves};
use crate::blocks::{Lanes1, Lanes2};
use crate::libm::{Arccos, Arcsin, Arctan, Arctan2};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const PI_LOW: f64 = 1.2246467991473532e-16;
const HALF_PI_LOW: f64 = 6.123233995736766e-17;
const QUARTER_PI_LOW: f64 = 3.061616997868383e-17;

const TAN_PI_8: f64 = 0.41421356237309503;
const TAN_3PI_8: f64 = 2.414213562373095;

const THREE_QUARTERS_PI: f64 = 2.356194490192345;
const THREE_QUARTERS_PI_LOW: f64 = 9.184850993605148e-17;

/// The angle of `(b, a)`, neither negative, in [0, π/2], or on the `left` that of `(-b, a)`: the
/// quotient is turned by a multiple of π/4 so that what the polynomial sees is within tan(π/8).
#[inline(always)]
fn angle(a: f64, b: f64, left: bool) -> f64 {
    let steep = a > b * TAN_3PI_8;
    let middle = a > b * TAN_PI_8;
    let above = if steep {
        -b
    } else if middle {
        a - b
    } else {
        a
    };
    let above = if left { -above } else { above };
    let below = if steep {
        a
    } else if middle {
        a + b
    } else {
        b
    };
    let flat = if left { (PI, PI_LOW) } else { (0.0, 0.0) };
    let diagonal = if left { (THREE_QUARTERS_PI, THREE_QUARTERS_PI_LOW) } else { (FRAC_PI_4, QUARTER_PI_LOW) };
    let (base, base_low) = if steep {
        (FRAC_PI_2, HALF_PI_LOW)
    } else if middle {
        diagonal
    } else {
        flat
    };
    let t = above / below;
    let z = t * t;
    let w = z * z;
    let series = halves!(z, w;
        [-0.33333333333333315, -0.14285714283011278, -0.09090901227827909, -0.06663721421165271, -0.050574521518831905,
            -0.018366355364428044]
        [0.19999999999984136, 0.11111110913287704, 0.07692117958337742, 0.058521342597161255, 0.038503557252154305]);
    let (sum, error) = fast_two_sum(base, t);
    sum + (error + series.mul_add(z * t, base_low))
}

impl Lanes1<f64> for Arctan {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        angle(x.abs(), 1.0, false).copysign(x)
    }
}

impl Lanes2<f64> for Arctan2 {
    #[inline(always)]
    fn lane(y: f64, x: f64) -> f64 {
        let (a, b) = (y.abs(), x.abs());
        let larger = if a > b { a } else { b };
        let y = angle(a, b, x.is_sign_negative()).copysign(y);
        // A NaN may hide from `larger` in the smaller place; it still makes the angle NaN.
        covered((larger > 1e-290) & (larger < 1e300), y)
    }
}

/// For `a = |x|`: whether `a >= ½`, and arcsin of `a`, or of √((1 - a) / 2) where it is, in two parts.
#[inline(always)]
fn arcsine_core(a: f64) -> (bool, f64, f64) {
    let large = a >= 0.5;
    let z = if large { 0.5 - 0.5 * a } else { a * a };
    let root = z.sqrt();
    let s = if large { root } else { a };
    let w = z * z;
    let series = halves!(z, w;
        [0.1666666666666668, 0.04464285715771425, 0.022372195534454145, 0.013977138813873217, 0.010628609654847458,
            0.02043543609159603, 0.03158834089787392]
        [0.0749999999999033, 0.03038194345232977, 0.017351938572926714, 0.011427395114048321, 0.0042526737302659365,
            -0.019270983724666527]);
    (large, s, series * (z * s))
}

/// `whole + whole_low - 2 (s + rest)`.
#[inline(always)]
fn less_double(whole: f64, whole_low: f64, s: f64, rest: f64) -> f64 {
    let (high, error) = fast_two_sum(whole, -2.0 * s);
    high + (error + rest.mul_add(-2.0, whole_low))
}

impl Lanes1<f64> for Arcsin {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let (large, s, rest) = arcsine_core(x.abs());
        let y = if large { less_double(FRAC_PI_2, HALF_PI_LOW, s, rest) } else { s + rest };
        y.copysign(x)
    }
}

impl Lanes1<f64> for Arccos {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let (large, s, rest) = arcsine_core(x.abs());
        let value = s + rest;
        let far = if x < 0.0 { less_double(PI, PI_LOW, s, rest) } else { 2.0 * value };
        let near = FRAC_PI_2 - (value.copysign(x) - HALF_PI_LOW);
        if large { far } else { near }
    }
}
