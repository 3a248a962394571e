//! Inner loops of `matvec.rs` for float32 and float64 on AVX-512. Reading a matrix at the speed of the memory takes
//! several streams at once: eight rows, or eight columns, go by side by side.

use std::arch::x86_64::*;

/// Whether the loops here can run.
#[inline]
pub fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
}

/// Elements summed up before running sums are folded: keeps the error near that of pairwise summation.
const STRETCH: usize = 2048;
/// Vectors of a row or a column that is held in registers as a whole.
const HELD: usize = 8;

macro_rules! kernels {
    ($module:ident, $t:ty, $v:ty, $m:ty, $w:expr, $zero:ident, $set:ident, $load:ident, $mask_load:ident, $store:ident,
     $mask_store:ident, $fma:ident, $mask_fma:ident, $add:ident, $sum:ident, $fold:ident) => {
        pub mod $module {
            use super::*;

            /// Elements of a vector.
            const W: usize = $w;

            /// The lanes of a tail of `n` elements; all of them for a whole vector.
            #[inline(always)]
            fn lanes(n: usize) -> $m {
                if n >= W { <$m>::MAX } else { (1 << n) - 1 }
            }

            /// Dot products of `n` dense rows, `row_step` elements apart, with `x`.
            ///
            /// # Safety
            /// AVX-512 must be there, all operands valid memory, `sums` apart from the others.
            #[target_feature(enable = "avx512f")]
            pub unsafe fn dots(a: *const $t, row_step: isize, x: *const $t, n: usize, k: usize, sums: *mut $t) {
                let mut i = 0;
                if k <= HELD * W && n >= W {
                    macro_rules! held {
                        ($q:expr) => {
                            while i + W <= n {
                                short_rows::<$q>(a.offset(i as isize * row_step), row_step, x, k, sums.add(i));
                                i += W;
                            }
                        };
                    }
                    match k.div_ceil(W) {
                        1 => held!(1),
                        2 => held!(2),
                        3 => held!(3),
                        4 => held!(4),
                        5 => held!(5),
                        6 => held!(6),
                        7 => held!(7),
                        _ => held!(8),
                    }
                }
                while i + 8 <= n {
                    long_rows::<8, 2>(a.offset(i as isize * row_step), row_step, x, k, sums.add(i));
                    i += 8;
                }
                while i < n {
                    long_rows::<1, 8>(a.offset(i as isize * row_step), row_step, x, k, sums.add(i));
                    i += 1;
                }
            }

            /// `W` rows that `Q` vectors hold each.
            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn short_rows<const Q: usize>(a: *const $t, row_step: isize, x: *const $t, k: usize, sums: *mut $t) {
                let tail = lanes(k - (Q - 1) * W);
                let x: [$v; Q] =
                    std::array::from_fn(
                        |q| {
                            if q + 1 < Q { $load(x.add(q * W)) } else { $mask_load(tail, x.add(q * W)) }
                        },
                    );
                let rows: [$v; W] = std::array::from_fn(|r| {
                    let row = a.offset(r as isize * row_step);
                    let mut sum = $zero();
                    for q in 0..Q {
                        let v = if q + 1 < Q { $load(row.add(q * W)) } else { $mask_load(tail, row.add(q * W)) };
                        sum = $fma(v, x[q], sum);
                    }
                    sum
                });
                $store(sums, $fold(rows));
            }

            /// `R` rows of any length, in `V` running vectors each.
            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn long_rows<const R: usize, const V: usize>(
                a: *const $t,
                row_step: isize,
                x: *const $t,
                k: usize,
                sums: *mut $t,
            ) {
                let rows: [*const $t; R] = std::array::from_fn(|r| a.offset(r as isize * row_step));
                let mut totals = [0.0; R];
                for start in (0..k).step_by(STRETCH) {
                    let end = k.min(start + STRETCH);
                    let mut acc = [[$zero(); V]; R];
                    let mut at = start;
                    while at + V * W <= end {
                        for v in 0..V {
                            let x = $load(x.add(at + v * W));
                            for r in 0..R {
                                acc[r][v] = $fma($load(rows[r].add(at + v * W)), x, acc[r][v]);
                            }
                        }
                        at += V * W;
                    }
                    while at < end {
                        let mask = lanes(end - at);
                        let x = $mask_load(mask, x.add(at));
                        for r in 0..R {
                            acc[r][0] = $fma($mask_load(mask, rows[r].add(at)), x, acc[r][0]);
                        }
                        at += W;
                    }
                    for r in 0..R {
                        let mut sum = acc[r][0];
                        for v in 1..V {
                            sum = $add(sum, acc[r][v]);
                        }
                        totals[r] += $sum(sum);
                    }
                }
                for r in 0..R {
                    *sums.add(r) = totals[r];
                }
            }

            /// `sums[i] = sum of a[i, j] * x[j]` for `k` dense columns of `n` elements, `col_step` elements apart.
            ///
            /// # Safety
            /// As for `dots`.
            #[target_feature(enable = "avx512f")]
            pub unsafe fn columns(a: *const $t, col_step: isize, x: *const $t, n: usize, k: usize, sums: *mut $t) {
                for i in 0..n {
                    *sums.add(i) = 0.0;
                }
                if n > HELD * W {
                    return long_columns(a, col_step, x, n, k, sums);
                }
                for start in (0..k).step_by(STRETCH) {
                    let (len, a, x) = (STRETCH.min(k - start), a.offset(start as isize * col_step), x.add(start));
                    match n.div_ceil(W) {
                        1 => short_columns::<1, 8>(a, col_step, x, n, len, sums),
                        2 => short_columns::<2, 4>(a, col_step, x, n, len, sums),
                        3 => short_columns::<3, 4>(a, col_step, x, n, len, sums),
                        4 => short_columns::<4, 4>(a, col_step, x, n, len, sums),
                        5 => short_columns::<5, 2>(a, col_step, x, n, len, sums),
                        6 => short_columns::<6, 2>(a, col_step, x, n, len, sums),
                        7 => short_columns::<7, 2>(a, col_step, x, n, len, sums),
                        _ => short_columns::<8, 2>(a, col_step, x, n, len, sums),
                    }
                }
            }

            /// Adds columns that `Q` vectors hold, in `U` sets of running sums.
            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn short_columns<const Q: usize, const U: usize>(
                a: *const $t,
                col_step: isize,
                x: *const $t,
                n: usize,
                k: usize,
                sums: *mut $t,
            ) {
                let tail = lanes(n - (Q - 1) * W);
                let mut acc = [[$zero(); Q]; U];
                let mut j = 0;
                while j + U <= k {
                    for u in 0..U {
                        let column = a.offset((j + u) as isize * col_step);
                        let x = $set(*x.add(j + u));
                        for q in 0..Q {
                            let at = column.add(q * W);
                            acc[u][q] = if q + 1 < Q {
                                $fma($load(at), x, acc[u][q])
                            } else {
                                // Lanes behind the end are not multiplied: zero times infinity would tell.
                                $mask_fma(tail, $mask_load(tail, at), x, acc[u][q])
                            };
                        }
                    }
                    j += U;
                }
                while j < k {
                    let column = a.offset(j as isize * col_step);
                    let x = $set(*x.add(j));
                    for q in 0..Q {
                        let held = lanes(n - q * W);
                        acc[0][q] = $mask_fma(held, $mask_load(held, column.add(q * W)), x, acc[0][q]);
                    }
                    j += 1;
                }
                for q in 0..Q {
                    let (mask, to) = (lanes(n - q * W), sums.add(q * W));
                    let mut sum = $mask_load(mask, to);
                    for u in 0..U {
                        sum = $add(sum, acc[u][q]);
                    }
                    $mask_store(to, mask, sum);
                }
            }

            /// Adds long columns, eight at a time.
            #[target_feature(enable = "avx512f")]
            unsafe fn long_columns(a: *const $t, col_step: isize, x: *const $t, n: usize, k: usize, sums: *mut $t) {
                for j in (0..k).step_by(8) {
                    let taken = 8.min(k - j);
                    // Columns past the last are zeros, times zero: times infinity they would tell, as would lanes behind the end.
                    let p: [*const $t; 8] =
                        std::array::from_fn(|c| a.offset((j + c.min(taken - 1)) as isize * col_step));
                    let x: [$v; 8] = std::array::from_fn(|c| if c < taken { $set(*x.add(j + c)) } else { $zero() });
                    for i in (0..n).step_by(W) {
                        let mask = lanes(n - i);
                        let of = |c: usize| $mask_load(if c < taken { mask } else { 0 }, p[c].add(i));
                        let mut near = $mask_load(mask, sums.add(i));
                        let mut far = $zero();
                        for c in 0..4 {
                            near = $mask_fma(mask, of(c), x[c], near);
                            far = $mask_fma(mask, of(c + 4), x[c + 4], far);
                        }
                        $mask_store(sums.add(i), mask, $add(near, far));
                    }
                }
            }
        }
    };
}
kernels!(
    single,
    f32,
    __m512,
    __mmask16,
    16,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_maskz_loadu_ps,
    _mm512_storeu_ps,
    _mm512_mask_storeu_ps,
    _mm512_fmadd_ps,
    _mm512_maskz_fmadd_ps,
    _mm512_add_ps,
    _mm512_reduce_add_ps,
    fold_single
);
kernels!(
    double,
    f64,
    __m512d,
    __mmask8,
    8,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_maskz_loadu_pd,
    _mm512_storeu_pd,
    _mm512_mask_storeu_pd,
    _mm512_fmadd_pd,
    _mm512_maskz_fmadd_pd,
    _mm512_add_pd,
    _mm512_reduce_add_pd,
    fold_double
);

/// The sums of the lanes of each of eight vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn fold_double(v: [__m512d; 8]) -> __m512d {
    let pair = |a, b| _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
    let quarters = |a, b| _mm512_add_pd(_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xdd>(a, b));
    let low = quarters(pair(v[0], v[1]), pair(v[2], v[3]));
    let high = quarters(pair(v[4], v[5]), pair(v[6], v[7]));
    quarters(low, high)
}

/// The sums of the lanes of each of sixteen vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn fold_single(v: [__m512; 16]) -> __m512 {
    let pair = |a, b| _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)));
    let four = |i: usize| {
        let (a, b) = (pair(v[i], v[i + 1]), pair(v[i + 2], v[i + 3]));
        _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)))
    };
    let quarters = |a, b| _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
    quarters(quarters(four(0), four(4)), quarters(four(8), four(12)))
}
