//! Streams read ahead: words are made in blocks, which is faster than one at a time, and the state after the words
//! that were used is found by going back to the start of the block.

use crate::bits::Bits;

const BLOCK: usize = 512;

/// A stream of 64-bit words only.
#[derive(Clone)]
pub struct Wide<B> {
    bits: B,
    start: B,
    words: [u64; BLOCK],
    at: usize,
    /// Words used before this block.
    before: u64,
}

impl<B: Bits> Wide<B> {
    pub fn new(bits: &B) -> Wide<B> {
        Wide {
            bits: bits.clone(),
            start: bits.clone(),
            words: [0; BLOCK],
            at: BLOCK,
            before: 0u64.wrapping_sub(BLOCK as u64),
        }
    }

    /// How many words were used.
    #[inline(always)]
    pub fn used(&self) -> u64 {
        self.before.wrapping_add(self.at as u64)
    }

    /// The state after the words that were used.
    pub fn finish(mut self) -> B {
        if self.used() == 0 {
            return self.start;
        }
        self.start.skip64(self.at as u64);
        self.start
    }

    /// The words of this block that were not used yet; there are some.
    #[inline(always)]
    pub fn rest(&mut self) -> &[u64] {
        if self.at >= BLOCK {
            self.refill();
        }
        &self.words[self.at..]
    }

    /// The first `n` words of the rest are used.
    #[inline(always)]
    pub fn take(&mut self, n: usize) {
        self.at += n;
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        self.start = self.bits.clone();
        self.bits.fill_u64(&mut self.words);
        self.before = self.before.wrapping_add(BLOCK as u64);
        self.at = 0;
    }
}

impl<B: Bits> Bits for Wide<B> {
    const JUMPS: bool = false;
    const COPIES: bool = true;

    #[inline(always)]
    fn next_u64(&mut self) -> u64 {
        if self.at >= BLOCK {
            self.refill();
        }
        self.at += 1;
        self.words[self.at - 1]
    }

    fn next_u32(&mut self) -> u32 {
        unreachable!("a stream of 64-bit words")
    }

    #[inline(always)]
    fn to_f64(word: u64) -> f64 {
        B::to_f64(word)
    }
}

/// A stream of 32-bit words only.
#[derive(Clone)]
pub struct Narrow<B> {
    bits: B,
    start: B,
    words: [u32; BLOCK],
    at: usize,
    before: u64,
}

impl<B: Bits> Narrow<B> {
    pub fn new(bits: &B) -> Narrow<B> {
        Narrow {
            bits: bits.clone(),
            start: bits.clone(),
            words: [0; BLOCK],
            at: BLOCK,
            before: 0u64.wrapping_sub(BLOCK as u64),
        }
    }

    #[inline(always)]
    pub fn used(&self) -> u64 {
        self.before.wrapping_add(self.at as u64)
    }

    pub fn finish(mut self) -> B {
        if self.used() == 0 {
            return self.start;
        }
        self.start.skip32(self.at as u64);
        self.start
    }

    #[inline(always)]
    pub fn rest(&mut self) -> &[u32] {
        if self.at >= BLOCK {
            self.refill();
        }
        &self.words[self.at..]
    }

    #[inline(always)]
    pub fn take(&mut self, n: usize) {
        self.at += n;
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        self.start = self.bits.clone();
        self.bits.fill_u32(&mut self.words);
        self.before = self.before.wrapping_add(BLOCK as u64);
        self.at = 0;
    }
}

impl<B: Bits> Bits for Narrow<B> {
    const JUMPS: bool = false;
    const COPIES: bool = true;

    fn next_u64(&mut self) -> u64 {
        unreachable!("a stream of 32-bit words")
    }

    #[inline(always)]
    fn next_u32(&mut self) -> u32 {
        if self.at >= BLOCK {
            self.refill();
        }
        self.at += 1;
        self.words[self.at - 1]
    }
}
