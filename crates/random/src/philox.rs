//! Philox 4x64: ten rounds over a 256-bit counter. A block of four words depends on nothing but its counter.

use crate::bits::{Bits, Half, fill_halves, skip_halves};
use numloom_ir::draws::Words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Philox {
    /// Least significant word first.
    pub counter: [u64; 4],
    pub key: [u64; 2],
    pub buffer: [u64; 4],
    /// The first word of the buffer that was not given yet.
    pub at: usize,
    pub half: Half,
}

impl Philox {
    pub fn new(key: [u64; 2], counter: [u64; 4]) -> Philox {
        Philox { counter, key, buffer: [0; 4], at: 4, half: Half::default() }
    }

    /// Adds to the counter, modulo 2^256.
    pub fn add(&mut self, steps: [u64; 4]) {
        let mut carry = false;
        for (word, step) in self.counter.iter_mut().zip(steps) {
            let (sum, a) = word.overflowing_add(step);
            let (sum, b) = sum.overflowing_add(carry as u64);
            (*word, carry) = (sum, a || b);
        }
    }

    /// What `advance` does in NumPy: the counter moves on, the buffer is gone.
    pub fn advance(&mut self, steps: [u64; 4]) {
        self.add(steps);
        *self = Philox::new(self.key, self.counter);
    }

    #[inline(always)]
    fn block(mut c: [u64; 4], mut key: [u64; 2]) -> [u64; 4] {
        for round in 0..10 {
            if round > 0 {
                key[0] = key[0].wrapping_add(0x9E37_79B9_7F4A_7C15);
                key[1] = key[1].wrapping_add(0xBB67_AE85_84CA_A73B);
            }
            let a = 0xD2E7_470E_E14C_6C93u128 * c[0] as u128;
            let b = 0xCA5A_8263_9512_1157u128 * c[2] as u128;
            c = [(b >> 64) as u64 ^ c[1] ^ key[0], b as u64, (a >> 64) as u64 ^ c[3] ^ key[1], a as u64];
        }
        c
    }

    #[inline]
    fn refill(&mut self) {
        self.add([1, 0, 0, 0]);
        self.buffer = Philox::block(self.counter, self.key);
    }
}

impl Bits for Philox {
    const JUMPS: bool = true;
    const COPIES: bool = true;

    #[inline]
    fn next_u64(&mut self) -> u64 {
        if self.at >= 4 {
            self.refill();
            self.at = 0;
        }
        self.at += 1;
        self.buffer[self.at - 1]
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        let mut half = self.half;
        let word = half.next(|| self.next_u64());
        self.half = half;
        word
    }

    fn words(&self) -> Option<(Words, Option<u32>)> {
        // A state that was set may have anything for its buffer.
        let is_own = self.at >= 4 || self.buffer == Philox::block(self.counter, self.key);
        let words = Words::Philox { counter: self.counter, key: self.key, used: self.at.min(4) as u64 };
        is_own.then_some((words, self.half.kept()))
    }

    fn fill_u64(&mut self, out: &mut [u64]) {
        let kept = (4 - self.at.min(4)).min(out.len());
        for word in &mut out[..kept] {
            *word = self.next_u64();
        }
        let rest = &mut out[kept..];
        let whole = rest.len() / 4 * 4;
        for block in rest[..whole].chunks_exact_mut(4) {
            self.refill();
            block.copy_from_slice(&self.buffer);
            self.at = 4;
        }
        for word in &mut rest[whole..] {
            *word = self.next_u64();
        }
    }

    fn fill_u32(&mut self, out: &mut [u32]) {
        fill_halves(self, |b| &mut b.half, out);
    }

    fn skip64(&mut self, n: u64) {
        let kept = (4 - self.at.min(4)) as u64;
        if n <= kept {
            self.at += n as usize;
            return;
        }
        let blocks = (n - kept - 1) / 4;
        self.add([blocks, 0, 0, 0]);
        self.refill();
        self.at = ((n - kept - 1) % 4) as usize + 1;
    }

    fn skip32(&mut self, n: u64) {
        skip_halves(self, |b| &mut b.half, n);
    }
}
