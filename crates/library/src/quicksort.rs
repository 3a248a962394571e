//! Sorting dense runs of integers.

#[cfg(target_arch = "x86_64")]
use crate::cells;
use crate::merge::Becomes;
#[cfg(target_arch = "x86_64")]
use crate::network::{by_32, by_64};
#[cfg(target_arch = "x86_64")]
use crate::scratch::OwnRoom;
#[cfg(target_arch = "x86_64")]
use std::mem::MaybeUninit;
use std::ops::Range;

/// Sorts bytes by counting them.
pub fn count_8(run: &mut [i8]) {
    let mut counts = [0usize; 256];
    for &v in run.iter() {
        counts[(v as u8 ^ 0x80) as usize] += 1;
    }
    spread(run, &counts, |i| (i as u8 ^ 0x80) as i8);
}

/// Sorts 16-bit integers by counting them, where there are enough to pay for the table.
pub fn count_16(run: &mut [i16]) {
    if run.len() < 1 << 14 {
        return run.sort_unstable();
    }
    let mut counts = vec![0usize; 1 << 16];
    for &v in run.iter() {
        counts[(v as u16 ^ 0x8000) as usize] += 1;
    }
    spread(run, &counts, |i| (i as u16 ^ 0x8000) as i16);
}

fn spread<T: Copy>(mut run: &mut [T], counts: &[usize], value: impl Fn(usize) -> T) {
    for (i, &n) in counts.iter().enumerate() {
        let (these, rest) = run.split_at_mut(n);
        these.fill(value(i));
        run = rest;
    }
}

/// Elements that a pivot is chosen from.
#[cfg(target_arch = "x86_64")]
const SAMPLE: usize = 15;
/// Vectors that are read at once when a run is partitioned.
#[cfg(target_arch = "x86_64")]
const AT_ONCE: usize = 8;

macro_rules! vector_sorts {
    ($($name:ident, $by_cells:expr, $long:ident, $recurse:ident, $pivot:ident, $partition:ident, $apart:ident, $network:ident, $t:ty, $m:ty,
        $load:ident, $set:ident, $lt:ident, $le:ident, $compress:ident, $expand:ident, $or:ident;)*) => {$(
        /// Sorts a run; with AVX-512 by a network, and long ones first by a quicksort that partitions a vector at a time.
        pub fn $name(run: &mut [$t]) {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
                // SAFETY: the features were just detected.
                return unsafe { if run.len() > $network::MOST { $long(run) } else { $network::sort(run) } };
            }
            run.sort_unstable();
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,popcnt")]
        unsafe fn $long(run: &mut [$t]) {
            let Ok(mut room) = OwnRoom::take() else { return run.sort_unstable() };
            $recurse(run, 2 * run.len().ilog2(), spare_of(&mut room))
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,popcnt")]
        unsafe fn $recurse(mut run: &mut [$t], mut depth: u32, spare: &mut [MaybeUninit<$t>]) {
            while run.len() > $network::MOST {
                if depth == 0 {
                    return run.sort_unstable();
                }
                depth -= 1;
                if let Some(by_cells) = $by_cells
                    && (cells::LEAST..=spare.len()).contains(&run.len())
                {
                    return by_cells(run, depth, spare);
                }
                let pivot = $pivot(run);
                let below = if run.len() + 64 / size_of::<$t>() <= spare.len() {
                    $apart(run, pivot, spare.as_mut_ptr() as *mut $t)
                } else {
                    $partition::<false>(run, pivot)
                };
                if below == 0 {
                    // Nothing is smaller than the pivot: its equals are in place once they are in front.
                    let equal = $partition::<true>(run, pivot);
                    run = &mut run[equal..];
                    continue;
                }
                let (left, right) = run.split_at_mut(below);
                if left.len() < right.len() {
                    $recurse(left, depth, spare);
                    run = right;
                } else {
                    $recurse(right, depth, spare);
                    run = left;
                }
            }
            $network::sort(run);
        }

        /// Moves what is smaller than the pivot to the front, and the rest through `spare` behind it; answers how many.
        /// The spare has room for the run and a vector.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,popcnt")]
        unsafe fn $apart(run: &mut [$t], pivot: $t, spare: *mut $t) -> usize {
            use std::arch::x86_64::*;
            const WIDTH: usize = 64 / size_of::<$t>();
            let (p, n) = (run.as_mut_ptr(), run.len());
            let pivots = $set(pivot);
            let (mut low, mut high, mut at) = (0, 0, 0);
            while at + WIDTH <= n {
                let v = $load(p.add(at));
                let small: $m = $lt(v, pivots);
                let count = small.count_ones() as usize;
                // What is written behind the small ones has been read.
                _mm512_storeu_si512(p.add(low) as *mut __m512i, $compress(small, v));
                _mm512_storeu_si512(spare.add(high) as *mut __m512i, $compress(!small, v));
                low += count;
                high += WIDTH - count;
                at += WIDTH;
            }
            while at < n {
                let v = *p.add(at);
                *p.add(low) = v;
                *spare.add(high) = v;
                low += (v < pivot) as usize;
                high += (v >= pivot) as usize;
                at += 1;
            }
            std::ptr::copy_nonoverlapping(spare, p.add(low), high);
            low
        }

        /// The median of a sample spread over the run.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,popcnt")]
        unsafe fn $pivot(run: &[$t]) -> $t {
            let mut sample: [$t; SAMPLE] = std::array::from_fn(|i| run[(2 * i + 1) * (run.len() / (2 * SAMPLE))]);
            $network::sort(&mut sample);
            sample[SAMPLE / 2]
        }

        /// Moves what is smaller than the pivot (or equal, for `OR_EQUAL`) to the front; answers how many.
        /// The run must be longer than twice as many vectors as are read at once, and one.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,popcnt")]
        unsafe fn $partition<const OR_EQUAL: bool>(run: &mut [$t], pivot: $t) -> usize {
            use std::arch::x86_64::*;
            const WIDTH: usize = 64 / size_of::<$t>();
            const SOME: usize = AT_ONCE * WIDTH;
            debug_assert!(run.len() > 2 * SOME + WIDTH);
            let p = run.as_mut_ptr();
            let (mut left, mut right) = (0, run.len());
            // What does not fill a vector goes first, one by one.
            for _ in 0..run.len() % WIDTH {
                let (first, last) = (*p.add(left), *p.add(right - 1));
                let small = first < pivot || (OR_EQUAL && first == pivot);
                // Both are written, whether they change places or not: no branch has to be guessed.
                (*p.add(left), *p.add(right - 1)) = if small { (first, last) } else { (last, first) };
                left += small as usize;
                right -= !small as usize;
            }
            let pivots = $set(pivot);
            let (mut low, mut high) = (left, right);
            // Small elements in the low lanes, the others in the high ones: written at both ends, each of which then
            // keeps its own.
            let mut put = |v: __m512i| {
                let small: $m = if OR_EQUAL { $le(v, pivots) } else { $lt(v, pivots) };
                let count = small.count_ones() as usize;
                let others = (<$m>::MAX as u32).unbounded_shl(count as u32) as $m;
                let v = $or($compress(small, v), $expand(others, $compress(!small, v)));
                _mm512_storeu_si512(p.add(low) as *mut __m512i, v);
                _mm512_storeu_si512(p.add(high - WIDTH) as *mut __m512i, v);
                low += count;
                high -= WIDTH - count;
                (low, high)
            };
            // Some vectors of both ends are held back, so that between what is read and what is written there is always
            // room for twice as many; reading from the narrower side leaves room for as many as are read on both.
            // (By index, for iterators would not be inlined here.)
            let mut held = [pivots; 2 * AT_ONCE];
            for k in 0..AT_ONCE {
                held[k] = $load(p.add(left + k * WIDTH));
                held[AT_ONCE + k] = $load(p.add(right - SOME + k * WIDTH));
            }
            let mut written = (left, right);
            left += SOME;
            right -= SOME;
            // Which side that is nobody can guess: it is asked once for several vectors.
            while right - left >= SOME {
                let from = if written.1 - right < left - written.0 {
                    right -= SOME;
                    right
                } else {
                    left += SOME;
                    left - SOME
                };
                let mut some = [pivots; AT_ONCE];
                for k in 0..AT_ONCE {
                    some[k] = $load(p.add(from + k * WIDTH));
                }
                for k in 0..AT_ONCE {
                    written = put(some[k]);
                }
            }
            while left < right {
                let v = if written.1 - right < left - written.0 {
                    right -= WIDTH;
                    $load(p.add(right))
                } else {
                    left += WIDTH;
                    $load(p.add(left - WIDTH))
                };
                written = put(v);
            }
            for k in 0..2 * AT_ONCE {
                written = put(held[k]);
            }
            written.0
        }
    )*};
}
/// The room that parts of a run are moved through, if they fit in there.
#[cfg(target_arch = "x86_64")]
unsafe fn spare_of<T>(room: &mut OwnRoom) -> &mut [MaybeUninit<T>] {
    std::slice::from_raw_parts_mut(room.as_ptr(), OwnRoom::BYTES / size_of::<T>())
}

vector_sorts! {
    sort_32, None::<unsafe fn(&mut [i32], u32, &mut [MaybeUninit<i32>])>, long_32, recurse_32, pivot_32, partition_32, apart_32, by_32, i32, u16, _mm512_loadu_epi32, _mm512_set1_epi32, _mm512_cmplt_epi32_mask,
        _mm512_cmple_epi32_mask, _mm512_maskz_compress_epi32, _mm512_maskz_expand_epi32, _mm512_or_si512;
    sort_64, Some(by_cells), long_64, recurse_64, pivot_64, partition_64, apart_64, by_64, i64, u8, _mm512_loadu_epi64, _mm512_set1_epi64, _mm512_cmplt_epi64_mask,
        _mm512_cmple_epi64_mask, _mm512_maskz_compress_epi64, _mm512_maskz_expand_epi64, _mm512_or_si512;
}

/// Sorts a run and writes what it becomes.
///
/// # Safety
/// As for `Record::sort_as`.
pub unsafe fn sort_64_as(run: &mut [i64], becomes: Becomes<i64>) {
    #[cfg(target_arch = "x86_64")]
    if (cells::LEAST..=OwnRoom::BYTES / size_of::<i64>()).contains(&run.len())
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("popcnt")
        && let Ok(mut room) = OwnRoom::take()
    {
        return become_by_cells(run, 2 * run.len().ilog2(), spare_of(&mut room), becomes);
    }
    sort_64(run);
    becomes(run.as_ptr(), run.len(), run.as_mut_ptr());
}

/// Sorts a run that fits in the spare. Of 32-bit integers a vector has twice as many, and to divide them by pivots takes
/// half as long.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn by_cells(run: &mut [i64], depth: u32, spare: &mut [MaybeUninit<i64>]) {
    become_by_cells(run, depth, spare, |from, n, to| std::ptr::copy(from, to, n))
}

/// Elements that are still in the first-level cache when they are moved back.
#[cfg(target_arch = "x86_64")]
const MOVED: usize = 1 << 10;

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn become_by_cells(run: &mut [i64], depth: u32, spare: &mut [MaybeUninit<i64>], becomes: Becomes<i64>) {
    let (to, n, from) = (run.as_mut_ptr(), run.len(), spare.as_mut_ptr() as *mut i64);
    let Some((ends, cells)) = cells::deal(run, from) else { return becomes(to, n, to) };
    let ends = &ends[..cells];
    // Those that are too large for the network wait until the spare is free.
    let is_large = |len: usize| len > by_64::MOST;
    let (mut begin, mut moved, mut any_large) = (0, 0, false);
    for end in ends.iter().map(|&end| end as usize) {
        let large = is_large(end - begin);
        if large || begin - moved >= MOVED {
            becomes(from.add(moved), begin - moved, to.add(moved));
            moved = begin;
        }
        if large {
            std::ptr::copy_nonoverlapping(from.add(begin), to.add(begin), end - begin);
            (moved, any_large) = (end, true);
        } else {
            by_64::sort(std::slice::from_raw_parts_mut(from.add(begin), end - begin));
        }
        begin = end;
    }
    becomes(from.add(moved), n - moved, to.add(moved));
    let mut begin = 0;
    for end in ends.iter().map(|&end| end as usize).take_while(|_| any_large) {
        if is_large(end - begin) {
            recurse_64(&mut run[begin..end], depth, spare);
            becomes(to.add(begin), end - begin, to.add(begin));
        }
        begin = end;
    }
}

/// Puts the element at place `k` where a sort would, and answers a range around it that is sorted: nothing before it is
/// larger than what is in it, and nothing behind it smaller.
pub fn select_64(run: &mut [i64], k: usize) -> Range<usize> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the features were just detected.
        return unsafe { choose_64(run, k) };
    }
    run.select_nth_unstable(k);
    k..k + 1
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn choose_64(run: &mut [i64], k: usize) -> Range<usize> {
    let mut range = 0..run.len();
    let mut depth = 2 * run.len().max(1).ilog2();
    while range.len() > by_64::MOST {
        let part = &mut run[range.clone()];
        if depth == 0 {
            part.select_nth_unstable(k - range.start);
            return k..k + 1;
        }
        depth -= 1;
        let pivot = pivot_64(part);
        let below = range.start + partition_64::<false>(part, pivot);
        if below > k {
            range.end = below;
        } else if below > range.start {
            range.start = below;
        } else {
            // Nothing is smaller than the pivot: its equals are sorted once they are in front.
            let equal = range.start + partition_64::<true>(part, pivot);
            if equal > k {
                return range.start..equal;
            }
            range.start = equal;
        }
    }
    by_64::sort(&mut run[range.clone()]);
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random, few different, sorted, reversed, organ pipe.
    fn cases(n: usize) -> Vec<Vec<i64>> {
        let mut state = 88172645463325252u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as i64
        };
        let n64 = n as i64;
        vec![
            (0..n).map(|_| random()).collect(),
            (0..n).map(|_| random() % 3).collect(),
            (0..n64).collect(),
            (0..n64).rev().collect(),
            (0..n64).map(|i| i.min(n64 - i)).collect(),
            vec![i64::MAX; n],
            vec![i64::MIN; n],
            // Most of them in a corner of their range, and at its ends.
            (0..n).map(|_| random() >> (random() & 63)).collect(),
            (0..n).map(|i| if i % 999 == 0 { random() } else { random() >> 50 }).collect(),
            (0..n64).map(|i| if i % 2 == 0 { i64::MIN } else { i64::MAX - i % 3 }).collect(),
        ]
    }

    #[test]
    fn sorts_whatever_the_order() {
        let short = 0..=530;
        for n in short.chain([1000, 2047, 2048, 4099, 16_384, 16_385, 70_000]) {
            for case in cases(n) {
                let mut want = case.clone();
                want.sort_unstable();
                let mut got = case.clone();
                sort_64(&mut got);
                assert_eq!(got, want);
                let mut short: Vec<i32> = case.iter().map(|&v| v as i32).collect();
                let mut want = short.clone();
                want.sort_unstable();
                sort_32(&mut short);
                assert_eq!(short, want);
                let mut words: Vec<i16> = case.iter().map(|&v| v as i16).collect();
                let mut want = words.clone();
                want.sort_unstable();
                count_16(&mut words);
                assert_eq!(words, want);
                let mut bytes: Vec<i8> = case.iter().map(|&v| v as i8).collect();
                let mut want = bytes.clone();
                want.sort_unstable();
                count_8(&mut bytes);
                assert_eq!(bytes, want);
            }
        }
    }

    #[test]
    fn every_sorted_element_becomes_what_it_is_to_be_once() {
        unsafe fn one_more(from: *const i64, n: usize, to: *mut i64) {
            (0..n).for_each(|i| to.add(i).write((*from.add(i)).wrapping_add(1)));
        }
        for n in [0, 1, 300, 2047, 2048, 4099, 16_385, 49_152, 49_153] {
            for mut case in cases(n) {
                let mut want = case.clone();
                want.sort_unstable();
                want.iter_mut().for_each(|v| *v = v.wrapping_add(1));
                // SAFETY: it writes where it is told.
                unsafe { sort_64_as(&mut case, one_more) };
                assert_eq!(case, want);
            }
        }
    }

    #[test]
    fn selects_whatever_the_order() {
        for n in [1, 2, 9, 256, 257, 300, 4099] {
            for case in cases(n) {
                let mut want = case.clone();
                want.sort_unstable();
                for k in [0, n / 3, n / 2, n - 1] {
                    let mut got = case.clone();
                    let range = select_64(&mut got, k);
                    assert!(range.contains(&k));
                    assert_eq!(got[range.clone()], want[range.clone()]);
                    assert!(got[..range.start].iter().all(|v| *v <= got[range.start]));
                    got.sort_unstable();
                    assert_eq!(got, want);
                }
            }
        }
    }
}
