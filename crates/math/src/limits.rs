//! What needs no computing of the arguments that lane bodies leave out: NaN, zeros, infinities, results beyond the
//! range of the type. Data has whole stretches of these (missing values, a bell curve far from its middle), and libm
//! takes them one by one.

use crate::libm::*;

/// Whether `f(x)` is known, and what it is. Straight-line code, like a lane body.
pub(crate) trait Limits1<T> {
    fn limit(x: T) -> (bool, T);
}

/// [`Limits1`] of two arguments.
pub(crate) trait Limits2<T> {
    fn limit(a: T, b: T) -> (bool, T);
}

/// Above `_TOP` results are infinite, below `_BOTTOM` they are zero; in between, near them, libm decides.
mod of_f64 {
    pub const INFINITY: f64 = f64::INFINITY;
    pub const NAN: f64 = f64::NAN;
    pub const EXP_TOP: f64 = 709.79;
    pub const EXP_BOTTOM: f64 = -745.14;
    pub const EXP2_TOP: f64 = 1024.0;
    pub const EXP2_BOTTOM: f64 = -1075.5;
    pub const COSH_TOP: f64 = 710.48;
    pub use std::f64::consts::PI;
}

mod of_f32 {
    pub const INFINITY: f32 = f32::INFINITY;
    pub const NAN: f32 = f32::NAN;
    pub const EXP_TOP: f32 = 88.73;
    pub const EXP_BOTTOM: f32 = -103.98;
    pub const EXP2_TOP: f32 = 128.0;
    pub const EXP2_BOTTOM: f32 = -150.5;
    pub const COSH_TOP: f32 = 89.42;
    pub use std::f32::consts::PI;
}

/// A zero whose sign an odd power keeps.
macro_rules! power_of_zero {
    ($a:ident, $b:ident) => {{
        let half = 0.5 * $b;
        let odd = ($b.floor() == $b) & (half.floor() != half);
        if odd { $a } else { 0.0 }
    }};
}

/// Of two zeros the signs say which quarter they came from.
macro_rules! angle_of_zero {
    ($a:ident, $b:ident) => {
        if $b.is_sign_negative() { PI.copysign($a) } else { $a }
    };
}

/// Rows of conditions and values; a NaN gives itself. Conditions of a row exclude each other.
macro_rules! limits1 {
    ($($name:ident |$x:ident| [$($when:expr => $value:expr),*];)*) => {$(
        limits1!(@one $name f64 of_f64 $x [$($when => $value),*]);
        limits1!(@one $name f32 of_f32 $x [$($when => $value),*]);
    )*};
    (@one $name:ident $t:ident $bounds:ident $x:ident [$($when:expr => $value:expr),*]) => {
        impl Limits1<$t> for $name {
            #[inline(always)]
            fn limit($x: $t) -> (bool, $t) {
                #[allow(unused_imports)]
                use $bounds::*;
                let (known, value) = ($x.is_nan(), $x);
                $(let (known, value) = if $when { (true, $value) } else { (known, value) };)*
                (known, value)
            }
        }
    };
}

limits1! {
    Exp |x| [x > EXP_TOP => INFINITY, x < EXP_BOTTOM => 0.0];
    Exp2 |x| [x >= EXP2_TOP => INFINITY, x < EXP2_BOTTOM => 0.0];
    Expm1 |x| [x > EXP_TOP => INFINITY];
    Log |x| [x == 0.0 => -INFINITY, x < 0.0 => NAN, x == INFINITY => x];
    Log2 |x| [x == 0.0 => -INFINITY, x < 0.0 => NAN, x == INFINITY => x];
    Log10 |x| [x == 0.0 => -INFINITY, x < 0.0 => NAN, x == INFINITY => x];
    Log1p |x| [x == -1.0 => -INFINITY, x < -1.0 => NAN, x == INFINITY => x];
    Sin |x| [x.abs() == INFINITY => NAN];
    Cos |x| [x.abs() == INFINITY => NAN];
    Tan |x| [x.abs() == INFINITY => NAN];
    Arcsin |x| [x.abs() > 1.0 => NAN];
    Arccos |x| [x.abs() > 1.0 => NAN];
    Arctan |x| [];
    Sinh |x| [x.abs() > COSH_TOP => INFINITY.copysign(x)];
    Cosh |x| [x.abs() > COSH_TOP => INFINITY];
    Tanh |x| [];
    Arcsinh |x| [x.abs() == INFINITY => x];
    Arccosh |x| [x < 1.0 => NAN, x == INFINITY => x];
    Arctanh |x| [x.abs() == 1.0 => INFINITY.copysign(x), x.abs() > 1.0 => NAN];
    Cbrt |x| [x == 0.0 => x, x.abs() == INFINITY => x];
}

macro_rules! limits2 {
    ($($name:ident |$a:ident, $b:ident| [$($when:expr => $value:expr),*];)*) => {$(
        limits2!(@one $name f64 of_f64 $a $b [$($when => $value),*]);
        limits2!(@one $name f32 of_f32 $a $b [$($when => $value),*]);
    )*};
    (@one $name:ident $t:ident $bounds:ident $a:ident $b:ident [$($when:expr => $value:expr),*]) => {
        impl Limits2<$t> for $name {
            #[inline(always)]
            fn limit($a: $t, $b: $t) -> (bool, $t) {
                #[allow(unused_imports)]
                use $bounds::*;
                let (known, value) = (false, $a);
                $(let (known, value) = if $when { (true, $value) } else { (known, value) };)*
                (known, value)
            }
        }
    };
}

// A NaN does not always win: its power of 0 is 1, and a side of infinite length makes an infinite hypotenuse.
limits2! {
    Power |a, b| [(a == 0.0) & (b > 0.0) => power_of_zero!(a, b), b == 0.0 => 1.0];
    Arctan2 |a, b| [a.is_nan() | b.is_nan() => a + b, (a == 0.0) & (b == 0.0) => angle_of_zero!(a, b)];
    Hypot |a, b| [(a == 0.0) & (b == 0.0) => 0.0];
    Fmod |a, b| [a.is_nan() | b.is_nan() => a + b, (b.abs() == INFINITY) & (a.abs() < INFINITY) => a];
    Logaddexp |a, b| [a.is_nan() | b.is_nan() => a + b];
    Logaddexp2 |a, b| [a.is_nan() | b.is_nan() => a + b];
}
