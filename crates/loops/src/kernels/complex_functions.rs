//! Elementary functions of complex numbers, with the special values and branch cuts of C99's Annex G.
//!
//! All compute in `f64`; `complex64` widens and rounds. Functions of the circle are those of the
//! hyperbola turned by a quarter: `sin(z) = -i sinh(iz)` and so on.

use crate::element::{C64, C128, complex};
use crate::kernel_macros::one;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, LOG10_E, PI};

macro_rules! functions {
    ($($k:ident = $f:ident;)*) => { $(
        one!($k, Scalar, [C128], |a| $f(a));
        one!($k, Scalar, [C64], |a| $f(a.widen()).narrow());
    )* };
}

functions! {
    Sqrt = sqrt;
    Exp = exp;
    Exp2 = exp2;
    Expm1 = expm1;
    Log = log;
    Log2 = log2;
    Log10 = log10;
    Log1p = log1p;
    Sin = sin;
    Cos = cos;
    Tan = tan;
    Arcsin = arcsin;
    Arccos = arccos;
    Arctan = arctan;
    Sinh = sinh;
    Cosh = cosh;
    Tanh = tanh;
    Arcsinh = arcsinh;
    Arccosh = arccosh;
    Arctanh = arctanh;
}

/// `i z`.
fn turned(z: C128) -> C128 {
    complex(-z.im, z.re)
}

/// `-i z`.
fn turned_back(z: C128) -> C128 {
    complex(z.im, -z.re)
}

fn scaled(z: C128, by: f64) -> C128 {
    complex(z.re * by, z.im * by)
}

/// NaN of an infinity, raising "invalid", and of NaN; zero of a finite number.
fn invalid(x: f64) -> f64 {
    x * 0.0
}

pub fn sqrt(z: C128) -> C128 {
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
    let half = ((re.abs() + length(re, im)) * 0.5).sqrt();
    let other = im / (2.0 * half);
    if re >= 0.0 { complex(half * down, other * down) } else { complex(other.abs() * down, half.copysign(im) * down) }
}

/// `e^x (cos y, sin y)` times `by`, for finite `y`, without overflow on the way.
fn exp_polar(x: f64, y: f64, by: f64) -> C128 {
    let (sin, cos) = y.sin_cos();
    if x > 709.0 && x < 1500.0 {
        let half = (x * 0.5).exp();
        return complex(half * (by * cos) * half, half * (by * sin) * half);
    }
    let size = x.exp() * by;
    complex(size * cos, size * sin)
}

pub fn exp(z: C128) -> C128 {
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

fn exp2(z: C128) -> C128 {
    exp(scaled(z, LN_2))
}

fn expm1(z: C128) -> C128 {
    let half = (z.im * 0.5).sin();
    complex(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, z.re.exp() * z.im.sin())
}

/// `x*x + y*y - 1`, with the rounding errors put back.
fn norm_minus_one(x: f64, y: f64) -> f64 {
    let (xx, yy) = (x * x, y * y);
    let (xx_lost, yy_lost) = (x.mul_add(x, -xx), y.mul_add(y, -yy));
    let (above, above_lost) = exact_sum(xx, -1.0);
    let (sum, sum_lost) = exact_sum(above, yy);
    sum + (sum_lost + (above_lost + (xx_lost + yy_lost)))
}

/// The rounded sum, and what rounding lost.
fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let back = sum - a;
    (sum, (a - (sum - back)) + (b - back))
}

/// Logarithm of the length of `z`.
fn log_length(z: C128) -> f64 {
    if z.re.is_nan() || z.im.is_nan() {
        return z.re.hypot(z.im);
    }
    let (large, small) = (z.re.abs().max(z.im.abs()), z.re.abs().min(z.im.abs()));
    if large > 0.3 && large < 2.0 {
        return 0.5 * norm_minus_one(large, small).ln_1p();
    }
    if large.is_finite() && large > f64::MAX / 2.0 {
        return (large * 0.5).hypot(small * 0.5).ln() + LN_2;
    }
    if large < f64::MIN_POSITIVE * 4.0 && large > 0.0 {
        return (large * 2f64.powi(54)).hypot(small * 2f64.powi(54)).ln() - 54.0 * LN_2;
    }
    length(z.re, z.im).ln()
}

/// `hypot`, by squares where they and their sum are normal numbers.
fn length(re: f64, im: f64) -> f64 {
    let size = re.abs().max(im.abs());
    if size > 1e-140 && size < 1e150 { (re * re + im * im).sqrt() } else { re.hypot(im) }
}

pub fn log(z: C128) -> C128 {
    complex(log_length(z), z.im.atan2(z.re))
}

fn log2(z: C128) -> C128 {
    scaled(log(z), LOG2_E)
}

fn log10(z: C128) -> C128 {
    scaled(log(z), LOG10_E)
}

fn log1p(z: C128) -> C128 {
    complex((z.re + 1.0).hypot(z.im).ln(), z.im.atan2(z.re + 1.0))
}

/// From here on `sinh` and `cosh` are both `e^|x| / 2`.
const HYPERBOLIC_IS_EXP: f64 = 22.0;

pub fn sinh(z: C128) -> C128 {
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

pub fn cosh(z: C128) -> C128 {
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

pub fn tanh(z: C128) -> C128 {
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
    // tanh(x + iy) over tan(y): beta is 1 / cos(y)^2, rho is cosh(x).
    let tan = im.tan();
    let beta = 1.0 + tan * tan;
    let sinh = re.sinh();
    let rho = (1.0 + sinh * sinh).sqrt();
    if tan.is_infinite() {
        return complex(rho / sinh, 1.0 / tan);
    }
    let denominator = 1.0 + beta * sinh * sinh;
    complex(beta * rho * sinh / denominator, tan / denominator)
}

fn sin(z: C128) -> C128 {
    if z.im.is_infinite() && !z.re.is_finite() {
        return complex(invalid(z.re), f64::INFINITY);
    }
    turned_back(sinh(turned(z)))
}

fn cos(z: C128) -> C128 {
    cosh(turned(z))
}

fn tan(z: C128) -> C128 {
    turned_back(tanh(turned(z)))
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
pub fn arcsinh(z: C128) -> C128 {
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

fn arcsin(z: C128) -> C128 {
    turned_back(arcsinh(turned(z)))
}

pub fn arccos(z: C128) -> C128 {
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

pub fn arctanh(z: C128) -> C128 {
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

fn arctan(z: C128) -> C128 {
    turned_back(arctanh(turned(z)))
}
