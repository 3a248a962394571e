//! arcsin, arccos and the inverse hyperbolic functions of `f32`, in single precision throughout.

use crate::arithmetic::horner;
use crate::blocks::Lanes1;
use crate::libm::{Arccos, Arccosh, Arcsin, Arcsinh, Arctanh};
use crate::single::{HALF_PI_LOW, PI_LOW, covered};
use crate::single_logarithm::{exponent, log1p_finite};
use std::f32::consts::{FRAC_PI_2, LN_2, PI};

/// Up to here an odd function is its argument.
const TINY: f32 = 1e-4;
/// Up to here squares are finite.
const LARGEST: f32 = 1e18;

/// arcsin of a number up to ½, or half of what its arccos is above: whether it is above, and which of them.
#[inline(always)]
fn half_angle(a: f32) -> (bool, f32) {
    let above = a > 0.5;
    let z = if above { 0.5 * (1.0 - a) } else { a * a };
    let s = if above { z.sqrt() } else { a };
    let series = horner!(z; 0.16666752, 0.074953, 0.045470025, 0.024181312, 0.0421632);
    (above, series.mul_add(z * s, s))
}

impl Lanes1<f32> for Arcsin {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (above, r) = half_angle(x.abs());
        let y = if above { FRAC_PI_2 - (2.0 * r - HALF_PI_LOW) } else { r };
        if x.abs() < TINY { x } else { y.copysign(x) }
    }
}

impl Lanes1<f32> for Arccos {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (above, r) = half_angle(x.abs());
        let outer = if x < 0.0 { PI - (2.0 * r - PI_LOW) } else { 2.0 * r };
        let inner = FRAC_PI_2 - (r.copysign(x) - HALF_PI_LOW);
        if above { outer } else { inner }
    }
}

impl Lanes1<f32> for Arctanh {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        // Beyond this 1 + 2^k is rounded.
        const LARGEST: f32 = 0.9999995;
        const HALF: u32 = 1 << 22;
        let a = x.abs();
        // 2^k is near (1 + a) / (1 - a): the difference of the bits is nearly that of the logarithms.
        let nearest = (1.0 + a).to_bits().wrapping_sub((1.0 - a).to_bits()).wrapping_add(1f32.to_bits() + HALF);
        let k = exponent(nearest);
        let scale = f32::from_bits(nearest & !0x7f_ffff);
        // arctanh(a) is k ln(2) / 2 + arctanh(s), and s is a where k is 0.
        let (sum, difference) = (1.0 + scale, 1.0 - scale);
        let s = a.mul_add(sum, difference) / a.mul_add(difference, sum);
        let z = s * s;
        let series = horner!(z; 0.33333486, 0.19977637, 0.15207602);
        let y = k.mul_add(0.5 * LN_2, series.mul_add(z * s, s));
        covered(a < LARGEST, y.copysign(x))
    }
}

impl Lanes1<f32> for Arcsinh {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let a = x.abs();
        let square = a * a;
        let y = log1p_finite(a + square / (1.0 + (1.0 + square).sqrt()));
        covered(a < LARGEST, if a < TINY { x } else { y.copysign(x) })
    }
}

impl Lanes1<f32> for Arccosh {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let t = x - 1.0;
        covered((x >= 1.0) & (x < LARGEST), log1p_finite(t + t.mul_add(t, 2.0 * t).sqrt()))
    }
}
