//! LAPACK's routines for matrices whose columns lie one after another without a gap, with values for arguments. Each
//! answers LAPACK's `info`. Where `lwork` is -1, a routine writes the sizes of its work areas at their starts instead.

use crate::Blas;
use num_complex::Complex64;

/// Double precision, real or complex. What a type has no use for (`real` of real numbers) is not looked at.
///
/// # Safety
/// Of every routine: as LAPACK's documentation says of the one by its name, with the least leading dimensions.
pub trait Factors: Copy + 'static {
    unsafe fn potrf(blas: &Blas, uplo: u8, n: usize, a: *mut Self) -> i64;
    unsafe fn getrf(blas: &Blas, n: usize, a: *mut Self, places: *mut i64) -> i64;
    unsafe fn gesv(blas: &Blas, n: usize, right: usize, a: *mut Self, places: *mut i64, b: *mut Self) -> i64;
    unsafe fn trtrs(blas: &Blas, uplo: u8, diag: u8, n: usize, right: usize, a: *mut Self, b: *mut Self) -> i64;
    unsafe fn geqrf(blas: &Blas, m: usize, n: usize, a: *mut Self, tau: *mut Self, work: *mut Self, lwork: i64) -> i64;
    unsafe fn orgqr(
        blas: &Blas,
        m: usize,
        n: usize,
        k: usize,
        a: *mut Self,
        tau: *mut Self,
        work: *mut Self,
        lwork: i64,
    ) -> i64;
    unsafe fn gesdd(
        blas: &Blas,
        jobz: u8,
        m: usize,
        n: usize,
        a: *mut Self,
        s: *mut f64,
        u: *mut Self,
        vt: *mut Self,
        vt_rows: usize,
        work: *mut Self,
        lwork: i64,
        real: *mut f64,
        ints: *mut i64,
    ) -> i64;
    unsafe fn syevd(
        blas: &Blas,
        jobz: u8,
        uplo: u8,
        n: usize,
        a: *mut Self,
        values: *mut f64,
        work: *mut Self,
        lwork: i64,
        real: *mut f64,
        lreal: i64,
        ints: *mut i64,
        lints: i64,
    ) -> i64;
    /// The values are `2 n` numbers: all real parts and then all imaginary ones of a real matrix, in pairs of a
    /// complex one.
    unsafe fn geev(
        blas: &Blas,
        jobvr: u8,
        n: usize,
        a: *mut Self,
        values: *mut f64,
        vectors: *mut Self,
        work: *mut Self,
        lwork: i64,
        real: *mut f64,
    ) -> i64;
    unsafe fn gelsd(
        blas: &Blas,
        m: usize,
        n: usize,
        right: usize,
        a: *mut Self,
        b: *mut Self,
        s: *mut f64,
        rcond: f64,
        rank: *mut i64,
        work: *mut Self,
        lwork: i64,
        real: *mut f64,
        ints: *mut i64,
    ) -> i64;
}

/// A leading dimension.
fn lead(rows: usize) -> i64 {
    rows.max(1) as i64
}

macro_rules! factors {
    (
        $t:ty, $potrf:ident, $getrf:ident, $gesv:ident, $trtrs:ident, $geqrf:ident, $orgqr:ident, $gesdd:ident,
        $syevd:ident, $geev:ident, $gelsd:ident, $($real:ident)?
    ) => {
        impl Factors for $t {
            unsafe fn potrf(blas: &Blas, uplo: u8, n: usize, a: *mut $t) -> i64 {
                let mut info = 0i64;
                (blas.table.$potrf)(&uplo, &(n as i64), a.cast(), &lead(n), &mut info, 1);
                blas.integer(&info, 0)
            }

            unsafe fn getrf(blas: &Blas, n: usize, a: *mut $t, places: *mut i64) -> i64 {
                let (mut info, side) = (0i64, n as i64);
                (blas.table.$getrf)(&side, &side, a.cast(), &lead(n), places, &mut info);
                blas.integer(&info, 0)
            }

            unsafe fn gesv(blas: &Blas, n: usize, right: usize, a: *mut $t, places: *mut i64, b: *mut $t) -> i64 {
                let (mut info, step) = (0i64, lead(n));
                (blas.table.$gesv)(
                    &(n as i64), &(right as i64), a.cast(), &step, places, b.cast(), &step, &mut info,
                );
                blas.integer(&info, 0)
            }

            unsafe fn trtrs(
                blas: &Blas, uplo: u8, diag: u8, n: usize, right: usize, a: *mut $t, b: *mut $t,
            ) -> i64 {
                let (mut info, step) = (0i64, lead(n));
                (blas.table.$trtrs)(
                    &uplo, &b'N', &diag, &(n as i64), &(right as i64), a.cast(), &step, b.cast(), &step, &mut info,
                    1, 1, 1,
                );
                blas.integer(&info, 0)
            }

            unsafe fn geqrf(
                blas: &Blas, m: usize, n: usize, a: *mut $t, tau: *mut $t, work: *mut $t, lwork: i64,
            ) -> i64 {
                let mut info = 0i64;
                (blas.table.$geqrf)(
                    &(m as i64), &(n as i64), a.cast(), &lead(m), tau.cast(), work.cast(), &lwork, &mut info,
                );
                blas.integer(&info, 0)
            }

            unsafe fn orgqr(
                blas: &Blas, m: usize, n: usize, k: usize, a: *mut $t, tau: *mut $t, work: *mut $t, lwork: i64,
            ) -> i64 {
                let mut info = 0i64;
                (blas.table.$orgqr)(
                    &(m as i64), &(n as i64), &(k as i64), a.cast(), &lead(m), tau.cast(), work.cast(), &lwork,
                    &mut info,
                );
                blas.integer(&info, 0)
            }

            #[allow(unused_variables)]
            unsafe fn gesdd(
                blas: &Blas, jobz: u8, m: usize, n: usize, a: *mut $t, s: *mut f64, u: *mut $t, vt: *mut $t,
                vt_rows: usize, work: *mut $t, lwork: i64, real: *mut f64, ints: *mut i64,
            ) -> i64 {
                let mut info = 0i64;
                (blas.table.$gesdd)(
                    &jobz, &(m as i64), &(n as i64), a.cast(), &lead(m), s, u.cast(), &lead(m), vt.cast(),
                    &lead(vt_rows), work.cast(), &lwork, $(factors!(@given $real real),)? ints, &mut info, 1,
                );
                blas.integer(&info, 0)
            }

            #[allow(unused_variables)]
            unsafe fn syevd(
                blas: &Blas, jobz: u8, uplo: u8, n: usize, a: *mut $t, values: *mut f64, work: *mut $t, lwork: i64,
                real: *mut f64, lreal: i64, ints: *mut i64, lints: i64,
            ) -> i64 {
                let mut info = 0i64;
                (blas.table.$syevd)(
                    &jobz, &uplo, &(n as i64), a.cast(), &lead(n), values, work.cast(), &lwork,
                    $(factors!(@given $real real), &lreal,)? ints, &lints, &mut info, 1, 1,
                );
                blas.integer(&info, 0)
            }

            unsafe fn geev(
                blas: &Blas, jobvr: u8, n: usize, a: *mut $t, values: *mut f64, vectors: *mut $t, work: *mut $t,
                lwork: i64, real: *mut f64,
            ) -> i64 {
                $geev(blas, jobvr, n, a, values, vectors, work, lwork, real)
            }

            #[allow(unused_variables)]
            unsafe fn gelsd(
                blas: &Blas, m: usize, n: usize, right: usize, a: *mut $t, b: *mut $t, s: *mut f64, rcond: f64,
                rank: *mut i64, work: *mut $t, lwork: i64, real: *mut f64, ints: *mut i64,
            ) -> i64 {
                let (mut info, mut rcond) = (0i64, rcond);
                (blas.table.$gelsd)(
                    &(m as i64), &(n as i64), &(right as i64), a.cast(), &lead(m), b.cast(), &lead(m.max(n)), s,
                    &mut rcond, rank, work.cast(), &lwork, $(factors!(@given $real real),)? ints, &mut info,
                );
                blas.integer(&info, 0)
            }
        }
    };
    // An argument that only complex routines have.
    (@given real $value:ident) => { $value };
}

unsafe fn real_geev(
    blas: &Blas,
    jobvr: u8,
    n: usize,
    a: *mut f64,
    values: *mut f64,
    vectors: *mut f64,
    work: *mut f64,
    lwork: i64,
    _: *mut f64,
) -> i64 {
    let (mut info, step) = (0i64, lead(n));
    (blas.table.dgeev)(
        &b'N',
        &jobvr,
        &(n as i64),
        a.cast(),
        &step,
        values,
        values.add(n),
        std::ptr::null_mut(),
        &step,
        vectors.cast(),
        &step,
        work.cast(),
        &lwork,
        &mut info,
        1,
        1,
    );
    blas.integer(&info, 0)
}

unsafe fn complex_geev(
    blas: &Blas,
    jobvr: u8,
    n: usize,
    a: *mut Complex64,
    values: *mut f64,
    vectors: *mut Complex64,
    work: *mut Complex64,
    lwork: i64,
    real: *mut f64,
) -> i64 {
    let (mut info, step) = (0i64, lead(n));
    (blas.table.zgeev)(
        &b'N',
        &jobvr,
        &(n as i64),
        a.cast(),
        &step,
        values.cast(),
        std::ptr::null_mut(),
        &step,
        vectors.cast(),
        &step,
        work.cast(),
        &lwork,
        real,
        &mut info,
        1,
        1,
    );
    blas.integer(&info, 0)
}

factors!(f64, dpotrf, dgetrf, dgesv, dtrtrs, dgeqrf, dorgqr, dgesdd, dsyevd, real_geev, dgelsd,);
factors!(Complex64, zpotrf, zgetrf, zgesv, ztrtrs, zgeqrf, zungqr, zgesdd, zheevd, complex_geev, zgelsd, real);
