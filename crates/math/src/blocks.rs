//! From one lane to a whole array: blocks are computed into a local buffer, lanes that came out NaN
//! are mended, and the buffer is copied out.
//!
//! A lane body is straight-line code, so that the loop over lanes becomes vector code of whatever
//! width the enclosing `#[target_feature]` allows. It answers NaN for every argument it does not
//! cover: that one comparison finds the genuine NaNs, the special values and every flag at once.

use crate::libm::{Libm1, Libm2, Real};
use crate::limits::{Limits1, Limits2};
use crate::mending::{mend1, mend2};
use crate::status::Status;
use std::hint::black_box;
use std::mem::MaybeUninit;

pub(crate) trait Lanes1<T: Real>: Libm1<T> + Limits1<T> {
    fn lane(x: T) -> T;
}

pub(crate) trait Lanes2<T: Real>: Libm2<T> + Limits2<T> {
    fn lane(a: T, b: T) -> T;

    /// Whether [`Lanes2::lane_above_zero`] is cheaper.
    const ABOVE_ZERO: bool = false;

    /// The same number for an `a` that is not negative.
    #[inline(always)]
    fn lane_above_zero(a: T, b: T) -> T {
        Self::lane(a, b)
    }
}

const BLOCK: usize = 256;

/// Vector code runs on multiples of this many lanes: two of the widest vectors of doubles or one of singles.
const STEP: usize = 16;

/// While there are this many lanes, so many are taken at once, for the compiler to unroll.
const WIDE: usize = 64;

/// Up to this many elements at the end of an array are computed one by one, by the same lane body.
const FEW: usize = 3;

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

#[inline(always)]
unsafe fn move_all<T: Real, const N: usize>(src: *const T, dst: *mut T) {
    dst.cast::<[T; N]>().write_unaligned(src.cast::<[T; N]>().read_unaligned());
}

/// Copies whole steps, at most [`BLOCK`] elements, in moves of fixed sizes: for a short array a call of memcpy
/// would cost more than the arithmetic.
#[inline(always)]
unsafe fn copy_steps<T: Real>(src: *const T, dst: *mut T, n: usize) {
    let mut i = 0;
    macro_rules! pieces {
        ($($size:literal)*) => {$(
            if n & $size != 0 {
                move_all::<T, $size>(src.add(i), dst.add(i));
                i += $size;
            }
        )*};
    }
    pieces!(256 128 64 32 16);
    debug_assert_eq!(i, n);
}

/// Room for a last, partial step. Its elements lie in halves (or quarters) that overlap in the array: moves of
/// fixed sizes without filling, which vector loads can take over from the stores.
#[repr(align(64))]
struct Padding<T>([MaybeUninit<T>; STEP]);

impl<T: Real> Padding<T> {
    /// `n > FEW` elements where they are if they are whole steps, else spread over one.
    #[inline(always)]
    unsafe fn whole_steps(&mut self, src: *const T, n: usize) -> *const T {
        if n >= STEP {
            return src;
        }
        let room = self.0.as_mut_ptr().cast::<T>();
        if n >= STEP / 2 {
            move_all::<T, { STEP / 2 }>(src, room);
            move_all::<T, { STEP / 2 }>(src.add(n - STEP / 2), room.add(STEP / 2));
        } else {
            for at in [0, STEP / 2] {
                move_all::<T, { STEP / 4 }>(src, room.add(at));
                move_all::<T, { STEP / 4 }>(src.add(n - STEP / 4), room.add(at + STEP / 4));
            }
        }
        room
    }
}

/// Copies results out, from whole steps or from a step spread by [`Padding`].
#[inline(always)]
unsafe fn copy_out<T: Real>(out: &Buffer<T>, dst: *mut T, n: usize) {
    let out = out.0.as_ptr().cast::<T>();
    if n >= STEP {
        copy_steps(out, dst, n);
    } else if n >= STEP / 2 {
        move_all::<T, { STEP / 2 }>(out, dst);
        move_all::<T, { STEP / 2 }>(out.add(STEP / 2), dst.add(n - STEP / 2));
    } else {
        move_all::<T, { STEP / 4 }>(out, dst);
        move_all::<T, { STEP / 4 }>(out.add(STEP / 4), dst.add(n - STEP / 4));
    }
}

/// Aligned like the padding: a vector store across cache lines cannot be taken over by a load.
#[repr(align(64))]
struct Buffer<T>([MaybeUninit<T>; BLOCK]);

/// `N` lanes into the buffer, and whether one came out NaN. A loop of known length is all vector code: with a length
/// to be found out the compiler adds loops of narrower vectors for the rest.
#[inline(always)]
unsafe fn lanes1<T: Real, F: Lanes1<T>, const N: usize>(x: *const T, out: &mut [MaybeUninit<T>]) -> bool {
    let mut nan = false;
    for j in 0..N {
        let y = F::lane(x.add(j).read_unaligned());
        out.get_unchecked_mut(j).write(y);
        nan |= y.is_nan();
    }
    nan
}

/// [`lanes1`] of two arguments.
#[inline(always)]
unsafe fn lanes2<T: Real, F: Lanes2<T>, const N: usize>(x: *const T, y: *const T, out: &mut [MaybeUninit<T>]) -> bool {
    if F::ABOVE_ZERO {
        let mut negative = false;
        for j in 0..N {
            negative |= x.add(j).read_unaligned() < T::default();
        }
        if !negative {
            return compute2::<T, N>(x, y, out, F::lane_above_zero);
        }
    }
    compute2::<T, N>(x, y, out, F::lane)
}

#[inline(always)]
unsafe fn compute2<T: Real, const N: usize>(
    x: *const T,
    y: *const T,
    out: &mut [MaybeUninit<T>],
    lane: impl Fn(T, T) -> T,
) -> bool {
    let mut nan = false;
    for j in 0..N {
        let z = lane(x.add(j).read_unaligned(), y.add(j).read_unaligned());
        out.get_unchecked_mut(j).write(z);
        nan |= z.is_nan();
    }
    nan
}

#[inline(always)]
pub(crate) unsafe fn unary<T: Real, F: Lanes1<T>>(n: usize, src: *const T, dst: *mut T) -> u8 {
    let status = Status::read();
    let (mut flags, mut i) = (0, 0);
    let mut padding = Padding([MaybeUninit::uninit(); STEP]);
    let mut out = Buffer([MaybeUninit::uninit(); BLOCK]);
    while n - i > FEW {
        let m = stride(n - i);
        let x = padding.whole_steps(src.add(i), m);
        let mut nan = false;
        let (mut j, lanes) = (0, m.next_multiple_of(STEP));
        while lanes - j >= WIDE {
            nan |= lanes1::<T, F, WIDE>(x.add(j), &mut out.0[j..]);
            j += WIDE;
        }
        while j < lanes {
            nan |= lanes1::<T, F, STEP>(x.add(j), &mut out.0[j..]);
            j += STEP;
        }
        if nan {
            flags |= mend1::<T, F>(x, &mut out.0[..lanes]);
        }
        copy_out(&out, dst.add(i), m);
        i += m;
    }
    while i < n {
        // Opaque, so that this loop is not made a second vector loop.
        let x = black_box(src.add(i).read_unaligned());
        let mut y = [MaybeUninit::new(F::lane(x))];
        if y[0].assume_init().is_nan() {
            flags |= mend1::<T, F>(&x, &mut y);
        }
        dst.add(i).write_unaligned(y[0].assume_init());
        i += 1;
    }
    status.restore();
    flags
}

#[inline(always)]
pub(crate) unsafe fn binary<T: Real, F: Lanes2<T>>(n: usize, a: *const T, b: *const T, dst: *mut T) -> u8 {
    let status = Status::read();
    let (mut flags, mut i) = (0, 0);
    let mut padding_a = Padding([MaybeUninit::uninit(); STEP]);
    let mut padding_b = Padding([MaybeUninit::uninit(); STEP]);
    let mut out = Buffer([MaybeUninit::uninit(); BLOCK]);
    while n - i > FEW {
        let m = stride(n - i);
        let x = padding_a.whole_steps(a.add(i), m);
        let y = padding_b.whole_steps(b.add(i), m);
        let mut nan = false;
        let (mut j, lanes) = (0, m.next_multiple_of(STEP));
        while size_of::<T>() == size_of::<f64>() && lanes - j >= WIDE {
            nan |= lanes2::<T, F, WIDE>(x.add(j), y.add(j), &mut out.0[j..]);
            j += WIDE;
        }
        // As many bytes of singles: with more of them power takes 3% longer.
        while lanes - j >= WIDE / 2 {
            nan |= lanes2::<T, F, { WIDE / 2 }>(x.add(j), y.add(j), &mut out.0[j..]);
            j += WIDE / 2;
        }
        while j < lanes {
            nan |= lanes2::<T, F, STEP>(x.add(j), y.add(j), &mut out.0[j..]);
            j += STEP;
        }
        if nan {
            flags |= mend2::<T, F>(x, y, &mut out.0[..lanes]);
        }
        copy_out(&out, dst.add(i), m);
        i += m;
    }
    while i < n {
        let x = black_box(a.add(i).read_unaligned());
        let y = black_box(b.add(i).read_unaligned());
        let mut z = [MaybeUninit::new(F::lane(x, y))];
        if z[0].assume_init().is_nan() {
            flags |= mend2::<T, F>(&x, &y, &mut z);
        }
        dst.add(i).write_unaligned(z[0].assume_init());
        i += 1;
    }
    status.restore();
    flags
}
