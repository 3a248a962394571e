//! Plans of transforms, kept for the next call of the same length.

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftPlanner};
use std::sync::{Arc, Mutex, PoisonError};

/// Plans that are kept of each kind. Their tables are as long as the transforms, so they are few.
const KEPT: usize = 16;

/// The plans made last, the latest at the end.
pub struct Kept<P: ?Sized>(Mutex<Vec<((usize, bool), Arc<P>)>>);

impl<P: ?Sized> Kept<P> {
    const fn new() -> Kept<P> {
        Kept(Mutex::new(Vec::new()))
    }

    fn get(&self, key: (usize, bool), make: impl FnOnce() -> Arc<P>) -> Arc<P> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = match kept.iter().position(|(k, _)| *k == key) {
            Some(i) => kept.remove(i).1,
            None => make(),
        };
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((key, plan.clone()));
        plan
    }
}

/// A number type with its plans.
pub trait Planned: rustfft::FftNum {
    fn complex(n: usize, inverse: bool) -> Arc<dyn Fft<Self>>;
    fn real_to_half(n: usize) -> Arc<dyn RealToComplex<Self>>;
    fn half_to_real(n: usize) -> Arc<dyn ComplexToReal<Self>>;
}

macro_rules! planned {
    ($($t:ty),*) => {$(
        impl Planned for $t {
            fn complex(n: usize, inverse: bool) -> Arc<dyn Fft<$t>> {
                static KEPT: Kept<dyn Fft<$t>> = Kept::new();
                let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
                KEPT.get((n, inverse), || FftPlanner::new().plan_fft(n, direction))
            }

            fn real_to_half(n: usize) -> Arc<dyn RealToComplex<$t>> {
                static KEPT: Kept<dyn RealToComplex<$t>> = Kept::new();
                KEPT.get((n, false), || RealFftPlanner::new().plan_fft_forward(n))
            }

            fn half_to_real(n: usize) -> Arc<dyn ComplexToReal<$t>> {
                static KEPT: Kept<dyn ComplexToReal<$t>> = Kept::new();
                KEPT.get((n, true), || RealFftPlanner::new().plan_fft_inverse(n))
            }
        }
    )*};
}
planned!(f32, f64);
