//! Rounding to integers.

use crate::element::{C64, C128, Half, complex};
use crate::kernel_macros::{one, one_through_f32};

one!(Rint, Ieee, [f32 f64], |a| a.round_ties_even());
one!(Rint, Ieee, [C64 C128], |a| complex(a.re.round_ties_even(), a.im.round_ties_even()));
one!(Floor, Ieee, [f32 f64], |a| a.floor());
one!(Ceil, Ieee, [f32 f64], |a| a.ceil());
one!(Trunc, Ieee, [f32 f64], |a| a.trunc());

one_through_f32!(Rint Floor Ceil Trunc);
