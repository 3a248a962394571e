//! The rows by LAPACK, with the routines that NumPy calls, for one large matrix. The library divides the work among
//! threads of its own; work areas are counted as all scratch is.

use crate::batch::Call;
use crate::cholesky::NOT_POSITIVE;
use crate::lu::{Pivots, SINGULAR, no_inverse};
use crate::matrix::{Field, copy_columns, failed, is_finite, keep_triangle, rows_and_columns, store, store_run, typed};
use crate::{eigen, general_eigen, least_squares, svd as own_svd, triangular};
use faer::{MatMut, MatRef, c64};
use numloom_blas::{Blas, Factors};
use numloom_library::{Buffer, LibraryError, RawView};
use std::marker::PhantomData;

/// A matrix whose columns lie one after another without a gap.
struct Columns<T> {
    buffer: Buffer,
    rows: usize,
    cols: usize,
    of: PhantomData<T>,
}

impl<T: Field> Columns<T> {
    fn new(rows: usize, cols: usize) -> Result<Columns<T>, LibraryError> {
        Ok(Columns { buffer: Buffer::new::<T>(rows.saturating_mul(cols))?, rows, cols, of: PhantomData })
    }

    unsafe fn load(view: &RawView) -> Result<Columns<T>, LibraryError> {
        let (rows, cols) = rows_and_columns(view);
        let made = Columns::new(rows, cols)?;
        copy_columns(view, made.ptr(), rows as isize);
        Ok(made)
    }

    fn ptr(&self) -> *mut T {
        self.buffer.as_ptr()
    }

    /// The upper left corner.
    unsafe fn corner(&self, rows: usize, cols: usize) -> MatRef<'_, T> {
        MatRef::from_raw_parts(self.ptr(), rows, cols, 1, self.rows as isize)
    }

    unsafe fn all(&self) -> MatRef<'_, T> {
        self.corner(self.rows, self.cols)
    }

    unsafe fn all_mut(&mut self) -> MatMut<'_, T> {
        MatMut::from_raw_parts_mut(self.ptr(), self.rows, self.cols, 1, self.rows as isize)
    }
}

/// A size that a routine wrote as a number of its type.
fn asked<T: Field>(size: T) -> usize {
    (size.parts().0 as usize).max(1)
}

fn zero<T: Field>() -> T {
    T::from_parts(0.0, 0.0)
}

/// LAPACK's refusal of an argument: a mistake here, not in the program.
fn refused(routine: &str, info: i64) -> LibraryError {
    LibraryError::Value(format!("{routine} refused argument {}", -info))
}

/// Whether rows of the type's own elements lie one after another without a gap.
fn lies_in_rows<T: Field>(view: &RawView) -> bool {
    let size = size_of::<T>();
    let (_, cols) = rows_and_columns(view);
    view.dtype == T::DTYPE
        && view.strides[..] == [(cols * size) as isize, size as isize]
        && view.ptr.addr().is_multiple_of(8)
}

pub unsafe fn cholesky(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        if lies_in_rows::<T>(&call.ins[0]) && lies_in_rows::<T>(&call.outs[0]) {
            // Rows read as columns are the transposed matrix, whose other triangle has what is asked for, and whose
            // factor is the transposed one: it is made in place, where the result belongs.
            let ((n, _), made) = (rows_and_columns(&call.outs[0]), call.outs[0].ptr.cast::<T>());
            call.ins[0].ptr.cast::<T>().copy_to(made, n * n);
            if T::potrf(blas, if call.option { b'L' } else { b'U' }, n, made) != 0 {
                return failed(NOT_POSITIVE);
            }
            keep_triangle(MatMut::from_raw_parts_mut(made, n, n, 1, n as isize), call.option);
            return Ok(());
        }
        let mut a = Columns::<T>::load(&call.ins[0])?;
        if T::potrf(blas, if call.option { b'U' } else { b'L' }, a.rows, a.ptr()) != 0 {
            return failed(NOT_POSITIVE);
        }
        keep_triangle(a.all_mut(), !call.option);
        store::<T>(a.all(), &call.outs[0]);
        Ok(())
    })
}

pub unsafe fn solve(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let (a, x) = (Columns::<T>::load(&call.ins[0])?, Columns::<T>::load(&call.ins[1])?);
        let places = Buffer::new::<i64>(a.rows)?;
        if T::gesv(blas, a.rows, x.cols, a.ptr(), places.as_ptr(), x.ptr()) != 0 {
            return failed(SINGULAR);
        }
        store::<T>(x.all(), &call.outs[0]);
        Ok(())
    })
}

pub unsafe fn inv(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let a = Columns::<T>::load(&call.ins[0])?;
        let n = a.rows;
        let mut x = Columns::<T>::new(n, n)?;
        x.all_mut().fill(zero());
        (0..n).for_each(|i| x.all_mut()[(i, i)] = T::from_parts(1.0, 0.0));
        let places = Buffer::new::<i64>(n)?;
        let info = T::gesv(blas, n, n, a.ptr(), places.as_ptr(), x.ptr());
        match (info, call.option) {
            (0, _) => store::<T>(x.all(), &call.outs[0]),
            (_, true) => store::<T>(no_inverse::<T>(n).as_ref(), &call.outs[0]),
            (_, false) => return failed(SINGULAR),
        }
        Ok(())
    })
}

unsafe fn pivots<T: Field>(view: &RawView, blas: &Blas) -> Result<Pivots<T>, LibraryError> {
    let a = Columns::<T>::load(view)?;
    let places = Buffer::new::<i64>(a.rows)?;
    let info = T::getrf(blas, a.rows, a.ptr(), places.as_ptr());
    if info < 0 {
        return Err(refused("getrf", info));
    }
    let exchanges = (0..a.rows).filter(|&i| blas.integer(places.as_ptr(), i) != i as i64 + 1).count();
    Ok(Pivots { values: (0..a.rows).map(|i| a.all()[(i, i)]).collect(), odd: exchanges % 2 == 1 })
}

pub unsafe fn det(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        pivots::<T>(&call.ins[0], blas)?.store_product(&call.outs[0]);
        Ok(())
    })
}

pub unsafe fn slogdet(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        pivots::<T>(&call.ins[0], blas)?.store_sign_and_log(call.outs);
        Ok(())
    })
}

/// The reflections below the diagonal with R above it, and their coefficients.
unsafe fn reflect<T: Field>(a: &Columns<T>, blas: &Blas) -> Result<Buffer, LibraryError> {
    let (m, n) = (a.rows, a.cols);
    let tau = Buffer::new::<T>(m.min(n))?;
    let mut size = zero::<T>();
    T::geqrf(blas, m, n, a.ptr(), tau.as_ptr(), &mut size, -1);
    let work = Buffer::new::<T>(asked(size))?;
    match T::geqrf(blas, m, n, a.ptr(), tau.as_ptr(), work.as_ptr(), asked(size) as i64) {
        0 => Ok(tau),
        info => Err(refused("geqrf", info)),
    }
}

unsafe fn store_r<T: Field>(factors: &Columns<T>, view: &RawView) -> Result<(), LibraryError> {
    let (rows, cols) = rows_and_columns(view);
    let mut r = Columns::<T>::new(rows, cols)?;
    r.all_mut().copy_from(factors.corner(rows, cols));
    keep_triangle(r.all_mut(), false);
    store::<T>(r.all(), view);
    Ok(())
}

pub unsafe fn qr(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let mut q = Columns::<T>::load(&call.ins[0])?;
        let tau = reflect(&q, blas)?;
        store_r(&q, &call.outs[1])?;
        let (m, columns, size) = (q.rows, rows_and_columns(&call.outs[0]).1, q.rows.min(q.cols));
        if columns > q.cols {
            let wide = Columns::<T>::new(m, columns)?;
            std::ptr::copy_nonoverlapping(q.ptr(), wide.ptr(), m * size);
            q = wide;
        }
        let mut room = zero::<T>();
        T::orgqr(blas, m, columns, size, q.ptr(), tau.as_ptr(), &mut room, -1);
        let work = Buffer::new::<T>(asked(room))?;
        let info = T::orgqr(blas, m, columns, size, q.ptr(), tau.as_ptr(), work.as_ptr(), asked(room) as i64);
        if info != 0 {
            return Err(refused("orgqr", info));
        }
        store::<T>(q.corner(m, columns), &call.outs[0]);
        Ok(())
    })
}

pub unsafe fn r_only(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let a = Columns::<T>::load(&call.ins[0])?;
        reflect(&a, blas)?;
        store_r(&a, &call.outs[0])
    })
}

/// `job`: A for all vectors, S for as many as there are values, N for none.
unsafe fn singular<T: Field>(
    a: &Columns<T>,
    job: u8,
    u: *mut T,
    vt: *mut T,
    vt_rows: usize,
    blas: &Blas,
) -> Result<Buffer, LibraryError> {
    let (m, n) = (a.rows, a.cols);
    let (least, most) = (m.min(n), m.max(n));
    let values = Buffer::new::<f64>(least)?;
    let ints = Buffer::new::<i64>(8 * least)?;
    let real = if job == b'N' { 7 * least } else { (5 * least + 7).max(2 * most + 2 * least + 1) * least };
    let real = Buffer::new::<f64>(if T::IS_REAL { 0 } else { real })?;
    let run = |work: *mut T, size: i64| {
        let (s, a) = (values.as_ptr(), a.ptr());
        T::gesdd(blas, job, m, n, a, s, u, vt, vt_rows, work, size, real.as_ptr(), ints.as_ptr())
    };
    let mut size = zero::<T>();
    run(&mut size, -1);
    let work = Buffer::new::<T>(asked(size))?;
    match run(work.as_ptr(), asked(size) as i64) {
        0 => Ok(values),
        _ => failed(own_svd::NOT_CONVERGED),
    }
}

pub unsafe fn svd(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let a = Columns::<T>::load(&call.ins[0])?;
        if !is_finite(a.all()) {
            return own_svd::svd(call);
        }
        let (rows, columns) = (rows_and_columns(&call.outs[0]).1, rows_and_columns(&call.outs[2]).0);
        let (u, vt) = (Columns::<T>::new(a.rows, rows)?, Columns::<T>::new(columns, a.cols)?);
        let job = if rows.max(columns) > a.rows.min(a.cols) { b'A' } else { b'S' };
        let values = singular(&a, job, u.ptr(), vt.ptr(), columns, blas)?;
        store::<T>(u.all(), &call.outs[0]);
        store_reals(&values, a.rows.min(a.cols), &call.outs[1]);
        store::<T>(vt.all(), &call.outs[2]);
        Ok(())
    })
}

pub unsafe fn svdvals(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let a = Columns::<T>::load(&call.ins[0])?;
        if !is_finite(a.all()) {
            return own_svd::values(call);
        }
        let (mut u, mut vt) = (zero::<T>(), zero::<T>());
        let values = singular(&a, b'N', &mut u, &mut vt, 1, blas)?;
        store_reals(&values, a.rows.min(a.cols), &call.outs[0]);
        Ok(())
    })
}

unsafe fn store_reals(from: &Buffer, n: usize, view: &RawView) {
    store_run((0..n).map(|i| *from.as_ptr::<f64>().add(i)), view);
}

/// The values, from small to large; the vectors, if wanted, are where the matrix was.
unsafe fn hermitian<T: Field>(a: &Columns<T>, upper: bool, vectors: bool, blas: &Blas) -> Result<Buffer, LibraryError> {
    let n = a.rows;
    // The other triangle is not read, whatever is there.
    let read = |j: usize| if upper { 0..j + 1 } else { j..n };
    if !(0..n).all(|j| is_finite(a.all().subcols(j, 1).subrows(read(j).start, read(j).len()))) {
        return failed(eigen::NOT_CONVERGED);
    }
    let (job, uplo) = (if vectors { b'V' } else { b'N' }, if upper { b'U' } else { b'L' });
    let values = Buffer::new::<f64>(n)?;
    let run = |work: *mut T, size, real: *mut f64, reals, ints: *mut i64, places| {
        T::syevd(blas, job, uplo, n, a.ptr(), values.as_ptr(), work, size, real, reals, ints, places)
    };
    let (mut size, mut reals, mut places) = (zero::<T>(), 0f64, 0i64);
    run(&mut size, -1, &mut reals, -1, &mut places, -1);
    let (size, reals, places) = (asked(size), asked(reals), places.max(1) as usize);
    let (work, real, ints) = (Buffer::new::<T>(size)?, Buffer::new::<f64>(reals)?, Buffer::new::<i64>(places)?);
    match run(work.as_ptr(), size as i64, real.as_ptr(), reals as i64, ints.as_ptr(), places as i64) {
        0 => Ok(values),
        _ => failed(eigen::NOT_CONVERGED),
    }
}

pub unsafe fn eigh(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let a = Columns::<T>::load(&call.ins[0])?;
        let values = hermitian(&a, call.option, true, blas)?;
        store_reals(&values, a.rows, &call.outs[0]);
        store::<T>(a.all(), &call.outs[1]);
        Ok(())
    })
}

pub unsafe fn eigvalsh(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.ins[0].dtype, T => {
        let a = Columns::<T>::load(&call.ins[0])?;
        let values = hermitian(&a, call.option, false, blas)?;
        store_reals(&values, a.rows, &call.outs[0]);
        Ok(())
    })
}

/// The values as `geev` leaves them, and the vectors if they are wanted.
unsafe fn general<T: Field>(
    view: &RawView,
    vectors: bool,
    blas: &Blas,
) -> Result<(Buffer, Option<Columns<T>>), LibraryError> {
    let a = Columns::<T>::load(view)?;
    let n = a.rows;
    let values = Buffer::new::<f64>(2 * n)?;
    let right = if vectors { Some(Columns::<T>::new(n, n)?) } else { None };
    let real = Buffer::new::<f64>(if T::IS_REAL { 0 } else { 2 * n })?;
    let mut none = zero::<T>();
    let to = right.as_ref().map_or(&raw mut none, |r| r.ptr());
    let job = if vectors { b'V' } else { b'N' };
    let run = |work: *mut T, size| T::geev(blas, job, n, a.ptr(), values.as_ptr(), to, work, size, real.as_ptr());
    let mut size = zero::<T>();
    run(&mut size, -1);
    let work = Buffer::new::<T>(asked(size))?;
    match run(work.as_ptr(), asked(size) as i64) {
        0 => Ok((values, right)),
        _ => failed(general_eigen::NOT_CONVERGED),
    }
}

unsafe fn store_general(call: &Call<'_>, vectors: bool, blas: &Blas) -> Result<(), LibraryError> {
    let n = rows_and_columns(&call.ins[0]).0;
    if call.ins[0].dtype.is_complex() {
        let (values, right) = general::<c64>(&call.ins[0], vectors, blas)?;
        store_run((0..n).map(|i| *values.as_ptr::<c64>().add(i)), &call.outs[0]);
        if let Some(right) = right {
            store::<c64>(right.all(), &call.outs[1]);
        }
        return Ok(());
    }
    let (values, right) = general::<f64>(&call.ins[0], vectors, blas)?;
    let at = |i: usize| *values.as_ptr::<f64>().add(i);
    let values: Vec<c64> = (0..n).map(|i| c64::new(at(i), at(n + i))).collect();
    if let Some(right) = right {
        store::<c64>(general_eigen::unpacked(right.all(), &values).as_ref(), &call.outs[1]);
    }
    store_run(values, &call.outs[0]);
    Ok(())
}

pub unsafe fn eig(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    store_general(call, true, blas)
}

pub unsafe fn eigvals(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    store_general(call, false, blas)
}

pub unsafe fn lstsq(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let a = Columns::<T>::load(&call.ins[0])?;
        let ((m, n), right) = ((a.rows, a.cols), rows_and_columns(&call.ins[1]).1);
        // Room for the larger of right side and solution.
        let mut b = Columns::<T>::new(m.max(n), right)?;
        b.all_mut().fill(zero());
        copy_columns(&call.ins[1], b.ptr(), b.rows as isize);
        if !is_finite(a.all()) {
            return failed(least_squares::NOT_CONVERGED);
        }
        let (share, values) = (least_squares::threshold(call), Buffer::new::<f64>(m.min(n))?);
        let mut rank = 0i64;
        let mut run = |work: *mut T, size, real: *mut f64, ints: *mut i64| {
            let s = values.as_ptr();
            T::gelsd(blas, m, n, right, a.ptr(), b.ptr(), s, share, &mut rank, work, size, real, ints)
        };
        let (mut size, mut reals, mut places) = (zero::<T>(), 0f64, 0i64);
        run(&mut size, -1, &mut reals, &mut places);
        let (size, reals, places) = (asked(size), asked(reals), places.max(1) as usize);
        let (work, real, ints) = (Buffer::new::<T>(size)?, Buffer::new::<f64>(reals)?, Buffer::new::<i64>(places)?);
        if run(work.as_ptr(), size as i64, real.as_ptr(), ints.as_ptr()) != 0 {
            return failed(least_squares::NOT_CONVERGED);
        }
        store::<T>(b.corner(n, right), &call.outs[0]);
        least_squares::store_squares(b.all().subrows(n, b.rows - n), &call.outs[1]);
        least_squares::store_rank(blas.integer(&rank, 0) as usize, &call.outs[2])?;
        store_reals(&values, m.min(n), &call.outs[3]);
        Ok(())
    })
}

unsafe fn triangle(call: &Call<'_>, unit: bool, blas: &Blas) -> Result<(), LibraryError> {
    typed!(call.outs[0].dtype, T => {
        let (a, x) = (Columns::<T>::load(&call.ins[0])?, Columns::<T>::load(&call.ins[1])?);
        let (uplo, diag) = (if call.option { b'L' } else { b'U' }, if unit { b'U' } else { b'N' });
        let info = T::trtrs(blas, uplo, diag, a.rows, x.cols, a.ptr(), x.ptr());
        if info > 0 {
            return triangular::singular(info as usize - 1);
        }
        store::<T>(x.all(), &call.outs[0]);
        Ok(())
    })
}

pub unsafe fn solve_triangular(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    triangle(call, false, blas)
}

pub unsafe fn solve_unit_triangular(call: &Call<'_>, blas: &Blas) -> Result<(), LibraryError> {
    triangle(call, true, blas)
}
