//! Integer index arrays: the form in which fancy indexing reaches a gather or a scatter.
//!
//! The base view has its indexed axes moved to the front. Index arrays are views of integers of one common shape, one for
//! each of those axes; those that are not int64 become so block by block. The values (what is read or written) have the shape `index shape + rest
//! shape`; any mixed NumPy index becomes this by moving axes of the value view.

use crate::element::read_run;
use crate::gather::prefetch_run;
use crate::vector::vectorized;
use crate::walk::{Walk, ensure, piece, pieces};
use crate::{LibraryError, RawView};
use numloom_ir::{DType, Dims};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What to do with an index outside its axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Raise,
    Wrap,
    Clip,
}

/// The index arrays of one call, as its operation declares them.
pub struct Indexing {
    /// The axis numbers to name in errors, one for each index array.
    axes: Dims,
    mode: Mode,
}

/// How far each checked piece of an index array reaches, for later operations with the same one.
pub type Reaches = Arc<OnceLock<Box<[[i64; 2]]>>>;

/// A base view and the index arrays into it.
pub struct Indexed<'a> {
    pub base: &'a RawView,
    pub indices: &'a [RawView],
    how: &'a Indexing,
}

/// Positions whose offsets are computed at a time.
pub(crate) const BLOCK: usize = 256;
/// Indices that are looked at together: a line of them.
const LINE: usize = 8;
/// Positions from the one that is called for to the one that is said to come soon.
const SOON: usize = 64;
/// Index positions of a tile that checks.
const CHECKED: usize = 1 << 16;

impl Indexing {
    pub fn new(axes: &[usize], mode: Mode) -> Indexing {
        Indexing { axes: Dims::from_slice(axes), mode }
    }

    pub fn axes(&self) -> Dims {
        self.axes.clone()
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn of<'a>(
        &'a self,
        base: &'a RawView,
        indices: &'a [RawView],
        values: &RawView,
        name: &str,
    ) -> Result<Indexed<'a>, LibraryError> {
        let count = indices.len();
        ensure(count > 0 && self.axes.len() == count && base.shape.len() >= count, name, "wrong number of indices")?;
        ensure(indices.iter().all(|i| i.dtype.is_integer()), name, "indices must be integers")?;
        let shape = &indices[0].shape;
        ensure(indices.iter().all(|i| i.shape == *shape), name, "index shapes differ")?;
        let fits = values.shape.len() == shape.len() + base.shape.len() - count
            && values.shape[..shape.len()] == shape[..]
            && values.shape[shape.len()..] == base.shape[count..];
        ensure(fits, name, "shapes do not fit")?;
        Ok(Indexed { base, indices, how: self })
    }
}

impl Indexed<'_> {
    /// The same index arrays into a base of the same shape.
    pub fn over<'a>(&'a self, base: &'a RawView) -> Indexed<'a> {
        Indexed { base, ..*self }
    }

    /// Index positions.
    pub fn positions(&self) -> usize {
        self.indices[0].size()
    }

    pub fn check_pieces(&self) -> usize {
        pieces(self.positions(), CHECKED)
    }

    pub fn check_tiles(&self) -> usize {
        if self.positions() == 0 { 0 } else { self.check_pieces() * self.indices.len() }
    }

    /// The positions of a piece that is checked at a time.
    pub fn piece(&self, part: usize) -> Range<usize> {
        piece(self.positions(), self.check_pieces(), part)
    }

    /// Checks one piece of one index array, and answers between which places on its axis the indices lie; tiles come
    /// in the order in which NumPy looks.
    ///
    /// # Safety
    /// The index arrays must be readable.
    pub unsafe fn check(&self, tile: usize) -> Result<[i64; 2], LibraryError> {
        let (k, part) = (tile / self.check_pieces(), tile % self.check_pieces());
        let (index, extent) = (&self.indices[k], self.base.shape[k] as i64);
        let mut reach = [i64::MAX, i64::MIN];
        Walk::new(&index.shape, [&index.strides]).runs(self.piece(part), |[at], [step], n| {
            let start = index.ptr.offset(at);
            let n = if step == 0 { 1 } else { n };
            if index.dtype == DType::I64 {
                return self.check_run(k, start, step, n, &mut reach);
            }
            let mut room = [0i64; BLOCK];
            for i in (0..n).step_by(BLOCK) {
                let len = BLOCK.min(n - i);
                let (from, step) = self.as_int64(k, start.offset(i as isize * step), step, len, &mut room);
                self.check_run(k, from, step, len, &mut reach)?;
            }
            Ok(())
        })?;
        if reach[0] < 0 {
            reach = [0, extent - 1];
        }
        Ok(reach)
    }

    /// Widens `reach` by a run of index array `k`; to the whole axis, by one that is not all inside: `[-1, ..]`.
    unsafe fn check_run(
        &self,
        k: usize,
        start: *const u8,
        step: isize,
        n: usize,
        reach: &mut [i64; 2],
    ) -> Result<(), LibraryError> {
        let extent = self.base.shape[k] as i64;
        let read = |i: usize| (start.offset(i as isize * step) as *const i64).read_unaligned();
        // One pass that only looks how far they reach is cheap and vectorises.
        let [low, high] = vectorized(
            #[inline(always)]
            || {
                if step == size_of::<i64>() as isize {
                    extremes(n, |i| (start as *const i64).add(i).read_unaligned(), extent)
                } else {
                    extremes(n, read, extent)
                }
            },
        );
        if low >= 0 && high < extent {
            *reach = [reach[0].min(low), reach[1].max(high)];
            return Ok(());
        }
        reach[0] = -1;
        if self.how.mode == Mode::Raise || extent == 0 {
            for i in 0..n {
                self.place(k, read(i))?;
            }
        }
        Ok(())
    }

    /// A run of index array `k` as int64 and the step between them: where it is, or for other types in `room`.
    #[inline]
    unsafe fn as_int64(
        &self,
        k: usize,
        from: *const u8,
        step: isize,
        n: usize,
        room: &mut [i64; BLOCK],
    ) -> (*const u8, isize) {
        let dtype = self.indices[k].dtype;
        if dtype == DType::I64 {
            return (from, step);
        }
        read_run(dtype, from, step, room.as_mut_ptr(), n);
        (room.as_ptr().cast(), size_of::<i64>() as isize)
    }

    /// Between which offsets in the base the positions of a piece lie, from what `check` has answered for the tiles.
    pub fn reach(&self, checked: &[[i64; 2]], part: usize) -> [isize; 2] {
        let mut sum = [0, 0];
        for (k, stride) in self.base.strides[..self.indices.len()].iter().enumerate() {
            let [low, high] = checked[k * self.check_pieces() + part].map(|place| place as isize * stride);
            sum = [sum[0] + low.min(high), sum[1] + low.max(high)];
        }
        sum
    }

    /// Where index `v` of index array `k` lies on its axis.
    #[inline(always)]
    pub fn place(&self, k: usize, v: i64) -> Result<usize, LibraryError> {
        let extent = self.base.shape[k] as i64;
        let place = if v < 0 { v + extent } else { v };
        if (place as u64) < extent as u64 { Ok(place as usize) } else { self.outside(k, v) }
    }

    #[cold]
    fn outside(&self, k: usize, v: i64) -> Result<usize, LibraryError> {
        let extent = self.base.shape[k];
        match self.how.mode {
            Mode::Raise => Err(LibraryError::Index(format!(
                "index {v} is out of bounds for axis {} with size {extent}",
                self.how.axes[k]
            ))),
            _ if extent == 0 => Err(LibraryError::Index("cannot do a non-empty take from an empty axes.".into())),
            Mode::Wrap => Ok(v.rem_euclid(extent as i64) as usize),
            Mode::Clip => Ok(v.clamp(0, extent as i64 - 1) as usize),
        }
    }

    /// Calls `f(i, offsets)` for blocks of the positions of `range`, in C order of the index shape: byte offsets in
    /// the base of positions `i..`.
    ///
    /// # Safety
    /// The index arrays must be readable. Offsets are inside the base view if it is not empty.
    #[inline]
    pub unsafe fn offsets(
        &self,
        range: Range<usize>,
        mut f: impl FnMut(usize, &[isize]) -> Result<(), LibraryError>,
    ) -> Result<(), LibraryError> {
        let (mut block, mut room) = ([0isize; BLOCK], [0i64; BLOCK]);
        let walk = |i: &RawView| Walk::new(&i.shape, [&i.strides]);
        let mut walks: SmallVec<[Walk<1>; 2]> = self.indices.iter().map(walk).collect();
        let mut at = range.start;
        while at < range.end {
            let block = &mut block[..BLOCK.min(range.end - at)];
            for (k, walk) in walks.iter_mut().enumerate() {
                let mut i = 0;
                walk.runs(at..at + block.len(), |[from], [step], n| {
                    let from = self.indices[k].ptr.offset(from);
                    let (indices, stride) = self.as_int64(k, from, step, n, &mut room);
                    self.add_offsets(k, indices, stride, &mut block[i..i + n])?;
                    // The next block is on its way while `f` looks at this one.
                    let run = n as isize * step;
                    prefetch_run(from.wrapping_offset(run), run.max(0) as usize);
                    i += n;
                    Ok(())
                })?;
            }
            f(at, block)?;
            at += block.len();
        }
        Ok(())
    }

    /// Calls `f(i, offset)` for the positions of `range` one by one, which memory follows better than blocks where the
    /// places are neighbours, and `soon(offset)` some lines before, with an offset that may lie anywhere. False, with
    /// nothing called, if the indices are not one array in one run.
    ///
    /// # Safety
    /// As for `offsets`.
    #[inline(never)]
    pub unsafe fn one_by_one(
        &self,
        range: Range<usize>,
        f: impl Fn(usize, isize),
        soon: impl Fn(isize),
    ) -> Result<bool, LibraryError> {
        let [index] = self.indices else { return Ok(false) };
        if index.dtype != DType::I64
            || Walk::new(&index.shape, [&index.strides]).single_run() != Some([size_of::<i64>() as isize])
        {
            return Ok(false);
        }
        let (extent, stride, from) = (self.base.shape[0] as i64, self.base.strides[0], index.ptr as *const i64);
        let wraps = if self.how.mode == Mode::Clip { 0 } else { extent };
        let (mut i, end) = (range.start, range.end);
        while i < end {
            // A line of indices that are all inside, as nearly always, without a branch for each.
            while i + SOON < end {
                let (mut places, mut inside) = ([0isize; LINE], true);
                for (j, place) in places.iter_mut().enumerate() {
                    let v = from.add(i + j).read_unaligned();
                    let at = v.wrapping_add((v >> 63) & wraps);
                    inside &= (at as u64) < extent as u64;
                    *place = (at as isize).wrapping_mul(stride);
                }
                if !inside {
                    break;
                }
                soon((from.add(i + SOON).read_unaligned() as isize).wrapping_mul(stride));
                for (j, &place) in places.iter().enumerate() {
                    f(i + j, place);
                }
                i += LINE;
            }
            for _ in 0..LINE.min(end - i) {
                let v = from.add(i).read_unaligned();
                let place = if v < -wraps { self.outside(0, v)? } else { self.place(0, v)? };
                f(i, place as isize * stride);
                i += 1;
            }
        }
        Ok(true)
    }

    /// Adds what a run of index array `k` contributes to the offsets; sets them if it is the first array.
    #[inline]
    unsafe fn add_offsets(&self, k: usize, from: *const u8, step: isize, to: &mut [isize]) -> Result<(), LibraryError> {
        let (extent, stride) = (self.base.shape[k] as i64, self.base.strides[k]);
        let lowest = if self.how.mode == Mode::Clip { 0 } else { -extent };
        // Nearly always all are inside, and then this needs no branches.
        let inside = vectorized(
            #[inline(always)]
            || {
                if step == size_of::<i64>() as isize {
                    add_inside(to, |i| (from as *const i64).add(i).read_unaligned(), lowest, extent, stride, k == 0)
                } else {
                    let read = |i: usize| (from.offset(i as isize * step) as *const i64).read_unaligned();
                    add_inside(to, read, lowest, extent, stride, k == 0)
                }
            },
        );
        if inside {
            return Ok(());
        }
        if self.how.mode == Mode::Clip && extent > 0 {
            vectorized(
                #[inline(always)]
                || {
                    if step == size_of::<i64>() as isize {
                        add_clipped(to, |i| (from as *const i64).add(i).read_unaligned(), extent, stride, k == 0)
                    } else {
                        let read = |i: usize| (from.offset(i as isize * step) as *const i64).read_unaligned();
                        add_clipped(to, read, extent, stride, k == 0)
                    }
                },
            );
            return Ok(());
        }
        for (i, to) in to.iter_mut().enumerate() {
            let v = (from.offset(i as isize * step) as *const i64).read_unaligned();
            let place = if v < lowest { self.outside(k, v)? } else { self.place(k, v)? };
            *to = if k == 0 { 0 } else { *to } + place as isize * stride;
        }
        Ok(())
    }
}

/// How the offsets of pieces of the positions lie.
pub(crate) struct Spread {
    pub low: isize,
    pub high: isize,
    /// Of the distances between the extremes of each piece.
    sum: usize,
}

/// How often pieces of the positions cover what lies between all of them, if they are not scattered.
const LOCAL: usize = 4;

impl Spread {
    /// Of pieces between these offsets.
    pub fn new(reaches: &[[isize; 2]]) -> Spread {
        let (low, high) = reaches.iter().fold((isize::MAX, isize::MIN), |(l, h), r| (l.min(r[0]), h.max(r[1])));
        Spread { low, high, sum: reaches.iter().map(|[from, to]| (to - from).unsigned_abs()).sum() }
    }

    pub fn span(&self) -> usize {
        self.high.saturating_sub(self.low).max(0) as usize
    }

    pub fn is_scattered(&self) -> bool {
        self.sum / LOCAL > self.span()
    }
}

/// The smallest and the largest of indices, negative ones counted from the end of their axis.
#[inline(always)]
fn extremes(n: usize, read: impl Fn(usize) -> i64, extent: i64) -> [i64; 2] {
    (0..n).fold([i64::MAX, i64::MIN], |[low, high], i| {
        let place = read(i) + ((read(i) >> 63) & extent);
        [low.min(place), high.max(place)]
    })
}

/// The offsets of indices, those outside moved to the nearer end of the axis.
#[inline(always)]
fn add_clipped(to: &mut [isize], read: impl Fn(usize) -> i64, extent: i64, stride: isize, first: bool) {
    for (i, to) in to.iter_mut().enumerate() {
        *to = if first { 0 } else { *to } + read(i).clamp(0, extent - 1) as isize * stride;
    }
}

/// The offsets of indices that are all in `lowest..extent`; false, with nothing written, if one is not.
#[inline(always)]
fn add_inside(
    to: &mut [isize],
    read: impl Fn(usize) -> i64,
    lowest: i64,
    extent: i64,
    stride: isize,
    first: bool,
) -> bool {
    if !(0..to.len()).fold(true, |ok, i| ok & ((read(i) < extent) & (read(i) >= lowest))) {
        return false;
    }
    let offset = |i: usize| (read(i) + ((read(i) >> 63) & extent)) as isize * stride;
    if first {
        to.iter_mut().enumerate().for_each(|(i, to)| *to = offset(i));
    } else {
        to.iter_mut().enumerate().for_each(|(i, to)| *to += offset(i));
    }
    true
}
