//! Integers in a range: Lemire's multiplication (`Generator`) or masks (`RandomState`), each with rejection, over
//! words of 64 or 32 bits or over the halves, quarters and bits of one.

use crate::bits::Bits;
use crate::fixed::Cut;

/// The least mask that covers `max`.
#[inline]
pub fn mask(max: u64) -> u64 {
    if max == 0 { 0 } else { u64::MAX >> max.leading_zeros() }
}

/// In [0, max], by mask: what shuffles use.
#[inline]
pub fn interval<B: Bits>(bits: &mut B, max: u64) -> u64 {
    if max == 0 {
        return 0;
    }
    let mask = mask(max);
    loop {
        let value = if max <= 0xFFFF_FFFF { bits.next_u32() as u64 } else { bits.next_u64() } & mask;
        if value <= max {
            return value;
        }
    }
}

/// How wide a result is; 64-bit ones take 32-bit words where the range allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    W64,
    W32,
    W16,
    W8,
    Bit,
}

/// Integers in [0, range], inclusive.
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    pub width: Width,
    pub range: u64,
    /// By mask instead of by multiplication.
    pub masked: bool,
}

/// What is left of a 32-bit word for results narrower than it.
#[derive(Clone, Copy, Default)]
pub struct Buffer {
    word: u32,
    left: u32,
}

impl Buffer {
    #[inline(always)]
    fn next<B: Bits>(&mut self, bits: &mut B, width: u32) -> u32 {
        if self.left == 0 {
            *self = Buffer { word: bits.next_u32(), left: 32 / width - 1 };
        } else {
            self.word >>= width;
            self.left -= 1;
        }
        self.word & (u32::MAX >> (32 - width))
    }
}

/// The next part of a word.
struct Next<'a, B> {
    bits: &'a mut B,
    buffer: &'a mut Buffer,
    width: u32,
}

impl<B: Bits> Next<'_, B> {
    #[inline(always)]
    fn draw(&mut self) -> u32 {
        self.buffer.next(self.bits, self.width)
    }
}

/// Lemire's method over words of a width: the upper half of the product, unless the lower one is among the leftovers.
macro_rules! lemire {
    ($name:ident, $word:ty, $wide:ty) => {
        #[inline(always)]
        fn $name(range: $word, mut next: impl FnMut() -> $word) -> $word {
            let n = range.wrapping_add(1);
            let mut product = next() as $wide * n as $wide;
            if (product as $word) < n {
                let threshold = (<$word>::MAX - range) % n;
                while (product as $word) < threshold {
                    product = next() as $wide * n as $wide;
                }
            }
            (product >> <$word>::BITS) as $word
        }
    };
}
lemire!(lemire64, u64, u128);
lemire!(lemire32, u32, u64);
lemire!(lemire16, u16, u32);
lemire!(lemire8, u8, u16);

impl Bounded {
    /// Whether every result takes exactly one word, or an equal part of one.
    pub fn is_fixed(&self) -> bool {
        let n = self.range.wrapping_add(1);
        self.range == 0 || self.width == Width::Bit || n == 0 || n.is_power_of_two()
    }

    /// Whether a 32-bit word makes several.
    pub fn shares_words(&self) -> bool {
        matches!(self.width, Width::W16 | Width::W8 | Width::Bit)
    }

    /// Whether a result takes 32-bit words rather than 64-bit ones.
    pub fn is_narrow(&self) -> bool {
        self.width != Width::W64 || self.range <= 0xFFFF_FFFF
    }

    /// How many of 2^32 words are rejected, for results that take a word each.
    pub fn rejects(&self) -> Option<u64> {
        let n = self.range.wrapping_add(1);
        let takes_words = matches!(self.width, Width::W64 | Width::W32) && self.is_narrow() && self.range > 0;
        match (takes_words, self.masked) {
            (false, _) => None,
            (true, false) => Some((1 << 32) % n),
            (true, true) => Some(((mask(self.range) - self.range) << 32) / (mask(self.range) + 1)),
        }
    }

    /// One result; narrow ones share 32-bit words through the buffer.
    #[inline(always)]
    pub fn draw<B: Bits>(&self, bits: &mut B, buffer: &mut Buffer) -> u64 {
        let range = self.range;
        if range == 0 {
            return 0;
        }
        match self.width {
            Width::Bit => buffer.next(bits, 1) as u64,
            Width::W8 => self.part(bits, buffer, 8, 0xFF, |r, next| lemire8(r as u8, || next.draw() as u8) as u64),
            Width::W16 => {
                self.part(bits, buffer, 16, 0xFFFF, |r, next| lemire16(r as u16, || next.draw() as u16) as u64)
            }
            _ if range <= 0xFFFF_FFFF => self.word32(bits),
            _ => self.word64(bits),
        }
    }

    #[inline(always)]
    fn part<B: Bits>(
        &self,
        bits: &mut B,
        buffer: &mut Buffer,
        width: u32,
        full: u64,
        lemire: impl FnOnce(u64, &mut Next<B>) -> u64,
    ) -> u64 {
        if self.range == full {
            return buffer.next(bits, width) as u64;
        }
        if !self.masked {
            return lemire(self.range, &mut Next { bits, buffer, width });
        }
        let mask = mask(self.range) as u32;
        loop {
            let value = buffer.next(bits, width) & mask;
            if value as u64 <= self.range {
                return value as u64;
            }
        }
    }

    /// Fills with results that share words, of `T`'s width: 16 or 8 bits; the range takes rejections.
    pub fn fill_parts<B: Bits, T: Cut>(&self, bits: &mut B, low: u64, out: &mut [T]) {
        let width = 8 * size_of::<T>() as u32;
        let (count, mask) = (self.range as u32 + 1, mask(self.range) as u32);
        let threshold = (1u32 << width) % count;
        let part = u32::MAX >> (32 - width);
        let share = 32 / width as usize;
        let rejected = if self.masked { mask - self.range as u32 } else { threshold };
        let hardly_any = rejected as u64 * 16 <= if self.masked { mask as u64 + 1 } else { 1 << width };
        let make = |word: u32| {
            if self.masked {
                (word & mask, word & mask <= self.range as u32)
            } else {
                let product = (word & part) * count;
                (product >> width, product & part >= threshold)
            }
        };
        let mut at = 0;
        while at < out.len() {
            let mut word = bits.next_u32();
            if hardly_any && out.len() - at >= share {
                let parts = |k: usize| make(word >> (k as u32 * width));
                if (0..share).all(|k| parts(k).1) {
                    for (k, x) in out[at..at + share].iter_mut().enumerate() {
                        *x = T::cut(low.wrapping_add(parts(k).0 as u64));
                    }
                    at += share;
                    continue;
                }
            }
            for _ in 0..share {
                if at == out.len() {
                    return;
                }
                let (value, is_right) = make(word);
                // Written in any case, and kept if it is right: nobody can guess which way a branch would go.
                out[at] = T::cut(low.wrapping_add(value as u64));
                at += is_right as usize;
                word >>= width;
            }
        }
    }

    #[inline(always)]
    pub fn word32<B: Bits>(&self, bits: &mut B) -> u64 {
        if self.range == 0xFFFF_FFFF {
            return bits.next_u32() as u64;
        }
        if !self.masked {
            return lemire32(self.range as u32, || bits.next_u32()) as u64;
        }
        let mask = mask(self.range) as u32;
        loop {
            let value = bits.next_u32() & mask;
            if value as u64 <= self.range {
                return value as u64;
            }
        }
    }

    #[inline(always)]
    pub fn word64<B: Bits>(&self, bits: &mut B) -> u64 {
        if self.range == u64::MAX {
            return bits.next_u64();
        }
        if !self.masked {
            return lemire64(self.range, || bits.next_u64());
        }
        let mask = mask(self.range);
        loop {
            let value = bits.next_u64() & mask;
            if value <= self.range {
                return value;
            }
        }
    }
}
