//! Runs of binary16 to and from `f32`, by the machine's own instructions where they raise nothing, and block loops of
//! binary16 that compute in `f32` a run at a time.

use crate::cast::cast_fn;
use crate::element::Half;
use crate::isa::Isa;
use crate::{BLOCK, BlockFn, In, block_fn};
use numloom_ir::{DType, ScalarOp};
use std::mem::MaybeUninit;
use std::sync::LazyLock;

/// Room for a run. Vectors do not cross the lines of the cache in it, so that a load can follow a store at once.
#[repr(align(64))]
pub(crate) struct Room<T>([MaybeUninit<T>; BLOCK]);

impl<T> Room<T> {
    #[inline(always)]
    pub const fn new() -> Room<T> {
        Room([const { MaybeUninit::uninit() }; BLOCK])
    }

    #[inline(always)]
    pub fn start(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

/// The input as `f32`, in `room`.
#[inline]
pub(crate) unsafe fn widened(n: usize, input: In, room: &mut Room<f32>) -> In {
    let n = if input.step == 0 { 1 } else { n };
    let dense = In { ptr: input.ptr, step: size_of::<Half>() };
    let ptr = room.start().cast::<u8>();
    cast_fn(DType::F16, DType::F32)(n, &dense, &ptr);
    In { ptr, step: if input.step == 0 { 0 } else { size_of::<f32>() } }
}

/// Writes what `wide` holds to an output, and says what that raised.
#[inline]
pub(crate) unsafe fn narrowed(n: usize, wide: &mut Room<f32>, out: *const *mut u8) -> u8 {
    let dense = In { ptr: wide.start().cast(), step: size_of::<f32>() };
    cast_fn(DType::F32, DType::F16)(n, &dense, out)
}

/// The block loop that `op` has for `f32`, for binary16: two inputs, `OUTS` outputs.
pub(crate) unsafe fn through_f32<const OP: u8, const OUTS: usize>(
    n: usize,
    ins: *const In,
    outs: *const *mut u8,
) -> u8 {
    static LOOPS: LazyLock<Vec<Option<usize>>> =
        LazyLock::new(|| ScalarOp::ALL.iter().map(|op| op.loop_for(DType::F32)).collect());
    let lp = LOOPS[OP as usize].expect("a loop of f32");
    let (mut left, mut right) = (Room::new(), Room::new());
    let wide = [widened(n, *ins, &mut left), widened(n, *ins.add(1), &mut right)];
    let mut results = [const { Room::<f32>::new() }; OUTS];
    let at: [*mut u8; OUTS] = std::array::from_fn(|k| results[k].start().cast());
    let mut flags = block_fn(ScalarOp::ALL[OP as usize], lp)(n, wide.as_ptr(), at.as_ptr());
    for k in 0..OUTS {
        flags |= narrowed(n, &mut results[k], outs.add(k));
    }
    flags
}

/// The loop that widens a run, where the machine has a better one than `plain`.
pub(crate) fn widen_fn(isa: Isa, plain: BlockFn) -> BlockFn {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => x86::widen,
        _ => plain,
    }
}

/// The loop that narrows a run, where the machine has a better one than `plain`.
pub(crate) fn narrow_fn(isa: Isa, plain: BlockFn) -> BlockFn {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => x86::narrow,
        _ => plain,
    }
}

/// Conversions that raise no exceptions: older instructions have no such form.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::element::Half;
    use crate::map::splat;
    use crate::{FP_OVERFLOW, FP_UNDERFLOW, In};
    use std::arch::x86_64::*;

    const LANES: usize = 16;
    const SILENT: i32 = _MM_FROUND_NO_EXC;
    const SILENT_NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

    /// The lanes that `left` elements fill, fewer than there are.
    #[inline(always)]
    fn lanes(left: usize) -> u16 {
        (1 << left) - 1
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub unsafe fn widen(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
        let (from, to) = ((*ins).ptr.cast::<i16>(), (*outs).cast::<f32>());
        if (*ins).step == 0 {
            splat(n, from.cast::<Half>().read_unaligned().widen(), to);
            return 0;
        }
        let whole = n - n % LANES;
        for i in (0..whole).step_by(LANES) {
            let narrow = _mm256_loadu_epi16(from.add(i));
            _mm512_storeu_ps(to.add(i), _mm512_cvt_roundph_ps::<SILENT>(narrow));
        }
        let narrow = _mm256_maskz_loadu_epi16(lanes(n - whole), from.add(whole));
        _mm512_mask_storeu_ps(to.add(whole), lanes(n - whole), _mm512_cvt_roundph_ps::<SILENT>(narrow));
        0
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub unsafe fn narrow(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
        let (from, to) = ((*ins).ptr.cast::<f32>(), (*outs).cast::<i16>());
        let mut flags = 0;
        if (*ins).step == 0 {
            splat(n, Half::narrow(from.read_unaligned(), &mut flags), to.cast::<Half>());
            return flags;
        }
        let whole = n - n % LANES;
        let mut lost = Lost::default();
        for i in (0..whole).step_by(LANES) {
            _mm256_storeu_epi16(to.add(i), narrowed(_mm512_loadu_ps(from.add(i)), &mut lost));
        }
        let rest = _mm512_maskz_loadu_ps(lanes(n - whole), from.add(whole));
        _mm256_mask_storeu_epi16(to.add(whole), lanes(n - whole), narrowed(rest, &mut lost));
        flags |= if lost.below != 0 { FP_UNDERFLOW } else { 0 };
        flags | if lost.above != 0 { FP_OVERFLOW } else { 0 }
    }

    /// Lanes that did not keep their numbers.
    #[derive(Default)]
    struct Lost {
        below: u16,
        above: u16,
    }

    /// The bounds are those of `Half::narrow`: what is below 2^-14, and what is finite from 65520 on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn narrowed(wide: __m512, lost: &mut Lost) -> __m256i {
        const LEAST: i32 = 113 << 23;
        const MOST: i32 = 0x477f_f000;
        let narrow = _mm512_cvt_roundps_ph::<SILENT_NEAREST>(wide);
        let bits = _mm512_castps_si512(wide);
        let magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fff_ffff));
        let above = _mm512_sub_epi32(magnitude, _mm512_set1_epi32(MOST));
        lost.above |= _mm512_cmplt_epu32_mask(above, _mm512_set1_epi32(0x7f80_0000 - MOST));
        // Zeros are kept: one less than zero is the largest of all.
        let tiny = _mm512_sub_epi32(magnitude, _mm512_set1_epi32(1));
        let tiny = _mm512_cmplt_epu32_mask(tiny, _mm512_set1_epi32(LEAST - 1));
        if tiny != 0 {
            let back = _mm512_castps_si512(_mm512_cvt_roundph_ps::<SILENT>(narrow));
            lost.below |= _mm512_mask_cmpneq_epi32_mask(tiny, back, bits);
        }
        narrow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::ISA;

    /// Every binary16 number, and `f32` around and between all of them, as the plain conversions have it.
    #[test]
    fn runs_are_converted_as_single_numbers_are() {
        let (widen, narrow) = (cast_fn(DType::F16, DType::F32), cast_fn(DType::F32, DType::F16));
        let halves: Vec<Half> = (0..=u16::MAX).map(Half).collect();
        for run in halves.chunks(BLOCK - 3) {
            let mut wide = [0f32; BLOCK];
            let input = In { ptr: run.as_ptr().cast(), step: 2 };
            unsafe { widen(run.len(), &input, &wide.as_mut_ptr().cast()) };
            for (half, wide) in run.iter().zip(wide) {
                let plain = half.widen();
                assert!(plain.to_bits() == wide.to_bits() || plain.is_nan() && wide.is_nan(), "{half:?} on {:?}", *ISA);
            }
        }
        let near = halves.iter().flat_map(|h| {
            let bits = h.widen().to_bits();
            [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff].map(|d| f32::from_bits(bits.wrapping_add(d)))
        });
        let singles: Vec<f32> = near.chain([f32::MAX, f32::MIN, f32::MIN_POSITIVE, -1e-45]).collect();
        for run in singles.chunks(37) {
            let mut got = [Half(0); 37];
            let input = In { ptr: run.as_ptr().cast(), step: 4 };
            let raised = unsafe { narrow(run.len(), &input, &got.as_mut_ptr().cast()) };
            let mut flags = 0;
            for (&x, half) in run.iter().zip(got) {
                let plain = Half::narrow(x, &mut flags);
                assert!(plain == half || plain.nan() && half.nan(), "{x:e} gave {half:?}, not {plain:?}");
            }
            assert_eq!(raised, flags, "{run:?}");
        }
    }
}
