//! The order of the elements of one lane that lies dense: sorted, or their places.

use crate::merge::Record;
use crate::quicksort::{select_64, sort_64};
use crate::radix::Scale;
use crate::run::{Room, Run};
use crate::sort_key::{Codec, Keyed, ShortPlaces, with_keyed};
use crate::vector::vectorized;
use numloom_ir::DType;
use smallvec::SmallVec;

/// Sorts `n` elements; zeros and NaNs that sort as equal may change places.
///
/// # Safety
/// Both are valid and aligned for `n` elements, and either the same memory or apart.
pub(crate) unsafe fn sort_dense<T: Keyed>(from: *const T, n: usize, to: *mut T) {
    const { assert!(size_of::<T>() == size_of::<T::Key>() && align_of::<T>() == align_of::<T::Key>()) };
    if n >= LOOKED_AT && is_sorted(std::slice::from_raw_parts(from, n)) {
        std::ptr::copy(from, to, n);
        return;
    }
    let keys = to.cast::<T::Key>();
    each(from, n, keys, T::key);
    T::Key::sort_as(std::slice::from_raw_parts_mut(keys, n), elements::<T>);
}

/// The elements that keys belong to.
unsafe fn elements<T: Keyed>(keys: *const T::Key, n: usize, to: *mut T::Key) {
    each(keys, n, to.cast::<T>(), T::from_key);
}

/// What each of `n` elements becomes.
///
/// # Safety
/// Both are valid and aligned for `n` elements, and either the same memory or apart.
#[inline(always)]
pub(crate) unsafe fn each<A: Copy, B: Copy>(from: *const A, n: usize, to: *mut B, f: impl Fn(A) -> B) {
    /// Read before any of them is written: in the same memory the compiler would go one by one.
    const SOME: usize = 32;
    const { assert!(size_of::<A>() == size_of::<B>()) };
    vectorized(
        #[inline(always)]
        || {
            let mut at = 0;
            while at + SOME <= n {
                let some = from.add(at).cast::<[A; SOME]>().read();
                let mut made = [f(some[0]); SOME];
                for i in 0..SOME {
                    made[i] = f(some[i]);
                }
                to.add(at).cast::<[B; SOME]>().write(made);
                at += SOME;
            }
            while at < n {
                to.add(at).write(f(from.add(at).read()));
                at += 1;
            }
        },
    )
}

/// Elements that may well be in order as they are.
const LOOKED_AT: usize = 256;

/// Whether nothing is left to do, as where all are one value.
pub(crate) fn is_sorted<T: Keyed>(run: &[T]) -> bool {
    const SOME: usize = 64;
    vectorized(
        #[inline(always)]
        || {
            let mut at = 0;
            while at + 1 < run.len() {
                let end = (at + SOME).min(run.len() - 1);
                let mut sorted = true;
                for i in at..end {
                    sorted &= !run[i + 1].key().less(&run[i].key());
                }
                if !sorted {
                    return false;
                }
                at = end;
            }
            true
        },
    )
}

/// The places that sort `n` elements, equals in their order.
///
/// # Safety
/// `from` is valid and aligned for `n` elements, `to` for as many places, and they are apart.
pub(crate) unsafe fn places_dense<T: Keyed>(from: *const T, n: usize, to: *mut i64) {
    if size_of::<T>() <= 4 {
        vectorized(
            #[inline(always)]
            || {
                for i in 0..n {
                    to.add(i).write(ShortPlaces::<T>::encode(from.add(i).read(), i));
                }
            },
        );
        let records = std::slice::from_raw_parts_mut(to, n);
        sort_64(records);
        vectorized(
            #[inline(always)]
            || records.iter_mut().for_each(|r| *r = ShortPlaces::<T>::answer(*r)),
        );
        return;
    }
    long_places(from, n, to);
}

/// As `places_dense`, for elements whose ranks take all of 64 bits: the upper bits of a rank and the place below them
/// are one record, and what those bits do not tell apart is put right afterwards.
unsafe fn long_places<T: Keyed>(from: *const T, n: usize, to: *mut i64) {
    #[inline(always)]
    unsafe fn rank_at<T: Keyed>(from: *const T, i: usize) -> i64 {
        from.add(i).read().rank()
    }
    if n == 0 {
        return;
    }
    let first = rank_at(from, 0);
    let (low, high, varying) = vectorized(
        #[inline(always)]
        || {
            let (mut low, mut high, mut varying) = (first, first, 0);
            for i in 0..n {
                let r = rank_at(from, i);
                (low, high, varying) = (low.min(r), high.max(r), varying | (r ^ first));
            }
            (low, high, varying as u64)
        },
    );
    let scale = Scale::new(low, high, varying);
    let place_bits = usize::BITS - (n - 1).leading_zeros();
    let lost = (scale.bits + place_bits).saturating_sub(64);
    let place_mask = (1i64 << place_bits) - 1;
    let records = std::slice::from_raw_parts_mut(to, n);
    vectorized(
        #[inline(always)]
        || {
            for (i, r) in records.iter_mut().enumerate() {
                // Numbers have no sign: the upper half of them becomes the positive one.
                *r = ((scale.number(rank_at(from, i)) >> lost) << place_bits) as i64 | i as i64;
                *r ^= i64::MIN;
            }
        },
    );
    sort_64(records);
    if lost > 0 {
        settle(records, place_bits, |i| rank_at(from, i));
    }
    vectorized(
        #[inline(always)]
        || records.iter_mut().for_each(|r| *r &= place_mask),
    );
}

/// Puts records of the same upper bits, which are in the order of their places, in the order of their ranks.
unsafe fn settle(records: &mut [i64], place_bits: u32, rank: impl Fn(usize) -> i64) {
    let tied = vectorized(
        #[inline(always)]
        || records.iter().zip(&records[1..]).fold(false, |tied, (a, b)| tied | ((a ^ b) >> place_bits == 0)),
    );
    if !tied {
        return;
    }
    let place = |r: &i64| (*r & ((1 << place_bits) - 1)) as usize;
    for run in records.chunk_by_mut(|a, b| (*a ^ *b) >> place_bits == 0) {
        run.sort_by_key(|r| rank(place(r)));
    }
}

/// The elements of a run, one after another: where they lie, or copied to `room`.
unsafe fn dense<T: Copy>(run: Run, room: *mut T) -> *const T {
    if run.step == size_of::<T>() as isize && run.ptr.cast::<T>().is_aligned() {
        return run.ptr.cast();
    }
    for i in 0..run.len {
        room.add(i).write(run.ptr.offset(i as isize * run.step).cast::<T>().read_unaligned());
    }
    room
}

/// Sorts a few elements into `to`; answers whether their type has keys.
///
/// # Safety
/// The run is readable memory of `dtype`, and `to` aligned and writeable for as many elements, apart from it.
pub unsafe fn sort_few(dtype: DType, run: Run, to: *mut u8) -> bool {
    with_keyed!(dtype, T => {
        let from = dense::<T>(run, to.cast());
        sort_dense::<T>(from, run.len, to.cast());
        true
    }, false)
}

/// The places that sort a few elements, equals in their order; answers whether their type has keys.
///
/// # Safety
/// As for `sort_few`, with room for places.
pub unsafe fn places_few(dtype: DType, run: Run, to: *mut i64) -> bool {
    with_keyed!(dtype, T => {
        let mut room = Room::<T>::new();
        places_dense::<T>(run.slice(&mut room).as_ptr(), run.len, to);
        true
    }, false)
}

/// The places that sort a few rows by several keys, the last of them first; answers whether their types have keys.
///
/// # Safety
/// As for `places_few`; all runs are of one length.
pub unsafe fn lex_places_few(keys: &[(DType, Run)], to: *mut i64) -> bool {
    let Some((&(dtype, run), others)) = keys.split_first() else { return false };
    if !places_few(dtype, run, to) {
        return false;
    }
    let places = std::slice::from_raw_parts_mut(to, run.len);
    for &(dtype, key) in others {
        let mut next: Room<i64> = SmallVec::from_elem(0, key.len);
        let sorted = with_keyed!(dtype, T => {
            // Stable, so that ties stay as the keys before have put them.
            let taken: Room<T> =
                places.iter().map(|&p| key.ptr.offset(p as isize * key.step).cast::<T>().read_unaligned()).collect();
            places_dense::<T>(taken.as_ptr(), key.len, next.as_mut_ptr());
            true
        }, false);
        if !sorted {
            return false;
        }
        next.iter_mut().for_each(|p| *p = places[*p as usize]);
        places.copy_from_slice(&next);
    }
    true
}

/// Sorts a few elements into `to` and keeps the first of each that are equal, NaNs among them; answers how many there
/// are, or nothing where their type has no keys.
///
/// # Safety
/// As for `sort_few`.
pub unsafe fn distinct_few(dtype: DType, run: Run, to: *mut u8) -> Option<usize> {
    if run.len == 0 || !sort_few(dtype, run, to) {
        return None;
    }
    with_keyed!(dtype, T => {
        let sorted = std::slice::from_raw_parts_mut(to.cast::<T>(), run.len);
        let (mut kept, mut before) = (1, sorted[0].rank());
        for i in 1..sorted.len() {
            // Each is written, and the next one over it unless it differs: no branch has to be guessed.
            let (v, rank) = (sorted[i], sorted[i].rank());
            sorted[kept] = v;
            kept += (rank != before) as usize;
            before = rank;
        }
        Some(kept)
    }, None)
}

/// The doubles of a run in their order around the place `k`: that element, and the one behind it if there is one.
/// Nothing where one of them is NaN.
///
/// # Safety
/// The run is readable memory of doubles, longer than `k`.
unsafe fn neighbours(run: Run, k: usize) -> Option<(f64, Option<f64>)> {
    let mut room = Room::new();
    let values: &[f64] = run.slice(&mut room);
    let mut keys: Room<i64> = Room::with_capacity(values.len());
    vectorized(
        #[inline(always)]
        || {
            for (i, v) in values.iter().enumerate() {
                keys.as_mut_ptr().add(i).write(v.key());
            }
        },
    );
    keys.set_len(values.len());
    let range = select_64(&mut keys, k);
    let last = keys.len() - 1;
    let highest = keys[range.start..].iter().fold(i64::MIN, |a, b| a.max(*b));
    if f64::from_key(highest).is_nan() {
        return None;
    }
    let after = if range.contains(&(k + 1)) { Some(keys[k + 1]) } else { keys[range.end..].iter().min().copied() };
    Some((f64::from_key(keys[k]), after.filter(|_| k < last).map(f64::from_key)))
}

/// The share of the way from one place to the next that `q` of the way through a lane is, and the place before it.
fn place_of(len: usize, q: f64) -> (usize, f64) {
    let index = (len - 1) as f64 * q;
    let before = (index as usize).min(len - 1);
    (before, index - before as f64)
}

/// Between two neighbours, counted from the nearer one.
fn between(low: f64, high: f64, share: f64) -> f64 {
    let apart = high - low;
    if share >= 0.5 { high - apart * (1.0 - share) } else { low + apart * share }
}

/// The share `q` of the way through a few doubles, between the two neighbours there. `None` where one of them is NaN, or
/// there are none.
///
/// # Safety
/// The run is readable memory of doubles.
pub unsafe fn quantile_few(run: Run, q: f64) -> Option<f64> {
    if run.len == 0 {
        return None;
    }
    let (before, share) = place_of(run.len, q);
    let (low, high) = neighbours(run, before)?;
    Some(high.map_or(low, |high| between(low, high, share)))
}

/// As `quantile_few`, for several shares.
///
/// # Safety
/// The run is readable memory of doubles.
pub unsafe fn quantiles_few(run: Run, shares: &[f64]) -> Option<Room<f64>> {
    let mut sorted: Room<f64> = Room::from_elem(0.0, run.len);
    sort_few(DType::F64, run, sorted.as_mut_ptr().cast());
    if sorted.last()?.is_nan() {
        return None;
    }
    let at = |q: &f64| {
        let (before, share) = place_of(run.len, *q);
        sorted.get(before + 1).map_or(sorted[before], |&high| between(sorted[before], high, share))
    };
    Some(shares.iter().map(at).collect())
}

/// The middle one of a few doubles, or the mean of the two that are in the middle. `None` as for `quantile_few`.
///
/// # Safety
/// The run is readable memory of doubles.
pub unsafe fn median_few(run: Run) -> Option<f64> {
    let n = run.len;
    match n.checked_sub(1)? {
        last if last % 2 == 0 => neighbours(run, last / 2).map(|found| found.0),
        last => neighbours(run, last / 2).and_then(|(low, high)| high.map(|high| (low + high) / 2.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(of: &[T]) -> Run {
        Run { ptr: of.as_ptr().cast(), step: size_of::<T>() as isize, len: of.len() }
    }

    #[test]
    fn places_keep_equals_in_their_order() {
        // Small differences far from zero, which the upper bits of a record do not tell apart.
        let odd = |i: i64| if i % 5 == 0 { i64::MIN + i % 3 } else { (i * 7919) % 23 };
        for n in [0, 1, 2, 9, 100, 300, 5000] {
            for at in [0, i64::MAX - 30] {
                let x: Vec<i64> = (0..n).map(|i| odd(i).saturating_add(at)).collect();
                let mut want: Vec<i64> = (0..n).collect();
                want.sort_by_key(|i| x[*i as usize]);
                let mut got = vec![0; x.len()];
                // SAFETY: as many places as elements.
                assert!(unsafe { places_few(DType::I64, run(&x), got.as_mut_ptr()) });
                assert_eq!(got, want, "{n}");
            }
        }
    }

    #[test]
    fn one_of_each() {
        let x = [3.0f64, f64::NAN, -0.0, 3.0, 0.0, -f64::NAN, -1.0];
        let mut to = [0.0f64; 7];
        // SAFETY: as many elements.
        let n = unsafe { distinct_few(DType::F64, run(&x), to.as_mut_ptr().cast()).unwrap() };
        assert_eq!(to[..3], [-1.0, 0.0, 3.0]);
        assert!(n == 4 && to[3].is_nan());
    }

    #[test]
    fn quantiles_between_and_at_values() {
        let values = [4.0, 1.0, 3.0, 2.0];
        // SAFETY: the runs are the arrays.
        let of = |q| unsafe { quantile_few(run(&values), q) };
        assert_eq!([of(0.0), of(0.5), of(1.0), of(0.25)], [Some(1.0), Some(2.5), Some(4.0), Some(1.75)]);
        let several = unsafe { quantiles_few(run(&values), &[1.0, 0.0, 0.25]) };
        assert_eq!(several.as_deref(), Some(&[4.0, 1.0, 1.75][..]));
        let none: [f64; 0] = [];
        unsafe {
            assert_eq!(quantile_few(run(&[1.0, f64::NAN]), 0.5), None);
            assert_eq!(quantile_few(run(&[1.0, -f64::NAN, 3.0]), 0.0), None);
            assert_eq!(quantile_few(run(&none), 0.5), None);
            assert_eq!(quantiles_few(run(&none), &[0.5]), None);
            assert_eq!(quantiles_few(run(&[1.0, -f64::NAN]), &[0.5]), None);
            assert_eq!(median_few(run(&values)), Some(2.5));
            assert_eq!(median_few(run(&values[..3])), Some(3.0));
        }
        let many: Vec<f64> = (0..1000).map(|i| ((i * 7919) % 1000) as f64).collect();
        // SAFETY: as above.
        unsafe {
            assert_eq!(median_few(run(&many)), Some(499.5));
            assert_eq!(median_few(run(&many[..999])), Some(if many[999] < 500.0 { 500.0 } else { 499.0 }));
        }
    }
}
