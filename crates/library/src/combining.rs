//! Elements dealt out to many runs. Those of a run are collected until they fill a line of the cache, and these are
//! written whole, past the caches: written one by one, every line would first be read, for other lines drive it out before
//! it is full.

use numloom_loops::{stream_lines, streamed};
use std::mem::MaybeUninit;

/// Runs at most.
pub const RUNS: usize = 256;
/// Bytes of a line.
const LINE: usize = 64;

#[repr(align(64))]
struct Lines<const BYTES: usize>([[MaybeUninit<u8>; BYTES]; RUNS]);

/// Elements on their way to runs of an array, for each of which so many bytes are collected, one line or two.
pub struct Combining<T, const BYTES: usize> {
    lines: Lines<BYTES>,
    stream: unsafe fn(*const u8, *mut u8, usize),
    /// Places of elements are counted from here, a multiple of what is collected.
    to: *mut T,
    next: [usize; RUNS],
    first: [usize; RUNS],
    runs: usize,
}

impl<T: Copy, const BYTES: usize> Combining<T, BYTES> {
    const SIZE: usize = if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
    const EACH: usize = BYTES / Self::SIZE;

    /// Runs of the array `to` that begin at the elements `starts`.
    pub fn new(to: *mut T, starts: &[usize]) -> Self {
        const { assert!(LINE.is_multiple_of(Self::SIZE) && BYTES.is_multiple_of(LINE)) };
        debug_assert!(starts.len() <= RUNS && to.is_aligned());
        let before = to as usize % BYTES / Self::SIZE;
        let mut first = [0; RUNS];
        first.iter_mut().zip(starts).for_each(|(first, &start)| *first = start + before);
        Combining {
            // SAFETY: bytes that need not be there yet.
            lines: unsafe { MaybeUninit::uninit().assume_init() },
            stream: stream_lines(),
            to: to.wrapping_sub(before),
            next: first,
            first,
            runs: starts.len(),
        }
    }

    /// # Safety
    /// The array must have room for one more element of the run, and nobody else may write there.
    #[inline(always)]
    pub unsafe fn put(&mut self, run: u8, value: T) {
        let run = run as usize;
        let at = self.next[run];
        (self.lines.0.as_mut_ptr().add(run) as *mut T).add(at % Self::EACH).write(value);
        self.next[run] = at + 1;
        if (at + 1).is_multiple_of(Self::EACH) {
            self.write(run);
        }
    }

    /// Writes what was collected for a run that is full.
    #[inline(always)]
    unsafe fn write(&self, run: usize) {
        let from = self.lines.0.as_ptr().add(run) as *const T;
        let begin = self.next[run] - Self::EACH;
        if begin < self.first[run] {
            return self.write_some(run);
        }
        (self.stream)(from as *const u8, self.to.wrapping_add(begin) as *mut u8, BYTES / LINE);
    }

    /// The same for a run that is not, or began in the middle.
    #[cold]
    #[inline(never)]
    unsafe fn write_some(&self, run: usize) {
        let end = self.next[run];
        let begin = ((end - 1) / Self::EACH * Self::EACH).max(self.first[run]);
        let from = (self.lines.0.as_ptr().add(run) as *const T).add(begin % Self::EACH);
        std::ptr::copy_nonoverlapping(from, self.to.wrapping_add(begin), end - begin);
    }

    /// Writes what is still held. Other threads may read the runs then.
    ///
    /// # Safety
    /// As for `put`.
    pub unsafe fn finish(self) {
        for run in 0..self.runs {
            let end = self.next[run];
            if end > self.first[run] && !end.is_multiple_of(Self::EACH) {
                self.write_some(run);
            }
        }
        streamed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deal<T: Copy + PartialEq + std::fmt::Debug + Default, const BYTES: usize>(value: impl Fn(usize) -> T) {
        for (n, runs) in [(0, 3), (1, 1), (1000, 1), (5000, 7), (40_000, 256)] {
            let run_of = |i: usize| (i * i % 8191) % runs;
            let mut starts = vec![5; runs + 1];
            (0..n).for_each(|i| starts[run_of(i) + 1] += 1);
            (1..=runs).for_each(|r| starts[r] += starts[r - 1] - 5);
            let mut want = vec![T::default(); n + 20];
            let mut next = starts.clone();
            for i in 0..n {
                want[3 + next[run_of(i)]] = value(i);
                next[run_of(i)] += 1;
            }
            let mut got = vec![T::default(); n + 20];
            // SAFETY: the runs lie behind each other inside of the array.
            unsafe {
                let mut dealt = Combining::<T, BYTES>::new(got.as_mut_ptr().add(3), &starts[..runs]);
                (0..n).for_each(|i| dealt.put(run_of(i) as u8, value(i)));
                dealt.finish();
            }
            assert_eq!(got, want, "{n} elements, {runs} runs");
        }
    }

    #[test]
    fn every_element_arrives_in_its_run_and_nothing_else_is_written() {
        deal::<u64, 128>(|i| i as u64 + 1);
        deal::<u32, 64>(|i| i as u32 + 1);
        deal::<u16, 64>(|i| i as u16 | 1);
        deal::<u8, 128>(|i| i as u8 | 1);
    }
}
