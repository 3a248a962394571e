//! Sorting in the cache: keys are dealt out to cells, equal parts of the range from the smallest to the largest, and each
//! cell then has few enough to be sorted in registers. What lies unevenly fills some cells with more, which are sorted as
//! any run is.

use crate::division::Divided;
use crate::merge::Record;
use crate::order::each;
use crate::sort_key::Keyed;
use crate::vector::vectorized;

/// Cells at most, and keys for each, about.
const MOST: usize = 256;
const EACH: usize = 128;
/// Lengths of runs that repay it, and of which the cache has room for two.
const LENGTHS: std::ops::Range<usize> = 1 << 12..1 << 17;

/// Keys that are looked at together.
const BLOCK: usize = 256;
/// Extremes that are kept side by side.
const ABREAST: usize = 32;

/// Whether so many elements are sorted sooner this way. Of narrower ones a vector has twice as many, and to divide them by
/// pivots takes half as long.
pub fn is_for<T>(n: usize) -> bool {
    size_of::<T>() == 8 && LENGTHS.contains(&n)
}

/// Sorts a run into `to` by way of `spare`.
///
/// # Safety
/// All are valid and aligned for `n` elements, at least one. The spare is apart from the others, which are the same
/// memory or apart.
pub unsafe fn sort<T: Keyed>(from: *const T, n: usize, to: *mut T, spare: *mut T::Key) {
    let run = std::slice::from_raw_parts(from, n);
    let (low, high) = extremes(run);
    let cells = (n / EACH).next_power_of_two().min(MOST);
    let shift = high.shift(low, cells);
    let (mut keys, mut own) = ([low; BLOCK], [0u16; BLOCK]);
    let mut counts = [0u32; MOST];
    for block in run.chunks(BLOCK) {
        split::<T>(block, low, shift, &mut keys, &mut own);
        own[..block.len()].iter().for_each(|&cell| counts[cell as usize % MOST] += 1);
    }
    let mut before = 0;
    let mut next = counts.map(|count| {
        before += count;
        before - count
    });
    for block in run.chunks(BLOCK) {
        split::<T>(block, low, shift, &mut keys, &mut own);
        for i in 0..block.len() {
            let at = &mut next[own[i % BLOCK] as usize % MOST];
            spare.add(*at as usize).write(keys[i % BLOCK]);
            *at += 1;
        }
    }
    let mut begin = 0;
    for end in next.map(|end| end as usize) {
        T::Key::sort(std::slice::from_raw_parts_mut(spare.add(begin), end - begin), false);
        begin = end;
    }
    each(spare, n, to, T::from_key);
}

/// The keys of up to a block of elements, and their cells.
#[inline(always)]
fn split<T: Keyed>(block: &[T], low: T::Key, shift: u32, keys: &mut [T::Key; BLOCK], cells: &mut [u16; BLOCK]) {
    vectorized(
        #[inline(always)]
        || {
            for i in 0..block.len().min(BLOCK) {
                keys[i] = block[i].key();
                cells[i] = keys[i].cell(low, shift);
            }
        },
    )
}

/// The smallest and the largest key of a run.
fn extremes<T: Keyed>(run: &[T]) -> (T::Key, T::Key) {
    let least = |a: T::Key, b: T::Key| if b.less(&a) { b } else { a };
    let most = |a: T::Key, b: T::Key| if a.less(&b) { b } else { a };
    vectorized(
        #[inline(always)]
        || {
            let (mut low, mut high) = ([run[0].key(); ABREAST], [run[0].key(); ABREAST]);
            let blocks = run.chunks_exact(ABREAST);
            for (i, v) in blocks.remainder().iter().enumerate() {
                (low[i], high[i]) = (least(low[i], v.key()), most(high[i], v.key()));
            }
            for block in blocks {
                for i in 0..ABREAST {
                    let key = block[i].key();
                    (low[i], high[i]) = (least(low[i], key), most(high[i], key));
                }
            }
            (1..ABREAST).fold((low[0], high[0]), |found, i| (least(found.0, low[i]), most(found.1, high[i])))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In one corner of their range, alike, in order, at the ends of what there is.
    fn lists(n: usize) -> Vec<Vec<i64>> {
        let mixed = |i: usize| (i as i64).wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64);
        vec![
            (0..n).map(mixed).collect(),
            (0..n).map(|i| mixed(i) >> 40).collect(),
            (0..n).map(|i| if i % 999 == 0 { mixed(i) } else { mixed(i) >> 50 }).collect(),
            (0..n).map(|i| (mixed(i) & 1).wrapping_sub(i64::MAX)).collect(),
            (0..n).map(|i| if i % 2 == 0 { i64::MIN } else { i64::MAX }).collect(),
            (0..n as i64).rev().collect(),
            vec![7; n],
        ]
    }

    fn check<T: Keyed + std::fmt::Debug + PartialEq>(list: Vec<T>) {
        let mut want = list.clone();
        want.sort_by_key(|v| v.rank());
        let (n, mut got, mut spare) = (list.len(), list.clone(), vec![list[0].key(); list.len()]);
        // SAFETY: three lists of so many elements.
        unsafe { sort::<T>(list.as_ptr(), n, got.as_mut_ptr(), spare.as_mut_ptr()) };
        assert_eq!(got, want);
        got.copy_from_slice(&list);
        // SAFETY: as above.
        unsafe { sort::<T>(got.as_ptr(), n, got.as_mut_ptr(), spare.as_mut_ptr()) };
        assert_eq!(got, want);
    }

    #[test]
    fn sorts_whatever_lies_where() {
        for n in [1, 31, 32, 257, 1000, 4096, 39_062] {
            for list in lists(n) {
                check::<i32>(list.iter().map(|&v| v as i32).collect());
                check::<u64>(list.iter().map(|&v| v as u64).collect());
                check::<f64>(list.iter().map(|&v| v as f64 / 3.0 + 0.5).collect());
                check::<i64>(list);
            }
        }
    }
}
