//! Copies of dense bytes. Not by the C library's, which moves a few kilobytes and more by `rep movsb`: where the target
//! lies a few bytes further in its page than the source does (`x[1:] = y`), Zen 3 and Zen 4 get 1.3 GB/s out of that, a
//! thirtieth of what these lines do.

use crate::moves::gather;

/// The bytes of a cache line, and of those that are read before they are written.
const LINE: usize = 64;
const LINES: usize = 4 * LINE;
/// Fewer bytes than these are the C library's: it has vectors for them.
const FEW: usize = 1024;

/// # Safety
/// As for `copy_bytes`.
#[inline(always)]
pub(crate) unsafe fn copy_body(src: *const u8, dst: *mut u8, n: usize) {
    if n < FEW {
        return std::ptr::copy_nonoverlapping(src, dst, n);
    }
    move_lines::<1>(src, dst);
    // From here on whole lines of the target.
    let mut at = LINE - dst as usize % LINE;
    while at + LINES <= n {
        move_lines::<4>(src.add(at), dst.add(at));
        at += LINES;
        // Else the compiler sees a copy, and calls the C library's.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        std::arch::asm!("", options(nostack, preserves_flags));
    }
    move_lines::<4>(src.add(n - LINES), dst.add(n - LINES));
}

#[inline(always)]
unsafe fn move_lines<const N: usize>(src: *const u8, dst: *mut u8) {
    let lines = src.cast::<[[u64; LINE / 8]; N]>().read_unaligned();
    dst.cast::<[[u64; LINE / 8]; N]>().write_unaligned(lines);
}

/// Copies `n` bytes to where they do not overlap.
///
/// # Safety
/// Both are valid for `n` bytes.
#[inline]
pub unsafe fn copy_bytes(src: *const u8, dst: *mut u8, n: usize) {
    gather(1, n, src, 1, dst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_and_no_other_is_written() {
        let from: Vec<u8> = (0..9000u32).map(|i| (i * 7 % 251) as u8).collect();
        for n in [0, 1, 63, 64, 1023, 1024, 1025, 1279, 1280, 2047, 4096, 4097, 8000] {
            for (s, d) in [(0, 0), (0, 8), (8, 0), (3, 5), (1, 64), (63, 1)] {
                let mut to = vec![255u8; 9000];
                // SAFETY: both have room for that.
                unsafe { copy_bytes(from.as_ptr().add(s), to.as_mut_ptr().add(d), n) };
                assert_eq!(to[d..d + n], from[s..s + n], "{n} bytes from {s} to {d}");
                assert!(to[..d].iter().chain(&to[d + n..]).all(|&b| b == 255), "{n} bytes from {s} to {d}");
            }
        }
    }
}
