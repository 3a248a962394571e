//! Which compilation of a kernel runs on this machine.

use crate::blocks::{self, Lanes1, Lanes2};
use crate::libm::Real;
#[cfg(not(target_arch = "aarch64"))]
use crate::libm::{Libm1, Libm2};
#[cfg(not(target_arch = "aarch64"))]
use crate::status::Status;
use crate::{Binary, Unary};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;

    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
    pub unsafe fn unary_avx512<T: Real, F: Lanes1<T>>(n: usize, src: *const T, dst: *mut T) -> u8 {
        blocks::unary::<T, F>(n, src, dst)
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
    pub unsafe fn binary_avx512<T: Real, F: Lanes2<T>>(n: usize, a: *const T, b: *const T, dst: *mut T) -> u8 {
        blocks::binary::<T, F>(n, a, b, dst)
    }

    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn unary_avx2<T: Real, F: Lanes1<T>>(n: usize, src: *const T, dst: *mut T) -> u8 {
        blocks::unary::<T, F>(n, src, dst)
    }

    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn binary_avx2<T: Real, F: Lanes2<T>>(n: usize, a: *const T, b: *const T, dst: *mut T) -> u8 {
        blocks::binary::<T, F>(n, a, b, dst)
    }
}

/// The instruction sets kernels are compiled for, best first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Baseline,
}

impl Level {
    /// Every level this machine can run, best first.
    pub fn available() -> &'static [Level] {
        #[cfg(target_arch = "x86_64")]
        {
            use std::sync::OnceLock;
            static LEVELS: OnceLock<&'static [Level]> = OnceLock::new();
            LEVELS.get_or_init(|| {
                let all: &[Level] = &[Level::Avx512, Level::Avx2, Level::Baseline];
                let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
                let avx512 = is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl");
                match (avx2, avx512) {
                    (true, true) => all,
                    (true, false) => &all[1..],
                    _ => &all[2..],
                }
            })
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            &[Level::Baseline]
        }
    }

    pub fn best() -> Level {
        Level::available()[0]
    }
}

/// The kernel of `F` for `level`, which must be available.
pub(crate) fn unary<T: Real, F: Lanes1<T>>(level: Level) -> Unary<T> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => x86::unary_avx512::<T, F>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => x86::unary_avx2::<T, F>,
        Level::Baseline => unary_baseline::<T, F>,
    }
}

/// The kernel of `F` for `level`, which must be available.
pub(crate) fn binary<T: Real, F: Lanes2<T>>(level: Level) -> Binary<T> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => x86::binary_avx512::<T, F>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => x86::binary_avx2::<T, F>,
        Level::Baseline => binary_baseline::<T, F>,
    }
}

/// Where fused multiply-add is part of the base instruction set the lane bodies serve as they are.
#[cfg(target_arch = "aarch64")]
unsafe fn unary_baseline<T: Real, F: Lanes1<T>>(n: usize, src: *const T, dst: *mut T) -> u8 {
    blocks::unary::<T, F>(n, src, dst)
}

#[cfg(target_arch = "aarch64")]
unsafe fn binary_baseline<T: Real, F: Lanes2<T>>(n: usize, a: *const T, b: *const T, dst: *mut T) -> u8 {
    blocks::binary::<T, F>(n, a, b, dst)
}

/// Without it a lane body would call `fma` for every term: libm is faster.
#[cfg(not(target_arch = "aarch64"))]
unsafe fn unary_baseline<T: Real, F: Libm1<T>>(n: usize, src: *const T, dst: *mut T) -> u8 {
    let status = Status::read();
    let mut flags = 0;
    for i in 0..n {
        let (y, raised) = F::flagged(src.add(i).read_unaligned());
        dst.add(i).write_unaligned(y);
        flags |= raised;
    }
    status.restore();
    flags
}

#[cfg(not(target_arch = "aarch64"))]
unsafe fn binary_baseline<T: Real, F: Libm2<T>>(n: usize, a: *const T, b: *const T, dst: *mut T) -> u8 {
    let status = Status::read();
    let mut flags = 0;
    for i in 0..n {
        let (y, raised) = F::flagged(a.add(i).read_unaligned(), b.add(i).read_unaligned());
        dst.add(i).write_unaligned(y);
        flags |= raised;
    }
    status.restore();
    flags
}
