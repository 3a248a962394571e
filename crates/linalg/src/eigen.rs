//! Eigenvalues and vectors of Hermitian matrices, of which one triangle is read.

use crate::batch::Call;
use crate::matrix::{Field, failed, is_finite, load, store, store_run, typed};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, Par};
use numloom_library::LibraryError;

const NOT_CONVERGED: &str = "Eigenvalues did not converge";

/// The values, from small to large. Reads the lower triangle.
fn factor<T: Field>(a: &Mat<T>, vectors: Option<&mut Mat<T>>, par: Par) -> Result<Diag<T>, LibraryError> {
    let n = a.nrows();
    let mut values = Diag::<T>::zeros(n);
    if !is_finite(a.as_ref()) {
        return failed(NOT_CONVERGED);
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

unsafe fn lower_triangle<T: Field>(call: &Call<'_>) -> Mat<T> {
    let a = load::<T>(&call.ins[0]);
    if call.option { a.adjoint().to_owned() } else { a }
}

pub unsafe fn eigh(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let a = lower_triangle::<T>(call);
        let mut vectors = Mat::<T>::zeros(a.nrows(), a.nrows());
        let values = factor(&a, Some(&mut vectors), call.par)?;
        store_run(values.column_vector().iter().copied(), &call.outs[0]);
        store::<T>(vectors.as_ref(), &call.outs[1]);
        Ok(())
    })
}

pub unsafe fn values(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let values = factor(&lower_triangle::<T>(call), None, call.par)?;
        store_run(values.column_vector().iter().copied(), &call.outs[0]);
        Ok(())
    })
}
