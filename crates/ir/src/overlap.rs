//! Whether two views of one store share bytes: exact for rectangles, safe for the rest.

use crate::view::View;
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// No byte in common.
    Disjoint,
    /// The same elements in the same places.
    Same,
    /// Some bytes may be shared, in different places.
    Partial,
}

/// One axis of a view with its sign taken out: `len` runs, `step` bytes apart.
#[derive(Clone, Copy)]
struct Axis {
    step: usize,
    len: usize,
}

pub fn overlap(a: &View, b: &View) -> Overlap {
    if a.shape.contains(&0) || b.shape.contains(&0) {
        return Overlap::Disjoint;
    }
    if a == b {
        return if self_overlaps(a) { Overlap::Partial } else { Overlap::Same };
    }
    let (alo, ahi) = a.byte_bounds();
    let (blo, bhi) = b.byte_bounds();
    if ahi <= blo || bhi <= alo || lattices_apart(a, b, alo, blo) || rectangles_apart(a, b, alo, blo) {
        return Overlap::Disjoint;
    }
    Overlap::Partial
}

/// Whether a view may visit one byte twice (a broadcast axis).
pub fn self_overlaps(v: &View) -> bool {
    let mut axes = axes_of(v);
    axes.sort_by_key(|x| x.step);
    let mut reach = v.dtype.size();
    for x in axes {
        if x.step < reach {
            return true;
        }
        reach += x.step * (x.len - 1);
    }
    false
}

fn axes_of(v: &View) -> SmallVec<[Axis; 4]> {
    v.shape
        .iter()
        .zip(&v.strides)
        .filter(|&(&d, _)| d > 1)
        .map(|(&len, &s)| Axis { step: s.unsigned_abs(), len })
        .collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `a[::2]` against `a[1::2]`: every address of each is fixed modulo the greatest common step.
fn lattices_apart(a: &View, b: &View, alo: usize, blo: usize) -> bool {
    let g = axes_of(a).iter().chain(axes_of(b).iter()).fold(0, |g, x| gcd(g, x.step));
    let (wa, wb) = (a.dtype.size(), b.dtype.size());
    if g < wa + wb {
        return false;
    }
    let (ra, rb) = (alo % g, blo % g);
    let apart = |lo: usize, width: usize, hi: usize| lo + width <= hi;
    if ra <= rb { apart(ra, wa, rb) && apart(rb, wb, ra + g) } else { apart(rb, wb, ra) && apart(ra, wa, rb + g) }
}

/// Slices of one grid: write both as boxes over the same nested steps and compare axis by axis.
fn rectangles_apart(a: &View, b: &View, alo: usize, blo: usize) -> bool {
    if a.dtype.size() != b.dtype.size() {
        return false;
    }
    let (aa, ba) = (axes_of(a), axes_of(b));
    let mut steps: SmallVec<[usize; 8]> = aa.iter().chain(ba.iter()).map(|x| x.step).collect();
    steps.sort_unstable_by(|x, y| y.cmp(x));
    steps.dedup();
    if steps.contains(&0) {
        return false;
    }
    let len = |axes: &[Axis], step: usize| {
        let mut of = axes.iter().filter(|x| x.step == step);
        let first = of.next().map_or(1, |x| x.len);
        if of.next().is_some() { None } else { Some(first) }
    };
    // Split both origins into digits over the steps; what is left below the smallest step must agree
    // up to the width of an element.
    let (mut ra, mut rb) = (alo, blo);
    let mut apart = false;
    for (k, &step) in steps.iter().enumerate() {
        let (Some(la), Some(lb)) = (len(&aa, step), len(&ba, step)) else { return false };
        let (da, db) = (ra / step, rb / step);
        ra %= step;
        rb %= step;
        // The box must not run over into the next coarser step, or the digits are not independent.
        if k > 0 {
            let room = steps[k - 1];
            if !room.is_multiple_of(step) || (da + la) * step > room || (db + lb) * step > room {
                return false;
            }
        }
        apart |= da + la <= db || db + lb <= da;
    }
    let width = a.dtype.size();
    let low_apart = ra + width <= rb || rb + width <= ra;
    (apart || low_apart)
        && ra + width <= *steps.last().unwrap_or(&usize::MAX)
        && rb + width <= *steps.last().unwrap_or(&usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::view::Order;

    fn dense(shape: &[usize]) -> View {
        View::dense(DType::F64, shape, Order::C)
    }

    fn bytes(v: &View) -> std::collections::HashSet<usize> {
        let mut at = vec![v.offset as isize];
        for (&d, &s) in v.shape.iter().zip(&v.strides) {
            at = at.iter().flat_map(|&o| (0..d as isize).map(move |i| o + i * s)).collect();
        }
        at.into_iter().flat_map(|o| (0..v.dtype.size()).map(move |k| o as usize + k)).collect()
    }

    #[test]
    fn slices_of_a_grid() {
        let g = dense(&[10, 10]);
        let left = g.slice(1, 0, 1, 5);
        let right = g.slice(1, 5, 1, 5);
        assert_eq!(overlap(&left, &right), Overlap::Disjoint);
        assert_eq!(overlap(&g.slice(1, 0, 1, 6), &right), Overlap::Partial);
        assert_eq!(overlap(&g.slice(1, 0, 2, 5), &g.slice(1, 1, 2, 5)), Overlap::Disjoint);
        assert_eq!(overlap(&g, &g), Overlap::Same);
        assert_eq!(overlap(&g.slice(0, 3, 1, 2), &g.slice(0, 5, 1, 2)), Overlap::Disjoint);
    }

    #[test]
    fn never_disjoint_when_bytes_are_shared() {
        let mut seed = 12345u64;
        let mut next = |n: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % n
        };
        let base = dense(&[6, 7]);
        let mut exact = 0;
        for _ in 0..20_000 {
            let mut make = || {
                let mut v = base.clone();
                for axis in 0..2 {
                    let n = v.shape[axis];
                    let start = next(n);
                    let step = 1 + next(3);
                    let len = 1 + next((n - start).div_ceil(step));
                    v = v.slice(axis, start, step as isize, len);
                    if next(3) == 0 && len > 0 {
                        v = v.slice(axis, len - 1, -1, len);
                    }
                }
                if next(2) == 0 { v.transpose(&[1, 0]) } else { v }
            };
            let (a, b) = (make(), make());
            let shared = !bytes(&a).is_disjoint(&bytes(&b));
            let said = overlap(&a, &b) != Overlap::Disjoint;
            assert!(said || !shared, "{a:?} {b:?}");
            exact += (said == shared) as usize;
        }
        assert!(exact > 18_000, "{exact}");
    }
}
