//! Least squares: the shortest `x` with the smallest `|a x - b|`, by singular values.

use crate::batch::Call;
use crate::matrix::{Field, failed, is_finite, load, rows_and_columns, store, store_run, typed};
use crate::svd;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef};
use numloom_ir::DType;
use numloom_library::{LibraryError, RawView};

pub const NOT_CONVERGED: &str = "SVD did not converge in Linear Least Squares";

/// The share of the largest singular value up to which one counts as zero; if negative, the error of rounding.
pub unsafe fn threshold(call: &Call<'_>) -> f64 {
    call.ins[2].ptr.cast::<f64>().read_unaligned()
}

/// Writes the rank. Counts are written as integers, all else as `store` does it.
pub unsafe fn store_rank(rank: usize, view: &RawView) -> Result<(), LibraryError> {
    if view.dtype != DType::I64 {
        return Err(LibraryError::Value("lstsq: the rank is an int64".to_owned()));
    }
    view.ptr.cast::<i64>().write_unaligned(rank as i64);
    Ok(())
}

/// The outputs are x, the sums of the squares of what is left (a column each), the rank and the singular values.
pub unsafe fn lstsq(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let (a, mut b) = (load::<T>(&call.ins[0]), load::<T>(&call.ins[1]));
        if !is_finite(a.as_ref()) {
            return failed(NOT_CONVERGED);
        }
        // What is infinite on the right has no solution.
        for j in 0..b.ncols() {
            if !is_finite(b.as_ref().subcols(j, 1)) {
                b.as_mut().subcols_mut(j, 1).fill(T::from_parts(f64::NAN, 0.0));
            }
        }
        let ((m, n), columns) = (a.shape(), b.ncols());
        let size = rows_and_columns(&call.outs[3]).0;
        let (mut u, mut v) = (Mat::<T>::zeros(m, size), Mat::<T>::zeros(n, size));
        let values = svd::factor(&mut a.clone(), Some((&mut u, &mut v)), call.par)?;
        let values: Vec<f64> = values.column_vector().iter().map(|s| s.parts().0).collect();
        let share = threshold(call);
        let least = if share < 0.0 { f64::EPSILON / 2.0 } else { share } * values[0];
        let rank = values.iter().filter(|&&s| s > least).count();

        let one = T::from_parts(1.0, 0.0);
        let mut turned = Mat::<T>::zeros(size, columns);
        matmul(&mut turned, Accum::Replace, u.adjoint(), &b, one, call.par);
        for (i, &s) in values.iter().enumerate() {
            let scale = T::from_parts(if s > least { 1.0 / s } else { 0.0 }, 0.0);
            (0..columns).for_each(|j| turned[(i, j)] *= scale);
        }
        let mut x = Mat::<T>::zeros(n, columns);
        matmul(&mut x, Accum::Replace, &v, &turned, one, call.par);
        let mut rest = b;
        matmul(&mut rest, Accum::Add, &a, &x, T::from_parts(-1.0, 0.0), call.par);

        store::<T>(x.as_ref(), &call.outs[0]);
        store_squares(rest.as_ref(), &call.outs[1]);
        store_rank(rank, &call.outs[2])?;
        store_run(values, &call.outs[3]);
        Ok(())
    })
}

/// Writes the sum of the squares of each column.
pub unsafe fn store_squares<T: Field>(rest: MatRef<'_, T>, view: &RawView) {
    let square = |(re, im): (f64, f64)| re * re + im * im;
    store_run((0..rest.ncols()).map(|j| (0..rest.nrows()).map(|i| square(rest[(i, j)].parts())).sum::<f64>()), view);
}
