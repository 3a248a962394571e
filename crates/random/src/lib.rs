//! Random numbers equal to NumPy's, bit for bit: the same words for the same seed, the same numbers from the same
//! words, and the same state afterwards. `README.md` says what is where.

// Comparisons are negated where what is not a number must decide as it does in NumPy's C code, and constants are
// written as they are known.
#![allow(clippy::neg_cmp_op_on_partial_ord, clippy::excessive_precision)]

pub mod ahead;
pub mod binomial;
pub mod bits;
pub mod bounded;
pub mod continuous;
mod convert;
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
mod mt19937_jump;
pub mod normal;
pub mod pass;
pub mod pcg64;
#[cfg(target_arch = "x86_64")]
mod pcg64_avx512;
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
pub use generator::{After, BitGen, Owed, Settle, Stream};
