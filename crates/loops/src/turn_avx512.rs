//! Rows that become columns, eight by eight items in registers.

use crate::moves::turn_body;
use std::arch::x86_64::*;

/// What a turn takes: rows, items of a row, the source and the bytes between its rows, the target and the bytes between its.
type Turn = unsafe fn(usize, usize, *const u8, isize, *mut u8, isize);

/// Eight rows of eight items of 8 bytes, turned.
#[target_feature(enable = "avx512f")]
unsafe fn eight_of_8(src: *const u8, stride: isize, dst: *mut u8, dst_stride: isize) {
    let row = |r: isize| _mm512_loadu_si512(src.offset(r * stride) as *const __m512i);
    let pairs = |a: isize| {
        let (x, y) = (row(a), row(a + 1));
        (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y))
    };
    let (even, odd): ([__m512i; 4], [__m512i; 4]) = {
        let ((a, b), (c, d), (e, f), (g, h)) = (pairs(0), pairs(2), pairs(4), pairs(6));
        ([a, c, e, g], [b, d, f, h])
    };
    let put = |c: isize, v: __m512i| _mm512_storeu_si512(dst.offset(c * dst_stride) as *mut __m512i, v);
    for (first, [a, b, c, d]) in [(0, even), (1, odd)] {
        let (low, high) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d));
        put(first, _mm512_shuffle_i64x2::<0x88>(low, high));
        put(first + 4, _mm512_shuffle_i64x2::<0xDD>(low, high));
        let (low, high) = (_mm512_shuffle_i64x2::<0xDD>(a, b), _mm512_shuffle_i64x2::<0xDD>(c, d));
        put(first + 2, _mm512_shuffle_i64x2::<0x88>(low, high));
        put(first + 6, _mm512_shuffle_i64x2::<0xDD>(low, high));
    }
}

/// The same of items of 4 bytes.
#[target_feature(enable = "avx2")]
unsafe fn eight_of_4(src: *const u8, stride: isize, dst: *mut u8, dst_stride: isize) {
    let row = |r: isize| _mm256_loadu_si256(src.offset(r * stride) as *const __m256i);
    let four = |a: isize| {
        let (w, x, y, z) = (row(a), row(a + 1), row(a + 2), row(a + 3));
        let (low, high) = (_mm256_unpacklo_epi32(w, x), _mm256_unpackhi_epi32(w, x));
        let (low_2, high_2) = (_mm256_unpacklo_epi32(y, z), _mm256_unpackhi_epi32(y, z));
        [
            _mm256_unpacklo_epi64(low, low_2),
            _mm256_unpackhi_epi64(low, low_2),
            _mm256_unpacklo_epi64(high, high_2),
            _mm256_unpackhi_epi64(high, high_2),
        ]
    };
    let (upper, lower) = (four(0), four(4));
    let put = |c: usize, v: __m256i| _mm256_storeu_si256(dst.offset(c as isize * dst_stride) as *mut __m256i, v);
    for c in 0..4 {
        put(c, _mm256_permute2x128_si256::<0x20>(upper[c], lower[c]));
        put(c + 4, _mm256_permute2x128_si256::<0x31>(upper[c], lower[c]));
    }
}

macro_rules! turns {
    ($($name:ident, $item:ty, $eight:ident;)*) => {$(
        /// # Safety
        /// As for `turn`; the machine has AVX-512.
        #[target_feature(enable = "avx512f,avx2")]
        unsafe fn $name(
            rows: usize,
            width: usize,
            src: *const u8,
            stride: isize,
            dst: *mut u8,
            dst_stride: isize,
        ) {
            const ITEM: usize = size_of::<$item>();
            let (high, wide) = (rows / 8 * 8, width / 8 * 8);
            let from = |r: usize, c: usize| src.offset(r as isize * stride).add(c * ITEM);
            let to = |r: usize, c: usize| dst.offset(c as isize * dst_stride).add(r * ITEM);
            for r in (0..high).step_by(8) {
                for c in (0..wide).step_by(8) {
                    // The rows below come soon, and memory does not guess so.
                    for k in 8..16 {
                        _mm_prefetch::<_MM_HINT_T0>(src.wrapping_offset((r + k) as isize * stride).wrapping_add(c * ITEM) as *const i8);
                    }
                    $eight(from(r, c), stride, to(r, c), dst_stride);
                }
            }
            turn_body::<$item>(high, width - wide, from(0, wide), stride, to(0, wide), dst_stride);
            turn_body::<$item>(rows - high, width, from(high, 0), stride, to(high, 0), dst_stride);
        }
    )*};
}
turns! {
    turn_8, u64, eight_of_8;
    turn_4, u32, eight_of_4;
}

/// The turns of items of 4 and 8 bytes in place of those that every machine has.
pub fn replace(turns: &mut [Turn; 5]) {
    turns[2] = turn_4;
    turns[3] = turn_8;
}
