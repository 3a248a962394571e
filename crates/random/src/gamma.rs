//! The gamma distribution and what is made of it. Each comes over a `Normals`: today's ziggurats, or the polar
//! method and the logarithm of `RandomState`.

use crate::bits::Bits;
use crate::normal;

/// Where standard normals and exponentials come from.
pub trait Normals {
    fn uniform(&mut self) -> f64;
    fn normal(&mut self) -> f64;
    fn exponential(&mut self) -> f64;
}

/// By ziggurat.
pub struct Ziggurat<'a, B>(pub &'a mut B);

impl<B: Bits> Normals for Ziggurat<'_, B> {
    #[inline]
    fn uniform(&mut self) -> f64 {
        self.0.next_f64()
    }

    #[inline]
    fn normal(&mut self) -> f64 {
        normal::standard_normal(self.0)
    }

    #[inline]
    fn exponential(&mut self) -> f64 {
        normal::standard_exponential(self.0)
    }
}

/// Marsaglia and Tsang's method from one on, Ahrens and Dieter's below.
pub fn standard_gamma(n: &mut impl Normals, shape: f64) -> f64 {
    if shape == 1.0 {
        return n.exponential();
    }
    if shape == 0.0 {
        return 0.0;
    }
    if shape < 1.0 {
        loop {
            let u = n.uniform();
            let v = n.exponential();
            if u <= 1.0 - shape {
                let x = u.powf(1.0 / shape);
                if x <= v {
                    return x;
                }
            } else {
                let y = -((1.0 - u) / shape).ln();
                let x = (1.0 - shape + shape * y).powf(1.0 / shape);
                if x <= v + y {
                    return x;
                }
            }
        }
    }
    let b = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * b).sqrt();
    loop {
        let (x, v) = loop {
            let x = n.normal();
            let v = 1.0 + c * x;
            // Not `v > 0`: a shape that is not a number must end the search too.
            if !(v <= 0.0) {
                break (x, v);
            }
        };
        let v = v * v * v;
        let u = n.uniform();
        if u < 1.0 - 0.0331 * (x * x) * (x * x) || u.ln() < 0.5 * x * x + b * (1.0 - v + v.ln()) {
            return b * v;
        }
    }
}

pub fn standard_gamma_f32<B: Bits>(bits: &mut B, shape: f32) -> f32 {
    if shape == 1.0 {
        return normal::standard_exponential_f32(bits);
    }
    if shape == 0.0 {
        return 0.0;
    }
    if shape < 1.0 {
        loop {
            let u = bits.next_f32();
            let v = normal::standard_exponential_f32(bits);
            if u <= 1.0 - shape {
                let x = u.powf(1.0 / shape);
                if x <= v {
                    return x;
                }
            } else {
                let y = -((1.0 - u) / shape).ln();
                let x = (1.0 - shape + shape * y).powf(1.0 / shape);
                if x <= v + y {
                    return x;
                }
            }
        }
    }
    let b = shape - 1.0f32 / 3.0f32;
    let c = 1.0 / (9.0 * b).sqrt();
    loop {
        let (x, v) = loop {
            let x = normal::standard_normal_f32(bits);
            let v = 1.0 + c * x;
            if !(v <= 0.0) {
                break (x, v);
            }
        };
        let v = v * v * v;
        let u = bits.next_f32();
        if u < 1.0 - 0.0331f32 * (x * x) * (x * x) || u.ln() < 0.5 * x * x + b * (1.0 - v + v.ln()) {
            return b * v;
        }
    }
}

#[inline]
pub fn chisquare(n: &mut impl Normals, df: f64) -> f64 {
    2.0 * standard_gamma(n, df / 2.0)
}

pub fn standard_t(n: &mut impl Normals, df: f64) -> f64 {
    let over = n.normal();
    let under = standard_gamma(n, df / 2.0);
    (df / 2.0).sqrt() * over / under.sqrt()
}

pub fn f(n: &mut impl Normals, over: f64, under: f64) -> f64 {
    let a = chisquare(n, over) * under;
    let b = chisquare(n, under) * over;
    a / b
}

/// Johnk's method where both are at most one; shapes that are next to nothing make zeros and ones.
pub fn beta(n: &mut impl Normals, a: f64, b: f64) -> f64 {
    const TINY: f64 = 3e-103;
    if a > 1.0 || b > 1.0 || a.is_nan() || b.is_nan() {
        let x = standard_gamma(n, a);
        let y = standard_gamma(n, b);
        return x / (x + y);
    }
    if a < TINY && b < TINY {
        return ((a + b) * n.uniform() < a) as u8 as f64;
    }
    loop {
        let (u, v) = (n.uniform(), n.uniform());
        let (x, y) = (u.powf(1.0 / a), v.powf(1.0 / b));
        let sum = x + y;
        if sum > 1.0 || u + v <= 0.0 {
            continue;
        }
        if x > 0.0 && y > 0.0 {
            return x / sum;
        }
        // One of them underflowed: the ratio is taken from the logarithms.
        let delta = u.ln() / a - v.ln() / b;
        return if delta > 0.0 { (-(-delta).exp().ln_1p()).exp() } else { (delta - delta.exp().ln_1p()).exp() };
    }
}
