//! A guide to a sorted array: for about where a value lies between the first element and the last, between which
//! elements it belongs. Where elements spread evenly, a search is then a step or two.

use crate::element::read_run;
use crate::scratch::Buffer;
use crate::sort_key::Keyed;
use crate::vector::vectorized;
use crate::walk::Walk;
use crate::{LibraryError, RawView};
use std::ops::Range;

/// Entries of a guide: a few for each element, up to so many.
const EACH: usize = 4;
const MOST: usize = 1 << 20;
/// Values that are read at a time.
pub const BLOCK: usize = 1024;

pub struct Guide {
    ranks: Buffer,
    n: usize,
    entries: Entries,
}

/// Which elements each entry has.
struct Entries {
    /// Where they begin, and one more.
    starts: Buffer,
    count: usize,
    low: f64,
    scale: f64,
    /// By ranks instead of values: even for numbers of very different size.
    by_rank: bool,
    /// Halvings that the longest one needs.
    steps: u32,
}

impl Guide {
    /// For the 1-d array `a` of `T`. It is expected to be sorted; if it is not, answers are any places in it.
    ///
    /// # Safety
    /// The view must be valid.
    pub unsafe fn new<T: Keyed>(a: &RawView) -> Result<Guide, LibraryError> {
        let n = a.shape[0];
        let ranks = Buffer::new::<i64>(n)?;
        let own = ranks.as_ptr::<i64>();
        for i in 0..n {
            let v = (a.ptr.offset(i as isize * a.strides[0]) as *const T).read_unaligned();
            own.add(i).write(v.rank());
        }
        let own = std::slice::from_raw_parts(own, n);
        let mut entries = Entries::new::<T>(own, false)?;
        if entries.steps > 3 {
            let other = Entries::new::<T>(own, true)?;
            if other.steps < entries.steps {
                entries = other;
            }
        }
        Ok(Guide { ranks, n, entries })
    }

    /// Whether a guide to so many elements can be made, and pays for so many values.
    pub fn pays(n: usize, values: usize) -> bool {
        n > 0 && n < i32::MAX as usize && values >= 64 && values >= n / 8
    }

    #[inline(always)]
    pub fn rank(&self, i: usize) -> i64 {
        debug_assert!(i < self.n);
        // SAFETY: there are `n` ranks.
        unsafe { *self.ranks.as_ptr::<i64>().add(i) }
    }

    pub fn len(&self) -> usize {
        self.n
    }

    /// Where values belong: before their equals, or after them. Up to a block of them, whose ranks are left as well.
    pub fn places<T: Keyed, const RIGHT: bool>(&self, values: &[T], ranks: &mut [i64; BLOCK], at: &mut [u32; BLOCK]) {
        let (entries, n) = (&self.entries, values.len().min(BLOCK));
        let (own, places) = (&mut *ranks, &mut *at);
        vectorized(
            #[inline(always)]
            move || {
                for i in 0..n {
                    own[i] = values[i].rank();
                }
                for i in 0..n {
                    places[i] = entries.entry(values[i], own[i]) as u32;
                }
            },
        );
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the features were just detected.
            return unsafe { self.search_avx512::<RIGHT>(n, ranks, at) };
        }
        self.search::<RIGHT>(n, ranks, at)
    }

    /// From entries to places, for `n` ranks.
    fn search<const RIGHT: bool>(&self, n: usize, ranks: &[i64; BLOCK], at: &mut [u32; BLOCK]) {
        let (starts, mut ends) = (self.entries.starts.as_ptr::<u32>(), [0u32; BLOCK]);
        for i in 0..n {
            // SAFETY: an entry is below their count, and there is one start more.
            (at[i], ends[i]) = unsafe { (*starts.add(at[i] as usize), *starts.add(at[i] as usize + 1)) };
        }
        // As many steps for every value, so that no branch depends on it.
        for step in (0..self.entries.steps).rev() {
            for i in 0..n {
                let next = at[i] + (1 << step);
                let within = next <= ends[i];
                // Past the end of an entry, the first element of all is looked at in vain.
                let probe = self.rank(if within { next as usize - 1 } else { 0 });
                let before = if RIGHT { probe <= ranks[i] } else { probe < ranks[i] };
                at[i] = if within & before { next } else { at[i] };
            }
        }
    }

    /// The same, eight at a time. What is behind the `n` is looked up as well: any entry of a block is one.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn search_avx512<const RIGHT: bool>(&self, n: usize, ranks: &[i64; BLOCK], at: &mut [u32; BLOCK]) {
        use std::arch::x86_64::*;
        let (starts, own) = (self.entries.starts.as_ptr::<i64>(), self.ranks.as_ptr::<i64>());
        let most = _mm256_set1_epi32(self.entries.count as i32 - 1);
        for i in (0..n).step_by(8) {
            let rank = _mm512_loadu_epi64(ranks.as_ptr().add(i));
            let entry = _mm256_min_epu32(_mm256_loadu_epi32(at.as_ptr().add(i) as *const i32), most);
            // Where an entry begins, and behind it where it ends.
            let both = _mm512_i32gather_epi64::<4>(entry, starts);
            let end = _mm512_cvtepi64_epi32(_mm512_srli_epi64::<32>(both));
            let mut place = _mm512_cvtepi64_epi32(both);
            for step in (0..self.entries.steps).rev() {
                let next = _mm256_add_epi32(place, _mm256_set1_epi32(1 << step));
                let within = _mm256_cmple_epu32_mask(next, end);
                let last = _mm256_sub_epi32(next, _mm256_set1_epi32(1));
                let probe = _mm512_mask_i32gather_epi64::<8>(rank, within, last, own);
                let before = if RIGHT {
                    _mm512_mask_cmple_epi64_mask(within, probe, rank)
                } else {
                    _mm512_mask_cmplt_epi64_mask(within, probe, rank)
                };
                place = _mm256_mask_mov_epi32(place, before, next);
            }
            _mm256_storeu_epi32(at.as_mut_ptr().add(i) as *mut i32, place);
        }
    }
}

impl Entries {
    unsafe fn new<T: Keyed>(ranks: &[i64], by_rank: bool) -> Result<Entries, LibraryError> {
        let number = |rank: i64| if by_rank { rank as f64 } else { T::of_rank(rank).to_f64() };
        let finite = |rank: &&i64| number(**rank).is_finite();
        let low = ranks.iter().find(finite).map_or(0.0, |&r| number(r));
        let high = ranks.iter().rfind(finite).map_or(0.0, |&r| number(r));
        let count = (EACH * ranks.len()).next_power_of_two().min(MOST);
        // Never zero or infinite, which would make NaN of numbers that are not.
        let scale = if high > low { count as f64 / (high - low) } else { 1.0 };
        let scale = scale.clamp(f64::MIN_POSITIVE, f64::MAX);
        let starts = Buffer::new::<u32>(count + 1)?;
        let mut entries = Entries { starts, count, low, scale, by_rank, steps: 0 };
        let starts = std::slice::from_raw_parts_mut(entries.starts.as_ptr::<u32>(), count + 1);
        starts.fill(0);
        ranks.iter().for_each(|&rank| starts[entries.entry(T::of_rank(rank), rank) + 1] += 1);
        let longest = starts.iter().copied().max().unwrap_or(0);
        (1..=count).for_each(|i| starts[i] += starts[i - 1]);
        entries.steps = u32::BITS - longest.leading_zeros();
        Ok(entries)
    }

    /// Never less for a larger value: what has a smaller entry comes before, what has a larger one after.
    #[inline(always)]
    fn entry<T: Keyed>(&self, v: T, rank: i64) -> usize {
        let number = if self.by_rank { rank as f64 } else { v.to_f64() };
        let at = (number - self.low) * self.scale;
        let last = (self.count - 1) as f64;
        // NaN is the last of all; what is below the first becomes zero.
        let at = if at < last { at } else { last };
        let at = if at > 0.0 { at } else { 0.0 };
        // SAFETY: between zero and less than `MOST`.
        unsafe { at.to_int_unchecked::<i32>() as usize }
    }
}

/// The elements of a view in C order, as `T`s, a block at a time: `f` gets each block and its offset in `range`.
///
/// # Safety
/// The view must be valid.
pub unsafe fn blocks<T: Keyed>(v: &RawView, range: Range<usize>, mut f: impl FnMut(&[T], usize)) {
    let mut done = 0;
    let mut block = [T::ZERO; BLOCK];
    let as_they_are = v.dtype == T::DTYPE && v.is_aligned();
    let _ = Walk::new(&v.shape, [&v.strides]).runs::<()>(range, |[from], [step], count| {
        for at in (0..count).step_by(BLOCK) {
            let (n, ptr) = (BLOCK.min(count - at), v.ptr.offset(from + at as isize * step));
            if as_they_are && step == size_of::<T>() as isize {
                f(std::slice::from_raw_parts(ptr as *const T, n), done);
            } else {
                read_run::<T>(v.dtype, ptr, step, block.as_mut_ptr(), n);
                f(&block[..n], done);
            }
            done += n;
        }
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use numloom_ir::DType;

    fn view(of: &mut [f64]) -> RawView {
        let shape = [of.len()].as_slice().into();
        RawView { ptr: of.as_mut_ptr() as *mut u8, dtype: DType::F64, shape, strides: [8isize].as_slice().into() }
    }

    fn places<const RIGHT: bool>(guide: &Guide, values: &[f64]) -> Vec<usize> {
        let (mut ranks, mut at) = ([0; BLOCK], [0; BLOCK]);
        guide.places::<f64, RIGHT>(values, &mut ranks, &mut at);
        at[..values.len()].iter().map(|&a| a as usize).collect()
    }

    #[test]
    fn places_are_those_of_a_search() {
        let sizes: Vec<f64> = (-300..300).map(|i| 10f64.powi(i)).collect();
        let lists: [&[f64]; 8] = [
            &[1.0],
            &[2.0, 2.0, 2.0],
            &[-1e300, -0.0, 0.0, 1e-300, 5.0, f64::INFINITY, f64::NAN],
            &[0.0, 1.0, 1.0, 1.0, 2.0, 3.0, 1e9],
            &[f64::NEG_INFINITY, f64::NAN, f64::NAN],
            &[-3.0, -2.0, -1.0],
            &[f64::MIN, -1.0, 0.0, 7.0, f64::MAX],
            &sizes,
        ];
        for list in lists {
            let mut a = list.to_vec();
            let guide = unsafe { Guide::new::<f64>(&view(&mut a)).unwrap() };
            let values: Vec<f64> = lists.iter().flat_map(|l| l.iter().copied()).chain([0.5, -5.0, 1e10]).collect();
            let of = |f: &dyn Fn(&f64, &f64) -> bool| -> Vec<usize> {
                values.iter().map(|v| list.partition_point(|e| f(e, v))).collect()
            };
            assert_eq!(places::<false>(&guide, &values), of(&|e, v| e.rank() < v.rank()), "left in {list:?}");
            assert_eq!(places::<true>(&guide, &values), of(&|e, v| e.rank() <= v.rank()), "right in {list:?}");
        }
    }

    #[test]
    fn what_is_not_sorted_gives_places_inside() {
        let mut a = [5.0, -7.0, 3.0, 1e30, 2.0];
        let guide = unsafe { Guide::new::<f64>(&view(&mut a)).unwrap() };
        assert!(places::<true>(&guide, &[-1e40, 0.0, 2.5, 1e40]).iter().all(|&p| p <= 5));
    }
}
