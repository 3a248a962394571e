//! Block loops: what a block loop looks like, and the tables that find one.

mod bytes;
mod cast;
mod chunks;
mod complex;
mod element;
mod elementary;
mod float_division;
mod fold;
mod fp_status;
mod half_float;
mod half_runs;
mod integer_division;
mod integer_power;
mod iota;
mod isa;
mod kernel_macros;
mod kernels;
mod line;
mod map;
mod moves;
mod packing;
mod scaling;
mod stream;
mod table;
#[cfg(target_arch = "x86_64")]
mod turn_avx512;

pub use bytes::copy_bytes;
pub use cast::cast_fn;
pub use fold::keep_lanes;
pub use fp_status::{fp_clear, fp_raise, fp_status};
pub use iota::iota;
pub use line::{Line, line_fn};
pub use moves::{gather, scatter, scatter_masked, select_fn, spread, turn};
pub use packing::{compress, count_true, expand};
pub use stream::{stream, stream_lines, streamed};
pub use table::{block_fn, fold_fn};

/// Fills the tables of loops, which are otherwise filled when they are first asked for.
pub fn fill_tables() {
    use numloom_ir::{DType, ScalarOp};
    let _ = (select_fn(1), cast_fn(DType::Bool, DType::Bool), block_fn(ScalarOp::Add, 0));
    // SAFETY: there is nothing to count.
    unsafe { count_true(0, std::ptr::NonNull::dangling().as_ptr()) };
}

/// Elements of a block: every block loop is called with at most this many.
pub const BLOCK: usize = 1024;

/// One input of a block loop: a dense run (`step` is the item size) or one value for all (`step` 0).
#[derive(Clone, Copy, Debug)]
pub struct In {
    pub ptr: *const u8,
    pub step: usize,
}

/// Runs `n <= BLOCK` elements: `ins` are the operation's inputs, `outs` its dense outputs.
///
/// An output may be the very same run as an input (same address, same item size), never a shifted
/// one. Nothing is assumed about alignment. Floating-point exceptions are left in MXCSR by loops that
/// only do IEEE arithmetic; loops that compute by other means (elementary functions, integer division)
/// leave MXCSR as they found it and return the `FP_*` flags that NumPy would have seen.
pub type BlockFn = unsafe fn(n: usize, ins: *const In, outs: *const *mut u8) -> u8;

/// Folds `n >= 1` elements into one (`out` is written, not read); same rules.
pub type FoldFn = unsafe fn(n: usize, input: In, out: *mut u8) -> u8;

pub const FP_DIVIDE: u8 = 1;
pub const FP_OVERFLOW: u8 = 2;
pub const FP_UNDERFLOW: u8 = 4;
pub const FP_INVALID: u8 = 8;
