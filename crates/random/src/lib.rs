//! Random numbers equal to NumPy's, bit for bit: the same words for the same seed, the same numbers from the same
//! words, and the same state afterwards. `README.md` says what is where.

pub mod ahead;
pub mod binomial;
pub mod bits;
pub mod bounded;
pub mod continuous;
pub mod discrete;
pub mod draw;
pub mod fixed;
pub mod foreign;
pub mod gamma;
pub mod generator;
pub mod hypergeometric;
pub mod legacy;
mod log_factorial;
pub mod mt19937;
pub mod normal;
pub mod pass;
pub mod pcg64;
pub mod philox;
pub mod rare;
pub mod samplers;
pub mod seed;
pub mod sfc64;
pub mod shuffle;
pub mod split;
pub mod table;
pub mod ziggurat_tables;

pub use bits::Bits;
pub use generator::{After, BitGen, Stream};
