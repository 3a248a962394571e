//! Partitioning one long lane around one place. A sample says between which ranks the wanted element almost certainly
//! lies; the lane is divided into what is below, what is between and what is above, and the part that has the place,
//! nearly always the small one, is partitioned by one worker.

use crate::guide::{BLOCK, blocks};
use crate::scratch::Scratch;
use crate::select::{Bracket, sampled};
use crate::sort_key::Keyed;
use crate::vector::vectorized;
use crate::walk::{piece, pieces};
use crate::{LibraryError, RawView};
use numloom_loops::compress;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Elements of a chunk, which is counted and divided by one tile.
const CHUNK: usize = 1 << 17;
const MOST_CHUNKS: usize = 64;
/// Elements behind a block that packing may write to.
const SPARE: usize = 64;

/// How many elements of a chunk are below, between and above.
type Counts = [usize; 3];

/// What is kept between the phases.
#[derive(Default)]
pub(crate) struct Divide {
    bracket: Scratch,
    counts: Scratch,
}

fn chunks(len: usize) -> usize {
    pieces(len, CHUNK).min(MOST_CHUNKS)
}

/// Looking at a sample, counting, dividing, finding the place.
pub(crate) fn phases(len: usize) -> SmallVec<[usize; 4]> {
    smallvec![1, chunks(len), chunks(len), 1]
}

impl Divide {
    /// One tile of one phase: `lane` has one axis, and the answer `to` lies apart from it.
    ///
    /// # Safety
    /// The lane must be readable, and nobody else may touch the answer, which is aligned and as long.
    pub unsafe fn run<T: Keyed>(
        &self,
        lane: &RawView,
        to: *mut T,
        k: usize,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let (len, chunks) = (lane.shape[0], chunks(lane.shape[0]));
        let (bracket, counts) = (self.bracket.get::<Bracket>(1)?, self.counts.get::<Counts>(chunks)?);
        match phase {
            0 => bracket.write(sampled::<T>(lane, k)),
            1 => counts.add(tile).write(count::<T>(lane, piece(len, chunks, tile), *bracket)),
            2 => {
                let next = starts(std::slice::from_raw_parts(counts, chunks), tile);
                divide::<T>(lane, piece(len, chunks, tile), *bracket, to, next);
            }
            _ => {
                let [_, between, above] = starts(std::slice::from_raw_parts(counts, chunks), 0);
                let part = [0..between, between..above, above..len].into_iter().find(|part| part.contains(&k));
                let part = part.unwrap_or(0..len);
                let own = std::slice::from_raw_parts_mut(to.add(part.start), part.len());
                own.select_nth_unstable_by_key(k - part.start, |v| v.rank());
            }
        }
        Ok(())
    }
}

/// Where the elements of a chunk go that are below, between and above.
fn starts(counts: &[Counts], chunk: usize) -> Counts {
    let mut before = 0;
    std::array::from_fn(|part| {
        let start = before + counts[..chunk].iter().map(|c| c[part]).sum::<usize>();
        before += counts.iter().map(|c| c[part]).sum::<usize>();
        start
    })
}

unsafe fn count<T: Keyed>(lane: &RawView, range: Range<usize>, Bracket { low, high }: Bracket) -> Counts {
    let (mut below, mut above, all) = (0, 0, range.len());
    blocks::<T>(lane, range, |block, _| {
        let [b, a] = vectorized(
            #[inline(always)]
            || {
                block.iter().fold([0i64; 2], |[below, above], v| {
                    let rank = v.rank();
                    [below + (rank < low) as i64, above + (rank > high) as i64]
                })
            },
        );
        (below, above) = (below + b as usize, above + a as usize);
    });
    [below, all - below - above, above]
}

unsafe fn divide<T: Keyed>(
    lane: &RawView,
    range: Range<usize>,
    Bracket { low, high }: Bracket,
    to: *mut T,
    mut next: Counts,
) {
    let mut is_in = [[0u8; BLOCK]; 3];
    let mut room = [T::ZERO; BLOCK + SPARE];
    blocks::<T>(lane, range, |block, _| {
        let [below, between, above] = &mut is_in;
        vectorized(
            #[inline(always)]
            || {
                for (i, v) in block.iter().enumerate() {
                    let rank = v.rank();
                    below[i] = (rank < low) as u8;
                    between[i] = ((rank >= low) & (rank <= high)) as u8;
                    above[i] = (rank > high) as u8;
                }
            },
        );
        for (is_in, next) in is_in.iter().zip(&mut next) {
            // Packed apart: packing may write behind what it has packed, where another chunk's elements lie.
            let found = room.as_mut_ptr();
            let n = compress(size_of::<T>(), block.len(), block.as_ptr().cast(), is_in.as_ptr(), found.cast());
            std::ptr::copy_nonoverlapping(found, to.add(*next), n);
            *next += n;
        }
    });
}
