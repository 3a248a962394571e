//! sin, cos and tan: the argument less a multiple of π/2 in three parts, then a polynomial each for
//! sine and cosine on [-π/4, π/4]. Beyond [`REACH`] libm reduces the argument.

use crate::arithmetic::{SHIFT, covered, horner};
use crate::blocks::Lanes1;
use crate::libm::{Cos, Sin, Tan};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

const REACH: f64 = 268435456.0;

const HALF_PI_MIDDLE: f64 = 6.123233995736766e-17;
const HALF_PI_LOW: f64 = -1.4973849048591698e-33;

/// sin and cos of what is left of `x`, and the quadrant in the low bits.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64, u64) {
    let shifted = x.mul_add(FRAC_2_PI, SHIFT);
    let n = shifted - SHIFT;
    // Exact: the difference is below 1 and a multiple of the last bit of π/2.
    let r0 = n.mul_add(-FRAC_PI_2, x);
    let t = n * HALF_PI_MIDDLE;
    let r = r0 - t;
    let t_low = n.mul_add(HALF_PI_LOW, n.mul_add(HALF_PI_MIDDLE, -t));
    let low = ((r0 - r) - t) - t_low;

    let z = r * r;
    let half = 0.5 * z;
    let c = 1.0 - half;
    let sine = horner!(z; -0.16666666666666638, 0.008333333333323685, -0.00019841269830626592,
        2.7557313930230905e-06, -2.505079028341039e-08, 1.5898433737783025e-10);
    let cosine = horner!(z; 0.04166666666666666, -0.0013888888888883306, 2.4801587294814413e-05,
        -2.7557315792183733e-07, 2.087590714412825e-09, -1.1368633036188534e-11);
    let sin = r + sine.mul_add(z * r, low * c);
    let cos = c + (((1.0 - c) - half) + cosine.mul_add(z * z, -(r * low)));
    (sin, cos, shifted.to_bits())
}

#[inline(always)]
fn by_quadrant(sin: f64, cos: f64, quadrant: u64) -> f64 {
    let value = if quadrant & 1 != 0 { cos } else { sin };
    f64::from_bits(value.to_bits() ^ ((quadrant & 2) << 62))
}

impl Lanes1<f64> for Sin {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let (sin, cos, quadrant) = reduced(x);
        let y = by_quadrant(sin, cos, quadrant);
        covered(x.abs() < REACH, if x.abs() < 1e-8 { x } else { y })
    }
}

impl Lanes1<f64> for Cos {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let (sin, cos, quadrant) = reduced(x);
        covered(x.abs() < REACH, by_quadrant(sin, cos, quadrant.wrapping_add(1)))
    }
}

impl Lanes1<f64> for Tan {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let (sin, cos, quadrant) = reduced(x);
        let swap = quadrant & 1 != 0;
        let quotient = if swap { cos } else { sin } / if swap { sin } else { cos };
        let y = f64::from_bits(quotient.to_bits() ^ ((quadrant & 1) << 63));
        covered(x.abs() < REACH, if x.abs() < 1e-8 { x } else { y })
    }
}
