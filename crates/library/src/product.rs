//! Products of many floats, in parts. A part may go beyond the range where the product from the left, which is NumPy's,
//! does not: what such a part makes of all that comes before it is found by looking at its elements.

use crate::element::{Element, read_run, with_type};
use crate::fold::Multiply;
use crate::scan::fold_run;
use crate::scratch::Scratch;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, LibraryError, LibraryOp, RawView};
use numloom_ir::{DType, Value};
use numloom_loops::{In, cast_fn, fp_clear, fp_raise, fp_status};
use smallvec::{SmallVec, smallvec};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Elements of a part.
const PART: usize = 1 << 16;
/// Elements read at a time.
const BLOCK: usize = 256;

/// What the elements of a part do to a zero or an infinity that comes before them: a set of the bits below.
pub(crate) type Passage = u8;
const ZERO: Passage = 1;
const INFINITE: Passage = 2;
const NAN: Passage = 4;
/// An odd number of them are below zero.
const ODD: Passage = 8;
/// Nothing is known.
const UNSEEN: Passage = 16;

/// Whether a product has neither reached the end of the range nor is likely to have on the way.
pub(crate) fn in_range<T: Element>(x: T) -> bool {
    let float = |x: f32| x.is_normal();
    let double = |x: f64| x.is_normal();
    // SAFETY: read as the type that it is of.
    unsafe {
        let p = &raw const x as *const u8;
        match T::DTYPE {
            DType::F32 => float((p as *const f32).read_unaligned()),
            DType::F64 => double((p as *const f64).read_unaligned()),
            DType::C64 => {
                let [re, im] = (p as *const [f32; 2]).read_unaligned();
                float(re.abs().max(im.abs())) && re.is_finite() && im.is_finite()
            }
            DType::C128 => {
                let [re, im] = (p as *const [f64; 2]).read_unaligned();
                double(re.abs().max(im.abs())) && re.is_finite() && im.is_finite()
            }
            DType::F16 => false,
            _ => true,
        }
    }
}

/// What `n` elements do to what comes before them.
pub(crate) unsafe fn passage<T: Element>(values: *const T, n: usize) -> Passage {
    macro_rules! look {
        ($f:ty) => {{
            let (mut seen, mut odd) = (0, false);
            for i in 0..n {
                let x = (values as *const $f).add(i).read_unaligned();
                seen |= (x == 0.0) as u8 * ZERO | x.is_infinite() as u8 * INFINITE | x.is_nan() as u8 * NAN;
                odd ^= x.is_sign_negative();
            }
            seen | odd as u8 * ODD
        }};
    }
    match T::DTYPE {
        DType::F32 => look!(f32),
        DType::F64 => look!(f64),
        _ => UNSEEN,
    }
}

/// Two parts, one after the other, as one.
pub(crate) fn one_after_another(a: Passage, b: Passage) -> Passage {
    (a | b) & !ODD | (a ^ b) & ODD
}

/// A zero or an infinity times what is not known but for this of it, if it stays what it is.
fn stays<T: Element>(x: T, seen: Passage) -> Option<T> {
    macro_rules! real {
        ($f:ty) => {{
            // SAFETY: of this type.
            let x = unsafe { (&raw const x as *const $f).read_unaligned() };
            let stays = x == 0.0 && seen & (INFINITE | NAN) == 0 || x.is_infinite() && seen & (ZERO | NAN) == 0;
            let signed: $f = if seen & ODD != 0 { -x } else { x };
            // SAFETY: of this type.
            stays.then(|| unsafe { (&raw const signed as *const T).read_unaligned() })
        }};
    }
    match T::DTYPE {
        DType::F32 => real!(f32),
        DType::F64 => real!(f64),
        _ => None,
    }
}

/// The product of all before a part with the part, whose own product and passage are given; `again` makes it element by
/// element. The passage need not be known of a product in range: then there is neither a zero nor anything infinite.
pub(crate) fn carried<T: Element>(before: T, product: T, passage: Passage, again: impl FnOnce(T) -> T) -> T {
    if before.is_nan() {
        return before;
    }
    // Multiplied only where that raises nothing that is not the program's.
    if in_range(before) && in_range(product) && in_range(before.mul(product)) {
        return before.mul(product);
    }
    let seen = match in_range(product) {
        true if product.below(T::ZERO) => ODD,
        true => 0,
        false => passage,
    };
    let stays = stays(before, seen);
    stays.unwrap_or_else(|| again(before))
}

/// Products over axes, cast to the output's type as they are read: the output has the input's shape, with extent 1 along
/// these axes. A single product is made in parallel parts, several of them side by side.
#[derive(Default)]
pub struct Product {
    /// Folded in first, in the output's type.
    initial: Option<Value>,
    products: Scratch,
    passages: Scratch,
}

impl Product {
    pub fn new(initial: Option<Value>) -> Product {
        Product { initial, ..Product::default() }
    }

    fn check(&self, args: &Args) -> Result<usize, LibraryError> {
        let name = self.name();
        ensure_operands(args, 1, 1, name)?;
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let mut extents = x.shape.iter().zip(&out.shape);
        let fits = out.size() == 1 || x.shape.len() == out.shape.len() && extents.all(|(&n, &m)| m == n || m == 1);
        let begins = self.initial.is_none_or(|v| v.dtype == out.dtype);
        ensure(fits && begins && x.size() > 0, name, "operands do not fit")?;
        Ok(x.size())
    }

    fn initial<T: Element>(&self) -> Option<T> {
        let typed = self.initial.map(|v| v.cast(T::DTYPE));
        // SAFETY: of this type.
        typed.map(|v| unsafe { (v.bytes.as_ptr() as *const T).read_unaligned() })
    }

    /// Some of several products.
    unsafe fn run_lanes<T: Element>(&self, args: &Args, lanes: Range<usize>) -> Result<(), LibraryError> {
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let reduced = |axis: &usize| out.shape[*axis] != x.shape[*axis];
        let axes = || (0..x.shape.len()).filter(reduced);
        let mut lane = RawView {
            ptr: x.ptr,
            dtype: x.dtype,
            shape: axes().map(|a| x.shape[a]).collect(),
            strides: axes().map(|a| x.strides[a]).collect(),
        };
        let mut walk = Walk::new(&out.shape, [&x.strides, &out.strides]);
        walk.seek(lanes.start);
        for _ in lanes {
            lane.ptr = x.ptr.offset(walk.offsets[0]);
            let product = self.of_lane::<T>(&lane)?;
            put(product, out.ptr.offset(walk.offsets[1]), out.dtype);
            walk.step();
        }
        Ok(())
    }

    unsafe fn of_lane<T: Element>(&self, lane: &RawView) -> Result<T, LibraryError> {
        let (n, heard) = (lane.size(), fp_status());
        let product = of_part::<T>(lane, 0..n)?;
        let total = self.initial::<T>().map_or(product, |before| before.mul(product));
        // What went beyond the range on the way need not do so from the left.
        fp_clear();
        fp_raise(heard);
        if in_range(product) && in_range(total) { Ok(total) } else { from_left(lane, self.initial(), 0..n) }
    }

    unsafe fn run_typed<T: Element>(
        &self,
        args: &Args,
        n: usize,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let (x, parts) = (&args.ins[0], pieces(n, PART));
        let (products, passages) = (self.products.get::<T>(parts)?, self.passages.get::<Passage>(parts)?);
        if phase == 0 {
            let product = of_part::<T>(x, piece(n, parts, tile))?;
            products.add(tile).write(product);
            let seen = if in_range(product) { 0 } else { passage_of::<T>(x, piece(n, parts, tile))? };
            passages.add(tile).write(seen);
            // What goes beyond the range here need not do so in the end.
            fp_clear();
            return Ok(());
        }
        let mut total = self.initial::<T>();
        for part in 0..parts {
            let (product, seen) = (*products.add(part), *passages.add(part));
            let range = || piece(n, parts, part);
            total = Some(match total {
                None if in_range(product) => product,
                None => from_left::<T>(x, None, range())?,
                Some(before) => {
                    carried(before, product, seen, |before| from_left(x, Some(before), range()).unwrap_or(before))
                }
            });
        }
        put(total.unwrap_or(T::ZERO), args.outs[0].ptr, args.outs[0].dtype);
        Ok(())
    }
}

/// The type that products of `dtype` are made in: halves are multiplied in single precision and rounded once.
fn made_in(dtype: DType) -> DType {
    if dtype == DType::F16 { DType::F32 } else { dtype }
}

/// Writes a product as an element of `dtype`.
unsafe fn put<T: Element>(product: T, to: *mut u8, dtype: DType) {
    let from = In { ptr: (&raw const product).cast(), step: size_of::<T>() };
    fp_raise(cast_fn(T::DTYPE, dtype)(1, &from, &to));
}

/// The product of some elements, in several running products.
unsafe fn of_part<T: Element>(x: &RawView, range: Range<usize>) -> Result<T, LibraryError> {
    let mut total: Option<T> = None;
    Walk::new(&x.shape, [&x.strides]).runs(range, |[at], [step], n| {
        let part = fold_run::<T, _>(Multiply, x.dtype, x.ptr.offset(at), step, n, false);
        total = Some(total.map_or(part, |t| t.mul(part)));
        Ok::<_, LibraryError>(())
    })?;
    Ok(total.unwrap_or(T::ZERO))
}

/// Shows blocks of the elements, in C order.
unsafe fn blocks<T: Element>(x: &RawView, range: Range<usize>, mut see: impl FnMut(&[T])) -> Result<(), LibraryError> {
    let mut buffer = MaybeUninit::<[T; BLOCK]>::uninit();
    Walk::new(&x.shape, [&x.strides]).runs(range, |[at], [step], n| {
        for start in (0..n).step_by(BLOCK) {
            let len = BLOCK.min(n - start);
            let src = x.ptr.offset(at + start as isize * step);
            read_run(x.dtype, src, step, buffer.as_mut_ptr() as *mut T, len);
            see(std::slice::from_raw_parts(buffer.as_ptr() as *const T, len));
        }
        Ok(())
    })
}

unsafe fn passage_of<T: Element>(x: &RawView, range: Range<usize>) -> Result<Passage, LibraryError> {
    let mut seen = 0;
    blocks::<T>(x, range, |block| seen = one_after_another(seen, passage(block.as_ptr(), block.len())))?;
    Ok(seen)
}

/// `before`, or else the first element, times the others one by one.
unsafe fn from_left<T: Element>(x: &RawView, before: Option<T>, range: Range<usize>) -> Result<T, LibraryError> {
    let mut total = before;
    blocks::<T>(x, range, |block| {
        let kept = total.filter(|&t| !in_range(t)).and_then(|t| stays(t, passage(block.as_ptr(), block.len())));
        if kept.is_some() {
            total = kept;
            return;
        }
        let first = total.map_or(block[0], |t| t.mul(block[0]));
        total = Some(block[1..].iter().fold(first, |t, &x| t.mul(x)));
    })?;
    Ok(total.unwrap_or(T::ZERO))
}

/// Tiles of several products of `n` elements in all.
fn lane_tiles(n: usize, lanes: usize) -> usize {
    pieces(n, PART).min(lanes)
}

impl LibraryOp for Product {
    fn name(&self) -> &'static str {
        "prod"
    }

    fn raises(&self) -> Option<&'static str> {
        Some("reduce")
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        match self.check(args) {
            Ok(n) if args.outs[0].size() == 1 => smallvec![pieces(n, PART), 1],
            Ok(n) => smallvec![lane_tiles(n, args.outs[0].size())],
            Err(_) => smallvec![1],
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let (n, lanes) = (self.check(args)?, args.outs[0].size());
        with_type!(made_in(args.outs[0].dtype), T => match lanes {
            1 => self.run_typed::<T>(args, n, phase, tile),
            _ => self.run_lanes::<T>(args, piece(lanes, lane_tiles(n, lanes), tile)),
        })
    }
}
