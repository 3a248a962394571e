//! Sorting by digits: a run that fits the cache, and the first digit of a lane that does not.

use crate::LibraryError;
use crate::scratch::Buffer;
use crate::sort_key::Ranked;
use std::ops::Range;

/// How ranks become the numbers whose digits are sorted: the smallest is zero, and bits that are the same in all
/// of them are gone from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    low: i64,
    skip: u32,
    /// Bits of the largest number.
    pub bits: u32,
}

impl Scale {
    /// For ranks from `low` to `high`, of which `varying` has the bits that differ.
    pub fn new(low: i64, high: i64, varying: u64) -> Scale {
        let span = high.wrapping_sub(low) as u64;
        if span == 0 {
            return Scale { low, skip: 0, bits: 0 };
        }
        // Bits that no rank differs in are the same in `low`, so that they are zero in every difference.
        let skip = varying.trailing_zeros().min(63);
        Scale { low, skip, bits: (64 - span.leading_zeros()).saturating_sub(skip) }
    }

    /// For the records of a run.
    pub fn of<C: Ranked>(run: &[C::Record]) -> Scale {
        let first = run.first().map_or(0, |r| C::rank(*r));
        let found = run.iter().map(|r| C::rank(*r)).fold((first, first, 0), |(low, high, varying), rank| {
            (rank.min(low), rank.max(high), varying | (rank ^ first) as u64)
        });
        Scale::new(found.0, found.1, found.2)
    }

    #[inline(always)]
    pub fn number(&self, rank: i64) -> u64 {
        (rank.wrapping_sub(self.low) as u64) >> self.skip
    }

    /// The rank of a number.
    #[inline(always)]
    pub fn rank(&self, number: u64) -> i64 {
        self.low.wrapping_add((number << self.skip) as i64)
    }
}

/// Runs up to this long are sorted by insertion, and up to that by comparisons.
const FEW: usize = 24;
const SHORT: usize = 192;
/// From here on two digits at a time pay.
const LONG: usize = 1 << 11;

/// Sorts a run by the low `bits` of its numbers, where the others are the same; equals keep their order.
///
/// # Safety
/// `spare` must be writeable for as many records as the run has, and apart from it.
pub unsafe fn sort_run<C: Ranked>(run: &mut [C::Record], spare: *mut C::Record, scale: Scale, bits: u32) {
    if bits == 0 || run.len() < 2 {
        return;
    }
    if run.len() <= FEW {
        return insert::<C>(run);
    }
    if run.len() <= SHORT {
        return run.sort_by_key(|r| C::rank(*r));
    }
    let taken = bits.min(if run.len() >= LONG { 16 } else { 8 });
    let rest = bits - taken;
    let number = |r: &C::Record| scale.number(C::rank(*r)) >> rest;
    if taken > 8 {
        let half = taken / 2;
        let mut low = [0u32; 256];
        let mut high = [0u32; 256];
        for r in run.iter() {
            let n = number(r);
            low[digit(n, 0, half)] += 1;
            high[digit(n, half, taken - half)] += 1;
        }
        starts(&mut low);
        starts(&mut high);
        pass(run, spare, &mut low, |r| digit(number(r), 0, half));
        let from = std::slice::from_raw_parts(spare, run.len());
        pass(from, run.as_mut_ptr(), &mut high, |r| digit(number(r), half, taken - half));
    } else {
        let mut counts = [0u32; 256];
        run.iter().for_each(|r| counts[digit(number(r), 0, taken)] += 1);
        starts(&mut counts);
        pass(run, spare, &mut counts, |r| digit(number(r), 0, taken));
        std::ptr::copy_nonoverlapping(spare, run.as_mut_ptr(), run.len());
    }
    if rest == 0 {
        return;
    }
    // What these digits do not tell apart.
    let whole = |r: &C::Record| number(r) & (u64::MAX >> (64 - taken));
    let (mut start, mut value) = (0, whole(&run[0]));
    for i in 1..=run.len() {
        let next = if i < run.len() { whole(&run[i]) } else { !value };
        if next != value {
            if i - start > 1 {
                sort_run::<C>(&mut run[start..i], spare.add(start), scale, rest);
            }
            (start, value) = (i, next);
        }
    }
}

/// As `sort_run`, with a spare for no more than `most` records: longer runs are first cut by a digit where they lie,
/// which mixes equals.
///
/// # Safety
/// As for `sort_run`, with `most` records for the spare.
pub unsafe fn sort_in_place<C: Ranked>(
    run: &mut [C::Record],
    spare: *mut C::Record,
    most: usize,
    scale: Scale,
    bits: u32,
) {
    if run.len() <= most || bits == 0 {
        return sort_run::<C>(run, spare, scale, bits);
    }
    let taken = bits.min(8);
    let rest = bits - taken;
    let which = |r: &C::Record| digit(scale.number(C::rank(*r)) >> rest, 0, taken);
    let mut ends = [0usize; 256];
    run.iter().for_each(|r| ends[which(r)] += 1);
    let (mut next, mut before) = ([0usize; 256], 0);
    for (end, first) in ends.iter_mut().zip(&mut next) {
        *first = before;
        before += *end;
        *end = before;
    }
    for d in 0..256 {
        while next[d] < ends[d] {
            let mut held = run[next[d]];
            let mut to = which(&held);
            while to != d {
                std::mem::swap(&mut run[next[to]], &mut held);
                next[to] += 1;
                to = which(&held);
            }
            run[next[d]] = held;
            next[d] += 1;
        }
    }
    let mut start = 0;
    for end in ends {
        if end - start > 1 {
            sort_in_place::<C>(&mut run[start..end], spare, most, scale, rest);
        }
        start = end;
    }
}

#[inline(always)]
fn digit(number: u64, from: u32, bits: u32) -> usize {
    (number >> from) as usize & ((1 << bits) - 1) & 255
}

/// Counts become where each digit begins.
fn starts(counts: &mut [u32; 256]) {
    let mut before = 0;
    for c in counts {
        before += std::mem::replace(c, before);
    }
}

/// # Safety
/// `to` must be writeable for every record; `next` must tell where each digit begins.
#[inline(always)]
unsafe fn pass<R: Copy>(from: &[R], to: *mut R, next: &mut [u32; 256], digit: impl Fn(&R) -> usize) {
    for r in from {
        let at = &mut next[digit(r)];
        *to.add(*at as usize) = *r;
        *at += 1;
    }
}

fn insert<C: Ranked>(run: &mut [C::Record]) {
    for i in 1..run.len() {
        let (r, rank) = (run[i], C::rank(run[i]));
        let mut j = i;
        while j > 0 && C::rank(run[j - 1]) > rank {
            run[j] = run[j - 1];
            j -= 1;
        }
        run[j] = r;
    }
}

/// Bytes that go to memory at once.
pub const LINE: usize = 64;

/// Puts the records `read` gives for `range` where their digits' next places are, a line of each digit at a time.
/// `past` has lines that will not be read again soon go past the caches.
///
/// # Safety
/// `to` must be aligned to a line and writeable at every place that comes up; nobody else writes those.
pub unsafe fn scatter<R: Copy>(
    range: Range<usize>,
    read: impl Fn(usize) -> R,
    digit: impl Fn(&R) -> usize,
    next: &mut [usize],
    to: *mut R,
    past: bool,
) -> Result<(), LibraryError> {
    let per_line = LINE / size_of::<R>();
    let begin = next.to_vec();
    let buffer = Buffer::new::<[u8; LINE]>(next.len())?;
    let lines = buffer.as_ptr::<R>();
    let (digits, begin, next) = (next.len(), begin.as_ptr(), next.as_mut_ptr());
    for i in range {
        let r = read(i);
        let d = digit(&r);
        let at = *next.add(d);
        let line = lines.add(d * per_line);
        line.add(at % per_line).write(r);
        *next.add(d) = at + 1;
        if (at + 1).is_multiple_of(per_line) {
            let first = at + 1 - per_line;
            if first >= *begin.add(d) {
                write_line(line as *const u8, to.add(first) as *mut u8, past);
            } else {
                let skipped = *begin.add(d) - first;
                std::ptr::copy_nonoverlapping(line.add(skipped), to.add(first + skipped), per_line - skipped);
            }
        }
    }
    for d in 0..digits {
        let at = *next.add(d);
        let first = (at - at % per_line).max(*begin.add(d));
        let line = lines.add(d * per_line + first % per_line);
        std::ptr::copy_nonoverlapping(line, to.add(first), at - first);
    }
    #[cfg(target_arch = "x86_64")]
    if past {
        // What went past the caches is seen by whoever sees that this tile is over.
        std::arch::x86_64::_mm_sfence();
    }
    Ok(())
}

/// # Safety
/// Both must be aligned to a line.
#[inline(always)]
unsafe fn write_line(line: *const u8, to: *mut u8, past: bool) {
    #[cfg(target_arch = "x86_64")]
    if past {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
        for k in 0..LINE / 16 {
            _mm_stream_si128((to as *mut __m128i).add(k), _mm_load_si128((line as *const __m128i).add(k)));
        }
        return;
    }
    std::ptr::copy_nonoverlapping(line, to, LINE);
}
