//! Sorting in the cache: integers are dealt out to cells, equal parts of the range from the smallest to the largest, and
//! each cell then has few enough to be sorted in registers. What lies unevenly fills some cells with more.

use crate::vector::vectorized;

/// Cells at most, and elements for each, about.
pub const MOST: usize = 512;
const EACH: usize = 128;
/// Elements that repay it.
pub const LEAST: usize = 1 << 11;

/// Elements that are looked at together.
const BLOCK: usize = 256;
/// Extremes that are kept side by side.
const ABREAST: usize = 32;

/// Deals a run out to cells in `spare`, and answers where each of them ends, and how many there are: no cell has all
/// of it. Nothing if all are alike.
///
/// # Safety
/// The spare has room for the run, which is not empty.
pub unsafe fn deal(run: &[i64], spare: *mut i64) -> Option<([u32; MOST], usize)> {
    let (low, high) = extremes(run);
    if low == high {
        return None;
    }
    let cells = (run.len() / EACH).next_power_of_two().clamp(2, MOST);
    let reach = high.wrapping_sub(low) as u64;
    let shift = (u64::BITS - reach.leading_zeros()).saturating_sub(cells.ilog2());
    let mut own = [0u16; BLOCK];
    let mut counts = [0u32; MOST];
    for block in run.chunks(BLOCK) {
        number(block, low, shift, &mut own);
        own[..block.len()].iter().for_each(|&cell| counts[cell as usize % MOST] += 1);
    }
    let mut before = 0;
    let mut next = counts.map(|count| {
        before += count;
        before - count
    });
    for block in run.chunks(BLOCK) {
        number(block, low, shift, &mut own);
        for i in 0..block.len() {
            let at = &mut next[own[i % BLOCK] as usize % MOST];
            spare.add(*at as usize).write(block[i]);
            *at += 1;
        }
    }
    Some((next, cells))
}

/// The cells of up to a block of elements.
#[inline(always)]
fn number(block: &[i64], low: i64, shift: u32, cells: &mut [u16; BLOCK]) {
    vectorized(
        #[inline(always)]
        || {
            for i in 0..block.len().min(BLOCK) {
                cells[i] = (block[i].wrapping_sub(low) as u64 >> shift) as u16;
            }
        },
    )
}

/// The smallest and the largest element of a run.
fn extremes(run: &[i64]) -> (i64, i64) {
    vectorized(
        #[inline(always)]
        || {
            let (mut low, mut high) = ([run[0]; ABREAST], [run[0]; ABREAST]);
            let blocks = run.chunks_exact(ABREAST);
            for (i, &v) in blocks.remainder().iter().enumerate() {
                (low[i], high[i]) = (low[i].min(v), high[i].max(v));
            }
            for block in blocks {
                for i in 0..ABREAST {
                    (low[i], high[i]) = (low[i].min(block[i]), high[i].max(block[i]));
                }
            }
            (1..ABREAST).fold((low[0], high[0]), |found, i| (found.0.min(low[i]), found.1.max(high[i])))
        },
    )
}
