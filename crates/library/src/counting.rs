//! Sorting integers of a narrow range: how many there are of each value says it all. Every chunk counts for itself.

use crate::guide::{BLOCK, blocks};
use crate::radix::Scale;
use crate::scratch::Scratch;
use crate::sort_key::Keyed;
use crate::vector::vectorized;
use crate::{LibraryError, RawView};
use std::ops::Range;

/// Bits of the widest range.
const BITS: u32 = 16;

/// The counts of every chunk of every lane; those of a lane's first one become where each value begins.
#[derive(Default)]
pub struct Counting {
    tables: Scratch,
}

/// The values of a chunk: the smallest, the largest, and the bits in which they differ from the lane's first.
#[derive(Clone, Copy)]
pub struct Found {
    low: i64,
    high: i64,
    varying: u64,
}

/// Looks through a chunk of a lane, or a part of it that shows that its range is not narrow.
///
/// # Safety
/// The lane must be readable and not empty.
pub unsafe fn look<T: Keyed>(lane: &RawView, range: Range<usize>) -> Found {
    let first = (lane.ptr as *const T).read_unaligned().rank();
    let mut found = Found { low: i64::MAX, high: i64::MIN, varying: 0 };
    let middle = range.end.min(range.start + BLOCK);
    for part in [range.start..middle, middle..range.end] {
        if part.start > range.start && Scale::new(found.low, found.high, found.varying).bits > BITS {
            break;
        }
        found = look_through::<T>(lane, part, first, found);
    }
    found
}

unsafe fn look_through<T: Keyed>(lane: &RawView, range: Range<usize>, first: i64, mut found: Found) -> Found {
    blocks::<T>(lane, range, |block, _| {
        found = vectorized(
            #[inline(always)]
            || {
                let Found { mut low, mut high, mut varying } = found;
                for v in block {
                    let rank = v.rank();
                    (low, high, varying) = (low.min(rank), high.max(rank), varying | (rank ^ first) as u64);
                }
                Found { low, high, varying }
            },
        );
    });
    found
}

/// Entries of a table that pays for chunks of so many elements.
fn longest<T: Keyed>(chunk: usize) -> usize {
    if size_of::<T>() <= 2 { 1 << BITS } else { (chunk / 2).min(1 << BITS) }
}

/// How values become numbers, if they are few enough to be counted in chunks of so many elements.
pub fn narrow<T: Keyed>(found: &[Found], chunk: usize) -> Option<Scale> {
    let low = found.iter().map(|f| f.low).min()?;
    let high = found.iter().map(|f| f.high).max()?;
    let scale = Scale::new(low, high, found.iter().fold(0, |v, f| v | f.varying));
    (scale.bits <= BITS && 1 << scale.bits <= longest::<T>(chunk)).then_some(scale)
}

/// One lane in chunks.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    pub lane: &'a RawView,
    /// Which lane it is, of how many.
    pub index: usize,
    pub lanes: usize,
    pub chunks: usize,
    pub scale: Scale,
}

impl Counting {
    /// Where a chunk counts.
    unsafe fn table<T: Keyed>(&self, of: &Counted, chunk: usize) -> Result<*mut [u32], LibraryError> {
        let most = longest::<T>(of.lane.shape[0] / of.chunks);
        let all = self.tables.get::<u32>(of.lanes * of.chunks * most)?;
        let own = all.add((of.index * of.chunks + chunk) * most);
        Ok(std::ptr::slice_from_raw_parts_mut(own, 1 << of.scale.bits))
    }

    /// Counts the elements of a chunk.
    ///
    /// # Safety
    /// The lane must be readable; nobody else counts this chunk.
    pub unsafe fn count<T: Keyed>(&self, of: &Counted, chunk: usize, range: Range<usize>) -> Result<(), LibraryError> {
        let table = &mut *self.table::<T>(of, chunk)?;
        table.fill(0);
        let mask = table.len() - 1;
        // The mask changes nothing, but shows that every number is inside.
        blocks::<T>(of.lane, range, |block, _| {
            block.iter().for_each(|v| table[of.scale.number(v.rank()) as usize & mask] += 1);
        });
        Ok(())
    }

    /// Where each value begins, once all chunks have been counted.
    ///
    /// # Safety
    /// Nobody else has the tables of the lane.
    pub unsafe fn add_up<T: Keyed>(&self, of: &Counted) -> Result<(), LibraryError> {
        let all = &mut *self.table::<T>(of, 0)?;
        for chunk in 1..of.chunks {
            let table = &*self.table::<T>(of, chunk)?;
            vectorized(
                #[inline(always)]
                || all.iter_mut().zip(table).for_each(|(a, b)| *a += *b),
            );
        }
        let mut before = 0;
        all.iter_mut().for_each(|n| before += std::mem::replace(n, before));
        Ok(())
    }

    /// Writes the elements `range` of the sorted lane.
    ///
    /// # Safety
    /// `to` must be writeable there, with `step` bytes from one to the next.
    pub unsafe fn fill<T: Keyed>(
        &self,
        of: &Counted,
        range: Range<usize>,
        to: *mut u8,
        step: isize,
    ) -> Result<(), LibraryError> {
        let starts = &*self.table::<T>(of, 0)?;
        let mut at = range.start;
        let mut number = starts.partition_point(|&s| s as usize <= at);
        while at < range.end {
            let end = starts.get(number).map_or(range.end, |&s| range.end.min(s as usize));
            let value = T::of_rank(of.scale.rank(number as u64 - 1));
            if step == size_of::<T>() as isize && to.cast::<T>().is_aligned() {
                std::slice::from_raw_parts_mut(to.cast::<T>().add(at), end - at).fill(value);
            } else {
                (at..end).for_each(|i| to.offset(i as isize * step).cast::<T>().write_unaligned(value));
            }
            (at, number) = (end, number + 1);
        }
        Ok(())
    }
}
