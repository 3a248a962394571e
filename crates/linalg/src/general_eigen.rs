//! Eigenvalues and vectors of any square matrix, as complex numbers.

use crate::balance::balance;
use crate::batch::Call;
use crate::matrix::{Field, failed, load, store, store_run};
use crate::scale;
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, evd_cplx, evd_real, evd_scratch};
use faer::{Mat, MatRef, Par, c64};
use numloom_library::{LibraryError, RawView};

pub const NOT_CONVERGED: &str = "Eigenvalues did not converge";

unsafe fn decompose(a: &RawView, vectors: bool, par: Par) -> Result<Found, LibraryError> {
    let (e, found) = if a.dtype.is_complex() {
        let mut a = load(a);
        (scale::near_one(&mut a), balanced(a, |a| complex(a, vectors, par))?)
    } else {
        let mut a = load(a);
        (scale::near_one(&mut a), balanced(a, |a| real(a, vectors, par))?)
    };
    let (values, vectors) = found;
    Ok((values.into_iter().map(|x| scale::moved(x, e)).collect(), vectors))
}

type Found = (Vec<c64>, Option<Mat<c64>>);

fn balanced<T: Field>(
    mut a: Mat<T>,
    decompose: impl FnOnce(&Mat<T>) -> Result<Found, LibraryError>,
) -> Result<Found, LibraryError> {
    let balance = balance(&mut a);
    let (values, mut vectors) = decompose(&a)?;
    if let Some(vectors) = &mut vectors {
        balance.undo(vectors);
        normalise(vectors);
    }
    Ok((values, vectors))
}

fn kind(vectors: bool) -> ComputeEigenvectors {
    if vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No }
}

fn complex(a: &Mat<c64>, vectors: bool, par: Par) -> Result<Found, LibraryError> {
    let n = a.nrows();
    let mut values = Diag::<c64>::zeros(n);
    let mut right = vectors.then(|| Mat::<c64>::zeros(n, n));
    let mut memory =
        MemBuffer::new(evd_scratch::<c64>(n, ComputeEigenvectors::No, kind(vectors), par, Default::default()));
    let stack = MemStack::new(&mut memory);
    let room = right.as_mut().map(|r| r.as_mut());
    if evd_cplx(a.as_ref(), values.as_mut(), None, room, par, stack, Default::default()).is_err() {
        return failed(NOT_CONVERGED);
    }
    Ok((values.column_vector().iter().copied().collect(), right))
}

fn real(a: &Mat<f64>, vectors: bool, par: Par) -> Result<Found, LibraryError> {
    let n = a.nrows();
    let (mut re, mut im) = (Diag::<f64>::zeros(n), Diag::<f64>::zeros(n));
    let mut packed = vectors.then(|| Mat::<f64>::zeros(n, n));
    let mut memory =
        MemBuffer::new(evd_scratch::<f64>(n, ComputeEigenvectors::No, kind(vectors), par, Default::default()));
    let stack = MemStack::new(&mut memory);
    let room = packed.as_mut().map(|r| r.as_mut());
    if evd_real(a.as_ref(), re.as_mut(), im.as_mut(), None, room, par, stack, Default::default()).is_err() {
        return failed(NOT_CONVERGED);
    }
    let values: Vec<c64> = (0..n).map(|i| c64::new(re.column_vector()[i], im.column_vector()[i])).collect();
    let right = packed.map(|p| unpacked(p.as_ref(), &values));
    Ok((values, right))
}

/// A pair of conjugate values shares two columns: the real and the imaginary part of the first one's vector.
pub fn unpacked(packed: MatRef<'_, f64>, values: &[c64]) -> Mat<c64> {
    let n = values.len();
    let mut right = Mat::<c64>::zeros(n, n);
    let mut j = 0;
    while j < n {
        let pair = values[j].im != 0.0 && j + 1 < n;
        for i in 0..n {
            if pair {
                right[(i, j)] = c64::new(packed[(i, j)], packed[(i, j + 1)]);
                right[(i, j + 1)] = c64::new(packed[(i, j)], -packed[(i, j + 1)]);
            } else {
                right[(i, j)] = c64::new(packed[(i, j)], 0.0);
            }
        }
        j += 1 + pair as usize;
    }
    right
}

/// Vectors of length one, as LAPACK gives them: the largest component of a complex one is real.
fn normalise(vectors: &mut Mat<c64>) {
    for j in 0..vectors.ncols() {
        let column = vectors.col(j);
        let length = column.norm_l2();
        if length == 0.0 || !length.is_finite() {
            continue;
        }
        let largest = column.iter().copied().max_by(|a, b| a.norm_sqr().total_cmp(&b.norm_sqr()));
        let turn = match largest {
            Some(z) if z.im != 0.0 => z.conj() / z.norm(),
            _ => c64::new(1.0, 0.0),
        };
        for i in 0..vectors.nrows() {
            vectors[(i, j)] = vectors[(i, j)] * turn / length;
        }
    }
}

pub unsafe fn eig(call: &Call<'_>) -> Result<(), LibraryError> {
    let (values, vectors) = decompose(&call.ins[0], true, call.par)?;
    store_run(values, &call.outs[0]);
    if let Some(vectors) = vectors {
        store::<c64>(vectors.as_ref(), &call.outs[1]);
    }
    Ok(())
}

pub unsafe fn values(call: &Call<'_>) -> Result<(), LibraryError> {
    let (values, _) = decompose(&call.ins[0], false, call.par)?;
    store_run(values, &call.outs[0]);
    Ok(())
}
