//! Inverse functions of the hyperbola and of the circle.
//!
//! Kahan's: with `R` and `S` the distances of `z` from `-i` and `i`, and `A` half their sum, arcsinh has the real part
//! log(A + sqrt(A² - 1)) and the imaginary part arctan(y / sqrt(A² - y²)). Both roots are sums of products of the parts
//! of sqrt(1 + iz) and sqrt(1 - iz), none of them negative, so that nothing cancels near the branch points.

use super::root::sqrt;
use super::{Function, Row, Rows, covered, is_moderate, lanes, turned, turned_back};
use crate::element::{C128, complex};
use numloom_ir::ScalarOp;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

/// For `x` and `y` not negative, what log1p is the real part of arcsinh of, and `sqrt(A² - y²)`.
#[inline(always)]
fn arcsinh_core(x: f64, y: f64) -> (f64, f64) {
    let (above, below) = (1.0 + y, 1.0 - y);
    let (square, side) = (x * x, below.abs());
    let (r, s) = ((square + above * above).sqrt(), (square + below * below).sqrt());
    let far = ((r + above) * 0.5).sqrt();
    let far_other = x / (2.0 * far);
    let near = ((s + side) * 0.5).sqrt();
    let near_other = x / if near == 0.0 { 1.0 } else { 2.0 * near };
    let near_re = if below >= 0.0 { near } else { near_other };
    let near_im = if below >= 0.0 { near_other } else { near };
    let sinh = far * near_im + far_other * near_re;
    let cosh = (r + s) * 0.5;
    (sinh + sinh * sinh / (1.0 + cosh), far * near_re + far_other * near_im)
}

/// Whether `arcsinh_core` serves: neither part's square leaves the range.
#[inline(always)]
fn is_covered(z: C128) -> bool {
    is_moderate(z.re) & is_moderate(z.im)
}

/// The part that is a logarithm, into `log`, and `sqrt(A² - y²)` into `root`; `x` and `y` are parts of `z`.
#[inline(always)]
unsafe fn log_and_root(n: usize, x: &Row, y: &Row, log: &mut Row, root: &mut Row) {
    lanes!(n, |i| {
        let (above_one, to) = arcsinh_core(x.get(i).abs(), y.get(i).abs());
        let inside = is_covered(complex(x.get(i), y.get(i)));
        log.set(i, if inside { above_one } else { 1.0 });
        root.set(i, if inside { to } else { 1.0 });
    });
    log.apply(ScalarOp::Log1p, n);
}

pub(super) struct Arcsinh;

impl Function for Arcsinh {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        let mut root = Row::new();
        log_and_root(n, &z.re, &z.im, &mut out.re, &mut root);
        out.im.take_angle(n, &z.im, &root);
        lanes!(n, |i| {
            out.re.set(i, covered(is_covered(z.get(i)), out.re.get(i).copysign(z.re.get(i))));
        });
    }

    fn special(z: C128) -> C128 {
        arcsinh(z)
    }
}

pub(super) struct Arcsin;

impl Function for Arcsin {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        let mut root = Row::new();
        log_and_root(n, &z.im, &z.re, &mut out.im, &mut root);
        out.re.take_angle(n, &z.re, &root);
        lanes!(n, |i| {
            out.im.set(i, covered(is_covered(z.get(i)), out.im.get(i).copysign(z.im.get(i))));
        });
    }

    fn special(z: C128) -> C128 {
        turned_back(arcsinh(turned(z)))
    }
}

pub(super) struct Arccos;

impl Function for Arccos {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        log_and_root(n, &z.im, &z.re, &mut out.im, &mut out.re);
        out.re.turn_to_angle(n, &z.re);
        lanes!(n, |i| {
            out.im.set(i, covered(is_covered(z.get(i)), out.im.get(i).copysign(-z.im.get(i))));
        });
    }

    fn special(z: C128) -> C128 {
        arccos(z)
    }
}

pub(super) struct Arccosh;

impl Function for Arccosh {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        log_and_root(n, &z.im, &z.re, &mut out.re, &mut out.im);
        out.im.turn_to_angle(n, &z.re);
        lanes!(n, |i| {
            out.im.set(i, covered(is_covered(z.get(i)), out.im.get(i).copysign(z.im.get(i))));
        });
    }

    fn special(z: C128) -> C128 {
        arccosh(z)
    }
}

/// For `x` and `y` not negative, what log1p is four times the real part of arctanh of, and the coordinates of the
/// point whose angle is twice the imaginary part.
#[inline(always)]
fn arctanh_core(x: f64, y: f64) -> (f64, f64, f64) {
    let beyond = 1.0 - x;
    (4.0 * x / (beyond * beyond + y * y), 2.0 * y, beyond * (1.0 + x) - y * y)
}

/// The parts of arctanh of `x + iy` into `part` and `angle`.
#[inline(always)]
unsafe fn arctanh_rows(n: usize, x: &Row, y: &Row, part: &mut Row, angle: &mut Row) {
    let mut right = Row::new();
    lanes!(n, |i| {
        let (re, im) = (x.get(i), y.get(i));
        let (ratio, to_y, to_x) = arctanh_core(re.abs(), im.abs());
        let inside = is_moderate(re) & is_moderate(im) & (ratio < 1e300) & ((ratio > 1e-300) | (re == 0.0));
        part.set(i, if inside { ratio } else { f64::NAN });
        angle.set(i, to_y);
        right.set(i, to_x);
    });
    part.apply(ScalarOp::Log1p, n);
    angle.turn_to_angle(n, &right);
    lanes!(n, |i| {
        part.set(i, (0.25 * part.get(i)).copysign(x.get(i)));
        angle.set(i, (0.5 * angle.get(i)).copysign(y.get(i)));
    });
}

pub(super) struct Arctanh;

impl Function for Arctanh {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        arctanh_rows(n, &z.re, &z.im, &mut out.re, &mut out.im);
    }

    fn special(z: C128) -> C128 {
        arctanh(z)
    }
}

pub(super) struct Arctan;

impl Function for Arctan {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        arctanh_rows(n, &z.im, &z.re, &mut out.im, &mut out.re);
    }

    fn special(z: C128) -> C128 {
        turned_back(arctanh(turned(z)))
    }
}

/// Above this the square of a number, plus one, is its square.
const SQUARE_IS_ALL: f64 = 1e100;

/// Rust's own divides by its argument, and takes a `hypot`.
fn asinh(x: f64) -> f64 {
    let a = x.abs();
    if a == 0.0 || a > 1e150 {
        return if x == 0.0 { x } else { x.asinh() };
    }
    let square = a * a;
    (a + square / (1.0 + (1.0 + square).sqrt())).ln_1p().copysign(x)
}

/// Kahan's, by two square roots that keep the sign of zero.
fn arcsinh(z: C128) -> C128 {
    let C128 { re, im } = z;
    if !re.is_finite() || !im.is_finite() {
        return if re.is_infinite() {
            let angle = if im.is_nan() {
                im
            } else if im.is_infinite() {
                FRAC_PI_4
            } else {
                0.0
            };
            complex(re, angle.copysign(im))
        } else if im.is_infinite() {
            complex(f64::INFINITY.copysign(re), if re.is_nan() { re } else { FRAC_PI_2.copysign(im) })
        } else if re.is_nan() && im == 0.0 {
            z
        } else {
            complex(f64::NAN, f64::NAN)
        };
    }
    if re.abs() > SQUARE_IS_ALL || im.abs() > SQUARE_IS_ALL {
        let length = (re * 0.5).hypot(im * 0.5).ln() + 2.0 * LN_2;
        return complex(length.copysign(re), im.atan2(re.abs()).copysign(im));
    }
    let (above, below) = (sqrt(complex(1.0 + im, -re)), sqrt(complex(1.0 - im, re)));
    let part = asinh(above.re * below.im - below.re * above.im);
    complex(part.copysign(re), im.atan2(above.re * below.re - above.im * below.im))
}

fn arccos(z: C128) -> C128 {
    let C128 { re, im } = z;
    if !re.is_finite() || !im.is_finite() {
        return if im.is_infinite() {
            let angle = if re.is_nan() {
                re
            } else if re.is_finite() {
                FRAC_PI_2
            } else if re > 0.0 {
                FRAC_PI_4
            } else {
                3.0 * FRAC_PI_4
            };
            complex(angle, -im)
        } else if re.is_infinite() {
            if im.is_nan() {
                return complex(im, f64::NEG_INFINITY);
            }
            complex(if re > 0.0 { 0.0 } else { PI }, -f64::INFINITY.copysign(im))
        } else if re == 0.0 {
            complex(FRAC_PI_2, im)
        } else {
            complex(f64::NAN, f64::NAN)
        };
    }
    if re.abs() > SQUARE_IS_ALL || im.abs() > SQUARE_IS_ALL {
        let length = (re * 0.5).hypot(im * 0.5).ln() + 2.0 * LN_2;
        return complex(im.abs().atan2(re), (-length).copysign(-im));
    }
    let (left, right) = (sqrt(complex(1.0 - re, -im)), sqrt(complex(1.0 + re, im)));
    let part = asinh(right.re * left.im - right.im * left.re);
    complex(2.0 * left.re.atan2(right.re), part.copysign(-im))
}

fn arccosh(z: C128) -> C128 {
    let C128 { re, im } = arccos(z);
    match (re.is_nan(), im.is_nan()) {
        (true, true) => complex(im, re),
        (true, false) => complex(im.abs(), re),
        (false, true) => complex(im, if z.re == 0.0 { re } else { im }),
        (false, false) => complex(im.abs(), re.copysign(z.im)),
    }
}

fn arctanh(z: C128) -> C128 {
    let C128 { re, im } = z;
    if !re.is_finite() || !im.is_finite() {
        return if im.is_infinite() {
            complex(0f64.copysign(re), FRAC_PI_2.copysign(im))
        } else if re.is_infinite() {
            complex(0f64.copysign(re), if im.is_nan() { im } else { FRAC_PI_2.copysign(im) })
        } else if re == 0.0 {
            z
        } else {
            complex(f64::NAN, f64::NAN)
        };
    }
    let (x, y) = (re.abs(), im.abs());
    if x > SQUARE_IS_ALL || y > SQUARE_IS_ALL {
        let length = (x * 0.5).hypot(y * 0.5);
        return complex((x * 0.25 / length / length).copysign(re), FRAC_PI_2.copysign(im));
    }
    let (part, angle) = if x == 1.0 && y < 1e-150 {
        if y == 0.0 {
            // A division that raises "divide by zero" and gives infinity.
            (1.0 / y, 0.0)
        } else {
            (-(y.sqrt() / y.hypot(2.0).sqrt()).ln(), 2f64.atan2(-y) * 0.5)
        }
    } else {
        let beyond = 1.0 - x;
        let part = (4.0 * x / (beyond * beyond + y * y)).ln_1p() * 0.25;
        (part, (2.0 * y).atan2(beyond * (1.0 + x) - y * y) * 0.5)
    };
    complex(part.copysign(re), angle.copysign(im))
}
