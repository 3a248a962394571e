//! Powers of integers in vectors: the elements of a chunk are squared and multiplied together, as often as the largest of
//! their exponents asks for. A chunk with a negative exponent goes one by one.

use crate::In;
use crate::chunks::{CHUNK, ChunkLoop, in_chunks};
use crate::element::Element;
use crate::isa::for_each_isa;
use crate::kernels;
use crate::map::{Feed, Two};

/// Integers that can be raised to a power.
pub(crate) trait Base: Element {
    const ONE: Self;
    /// The bits as those of an unsigned number.
    fn bits(self) -> u64;
    fn negative(self) -> bool;
    fn halved(self) -> Self;
    fn odd(self) -> bool;
    fn times(self, by: Self) -> Self;
    /// The power, one by one and whatever the exponent.
    fn with_care(self, exponent: Self) -> Self;
}

macro_rules! bases {
    ($($t:ty, $unsigned:ty;)*) => { $(
        #[allow(unused_comparisons)]
        impl Base for $t {
            const ONE: $t = 1;

            #[inline(always)]
            fn bits(self) -> u64 {
                self as $unsigned as u64
            }

            #[inline(always)]
            fn negative(self) -> bool {
                self < 0
            }

            #[inline(always)]
            fn halved(self) -> $t {
                self >> 1
            }

            #[inline(always)]
            fn odd(self) -> bool {
                self & 1 != 0
            }

            #[inline(always)]
            fn times(self, by: $t) -> $t {
                self.wrapping_mul(by)
            }

            #[inline(always)]
            fn with_care(self, exponent: $t) -> $t {
                <kernels::Power as Two<$t, $t>>::call(self, exponent, &mut 0)
            }
        }
    )* };
}

bases! {
    i8, u8;
    u8, u8;
    i16, u16;
    u16, u16;
    i32, u32;
    u32, u32;
    i64, u64;
    u64, u64;
}

struct Powers;

impl<T: Base> ChunkLoop<T> for Powers {
    const ONE: T = T::ONE;
    const OUTS: usize = 1;

    #[inline(always)]
    unsafe fn chunk(&mut self, a: impl Feed<T>, b: impl Feed<T>, outs: [*mut T; 2]) {
        let (mut squares, mut left, mut results) = ([T::ONE; CHUNK], [T::ONE; CHUNK], [T::ONE; CHUNK]);
        let (mut places, mut negative) = (0, false);
        for j in 0..CHUNK {
            (squares[j], left[j]) = (a.get(j), b.get(j));
            places |= b.get(j).bits();
            negative |= b.get(j).negative();
        }
        if negative {
            return one_by_one(&squares, &left, outs[0]);
        }
        while places != 0 {
            for j in 0..CHUNK {
                results[j] = results[j].times(if left[j].odd() { squares[j] } else { T::ONE });
                squares[j] = squares[j].times(squares[j]);
                left[j] = left[j].halved();
            }
            places >>= 1;
        }
        std::ptr::copy_nonoverlapping(results.as_ptr().cast::<u8>(), outs[0].cast(), size_of::<[T; CHUNK]>());
    }
}

/// A call, because in vectors both ways would run.
#[inline(never)]
unsafe fn one_by_one<T: Base>(bases: &[T; CHUNK], exponents: &[T; CHUNK], out: *mut T) {
    for j in 0..CHUNK {
        out.add(j).write_unaligned(bases[j].with_care(exponents[j]));
    }
}

#[inline(always)]
unsafe fn body<T: Base>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    in_chunks::<T, _>(n, ins, outs, &mut Powers);
    0
}

for_each_isa!(pub(crate) power_fn = body[T: Base](n: usize, ins: *const In, outs: *const *mut u8) -> u8);
