//! Floor division and remainders of floats in vectors.
//!
//! Where the quotient is below `2^(mantissa bits)` its integral part `t` is at most one off, and
//! `fma(-t, b, a)` is the remainder exactly, or exactly one divisor away from it. A chunk with any
//! other element (huge quotients, zeros to divide by, infinities, NaN) goes through `fmod`, element by element.

use crate::fp_status::Quiet;
use crate::isa::{Isa, for_each_isa};
use crate::kernels::{FloorPair, floor_pair};
use crate::map::{Feed, Run, Value};
use crate::{BlockFn, In};

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
        floor_pair(a, b)
    }
}

const CHUNK: usize = 32;

#[inline(always)]
unsafe fn divide_runs<T: Divide, W: Wanted>(
    n: usize,
    a: impl Feed<T>,
    b: impl Feed<T>,
    quotients: *mut T,
    remainders: *mut T,
) {
    let mut quiet = Quiet::begin();
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
        let (mut q, mut r) = ([T::ONE; CHUNK], [T::ONE; CHUNK]);
        let mut good = true;
        for j in 0..CHUNK {
            let (fmod, exact) = x[j].quick_fmod(y[j]);
            good &= exact;
            (q[j], r[j]) = if W::TRUNCATED { (fmod, fmod) } else { x[j].floor_pair_of_finite(y[j], fmod) };
        }
        if !good {
            quiet.end();
            for j in 0..length {
                (q[j], r[j]) = slow::<T, W>(x[j], y[j]);
            }
            quiet = Quiet::begin();
        }
        let bytes = length * size_of::<T>();
        if W::FLOOR {
            std::ptr::copy_nonoverlapping(q.as_ptr().cast::<u8>(), quotients.add(start).cast(), bytes);
        }
        if W::REMAINDER || W::TRUNCATED {
            std::ptr::copy_nonoverlapping(r.as_ptr().cast::<u8>(), remainders.add(start).cast(), bytes);
        }
    }
    quiet.end();
}

#[inline(always)]
unsafe fn body<T: Divide, W: Wanted>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, b, first) = (*ins, *ins.add(1), (*outs).cast::<T>());
    let second = if W::FLOOR && W::REMAINDER { (*outs.add(1)).cast::<T>() } else { first };
    let (pa, pb) = (a.ptr.cast::<T>(), b.ptr.cast::<T>());
    match (a.step != 0, b.step != 0) {
        (true, true) => divide_runs::<T, W>(n, Run(pa), Run(pb), first, second),
        (true, false) => divide_runs::<T, W>(n, Run(pa), Value(pb.read_unaligned()), first, second),
        (false, true) => divide_runs::<T, W>(n, Value(pa.read_unaligned()), Run(pb), first, second),
        (false, false) => divide_runs::<T, W>(n, Value(pa.read_unaligned()), Value(pb.read_unaligned()), first, second),
    }
    0
}

for_each_isa!(divide_isa = body[T: Divide, W: Wanted](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

/// The loop of the parts wanted; without a fused multiply-add `fmod` is the quicker way.
pub(crate) fn divide_fn<T: Divide, W: Wanted>(isa: Isa, by_fmod: BlockFn) -> BlockFn {
    if isa == Isa::Baseline { by_fmod } else { divide_isa::<T, W>(isa) }
}
