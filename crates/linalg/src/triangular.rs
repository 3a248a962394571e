//! Systems with a triangular matrix; the other triangle is not looked at.

use crate::batch::Call;
use crate::matrix::{Field, failed, load, store, typed};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place, solve_unit_upper_triangular_in_place,
    solve_upper_triangular_in_place,
};
use numloom_library::LibraryError;

/// The error of a zero on the diagonal, in SciPy's words.
pub fn singular(diagonal: usize) -> Result<(), LibraryError> {
    failed(&format!("singular matrix: resolution failed at diagonal {diagonal}"))
}

pub unsafe fn solve(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let (a, mut x) = (load::<T>(&call.ins[0]), load::<T>(&call.ins[1]));
        if let Some(i) = (0..a.nrows()).find(|&i| a[(i, i)].parts() == (0.0, 0.0)) {
            return singular(i);
        }
        if call.option {
            solve_lower_triangular_in_place(a.as_ref(), x.as_mut(), call.par);
        } else {
            solve_upper_triangular_in_place(a.as_ref(), x.as_mut(), call.par);
        }
        store::<T>(x.as_ref(), &call.outs[0]);
        Ok(())
    })
}

/// The diagonal is taken to be ones.
pub unsafe fn solve_unit(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let (a, mut x) = (load::<T>(&call.ins[0]), load::<T>(&call.ins[1]));
        if call.option {
            solve_unit_lower_triangular_in_place(a.as_ref(), x.as_mut(), call.par);
        } else {
            solve_unit_upper_triangular_in_place(a.as_ref(), x.as_mut(), call.par);
        }
        store::<T>(x.as_ref(), &call.outs[0]);
        Ok(())
    })
}
