//! What comes of an LU factorisation with partial pivoting: solutions, inverses, determinants.

use crate::batch::Call;
use crate::matrix::{Field, failed, load, store, store_run, typed};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::triangular_solve::{solve_unit_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, Par};
use numloom_library::{LibraryError, RawView};

pub const SINGULAR: &str = "Singular matrix";

struct Lu<T> {
    /// L below the diagonal (its own is ones), U above.
    factors: Mat<T>,
    /// Row `i` of the factors is row `order[i]` of the matrix.
    order: Vec<usize>,
    /// An odd number of exchanges.
    odd: bool,
}

impl<T: Field> Lu<T> {
    fn new(mut factors: Mat<T>, par: Par) -> Lu<T> {
        let n = factors.nrows();
        let (mut order, mut back) = (vec![0usize; n], vec![0usize; n]);
        let odd = if n <= SMALL {
            eliminate(&mut factors, &mut order)
        } else {
            let mut memory = MemBuffer::new(lu_in_place_scratch::<usize, T>(n, n, par, Default::default()));
            let stack = MemStack::new(&mut memory);
            let (info, _) = lu_in_place(factors.as_mut(), &mut order, &mut back, par, stack, Default::default());
            info.transposition_count % 2 == 1
        };
        Lu { factors, order, odd }
    }

    fn is_singular(&self) -> bool {
        (0..self.order.len()).any(|i| self.factors[(i, i)].parts() == (0.0, 0.0))
    }

    fn pivots(&self) -> Pivots<T> {
        Pivots { values: (0..self.order.len()).map(|i| self.factors[(i, i)]).collect(), odd: self.odd }
    }

    fn solve(&self, b: &Mat<T>, par: Par) -> Mat<T> {
        let mut x = Mat::<T>::zeros(b.nrows(), b.ncols());
        for j in 0..b.ncols() {
            for (i, &from) in self.order.iter().enumerate() {
                x[(i, j)] = b[(from, j)];
            }
        }
        if self.order.len() <= SMALL {
            substitute(&self.factors, &mut x);
            return x;
        }
        solve_unit_lower_triangular_in_place(self.factors.as_ref(), x.as_mut(), par);
        solve_upper_triangular_in_place(self.factors.as_ref(), x.as_mut(), par);
        x
    }
}

/// Up to this side plain loops are faster than anything that is blocked.
const SMALL: usize = 16;

/// Gaussian elimination with partial pivoting; whether the number of exchanges is odd.
fn eliminate<T: Field>(a: &mut Mat<T>, order: &mut [usize]) -> bool {
    let n = order.len();
    let size = |z: T| {
        let (re, im) = z.parts();
        re.abs() + im.abs()
    };
    order.iter_mut().enumerate().for_each(|(i, o)| *o = i);
    let mut odd = false;
    for k in 0..n {
        let mut best = k;
        for i in k + 1..n {
            if size(a[(i, k)]) > size(a[(best, k)]) {
                best = i;
            }
        }
        if best != k {
            order.swap(k, best);
            odd = !odd;
            for j in 0..n {
                let kept = a[(k, j)];
                a[(k, j)] = a[(best, j)];
                a[(best, j)] = kept;
            }
        }
        let pivot = a[(k, k)];
        if pivot.parts() == (0.0, 0.0) {
            continue;
        }
        for i in k + 1..n {
            a[(i, k)] = a[(i, k)].over(pivot);
        }
        for j in k + 1..n {
            let above = a[(k, j)];
            for i in k + 1..n {
                a[(i, j)] = a[(i, j)] - a[(i, k)] * above;
            }
        }
    }
    odd
}

/// Solves with both factors, column by column.
fn substitute<T: Field>(factors: &Mat<T>, x: &mut Mat<T>) {
    let n = factors.nrows();
    for j in 0..x.ncols() {
        for k in 0..n {
            let known = x[(k, j)];
            for i in k + 1..n {
                x[(i, j)] -= factors[(i, k)] * known;
            }
        }
        for k in (0..n).rev() {
            let known = x[(k, j)].over(factors[(k, k)]);
            x[(k, j)] = known;
            for i in 0..k {
                x[(i, j)] -= factors[(i, k)] * known;
            }
        }
    }
}

pub unsafe fn solve(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let lu = Lu::new(load::<T>(&call.ins[0]), call.par);
        if lu.is_singular() {
            return failed(SINGULAR);
        }
        store::<T>(lu.solve(&load::<T>(&call.ins[1]), call.par).as_ref(), &call.outs[0]);
        Ok(())
    })
}

/// What stands for the inverse of a matrix that has none.
pub fn no_inverse<T: Field>(n: usize) -> Mat<T> {
    Mat::from_fn(n, n, |_, _| T::from_parts(f64::NAN, f64::NAN))
}

/// With the option, a matrix without an inverse gives NaNs.
pub unsafe fn inv(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let lu = Lu::new(load::<T>(&call.ins[0]), call.par);
        if lu.is_singular() {
            if call.option {
                let n = lu.order.len();
                store::<T>(no_inverse::<T>(n).as_ref(), &call.outs[0]);
                return Ok(());
            }
            return failed(SINGULAR);
        }
        let n = lu.order.len();
        store::<T>(lu.solve(&Mat::<T>::identity(n, n), call.par).as_ref(), &call.outs[0]);
        Ok(())
    })
}

/// The diagonal of U, and whether the number of exchanges was odd.
pub struct Pivots<T> {
    pub values: Vec<T>,
    pub odd: bool,
}

impl<T: Field> Pivots<T> {
    /// Folded from `start`; `zero` if one of them is zero. Behind that one, there may be anything.
    fn fold<R>(&self, start: R, zero: R, mut f: impl FnMut(R, T) -> R) -> R {
        let mut folded = start;
        for &pivot in &self.values {
            if pivot.parts() == (0.0, 0.0) {
                return zero;
            }
            folded = f(folded, pivot);
        }
        folded
    }

    fn sign(&self) -> T {
        T::from_parts(if self.odd { -1.0 } else { 1.0 }, 0.0)
    }

    /// Writes the determinant.
    pub unsafe fn store_product(&self, view: &RawView) {
        store_run([self.fold(self.sign(), T::from_parts(0.0, 0.0), |product, pivot| product * pivot)], view);
    }

    /// Writes the sign (for complex matrices a number of size one), and the logarithm of the size.
    pub unsafe fn store_sign_and_log(&self, views: &[RawView]) {
        let zero = (T::from_parts(0.0, 0.0), f64::NEG_INFINITY);
        let (sign, log) = self.fold((self.sign(), 0.0), zero, |(sign, log), pivot| {
            let (re, im) = pivot.parts();
            let size = re.hypot(im);
            (sign * T::from_parts(re / size, im / size), log + size.ln())
        });
        store_run([sign], &views[0]);
        store_run([log], &views[1]);
    }
}

pub unsafe fn det(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        Lu::new(load::<T>(&call.ins[0]), call.par).pivots().store_product(&call.outs[0]);
        Ok(())
    })
}

pub unsafe fn slogdet(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        Lu::new(load::<T>(&call.ins[0]), call.par).pivots().store_sign_and_log(call.outs);
        Ok(())
    })
}
