//! Recording: the calls the front makes. Each returns at once; small work on data that is there runs inline.

use crate::array::{Array, UNSIZED};
use crate::dot;
use crate::error::{ErrorKind, ExecError};
use crate::folds;
use crate::foreign;
use crate::inline;
use crate::ledger::TRACKED;
use crate::memory::{self, Memory};
use crate::node::conflict;
use crate::operation::Kind;
use crate::profile::{self, Use};
use crate::prompt;
use crate::provenance::Provenance;
use crate::reserved;
use crate::rows;
use crate::small;
use crate::spill;
use crate::store::{Found, LastUse, MadeBy, MadeFrom, Origin, Store, Symbol};
use crate::sync;
use crate::task::SCHEDULER;
use crate::window::{self, WINDOW};
use numloom_ir::view::Order;
use numloom_ir::{DType, Dims, Overlap, ScalarOp, Strides, Value, View};
use numloom_library::{Args, Clock, CountTrue, LibraryError, LibraryOp, Pack, Reaches, Unpack};
use numloom_loops::{fp_clear, fp_status};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use crate::explain::explain;
pub use crate::memory::{is_tight, looked_for_garbage};
pub use crate::spill::inline as still;
pub use crate::sync::{
    Exposure, data, expose, expose_for_good, is_ready, is_there, look, resolve, sync, sync_all, take_fp_reports,
    wait_until_idle,
};

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

impl MapOp {
    pub fn name(self) -> &'static str {
        match self {
            MapOp::Scalar { op, .. } => op.name(),
            MapOp::Copy => "copy",
            MapOp::Select => "where",
            MapOp::Iota { .. } => "arange",
        }
    }
}

/// A new array without contents; its memory comes when something writes it.
pub fn empty(dtype: DType, shape: &[usize], order: Order, at: impl FnOnce() -> Provenance) -> Result<Array> {
    empty_view(View::dense(dtype, shape, order), at)
}

/// Like `empty`, with the layout of `view` (dense, offset 0; see `View::dense_like`).
pub fn empty_view(view: View, at: impl FnOnce() -> Provenance) -> Result<Array> {
    let size = numloom_ir::view::checked_size(&view.shape).and_then(|n| n.checked_mul(view.dtype.size()));
    let Some(nbytes) = size.filter(|&n| n <= isize::MAX as usize) else {
        let message = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.";
        return Err(ExecError::new(ErrorKind::Value, message, "empty", at()));
    };
    // A small store's line is never asked for: it is not worth finding out.
    let provenance = if nbytes >= TRACKED { at() } else { Provenance::default() };
    let store = Arc::new(Store::new(nbytes, provenance));
    store.note_extent(&view);
    Ok(Array::new(store, view))
}

/// A new array holding a copy of foreign memory (strides in bytes).
///
/// # Safety
/// `ptr`, `shape` and `strides` must describe readable memory of `dtype`.
pub unsafe fn from_host(
    dtype: DType,
    shape: &[usize],
    strides: &[isize],
    ptr: *const u8,
    at: impl FnOnce() -> Provenance,
) -> Result<Array> {
    let foreign = Strides::from_slice(strides);
    let keep = numloom_ir::view::keep_order_strides(dtype.size(), shape, &[&foreign]);
    let view = View { dtype, offset: 0, shape: Dims::from_slice(shape), strides: keep };
    let out = empty_view(view, at)?;
    expect_work(out.store.nbytes());
    let _still = spill::inline();
    if out.view.size() > 0 {
        let to = out.store.materialise().map_err(|e| ExecError::no_memory(e, "array", out.store.provenance))?;
        crate::host_copy::copy(dtype.size(), shape, ptr, strides, to, &out.view.strides);
    }
    out.store.wrote();
    Ok(out)
}

/// A program that brings a large array is about to compute with it: the threads begin while it comes.
fn expect_work(nbytes: usize) {
    if nbytes >= TRACKED {
        window::start();
    }
}

/// An array over foreign memory without a copy. `owner` is dropped with the store (on any thread).
/// `exposed`: others can still see the bytes, so no operation on it is deferred.
///
/// # Safety
/// `ptr..ptr + nbytes` must stay valid and writeable while `owner` lives; `view` must lie inside it.
pub unsafe fn adopt(
    view: View,
    ptr: *mut u8,
    nbytes: usize,
    owner: Box<dyn Send + Sync>,
    exposed: bool,
    at: impl FnOnce() -> Provenance,
) -> Array {
    expect_work(nbytes);
    if !exposed {
        return Array::new(Arc::new(Store::adopt(ptr, nbytes, owner, at())), view);
    }
    let (store, before) = foreign::store_over(ptr, nbytes, owner, at);
    Array::new(store, View { offset: view.offset + before, ..view })
}

fn arrays<'a>(ins: &'a [Operand<'a>]) -> impl Iterator<Item = &'a Array> {
    ins.iter().filter_map(|i| match i {
        Operand::Array(a) => Some(*a),
        Operand::Value(_) => None,
    })
}

/// Whether reading through `a` while writing through `out` could see what was written.
fn clashes(a: &Array, out: &Array) -> bool {
    if !Arc::ptr_eq(&a.store, &out.store) || a.symbol().is_some() {
        return false;
    }
    match a.view.broadcast_to(&out.view.shape) {
        Some(v) => conflict(&v, &out.view) == Overlap::Partial,
        None => conflict(&a.view, &out.view) != Overlap::Disjoint,
    }
}

/// Runs or records one elementwise operation into `outs` (existing arrays; new ones come from `empty`).
/// `mask` (bool, broadcast): write only where true. Inputs may overlap outputs in any way; the result is as
/// if every input had been read first. All shapes must already broadcast to the outputs' (equal) shapes.
/// Arrays of unknown length must all have the same symbol; then `outs` have it too.
/// Answers the floating-point flags when it ran inline, 0 when it was recorded.
pub fn map(
    op: MapOp,
    ins: &[Operand],
    outs: &[&Array],
    mask: Option<&Array>,
    at: impl FnOnce() -> Provenance,
) -> Result<u8> {
    if let ([out], None) = (outs, mask)
        && let Some(done) = inline::run_small(op, ins, out)
    {
        return done;
    }
    map_any(op, ins, outs, mask, at)
}

fn map_any(
    op: MapOp,
    ins: &[Operand],
    outs: &[&Array],
    mask: Option<&Array>,
    at: impl FnOnce() -> Provenance,
) -> Result<u8> {
    // A new array is filled where it can be.
    let fills = matches!(op, MapOp::Copy) && outs[0].store.version() == 0;
    if reserved::devices() > 0 && !fills {
        let all: SmallVec<[&Array; 4]> = arrays(ins).chain(mask).collect();
        if all.iter().any(|a| keeps_home(a, &all, outs)) {
            return map_with_copies(op, ins, outs, mask, at());
        }
    }
    map_as_it_is(op, ins, outs, mask, at)
}

/// Inputs that foreign code sees are copied first, so that the others can stay on their device.
fn map_with_copies(op: MapOp, ins: &[Operand], outs: &[&Array], mask: Option<&Array>, at: Provenance) -> Result<u8> {
    let all: SmallVec<[&Array; 4]> = arrays(ins).chain(mask).collect();
    let own = |a: &Array| if keeps_home(a, &all, outs) { copy_of(a, at).map(Some) } else { Ok(None) };
    let copies = all.iter().map(|a| own(a)).collect::<Result<SmallVec<[Option<Array>; 4]>>>()?;
    let mut taken = all.iter().zip(&copies).map(|(a, copy)| copy.as_ref().unwrap_or(a));
    let mut own_ins: SmallVec<[Operand; 4]> = SmallVec::new();
    for i in ins {
        own_ins.push(match i {
            Operand::Array(a) => Operand::Array(taken.next().unwrap_or(a)),
            Operand::Value(v) => Operand::Value(*v),
        });
    }
    map_as_it_is(op, &own_ins, outs, taken.next(), || at)
}

fn map_as_it_is(
    op: MapOp,
    ins: &[Operand],
    outs: &[&Array],
    mask: Option<&Array>,
    at: impl FnOnce() -> Provenance,
) -> Result<u8> {
    let elements = if outs[0].symbol().is_some() { UNSIZED } else { outs[0].view.size() };
    if elements == 0 {
        return Ok(0);
    }
    let mut reads = arrays(ins).chain(mask);
    if reads.any(|a| outs.iter().any(|o| clashes(a, o))) || (outs.len() > 1 && clashes(outs[0], outs[1])) {
        let moved = if let ([out], None) = (outs, mask) { rows::moved(op, ins, out) } else { None };
        return moved.unwrap_or_else(|| map_through_copies(op, ins, outs, mask, at()));
    }
    let weight = small::weight(op, ins, elements);
    let at_once = prompt::runs_at_once(weight) || small::is_light(op) && prompt::light_runs_at_once(weight);
    if at_once && inline::is_free(weight, arrays(ins).chain(mask), outs) {
        inline::counted(op.name());
        if mask.is_none()
            && let [out] = outs
            && let Some(done) = inline::run_dense(op, ins, outs)
                .or_else(|| rows::run(op, ins, out))
                .or_else(|| rows::turned(op, ins, out))
        {
            return done;
        }
        return inline::run_strided(op, ins, outs, mask);
    }
    note_maker(op, ins, outs[0], mask);
    push(inline::operation(Kind::Map(op), ins, outs, mask, at()))
}

/// One scalar operation on small arrays that are there and dense, in the loop's own types: the result and its
/// floating-point flags. `None` for everything else, which `map` does.
#[inline]
pub fn map_small(op: ScalarOp, lp: u8, ins: &[Operand]) -> Option<Result<(Array, u8)>> {
    inline::map_new(op, lp, ins)
}

/// Like `map`, only if it can run at once on small dense arrays.
#[inline]
pub fn run_small(op: MapOp, ins: &[Operand], out: &Array) -> Option<Result<u8>> {
    inline::run_small(op, ins, out)
}

/// Whether an operation on the array is likely to be recorded: it is large, or not there yet.
#[inline]
pub fn is_deferred(a: &Array) -> bool {
    !a.store.is_settled() || a.store.is_away() || a.symbol().is_some() || a.view.size() > inline::SMALL
}

/// Whether an operation on the array is certain to be recorded.
#[inline]
pub fn is_large(a: &Array) -> bool {
    a.symbol().is_none() && a.view.size() > prompt::most_ever()
}

pub use crate::folds::sum_of_squares;
pub use crate::near::{Filled, Near, changed, laid_out, near, near_enough, there, to_change, to_fill};
pub use crate::pairs::map_pair;
pub use crate::scans::{reduce_stretches_small, scan_small, update_small};
pub use crate::small::{
    count_small, dot, extreme_place, extreme_places, new_of, new_small, product, small_room, stack_small, truth,
    write_small,
};

pub use crate::chosen::{pack_small, put_small, read_element, take_small, unpack_small, write_bytes, write_element};
pub use crate::inline::{cast_small, iota_new, select_new};

/// Remembers what a new truth array was computed from.
fn note_maker(op: MapOp, ins: &[Operand], out: &Array, mask: Option<&Array>) {
    let MapOp::Scalar { op, lp } = op else { return };
    if out.view.dtype != DType::Bool || out.store.version() != 0 || mask.is_some() {
        return;
    }
    let from = |i: &Operand| match i {
        Operand::Array(a) => {
            MadeFrom::Place { store: Arc::downgrade(&a.store), version: a.store.version(), view: a.view.clone() }
        }
        Operand::Value(v) => MadeFrom::Value(*v),
    };
    let mut maker = Box::new(MadeBy { op: (op, lp), ins: SmallVec::new() });
    for i in ins {
        maker.ins.push(from(i));
    }
    let _ = out.store.made_by.set(maker);
}

/// Whether two masks are certain to hold the same truths: the same array, or computed alike from the same.
fn same_truths(a: &Arc<Store>, a_view: &View, a_version: u64, b: &Array) -> bool {
    if a_view != &b.view || a.version() != a_version {
        return false;
    }
    if Arc::ptr_eq(a, &b.store) {
        return true;
    }
    // Each was written once, by its maker.
    let once = a_version == 1 && b.store.version() == 1;
    match (a.made_by.get(), b.store.made_by.get()) {
        (Some(x), Some(y)) => once && x.op == y.op && x.ins == y.ins,
        _ => false,
    }
}

/// The results go to new arrays first, because an output overlaps an input in other places.
fn map_through_copies(op: MapOp, ins: &[Operand], outs: &[&Array], mask: Option<&Array>, at: Provenance) -> Result<u8> {
    let fresh = outs.iter().map(|o| empty_view(o.view.dense_like(o.view.dtype), || at)).collect::<Result<Vec<_>>>()?;
    let fresh_refs: SmallVec<[&Array; 2]> = fresh.iter().collect();
    let saved_mask = match mask {
        Some(m) if outs.iter().any(|o| clashes(m, o)) => {
            let copy = empty_view(m.view.dense_like(m.view.dtype), || at)?;
            map(MapOp::Copy, &[Operand::Array(m)], &[&copy], None, || at)?;
            Some(copy)
        }
        _ => None,
    };
    let mut flags = map(op, ins, &fresh_refs, mask, || at)?;
    for (f, o) in fresh.iter().zip(outs) {
        flags |= map(MapOp::Copy, &[Operand::Array(f)], &[o], saved_mask.as_ref().or(mask), || at)?;
    }
    Ok(flags)
}

/// So many small operations one after another are no longer recorded to wait for what came before them: they would be
/// tasks of their own, each of which costs more than to do it at once.
const MANY_SMALL: usize = 32;

/// How many operations in a row, the one at hand the last, were recorded for no other reason than to wait.
fn small_in_a_row(small: bool) -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = if small { COUNT.load(Ordering::Relaxed) + 1 } else { 0 };
    COUNT.store(count, Ordering::Relaxed);
    count
}

/// Adds an operation to the window. Where foreign code sees the bytes, it is waited for.
fn push(op: crate::operation::Operation) -> Result<u8> {
    let seen = |s: &Arc<Store>| s.exposed.load(Ordering::Acquire) > 0 || s.lent.load(Ordering::Acquire) > 0;
    let exposed = op.reads().chain(&op.outs).any(|p| seen(&p.store)).then(|| {
        let outs: SmallVec<[Arc<Store>; 2]> = op.outs.iter().map(|p| p.store.clone()).collect();
        (outs, op.at)
    });
    let waits = inline::only_waits(&op);
    WINDOW.push(op);
    if small_in_a_row(waits) >= MANY_SMALL {
        small_in_a_row(false);
        sync::catch_up();
    }
    if let Some((outs, at)) = exposed {
        sync::wait_for(&outs[0], || false)?;
        for store in outs.iter().filter(|s| s.lent.load(Ordering::Acquire) > 0) {
            store.return_to_lent().map_err(|e| ExecError::no_memory(e, "array", at))?;
        }
    }
    Ok(0)
}

/// Folds `input` over `axes` with `op` in loop `lp` (two equal inputs, one output) into `out`, whose shape is
/// the input's with the reduced axes of extent 1. The input is cast to the loop's type, the result to `out`'s.
/// `mask`: bool, broadcast to the input. `initial`: folded in first, in the loop's type; needed when the
/// reduction may be empty and the operation has no identity.
pub fn reduce(
    op: ScalarOp,
    lp: u8,
    input: &Array,
    axes: &[usize],
    out: &Array,
    mask: Option<&Array>,
    initial: Option<Value>,
    at: impl FnOnce() -> Provenance,
) -> Result<u8> {
    let bits = axes.iter().fold(0u64, |b, &a| b | 1 << a.min(63));
    let kind = Kind::Reduce { op, lp, axes: bits, initial };
    // A fold of halves is rounded to a half, whatever that is cast to.
    let rounds = op.loops()[lp as usize].outs()[0] == DType::F16 && out.view.dtype != DType::F16;
    if rounds || clashes_any(input, out) || mask.is_some_and(|m| clashes_any(m, out)) {
        let through = if rounds { DType::F16 } else { out.view.dtype };
        return reduce_through_copy(op, lp, input, axes, out, through, mask, initial, at());
    }
    let elements = if input.symbol().is_some() { UNSIZED } else { input.view.size() };
    if mask.is_none() && is_long_product(op, lp, input, out, initial) {
        return long_product(op, lp, input, axes, out, initial, at);
    }
    let ins = [Operand::Array(input)];
    let at_once = if out.view.size() == 1 { prompt::gives_value(elements) } else { prompt::runs_at_once(elements) };
    if at_once && inline::is_free(elements, std::iter::once(input).chain(mask), &[out]) {
        inline::counted(op.name());
        if out.view.size() == 1 {
            prompt::value();
        }
        if let Some(done) = folds::fold_dense(op, lp, input, axes, out, mask, initial) {
            return done;
        }
        return folds::run_planned(inline::operation(kind, &ins, &[out], mask, Provenance::default()));
    }
    push(inline::operation(kind, &ins, &[out], mask, at()))
}

/// Elements of a product that a loop makes as NumPy does, whatever they are.
const SHORT_PRODUCT: usize = 512;

/// Columns that are worth multiplying row by row.
const MANY_COLUMNS: usize = 8;

/// Whether these are products of so many floats that parts of them may go beyond the range.
fn is_long_product(op: ScalarOp, lp: u8, input: &Array, out: &Array, initial: Option<Value>) -> bool {
    // What they begin with comes first, too: zero times all others is zero.
    let begins = initial.is_some_and(|v| v != Value::from_i128(v.dtype, 1)) && input.view.size() > 0;
    let dtype = op.loops()[lp as usize].outs()[0];
    op == ScalarOp::Multiply
        && matches!(dtype, DType::F16 | DType::F32 | DType::F64 | DType::C64 | DType::C128)
        && out.view.dtype == dtype
        && input.symbol().is_none()
        && (begins || input.view.size() > SHORT_PRODUCT.saturating_mul(out.view.size()))
        && !reserved::are_gpus()
}

fn long_product(
    op: ScalarOp,
    lp: u8,
    input: &Array,
    axes: &[usize],
    out: &Array,
    initial: Option<Value>,
    at: impl FnOnce() -> Provenance,
) -> Result<u8> {
    // Columns that lie side by side are multiplied row by row.
    let step = |axis: usize| input.view.strides[axis].unsigned_abs();
    let beside = |a: &usize| (0..input.view.ndim()).any(|k| out.view.shape[k] >= MANY_COLUMNS && step(k) < step(*a));
    let op: Box<dyn LibraryOp> = match axes {
        [axis] if beside(axis) => Box::new(numloom_library::ReduceLeft::new(op, lp, *axis, initial)),
        _ => Box::new(numloom_library::Product::new(initial)),
    };
    let (elements, is_value) = (input.view.size(), out.view.size() == 1);
    let at_once = if is_value { prompt::gives_value(elements) } else { prompt::runs_at_once(elements) };
    if at_once && inline::is_free(elements, std::iter::once(input), &[out]) {
        inline::counted(op.name());
        if is_value {
            prompt::value();
        }
        return run_library(&*op, &[input], &[out]);
    }
    library(op, &[input], &[out], at)
}

/// The result goes to a new array of type `through` first.
fn reduce_through_copy(
    op: ScalarOp,
    lp: u8,
    input: &Array,
    axes: &[usize],
    out: &Array,
    through: DType,
    mask: Option<&Array>,
    initial: Option<Value>,
    at: Provenance,
) -> Result<u8> {
    let fresh = empty_view(out.view.dense_like(through), || at)?;
    let flags = reduce(op, lp, input, axes, &fresh, mask, initial, || at)?;
    Ok(flags | map(MapOp::Copy, &[Operand::Array(&fresh)], &[out], None, || at)?)
}

fn clashes_any(a: &Array, out: &Array) -> bool {
    Arc::ptr_eq(&a.store, &out.store) && conflict(&a.view, &out.view) != Overlap::Disjoint
}

/// Runs or records a library operation.
pub fn library(op: Box<dyn LibraryOp>, ins: &[&Array], outs: &[&Array], at: impl FnOnce() -> Provenance) -> Result<u8> {
    let in_place = |a: &Array, o: &Array| op.in_place() && a.view == o.view;
    if let Some(k) = ins.iter().position(|a| outs.iter().any(|o| clashes_any(a, o) && !in_place(a, o))) {
        return library_through_copy(op, ins, outs, k, at());
    }
    if reserved::devices() > 0
        && let Some(k) = ins.iter().position(|a| keeps_home(a, ins, outs))
    {
        return library_through_copy(op, ins, outs, k, at());
    }
    let size = |a: &&Array| if a.symbol().is_some() { UNSIZED / 64 } else { a.view.size() };
    let elements: usize = ins.iter().chain(outs).map(size).fold(0, |a, b| a.saturating_add(b));
    if inline::is_possible(dot::weight(&*op, ins, outs, elements), ins.iter().copied(), outs) {
        inline::counted(op.name());
        return run_library(&*op, ins, outs);
    }
    let at = at();
    if let Some(done) = dot::record(&*op, ins, outs, at) {
        return done;
    }
    let inputs: SmallVec<[Operand; 4]> = ins.iter().map(|a| Operand::Array(a)).collect();
    push(inline::operation(Kind::Library(op), &inputs, outs, None, at)).map(|_| 0)
}

/// Whether the operation is for a device, but for an input that foreign code sees.
fn keeps_home(a: &Array, ins: &[&Array], outs: &[&Array]) -> bool {
    let exposed = |a: &Array| a.store.exposed.load(Ordering::Acquire) > 0;
    if !exposed(a) || outs.iter().any(|o| exposed(o)) {
        return false;
    }
    let devices = (0..reserved::devices()).map(|k| Memory::Framebuffer(k as u8));
    let mut others = ins.iter().chain(outs).filter(|o| !Arc::ptr_eq(&o.store, &a.store));
    let large = |o: &Array| o.symbol().is_none() && o.view.size() >= numloom_config::current().min_gpu_chunk;
    others.any(|o| large(o) || devices.clone().any(|m| o.store.bytes_in(m) > 0))
}

/// An array of the same elements; what a view repeats is copied once.
fn copy_of(a: &Array, at: Provenance) -> Result<Array> {
    let given = &a.view;
    let mut once = given.clone();
    once.shape.iter_mut().zip(&given.strides).filter(|(n, s)| **n > 1 && **s == 0).for_each(|(n, _)| *n = 1);
    let copy = empty_view(once.dense_like(once.dtype), || at)?;
    map(MapOp::Copy, &[Operand::Array(&a.with_view(once))], &[&copy], None, || at)?;
    let mut view = copy.view.clone();
    for (axis, &n) in given.shape.iter().enumerate().filter(|(axis, n)| **n != copy.view.shape[*axis]) {
        (view.shape[axis], view.strides[axis]) = (n, 0);
    }
    Ok(copy.with_view(view))
}

/// Input `k` is copied first, because an output overlaps it or because foreign code sees it.
fn library_through_copy(
    op: Box<dyn LibraryOp>,
    ins: &[&Array],
    outs: &[&Array],
    k: usize,
    at: Provenance,
) -> Result<u8> {
    let copy = copy_of(ins[k], at)?;
    let mut ins: SmallVec<[&Array; 4]> = SmallVec::from_slice(ins);
    ins[k] = &copy;
    library(op, &ins, outs, || at)
}

/// All phases and tiles, one after another, on this thread; answers the floating-point flags.
fn run_library(op: &dyn LibraryOp, ins: &[&Array], outs: &[&Array]) -> Result<u8> {
    let _still = spill::inline();
    let view = |a: &&Array| -> Result<numloom_library::RawView> {
        let base = a.store.materialise().map_err(|e| ExecError::no_memory(e, op.name(), Provenance::default()))?;
        Ok(crate::task::raw_view(base, &a.view))
    };
    let args =
        Args { ins: ins.iter().map(view).collect::<Result<_>>()?, outs: outs.iter().map(view).collect::<Result<_>>()? };
    let mut flags = 0;
    for (phase, &tiles) in op.phases(&args).iter().enumerate() {
        for tile in 0..tiles {
            // SAFETY: nothing recorded touches these stores (`is_possible`).
            let ran = unsafe { run_tile(op, &args, phase, tile, &mut flags) };
            ran.map_err(|e| library_error(e, op.name()))?;
        }
    }
    outs.iter().for_each(|o| o.store.wrote());
    Ok(flags)
}

/// One tile of a library operation, adding the floating-point flags that are the program's.
///
/// # Safety
/// As for `LibraryOp::run`.
pub(crate) unsafe fn run_tile(
    op: &dyn LibraryOp,
    args: &Args,
    phase: usize,
    tile: usize,
    flags: &mut u8,
) -> std::result::Result<(), LibraryError> {
    if op.raises().is_none() {
        return op.run(args, phase, tile);
    }
    fp_clear();
    let ran = op.run(args, phase, tile);
    *flags |= fp_status();
    ran
}

fn library_error(e: LibraryError, op: &'static str) -> ExecError {
    let kind = match e {
        LibraryError::Index(_) => ErrorKind::Index,
        LibraryError::Value(_) => ErrorKind::Value,
        LibraryError::LinAlg(_) => ErrorKind::LinAlg,
        LibraryError::Memory(_) => ErrorKind::OutOfMemory,
    };
    ExecError::new(kind, e.to_string(), op, Provenance::default())
}

/// `x[mask]` for a mask of x's shape: a 1-d array whose length stays unknown (`Array::symbol`).
/// With the same mask (same store, version and view) the symbol is the same, so such arrays can be combined.
pub fn pack(x: &Array, mask: &Array, at: impl FnOnce() -> Provenance) -> Result<Array> {
    if inline::is_possible(x.view.size(), [x, mask].into_iter(), &[]) {
        let count = count_now(mask)?;
        let out = empty(x.view.dtype, &[count], Order::C, Provenance::default)?;
        inline::counted("boolean index");
        run_library(&Pack::new(), &[x, mask], &[&out])?;
        return Ok(out);
    }
    let at = at();
    let out = packed_array(x.view.dtype, mask, None, &symbol_of(mask), at);
    let ins = [Operand::Array(x), Operand::Array(mask)];
    push(inline::operation(Kind::Pack, &ins, &[&out], None, at))?;
    Ok(out)
}

fn count_now(mask: &Array) -> Result<usize> {
    let count = empty(DType::I64, &[], Order::C, Provenance::default)?;
    run_library(&CountTrue::new(), &[mask], &[&count])?;
    // SAFETY: one int64 was just written there.
    Ok(unsafe { (count.store.ptr() as *const i64).read() } as usize)
}

/// The length that arrays packed with this mask, as it is now, have.
fn symbol_of(mask: &Array) -> Symbol {
    let known = |found: &Found| match found {
        Found::Length(symbol) => symbol.upgrade(),
        Found::Reaches(..) => None,
    };
    found_before(mask, known, || {
        let symbol = Symbol::default();
        (Found::Length(Arc::downgrade(&symbol)), symbol)
    })
}

/// How far the indices of an index array into an axis of this extent reach, for the operation that finds out and for
/// all after it that find the array as it is now.
pub fn reaches_of(index: &Array, extent: usize) -> Reaches {
    let known = |found: &Found| match found {
        Found::Reaches(of, reaches) if *of == extent => Some(reaches.clone()),
        _ => None,
    };
    found_before(index, known, || {
        let reaches = Reaches::default();
        (Found::Reaches(extent, reaches.clone()), reaches)
    })
}

/// What is known of an array as it is now, or the beginning of it.
fn found_before<R>(a: &Array, known: impl Fn(&Found) -> Option<R>, begin: impl FnOnce() -> (Found, R)) -> R {
    let mut last = a.store.last_use.lock();
    let version = a.store.version();
    if let Some(l) = &*last
        && l.version == version
        && l.view == a.view
        && let Some(found) = known(&l.found)
    {
        return found;
    }
    let (found, answer) = begin();
    *last = Some(Box::new(LastUse { version, view: a.view.clone(), found }));
    answer
}

fn packed_array(dtype: DType, mask: &Array, axis: Option<usize>, symbol: &Symbol, at: Provenance) -> Array {
    let origin = Origin {
        mask: mask.store.clone(),
        mask_view: mask.view.clone(),
        mask_version: mask.store.version(),
        axis,
        // The operation that makes it is its first write.
        own_version: 1,
    };
    let store = Store::with_symbol(symbol.clone(), Arc::new(origin), at);
    let view = View {
        dtype,
        offset: 0,
        shape: SmallVec::from_slice(&[UNSIZED]),
        strides: SmallVec::from_slice(&[dtype.size() as isize]),
    };
    Array::new(Arc::new(store), view)
}

/// A new array of the same unknown length as `like`.
pub fn empty_packed(like: &Array, dtype: DType, at: impl FnOnce() -> Provenance) -> Result<Array> {
    match (like.symbol(), &like.store.origin) {
        (Some(symbol), Some(origin)) => {
            let origin = match origin.axis {
                None => origin.clone(),
                Some(_) => Arc::new(Origin { axis: None, ..Origin::clone(origin) }),
            };
            let store = Store::with_symbol(symbol.clone(), origin, at());
            let mut view = like.view.clone();
            view.dtype = dtype;
            view.offset = 0;
            view.strides[0] = dtype.size() as isize;
            Ok(Array::new(Arc::new(store), view))
        }
        _ => empty(dtype, &like.view.shape, Order::C, at),
    }
}

/// `x[mask] = values` for 1-d values with as many elements as the mask has trues; of unknown length only if
/// packed with the same mask (see `same_mask`). Answers the flags that casting the values raised, if that is done.
pub fn unpack(x: &Array, mask: &Array, values: &Array, at: impl FnOnce() -> Provenance) -> Result<u8> {
    let packed_with = values.store.origin.as_ref().filter(|_| values.symbol().is_some() && same_mask(values, mask));
    let original = packed_with.map(|o| Array::new(o.mask.clone(), o.mask_view.clone()));
    let mask = original.as_ref().unwrap_or(mask);
    let mut at_once = Some(at);
    let mut here: Option<Provenance> = None;
    let mut at = move || *here.get_or_insert_with(|| at_once.take().map_or_else(Provenance::default, |f| f()));
    let cast;
    let mut flags = 0;
    let values = if values.view.dtype == x.view.dtype {
        values
    } else {
        cast = empty_packed(values, x.view.dtype, &mut at)?;
        flags = map(MapOp::Copy, &[Operand::Array(values)], &[&cast], None, &mut at)?;
        &cast
    };
    let saved;
    let mask = if clashes_any(mask, x) {
        saved = empty_view(mask.view.dense_like(DType::Bool), &mut at)?;
        map(MapOp::Copy, &[Operand::Array(mask)], &[&saved], None, &mut at)?;
        &saved
    } else {
        mask
    };
    let separate;
    let values = if clashes_any(values, x) {
        separate = empty_view(values.view.dense_like(values.view.dtype), &mut at)?;
        map(MapOp::Copy, &[Operand::Array(values)], &[&separate], None, &mut at)?;
        &separate
    } else {
        values
    };
    if inline::is_possible(x.view.size(), [mask, values].into_iter(), &[x]) {
        inline::counted("boolean assignment");
        return run_library(&Unpack::new(), &[mask, values], &[x]).map(|_| flags);
    }
    let ins = [Operand::Array(mask), Operand::Array(values)];
    push(inline::operation(Kind::Unpack, &ins, &[x], None, at())).map(|seen| seen | flags)
}

/// Whether an array of unknown length was packed with this very mask (still unchanged), or its equal.
pub fn same_mask(values: &Array, mask: &Array) -> bool {
    values.store.origin.as_ref().is_some_and(|o| same_truths(&o.mask, &o.mask_view, o.mask_version, mask))
}

/// `nonzero` of a bool array: one int64 index array per axis, of unknown length.
pub fn nonzero(mask: &Array, at: impl FnOnce() -> Provenance) -> Result<Vec<Array>> {
    let axes = mask.view.ndim();
    profile::used(Use::Nonzero, "nonzero", mask.view.size());
    if inline::is_possible(mask.view.size(), std::iter::once(mask), &[]) {
        let count = count_now(mask)?;
        let outs = (0..axes)
            .map(|_| empty(DType::I64, &[count], Order::C, Provenance::default))
            .collect::<Result<Vec<_>>>()?;
        inline::counted("nonzero");
        let refs: Vec<&Array> = outs.iter().collect();
        run_library(&numloom_library::Nonzero::new(), &[mask], &refs)?;
        return Ok(outs);
    }
    let at = at();
    let symbol = symbol_of(mask);
    let outs: Vec<Array> = (0..axes).map(|k| packed_array(DType::I64, mask, Some(k), &symbol, at)).collect();
    let refs: Vec<&Array> = outs.iter().collect();
    push(inline::operation(Kind::Nonzero, &[Operand::Array(mask)], &refs, None, at))?;
    Ok(outs)
}

/// If `indices` are the (unchanged) arrays of one `nonzero`, in order: its mask.
pub fn nonzero_mask(indices: &[&Array]) -> Option<Array> {
    let first = indices.first()?.store.origin.as_ref()?;
    let whole = indices.iter().enumerate().all(|(k, a)| {
        a.store.origin.as_ref().is_some_and(|o| {
            o.axis == Some(k)
                && Arc::ptr_eq(&o.mask, &first.mask)
                && o.mask_view == first.mask_view
                && o.mask_version == first.mask_version
                && o.own_version == a.store.version()
                && a.view.offset == 0
                && a.view.strides[0] == 8
                && (a.symbol().is_some() || a.store.symbol.as_ref().and_then(|s| s.get()) == a.view.shape.first())
        })
    });
    let complete = indices.len() == first.mask_view.ndim() && first.mask.version() == first.mask_version;
    (whole && complete).then(|| Array::new(first.mask.clone(), first.mask_view.clone()))
}

/// Writes the time, in units of so many nanoseconds, when everything recorded before is over.
pub fn clock(nanoseconds: u64, out: &Array, at: Provenance) -> Result<()> {
    // Nothing recorded later may join a task before it, and it joins none.
    WINDOW.flush();
    if SCHEDULER.in_flight() == 0
        && reserved::devices() == 0
        && let Ok(room) = out.store.materialise()
    {
        // Everything is over: what comes next may be done at once, before a task would look at the time.
        // SAFETY: one int64 that nobody else knows yet.
        unsafe { room.add(out.view.offset).cast::<i64>().write(Clock::now(nanoseconds)) };
        out.store.wrote();
        return Ok(());
    }
    let op = Kind::Library(Box::new(Clock::new(nanoseconds)));
    push(inline::operation(op, &[], &[out], None, at))?;
    WINDOW.flush();
    Ok(())
}

/// A kind of memory that an array can be put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    System,
    Framebuffer,
    ZeroCopy,
    Socket,
}

/// The memory of that kind with most room, if there is one in this run.
pub fn memory_of_kind(target: Target) -> Option<Memory> {
    let room = |m: &Memory| m.capacity() - m.live().min(m.capacity());
    let all = memory::levels().into_iter().map(|l| l.memory);
    let fits = |m: &Memory| match target {
        Target::System => *m == Memory::System,
        Target::Framebuffer => matches!(m, Memory::Framebuffer(_)),
        Target::ZeroCopy => *m == Memory::ZeroCopy,
        Target::Socket => matches!(m, Memory::Socket(_)),
    };
    all.filter(fits).rev().max_by_key(room)
}

/// Moves an array that is there to a memory, and frees it everywhere else. What foreign code sees stays where it is.
pub fn offload(a: &Array, to: Memory) -> Result<()> {
    sync::wait_until_idle(&a.store);
    if a.store.exposed.load(Ordering::SeqCst) > 0 {
        return Ok(());
    }
    let moved = if to.is_host() { a.store.move_to_host(to) } else { a.store.move_to_device(to) };
    moved.map_err(|e| ExecError::no_memory(e, "offload_to", a.store.provenance))
}

/// Counters for `numloom.stats()`: name, value and meaning, in the order to print.
pub fn stats() -> Vec<(&'static str, u64, &'static str)> {
    crate::stats::all()
}

/// A line about long work on standard error, now and then, where the settings want one.
pub fn show_progress() {
    crate::sync::show_progress();
}

/// Before a fork: finishes what is recorded and ends the threads. The next operation starts them again.
pub fn before_fork() {
    crate::sync::before_fork();
}

/// At interpreter exit: finishes pending work, or drops it if that is asked for or the wait is interrupted, and stops the
/// threads.
pub fn shutdown(drop: bool, interrupted: impl Fn() -> bool) -> Result<()> {
    crate::sync::shutdown(drop, interrupted)
}
