//! Copies between dense and strided runs, and choices between runs, by item size.

use crate::bytes::copy_body;
use crate::element::Element;
use crate::isa::{ISA, Isa, for_each_isa};
use crate::map::{Feed, Run, Source, Value, fill, splat};
use crate::{BlockFn, In};
use numloom_ir::DType;
use std::sync::LazyLock;

/// Sixteen bytes that are only moved.
#[derive(Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct Wide(u64, u64);

impl Element for Wide {
    const DTYPE: DType = DType::C128;
}

/// Items that are only moved.
pub(crate) trait Item: Element {
    /// One of two, by bits: the compiler would make branches or gathers of a choice.
    fn choose(first: bool, a: Self, b: Self) -> Self;
}

macro_rules! item {
    ($($t:ty)*) => { $(impl Item for $t {
        #[inline(always)]
        fn choose(first: bool, a: $t, b: $t) -> $t {
            let bits = (first as $t).wrapping_neg();
            a & bits | b & !bits
        }
    })* };
}

item!(u8 u16 u32 u64);

impl Item for Wide {
    #[inline(always)]
    fn choose(first: bool, a: Wide, b: Wide) -> Wide {
        Wide(u64::choose(first, a.0, b.0), u64::choose(first, a.1, b.1))
    }
}

/// Item sizes have rows 1, 2, 4, 8, 16 in every table.
#[inline(always)]
pub(crate) fn row(itemsize: usize) -> usize {
    debug_assert!(matches!(itemsize, 1 | 2 | 4 | 8 | 16));
    itemsize.trailing_zeros() as usize
}

/// One pointer for each item size.
macro_rules! by_item_size {
    ($f:ident, $isa:expr) => {
        [$f::<u8>($isa), $f::<u16>($isa), $f::<u32>($isa), $f::<u64>($isa), $f::<$crate::moves::Wide>($isa)]
    };
}
pub(crate) use by_item_size;

/// The strides that regular code vectorises, each compiled with its stride known.
macro_rules! with_known_stride {
    ($stride:ident, $size:expr, $copy:ident($($arg:expr),*)) => {
        if $stride == -$size {
            $copy($($arg),*, -$size)
        } else if $stride == 2 * $size {
            $copy($($arg),*, 2 * $size)
        } else if $stride == 3 * $size {
            $copy($($arg),*, 3 * $size)
        } else {
            $copy($($arg),*, $stride)
        }
    };
}

#[inline(always)]
unsafe fn gather_body<T: Element>(n: usize, src: *const u8, stride: isize, dst: *mut u8) {
    let size = size_of::<T>() as isize;
    if stride == size {
        copy_body(src, dst, n * size_of::<T>());
    } else {
        with_known_stride!(stride, size, read_strided(n, src, dst.cast::<T>()));
    }
}

#[inline(always)]
unsafe fn read_strided<T: Element>(n: usize, src: *const u8, dst: *mut T, stride: isize) {
    for i in 0..n {
        dst.add(i).write_unaligned(src.offset(i as isize * stride).cast::<T>().read_unaligned());
    }
}

#[inline(always)]
unsafe fn scatter_body<T: Element>(n: usize, src: *const u8, dst: *mut u8, stride: isize) {
    let size = size_of::<T>() as isize;
    if stride == size {
        copy_body(src, dst, n * size_of::<T>());
    } else {
        with_known_stride!(stride, size, write_strided(n, src.cast::<T>(), dst));
    }
}

#[inline(always)]
unsafe fn write_strided<T: Element>(n: usize, src: *const T, dst: *mut u8, stride: isize) {
    for i in 0..n {
        dst.offset(i as isize * stride).cast::<T>().write_unaligned(src.add(i).read_unaligned());
    }
}

#[inline(always)]
unsafe fn scatter_masked_body<T: Element>(n: usize, src: *const u8, mask: *const u8, dst: *mut u8, stride: isize) {
    let src = src.cast::<T>();
    if stride == size_of::<T>() as isize {
        let dst = dst.cast::<T>();
        for i in 0..n {
            if *mask.add(i) != 0 {
                dst.add(i).write_unaligned(src.add(i).read_unaligned());
            }
        }
        return;
    }
    for i in 0..n {
        if *mask.add(i) != 0 {
            dst.offset(i as isize * stride).cast::<T>().write_unaligned(src.add(i).read_unaligned());
        }
    }
}

/// Runs of `each` times the same item; the usual numbers of times are compiled as such.
#[inline(always)]
unsafe fn spread_body<T: Element>(n: usize, each: usize, src: *const u8, stride: isize, dst: *mut u8) {
    let dst = dst.cast::<T>();
    match each {
        2 => spread_times::<T>(n, 2, src, stride, dst),
        3 => spread_times::<T>(n, 3, src, stride, dst),
        4 => spread_times::<T>(n, 4, src, stride, dst),
        _ => spread_times::<T>(n, each, src, stride, dst),
    }
}

#[inline(always)]
unsafe fn spread_times<T: Element>(n: usize, each: usize, src: *const u8, stride: isize, dst: *mut T) {
    for i in 0..n {
        let item = src.offset(i as isize * stride).cast::<T>().read_unaligned();
        for j in 0..each {
            dst.add(i * each + j).write_unaligned(item);
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn turn_body<T: Element>(
    rows: usize,
    width: usize,
    src: *const u8,
    stride: isize,
    dst: *mut u8,
    dst_stride: isize,
) {
    // Eight columns at a time: each row of the source is read in whole, each line of the target filled at once.
    let mut at = 0;
    while at + 8 <= rows {
        for c in 0..width {
            let to = dst.offset(c as isize * dst_stride).cast::<T>().add(at);
            for r in 0..8 {
                let from = src.offset((at + r) as isize * stride).cast::<T>();
                to.add(r).write_unaligned(from.add(c).read_unaligned());
            }
        }
        at += 8;
    }
    for r in at..rows {
        let from = src.offset(r as isize * stride).cast::<T>();
        for c in 0..width {
            dst.offset(c as isize * dst_stride).cast::<T>().add(r).write_unaligned(from.add(c).read_unaligned());
        }
    }
}

/// Element `i` of `yes` where the mask is set, else of `no`.
struct Choice<Y, N> {
    mask: *const u8,
    yes: Y,
    no: N,
}

macro_rules! choice {
    ($($yes:ident $no:ident),*) => { $(impl<T: Item> Source for Choice<$yes<T>, $no<T>> {
        type Out = T;
        #[inline(always)]
        unsafe fn at(&self, i: usize, _flags: &mut u8) -> T {
            T::choose(*self.mask.add(i) != 0, self.yes.get(i), self.no.get(i))
        }
    })* };
}

choice!(Run Run, Run Value, Value Run, Value Value);

#[inline(always)]
unsafe fn select_body<T: Item>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (mask, yes, no, out) = (*ins, *ins.add(1), *ins.add(2), (*outs).cast::<T>());
    let (py, pn) = (yes.ptr.cast::<T>(), no.ptr.cast::<T>());
    if mask.step == 0 {
        let chosen = if *mask.ptr != 0 { yes } else { no };
        if chosen.step != 0 {
            std::ptr::copy(chosen.ptr, out.cast(), n * size_of::<T>());
        } else {
            splat(n, chosen.ptr.cast::<T>().read_unaligned(), out);
        }
        return 0;
    }
    let mask = mask.ptr;
    match (yes.step != 0, no.step != 0) {
        (true, true) => fill(n, Choice { mask, yes: Run(py), no: Run(pn) }, out),
        (true, false) => fill(n, Choice { mask, yes: Run(py), no: Value(pn.read_unaligned()) }, out),
        (false, true) => fill(n, Choice { mask, yes: Value(py.read_unaligned()), no: Run(pn) }, out),
        (false, false) => {
            fill(n, Choice { mask, yes: Value(py.read_unaligned()), no: Value(pn.read_unaligned()) }, out)
        }
    }
}

for_each_isa!(gather_isa = gather_body[T: Element](n: usize, src: *const u8, stride: isize, dst: *mut u8) -> ());
for_each_isa!(scatter_isa = scatter_body[T: Element](n: usize, src: *const u8, dst: *mut u8, stride: isize) -> ());
for_each_isa!(scatter_masked_isa = scatter_masked_body[T: Element](n: usize, src: *const u8, mask: *const u8, dst: *mut u8, stride: isize) -> ());
for_each_isa!(spread_isa = spread_body[T: Element](n: usize, each: usize, src: *const u8, stride: isize, dst: *mut u8) -> ());
for_each_isa!(turn_isa = turn_body[T: Element](rows: usize, width: usize, src: *const u8, stride: isize, dst: *mut u8, dst_stride: isize) -> ());
for_each_isa!(select_isa = select_body[T: Item](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

struct Moves {
    gather: [unsafe fn(usize, *const u8, isize, *mut u8); 5],
    scatter: [unsafe fn(usize, *const u8, *mut u8, isize); 5],
    scatter_masked: [unsafe fn(usize, *const u8, *const u8, *mut u8, isize); 5],
    spread: [unsafe fn(usize, usize, *const u8, isize, *mut u8); 5],
    turn: [unsafe fn(usize, usize, *const u8, isize, *mut u8, isize); 5],
    select: [BlockFn; 5],
}

impl Moves {
    fn for_isa(isa: Isa) -> Moves {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut moves = Moves {
            gather: by_item_size!(gather_isa, isa),
            scatter: by_item_size!(scatter_isa, isa),
            scatter_masked: by_item_size!(scatter_masked_isa, isa),
            spread: by_item_size!(spread_isa, isa),
            turn: by_item_size!(turn_isa, isa),
            select: by_item_size!(select_isa, isa),
        };
        #[cfg(target_arch = "x86_64")]
        if isa == Isa::Avx512 {
            crate::turn_avx512::replace(&mut moves.turn);
        }
        moves
    }
}

static MOVES: LazyLock<Moves> = LazyLock::new(|| Moves::for_isa(*ISA));

/// Copies `n` items, `stride` bytes apart, into a dense run that does not overlap them.
#[inline]
pub unsafe fn gather(itemsize: usize, n: usize, src: *const u8, stride: isize, dst: *mut u8) {
    MOVES.gather[row(itemsize)](n, src, stride, dst)
}

/// Copies a dense run to `n` items, `stride` bytes apart, that do not overlap it.
#[inline]
pub unsafe fn scatter(itemsize: usize, n: usize, src: *const u8, dst: *mut u8, stride: isize) {
    MOVES.scatter[row(itemsize)](n, src, dst, stride)
}

/// As `scatter`, where `mask` is set; other items are not written.
#[inline]
pub unsafe fn scatter_masked(itemsize: usize, n: usize, src: *const u8, mask: *const u8, dst: *mut u8, stride: isize) {
    MOVES.scatter_masked[row(itemsize)](n, src, mask, dst, stride)
}

/// Copies `n` items, `stride` bytes apart, into a dense run that does not overlap them, each of them `each` times.
#[inline]
pub unsafe fn spread(itemsize: usize, n: usize, each: usize, src: *const u8, stride: isize, dst: *mut u8) {
    MOVES.spread[row(itemsize)](n, each, src, stride, dst)
}

/// Copies `rows` dense runs of `width` items, `stride` bytes apart, to be the columns of `width` dense runs that are
/// `dst_stride` bytes apart and do not overlap them.
#[inline]
pub unsafe fn turn(
    itemsize: usize,
    rows: usize,
    width: usize,
    src: *const u8,
    stride: isize,
    dst: *mut u8,
    dst_stride: isize,
) {
    MOVES.turn[row(itemsize)](rows, width, src, stride, dst, dst_stride)
}

/// The loop that chooses between two runs: inputs are the mask, the items where it is set, the others.
#[inline]
pub fn select_fn(itemsize: usize) -> BlockFn {
    MOVES.select[row(itemsize)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns_whatever_their_number() {
        let sizes = (0..20).chain([31, 64, 65]);
        for (rows, width) in sizes.clone().flat_map(|r| sizes.clone().map(move |w| (r, w))) {
            for item in [1, 2, 4, 8, 16] {
                let (stride, dst_stride) = (width * item + 3, rows * item + 5);
                let src: Vec<u8> = (0..rows * stride).map(|i| (i * 7 % 251) as u8).collect();
                let mut dst = vec![0xEEu8; width * dst_stride + 1];
                // SAFETY: both hold all rows.
                unsafe {
                    turn(item, rows, width, src.as_ptr(), stride as isize, dst.as_mut_ptr().add(1), dst_stride as isize)
                };
                for (r, c) in (0..rows).flat_map(|r| (0..width).map(move |c| (r, c))) {
                    let (from, to) = (r * stride + c * item, 1 + c * dst_stride + r * item);
                    assert_eq!(dst[to..to + item], src[from..from + item], "{rows} x {width} of {item}");
                }
                let between = (0..width).flat_map(|c| 1 + c * dst_stride + rows * item..1 + (c + 1) * dst_stride);
                assert!(std::iter::once(0).chain(between).all(|i| dst[i] == 0xEE));
            }
        }
    }
}
