//! Writing through integer index arrays (`x[i, j] = v`, `put`, `ufunc.at`).
//!
//! All indices are checked before anything is written. Positions are written in order, so that of several
//! values for one place the last one wins, and `ufunc.at` folds them one after another.

use crate::element::with_size;
use crate::fold::{Combine, Fold, with_fold};
use crate::gather::{AHEAD, Rest, copy_run, prefetch};
use crate::index::{BLOCK, Indexed, Indexing, Mode};
use crate::scratch::Scratch;
use crate::vector::vectorized;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, Form, LARGE, LibraryError, LibraryOp};
use numloom_ir::overlap::self_overlaps;
use numloom_ir::{Dims, View};
use numloom_loops::{compress, stream, streamed};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Elements of the rest axes that make a tile of their own worth it.
const REST: usize = 256;

/// `x[index_0[i...], ..., r...] = values[i..., r...]`.
///
/// Inputs: the int64 index arrays, then the values (index shape + rest of x, stride 0 where broadcast).
/// The output is `x` with its indexed axes at the front, and keeps what is not written.
pub struct Put {
    indexing: Indexing,
    checked: Scratch,
}

impl Put {
    pub fn new(axes: &[usize], mode: Mode) -> Put {
        Put { indexing: Indexing::new(axes, mode), checked: Scratch::default() }
    }
}

/// `x[index...] = op(x[index...], values)`, one position after another, repeated places included.
/// Operands as for `Put`; the values have the dtype of the loop's second input, which is x's unless it is a `Call`.
pub struct ScatterApply {
    indexing: Indexing,
    fold: Fold,
    ufunc: &'static str,
    checked: Scratch,
}

impl ScatterApply {
    /// `ufunc` is named in warnings.
    pub fn new(axes: &[usize], fold: Fold, ufunc: &'static str) -> ScatterApply {
        ScatterApply { indexing: Indexing::new(axes, Mode::Raise), fold, ufunc, checked: Scratch::default() }
    }
}

fn indexed<'a>(indexing: &'a Indexing, args: &'a Args, name: &str) -> Result<Indexed<'a>, LibraryError> {
    ensure_operands(args, args.ins.len().max(2), 1, name)?;
    let (values, indices) = args.ins.split_last().expect("two inputs");
    indexing.of(&args.outs[0], indices, values, name)
}

/// The rest axis that tiles divide: the longest that is walked in the base.
fn split_axis(indexed: &Indexed) -> Option<(usize, usize)> {
    let count = indexed.indices.len();
    let rest = &indexed.base.shape[count..];
    let axis = (0..rest.len()).filter(|&i| indexed.base.strides[count + i] != 0).max_by_key(|&i| rest[i])?;
    let beside: usize = rest.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &extent)| extent).product();
    Some((axis, pieces(rest[axis], REST.div_ceil(beside.max(1)))))
}

/// How writing is divided. Every place belongs to one tile, which sees its positions in order.
enum Cut {
    Nothing,
    Whole,
    /// By a rest axis.
    Rest {
        axis: usize,
        tiles: usize,
    },
    /// By where the places lie: a tile looks at all positions that may be in its range of offsets.
    Places {
        tiles: usize,
    },
}

/// Elements that repay a tile of their own.
const MANY: usize = 1 << 16;
/// The most tiles, by the bytes of a row. Each tile reads all indices, and of short rows nearly all lines of the values,
/// whether they are its own or not.
const MOST_TILES: [(usize, usize); 3] = [(64, 2), (2048, 4), (usize::MAX, 16)];
/// Bytes of a row that is written past the caches.
const LONG: usize = 4096;

fn cut(indexed: &Indexed) -> Cut {
    let (base, count, positions) = (indexed.base, indexed.indices.len(), indexed.positions());
    let rest: usize = base.shape[count..].iter().product();
    if positions == 0 || rest == 0 {
        return Cut::Nothing;
    }
    // What overlaps in part could belong to two tiles.
    let item = base.dtype.size();
    let apart = if rest == 1 {
        base.strides.iter().all(|s| s.unsigned_abs().is_multiple_of(item))
    } else {
        let view = View { dtype: base.dtype, offset: 0, shape: base.shape.clone(), strides: base.strides.clone() };
        !self_overlaps(&view)
    };
    let most = MOST_TILES.iter().find(|(bytes, _)| rest * item < *bytes).map_or(1, |(_, tiles)| *tiles);
    match split_axis(indexed) {
        _ if apart && positions > 1 && positions * rest >= 2 * MANY => {
            Cut::Places { tiles: (positions * rest / MANY).min(most) }
        }
        Some((axis, tiles)) if tiles > 1 => Cut::Rest { axis, tiles },
        _ => Cut::Whole,
    }
}

fn phases(indexed: &Indexed) -> SmallVec<[usize; 4]> {
    let tiles = match cut(indexed) {
        Cut::Nothing => 0,
        Cut::Whole => 1,
        Cut::Rest { tiles, .. } | Cut::Places { tiles } => tiles,
    };
    smallvec![indexed.check_tiles(), tiles]
}

/// Phase 0: checks a piece of an index array, and keeps how far it reaches.
unsafe fn check(indexed: &Indexed, checked: &Scratch, tile: usize) -> Result<(), LibraryError> {
    let reach = indexed.check(tile)?;
    *checked.get::<[i64; 2]>(indexed.check_tiles())?.add(tile) = reach;
    Ok(())
}

/// The part of a base that a tile writes to: all of it, some of the rest axes, or some of the offsets.
struct Own<'a> {
    rest: Rest<2>,
    x: *mut u8,
    v: *const u8,
    offsets: Range<isize>,
    /// Between which offsets the positions of each piece lie.
    reaches: &'a [[i64; 2]],
}

/// Calls `f(place in x, value, steps, n)` for every run of a writing tile, in order of the positions.
unsafe fn for_each_run(
    indexed: &Indexed,
    args: &Args,
    checked: &Scratch,
    tile: usize,
    f: impl Fn(*mut u8, *const u8, [isize; 2], usize),
) -> Result<(), LibraryError> {
    let values = &args.ins[args.ins.len() - 1];
    let (base, count, nd) = (indexed.base, indexed.indices.len(), indexed.indices[0].shape.len());
    let reaches = std::slice::from_raw_parts(checked.get(indexed.check_tiles())?, indexed.check_tiles());
    let mut shape = Dims::from_slice(&base.shape[count..]);
    let mut skip = [0isize; 2];
    let mut offsets = isize::MIN..isize::MAX;
    match cut(indexed) {
        Cut::Rest { axis, tiles } => {
            let part = piece(shape[axis], tiles, tile);
            shape[axis] = part.len();
            skip = [base.strides[count + axis], values.strides[nd + axis]].map(|s| s * part.start as isize);
        }
        Cut::Places { tiles } => {
            let all = (0..indexed.check_pieces()).map(|part| indexed.reach(reaches, part));
            let [low, high] = all.fold([isize::MAX, isize::MIN], |a, b| [a[0].min(b[0]), a[1].max(b[1])]);
            let part = piece((high - low + 1) as usize, tiles, tile);
            offsets = low + part.start as isize..low + part.end as isize;
        }
        Cut::Nothing | Cut::Whole => {}
    }
    let rest = Rest::new(&shape, [&base.strides[count..], &values.strides[nd..]]);
    let own = Own { rest, x: base.ptr.offset(skip[0]), v: values.ptr.offset(skip[1]), offsets, reaches };
    let mut from = Walk::new(&values.shape[..nd], [&values.strides[..nd]]);
    for part in 0..indexed.check_pieces() {
        let [low, high] = indexed.reach(own.reaches, part);
        if high < own.offsets.start || low >= own.offsets.end {
            continue;
        }
        let all = own.offsets.contains(&low) && own.offsets.contains(&high);
        let range = indexed.piece(part);
        match (from.single_run(), own.rest.walk.single_run()) {
            (Some([step]), Some(steps)) => own.runs(indexed, range, all, step, steps, &f)?,
            _ => own.rows(indexed, range, &mut from, &f)?,
        }
    }
    Ok(())
}

impl Own<'_> {
    /// Single elements or rows of even `steps`, whose values begin `step` bytes apart.
    unsafe fn runs(
        &self,
        indexed: &Indexed,
        range: Range<usize>,
        all: bool,
        step: isize,
        steps: [isize; 2],
        f: &impl Fn(*mut u8, *const u8, [isize; 2], usize),
    ) -> Result<(), LibraryError> {
        let (low, width) = (self.offsets.start, self.offsets.end.wrapping_sub(self.offsets.start) as usize);
        let (mut inside, mut kept, mut places) = ([0u8; BLOCK], [0isize; BLOCK], [0u64; BLOCK]);
        let numbers: [u64; BLOCK] = std::array::from_fn(|i| i as u64);
        let item = size_of::<u64>();
        indexed.offsets(range, |at, offsets| {
            let v = self.v.offset(at as isize * step);
            if all {
                for (i, &offset) in offsets.iter().enumerate() {
                    f(self.x.offset(offset), v.offset(i as isize * step), steps, self.rest.n);
                }
                return Ok(());
            }
            vectorized(
                #[inline(always)]
                || {
                    for (inside, &offset) in inside.iter_mut().zip(offsets) {
                        *inside = ((offset.wrapping_sub(low) as usize) < width) as u8;
                    }
                },
            );
            let (n, inside) = (offsets.len(), inside.as_ptr());
            let count = compress(item, n, offsets.as_ptr().cast(), inside, kept.as_mut_ptr().cast());
            compress(item, n, numbers.as_ptr().cast(), inside, places.as_mut_ptr().cast());
            for i in 0..count {
                prefetch(self.x.wrapping_offset(kept[(i + AHEAD).min(count - 1)]));
                f(self.x.offset(kept[i]), v.offset(places[i] as isize * step), steps, self.rest.n);
            }
            Ok(())
        })
    }

    /// Rows, or values that do not lie in one run: `from` walks them.
    unsafe fn rows(
        &self,
        indexed: &Indexed,
        range: Range<usize>,
        from: &mut Walk<1>,
        f: &impl Fn(*mut u8, *const u8, [isize; 2], usize),
    ) -> Result<(), LibraryError> {
        from.seek(range.start);
        indexed.offsets(range, |_, offsets| {
            for offset in offsets {
                let (to, value) = (self.x.wrapping_offset(*offset), self.v.offset(from.offsets[0]));
                from.step();
                if !self.offsets.contains(offset) {
                    continue;
                }
                if let Some(steps) = self.rest.walk.single_run() {
                    f(to, value, steps, self.rest.n);
                    continue;
                }
                self.rest.walk.clone().runs(0..self.rest.n, |[x, v], steps, n| {
                    f(to.offset(x), value.offset(v), steps, n);
                    Ok(())
                })?;
            }
            Ok(())
        })
    }
}

impl LibraryOp for Put {
    fn form(&self) -> Form {
        Form::Put { axis: self.indexing.single_axis(), mode: self.indexing.mode() }
    }

    fn name(&self) -> &'static str {
        "put"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        indexed(&self.indexing, args, self.name()).map_or(smallvec![1], |i| phases(&i))
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let indexed = indexed(&self.indexing, args, self.name())?;
        let item = indexed.base.dtype.size();
        ensure(args.ins[args.ins.len() - 1].dtype == indexed.base.dtype, self.name(), "dtypes differ")?;
        if phase == 0 {
            return check(&indexed, &self.checked, tile);
        }
        let large = indexed.base.size() * item >= LARGE;
        let done = with_size!(item, T => for_each_run(&indexed, args, &self.checked, tile, |to, value, steps, n| {
            if n == 1 {
                (to as *mut T).write_unaligned((value as *const T).read_unaligned());
            } else if large && n * size_of::<T>() >= LONG && steps == [size_of::<T>() as isize; 2] {
                stream(value, to, n * size_of::<T>());
            } else {
                copy_run(value, steps[1], to, steps[0], n, size_of::<T>());
            }
        }));
        if large {
            streamed();
        }
        done
    }
}

impl LibraryOp for ScatterApply {
    fn name(&self) -> &'static str {
        "at"
    }

    fn raises(&self) -> Option<&'static str> {
        Some(self.ufunc)
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        indexed(&self.indexing, args, self.name()).map_or(smallvec![1], |i| phases(&i))
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let indexed = indexed(&self.indexing, args, self.name())?;
        if phase == 0 {
            return check(&indexed, &self.checked, tile);
        }
        if let Fold::Call(apply) = &self.fold {
            return for_each_run(&indexed, args, &self.checked, tile, |to, value, steps, n| {
                for i in 0..n as isize {
                    let to = to.offset(i * steps[0]);
                    apply(to, value.offset(i * steps[1]), to);
                }
            });
        }
        let (dtype, values) = (indexed.base.dtype, args.ins[args.ins.len() - 1].dtype);
        ensure(values == dtype && self.fold.fits(dtype), self.name(), "dtypes differ")?;
        with_fold!(self.fold, dtype, T, f => for_each_run(&indexed, args, &self.checked, tile, |to, value, steps, n| {
            for i in 0..n as isize {
                let (to, value) = (to.offset(i * steps[0]) as *mut T, value.offset(i * steps[1]) as *const T);
                to.write_unaligned(f.combine(to.read_unaligned(), value.read_unaligned()));
            }
        }))
    }
}
