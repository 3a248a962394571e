//! Runs read and written through a mask: counting, packing the chosen items, spreading them again.

use crate::element::Element;
use crate::isa::{ISA, Isa, for_each_isa};
use crate::moves::{by_item_size, row};
use std::sync::LazyLock;

#[inline(always)]
unsafe fn count_body(n: usize, mask: *const u8) -> usize {
    // Lanes of a byte hold 255 rounds; a round is 64 lanes wide.
    const LANES: usize = 64;
    let (mut total, mut i) = (0usize, 0);
    while i + LANES <= n {
        let rounds = ((n - i) / LANES).min(255);
        let mut counts = [0u8; LANES];
        for _ in 0..rounds {
            for j in 0..LANES {
                counts[j] += (*mask.add(i + j) != 0) as u8;
            }
            i += LANES;
        }
        total += counts.iter().map(|&c| c as usize).sum::<usize>();
    }
    while i < n {
        total += (*mask.add(i) != 0) as usize;
        i += 1;
    }
    total
}

for_each_isa!(count_isa = count_body[](n: usize, mask: *const u8) -> usize);

unsafe fn compress_items<T: Element>(n: usize, src: *const u8, mask: *const u8, dst: *mut u8) -> usize {
    let (src, dst) = (src.cast::<T>(), dst.cast::<T>());
    // Every item is written where the next chosen one belongs, which needs no branch; knowing the
    // number of chosen ones keeps the last write inside.
    let total = count_true(n, mask);
    let (mut i, mut written) = (0, 0);
    while written < total {
        dst.add(written).write_unaligned(src.add(i).read_unaligned());
        written += (*mask.add(i) != 0) as usize;
        i += 1;
    }
    total
}

unsafe fn expand_items<T: Element>(n: usize, src: *const u8, mask: *const u8, dst: *mut u8) -> usize {
    let (src, dst) = (src.cast::<T>(), dst.cast::<T>());
    let mut consumed = 0;
    for i in 0..n {
        if *mask.add(i) != 0 {
            dst.add(i).write_unaligned(src.add(consumed).read_unaligned());
            consumed += 1;
        }
    }
    consumed
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    /// Bits of the mask bytes at `mask`, for `left` (at most `$lanes`) items.
    macro_rules! loops {
        ($t:ty, $lanes:literal, $bits:ty, $compress:ident, $expand:ident,
         $load:ident, $store:ident, $pack:ident, $spread:ident) => {
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt,bmi1,bmi2")]
            pub unsafe fn $compress(n: usize, src: *const u8, mask: *const u8, dst: *mut u8) -> usize {
                let (src, dst) = (src.cast::<$t>(), dst.cast::<$t>());
                let (mut i, mut written) = (0, 0);
                while i < n {
                    let inside = ((1u64 << (n - i).min($lanes)) - 1) as $bits;
                    let chosen = chosen(mask.add(i), inside as u16) as $bits;
                    let count = chosen.count_ones() as usize;
                    let packed = $pack(chosen, $load(inside, src.add(i)));
                    // A masked store: nothing after the last chosen item is touched.
                    $store(dst.add(written), ((1u64 << count) - 1) as $bits, packed);
                    written += count;
                    i += $lanes;
                }
                written
            }

            #[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt,bmi1,bmi2")]
            pub unsafe fn $expand(n: usize, src: *const u8, mask: *const u8, dst: *mut u8) -> usize {
                let (src, dst) = (src.cast::<$t>(), dst.cast::<$t>());
                let (mut i, mut consumed) = (0, 0);
                while i < n {
                    let inside = ((1u64 << (n - i).min($lanes)) - 1) as $bits;
                    let chosen = chosen(mask.add(i), inside as u16) as $bits;
                    let count = chosen.count_ones() as usize;
                    let packed = $load(((1u64 << count) - 1) as $bits, src.add(consumed));
                    $store(dst.add(i), chosen, $spread(chosen, packed));
                    consumed += count;
                    i += $lanes;
                }
                consumed
            }
        };
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn chosen(mask: *const u8, inside: u16) -> u16 {
        let bytes = _mm_maskz_loadu_epi8(inside, mask.cast());
        _mm_test_epi8_mask(bytes, bytes)
    }

    loops!(
        i32,
        16,
        u16,
        compress_4,
        expand_4,
        _mm512_maskz_loadu_epi32,
        _mm512_mask_storeu_epi32,
        _mm512_maskz_compress_epi32,
        _mm512_maskz_expand_epi32
    );
    loops!(
        i64,
        8,
        u8,
        compress_8,
        expand_8,
        _mm512_maskz_loadu_epi64,
        _mm512_mask_storeu_epi64,
        _mm512_maskz_compress_epi64,
        _mm512_maskz_expand_epi64
    );
}

type Pack = unsafe fn(usize, *const u8, *const u8, *mut u8) -> usize;

struct Packing {
    count: unsafe fn(usize, *const u8) -> usize,
    compress: [Pack; 5],
    expand: [Pack; 5],
}

fn compress_plain<T: Element>(_: Isa) -> Pack {
    compress_items::<T>
}

fn expand_plain<T: Element>(_: Isa) -> Pack {
    expand_items::<T>
}

static PACKING: LazyLock<Packing> = LazyLock::new(|| {
    let isa = *ISA;
    #[allow(unused_mut)]
    let mut packing = Packing {
        count: count_isa(isa),
        compress: by_item_size!(compress_plain, isa),
        expand: by_item_size!(expand_plain, isa),
    };
    #[cfg(target_arch = "x86_64")]
    if isa == Isa::Avx512 {
        packing.compress[row(4)] = avx512::compress_4;
        packing.compress[row(8)] = avx512::compress_8;
        packing.expand[row(4)] = avx512::expand_4;
        packing.expand[row(8)] = avx512::expand_8;
    }
    packing
});

/// How many of `n` mask bytes are set.
#[inline]
pub unsafe fn count_true(n: usize, mask: *const u8) -> usize {
    (PACKING.count)(n, mask)
}

/// Packs the items of a dense run where `mask` is set; returns how many were written.
#[inline]
pub unsafe fn compress(itemsize: usize, n: usize, src: *const u8, mask: *const u8, dst: *mut u8) -> usize {
    PACKING.compress[row(itemsize)](n, src, mask, dst)
}

/// Writes packed items to where `mask` is set in a dense run; returns how many were read.
#[inline]
pub unsafe fn expand(itemsize: usize, n: usize, src: *const u8, mask: *const u8, dst: *mut u8) -> usize {
    PACKING.expand[row(itemsize)](n, src, mask, dst)
}
