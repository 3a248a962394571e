//! What a bit generator gives: words of 64 and of 32 bits, and doubles, each taking its words from the stream as
//! NumPy's C interface of the same generator does.

use numloom_ir::draws::Words;

/// A stream of words. Everything drawn from it is made of `next_u64` and `next_u32`.
pub trait Bits: Clone + Send + Sync {
    /// Whether `skip64` and `skip32` cost the same for any distance.
    const JUMPS: bool;
    /// Whether words may be read ahead: the state is a value that can be copied and gone back to.
    const COPIES: bool;

    /// Whether a raw word has 32 bits.
    const NARROW: bool = false;

    /// Elements of a tile of an array of `n`: as few as make it worth to skip to their place in the stream.
    fn tile(_n: usize) -> usize {
        if Self::JUMPS { 1 << 16 } else { usize::MAX }
    }

    fn next_u64(&mut self) -> u64;

    fn next_u32(&mut self) -> u32;

    /// The stream from here on, and the half word kept, if any word can be had by itself.
    fn words(&self) -> Option<(Words, Option<u32>)> {
        None
    }

    /// What `random_raw` gives.
    #[inline]
    fn next_raw(&mut self) -> u64 {
        self.next_u64()
    }

    /// The double in [0, 1) that the words of one `next_u64` make.
    #[inline(always)]
    fn to_f64(word: u64) -> f64 {
        (word >> 11) as f64 * (1.0 / 9007199254740992.0)
    }

    #[inline]
    fn next_f64(&mut self) -> f64 {
        let word = self.next_u64();
        Self::to_f64(word)
    }

    #[inline]
    fn next_f32(&mut self) -> f32 {
        to_f32(self.next_u32())
    }

    /// As many `next_u64` as there is room for.
    fn fill_u64(&mut self, out: &mut [u64]) {
        out.iter_mut().for_each(|w| *w = self.next_u64());
    }

    /// As many words of whose upper 53 bits the doubles are made.
    fn fill_fractions(&mut self, out: &mut [u64]) {
        self.fill_u64(out);
    }

    /// As many `next_u32` as there is room for.
    fn fill_u32(&mut self, out: &mut [u32]) {
        out.iter_mut().for_each(|w| *w = self.next_u32());
    }

    /// The state after `n` calls of `next_u64`.
    fn skip64(&mut self, n: u64) {
        for _ in 0..n {
            self.next_u64();
        }
    }

    /// The state after `n` calls of `next_u32`.
    fn skip32(&mut self, n: u64) {
        for _ in 0..n {
            self.next_u32();
        }
    }
}

#[inline(always)]
pub fn to_f32(word: u32) -> f32 {
    (word >> 8) as f32 * (1.0 / 16777216.0)
}

/// The half of a 64-bit word that `next_u32` has kept for the next call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Half {
    pub has: bool,
    pub word: u32,
}

impl Half {
    pub fn kept(&self) -> Option<u32> {
        self.has.then_some(self.word)
    }

    /// `next_u32` of a generator of 64-bit words: the low half, then the high one.
    #[inline(always)]
    pub fn next(&mut self, wide: impl FnOnce() -> u64) -> u32 {
        if self.has {
            self.has = false;
            return self.word;
        }
        let word = wide();
        *self = Half { has: true, word: (word >> 32) as u32 };
        word as u32
    }
}

/// `fill_u32` for a generator of 64-bit words: the halves of whole words, and what is left over by `next_u32`.
pub fn fill_halves<B: Bits>(bits: &mut B, half: impl Fn(&mut B) -> &mut Half, out: &mut [u32]) {
    let mut at = 0;
    if half(bits).has && !out.is_empty() {
        out[0] = bits.next_u32();
        at = 1;
    }
    let mut words = [0u64; 512];
    while out.len() - at >= 2 {
        let n = ((out.len() - at) / 2).min(words.len());
        bits.fill_u64(&mut words[..n]);
        for (pair, &w) in out[at..at + 2 * n].as_chunks_mut::<2>().0.iter_mut().zip(&words[..n]) {
            *pair = [w as u32, (w >> 32) as u32];
        }
        // What is left of the last pair stays in the state, used up, as NumPy leaves it.
        half(bits).word = (words[n - 1] >> 32) as u32;
        at += 2 * n;
    }
    if at < out.len() {
        out[at] = bits.next_u32();
    }
}

/// `skip32` for a generator of 64-bit words.
pub fn skip_halves<B: Bits>(bits: &mut B, half: impl Fn(&mut B) -> &mut Half, mut n: u64) {
    if n > 0 && half(bits).has {
        half(bits).has = false;
        n -= 1;
    }
    if n == 0 {
        return;
    }
    // All but the last word, then the last one, whose high half stays in the state.
    bits.skip64((n - 1) / 2);
    bits.next_u32();
    if n.is_multiple_of(2) {
        bits.next_u32();
    }
}
