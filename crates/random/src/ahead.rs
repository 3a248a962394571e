//! Streams read ahead: words are made in blocks, which is faster than one at a time, and the state after the words
//! that were used is found by going back to the start of the block.

use crate::bits::Bits;

/// Elements from which on it is worth to read ahead.
pub const WORTH: usize = 128;
/// Words of a block.
pub const BLOCK: usize = 1024;

/// A stream of words of one width, read ahead.
pub trait Ahead<B>: Bits {
    fn new(bits: &B) -> Self;

    /// How many words were used.
    fn used(&self) -> u64;

    /// Uses words as long as `take` wants them, at most `most`, and no further than to the end of the block. Answers how
    /// many, and whether it was `take` that ended it.
    fn run(&mut self, most: usize, take: impl FnMut(u64) -> bool) -> (usize, bool);

    /// The state after the words that were used.
    fn finish(self) -> B;
}

macro_rules! ahead {
    ($(#[$doc:meta])* $name:ident, $word:ty, $fill:ident, $skip:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name<B> {
            bits: B,
            start: B,
            words: [$word; BLOCK],
            at: usize,
            /// Words used before this block; one block less than none before the first.
            before: u64,
        }

        impl<B: Bits> $name<B> {
            #[cold]
            #[inline(never)]
            fn refill(&mut self) {
                self.start = self.bits.clone();
                self.bits.$fill(&mut self.words);
                self.before = self.before.wrapping_add(BLOCK as u64);
                self.at = 0;
            }

            #[inline(always)]
            fn next(&mut self) -> $word {
                if self.at >= BLOCK {
                    self.refill();
                }
                self.at += 1;
                self.words[self.at - 1]
            }
        }

        impl<B: Bits> Ahead<B> for $name<B> {
            fn new(bits: &B) -> Self {
                let before = 0u64.wrapping_sub(BLOCK as u64);
                $name { bits: bits.clone(), start: bits.clone(), words: [0; BLOCK], at: BLOCK, before }
            }

            #[inline(always)]
            fn used(&self) -> u64 {
                self.before.wrapping_add(self.at as u64)
            }

            #[inline(always)]
            fn run(&mut self, most: usize, mut take: impl FnMut(u64) -> bool) -> (usize, bool) {
                if self.at >= BLOCK {
                    self.refill();
                }
                let rest = &self.words[self.at..];
                let rest = &rest[..rest.len().min(most)];
                let taken = rest.iter().position(|&w| !take(u64::from(w)));
                let count = taken.unwrap_or(rest.len());
                self.at += count;
                (count, taken.is_some())
            }

            fn finish(mut self) -> B {
                if self.used() > 0 {
                    self.start.$skip(self.at as u64);
                }
                self.start
            }
        }
    };
}

ahead!(
    /// A stream of 64-bit words only.
    Wide, u64, fill_u64, skip64
);
ahead!(
    /// A stream of 32-bit words only.
    Narrow, u32, fill_u32, skip32
);

impl<B: Bits> Bits for Wide<B> {
    const JUMPS: bool = false;
    const COPIES: bool = true;

    #[inline(always)]
    fn next_u64(&mut self) -> u64 {
        self.next()
    }

    fn next_u32(&mut self) -> u32 {
        unreachable!("a stream of 64-bit words")
    }

    #[inline(always)]
    fn to_f64(word: u64) -> f64 {
        B::to_f64(word)
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
        self.next()
    }
}
