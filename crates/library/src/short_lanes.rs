//! Extremes of short lanes, eight at a time: which element is the further one cannot be foretold, and a lane is too short
//! for vectors of its own.

use crate::arg_reduce::beats;
use crate::element::Element;
use crate::vector::vectorized;
use crate::walk::Walk;
use std::ops::Range;

/// Lanes that are gone along together.
pub const ABREAST: usize = 8;

/// Lanes of `len >= 1` elements, `down` bytes apart.
#[derive(Clone, Copy)]
pub struct Lanes {
    pub from: *const u8,
    pub down: isize,
    pub len: usize,
    pub to: *mut u8,
}

impl Lanes {
    /// Writes the places of the extremes of the lanes that `walk` comes by in `range`: where they begin, and where their
    /// places go.
    ///
    /// # Safety
    /// The lanes are readable elements of type `T`, and there is room for an int64 for each.
    pub unsafe fn extremes<T: Element, const MAX: bool>(self, walk: &mut Walk<2>, range: Range<usize>) {
        let mut left = range.len();
        if left == 0 {
            return;
        }
        if walk.run_length() >= ABREAST {
            let each = walk.runs::<()>(range, |at, steps, n| {
                self.run::<T, MAX>(at, steps, n);
                Ok(())
            });
            return each.unwrap_or(());
        }
        walk.seek(range.start);
        let mut at = [walk.offsets; ABREAST];
        while left > 0 {
            let n = left.min(ABREAST);
            for lane in &mut at[..n] {
                *lane = walk.offsets;
                walk.step();
            }
            // The lanes that are too many come again.
            (n..ABREAST).for_each(|j| at[j] = at[0]);
            vectorized(
                #[inline(always)]
                || {
                    let from = at.map(|[x, _]| self.from.wrapping_offset(x));
                    let places = self.places::<T, MAX>(|row| from.map(|p| read(p.offset(row))));
                    (0..ABREAST).for_each(|j| self.put(at[j][1], places[j]));
                },
            );
            left -= n;
        }
    }

    /// Lanes that begin evenly spaced.
    unsafe fn run<T: Element, const MAX: bool>(self, at: [isize; 2], steps: [isize; 2], n: usize) {
        let across = steps[0];
        vectorized(
            #[inline(always)]
            || {
                for first in (0..n).step_by(ABREAST) {
                    // The last lanes may come twice: that changes nothing.
                    let first = first.min(n.saturating_sub(ABREAST));
                    let from = self.from.wrapping_offset(at[0] + first as isize * across);
                    let places = if n < ABREAST {
                        let lane = |j: usize| from.offset(j.min(n - 1) as isize * across);
                        self.places::<T, MAX>(|row| std::array::from_fn(|j| read(lane(j).offset(row))))
                    } else if across == size_of::<T>() as isize {
                        self.places::<T, MAX>(|row| from.offset(row).cast::<[T; ABREAST]>().read_unaligned())
                    } else {
                        self.places::<T, MAX>(|row| {
                            let from = from.offset(row);
                            std::array::from_fn(|j| read(from.offset(j as isize * across)))
                        })
                    };
                    for j in 0..n.min(ABREAST) {
                        self.put(at[1] + (first + j) as isize * steps[1], places[j]);
                    }
                }
            },
        );
    }

    #[inline(always)]
    unsafe fn put(self, at: isize, place: u32) {
        self.to.offset(at).cast::<i64>().write_unaligned(i64::from(place));
    }

    /// The first places of the extremes, given the elements that all have at a distance from the lanes' beginnings.
    #[inline(always)]
    unsafe fn places<T: Element, const MAX: bool>(self, all: impl Fn(isize) -> [T; ABREAST]) -> [u32; ABREAST] {
        let (mut best, mut found) = (all(0), [0; ABREAST]);
        for row in 1..self.len {
            let values = all(row as isize * self.down);
            for j in 0..ABREAST {
                let better = beats::<T, MAX>(values[j], best[j]);
                best[j] = if better { values[j] } else { best[j] };
                found[j] = if better { row as u32 } else { found[j] };
            }
        }
        found
    }
}

#[inline(always)]
unsafe fn read<T: Copy>(from: *const u8) -> T {
    from.cast::<T>().read_unaligned()
}
