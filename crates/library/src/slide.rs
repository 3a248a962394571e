//! A few taps slid along a sequence: the sums that convolution and correlation are made of.

use crate::element::{Element, with_type};
use crate::run::{Room, Run};
use crate::vector::vectorized;
use numloom_ir::DType;

/// The sum of `a[i + j - before] * taps[j]` over the j for which there is such an element, for every place i of `out`,
/// which is dense and has `len` places.
///
/// # Safety
/// Both runs are readable memory of `dtype`, and `out` is writeable, aligned and apart from them.
pub unsafe fn slide(dtype: DType, a: Run, taps: Run, before: usize, out: *mut u8, len: usize) {
    with_type!(dtype, T => {
        let (mut a_room, mut taps_room) = (Room::<T>::new(), Room::<T>::new());
        let out = std::slice::from_raw_parts_mut(out.cast::<T>(), len);
        add_up(a.slice(&mut a_room), taps.slice(&mut taps_room), before, out);
    });
}

/// Places that are added up at a time, in the nearest cache.
const BLOCK: usize = 1024;

fn add_up<T: Element>(a: &[T], taps: &[T], before: usize, out: &mut [T]) {
    out.fill(T::ZERO);
    for (k, block) in out.chunks_mut(BLOCK).enumerate() {
        for (j, &tap) in taps.iter().enumerate() {
            // The place in `a` of the element that meets this tap at the first place of the block.
            let at = (k * BLOCK + j) as isize - before as isize;
            let (start, skipped) = (at.min(0).unsigned_abs(), at.max(0) as usize);
            if start >= block.len() || skipped >= a.len() {
                continue;
            }
            let reached = block[start..].iter_mut().zip(&a[skipped..]);
            vectorized(
                #[inline(always)]
                || reached.for_each(|(o, &x)| *o = o.add(x.mul(tap))),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_gets_the_taps_that_reach_it() {
        let (a, taps) = ([1i64, 2, 3, 4], [1i64, 10, 100]);
        let mut out = [0; 6];
        add_up(&a, &taps, 2, &mut out);
        assert_eq!(out, [100, 210, 321, 432, 43, 4]);
        add_up(&a, &taps, 0, &mut out[..2]);
        assert_eq!(out[..2], [321, 432]);
    }

    #[test]
    fn blocks_meet() {
        let a: Vec<i64> = (0..3 * BLOCK as i64 + 5).collect();
        let taps: Vec<i64> = (1..=40).collect();
        for before in [0, 20, 39] {
            let mut out = vec![0; a.len()];
            add_up(&a, &taps, before, &mut out);
            let element = |i: usize, j: usize| (i + j).checked_sub(before).and_then(|at| a.get(at)).unwrap_or(&0);
            for (i, &o) in out.iter().enumerate() {
                assert_eq!(o, (0..40).map(|j| element(i, j) * taps[j]).sum::<i64>());
            }
        }
    }
}
