//! Blocks of words to blocks of uniform floats, by vectors where the machine has them.

use crate::bits::to_f32;

/// `low + range * u` for every word, with u in [0, 1) of its upper 53 bits.
pub fn uniforms(words: &[u64], out: &mut [f64], low: f64, range: f64) {
    let done = by_vectors(words, out, |words, out, n| {
        // SAFETY: `by_vectors` has asked the machine, and n elements are there.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            avx512::uniforms(words, out, n, low, range)
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (words, out, n);
    });
    for (x, &w) in out.iter_mut().zip(words).skip(done) {
        *x = low + range * ((w >> 11) as f64 * (1.0 / 9007199254740992.0));
    }
}

/// The float in [0, 1) of every word.
pub fn floats(words: &[u32], out: &mut [f32]) {
    let done = by_vectors(words, out, |words, out, n| {
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            avx512::floats(words, out, n)
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (words, out, n);
    });
    for (x, &w) in out.iter_mut().zip(words).skip(done) {
        *x = to_f32(w);
    }
}

/// Runs `work` over a multiple of sixteen elements, if the machine has AVX-512; answers how many.
fn by_vectors<W, T>(words: &[W], out: &mut [T], work: impl FnOnce(*const W, *mut T, usize)) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
        let n = words.len().min(out.len()) / 16 * 16;
        work(words.as_ptr(), out.as_mut_ptr(), n);
        return n;
    }
    let _ = (words, out, work);
    0
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f,avx512dq")]
    pub unsafe fn uniforms(words: *const u64, out: *mut f64, n: usize, low: f64, range: f64) {
        let unit = _mm512_set1_pd(1.0 / 9007199254740992.0);
        let (low, range) = (_mm512_set1_pd(low), _mm512_set1_pd(range));
        let mut i = 0;
        while i < n {
            let w = _mm512_srli_epi64::<11>(_mm512_loadu_si512(words.add(i) as *const __m512i));
            let u = _mm512_mul_pd(_mm512_cvtepu64_pd(w), unit);
            _mm512_storeu_pd(out.add(i), _mm512_add_pd(low, _mm512_mul_pd(range, u)));
            i += 8;
        }
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    pub unsafe fn floats(words: *const u32, out: *mut f32, n: usize) {
        let unit = _mm512_set1_ps(1.0 / 16777216.0);
        let mut i = 0;
        while i < n {
            let w = _mm512_srli_epi32::<8>(_mm512_loadu_si512(words.add(i) as *const __m512i));
            _mm512_storeu_ps(out.add(i), _mm512_mul_ps(_mm512_cvtepi32_ps(w), unit));
            i += 16;
        }
    }
}
