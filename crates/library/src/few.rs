//! A few elements counted, found or repeated, without plan or tiles.

use crate::element::with_size;
use crate::run::{Room, Run};
use crate::sort_key::{Keyed, with_keyed};
use numloom_ir::DType;

/// Integers or bools of any type as int64, where they lie if they are, else in `room`; `None` for other types, and for
/// those that need not fit.
///
/// # Safety
/// The run is readable memory of `dtype`, which stays as it is while the slice lives.
pub unsafe fn integers(dtype: DType, run: Run, room: &mut Room<i64>) -> Option<&[i64]> {
    unsafe fn read<T: Copy + Into<i64>>(run: Run, into: &mut Room<i64>) {
        let at = |i: usize| run.ptr.offset(i as isize * run.step).cast::<T>().read_unaligned().into();
        into.extend((0..run.len).map(at));
    }
    match dtype {
        DType::I8 => read::<i8>(run, room),
        DType::U8 => read::<u8>(run, room),
        DType::I16 => read::<i16>(run, room),
        DType::U16 => read::<u16>(run, room),
        DType::I32 => read::<i32>(run, room),
        DType::U32 => read::<u32>(run, room),
        DType::I64 => return Some(run.slice(room)),
        DType::Bool => {
            read::<u8>(run, room);
            room.iter_mut().for_each(|v| *v = (*v != 0) as i64);
        }
        _ => return None,
    }
    Some(room)
}

/// How many values there are of every number; all of them have a place.
pub fn count(values: &[i64], counts: &mut [i64]) {
    counts.fill(0);
    values.iter().for_each(|&v| counts[v as usize] += 1);
}

/// The sums of the weights of every number.
pub fn weigh(values: &[i64], weights: &[f64], sums: &mut [f64]) {
    sums.fill(0.0);
    values.iter().zip(weights).for_each(|(&v, &w)| sums[v as usize] += w);
}

/// The first place from `low` up to `high` whose element ranks not below `wanted`, or, to the right of equals, above it.
#[inline(always)]
unsafe fn place<T: Keyed>(sorted: Run, wanted: i64, right: bool, mut low: usize, mut high: usize) -> usize {
    while low < high {
        let middle = low + (high - low) / 2;
        let rank = sorted.ptr.offset(middle as isize * sorted.step).cast::<T>().read_unaligned().rank();
        // Which half it is cannot be foretold, so nothing branches on it.
        let above = (rank < wanted) | (right & (rank == wanted));
        low = if above { middle + 1 } else { low };
        high = if above { high } else { middle };
    }
    low
}

/// Where a value of the same type belongs in sorted elements: before its equals, or after them. `None` for types that
/// have no order of their own.
///
/// # Safety
/// The run and the value are readable memory of `dtype`.
pub unsafe fn insertion_place(dtype: DType, sorted: Run, value: *const u8, right: bool) -> Option<usize> {
    with_keyed!(dtype, T => {
        let wanted = value.cast::<T>().read_unaligned().rank();
        Some(place::<T>(sorted, wanted, right, 0, sorted.len))
    }, None)
}

/// `insertion_place` of several values; false for types that have no order of their own.
///
/// # Safety
/// The runs are readable memory of `dtype`, and there is room at `to` for a place for each value.
pub unsafe fn insertion_places(dtype: DType, sorted: Run, values: Run, right: bool, to: *mut i64) -> bool {
    unsafe fn places<T: Keyed>(sorted: Run, values: Run, right: bool, to: *mut i64) {
        let (mut last, mut at) = (None, sorted.len);
        for i in 0..values.len {
            let wanted = values.ptr.offset(i as isize * values.step).cast::<T>().read_unaligned().rank();
            // Values often come in order: then what lies before the last one's place need not be looked at.
            let (low, high) = if last.is_some_and(|last| last <= wanted) { (at, sorted.len) } else { (0, at) };
            at = place::<T>(sorted, wanted, right, low, high);
            last = Some(wanted);
            to.add(i).write(at as i64);
        }
    }
    with_keyed!(dtype, T => { places::<T>(sorted, values, right, to); true }, false)
}

/// Pieces of `size` bytes, one after another, each as often as `times` says of its place.
///
/// # Safety
/// There are `n` pieces at `from`, and room for all copies at `to`, apart from them.
pub unsafe fn repeat_pieces(from: *const u8, size: usize, n: usize, times: impl Fn(usize) -> usize, to: *mut u8) {
    if size.is_power_of_two() && size <= 16 {
        return with_size!(size, T => {
            let (from, mut to) = (from.cast::<T>(), to.cast::<T>());
            for i in 0..n {
                let value = from.add(i).read_unaligned();
                for _ in 0..times(i) {
                    to.write_unaligned(value);
                    to = to.add(1);
                }
            }
        });
    }
    let mut to = to;
    for i in 0..n {
        for _ in 0..times(i) {
            std::ptr::copy_nonoverlapping(from.add(i * size), to, size);
            to = to.add(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_several_values_are_those_of_each() {
        let sorted = [-1.0f64, 0.0, 0.0, 2.0, 2.0, 5.0, f64::NAN];
        let values = [2.0f64, 2.0, 1.0, f64::NAN, f64::NAN, -3.0, 0.0, 9.0, 5.0];
        let run = |xs: &[f64]| Run { ptr: xs.as_ptr().cast(), step: 8, len: xs.len() };
        for right in [false, true] {
            let mut places = [0i64; 9];
            // SAFETY: doubles, and a place for each.
            unsafe {
                assert!(insertion_places(DType::F64, run(&sorted), run(&values), right, places.as_mut_ptr()));
                for (value, &place) in values.iter().zip(&places) {
                    let alone = insertion_place(DType::F64, run(&sorted), (&raw const *value).cast(), right);
                    assert_eq!(alone, Some(place as usize));
                }
            }
        }
    }

    #[test]
    fn the_largest_integer_comes_before_its_equals() {
        let (sorted, values) = ([3u64, u64::MAX, u64::MAX], [u64::MAX, 3, u64::MAX]);
        let run = |xs: &[u64]| Run { ptr: xs.as_ptr().cast(), step: 8, len: xs.len() };
        let mut places = [9i64; 3];
        // SAFETY: a place for each value.
        assert!(unsafe { insertion_places(DType::U64, run(&sorted), run(&values), false, places.as_mut_ptr()) });
        assert_eq!(places, [1, 0, 1]);
    }

    #[test]
    fn places_among_equals_and_nans() {
        let sorted = [-1.0f64, -0.0, 0.0, 2.0, f64::NAN];
        let run = Run { ptr: sorted.as_ptr().cast(), step: 8, len: 5 };
        // SAFETY: the run is the array.
        let find = |v: f64, right| unsafe { insertion_place(DType::F64, run, (&raw const v).cast(), right).unwrap() };
        assert_eq!([find(0.0, false), find(0.0, true), find(-2.0, true), find(3.0, false)], [1, 3, 0, 4]);
        assert_eq!([find(f64::NAN, false), find(f64::NAN, true)], [4, 5]);
    }

    #[test]
    fn pieces_of_any_size() {
        for size in [1, 2, 3, 4, 8, 12, 16, 24] {
            let from: Vec<u8> = (0..3 * size as u8).collect();
            let mut to = vec![0; 4 * size];
            // SAFETY: three pieces, of which four copies are made.
            unsafe { repeat_pieces(from.as_ptr(), size, 3, |i| [1, 0, 3][i], to.as_mut_ptr()) };
            let expected = [&from[..size], &from[2 * size..], &from[2 * size..], &from[2 * size..]].concat();
            assert_eq!(to, expected, "{size}");
        }
    }
}
