//! Sorting a few long lanes of values on all cores. A sample says between which values lie about equal shares of a
//! lane; its elements are dealt out to them, and each share is sorted in the cache of whoever takes it. Integers of a
//! narrow range are counted instead (`counting.rs`).

use crate::combining::Combining;
use crate::counting::{Counted, Counting, Found, look, narrow};
use crate::division::{BLOCK, Division, MOST};
use crate::guide::blocks;
use crate::order::{is_sorted, sort_dense};
use crate::radix::Scale;
use crate::scratch::Scratch;
use crate::sort_key::Keyed;
use crate::walk::{piece, pieces};
use crate::{LibraryError, RawView};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Elements of a chunk, which is looked through and dealt out by one tile.
const CHUNK: usize = 1 << 15;
const MOST_CHUNKS: usize = 32;
/// Elements of a share, which is sorted in the second-level cache.
const SHARE: usize = 1 << 15;

/// Bytes that are collected for a share before they are written. Whether there are so many is guessed wrong every time
/// there are, and with fewer that is more often.
const COLLECTED: usize = 512;

/// What is kept between the phases.
#[derive(Default)]
pub struct Shares {
    found: Scratch,
    ordered: Scratch,
    divisions: Scratch,
    counts: Scratch,
    keys: Scratch,
    counting: Counting,
}

/// How lanes are cut.
#[derive(Clone, Copy)]
pub struct Cutting {
    lanes: usize,
    len: usize,
    chunks: usize,
    shares: usize,
}

/// One lane, of one axis, and where its answers go.
pub struct Lane {
    pub index: usize,
    pub from: RawView,
    pub to: *mut u8,
    pub to_step: isize,
    /// Whether keys may lie where the answers go before all elements have been read.
    pub apart: bool,
}

impl Cutting {
    pub fn new(lanes: usize, len: usize) -> Cutting {
        let shares = (len / SHARE).max(2).next_power_of_two().min(MOST);
        Cutting { lanes, len, chunks: pieces(len, CHUNK).min(MOST_CHUNKS), shares }
    }

    /// Looking, counting, where shares begin, dealing out, sorting.
    pub fn phases(&self) -> SmallVec<[usize; 4]> {
        let tiles = self.lanes * self.chunks;
        smallvec![tiles, tiles, self.lanes, tiles, self.lanes * self.shares]
    }

    /// Which lane a tile of a phase is about, and which part of it.
    pub fn part_of(&self, phase: usize, tile: usize) -> (usize, usize) {
        match phase {
            2 => (tile, 0),
            4 => (tile / self.shares, tile % self.shares),
            _ => (tile / self.chunks, tile % self.chunks),
        }
    }
}

impl Shares {
    /// One tile of one phase, for the part of a lane that it is about.
    ///
    /// # Safety
    /// The lane must be valid, and nobody else may write what it writes.
    pub unsafe fn run<T: Keyed>(
        &self,
        cut: Cutting,
        lane: &Lane,
        phase: usize,
        part: usize,
    ) -> Result<(), LibraryError> {
        let Cutting { lanes, len, chunks, shares } = cut;
        let range = piece(len, chunks, part.min(chunks - 1));
        let division = self.divisions.get::<Division<T::Key>>(lanes)?.add(lane.index);
        let found = self.found.get::<Found>(lanes * chunks)?.add(lane.index * chunks);
        let ordered = self.ordered.get::<bool>(lanes * chunks)?.add(lane.index * chunks);
        if phase == 0 {
            if part == 0 {
                division.write(Division::new::<T>(&lane.from, shares));
            }
            ordered.add(part).write(in_order::<T>(&lane.from, range.clone()));
            if T::DISTINCT {
                *found.add(part) = look::<T>(&lane.from, range);
            }
            return Ok(());
        }
        if std::slice::from_raw_parts(ordered, chunks).iter().all(|&chunk| chunk) {
            if phase == 4 {
                let part = piece(len, shares, part);
                let from = lane.from.ptr.cast::<T>().add(part.start);
                place(from, part.len(), lane.to.offset(part.start as isize * lane.to_step).cast(), lane.to_step);
            }
            return Ok(());
        }
        if T::DISTINCT
            && len < u32::MAX as usize
            && let Some(scale) = narrow::<T>(std::slice::from_raw_parts(found, chunks), len / chunks)
        {
            return self.count::<T>(cut, lane, phase, part, scale);
        }
        let counts = self.counts.get::<[u32; MOST]>(lanes * chunks)?.add(lane.index * chunks);
        // Found again where elements are dealt out: to keep them would take memory that NumPy's sort does not.
        let (division, mut numbers) = (&*division, [0; BLOCK]);
        match phase {
            1 => {
                let mut own = [0; MOST];
                blocks::<T>(&lane.from, range, |block, _| {
                    division.number(block, &mut numbers);
                    numbers[..block.len()].iter().for_each(|&n| own[n as usize] += 1);
                });
                *counts.add(part) = own;
            }
            2 => {
                let counts = std::slice::from_raw_parts_mut(counts, chunks);
                let mut before = 0;
                for share in 0..shares {
                    counts.iter_mut().for_each(|own| before += std::mem::replace(&mut own[share], before));
                }
            }
            3 => {
                let starts = (*counts.add(part)).map(|start| start as usize);
                // As they are: that they become keys a share at a time takes vectors.
                let to = self.keys_of::<T>(cut, lane)?.cast::<T>();
                let mut dealt = Combining::<T, COLLECTED>::new(to, &starts[..shares])?;
                blocks::<T>(&lane.from, range, |block, _| {
                    division.number(block, &mut numbers);
                    for i in 0..block.len() {
                        dealt.put(numbers[i % BLOCK], block[i]);
                    }
                });
                dealt.finish();
            }
            _ => {
                let start = |share: usize| if share < shares { (*counts)[share] as usize } else { len };
                let (first, end) = (start(part), start(part + 1));
                let keys = std::slice::from_raw_parts_mut(self.keys_of::<T>(cut, lane)?.add(first), end - first);
                // An element and its key take the same room.
                let (n, answers) = (keys.len(), keys.as_mut_ptr().cast::<T>());
                sort_dense::<T>(answers, n, answers);
                place(answers, n, lane.to.offset(first as isize * lane.to_step).cast(), lane.to_step);
            }
        }
        Ok(())
    }

    unsafe fn count<T: Keyed>(
        &self,
        cut: Cutting,
        lane: &Lane,
        phase: usize,
        part: usize,
        scale: Scale,
    ) -> Result<(), LibraryError> {
        let Cutting { lanes, len, chunks, shares } = cut;
        let of = Counted { lane: &lane.from, index: lane.index, lanes, chunks, scale };
        match phase {
            1 => self.counting.count::<T>(&of, part, piece(len, chunks, part)),
            2 => self.counting.add_up::<T>(&of),
            3 => Ok(()),
            _ => self.counting.fill::<T>(&of, piece(len, shares, part), lane.to, lane.to_step),
        }
    }

    /// Where the keys of a lane lie: where its answers will, if they fit there, else in scratch.
    unsafe fn keys_of<T: Keyed>(&self, cut: Cutting, lane: &Lane) -> Result<*mut T::Key, LibraryError> {
        const { assert!(size_of::<T>() == size_of::<T::Key>() && align_of::<T>() == align_of::<T::Key>()) };
        let to = lane.to.cast::<T::Key>();
        if lane.apart && lane.to_step == size_of::<T>() as isize && to.is_aligned() {
            return Ok(to);
        }
        Ok(self.keys.get::<T::Key>(cut.lanes * cut.len)?.add(lane.index * cut.len))
    }
}

/// Whether the elements of a chunk lie as they will, up to the first of the next one. Said only of lanes without gaps.
unsafe fn in_order<T: Keyed>(lane: &RawView, chunk: Range<usize>) -> bool {
    let dense = lane.dtype == T::DTYPE && lane.strides[0] == size_of::<T>() as isize && lane.is_aligned();
    let end = (chunk.end + 1).min(lane.shape[0]);
    dense && is_sorted(std::slice::from_raw_parts(lane.ptr.cast::<T>().add(chunk.start), end - chunk.start))
}

/// Writes answers where they go, unless they are there.
unsafe fn place<T: Keyed>(from: *const T, n: usize, to: *mut T, step: isize) {
    if step == size_of::<T>() as isize && to.is_aligned() {
        return std::ptr::copy(from, to, if from == to { 0 } else { n });
    }
    for i in 0..n {
        to.byte_offset(i as isize * step).write_unaligned(from.add(i).read());
    }
}
