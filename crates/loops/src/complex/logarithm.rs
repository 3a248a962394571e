//! Logarithms: that of the length, and the angle.

use super::{Function, Row, Rows, covered, is_normal_or_zero, lanes, larger, scaled};
use crate::element::{C128, complex};
use numloom_ir::ScalarOp;
use std::f64::consts::{LN_2, LOG2_E, LOG10_E};

/// `a + b` where `a` is not the smaller one, and what rounding took from it.
#[inline(always)]
fn ordered_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// As `ordered_sum`, for any order.
#[inline(always)]
fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let back = sum - a;
    (sum, (a - (sum - back)) + (b - back))
}

#[inline(always)]
fn exact_square(x: f64) -> (f64, f64) {
    let square = x * x;
    (square, x.mul_add(x, -square))
}

/// The square of the length as a sum of two numbers, the second one for the digits that are left where it is about 1.
#[inline(always)]
fn square_of_length(x: f64, y: f64) -> (f64, f64) {
    let (x, y) = (x.abs(), y.abs());
    let large = larger(x, y);
    let small = if x > y { y } else { x };
    let (large, large_lost) = exact_square(large);
    let (small, small_lost) = exact_square(small);
    let (sum, sum_lost) = ordered_sum(large, small);
    let (lost, least) = exact_sum(large_lost, small_lost);
    let (lost, less) = exact_sum(sum_lost, lost);
    let (sum, lost) = ordered_sum(sum, lost);
    (sum, lost + (least + less))
}

/// Whether the square of the length of a number with these parts keeps all its digits.
#[inline(always)]
fn is_covered(re: f64, im: f64, square: f64) -> bool {
    (re.abs() < 1e140) & (im.abs() < 1e140) & (square > 1e-280)
}

/// `1 / scale` is the logarithm of the base.
#[inline(always)]
pub(super) unsafe fn log_rows(n: usize, z: &Rows, out: &mut Rows, scale: f64) {
    let mut rest = Row::new();
    lanes!(n, |i| {
        let C128 { re, im } = z.get(i);
        let (square, lost) = square_of_length(re, im);
        let inside = is_covered(re, im, square);
        let square = if inside { square } else { 1.0 };
        out.re.set(i, square);
        rest.set(i, covered(inside, lost / square));
    });
    out.re.apply(ScalarOp::Log, n);
    out.im.take_angle(n, &z.im, &z.re);
    lanes!(n, |i| {
        let (log, angle) = (0.5 * (out.re.get(i) + rest.get(i)), out.im.get(i));
        let inside = is_normal_or_zero(angle, z.im.get(i));
        out.set(i, scaled(complex(log, covered(inside, angle)), scale));
    });
}

macro_rules! logarithms {
    ($($name:ident $scale:expr;)*) => { $(
        pub(super) struct $name;

        impl Function for $name {
            #[inline(always)]
            unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
                log_rows(n, z, out, $scale);
            }

            fn special(z: C128) -> C128 {
                scaled(complex(log_length(z), z.im.atan2(z.re)), $scale)
            }
        }
    )* };
}

logarithms! {
    Log 1.0;
    Log2 LOG2_E;
    Log10 LOG10_E;
}

/// Logarithm of any length that is not about 1.
fn log_length(z: C128) -> f64 {
    let (re, im) = (z.re.abs(), z.im.abs());
    if re.is_nan() || im.is_nan() {
        return re.hypot(im);
    }
    let large = re.max(im);
    if large.is_finite() && large > f64::MAX / 2.0 {
        return (re * 0.5).hypot(im * 0.5).ln() + LN_2;
    }
    if large < f64::MIN_POSITIVE * 4.0 && large > 0.0 {
        return (re * 2f64.powi(54)).hypot(im * 2f64.powi(54)).ln() - 54.0 * LN_2;
    }
    re.hypot(im).ln()
}

pub(super) struct Log1p;

impl Function for Log1p {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        let (mut rest, mut right) = (Row::new(), Row::new());
        lanes!(n, |i| {
            let C128 { re, im } = z.get(i);
            let (moved, moved_lost) = exact_sum(re, 1.0);
            let (square, lost) = square_of_length(moved, im);
            let inside = is_covered(re, im, square);
            let square = if inside { square } else { 1.0 };
            out.re.set(i, square);
            right.set(i, moved);
            rest.set(i, covered(inside, (lost + 2.0 * moved * moved_lost) / square));
        });
        out.re.apply(ScalarOp::Log, n);
        out.im.take_angle(n, &z.im, &right);
        lanes!(n, |i| {
            let (log, angle) = (0.5 * (out.re.get(i) + rest.get(i)), out.im.get(i));
            out.set(i, complex(log, covered(is_normal_or_zero(angle, z.im.get(i)), angle)));
        });
    }

    fn special(z: C128) -> C128 {
        complex((z.re + 1.0).hypot(z.im).ln(), z.im.atan2(z.re + 1.0))
    }
}
