//! What `RandomState` draws in its own way: normals by the polar method, two at a time, and what is made of them.

use crate::bits::Bits;
use crate::discrete::{geometric_search, poisson, to_i64, zipf_accepts};
use crate::gamma::{Normals, chisquare, standard_gamma};

/// The second normal of a pair, kept for the next call.
pub type Kept = Option<f64>;

/// Normals by the polar method, exponentials by the logarithm.
pub struct Polar<'a, B> {
    pub bits: &'a mut B,
    pub kept: &'a mut Kept,
}

impl<B: Bits> Normals for Polar<'_, B> {
    #[inline]
    fn uniform(&mut self) -> f64 {
        self.bits.next_f64()
    }

    #[inline]
    fn normal(&mut self) -> f64 {
        if let Some(x) = self.kept.take() {
            return x;
        }
        loop {
            let x1 = 2.0 * self.bits.next_f64() - 1.0;
            let x2 = 2.0 * self.bits.next_f64() - 1.0;
            let r2 = x1 * x1 + x2 * x2;
            if r2 < 1.0 && r2 != 0.0 {
                let f = (-2.0 * r2.ln() / r2).sqrt();
                *self.kept = Some(f * x1);
                return f * x2;
            }
        }
    }

    #[inline]
    fn exponential(&mut self) -> f64 {
        -(1.0 - self.bits.next_f64()).ln()
    }
}

pub fn noncentral_chisquare<B: Bits>(n: &mut Polar<B>, df: f64, nonc: f64) -> f64 {
    if nonc == 0.0 {
        return chisquare(n, df);
    }
    if 1.0 < df {
        let chi2 = chisquare(n, df - 1.0);
        let shifted = n.normal() + nonc.sqrt();
        return chi2 + shifted * shifted;
    }
    let i = poisson(n.bits, nonc / 2.0);
    let out = chisquare(n, df + i.wrapping_mul(2) as f64);
    if nonc.is_nan() { f64::NAN } else { out }
}

pub fn noncentral_f<B: Bits>(n: &mut Polar<B>, over: f64, under: f64, nonc: f64) -> f64 {
    let t = noncentral_chisquare(n, over, nonc) * under;
    t / (chisquare(n, under) * over)
}

pub fn wald(n: &mut impl Normals, mean: f64, scale: f64) -> f64 {
    let half = mean / (2.0 * scale);
    let y = n.normal();
    let y = mean * y * y;
    let x = mean + half * (y - (4.0 * scale * y + y * y).sqrt());
    if n.uniform() <= mean / (mean + x) { x } else { mean * mean / x }
}

pub fn beta(n: &mut impl Normals, a: f64, b: f64) -> f64 {
    if !(a <= 1.0 && b <= 1.0) {
        let x = standard_gamma(n, a);
        let y = standard_gamma(n, b);
        return x / (x + y);
    }
    loop {
        let (u, v) = (n.uniform(), n.uniform());
        let (x, y) = (u.powf(1.0 / a), v.powf(1.0 / b));
        if x + y > 1.0 {
            continue;
        }
        if x + y > 0.0 {
            return x / (x + y);
        }
        let (x, y) = (u.ln() / a, v.ln() / b);
        let top = if x > y { x } else { y };
        let (x, y) = (x - top, y - top);
        return (x - (x.exp() + y.exp()).ln()).exp();
    }
}

pub fn zipf<B: Bits>(bits: &mut B, a: f64) -> i64 {
    let am1 = a - 1.0;
    let b = 2f64.powf(am1);
    loop {
        let u = 1.0 - bits.next_f64();
        if let Some(x) = zipf_accepts(bits, u, am1, b) {
            return x;
        }
    }
}

pub fn geometric<B: Bits>(bits: &mut B, p: f64) -> i64 {
    if p >= 0.333333333333333333333333 {
        return geometric_search(bits, p);
    }
    to_i64(((-bits.next_f64()).ln_1p() / (1.0 - p).ln()).ceil())
}
