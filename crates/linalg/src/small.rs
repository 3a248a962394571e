//! LU factorisations of matrices so small that plain loops over an array on the stack beat all that is blocked or
//! allocated. Stacks of such matrices are what they are for.

use crate::lu::Pivots;
use crate::matrix::{Field, copy_columns, rows_and_columns};
use faer::MatRef;
use numloom_library::RawView;

/// The largest side.
pub const SMALL: usize = 16;

/// Runs `$body` with `$n` as a constant that has room for a small matrix of side `$side`.
macro_rules! sized {
    ($side:expr, $n:ident => $body:expr) => {
        match $side {
            0..=2 => {
                const $n: usize = 2;
                $body
            }
            3 => {
                const $n: usize = 3;
                $body
            }
            4 => {
                const $n: usize = 4;
                $body
            }
            5..=8 => {
                const $n: usize = 8;
                $body
            }
            _ => {
                const $n: usize = $crate::small::SMALL;
                $body
            }
        }
    };
}
pub(crate) use sized;

/// The factors of a matrix of side `n`, in columns of `N`.
pub struct SmallLu<T, const N: usize> {
    n: usize,
    /// L below the diagonal (its own is ones), U above.
    columns: [[T; N]; N],
    /// Row `i` of the factors is row `order[i]` of the matrix.
    order: [u8; N],
    odd: bool,
}

/// Up to `N` columns of a right side or of a solution.
pub struct Columns<T, const N: usize> {
    n: usize,
    count: usize,
    columns: [[T; N]; N],
}

impl<T: Field, const N: usize> SmallLu<T, N> {
    /// Gaussian elimination with partial pivoting.
    ///
    /// # Safety
    /// The view is readable, and its matrix square, of side `N` at most.
    #[inline(always)]
    pub unsafe fn new(view: &RawView) -> SmallLu<T, N> {
        let (n, _) = rows_and_columns(view);
        let mut lu = SmallLu { n, columns: zeros(), order: std::array::from_fn(|i| i as u8), odd: false };
        copy_columns(view, lu.columns.as_mut_ptr().cast::<T>(), N as isize);
        // A side that is known is unrolled.
        if n == N {
            lu.eliminate(N)
        } else {
            lu.eliminate(n.min(N))
        }
        lu
    }

    #[inline(always)]
    fn eliminate(&mut self, n: usize) {
        let a = &mut self.columns;
        for k in 0..n {
            let mut best = k;
            for i in k + 1..n {
                if size(a[k][i]) > size(a[k][best]) {
                    best = i;
                }
            }
            if best != k {
                self.order.swap(k, best);
                self.odd = !self.odd;
                a[..n].iter_mut().for_each(|column| column.swap(k, best));
            }
            let (left, right) = a[..n].split_at_mut(k + 1);
            let below = &mut left[k];
            let pivot = below[k];
            if pivot.parts() == (0.0, 0.0) {
                continue;
            }
            for i in k + 1..n {
                below[i] = below[i].over(pivot);
            }
            for column in right {
                let above = column[k];
                for i in k + 1..n {
                    column[i] -= below[i] * above;
                }
            }
        }
    }

    pub fn pivots(&self) -> Pivots<T> {
        Pivots { values: (0..self.n).map(|i| self.columns[i][i]).collect(), odd: self.odd }
    }

    pub fn is_singular(&self) -> bool {
        (0..self.n).any(|i| self.columns[i][i].parts() == (0.0, 0.0))
    }

    /// Solves for `count` columns, `N` at most, whose elements `b(row, column)` tells.
    #[inline]
    pub fn solve(&self, count: usize, b: impl Fn(usize, usize) -> T) -> Columns<T, N> {
        let (n, count) = (self.n.min(N), count.min(N));
        let mut x = Columns { n, count, columns: zeros() };
        for (j, x) in x.columns[..count].iter_mut().enumerate() {
            for (x, &from) in x[..n].iter_mut().zip(&self.order) {
                *x = b(from as usize, j);
            }
            if n == N { self.substitute(N, x) } else { self.substitute(n, x) }
        }
        x
    }

    /// Solves with both factors.
    #[inline(always)]
    fn substitute(&self, n: usize, x: &mut [T; N]) {
        for k in 0..n {
            let known = x[k];
            for i in k + 1..n {
                x[i] -= self.columns[k][i] * known;
            }
        }
        for k in (0..n).rev() {
            let known = x[k].over(self.columns[k][k]);
            x[k] = known;
            for i in 0..k {
                x[i] -= self.columns[k][i] * known;
            }
        }
    }
}

impl<T: Field, const N: usize> Columns<T, N> {
    pub fn as_ref(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice_with_stride(self.columns.as_flattened(), self.n, self.count, N)
    }
}

fn zeros<T: Field, const N: usize>() -> [[T; N]; N] {
    [[T::from_parts(0.0, 0.0); N]; N]
}

/// What LAPACK chooses a pivot by.
#[inline(always)]
fn size<T: Field>(z: T) -> f64 {
    let (re, im) = z.parts();
    re.abs() + im.abs()
}
