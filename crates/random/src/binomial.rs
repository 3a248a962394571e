//! The binomial distribution: inversion where few successes are expected, otherwise the BTPE rejection of
//! Kachitvichyanukul and Schmeiser; and the multinomial made of it.

use crate::bits::Bits;
use crate::discrete::{floor_i64, to_i64};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a generator's last test is by the corrected series, as NumPy has it from 2.5 on. `RandomState` keeps the old.
static CORRECTED: AtomicBool = AtomicBool::new(false);

/// For a NumPy whose generators draw binomials by the corrected series. Before the first draw.
pub fn correct_series(on: bool) {
    CORRECTED.store(on, Ordering::Relaxed);
}

/// What depends on the parameters alone.
#[derive(Clone, Copy)]
enum Method {
    Nothing,
    Inversion { q: f64, none: f64, bound: i64 },
    Rejection(Btpe),
}

#[derive(Clone, Copy)]
pub struct Binomial {
    n: i64,
    /// The smaller of the two probabilities.
    p: f64,
    /// Whether successes and failures changed places.
    swapped: bool,
    method: Method,
}

#[derive(Clone, Copy)]
struct Btpe {
    r: f64,
    q: f64,
    m: i64,
    p1: f64,
    xm: f64,
    xl: f64,
    xr: f64,
    c: f64,
    laml: f64,
    lamr: f64,
    p2: f64,
    p3: f64,
    p4: f64,
    corrected: bool,
}

impl Binomial {
    /// `legacy`: the chance of no success by a plain logarithm, and words are drawn even for no trials.
    pub fn new(n: i64, p: f64, legacy: bool) -> Binomial {
        let swapped = p > 0.5;
        let small = if swapped { 1.0 - p } else { p };
        let method = if !legacy && (n == 0 || p == 0.0) {
            Method::Nothing
        } else if small * n as f64 <= 30.0 {
            let x = n as f64;
            let q = 1.0 - small;
            let none = if legacy { (x * q.ln()).exp() } else { (x * (-small).ln_1p()).exp() };
            let np = x * small;
            let bound = np + 10.0 * (np * q + 1.0).sqrt();
            Method::Inversion { q, none, bound: to_i64(if x < bound { x } else { bound }) }
        } else {
            Method::Rejection(Btpe::new(n, small, !legacy && CORRECTED.load(Ordering::Relaxed)))
        };
        let swapped = swapped && !matches!(method, Method::Nothing);
        Binomial { n, p: small, swapped, method }
    }

    pub fn draw<B: Bits>(&self, bits: &mut B) -> i64 {
        let successes = match &self.method {
            Method::Nothing => 0,
            &Method::Inversion { q, none, bound } => self.invert(bits, q, none, bound),
            Method::Rejection(btpe) => btpe.draw(bits, self.n),
        };
        if self.swapped { self.n - successes } else { successes }
    }

    fn invert<B: Bits>(&self, bits: &mut B, q: f64, none: f64, bound: i64) -> i64 {
        let (mut x, mut chance) = (0i64, none);
        let mut u = bits.next_f64();
        while u > chance {
            x += 1;
            if x > bound {
                (x, chance) = (0, none);
                u = bits.next_f64();
            } else {
                u -= chance;
                chance = ((self.n - x + 1) as f64 * self.p * chance) / (x as f64 * q);
            }
        }
        x
    }
}

impl Btpe {
    fn new(n: i64, p: f64, corrected: bool) -> Btpe {
        let x = n as f64;
        let r = if p < 1.0 - p { p } else { 1.0 - p };
        let q = 1.0 - r;
        let fm = x * r + r;
        let m = floor_i64(fm);
        let p1 = (2.195 * (x * r * q).sqrt() - 4.6 * q).floor() + 0.5;
        let xm = m as f64 + 0.5;
        let (xl, xr) = (xm - p1, xm + p1);
        let c = 0.134 + 20.5 / (15.3 + m as f64);
        let a = (fm - xl) / (fm - xl * r);
        let laml = a * (1.0 + a / 2.0);
        let a = (xr - fm) / (xr * q);
        let lamr = a * (1.0 + a / 2.0);
        let p2 = p1 * (1.0 + 2.0 * c);
        let p3 = p2 + c / laml;
        Btpe { r, q, m, p1, xm, xl, xr, c, laml, lamr, p2, p3, p4: p3 + c / lamr, corrected }
    }

    fn draw<B: Bits>(&self, bits: &mut B, n: i64) -> i64 {
        loop {
            let u = bits.next_f64() * self.p4;
            let v = bits.next_f64();
            if u <= self.p1 {
                // The triangle in the middle needs no test.
                return floor_i64(self.xm - self.p1 * v + u);
            }
            let Some((y, v)) = self.candidate(u, v, n) else { continue };
            if self.accepts(y, v, n) {
                return y;
            }
        }
    }

    /// The place under the parallelograms or an exponential tail, and the height there.
    fn candidate(&self, u: f64, v: f64, n: i64) -> Option<(i64, f64)> {
        if u <= self.p2 {
            let x = self.xl + (u - self.p1) / self.c;
            let v = v * self.c + 1.0 - (self.m as f64 - x + 0.5).abs() / self.p1;
            return (v <= 1.0 || v.is_nan()).then(|| (floor_i64(x), v));
        }
        if u <= self.p3 {
            let y = floor_i64(self.xl + v.ln() / self.laml);
            return (y >= 0 && v != 0.0).then_some((y, v * (u - self.p2) * self.laml));
        }
        let y = floor_i64(self.xr - v.ln() / self.lamr);
        (y <= n && v != 0.0).then_some((y, v * (u - self.p3) * self.lamr))
    }

    fn accepts(&self, y: i64, v: f64, n: i64) -> bool {
        let (r, q, m) = (self.r, self.q, self.m);
        let nrq = n as f64 * r * q;
        let k = (y - m).abs();
        if !(k > 20 && (k as f64) < nrq / 2.0 - 1.0) {
            let s = r / q;
            let a = s * (n + 1) as f64;
            let mut f = 1.0;
            for i in m + 1..=y {
                f *= a / i as f64 - s;
            }
            for i in y + 1..=m {
                f /= a / i as f64 - s;
            }
            return !(v > f);
        }
        let x = k as f64;
        let rho = (x / nrq) * ((x * (x / 3.0 + 0.625) + 0.16666666666666666) / nrq + 0.5);
        let t = k.wrapping_neg().wrapping_mul(k) as f64 / (2.0 * nrq);
        let a = v.ln();
        if a < t - rho {
            return true;
        }
        if a > t + rho {
            return false;
        }
        let x1 = y as f64 + 1.0;
        let f1 = m as f64 + 1.0;
        let z = n as f64 + 1.0 - m as f64;
        let w = n as f64 - y as f64 + 1.0;
        // The paper has two digits changed places, and two signs wrong.
        let (first, sign) = if self.corrected { (13860., -1.) } else { (13680., 1.) };
        let term = |x: f64| {
            let x2 = x * x;
            (first - (462. - (132. - (99. - 140. / x2) / x2) / x2) / x2) / x / 166320.
        };
        let limit = self.xm * (f1 / x1).ln()
            + ((n - m) as f64 + 0.5) * (z / w).ln()
            + (y - m) as f64 * (w * r / (x1 * q)).ln()
            + term(f1)
            + term(z)
            + sign * term(x1)
            + sign * term(w);
        !(a > limit)
    }
}

/// One multinomial: how many of `n` fall to each probability. `out` is zero before. `RandomState` draws it alike, until
/// NumPy corrected the series for generators only: `legacy` is for it from then on.
pub fn multinomial<B: Bits>(bits: &mut B, n: i64, p: &[f64], legacy: bool, out: &mut [i64]) {
    let legacy = legacy && CORRECTED.load(Ordering::Relaxed);
    let mut left = n;
    let mut p_left = 1.0;
    let Some(last) = p.len().checked_sub(1) else { return };
    for j in 0..last {
        out[j] = Binomial::new(left, p[j] / p_left, legacy).draw(bits);
        left -= out[j];
        if left <= 0 {
            break;
        }
        p_left -= p[j];
    }
    if left > 0 {
        out[last] = left;
    }
}
