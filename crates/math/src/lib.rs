//! Vectorised elementary functions of NumPy's accuracy, on arrays.
//!
//! Each function is written once, as straight-line code for one lane, and compiled for several
//! instruction sets; `README.md` has the methods and the measured errors and speeds.

// `contains` short-circuits; lane bodies have no branches.
#![allow(clippy::manual_range_contains)]

mod arithmetic;
mod blocks;
mod dispatch;
mod exponential;
mod half;
mod hyperbolic;
mod inverse_trigonometric;
mod libm;
mod limits;
mod logarithm;
mod mending;
mod power;
mod single;
mod single_inverse;
mod single_logarithm;
mod single_power;
mod status;
#[cfg(test)]
mod tests;
mod trigonometric;

use dispatch::Level;
use numloom_ir::ScalarOp;

/// `dst[i] = f(src[i])` for `i < n`; returns the floating-point flags raised: 1 divide, 2 overflow,
/// 4 underflow, 8 invalid.
///
/// The pointers may be unaligned; `dst` may be `src`, and must not overlap it otherwise.
pub type Unary<T> = unsafe fn(n: usize, src: *const T, dst: *mut T) -> u8;

/// `dst[i] = f(a[i], b[i])` for `i < n`, by the rules of [`Unary`].
pub type Binary<T> = unsafe fn(n: usize, a: *const T, b: *const T, dst: *mut T) -> u8;

const DIVIDE: u8 = 1;
const OVERFLOW: u8 = 2;
const UNDERFLOW: u8 = 4;
const INVALID: u8 = 8;

macro_rules! lookups {
    ($($(#[$doc:meta])* $public:ident $at:ident $make:ident $kernel:ident<$t:ident> [$($op:ident)*];)*) => {$(
        fn $at(op: ScalarOp, level: Level) -> Option<$kernel<$t>> {
            Some(match op {
                $(ScalarOp::$op => dispatch::$make::<$t, libm::$op>(level),)*
                _ => return None,
            })
        }

        $(#[$doc])*
        pub fn $public(op: ScalarOp) -> Option<$kernel<$t>> {
            $at(op, Level::best())
        }
    )*};
}

macro_rules! lookups_of_both {
    ([$($unary:ident)*] [$($binary:ident)*]) => {
        lookups! {
            /// The kernel of a function of one `f64`, compiled for this machine.
            unary_f64 unary_f64_at unary Unary<f64> [$($unary)*];
            /// The kernel of a function of one `f32`, compiled for this machine.
            unary_f32 unary_f32_at unary Unary<f32> [$($unary)*];
            /// The kernel of a function of two `f64`, compiled for this machine.
            binary_f64 binary_f64_at binary Binary<f64> [$($binary)*];
            /// The kernel of a function of two `f32`, compiled for this machine.
            binary_f32 binary_f32_at binary Binary<f32> [$($binary)*];
        }
    };
}

lookups_of_both! {
    [Exp Exp2 Expm1 Log Log2 Log10 Log1p Sin Cos Tan Arcsin Arccos Arctan Sinh Cosh Tanh Arcsinh Arccosh Arctanh Cbrt]
    [Power Arctan2 Hypot Logaddexp Logaddexp2 Fmod]
}

/// The kernel of a function of one `f32` whose arguments and results are binary16 numbers.
pub fn unary_half(op: ScalarOp) -> Option<Unary<f32>> {
    unary_half_at(op, Level::best())
}

fn unary_half_at(op: ScalarOp, level: Level) -> Option<Unary<f32>> {
    Some(match op {
        ScalarOp::Log => dispatch::unary::<f32, half::ToHalf<libm::Log>>(level),
        ScalarOp::Log2 => dispatch::unary::<f32, half::ToHalf<libm::Log2>>(level),
        ScalarOp::Log10 => dispatch::unary::<f32, half::ToHalf<libm::Log10>>(level),
        ScalarOp::Exp2 => dispatch::unary::<f32, half::ToHalf<libm::Exp2>>(level),
        _ => return unary_f32_at(op, level),
    })
}
