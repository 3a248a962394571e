//! Orders: shuffles of places, and samples without replacement.

use crate::ahead::{Ahead, Narrow};
use crate::bits::Bits;
use crate::bounded::{Bounded, Buffer, Width, interval, mask};

/// How many swaps are known ahead, so that what they touch is on its way.
const KNOWN: usize = 32;

/// Shuffles elements in place by Fisher and Yates, from the last down, drawing as NumPy does.
pub fn shuffle<B: Bits, T>(bits: &mut B, x: &mut [T]) {
    // Places up to here take 32-bit words only; of a few, a block of words would not be used up.
    if !B::COPIES || x.len() > u32::MAX as usize || x.len() <= KNOWN {
        for i in (1..x.len()).rev() {
            x.swap(interval(bits, i as u64) as usize, i);
        }
        return;
    }
    let mut words = Narrow::new(bits);
    let mut others = [0u32; KNOWN];
    let mut top = x.len();
    while top > 1 {
        let count = KNOWN.min(top - 1);
        for (k, other) in others[..count].iter_mut().enumerate() {
            *other = interval(&mut words, (top - 1 - k) as u64) as u32;
            prefetch(&x[*other as usize]);
        }
        for (k, &other) in others[..count].iter().enumerate() {
            x.swap(other as usize, top - 1 - k);
        }
        top -= count;
    }
    *bits = words.finish();
}

#[inline(always)]
fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; it reads nothing.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The shuffle of the last elements, down to `first`, that `choice` makes: by Lemire's method.
fn shuffle_tail<B: Bits>(bits: &mut B, x: &mut [i64], first: usize) {
    for i in (first..x.len()).rev() {
        x.swap(i, below(bits, i as u64) as usize);
    }
}

fn below<B: Bits>(bits: &mut B, max: u64) -> u64 {
    Bounded { width: Width::W64, range: max, masked: false }.draw(bits, &mut Buffer::default())
}

/// `size` different numbers below `all`, in random order if `shuffled`. `size` is at most `all`.
pub fn sample<B: Bits>(bits: &mut B, all: usize, size: usize, shuffled: bool) -> Vec<i64> {
    let cutoff = if shuffled { 50 } else { 20 };
    if all > 10_000 && size > all / cutoff {
        let mut places: Vec<i64> = (0..all as i64).collect();
        shuffle_tail(bits, &mut places, (all - size).max(1));
        return places.split_off(all - size);
    }
    // Floyd's method over a set with open addressing.
    const FREE: u64 = u64::MAX;
    let mask = mask((1.2 * size as f64) as u64);
    let mut set = vec![FREE; mask as usize + 1];
    let mut places = Vec::with_capacity(size);
    for j in (all - size) as u64..all as u64 {
        let value = below(bits, j);
        let mut at = value & mask;
        while set[at as usize] != FREE && set[at as usize] != value {
            at = (at + 1) & mask;
        }
        let chosen = if set[at as usize] == FREE {
            value
        } else {
            at = j & mask;
            while set[at as usize] != FREE {
                at = (at + 1) & mask;
            }
            j
        };
        set[at as usize] = chosen;
        places.push(chosen as i64);
    }
    if shuffled {
        shuffle_tail(bits, &mut places, 1);
    }
    places
}
