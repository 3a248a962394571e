//! Sorting up to two blocks of integers in AVX-512 registers: no comparison is a branch.
//!
//! A block is a matrix of sixteen rows, each a vector. A network sorts every column, which compares whole rows. Then
//! neighbouring columns are merged, two, four, ... at a time, until the matrix is sorted row by row. What is missing is
//! the largest integer, so that it comes last whatever else is there.
//!
//! All but what is entered from outside is inlined always: only so do the rows stay in registers, and only so is it
//! compiled for the vectors it needs.

use std::arch::x86_64::*;

/// Compares rows by a network, written as its pairs.
macro_rules! compared {
    ($rows:ident; $($a:literal $b:literal),*) => {$(
        let (low, high) = (least($rows[$a], $rows[$b]), most($rows[$a], $rows[$b]));
        ($rows[$a], $rows[$b]) = (low, high);
    )*};
}

macro_rules! networks {
    ($module:ident, $t:ty, $m:ty, $w:literal, $fill:ident, $load:ident, $store:ident, $min:ident, $max:ident,
        $or_max:ident, $reversed:ident, $swapped:ident) => {
        pub mod $module {
            use super::*;

            /// Elements of a vector.
            const W: usize = $w;
            /// Elements of a block.
            const BLOCK: usize = 16 * W;
            /// Elements that `sort` takes.
            pub const MOST: usize = 2 * BLOCK;

            #[inline(always)]
            unsafe fn least(a: __m512i, b: __m512i) -> __m512i {
                $min(a, b)
            }

            #[inline(always)]
            unsafe fn most(a: __m512i, b: __m512i) -> __m512i {
                $max(a, b)
            }

            /// The lanes of their numbers' `bit`.
            const fn lanes(bit: usize) -> $m {
                let (mut mask, mut lane) = (0, 0);
                while lane < W {
                    if lane & bit != 0 {
                        mask |= 1 << lane;
                    }
                    lane += 1;
                }
                mask
            }

            /// Sorts up to `MOST` elements.
            ///
            /// # Safety
            /// AVX-512 must be there, and the run no longer than that.
            #[target_feature(enable = "avx512f")]
            pub unsafe fn sort(run: &mut [$t]) {
                debug_assert!(run.len() <= MOST);
                let (p, n) = (run.as_mut_ptr(), run.len());
                match n {
                    0 | 1 => {}
                    _ if n <= W => alone::<1>(p, n),
                    _ if n <= 2 * W => alone::<2>(p, n),
                    _ if n <= 4 * W => alone::<4>(p, n),
                    _ if n <= 8 * W => alone::<8>(p, n),
                    _ if n <= BLOCK => alone::<16>(p, n),
                    _ if n <= BLOCK + 2 * W => beside::<2>(p, n),
                    _ if n <= BLOCK + 4 * W => beside::<4>(p, n),
                    _ if n <= BLOCK + 8 * W => beside::<8>(p, n),
                    _ => beside::<16>(p, n),
                }
            }

            /// The rows of `n` elements, the last of them filled up.
            #[inline(always)]
            unsafe fn read<const R: usize>(p: *const $t, n: usize) -> [__m512i; R] {
                let mut rows = [$fill(<$t>::MAX); R];
                for r in 0..R {
                    rows[r] = $load(rows[r], held::<R>(n, r), p.wrapping_add(r * W));
                }
                rows
            }

            #[inline(always)]
            unsafe fn write<const R: usize>(rows: [__m512i; R], p: *mut $t, n: usize) {
                for r in 0..R {
                    $store(p.wrapping_add(r * W), held::<R>(n, r), rows[r]);
                }
            }

            /// The lanes of a row that are among the first `n` elements. Of four rows and more the first half is whole: for
            /// fewer elements half as many rows are taken.
            #[inline(always)]
            fn held<const R: usize>(n: usize, row: usize) -> $m {
                if R > 2 && row < R / 2 {
                    return <$m>::MAX;
                }
                let left = n.saturating_sub(row * W).min(W) as u32;
                ((1u32 << left) - 1) as $m
            }

            /// A block of up to `R` rows.
            #[target_feature(enable = "avx512f")]
            unsafe fn alone<const R: usize>(p: *mut $t, n: usize) {
                let mut rows = read::<R>(p, n);
                columns(&mut rows);
                merge_columns(&mut rows);
                write(rows, p, n);
            }

            /// A whole block, and one of up to `R` rows behind it.
            #[target_feature(enable = "avx512f")]
            unsafe fn beside<const R: usize>(p: *mut $t, n: usize) {
                let (second, left) = (p.add(BLOCK), n - BLOCK);
                alone::<16>(p, BLOCK);
                let mut rows = read::<R>(second, left);
                columns(&mut rows);
                merge_columns(&mut rows);
                // The second block backwards makes one sequence that rises and falls. Each half of it is one, too, once
                // the smaller of every two has gone to the first half. Where the second block has no rows, the first
                // one's are the smaller.
                for r in 0..R {
                    let place = p.add((15 - r) * W);
                    let (front, back) = ($load(rows[r], <$m>::MAX, place), $reversed::<W>(rows[r]));
                    $store(place, <$m>::MAX, least(front, back));
                    rows[r] = most(front, back);
                }
                rise(&mut rows);
                write(rows, second, left);
                let mut first = read::<16>(p, BLOCK);
                rise(&mut first);
                write(first, p, BLOCK);
            }

            /// Sorts a sequence, row by row, that rises and falls.
            #[inline(always)]
            unsafe fn rise<const R: usize>(rows: &mut [__m512i; R]) {
                rows_apart::<8, R>(rows);
                rows_apart::<4, R>(rows);
                rows_apart::<2, R>(rows);
                rows_apart::<1, R>(rows);
                if W > 8 {
                    lanes_apart::<8, R>(rows);
                }
                lanes_apart::<4, R>(rows);
                lanes_apart::<2, R>(rows);
                lanes_apart::<1, R>(rows);
            }

            /// The smaller of every two that lie `S` rows apart first.
            #[inline(always)]
            unsafe fn rows_apart<const S: usize, const R: usize>(rows: &mut [__m512i; R]) {
                for i in 0..if S < R { R / 2 } else { 0 } {
                    let r = i / S * 2 * S + i % S;
                    let (low, high) = (least(rows[r], rows[r + S]), most(rows[r], rows[r + S]));
                    (rows[r], rows[r + S]) = (low, high);
                }
            }

            /// The smaller of every two that lie `S` lanes apart first.
            #[inline(always)]
            unsafe fn lanes_apart<const S: usize, const R: usize>(rows: &mut [__m512i; R]) {
                for r in 0..R {
                    let other = $swapped::<S>(rows[r]);
                    rows[r] = $or_max(least(rows[r], other), const { lanes(S) }, rows[r], other);
                }
            }

            /// Sorts every column.
            #[inline(always)]
            unsafe fn columns<const R: usize>(rows: &mut [__m512i; R]) {
                if R == 2 {
                    compared!(rows; 0 1);
                }
                if R == 4 {
                    compared!(rows; 0 1, 2 3, 0 2, 1 3, 1 2);
                }
                if R == 8 {
                    compared!(rows; 0 1, 2 3, 4 5, 6 7, 0 2, 1 3, 4 6, 5 7, 1 2, 5 6, 0 4, 3 7, 1 5, 2 6, 1 4, 3 6, 2 4,
                        3 5, 3 4);
                }
                if R == 16 {
                    compared!(rows; 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14,
                        13 15, 0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15, 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14,
                        7 15, 5 10, 6 9, 3 12, 13 14, 4 8, 7 11, 1 2, 1 4, 7 13, 2 8, 11 14, 2 4, 5 6, 9 10, 11 13,
                        3 8, 7 12, 6 8, 10 12, 3 5, 7 9, 3 4, 5 6, 7 8, 9 10, 11 12, 6 7, 8 9);
                }
            }

            /// Sorted columns become a matrix that is sorted row by row.
            #[inline(always)]
            unsafe fn merge_columns<const R: usize>(rows: &mut [__m512i; R]) {
                merge::<2, R>(rows);
                merge::<4, R>(rows);
                merge::<8, R>(rows);
                if W > 8 {
                    merge::<16, R>(rows);
                }
            }

            /// Of every `G` columns the first half is sorted row by row, and the second; then all of them are.
            ///
            /// Backwards, the second half makes one sequence with the first that rises and falls, and its halves are
            /// told apart by comparing each row with the one as far from the other end, the lanes of each group
            /// backwards. What is left on either side lies as before, in half as many rows: down to a single one, where
            /// the lanes are halved as they stand.
            #[inline(always)]
            unsafe fn merge<const G: usize, const R: usize>(rows: &mut [__m512i; R]) {
                ends::<16, G, R>(rows);
                ends::<8, G, R>(rows);
                ends::<4, G, R>(rows);
                ends::<2, G, R>(rows);
                for r in 0..R {
                    let back = $reversed::<G>(rows[r]);
                    rows[r] = $or_max(least(rows[r], back), const { lanes(G / 2) }, rows[r], back);
                }
                if G > 8 {
                    lanes_apart::<4, R>(rows);
                }
                if G > 4 {
                    lanes_apart::<2, R>(rows);
                }
                if G > 2 {
                    lanes_apart::<1, R>(rows);
                }
            }

            /// Of every `S` rows the first with the last, the second with the one before that, and so on, one of both
            /// backwards in every group of `G` lanes: the smaller ones first.
            #[inline(always)]
            unsafe fn ends<const S: usize, const G: usize, const R: usize>(rows: &mut [__m512i; R]) {
                for i in 0..if S <= R { R / 2 } else { 0 } {
                    let (start, at) = (i / (S / 2) * S, i % (S / 2));
                    let (r, end) = (start + at, start + S - 1 - at);
                    let back = $reversed::<G>(rows[end]);
                    let (low, high) = (least(rows[r], back), most(rows[r], back));
                    (rows[r], rows[end]) = (low, high);
                }
            }
        }
    };
}
networks!(
    by_64,
    i64,
    __mmask8,
    8,
    _mm512_set1_epi64,
    _mm512_mask_loadu_epi64,
    _mm512_mask_storeu_epi64,
    _mm512_min_epi64,
    _mm512_max_epi64,
    _mm512_mask_max_epi64,
    reversed_64,
    swapped_64
);
networks!(
    by_32,
    i32,
    __mmask16,
    16,
    _mm512_set1_epi32,
    _mm512_mask_loadu_epi32,
    _mm512_mask_storeu_epi32,
    _mm512_min_epi32,
    _mm512_max_epi32,
    _mm512_mask_max_epi32,
    reversed_32,
    swapped_32
);

/// Every group of `G` lanes backwards.
#[inline(always)]
unsafe fn reversed_64<const G: usize>(v: __m512i) -> __m512i {
    match G {
        2 => _mm512_shuffle_epi32::<0x4e>(v),
        4 => _mm512_permutex_epi64::<0x1b>(v),
        _ => _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), v),
    }
}

/// Every lane with the one whose number differs in the bit `S`.
#[inline(always)]
unsafe fn swapped_64<const S: usize>(v: __m512i) -> __m512i {
    match S {
        1 => _mm512_shuffle_epi32::<0x4e>(v),
        2 => _mm512_permutex_epi64::<0x4e>(v),
        _ => _mm512_shuffle_i64x2::<0x4e>(v, v),
    }
}

/// As `reversed_64`.
#[inline(always)]
unsafe fn reversed_32<const G: usize>(v: __m512i) -> __m512i {
    match G {
        2 => _mm512_shuffle_epi32::<0xb1>(v),
        4 => _mm512_shuffle_epi32::<0x1b>(v),
        8 => _mm512_permutexvar_epi32(_mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8), v),
        _ => _mm512_permutexvar_epi32(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), v),
    }
}

/// As `swapped_64`.
#[inline(always)]
unsafe fn swapped_32<const S: usize>(v: __m512i) -> __m512i {
    match S {
        1 => _mm512_shuffle_epi32::<0xb1>(v),
        2 => _mm512_shuffle_epi32::<0x4e>(v),
        4 => _mm512_permutex_epi64::<0x4e>(v),
        _ => _mm512_shuffle_i64x2::<0x4e>(v, v),
    }
}
