//! Reading through integer index arrays (`take`, `x[i, j]`).

use crate::element::with_size;
use crate::index::{Indexed, Indexing, Mode};
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, Form, LibraryError, LibraryOp, RawView};
use smallvec::{SmallVec, smallvec};

/// `out[i..., r...] = x[index_0[i...], index_1[i...], ..., r...]`.
///
/// Inputs: the base `x` with its indexed axes at the front, then one int64 index array for each of them, all
/// of one shape. The output has the shape `index shape + rest of x` and x's dtype.
pub struct Take {
    indexing: Indexing,
}

/// Elements of a tile.
const TILE: usize = 1 << 16;

impl Take {
    /// `axes` are the numbers of the indexed axes in the user's array, for the words of errors.
    pub fn new(axes: &[usize], mode: Mode) -> Take {
        Take { indexing: Indexing::new(axes, mode) }
    }

    fn plan<'a>(&'a self, args: &'a Args) -> Result<(Indexed<'a>, usize), LibraryError> {
        let name = self.name();
        ensure_operands(args, args.ins.len().max(2), 1, name)?;
        let (x, out) = (&args.ins[0], &args.outs[0]);
        ensure(x.dtype == out.dtype, name, "dtypes differ")?;
        let indexed = self.indexing.of(x, &args.ins[1..], out, name)?;
        let positions = indexed.positions();
        let rest: usize = x.shape[args.ins.len() - 1..].iter().product();
        // With nothing to copy the indices are still checked.
        let tiles = if positions == 0 { 0 } else { pieces(positions * rest.max(1), TILE).min(positions) };
        Ok((indexed, tiles))
    }
}

impl LibraryOp for Take {
    fn form(&self) -> Form {
        Form::Take { axis: self.indexing.single_axis(), mode: self.indexing.mode() }
    }

    fn name(&self) -> &'static str {
        "take"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        match self.plan(args) {
            // NumPy looks for a bad index in one array after another, so these are checked apart.
            Ok((indexed, tiles)) if indexed.indices.len() > 1 => smallvec![indexed.check_tiles(), tiles],
            Ok((_, tiles)) => smallvec![tiles],
            Err(_) => smallvec![1],
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let (indexed, tiles) = self.plan(args)?;
        if indexed.indices.len() > 1 && phase == 0 {
            return indexed.check(tile);
        }
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let range = piece(indexed.positions(), tiles, tile);
        let count = indexed.indices.len();
        let nd = out.shape.len() - (x.shape.len() - count);
        let rest = Rest::new(&x.shape[count..], [&x.strides[count..], &out.strides[nd..]]);
        if rest.n == 1 {
            return with_size!(x.dtype.size(), T => gather::<T>(&indexed, out, nd, range));
        }
        let mut to = Walk::new(&out.shape[..nd], [&out.strides[..nd]]);
        to.seek(range.start);
        let item = x.dtype.size();
        indexed.offsets(range, |_, offsets| {
            for (i, &offset) in offsets.iter().enumerate() {
                if let Some(&ahead) = offsets.get(i + AHEAD / 2) {
                    prefetch(x.ptr.wrapping_offset(ahead));
                }
                rest.copy(x.ptr.wrapping_offset(offset), out.ptr.offset(to.offsets[0]), item);
                to.step();
            }
            Ok(())
        })
    }
}

/// How many elements before its use a scattered element is asked for.
pub(crate) const AHEAD: usize = 16;

/// Asks for the cache line of an address, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch touches nothing, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address as *const i8)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Single elements into output runs.
unsafe fn gather<T: Copy>(
    indexed: &Indexed,
    out: &RawView,
    nd: usize,
    range: std::ops::Range<usize>,
) -> Result<(), LibraryError> {
    let base = indexed.base.ptr;
    let mut to = Walk::new(&out.shape[..nd], [&out.strides[..nd]]);
    let mut at = range.start;
    to.runs(range, |[offset], [step], n| {
        let dst = out.ptr.offset(offset);
        let start = at;
        at += n;
        indexed.offsets(start..start + n, |i, offsets| {
            let dst = dst.offset((i - start) as isize * step);
            let read = |offset: isize| (base.offset(offset) as *const T).read_unaligned();
            if step == size_of::<T>() as isize {
                for (i, &offset) in offsets.iter().enumerate() {
                    (dst as *mut T).add(i).write_unaligned(read(offset));
                }
            } else {
                for (i, &offset) in offsets.iter().enumerate() {
                    (dst.offset(i as isize * step) as *mut T).write_unaligned(read(offset));
                }
            }
            Ok(())
        })
    })
}

/// What belongs to one index position: the axes that are not indexed.
pub(crate) struct Rest<const N: usize> {
    pub n: usize,
    pub walk: Walk<N>,
}

impl<const N: usize> Rest<N> {
    pub fn new(shape: &[usize], strides: [&[isize]; N]) -> Rest<N> {
        Rest { n: shape.iter().product(), walk: Walk::new(shape, strides) }
    }
}

impl Rest<2> {
    /// Copies from the first operand's base address to the second's.
    #[inline]
    pub unsafe fn copy(&self, from: *const u8, to: *mut u8, item: usize) {
        if let Some(steps) = self.walk.single_run() {
            return copy_run(from, steps[0], to, steps[1], self.n, item);
        }
        let mut walk = self.walk.clone();
        let _ = walk.runs::<LibraryError>(0..self.n, |[src, dst], steps, n| {
            copy_run(from.offset(src), steps[0], to.offset(dst), steps[1], n, item);
            Ok(())
        });
    }
}

/// Copies `n` elements of `item` bytes between evenly spaced places that do not overlap.
#[inline]
pub(crate) unsafe fn copy_run(from: *const u8, from_step: isize, to: *mut u8, to_step: isize, n: usize, item: usize) {
    if from_step == item as isize && to_step == item as isize {
        return copy_bytes(from, to, n * item);
    }
    with_size!(item, T => {
        for i in 0..n as isize {
            let v = (from.offset(i * from_step) as *const T).read_unaligned();
            (to.offset(i * to_step) as *mut T).write_unaligned(v);
        }
    })
}

/// Short rows are copied in place of a call.
#[inline(always)]
unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes <= 128 && bytes.is_multiple_of(16) {
        for at in (0..bytes).step_by(16) {
            let v = (from.add(at) as *const u128).read_unaligned();
            (to.add(at) as *mut u128).write_unaligned(v);
        }
    } else {
        std::ptr::copy_nonoverlapping(from, to, bytes);
    }
}
