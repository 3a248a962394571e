//! Half the spectrum of one long real lane: its numbers are taken as complex ones in pairs, transformed in two sweeps
//! (`split.rs`), and the spectra of the even and the odd places told apart in a third. The way back is the same in
//! reverse.

use crate::lanes::Axis;
use crate::number::Number;
use crate::split::{Roots, Split};
use numloom_ir::DType;
use numloom_library::{LibraryError, piece, pieces};
use rustfft::num_complex::Complex;

pub struct Half {
    pub split: Split,
    /// Pairs: half the points of the transform.
    pairs: usize,
    inverse: bool,
}

/// Frequencies of a tile of the third sweep.
const TILE: usize = 1 << 15;

impl Half {
    /// For `n` points of the real lane; None where it is short, odd, or its numbers do not lie side by side.
    pub fn new(n: usize, lane: Axis, inverse: bool) -> Option<Half> {
        let dense = lane.step == lane.dtype.size() as isize && !lane.dtype.is_complex();
        if !n.is_multiple_of(2) || !dense || lane.len < n {
            return None;
        }
        Some(Half { split: Split::new(n / 2, inverse)?, pairs: n / 2, inverse })
    }

    pub fn tiles(&self, phase: usize) -> usize {
        match (self.inverse, phase) {
            (false, 0 | 1) => self.split.tiles(phase),
            (true, 1 | 2) => self.split.tiles(phase - 1),
            _ => pieces(self.pairs / 2 + 1, TILE),
        }
    }

    /// The real lane as complex numbers.
    pub fn pairs_of(&self, lane: Axis) -> Axis {
        let dtype = if lane.dtype == DType::F32 { DType::C64 } else { DType::C128 };
        Axis { dtype, len: self.pairs, step: 2 * lane.step, ..lane }
    }

    /// The transform of the pairs as a lane.
    pub fn spectrum_in<T: Number>(&self, room: *mut Complex<T>) -> Axis {
        let dtype = if size_of::<T>() == 4 { DType::C64 } else { DType::C128 };
        Axis { ptr: room.cast(), dtype, len: self.pairs, step: size_of::<Complex<T>>() as isize, large: false }
    }

    /// Phase 0 of the way back: what the transform of the pairs was, times two, for a tile of the frequencies and their
    /// counterparts.
    ///
    /// # Safety
    /// `start` is a lane of the view, which has a place for each frequency; tiles write different places of `z`.
    pub unsafe fn part<T: Number>(
        &self,
        from: Axis,
        start: isize,
        z: *mut Complex<T>,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let m = self.pairs;
        let roots = Roots::new(2 * m, true)?;
        for k in piece(m / 2 + 1, self.tiles(0), tile) {
            let (mut a, mut b) = (from.get::<T>(start, k), from.get::<T>(start, m - k).conj());
            if k == 0 {
                // The spectrum of real numbers is real at zero and at the far end.
                (a.im, b.im) = (T::zero(), T::zero());
            }
            let w = roots.at(k);
            let odd = (a - b) * Complex::new(T::narrow(w.re), T::narrow(w.im));
            let turned = Complex::new(-odd.im, odd.re);
            *z.add(k) = a + b + turned;
            if k > 0 {
                *z.add(m - k) = (a + b - turned).conj();
            }
        }
        Ok(())
    }

    /// Phase 2: a tile of the frequencies, each with its counterpart at the other end.
    ///
    /// # Safety
    /// `z` holds the transform of the pairs; `start` is a lane of the view.
    pub unsafe fn combine<T: Number>(
        &self,
        z: *const Complex<T>,
        to: Axis,
        start: isize,
        scale: T,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let m = self.pairs;
        let roots = Roots::new(2 * m, false)?;
        let half = T::narrow(0.5);
        for k in piece(m / 2 + 1, self.tiles(2), tile) {
            let (a, b) = (*z.add(k), (*z.add((m - k) % m)).conj());
            let (even, odd) = ((a + b) * half, (a - b) * half);
            let w = roots.at(k);
            // Times -i, and turned by half a step a place.
            let turned = Complex::new(odd.im, -odd.re) * Complex::new(T::narrow(w.re), T::narrow(w.im));
            to.put(start, k, (even + turned) * scale);
            to.put(start, m - k, (even - turned).conj() * scale);
        }
        Ok(())
    }
}
