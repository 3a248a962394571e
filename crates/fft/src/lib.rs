//! Discrete Fourier transforms along one axis as a library operation. `rustfft` and `realfft` transform a lane; this
//! crate cuts the lanes into tiles, and one long lane into two sweeps of short ones (`split`).

mod half;
mod lanes;
mod number;
mod plans;
mod prime;
mod prime_real;
mod root;
mod split;
mod transform;

pub use numloom_library::Spectrum as Kind;
pub use transform::Fft;
