//! Sums, products, signs, and what else is one IEEE or wrapping instruction. What does the same to the
//! bits of signed and unsigned integers is written for unsigned ones; `table.rs` shares it.

use crate::element::{Bool, C64, C128, Float, Half, complex};
use crate::kernel_macros::{one, one_through_f32, two, two_through_f32};

two!(Add, Ieee, [u8 u16 u32 u64], |a, b| a.wrapping_add(b));
two!(Add, Ieee, [f32 f64], |a, b| a + b);
two!(Add, Ieee, [Bool], |a, b| Bool::new(a.get() | b.get()));
two!(Add, Ieee, [C64 C128], |a, b| complex(a.re + b.re, a.im + b.im));

two!(Subtract, Ieee, [u8 u16 u32 u64], |a, b| a.wrapping_sub(b));
two!(Subtract, Ieee, [f32 f64], |a, b| a - b);
two!(Subtract, Ieee, [C64 C128], |a, b| complex(a.re - b.re, a.im - b.im));

two!(Multiply, Ieee, [u8 u16 u32 u64], |a, b| a.wrapping_mul(b));
two!(Multiply, Ieee, [f32 f64], |a, b| a * b);
two!(Multiply, Ieee, [Bool], |a, b| Bool::new(a.get() & b.get()));
two!(Multiply, Ieee, [C64 C128], |a, b| complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re));

two!(Divide, Ieee, [f32 f64], |a, b| a / b);

two_through_f32!(Add Subtract Multiply Divide);

one!(Negative, Ieee, [u8 u16 u32 u64], |a| a.wrapping_neg());
one!(Negative, Ieee, [f32 f64], |a| -a);
one!(Negative, Ieee, [Half], |a| Half(a.0 ^ 0x8000));
one!(Negative, Ieee, [C64 C128], |a| complex(-a.re, -a.im));

one!(Conjugate, Ieee, [C64 C128], |a| complex(a.re, -a.im));

one!(Absolute, Ieee, [i8 i16 i32 i64], |a| a.wrapping_abs());
one!(Absolute, Ieee, [f32 f64], |a| a.abs());
one!(Absolute, Ieee, [Half], |a| Half(a.0 & 0x7fff));
one!(Fabs, Ieee, [f32 f64], |a| a.abs());
one!(Fabs, Ieee, [Half], |a| Half(a.0 & 0x7fff));

one!(Square, Ieee, [u8 u16 u32 u64], |a| a.wrapping_mul(a));
one!(Square, Ieee, [f32 f64], |a| a * a);
one!(Square, Ieee, [C64 C128], |a| complex(a.re * a.re - a.im * a.im, a.re * a.im + a.im * a.re));

one!(Sqrt, Ieee, [f32 f64], |a| a.sqrt());

one!(Reciprocal, Ieee, [f32 f64], |a| 1.0 / a);

one!(Degrees, Ieee, [f32 f64], |a| a * (180.0 / std::f64::consts::PI as T));
one!(Radians, Ieee, [f32 f64], |a| a * (std::f64::consts::PI as T / 180.0));

one_through_f32!(Square Sqrt Reciprocal Degrees Radians);

one!(Sign, Ieee, [u8 u16 u32 u64], |a| (a != 0) as T);
one!(Sign, Ieee, [i8 i16 i32 i64], |a| (a > 0) as T - (a < 0) as T);
one!(Sign, Quiet, [f32 f64], |a| {
    let sign = if a > 0.0 { 1.0 } else if a < 0.0 { -1.0 } else { 0.0 };
    if a.nan() { a } else { sign }
});
one!(Sign, Quiet, [Half], |a| {
    let one = 0x3c00 | a.0 & 0x8000;
    Half(if a.nan() {
        a.0
    } else if a.zero() {
        0
    } else {
        one
    })
});
