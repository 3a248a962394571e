//! SFC64: three words of chaos and a counter. It cannot be jumped.

use crate::bits::{Bits, Half, fill_halves};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sfc64 {
    pub state: [u64; 4],
    pub half: Half,
}

impl Sfc64 {
    pub fn seeded(words: [u64; 3]) -> Sfc64 {
        let mut made = Sfc64 { state: [words[0], words[1], words[2], 1], half: Half::default() };
        made.skip64(12);
        made
    }
}

impl Bits for Sfc64 {
    const JUMPS: bool = false;
    const COPIES: bool = true;

    #[inline(always)]
    fn next_u64(&mut self) -> u64 {
        let [a, b, c, counter] = self.state;
        let word = a.wrapping_add(b).wrapping_add(counter);
        let next = [b ^ (b >> 11), c.wrapping_add(c << 3), c.rotate_left(24).wrapping_add(word)];
        self.state = [next[0], next[1], next[2], counter.wrapping_add(1)];
        word
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        let mut half = self.half;
        let word = half.next(|| self.next_u64());
        self.half = half;
        word
    }

    fn fill_u32(&mut self, out: &mut [u32]) {
        fill_halves(self, |b| &mut b.half, out);
    }
}
