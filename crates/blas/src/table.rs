//! The table of routines. Names are Fortran's; a library says them with a prefix and a suffix of its own. Every argument
//! is an address; behind them come the lengths of the texts among them, which Fortran passes unseen.

use std::ffi::c_void;

/// A letter that says what is wanted.
pub(crate) type Flag = *const u8;
pub(crate) type Int = *const i64;
pub(crate) type Ints = *mut i64;
pub(crate) type Reals = *mut f64;
/// Elements of the routine's type.
pub(crate) type Numbers = *mut c_void;
pub(crate) type Length = usize;

macro_rules! table {
    ($($name:ident($($arg:ty),*);)*) => {
        /// Where the routines are.
        #[derive(Clone, Copy)]
        pub struct Table {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*),)*
        }

        impl Table {
            /// All of them, by their plain names; nothing if one is missing.
            ///
            /// # Safety
            /// What `find` answers is a routine of LAPACK's (or BLAS's) by that name.
            pub(crate) unsafe fn load(mut find: impl FnMut(&str) -> *mut c_void) -> Option<Table> {
                $(
                    let $name = find(stringify!($name));
                    if $name.is_null() {
                        return None;
                    }
                )*
                Some(Table {
                    $($name: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*)>($name),)*
                })
            }
        }
    };
}

table! {
    sgemm(Flag, Flag, Int, Int, Int, Numbers, Numbers, Int, Numbers, Int, Numbers, Numbers, Int, Length, Length);
    dgemm(Flag, Flag, Int, Int, Int, Numbers, Numbers, Int, Numbers, Int, Numbers, Numbers, Int, Length, Length);
    cgemm(Flag, Flag, Int, Int, Int, Numbers, Numbers, Int, Numbers, Int, Numbers, Numbers, Int, Length, Length);
    zgemm(Flag, Flag, Int, Int, Int, Numbers, Numbers, Int, Numbers, Int, Numbers, Numbers, Int, Length, Length);
    ssyrk(Flag, Flag, Int, Int, Numbers, Numbers, Int, Numbers, Numbers, Int, Length, Length);
    dsyrk(Flag, Flag, Int, Int, Numbers, Numbers, Int, Numbers, Numbers, Int, Length, Length);
    csyrk(Flag, Flag, Int, Int, Numbers, Numbers, Int, Numbers, Numbers, Int, Length, Length);
    zsyrk(Flag, Flag, Int, Int, Numbers, Numbers, Int, Numbers, Numbers, Int, Length, Length);

    dpotrf(Flag, Int, Numbers, Int, Ints, Length);
    zpotrf(Flag, Int, Numbers, Int, Ints, Length);
    dgetrf(Int, Int, Numbers, Int, Ints, Ints);
    zgetrf(Int, Int, Numbers, Int, Ints, Ints);
    dgesv(Int, Int, Numbers, Int, Ints, Numbers, Int, Ints);
    zgesv(Int, Int, Numbers, Int, Ints, Numbers, Int, Ints);
    dtrtrs(Flag, Flag, Flag, Int, Int, Numbers, Int, Numbers, Int, Ints, Length, Length, Length);
    ztrtrs(Flag, Flag, Flag, Int, Int, Numbers, Int, Numbers, Int, Ints, Length, Length, Length);
    dgeqrf(Int, Int, Numbers, Int, Numbers, Numbers, Int, Ints);
    zgeqrf(Int, Int, Numbers, Int, Numbers, Numbers, Int, Ints);
    dorgqr(Int, Int, Int, Numbers, Int, Numbers, Numbers, Int, Ints);
    zungqr(Int, Int, Int, Numbers, Int, Numbers, Numbers, Int, Ints);
    dgesdd(Flag, Int, Int, Numbers, Int, Reals, Numbers, Int, Numbers, Int, Numbers, Int, Ints, Ints, Length);
    zgesdd(Flag, Int, Int, Numbers, Int, Reals, Numbers, Int, Numbers, Int, Numbers, Int, Reals, Ints, Ints, Length);
    dsyevd(Flag, Flag, Int, Numbers, Int, Reals, Numbers, Int, Ints, Int, Ints, Length, Length);
    zheevd(Flag, Flag, Int, Numbers, Int, Reals, Numbers, Int, Reals, Int, Ints, Int, Ints, Length, Length);
    dgeev(Flag, Flag, Int, Numbers, Int, Reals, Reals, Numbers, Int, Numbers, Int, Numbers, Int, Ints, Length, Length);
    zgeev(Flag, Flag, Int, Numbers, Int, Numbers, Numbers, Int, Numbers, Int, Numbers, Int, Reals, Ints, Length, Length);
    dgelsd(Int, Int, Int, Numbers, Int, Numbers, Int, Reals, Reals, Ints, Numbers, Int, Ints, Ints);
    zgelsd(Int, Int, Int, Numbers, Int, Numbers, Int, Reals, Reals, Ints, Numbers, Int, Reals, Ints, Ints);
}
