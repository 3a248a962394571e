//! Lanes that came out NaN: those whose value is known without computing get it, in vector code; libm computes the rest,
//! one by one.

use crate::INVALID;
use crate::blocks::{Lanes1, Lanes2};
use crate::libm::{Libm1, Libm2, Real};
use crate::limits::{Limits1, Limits2};
use std::mem::MaybeUninit;

/// What the values put in raise, by the rules of `flagged`, and whether lanes are left for libm.
#[derive(Default)]
struct Found {
    invalid: bool,
    infinite: bool,
    tiny: bool,
    open: bool,
}

/// The lanes of a block whose values are known get them.
#[inline(always)]
unsafe fn known1<T: Real, F: Lanes1<T>>(x: *const T, out: &mut [MaybeUninit<T>]) -> Found {
    let mut found = Found::default();
    for (j, lane) in out.iter_mut().enumerate() {
        let (x, y) = (x.add(j).read_unaligned(), lane.assume_init());
        let (known, value) = F::limit(x);
        let missing = y.is_nan();
        let put = missing & known;
        lane.write(if put { value } else { y });
        found.invalid |= put & value.is_nan() & !x.is_nan();
        found.infinite |= put & value.is_infinite() & x.is_finite();
        found.tiny |= put & value.is_tiny() & x.is_finite();
        found.open |= missing & !known;
    }
    found
}

/// Mends the lanes of a block, all of which have been written; the flags they raise.
#[inline(always)]
pub(crate) unsafe fn mend1<T: Real, F: Lanes1<T>>(x: *const T, out: &mut [MaybeUninit<T>]) -> u8 {
    let found = known1::<T, F>(x, out);
    let flags = raised(found.invalid, INVALID) | raised(found.infinite, F::INFINITE) | raised(found.tiny, F::TINY);
    if found.open { flags | by_libm1::<T, F>(x, out) } else { flags }
}

#[inline(always)]
fn raised(whether: bool, flag: u8) -> u8 {
    if whether { flag } else { 0 }
}

#[cold]
#[inline(never)]
unsafe fn by_libm1<T: Real, F: Libm1<T> + Limits1<T>>(x: *const T, out: &mut [MaybeUninit<T>]) -> u8 {
    let mut flags = 0;
    for (j, lane) in out.iter_mut().enumerate() {
        let x = x.add(j).read_unaligned();
        if lane.assume_init().is_nan() && !F::limit(x).0 {
            let (y, raised) = F::flagged(x);
            lane.write(y);
            flags |= raised;
        }
    }
    flags
}

/// [`mend1`] of two arguments. Of the known values only NaNs may raise something.
#[inline(always)]
pub(crate) unsafe fn mend2<T: Real, F: Lanes2<T>>(a: *const T, b: *const T, out: &mut [MaybeUninit<T>]) -> u8 {
    let (mut open, mut nan) = (false, false);
    for (j, lane) in out.iter_mut().enumerate() {
        let z = lane.assume_init();
        let (known, value) = F::limit(a.add(j).read_unaligned(), b.add(j).read_unaligned());
        let missing = z.is_nan();
        lane.write(if missing & known { value } else { z });
        open |= missing & !known;
        nan |= missing & known & value.is_nan();
    }
    let flags = raised(nan, F::NAN);
    if open { flags | by_libm2::<T, F>(a, b, out) } else { flags }
}

#[cold]
#[inline(never)]
unsafe fn by_libm2<T: Real, F: Libm2<T> + Limits2<T>>(a: *const T, b: *const T, out: &mut [MaybeUninit<T>]) -> u8 {
    let mut flags = 0;
    for (j, lane) in out.iter_mut().enumerate() {
        let (a, b) = (a.add(j).read_unaligned(), b.add(j).read_unaligned());
        if lane.assume_init().is_nan() && !F::limit(a, b).0 {
            let (z, raised) = F::flagged(a, b);
            lane.write(z);
            flags |= raised;
        }
    }
    flags
}
