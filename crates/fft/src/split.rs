//! One long transform as two sweeps of short ones, so that several workers share it: n points are rows times columns.
//! The columns are transformed and turned by a root of unity each, then the rows; what comes out of row r at place c
//! is the frequency r + rows * c.

use crate::lanes::{Axis, room};
use crate::number::Number;
use crate::root::root;
use numloom_library::{LibraryError, piece, pieces};
use numloom_loops as loops;
use rustfft::num_complex::Complex;

pub struct Split {
    rows: usize,
    columns: usize,
    inverse: bool,
}

/// Transforms shorter than this are not worth a second sweep.
const LONG: usize = 1 << 16;
/// Elements of a tile; columns and rows that are fetched together.
const TILE: usize = 1 << 16;
const GROUP: usize = 16;

impl Split {
    /// None where the transform is short or its factors are too unlike each other.
    pub fn new(n: usize, inverse: bool) -> Option<Split> {
        if n < LONG {
            return None;
        }
        let root = n.isqrt();
        let rows = (root / 4..=root).rev().find(|r| *r > 0 && n.is_multiple_of(*r))?;
        Some(Split { rows, columns: n / rows, inverse })
    }

    pub fn tiles(&self, phase: usize) -> usize {
        let lines = if phase == 0 { self.columns } else { self.rows };
        pieces(self.rows * self.columns, TILE).min(pieces(lines, GROUP))
    }

    /// Phase 0: a tile of the columns, from the view into `middle` (row by row).
    ///
    /// # Safety
    /// `start` is a lane of the view; tiles write different columns of `middle`.
    pub unsafe fn columns<T: Number>(
        &self,
        from: Axis,
        start: isize,
        middle: *mut Complex<T>,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let (rows, columns) = (self.rows, self.columns);
        let plan = T::complex(rows, self.inverse);
        let mut z = room::<Complex<T>>(GROUP * rows)?;
        let mut scratch = room::<Complex<T>>(plan.get_inplace_scratch_len())?;
        let roots = Roots::new(rows * columns, self.inverse)?;
        let mut range = piece(columns, self.tiles(0), tile);
        while !range.is_empty() {
            let group = range.start..range.end.min(range.start + GROUP);
            range.start = group.end;
            let width = group.len();
            let starts: Vec<isize> = group.clone().map(|c| start + c as isize * from.step).collect();
            let column = Axis { len: rows, step: from.step * columns as isize, ..from };
            if from.len >= rows * columns {
                column.gather(&starts, rows, &mut z[..width * rows]);
            } else {
                // A short input ends in another row in some columns than in others.
                for (k, c) in group.clone().enumerate() {
                    let have = Axis { len: from.len.saturating_sub(c).div_ceil(columns), ..column };
                    have.gather(&starts[k..=k], rows, &mut z[k * rows..(k + 1) * rows]);
                }
            }
            let z = &mut z[..width * rows];
            plan.process_with_scratch(z, &mut scratch);
            for (k, c) in group.clone().enumerate() {
                roots.turn(&mut z[k * rows..(k + 1) * rows], c);
            }
            let (size, to) = (size_of::<Complex<T>>(), middle.add(group.start).cast());
            loops::turn(size, width, rows, z.as_ptr().cast(), (rows * size) as isize, to, (columns * size) as isize);
        }
        Ok(())
    }

    /// Phase 1: a tile of the rows of `middle`, into the view.
    ///
    /// # Safety
    /// `start` is a lane of the view; tiles write different frequencies of it.
    pub unsafe fn rows<T: Number>(
        &self,
        middle: *const Complex<T>,
        to: Axis,
        start: isize,
        scale: T,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let (rows, columns) = (self.rows, self.columns);
        let plan = T::complex(columns, self.inverse);
        let mut z = room::<Complex<T>>(GROUP * columns)?;
        let mut scratch = room::<Complex<T>>(plan.get_inplace_scratch_len())?;
        let mut range = piece(rows, self.tiles(1), tile);
        while !range.is_empty() {
            let group = range.start..range.end.min(range.start + GROUP);
            range.start = group.end;
            let z = &mut z[..group.len() * columns];
            std::ptr::copy_nonoverlapping(middle.add(group.start * columns), z.as_mut_ptr(), z.len());
            plan.process_with_scratch(z, &mut scratch);
            let starts: Vec<isize> = group.map(|r| start + r as isize * to.step).collect();
            let spread = Axis { len: columns, step: to.step * rows as isize, ..to };
            spread.scatter_scaled(&starts, z, columns, scale);
        }
        Ok(())
    }
}

/// The n-th roots of unity, from two short tables: one of every `FINE`-th, one of the first `FINE`.
pub struct Roots {
    n: usize,
    coarse: Vec<Complex<f64>>,
    fine: Vec<Complex<f64>>,
}

const FINE: usize = 1024;

impl Roots {
    pub fn new(n: usize, inverse: bool) -> Result<Roots, LibraryError> {
        let table = |count: usize, step: usize| -> Result<Vec<Complex<f64>>, LibraryError> {
            let mut made = room(count)?;
            for (i, w) in made.iter_mut().enumerate() {
                let one = root(i * step, n);
                *w = if inverse { one } else { one.conj() };
            }
            Ok(made)
        };
        Ok(Roots { n, coarse: table(n / FINE + 1, FINE)?, fine: table(FINE, 1)? })
    }

    pub fn at(&self, i: usize) -> Complex<f64> {
        self.coarse[i / FINE] * self.fine[i % FINE]
    }

    /// Multiplies `z[r]` by the root number `r * c`.
    fn turn<T: Number>(&self, z: &mut [Complex<T>], c: usize) {
        let mut at = 0;
        for z in z {
            let w = self.at(at);
            *z = *z * Complex::new(T::narrow(w.re), T::narrow(w.im));
            at += c;
            if at >= self.n {
                at -= self.n;
            }
        }
    }
}
