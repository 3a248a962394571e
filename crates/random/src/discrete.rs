//! Discrete distributions: Poisson, geometric, Zipf, logarithmic series. `binomial.rs` and `hypergeometric.rs` have
//! the others.

use crate::bits::Bits;
use crate::gamma::{Normals, standard_gamma};
use crate::normal::standard_exponential;

/// A double as C casts it to an int64: what does not fit is the least of them.
#[inline]
pub fn to_i64(x: f64) -> i64 {
    if (-9.223372036854776e18..9.223372036854776e18).contains(&x) { x as i64 } else { i64::MIN }
}

/// ln Γ(x) by the series of Zhang and Jin.
pub fn log_gamma(x: f64) -> f64 {
    const SERIES: [f64; 10] = [
        8.333333333333333e-02,
        -2.777777777777778e-03,
        7.936507936507937e-04,
        -5.952380952380952e-04,
        8.417508417508418e-04,
        -1.917526917526918e-03,
        6.410256410256410e-03,
        -2.955065359477124e-02,
        1.796443723688307e-01,
        -1.39243221690590e+00,
    ];
    if x == 1.0 || x == 2.0 {
        return 0.0;
    }
    // Moved up to where the series holds.
    let n = if x < 7.0 { (7.0 - x) as i64 } else { 0 };
    let mut x0 = x + n as f64;
    let x2 = (1.0 / x0) * (1.0 / x0);
    let mut sum = SERIES[9];
    for k in (0..9).rev() {
        sum = sum * x2 + SERIES[k];
    }
    let mut value = sum / x0 + 0.5 * 1.8378770664093453e+00 + (x0 - 0.5) * x0.ln() - x0;
    if x < 7.0 {
        for _ in 0..n {
            value -= (x0 - 1.0).ln();
            x0 -= 1.0;
        }
    }
    value
}

pub fn poisson<B: Bits>(bits: &mut B, lam: f64) -> i64 {
    if lam >= 10.0 {
        poisson_rejection(bits, lam)
    } else if lam == 0.0 {
        0
    } else {
        let limit = (-lam).exp();
        let (mut x, mut product) = (0, 1.0);
        loop {
            product *= bits.next_f64();
            if product > limit {
                x += 1;
            } else {
                return x;
            }
        }
    }
}

/// Hörmann's transformed rejection.
fn poisson_rejection<B: Bits>(bits: &mut B, lam: f64) -> i64 {
    let log_lam = lam.ln();
    let b = 0.931 + 2.53 * lam.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inv_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let vr = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = bits.next_f64() - 0.5;
        let v = bits.next_f64();
        let us = 0.5 - u.abs();
        let k = to_i64(((2.0 * a / us + b) * u + lam + 0.43).floor());
        if us >= 0.07 && v <= vr {
            return k;
        }
        if k < 0 || (us < 0.013 && v > us) {
            continue;
        }
        let x = k as f64;
        if v.ln() + inv_alpha.ln() - (a / (us * us) + b).ln() <= -lam + x * log_lam - log_gamma(x + 1.0) {
            return k;
        }
    }
}

/// The gamma of a negative binomial; its Poisson is the answer.
#[inline]
pub fn negative_binomial_mean(n: &mut impl Normals, count: f64, p: f64) -> f64 {
    ((1.0 - p) / p) * standard_gamma(n, count)
}

/// From a third on, the probabilities are added up one by one.
pub fn geometric_search<B: Bits>(bits: &mut B, p: f64) -> i64 {
    let (mut sum, mut product) = (p, p);
    let q = 1.0 - p;
    let u = bits.next_f64();
    let mut x = 1;
    while u > sum {
        product *= q;
        sum += product;
        x += 1;
    }
    x
}

pub fn geometric<B: Bits>(bits: &mut B, p: f64) -> i64 {
    if p >= 0.333333333333333333333333 {
        return geometric_search(bits, p);
    }
    let z = (-standard_exponential(bits) / (-p).ln_1p()).ceil();
    if z >= 9.223372036854776e+18 { i64::MAX } else { to_i64(z) }
}

pub fn zipf<B: Bits>(bits: &mut B, a: f64) -> i64 {
    // Beyond this the powers overflow, and anything but one has no probability left.
    if a >= 1025.0 {
        return 1;
    }
    let am1 = a - 1.0;
    let b = 2f64.powf(am1);
    let least = (i64::MAX as f64).powf(-am1);
    loop {
        let u01 = bits.next_f64();
        let u = u01 * least + (1.0 - u01);
        if let Some(x) = zipf_accepts(bits, u, am1, b) {
            return x;
        }
    }
}

/// One try with the uniform `u`.
pub fn zipf_accepts<B: Bits>(bits: &mut B, u: f64, am1: f64, b: f64) -> Option<i64> {
    let v = bits.next_f64();
    let x = u.powf(-1.0 / am1).floor();
    if x > i64::MAX as f64 || x < 1.0 {
        return None;
    }
    let t = (1.0 + 1.0 / x).powf(am1);
    (v * x * (t - 1.0) / (b - 1.0) <= t / b).then(|| to_i64(x))
}

/// `legacy`: by plain logarithms and exponentials, which lose small probabilities.
pub fn logseries<B: Bits>(bits: &mut B, p: f64, legacy: bool) -> i64 {
    let r = if legacy { (1.0 - p).ln() } else { (-p).ln_1p() };
    loop {
        let v = bits.next_f64();
        if v >= p {
            return 1;
        }
        let u = bits.next_f64();
        let q = if legacy { 1.0 - (r * u).exp() } else { -(r * u).exp_m1() };
        if v <= q * q {
            let x = to_i64((1.0 + v.ln() / q.ln()).floor());
            if x < 1 || v == 0.0 {
                continue;
            }
            return x;
        }
        return if v >= q { 1 } else { 2 };
    }
}
