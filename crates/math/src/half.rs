//! Functions of `f32` for arguments and results that are binary16: an error of 2^-19 hardly ever shows in eleven bits, so
//! shorter polynomials do, and no part is carried beyond its rounding.

use crate::arithmetic::horner;
use crate::blocks::Lanes1;
use crate::libm::{Exp2, Libm1, Log, Log2, Log10};
use crate::limits::Limits1;
use crate::single::{SHIFT, covered, scaled};
use crate::single_logarithm::{exponent_and_fraction, is_positive_normal};
use std::f32::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};
use std::marker::PhantomData;

/// A function to the precision of binary16.
pub(crate) struct ToHalf<F>(PhantomData<F>);

impl<F: Libm1<f32>> Libm1<f32> for ToHalf<F> {
    const INFINITE: u8 = F::INFINITE;
    const TINY: u8 = F::TINY;

    fn libm(x: f32) -> f32 {
        F::libm(x)
    }
}

impl<F: Limits1<f32>> Limits1<f32> for ToHalf<F> {
    #[inline(always)]
    fn limit(x: f32) -> (bool, f32) {
        F::limit(x)
    }
}

impl Lanes1<f32> for ToHalf<Log> {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (k, f) = exponent_and_fraction(x);
        let series = horner!(f; -0.50000846, 0.3331922, -0.24919063, 0.20449118, -0.18587609, 0.11949446);
        covered(is_positive_normal(x), k.mul_add(LN_2, (f * f).mul_add(series, f)))
    }
}

impl Lanes1<f32> for ToHalf<Log2> {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (k, f) = exponent_and_fraction(x);
        let series = horner!(f; LOG2_E, -0.7213598, 0.48069474, -0.35950607, 0.29501843, -0.26816252, 0.17239407);
        covered(is_positive_normal(x), f.mul_add(series, k))
    }
}

impl Lanes1<f32> for ToHalf<Log10> {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let (k, f) = exponent_and_fraction(x);
        let series = horner!(f; LOG10_E, -0.21715093, 0.14470354, -0.10822211, 0.08880939, -0.080724955, 0.051895786);
        covered(is_positive_normal(x), k.mul_add(LOG10_2, f * series))
    }
}

impl Lanes1<f32> for ToHalf<Exp2> {
    #[inline(always)]
    fn lane(x: f32) -> f32 {
        let shifted = x + SHIFT;
        let fraction = x - (shifted - SHIFT);
        let y = horner!(fraction; 1.0, LN_2, 0.24022281, 0.0555056, 0.009669708, 0.0013300264);
        covered((x > -126.0) & (x < 127.0), scaled(y, shifted.to_bits()))
    }
}
