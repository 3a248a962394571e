//! Writing through integer index arrays (`x[i, j] = v`, `put`, `ufunc.at`).
//!
//! All indices are checked before anything is written. Positions are written in order, so that of several
//! values for one place the last one wins, and `ufunc.at` folds them one after another.

use crate::element::with_size;
use crate::fold::{Combine, Fold, with_fold};
use crate::gather::{AHEAD, Rest, copy_run, prefetch};
use crate::index::{BLOCK, Indexed, Indexing, Mode};
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, Form, LibraryError, LibraryOp};
use numloom_ir::Dims;
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
}

impl Put {
    pub fn new(axes: &[usize], mode: Mode) -> Put {
        Put { indexing: Indexing::new(axes, mode) }
    }
}

/// `x[index...] = op(x[index...], values)`, one position after another, repeated places included.
/// Operands as for `Put`; the values have the dtype of the loop's second input, which is x's unless it is a `Call`.
pub struct ScatterApply {
    indexing: Indexing,
    fold: Fold,
    ufunc: &'static str,
}

impl ScatterApply {
    /// `ufunc` is named in warnings.
    pub fn new(axes: &[usize], fold: Fold, ufunc: &'static str) -> ScatterApply {
        ScatterApply { indexing: Indexing::new(axes, Mode::Raise), fold, ufunc }
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
    /// By where the places lie: a tile looks at all positions and takes those in its range of offsets.
    Places {
        tiles: usize,
    },
}

/// Positions that repay being looked at by several tiles, and the most tiles to do so.
const MANY: usize = 1 << 16;
const MOST_TILES: usize = 4;

fn cut(indexed: &Indexed) -> Cut {
    let (base, count, positions) = (indexed.base, indexed.indices.len(), indexed.positions());
    let rest: usize = base.shape[count..].iter().product();
    if positions == 0 || rest == 0 {
        return Cut::Nothing;
    }
    // Elements that overlap in part could belong to two tiles.
    let item = base.dtype.size();
    let apart = base.strides.iter().all(|s| s.unsigned_abs().is_multiple_of(item));
    match split_axis(indexed) {
        Some((axis, tiles)) if tiles > 1 => Cut::Rest { axis, tiles },
        _ if apart && rest == 1 && positions >= 2 * MANY => Cut::Places { tiles: (positions / MANY).min(MOST_TILES) },
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

/// The offsets that belong to one of `tiles` parts of the base.
fn places(indexed: &Indexed, tiles: usize, tile: usize) -> Range<isize> {
    let (mut low, mut high) = (0, 0);
    for k in 0..indexed.indices.len() {
        let reach = (indexed.base.shape[k] as isize - 1).max(0) * indexed.base.strides[k];
        low += reach.min(0);
        high += reach.max(0);
    }
    let part = piece((high - low + 1) as usize, tiles, tile);
    low + part.start as isize..low + part.end as isize
}

/// Calls `f(place in x, value, steps, n)` for every run of a writing tile, in order of the positions.
unsafe fn for_each_run(
    indexed: &Indexed,
    args: &Args,
    tile: usize,
    f: impl Fn(*mut u8, *const u8, [isize; 2], usize),
) -> Result<(), LibraryError> {
    let values = &args.ins[args.ins.len() - 1];
    let (base, count, nd) = (indexed.base, indexed.indices.len(), indexed.indices[0].shape.len());
    let mut shape = Dims::from_slice(&base.shape[count..]);
    let mut skip = [0isize; 2];
    let mut own = isize::MIN..isize::MAX;
    match cut(indexed) {
        Cut::Rest { axis, tiles } => {
            let part = piece(shape[axis], tiles, tile);
            shape[axis] = part.len();
            skip = [base.strides[count + axis], values.strides[nd + axis]].map(|s| s * part.start as isize);
        }
        Cut::Places { tiles } => own = places(indexed, tiles, tile),
        Cut::Nothing | Cut::Whole => {}
    }
    let rest = Rest::new(&shape, [&base.strides[count..], &values.strides[nd..]]);
    let (x, v) = (base.ptr.offset(skip[0]), values.ptr.offset(skip[1]));
    let mut from = Walk::new(&values.shape[..nd], [&values.strides[..nd]]);
    if let (1, Some([step])) = (rest.n, from.single_run()) {
        let mut taken = [0u16; BLOCK];
        let (low, width) = (own.start, own.end.wrapping_sub(own.start) as usize);
        return indexed.offsets(0..indexed.positions(), |at, offsets| {
            let mut n = 0;
            for (i, &offset) in offsets.iter().enumerate() {
                taken[n] = i as u16;
                n += ((offset.wrapping_sub(low) as usize) < width) as usize;
            }
            for (i, &value) in taken[..n].iter().enumerate() {
                prefetch(x.wrapping_offset(offsets[taken[(i + AHEAD).min(n - 1)] as usize]));
                let (offset, value) = (offsets[value as usize], at + value as usize);
                f(x.offset(offset), v.offset(value as isize * step), [0, 0], 1);
            }
            Ok(())
        });
    }
    from.seek(0);
    indexed.offsets(0..indexed.positions(), |_, offsets| {
        for offset in offsets {
            let (to, value) = (x.wrapping_offset(*offset), v.offset(from.offsets[0]));
            from.step();
            if !own.contains(offset) {
                continue;
            }
            if let Some(steps) = rest.walk.single_run() {
                f(to, value, steps, rest.n);
                continue;
            }
            rest.walk.clone().runs(0..rest.n, |[x, v], steps, n| {
                f(to.offset(x), value.offset(v), steps, n);
                Ok(())
            })?;
        }
        Ok(())
    })
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
            return indexed.check(tile);
        }
        with_size!(item, T => for_each_run(&indexed, args, tile, |to, value, steps, n| {
            if n == 1 {
                (to as *mut T).write_unaligned((value as *const T).read_unaligned());
            } else {
                copy_run(value, steps[1], to, steps[0], n, size_of::<T>());
            }
        }))
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
            return indexed.check(tile);
        }
        if let Fold::Call(apply) = &self.fold {
            return for_each_run(&indexed, args, tile, |to, value, steps, n| {
                for i in 0..n as isize {
                    let to = to.offset(i * steps[0]);
                    apply(to, value.offset(i * steps[1]), to);
                }
            });
        }
        let (dtype, values) = (indexed.base.dtype, args.ins[args.ins.len() - 1].dtype);
        ensure(values == dtype && self.fold.fits(dtype), self.name(), "dtypes differ")?;
        with_fold!(self.fold, dtype, T, f => for_each_run(&indexed, args, tile, |to, value, steps, n| {
            for i in 0..n as isize {
                let (to, value) = (to.offset(i * steps[0]) as *mut T, value.offset(i * steps[1]) as *const T);
                to.write_unaligned(f.combine(to.read_unaligned(), value.read_unaligned()));
            }
        }))
    }
}
