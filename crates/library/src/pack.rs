//! Boolean masks: packing what they select, writing it back, counting, and `nonzero`. Each runs in two
//! phases: count the trues of every chunk, then write where the counts before the chunk say.

use crate::element::{Element, with_size, with_type};
use crate::scratch::Scratch;
use crate::vector::vectorized;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, Form, LibraryError, LibraryOp, RawView};
use numloom_ir::{DType, Dims};
use numloom_loops::{compress, expand};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

const CHUNK: usize = 1 << 16;
/// More chunks than this only make the sums over their counts long.
const MOST_CHUNKS: usize = 1024;

/// The trues of each chunk of a mask, counted in phase 0.
#[derive(Default)]
struct Counts {
    scratch: Scratch,
}

fn chunks(size: usize) -> usize {
    if size == 0 { 0 } else { pieces(size, CHUNK).min(MOST_CHUNKS) }
}

impl Counts {
    unsafe fn count(&self, mask: &RawView, tile: usize) -> Result<(), LibraryError> {
        let n = chunks(mask.size());
        let mut count = 0;
        Walk::new(&mask.shape, [&mask.strides]).runs(piece(mask.size(), n, tile), |[at], [step], n| {
            count += count_run(mask.dtype, mask.ptr.offset(at), step, n);
            Ok(())
        })?;
        *self.scratch.get::<usize>(n)?.add(tile) = count;
        Ok(())
    }

    /// The positions of a chunk's trues among all of them, and how many there are in all.
    unsafe fn places(&self, size: usize, tile: usize) -> Result<(Range<usize>, usize), LibraryError> {
        let n = chunks(size);
        let counts = std::slice::from_raw_parts(self.scratch.get::<usize>(n)?, n);
        let start = counts[..tile].iter().sum::<usize>();
        Ok((start..start + counts[tile], start + counts[tile..].iter().sum::<usize>()))
    }
}

/// How many of `n` elements are true.
unsafe fn count_run(dtype: DType, ptr: *const u8, step: isize, n: usize) -> usize {
    if dtype == DType::Bool && step == 1 {
        let bytes = std::slice::from_raw_parts(ptr, n);
        return vectorized(
            #[inline(always)]
            || {
                const LANES: usize = 64;
                let mut total = 0;
                // A byte lane can count up to 255.
                for block in bytes.chunks(LANES * 255) {
                    let mut lanes = [0u8; LANES];
                    let mut lines = block.chunks_exact(LANES);
                    for line in &mut lines {
                        for j in 0..LANES {
                            lanes[j] += (line[j] != 0) as u8;
                        }
                    }
                    total += lines.remainder().iter().filter(|&&b| b != 0).count();
                    total += lanes.iter().map(|&c| c as usize).sum::<usize>();
                }
                total
            },
        );
    }
    with_type!(dtype, T => {
        (0..n as isize).filter(|i| (ptr.offset(i * step) as *const T).read_unaligned().truth()).count()
    })
}

/// `out = x[mask]`. Inputs x and mask (bool, of one shape); output 1-d with as many elements as the mask has
/// trues. With a second output (one int64) that number goes there, and `out` may be longer.
#[derive(Default)]
pub struct Pack {
    counts: Counts,
}

impl Pack {
    pub fn new() -> Pack {
        Pack::default()
    }

    fn check(&self, args: &Args) -> Result<usize, LibraryError> {
        let name = self.name();
        ensure_operands(args, 2, args.outs.len().clamp(1, 2), name)?;
        let (x, mask, out) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        ensure(x.shape == mask.shape && out.shape.len() == 1, name, "shapes do not fit")?;
        ensure(mask.dtype == DType::Bool && x.dtype == out.dtype, name, "dtypes do not fit")?;
        let count_fits = args.outs.get(1).is_none_or(|c| c.dtype == DType::I64 && c.size() == 1);
        ensure(count_fits, name, "the count must be one int64")?;
        Ok(x.size())
    }
}

impl LibraryOp for Pack {
    fn name(&self) -> &'static str {
        "pack"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        // Even an empty mask has a count to write.
        self.check(args).map_or(smallvec![1], |size| smallvec![chunks(size), chunks(size).max(1)])
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let size = self.check(args)?;
        let (x, mask, out) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        if phase == 0 {
            return self.counts.count(mask, tile);
        }
        let (places, total) = if size == 0 { (0..0, 0) } else { self.counts.places(size, tile)? };
        let fits = if args.outs.len() > 1 { total <= out.size() } else { total == out.size() };
        ensure(fits, self.name(), "the output does not fit the mask")?;
        if let (0, Some(count)) = (tile, args.outs.get(1)) {
            (count.ptr as *mut i64).write_unaligned(total as i64);
        }
        if places.is_empty() {
            return Ok(());
        }
        let mut at = places.start;
        let mut walk = Walk::new(&x.shape, [&x.strides, &mask.strides]);
        walk.runs(piece(size, chunks(size), tile), |[from, test], [from_step, test_step], n| {
            let (from, test) = (x.ptr.offset(from), mask.ptr.offset(test));
            let to = out.ptr.wrapping_offset(at as isize * out.strides[0]);
            let room = places.end - at;
            at += with_size!(x.dtype.size(), T => {
                if test_step == 1 && from_step == size_of::<T>() as isize && out.strides[0] == from_step {
                    pack_dense(from as *const T, test, n, to as *mut T, room)
                } else {
                    let mut kept = 0;
                    for i in 0..n as isize {
                        if *test.offset(i * test_step) != 0 {
                            let v = (from.offset(i * from_step) as *const T).read_unaligned();
                            (to.offset(kept as isize * out.strides[0]) as *mut T).write_unaligned(v);
                            kept += 1;
                        }
                    }
                    kept
                }
            });
            Ok(())
        })
    }
}

/// Packs a dense run; may write anywhere in the `room` elements from `to`. Answers how many were kept.
unsafe fn pack_dense<T: Copy>(from: *const T, test: *const u8, n: usize, to: *mut T, room: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if matches!(size_of::<T>(), 4 | 8) && is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512bw") {
        return compress_with_room(from, test, n, to, room);
    }
    pack_tail(from, test, 0..n, to, 0, room)
}

/// Writes every element and moves on only past the kept ones: no branch to predict.
#[inline(always)]
unsafe fn pack_tail<T: Copy>(
    from: *const T,
    test: *const u8,
    range: Range<usize>,
    to: *mut T,
    mut kept: usize,
    room: usize,
) -> usize {
    for i in range {
        if kept == room {
            break;
        }
        to.add(kept).write_unaligned(from.add(i).read_unaligned());
        kept += (*test.add(i) != 0) as usize;
    }
    kept
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn compress_with_room<T: Copy>(from: *const T, test: *const u8, n: usize, to: *mut T, room: usize) -> usize {
    use std::arch::x86_64::*;
    let (mut i, mut kept) = (0, 0);
    while i + 16 <= n && kept + 16 <= room {
        let bytes = _mm_loadu_si128(test.add(i) as *const __m128i);
        let keep = _mm_test_epi8_mask(bytes, bytes);
        if size_of::<T>() == 4 {
            let v = _mm512_loadu_si512(from.add(i) as *const __m512i);
            _mm512_storeu_si512(to.add(kept) as *mut __m512i, _mm512_maskz_compress_epi32(keep, v));
            kept += keep.count_ones() as usize;
        } else {
            for (half, keep) in [(0, keep as u8), (8, (keep >> 8) as u8)] {
                let v = _mm512_loadu_si512(from.add(i + half) as *const __m512i);
                _mm512_storeu_si512(to.add(kept) as *mut __m512i, _mm512_maskz_compress_epi64(keep, v));
                kept += keep.count_ones() as usize;
            }
        }
        i += 16;
    }
    pack_tail(from, test, i..n, to, kept, room)
}

/// `x[mask] = values`. Inputs mask (bool, x's shape) and values (1-d: one for each true, or a single one);
/// the output is x and keeps what the mask leaves out.
#[derive(Default)]
pub struct Unpack {
    counts: Counts,
}

impl Unpack {
    pub fn new() -> Unpack {
        Unpack::default()
    }

    fn check(&self, args: &Args) -> Result<usize, LibraryError> {
        let name = self.name();
        ensure_operands(args, 2, 1, name)?;
        let (mask, values, x) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        ensure(x.shape == mask.shape && values.shape.len() == 1, name, "shapes do not fit")?;
        ensure(mask.dtype == DType::Bool && x.dtype == values.dtype, name, "dtypes do not fit")?;
        Ok(x.size())
    }
}

impl LibraryOp for Unpack {
    fn name(&self) -> &'static str {
        "unpack"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        self.check(args).map_or(smallvec![1], |size| smallvec![chunks(size), chunks(size)])
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let size = self.check(args)?;
        let (mask, values, x) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        if phase == 0 {
            return self.counts.count(mask, tile);
        }
        let (places, total) = self.counts.places(size, tile)?;
        let given = values.shape[0];
        if given != total && given != 1 {
            return Err(LibraryError::Value(format!(
                "NumPy boolean array indexing assigns {given} input values to the {total} output values where the mask is true"
            )));
        }
        if places.is_empty() {
            return Ok(());
        }
        let step = if given == 1 { 0 } else { values.strides[0] };
        let (mut at, last) = (places.start, places.end - 1);
        let mut walk = Walk::new(&x.shape, [&x.strides, &mask.strides]);
        walk.runs(piece(size, chunks(size), tile), |[to, test], [to_step, test_step], n| {
            let (to, test) = (x.ptr.offset(to), mask.ptr.offset(test));
            let item = x.dtype.size() as isize;
            if test_step == 1 && to_step == item && step == item && matches!(item, 4 | 8) {
                at += expand(item as usize, n, values.ptr.offset(at as isize * step), test, to);
                return Ok(());
            }
            with_size!(x.dtype.size(), T => {
                for i in 0..n as isize {
                    let hit = *test.offset(i * test_step) != 0;
                    let to = to.offset(i * to_step) as *mut T;
                    let value = values.ptr.offset(at.min(last) as isize * step) as *const T;
                    // A select instead of a branch; what is not hit is written back as it was.
                    let source = if hit { value } else { to as *const T };
                    to.write_unaligned(source.read_unaligned());
                    at += hit as usize;
                }
            });
            Ok(())
        })
    }
}

/// How many elements of the input (any dtype) are true, as one int64.
#[derive(Default)]
pub struct CountTrue {
    counts: Counts,
}

impl CountTrue {
    pub fn new() -> CountTrue {
        CountTrue::default()
    }

    fn check(&self, args: &Args) -> Result<usize, LibraryError> {
        ensure_operands(args, 1, 1, self.name())?;
        let out = &args.outs[0];
        ensure(out.dtype == DType::I64 && out.size() == 1, self.name(), "the output must be one int64")?;
        Ok(args.ins[0].size())
    }
}

impl LibraryOp for CountTrue {
    fn form(&self) -> Form {
        Form::CountTrue
    }

    fn name(&self) -> &'static str {
        "count_nonzero"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        self.check(args).map_or(smallvec![1], |size| smallvec![chunks(size), 1])
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let size = self.check(args)?;
        if phase == 0 {
            return self.counts.count(&args.ins[0], tile);
        }
        let total = if size == 0 { 0 } else { self.counts.places(size, 0)?.1 };
        (args.outs[0].ptr as *mut i64).write_unaligned(total as i64);
        Ok(())
    }
}

/// Where the input (any dtype) is true: one 1-d int64 output for each of its axes.
#[derive(Default)]
pub struct Nonzero {
    counts: Counts,
}

impl Nonzero {
    pub fn new() -> Nonzero {
        Nonzero::default()
    }

    fn check(&self, args: &Args) -> Result<usize, LibraryError> {
        let name = self.name();
        ensure(args.ins.len() == 1, name, "wrong number of operands")?;
        let nd = args.ins[0].shape.len();
        ensure_operands(args, 1, nd, name)?;
        ensure(nd > 0, name, "a 0-d input has no axes")?;
        let fits =
            args.outs.iter().all(|o| o.dtype == DType::I64 && o.shape == args.outs[0].shape && o.shape.len() == 1);
        ensure(fits, name, "outputs must be 1-d int64 of one length")?;
        Ok(args.ins[0].size())
    }
}

impl LibraryOp for Nonzero {
    fn name(&self) -> &'static str {
        "nonzero"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        self.check(args).map_or(smallvec![1], |size| smallvec![chunks(size), chunks(size)])
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let size = self.check(args)?;
        let mask = &args.ins[0];
        if phase == 0 {
            return self.counts.count(mask, tile);
        }
        let (places, total) = self.counts.places(size, tile)?;
        ensure(total == args.outs[0].size(), self.name(), "the outputs do not fit the mask")?;
        let range = piece(size, chunks(size), tile);
        with_type!(mask.dtype, T => coordinates::<T>(mask, &args.outs, range, places.start));
        Ok(())
    }
}

/// Writes the coordinates of the trues in `range` from position `at` on, row by row of the last axis.
unsafe fn coordinates<T: Element>(mask: &RawView, outs: &[RawView], range: Range<usize>, mut at: usize) {
    let last = mask.shape.len() - 1;
    let (width, step) = (mask.shape[last], mask.strides[last]);
    let dense = outs.iter().all(|out| out.strides[0] == size_of::<i64>() as isize && out.is_aligned());
    if mask.dtype == DType::Bool && dense && width < NARROW && is_dense(mask) {
        return flat_coordinates(mask, outs, range, at);
    }
    let mut index: Dims = smallvec![0; mask.shape.len()];
    let mut flat = range.start;
    while flat < range.end {
        let mut row = flat / width;
        let mut start = mask.ptr;
        for axis in (0..last).rev() {
            index[axis] = row % mask.shape[axis];
            row /= mask.shape[axis];
            start = start.offset(index[axis] as isize * mask.strides[axis]);
        }
        let from = flat % width;
        let to = width.min(from + range.end - flat);
        if mask.dtype == DType::Bool && step == 1 && dense {
            at += places_in_row(start, from..to, &index, outs, at);
            flat += to - from;
            continue;
        }
        for j in from..to {
            if (start.offset(j as isize * step) as *const T).read_unaligned().truth() {
                for (axis, out) in outs.iter().enumerate() {
                    let v = if axis == last { j } else { index[axis] };
                    (out.ptr.offset(at as isize * out.strides[0]) as *mut i64).write_unaligned(v as i64);
                }
                at += 1;
            }
        }
        flat += to - from;
    }
}

/// Whether the elements, single bytes, lie one after another in C order.
fn is_dense(mask: &RawView) -> bool {
    let mut step = 1;
    mask.shape.iter().zip(&mask.strides).rev().all(|(&n, &s)| {
        let as_it_must = n == 1 || s == step;
        step *= n as isize;
        as_it_must
    })
}

/// The same for a dense mask with short rows: the trues are found across rows, and then told apart.
unsafe fn flat_coordinates(mask: &RawView, outs: &[RawView], range: Range<usize>, mut at: usize) {
    let (mut places, mut found) = ([0i64; PLACES], [0i64; PLACES]);
    for first in range.clone().step_by(PLACES) {
        let n = PLACES.min(range.end - first);
        number_places(&mut places, first);
        let to = found.as_mut_ptr().cast();
        let count = compress(size_of::<i64>(), n, places.as_ptr().cast(), mask.ptr.add(first), to);
        for (out, &extent) in outs.iter().zip(&mask.shape).rev() {
            let to = std::slice::from_raw_parts_mut((out.ptr as *mut i64).add(at), count);
            divide_off(&mut found[..count], extent, to);
        }
        at += count;
    }
}

/// Divides places by an extent, and writes what remains.
fn divide_off(places: &mut [i64], extent: usize, rest: &mut [i64]) {
    let (share, extent) = (1.0 / extent as f64, extent as i64);
    vectorized(
        #[inline(always)]
        || {
            for (place, rest) in places.iter_mut().zip(rest) {
                // Half a place away from any whole number, so the product's rounding does not reach one: there are far
                // fewer places than 2^50.
                // SAFETY: between zero and the number of places.
                let whole = unsafe { ((*place as f64 + 0.5) * share).to_int_unchecked::<i64>() };
                *rest = *place - whole * extent;
                *place = whole;
            }
        },
    );
}

/// Rows shorter than this are not worth looking at one by one.
const NARROW: usize = 256;

/// Places that are looked at together.
const PLACES: usize = 1024;

fn number_places(places: &mut [i64; PLACES], first: usize) {
    vectorized(
        #[inline(always)]
        || places.iter_mut().enumerate().for_each(|(i, place)| *place = (first + i) as i64),
    );
}

/// Writes the coordinates of the trues among places `range` of a dense row, from position `at` of dense outputs on;
/// answers how many there are.
unsafe fn places_in_row(row: *const u8, range: Range<usize>, index: &[usize], outs: &[RawView], at: usize) -> usize {
    let (last, others) = outs.split_last().expect("a mask has an axis");
    let mut found = 0;
    let mut places = [0i64; PLACES];
    for first in range.clone().step_by(PLACES) {
        let n = PLACES.min(range.end - first);
        number_places(&mut places, first);
        let to = (last.ptr as *mut i64).add(at + found);
        found += compress(size_of::<i64>(), n, places.as_ptr().cast(), row.add(first), to.cast());
    }
    for (out, &i) in others.iter().zip(index) {
        std::slice::from_raw_parts_mut((out.ptr as *mut i64).add(at), found).fill(i as i64);
    }
    found
}
