//! Square root.

use super::{Function, Rows, covered, invalid, is_normal_or_zero, lanes, larger};
use crate::element::{C128, complex};

pub(super) struct Sqrt;

impl Function for Sqrt {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        lanes!(n, |i| {
            let C128 { re, im } = z.get(i);
            let size = larger(re.abs(), im.abs());
            let half = ((re.abs() + (re * re + im * im).sqrt()) * 0.5).sqrt();
            let other = im / if size == 0.0 { 1.0 } else { 2.0 * half };
            let inside = (size == 0.0) | (size > 1e-140) & (size < 1e150) & is_normal_or_zero(other, im);
            let right = re >= 0.0;
            out.re.set(i, covered(inside, if right { half } else { other.abs() }));
            out.im.set(i, if right { other } else { half.copysign(im) });
        });
    }

    fn special(z: C128) -> C128 {
        sqrt(z)
    }
}

/// The square root of any number.
pub(super) fn sqrt(z: C128) -> C128 {
    let C128 { re, im } = z;
    if re == 0.0 && im == 0.0 {
        return complex(0.0, im);
    }
    if im.is_infinite() {
        return complex(f64::INFINITY, im);
    }
    if re.is_nan() {
        return complex(re, f64::NAN);
    }
    if re.is_infinite() {
        let spare = invalid(im);
        return if re.is_sign_negative() {
            complex(spare.abs(), re.copysign(im))
        } else {
            complex(re, spare.copysign(im))
        };
    }
    if im.is_nan() {
        return complex(im, im);
    }
    // Powers of four move the operand where neither the sum below nor its half leaves the range.
    let size = re.abs().max(im.abs());
    let (up, down) = if size >= f64::MAX / 4.0 {
        (0.25, 2.0)
    } else if size < 1e-290 {
        (2f64.powi(108), 2f64.powi(-54))
    } else {
        (1.0, 1.0)
    };
    let (re, im) = (re * up, im * up);
    let half = ((re.abs() + re.hypot(im)) * 0.5).sqrt();
    let other = im / (2.0 * half);
    if re >= 0.0 { complex(half * down, other * down) } else { complex(other.abs() * down, half.copysign(im) * down) }
}
