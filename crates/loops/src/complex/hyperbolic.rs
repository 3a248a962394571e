//! Functions of the hyperbola, and those of the circle: the same turned by a quarter, `sin(z) = -i sinh(iz)` and so on.

use super::exponential::exp_polar;
use super::{Function, Row, Rows, covered, invalid, is_normal_or_zero, lanes, normal_product, turned, turned_back};
use crate::element::{C128, complex};
use numloom_ir::ScalarOp;

/// `f(x) g(y)`.
#[inline(always)]
unsafe fn products(n: usize, (f, x): (ScalarOp, &Row), (g, y): (ScalarOp, &Row), to: &mut Row) {
    let mut other = Row::new();
    to.take(f, n, x);
    other.take(g, n, y);
    lanes!(n, |i| {
        to.set(i, normal_product(to.get(i), other.get(i)));
    });
}

pub(super) struct Sinh;

impl Function for Sinh {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        products(n, (ScalarOp::Sinh, &z.re), (ScalarOp::Cos, &z.im), &mut out.re);
        products(n, (ScalarOp::Cosh, &z.re), (ScalarOp::Sin, &z.im), &mut out.im);
    }

    fn special(z: C128) -> C128 {
        sinh(z)
    }
}

pub(super) struct Cosh;

impl Function for Cosh {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        products(n, (ScalarOp::Cosh, &z.re), (ScalarOp::Cos, &z.im), &mut out.re);
        products(n, (ScalarOp::Sinh, &z.re), (ScalarOp::Sin, &z.im), &mut out.im);
    }

    fn special(z: C128) -> C128 {
        cosh(z)
    }
}

pub(super) struct Sin;

impl Function for Sin {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        products(n, (ScalarOp::Cosh, &z.im), (ScalarOp::Sin, &z.re), &mut out.re);
        products(n, (ScalarOp::Sinh, &z.im), (ScalarOp::Cos, &z.re), &mut out.im);
    }

    fn special(z: C128) -> C128 {
        if z.im.is_infinite() && !z.re.is_finite() {
            return complex(invalid(z.re), f64::INFINITY);
        }
        turned_back(sinh(turned(z)))
    }
}

pub(super) struct Cos;

impl Function for Cos {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        products(n, (ScalarOp::Cosh, &z.im), (ScalarOp::Cos, &z.re), &mut out.re);
        products(n, (ScalarOp::Sinh, &z.im), (ScalarOp::Sin, &z.re), &mut out.im);
        lanes!(n, |i| {
            out.im.set(i, -out.im.get(i));
        });
    }

    fn special(z: C128) -> C128 {
        cosh(turned(z))
    }
}

/// `tanh(x + iy)` from the sines of both and the cosine of `y`.
#[inline(always)]
fn tanh_of(sinh: f64, sin: f64, cos: f64) -> C128 {
    let cosh = (1.0 + sinh * sinh).sqrt();
    let square = sinh * sinh + cos * cos;
    complex(sinh * cosh / square, sin * cos / square)
}

/// The parts of tanh of `x + iy` into `re` and `im`.
#[inline(always)]
unsafe fn tanh_rows(n: usize, x: &Row, y: &Row, re: &mut Row, im: &mut Row) {
    let mut cos = Row::new();
    re.take(ScalarOp::Sinh, n, x);
    im.take(ScalarOp::Sin, n, y);
    cos.take(ScalarOp::Cos, n, y);
    lanes!(n, |i| {
        let mut result = tanh_of(re.get(i), im.get(i), cos.get(i));
        let size = x.get(i).abs();
        result.re = if size < HYPERBOLIC_IS_EXP { result.re } else { 1f64.copysign(x.get(i)) };
        let inside =
            (size < LARGEST_SQUARED) & is_normal_or_zero(result.re, x.get(i)) & is_normal_or_zero(result.im, y.get(i));
        re.set(i, covered(inside, result.re));
        im.set(i, result.im);
    });
}

pub(super) struct Tanh;

impl Function for Tanh {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        tanh_rows(n, &z.re, &z.im, &mut out.re, &mut out.im);
    }

    fn special(z: C128) -> C128 {
        tanh(z)
    }
}

pub(super) struct Tan;

impl Function for Tan {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        tanh_rows(n, &z.im, &z.re, &mut out.im, &mut out.re);
    }

    fn special(z: C128) -> C128 {
        turned_back(tanh(turned(z)))
    }
}

/// Below this the square of `sinh` is finite.
const LARGEST_SQUARED: f64 = 350.0;

/// From here on `sinh` and `cosh` are both `e^|x| / 2`.
const HYPERBOLIC_IS_EXP: f64 = 22.0;

fn sinh(z: C128) -> C128 {
    let C128 { re, im } = z;
    if im == 0.0 {
        return complex(re.sinh(), im);
    }
    if !im.is_finite() {
        let nan = invalid(im);
        return complex(
            if re == 0.0 {
                re
            } else if re.is_infinite() {
                f64::INFINITY
            } else {
                nan
            },
            nan,
        );
    }
    if re.abs() < HYPERBOLIC_IS_EXP {
        let (sin, cos) = im.sin_cos();
        return complex(re.sinh() * cos, re.cosh() * sin);
    }
    let half = exp_polar(re.abs(), im, 0.5);
    complex(half.re * 1f64.copysign(re), half.im)
}

fn cosh(z: C128) -> C128 {
    let C128 { re, im } = z;
    if im == 0.0 {
        return complex(re.cosh(), if re.is_nan() { im } else { 0f64.copysign(re) * 1f64.copysign(im) });
    }
    if !im.is_finite() {
        let nan = invalid(im);
        if re == 0.0 {
            return complex(nan, 0.0);
        }
        return complex(if re.is_infinite() { f64::INFINITY } else { nan }, nan);
    }
    if re.abs() < HYPERBOLIC_IS_EXP {
        let (sin, cos) = im.sin_cos();
        return complex(re.cosh() * cos, re.sinh() * sin);
    }
    let half = exp_polar(re.abs(), im, 0.5);
    complex(half.re, half.im * 1f64.copysign(re))
}

fn tanh(z: C128) -> C128 {
    let C128 { re, im } = z;
    if re.is_nan() {
        return complex(re, if im == 0.0 { im } else { re });
    }
    if re.is_infinite() {
        let side = if im.is_finite() { im.sin() * im.cos() } else { im };
        return complex(1f64.copysign(re), 0f64.copysign(side));
    }
    if !im.is_finite() {
        let nan = invalid(im);
        return complex(if re == 0.0 { re } else { nan }, nan);
    }
    if re.abs() >= HYPERBOLIC_IS_EXP {
        let small = (-re.abs()).exp();
        return complex(1f64.copysign(re), 4.0 * im.sin() * im.cos() * small * small);
    }
    tanh_of(re.sinh(), im.sin(), im.cos())
}
