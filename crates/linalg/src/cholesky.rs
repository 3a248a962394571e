//! The Cholesky factor of a Hermitian, positive definite matrix.

use crate::batch::Call;
use crate::matrix::{Field, failed, keep_triangle, load, store, typed};
use faer::Mat;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use numloom_library::LibraryError;

pub const NOT_POSITIVE: &str = "Matrix is not positive definite";

/// Like LAPACK, only one triangle is read: the lower one, or with the option the upper one.
pub unsafe fn cholesky(call: &Call<'_>) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let upper = call.option;
        let a = load::<T>(&call.ins[0]);
        let n = a.nrows();
        let mut l = if upper { a.adjoint().to_owned() } else { a };
        let mut memory = MemBuffer::new(cholesky_in_place_scratch::<T>(n, call.par, Default::default()));
        let done =
            cholesky_in_place(l.as_mut(), Default::default(), call.par, MemStack::new(&mut memory), Default::default());
        let positive = done.is_ok() && (0..n).all(|i| l[(i, i)].parts().0 > 0.0);
        if !positive {
            let a = load::<T>(&call.ins[0]);
            l = if upper { a.adjoint().to_owned() } else { a };
            if !with_care(&mut l) {
                return failed(NOT_POSITIVE);
            }
        }
        keep_triangle(l.as_mut(), true);
        for i in 0..n {
            l[(i, i)] = T::from_parts(l[(i, i)].parts().0, 0.0);
        }
        if upper {
            store::<T>(l.adjoint().to_owned().as_ref(), &call.outs[0]);
        } else {
            store::<T>(l.as_ref(), &call.outs[0]);
        }
        Ok(())
    })
}

/// Column by column, in place; false where a square is not above zero. As in NumPy, that is not said of NaN, which goes on
/// into what hangs on it.
fn with_care<T: Field>(a: &mut Mat<T>) -> bool {
    let n = a.nrows();
    for j in 0..n {
        let rest = (0..j).fold(a[(j, j)].parts().0, |rest, k| {
            let (re, im) = a[(j, k)].parts();
            rest - (re * re + im * im)
        });
        if rest <= 0.0 {
            return false;
        }
        let root = T::from_parts(rest.sqrt(), 0.0);
        a[(j, j)] = root;
        for i in j + 1..n {
            let turned = |(re, im): (f64, f64)| T::from_parts(re, -im);
            let rest = (0..j).fold(a[(i, j)], |rest, k| rest - a[(i, k)] * turned(a[(j, k)].parts()));
            let (re, im) = rest.parts();
            a[(i, j)] = T::from_parts(re / root.parts().0, im / root.parts().0);
        }
    }
    true
}
