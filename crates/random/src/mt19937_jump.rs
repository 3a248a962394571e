//! Far jumps of the Mersenne Twister. Its words obey a linear recurrence over GF(2), whose polynomial has degree 19937:
//! the word n steps on is the sum of those i steps on for which `x^n` modulo the polynomial has the term `x^i`. So a jump
//! costs the same for any distance, but for the power of x, and that is kept for the next jump as far.

use crate::mt19937::{LENGTH, MASK, MIDDLE, twist};
use numloom_library::vectorized;
use parking_lot::Mutex;
use std::sync::{Arc, LazyLock};

const DEGREE: usize = 19937;
const WORDS: usize = DEGREE.div_ceil(64);

/// Coefficients, the lowest first, of a polynomial below the degree of the recurrence's.
type Poly = [u64; WORDS];

/// The exponents of the recurrence's polynomial but for the highest: with `q = x^623 + x^396`, it is
/// `(q^31 + a0 q^30 + ... + a30) (x^624 + x^397) + a31`, where a0 is the lowest bit of the twist's mask.
static TERMS: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let mut poly = vec![0u64; WORDS];
    poly[0] = 1;
    for bit in 0..31 {
        poly = sum(&poly, LENGTH - 1, MIDDLE - 1);
        poly[0] ^= u64::from(MASK >> bit & 1);
    }
    poly = sum(&poly, LENGTH, MIDDLE);
    poly[0] ^= u64::from(MASK >> 31);
    (0..DEGREE).filter(|i| poly[i / 64] >> (i % 64) & 1 == 1).collect()
});

/// `poly (x^a + x^b)`.
fn sum(poly: &[u64], a: usize, b: usize) -> Vec<u64> {
    let mut out = vec![0; WORDS + 1];
    for by in [a, b] {
        for (k, &word) in poly.iter().enumerate().filter(|(_, w)| **w != 0) {
            add(&mut out, word, 64 * k + by);
        }
    }
    out.truncate(WORDS);
    out
}

/// Adds `word x^at`.
#[inline(always)]
fn add(to: &mut [u64], word: u64, at: usize) {
    let (k, by) = (at / 64, at % 64);
    to[k] ^= word << by;
    // In two steps, because nothing is left of a word that is not shifted.
    to[k + 1] ^= word >> 1 >> (63 - by);
}

/// The word with a zero after each of its bits, as two words.
fn spread(word: u64) -> [u64; 2] {
    [word as u32, (word >> 32) as u32].map(|half| {
        let mut x = u64::from(half);
        for (by, mask) in [
            (16, 0x0000_FFFF_0000_FFFF),
            (8, 0x00FF_00FF_00FF_00FF),
            (4, 0x0F0F_0F0F_0F0F_0F0F),
            (2, 0x3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555),
        ] {
            x = (x | x << by) & mask;
        }
        x
    })
}

/// The polynomial modulo the recurrence's.
fn reduced(mut wide: Vec<u64>) -> Poly {
    // A word's own share of the sum lies more than a word below it, so the words can be taken one after the other.
    for k in (WORDS..wide.len()).rev() {
        let word = std::mem::take(&mut wide[k]);
        for &term in &*TERMS {
            add(&mut wide, word, 64 * k - DEGREE + term);
        }
    }
    let top = wide[WORDS - 1] >> (DEGREE % 64);
    wide[WORDS - 1] &= (1 << (DEGREE % 64)) - 1;
    for &term in &*TERMS {
        add(&mut wide, top, term);
    }
    std::array::from_fn(|k| wide[k])
}

/// `x^n` modulo the recurrence's polynomial, by squares.
fn power(n: u64) -> Poly {
    let mut left = u64::BITS - n.leading_zeros();
    // As many of the leading bits as make an exponent below the degree.
    left = left.saturating_sub(DEGREE.ilog2());
    let mut poly: Poly = [0; WORDS];
    let first = (n >> left) as usize;
    poly[first / 64] = 1 << (first % 64);
    for bit in (0..left).rev() {
        let odd = n >> bit & 1 == 1;
        let mut wide = vec![0u64; 2 * WORDS + 1];
        for (to, &word) in wide.as_chunks_mut::<2>().0.iter_mut().zip(&poly) {
            *to = spread(word);
        }
        if odd {
            for k in (0..wide.len()).rev() {
                wide[k] = wide[k] << 1 | if k > 0 { wide[k - 1] >> 63 } else { 0 };
            }
        }
        poly = reduced(wide);
    }
    poly
}

/// Powers that are kept, by their exponents: those of a few arrays in turn.
const KEPT: usize = 64;
static POWERS: Mutex<Vec<(u64, Arc<Poly>)>> = Mutex::new(Vec::new());

fn kept_power(n: u64) -> Arc<Poly> {
    let find = |kept: &[(u64, Arc<Poly>)]| kept.iter().find(|(k, _)| *k == n).map(|(_, poly)| poly.clone());
    if let Some(poly) = find(&POWERS.lock()) {
        return poly;
    }
    // Not under the lock, so that tiles make theirs side by side.
    let poly = Arc::new(power(n));
    let mut kept = POWERS.lock();
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push((n, poly.clone()));
    poly
}

/// Words of the sum that are made at a time: they stay in registers.
const GROUP: usize = 208;
/// Coefficients that are taken together, and sums of as many words after each other, by which of them are in it.
const TOGETHER: usize = 3;
const SUMS: usize = 1 << TOGETHER;
/// Words that the sums begin with, and room for the last of them to be read whole.
const SPAN: usize = DEGREE + LENGTH + TOGETHER;

/// The words of the block `blocks` refills on, at least one.
pub fn jump(key: &[u32; LENGTH], blocks: u64) -> [u32; LENGTH] {
    // The lower bits of the first word need not obey the recurrence: nothing depends on them. So the words of the sum
    // are those from the second on, one step less far.
    let poly = kept_power(blocks * LENGTH as u64 - 1);
    let mut words = vec![0; SUMS * SPAN];
    words[SPAN..SPAN + LENGTH].copy_from_slice(key);
    let mut out = [0; LENGTH];
    vectorized(
        #[inline(always)]
        || {
            tabulate(&mut words);
            for (group, sums) in out.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
                *sums = sum_of_words(&poly, &words, 1 + group * GROUP);
            }
        },
    );
    out
}

/// Continues the words of row 1, and makes the row `k` of the sums of those words that `k` has bits for.
#[inline(always)]
fn tabulate(words: &mut [u32]) {
    let (_, rows) = words.split_at_mut(SPAN);
    let one = &mut rows[..SPAN];
    // In runs in which no word depends on another.
    const RUN: usize = LENGTH - MIDDLE;
    for end in (LENGTH..SPAN).step_by(RUN) {
        let (known, new) = one.split_at_mut(end);
        let known = &known[end - LENGTH..];
        for (k, word) in new.iter_mut().take(RUN).enumerate() {
            *word = twist(known[k], known[k + 1], known[k + MIDDLE]);
        }
    }
    for row in 2..SUMS {
        let (highest, rest) = (row.ilog2() as usize, row - (1 << row.ilog2()));
        let (known, new) = words.split_at_mut(row * SPAN);
        let (new, shifted) = (&mut new[..SPAN - highest], &known[SPAN + highest..2 * SPAN]);
        for ((to, a), b) in new.iter_mut().zip(shifted).zip(&known[rest * SPAN..]) {
            *to = a ^ b;
        }
    }
}

/// The words from `first` on of the sum of all shifts that the polynomial has terms for.
#[inline(always)]
fn sum_of_words(poly: &Poly, words: &[u32], first: usize) -> [u32; GROUP] {
    let mut sums = [0; GROUP];
    for at in (0..DEGREE).step_by(TOGETHER) {
        let (k, by) = (at / 64, at % 64);
        let next = poly.get(k + 1).copied().unwrap_or(0);
        let bits = (poly[k] >> by | next << 1 << (63 - by)) as usize % SUMS;
        if bits != 0 {
            let from = &words[bits * SPAN + at + first..][..GROUP];
            sums.iter_mut().zip(from).for_each(|(sum, word)| *sum ^= word);
        }
    }
    sums
}
