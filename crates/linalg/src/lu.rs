//! What comes of an LU factorisation with partial pivoting: solutions, inverses, determinants.

use crate::batch::Call;
use crate::matrix::{Field, failed, load, store, store_run, typed};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::triangular_solve::{solve_unit_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, Par};
use numloom_library::LibraryError;

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
        let mut odd = false;
        if n > 0 {
            let mut memory = MemBuffer::new(lu_in_place_scratch::<usize, T>(n, n, par, Default::default()));
            let stack = MemStack::new(&mut memory);
            let (info, _) = lu_in_place(factors.as_mut(), &mut order, &mut back, par, stack, Default::default());
            odd = info.transposition_count % 2 == 1;
        }
        Lu { factors, order, odd }
    }

    fn is_singular(&self) -> bool {
        (0..self.order.len()).any(|i| self.factors[(i, i)].parts() == (0.0, 0.0))
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
    typed!(call.outs[0].dtype, T => {
        let lu = Lu::new(load::<T>(&call.ins[0]), call.par);
        if lu.is_singular() {
            return failed("Singular matrix");
        }
        store::<T>(lu.solve(&load::<T>(&call.ins[1]), call.par).as_ref(), &call.outs[0]);
        Ok(())
    })
}

/// With the option, a matrix without an inverse gives NaNs.
pub unsafe fn inv(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let lu = Lu::new(load::<T>(&call.ins[0]), call.par);
        if lu.is_singular() {
            if call.option {
                let n = lu.order.len();
                store::<T>(Mat::from_fn(n, n, |_, _| T::from_parts(f64::NAN, f64::NAN)).as_ref(), &call.outs[0]);
                return Ok(());
            }
            return failed("Singular matrix");
        }
        let n = lu.order.len();
        store::<T>(lu.solve(&Mat::<T>::identity(n, n), call.par).as_ref(), &call.outs[0]);
        Ok(())
    })
}

pub unsafe fn det(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let lu = Lu::new(load::<T>(&call.ins[0]), call.par);
        let mut product = T::from_parts(if lu.odd { -1.0 } else { 1.0 }, 0.0);
        for i in 0..lu.order.len() {
            product *= lu.factors[(i, i)];
        }
        store_run([product], &call.outs[0]);
        Ok(())
    })
}

/// The sign (for complex matrices a number of size one), and the logarithm of the size.
pub unsafe fn slogdet(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let lu = Lu::new(load::<T>(&call.ins[0]), call.par);
        let (mut sign, mut log) = (T::from_parts(if lu.odd { -1.0 } else { 1.0 }, 0.0), 0.0f64);
        for i in 0..lu.order.len() {
            let (re, im) = lu.factors[(i, i)].parts();
            let size = re.hypot(im);
            if size == 0.0 {
                (sign, log) = (T::from_parts(0.0, 0.0), f64::NEG_INFINITY);
                break;
            }
            sign *= T::from_parts(re / size, im / size);
            log += size.ln();
        }
        store_run([sign], &call.outs[0]);
        store_run([log], &call.outs[1]);
        Ok(())
    })
}
