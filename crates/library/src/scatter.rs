//! Writing through integer index arrays (`x[i, j] = v`, `put`, `ufunc.at`).
//!
//! All indices are checked before anything is written. Positions are written in order, so that of several
//! values for one place the last one wins, and `ufunc.at` folds them one after another.

use crate::element::with_size;
use crate::fold::BinaryFn;
use crate::gather::{Rest, copy_run};
use crate::index::{Indexed, Indexing, Mode};
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, LibraryError, LibraryOp};
use smallvec::{SmallVec, smallvec};

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
/// Operands as for `Put`; the values have the dtype of the loop's second input.
pub struct ScatterApply {
    indexing: Indexing,
    apply: BinaryFn,
}

impl ScatterApply {
    pub fn new(axes: &[usize], apply: BinaryFn) -> ScatterApply {
        ScatterApply { indexing: Indexing::new(axes, Mode::Raise), apply }
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
    let per_tile = REST.div_ceil(rest.iter().product::<usize>().max(1) / rest[axis].max(1)).max(1);
    Some((axis, pieces(rest[axis], per_tile)))
}

fn phases(indexed: &Indexed) -> SmallVec<[usize; 4]> {
    let check = indexed.check_tiles();
    let rest: usize = indexed.base.shape[indexed.indices.len()..].iter().product();
    match split_axis(indexed) {
        _ if check == 0 => smallvec![0, 0],
        _ if rest == 0 => smallvec![check, 0],
        Some((_, tiles)) => smallvec![check, tiles],
        None => smallvec![check, 1],
    }
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
    let mut shape = base.shape[count..].to_vec();
    let mut skip = [0isize; 2];
    if let Some((axis, tiles)) = split_axis(indexed) {
        let part = piece(shape[axis], tiles, tile);
        shape[axis] = part.len();
        skip = [base.strides[count + axis], values.strides[nd + axis]].map(|s| s * part.start as isize);
    }
    let rest = Rest::new(&shape, [&base.strides[count..], &values.strides[nd..]]);
    let mut from = Walk::new(&values.shape[..nd], [&values.strides[..nd]]);
    from.seek(0);
    if rest.n == 1 {
        return indexed.addresses(0..indexed.positions(), |_, to| {
            f(to.offset(skip[0]), values.ptr.offset(from.offsets[0] + skip[1]), [0, 0], 1);
            from.step();
            Ok(())
        });
    }
    indexed.addresses(0..indexed.positions(), |_, to| {
        let (to, value) = (to.offset(skip[0]), values.ptr.offset(from.offsets[0] + skip[1]));
        from.step();
        rest.walk.clone().runs(0..rest.n, |[x, v], steps, n| {
            f(to.offset(x), value.offset(v), steps, n);
            Ok(())
        })
    })
}

impl LibraryOp for Put {
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

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        indexed(&self.indexing, args, self.name()).map_or(smallvec![1], |i| phases(&i))
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let indexed = indexed(&self.indexing, args, self.name())?;
        if phase == 0 {
            return indexed.check(tile);
        }
        for_each_run(&indexed, args, tile, |to, value, steps, n| {
            for i in 0..n as isize {
                let to = to.offset(i * steps[0]);
                (self.apply)(to, value.offset(i * steps[1]), to);
            }
        })
    }
}
