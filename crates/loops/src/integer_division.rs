//! Division of 64-bit integers in vectors.
//!
//! Below 2^52 a quotient of doubles, truncated, is the quotient of the integers: it would have to round up over a gap of
//! at least one part in the dividend. A chunk with any other element, or with a zero to divide by, goes one by one.

use crate::element::Element;
use crate::isa::{Isa, for_each_isa};
use crate::kernels;
use crate::map::{Feed, Run, Two, Value};
use crate::{BlockFn, In};

/// Which part of a division a loop writes, from the truncated quotient and what is left.
pub(crate) trait Part<T: Element>: Two<T, T, Out = T> {
    fn of(quotient: T, rest: T, divisor: T) -> T;
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

        impl Part<$t> for kernels::Fmod {
            #[inline(always)]
            fn of(_: $t, rest: $t, _: $t) -> $t {
                rest
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
            fn of($quotient: $t, $rest: $t, $divisor: $t) -> $t {
                $part
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
}

const CHUNK: usize = 32;

#[inline(always)]
unsafe fn divide_runs<T: Long, K: Part<T>>(n: usize, a: impl Feed<T>, b: impl Feed<T>, out: *mut T) -> u8 {
    let mut flags = 0;
    for start in (0..n).step_by(CHUNK) {
        let length = (n - start).min(CHUNK);
        let (mut x, mut y) = ([T::ONE; CHUNK], [T::ONE; CHUNK]);
        if length == CHUNK {
            for j in 0..CHUNK {
                (x[j], y[j]) = (a.get(start + j), b.get(start + j));
            }
        } else {
            for j in 0..length {
                (x[j], y[j]) = (a.get(start + j), b.get(start + j));
            }
        }
        let (mut excess, mut zeros) = (0, false);
        for j in 0..CHUNK {
            excess |= x[j].excess() | y[j].excess();
            zeros |= y[j] == T::ZERO;
        }
        let mut parts = [T::ONE; CHUNK];
        if excess == 0 && !zeros {
            for j in 0..CHUNK {
                let (quotient, rest) = x[j].divided(y[j]);
                parts[j] = K::of(quotient, rest, y[j]);
            }
        } else {
            one_by_one::<T, K>(&x[..length], &y[..length], &mut parts, &mut flags);
        }
        std::ptr::copy_nonoverlapping(parts.as_ptr().cast::<u8>(), out.add(start).cast(), length * size_of::<T>());
    }
    flags
}

/// A call, because in vectors both ways would run.
#[inline(never)]
fn one_by_one<T: Long, K: Part<T>>(x: &[T], y: &[T], parts: &mut [T; CHUNK], flags: &mut u8) {
    for ((x, y), part) in x.iter().zip(y).zip(parts) {
        *part = K::call(*x, *y, flags);
    }
}

#[inline(always)]
unsafe fn body<T: Long, K: Part<T>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, b, out) = (*ins, *ins.add(1), (*outs).cast::<T>());
    let (pa, pb) = (a.ptr.cast::<T>(), b.ptr.cast::<T>());
    match (a.step != 0, b.step != 0) {
        (true, true) => divide_runs::<T, K>(n, Run(pa), Run(pb), out),
        (true, false) => divide_runs::<T, K>(n, Run(pa), Value(pb.read_unaligned()), out),
        (false, true) => divide_runs::<T, K>(n, Value(pa.read_unaligned()), Run(pb), out),
        (false, false) => divide_runs::<T, K>(n, Value(pa.read_unaligned()), Value(pb.read_unaligned()), out),
    }
}

for_each_isa!(long_isa = body[T: Long, K: Part<T>](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

/// The loop of a part of a division; without vectors that convert integers of 64 bits, dividing is the quicker way.
pub(crate) fn long_fn<T: Long, K: Part<T>>(isa: Isa, by_division: BlockFn) -> BlockFn {
    if isa == Isa::Avx512 { long_isa::<T, K>(isa) } else { by_division }
}
