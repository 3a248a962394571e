//! Binary search in a sorted array.

use crate::element::{Element, with_type};
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, LibraryError, LibraryOp, RawView};
use numloom_ir::DType;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Where to insert values so that a sorted array stays sorted. Inputs: the 1-d array, the values (of the
/// same dtype), and optionally an int64 array of places that sorts it. Output: int64 of the values' shape.
pub struct SearchSorted {
    right: bool,
}

/// Values of a tile.
const TILE: usize = 1 << 13;

impl SearchSorted {
    /// `right`: after equal elements instead of before them.
    pub fn new(right: bool) -> SearchSorted {
        SearchSorted { right }
    }

    fn check(&self, args: &Args) -> Result<usize, LibraryError> {
        let name = self.name();
        ensure_operands(args, args.ins.len().clamp(2, 3), 1, name)?;
        let (a, v, out) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        ensure(a.shape.len() == 1 && v.shape == out.shape, name, "shapes do not fit")?;
        ensure(a.dtype == v.dtype && out.dtype == DType::I64, name, "dtypes do not fit")?;
        if let Some(sorter) = args.ins.get(2) {
            ensure(sorter.dtype == DType::I64, name, "the sorter must be int64")?;
            if sorter.shape != a.shape {
                return Err(LibraryError::Value("sorter.size must equal a.size".into()));
            }
        }
        Ok(v.size())
    }

    unsafe fn search<T: Element, const RIGHT: bool>(
        &self,
        args: &Args,
        range: Range<usize>,
    ) -> Result<(), LibraryError> {
        let (a, v, out) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        let n = a.shape[0];
        Walk::new(&v.shape, [&v.strides, &out.strides]).runs(range, |[from, to], [step, out_step], count| {
            let mut hint: Option<(T, usize)> = None;
            for i in 0..count as isize {
                let key = (v.ptr.offset(from + i * step) as *const T).read_unaligned();
                // Ascending values search only what is right of the one before.
                let base = match hint {
                    Some((last, at)) if !key.sorts_before(last) => at,
                    _ => 0,
                };
                let found = match args.ins.get(2) {
                    Some(sorter) => through_sorter::<T, RIGHT>(a, sorter, key)?,
                    None => base + bound::<T, RIGHT>(a, base, n - base, key),
                };
                hint = Some((key, found));
                (out.ptr.offset(to + i * out_step) as *mut i64).write_unaligned(found as i64);
            }
            Ok(())
        })
    }
}

/// Whether the insertion point lies after `element`.
#[inline(always)]
fn after<T: Element, const RIGHT: bool>(element: T, key: T) -> bool {
    if RIGHT { !key.sorts_before(element) } else { element.sorts_before(key) }
}

/// How many of the `n` elements from `start` lie before the insertion point; no branch depends on the data.
#[inline(always)]
unsafe fn bound<T: Element, const RIGHT: bool>(a: &RawView, start: usize, mut n: usize, key: T) -> usize {
    let step = a.strides[0];
    let first = a.ptr.offset(start as isize * step);
    let mut low = 0usize;
    while n > 1 {
        let half = n / 2;
        let probe = (first.offset((low + half - 1) as isize * step) as *const T).read_unaligned();
        low += if after::<T, RIGHT>(probe, key) { half } else { 0 };
        n -= half;
    }
    if n == 1 {
        low += after::<T, RIGHT>((first.offset(low as isize * step) as *const T).read_unaligned(), key) as usize;
    }
    low
}

unsafe fn through_sorter<T: Element, const RIGHT: bool>(
    a: &RawView,
    sorter: &RawView,
    key: T,
) -> Result<usize, LibraryError> {
    let n = a.shape[0];
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        let place = (sorter.ptr.offset(middle as isize * sorter.strides[0]) as *const i64).read_unaligned();
        if !(0..n as i64).contains(&place) {
            return Err(LibraryError::Value("Sorter index out of range.".into()));
        }
        let probe = (a.ptr.offset(place as isize * a.strides[0]) as *const T).read_unaligned();
        if after::<T, RIGHT>(probe, key) { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

impl LibraryOp for SearchSorted {
    fn name(&self) -> &'static str {
        "searchsorted"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        smallvec![self.check(args).map_or(1, |n| if n == 0 { 0 } else { pieces(n, TILE) })]
    }

    unsafe fn run(&self, args: &Args, _phase: usize, tile: usize) -> Result<(), LibraryError> {
        let n = self.check(args)?;
        let range = piece(n, pieces(n, TILE), tile);
        with_type!(args.ins[0].dtype, T => {
            if self.right { self.search::<T, true>(args, range) } else { self.search::<T, false>(args, range) }
        })
    }
}
