//! QR factorisations of complex matrices by LAPACK's reflections, which leave real numbers on the diagonal of R. Those of
//! `faer` leave complex ones there: as right, but not what NumPy gives.

use faer::{Mat, c64};
use std::ops::Range;

/// `I - tau v v*`, where `v` is one at its first place and lies below the diagonal in the others.
struct Reflection<'a> {
    below: &'a [c64],
    tau: c64,
}

impl Reflection<'_> {
    /// Applies it to the rows of `a` from `first` on, in some columns.
    fn apply(&self, a: &mut Mat<c64>, first: usize, columns: Range<usize>) {
        for j in columns {
            let (top, rest) = a.col_mut(j).try_as_col_major_mut().expect("columns without gaps").as_slice_mut()
                [first..]
                .split_first_mut()
                .expect("a row to reflect");
            let along = rest.iter().zip(self.below).fold(*top, |sum, (x, v)| sum + v.conj() * x);
            let back = self.tau * along;
            *top -= back;
            rest.iter_mut().zip(self.below).for_each(|(x, v)| *x -= back * v);
        }
    }
}

/// Puts R above the diagonal and the reflections below it; answers their factors.
pub fn reflect(a: &mut Mat<c64>) -> Vec<c64> {
    let (m, n) = a.shape();
    (0..m.min(n))
        .map(|k| {
            let alpha = a[(k, k)];
            let below = a.col(k).subrows(k + 1, m - k - 1).norm_l2();
            if below == 0.0 && alpha.im == 0.0 {
                return c64::new(0.0, 0.0);
            }
            let beta = -alpha.re.hypot(alpha.im).hypot(below).copysign(alpha.re);
            let tau = c64::new((beta - alpha.re) / beta, -alpha.im / beta);
            let scale = c64::new(1.0, 0.0) / (alpha - beta);
            let mut v = vec![];
            for i in k + 1..m {
                a[(i, k)] *= scale;
                v.push(a[(i, k)]);
            }
            a[(k, k)] = c64::new(beta, 0.0);
            Reflection { below: &v, tau: tau.conj() }.apply(a, k, k + 1..n);
            tau
        })
        .collect()
}

/// The first columns of Q.
pub fn unitary(factors: &Mat<c64>, tau: &[c64], columns: usize) -> Mat<c64> {
    let m = factors.nrows();
    let mut q = Mat::<c64>::identity(m, columns);
    for k in (0..tau.len()).rev() {
        let v: Vec<c64> = (k + 1..m).map(|i| factors[(i, k)]).collect();
        // What stands to the left is still the unit matrix.
        Reflection { below: &v, tau: tau[k] }.apply(&mut q, k, k..columns);
    }
    q
}
