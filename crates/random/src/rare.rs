//! Integers by Lemire's method where hardly any word is rejected: drawn in one pass, as if none were.
//!
//! Element i is made of word i, until a word is rejected; from there on it is made of the next. So the first phase
//! draws every tile as if nothing was rejected before it, and notes the words that are. If there are any, a second
//! phase draws the tiles after the first of them again, each from as many words further on as were rejected before.

use crate::bits::Bits;
use crate::bounded::Bounded;
use crate::fixed::Cut;
use crate::generator::{After, Stream};
use numloom_library::{Args, LibraryError, LibraryOp};
use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};
use std::marker::PhantomData;

const BLOCK: usize = 1024;

/// `low + [0, range]` as `T`, of words of 32 bits or, if `WIDE`, of 64.
pub struct Rare<T, B, const WIDE: bool> {
    low: u64,
    range: u64,
    bits: B,
    after: After,
    /// The words that are rejected, of those that the array has elements.
    rejected: Mutex<Vec<u64>>,
    out: PhantomData<T>,
}

impl<T: Cut + Send + Sync, B: Stream, const WIDE: bool> Rare<T, B, WIDE> {
    pub fn new(low: u64, range: u64, bits: B, after: After) -> Self {
        Rare { low, range, bits, after, rejected: Mutex::default(), out: PhantomData }
    }

    fn at(&self, word: u64) -> B {
        let mut bits = self.bits.clone();
        if WIDE {
            bits.skip64(word)
        } else {
            bits.skip32(word)
        }
        bits
    }

    /// Draws from `bits`, whose first word is the stream's `word`; pushes the places of rejected words, counted in
    /// the stream, and leaves them out if `skipping`.
    unsafe fn draw(&self, bits: &mut B, word: u64, out: &mut [T], skipping: bool, rejected: &mut Vec<u64>) {
        let (mut at, mut word) = (0, word);
        let mut block = Block::<WIDE>::new(self.range);
        while at < out.len() {
            let n = BLOCK.min(out.len() - at);
            let to = &mut out[at..at + n];
            let any = block.draw(bits, self.low, to);
            if !any {
                at += n;
            } else {
                let places: Vec<usize> = block.rejected(n).collect();
                rejected.extend(places.iter().map(|&p| word + p as u64));
                at += if skipping { block.compact(self.low, to) } else { n };
            }
            word += n as u64;
        }
    }

    /// The words rejected before the element `first` is made, given all of them in order.
    fn shift(rejected: &[u64], first: u64) -> u64 {
        let mut shift = 0;
        for &word in rejected {
            if word > first + shift {
                break;
            }
            shift += 1;
        }
        shift
    }
}

/// Whether this is the way to draw `n` of them: only a few words are rejected.
pub fn is_apt(bounded: &Bounded, n: usize) -> bool {
    let Some(count) = bounded.range.checked_add(1) else { return false };
    let share = if bounded.is_narrow() {
        ((1u64 << 32) % count) as f64 / 4294967296.0
    } else {
        ((1u128 << 64) % count as u128) as f64 / 18446744073709551616.0
    };
    !bounded.masked && bounded.range > 0 && share * (n as f64) < 16.0
}

/// A block of words and what is made of them.
struct Block<const WIDE: bool> {
    count: u64,
    threshold: u64,
    narrow: [u32; BLOCK],
    wide: [u64; BLOCK],
}

impl<const WIDE: bool> Block<WIDE> {
    fn new(range: u64) -> Self {
        let count = range + 1;
        let threshold =
            if WIDE { ((1u128 << 64) % count as u128) as u64 } else { ((1u64 << 32) % count) & 0xFFFF_FFFF };
        Block { count, threshold, narrow: [0; BLOCK], wide: [0; BLOCK] }
    }

    /// Makes the elements; whether any of the words should have been rejected.
    #[inline(always)]
    fn draw<T: Cut, B: Bits>(&mut self, bits: &mut B, low: u64, out: &mut [T]) -> bool {
        let n = out.len();
        let mut any = false;
        if WIDE {
            bits.fill_u64(&mut self.wide[..n]);
            for (x, &w) in out.iter_mut().zip(&self.wide) {
                let product = w as u128 * self.count as u128;
                any |= (product as u64) < self.threshold;
                *x = T::cut(low.wrapping_add((product >> 64) as u64));
            }
        } else {
            bits.fill_u32(&mut self.narrow[..n]);
            let (count, threshold) = (self.count as u32 as u64, self.threshold as u32);
            for (x, &w) in out.iter_mut().zip(&self.narrow) {
                let product = w as u64 * count;
                any |= (product as u32) < threshold;
                *x = T::cut(low.wrapping_add(product >> 32));
            }
        }
        any
    }

    fn is_rejected(&self, i: usize) -> bool {
        if WIDE {
            self.wide[i].wrapping_mul(self.count) < self.threshold
        } else {
            ((self.narrow[i] as u64).wrapping_mul(self.count) as u32 as u64) < self.threshold
        }
    }

    fn rejected(&self, n: usize) -> impl Iterator<Item = usize> + '_ {
        (0..n).filter(|&i| self.is_rejected(i))
    }

    /// Moves the elements of words that are not rejected together; answers how many they are.
    fn compact<T: Cut>(&self, low: u64, out: &mut [T]) -> usize {
        let mut kept = 0;
        for i in 0..out.len() {
            if !self.is_rejected(i) {
                let value = if WIDE {
                    ((self.wide[i] as u128 * self.count as u128) >> 64) as u64
                } else {
                    (self.narrow[i] as u64 * self.count) >> 32
                };
                out[kept] = T::cut(low.wrapping_add(value));
                kept += 1;
            }
        }
        kept
    }
}

impl<T: Cut + Send + Sync, B: Stream, const WIDE: bool> LibraryOp for Rare<T, B, WIDE> {
    fn name(&self) -> &'static str {
        "random"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        let n: usize = args.outs[0].shape.iter().product();
        match n.div_ceil(B::tile(n)) {
            0 => smallvec![0],
            1 => smallvec![1],
            tiles => smallvec![tiles, tiles],
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let out = &args.outs[0];
        let n: usize = out.shape.iter().product();
        let first = if tile == 0 { 0 } else { tile * B::tile(n) };
        let to = std::slice::from_raw_parts_mut((out.ptr as *mut T).add(first), B::tile(n).min(n - first));
        let mut found = Vec::new();
        if to.len() == n {
            let mut bits = self.bits.clone();
            self.draw(&mut bits, 0, to, true, &mut found);
            *self.after.lock() = Some(bits.into());
            return Ok(());
        }
        if phase == 0 {
            self.draw(&mut self.at(first as u64), first as u64, to, false, &mut found);
            self.rejected.lock().extend(found);
            return Ok(());
        }
        let mut rejected = self.rejected.lock().clone();
        rejected.sort_unstable();
        let shift = Self::shift(&rejected, first as u64);
        let is_last = first + to.len() == n;
        if Self::shift(&rejected, (first + to.len() - 1) as u64) > 0 {
            let start = first as u64 + shift;
            let mut bits = self.at(start);
            self.draw(&mut bits, start, to, true, &mut found);
            if is_last {
                *self.after.lock() = Some(bits.into());
            }
        } else if is_last {
            *self.after.lock() = Some(self.at(n as u64).into());
        }
        Ok(())
    }
}
