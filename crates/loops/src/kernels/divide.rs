//! Floor division, remainders, and both at once.

use crate::element::{Float, Half};
use crate::kernel_macros::{two, two_through_f32};
use crate::map::{Style, TwoToTwo};
use crate::{FP_DIVIDE, FP_OVERFLOW, kernels};

/// Quotient and remainder towards zero, for `b` that divides without overflow.
trait Truncate: Copy {
    fn truncated(self, b: Self) -> (Self, Self);
}

/// Narrow integers divide as floats, in vectors: the quotient is at least `1 / b` away from the next
/// integer unless exact, which is more than the float's rounding error.
macro_rules! truncate_through {
    ($($t:ty, $float:ty, $int:ty;)*) => { $(impl Truncate for $t {
        #[inline(always)]
        fn truncated(self, b: $t) -> ($t, $t) {
            // SAFETY: |a / b| <= |a|, which is in range.
            let q = unsafe { (self as $float / b as $float).to_int_unchecked::<$int>() } as $t;
            (q, self.wrapping_sub(q.wrapping_mul(b)))
        }
    })* };
}

truncate_through! {
    i8, f32, i32;
    u8, f32, i32;
    i16, f32, i32;
    u16, f32, i32;
    i32, f64, i32;
    u32, f64, u32;
}

macro_rules! truncate_directly {
    ($($t:ty)*) => { $(impl Truncate for $t {
        #[inline(always)]
        fn truncated(self, b: $t) -> ($t, $t) {
            (self.wrapping_div(b), self.wrapping_rem(b))
        }
    })* };
}

truncate_directly!(i64 u64);

/// Divides zero by one where `b` is zero. The lowest number is divided by one where `b` is minus one: that
/// gives itself, as NumPy does.
macro_rules! guarded {
    ($a:ident, $b:ident, $flags:ident, $overflow:expr) => {{
        *$flags |= if $b == 0 { FP_DIVIDE } else { 0 };
        // By bits, not by choice: from a choice the compiler goes on to divide by zero and choose among the results.
        let zero = ($b == 0) as T;
        let one = zero | $overflow as T;
        let divisor = ($b & !one.wrapping_neg()) | one;
        let dividend = $a & !zero.wrapping_neg();
        let (q, r) = dividend.truncated(divisor);
        (q, r, divisor)
    }};
}
macro_rules! signed {
    ($style:ident, $($t:ty)*) => { $(
        two!(FloorDivide, $style, [$t], |a, b, flags| {
            let overflow = (a == T::MIN) & (b == -1);
            *flags |= if overflow { FP_OVERFLOW } else { 0 };
            let (q, r, divisor) = guarded!(a, b, flags, overflow);
            let floored = q.wrapping_sub(((r != 0) & ((r < 0) != (divisor < 0))) as T);
            floored
        });
        two!(Remainder, $style, [$t], |a, b, flags| {
            let (_q, r, divisor) = guarded!(a, b, flags, (a == T::MIN) & (b == -1));
            // By bits, not by choice: the compiler would branch.
            let crosses = ((r != 0) & ((r < 0) != (divisor < 0))) as T;
            r.wrapping_add(divisor & crosses.wrapping_neg())
        });
        two!(Fmod, $style, [$t], |a, b, flags| {
            let (_q, r, _divisor) = guarded!(a, b, flags, (a == T::MIN) & (b == -1));
            r
        });
    )* };
}

macro_rules! unsigned {
    ($style:ident, $($t:ty)*) => { $(
        two!(FloorDivide, $style, [$t], |a, b, flags| {
            let (q, _r, _divisor) = guarded!(a, b, flags, false);
            q
        });
        two!(Remainder, $style, [$t], |a, b, flags| {
            let (_q, r, _divisor) = guarded!(a, b, flags, false);
            r
        });
        two!(Fmod, $style, [$t], |a, b, flags| {
            let (_q, r, _divisor) = guarded!(a, b, flags, false);
            r
        });
    )* };
}

// Where one operand is the same for all, the compiler goes on to divide by zero after all.
signed!(Quiet, i8 i16 i32);
signed!(Scalar, i64);
unsigned!(Quiet, u8 u16 u32);
unsigned!(Scalar, u64);

/// Floor quotient and remainder from `fmod(a, b)`, as NumPy derives them.
pub trait FloorPair: Float {
    fn floor_pair(self, b: Self, fmod: Self) -> (Self, Self);
    /// For finite numbers and a divisor that is not zero; without branches.
    fn floor_pair_of_finite(self, b: Self, fmod: Self) -> (Self, Self);
}

macro_rules! floor_pair {
    ($($t:ty)*) => { $(impl FloorPair for $t {
        #[inline(always)]
        fn floor_pair(self, b: $t, fmod: $t) -> ($t, $t) {
            if self.nan() | b.nan() {
                return (<$t>::NAN, <$t>::NAN);
            }
            if b == 0.0 {
                return (self / b, fmod);
            }
            self.floor_pair_of_finite(b, fmod)
        }

        #[inline(always)]
        fn floor_pair_of_finite(self, b: $t, fmod: $t) -> ($t, $t) {
            let crosses = (fmod != 0.0) & ((b < 0.0) != (fmod < 0.0));
            let exact = (self - fmod) / b;
            let quotient = if crosses { exact - 1.0 } else { exact };
            let remainder =
                if crosses { fmod + b } else if fmod == 0.0 { <$t>::with_sign_of(0.0, b) } else { fmod };
            let floor = quotient.floor();
            let nearest = if quotient - floor > 0.5 { floor + 1.0 } else { floor };
            let zero = if self.negative() != b.negative() { -0.0 } else { 0.0 };
            (if quotient == 0.0 { zero } else { nearest }, remainder)
        }
    })* };
}

floor_pair!(f32 f64);

pub fn floor_pair<T: FloorPair + std::ops::Rem<Output = T>>(a: T, b: T) -> (T, T) {
    a.floor_pair(b, a % b)
}

two!(FloorDivide, Scalar, [f32 f64], |a, b| if b == 0.0 { a / b } else { floor_pair(a, b).0 });
two!(Remainder, Scalar, [f32 f64], |a, b| if b == 0.0 { a % b } else { floor_pair(a, b).1 });
two!(Fmod, Scalar, [f32 f64], |a, b| a % b);
two_through_f32!(FloorDivide Remainder Fmod);

macro_rules! divmod {
    ($style:ident, $($t:ty)*) => { $(impl TwoToTwo<$t> for kernels::Divmod {
        const STYLE: Style = Style::$style;
        #[inline(always)]
        fn call(a: $t, b: $t, flags: &mut u8) -> ($t, $t) {
            use crate::map::Two;
            (kernels::FloorDivide::call(a, b, flags), kernels::Remainder::call(a, b, flags))
        }
    })* };
}

// Quiet: what both parts share is divided once, and then by zero, too, before a choice.
divmod!(Quiet, i8 u8 i16 u16 i32 u32);
divmod!(Scalar, i64 u64);

macro_rules! divmod_float {
    ($($t:ty)*) => { $(impl TwoToTwo<$t> for kernels::Divmod {
        const STYLE: Style = Style::Scalar;
        #[inline(always)]
        fn call(a: $t, b: $t, _flags: &mut u8) -> ($t, $t) {
            floor_pair(a, b)
        }
    })* };
}

divmod_float!(f32 f64);

impl TwoToTwo<Half> for kernels::Divmod {
    const STYLE: Style = Style::Scalar;
    #[inline(always)]
    fn call(a: Half, b: Half, flags: &mut u8) -> (Half, Half) {
        let (quotient, remainder) = floor_pair(a.widen(), b.widen());
        (Half::narrow(quotient, flags), Half::narrow(remainder, flags))
    }
}
