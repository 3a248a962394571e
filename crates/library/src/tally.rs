//! Counting what falls where: integers by their value, numbers by the edges they lie between. Every tile counts a part
//! of the values for itself; then the parts are added up, always in the same order.

use crate::element::read_run;
use crate::guide::{BLOCK, Guide, blocks};
use crate::scratch::Scratch;
use crate::sort_key::{Keyed, with_keyed};
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, LibraryError, LibraryOp, RawView};
use numloom_ir::DType;
use smallvec::{SmallVec, smallvec};
use std::ops::{AddAssign, Range};
use std::sync::OnceLock;

/// How many values fall into each bin, or the sum of their weights. Inputs: the values, for `between` the sorted
/// edges, and optionally float64 weights of the values' shape. The output is 1-d: int64, float64 with weights.
pub struct Tally {
    edges: bool,
    guide: OnceLock<Result<Guide, LibraryError>>,
    parts: Scratch,
}

const TILE: usize = 1 << 16;
const MOST_TILES: usize = 64;
/// Bins that are added up by one tile.
const BINS: usize = 1 << 13;

struct Plan<'a> {
    values: &'a RawView,
    edges: Option<&'a RawView>,
    weights: Option<&'a RawView>,
    size: usize,
    bins: usize,
    tiles: usize,
}

impl Tally {
    /// Integers, each counted in the bin of its number; what has no bin is left out.
    pub fn of_integers() -> Tally {
        Tally { edges: false, guide: OnceLock::new(), parts: Scratch::default() }
    }

    /// Numbers between edges of dtype `T`, which they are cast to: from an edge up to the next, the last one included.
    pub fn between() -> Tally {
        Tally { edges: true, ..Tally::of_integers() }
    }

    fn plan<'a>(&self, args: &'a Args) -> Result<Plan<'a>, LibraryError> {
        let (name, first) = (self.name(), 1 + self.edges as usize);
        ensure_operands(args, args.ins.len().clamp(first, first + 1), 1, name)?;
        let (values, out) = (&args.ins[0], &args.outs[0]);
        let (edges, weights) = (self.edges.then(|| &args.ins[1]), args.ins.get(first));
        ensure(out.shape.len() == 1, name, "the counts must be 1-d")?;
        let bins = out.shape[0];
        ensure(edges.is_none_or(|e| e.shape[..] == [bins + 1]), name, "one edge more than bins")?;
        ensure(edges.is_none_or(|e| !e.dtype.is_complex()), name, "edges have no order")?;
        ensure(weights.is_none_or(|w| w.shape == values.shape && w.dtype == DType::F64), name, "weights do not fit")?;
        let counts = if weights.is_some() { DType::F64 } else { DType::I64 };
        ensure(out.dtype == counts, name, "counts of the wrong dtype")?;
        let size = values.size();
        let tiles = pieces(size, TILE.max(4 * bins)).min(MOST_TILES);
        Ok(Plan { values, edges, weights, size, bins, tiles })
    }

    unsafe fn count<W: Weight>(&self, plan: &Plan, tile: usize) -> Result<(), LibraryError> {
        let range = piece(plan.size, plan.tiles, tile);
        let own = self.parts.get::<W>(plan.tiles * plan.bins)?.add(tile * plan.bins);
        let own = std::slice::from_raw_parts_mut(own, plan.bins);
        own.fill(W::ZERO);
        let mut weights = Weights::<W>::new(plan.weights, range.clone());
        match plan.edges {
            None => blocks::<i64>(plan.values, range, |block, _| {
                let weights = weights.next(block.len());
                for (i, &v) in block.iter().enumerate() {
                    if let Some(count) = own.get_mut(v as usize) {
                        *count += weights[i];
                    }
                }
            }),
            Some(edges) => {
                with_keyed!(edges.dtype, T => self.count_between::<T, W>(plan, edges, range, own, weights)?, {})
            }
        }
        Ok(())
    }

    unsafe fn count_between<T: Keyed, W: Weight>(
        &self,
        plan: &Plan,
        edges: &RawView,
        range: Range<usize>,
        own: &mut [W],
        mut weights: Weights<'_, W>,
    ) -> Result<(), LibraryError> {
        let guide = match self.guide.get_or_init(|| Guide::new::<T>(edges)) {
            Ok(guide) => guide,
            Err(e) => return Err(e.clone()),
        };
        let (low, high) = (guide.rank(0), guide.rank(guide.len() - 1));
        blocks::<T>(plan.values, range, |block, _| {
            let weights = weights.next(block.len());
            for (i, v) in block.iter().enumerate() {
                let rank = v.rank();
                if (low..=high).contains(&rank) {
                    let bin = guide.place::<true>(rank) - 1;
                    own[bin.min(plan.bins - 1)] += weights[i];
                }
            }
        });
        Ok(())
    }

    unsafe fn add_up<W: Weight>(&self, plan: &Plan, out: &RawView, range: Range<usize>) -> Result<(), LibraryError> {
        let parts = self.parts.get::<W>(plan.tiles * plan.bins)?;
        for bin in range {
            let mut total = W::ZERO;
            (0..plan.tiles).for_each(|tile| total += *parts.add(tile * plan.bins + bin));
            (out.ptr.offset(bin as isize * out.strides[0]) as *mut W).write_unaligned(total);
        }
        Ok(())
    }
}

/// What a value counts.
trait Weight: Copy + AddAssign + 'static {
    const ZERO: Self;
    const ONE: Self;
}

impl Weight for i64 {
    const ZERO: i64 = 0;
    const ONE: i64 = 1;
}

impl Weight for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
}

/// The weights of one block after another.
struct Weights<'a, W> {
    given: Option<&'a RawView>,
    walk: Walk<1>,
    block: [W; BLOCK],
}

impl<'a, W: Weight> Weights<'a, W> {
    fn new(given: Option<&'a RawView>, range: Range<usize>) -> Weights<'a, W> {
        let mut walk = match given {
            Some(w) => Walk::new(&w.shape, [&w.strides]),
            None => Walk::new(&[], [&[]]),
        };
        if given.is_some() && !range.is_empty() {
            walk.seek(range.start);
        }
        Weights { given, walk, block: [W::ONE; BLOCK] }
    }

    /// The next `n`.
    unsafe fn next(&mut self, n: usize) -> &[W] {
        if let Some(w) = self.given {
            match self.walk.single_run() {
                Some([step]) => {
                    let from = w.ptr.offset(self.walk.offsets[0]);
                    read_run::<f64>(DType::F64, from, step, self.block.as_mut_ptr() as *mut f64, n);
                    self.walk.offsets[0] += n as isize * step;
                }
                None => {
                    for i in 0..n {
                        self.block[i] = (w.ptr.offset(self.walk.offsets[0]) as *const W).read_unaligned();
                        self.walk.step();
                    }
                }
            }
        }
        &self.block[..n]
    }
}

impl LibraryOp for Tally {
    fn name(&self) -> &'static str {
        if self.edges { "histogram" } else { "bincount" }
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        match self.plan(args) {
            Err(_) => smallvec![1],
            Ok(plan) if plan.bins == 0 => smallvec![0],
            // The first phase makes the guide to the edges.
            Ok(plan) => smallvec![1, plan.tiles, pieces(plan.bins, BINS)],
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let plan = &self.plan(args)?;
        match (phase, plan.weights) {
            (0, _) => {
                if let Some(edges) = plan.edges {
                    let made = || with_keyed!(edges.dtype, T => Guide::new::<T>(edges), unreachable!("no order"));
                    self.guide.get_or_init(made);
                }
                Ok(())
            }
            (1, None) => self.count::<i64>(plan, tile),
            (1, Some(_)) => self.count::<f64>(plan, tile),
            (_, weights) => {
                let range = piece(plan.bins, pieces(plan.bins, BINS), tile);
                match weights {
                    None => self.add_up::<i64>(plan, &args.outs[0], range),
                    Some(_) => self.add_up::<f64>(plan, &args.outs[0], range),
                }
            }
        }
    }
}
