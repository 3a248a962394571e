//! Floor division and remainders of floats in vectors.
//!
//! Where the quotient is below `2^(mantissa bits)` its integral part `t` is at most one off, and
//! `fma(-t, b, a)` is the remainder exactly, or exactly one divisor away from it. A chunk with any
//! other element (huge quotients, zeros to divide by, infinities, NaN) goes through `fmod`, element by element.

use crate::chunks::{CHUNK, ChunkLoop, in_chunks};
use crate::fp_status::Quiet;
use crate::isa::{Isa, for_each_isa};
use crate::kernels::{FloorPair, floor_pair};
use crate::map::Feed;
use crate::{BlockFn, In};
use std::marker::PhantomData;

/// Which parts of a division a loop writes.
pub(crate) trait Wanted: 'static {
    const FLOOR: bool;
    const REMAINDER: bool;
    const TRUNCATED: bool;
}

macro_rules! wanted {
    ($($k:ident $floor:literal $remainder:literal $truncated:literal;)*) => { $(
        pub(crate) struct $k;
        impl Wanted for $k {
            const FLOOR: bool = $floor;
            const REMAINDER: bool = $remainder;
            const TRUNCATED: bool = $truncated;
        }
    )* };
}

wanted! {
    Floor true false false;
    Remainder false true false;
    Both true true false;
    Truncated false false true;
}

pub(crate) trait Divide: FloorPair + std::ops::Rem<Output = Self> + std::ops::Div<Output = Self> {
    const ONE: Self;
    /// `fmod`, and whether it can be relied on.
    fn quick_fmod(self, b: Self) -> (Self, bool);
    fn is_zero(self) -> bool;
}

macro_rules! divide {
    ($t:ty, $limit:expr) => {
        impl Divide for $t {
            const ONE: $t = 1.0;

            #[inline(always)]
            fn quick_fmod(self, b: $t) -> ($t, bool) {
                let (a, size) = (self.abs(), b.abs());
                let quotient = a / size;
                let rest = (-quotient.trunc()).mul_add(size, a);
                let exact = if rest < 0.0 { rest + size } else { rest };
                (exact.copysign(self), (quotient < $limit) & (size <= <$t>::MAX))
            }

            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0.0
            }
        }
    };
}

divide!(f32, 8_388_608.0);
divide!(f64, 4_503_599_627_370_496.0);

/// The parts wanted of one division by `fmod`, which raises what NumPy's loop raises: a call, because in vectors
/// both branches would run.
#[inline(never)]
fn slow<T: Divide, W: Wanted>(a: T, b: T) -> (T, T) {
    if W::TRUNCATED || W::REMAINDER && !W::FLOOR && b.is_zero() {
        (a, a % b)
    } else if !W::REMAINDER && b.is_zero() {
        (a / b, a)
    } else {
        // A quotient that nobody wants must not be computed: it raises.
        let (quotient, remainder) = floor_pair(a, b);
        (if W::FLOOR { quotient } else { a }, remainder)
    }
}

/// A loop that writes the parts wanted; between chunks the exceptions are hidden.
struct Parts<W> {
    quiet: Quiet,
    wanted: PhantomData<W>,
}

impl<T: Divide, W: Wanted> ChunkLoop<T> for Parts<W> {
    const ONE: T = T::ONE;
    const OUTS: usize = if W::FLOOR && W::REMAINDER { 2 } else { 1 };

    #[inline(always)]
    unsafe fn chunk(&mut self, a: impl Feed<T>, b: impl Feed<T>, outs: [*mut T; 2]) {
        let (mut q, mut r) = ([T::ONE; CHUNK], [T::ONE; CHUNK]);
        let mut good = true;
        for j in 0..CHUNK {
            let (x, y) = (a.get(j), b.get(j));
            let (fmod, exact) = x.quick_fmod(y);
            good &= exact;
            (q[j], r[j]) = if W::TRUNCATED { (fmod, fmod) } else { x.floor_pair_of_finite(y, fmod) };
        }
        if !good {
            self.quiet.end();
            for j in 0..CHUNK {
                (q[j], r[j]) = slow::<T, W>(a.get(j), b.get(j));
            }
            self.quiet = Quiet::begin();
        }
        if W::FLOOR {
            std::ptr::copy_nonoverlapping(q.as_ptr().cast::<u8>(), outs[0].cast(), size_of::<[T; CHUNK]>());
        }
        if W::REMAINDER || W::TRUNCATED {
            std::ptr::copy_nonoverlapping(r.as_ptr().cast::<u8>(), outs[1].cast(), size_of::<[T; CHUNK]>());
        }
    }
}

#[inline(always)]
unsafe fn body<T: Divide, W: Wanted>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let mut parts = Parts::<W> { quiet: Quiet::begin(), wanted: PhantomData };
    in_chunks::<T, _>(n, ins, outs, &mut parts);
    parts.quiet.end();
    0
}

for_each_isa!(divide_isa = body[T: Divide, W: Wanted](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

/// The loop of the parts wanted; without a fused multiply-add `fmod` is the quicker way.
pub(crate) fn divide_fn<T: Divide, W: Wanted>(isa: Isa, by_fmod: BlockFn) -> BlockFn {
    if isa == Isa::Baseline { by_fmod } else { divide_isa::<T, W>(isa) }
}
