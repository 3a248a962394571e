//! MT19937, the Mersenne Twister: words of 32 bits, made 624 at a time.

use crate::bits::Bits;
use crate::mt19937_jump::jump;
use numloom_library::vectorized;

pub const LENGTH: usize = 624;
pub const MIDDLE: usize = 397;
pub const MASK: u32 = 0x9908_B0DF;

/// Blocks from which on a jump costs less than to make them.
const FAR: u64 = 4096;
/// Elements of a tile of an array, at least, and how many tiles there are to be, about: to each of them is a jump.
const TILE: usize = 1 << 22;
const TILES: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mt19937 {
    pub key: [u32; LENGTH],
    /// The first word that was not given yet.
    pub at: usize,
}

impl Mt19937 {
    /// From the words of a seed sequence, as NumPy takes them: the first word is fixed, and the last is given first.
    pub fn seeded(words: &[u32; LENGTH]) -> Mt19937 {
        let mut key = *words;
        key[0] = 0x8000_0000;
        Mt19937 { key, at: LENGTH - 1 }
    }

    /// The seeding of one number by the reference implementation.
    pub fn from_number(seed: u32) -> Mt19937 {
        let mut key = [seed; LENGTH];
        for i in 1..LENGTH {
            let last = key[i - 1];
            key[i] = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Mt19937 { key, at: LENGTH }
    }

    /// The seeding of an array by the reference implementation. The array is not empty.
    pub fn from_array(seeds: &[u32]) -> Mt19937 {
        let mut made = Mt19937::from_number(19_650_218);
        let key = &mut made.key;
        let (mut i, mut j) = (1, 0);
        let mixed = |key: &mut [u32; LENGTH], i: &mut usize, factor: u32, add: u32| {
            let last = key[*i - 1];
            key[*i] = (key[*i] ^ (last ^ (last >> 30)).wrapping_mul(factor)).wrapping_add(add);
            *i += 1;
            if *i >= LENGTH {
                key[0] = key[LENGTH - 1];
                *i = 1;
            }
        };
        for _ in 0..LENGTH.max(seeds.len()) {
            mixed(key, &mut i, 1_664_525, seeds[j].wrapping_add(j as u32));
            j = (j + 1) % seeds.len();
        }
        for _ in 0..LENGTH - 1 {
            let add = (i as u32).wrapping_neg();
            mixed(key, &mut i, 1_566_083_941, add);
        }
        key[0] = 0x8000_0000;
        made
    }

    /// The next 624 words, before tempering. The runs are as long as no word of a run depends on another of it.
    #[inline(always)]
    fn refill(&mut self) {
        let key = &mut self.key;
        let (head, tail) = key.split_at_mut(MIDDLE);
        for i in 0..LENGTH - MIDDLE {
            head[i] = twist(head[i], head[i + 1], tail[i]);
        }
        for i in LENGTH - MIDDLE..MIDDLE - 1 {
            head[i] = twist(head[i], head[i + 1], head[i - (LENGTH - MIDDLE)]);
        }
        head[MIDDLE - 1] = twist(head[MIDDLE - 1], tail[0], head[MIDDLE - 1 - (LENGTH - MIDDLE)]);
        for i in 0..LENGTH - MIDDLE - 1 {
            tail[i] = twist(tail[i], tail[i + 1], head[i + MIDDLE - (LENGTH - MIDDLE)]);
        }
        let last = LENGTH - 1;
        key[last] = twist(key[last], key[0], key[MIDDLE - 1]);
        self.at = 0;
    }

    #[cold]
    #[inline(never)]
    fn next_block(&mut self) {
        vectorized(
            #[inline(always)]
            || self.refill(),
        );
    }

    #[inline(always)]
    fn fill(&mut self, out: &mut [u32]) {
        let mut rest = out;
        while !rest.is_empty() {
            if self.at >= LENGTH {
                self.refill();
            }
            let n = rest.len().min(LENGTH - self.at);
            let (now, later) = rest.split_at_mut(n);
            for (w, &k) in now.iter_mut().zip(&self.key[self.at..self.at + n]) {
                *w = temper(k);
            }
            self.at += n;
            rest = later;
        }
    }

    /// What `make` makes of two words after each other.
    #[inline(always)]
    fn fill_pairs(&mut self, out: &mut [u64], make: impl Fn(u64, u64) -> u64) {
        vectorized(
            #[inline(always)]
            || {
                let mut words = [0u32; 512];
                for block in out.chunks_mut(words.len() / 2) {
                    self.fill(&mut words[..2 * block.len()]);
                    for (w, &[high, low]) in block.iter_mut().zip(words.as_chunks::<2>().0) {
                        *w = make(high as u64, low as u64);
                    }
                }
            },
        );
    }
}

/// The word of the recurrence that follows from the words 624, 623 and 227 before it.
#[inline(always)]
pub fn twist(high: u32, low: u32, far: u32) -> u32 {
    let y = (high & 0x8000_0000) | (low & 0x7FFF_FFFF);
    far ^ (y >> 1) ^ ((y & 1).wrapping_neg() & MASK)
}

#[inline(always)]
fn temper(mut y: u32) -> u32 {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C_5680;
    y ^= (y << 15) & 0xEFC6_0000;
    y ^ (y >> 18)
}

impl Bits for Mt19937 {
    const JUMPS: bool = false;
    const COPIES: bool = true;
    const NARROW: bool = true;

    fn tile(n: usize) -> usize {
        n.div_ceil(TILES).next_multiple_of(TILE).max(TILE)
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        let high = self.next_u32() as u64;
        high << 32 | self.next_u32() as u64
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        if self.at >= LENGTH {
            self.next_block();
        }
        self.at += 1;
        temper(self.key[self.at - 1])
    }

    #[inline]
    fn next_raw(&mut self) -> u64 {
        self.next_u32() as u64
    }

    #[inline(always)]
    fn to_f64(word: u64) -> f64 {
        let (a, b) = ((word >> 37) as f64, ((word as u32) >> 6) as f64);
        (a * 67108864.0 + b) / 9007199254740992.0
    }

    fn fill_u64(&mut self, out: &mut [u64]) {
        self.fill_pairs(
            out,
            #[inline(always)]
            |high, low| high << 32 | low,
        );
    }

    /// The upper 27 bits of a word and the upper 26 of the next.
    fn fill_fractions(&mut self, out: &mut [u64]) {
        self.fill_pairs(
            out,
            #[inline(always)]
            |high, low| (high >> 5) << 37 | (low >> 6) << 11,
        );
    }

    fn fill_u32(&mut self, out: &mut [u32]) {
        vectorized(
            #[inline(always)]
            || self.fill(out),
        );
    }

    fn skip64(&mut self, n: u64) {
        self.skip32(2 * n);
    }

    fn skip32(&mut self, n: u64) {
        let left = (LENGTH - self.at) as u64;
        if n <= left {
            self.at += n as usize;
            return;
        }
        let blocks = (n - left).div_ceil(LENGTH as u64);
        if blocks >= FAR {
            self.key = jump(&self.key, blocks);
        } else {
            (0..blocks).for_each(|_| self.next_block());
        }
        self.at = (n - left - (blocks - 1) * LENGTH as u64) as usize;
    }
}
