//! What comes of an LU factorisation with partial pivoting: solutions, inverses, determinants.

use crate::batch::Call;
use crate::matrix::{Field, element, failed, load, rows_and_columns, store, store_columns, store_run, typed};
use crate::small::{SMALL, SmallLu, sized};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::triangular_solve::{solve_unit_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, Par};
use numloom_library::{LibraryError, RawView};
use smallvec::SmallVec;

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
        let mut memory = MemBuffer::new(lu_in_place_scratch::<usize, T>(n, n, par, Default::default()));
        let stack = MemStack::new(&mut memory);
        let (info, _) = lu_in_place(factors.as_mut(), &mut order, &mut back, par, stack, Default::default());
        Lu { factors, order, odd: info.transposition_count % 2 == 1 }
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
        solve_unit_lower_triangular_in_place(self.factors.as_ref(), x.as_mut(), par);
        solve_upper_triangular_in_place(self.factors.as_ref(), x.as_mut(), par);
        x
    }
}

pub unsafe fn solve(call: &Call<'_>) -> Result<(), LibraryError> {
    let (side, _) = rows_and_columns(&call.ins[0]);
    typed!(call.outs[0].dtype, T => {
        if side <= SMALL {
            return sized!(side, N => solve_small::<T, N>(call));
        }
        let lu = Lu::new(load::<T>(&call.ins[0]), call.par);
        if lu.is_singular() {
            return failed(SINGULAR);
        }
        store::<T>(lu.solve(&load::<T>(&call.ins[1]), call.par).as_ref(), &call.outs[0]);
        Ok(())
    })
}

unsafe fn solve_small<T: Field, const N: usize>(call: &Call<'_>) -> Result<(), LibraryError> {
    let lu = SmallLu::<T, N>::new(&call.ins[0]);
    if lu.is_singular() {
        return failed(SINGULAR);
    }
    let (b, x) = (&call.ins[1], &call.outs[0]);
    let (_, columns) = rows_and_columns(b);
    for first in (0..columns).step_by(N) {
        let count = N.min(columns - first);
        let solved = lu.solve(count, |i, j| element(b, i, first + j));
        store_columns(solved.as_ref(), x, first);
    }
    Ok(())
}

/// What stands for the inverse of a matrix that has none.
pub fn no_inverse<T: Field>(n: usize) -> Mat<T> {
    Mat::from_fn(n, n, |_, _| T::from_parts(f64::NAN, f64::NAN))
}

/// With the option, a matrix without an inverse gives NaNs.
pub unsafe fn inv(call: &Call<'_>) -> Result<(), LibraryError> {
    let (side, _) = rows_and_columns(&call.ins[0]);
    typed!(call.outs[0].dtype, T => {
        if side <= SMALL {
            return sized!(side, N => inv_small::<T, N>(call, side));
        }
        let lu = Lu::new(load::<T>(&call.ins[0]), call.par);
        if lu.is_singular() {
            return without_inverse::<T>(call, side);
        }
        store::<T>(lu.solve(&Mat::<T>::identity(side, side), call.par).as_ref(), &call.outs[0]);
        Ok(())
    })
}

unsafe fn inv_small<T: Field, const N: usize>(call: &Call<'_>, side: usize) -> Result<(), LibraryError> {
    let lu = SmallLu::<T, N>::new(&call.ins[0]);
    if lu.is_singular() {
        return without_inverse::<T>(call, side);
    }
    let inverse = lu.solve(side, |i, j| T::from_parts((i == j) as u8 as f64, 0.0));
    store::<T>(inverse.as_ref(), &call.outs[0]);
    Ok(())
}

unsafe fn without_inverse<T: Field>(call: &Call<'_>, side: usize) -> Result<(), LibraryError> {
    if !call.option {
        return failed(SINGULAR);
    }
    store::<T>(no_inverse::<T>(side).as_ref(), &call.outs[0]);
    Ok(())
}

/// The diagonal of U, and whether the number of exchanges was odd.
pub struct Pivots<T> {
    pub values: SmallVec<[T; SMALL]>,
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
            // Of real numbers only those below zero have another sign: not NaN.
            let unit = match T::IS_REAL {
                true => T::from_parts(if re < 0.0 { -1.0 } else { 1.0 }, 0.0),
                false => T::from_parts(re / size, im / size),
            };
            (sign * unit, log + size.ln())
        });
        store_run([sign], &views[0]);
        store_run([log], &views[1]);
    }
}

unsafe fn pivots<T: Field>(call: &Call<'_>) -> Pivots<T> {
    let a = &call.ins[0];
    match rows_and_columns(a).0 {
        side if side <= SMALL => sized!(side, N => SmallLu::<T, N>::new(a).pivots()),
        _ => Lu::new(load::<T>(a), call.par).pivots(),
    }
}

pub unsafe fn det(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        pivots::<T>(call).store_product(&call.outs[0]);
        Ok(())
    })
}

pub unsafe fn slogdet(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        pivots::<T>(call).store_sign_and_log(call.outs);
        Ok(())
    })
}
