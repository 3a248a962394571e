//! Distributions that nearly always take one word an element: what `split.rs` divides.

use crate::bits::Bits;
use crate::bounded::{Bounded, mask};
use crate::normal;

/// One element at a time from a stream of words of one width.
pub trait Sampler: Copy + Send + Sync + 'static {
    type Out: Copy;
    /// Of 64-bit words, or of 32-bit ones.
    const WIDE: bool;

    /// The element that the word makes by itself; none if more words are needed, or may be.
    fn alone<B: Bits>(&self, word: u64) -> Option<Self::Out>;

    /// The next element.
    fn sample<B: Bits>(&self, bits: &mut B) -> Self::Out;
}

/// What becomes of a standard normal.
#[derive(Clone, Copy, Debug)]
pub enum OfNormal {
    Itself,
    Affine { loc: f64, scale: f64 },
    Exp { mean: f64, sigma: f64 },
}

impl OfNormal {
    #[inline(always)]
    fn of(&self, x: f64) -> f64 {
        match *self {
            OfNormal::Itself => x,
            OfNormal::Affine { loc, scale } => loc + scale * x,
            OfNormal::Exp { mean, sigma } => (mean + sigma * x).exp(),
        }
    }
}

impl Sampler for OfNormal {
    type Out = f64;
    const WIDE: bool = true;

    #[inline(always)]
    fn alone<B: Bits>(&self, word: u64) -> Option<f64> {
        let (x, is_core) = normal::normal_core(word);
        is_core.then(|| self.of(x))
    }

    #[inline(always)]
    fn sample<B: Bits>(&self, bits: &mut B) -> f64 {
        self.of(normal::standard_normal(bits))
    }
}

/// What becomes of a standard exponential.
#[derive(Clone, Copy, Debug)]
pub enum OfExponential {
    Itself,
    Scaled { scale: f64 },
    Rayleigh { scale: f64 },
    Pareto { a: f64 },
    Weibull { a: f64 },
    Power { a: f64 },
}

impl OfExponential {
    #[inline(always)]
    fn of(&self, x: f64) -> f64 {
        match *self {
            OfExponential::Itself => x,
            OfExponential::Scaled { scale } => scale * x,
            OfExponential::Rayleigh { scale } => scale * (2.0 * x).sqrt(),
            OfExponential::Pareto { a } => (x / a).exp_m1(),
            OfExponential::Weibull { a } => x.powf(1.0 / a),
            OfExponential::Power { a } => (-(-x).exp_m1()).powf(1.0 / a),
        }
    }
}

impl Sampler for OfExponential {
    type Out = f64;
    const WIDE: bool = true;

    #[inline(always)]
    fn alone<B: Bits>(&self, word: u64) -> Option<f64> {
        let (x, is_core) = normal::exponential_core(word);
        is_core.then(|| self.of(x))
    }

    #[inline(always)]
    fn sample<B: Bits>(&self, bits: &mut B) -> f64 {
        self.of(normal::standard_exponential(bits))
    }
}

/// What becomes of a uniform that is not zero.
#[derive(Clone, Copy, Debug)]
pub enum OfUniform {
    Laplace { loc: f64, scale: f64 },
    Gumbel { loc: f64, scale: f64 },
    Logistic { loc: f64, scale: f64 },
}

impl OfUniform {
    #[inline(always)]
    fn of(&self, u: f64) -> f64 {
        match *self {
            OfUniform::Laplace { loc, scale } if u >= 0.5 => loc - scale * (2.0 - u - u).ln(),
            OfUniform::Laplace { loc, scale } => loc + scale * (u + u).ln(),
            OfUniform::Gumbel { loc, scale } => loc - scale * (-(1.0 - u).ln()).ln(),
            OfUniform::Logistic { loc, scale } => loc + scale * (u / (1.0 - u)).ln(),
        }
    }
}

impl Sampler for OfUniform {
    type Out = f64;
    const WIDE: bool = true;

    #[inline(always)]
    fn alone<B: Bits>(&self, word: u64) -> Option<f64> {
        let u = B::to_f64(word);
        (u > 0.0).then(|| self.of(u))
    }

    #[inline(always)]
    fn sample<B: Bits>(&self, bits: &mut B) -> f64 {
        loop {
            let u = bits.next_f64();
            if u > 0.0 {
                return self.of(u);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct NormalF32;

impl Sampler for NormalF32 {
    type Out = f32;
    const WIDE: bool = false;

    #[inline(always)]
    fn alone<B: Bits>(&self, word: u64) -> Option<f32> {
        let (x, is_core) = normal::normal_core_f32(word as u32);
        is_core.then_some(x)
    }

    #[inline(always)]
    fn sample<B: Bits>(&self, bits: &mut B) -> f32 {
        normal::standard_normal_f32(bits)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ExponentialF32;

impl Sampler for ExponentialF32 {
    type Out = f32;
    const WIDE: bool = false;

    #[inline(always)]
    fn alone<B: Bits>(&self, word: u64) -> Option<f32> {
        let (x, is_core) = normal::exponential_core_f32(word as u32);
        is_core.then_some(x)
    }

    #[inline(always)]
    fn sample<B: Bits>(&self, bits: &mut B) -> f32 {
        normal::standard_exponential_f32(bits)
    }
}

/// Integers of a range that a 32-bit word is enough for, as `T`.
#[derive(Clone, Copy, Debug)]
pub struct Narrow<T> {
    pub low: u64,
    pub bounded: Bounded,
    pub out: std::marker::PhantomData<T>,
}

/// The same of a range that needs 64-bit words.
#[derive(Clone, Copy, Debug)]
pub struct Wide {
    pub low: u64,
    pub bounded: Bounded,
}

/// What the word makes, if it is certain not to be rejected.
#[inline(always)]
fn certain(bounded: &Bounded, word: u64, bits: u32) -> Option<u64> {
    if bounded.masked {
        let value = word & mask(bounded.range);
        return (value <= bounded.range).then_some(value);
    }
    let count = bounded.range + 1;
    let product = word as u128 * count as u128;
    let lower = (product as u64) & (u64::MAX >> (64 - bits));
    (lower >= count).then_some((product >> bits) as u64)
}

macro_rules! narrow {
    ($($type:ty),*) => { $(impl Sampler for Narrow<$type> {
        type Out = $type;
        const WIDE: bool = false;

        #[inline(always)]
        fn alone<B: Bits>(&self, word: u64) -> Option<$type> {
            certain(&self.bounded, word, 32).map(|x| self.low.wrapping_add(x) as $type)
        }

        #[inline(always)]
        fn sample<B: Bits>(&self, bits: &mut B) -> $type {
            self.low.wrapping_add(self.bounded.word32(bits)) as $type
        }
    })* };
}
narrow!(u32, u64);

impl Sampler for Wide {
    type Out = u64;
    const WIDE: bool = true;

    #[inline(always)]
    fn alone<B: Bits>(&self, word: u64) -> Option<u64> {
        certain(&self.bounded, word, 64).map(|x| self.low.wrapping_add(x))
    }

    #[inline(always)]
    fn sample<B: Bits>(&self, bits: &mut B) -> u64 {
        self.low.wrapping_add(self.bounded.word64(bits))
    }
}
