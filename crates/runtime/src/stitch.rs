//! Arrays that are put together from parts of others (rolled, padded, concatenated) and that only elementwise work reads
//! are never made: whoever reads them reads the parts, region by region of its domain.

use crate::node::{Input, Node, Nodes, Spot, StoreId, Work, conflict};
use crate::record::MapOp;
use crate::reserved;
use numloom_ir::{Dims, Overlap, View};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::ops::Range;

/// Ranges along the axes of an array or of a domain.
pub type Box = SmallVec<[Range<usize>; 3]>;

/// A part of an array and where its elements are.
#[derive(Clone, Debug)]
pub struct Piece {
    pub at: Box,
    pub spot: Spot,
    /// The node that would have copied it: from there on the source must stay as it is.
    since: u32,
}

/// An array that is not made.
#[derive(Clone, Debug)]
pub struct Stitch {
    /// Bytes from one element to the next along each axis.
    strides: SmallVec<[usize; 3]>,
    pub pieces: Vec<Piece>,
    /// The nodes that would have made it, and those that would have made what it is made of.
    pub copies: Vec<u32>,
}

/// An operand of a fused task that is read in pieces.
#[derive(Clone, Debug)]
pub struct Patchwork {
    pub operand: u16,
    /// Where they are in the task's domain.
    pub pieces: Vec<(Box, Spot)>,
}

/// A part of a task's domain in which every patchwork is one piece.
#[derive(Clone, Debug)]
pub struct Region {
    pub at: Box,
    /// Of each patchwork, which of its pieces.
    pub pieces: SmallVec<[u16; 4]>,
}

/// Most pieces of an array, and most regions of a task: each is a launch of its own.
const MOST_PIECES: usize = 32;
const MOST_REGIONS: usize = 48;

/// What is not made in a window.
#[derive(Default)]
pub struct Stitches {
    by_store: FxHashMap<StoreId, Stitch>,
    copies: FxHashSet<u32>,
}

impl Stitches {
    /// All there can be, but for the stores that were refused. Devices have no such tasks: there parts would have to be
    /// held in boxes.
    pub fn find(nodes: &Nodes, refused: &mut FxHashSet<StoreId>) -> Stitches {
        if reserved::devices() > 0 || !nodes.nodes.iter().any(|n| copied(n).is_some()) {
            return Stitches::default();
        }
        let touched = Touched::of(nodes);
        loop {
            match Stitches::resolve(nodes, &touched, refused) {
                Ok(stitches) => return stitches,
                Err(more) => refused.extend(more),
            };
        }
    }

    /// The stitches of all stores that are not refused, or those that are to be.
    fn resolve(nodes: &Nodes, touched: &Touched, refused: &FxHashSet<StoreId>) -> Result<Stitches, Vec<StoreId>> {
        let mut all = Stitches::default();
        for &store in &touched.order {
            if refused.contains(&store) {
                continue;
            }
            if let Some(stitch) = all.stitch(nodes, touched, store) {
                all.copies.extend(&touched.by_store[&store].writes);
                all.by_store.insert(store, stitch);
            }
        }
        // A plain copy is worth it only for those that are made of it: else it shares a task with what it copies.
        let is_refused = |(store, stitch): &(&StoreId, &Stitch)| {
            let t = &touched.by_store[*store];
            let is_plain = t.writes.len() == 1;
            let is_asked_for = t.reads.iter().any(|i| !all.copies.contains(i));
            is_plain && is_asked_for || is_overwritten(nodes, &stitch.pieces, nodes.stores[**store as usize].last)
        };
        let more: Vec<StoreId> = all.by_store.iter().filter(is_refused).map(|(store, _)| *store).collect();
        if more.is_empty() { Ok(all) } else { Err(more) }
    }

    /// The store as it would be put together, if it is one that is.
    fn stitch(&self, nodes: &Nodes, touched: &Touched, store: StoreId) -> Option<Stitch> {
        let t = &touched.by_store[&store];
        let local = &nodes.stores[store as usize];
        let in_order = t.writes.last()? < t.reads.first()?;
        if local.live || !local.fresh || !in_order || t.writes.len() > MOST_PIECES {
            return None;
        }
        let node = |i: &u32| &nodes.nodes[*i as usize];
        let of_store = |n: &'_ Node| n.reads().filter(|s| s.store == store).cloned().collect::<SmallVec<[Spot; 2]>>();
        let targets: Vec<&Spot> = t.writes.iter().map(|i| &node(i).outs[0]).collect();
        let reads: Vec<Spot> = t.reads.iter().flat_map(|i| of_store(node(i))).collect();
        if !t.reads.iter().all(|i| can_read_in_pieces(node(i))) {
            return None;
        }
        let strides = strides_of(targets.iter().copied().chain(&reads))?;
        let mut stitch = Stitch { strides, pieces: Vec::new(), copies: Vec::new() };
        for (&i, target) in t.writes.iter().zip(&targets) {
            let at = stitch.box_of(&target.view)?;
            let source = copied(node(&i))?;
            match self.by_store.get(&source.store) {
                Some(inner) => {
                    let from = inner.box_of(&source.view)?;
                    for p in inner.within(&from) {
                        let at = p.at.iter().zip(&at).map(|(p, a)| p.start + a.start..p.end + a.start).collect();
                        stitch.pieces.push(Piece { at, ..p });
                    }
                    for copy in &inner.copies {
                        if !stitch.copies.contains(copy) {
                            stitch.copies.push(*copy);
                        }
                    }
                }
                None => stitch.pieces.push(Piece { at, spot: source.clone(), since: i }),
            }
            stitch.copies.push(i);
        }
        let fits = |s: &Spot| stitch.box_of(&s.view).is_some();
        let dtype = targets[0].view.dtype;
        let all_of_it = targets.iter().copied().chain(&reads).all(|s| s.view.dtype == dtype)
            && stitch.is_whole(local.store.nbytes(), dtype.size())
            && reads.iter().all(fits);
        all_of_it.then_some(stitch)
    }

    pub fn is_empty(&self) -> bool {
        self.by_store.is_empty()
    }

    /// Whether the node would have made, or helped to make, what is not made.
    pub fn has_copy(&self, node: u32) -> bool {
        self.copies.contains(&node)
    }

    pub fn of(&self, store: StoreId) -> Option<&Stitch> {
        self.by_store.get(&store)
    }

    /// Those of a task's operands that are read in pieces, and the regions of its domain; `None` if there are too many.
    pub fn regions(&self, operands: &[Spot], domain: &[usize]) -> Option<(Vec<Patchwork>, Vec<Region>)> {
        let mut patches = Vec::new();
        for (k, spot) in operands.iter().enumerate() {
            let Some(stitch) = self.of(spot.store) else { continue };
            let pieces = stitch.within(&stitch.box_of(&spot.view)?);
            let pieces = pieces.into_iter().map(|p| (p.at, p.spot)).collect();
            patches.push(Patchwork { operand: k as u16, pieces });
        }
        if patches.is_empty() {
            return Some((patches, Vec::new()));
        }
        // Along every axis it is cut where some piece begins or ends.
        let mut boxes: Vec<Box> = vec![Box::new()];
        for (axis, &extent) in domain.iter().enumerate() {
            let ends = patches.iter().flat_map(|p| &p.pieces).flat_map(|(at, _)| [at[axis].start, at[axis].end]);
            let mut cuts: Vec<usize> = ends.chain([0, extent]).collect();
            cuts.sort_unstable();
            cuts.dedup();
            if boxes.len() * (cuts.len() - 1) > MOST_REGIONS {
                return None;
            }
            let with = |b: &Box, c: &[usize]| b.iter().cloned().chain(std::iter::once(c[0]..c[1])).collect();
            boxes = boxes.iter().flat_map(|b| cuts.windows(2).map(move |c| with(b, c))).collect();
        }
        let region = |at: Box| {
            let piece = |p: &Patchwork| p.pieces.iter().position(|(b, _)| cut(b, &at).is_some()).map(|k| k as u16);
            let pieces = patches.iter().map(piece).collect::<Option<_>>()?;
            Some(Region { at, pieces })
        };
        let regions = boxes.into_iter().map(region).collect::<Option<_>>()?;
        Some((patches, regions))
    }
}

/// Which nodes write and read a store, in order.
#[derive(Default)]
struct Uses {
    writes: Vec<u32>,
    reads: Vec<u32>,
}

struct Touched {
    by_store: FxHashMap<StoreId, Uses>,
    /// Stores that nodes do nothing to but copy parts into them, as they were begun.
    order: Vec<StoreId>,
}

impl Touched {
    fn of(nodes: &Nodes) -> Touched {
        let mut by_store: FxHashMap<StoreId, Uses> = FxHashMap::default();
        let (mut order, mut others) = (Vec::new(), FxHashSet::default());
        for (i, n) in nodes.nodes.iter().enumerate() {
            for s in n.reads() {
                let uses = by_store.entry(s.store).or_default();
                if uses.reads.last() != Some(&(i as u32)) {
                    uses.reads.push(i as u32);
                }
            }
            for s in &n.outs {
                let uses = by_store.entry(s.store).or_default();
                if uses.writes.is_empty() {
                    order.push(s.store);
                }
                uses.writes.push(i as u32);
                if copied(n).is_none_or(|from| from.store == s.store) {
                    others.insert(s.store);
                }
            }
        }
        order.retain(|s| !others.contains(s));
        Touched { by_store, order }
    }
}

/// What a node copies as it is, if that is all it does.
fn copied(n: &Node) -> Option<&Spot> {
    let Input::Spot(from) = n.ins.first()? else { return None };
    let is_copy = n.work == Work::Map(MapOp::Copy) && n.mask.is_none() && !n.domain.contains(&0);
    (is_copy && from.view.dtype == n.outs[0].view.dtype).then_some(from)
}

/// Reductions go over all of a domain, and an `arange` counts in it.
fn can_read_in_pieces(n: &Node) -> bool {
    matches!(n.work, Work::Map(op) if !matches!(op, MapOp::Iota { .. }))
}

/// Whether a node writes to what is read later, after it would have been copied.
fn is_overwritten(nodes: &Nodes, pieces: &[Piece], last: u32) -> bool {
    let Some(first) = pieces.iter().map(|p| p.since).min() else { return false };
    let later = (first + 1..=last).flat_map(|i| nodes.nodes[i as usize].outs.iter().map(move |s| (i, s)));
    let mut hit = later.flat_map(|(i, out)| pieces.iter().map(move |p| (i, out, p)));
    hit.any(|(i, out, p)| {
        i > p.since && out.store == p.spot.store && conflict(&out.view, &p.spot.view) != Overlap::Disjoint
    })
}

/// How far apart the elements of an array are that these are boxes of.
fn strides_of<'a>(spots: impl Iterator<Item = &'a Spot>) -> Option<SmallVec<[usize; 3]>> {
    let mut strides: SmallVec<[usize; 3]> = SmallVec::new();
    for (k, s) in spots.enumerate() {
        if k == 0 {
            strides.resize(s.view.strides.len(), 0);
        }
        if s.view.strides.len() != strides.len() || strides.is_empty() {
            return None;
        }
        for ((known, &stride), &extent) in strides.iter_mut().zip(&s.view.strides).zip(&s.view.shape) {
            if extent == 1 {
                continue;
            }
            // Not one that is spread out, or that runs backwards.
            if stride <= 0 || *known != 0 && *known != stride as usize {
                return None;
            }
            *known = stride as usize;
        }
    }
    Some(strides)
}

/// What two boxes share.
fn cut(a: &Box, b: &Box) -> Option<Box> {
    let both = |(a, b): (&Range<usize>, &Range<usize>)| a.start.max(b.start)..a.end.min(b.end);
    a.iter().zip(b).map(both).map(|r| (!r.is_empty()).then_some(r)).collect()
}

impl Stitch {
    /// The box of a view of the array.
    fn box_of(&self, view: &View) -> Option<Box> {
        let mut axes: SmallVec<[usize; 3]> = (0..self.strides.len()).filter(|&a| self.strides[a] > 0).collect();
        axes.sort_by_key(|&a| std::cmp::Reverse(self.strides[a]));
        let mut starts: SmallVec<[usize; 3]> = SmallVec::from_elem(0, self.strides.len());
        let mut rest = view.offset;
        for a in axes {
            starts[a] = rest / self.strides[a];
            rest %= self.strides[a];
        }
        (rest == 0).then(|| starts.iter().zip(&view.shape).map(|(&start, &n)| start..start + n).collect())
    }

    /// The pieces of a box, in the box.
    fn within(&self, of: &Box) -> Vec<Piece> {
        let part = |p: &Piece| {
            let shared = cut(&p.at, of)?;
            let mut spot = p.spot.clone();
            for (a, range) in shared.iter().enumerate() {
                let before = (range.start - p.at[a].start) as isize;
                spot.view.offset = spot.view.offset.wrapping_add_signed(before * spot.view.strides[a]);
                spot.view.shape[a] = range.len();
            }
            let at = shared.iter().zip(of).map(|(s, o)| s.start - o.start..s.end - o.start).collect();
            Some(Piece { at, spot, since: p.since })
        };
        self.pieces.iter().filter_map(part).collect()
    }

    /// Whether the pieces are all of an array of so many bytes, each element once.
    fn is_whole(&self, nbytes: usize, itemsize: usize) -> bool {
        let Some(first) = self.pieces.first() else { return false };
        let end = |a: usize| self.pieces.iter().map(|p| p.at[a].end).max().unwrap_or(0);
        let extents: Dims = (0..first.at.len()).map(end).collect();
        // Elements lie one after another along the axis of the smallest stride, and so on.
        let mut axes: SmallVec<[usize; 3]> = (0..extents.len()).filter(|&a| extents[a] > 1).collect();
        axes.sort_by_key(|&a| self.strides[a]);
        let mut step = itemsize;
        for a in axes {
            if self.strides[a] != step {
                return false;
            }
            step *= extents[a];
        }
        let size = |p: &Piece| p.at.iter().map(Range::len).product::<usize>();
        let apart = |k: usize| self.pieces[..k].iter().all(|p| cut(&p.at, &self.pieces[k].at).is_none());
        step == nbytes
            && self.pieces.len() <= MOST_PIECES
            && self.pieces.iter().map(size).sum::<usize>() * itemsize == nbytes
            && (1..self.pieces.len()).all(apart)
    }
}
