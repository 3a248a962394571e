//! Distributions that nearly always take one word an element: what `split.rs` divides.

use crate::bits::Bits;
use crate::bounded::Bounded;
use crate::normal;
use crate::ziggurat_tables as tables;

/// One element at a time from a stream of words of one width.
pub trait Sampler: Copy + Send + Sync + 'static {
    type Out: Copy;
    /// Of 64-bit words, or of 32-bit ones.
    const WIDE: bool;

    fn sample<B: Bits>(&self, bits: &mut B) -> Self::Out;

    /// Takes the words of one element, without making it.
    #[inline(always)]
    fn pass<B: Bits>(&self, bits: &mut B) {
        self.sample(bits);
    }
}

/// What becomes of a standard normal.
#[derive(Clone, Copy, Debug)]
pub enum OfNormal {
    Itself,
    Affine { loc: f64, scale: f64 },
    Exp { mean: f64, sigma: f64 },
}

impl Sampler for OfNormal {
    type Out = f64;
    const WIDE: bool = true;

    #[inline(always)]
    fn sample<B: Bits>(&self, bits: &mut B) -> f64 {
        let x = normal::standard_normal(bits);
        match *self {
            OfNormal::Itself => x,
            OfNormal::Affine { loc, scale } => loc + scale * x,
            OfNormal::Exp { mean, sigma } => (mean + sigma * x).exp(),
        }
    }

    #[inline(always)]
    fn pass<B: Bits>(&self, bits: &mut B) {
        loop {
            let word = bits.next_u64();
            let (layer, size) = ((word & 0xFF) as usize, (word >> 9) & 0x000F_FFFF_FFFF_FFFF);
            if size < tables::NORMAL_LIMIT[layer] || normal::normal_edge_of(bits, word).is_some() {
                return;
            }
        }
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

impl Sampler for OfExponential {
    type Out = f64;
    const WIDE: bool = true;

    #[inline(always)]
    fn sample<B: Bits>(&self, bits: &mut B) -> f64 {
        let x = normal::standard_exponential(bits);
        match *self {
            OfExponential::Itself => x,
            OfExponential::Scaled { scale } => scale * x,
            OfExponential::Rayleigh { scale } => scale * (2.0 * x).sqrt(),
            OfExponential::Pareto { a } => (x / a).exp_m1(),
            OfExponential::Weibull { a } => x.powf(1.0 / a),
            OfExponential::Power { a } => (-(-x).exp_m1()).powf(1.0 / a),
        }
    }

    #[inline(always)]
    fn pass<B: Bits>(&self, bits: &mut B) {
        normal::standard_exponential(bits);
    }
}

/// What becomes of a uniform that is not zero.
#[derive(Clone, Copy, Debug)]
pub enum OfUniform {
    Laplace { loc: f64, scale: f64 },
    Gumbel { loc: f64, scale: f64 },
    Logistic { loc: f64, scale: f64 },
}

impl Sampler for OfUniform {
    type Out = f64;
    const WIDE: bool = true;

    #[inline(always)]
    fn sample<B: Bits>(&self, bits: &mut B) -> f64 {
        let u = loop {
            let u = bits.next_f64();
            if u > 0.0 {
                break u;
            }
        };
        match *self {
            OfUniform::Laplace { loc, scale } if u >= 0.5 => loc - scale * (2.0 - u - u).ln(),
            OfUniform::Laplace { loc, scale } => loc + scale * (u + u).ln(),
            OfUniform::Gumbel { loc, scale } => loc - scale * (-(1.0 - u).ln()).ln(),
            OfUniform::Logistic { loc, scale } => loc + scale * (u / (1.0 - u)).ln(),
        }
    }

    #[inline(always)]
    fn pass<B: Bits>(&self, bits: &mut B) {
        while bits.next_f64() <= 0.0 {}
    }
}

#[derive(Clone, Copy, Debug)]
pub struct NormalF32;

impl Sampler for NormalF32 {
    type Out = f32;
    const WIDE: bool = false;

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

macro_rules! narrow {
    ($($type:ty),*) => { $(impl Sampler for Narrow<$type> {
        type Out = $type;
        const WIDE: bool = false;

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
    fn sample<B: Bits>(&self, bits: &mut B) -> u64 {
        self.low.wrapping_add(self.bounded.word64(bits))
    }
}
