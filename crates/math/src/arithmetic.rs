//! Pieces of arithmetic the lane bodies share.

/// Adding this leaves a number rounded to an integer in the low bits of the sum.
pub(crate) const SHIFT: f64 = 6755399441055744.0;

/// ln 2 to 42 bits, so that its product with an exponent is exact, and the rest.
pub(crate) const LN2_42: f64 = 0.6931471805598903;
pub(crate) const LN2_REST: f64 = 5.497923018708371e-14;

/// ln 2 beyond its double.
pub(crate) const LN2_LOW: f64 = 2.3190468138462996e-17;

/// A polynomial, lowest coefficient first, one term after the other.
macro_rules! horner {
    ($x:expr; $c:expr) => { $c };
    ($x:expr; $c:expr, $($rest:expr),+) => { $x.mul_add($crate::arithmetic::horner!($x; $($rest),+), $c) };
}

/// A polynomial as two shorter chains, in the square of the variable.
macro_rules! halves {
    ($x:expr, $square:expr; [$($even:expr),+] [$($odd:expr),+]) => {
        $x.mul_add($crate::arithmetic::horner!($square; $($odd),+), $crate::arithmetic::horner!($square; $($even),+))
    };
}

pub(crate) use {halves, horner};

/// `a + b` and what rounding took from it.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_kept = sum - a;
    (sum, (a - (sum - b_kept)) + (b - b_kept))
}

/// [`two_sum`] where `|a| >= |b|` or `a == 0`.
#[inline(always)]
pub(crate) fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, (a - sum) + b)
}

/// `a * b` and what rounding took from it.
#[inline(always)]
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// `y`, or the NaN that sends the lane to libm.
#[inline(always)]
pub(crate) fn covered(inside: bool, y: f64) -> f64 {
    if inside { y } else { f64::NAN }
}
