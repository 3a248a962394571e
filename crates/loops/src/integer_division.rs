//! Division of 64-bit integers in vectors.
//!
//! Below 2^52 a quotient of doubles, truncated, is the quotient of the integers: it would have to round up over a gap of
//! at least one part in the dividend. A chunk with any other element, or with a zero to divide by, goes one by one.

use crate::chunks::{CHUNK, ChunkLoop, in_chunks};
use crate::element::Element;
use crate::isa::{Isa, for_each_isa};
use crate::kernels;
use crate::map::{Feed, Two, TwoToTwo};
use crate::{BlockFn, In};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Which parts of a division a loop writes, from the truncated quotient and what is left.
pub(crate) trait Part<T: Element>: 'static {
    const OUTS: usize = 1;
    /// All of them; of one, both are the same.
    fn of(quotient: T, rest: T, divisor: T) -> [T; 2];
    /// The same one by one, whatever the operands.
    fn with_care(a: T, b: T, flags: &mut u8) -> [T; 2];
}

/// Integers of 64 bits.
pub(crate) trait Long: Element + Eq {
    const ONE: Self;
    const ZERO: Self;
    /// The bits above those of a double's mantissa are zero for what fits.
    fn excess(self) -> u64;
    /// Truncated quotient and rest of two that fit.
    fn divided(self, by: Self) -> (Self, Self);
}

macro_rules! long {
    ($t:ty, |$x:ident| $excess:expr) => {
        impl Long for $t {
            const ONE: $t = 1;
            const ZERO: $t = 0;

            #[inline(always)]
            fn excess(self) -> u64 {
                let $x = self;
                $excess
            }

            #[inline(always)]
            fn divided(self, by: $t) -> ($t, $t) {
                // SAFETY: a quotient of numbers below 2^52, the divisor not zero.
                let quotient = unsafe { (self as f64 / by as f64).to_int_unchecked::<$t>() };
                (quotient, self.wrapping_sub(quotient.wrapping_mul(by)))
            }
        }

        impl Part<$t> for kernels::Divmod {
            const OUTS: usize = 2;

            #[inline(always)]
            fn of(quotient: $t, rest: $t, divisor: $t) -> [$t; 2] {
                let [floor, _] = kernels::FloorDivide::of(quotient, rest, divisor);
                [floor, kernels::Remainder::of(quotient, rest, divisor)[0]]
            }

            fn with_care(a: $t, b: $t, flags: &mut u8) -> [$t; 2] {
                <kernels::Divmod as TwoToTwo<$t>>::call(a, b, flags).into()
            }
        }
    };
}

long!(i64, |x| (x.wrapping_add(1 << 52) as u64) >> 53);
long!(u64, |x| x >> 52);

macro_rules! parts {
    ($($k:ident: $t:ty, |$quotient:ident, $rest:ident, $divisor:ident| $part:expr;)*) => { $(
        impl Part<$t> for kernels::$k {
            #[inline(always)]
            fn of($quotient: $t, $rest: $t, $divisor: $t) -> [$t; 2] {
                [$part; 2]
            }

            fn with_care(a: $t, b: $t, flags: &mut u8) -> [$t; 2] {
                [<kernels::$k as Two<$t, $t>>::call(a, b, flags); 2]
            }
        }
    )* };
}

/// Whether the floor is one below the truncated quotient.
#[inline(always)]
fn crosses(rest: i64, divisor: i64) -> i64 {
    ((rest != 0) & ((rest ^ divisor) < 0)) as i64
}

parts! {
    FloorDivide: i64, |quotient, rest, divisor| quotient - crosses(rest, divisor);
    FloorDivide: u64, |quotient, _rest, _divisor| quotient;
    Remainder: i64, |_quotient, rest, divisor| rest + (divisor & -crosses(rest, divisor));
    Remainder: u64, |_quotient, rest, _divisor| rest;
    Fmod: i64, |_quotient, rest, _divisor| rest;
    Fmod: u64, |_quotient, rest, _divisor| rest;
}

/// A loop that writes `K`'s parts of a division.
struct Parts<K> {
    flags: u8,
    part: PhantomData<K>,
}

impl<T: Long, K: Part<T>> ChunkLoop<T> for Parts<K> {
    const ONE: T = T::ONE;
    const OUTS: usize = K::OUTS;

    #[inline(always)]
    unsafe fn chunk(&mut self, a: impl Feed<T>, b: impl Feed<T>, outs: [*mut T; 2]) {
        let (mut excess, mut zeros) = (0, 0);
        for j in 0..CHUNK {
            excess |= a.get(j).excess() | b.get(j).excess();
            zeros |= (b.get(j) == T::ZERO) as u64;
        }
        if excess | zeros != 0 {
            return one_by_one::<T, K>(a, b, outs, &mut self.flags);
        }
        let mut parts = [[const { MaybeUninit::<T>::uninit() }; CHUNK]; 2];
        for j in 0..CHUNK {
            let (x, y) = (a.get(j), b.get(j));
            let (quotient, rest) = x.divided(y);
            let [first, second] = K::of(quotient, rest, y);
            parts[0][j].write(first);
            parts[1][j].write(second);
        }
        for k in 0..K::OUTS {
            std::ptr::copy_nonoverlapping(parts[k].as_ptr().cast::<u8>(), outs[k].cast(), size_of::<[T; CHUNK]>());
        }
    }
}

/// A call, because in vectors both ways would run.
#[inline(never)]
unsafe fn one_by_one<T: Long, K: Part<T>>(a: impl Feed<T>, b: impl Feed<T>, outs: [*mut T; 2], flags: &mut u8) {
    for j in 0..CHUNK {
        let parts = K::with_care(a.get(j), b.get(j), flags);
        for k in 0..K::OUTS {
            outs[k].add(j).write_unaligned(parts[k]);
        }
    }
}

#[inline(always)]
unsafe fn body<T: Long, K: Part<T>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let mut parts = Parts::<K> { flags: 0, part: PhantomData };
    in_chunks::<T, _>(n, ins, outs, &mut parts);
    parts.flags
}

for_each_isa!(long_isa = body[T: Long, K: Part<T>](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

/// The loop of a part of a division; without vectors that convert integers of 64 bits, dividing is the quicker way.
pub(crate) fn long_fn<T: Long, K: Part<T>>(isa: Isa, by_division: BlockFn) -> BlockFn {
    if isa == Isa::Avx512 { long_isa::<T, K>(isa) } else { by_division }
}
