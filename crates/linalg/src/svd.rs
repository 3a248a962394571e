//! Singular values and vectors.

use crate::batch::Call;
use crate::matrix::{Field, failed, has_nan, is_finite, load, rows_and_columns, store, store_run, typed};
use crate::scale;
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd as decompose, svd_scratch};
use faer::{Mat, Par};
use numloom_library::LibraryError;

pub const NOT_CONVERGED: &str = "SVD did not converge";

/// Writes the vectors where there is room for them; answers the values. The matrix may be another one afterwards.
pub fn factor<T: Field>(
    a: &mut Mat<T>,
    vectors: Option<(&mut Mat<T>, &mut Mat<T>)>,
    par: Par,
) -> Result<Diag<T>, LibraryError> {
    let (m, n) = a.shape();
    let size = m.min(n);
    let mut values = Diag::<T>::zeros(size);
    if has_nan(a.as_ref()) {
        return failed(NOT_CONVERGED);
    }
    if !is_finite(a.as_ref()) {
        let nan = T::from_parts(f64::NAN, 0.0);
        if let Some((u, v)) = vectors {
            u.as_mut().fill(nan);
            v.as_mut().fill(nan);
        }
        values.column_vector_mut().fill(nan);
        return Ok(values);
    }
    let e = scale::near_one(a);
    let (u, v) = vectors.unzip();
    let kind = |x: &Option<&mut Mat<T>>| match x {
        None => ComputeSvdVectors::No,
        Some(x) if x.ncols() > size => ComputeSvdVectors::Full,
        Some(_) => ComputeSvdVectors::Thin,
    };
    let request = svd_scratch::<T>(m, n, kind(&u), kind(&v), par, Default::default());
    let mut memory = MemBuffer::new(request);
    let stack = MemStack::new(&mut memory);
    let (u, v) = (u.map(|x| x.as_mut()), v.map(|x| x.as_mut()));
    match decompose(a.as_ref(), values.as_mut(), u, v, par, stack, Default::default()) {
        Ok(()) => {
            values.column_vector_mut().iter_mut().for_each(|x| *x = scale::moved(*x, e));
            Ok(values)
        }
        Err(_) => failed(NOT_CONVERGED),
    }
}

/// U, the values and V's conjugate transpose; full or thin, as their views are.
pub unsafe fn svd(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let mut a = load::<T>(&call.ins[0]);
        let (rows, columns) = (rows_and_columns(&call.outs[0]).1, rows_and_columns(&call.outs[2]).0);
        let (mut u, mut v) = (Mat::<T>::zeros(a.nrows(), rows), Mat::<T>::zeros(a.ncols(), columns));
        let values = factor(&mut a, Some((&mut u, &mut v)), call.par)?;
        store::<T>(u.as_ref(), &call.outs[0]);
        store_run(values.column_vector().iter().copied(), &call.outs[1]);
        store::<T>(v.adjoint().to_owned().as_ref(), &call.outs[2]);
        Ok(())
    })
}

pub unsafe fn values(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let values = factor(&mut load::<T>(&call.ins[0]), None, call.par)?;
        store_run(values.column_vector().iter().copied(), &call.outs[0]);
        Ok(())
    })
}
