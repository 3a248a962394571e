//! QR factorisations by Householder reflections.

use crate::batch::Call;
use crate::complex_qr;
use crate::matrix::{Field, is_finite, keep_triangle, load, rows_and_columns, store, typed};
use crate::scale;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::{Conj, Mat, Par, c64};
use numloom_library::{LibraryError, RawView};

/// The reflections below the diagonal with R above it, and their coefficients block by block; and whether all of the
/// matrix was finite.
fn reflect<T: Field>(mut a: Mat<T>, par: Par) -> (Mat<T>, Mat<T>, bool) {
    let (m, n) = a.shape();
    let spoilt: Vec<usize> = (0..n).filter(|&j| !is_finite(a.as_ref().subcols(j, 1))).collect();
    let block = recommended_block_size::<T>(m, n).max(1);
    let mut coefficients = Mat::<T>::zeros(block, m.min(n));
    let mut memory = MemBuffer::new(qr_in_place_scratch::<T>(m, n, block, par, Default::default()));
    qr_in_place(a.as_mut(), coefficients.as_mut(), par, MemStack::new(&mut memory), Default::default());
    // A reflection of what is not finite would come out as none at all.
    for j in spoilt.first().map_or(n, |&first| first)..n {
        let from = if spoilt.contains(&j) { 0 } else { spoilt[0] };
        (from..m.min(j + 1)).for_each(|i| a[(i, j)] = T::from_parts(f64::NAN, 0.0));
    }
    (a, coefficients, spoilt.is_empty())
}

/// The same for complex ones, of the matrix divided by a power of two, and which one.
unsafe fn reflect_complex(a: &RawView) -> (Mat<c64>, Vec<c64>, i32) {
    let mut factors = load::<c64>(a);
    let e = scale::near_one(&mut factors);
    let tau = complex_qr::reflect(&mut factors);
    (factors, tau, e)
}

/// R, times a power of two.
unsafe fn store_r<T: Field>(factors: &Mat<T>, e: i32, view: &RawView) {
    let rows = rows_and_columns(view).0;
    let part = factors.subrows(0, rows);
    let mut r = Mat::from_fn(rows, part.ncols(), |i, j| scale::moved(part[(i, j)], e));
    keep_triangle(r.as_mut(), false);
    store::<T>(r.as_ref(), view);
}

/// Q with as many columns as its view has, R with as many rows as its view.
pub unsafe fn qr(call: &Call<'_>) -> Result<(), LibraryError> {
    if call.outs[0].dtype.is_complex() {
        let (factors, tau, e) = reflect_complex(&call.ins[0]);
        let columns = rows_and_columns(&call.outs[0]).1;
        store::<c64>(complex_qr::unitary(&factors, &tau, columns).as_ref(), &call.outs[0]);
        store_r(&factors, e, &call.outs[1]);
        return Ok(());
    }
    typed!(call.outs[0].dtype, T => {
        let (factors, coefficients, finite) = reflect(load::<T>(&call.ins[0]), call.par);
        let (m, columns) = rows_and_columns(&call.outs[0]);
        let mut q = Mat::<T>::identity(m, columns);
        if coefficients.ncols() > 0 {
            let size = coefficients.ncols();
            let request =
                apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(m, coefficients.nrows(), columns);
            apply_block_householder_sequence_on_the_left_in_place_with_conj(
                factors.subcols(0, size),
                coefficients.as_ref(),
                Conj::No,
                q.as_mut(),
                call.par,
                MemStack::new(&mut MemBuffer::new(request)),
            );
        }
        if !finite {
            q.fill(T::from_parts(f64::NAN, 0.0));
        }
        store::<T>(q.as_ref(), &call.outs[0]);
        store_r(&factors, 0, &call.outs[1]);
        Ok(())
    })
}

pub unsafe fn r_only(call: &Call<'_>) -> Result<(), LibraryError> {
    if call.outs[0].dtype.is_complex() {
        let (factors, _, e) = reflect_complex(&call.ins[0]);
        store_r(&factors, e, &call.outs[0]);
        return Ok(());
    }
    typed!(call.outs[0].dtype, T => {
        let (factors, ..) = reflect(load::<T>(&call.ins[0]), call.par);
        store_r(&factors, 0, &call.outs[0]);
        Ok(())
    })
}
