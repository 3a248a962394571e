//! Writing through integer index arrays (`x[i, j] = v`, `put`, `ufunc.at`).
//!
//! All indices are checked before anything is written. Positions are written in order, so that of several
//! values for one place the last one wins, and `ufunc.at` folds them one after another.

use crate::dealing::{Dealing, Dealt};
use crate::element::with_size;
use crate::fold::{Combine, Fold, with_fold};
use crate::gather::{AHEAD, Rest, copy_run, prefetch};
use crate::index::{BLOCK, Indexed, Indexing, Mode, Reaches, Spread};
use crate::latest::Latest;
use crate::scratch::Scratch;
use crate::vector::vectorized;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, Form, LARGE, LibraryError, LibraryOp, RawView};
use numloom_ir::overlap::self_overlaps;
use numloom_ir::{Dims, View};
use numloom_loops::{compress, stream, streamed};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::OnceLock;

/// Elements of the rest axes that make a tile of their own worth it.
const REST: usize = 256;

/// `x[index_0[i...], ..., r...] = values[i..., r...]`.
///
/// Inputs: the int64 index arrays, then the values (index shape + rest of x, stride 0 where broadcast).
/// The output is `x` with its indexed axes at the front, and keeps what is not written.
pub struct Put {
    indexing: Indexing,
    kept: Kept,
}

impl Put {
    pub fn new(axes: &[usize], mode: Mode) -> Put {
        Put { indexing: Indexing::new(axes, mode), kept: Kept::default() }
    }

    /// With what is known of the only index array, or to be found out.
    pub fn remembering(mut self, reaches: Reaches) -> Put {
        self.kept.known = Some(reaches);
        self
    }
}

/// `x[index...] = op(x[index...], values)`, one position after another, repeated places included.
/// Operands as for `Put`; the values have the dtype of the loop's second input, which is x's unless it is a `Call`.
pub struct ScatterApply {
    indexing: Indexing,
    fold: Fold,
    ufunc: &'static str,
    kept: Kept,
}

/// What is kept between the phases.
#[derive(Default)]
struct Kept {
    /// How far each checked tile of the indices reaches.
    checked: Scratch,
    /// The same, from an operation before or for one after.
    known: Option<Reaches>,
    lie: OnceLock<Lie>,
    dealt: Dealt,
    latest: Scratch,
}

/// How the positions lie, once they are checked.
struct Lie {
    /// Between which offsets those of each piece are.
    reaches: Box<[[isize; 2]]>,
    /// Whether they are dealt out before they are written.
    dealt: bool,
}

impl ScatterApply {
    /// `ufunc` is named in warnings.
    pub fn new(axes: &[usize], fold: Fold, ufunc: &'static str) -> ScatterApply {
        ScatterApply { indexing: Indexing::new(axes, Mode::Raise), fold, ufunc, kept: Kept::default() }
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
    /// By where the places lie, after the positions were dealt out to buckets of neighbouring ones, if they are scattered.
    Dealt(Dealing),
}

/// Elements that repay a tile of their own.
const MANY: usize = 1 << 16;
/// The most tiles, by the bytes of a row. Each tile reads all indices, and of short rows nearly all lines of the values,
/// whether they are its own or not.
const MOST_TILES: [(usize, usize); 3] = [(64, 2), (2048, 4), (usize::MAX, 16)];
/// Bytes of a row that is written past the caches.
const LONG: usize = 4096;
/// The most tiles of positions that could have been dealt out, but are not scattered.
const NEIGHBOURS: usize = 16;

fn cut(indexed: &Indexed, values: &RawView) -> Cut {
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
    let nd = indexed.indices[0].shape.len();
    if rest == 1
        && apart
        && let Some([step]) = Walk::new(&values.shape[..nd], [&values.strides[..nd]]).single_run()
        && let Some(dealing) = Dealing::new(indexed, step)
    {
        return Cut::Dealt(dealing);
    }
    let most = MOST_TILES.iter().find(|(bytes, _)| rest * item < *bytes).map_or(1, |(_, tiles)| *tiles);
    match split_axis(indexed) {
        _ if apart && positions > 1 && positions * rest >= 2 * MANY => {
            Cut::Places { tiles: (positions * rest / MANY).min(most) }
        }
        Some((axis, tiles)) if apart && tiles > 1 => Cut::Rest { axis, tiles },
        _ => Cut::Whole,
    }
}

fn phases(indexed: &Indexed, values: &RawView, kept: &Kept) -> SmallVec<[usize; 4]> {
    let check = if kept.known(indexed).is_some() { 0 } else { indexed.check_tiles() };
    match cut(indexed, values) {
        Cut::Nothing => smallvec![check, 0],
        Cut::Whole => smallvec![check, 1],
        Cut::Rest { tiles, .. } | Cut::Places { tiles } => smallvec![check, tiles],
        Cut::Dealt(dealing) => match kept.known(indexed) {
            Some(known) if !dealing.is_for(&offsets_of(indexed, known)) => {
                smallvec![0, 0, dealing.buckets.min(NEIGHBOURS)]
            }
            _ => smallvec![check, dealing.pieces, dealing.buckets],
        },
    }
}

/// Between which offsets the positions of each piece lie, from how far its indices reach.
fn offsets_of(indexed: &Indexed, reaches: &[[i64; 2]]) -> Box<[[isize; 2]]> {
    (0..indexed.check_pieces()).map(|part| indexed.reach(reaches, part)).collect()
}

impl Kept {
    /// The phases before the one that writes: checks a piece of an index array and keeps how far it reaches, then deals
    /// a piece of the positions out. False if the tile is still to be written.
    unsafe fn prepare(
        &self,
        indexed: &Indexed,
        values: &RawView,
        phase: usize,
        tile: usize,
    ) -> Result<bool, LibraryError> {
        if phase == 0 {
            let reach = indexed.check(tile)?;
            *self.checked.get::<[i64; 2]>(indexed.check_tiles())?.add(tile) = reach;
            return Ok(true);
        }
        let Cut::Dealt(dealing) = cut(indexed, values) else { return Ok(false) };
        if phase == 1 && self.lie(indexed, values)?.dealt {
            // What was checked last is still in the caches.
            self.dealt.deal(indexed, &dealing, values, dealing.pieces - 1 - tile)?;
        }
        Ok(phase == 1)
    }

    /// What an operation before has found.
    fn known(&self, indexed: &Indexed) -> Option<&[[i64; 2]]> {
        let known = self.known.as_ref()?.get()?;
        (known.len() == indexed.check_tiles()).then_some(known)
    }

    /// Positions that could be dealt out are if they are scattered and there is room for it.
    ///
    /// # Safety
    /// All indices must have been checked.
    unsafe fn lie(&self, indexed: &Indexed, values: &RawView) -> Result<&Lie, LibraryError> {
        if let Some(lie) = self.lie.get() {
            return Ok(lie);
        }
        let reaches = match self.known(indexed) {
            Some(known) => known,
            None => std::slice::from_raw_parts(self.checked.get(indexed.check_tiles())?, indexed.check_tiles()),
        };
        if let Some(known) = &self.known {
            known.get_or_init(|| reaches.into());
        }
        let reaches = offsets_of(indexed, reaches);
        let dealt = match cut(indexed, values) {
            Cut::Dealt(dealing) => dealing.is_for(&reaches) && self.dealt.has_room(indexed, &dealing, values),
            _ => false,
        };
        Ok(self.lie.get_or_init(|| Lie { reaches, dealt }))
    }
}

/// The part of a base that a tile writes to: all of it, some of the rest axes, or some of the offsets.
struct Own {
    rest: Rest<2>,
    x: *mut u8,
    v: *const u8,
    offsets: Range<isize>,
}

/// The offsets of a tile, if the pieces of the positions reach so far.
fn part_of(reaches: &[[isize; 2]], tiles: usize, tile: usize) -> Range<isize> {
    let Spread { low, high, .. } = Spread::new(reaches);
    let bound = |tile: usize| match tile {
        0 => low,
        _ if tile == tiles => high + 1,
        _ => whole_pieces(reaches, low + piece((high - low + 1) as usize, tiles, tile).start as isize),
    };
    bound(tile)..bound(tile + 1)
}

/// Pieces that are looked at for a bound of a tile.
const LOOKED_AT: usize = 8;

/// A bound near `offset`, or there: where a piece begins if it can, so that no piece is read for two tiles. The higher
/// the offset, the higher the bound.
fn whole_pieces(reaches: &[[isize; 2]], offset: isize) -> isize {
    let apart = |&(k, &[from, _]): &(usize, &[isize; 2])| {
        reaches[..k].iter().all(|r| r[1] < from) && reaches[k..].iter().all(|r| r[0] >= from)
    };
    let mut near = reaches.iter().enumerate().filter(|(_, r)| r[0] >= offset).take(LOOKED_AT);
    near.find(apart).map_or(offset, |(_, r)| r[0])
}

/// Calls `f(place in x, value, steps, n)` for every run of a writing tile, in order of the positions.
unsafe fn for_each_run(
    indexed: &Indexed,
    args: &Args,
    kept: &Kept,
    tile: usize,
    f: impl Fn(*mut u8, *const u8, [isize; 2], usize),
) -> Result<(), LibraryError> {
    let values = &args.ins[args.ins.len() - 1];
    let (base, count, nd) = (indexed.base, indexed.indices.len(), indexed.indices[0].shape.len());
    let Lie { reaches, dealt } = kept.lie(indexed, values)?;
    let mut shape = Dims::from_slice(&base.shape[count..]);
    let mut skip = [0isize; 2];
    let mut offsets = isize::MIN..isize::MAX;
    match cut(indexed, values) {
        Cut::Rest { axis, tiles } => {
            let part = piece(shape[axis], tiles, tile);
            shape[axis] = part.len();
            skip = [base.strides[count + axis], values.strides[nd + axis]].map(|s| s * part.start as isize);
        }
        Cut::Places { tiles } => offsets = part_of(reaches, tiles, tile),
        Cut::Dealt(dealing) if *dealt => {
            let steps = [base.dtype.size() as isize, values.dtype.size() as isize];
            return kept.dealt.write(indexed, &dealing, values, tile, |to, value| f(to, value, steps, 1));
        }
        Cut::Dealt(dealing) => {
            let tiles = dealing.buckets.min(NEIGHBOURS);
            if tile >= tiles {
                return Ok(());
            }
            // What was checked last is still in the caches.
            offsets = part_of(reaches, tiles, tiles - 1 - tile);
        }
        Cut::Nothing | Cut::Whole => {}
    }
    let rest = Rest::new(&shape, [&base.strides[count..], &values.strides[nd..]]);
    let own = Own { rest, x: base.ptr.offset(skip[0]), v: values.ptr.offset(skip[1]), offsets };
    let mut from = Walk::new(&values.shape[..nd], [&values.strides[..nd]]);
    for (part, &[low, high]) in reaches.iter().enumerate() {
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

impl Own {
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
        let (x, v) = (self.x, self.v);
        let one = move |i: usize, offset: isize| f(x.offset(offset), v.offset(i as isize * step), steps, 1);
        let soon = move |offset: isize| prefetch(x.wrapping_offset(offset));
        if all && self.rest.n == 1 && indexed.one_by_one(range.clone(), one, soon)? {
            return Ok(());
        }
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
        Form::Put { axes: self.indexing.axes(), mode: self.indexing.mode() }
    }

    fn name(&self) -> &'static str {
        "put"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        indexed(&self.indexing, args, self.name())
            .map_or(smallvec![1], |i| phases(&i, &args.ins[args.ins.len() - 1], &self.kept))
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let indexed = indexed(&self.indexing, args, self.name())?;
        let item = indexed.base.dtype.size();
        let values = &args.ins[args.ins.len() - 1];
        ensure(values.dtype == indexed.base.dtype, self.name(), "dtypes differ")?;
        if self.kept.prepare(&indexed, values, phase, tile)? {
            return Ok(());
        }
        let large = indexed.base.size() * item >= LARGE;
        let rest: usize = indexed.base.shape[indexed.indices.len()..].iter().product();
        let write = |to: *mut u8, value: *const u8, steps: [isize; 2], n: usize| {
            if large && n * item >= LONG && steps == [item as isize; 2] {
                stream(value, to, n * item);
            } else {
                copy_run(value, steps[1], to, steps[0], n, item);
            }
        };
        let done = if let Cut::Places { tiles } = cut(&indexed, values)
            && rest > 1
            && let reaches = &self.kept.lie(&indexed, values)?.reaches
            && let Some(latest) = Latest::new(&indexed, reaches, tiles, &self.kept.latest)
        {
            latest.for_each_run(values, reaches, tile, write)
        } else {
            with_size!(item, T => for_each_run(&indexed, args, &self.kept, tile, |to, value, steps, n| {
                if n == 1 {
                    (to as *mut T).write_unaligned((value as *const T).read_unaligned());
                } else {
                    write(to, value, steps, n);
                }
            }))
        };
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
        indexed(&self.indexing, args, self.name())
            .map_or(smallvec![1], |i| phases(&i, &args.ins[args.ins.len() - 1], &self.kept))
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let indexed = indexed(&self.indexing, args, self.name())?;
        if self.kept.prepare(&indexed, &args.ins[args.ins.len() - 1], phase, tile)? {
            return Ok(());
        }
        if let Fold::Call(apply) = &self.fold {
            return for_each_run(&indexed, args, &self.kept, tile, |to, value, steps, n| {
                for i in 0..n as isize {
                    let to = to.offset(i * steps[0]);
                    apply(to, value.offset(i * steps[1]), to);
                }
            });
        }
        let (dtype, values) = (indexed.base.dtype, args.ins[args.ins.len() - 1].dtype);
        ensure(values == dtype && self.fold.fits(dtype), self.name(), "dtypes differ")?;
        with_fold!(self.fold, dtype, T, f => for_each_run(&indexed, args, &self.kept, tile, |to, value, steps, n| {
            for i in 0..n as isize {
                let (to, value) = (to.offset(i * steps[0]) as *mut T, value.offset(i * steps[1]) as *const T);
                to.write_unaligned(f.combine(to.read_unaligned(), value.read_unaligned()));
            }
        }))
    }
}
