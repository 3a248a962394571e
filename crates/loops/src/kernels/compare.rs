//! Comparisons, truth, and the smaller or larger of two.

use crate::FP_INVALID;
use crate::element::{Bool, C64, C128, Complex, Float, Half};
use crate::fold::Extreme;
use crate::kernel_macros::{one, two};
use crate::map::{Style, Two};

macro_rules! compare {
    ($($k:ident $op:tt $complex:ident $raises:ident;)*) => { $(
        two!($k, Ieee, [i8 u8 i16 u16 i32 u32 i64 u64] -> Bool, |a, b| Bool::new(a $op b));
        two!($k, Ieee, [Bool] -> Bool, |a, b| Bool::new(a.get() $op b.get()));
        // The vector forms of these raise "invalid" for NaN, which NumPy does not show.
        two!($k, Quiet, [f32 f64] -> Bool, |a, b| Bool::new(a $op b));
        two!($k, Quiet, [Half] -> Bool, |a, b| Bool::new(a.widen() $op b.widen()));
        two!($k, Quiet, [C64 C128] -> Bool, |a, b, flags| {
            *flags |= $raises(a, b);
            Bool::new($complex(a, b))
        });
        two!(@ $k, Ieee, i64, u64, Bool, a, b, _flags, Bool::new(mixed!(a, b, $op)));
        two!(@ $k, Ieee, u64, i64, Bool, a, b, _flags, Bool::new(mixed!(b, a, swapped $op)));
    )* };
}

/// A signed against an unsigned number: a negative one is below all; otherwise both are unsigned.
macro_rules! mixed {
    ($signed:ident, $unsigned:ident, swapped $op:tt) => {
        if $signed < 0 { 1 $op 0 } else { $unsigned $op $signed as u64 }
    };
    ($signed:ident, $unsigned:ident, $op:tt) => {
        if $signed < 0 { 0 $op 1 } else { ($signed as u64) $op $unsigned }
    };
}

compare! {
    Equal == equal nothing;
    NotEqual != not_equal nothing;
    Less < less unordered;
    LessEqual <= less_equal unordered;
    Greater > greater unordered;
    GreaterEqual >= greater_equal unordered;
}

#[inline(always)]
fn nothing<T: Float>(_: Complex<T>, _: Complex<T>) -> u8 {
    0
}

/// NumPy shows what its comparison raises for NaN in the parts that it comes to compare.
#[inline(always)]
fn unordered<T: Float>(a: Complex<T>, b: Complex<T>) -> u8 {
    let nan = a.re.nan() | b.re.nan() | (a.re == b.re) & (a.im.nan() | b.im.nan());
    if nan { FP_INVALID } else { 0 }
}

#[inline(always)]
fn nan<T: Float>(a: Complex<T>) -> bool {
    a.re.nan() | a.im.nan()
}

#[inline(always)]
fn equal<T: Float>(a: Complex<T>, b: Complex<T>) -> bool {
    (a.re == b.re) & (a.im == b.im)
}

#[inline(always)]
fn not_equal<T: Float>(a: Complex<T>, b: Complex<T>) -> bool {
    !equal(a, b)
}

#[inline(always)]
fn less<T: Float>(a: Complex<T>, b: Complex<T>) -> bool {
    (a.re < b.re) & !a.im.nan() & !b.im.nan() | (a.re == b.re) & (a.im < b.im)
}

#[inline(always)]
fn less_equal<T: Float>(a: Complex<T>, b: Complex<T>) -> bool {
    (a.re < b.re) & !a.im.nan() & !b.im.nan() | (a.re == b.re) & (a.im <= b.im)
}

#[inline(always)]
fn greater<T: Float>(a: Complex<T>, b: Complex<T>) -> bool {
    less(b, a)
}

#[inline(always)]
fn greater_equal<T: Float>(a: Complex<T>, b: Complex<T>) -> bool {
    less_equal(b, a)
}

two!(Maximum, Ieee, [i8 u8 i16 u16 i32 u32 i64 u64], |a, b| a.max(b));
two!(Minimum, Ieee, [i8 u8 i16 u16 i32 u32 i64 u64], |a, b| a.min(b));
two!(Maximum, Ieee, [Bool], |a, b| Bool::new(a.get() | b.get()));
two!(Minimum, Ieee, [Bool], |a, b| Bool::new(a.get() & b.get()));

/// Of two zeros the second is taken, as x86's instruction does. `$unless` is the opposite of `$op`: not so for NaN.
macro_rules! extremes {
    ($($k:ident $op:tt $unless:tt $asked:ident, $eased:ident;)*) => { $(
        extremes!(@ $k $op $unless $asked, $eased, f32, u32);
        extremes!(@ $k $op $unless $asked, $eased, f64, u64);
    )* };
    (@ $k:ident $op:tt $unless:tt $asked:ident, $eased:ident, $t:ty, $bits:ty) => {
        impl Two<$t, $t> for super::$k {
            type Out = $t;
            const STYLE: Style = Style::Quiet;

            #[inline(always)]
            fn call(a: $t, b: $t, _flags: &mut u8) -> $t {
                let chosen = if a $op b { a } else { b };
                if $asked(a, b).nan() { a } else { chosen }
            }

            #[inline(always)]
            fn eases(b: $t) -> bool {
                !b.nan()
            }

            #[inline(always)]
            fn eased(a: $t, b: $t) -> $t {
                $eased!(a $op $unless b)
            }
        }

        impl Extreme<$t> for super::$k {
            type Bits = $bits;

            #[inline(always)]
            fn of_numbers(a: $t, b: $t) -> $t {
                if a $op b { a } else { b }
            }

            #[inline(always)]
            fn strange(a: $t) -> $bits {
                (a.is_nan() as $bits).wrapping_neg()
            }
        }
    };
}

#[inline(always)]
fn first<T>(a: T, _: T) -> T {
    a
}

#[inline(always)]
fn second<T>(_: T, b: T) -> T {
    b
}

/// A NaN against a number stays.
macro_rules! nan {
    ($a:ident $op:tt $unless:tt $b:ident) => {
        if $a $unless $b { $b } else { $a }
    };
}

/// A NaN against a number goes.
macro_rules! number {
    ($a:ident $op:tt $unless:tt $b:ident) => {
        if $a $op $b { $a } else { $b }
    };
}

extremes! {
    Maximum > <= first, nan;
    Minimum < >= first, nan;
    Fmax > <= second, number;
    Fmin < >= second, number;
}

two!(Maximum, Quiet, [Half], |a, b| if (a.widen() >= b.widen()) | a.nan() { a } else { b });
two!(Minimum, Quiet, [Half], |a, b| if (a.widen() <= b.widen()) | a.nan() { a } else { b });
two!(Fmax, Quiet, [Half], |a, b| if (a.widen() >= b.widen()) | b.nan() { a } else { b });
two!(Fmin, Quiet, [Half], |a, b| if (a.widen() <= b.widen()) | b.nan() { a } else { b });

two!(Maximum, Quiet, [C64 C128], |a, b| if greater_equal(a, b) | nan(a) { a } else { b });
two!(Minimum, Quiet, [C64 C128], |a, b| if less_equal(a, b) | nan(a) { a } else { b });
two!(Fmax, Quiet, [C64 C128], |a, b| if greater_equal(a, b) | nan(b) { a } else { b });
two!(Fmin, Quiet, [C64 C128], |a, b| if less_equal(a, b) | nan(b) { a } else { b });

/// Whether an element counts as true: anything but zero, NaN included.
pub trait Truth {
    fn truth(self) -> bool;
}

macro_rules! truth {
    ($([$($t:ty)*] |$a:ident| $e:expr;)*) => { $($(
        impl Truth for $t {
            #[inline(always)]
            fn truth(self) -> bool {
                let $a = self;
                $e
            }
        }
        two!(LogicalAnd, Ieee, [$t] -> Bool, |a, b| Bool::new(a.truth() & b.truth()));
        two!(LogicalOr, Ieee, [$t] -> Bool, |a, b| Bool::new(a.truth() | b.truth()));
        two!(LogicalXor, Ieee, [$t] -> Bool, |a, b| Bool::new(a.truth() ^ b.truth()));
        one!(LogicalNot, Ieee, [$t] -> Bool, |a| Bool::new(!a.truth()));
    )*)* };
}

truth! {
    [u8 u16 u32 u64] |a| a != 0;
    [f32 f64] |a| a != 0.0;
    [Bool] |a| a.get();
    [Half] |a| !a.zero();
    [C64 C128] |a| (a.re != 0.0) | (a.im != 0.0);
}
