//! Sorting a few long lanes of values on all cores. A sample says between which values lie about equal shares of a
//! lane; its elements are dealt out to them, and each share is sorted in the cache of whoever takes it. Integers of a
//! narrow range are counted instead (`counting.rs`).

use crate::counting::{Counted, Counting, Found, look, narrow};
use crate::guide::{BLOCK, blocks};
use crate::merge::Record;
use crate::radix::Scale;
use crate::scratch::Scratch;
use crate::sort_key::Keyed;
use crate::vector::vectorized;
use crate::walk::{piece, pieces};
use crate::{LibraryError, RawView};
use smallvec::{SmallVec, smallvec};

/// Elements of a chunk, which is looked through and dealt out by one tile.
const CHUNK: usize = 1 << 16;
const MOST_CHUNKS: usize = 64;
/// Elements of a share, of which there are no more than that: each takes a comparison of every element.
const SHARE: usize = 1 << 13;
const MOST: usize = 8;
/// Elements of a sample for each share.
const SAMPLE: usize = 128;
/// Elements whose shares are found at a time, in registers.
const AT_ONCE: usize = 32;

/// Keys whose comparisons are added up.
pub trait Tallied: Record + Default {
    /// One more if `other` is not above the key.
    fn count(self, other: Self, so_far: Self) -> Self;
    fn index(self) -> u8;
}

macro_rules! tallied {
    ($($t:ty)*) => {$(
        impl Tallied for $t {
            #[inline(always)]
            fn count(self, other: $t, so_far: $t) -> $t { so_far + (other <= self) as $t }
            #[inline(always)]
            fn index(self) -> u8 { self as u8 }
        }
    )*};
}
tallied!(i8 i16 i32 i64);

/// What is kept between the phases.
#[derive(Default)]
pub struct Shares {
    found: Scratch,
    bounds: Scratch,
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
        let bounds = self.bounds.get::<T::Key>(lanes * shares)?.add(lane.index * shares);
        let bounds = std::slice::from_raw_parts_mut(bounds, shares);
        let found = self.found.get::<Found>(lanes * chunks)?.add(lane.index * chunks);
        if phase == 0 {
            if part == 0 {
                sample::<T>(&lane.from, bounds);
            }
            if T::DISTINCT {
                *found.add(part) = look::<T>(&lane.from, range);
            }
            return Ok(());
        }
        if T::DISTINCT
            && len < u32::MAX as usize
            && let Some(scale) = narrow::<T>(std::slice::from_raw_parts(found, chunks), len / chunks)
        {
            return self.count::<T>(cut, lane, phase, part, scale);
        }
        let counts = self.counts.get::<[usize; MOST]>(lanes * chunks)?.add(lane.index * chunks);
        // Found again where elements are dealt out: to keep them would take memory that NumPy's sort does not.
        let mut numbers = [0; BLOCK];
        match phase {
            1 => {
                let mut own = [0; MOST];
                blocks::<T>(&lane.from, range, |block, _| {
                    let numbers = &mut numbers[..block.len()];
                    number::<T>(block, &bounds[1..], numbers);
                    numbers.iter().for_each(|&n| own[n as usize % MOST] += 1);
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
                let (keys, mut next) = (self.keys_of::<T>(cut, lane)?, *counts.add(part));
                blocks::<T>(&lane.from, range, |block, _| {
                    number::<T>(block, &bounds[1..], &mut numbers[..block.len()]);
                    for (v, &number) in block.iter().zip(&numbers) {
                        let next = &mut next[number as usize % MOST];
                        keys.add(*next).write(v.key());
                        *next += 1;
                    }
                });
            }
            _ => {
                let start = |share: usize| if share < shares { (*counts)[share] } else { len };
                let (first, end) = (start(part), start(part + 1));
                let keys = std::slice::from_raw_parts_mut(self.keys_of::<T>(cut, lane)?.add(first), end - first);
                T::Key::sort(keys, false);
                let (n, answers) = (keys.len(), keys.as_mut_ptr().cast::<T>());
                vectorized(
                    #[inline(always)]
                    || {
                        // An element and its key take the same room.
                        for i in 0..n {
                            answers.add(i).write(T::from_key(answers.add(i).cast::<T::Key>().read()));
                        }
                    },
                );
                let to = lane.to.offset(first as isize * lane.to_step);
                if answers.cast() != to {
                    for i in 0..n {
                        to.offset(i as isize * lane.to_step).cast::<T>().write_unaligned(answers.add(i).read());
                    }
                }
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

/// The keys at which all shares but the first begin, by a sample from scattered places, the same in every run.
unsafe fn sample<T: Keyed>(lane: &RawView, bounds: &mut [T::Key]) {
    let len = lane.shape[0];
    let mut state = len as u64;
    let mut keys: Vec<T::Key> = (0..bounds.len() * SAMPLE)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let place = (((state >> 32) as u128 * len as u128) >> 32) as isize;
            (lane.ptr.offset(place * lane.strides[0]) as *const T).read_unaligned().key()
        })
        .collect();
    T::Key::sort(&mut keys, false);
    bounds.iter_mut().enumerate().for_each(|(i, bound)| *bound = keys[i * SAMPLE]);
}

/// Which share each element belongs to: how many bounds are not above its key.
fn number<T: Keyed>(block: &[T], bounds: &[T::Key], numbers: &mut [u8]) {
    debug_assert!(block.len() <= BLOCK);
    vectorized(
        #[inline(always)]
        || {
            // By index, for iterators would not be inlined here.
            let mut at = 0;
            while at < block.len() {
                let n = AT_ONCE.min(block.len() - at);
                let (mut keys, mut found) = ([T::Key::default(); AT_ONCE], [T::Key::default(); AT_ONCE]);
                for i in 0..n {
                    keys[i] = block[at + i].key();
                }
                for b in 0..bounds.len() {
                    for i in 0..AT_ONCE {
                        found[i] = keys[i].count(bounds[b], found[i]);
                    }
                }
                for i in 0..n {
                    numbers[at + i] = found[i].index();
                }
                at += n;
            }
        },
    );
}
