//! Recording: the calls the front makes. Each returns at once; small work on data that is there runs inline.

use crate::array::Array;
use crate::error::{ExecError, FpReport};
use crate::provenance::Provenance;
use numloom_ir::view::Order;
use numloom_ir::{DType, Dims, ScalarOp, Value, View};
use numloom_library::LibraryOp;

type Result<T> = std::result::Result<T, ExecError>;

/// An input of an operation.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// Broadcast to the output's shape and cast to the loop's type by the runtime.
    Array(&'a Array),
    Value(Value),
}

/// An elementwise operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MapOp {
    /// A ufunc in one of its dtype loops (index into `op.loops()`).
    Scalar { op: ScalarOp, lp: u8 },
    /// One input, cast to the output's type (assignment, astype, fill).
    Copy,
    /// Three inputs: mask, yes, no (computed in the output's type).
    Select,
    /// No inputs: `start + step * i` along the last axis of a 1-d output, in the output's type.
    Iota { start: Value, step: Value },
}

/// A new array without contents; its memory comes when something writes it.
pub fn empty(dtype: DType, shape: &[usize], order: Order, at: impl FnOnce() -> Provenance) -> Result<Array> {
    empty_view(View::dense(dtype, shape, order), at)
}

/// Like `empty`, with the layout of `view` (dense, offset 0; see `View::dense_like`).
pub fn empty_view(view: View, at: impl FnOnce() -> Provenance) -> Result<Array> {
    todo!()
}

/// A new array holding a copy of foreign memory (strides in bytes).
///
/// # Safety
/// `ptr`, `shape` and `strides` must describe readable memory of `dtype`.
pub unsafe fn from_host(dtype: DType, shape: &[usize], strides: &[isize], ptr: *const u8, at: impl FnOnce() -> Provenance) -> Result<Array> {
    todo!()
}

/// An array over foreign memory without a copy. `owner` is dropped with the store (on any thread).
/// `exposed`: others can still see the bytes, so no operation on it is deferred.
///
/// # Safety
/// `ptr..ptr + nbytes` must stay valid and writeable while `owner` lives; `view` must lie inside it.
pub unsafe fn adopt(view: View, ptr: *mut u8, nbytes: usize, owner: Box<dyn Send + Sync>, exposed: bool, at: impl FnOnce() -> Provenance) -> Array {
    todo!()
}

/// Runs or records one elementwise operation into `outs` (existing arrays; new ones come from `empty`).
/// `mask` (bool, broadcast): write only where true. Inputs may overlap outputs in any way; the result is as
/// if every input had been read first. All shapes must already broadcast to the outputs' (equal) shapes.
/// Arrays of unknown length must all have the same symbol; then `outs` have it too.
/// Answers the floating-point flags when it ran inline, 0 when it was recorded.
pub fn map(op: MapOp, ins: &[Operand], outs: &[&Array], mask: Option<&Array>, at: impl FnOnce() -> Provenance) -> Result<u8> {
    todo!()
}

/// Folds `input` over `axes` with `op` in loop `lp` (two equal inputs, one output) into `out`, whose shape is
/// the input's with the reduced axes of extent 1. The input is cast to the loop's type, the result to `out`'s.
/// `mask`: bool, broadcast to the input. `initial`: folded in first, in the loop's type; needed when the
/// reduction may be empty and the operation has no identity.
pub fn reduce(op: ScalarOp, lp: u8, input: &Array, axes: &[usize], out: &Array, mask: Option<&Array>, initial: Option<Value>, at: impl FnOnce() -> Provenance) -> Result<u8> {
    todo!()
}

/// Runs or records a library operation.
pub fn library(op: Box<dyn LibraryOp>, ins: &[&Array], outs: &[&Array], at: impl FnOnce() -> Provenance) -> Result<()> {
    todo!()
}

/// `x[mask]` for a mask of x's shape: a 1-d array whose length stays unknown (`Array::symbol`).
/// With the same mask (same store, version and view) the symbol is the same, so such arrays can be combined.
pub fn pack(x: &Array, mask: &Array, at: impl FnOnce() -> Provenance) -> Result<Array> {
    todo!()
}

/// `x[mask] = values` for 1-d values with as many elements as the mask has trues; of unknown length only if
/// packed with the same mask (see `same_mask`).
pub fn unpack(x: &Array, mask: &Array, values: &Array, at: impl FnOnce() -> Provenance) -> Result<()> {
    todo!()
}

/// Whether an array of unknown length was packed with this very mask (still unchanged).
pub fn same_mask(values: &Array, mask: &Array) -> bool {
    todo!()
}

/// `nonzero` of a bool array: one int64 index array per axis, of unknown length.
pub fn nonzero(mask: &Array, at: impl FnOnce() -> Provenance) -> Result<Vec<Array>> {
    todo!()
}

/// If `indices` are the (unchanged) arrays of one `nonzero`, in order: its mask.
pub fn nonzero_mask(indices: &[&Array]) -> Option<Array> {
    todo!()
}

/// Forces the length of an array of unknown length; a sync point. Afterwards its shape is known.
pub fn resolve(a: &mut Array) -> Result<()> {
    todo!()
}

/// Waits for the array's contents; raises what failed. Call without the GIL.
/// `interrupted` is asked now and then (e.g. for signals); true ends the wait early with `Ok(false)`.
pub fn sync(a: &Array, interrupted: impl Fn() -> bool) -> Result<bool> {
    todo!()
}

/// Whether the contents are there without waiting.
pub fn is_ready(a: &Array) -> bool {
    todo!()
}

/// Waits for everything recorded so far.
pub fn sync_all(interrupted: impl Fn() -> bool) -> Result<bool> {
    todo!()
}

/// The address of the view's first element. The array must be ready; memory is made if nothing wrote it yet.
pub fn data(a: &Array) -> Result<*mut u8> {
    todo!()
}

/// While this lives, foreign code may see the array's bytes, so operations on its store are not deferred.
pub struct Exposure(Array);

pub fn expose(a: &Array) -> Exposure {
    todo!()
}

/// Floating-point exceptions of deferred operations since the last call.
pub fn take_fp_reports() -> Vec<FpReport> {
    todo!()
}

/// Counters for `numloom.stats()`: name and value, in the order to print.
pub fn stats() -> Vec<(&'static str, u64)> {
    todo!()
}

/// The tasks that would make `a`, as text without lines; `line` renders a provenance.
pub fn explain(a: &Array, line: impl Fn(Provenance) -> String) -> String {
    todo!()
}

/// Around fork: before (drains the pipeline), after in the child (starts new threads).
pub fn before_fork() {
    todo!()
}

pub fn after_fork_in_child() {
    todo!()
}

/// At interpreter exit: finishes or drops pending work and stops the threads.
pub fn shutdown() {
    todo!()
}

#[allow(dead_code)]
fn _dims(_: Dims) {}
