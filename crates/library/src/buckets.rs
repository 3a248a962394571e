//! Sorting long lanes on all cores: every record goes to the bucket of its first digit, then each bucket is sorted
//! in the cache of whoever takes it.

use crate::radix::{LINE, Scale, scatter, sort_in_place, sort_run};
use crate::scratch::{Buffer, Scratch};
use crate::sort_key::Ranked;
use crate::vector::vectorized;
use crate::walk::{piece, pieces};
use crate::{LibraryError, RawView};
use smallvec::SmallVec;
use std::ops::Range;

/// Elements of a chunk, which is counted and dealt out by one tile.
const CHUNK: usize = 1 << 17;
const MOST_CHUNKS: usize = 64;
/// Elements of a bucket if they spread evenly, and bits of the digit that says which.
const BUCKET: usize = 1 << 12;
const DIGIT: std::ops::RangeInclusive<u32> = 4..=11;
/// Bytes beside the records that sorting a bucket takes, unless equals have an order to keep: little enough not to count
/// as memory.
const SPARE: usize = 60 << 10;
/// Bytes of records from which on they are written past the caches.
const PAST: usize = 16 << 20;

/// The places of a lane that must have the elements a sort puts there, in ascending order.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    All,
    Places(&'a [usize]),
}

impl Wanted<'_> {
    fn has_any_of(&self, range: &Range<usize>) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Places(places) => {
                places.get(places.partition_point(|&k| k < range.start)).is_some_and(|&k| k < range.end)
            }
        }
    }
}

/// What is kept between the phases.
#[derive(Default)]
pub struct Buckets {
    ranges: Scratch,
    counts: Scratch,
    starts: Scratch,
    records: Scratch,
}

/// How lanes are cut.
#[derive(Clone, Copy)]
pub struct Cutting {
    pub lanes: usize,
    pub len: usize,
    chunks: usize,
    digit: u32,
}

/// One lane: where its elements are read and its answers written.
#[derive(Clone, Copy)]
pub struct Lane {
    pub index: usize,
    pub from: *const u8,
    pub step: isize,
    pub to: *mut u8,
    pub to_step: isize,
    /// Whether what is read and what is written have no bytes in common.
    apart: bool,
}

#[derive(Clone, Copy)]
struct Found {
    low: i64,
    high: i64,
    varying: u64,
}

impl Cutting {
    pub fn new(lanes: usize, len: usize) -> Cutting {
        let digit = (len / BUCKET).max(1).ilog2().clamp(*DIGIT.start(), *DIGIT.end());
        Cutting { lanes, len, chunks: pieces(len, CHUNK).min(MOST_CHUNKS), digit }
    }

    /// Ranges of ranks, counts of digits, where they begin, dealing out, sorting.
    pub fn phases(&self) -> SmallVec<[usize; 4]> {
        let tiles = self.lanes * self.chunks;
        SmallVec::from_slice(&[tiles, tiles, self.lanes, tiles, tiles])
    }

    /// Which lane a tile of a phase is about.
    pub fn lane_of(&self, phase: usize, tile: usize) -> usize {
        if phase == 2 { tile } else { tile / self.chunks }
    }

    fn digits(&self) -> usize {
        1 << self.digit
    }
}

impl Lane {
    pub fn new(index: usize, x: &RawView, out: &RawView, axis: usize, offsets: [isize; 2]) -> Lane {
        // SAFETY: the offsets are those of a lane of the views.
        let (from, to) = unsafe { (x.ptr.offset(offsets[0]), out.ptr.offset(offsets[1])) };
        Lane { index, from, step: x.strides[axis], to, to_step: out.strides[axis], apart: are_apart(x, out) }
    }

    #[inline(always)]
    unsafe fn read<C: Ranked>(&self, i: usize) -> C::Record {
        C::encode((self.from.offset(i as isize * self.step) as *const C::Element).read_unaligned(), i)
    }
}

impl Buckets {
    /// One tile of one phase.
    ///
    /// # Safety
    /// The lane must be valid, and nobody else may write what it writes.
    pub unsafe fn run<C: Ranked>(
        &self,
        cut: Cutting,
        lane: Lane,
        wanted: Wanted,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let (len, chunks, digits) = (cut.len, cut.chunks, cut.digits());
        let part = tile % chunks;
        let range = piece(len, chunks, part);
        let found = self.ranges.get::<Found>(cut.lanes * chunks)?.add(lane.index * chunks);
        let counts = self.counts.get::<usize>(cut.lanes * chunks * digits)?.add(lane.index * chunks * digits);
        let own = std::slice::from_raw_parts_mut(counts.add(part * digits), digits);
        if phase == 0 {
            *found.add(part) = look::<C>(lane, range);
            return Ok(());
        }
        let scale = scale(std::slice::from_raw_parts(found, chunks));
        let rest = scale.bits.saturating_sub(cut.digit);
        let digit = |r: C::Record| (scale.number(C::rank(r)) >> rest) as usize & (digits - 1);
        match phase {
            1 => {
                own.fill(0);
                range.for_each(|i| own[digit(lane.read::<C>(i))] += 1);
                Ok(())
            }
            2 => {
                let starts = self.starts.get::<usize>(cut.lanes * (digits + 1))?.add(lane.index * (digits + 1));
                let mut before = 0;
                for d in 0..digits {
                    *starts.add(d) = before;
                    for chunk in 0..chunks {
                        before += std::mem::replace(&mut *counts.add(chunk * digits + d), before);
                    }
                }
                *starts.add(digits) = before;
                Ok(())
            }
            3 => {
                let to = self.records_of::<C>(cut, lane)?;
                let past = cut.lanes * len * size_of::<C::Record>() >= PAST;
                scatter(range, |i| lane.read::<C>(i), |r| digit(*r), own, to, past)
            }
            _ => {
                let starts = self.starts.get::<usize>(cut.lanes * (digits + 1))?.add(lane.index * (digits + 1));
                let starts = std::slice::from_raw_parts(starts, digits + 1);
                self.sort_buckets::<C>(cut, lane, wanted, range, starts, scale, rest)
            }
        }
    }

    /// Where the records of a lane lie: where its answers will, if they fit there, else in scratch, at a line of its own.
    unsafe fn records_of<C: Ranked>(&self, cut: Cutting, lane: Lane) -> Result<*mut C::Record, LibraryError> {
        let size = size_of::<C::Record>();
        let fits = size == size_of::<C::Answer>() && lane.to_step == size as isize;
        if fits && lane.apart && (lane.to as usize).is_multiple_of(LINE) {
            return Ok(lane.to as *mut C::Record);
        }
        let apart = cut.len.next_multiple_of(LINE);
        Ok(self.records.get::<C::Record>(cut.lanes * apart)?.add(lane.index * apart))
    }

    /// Sorts the buckets that begin in `range`, as far as that is wanted, and writes them out.
    unsafe fn sort_buckets<C: Ranked>(
        &self,
        cut: Cutting,
        lane: Lane,
        wanted: Wanted,
        range: Range<usize>,
        starts: &[usize],
        scale: Scale,
        rest: u32,
    ) -> Result<(), LibraryError> {
        let records = self.records_of::<C>(cut, lane)?;
        let first = starts.partition_point(|&s| s < range.start);
        let last = starts.partition_point(|&s| s < range.end);
        let buckets = || (first..last.min(starts.len() - 1)).map(|d| starts[d]..starts[d + 1]);
        let longest = buckets().map(|b| b.len()).max().unwrap_or(0);
        let most = SPARE / size_of::<C::Record>();
        let spare = Buffer::new::<C::Record>(if rest > 0 { longest.min(most) } else { 0 })?;
        for bucket in buckets().filter(|b| !b.is_empty()) {
            let (run, n) = (records.add(bucket.start), bucket.len());
            let all = std::slice::from_raw_parts_mut(run, n);
            if !wanted.has_any_of(&bucket) {
                // Where its elements lie among each other is nobody's concern.
            } else if n <= most || rest == 0 {
                sort_run::<C>(all, spare.as_ptr(), scale, rest);
            } else if all.iter().fold(true, |so_far, r| so_far & C::is_alike(*r)) {
                sort_in_place::<C>(all, spare.as_ptr(), most, scale, rest);
            } else {
                sort_run::<C>(all, Buffer::new::<C::Record>(n)?.as_ptr(), scale, rest);
            }
            // Records may lie where their answers go: each is read before it is overwritten.
            let to = lane.to.offset(bucket.start as isize * lane.to_step);
            if lane.to_step == size_of::<C::Answer>() as isize {
                for i in 0..n {
                    (to as *mut C::Answer).add(i).write_unaligned(C::answer(run.add(i).read()));
                }
            } else {
                for i in 0..n {
                    let to = to.offset(i as isize * lane.to_step) as *mut C::Answer;
                    to.write_unaligned(C::answer(run.add(i).read()));
                }
            }
        }
        Ok(())
    }
}

/// Whether two views have no bytes in common.
pub fn are_apart(a: &RawView, b: &RawView) -> bool {
    let ((low, high), (other_low, other_high)) = (bounds(a), bounds(b));
    high <= other_low || other_high <= low
}

/// The first byte of a view and the one behind its last, as addresses.
fn bounds(v: &RawView) -> (usize, usize) {
    let reach = |sign: isize| -> usize {
        let along = v.shape.iter().zip(&v.strides).filter(|(_, s)| s.signum() == sign);
        along.map(|(&n, &s)| n.saturating_sub(1) * s.unsigned_abs()).sum()
    };
    (v.ptr as usize - reach(-1), v.ptr as usize + reach(1) + v.dtype.size())
}

/// The ranks of a chunk: the smallest, the largest, and the bits in which they differ from the lane's first.
unsafe fn look<C: Ranked>(lane: Lane, range: Range<usize>) -> Found {
    let first = C::rank(lane.read::<C>(0));
    vectorized(
        #[inline(always)]
        || {
            let mut found = Found { low: i64::MAX, high: i64::MIN, varying: 0 };
            for i in range {
                let rank = C::rank(lane.read::<C>(i));
                found.low = found.low.min(rank);
                found.high = found.high.max(rank);
                found.varying |= (rank ^ first) as u64;
            }
            found
        },
    )
}

fn scale(found: &[Found]) -> Scale {
    let low = found.iter().map(|f| f.low).min().unwrap_or(0);
    let high = found.iter().map(|f| f.high).max().unwrap_or(0);
    Scale::new(low, high, found.iter().fold(0, |v, f| v | f.varying))
}
