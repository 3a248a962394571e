//! Plans of transforms, kept for the next call of the same length.

use crate::prime::prime_or_twice;
use crate::prime_real::Real;
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

/// Plans that a number type has of its own for some lengths.
trait Own: Planned {
    fn own_complex(_n: usize, _direction: FftDirection) -> Option<Arc<dyn Fft<Self>>> {
        None
    }
    fn own_real_to_half(_n: usize) -> Option<Arc<dyn RealToComplex<Self>>> {
        None
    }
    fn own_half_to_real(_n: usize) -> Option<Arc<dyn ComplexToReal<Self>>> {
        None
    }
}

/// Single precision has roots that were computed in double precision, which are good enough.
impl Own for f32 {}

impl Own for f64 {
    fn own_complex(n: usize, direction: FftDirection) -> Option<Arc<dyn Fft<f64>>> {
        prime_or_twice(n, direction)
    }

    fn own_real_to_half(n: usize) -> Option<Arc<dyn RealToComplex<f64>>> {
        Some(Arc::new(Real::new(n, FftDirection::Forward)?))
    }

    fn own_half_to_real(n: usize) -> Option<Arc<dyn ComplexToReal<f64>>> {
        Some(Arc::new(Real::new(n, FftDirection::Inverse)?))
    }
}

macro_rules! planned {
    ($($t:ty),*) => {$(
        impl Planned for $t {
            fn complex(n: usize, inverse: bool) -> Arc<dyn Fft<$t>> {
                static KEPT: Kept<dyn Fft<$t>> = Kept::new();
                let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
                let make = || <$t>::own_complex(n, direction).unwrap_or_else(|| FftPlanner::new().plan_fft(n, direction));
                KEPT.get((n, inverse), make)
            }

            fn real_to_half(n: usize) -> Arc<dyn RealToComplex<$t>> {
                static KEPT: Kept<dyn RealToComplex<$t>> = Kept::new();
                let make = || <$t>::own_real_to_half(n).unwrap_or_else(|| RealFftPlanner::new().plan_fft_forward(n));
                KEPT.get((n, false), make)
            }

            fn half_to_real(n: usize) -> Arc<dyn ComplexToReal<$t>> {
                static KEPT: Kept<dyn ComplexToReal<$t>> = Kept::new();
                let make = || <$t>::own_half_to_real(n).unwrap_or_else(|| RealFftPlanner::new().plan_fft_inverse(n));
                KEPT.get((n, true), make)
            }
        }
    )*};
}
planned!(f32, f64);
