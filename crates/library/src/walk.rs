//! Walking n-d views: lanes along one axis, and ranges of elements in C order.

use crate::{LibraryError, RawView};
use numloom_ir::{Dims, Strides};
use std::ops::Range;

/// An odometer over a shape that keeps `N` byte offsets in step.
#[derive(Clone, Debug)]
pub struct Walk<const N: usize> {
    shape: Dims,
    strides: [Strides; N],
    index: Dims,
    pub offsets: [isize; N],
}

impl<const N: usize> Walk<N> {
    /// Every one of `strides` must be as long as `shape`. Axes that all operands walk alike are merged.
    pub fn new(shape: &[usize], strides: [&[isize]; N]) -> Walk<N> {
        let mut merged = Walk {
            shape: Dims::new(),
            strides: std::array::from_fn(|_| Strides::new()),
            index: Dims::new(),
            offsets: [0; N],
        };
        for (axis, &extent) in shape.iter().enumerate() {
            if extent == 1 {
                continue;
            }
            let follows = !merged.shape.is_empty()
                && (0..N).all(|k| merged.strides[k].last().copied() == strides[k][axis].checked_mul(extent as isize));
            if follows {
                *merged.shape.last_mut().expect("not empty") *= extent;
                (0..N).for_each(|k| *merged.strides[k].last_mut().expect("not empty") = strides[k][axis]);
            } else {
                merged.shape.push(extent);
                (0..N).for_each(|k| merged.strides[k].push(strides[k][axis]));
            }
        }
        merged.index.resize(merged.shape.len(), 0);
        merged
    }

    /// The steps, if all elements are one run.
    #[inline]
    pub fn single_run(&self) -> Option<[isize; N]> {
        match self.shape.len() {
            0 => Some([0; N]),
            1 => Some(std::array::from_fn(|k| self.strides[k][0])),
            _ => None,
        }
    }

    /// Elements of a run, at most.
    pub fn run_length(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Moves to the `i`-th element in C order.
    pub fn seek(&mut self, mut i: usize) {
        self.offsets = [0; N];
        for axis in (0..self.shape.len()).rev() {
            let extent = self.shape[axis].max(1);
            self.index[axis] = i % extent;
            i /= extent;
            for k in 0..N {
                self.offsets[k] += self.index[axis] as isize * self.strides[k][axis];
            }
        }
    }

    /// Moves to the next element in C order.
    #[inline]
    pub fn step(&mut self) {
        self.advance(1)
    }

    /// Moves on by `n` elements that all lie in the current run.
    #[inline]
    fn advance(&mut self, n: usize) {
        let mut by = n;
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += by;
            for k in 0..N {
                self.offsets[k] += by as isize * self.strides[k][axis];
            }
            if self.index[axis] < self.shape[axis] {
                return;
            }
            for k in 0..N {
                self.offsets[k] -= self.index[axis] as isize * self.strides[k][axis];
            }
            self.index[axis] = 0;
            by = 1;
        }
    }

    /// Calls `f(offsets, steps, n)` for the runs of evenly spaced elements that make up `range`.
    #[inline]
    pub fn runs<E>(
        &mut self,
        range: Range<usize>,
        mut f: impl FnMut([isize; N], [isize; N], usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(last) = self.shape.len().checked_sub(1) else {
            return if range.is_empty() { Ok(()) } else { f([0; N], [0; N], 1) };
        };
        let steps = std::array::from_fn(|k| self.strides[k][last]);
        let mut left = range.len();
        if left > 0 {
            self.seek(range.start);
        }
        while left > 0 {
            let n = left.min(self.shape[last] - self.index[last]);
            f(self.offsets, steps, n)?;
            self.advance(n);
            left -= n;
        }
        Ok(())
    }
}

/// A view without one of its axes, and that axis by itself.
pub fn without(view: &RawView, axis: usize) -> (Dims, Strides) {
    let keep = |i: &usize| *i != axis;
    let axes = || (0..view.shape.len()).filter(keep);
    (axes().map(|i| view.shape[i]).collect(), axes().map(|i| view.strides[i]).collect())
}

/// The part of `0..len` that piece `i` of `pieces` equal ones has.
pub fn piece(len: usize, pieces: usize, i: usize) -> Range<usize> {
    let (size, more) = (len / pieces.max(1), len % pieces.max(1));
    let start = i * size + i.min(more);
    start..start + size + (i < more) as usize
}

/// How many pieces of about `size` there are in `len`; at least one.
pub fn pieces(len: usize, size: usize) -> usize {
    len.div_ceil(size.max(1)).max(1)
}

impl RawView {
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether every element is aligned for its type.
    pub fn is_aligned(&self) -> bool {
        let align = self.dtype.align();
        (self.ptr as usize).is_multiple_of(align) && self.strides.iter().all(|s| s.unsigned_abs().is_multiple_of(align))
    }
}

/// Fails unless `$ok`; the words name the operation, for they mean a mistake of its caller.
pub fn ensure(ok: bool, name: &str, what: &str) -> Result<(), LibraryError> {
    if ok { Ok(()) } else { Err(LibraryError::Value(format!("{name}: {what}"))) }
}

/// Checks that there are `ins` inputs and `outs` outputs whose strides fit their shapes.
pub fn ensure_operands(args: &crate::Args, ins: usize, outs: usize, name: &str) -> Result<(), LibraryError> {
    ensure(args.ins.len() == ins && args.outs.len() == outs, name, "wrong number of operands")?;
    let mut views = args.ins.iter().chain(&args.outs);
    ensure(views.all(|v| v.shape.len() == v.strides.len()), name, "strides do not fit the shape")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_a_range_in_order() {
        let shape = [3, 4, 5];
        let strides: [isize; 3] = [-100, 0, 3];
        let mut seen = Vec::new();
        let mut walk = Walk::new(&shape, [&strides]);
        walk.runs::<()>(7..43, |[at], [step], n| {
            seen.extend((0..n as isize).map(|i| at + i * step));
            Ok(())
        })
        .unwrap();
        let want: Vec<isize> = (7..43).map(|i: isize| (i / 20) * -100 + (i % 5) * 3).collect();
        assert_eq!(seen, want);
        walk.seek(7);
        for w in want {
            assert_eq!(walk.offsets[0], w);
            walk.step();
        }
    }

    #[test]
    fn pieces_cover_everything() {
        let all: Vec<_> = (0..7).flat_map(|i| piece(23, 7, i)).collect();
        assert_eq!(all, (0..23).collect::<Vec<_>>());
    }
}
