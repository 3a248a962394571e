//! Reading through integer index arrays (`take`, `x[i, j]`).

use crate::element::with_size;
use crate::index::{BLOCK, Indexed, Indexing, Mode};
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, Form, LARGE, LibraryError, LibraryOp, RawView};
use numloom_loops::{stream, streamed};
use smallvec::{SmallVec, smallvec};
use std::mem::MaybeUninit;
use std::ops::Range;

/// `out[i..., r...] = x[index_0[i...], index_1[i...], ..., r...]`.
///
/// Inputs: the base `x` with its indexed axes at the front, then one int64 index array for each of them, all
/// of one shape. The output has the shape `index shape + rest of x` and x's dtype.
pub struct Take {
    indexing: Indexing,
}

/// Elements of a tile.
const TILE: usize = 1 << 16;
/// Elements of a rest that are read at a time where neighbours of theirs belong to other positions.
const STRIP: usize = 32;
/// Bytes of a row that is written past the caches by itself.
const LONG: usize = 4096;

/// How reading is divided: pieces of the positions, and of the rest for each of them.
struct Cut {
    positions: usize,
    rests: usize,
    /// Along the positions, for each element of the rest; else along the rest, for each position.
    inside: bool,
}

impl Cut {
    fn new(x: &RawView, out: &RawView, count: usize, nd: usize) -> Cut {
        let positions: usize = out.shape[..nd].iter().product();
        let n: usize = x.shape[count..].iter().product();
        // With nothing to copy the indices are still checked.
        let rows = if positions == 0 { 0 } else { pieces(positions * n.max(1), TILE).min(positions) };
        if n <= 1 || positions == 0 {
            return Cut { positions: rows, rests: 1, inside: true };
        }
        let step = |shape: &[usize], strides: &[isize]| {
            let steps = shape.iter().zip(strides).filter(|(n, _)| **n > 1).map(|(_, s)| s.unsigned_abs());
            steps.min().unwrap_or(usize::MAX)
        };
        let along = step(&out.shape[..nd], &out.strides[..nd]);
        let within = step(&out.shape[nd..], &out.strides[nd..]);
        let source = step(&x.shape[count..], &x.strides[count..]);
        if along < within {
            let parts = pieces(positions, TILE);
            return Cut { positions: parts, rests: pieces(n * positions.min(TILE), TILE).min(n), inside: true };
        }
        // A line of the source has elements of several positions.
        let strips = source > step(&x.shape[..count], &x.strides[..count]) && n >= 2 * STRIP;
        if strips && positions >= STRIP {
            let parts = pieces(positions * STRIP, TILE);
            return Cut { positions: parts, rests: pieces(n, STRIP), inside: false };
        }
        Cut { positions: rows, rests: 1, inside: false }
    }

    fn tiles(&self) -> usize {
        self.positions * self.rests
    }
}

impl Take {
    /// `axes` are the numbers of the indexed axes in the user's array, for the words of errors.
    pub fn new(axes: &[usize], mode: Mode) -> Take {
        Take { indexing: Indexing::new(axes, mode) }
    }

    fn plan<'a>(&'a self, args: &'a Args) -> Result<(Indexed<'a>, Cut), LibraryError> {
        let name = self.name();
        ensure_operands(args, args.ins.len().max(2), 1, name)?;
        let (x, out) = (&args.ins[0], &args.outs[0]);
        ensure(x.dtype == out.dtype, name, "dtypes differ")?;
        let indexed = self.indexing.of(x, &args.ins[1..], out, name)?;
        let cut = Cut::new(x, out, args.ins.len() - 1, indexed.indices[0].shape.len());
        Ok((indexed, cut))
    }
}

impl LibraryOp for Take {
    fn form(&self) -> Form {
        Form::Take { axes: self.indexing.axes(), mode: self.indexing.mode() }
    }

    fn name(&self) -> &'static str {
        "take"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        match self.plan(args) {
            // NumPy looks for a bad index in one array after another, so these are checked apart.
            Ok((indexed, cut)) if indexed.indices.len() > 1 => smallvec![indexed.check_tiles(), cut.tiles()],
            Ok((_, cut)) => smallvec![cut.tiles()],
            Err(_) => smallvec![1],
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let (indexed, cut) = self.plan(args)?;
        if indexed.indices.len() > 1 && phase == 0 {
            return indexed.check(tile).map(|_| ());
        }
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let range = piece(indexed.positions(), cut.positions, tile / cut.rests);
        let (count, nd) = (indexed.indices.len(), indexed.indices[0].shape.len());
        let rest = Rest::new(&x.shape[count..], [&x.strides[count..], &out.strides[nd..]]);
        let part = piece(rest.n, cut.rests, tile % cut.rests);
        let large = out.size() * x.dtype.size() >= LARGE;
        let done = if cut.inside && !part.is_empty() {
            with_size!(x.dtype.size(), T => gather::<T>(&indexed, out, nd, range, &rest, part, large))
        } else {
            rows(&indexed, out, nd, range, &rest, part, large)
        };
        if large {
            streamed();
        }
        done
    }
}

/// Rows, or strips of them.
unsafe fn rows(
    indexed: &Indexed,
    out: &RawView,
    nd: usize,
    range: Range<usize>,
    rest: &Rest<2>,
    part: Range<usize>,
    large: bool,
) -> Result<(), LibraryError> {
    let (x, item) = (indexed.base, indexed.base.dtype.size());
    let mut to = Walk::new(&out.shape[..nd], [&out.strides[..nd]]);
    to.seek(range.start);
    let steps = rest.walk.single_run();
    let dense = steps == Some([item as isize; 2]) && part.len() * item >= LONG && large;
    if let Some([across, along]) = steps
        && along == item as isize
        && across != along
        && part.len() >= COLUMN
    {
        return with_size!(item, T => turned::<T>(indexed, out, nd, range, across, part));
    }
    indexed.offsets(range, |_, offsets| {
        for (i, &offset) in offsets.iter().enumerate() {
            let (from, into) = (x.ptr.wrapping_offset(offset), out.ptr.wrapping_offset(to.offsets[0]));
            to.step();
            if dense {
                let skip = part.start * item;
                stream(from.add(skip), into.add(skip), part.len() * item);
                continue;
            }
            if let Some(&ahead) = offsets.get(i + AHEAD / 2) {
                prefetch(x.ptr.wrapping_offset(ahead));
            }
            match steps {
                Some(steps) => {
                    let skip = steps.map(|s| s * part.start as isize);
                    let (from, into) = (from.wrapping_offset(skip[0]), into.wrapping_offset(skip[1]));
                    copy_run(from, steps[0], into, steps[1], part.len(), item);
                }
                None => rest.copy(from, into, part.clone(), item),
            }
        }
        Ok(())
    })
}

/// Bytes of a line of the cache.
pub(crate) const LINE: usize = 64;
/// Elements of a column that are gathered at a time.
const COLUMN: usize = 16;
/// Bytes of the rows that a strip is gathered from, which are asked for as a whole before.
const FETCHED: usize = 1 << 19;

/// Columns that become runs of the output, a strip of all of them at a time: the rows of a strip stay in the cache.
unsafe fn turned<T: Copy>(
    indexed: &Indexed,
    out: &RawView,
    nd: usize,
    range: Range<usize>,
    across: isize,
    part: Range<usize>,
) -> Result<(), LibraryError> {
    let (x, item) = (indexed.base, size_of::<T>());
    let row = if indexed.indices.len() == 1 && x.strides[0] == item as isize { x.shape[0] * item } else { usize::MAX };
    for first in part.clone().step_by(COLUMN) {
        let n = COLUMN.min(part.end - first);
        let rows = x.ptr.wrapping_offset(first as isize * across);
        if row <= FETCHED / COLUMN && range.len() * LINE >= row {
            for r in 0..n {
                let row_of = rows.wrapping_offset(r as isize * across);
                (0..row).step_by(LINE).for_each(|at| prefetch(row_of.wrapping_add(at)));
            }
        }
        let mut to = Walk::new(&out.shape[..nd], [&out.strides[..nd]]);
        to.seek(range.start);
        indexed.offsets(range.clone(), |_, offsets| {
            for &offset in offsets {
                let from = rows.wrapping_offset(offset);
                let into = out.ptr.wrapping_offset(to.offsets[0]).wrapping_add(first * item) as *mut T;
                to.step();
                for i in 0..n {
                    let v = (from.offset(i as isize * across) as *const T).read_unaligned();
                    into.add(i).write_unaligned(v);
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// How many elements before its use a scattered element is asked for.
pub(crate) const AHEAD: usize = 16;

/// Asks for the cache line of an address, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch touches nothing, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address as *const i8)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for all lines of a run, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch_run(from: *const u8, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|at| prefetch(from.wrapping_add(at)));
}

/// Single elements into runs of the output, for each element of a part of the rest.
unsafe fn gather<T: Copy>(
    indexed: &Indexed,
    out: &RawView,
    nd: usize,
    range: Range<usize>,
    rest: &Rest<2>,
    part: Range<usize>,
    large: bool,
) -> Result<(), LibraryError> {
    let mut to = Walk::new(&out.shape[..nd], [&out.strides[..nd]]);
    let mut at = range.start;
    let mut beside = rest.walk.clone();
    to.runs(range, |[offset], [step], n| {
        let dst = out.ptr.offset(offset);
        let start = at;
        at += n;
        let mut read = [MaybeUninit::<T>::uninit(); BLOCK];
        indexed.offsets(start..start + n, |i, offsets| {
            let dst = dst.offset((i - start) as isize * step);
            beside.seek(part.start);
            for _ in part.clone() {
                let (base, dst) = (indexed.base.ptr.offset(beside.offsets[0]), dst.offset(beside.offsets[1]));
                let element = |offset: isize| (base.offset(offset) as *const T).read_unaligned();
                if step != size_of::<T>() as isize {
                    for (i, &offset) in offsets.iter().enumerate() {
                        (dst.offset(i as isize * step) as *mut T).write_unaligned(element(offset));
                    }
                } else if large {
                    for (read, &offset) in read.iter_mut().zip(offsets) {
                        read.write(element(offset));
                    }
                    stream(read.as_ptr().cast(), dst, offsets.len() * size_of::<T>());
                } else {
                    for (i, &offset) in offsets.iter().enumerate() {
                        (dst as *mut T).add(i).write_unaligned(element(offset));
                    }
                }
                beside.step();
            }
            Ok(())
        })
    })
}

/// What belongs to one index position: the axes that are not indexed.
pub(crate) struct Rest<const N: usize> {
    pub n: usize,
    pub walk: Walk<N>,
}

impl<const N: usize> Rest<N> {
    pub fn new(shape: &[usize], strides: [&[isize]; N]) -> Rest<N> {
        Rest { n: shape.iter().product(), walk: Walk::new(shape, strides) }
    }
}

impl Rest<2> {
    /// Copies a part from the first operand's base address to the second's.
    #[inline]
    unsafe fn copy(&self, from: *const u8, to: *mut u8, part: Range<usize>, item: usize) {
        let mut walk = self.walk.clone();
        let _ = walk.runs::<LibraryError>(part, |[src, dst], steps, n| {
            copy_run(from.offset(src), steps[0], to.offset(dst), steps[1], n, item);
            Ok(())
        });
    }
}

/// Copies `n` elements of `item` bytes between evenly spaced places that do not overlap.
#[inline]
pub(crate) unsafe fn copy_run(from: *const u8, from_step: isize, to: *mut u8, to_step: isize, n: usize, item: usize) {
    if from_step == item as isize && to_step == item as isize {
        return copy_bytes(from, to, n * item);
    }
    with_size!(item, T => {
        for i in 0..n as isize {
            let v = (from.offset(i * from_step) as *const T).read_unaligned();
            (to.offset(i * to_step) as *mut T).write_unaligned(v);
        }
    })
}

/// Short rows are copied in place of a call.
#[inline(always)]
unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes <= 128 && bytes.is_multiple_of(16) {
        for at in (0..bytes).step_by(16) {
            let v = (from.add(at) as *const u128).read_unaligned();
            (to.add(at) as *mut u128).write_unaligned(v);
        }
    } else {
        numloom_loops::copy_bytes(from, to, bytes);
    }
}
