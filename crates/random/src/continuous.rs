//! Continuous distributions with one, two or three parameters, made of uniforms, normals and exponentials.

use crate::bits::Bits;
use crate::discrete::poisson;
use crate::gamma::{Ziggurat, chisquare};
use crate::normal::{standard_exponential, standard_normal};
use std::f64::consts::PI;

#[inline]
pub fn standard_cauchy<B: Bits>(bits: &mut B) -> f64 {
    let over = standard_normal(bits);
    over / standard_normal(bits)
}

#[inline]
pub fn pareto<B: Bits>(bits: &mut B, a: f64) -> f64 {
    (standard_exponential(bits) / a).exp_m1()
}

#[inline]
pub fn weibull<B: Bits>(bits: &mut B, a: f64) -> f64 {
    if a == 0.0 { 0.0 } else { standard_exponential(bits).powf(1.0 / a) }
}

#[inline]
pub fn power<B: Bits>(bits: &mut B, a: f64) -> f64 {
    (-(-standard_exponential(bits)).exp_m1()).powf(1.0 / a)
}

#[inline]
pub fn rayleigh<B: Bits>(bits: &mut B, scale: f64) -> f64 {
    scale * (2.0 * standard_exponential(bits)).sqrt()
}

pub fn laplace<B: Bits>(bits: &mut B, loc: f64, scale: f64) -> f64 {
    loop {
        let u = bits.next_f64();
        if u >= 0.5 {
            return loc - scale * (2.0 - u - u).ln();
        } else if u > 0.0 {
            return loc + scale * (u + u).ln();
        }
    }
}

pub fn gumbel<B: Bits>(bits: &mut B, loc: f64, scale: f64) -> f64 {
    loop {
        let u = 1.0 - bits.next_f64();
        if u < 1.0 {
            return loc - scale * (-u.ln()).ln();
        }
    }
}

pub fn logistic<B: Bits>(bits: &mut B, loc: f64, scale: f64) -> f64 {
    loop {
        let u = bits.next_f64();
        if u > 0.0 {
            return loc + scale * (u / (1.0 - u)).ln();
        }
    }
}

pub fn noncentral_chisquare<B: Bits>(bits: &mut B, df: f64, nonc: f64) -> f64 {
    if nonc.is_nan() {
        return f64::NAN;
    }
    if nonc == 0.0 {
        return chisquare(&mut Ziggurat(bits), df);
    }
    if 1.0 < df {
        let chi2 = chisquare(&mut Ziggurat(bits), df - 1.0);
        let n = standard_normal(bits) + nonc.sqrt();
        return chi2 + n * n;
    }
    let i = poisson(bits, nonc / 2.0);
    chisquare(&mut Ziggurat(bits), df + i.wrapping_mul(2) as f64)
}

pub fn noncentral_f<B: Bits>(bits: &mut B, over: f64, under: f64, nonc: f64) -> f64 {
    let t = noncentral_chisquare(bits, over, nonc) * under;
    t / (chisquare(&mut Ziggurat(bits), under) * over)
}

pub fn wald<B: Bits>(bits: &mut B, mean: f64, scale: f64) -> f64 {
    let y = standard_normal(bits);
    let y = mean * y * y;
    let d = 1.0 + (1.0 + 4.0 * scale / y).sqrt();
    let x = mean * (1.0 - 2.0 / d);
    if bits.next_f64() <= mean / (mean + x) { x } else { mean * mean / x }
}

pub fn triangular<B: Bits>(bits: &mut B, left: f64, mode: f64, right: f64) -> f64 {
    let base = right - left;
    let left_base = mode - left;
    let u = bits.next_f64();
    if u <= left_base / base {
        left + (u * (left_base * base)).sqrt()
    } else {
        right - ((1.0 - u) * ((right - mode) * base)).sqrt()
    }
}

/// `legacy`: the rejection method for every concentration, where today a very large one is a wrapped normal.
pub fn vonmises<B: Bits>(bits: &mut B, mu: f64, kappa: f64, legacy: bool) -> f64 {
    if kappa.is_nan() {
        return f64::NAN;
    }
    if kappa < 1e-8 {
        return PI * (2.0 * bits.next_f64() - 1.0);
    }
    if kappa > 1e6 && !legacy {
        let mut x = mu + (1.0 / kappa).sqrt() * standard_normal(bits);
        if x < -PI {
            x += 2.0 * PI;
        }
        if x > PI {
            x -= 2.0 * PI;
        }
        return x;
    }
    let s = if kappa < 1e-5 {
        1.0 / kappa + kappa
    } else {
        let r = 1.0 + (1.0 + 4.0 * kappa * kappa).sqrt();
        let rho = (r - (2.0 * r).sqrt()) / (2.0 * kappa);
        (1.0 + rho * rho) / (2.0 * rho)
    };
    let w = loop {
        let z = (PI * bits.next_f64()).cos();
        let w = (1.0 + s * z) / (s + z);
        let y = kappa * (s - w);
        let v = bits.next_f64();
        if y * (2.0 - y) - v >= 0.0 || (y / v).ln() + 1.0 - y >= 0.0 {
            break w;
        }
    };
    let u = bits.next_f64();
    let turn = if u < 0.5 { -w.acos() } else { w.acos() } + mu;
    let wrapped = (turn.abs() + PI) % (2.0 * PI) - PI;
    if turn < 0.0 { wrapped * -1.0 } else { wrapped }
}
