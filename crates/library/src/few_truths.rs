//! Where a few elements are not zero.

use crate::element::{Element, with_type};
use crate::run::Run;
use crate::vector::vectorized;
use numloom_ir::DType;

/// Elements of a `Truths`.
pub const MOST: usize = 1024;

/// Which of a few elements are not zero, one bit each.
pub struct Truths {
    words: [u64; MOST / 64],
    len: usize,
}

impl Truths {
    /// Those of a run of up to `MOST` elements.
    ///
    /// # Safety
    /// The run is readable memory of `dtype`.
    pub unsafe fn of(dtype: DType, run: Run) -> Option<Truths> {
        if run.len > MOST {
            return None;
        }
        let mut bytes = [0u8; MOST];
        with_type!(dtype, T => {
            let (p, step) = (run.ptr, run.step);
            if step == size_of::<T>() as isize {
                let all = &mut bytes[..run.len];
                vectorized(
                    #[inline(always)]
                    || {
                        for (i, b) in all.iter_mut().enumerate() {
                            *b = p.cast::<T>().add(i).read_unaligned().truth() as u8;
                        }
                    },
                );
            } else {
                for (i, b) in bytes[..run.len].iter_mut().enumerate() {
                    *b = p.offset(i as isize * step).cast::<T>().read_unaligned().truth() as u8;
                }
            }
        });
        let mut truths = Truths { words: [0; MOST / 64], len: run.len };
        let words = &mut truths.words[..run.len.div_ceil(64)];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0.as_chunks::<8>().0) {
            for (k, eight) in bytes.iter().enumerate() {
                // Multiplied, the lowest bits of eight bytes come to lie side by side in the highest one.
                let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                *word |= bits << (8 * k);
            }
        }
        Some(truths)
    }

    fn words(&self) -> &[u64] {
        &self.words[..self.len.div_ceil(64)]
    }

    /// How many are not zero.
    pub fn count(&self) -> usize {
        self.words().iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Eight in a byte, the first of them lowest.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words().iter().flat_map(|w| w.to_le_bytes())
    }

    /// Writes the places of those that are not zero.
    ///
    /// # Safety
    /// There is room for `count` places at `to`.
    pub unsafe fn write_places(&self, to: *mut i64) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
            return self.write_vectors(to);
        }
        let mut to = to;
        for (k, &word) in self.words().iter().enumerate() {
            let mut left = word;
            while left != 0 {
                to.write((64 * k) as i64 + left.trailing_zeros() as i64);
                to = to.add(1);
                left &= left - 1;
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,popcnt")]
    unsafe fn write_vectors(&self, mut to: *mut i64) {
        use std::arch::x86_64::*;
        let mut places = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        for bits in self.words().iter().flat_map(|w| w.to_le_bytes()) {
            let count = bits.count_ones();
            let there = (1u32 << count) - 1;
            _mm512_mask_storeu_epi64(to, there as u8, _mm512_maskz_compress_epi64(bits, places));
            to = to.add(count as usize);
            places = _mm512_add_epi64(places, _mm512_set1_epi64(8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_what_is_not_zero() {
        for n in [0, 1, 7, 8, 63, 64, 65, 1000, 1024] {
            let x: Vec<f32> = (0..n).map(|i| if i % 7 < 3 || i % 64 > 50 { -0.0 } else { i as f32 }).collect();
            let want: Vec<i64> = (0..n as i64).filter(|i| x[*i as usize] != 0.0).collect();
            for step in [1, 2] {
                let len = n / step;
                let run = Run { ptr: x.as_ptr().cast(), step: 4 * step as isize, len };
                let want: Vec<i64> = want
                    .iter()
                    .filter(|p| **p % step as i64 == 0)
                    .map(|p| p / step as i64)
                    .filter(|p| *p < len as i64)
                    .collect();
                // SAFETY: the run lies in the array.
                let truths = unsafe { Truths::of(DType::F32, run).unwrap() };
                let mut got = vec![-1; truths.count() + 1];
                // SAFETY: there is room for one more.
                unsafe { truths.write_places(got.as_mut_ptr()) };
                assert_eq!(got.pop(), Some(-1));
                assert_eq!(got, want, "{n} {step}");
            }
        }
    }
}
