//! exp, exp2 and expm1.

use super::{Function, Row, Rows, covered, invalid, lanes, normal_product, scaled};
use crate::element::{C128, complex};
use numloom_ir::ScalarOp;
use std::f64::consts::LN_2;

/// exp where it is a normal number.
#[inline(always)]
fn normal(exp: f64) -> f64 {
    covered(exp >= f64::MIN_POSITIVE, exp)
}

#[inline(always)]
pub(super) unsafe fn exp_rows(n: usize, z: &Rows, out: &mut Rows) {
    let mut size = Row::new();
    size.take(ScalarOp::Exp, n, &z.re);
    out.re.take(ScalarOp::Cos, n, &z.im);
    out.im.take(ScalarOp::Sin, n, &z.im);
    lanes!(n, |i| {
        let size = normal(size.get(i));
        out.set(i, complex(normal_product(size, out.re.get(i)), normal_product(size, out.im.get(i))));
    });
}

pub(super) struct Exp;

impl Function for Exp {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        exp_rows(n, z, out);
    }

    fn special(z: C128) -> C128 {
        exp(z)
    }
}

pub(super) struct Exp2;

impl Function for Exp2 {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        let mut natural = Rows::new();
        lanes!(n, |i| {
            natural.set(i, scaled(z.get(i), LN_2));
        });
        exp_rows(n, &natural, out);
    }

    fn special(z: C128) -> C128 {
        exp(scaled(z, LN_2))
    }
}

pub(super) struct Expm1;

impl Function for Expm1 {
    #[inline(always)]
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows) {
        let (mut size, mut less, mut half) = (Row::new(), Row::new(), Row::new());
        lanes!(n, |i| {
            half.set(i, z.im.get(i) * 0.5);
        });
        half.apply(ScalarOp::Sin, n);
        less.take(ScalarOp::Expm1, n, &z.re);
        size.take(ScalarOp::Exp, n, &z.re);
        out.re.take(ScalarOp::Cos, n, &z.im);
        out.im.take(ScalarOp::Sin, n, &z.im);
        lanes!(n, |i| {
            let re = less.get(i) * out.re.get(i) - 2.0 * half.get(i) * half.get(i);
            out.set(i, complex(re, normal_product(normal(size.get(i)), out.im.get(i))));
        });
    }

    fn special(z: C128) -> C128 {
        let half = (z.im * 0.5).sin();
        complex(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, z.re.exp() * z.im.sin())
    }
}

/// `e^x (cos y, sin y)` times `by`, for finite `y`, without overflow on the way.
pub(super) fn exp_polar(x: f64, y: f64, by: f64) -> C128 {
    let (sin, cos) = y.sin_cos();
    if x > 709.0 && x < 1500.0 {
        let half = (x * 0.5).exp();
        return complex(half * (by * cos) * half, half * (by * sin) * half);
    }
    let size = x.exp() * by;
    complex(size * cos, size * sin)
}

fn exp(z: C128) -> C128 {
    let C128 { re, im } = z;
    if im == 0.0 {
        return complex(re.exp(), im);
    }
    if !im.is_finite() {
        if re == f64::NEG_INFINITY {
            return complex(0.0, 0.0);
        }
        let nan = invalid(im);
        return complex(if re == f64::INFINITY { re } else { nan }, nan);
    }
    if re.is_nan() {
        return complex(re, re);
    }
    exp_polar(re, im, 1.0)
}
