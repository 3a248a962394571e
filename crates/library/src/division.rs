//! Between which keys lie about equal shares of a lane, by a sample of it.
//!
//! The range of the keys is cut into cells of equal size, each of which belongs to one share: a shift and a look into a
//! table. Where that makes a share far too large, for most keys lie in a corner of their range, a few shares are told by
//! comparisons instead.

use crate::RawView;
use crate::gather::{LINE, prefetch};
use crate::merge::Record;
use crate::sort_key::Keyed;
use crate::vector::vectorized;

/// Shares at most: by cells, and by comparisons, each of which takes one for every element.
pub const MOST: usize = 256;
const COMPARED: usize = 8;
const CELLS: usize = 4096;
/// Elements of a sample, for each share.
const SAMPLE: usize = 16;
const LEAST_SAMPLE: usize = 256;
/// One of so many elements may lie outside of the range of the cells, on either side.
const FAR_OUT: usize = 64;
/// Elements whose shares are found at a time.
pub const BLOCK: usize = crate::guide::BLOCK;
/// Elements that are compared at a time, in registers.
const AT_ONCE: usize = 32;

/// Keys that are divided.
pub trait Divided: Record + Default {
    /// One more if `other` is not above the key.
    fn count(self, other: Self, so_far: Self) -> Self;
    fn index(self) -> u8;
    /// How far the key lies above another, in units of `2^shift`, at most the last cell.
    fn cell(self, low: Self, shift: u32) -> u16;
    /// The least shift that brings this key into the cells above another.
    fn shift(self, low: Self) -> u32;
}

macro_rules! divided {
    ($($t:ty, $u:ty;)*) => {$(
        impl Divided for $t {
            #[inline(always)]
            fn count(self, other: $t, so_far: $t) -> $t { so_far + (other <= self) as $t }
            #[inline(always)]
            fn index(self) -> u8 { self as u8 }
            #[inline(always)]
            fn cell(self, low: $t, shift: u32) -> u16 {
                let above = (self.max(low) as $u).wrapping_sub(low as $u) >> shift;
                above.min((CELLS - 1).min(<$u>::MAX as usize) as $u) as u16
            }
            fn shift(self, low: $t) -> u32 {
                let above = (self as $u).wrapping_sub(low as $u);
                (<$u>::BITS - above.leading_zeros()).saturating_sub(CELLS.ilog2()).min(<$u>::BITS - 1)
            }
        }
    )*};
}
divided!(i8, u8; i16, u16; i32, u32; i64, u64;);

pub struct Division<K> {
    by_cells: bool,
    low: K,
    shift: u32,
    table: [u8; CELLS],
    /// Where all shares but the first begin.
    bounds: [K; COMPARED - 1],
    compared: usize,
}

impl<K: Divided> Division<K> {
    /// Of a lane of one axis into up to `shares`, by a sample from scattered places, the same in every run.
    ///
    /// # Safety
    /// The lane must be valid.
    pub unsafe fn new<T: Keyed<Key = K>>(lane: &RawView, shares: usize) -> Division<K> {
        let len = lane.shape[0];
        let mut state = len as u64;
        let mut sample: Vec<K> = (0..(shares * SAMPLE).max(LEAST_SAMPLE))
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let place = (((state >> 32) as u128 * len as u128) >> 32) as isize;
                (lane.ptr.offset(place * lane.strides[0]) as *const T).read_unaligned().key()
            })
            .collect();
        K::sort(&mut sample, false);
        // What lies far out is in the first cell or in the last.
        let (n, out) = (sample.len(), sample.len() / FAR_OUT);
        let (low, high) = (sample[out], sample[n - 1 - out]);
        let shift = high.shift(low);
        let mut found = Division {
            by_cells: true,
            low,
            shift,
            table: [(shares - 1) as u8; CELLS],
            bounds: [K::default(); COMPARED - 1],
            compared: shares.min(COMPARED),
        };
        let (mut cell, mut sizes) = (0, [0usize; MOST]);
        for (rank, key) in sample.iter().enumerate() {
            let own = key.cell(low, shift) as usize;
            // The cells up to this one begin at this rank.
            while cell <= own {
                found.table[cell] = (rank * shares / n) as u8;
                cell += 1;
            }
            sizes[found.table[own] as usize] += 1;
        }
        let largest = sizes.iter().copied().max().unwrap_or(0);
        found.by_cells = largest <= n / COMPARED.min(shares) * 2;
        for share in 1..found.compared {
            found.bounds[share - 1] = sample[share * n / found.compared];
        }
        found
    }

    /// The share of each element of up to a block.
    pub fn number<T: Keyed<Key = K>>(&self, block: &[T], numbers: &mut [u8; BLOCK]) {
        debug_assert!(block.len() <= BLOCK);
        if self.by_cells { self.by_cells(block, numbers) } else { self.by_comparison(block, numbers) }
    }

    fn by_cells<T: Keyed<Key = K>>(&self, block: &[T], numbers: &mut [u8; BLOCK]) {
        let mut cells = [0u16; BLOCK];
        let (low, shift, n) = (self.low, self.shift, block.len().min(BLOCK));
        vectorized(
            #[inline(always)]
            || {
                for i in 0..n {
                    cells[i] = block[i].key().cell(low, shift);
                }
            },
        );
        // The next block is on its way while these are looked up: a line at a time, for all at once are too many to wait.
        let next = block.as_ptr().wrapping_add(BLOCK).cast::<u8>();
        for i in 0..n {
            if i.is_multiple_of(LINE / size_of::<T>()) {
                prefetch(next.wrapping_add(i * size_of::<T>()));
            }
            numbers[i] = self.table[cells[i] as usize % CELLS];
        }
    }

    /// How many bounds are not above the key.
    fn by_comparison<T: Keyed<Key = K>>(&self, block: &[T], numbers: &mut [u8; BLOCK]) {
        let bounds = &self.bounds[..self.compared - 1];
        vectorized(
            #[inline(always)]
            || {
                // By index, for iterators would not be inlined here.
                let mut at = 0;
                while at < block.len() {
                    let n = AT_ONCE.min(block.len() - at);
                    let (mut keys, mut found) = ([K::default(); AT_ONCE], [K::default(); AT_ONCE]);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use numloom_ir::DType;

    fn numbers(values: &mut [i64], shares: usize) -> (bool, Vec<u8>) {
        let lane = RawView {
            ptr: values.as_mut_ptr() as *mut u8,
            dtype: DType::I64,
            shape: [values.len()].as_slice().into(),
            strides: [8isize].as_slice().into(),
        };
        let division = unsafe { Division::new::<i64>(&lane, shares) };
        let mut all = Vec::new();
        for block in values.chunks(BLOCK) {
            let mut own = [0; BLOCK];
            division.number(block, &mut own);
            all.extend(&own[..block.len()]);
        }
        (division.by_cells, all)
    }

    #[test]
    fn a_larger_key_is_in_no_earlier_share() {
        let mixed = |i: i64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64);
        let lists: [(bool, Vec<i64>); 6] = [
            (true, (0..70_000).map(mixed).collect()),
            (true, (0..70_000).map(|i| mixed(i) >> 40).collect()),
            (true, (0..70_000).map(|i| 3 * i - 7).collect()),
            // Most of them in a corner of their range.
            (false, (0..70_000).map(|i| if i % 9 == 0 { mixed(i) } else { i % 1000 }).collect()),
            (true, (0..70_000).map(|i| if i % 90 == 0 { mixed(i) } else { i }).collect()),
            (false, vec![i64::MIN; 70_000]),
        ];
        for (by_cells, mut list) in lists {
            for shares in [2, 8, 32, 256] {
                let (chosen, numbers) = numbers(&mut list, shares);
                assert!(chosen == by_cells || shares < 8, "{shares} shares of {:?}", &list[..5]);
                assert!(numbers.iter().all(|&n| (n as usize) < shares));
                let mut both: Vec<(i64, u8)> = list.iter().copied().zip(numbers).collect();
                both.sort_unstable();
                assert!(both.windows(2).all(|w| w[0].1 <= w[1].1));
            }
        }
    }
}
