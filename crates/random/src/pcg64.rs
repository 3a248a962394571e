//! PCG64 and PCG64DXSM: a 128-bit linear congruential generator with two different outputs. Any distance is skipped
//! in a few multiplications, and four neighbouring words are made side by side.

use crate::bits::{Bits, Half, fill_halves, skip_halves};
#[cfg(target_arch = "x86_64")]
use crate::pcg64_avx512 as avx512;
use numloom_ir::draws::Words;

const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
/// Undoes a multiplication by it, modulo 2^128.
const INVERSE: u128 = inverse(MULTIPLIER);
pub(crate) const CHEAP: u64 = 0xDA94_2042_E4DD_58B5;
/// Words made side by side: a multiplication waits for the one before, so one chain alone leaves the unit idle.
const LANES: usize = 4;

/// The inverse of an odd number modulo 2^128, by Newton's method: each step doubles the bits that are right.
const fn inverse(x: u128) -> u128 {
    let mut y = x;
    let mut bits = 3;
    while bits < 128 {
        y = y.wrapping_mul(2u128.wrapping_sub(x.wrapping_mul(y)));
        bits *= 2;
    }
    y
}

/// `DXSM`: the cheap multiplier and the output of that name, taken before the step; otherwise XSL-RR, after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pcg64<const DXSM: bool> {
    pub state: u128,
    pub inc: u128,
    pub half: Half,
}

impl<const DXSM: bool> Pcg64<DXSM> {
    const STEP: u128 = if DXSM { CHEAP as u128 } else { MULTIPLIER };

    /// From four words of a seed sequence: the state and the increment, high words first.
    pub fn seeded(words: [u64; 4]) -> Self {
        let wide = |hi: u64, lo: u64| (hi as u128) << 64 | lo as u128;
        let inc = wide(words[2], words[3]) << 1 | 1;
        // Two steps with the state added between them; both kinds are seeded by the step of PCG64.
        let state = inc.wrapping_add(wide(words[0], words[1])).wrapping_mul(MULTIPLIER).wrapping_add(inc);
        Pcg64 { state, inc, half: Half::default() }
    }

    #[inline(always)]
    fn step(&mut self) {
        self.state = self.state.wrapping_mul(Self::STEP).wrapping_add(self.inc);
    }

    #[inline(always)]
    fn output(state: u128) -> u64 {
        let (mut hi, lo) = ((state >> 64) as u64, state as u64);
        if !DXSM {
            return (hi ^ lo).rotate_right((hi >> 58) as u32);
        }
        hi ^= hi >> 32;
        hi = hi.wrapping_mul(CHEAP);
        hi ^= hi >> 48;
        hi.wrapping_mul(lo | 1)
    }

    /// Multiplier and increment of `n` steps at once.
    fn leap(&self, mut n: u128) -> (u128, u128) {
        let (mut mult, mut plus) = (Self::STEP, self.inc);
        let (mut all_mult, mut all_plus) = (1u128, 0u128);
        while n > 0 {
            if n & 1 == 1 {
                all_mult = all_mult.wrapping_mul(mult);
                all_plus = all_plus.wrapping_mul(mult).wrapping_add(plus);
            }
            plus = mult.wrapping_add(1).wrapping_mul(plus);
            mult = mult.wrapping_mul(mult);
            n >>= 1;
        }
        (all_mult, all_plus)
    }

    /// The states that the next words are the outputs of.
    fn lanes<const N: usize>(&self) -> [u128; N] {
        let mut at = self.clone();
        std::array::from_fn(|_| {
            let before = at.state;
            at.step();
            if DXSM { before } else { at.state }
        })
    }

    /// Fills the most of `out` by vectors; answers how much.
    #[cfg(target_arch = "x86_64")]
    fn fill_wide(&mut self, out: &mut [u64]) -> usize {
        let n = out.len() / avx512::LANES * avx512::LANES;
        let (mult, plus) = self.leap(avx512::LANES as u128);
        // SAFETY: the caller has asked whether it is possible.
        let first = unsafe { avx512::fill::<DXSM>(&self.lanes(), mult, plus, &mut out[..n]) };
        // The first lane stands where the next output comes from: one step too far where that is after the step.
        self.state = if DXSM { first } else { first.wrapping_sub(self.inc).wrapping_mul(INVERSE) };
        n
    }

    /// `n` steps, modulo 2^128; the half word that was kept stays.
    pub fn advance(&mut self, n: u128) {
        let (mult, plus) = self.leap(n);
        self.state = self.state.wrapping_mul(mult).wrapping_add(plus);
    }
}

impl<const DXSM: bool> Bits for Pcg64<DXSM> {
    const JUMPS: bool = true;
    const COPIES: bool = true;

    #[inline(always)]
    fn next_u64(&mut self) -> u64 {
        if DXSM {
            let word = Self::output(self.state);
            self.step();
            word
        } else {
            self.step();
            Self::output(self.state)
        }
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        let mut half = self.half;
        let word = half.next(|| self.next_u64());
        self.half = half;
        word
    }

    fn words(&self) -> Option<(Words, Option<u32>)> {
        Some((Words::Pcg { state: self.state, inc: self.inc, dxsm: DXSM }, self.half.kept()))
    }

    fn fill_u64(&mut self, out: &mut [u64]) {
        #[cfg(target_arch = "x86_64")]
        let done = if out.len() >= 4 * avx512::LANES && avx512::is_possible() { self.fill_wide(out) } else { 0 };
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        let blocks = out[done..].chunks_exact_mut(LANES);
        if blocks.len() > 1 {
            let n = blocks.len() * LANES;
            let (mult, plus) = self.leap(LANES as u128);
            let mut states = self.lanes::<LANES>();
            for block in blocks {
                for i in 0..LANES {
                    block[i] = Self::output(states[i]);
                    states[i] = states[i].wrapping_mul(mult).wrapping_add(plus);
                }
            }
            self.advance(n as u128);
            out[done + n..].iter_mut().for_each(|w| *w = self.next_u64());
        } else {
            out[done..].iter_mut().for_each(|w| *w = self.next_u64());
        }
    }

    fn fill_u32(&mut self, out: &mut [u32]) {
        fill_halves(self, |b| &mut b.half, out);
    }

    fn skip64(&mut self, n: u64) {
        self.advance(n as u128);
    }

    fn skip32(&mut self, n: u64) {
        skip_halves(self, |b| &mut b.half, n);
    }
}
