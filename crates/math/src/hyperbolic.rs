//! sinh, cosh and tanh from an extended expm1; their inverses from log1p.

use crate::arithmetic::{covered, fast_two_sum, halves, two_sum};
use crate::blocks::Lanes1;
use crate::exponential::{half_expm1, half_scale_and_expm1};
use crate::libm::{Arccosh, Arcsinh, Arctanh, Cosh, Sinh, Tanh};
use crate::logarithm::log1p_finite;

/// Up to here half of exp is finite, whatever the rounding.
const LARGEST: f64 = 709.0;

/// Below this tanh and the inverse functions are their argument.
const LINEAR: f64 = 1e-9;

/// exp(a) / 2 as an unevaluated sum.
#[inline(always)]
fn half_exp(a: f64) -> (f64, f64) {
    let (half, high, low) = half_scale_and_expm1(a);
    let (p, p_low) = fast_two_sum(1.0, high);
    (half * p, half * (p_low + low))
}

impl Lanes1<f64> for Sinh {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let a = x.abs();
        let (e, e_low) = half_exp(a);
        let large = e - (0.25 / e - e_low);
        let z = a * a;
        let w = z * z;
        let series = halves!(z, w;
            [0.16666666666666669, 0.00019841269841414281, 2.50521225096954e-08, 7.757593767340947e-13]
            [0.00833333333333318, 2.755731916168074e-06, 1.605730251687233e-10]);
        let small = series.mul_add(z * a, a);
        covered(a < LARGEST, if a < 1.0 { small } else { large }.copysign(x))
    }
}

impl Lanes1<f64> for Cosh {
    #[inline(always)]
    fn lane(x: f64) -> f64 {
        let a = x.abs();
        let (e, e_low) = half_exp(a);
        covered(a < LARGEST, e + (0.25 / e + e_low))
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
        let a = x.abs();
        let y = 0.5 * log1p_finite(2.0 * a / (1.0 - a));
        covered(a < 1.0, if a < LINEAR { x } else { y.copysign(x) })
    }
}
