//! Binary search in a sorted array: with a guide for many values, else one by one.

use crate::element::{Element, with_type};
use crate::guide::{BLOCK, Guide, blocks};
use crate::sort_key::{Keyed, with_keyed};
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, Form, LibraryError, LibraryOp, RawView};
use numloom_ir::DType;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::OnceLock;

/// Where to insert values so that a sorted array stays sorted. Inputs: the 1-d array, the values (of the
/// same dtype), and optionally an int64 array of places that sorts it. Output: int64 of the values' shape.
pub struct SearchSorted {
    right: bool,
    guide: OnceLock<Result<Guide, LibraryError>>,
}

/// Values of a tile.
const TILE: usize = 1 << 14;

impl SearchSorted {
    /// `right`: after equal elements instead of before them.
    pub fn new(right: bool) -> SearchSorted {
        SearchSorted { right, guide: OnceLock::new() }
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

    /// Whether the first phase makes a guide.
    fn is_guided(&self, args: &Args) -> bool {
        let a = &args.ins[0];
        args.ins.len() == 2 && !a.dtype.is_complex() && Guide::pays(a.shape[0], args.ins[1].size())
    }

    unsafe fn search_guided<T: Keyed, const RIGHT: bool>(
        &self,
        args: &Args,
        range: Range<usize>,
    ) -> Result<(), LibraryError> {
        let guide = match self.guide.get_or_init(|| Guide::new::<T>(&args.ins[0])) {
            Ok(guide) => guide,
            Err(e) => return Err(e.clone()),
        };
        let out = &args.outs[0];
        let mut walk = Walk::new(&out.shape, [&out.strides]);
        walk.seek(range.start);
        let (mut ranks, mut at) = ([0i64; BLOCK], [0u32; BLOCK]);
        blocks::<T>(&args.ins[1], range, |block, done| {
            guide.places::<T, RIGHT>(block, &mut ranks, &mut at);
            let places = at[..block.len()].iter().map(|&p| p as i64);
            if let Some([8]) = walk.single_run() {
                let to = (out.ptr.offset(walk.offsets[0]) as *mut i64).add(done);
                places.enumerate().for_each(|(i, p)| to.add(i).write_unaligned(p));
            } else {
                for p in places {
                    (out.ptr.offset(walk.offsets[0]) as *mut i64).write_unaligned(p);
                    walk.step();
                }
            }
        });
        Ok(())
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

    fn form(&self) -> Form {
        Form::SearchSorted { right: self.right }
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        let Ok(n) = self.check(args) else { return smallvec![1] };
        if n == 0 {
            return smallvec![0];
        }
        // With a guide, the first phase makes it.
        if self.is_guided(args) { smallvec![1, pieces(n, TILE)] } else { smallvec![pieces(n, TILE)] }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let n = self.check(args)?;
        if self.is_guided(args) {
            let range = if phase == 0 { 0..0 } else { piece(n, pieces(n, TILE), tile) };
            return with_keyed!(args.ins[0].dtype, T => {
                match self.right {
                    true => self.search_guided::<T, true>(args, range),
                    false => self.search_guided::<T, false>(args, range),
                }
            }, Ok(()));
        }
        let range = piece(n, pieces(n, TILE), tile);
        with_type!(args.ins[0].dtype, T => {
            if self.right { self.search::<T, true>(args, range) } else { self.search::<T, false>(args, range) }
        })
    }
}
