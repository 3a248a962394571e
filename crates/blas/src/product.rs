//! Products of matrices that lie in memory as BLAS can read them.

use crate::Blas;
use crate::layout::{Columns, Strided, columns};
use crate::stack::{self, with_stack};
use crate::table::{Flag, Int, Length, Numbers, Table};
use num_complex::{Complex32, Complex64};

type Gemm = unsafe extern "C" fn(
    Flag,
    Flag,
    Int,
    Int,
    Int,
    Numbers,
    Numbers,
    Int,
    Numbers,
    Int,
    Numbers,
    Numbers,
    Int,
    Length,
    Length,
);
type Syrk = unsafe extern "C" fn(Flag, Flag, Int, Int, Numbers, Numbers, Int, Numbers, Numbers, Int, Length, Length);

/// A type that BLAS multiplies matrices of.
pub trait Product: Copy + 'static {
    const ZERO: Self;
    const ONE: Self;
    fn gemm(table: &Table) -> Gemm;
    fn syrk(table: &Table) -> Syrk;
}

macro_rules! products {
    ($($t:ty, $zero:expr, $one:expr, $gemm:ident, $syrk:ident;)*) => {$(
        impl Product for $t {
            const ZERO: $t = $zero;
            const ONE: $t = $one;
            fn gemm(table: &Table) -> Gemm {
                table.$gemm
            }
            fn syrk(table: &Table) -> Syrk {
                table.$syrk
            }
        }
    )*};
}
products! {
    f32, 0.0, 1.0, sgemm, ssyrk;
    f64, 0.0, 1.0, dgemm, dsyrk;
    Complex32, Complex32::new(0.0, 0.0), Complex32::new(1.0, 0.0), cgemm, csyrk;
    Complex64, Complex64::new(0.0, 0.0), Complex64::new(1.0, 0.0), zgemm, zsyrk;
}

/// Whether a matrix of these sides and steps (in elements) needs no copy.
pub fn fits(rows: usize, cols: usize, [row_step, col_step]: [isize; 2]) -> bool {
    columns(rows, cols, row_step, col_step).is_some()
}

fn flag(turned: bool) -> Flag {
    if turned { b"T".as_ptr() } else { b"N".as_ptr() }
}

/// `c = a b`, with all threads; whether it could be done.
///
/// # Safety
/// `a` is `m x k`, `b` is `k x n`, both readable; `c` is `m x n`, writeable and apart from both.
pub unsafe fn product<T: Product>(blas: &Blas, sides: [usize; 3], a: Strided<T>, b: Strided<T>, c: Strided<T>) -> bool {
    let [m, n, k] = sides;
    let seen = |x: &Strided<T>, rows, cols| columns(rows, cols, x.row_step, x.col_step);
    let (Some(la), Some(lb), Some(lc)) = (seen(&a, m, k), seen(&b, k, n), seen(&c, m, n)) else { return false };
    if !blas.takes(&[m, n, k, la.step as usize, lb.step as usize, lc.step as usize]) {
        return false;
    }
    let with_its_transpose = m == n && a.ptr == b.ptr && (a.row_step, a.col_step) == (b.col_step, b.row_step);
    let _threads = blas.hold_threads();
    with_stack(stack::PRODUCT, move || {
        if with_its_transpose {
            with_itself(blas, m, k, (a, la), (c, lc));
        } else {
            of_two(blas, sides, (a, la), (b, lb), (c, lc));
        }
    })
    .is_ok()
}

unsafe fn of_two<T: Product>(
    blas: &Blas,
    [m, n, k]: [usize; 3],
    (a, la): (Strided<T>, Columns),
    (b, lb): (Strided<T>, Columns),
    (c, lc): (Strided<T>, Columns),
) {
    // What lies by rows is the transpose of what lies by columns: (a b)' = b' a'.
    let (first, second, rows, cols) = if lc.turned {
        ((b.ptr, !lb.turned, lb.step), (a.ptr, !la.turned, la.step), n, m)
    } else {
        ((a.ptr, la.turned, la.step), (b.ptr, lb.turned, lb.step), m, n)
    };
    let (mut one, mut zero) = (T::ONE, T::ZERO);
    T::gemm(&blas.table)(
        flag(first.1),
        flag(second.1),
        &(rows as i64),
        &(cols as i64),
        &(k as i64),
        (&raw mut one).cast(),
        first.0.cast_mut().cast(),
        &first.2,
        second.0.cast_mut().cast(),
        &second.2,
        (&raw mut zero).cast(),
        c.ptr.cast_mut().cast(),
        &lc.step,
        1,
        1,
    );
}

/// A matrix times its own transpose: half of it is computed, the other half is a copy.
unsafe fn with_itself<T: Product>(
    blas: &Blas,
    m: usize,
    k: usize,
    (a, la): (Strided<T>, Columns),
    (c, lc): (Strided<T>, Columns),
) {
    let (mut one, mut zero) = (T::ONE, T::ZERO);
    T::syrk(&blas.table)(
        b"U".as_ptr(),
        flag(la.turned),
        &(m as i64),
        &(k as i64),
        (&raw mut one).cast(),
        a.ptr.cast_mut().cast(),
        &la.step,
        (&raw mut zero).cast(),
        c.ptr.cast_mut().cast(),
        &lc.step,
        1,
        1,
    );
    const BLOCK: usize = 32;
    let (to, step) = (c.ptr.cast_mut(), lc.step as usize);
    for j0 in (0..m).step_by(BLOCK) {
        for i0 in (0..=j0).step_by(BLOCK) {
            for j in j0..m.min(j0 + BLOCK) {
                for i in i0..j.min(i0 + BLOCK) {
                    *to.add(j + i * step) = *to.add(i + j * step);
                }
            }
        }
    }
}
