//! The functions one element at a time, from the platform's libm: the answer for the rare lanes the
//! vector bodies leave out, and for machines without fused multiply-add.

use crate::{DIVIDE, INVALID, OVERFLOW, UNDERFLOW};

/// `f32` or `f64`.
pub(crate) trait Real: Copy + Default + PartialOrd {
    fn is_nan(self) -> bool;
    fn is_finite(self) -> bool;
    fn is_infinite(self) -> bool;
    fn is_tiny(self) -> bool;
    fn is_zero(self) -> bool;
}

macro_rules! real {
    ($($t:ident)*) => {$(
        impl Real for $t {
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            #[inline(always)]
            fn is_infinite(self) -> bool {
                self.is_infinite()
            }
            #[inline(always)]
            fn is_tiny(self) -> bool {
                self.abs() < $t::MIN_POSITIVE
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0.0
            }
        }
    )*};
}
real!(f32 f64);

/// One argument, by libm.
pub(crate) trait Libm1<T: Real> {
    /// What an infinite result of a finite argument means.
    const INFINITE: u8;
    /// What a subnormal or zero result means.
    const TINY: u8;
    fn libm(x: T) -> T;

    /// The value and the flags it raises.
    #[inline]
    fn flagged(x: T) -> (T, u8) {
        let y = Self::libm(x);
        let flags = if y.is_nan() {
            if x.is_nan() { 0 } else { INVALID }
        } else if !x.is_finite() {
            0
        } else if !y.is_finite() {
            Self::INFINITE
        } else if y.is_tiny() {
            Self::TINY
        } else {
            0
        };
        (y, flags)
    }
}

/// Two arguments, by libm.
pub(crate) trait Libm2<T: Real> {
    const TINY: u8;
    /// What a NaN that an argument passes on means.
    const NAN: u8;
    fn libm(a: T, b: T) -> T;

    /// The value and the flags it raises. Only a power has a pole, at a zero base.
    #[inline]
    fn flagged(a: T, b: T) -> (T, u8) {
        let y = Self::libm(a, b);
        let flags = if y.is_nan() {
            if a.is_nan() || b.is_nan() { Self::NAN } else { INVALID }
        } else if !a.is_finite() || !b.is_finite() {
            0
        } else if !y.is_finite() {
            if a.is_zero() { DIVIDE } else { OVERFLOW }
        } else if y.is_tiny() && !a.is_zero() {
            Self::TINY
        } else {
            0
        };
        (y, flags)
    }
}

mod platform {
    // `std` computes these three by short formulas that lose digits near 0 and 1; libm does not.
    unsafe extern "C" {
        pub safe fn asinh(x: f64) -> f64;
        pub safe fn acosh(x: f64) -> f64;
        pub safe fn atanh(x: f64) -> f64;
        pub safe fn asinhf(x: f32) -> f32;
        pub safe fn acoshf(x: f32) -> f32;
        pub safe fn atanhf(x: f32) -> f32;
    }
}

macro_rules! unary {
    ($($name:ident $infinite:ident $tiny:expr, $double:path, $single:path;)*) => {$(
        pub(crate) struct $name;

        impl Libm1<f64> for $name {
            const INFINITE: u8 = $infinite;
            const TINY: u8 = $tiny;
            #[inline]
            fn libm(x: f64) -> f64 {
                $double(x)
            }
        }

        impl Libm1<f32> for $name {
            const INFINITE: u8 = $infinite;
            const TINY: u8 = $tiny;
            #[inline]
            fn libm(x: f32) -> f32 {
                $single(x)
            }
        }
    )*};
}

unary! {
    Exp OVERFLOW UNDERFLOW, f64::exp, f32::exp;
    Exp2 OVERFLOW UNDERFLOW, f64::exp2, f32::exp2;
    Expm1 OVERFLOW 0, f64::exp_m1, f32::exp_m1;
    Log DIVIDE 0, f64::ln, f32::ln;
    Log2 DIVIDE 0, f64::log2, f32::log2;
    Log10 DIVIDE 0, f64::log10, f32::log10;
    Log1p DIVIDE 0, f64::ln_1p, f32::ln_1p;
    Sin OVERFLOW 0, f64::sin, f32::sin;
    Cos OVERFLOW 0, f64::cos, f32::cos;
    Tan OVERFLOW 0, f64::tan, f32::tan;
    Arcsin OVERFLOW 0, f64::asin, f32::asin;
    Arccos OVERFLOW 0, f64::acos, f32::acos;
    Arctan OVERFLOW 0, f64::atan, f32::atan;
    Sinh OVERFLOW 0, f64::sinh, f32::sinh;
    Cosh OVERFLOW 0, f64::cosh, f32::cosh;
    Tanh OVERFLOW 0, f64::tanh, f32::tanh;
    Arcsinh OVERFLOW 0, platform::asinh, platform::asinhf;
    Arccosh OVERFLOW 0, platform::acosh, platform::acoshf;
    Arctanh DIVIDE 0, platform::atanh, platform::atanhf;
    Cbrt OVERFLOW 0, f64::cbrt, f32::cbrt;
}

macro_rules! binary {
    ($($name:ident $tiny:expr, $nan:ident, |$a:ident, $b:ident| $value:expr;)*) => {$(
        pub(crate) struct $name;
        binary!(@one f64 $name $tiny, $nan, $a, $b, $value);
        binary!(@one f32 $name $tiny, $nan, $a, $b, $value);
    )*};
    (@one $t:ident $name:ident $tiny:expr, $nan:ident, $a:ident, $b:ident, $value:expr) => {
        impl Libm2<$t> for $name {
            const TINY: u8 = $tiny;
            const NAN: u8 = $nan;
            #[inline]
            fn libm($a: $t, $b: $t) -> $t {
                #[allow(unused_imports)]
                use std::$t::consts::{LN_2, LOG2_E};
                $value
            }
        }
    };
}

/// A NaN that passes through raises nothing.
const QUIET: u8 = 0;

binary! {
    Power UNDERFLOW, QUIET, |a, b| a.powf(b);
    Arctan2 0, QUIET, |a, b| a.atan2(b);
    Hypot 0, QUIET, |a, b| a.hypot(b);
    Fmod 0, QUIET, |a, b| a % b;
    Logaddexp 0, INVALID, |a, b| {
        if a == b { a + LN_2 } else if a > b { a + (b - a).exp().ln_1p() } else { b + (a - b).exp().ln_1p() }
    };
    Logaddexp2 0, INVALID, |a, b| {
        if a == b {
            a + 1.0
        } else if a > b {
            a + LOG2_E * (b - a).exp2().ln_1p()
        } else {
            b + LOG2_E * (a - b).exp2().ln_1p()
        }
    };
}
