//! Matrices whose eigenvalues are wanted, balanced as LAPACK's `gebal` does: rows and columns change places until what
//! can be read off the diagonal stands before and behind the rest, and rows and columns of the rest are scaled by powers
//! of two until they are about as long. Without it the eigenvalues of a triangular matrix that has one of them several
//! times would be found to a few digits.

use crate::matrix::Field;
use faer::{Mat, c64};

/// What was done, to be undone for the vectors.
pub struct Balance {
    /// Rows `low..high` are the rest.
    low: usize,
    high: usize,
    /// For the rest, what its rows were divided by; for the others, which row and column they changed places with.
    scales: Vec<f64>,
    partners: Vec<usize>,
}

/// A row and a column that differ in length by less than this are left alone.
const ENOUGH: f64 = 0.95;
/// Sizes between which scaling goes on.
const LEAST: f64 = f64::MIN_POSITIVE / f64::EPSILON * 2.0;
const MOST: f64 = 1.0 / LEAST;

pub fn balance<T: Field>(a: &mut Mat<T>) -> Balance {
    let n = a.nrows();
    let mut b = Balance { low: 0, high: n, scales: vec![1.0; n], partners: (0..n).collect() };
    b.permute(a);
    b.scale(a);
    b
}

impl Balance {
    fn permute<T: Field>(&mut self, a: &mut Mat<T>) {
        let is_zero = |a: &Mat<T>, i: usize, j: usize| a[(i, j)].parts() == (0.0, 0.0);
        let mut found = true;
        while found {
            found = false;
            for i in (0..self.high).rev() {
                // The search goes on above, though the rest has become smaller.
                if i < self.high && (0..self.high).all(|j| i == j || is_zero(a, i, j)) {
                    self.high -= 1;
                    self.exchange(a, i, self.high);
                    found = true;
                }
            }
        }
        found = true;
        while found {
            found = false;
            for j in self.low..self.high {
                if j >= self.low && (self.low..self.high).all(|i| i == j || is_zero(a, i, j)) {
                    self.exchange(a, j, self.low);
                    self.low += 1;
                    found = true;
                }
            }
        }
    }

    fn exchange<T: Field>(&mut self, a: &mut Mat<T>, i: usize, to: usize) {
        self.partners[to] = i;
        if i != to {
            (0..a.nrows()).for_each(|k| (a[(k, i)], a[(k, to)]) = (a[(k, to)], a[(k, i)]));
            (0..a.nrows()).for_each(|k| (a[(i, k)], a[(to, k)]) = (a[(to, k)], a[(i, k)]));
        }
    }

    fn scale<T: Field>(&mut self, a: &mut Mat<T>) {
        let (n, rest) = (a.nrows(), self.low..self.high);
        // Their squares are numbers: the matrix is near one.
        let square = |x: T| x.parts().0 * x.parts().0 + x.parts().1 * x.parts().1;
        let mut changed = true;
        while changed {
            changed = false;
            for i in rest.clone() {
                let mut c = rest.clone().map(|k| square(a[(k, i)])).sum::<f64>().sqrt();
                let mut r = rest.clone().map(|k| square(a[(i, k)])).sum::<f64>().sqrt();
                let mut ca = (0..self.high).map(|k| square(a[(k, i)])).fold(0.0, f64::max).sqrt();
                let mut ra = (self.low..n).map(|k| square(a[(i, k)])).fold(0.0, f64::max).sqrt();
                if c == 0.0 || r == 0.0 || !(c + r + ca + ra).is_finite() {
                    continue;
                }
                let (before, mut f) = (c + r, 1.0f64);
                while c < r / 2.0 && f.max(c).max(ca) < MOST && r.min(ra) > LEAST {
                    (f, c, ca, r, ra) = (f * 2.0, c * 2.0, ca * 2.0, r / 2.0, ra / 2.0);
                }
                while c / 2.0 >= r && r.max(ra) < MOST && f.min(c).min(ca) > LEAST {
                    (f, c, ca, r, ra) = (f / 2.0, c / 2.0, ca / 2.0, r * 2.0, ra * 2.0);
                }
                if c + r >= ENOUGH * before || !(LEAST..MOST).contains(&(f * self.scales[i])) {
                    continue;
                }
                self.scales[i] *= f;
                changed = true;
                let times = |x: T, f: f64| T::from_parts(x.parts().0 * f, x.parts().1 * f);
                (self.low..n).for_each(|k| a[(i, k)] = times(a[(i, k)], 1.0 / f));
                (0..self.high).for_each(|k| a[(k, i)] = times(a[(k, i)], f));
            }
        }
    }

    /// The vectors of the matrix as it was, from those of what it has become.
    pub fn undo(&self, vectors: &mut Mat<c64>) {
        for j in 0..vectors.ncols() {
            for i in self.low..self.high {
                vectors[(i, j)] *= self.scales[i];
            }
            // The last that changed places goes back first.
            for i in (0..self.low).rev().chain(self.high..vectors.nrows()) {
                let partner = self.partners[i];
                (vectors[(i, j)], vectors[(partner, j)]) = (vectors[(partner, j)], vectors[(i, j)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangles_are_turned_upwards() {
        let mut a = Mat::from_fn(5, 5, |i, j| if i >= j { (1 + i + 7 * j) as f64 } else { 0.0 });
        let b = balance(&mut a);
        assert_eq!(b.high - b.low.min(b.high), 0);
        assert!((0..5).all(|i| (0..i).all(|j| a[(i, j)] == 0.0)));
    }

    #[test]
    fn vectors_go_back_to_the_matrix_as_it_was() {
        // Its second and fourth row and column stand by themselves, the rest is out of balance.
        let was = [
            [1.0, 0.0, 1e6, 2.0, 3.0],
            [5.0, 2.0, 6.0, 7.0, 8.0],
            [1e-6, 0.0, 3.0, 1.0, 1e-5],
            [0.0, 0.0, 0.0, 9.0, 0.0],
            [0.5, 0.0, 1e5, 4.0, 5.0],
        ];
        let mut a = Mat::from_fn(5, 5, |i, j| was[i][j]);
        let b = balance(&mut a);
        assert_eq!((b.low, b.high), (1, 4));
        // P D x for the unit vectors x, of which A P D = P D B holds.
        let mut basis = Mat::from_fn(5, 5, |i, j| c64::new((i == j) as u8 as f64, 0.0));
        b.undo(&mut basis);
        for i in 0..5 {
            for j in 0..5 {
                let before: f64 = (0..5).map(|k| was[i][k] * basis[(k, j)].re).sum();
                let after: f64 = (0..5).map(|k| basis[(i, k)].re * a[(k, j)]).sum();
                assert_eq!(before, after);
            }
        }
        assert!(a[(1, 2)].abs() < 1e3 && a[(2, 1)].abs() > 1e-3);
    }
}
