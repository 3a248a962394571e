//! Small work on data that is there: run at once on the caller's thread, without the window.

use crate::array::{Array, UNSIZED};
use crate::boxes;
use crate::cursor::Cursor;
use crate::dot;
use crate::error::ExecError;
use crate::filler::{filler, is_narrow, may_raise};
use crate::ledger::TRACKED;
use crate::lines::{self, slot};
use crate::near;
use crate::node::is_unsized;
use crate::operation::{Kind, Operation, Place, Source};
use crate::parts;
use crate::prompt;
use crate::provenance::Provenance;
use crate::record::{MapOp, Operand};
use crate::retire;
use crate::spill;
use crate::stats;
use crate::store::Store;
use numloom_ir::view::{Order, copied, dense_strides};
use numloom_ir::{DType, ScalarOp, Value, View};
use numloom_library::Form;
use numloom_loops::{BLOCK, BlockFn, In, Line, block_fn, cast_fn, fp_clear, fp_status, iota, line_fn, select_fn};
use smallvec::SmallVec;
use std::sync::Arc;

type Result<T> = std::result::Result<T, ExecError>;

/// Whether an operation on these arrays is small enough to run now, and may: see `is_free`.
#[inline]
pub fn is_possible<'a>(elements: usize, reads: impl Iterator<Item = &'a Array>, outs: &[&Array]) -> bool {
    prompt::runs_at_once(elements) && is_free(elements, reads, outs)
}

/// Whether nothing recorded is still on its way to these arrays.
#[inline]
pub fn is_free<'a>(elements: usize, mut reads: impl Iterator<Item = &'a Array>, outs: &[&Array]) -> bool {
    reads.all(|a| {
        a.store.is_settled()
            && a.symbol().is_none()
            && !a.store.is_broken()
            && !a.store.is_away()
            && !parts::is_one_of_many(&a.store, &a.view, elements)
    }) && outs.iter().all(|a| {
        a.store.is_idle()
            && a.symbol().is_none()
            && !a.store.is_away()
            && !parts::is_one_of_many(&a.store, &a.view, elements)
    })
}

/// Whether an operation was recorded for no other reason than that something recorded was on its way to its arrays.
#[inline]
pub fn only_waits(op: &Operation) -> bool {
    let most = prompt::most().saturating_mul(dot::lightness(op));
    // Of an array that is indexed, what is chosen counts.
    let (taken, put) = match &op.kind {
        Kind::Library(of) => match of.form() {
            Form::Take { .. } => (1, 0),
            Form::Put { .. } => (0, 1),
            _ => (0, 0),
        },
        _ => (0, 0),
    };
    let whole = op.outs.iter().take(put).chain(op.reads().take(taken));
    op.outs.iter().skip(put).chain(op.reads().skip(taken)).all(|p| {
        let elements = if is_unsized(&p.view) { UNSIZED } else { p.view.size() };
        elements <= most && !p.store.is_broken() && !parts::is_one_of_many(&p.store, &p.view, elements)
    }) && whole.into_iter().all(|p| !p.store.is_broken())
}

/// Whether one of the operands is a slice that is likely one of many.
#[inline]
pub(crate) fn is_part_of_many(ins: &[Operand], elements: usize) -> bool {
    let part = |i: &Operand| matches!(i, Operand::Array(a) if parts::is_one_of_many(&a.store, &a.view, elements));
    elements > SMALL && ins.iter().any(part)
}

/// The longest array that `map_new` and `run_small` take: one call of a block loop.
pub const SMALL: usize = BLOCK;

/// The loop of an operation with its types, for one output. `None` for operations that are not one loop.
#[inline]
pub(crate) fn loop_of(op: MapOp, ins: &[Operand], out: DType) -> Option<(BlockFn, [DType; 2])> {
    match op {
        MapOp::Scalar { op, lp } => {
            let l = &op.loops()[lp as usize];
            let types = match l.ins() {
                [a] => [*a, *a],
                [a, b] => [*a, *b],
                _ => return None,
            };
            (l.outs()[0] == out && l.outs().len() == 1).then(|| (block_fn(op, lp as usize), types))
        }
        MapOp::Copy => {
            let from = match ins[0] {
                Operand::Array(a) => a.view.dtype,
                Operand::Value(v) => v.dtype,
            };
            Some((cast_fn(from, out), [from, from]))
        }
        _ => None,
    }
}

/// The run of a dense array that may be read now: 0-d, or of this shape. `None` when it is not so.
#[inline]
pub(crate) fn dense_run(a: &Array, dtype: DType, shape: &[usize]) -> Option<In> {
    let v = &a.view;
    let p = a.store.ptr();
    if v.dtype != dtype || p.is_null() || !a.store.is_settled() || a.symbol().is_some() || a.store.is_broken() {
        return None;
    }
    let step = match v.shape.as_slice() {
        [] => 0,
        own if own == shape && is_dense(v) => dtype.size(),
        _ => return None,
    };
    // SAFETY: a view's offset lies inside its store.
    Some(In { ptr: unsafe { p.add(v.offset) }, step })
}

/// A scalar operation on small arrays of the loop's own types into a new array. `None` when the operands do not fit that.
#[inline]
pub fn map_new(op: ScalarOp, lp: u8, ins: &[Operand]) -> Option<Result<(Array, u8)>> {
    let _still = spill::inline();
    let like = ins.iter().find_map(|i| match i {
        Operand::Array(a) if a.view.ndim() > 0 => Some(*a),
        _ => None,
    })?;
    let n = like.view.size();
    if n == 0 || !prompt::runs_at_once(n) || is_part_of_many(ins, n) {
        return None;
    }
    let types = &op.loops()[lp as usize];
    let mut args = [In { ptr: std::ptr::null(), step: 0 }; 2];
    let mut cast_flags = 0;
    for (k, ((arg, i), &want)) in args.iter_mut().zip(ins).zip(types.ins()).enumerate() {
        *arg = match i {
            Operand::Value(v) if v.dtype == want => In { ptr: v.bytes.as_ptr(), step: 0 },
            Operand::Value(_) => return None,
            Operand::Array(a) => match dense_run(a, want, &like.view.shape) {
                Some(run) => run,
                // What is not there is recorded.
                None if near::there(a).is_none() => return None,
                None if a.view.dtype != want
                    && n <= SMALL
                    && let Some(run) = dense_run(a, a.view.dtype, &like.view.shape).filter(|run| run.step != 0) =>
                {
                    // SAFETY: `n` elements, not more than a block.
                    unsafe { boxes::cast(run, a.view.dtype, want, n, k, &mut cast_flags) }
                }
                None if is_turned(like) => {
                    return turned_new(op, lp, ins, like).or_else(|| boxes::map_new(op, lp, ins));
                }
                None if a.view.ndim() > 1 || like.view.ndim() > 1 => return boxes::map_new(op, lp, ins),
                None => return lines_new(op, lp, ins, like).or_else(|| boxes::map_new(op, lp, ins)),
            },
        };
    }
    // SAFETY: the inputs are dense over `n` elements (or one); values live in `ins`.
    unsafe { dense_new(op, lp, args, like, Order::C, cast_flags) }
}

/// Whether a matrix is dense, column by column.
#[inline]
fn is_turned(a: &Array) -> bool {
    matches!((a.view.shape.as_slice(), a.view.strides.as_slice()), (&[rows, _], &[down, along])
        if down == a.view.dtype.size() as isize && along == rows as isize * down)
}

/// `map_new` of matrices that lie column by column like one of them, as the result will.
fn turned_new(op: ScalarOp, lp: u8, ins: &[Operand], like: &Array) -> Option<Result<(Array, u8)>> {
    let mut args = [In { ptr: std::ptr::null(), step: 0 }; 2];
    for ((arg, i), &want) in args.iter_mut().zip(ins).zip(op.loops()[lp as usize].ins()) {
        *arg = match i {
            Operand::Value(v) if v.dtype == want => In { ptr: v.bytes.as_ptr(), step: 0 },
            Operand::Array(a) if a.view.dtype == want && a.view.shape == like.view.shape && is_turned(a) => {
                In { ptr: near::there(a)?.ptr, step: want.size() }
            }
            _ => return None,
        };
    }
    // SAFETY: the inputs have as many elements as `like`, or one.
    unsafe { dense_new(op, lp, args, like, Order::F, 0) }
}

/// The new array that a loop makes of dense inputs, shaped like one of them.
///
/// # Safety
/// The inputs have as many elements as `like`, or one for all.
#[inline(always)]
unsafe fn dense_new(
    op: ScalarOp,
    lp: u8,
    args: [In; 2],
    like: &Array,
    order: Order,
    mut flags: u8,
) -> Option<Result<(Array, u8)>> {
    let [dtype] = op.loops()[lp as usize].outs() else { return None };
    let (n, shape) = (like.view.size(), &like.view.shape);
    let store = room(n, *dtype)?;
    fp_clear();
    flags |= in_blocks(block_fn(op, lp as usize), n, args, store.ptr(), dtype.size()) | fp_status();
    stats::count_inline(op.name());
    let strides = dense_strides(dtype.size(), shape, order);
    let view = View { dtype: *dtype, offset: 0, shape: copied(shape), strides };
    Some(Ok((Array::first(store, view), flags)))
}

/// `map_new` of lines like one of them.
fn lines_new(op: ScalarOp, lp: u8, ins: &[Operand], like: &Array) -> Option<Result<(Array, u8)>> {
    let (types, n) = (&op.loops()[lp as usize], like.view.size());
    let [dtype] = types.outs() else { return None };
    let lines = lines_of(ins, types.ins(), like, |_| true)?;
    let store = room(n, *dtype)?;
    let to = Line { ptr: store.ptr(), step: dtype.size() as isize, size: dtype.size() };
    fp_clear();
    // SAFETY: views lie inside their stores; the output is new.
    let flags = unsafe { compute_lines(op, block_fn(op, lp as usize), n, &lines, (to, *dtype)) } | fp_status();
    stats::count_inline(op.name());
    Some(Ok((line(store, *dtype, n), flags)))
}

/// # Safety
/// As for `lines::in_pieces`.
unsafe fn compute_lines(op: ScalarOp, f: BlockFn, n: usize, lines: &[Line], to: (Line, DType)) -> u8 {
    match (lines, line_fn(op, to.1)) {
        (&[a, b], Some(direct)) => {
            direct(n, a, b, to.0);
            0
        }
        _ => lines::in_pieces(f, n, lines, to.0),
    }
}

/// The operands of an operation on lines, if they are of these types, there, as long as one of them, and `fit`.
fn lines_of(
    ins: &[Operand],
    types: &[DType],
    like: &Array,
    fit: impl Fn(&Array) -> bool,
) -> Option<SmallVec<[Line; 2]>> {
    let mut lines = SmallVec::new();
    for (i, &want) in ins.iter().zip(types) {
        lines.push(match i {
            Operand::Value(v) if v.dtype == want => Line { ptr: v.bytes.as_ptr(), step: 0, size: want.size() },
            Operand::Array(a) if a.view.dtype == want && fit(a) => line_at(a, like)?,
            _ => return None,
        });
    }
    Some(lines)
}

/// Where the elements of a line as long as another lie, or the one element of a 0-d array.
fn line_at(a: &Array, like: &Array) -> Option<Line> {
    let step = match a.view.strides.as_slice() {
        [] => 0,
        &[step] if a.view.shape == like.view.shape => step,
        _ => return None,
    };
    near::there(a).map(|there| Line { ptr: there.ptr, step, size: a.view.dtype.size() })
}

/// Memory for the result of an operation that runs at once, unless it is of a size whose line is kept: such an array is
/// made by `record::empty_view`.
#[inline]
pub(crate) fn room(n: usize, dtype: DType) -> Option<Arc<Store>> {
    let nbytes = n * dtype.size();
    if nbytes < TRACKED { Store::to_fill(nbytes).ok() } else { None }
}

/// Runs a block loop over `n` elements, `size` bytes each in the result.
///
/// # Safety
/// The inputs have `n` elements, or one where their step is 0; the result has room for as many.
#[inline]
pub(crate) unsafe fn in_blocks<const N: usize>(
    f: BlockFn,
    n: usize,
    mut args: [In; N],
    mut to: *mut u8,
    size: usize,
) -> u8 {
    if n <= BLOCK {
        return f(n, args.as_ptr(), &to);
    }
    let mut flags = 0;
    for at in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - at);
        flags |= f(len, args.as_ptr(), &to);
        for a in &mut args {
            a.ptr = a.ptr.wrapping_add(a.step * len);
        }
        to = to.add(len * size);
    }
    flags
}

/// `where(mask, yes, no)` of small dense arrays of one shape, or constants, into a new array.
pub fn select_new(mask: &Array, yes: Operand, no: Operand, dtype: DType) -> Option<Array> {
    let _still = spill::inline();
    let (n, shape) = (mask.view.size(), &mask.view.shape);
    if n == 0 || !prompt::runs_at_once(n) || shape.is_empty() || is_part_of_many(&[Operand::Array(mask), yes, no], n) {
        return None;
    }
    let run = |o: &Operand| match o {
        Operand::Value(v) if v.dtype == dtype => Some(In { ptr: v.bytes.as_ptr(), step: 0 }),
        Operand::Value(_) => None,
        Operand::Array(a) => dense_run(a, dtype, shape),
    };
    let args = [dense_run(mask, DType::Bool, shape)?, run(&yes)?, run(&no)?];
    let store = room(n, dtype)?;
    let to = store.ptr();
    // SAFETY: the inputs are dense over `n` elements (or one), the output is new.
    unsafe { in_blocks(select_fn(dtype.size()), n, args, to, dtype.size()) };
    stats::count_inline("where");
    Some(Array::first(store, View::dense(dtype, shape, Order::C)))
}

/// A copy of a small dense array or a line in another type (or its own), and the flags it raised.
pub fn cast_small(a: &Array, to: DType) -> Option<(Array, u8)> {
    let _still = spill::inline();
    let (n, shape, size) = (a.view.size(), &a.view.shape, a.view.dtype.size());
    if n == 0 || !prompt::runs_at_once(n) || is_part_of_many(&[Operand::Array(a)], n) {
        return None;
    }
    let mut flags = 0;
    let store = match dense_run(a, a.view.dtype, shape) {
        // SAFETY, of both: the input has `n` elements, the output is new.
        Some(from) => {
            let store = room(n, to)?;
            fp_clear();
            flags = unsafe { in_blocks(cast_fn(a.view.dtype, to), n, [from], store.ptr(), to.size()) } | fp_status();
            store
        }
        None if to == a.view.dtype => {
            let from = near::there(a)?;
            let store = room(n, to)?;
            unsafe { lines::gather_box(size, shape, &a.view.strides, from.ptr, store.ptr()) };
            store
        }
        None => return None,
    };
    stats::count_inline("astype");
    Some((Array::first(store, View::dense(to, shape, Order::C)), flags))
}

/// A small new array of `start + step * i`, made at once.
pub fn iota_new(start: &Value, step: &Value, n: usize) -> Option<Array> {
    if n == 0 || !prompt::runs_at_once(n) {
        return None;
    }
    let dtype = start.dtype;
    let store = room(n, dtype)?;
    for at in (0..n).step_by(BLOCK) {
        // SAFETY: the store has room for `n` elements and nobody else has seen it.
        unsafe {
            let to = store.ptr().add(at * dtype.size());
            iota(dtype, BLOCK.min(n - at), start.bytes.as_ptr(), step.bytes.as_ptr(), at, to);
        }
    }
    stats::count_inline("arange");
    Some(Array::first(store, View::dense(dtype, &[n], Order::C)))
}

/// Like `run_dense`, with every condition checked here, cheapest first.
#[inline]
pub fn run_small(op: MapOp, ins: &[Operand], out: &Array) -> Option<Result<u8>> {
    let _still = spill::inline();
    let n = out.view.size();
    if n == 0
        || n > SMALL
        || n > numloom_config::current().inline_size
        || !out.store.is_idle()
        || out.store.is_away()
        || out.symbol().is_some()
    {
        return None;
    }
    let (f, types) = loop_of(op, ins, out.view.dtype)?;
    let in_place = is_dense(&out.view);
    let mut cast_flags = 0;
    if !in_place
        && out.view.ndim() == 1
        && let MapOp::Scalar { op, .. } = op
        && let Some(flags) = run_line(op, f, types, ins, out)
    {
        stats::count_inline(op.name());
        return Some(Ok(flags));
    }
    fp_clear();
    let mut args = [In { ptr: std::ptr::null(), step: 0 }; 2];
    for (k, ((arg, i), want)) in args.iter_mut().zip(ins).zip(types).enumerate() {
        *arg = match i {
            Operand::Value(v) if v.dtype == want => In { ptr: v.bytes.as_ptr(), step: 0 },
            Operand::Value(_) => return None,
            // What is written in place may only be read as the same elements, or before.
            Operand::Array(a) if in_place && Arc::ptr_eq(&a.store, &out.store) && a.view != out.view => {
                lines::copied(a, want, &out.view.shape, k)?
            }
            Operand::Array(a) if a.view.dtype != want => {
                let run = lines::run(a, a.view.dtype, &out.view.shape, k)?;
                if run.step == 0 {
                    return None;
                }
                // SAFETY: `n` elements, not more than a block.
                unsafe { boxes::cast(run, a.view.dtype, want, n, k, &mut cast_flags) }
            }
            Operand::Array(a) => lines::run(a, want, &out.view.shape, k)?,
        };
    }
    let base = match out.store.materialise() {
        Ok(p) => p,
        Err(e) => return Some(Err(ExecError::no_memory(e, "operation", Provenance::default()))),
    };
    // SAFETY: offset and extent lie inside the store, and nothing recorded touches it; inputs as in `map_new`.
    let flags = unsafe {
        let to = if in_place { base.add(out.view.offset) } else { slot(args.len()) };
        let one = (op == MapOp::Copy && !in_place && args[0].step == 0).then_some(args[0].ptr);
        match one {
            Some(value) if types[0] == out.view.dtype => {
                lines::fill(&out.view, value, base);
                0
            }
            _ => {
                let flags = f(n, args.as_ptr(), &to) | fp_status();
                if !in_place {
                    lines::put(&out.view, to, base);
                }
                flags
            }
        }
    };
    out.store.wrote();
    stats::count_inline(op.name());
    Some(Ok(flags | cast_flags))
}

/// An operation whose result is a line, written where it lies piece by piece. `None` where what is written may be read as
/// other elements, or is not there.
fn run_line(op: ScalarOp, f: BlockFn, types: [DType; 2], ins: &[Operand], out: &Array) -> Option<u8> {
    let apart = |a: &Array| !Arc::ptr_eq(&a.store, &out.store) || a.view == out.view;
    let lines = lines_of(ins, &types[..ins.len()], out, apart)?;
    let to = line_at(out, out)?;
    fp_clear();
    // SAFETY: views lie inside their stores; nothing recorded touches what is written, which is read as the same elements.
    let (n, to) = (out.view.size(), (to, out.view.dtype));
    let flags = unsafe { compute_lines(op, f, n, &lines, to) } | fp_status();
    out.store.wrote();
    Some(flags)
}

/// The 1-d array of a new store.
#[inline]
pub(crate) fn line(store: Arc<Store>, dtype: DType, n: usize) -> Array {
    let view = View {
        dtype,
        offset: 0,
        shape: SmallVec::from_buf_and_len([n, 0, 0, 0], 1),
        strides: SmallVec::from_buf_and_len([dtype.size() as isize, 0, 0, 0], 1),
    };
    Array::first(store, view)
}

/// Whether one lies wholly before the other in their store.
fn are_apart(a: &View, b: &View) -> bool {
    let ((a_low, a_high), (b_low, b_high)) = (a.byte_bounds(), b.byte_bounds());
    a_high <= b_low || b_high <= a_low
}

/// One scalar operation or copy over dense arrays of the loop's own types: straight to the block loop.
/// `None` when the operands do not fit that.
#[inline]
pub fn run_dense(op: MapOp, ins: &[Operand], outs: &[&Array]) -> Option<Result<u8>> {
    let _still = spill::inline();
    let [out] = outs else { return None };
    let n = out.view.size();
    let (f, in_types): (_, SmallVec<[DType; 2]>) = match op {
        MapOp::Scalar { op, lp } => {
            let l = &op.loops()[lp as usize];
            if l.outs()[0] != out.view.dtype {
                return None;
            }
            (block_fn(op, lp as usize), SmallVec::from_slice(l.ins()))
        }
        MapOp::Copy => {
            let from = match ins[0] {
                Operand::Array(a) => a.view.dtype,
                Operand::Value(v) => v.dtype,
            };
            (cast_fn(from, out.view.dtype), SmallVec::from_slice(&[from]))
        }
        _ => return None,
    };
    if !is_dense(&out.view) {
        return None;
    }
    let mut args = [In { ptr: std::ptr::null(), step: 0 }; 2];
    let mut values = [[0u8; 16]; 2];
    for (k, i) in ins.iter().enumerate() {
        match i {
            Operand::Value(v) => {
                if v.dtype != in_types[k] {
                    return None;
                }
                values[k] = v.bytes;
                args[k] = In { ptr: values[k].as_ptr(), step: 0 };
            }
            Operand::Array(a) => {
                let v = &a.view;
                if v.dtype != in_types[k] {
                    return None;
                }
                let p = a.store.ptr();
                if p.is_null() {
                    return None;
                }
                let step = if v.shape.is_empty() {
                    0
                } else if v.shape == out.view.shape && is_dense(v) {
                    v.dtype.size()
                } else {
                    return None;
                };
                if step != 0 && p == out.store.ptr() && v.offset != out.view.offset && !are_apart(v, &out.view) {
                    return None;
                }
                // SAFETY: a view's offset lies inside its store.
                args[k] = In { ptr: unsafe { p.add(v.offset) }, step };
            }
        }
    }
    let base = match out.store.materialise() {
        Ok(p) => p,
        Err(e) => return Some(Err(ExecError::no_memory(e, "operation", Provenance::default()))),
    };
    // SAFETY: offset and extent lie inside the store; nothing else touches it (`is_possible`).
    let mut flags = 0;
    unsafe {
        fp_clear();
        flags |= in_blocks(f, n, args, base.add(out.view.offset), out.view.dtype.size());
        flags |= fp_status();
    }
    out.store.wrote();
    Some(Ok(flags))
}

/// Dense in C order, the layout of nearly all small arrays.
#[inline]
pub(crate) fn is_dense(v: &View) -> bool {
    match (v.shape.as_slice(), v.strides.as_slice()) {
        ([], _) => true,
        ([_], [s]) => *s == v.dtype.size() as isize,
        _ => v.is_c_contiguous(),
    }
}

/// Any elementwise operation, whatever the strides, types and mask: gathered, computed and scattered
/// block by block. The caller has made sure that outputs overlap inputs only element by element.
pub fn run_strided(op: MapOp, ins: &[Operand], outs: &[&Array], mask: Option<&Array>) -> Result<u8> {
    let _still = spill::inline();
    let shape = &outs[0].view.shape;
    let n = outs[0].view.size();
    let name = "operation";
    let (in_types, out_types): (SmallVec<[DType; 3]>, SmallVec<[DType; 2]>) = match op {
        MapOp::Scalar { op, lp } => {
            let l = &op.loops()[lp as usize];
            (SmallVec::from_slice(l.ins()), SmallVec::from_slice(l.outs()))
        }
        MapOp::Copy => (SmallVec::from_slice(&[outs[0].view.dtype]), SmallVec::from_slice(&[outs[0].view.dtype])),
        MapOp::Select => {
            let d = outs[0].view.dtype;
            (SmallVec::from_slice(&[DType::Bool, d, d]), SmallVec::from_slice(&[d]))
        }
        MapOp::Iota { .. } => (SmallVec::new(), SmallVec::from_slice(&[outs[0].view.dtype])),
    };
    let cursor = |a: &Array| -> Result<Cursor> {
        let base = a.store.materialise().map_err(|e| ExecError::no_memory(e, name, Provenance::default()))?;
        Ok(Cursor::new(base, &a.view, shape))
    };
    let mut sources: SmallVec<[BlockSource; 3]> = SmallVec::new();
    for (i, &want) in ins.iter().zip(&in_types) {
        sources.push(match i {
            Operand::Array(a) => BlockSource::Array { cursor: cursor(a)?, dtype: a.view.dtype, want },
            Operand::Value(v) if v.dtype == want => BlockSource::Value(*v),
            Operand::Value(v) => BlockSource::Value(cast_value(v, want)),
        });
    }
    let mut sinks = outs.iter().map(|o| cursor(o)).collect::<Result<SmallVec<[Cursor; 2]>>>()?;
    let mut masks = mask.map(cursor).transpose()?;
    let mut flags = 0;
    fp_clear();
    let mut at = 0;
    while at < n {
        let len = BLOCK.min(n - at);
        // SAFETY: every cursor walks its own view, which has `n` elements; buffers hold a block each.
        unsafe {
            let mask_block = masks.as_mut().map(|m| {
                m.take(len, slot(5));
                slot(5) as *const u8
            });
            let guard = mask_block.filter(|_| may_raise(&op));
            let mut args = [In { ptr: std::ptr::null(), step: 0 }; 3];
            for (k, s) in sources.iter_mut().enumerate() {
                args[k] = s.block(len, slot(k), slot(6), guard.map(|mask| (mask, is_narrow(&op))), &mut flags);
            }
            let results = [slot(3), slot(4)];
            flags |= match op {
                MapOp::Scalar { op, lp } => block_fn(op, lp as usize)(len, args.as_ptr(), results.as_ptr()),
                MapOp::Copy => cast_fn(in_types[0], in_types[0])(len, args.as_ptr(), results.as_ptr()),
                MapOp::Select => select_fn(out_types[0].size())(len, args.as_ptr(), results.as_ptr()),
                MapOp::Iota { start, step } => {
                    iota(out_types[0], len, start.bytes.as_ptr(), step.bytes.as_ptr(), at, results[0]);
                    0
                }
            };
            for (k, sink) in sinks.iter_mut().enumerate() {
                let to = outs[k].view.dtype;
                let mut from = results[k];
                if to != out_types[k] {
                    let spare = slot(6);
                    flags |= cast_fn(out_types[k], to)(len, &In { ptr: from, step: out_types[k].size() }, &spare);
                    from = spare;
                }
                sink.put(len, from, mask_block);
            }
        }
        at += len;
    }
    flags |= fp_status();
    outs.iter().for_each(|o| o.store.wrote());
    Ok(flags)
}

/// A constant as its own block loop casts it.
fn cast_value(v: &Value, to: DType) -> Value {
    let mut bytes = [0u8; 16];
    let out = bytes.as_mut_ptr();
    // SAFETY: one element in, one out.
    unsafe { cast_fn(v.dtype, to)(1, &In { ptr: v.bytes.as_ptr(), step: 0 }, &out) };
    Value { dtype: to, bytes }
}

/// Where an input's blocks come from.
enum BlockSource {
    Array { cursor: Cursor, dtype: DType, want: DType },
    Value(Value),
}

impl BlockSource {
    /// `guard`: a mask, and whether what stands in where it is false is narrow.
    unsafe fn block(
        &mut self,
        n: usize,
        slot: *mut u8,
        spare: *mut u8,
        guard: Option<(*const u8, bool)>,
        flags: &mut u8,
    ) -> In {
        let guarded = |run: In, dtype: DType, to: *mut u8| match guard {
            None => run,
            Some((mask, narrow)) => {
                let instead = filler(dtype, narrow);
                let args = [In { ptr: mask, step: 1 }, run, In { ptr: instead.bytes.as_ptr(), step: 0 }];
                select_fn(dtype.size())(n, args.as_ptr(), &to);
                In { ptr: to, step: dtype.size() }
            }
        };
        match self {
            BlockSource::Value(v) => guarded(In { ptr: v.bytes.as_ptr(), step: 0 }, v.dtype, slot),
            BlockSource::Array { cursor, dtype, want } => {
                let mut run = In { ptr: slot, step: dtype.size() };
                match cursor.dense() {
                    Some(p) => {
                        run.ptr = p;
                        cursor.skip(n);
                    }
                    None => cursor.take(n, if dtype == want { slot } else { spare }),
                }
                if dtype == want {
                    return guarded(run, *dtype, slot);
                }
                if std::ptr::eq(run.ptr, slot) {
                    run.ptr = spare;
                }
                let run = guarded(run, *dtype, spare);
                *flags |= cast_fn(*dtype, *want)(n, &run, &slot);
                In { ptr: slot, step: want.size() }
            }
        }
    }
}

/// An operation on these arrays, as the window would hold it.
pub fn operation(kind: Kind, ins: &[Operand], outs: &[&Array], mask: Option<&Array>, at: Provenance) -> Operation {
    let place = |a: &Array| Place { store: a.store.clone(), view: a.view.clone() };
    // Pushed one by one: collecting moves these large elements more often.
    let (ins_room, outs_room, told) = (SmallVec::new(), SmallVec::new(), retire::told());
    let mask = mask.map(|m| Box::new(place(m)));
    let mut op = Operation { kind, ins: ins_room, outs: outs_room, mask, at, fresh: 0, times: 1, recorded: 0, told };
    for i in ins {
        op.ins.push(match i {
            Operand::Array(a) => Source::Place(place(a)),
            Operand::Value(v) => Source::Value(*v),
        });
    }
    for a in outs {
        op.outs.push(place(a));
    }
    op
}

/// Counts an operation that ran here.
pub fn counted(name: &'static str) {
    stats::count_inline(name);
}
