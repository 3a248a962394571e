//! A guide to a sorted array: for the first bits of a rank, between which elements it belongs. Where elements spread
//! evenly, a search is then a step or two.

use crate::element::read_run;
use crate::radix::Scale;
use crate::scratch::Buffer;
use crate::sort_key::Keyed;
use crate::walk::Walk;
use crate::{LibraryError, RawView};
use numloom_ir::DType;
use std::ops::Range;

/// Entries of a guide, as a power of two: a few for each element.
const BITS: std::ops::RangeInclusive<u32> = 4..=20;
/// Values that are read at a time.
pub const BLOCK: usize = 1024;

pub struct Guide {
    ranks: Buffer,
    /// Where the elements of each entry begin, and one more.
    starts: Buffer,
    n: usize,
    scale: Scale,
    shift: u32,
    entries: usize,
    /// Halvings that the longest entry needs.
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
        let (first, last) = (own.first().copied().unwrap_or(0), own.last().copied().unwrap_or(0));
        let scale = Scale::new(first.min(last), first.max(last), 1);
        let bits = (n.max(1).ilog2() + 2).clamp(*BITS.start(), *BITS.end()).min(scale.bits.max(1));
        let (shift, entries) = (scale.bits.saturating_sub(bits), 1usize << bits);
        let starts = Buffer::new::<u32>(entries + 1)?;
        let mut guide = Guide { ranks, starts, n, scale, shift, entries, steps: 0 };
        let starts = std::slice::from_raw_parts_mut(guide.starts.as_ptr::<u32>(), entries + 1);
        starts.fill(0);
        own.iter().for_each(|&rank| starts[guide.entry(rank) + 1] += 1);
        let longest = starts.iter().copied().max().unwrap_or(0);
        (1..=entries).for_each(|i| starts[i] += starts[i - 1]);
        guide.steps = u32::BITS - longest.leading_zeros();
        Ok(guide)
    }

    /// Whether a guide to so many elements can be made, and pays for so many values.
    pub fn pays(n: usize, values: usize) -> bool {
        n > 0 && n < u32::MAX as usize && values >= 64 && values >= n / 8
    }

    #[inline(always)]
    fn entry(&self, rank: i64) -> usize {
        // Ranks beyond the ends count to the last entry: those below wrap to large numbers.
        ((self.scale.number(rank) >> self.shift) as usize).min(self.entries - 1)
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

    /// Where a rank belongs: before its equals, or after them.
    #[inline(always)]
    pub fn place<const RIGHT: bool>(&self, rank: i64) -> usize {
        let before = |own: i64| if RIGHT { own <= rank } else { own < rank };
        if !before(self.rank(0)) {
            return 0;
        }
        let entry = self.entry(rank);
        // SAFETY: there is one start more than entries, and none is above `n`.
        let (mut at, end) = unsafe {
            let starts = self.starts.as_ptr::<u32>();
            (*starts.add(entry) as usize, *starts.add(entry + 1) as usize)
        };
        // As many steps for every value, so that no branch depends on it.
        for step in (0..self.steps).rev() {
            let next = at + (1 << step);
            // SAFETY: `next - 1` is below `end`, or the first of all is looked at.
            let within = next <= end;
            let probe = self.rank(if within { next - 1 } else { 0 });
            at = if within & before(probe) { next } else { at };
        }
        at
    }
}

/// The elements of a view in C order, as `T`s, a block at a time: `f` gets each block and its offset in `range`.
///
/// # Safety
/// The view must be valid.
pub unsafe fn blocks<T: Keyed>(v: &RawView, range: Range<usize>, mut f: impl FnMut(&[T], usize)) {
    let (dtype, mut done): (DType, usize) = (v.dtype, 0);
    let mut block = [T::ZERO; BLOCK];
    let _ = Walk::new(&v.shape, [&v.strides]).runs::<()>(range, |[from], [step], count| {
        for at in (0..count).step_by(BLOCK) {
            let n = BLOCK.min(count - at);
            read_run::<T>(dtype, v.ptr.offset(from + at as isize * step), step, block.as_mut_ptr(), n);
            f(&block[..n], done);
            done += n;
        }
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(of: &mut [f64]) -> RawView {
        let shape = [of.len()].as_slice().into();
        RawView { ptr: of.as_mut_ptr() as *mut u8, dtype: DType::F64, shape, strides: [8isize].as_slice().into() }
    }

    #[test]
    fn places_are_those_of_a_search() {
        let lists: [&[f64]; 6] = [
            &[1.0],
            &[2.0, 2.0, 2.0],
            &[-1e300, -0.0, 0.0, 1e-300, 5.0, f64::INFINITY, f64::NAN],
            &[0.0, 1.0, 1.0, 1.0, 2.0, 3.0, 1e9],
            &[f64::NEG_INFINITY, f64::NAN, f64::NAN],
            &[-3.0, -2.0, -1.0],
        ];
        for list in lists {
            let mut a = list.to_vec();
            let guide = unsafe { Guide::new::<f64>(&view(&mut a)).unwrap() };
            for v in lists.iter().flat_map(|l| l.iter().copied()).chain([0.5, -5.0, 1e10, f64::MAX]) {
                let left = list.partition_point(|e| e.rank() < v.rank());
                let right = list.partition_point(|e| e.rank() <= v.rank());
                let got = (guide.place::<false>(v.rank()), guide.place::<true>(v.rank()));
                assert_eq!(got, (left, right), "{v} in {list:?}");
            }
        }
    }

    #[test]
    fn what_is_not_sorted_gives_places_inside() {
        let mut a = [5.0, -7.0, 3.0, 1e30, 2.0];
        let guide = unsafe { Guide::new::<f64>(&view(&mut a)).unwrap() };
        assert!([-1e40, 0.0, 2.5, 1e40].iter().all(|v| guide.place::<true>(v.rank()) <= 5));
    }
}
