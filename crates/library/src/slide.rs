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

fn add_up<T: Element>(a: &[T], taps: &[T], before: usize, out: &mut [T]) {
    out.fill(T::ZERO);
    for (j, &tap) in taps.iter().enumerate() {
        let (start, skipped) = (before.saturating_sub(j), j.saturating_sub(before));
        if start >= out.len() || skipped >= a.len() {
            continue;
        }
        let reached = out[start..].iter_mut().zip(&a[skipped..]);
        vectorized(
            #[inline(always)]
            || reached.for_each(|(o, &x)| *o = o.add(x.mul(tap))),
        );
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
}
