//! The order of a fold: which elements become one value first, and how these values are put together. It does not depend
//! on how long blocks are, on what else a kernel computes, or on who runs it, so that sums come out the same.

use numloom_loops::{FoldFn, In};
use smallvec::SmallVec;

/// Elements of a run that are folded to one value. Blocks of kernels that fold are multiples of it.
pub const GRANULE: usize = 512;
/// Values that are put together in one go.
const MOST: usize = 64;

/// Values of what is folded so far, put together when there are many.
pub struct Partials {
    values: SmallVec<[u64; MOST]>,
    size: usize,
    len: usize,
}

impl Partials {
    /// `size`: bytes of a value.
    pub fn new(size: usize) -> Partials {
        Partials { values: SmallVec::from_elem(0, (size * MOST).div_ceil(8)), size, len: 0 }
    }

    fn at(&mut self, k: usize) -> *mut u8 {
        // Inside for as many values as are put together.
        self.values.as_mut_ptr().cast::<u8>().wrapping_add(k * self.size)
    }

    /// Folds `n` more elements in; answers the floating-point flags. Runs of one line begin at multiples of `GRANULE`.
    ///
    /// # Safety
    /// `run` has `n` elements of the type that `fold` takes, whose values have `size` bytes.
    pub unsafe fn add(&mut self, fold: FoldFn, run: In, n: usize) -> u8 {
        let mut flags = 0;
        for at in (0..n).step_by(GRANULE) {
            if self.len == MOST {
                flags |= self.put_together(fold);
            }
            let part = In { ptr: run.ptr.add(at * run.step), step: run.step };
            flags |= fold(GRANULE.min(n - at), part, self.at(self.len));
            self.len += 1;
        }
        flags
    }

    unsafe fn put_together(&mut self, fold: FoldFn) -> u8 {
        if self.len <= 1 {
            return 0;
        }
        let mut out = [0u64; 2];
        let flags = fold(self.len, In { ptr: self.at(0), step: self.size }, out.as_mut_ptr().cast());
        std::ptr::copy_nonoverlapping(out.as_ptr().cast(), self.at(0), self.size);
        self.len = 1;
        flags
    }

    /// Writes the value of all that was added to `out`, and begins anew.
    ///
    /// # Safety
    /// As for `add`, which was called; `out` has room for a value.
    pub unsafe fn take(&mut self, fold: FoldFn, out: *mut u8) -> u8 {
        let flags = self.put_together(fold);
        std::ptr::copy_nonoverlapping(self.at(0), out, self.size);
        self.len = 0;
        flags
    }
}

/// Whether a fold of `away` elements for each of `kept` results goes along the elements, result by result, and not
/// along the results, element by element: where elements lie side by side and are many, or there are few results.
pub fn goes_along(elements_lie_side_by_side: bool, kept: usize, away: usize) -> bool {
    if kept < 2 {
        return true;
    }
    if elements_lie_side_by_side { away >= 64 || kept < 32 } else { kept < 32 && away >= 64 }
}
