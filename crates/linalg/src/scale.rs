//! Matrices moved by a power of two to where their squares neither overflow nor vanish, and where a factorisation may
//! take a small number for zero. Nothing is rounded by that, except what is too small next to the largest element to count.

use crate::matrix::Field;
use faer::Mat;

/// Between these, squares and quotients of complex numbers are what they should be.
const MODERATE: std::ops::Range<f64> = 1e-100..1e100;

/// Moves the matrix until its largest element is about one, and answers the power `e`: what it was is what it is now
/// times `2^e`. Zeros and matrices with elements that are not finite stay as they are, with 0.
pub fn near_one<T: Field>(a: &mut Mat<T>) -> i32 {
    let mut largest = 0.0f64;
    for j in 0..a.ncols() {
        for i in 0..a.nrows() {
            let (re, im) = a[(i, j)].parts();
            if !(re.is_finite() && im.is_finite()) {
                return 0;
            }
            largest = largest.max(re.abs()).max(im.abs());
        }
    }
    let e = if largest == 0.0 { 0 } else { largest.log2().floor() as i32 };
    if e != 0 {
        for j in 0..a.ncols() {
            for i in 0..a.nrows() {
                a[(i, j)] = moved(a[(i, j)], -e);
            }
        }
    }
    e
}

/// The power of two of a size that is not moderate; 0 for those that are, and for what has none.
pub fn power_of(size: f64) -> i32 {
    if size == 0.0 || !size.is_finite() || MODERATE.contains(&size) { 0 } else { size.log2().floor() as i32 }
}

/// `x * 2^e`, in two steps: the power alone may be no number.
pub fn moved<T: Field>(x: T, e: i32) -> T {
    let (re, im) = x.parts();
    let (first, second) = (2f64.powi(e / 2), 2f64.powi(e - e / 2));
    T::from_parts(re * first * second, im * first * second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for x in [f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e200, -3e-150, 1e-12, 7.0] {
            let mut a = Mat::from_fn(2, 2, |i, j| if i == j { x } else { 0.0 });
            let e = near_one(&mut a);
            assert!((0.5..2.0).contains(&a[(0, 0)].abs()), "{x}");
            assert_eq!(moved(a[(0, 0)], e), x);
        }
        for x in [0.0, 1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(near_one(&mut Mat::from_fn(1, 1, |_, _| x)), 0);
        }
    }
}
