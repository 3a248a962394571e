//! Running folds along an axis (`cumsum`, `cumprod`, `ufunc.accumulate`).

use crate::buckets::are_apart;
use crate::element::{Element, read_run};
use crate::fold::{Combine, Fold, with_fold};
use crate::product::{Passage, carried, in_range, one_after_another, passage};
use crate::scratch::Scratch;
use crate::vector::vectorized;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces, without};
use crate::{Args, Form, LARGE, LibraryError, LibraryOp, RawView};
use numloom_ir::{DType, Dims, ScalarOp, Strides};
use numloom_loops::{fp_clear, stream, streamed};
use smallvec::{SmallVec, smallvec};
use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

/// `out[i] = fold(out[i - 1], x[i])` along `axis`. One input, one output of the same shape; the input is cast
/// to the output's dtype as it is read.
pub struct Accumulate {
    fold: Fold,
    axis: usize,
    sums: Scratch,
    before: Scratch,
    passages: Scratch,
    known: Scratch,
}

/// Elements of a tile.
const TILE: usize = 1 << 17;
/// Elements of a lane folded in one tile when there are few lanes.
const CHUNK: usize = 1 << 16;
/// Bytes of the chunks that are folded before they are scanned: they are in a cache still.
const SEGMENT: usize = 8 << 20;
/// Columns that are scanned side by side.
const COLUMNS: usize = 256;
/// Elements cast at a time.
const BLOCK: usize = 256;
/// Running folds that hide the latency of one.
const LANES: usize = 32;

fn is_large(out: &RawView) -> bool {
    out.size() * out.dtype.size() >= LARGE
}

/// How a call is cut.
enum Cut {
    Nothing,
    /// Groups of whole lanes.
    Lanes {
        tiles: usize,
    },
    /// Lanes side by side in memory: `inner` is their axis among the outer ones.
    Columns {
        inner: usize,
        blocks: usize,
    },
    /// Few long lanes: fold each chunk, fold the folds, then scan each chunk from its prefix.
    Chunks {
        chunks: usize,
    },
    /// The same in one go: a chunk is folded and at once scanned, while it is in the cache of who does both.
    Chain {
        chunks: usize,
    },
    /// The same segment by segment, where the output lies over the input. In a phase one of them is scanned, and the one
    /// behind it folded.
    Segments {
        chunks: usize,
        each: usize,
    },
}

struct Plan {
    /// The shape without the axis, and the strides of input and output there.
    outer: Dims,
    steps: [Strides; 2],
    lanes: usize,
    len: usize,
    cut: Cut,
}

/// A lane of the input and of the output: addresses and byte steps.
#[derive(Clone, Copy)]
struct Lane<'a> {
    x: &'a RawView,
    src: *const u8,
    src_step: isize,
    dst: *mut u8,
    dst_step: isize,
    /// Whether the output is dense here and larger than the caches, so that it is written past them.
    stream: bool,
}

impl Accumulate {
    pub fn new(fold: Fold, axis: usize) -> Accumulate {
        let [sums, before, passages, known] = [(); 4].map(|()| Scratch::default());
        Accumulate { fold, axis, sums, before, passages, known }
    }

    fn plan(&self, args: &Args) -> Result<Plan, LibraryError> {
        let name = self.name();
        ensure_operands(args, 1, 1, name)?;
        let (x, out) = (&args.ins[0], &args.outs[0]);
        ensure(self.axis < x.shape.len() && x.shape == out.shape, name, "shapes do not fit")?;
        ensure(self.fold.fits(out.dtype), name, "the output must be bool")?;
        let ((outer, x_steps), (_, out_steps)) = (without(x, self.axis), without(out, self.axis));
        let (lanes, len): (usize, usize) = (outer.iter().product(), x.shape[self.axis]);
        // Scanning from a prefix needs an associative fold, which a caller's loop may not be. Halves round too coarsely:
        // ones added one by one stop at 2048, and chunks of them do not.
        let rounds_coarsely = out.dtype == DType::F16 && matches!(self.fold, Fold::Add | Fold::Multiply);
        let associative = !matches!(self.fold, Fold::Call(_)) && !rounds_coarsely;
        let inner = (0..outer.len()).filter(|&i| outer[i] > 1).min_by_key(|&i| out_steps[i].unsigned_abs());
        let cut = if lanes * len == 0 {
            Cut::Nothing
        } else if associative && lanes <= 4 && len >= 2 * CHUNK {
            let chunks = pieces(len, CHUNK);
            if self.leaves_range(out.dtype) {
                Cut::Chunks { chunks }
            } else if are_apart(x, out) {
                Cut::Chain { chunks }
            } else {
                Cut::Segments { chunks, each: (SEGMENT / (CHUNK * out.dtype.size())).min(chunks) }
            }
        } else {
            match inner {
                Some(i) if out_steps[i].unsigned_abs() < out.strides[self.axis].unsigned_abs() && outer[i] >= 8 => {
                    Cut::Columns { inner: i, blocks: pieces(outer[i], COLUMNS) }
                }
                _ => Cut::Lanes { tiles: pieces(lanes * len, TILE).min(lanes) },
            }
        };
        Ok(Plan { outer, steps: [x_steps, out_steps], lanes, len, cut })
    }

    /// Whether a part may go beyond the range where the whole does not: see `product`.
    fn leaves_range(&self, dtype: DType) -> bool {
        matches!(self.fold, Fold::Multiply) && dtype.is_inexact()
    }

    unsafe fn lane<'a>(&self, args: &'a Args, offsets: [isize; 2], at: usize) -> Lane<'a> {
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let (src_step, dst_step) = (x.strides[self.axis], out.strides[self.axis]);
        Lane {
            x,
            src: x.ptr.offset(offsets[0] + at as isize * src_step),
            src_step,
            dst: out.ptr.offset(offsets[1] + at as isize * dst_step),
            dst_step,
            stream: is_large(out),
        }
    }

    unsafe fn run_typed<T: Element, F: Combine<T>>(
        &self,
        f: F,
        args: &Args,
        plan: &Plan,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let mut walk = Walk::new(&plan.outer, [&plan.steps[0], &plan.steps[1]]);
        match plan.cut {
            Cut::Nothing => {}
            Cut::Lanes { tiles } => {
                let range = piece(plan.lanes, tiles, tile);
                walk.seek(range.start);
                for _ in range {
                    let mut lane = self.lane(args, walk.offsets, 0);
                    let first = lane.first::<T>();
                    lane.scan(f, first, 0..plan.len);
                    walk.step();
                }
            }
            Cut::Columns { inner, blocks } => {
                let columns = piece(plan.outer[inner], blocks, tile % blocks);
                let (mut outer, mut steps) = (plan.outer.clone(), plan.steps.clone());
                outer.remove(inner);
                let across = [steps[0].remove(inner), steps[1].remove(inner)];
                let mut walk = Walk::new(&outer, [&steps[0], &steps[1]]);
                walk.seek(tile / blocks);
                let at = [0, 1].map(|o| walk.offsets[o] + columns.start as isize * across[o]);
                self.lane(args, at, 0).scan_columns(f, across, columns.len(), plan.len);
            }
            Cut::Chunks { chunks } => {
                let sums = self.sums.get::<T>(plan.lanes * chunks)?;
                let (index, chunk) = if phase == 1 { (tile, 0) } else { (tile / chunks, tile % chunks) };
                walk.seek(index);
                let range = piece(plan.len, chunks, chunk);
                let mut lane = self.lane(args, walk.offsets, range.start);
                let sums = sums.add(index * chunks);
                let passages = self.passages.get::<Passage>(plan.lanes * chunks)?.add(index * chunks);
                match phase {
                    0 if chunk + 1 < chunks => {
                        let sum = lane.fold(f, range.len(), self.fold.in_order(T::DTYPE));
                        *sums.add(chunk) = sum;
                        *passages.add(chunk) = if in_range(sum) { 0 } else { lane.passage::<T>(range.len()) };
                        // The scan of the chunk raises what there is to raise.
                        fp_clear();
                    }
                    0 => {}
                    1 => {
                        for i in 1..chunks - 1 {
                            let range = piece(plan.len, chunks, i);
                            let lane = self.lane(args, walk.offsets, range.start);
                            let again = |before| lane.fold_from(f, before, range.len());
                            *sums.add(i) = carried(*sums.add(i - 1), *sums.add(i), *passages.add(i), again);
                        }
                        fp_clear();
                    }
                    _ => lane.scan_behind(f, (chunk > 0).then(|| *sums.add(chunk - 1)), range.len()),
                }
            }
            Cut::Chain { chunks } => {
                let known = Known {
                    states: self.known.get::<AtomicU8>(plan.lanes * chunks)?,
                    sums: self.sums.get::<T>(plan.lanes * chunks)?,
                    folds: self.before.get::<T>(plan.lanes * chunks)?,
                };
                if phase == 0 {
                    (0..plan.lanes * chunks).for_each(|i| known.states.add(i).write(AtomicU8::new(NOTHING)));
                    return Ok(());
                }
                let (index, chunk) = (tile / chunks, tile % chunks);
                let known = known.behind(index * chunks);
                walk.seek(index);
                let fold = |chunk: usize| {
                    let range = piece(plan.len, chunks, chunk);
                    self.lane(args, walk.offsets, range.start).fold(f, range.len(), self.fold.in_order(T::DTYPE))
                };
                let is_last = chunk + 1 == chunks;
                let sum = (!is_last).then(|| known.tell_sum(chunk, fold(chunk)));
                let prefix = known.prefix(f, chunk, fold);
                if let Some(sum) = sum {
                    known.tell_fold(chunk, prefix.map_or(sum, |p| f.combine(p, sum)));
                }
                let range = piece(plan.len, chunks, chunk);
                self.lane(args, walk.offsets, range.start).scan_behind(f, prefix, range.len());
            }
            Cut::Segments { chunks, each } => {
                let segments = chunks.div_ceil(each);
                let sums = self.sums.get::<T>(plan.lanes * chunks)?;
                let before = self.before.get::<T>(plan.lanes * segments)?;
                let scanned = segment(phase.wrapping_sub(1), chunks, each);
                let (index, chunk, scans) = match tile.checked_sub(plan.lanes * scanned.len()) {
                    None => (tile / scanned.len(), scanned.start + tile % scanned.len(), true),
                    Some(tile) => {
                        let folded = segment(phase, chunks, each);
                        (tile / folded.len(), folded.start + tile % folded.len(), false)
                    }
                };
                walk.seek(index);
                let range = piece(plan.len, chunks, chunk);
                let mut lane = self.lane(args, walk.offsets, range.start);
                let (sums, before) = (sums.add(index * chunks), before.add(index * segments));
                if !scans {
                    *sums.add(chunk) = lane.fold(f, range.len(), self.fold.in_order(T::DTYPE));
                    return Ok(());
                }
                let mut prefix = (phase > 1).then(|| *before.add(phase - 1));
                for sum in (scanned.start..chunk).map(|c| *sums.add(c)) {
                    prefix = Some(prefix.map_or(sum, |p| f.combine(p, sum)));
                }
                if chunk + 1 == scanned.end && phase < segments {
                    let sum = *sums.add(chunk);
                    *before.add(phase) = prefix.map_or(sum, |p| f.combine(p, sum));
                }
                lane.scan_behind(f, prefix, range.len());
            }
        }
        Ok(())
    }
}

/// What is known of the chunks of a lane, by those who scan them: `states` says which of the other two are there.
struct Known<T> {
    states: *mut AtomicU8,
    /// The fold of each chunk.
    sums: *mut T,
    /// The fold of all up to each chunk's end.
    folds: *mut T,
}

const NOTHING: u8 = 0;
const SUM: u8 = 1;
const FOLD: u8 = 2;

/// How often one looks whether the thread that has a chunk is done with it: about as long as it takes to fold one.
const LOOKS: usize = 1000;

// Contract of all: there are as many chunks as are asked for, their states were set, and a chunk is told by one thread.
impl<T: Copy> Known<T> {
    unsafe fn behind(self, chunks: usize) -> Known<T> {
        Known { states: self.states.add(chunks), sums: self.sums.add(chunks), folds: self.folds.add(chunks) }
    }

    unsafe fn state(&self, chunk: usize) -> u8 {
        (*self.states.add(chunk)).load(Ordering::Acquire)
    }

    unsafe fn tell_sum(&self, chunk: usize, sum: T) -> T {
        *self.sums.add(chunk) = sum;
        (*self.states.add(chunk)).store(SUM, Ordering::Release);
        sum
    }

    unsafe fn tell_fold(&self, chunk: usize, fold: T) {
        *self.folds.add(chunk) = fold;
        (*self.states.add(chunk)).store(FOLD, Ordering::Release);
    }

    /// The fold of all before a chunk, one chunk after another whoever folded them. What another thread takes too long
    /// over is folded once more: nobody waits for a thread that may not be running.
    unsafe fn prefix<F: Combine<T>>(&self, f: F, chunk: usize, fold: impl Fn(usize) -> T) -> Option<T> {
        let told = (0..chunk).rev().find(|&c| self.state(c) == FOLD);
        let sum = |c: usize| {
            let is_there = (0..LOOKS).any(|_| {
                let is_there = self.state(c) != NOTHING;
                if !is_there {
                    spin_loop();
                }
                is_there
            });
            if is_there { *self.sums.add(c) } else { fold(c) }
        };
        let before = told.map(|c| *self.folds.add(c));
        (told.map_or(0, |c| c + 1)..chunk).fold(before, |acc, c| {
            let sum = sum(c);
            Some(acc.map_or(sum, |acc| f.combine(acc, sum)))
        })
    }
}

/// The chunks of a segment, none if there is no such segment.
fn segment(number: usize, chunks: usize, each: usize) -> Range<usize> {
    let start = number.saturating_mul(each).min(chunks);
    start..(start + each).min(chunks)
}

impl Lane<'_> {
    unsafe fn first<T: Element>(&self) -> T {
        let mut first = T::ZERO;
        read_run(self.x.dtype, self.src, self.src_step, &mut first, 1);
        first
    }

    /// What the first `n` elements do to a product before them.
    unsafe fn passage<T: Element>(&self, n: usize) -> Passage {
        let mut buffer = MaybeUninit::<[T; BLOCK]>::uninit();
        (0..n).step_by(BLOCK).fold(0, |seen, at| {
            let len = BLOCK.min(n - at);
            let src = self.src.offset(at as isize * self.src_step);
            let block = read_block::<T>(self.x.dtype, src, self.src_step, len, &mut buffer);
            one_after_another(seen, passage(block, len))
        })
    }

    /// The first `n` elements folded into `acc`, one by one.
    unsafe fn fold_from<T: Element, F: Combine<T>>(&self, f: F, acc: T, n: usize) -> T {
        let mut buffer = MaybeUninit::<[T; BLOCK]>::uninit();
        (0..n).step_by(BLOCK).fold(acc, |acc, at| {
            let len = BLOCK.min(n - at);
            let src = self.src.offset(at as isize * self.src_step);
            let block = read_block::<T>(self.x.dtype, src, self.src_step, len, &mut buffer);
            (0..len).fold(acc, |acc, i| f.combine(acc, *block.add(i)))
        })
    }

    unsafe fn fold<T: Element, F: Combine<T>>(&self, f: F, n: usize, in_order: bool) -> T {
        fold_run(f, self.x.dtype, self.src, self.src_step, n, in_order)
    }

    /// Scans `n` elements behind what was folded before, if there is anything.
    unsafe fn scan_behind<T: Element, F: Combine<T>>(&mut self, f: F, before: Option<T>, n: usize) {
        match before {
            Some(before) => self.scan_from(f, before, n),
            None => {
                let first = self.first::<T>();
                self.scan(f, first, 0..n);
            }
        }
    }

    /// Writes the lane's first element as it is, then scans the rest.
    unsafe fn scan<T: Element, F: Combine<T>>(&mut self, f: F, first: T, range: Range<usize>) {
        (self.dst as *mut T).write_unaligned(first);
        self.src = self.src.wrapping_offset(self.src_step);
        self.dst = self.dst.wrapping_offset(self.dst_step);
        self.scan_from(f, first, range.len() - 1);
    }

    unsafe fn scan_from<T: Element, F: Combine<T>>(&mut self, f: F, mut acc: T, n: usize) {
        let mut buffer = MaybeUninit::<[T; BLOCK]>::uninit();
        let mut made = MaybeUninit::<[T; BLOCK]>::uninit();
        let mut at = 0;
        while at < n {
            let len = BLOCK.min(n - at);
            let src = self.src.offset(at as isize * self.src_step);
            let block = read_block::<T>(self.x.dtype, src, self.src_step, len, &mut buffer);
            let dst = self.dst.offset(at as isize * self.dst_step);
            if self.dst_step == size_of::<T>() as isize && self.stream {
                let made = made.as_mut_ptr() as *mut T;
                for i in 0..len {
                    acc = f.combine(acc, *block.add(i));
                    made.add(i).write(acc);
                }
                stream(made as *const u8, dst, len * size_of::<T>());
            } else if self.dst_step == size_of::<T>() as isize {
                for i in 0..len {
                    acc = f.combine(acc, *block.add(i));
                    (dst as *mut T).add(i).write_unaligned(acc);
                }
            } else {
                for i in 0..len {
                    acc = f.combine(acc, *block.add(i));
                    (dst.offset(i as isize * self.dst_step) as *mut T).write_unaligned(acc);
                }
            }
            at += len;
        }
    }

    /// Scans `columns` lanes that lie `across` bytes apart, row by row.
    unsafe fn scan_columns<T: Element, F: Combine<T>>(&self, f: F, across: [isize; 2], columns: usize, len: usize) {
        debug_assert!(columns <= COLUMNS);
        let item = size_of::<T>() as isize;
        let mut sums = [T::ZERO; COLUMNS];
        let mut buffer = [T::ZERO; COLUMNS];
        let direct = self.x.dtype == T::DTYPE && across[0] == item && self.x.is_aligned();
        for row in 0..len {
            let src = self.src.offset(row as isize * self.src_step);
            let dst = self.dst.offset(row as isize * self.dst_step);
            let values = if direct {
                src as *const T
            } else {
                read_run(self.x.dtype, src, across[0], buffer.as_mut_ptr(), columns);
                buffer.as_ptr()
            };
            vectorized(
                #[inline(always)]
                || {
                    if row == 0 {
                        (0..columns).for_each(|j| sums[j] = *values.add(j));
                    } else {
                        for j in 0..columns {
                            sums[j] = f.combine(sums[j], *values.add(j));
                        }
                    }
                    if across[1] != item {
                        for j in 0..columns {
                            (dst.offset(j as isize * across[1]) as *mut T).write_unaligned(sums[j]);
                        }
                    }
                },
            );
            let (made, bytes) = (sums.as_ptr() as *const u8, columns * size_of::<T>());
            if across[1] == item && self.stream {
                stream(made, dst, bytes);
            } else if across[1] == item {
                numloom_loops::copy_bytes(made, dst, bytes);
            }
        }
    }
}

/// All the folds of the first of a few elements, `n >= 1`, from left to right.
///
/// # Safety
/// `from` is readable and `to` writeable memory of `n` elements of `dtype`, which the fold fits.
pub unsafe fn scan_few(fold: &Fold, dtype: DType, from: *const u8, n: usize, to: *mut u8) {
    with_fold!(*fold, dtype, T, f => {
        let (from, to) = (from.cast::<T>(), to.cast::<T>());
        let mut acc = from.read_unaligned();
        to.write_unaligned(acc);
        for i in 1..n {
            acc = f.combine(acc, from.add(i).read_unaligned());
            to.add(i).write_unaligned(acc);
        }
    })
}

/// The fold of `n >= 1` inputs of dtype `from`, `step` bytes apart: strictly from left to right if `in_order`,
/// else in several running folds side by side.
///
/// # Safety
/// All `n` inputs must be readable.
pub(crate) unsafe fn fold_run<T: Element, F: Combine<T>>(
    f: F,
    from: DType,
    src: *const u8,
    step: isize,
    n: usize,
    in_order: bool,
) -> T {
    let mut buffer = MaybeUninit::<[T; BLOCK]>::uninit();
    let mut total: Option<T> = None;
    for at in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - at);
        let block = read_block::<T>(from, src.offset(at as isize * step), step, len, &mut buffer);
        if in_order || len < LANES {
            let first = total.map_or(*block, |t| f.combine(t, *block));
            total = Some((1..len).fold(first, |t, i| f.combine(t, *block.add(i))));
            continue;
        }
        let part = vectorized(
            #[inline(always)]
            || {
                let whole = len / LANES * LANES;
                let mut lanes = *(block as *const [T; LANES]);
                for i in (LANES..whole).step_by(LANES) {
                    let next = &*(block.add(i) as *const [T; LANES]);
                    for j in 0..LANES {
                        lanes[j] = f.combine(lanes[j], next[j]);
                    }
                }
                let mut width = LANES / 2;
                while width > 0 {
                    for j in 0..width {
                        lanes[j] = f.combine(lanes[j], lanes[j + width]);
                    }
                    width /= 2;
                }
                (whole..len).fold(lanes[0], |t, i| f.combine(t, *block.add(i)))
            },
        );
        total = Some(total.map_or(part, |t| f.combine(t, part)));
    }
    total.unwrap_or(T::ZERO)
}

/// `n <= BLOCK` inputs, as they lie where possible.
#[inline(always)]
unsafe fn read_block<T: Element>(
    from: DType,
    src: *const u8,
    step: isize,
    n: usize,
    buffer: &mut MaybeUninit<[T; BLOCK]>,
) -> *const T {
    if from == T::DTYPE && step == size_of::<T>() as isize && src.cast::<T>().is_aligned() {
        return src as *const T;
    }
    read_run(from, src, step, buffer.as_mut_ptr() as *mut T, n);
    buffer.as_ptr() as *const T
}

impl LibraryOp for Accumulate {
    fn form(&self) -> Form {
        let op = match self.fold {
            Fold::Add => Some(ScalarOp::Add),
            Fold::Multiply => Some(ScalarOp::Multiply),
            Fold::Minimum => Some(ScalarOp::Minimum),
            Fold::Maximum => Some(ScalarOp::Maximum),
            _ => None,
        };
        Form::Accumulate { op, axis: self.axis }
    }

    fn name(&self) -> &'static str {
        "accumulate"
    }

    fn raises(&self) -> Option<&'static str> {
        self.fold.raises().then(|| self.name())
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        let Ok(plan) = self.plan(args) else { return smallvec![1] };
        match plan.cut {
            Cut::Nothing => smallvec![0],
            Cut::Lanes { tiles } => smallvec![tiles],
            Cut::Columns { inner, blocks } => smallvec![plan.lanes / plan.outer[inner] * blocks],
            Cut::Chunks { chunks } => smallvec![plan.lanes * chunks, plan.lanes, plan.lanes * chunks],
            Cut::Chain { chunks } => smallvec![1, plan.lanes * chunks],
            Cut::Segments { chunks, each } => {
                let tiles = |number: usize| plan.lanes * segment(number, chunks, each).len();
                (0..=chunks.div_ceil(each)).map(|phase| tiles(phase.wrapping_sub(1)) + tiles(phase)).collect()
            }
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let plan = self.plan(args)?;
        let out = &args.outs[0];
        let done = with_fold!(self.fold, out.dtype, T, f => self.run_typed::<T, _>(f, args, &plan, phase, tile));
        if is_large(out) {
            streamed();
        }
        done
    }

    /// Every input element is read before the output element of the same place is written.
    fn in_place(&self) -> bool {
        true
    }
}
