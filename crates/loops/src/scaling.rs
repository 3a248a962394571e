//! `ldexp` in vectors: where number and result are normal, the exponent is added to the number's bits; zeros and what is
//! not finite stay. A chunk with any other element goes one by one.

use crate::In;
use crate::element::Element;
use crate::half_runs::{Room, narrowed, widened};
use crate::isa::{ISA, for_each_isa};
use crate::kernels;
use crate::map::{Feed, Run, Two, Value, hush, unhush};
use std::mem::MaybeUninit;

const CHUNK: usize = 32;

/// Floats whose bits are at hand.
pub(crate) trait Scaled: Element {
    /// Twice the number for each 1 of `by`, and whether that is right: it and the number are normal, or the number is
    /// zero, infinite or NaN and stays what it is. `by` fits into 32 bits.
    fn quick(self, by: i64) -> (Self, bool);
}

macro_rules! scaled {
    ($t:ty, $int:ty, $unsigned:ty, $places:literal, $most:literal) => {
        impl Scaled for $t {
            #[inline(always)]
            fn quick(self, by: i64) -> ($t, bool) {
                let bits = self.to_bits() as $int;
                let own = (bits >> $places) & ($most as $int);
                let by = by as $int;
                let new = own.wrapping_add(by);
                let inside = |exponent: $int| (exponent.wrapping_sub(1) as $unsigned) < $most - 1;
                let normal = inside(own) & inside(new);
                let stays = (bits << 1 == 0) | (own == $most);
                let moved = bits.wrapping_add(if stays { 0 } else { by << $places });
                (<$t>::from_bits(moved as _), normal | stays)
            }
        }
    };
}

scaled!(f32, i32, u32, 23, 255);
scaled!(f64, i64, u64, 52, 2047);

/// An exponent for floats of type `T`.
pub(crate) trait Exponent<T: Element>: Element {
    /// The same in 32 bits, or one that is as far beyond every number's.
    fn near(self) -> i64;
    /// The same with care, one by one.
    fn scale(self, x: T, flags: &mut u8) -> T;
}

macro_rules! exponents {
    ($($t:ty: $($b:ty)*;)*) => { $($(
        impl Exponent<$t> for $b {
            #[inline(always)]
            fn near(self) -> i64 {
                // Of 32 bits nothing is left of this.
                (self as i64).clamp(i32::MIN as i64, i32::MAX as i64)
            }

            #[inline(always)]
            fn scale(self, x: $t, flags: &mut u8) -> $t {
                <kernels::Ldexp as Two<$t, $b>>::call(x, self, flags)
            }
        }
    )*)* };
}

exponents! {
    f32: i32 i64;
    f64: i32 i64;
}

#[inline(always)]
unsafe fn chunks<T: Scaled, B: Exponent<T>>(n: usize, a: impl Feed<T>, b: impl Feed<B>, out: *mut T) -> u8 {
    let (mut flags, mut i) = (0, 0);
    while i + CHUNK <= n {
        let mut results = [const { MaybeUninit::<T>::uninit() }; CHUNK];
        let mut normal = true;
        for j in 0..CHUNK {
            let (y, fits) = a.get(i + j).quick(b.get(i + j).near());
            results[j].write(y);
            normal &= fits;
        }
        if normal {
            std::ptr::copy_nonoverlapping(results.as_ptr().cast::<u8>(), out.add(i).cast(), size_of::<[T; CHUNK]>());
        } else {
            one_by_one(a.after(i), b.after(i), CHUNK, out.add(i), &mut flags);
        }
        i += CHUNK;
    }
    one_by_one(a.after(i), b.after(i), n - i, out.add(i), &mut flags);
    flags
}

/// A call, because in vectors both ways would run.
#[inline(never)]
unsafe fn one_by_one<T: Scaled, B: Exponent<T>>(
    a: impl Feed<T>,
    b: impl Feed<B>,
    n: usize,
    out: *mut T,
    flags: &mut u8,
) {
    for j in 0..n {
        let (x, by) = (a.get(j), b.get(j));
        let (y, fits) = x.quick(by.near());
        out.add(j).write_unaligned(if fits { y } else { by.scale(x, flags) });
    }
}

#[inline(always)]
unsafe fn body<T: Scaled, B: Exponent<T>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, b, out) = (*ins, *ins.add(1), (*outs).cast::<T>());
    let (pa, pb) = (a.ptr.cast::<T>(), b.ptr.cast::<B>());
    let quiet = hush(true);
    let flags = match (a.step != 0, b.step != 0) {
        (true, true) => chunks(n, Run(pa), Run(pb), out),
        (true, false) => chunks(n, Run(pa), Value(pb.read_unaligned()), out),
        (false, true) => chunks(n, Value(pa.read_unaligned()), Run(pb), out),
        (false, false) => chunks(n, Value(pa.read_unaligned()), Value(pb.read_unaligned()), out),
    };
    unhush(quiet);
    flags
}

for_each_isa!(pub(crate) ldexp_fn = body[T: Scaled, B: Exponent<T>](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

/// The same for binary16, whose numbers and results `f32` holds.
pub(crate) unsafe fn ldexp_half<B: Exponent<f32>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (mut numbers, mut results) = (Room::new(), Room::<f32>::new());
    let wide = [widened(n, *ins, &mut numbers), *ins.add(1)];
    let at = results.start().cast::<u8>();
    ldexp_fn::<f32, B>(*ISA)(n, wide.as_ptr(), &at) | narrowed(n, &mut results, outs)
}
