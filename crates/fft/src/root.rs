//! Roots of unity to the last place.

use rustfft::num_complex::Complex;
use std::f64::consts::PI;

/// What the double lacks to be pi.
const PI_REST: f64 = 1.224_646_799_147_353_2e-16;

/// `exp(2 pi i k / n)`. A rounded angle would be off by its own rounding error, and all angles of an `n` by the same share
/// of them: such errors add up in a transform. So the angle lies in the first eighth of the circle, and what is lost of
/// it is put right.
pub fn root(k: usize, n: usize) -> Complex<f64> {
    // In eighths of the n-th part of the circle, so that everything stays an integer.
    let (k, n) = (8 * (k % n) as u128, n as u128);
    let (eighth, mut rest) = (k / n, k % n);
    if eighth % 2 == 1 {
        rest = n - rest;
    }
    // The angle is pi / 4 times rest / n.
    let (rest, n) = (rest as f64 / 4.0, n as f64);
    let whole = rest * PI;
    let lost = rest.mul_add(PI, -whole) + rest * PI_REST;
    let angle = whole / n;
    let lost = (angle.mul_add(-n, whole) + lost) / n;
    let (sin, cos) = angle.sin_cos();
    let (sin, cos) = (sin + lost * cos, cos - lost * sin);
    match eighth {
        0 => Complex::new(cos, sin),
        1 => Complex::new(sin, cos),
        2 => Complex::new(-sin, cos),
        3 => Complex::new(-cos, sin),
        4 => Complex::new(-cos, -sin),
        5 => Complex::new(-sin, -cos),
        6 => Complex::new(sin, -cos),
        _ => Complex::new(cos, -sin),
    }
}

#[cfg(test)]
mod tests {
    use super::root;

    #[test]
    fn quarters_and_thirds() {
        for n in [1, 4, 8, 12, 1 << 20] {
            assert_eq!((root(0, n).re, root(0, n).im), (1.0, 0.0));
            if n % 4 == 0 {
                assert_eq!((root(n / 4, n).re, root(n / 4, n).im), (0.0, 1.0));
                assert_eq!((root(n / 2, n).re, root(3 * n / 4, n).im), (-1.0, -1.0));
            }
        }
        for (part, of) in [((root(1, 3).re, -0.5), 3), ((root(1, 12).im, 0.5), 12), ((root(1, 8).re, 0.5f64.sqrt()), 8)]
        {
            assert!((part.0 - part.1).abs() <= f64::EPSILON / 2.0, "{of}: {part:?}");
        }
    }

    /// The cosines of a whole circle add up to nothing. Those of angles rounded to doubles miss it by several units in the
    /// last place.
    #[test]
    fn errors_do_not_add_up() {
        for n in [13, 19, 23] {
            let sum: f64 = (1..n).map(|k| root(k, n).re).sum();
            assert!((sum + 1.0).abs() < 3.0 * f64::EPSILON, "{n}: {sum}");
        }
    }
}
