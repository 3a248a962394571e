//! Where the extreme of each lane is (`argmax`, `argmin`): the first one; a NaN counts as extreme.

use crate::element::{Element, read_run, with_type};
use crate::scratch::{Buffer, Scratch};
use crate::short_lanes::{ABREAST, Lanes};
use crate::vector::vectorized;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces, without};
use crate::{Args, Form, LibraryError, LibraryOp};
use numloom_ir::{DType, Dims, Strides};
use smallvec::{SmallVec, smallvec};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Indices (int64) of the extremes along `axis`, or in the flattened input (C order) for `None`.
/// The output has the input's shape without the axis, or with it as an extent of 1.
pub struct ArgReduce {
    max: bool,
    axis: Option<usize>,
    found: Scratch,
}

/// Elements of a tile.
const TILE: usize = 1 << 17;
const COLUMNS: usize = 256;
/// From so many lanes side by side on, whole rows of them are gone through.
const WIDE: usize = 64;
/// Lanes that have fewer elements are gone along several at a time.
const SHORT: usize = 64;

enum Cut {
    Nothing,
    Lanes {
        tiles: usize,
    },
    /// Short lanes, or few side by side in memory.
    Abreast {
        tiles: usize,
    },
    /// Many lanes side by side in memory along the last outer axis, `blocks` of them for each place on the other axes.
    Columns {
        tiles: usize,
        blocks: usize,
    },
    /// Few long lanes: the extreme of each chunk, then of the chunks.
    Chunks {
        chunks: usize,
    },
}

struct Plan {
    outer: Dims,
    x_steps: Strides,
    out_steps: Strides,
    /// Extent and byte step of a lane; for `axis: None` the lane is the whole input.
    len: usize,
    lanes: usize,
    cut: Cut,
}

impl ArgReduce {
    pub fn new(max: bool, axis: Option<usize>) -> ArgReduce {
        ArgReduce { max, axis, found: Scratch::default() }
    }

    fn plan(&self, args: &Args) -> Result<Plan, LibraryError> {
        let name = self.name();
        ensure_operands(args, 1, 1, name)?;
        let (x, out) = (&args.ins[0], &args.outs[0]);
        ensure(out.dtype == DType::I64, name, "the output must be int64")?;
        let (mut outer, mut x_steps, mut out_steps, len) = match self.axis {
            None => {
                ensure(out.size() == 1, name, "shapes do not fit")?;
                (Dims::new(), Strides::new(), Strides::new(), x.size())
            }
            Some(axis) => {
                ensure(axis < x.shape.len(), name, "no such axis")?;
                let (outer, x_steps) = without(x, axis);
                let kept = out.shape.len() == x.shape.len() && out.shape[axis] == 1;
                let (shape, out_steps) =
                    if kept { without(out, axis) } else { (out.shape.clone(), out.strides.clone()) };
                ensure(shape == outer, name, "shapes do not fit")?;
                (outer, x_steps, out_steps, x.shape[axis])
            }
        };
        let lanes: usize = outer.iter().product();
        if lanes > 0 && len == 0 {
            return Err(LibraryError::Value(format!("attempt to get {name} of an empty sequence")));
        }
        let axis_step = self.axis.map_or(0, |a| x.strides[a].unsigned_abs());
        let inner = (0..outer.len())
            .filter(|&i| outer[i] >= ABREAST)
            .min_by_key(|&i| x_steps[i].unsigned_abs())
            .filter(|&i| len < SHORT || x_steps[i].unsigned_abs() < axis_step);
        if let Some(i) = inner {
            // The lanes that lie closest come one after another.
            outer[i..].rotate_left(1);
            x_steps[i..].rotate_left(1);
            out_steps[i..].rotate_left(1);
        }
        let side_by_side = inner.is_some() && x_steps.last().is_some_and(|step| step.unsigned_abs() < axis_step);
        let across = outer.last().copied().unwrap_or(1);
        let tiles = pieces(lanes.saturating_mul(len), TILE);
        let cut = if lanes == 0 {
            Cut::Nothing
        } else if lanes <= 4 && len > TILE {
            Cut::Chunks { chunks: pieces(len, TILE) }
        } else if side_by_side && across >= WIDE {
            let blocks = pieces(across, COLUMNS);
            Cut::Columns { tiles: tiles.min(lanes / across * blocks), blocks }
        } else if self.axis.is_some() && (len < SHORT || side_by_side && u32::try_from(len).is_ok()) {
            Cut::Abreast { tiles: tiles.min((lanes / ABREAST).max(1)) }
        } else {
            Cut::Lanes { tiles: tiles.min(lanes) }
        };
        Ok(Plan { outer, x_steps, out_steps, len, lanes, cut })
    }

    /// The extreme of part of a lane that starts at byte offset `at` of the input.
    unsafe fn part<T: Element, const MAX: bool>(
        &self,
        args: &Args,
        at: isize,
        range: Range<usize>,
    ) -> Result<(T, usize), LibraryError> {
        let x = &args.ins[0];
        let mut best: Option<(T, usize)> = None;
        let mut first = range.start;
        let mut take = |ptr: *const u8, step: isize, n: usize| {
            let (v, i) = extreme_run::<T, MAX>(ptr, step, n)?;
            if best.is_none_or(|(b, _)| beats::<T, MAX>(v, b)) {
                best = Some((v, first + i));
            }
            first += n;
            Ok(())
        };
        match self.axis {
            Some(axis) => {
                let step = x.strides[axis];
                take(x.ptr.offset(at + range.start as isize * step), step, range.len())?;
            }
            None => {
                let mut walk = Walk::new(&x.shape, [&x.strides]);
                walk.runs(range, |[from], [step], n| take(x.ptr.offset(from), step, n))?;
            }
        }
        best.ok_or_else(|| LibraryError::Value(format!("attempt to get {} of an empty sequence", self.name())))
    }

    unsafe fn run_typed<T: Element, const MAX: bool>(
        &self,
        args: &Args,
        plan: &Plan,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let put = |at: isize, i: usize| (out.ptr.offset(at) as *mut i64).write_unaligned(i as i64);
        let mut walk = Walk::new(&plan.outer, [&plan.x_steps, &plan.out_steps]);
        match plan.cut {
            Cut::Nothing => {}
            Cut::Lanes { tiles } => {
                let range = piece(plan.lanes, tiles, tile);
                walk.seek(range.start);
                for _ in range {
                    let (_, i) = self.part::<T, MAX>(args, walk.offsets[0], 0..plan.len)?;
                    put(walk.offsets[1], i);
                    walk.step();
                }
            }
            Cut::Abreast { tiles } => {
                let down = self.axis.map_or(0, |a| x.strides[a]);
                let lanes = Lanes { from: x.ptr, down, len: plan.len, to: out.ptr };
                lanes.extremes::<T, MAX>(&mut walk, piece(plan.lanes, tiles, tile));
            }
            Cut::Columns { tiles, blocks } => {
                let last = plan.outer.len() - 1;
                let (across, out_across) = (plan.x_steps[last], plan.out_steps[last]);
                let mut walk = Walk::new(&plan.outer[..last], [&plan.x_steps[..last], &plan.out_steps[..last]]);
                let down = self.axis.map_or(0, |a| x.strides[a]);
                let mut found = [0; COLUMNS];
                for block in piece(plan.lanes / plan.outer[last] * blocks, tiles, tile) {
                    let columns = piece(plan.outer[last], blocks, block % blocks);
                    walk.seek(block / blocks);
                    let start = x.ptr.offset(walk.offsets[0] + columns.start as isize * across);
                    extreme_columns::<T, MAX>(start, across, down, plan.len, &mut found[..columns.len()]);
                    for (j, column) in columns.enumerate() {
                        put(walk.offsets[1] + column as isize * out_across, found[j] as usize);
                    }
                }
            }
            Cut::Chunks { chunks } => {
                let found = self.found.get::<(T, usize)>(plan.lanes * chunks)?;
                if phase == 0 {
                    walk.seek(tile / chunks);
                    let range = piece(plan.len, chunks, tile % chunks);
                    found.add(tile).write(self.part::<T, MAX>(args, walk.offsets[0], range)?);
                } else {
                    let parts = std::slice::from_raw_parts(found.add(tile * chunks), chunks);
                    let mut best = parts[0];
                    for &part in &parts[1..] {
                        if beats::<T, MAX>(part.0, best.0) {
                            best = part;
                        }
                    }
                    walk.seek(tile);
                    put(walk.offsets[1], best.1);
                }
            }
        }
        Ok(())
    }
}

/// Whether a later `v` is more extreme than `best`.
#[inline(always)]
pub fn beats<T: Element, const MAX: bool>(v: T, best: T) -> bool {
    let further = if MAX { best.below(v) } else { v.below(best) };
    !best.is_nan() & (further | v.is_nan())
}

/// The extreme of `n >= 1` evenly spaced elements and its first place.
#[inline]
unsafe fn extreme_run<T: Element, const MAX: bool>(
    ptr: *const u8,
    step: isize,
    n: usize,
) -> Result<(T, usize), LibraryError> {
    let dense = step == size_of::<T>() as isize && ptr.cast::<T>().is_aligned();
    if n < 64 || T::DTYPE.is_complex() {
        let mut best = ((ptr as *const T).read_unaligned(), 0);
        for i in 1..n {
            let v = (ptr.offset(i as isize * step) as *const T).read_unaligned();
            if beats::<T, MAX>(v, best.0) {
                best = (v, i);
            }
        }
        return Ok(best);
    }
    if dense {
        return Ok(extreme_dense::<T, MAX>(ptr as *const T, n));
    }
    const BLOCK: usize = 2048;
    let buffer = Buffer::new::<T>(BLOCK)?;
    let mut best: Option<(T, usize)> = None;
    for at in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - at);
        read_run(T::DTYPE, ptr.offset(at as isize * step), step, buffer.as_ptr::<T>(), len);
        let (v, i) = extreme_dense::<T, MAX>(buffer.as_ptr::<T>(), len);
        if best.is_none_or(|(b, _)| beats::<T, MAX>(v, b)) {
            best = Some((v, at + i));
        }
    }
    Ok(best.unwrap_or((T::ZERO, 0)))
}

/// Goes block by block: most blocks only have to be seen not to hold anything more extreme than what is known.
unsafe fn extreme_dense<T: Element, const MAX: bool>(ptr: *const T, n: usize) -> (T, usize) {
    const BLOCK: usize = 512;
    let all = std::slice::from_raw_parts(ptr, n);
    vectorized(
        #[inline(always)]
        || {
            let mut best = all[0];
            let mut holder = 0;
            if best.is_nan() {
                return (best, 0);
            }
            for (b, block) in all.chunks(BLOCK).enumerate() {
                let known = |v: T| if MAX { v.below(best) || v == best } else { best.below(v) || v == best };
                if b > 0 && block.iter().fold(true, |all, &v| all & known(v)) {
                    continue;
                }
                let (extreme, nan) = extreme_block::<T, MAX>(block, best);
                if nan {
                    let i = block.iter().position(|v| v.is_nan()).unwrap_or(0);
                    return (block[i], b * BLOCK + i);
                }
                (best, holder) = (extreme, b * BLOCK);
            }
            (best, holder + place_of(&all[holder..], best))
        },
    )
}

/// The first place of a value: the line it stands in first, which needs no branch for each element.
#[inline(always)]
fn place_of<T: Element>(all: &[T], value: T) -> usize {
    const LINE: usize = 64;
    for (l, line) in all.chunks(LINE).enumerate() {
        if line.iter().fold(false, |any, v| any | (*v == value)) {
            return l * LINE + line.iter().position(|v| *v == value).unwrap_or(0);
        }
    }
    0
}

/// The first place of the extreme among `n >= 1` elements that lie side by side.
///
/// # Safety
/// `ptr` points to `n` elements of `dtype`.
pub unsafe fn extreme_place(dtype: DType, max: bool, ptr: *const u8, n: usize) -> Result<usize, LibraryError> {
    with_type!(dtype, T => {
        let step = size_of::<T>() as isize;
        let found = if max { extreme_run::<T, true>(ptr, step, n)? } else { extreme_run::<T, false>(ptr, step, n)? };
        Ok(found.1)
    })
}

/// The extreme of a block and `start`, and whether there is a NaN in the block.
#[inline(always)]
fn extreme_block<T: Element, const MAX: bool>(block: &[T], start: T) -> (T, bool) {
    const LANES: usize = 32;
    let further = |a: T, b: T| {
        let b_wins = if MAX { a.below(b) } else { b.below(a) };
        if b_wins { b } else { a }
    };
    let nan = T::DTYPE.is_float() && block.iter().fold(false, |any, v| any | v.is_nan());
    let mut lanes = [start; LANES];
    let mut lines = block.chunks_exact(LANES);
    for line in &mut lines {
        for j in 0..LANES {
            lanes[j] = further(lanes[j], line[j]);
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for j in 0..width {
            lanes[j] = further(lanes[j], lanes[j + width]);
        }
        width /= 2;
    }
    (lines.remainder().iter().fold(lanes[0], |a, &b| further(a, b)), nan)
}

/// The places of the extremes of at most `COLUMNS` lanes side by side, row by row.
unsafe fn extreme_columns<T: Element, const MAX: bool>(
    start: *const u8,
    across: isize,
    down: isize,
    len: usize,
    found: &mut [i64],
) {
    let columns = found.len();
    let mut best = [const { MaybeUninit::<T>::uninit() }; COLUMNS];
    let mut buffer = [const { MaybeUninit::<T>::uninit() }; COLUMNS];
    let (best, buffer) = (best.as_mut_ptr().cast::<T>(), buffer.as_mut_ptr().cast::<T>());
    read_run(T::DTYPE, start, across, best, columns);
    found.fill(0);
    let dense =
        across == size_of::<T>() as isize && start.cast::<T>().is_aligned() && down % align_of::<T>() as isize == 0;
    vectorized(
        #[inline(always)]
        || {
            for row in 1..len {
                let from = start.offset(row as isize * down);
                let values = match dense {
                    true => from as *const T,
                    false => {
                        read_run(T::DTYPE, from, across, buffer, columns);
                        buffer.cast_const()
                    }
                };
                for (j, found) in found.iter_mut().enumerate() {
                    let (v, known) = (*values.add(j), *best.add(j));
                    let better = beats::<T, MAX>(v, known);
                    *best.add(j) = if better { v } else { known };
                    *found = if better { row as i64 } else { *found };
                }
            }
        },
    );
}

/// Columns that are gone down together by `extremes_down`.
pub const TOGETHER: usize = 16;

/// The first places of the extremes of the columns of a small matrix whose rows lie one after another: at least one row,
/// and at least `TOGETHER` columns.
///
/// # Safety
/// `from` points to `rows` times as many elements of `dtype` as there are places.
pub unsafe fn extremes_down(dtype: DType, max: bool, from: *const u8, rows: usize, places: &mut [i64]) {
    with_type!(dtype, T => {
        let from = from.cast::<T>();
        if max { down::<T, true>(from, rows, places) } else { down::<T, false>(from, rows, places) }
    })
}

unsafe fn down<T: Element, const MAX: bool>(from: *const T, rows: usize, places: &mut [i64]) {
    let columns = places.len();
    vectorized(
        #[inline(always)]
        || {
            for first in (0..columns).step_by(TOGETHER) {
                // The last columns may come twice: that changes nothing.
                let first = first.min(columns - TOGETHER);
                let at = |row: usize| from.add(row * columns + first).cast::<[T; TOGETHER]>().read_unaligned();
                let (mut best, mut found) = (at(0), [0; TOGETHER]);
                for row in 1..rows {
                    let values = at(row);
                    for j in 0..TOGETHER {
                        let better = beats::<T, MAX>(values[j], best[j]);
                        best[j] = if better { values[j] } else { best[j] };
                        found[j] = if better { row as i64 } else { found[j] };
                    }
                }
                places[first..first + TOGETHER].copy_from_slice(&found);
            }
        },
    )
}

impl LibraryOp for ArgReduce {
    fn form(&self) -> Form {
        Form::Extreme { max: self.max, axis: self.axis }
    }

    fn name(&self) -> &'static str {
        if self.max { "argmax" } else { "argmin" }
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        let Ok(plan) = self.plan(args) else { return smallvec![1] };
        match plan.cut {
            Cut::Nothing => smallvec![0],
            Cut::Lanes { tiles } | Cut::Abreast { tiles } | Cut::Columns { tiles, .. } => smallvec![tiles],
            Cut::Chunks { chunks } => smallvec![plan.lanes * chunks, plan.lanes],
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let plan = self.plan(args)?;
        with_type!(args.ins[0].dtype, T => {
            if self.max {
                self.run_typed::<T, true>(args, &plan, phase, tile)
            } else {
                self.run_typed::<T, false>(args, &plan, phase, tile)
            }
        })
    }
}
