//! From one lane to a whole array: blocks are computed into a local buffer, lanes that came out NaN
//! are given to libm, and the buffer is copied out.
//!
//! A lane body is straight-line code, so that the loop over lanes becomes vector code of whatever
//! width the enclosing `#[target_feature]` allows. It answers NaN for every argument it does not
//! cover: that one comparison finds the genuine NaNs, the special values and every flag at once.

use crate::libm::{Libm1, Libm2, Real};
use crate::status::Status;
use std::hint::black_box;
use std::mem::MaybeUninit;

pub(crate) trait Lanes1<T: Real>: Libm1<T> {
    fn lane(x: T) -> T;
}

pub(crate) trait Lanes2<T: Real>: Libm2<T> {
    fn lane(a: T, b: T) -> T;
}

const BLOCK: usize = 256;

/// Vector code runs on multiples of this many lanes: two of the widest vectors of doubles, which is
/// how far the compiler unrolls, or one of singles.
const STEP: usize = 16;

/// Up to this many elements at the end of an array are computed one by one, by the same lane body.
const FEW: usize = 2;

/// How many of the `rest` elements to take next: whole steps while there are any.
#[inline(always)]
fn stride(rest: usize) -> usize {
    if rest >= BLOCK {
        BLOCK
    } else if rest >= STEP {
        rest & !(STEP - 1)
    } else {
        rest
    }
}

/// Copies at most [`BLOCK`] elements in moves of fixed sizes: for a short array a call of memcpy
/// would cost more than the arithmetic.
#[inline(always)]
unsafe fn copy<T: Real>(src: *const T, dst: *mut T, n: usize) {
    let mut i = 0;
    macro_rules! pieces {
        ($($size:literal)*) => {$(
            if n & $size != 0 {
                dst.add(i).cast::<[T; $size]>().write_unaligned(src.add(i).cast::<[T; $size]>().read_unaligned());
                i += $size;
            }
        )*};
    }
    pieces!(256 128 64 32 16 8 4 2 1);
    debug_assert_eq!(i, n);
}

/// Room for a last, partial step.
struct Padding<T>([T; STEP]);

impl<T: Real> Padding<T> {
    /// `n` elements where they are if they are whole steps, else a copy filled up with ones.
    #[inline(always)]
    unsafe fn whole_steps(&mut self, src: *const T, n: usize) -> *const T {
        if n >= STEP {
            return src;
        }
        copy(src, self.0.as_mut_ptr(), n);
        self.0.as_ptr()
    }
}

type Buffer<T> = [MaybeUninit<T>; BLOCK];

#[inline(always)]
pub(crate) unsafe fn unary<T: Real, F: Lanes1<T>>(n: usize, src: *const T, dst: *mut T) -> u8 {
    let status = Status::read();
    let (mut flags, mut i) = (0, 0);
    let mut padding = Padding([T::ONE; STEP]);
    let mut out: Buffer<T> = [MaybeUninit::uninit(); BLOCK];
    while n - i > FEW {
        let m = stride(n - i);
        let x = padding.whole_steps(src.add(i), m);
        let mut nan = 0u32;
        for j in 0..m.next_multiple_of(STEP) {
            let y = F::lane(x.add(j).read_unaligned());
            out.get_unchecked_mut(j).write(y);
            nan |= y.is_nan() as u32;
        }
        if nan != 0 {
            flags |= mend1::<T, F>(m, x, &mut out);
        }
        copy(out.as_ptr().cast::<T>(), dst.add(i), m);
        i += m;
    }
    while i < n {
        // Opaque, so that this loop is not made a second vector loop.
        let x = black_box(src.add(i).read_unaligned());
        let mut y = F::lane(x);
        if y.is_nan() {
            let (value, raised) = F::flagged(x);
            y = value;
            flags |= raised;
        }
        dst.add(i).write_unaligned(y);
        i += 1;
    }
    status.restore();
    flags
}

#[inline(always)]
pub(crate) unsafe fn binary<T: Real, F: Lanes2<T>>(n: usize, a: *const T, b: *const T, dst: *mut T) -> u8 {
    let status = Status::read();
    let (mut flags, mut i) = (0, 0);
    let mut padding_a = Padding([T::ONE; STEP]);
    let mut padding_b = Padding([T::ONE; STEP]);
    let mut out: Buffer<T> = [MaybeUninit::uninit(); BLOCK];
    while n - i > FEW {
        let m = stride(n - i);
        let x = padding_a.whole_steps(a.add(i), m);
        let y = padding_b.whole_steps(b.add(i), m);
        let mut nan = 0u32;
        for j in 0..m.next_multiple_of(STEP) {
            let z = F::lane(x.add(j).read_unaligned(), y.add(j).read_unaligned());
            out.get_unchecked_mut(j).write(z);
            nan |= z.is_nan() as u32;
        }
        if nan != 0 {
            flags |= mend2::<T, F>(m, x, y, &mut out);
        }
        copy(out.as_ptr().cast::<T>(), dst.add(i), m);
        i += m;
    }
    while i < n {
        let x = black_box(a.add(i).read_unaligned());
        let y = black_box(b.add(i).read_unaligned());
        let mut z = F::lane(x, y);
        if z.is_nan() {
            let (value, raised) = F::flagged(x, y);
            z = value;
            flags |= raised;
        }
        dst.add(i).write_unaligned(z);
        i += 1;
    }
    status.restore();
    flags
}

#[cold]
#[inline(never)]
unsafe fn mend1<T: Real, F: Libm1<T>>(n: usize, x: *const T, out: &mut Buffer<T>) -> u8 {
    let mut flags = 0;
    for j in 0..n {
        // SAFETY: the first `n` lanes have been written.
        if out[j].assume_init().is_nan() {
            let (y, raised) = F::flagged(x.add(j).read_unaligned());
            out[j].write(y);
            flags |= raised;
        }
    }
    flags
}

#[cold]
#[inline(never)]
unsafe fn mend2<T: Real, F: Libm2<T>>(n: usize, a: *const T, b: *const T, out: &mut Buffer<T>) -> u8 {
    let mut flags = 0;
    for j in 0..n {
        // SAFETY: the first `n` lanes have been written.
        if out[j].assume_init().is_nan() {
            let (y, raised) = F::flagged(a.add(j).read_unaligned(), b.add(j).read_unaligned());
            out[j].write(y);
            flags |= raised;
        }
    }
    flags
}
