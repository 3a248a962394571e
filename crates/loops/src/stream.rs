//! Copies past the caches: a line that is written whole need not be read first, and what is larger than the caches
//! would only drive out what is still wanted.

/// The bytes of a cache line.
const LINE: usize = 64;
/// Lines that are read before they are written: a line that lies in its page where one just written does is held up.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 8;

/// Copies a dense run to one that does not overlap it. Other threads see it after `streamed`.
///
/// # Safety
/// Both runs are valid for `bytes`.
pub unsafe fn stream(src: *const u8, dst: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let head = dst.align_offset(LINE).min(bytes);
        let lines = (bytes - head) / LINE;
        std::ptr::copy_nonoverlapping(src, dst, head);
        if is_x86_feature_detected!("avx512f") {
            lines_avx512(src.add(head), dst.add(head), lines);
        } else {
            lines_baseline(src.add(head), dst.add(head), lines);
        }
        let done = head + lines * LINE;
        std::ptr::copy_nonoverlapping(src.add(done), dst.add(done), bytes - done);
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::ptr::copy_nonoverlapping(src, dst, bytes);
}

/// What streams whole lines from one run to another, both of which begin at one: asked for once where it is called often.
pub fn stream_lines() -> unsafe fn(*const u8, *mut u8, usize) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") { lines_avx512 } else { lines_baseline }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        lines_copied
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn lines_copied(src: *const u8, dst: *mut u8, lines: usize) {
    std::ptr::copy_nonoverlapping(src, dst, lines * LINE);
}

/// Ends a series of streamed copies: what this thread writes next is seen after them.
#[inline]
pub fn streamed() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence of the baseline instruction set.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

/// # Safety
/// `dst` is the start of a line; both runs are valid for `lines` of them.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn lines_avx512(src: *const u8, dst: *mut u8, lines: usize) {
    use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_setzero_si512, _mm512_stream_si512};
    let (src, dst) = (src as *const __m512i, dst as *mut __m512i);
    let mut several = [_mm512_setzero_si512(); AHEAD];
    let mut at = 0;
    while at + AHEAD <= lines {
        for (i, line) in several.iter_mut().enumerate() {
            *line = _mm512_loadu_si512(src.add(at + i));
        }
        for (i, &line) in several.iter().enumerate() {
            _mm512_stream_si512(dst.add(at + i), line);
        }
        at += AHEAD;
    }
    for i in at..lines {
        _mm512_stream_si512(dst.add(i), _mm512_loadu_si512(src.add(i)));
    }
}

/// # Safety
/// As for `lines_avx512`.
#[cfg(target_arch = "x86_64")]
unsafe fn lines_baseline(src: *const u8, dst: *mut u8, lines: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for i in 0..lines * (LINE / 16) {
        let part = _mm_loadu_si128(src.add(i * 16) as *const __m128i);
        _mm_stream_si128(dst.add(i * 16) as *mut __m128i, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_whatever_the_alignment() {
        let src: Vec<u8> = (0..1000).map(|i| i as u8).collect();
        for from in [0, 1, 7, 63, 64] {
            for to in [0, 3, 16, 63] {
                for bytes in [0, 1, 63, 64, 65, 500, 900] {
                    let mut dst = vec![0xEEu8; 1000];
                    // SAFETY: both ends lie inside their buffers.
                    unsafe { stream(src.as_ptr().add(from), dst.as_mut_ptr().add(to), bytes) };
                    streamed();
                    assert_eq!(dst[to..to + bytes], src[from..from + bytes]);
                    assert!(dst[..to].iter().chain(&dst[to + bytes..]).all(|&b| b == 0xEE));
                }
            }
        }
    }
}
