//! Eigenvalues and vectors of Hermitian matrices, of which one triangle is read.

use crate::batch::Call;
use crate::matrix::{Field, failed, is_finite, keep_triangle, load, store, store_run, typed};
use crate::{scale, tridiagonal};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{
    ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch, tridiagonal_self_adjoint_evd,
};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::prelude::ReborrowMut;
use faer::{ColRef, Conj, Mat, Par, c64};
use numloom_library::LibraryError;

pub const NOT_CONVERGED: &str = "Eigenvalues did not converge";

/// What comes of a matrix with a NaN or an infinity: nothing converges, but for two values at most.
fn without_numbers<T: Field>(n: usize, vectors: Option<&mut Mat<T>>) -> Result<Diag<T>, LibraryError> {
    if n > 2 {
        return failed(NOT_CONVERGED);
    }
    let nan = T::from_parts(f64::NAN, 0.0);
    vectors.into_iter().for_each(|v| v.fill(nan));
    Ok(Mat::from_fn(n, 1, |_, _| nan).col(0).to_owned().into_diagonal())
}

/// The values, from small to large. Reads the lower triangle, which is all there is.
fn factor<T: Field>(a: &Mat<T>, vectors: Option<&mut Mat<T>>, par: Par) -> Result<Diag<T>, LibraryError> {
    let n = a.nrows();
    let mut values = Diag::<T>::zeros(n);
    if !is_finite(a.as_ref()) {
        return without_numbers(n, vectors);
    }
    let kind = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<T>(n, kind, par, Default::default()));
    let stack = MemStack::new(&mut memory);
    let vectors = vectors.map(|v| v.as_mut());
    match self_adjoint_evd(a.as_ref(), values.as_mut(), vectors, par, stack, Default::default()) {
        Ok(()) => Ok(values),
        Err(_) => failed(NOT_CONVERGED),
    }
}

/// Symmetric matrices of this side or more are reduced by our own means, which use several workers.
const LARGE: usize = 128;

/// As `factor`, for real numbers that are far from overflow in their squares.
fn factor_real(a: Mat<f64>, vectors: Option<&mut Mat<f64>>, par: Par) -> Result<Diag<f64>, LibraryError> {
    let n = a.nrows();
    if !is_finite(a.as_ref()) {
        return without_numbers(n, vectors);
    }
    let largest = a.norm_max();
    if n < LARGE || !(1e-100..1e100).contains(&largest) {
        return factor(&a, vectors, par);
    }
    let t = tridiagonal::reduce(a, par);
    let (diagonal, below) = (ColRef::from_slice(&t.diagonal).as_diagonal(), ColRef::from_slice(&t.below).as_diagonal());
    let mut values = Diag::<f64>::zeros(n);
    let kind = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(n, kind, par, Default::default()));
    let mut vectors = vectors.map(|v| v.as_mut());
    let stack = MemStack::new(&mut memory);
    let room = vectors.rb_mut();
    if tridiagonal_self_adjoint_evd(diagonal, below, values.as_mut(), room, par, stack, Default::default()).is_err() {
        return failed(NOT_CONVERGED);
    }
    if let Some(vectors) = vectors {
        let block = t.coefficients.nrows();
        let request = apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(n - 1, block, n);
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            t.reflections.submatrix(1, 0, n - 1, n - 1),
            t.coefficients.as_ref(),
            Conj::No,
            vectors.subrows_mut(1, n - 1),
            par,
            MemStack::new(&mut MemBuffer::new(request)),
        );
    }
    Ok(values)
}

/// A type with its way to the eigenvalues of Hermitian matrices.
trait Hermitian: Field {
    fn eigen(a: Mat<Self>, vectors: Option<&mut Mat<Self>>, par: Par) -> Result<Diag<Self>, LibraryError>;
}

impl Hermitian for f64 {
    fn eigen(a: Mat<f64>, vectors: Option<&mut Mat<f64>>, par: Par) -> Result<Diag<f64>, LibraryError> {
        factor_real(a, vectors, par)
    }
}

impl Hermitian for c64 {
    fn eigen(a: Mat<c64>, vectors: Option<&mut Mat<c64>>, par: Par) -> Result<Diag<c64>, LibraryError> {
        factor(&a, vectors, par)
    }
}

/// The lower triangle, or the upper one turned over. Nothing is known of the other one, nor of the imaginary parts of the
/// diagonal.
unsafe fn lower_triangle<T: Field>(call: &Call<'_>) -> Mat<T> {
    let a = load::<T>(&call.ins[0]);
    let mut a = if call.option { a.adjoint().to_owned() } else { a };
    keep_triangle(a.as_mut(), true);
    for i in 0..a.nrows() {
        a[(i, i)] = T::from_parts(a[(i, i)].parts().0, 0.0);
    }
    a
}

pub unsafe fn eigh(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let mut a = lower_triangle::<T>(call);
        let e = scale::near_one(&mut a);
        let mut vectors = Mat::<T>::zeros(a.nrows(), a.nrows());
        let values = T::eigen(a, Some(&mut vectors), call.par)?;
        store_run(values.column_vector().iter().map(|&x| scale::moved(x, e)), &call.outs[0]);
        store::<T>(vectors.as_ref(), &call.outs[1]);
        Ok(())
    })
}

pub unsafe fn values(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let mut a = lower_triangle::<T>(call);
        let e = scale::near_one(&mut a);
        let values = T::eigen(a, None, call.par)?;
        store_run(values.column_vector().iter().map(|&x| scale::moved(x, e)), &call.outs[0]);
        Ok(())
    })
}
