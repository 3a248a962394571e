//! Elements dealt out to many runs. Those of a run are collected until they fill a line of the cache, and these are
//! written whole, past the caches: written one by one, every line would first be read, for other lines drive it out before
//! it is full.

use crate::LibraryError;
use crate::scratch::{Buffer, OwnRoom};
use numloom_loops::{stream_lines, streamed};
use std::marker::PhantomData;

/// Runs at most.
pub const RUNS: usize = 256;
/// Bytes of a line.
const LINE: usize = 64;

/// Elements on their way to runs of an array, for each of which so many bytes are collected, some lines.
pub struct Combining<T, const BYTES: usize> {
    lines: OwnRoom,
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
    pub fn new(to: *mut T, starts: &[usize]) -> Result<Self, LibraryError> {
        const { assert!(LINE.is_multiple_of(Self::SIZE) && BYTES.is_multiple_of(LINE)) };
        const { assert!(RUNS * BYTES <= OwnRoom::BYTES) };
        debug_assert!(starts.len() <= RUNS && to.is_aligned());
        let before = to as usize % BYTES / Self::SIZE;
        let mut first = [0; RUNS];
        first.iter_mut().zip(starts).for_each(|(first, &start)| *first = start + before);
        Ok(Combining {
            lines: OwnRoom::take()?,
            stream: stream_lines(),
            to: to.wrapping_sub(before),
            next: first,
            first,
            runs: starts.len(),
        })
    }

    /// # Safety
    /// The array must have room for one more element of the run, and nobody else may write there.
    #[inline(always)]
    pub unsafe fn put(&mut self, run: u8, value: T) {
        let run = run as usize;
        let at = self.next[run];
        self.collected(run).add(at % Self::EACH).write(value);
        self.next[run] = at + 1;
        if (at + 1).is_multiple_of(Self::EACH) {
            self.write(run);
        }
    }

    /// What is collected for a run.
    #[inline(always)]
    unsafe fn collected(&self, run: usize) -> *mut T {
        self.lines.as_ptr::<[u8; BYTES]>().add(run).cast()
    }

    /// Writes what was collected for a run that is full.
    #[inline(always)]
    unsafe fn write(&self, run: usize) {
        let begin = self.next[run] - Self::EACH;
        if begin < self.first[run] {
            return self.write_some(run);
        }
        (self.stream)(self.collected(run) as *const u8, self.to.wrapping_add(begin) as *mut u8, BYTES / LINE);
    }

    /// The same for a run that is not, or began in the middle.
    #[cold]
    #[inline(never)]
    unsafe fn write_some(&self, run: usize) {
        let end = self.next[run];
        let begin = ((end - 1) / Self::EACH * Self::EACH).max(self.first[run]);
        let from = self.collected(run).add(begin % Self::EACH);
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

/// The same for elements of two arrays that go to the same places of both: one count serves them.
pub struct CombiningPairs<A, B> {
    /// What is collected for each run, of the first array and then of the second.
    lines: Buffer,
    stream: unsafe fn(*const u8, *mut u8, usize),
    /// Places of elements are counted from here, where a line of both begins.
    to: (*mut A, *mut B),
    next: [usize; RUNS],
    first: [usize; RUNS],
    runs: usize,
    of: PhantomData<(A, B)>,
}

impl<A: Copy, B: Copy> CombiningPairs<A, B> {
    /// The smaller of both sizes, of which neither is zero where there are elements.
    const SMALLER: usize = match (size_of::<A>(), size_of::<B>()) {
        (0, _) | (_, 0) => 1,
        (a, b) => {
            if a < b {
                a
            } else {
                b
            }
        }
    };
    /// Elements that fill whole lines of both.
    const EACH: usize = LINE / Self::SMALLER;
    const SECOND: usize = Self::EACH * size_of::<A>();
    const BYTES: usize = Self::SECOND + Self::EACH * size_of::<B>();

    /// Runs that begin at the elements `starts` behind element `at` of both arrays, which begin with a line.
    ///
    /// # Safety
    /// The arrays must reach so far.
    pub unsafe fn new(to: (*mut A, *mut B), at: usize, starts: &[usize]) -> Result<Self, LibraryError> {
        const { assert!(Self::SECOND.is_multiple_of(LINE) && Self::BYTES.is_multiple_of(LINE)) };
        debug_assert!(starts.len() <= RUNS && (to.0 as usize | to.1 as usize).is_multiple_of(LINE));
        let before = at % Self::EACH;
        let mut first = [0; RUNS];
        first.iter_mut().zip(starts).for_each(|(first, &start)| *first = start + before);
        Ok(CombiningPairs {
            lines: Buffer::new::<u8>(RUNS * Self::BYTES)?,
            stream: stream_lines(),
            to: (to.0.add(at - before), to.1.add(at - before)),
            next: first,
            first,
            runs: starts.len(),
            of: PhantomData,
        })
    }

    /// # Safety
    /// The arrays must have room for one more pair of the run, and nobody else may write there.
    #[inline(always)]
    pub unsafe fn put(&mut self, run: u8, a: A, b: B) {
        let run = run as usize;
        let at = self.next[run];
        let lines = self.lines.as_ptr::<u8>().add(run * Self::BYTES);
        lines.cast::<A>().add(at % Self::EACH).write(a);
        lines.add(Self::SECOND).cast::<B>().add(at % Self::EACH).write(b);
        self.next[run] = at + 1;
        if (at + 1).is_multiple_of(Self::EACH) {
            self.write(run);
        }
    }

    /// Writes what was collected for a run that is full.
    #[inline(always)]
    unsafe fn write(&self, run: usize) {
        let begin = self.next[run] - Self::EACH;
        if begin < self.first[run] {
            return self.write_some(run);
        }
        let lines = self.lines.as_ptr::<u8>().add(run * Self::BYTES);
        (self.stream)(lines, self.to.0.add(begin).cast(), Self::SECOND / LINE);
        (self.stream)(lines.add(Self::SECOND), self.to.1.add(begin).cast(), (Self::BYTES - Self::SECOND) / LINE);
    }

    /// The same for a run that is not, or began in the middle.
    #[cold]
    #[inline(never)]
    unsafe fn write_some(&self, run: usize) {
        let end = self.next[run];
        let begin = ((end - 1) / Self::EACH * Self::EACH).max(self.first[run]);
        let (n, skip, lines) = (end - begin, begin % Self::EACH, self.lines.as_ptr::<u8>().add(run * Self::BYTES));
        std::ptr::copy_nonoverlapping(lines.cast::<A>().add(skip), self.to.0.add(begin), n);
        std::ptr::copy_nonoverlapping(lines.add(Self::SECOND).cast::<B>().add(skip), self.to.1.add(begin), n);
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
                let mut dealt = Combining::<T, BYTES>::new(got.as_mut_ptr().add(3), &starts[..runs]).unwrap();
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

    fn deal_pairs<A, B>(a: impl Fn(usize) -> A, b: impl Fn(usize) -> B)
    where
        A: Copy + PartialEq + std::fmt::Debug,
        B: Copy + PartialEq + std::fmt::Debug,
    {
        for (n, runs, at) in [(0, 3, 0), (1, 1, 7), (1000, 1, 64), (5000, 7, 33), (40_000, 256, 1001)] {
            let run_of = |i: usize| (i * i % 8191) % runs;
            let mut starts = vec![0; runs + 1];
            (0..n).for_each(|i| starts[run_of(i) + 1] += 1);
            (1..=runs).for_each(|r| starts[r] += starts[r - 1]);
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by_key(|&i| run_of(i));
            let (first, second) = (Buffer::new::<A>(at + n + 1).unwrap(), Buffer::new::<B>(at + n + 1).unwrap());
            let to = (first.as_ptr::<A>(), second.as_ptr::<B>());
            // SAFETY: the runs lie behind each other inside of the arrays, all of which is written before it is read.
            let got: Vec<(A, B)> = unsafe {
                (0..at + n + 1).for_each(|i| (to.0.add(i).write(a(n)), to.1.add(i).write(b(n))).1);
                let mut dealt = CombiningPairs::new(to, at, &starts[..runs]).unwrap();
                (0..n).for_each(|i| dealt.put(run_of(i) as u8, a(i), b(i)));
                dealt.finish();
                (0..at + n + 1).map(|i| (to.0.add(i).read(), to.1.add(i).read())).collect()
            };
            let around = |count| std::iter::repeat_n((a(n), b(n)), count);
            let want: Vec<_> = around(at).chain(order.iter().map(|&i| (a(i), b(i)))).chain(around(1)).collect();
            assert_eq!(got, want, "{n} elements, {runs} runs at {at}");
        }
    }

    #[test]
    fn both_of_a_pair_arrive_at_one_place() {
        deal_pairs(|i| i as u16, |i| i as u64 + 1);
        deal_pairs(|i| i as u16, |i| i as u8);
        deal_pairs(|i| i as u32, |i| [i as u64, 3]);
        deal_pairs(|i| i as u32, |i| i as u16);
    }
}
