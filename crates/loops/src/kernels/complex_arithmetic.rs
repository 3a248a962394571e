//! Division, absolute value and sign of complex numbers.

use crate::FP_INVALID;
use crate::element::{C64, C128, Complex, Float, complex};
use crate::kernel_macros::{one, two};

/// Smith's division: scales by the larger part of the divisor, as NumPy does.
macro_rules! quotient {
    ($a:ident, $b:ident) => {{
        if $b.re.abs() >= $b.im.abs() {
            if $b.re == 0.0 && $b.im == 0.0 {
                return over_zero($a, $b.re.abs());
            }
            let ratio = $b.im / $b.re;
            let scale = 1.0 / ($b.re + $b.im * ratio);
            complex(($a.re + $a.im * ratio) * scale, ($a.im - $a.re * ratio) * scale)
        } else {
            let ratio = $b.re / $b.im;
            let scale = 1.0 / ($b.im + $b.re * ratio);
            complex(($a.re * ratio + $a.im) * scale, ($a.im * ratio - $a.re) * scale)
        }
    }};
}

/// Apart, so that its division is not tried for other divisors, where it would raise.
#[cold]
#[inline(never)]
fn over_zero<T: std::ops::Div<Output = T> + Copy>(a: Complex<T>, zero: T) -> Complex<T> {
    complex(a.re / zero, a.im / zero)
}

// NumPy's comparison of the divisor's parts raises for NaN.
two!(Divide, Scalar, [C64 C128], |a, b, flags| {
    *flags |= if b.re.nan() | b.im.nan() { FP_INVALID } else { 0 };
    quotient!(a, b)
});

one!(Reciprocal, Scalar, [C64 C128], |a, flags| {
    *flags |= if a.re.nan() | a.im.nan() { FP_INVALID } else { 0 };
    if a.im.abs() <= a.re.abs() {
        let ratio = a.im / a.re;
        let divisor = a.re + a.im * ratio;
        complex(1.0 / divisor, -ratio / divisor)
    } else {
        let ratio = a.re / a.im;
        let divisor = a.re * ratio + a.im;
        complex(ratio / divisor, -1.0 / divisor)
    }
});

// The larger part is scaled to about one, so that no square overflows or vanishes.
macro_rules! absolute {
    ($c:ty, $t:ident, $places:literal, $bias:literal) => {
        one!(Absolute, Quiet, [$c] -> $t, |a| {
            let (re, im) = (a.re.abs(), a.im.abs());
            let exponent = (if re > im { re } else { im }.to_bits() >> $places).clamp(1, 2 * $bias - 1);
            let (down, up) = ($t::from_bits((2 * $bias - exponent) << $places), $t::from_bits(exponent << $places));
            let (x, y) = (re * down, im * down);
            let length = (x * x + y * y).sqrt() * up;
            if a.re.infinite() | a.im.infinite() { $t::INFINITY } else { length }
        });
    };
}
absolute!(C64, f32, 23, 127);
absolute!(C128, f64, 52, 1023);

one!(Sign, Scalar, [C64 C128], |a| {
    let length = a.re.hypot(a.im);
    if length.nan() || a.re.infinite() & a.im.infinite() {
        complex(T::NAN_PART, T::NAN_PART)
    } else if a.re.infinite() {
        complex(a.re.signum(), 0.0)
    } else if length.infinite() {
        complex(0.0, a.im.signum())
    } else if length == 0.0 {
        complex(0.0, 0.0)
    } else {
        complex(a.re / length, a.im / length)
    }
});

impl C64 {
    const NAN_PART: f32 = f32::NAN;
}

impl C128 {
    const NAN_PART: f64 = f64::NAN;
}

pub(crate) fn quotient(a: C128, b: C128) -> C128 {
    quotient!(a, b)
}
