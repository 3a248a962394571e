//! Counting what falls where: integers by their value, numbers by the edges they lie between. Every tile counts a part
//! of the values for itself; then the parts are added up, always in the same order.

use crate::even::Even;
use crate::guide::{BLOCK, Guide, blocks};
use crate::scratch::Scratch;
use crate::sort_key::{Keyed, with_keyed};
use crate::vector::vectorized;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, LibraryError, LibraryOp, RawView};
use numloom_ir::DType;
use smallvec::{SmallVec, smallvec};
use std::ops::{AddAssign, Range};
use std::sync::OnceLock;

/// How many values fall into each bin, or the sum of their weights. Inputs: the values, for `between` the sorted
/// edges, and optionally float64 weights of the values' shape. The first output is 1-d: int64, float64 with weights.
/// Integers have a second one of two int64: the smallest and the largest, whether they have a bin or not.
pub struct Tally {
    edges: bool,
    guide: OnceLock<Result<Guide, LibraryError>>,
    /// Of edges that lie evenly.
    even: OnceLock<Option<Even>>,
    parts: Scratch,
    extremes: Scratch,
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
        Tally {
            edges: false,
            guide: OnceLock::new(),
            even: OnceLock::new(),
            parts: Scratch::default(),
            extremes: Scratch::default(),
        }
    }

    /// Numbers between edges of dtype `T`, which they are cast to: from an edge up to the next, the last one included.
    pub fn between() -> Tally {
        Tally { edges: true, ..Tally::of_integers() }
    }

    fn plan<'a>(&self, args: &'a Args) -> Result<Plan<'a>, LibraryError> {
        let (name, first) = (self.name(), 1 + self.edges as usize);
        ensure_operands(args, args.ins.len().clamp(first, first + 1), 2 - self.edges as usize, name)?;
        let (values, out) = (&args.ins[0], &args.outs[0]);
        let (edges, weights) = (self.edges.then(|| &args.ins[1]), args.ins.get(first));
        ensure(out.shape.len() == 1, name, "the counts must be 1-d")?;
        let bins = out.shape[0];
        ensure(edges.is_none_or(|e| e.shape[..] == [bins + 1]), name, "one edge more than bins")?;
        ensure(edges.is_none_or(|e| !e.dtype.is_complex()), name, "edges have no order")?;
        ensure(weights.is_none_or(|w| w.shape == values.shape && w.dtype == DType::F64), name, "weights do not fit")?;
        let counts = if weights.is_some() { DType::F64 } else { DType::I64 };
        ensure(out.dtype == counts, name, "counts of the wrong dtype")?;
        let told = args.outs.get(1);
        ensure(told.is_none_or(|t| t.dtype == DType::I64 && t.shape[..] == [2]), name, "two extremes")?;
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
            None => {
                let mut told = [i64::MAX, i64::MIN];
                blocks::<i64>(plan.values, range, |block, _| {
                    let within = extremes(block);
                    told = [told[0].min(within[0]), told[1].max(within[1])];
                    let weights = weights.next(block.len());
                    if 0 <= within[0] && (within[1] as usize) < own.len() {
                        for (&v, &w) in block.iter().zip(weights) {
                            // SAFETY: every value of the block has a bin.
                            *unsafe { own.get_unchecked_mut(v as usize) } += w;
                        }
                    }
                });
                *self.extremes.get::<[i64; 2]>(plan.tiles)?.add(tile) = told;
            }
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
        let (mut ranks, mut at) = ([0i64; BLOCK], [0u32; BLOCK]);
        let even = self.even.get().and_then(Option::as_ref).filter(|_| T::DTYPE == DType::F64);
        // One more, for what has no bin.
        let mut counts = vec![W::ZERO; if even.is_some() { plan.bins + 1 } else { 0 }];
        blocks::<T>(plan.values, range, |block, _| {
            let weights = weights.next(block.len());
            // SAFETY: these are doubles.
            let doubles = || unsafe { std::slice::from_raw_parts(block.as_ptr().cast::<f64>(), block.len()) };
            if even.is_some_and(|even| even.bins(doubles(), &mut at)) {
                for (&bin, &w) in at.iter().zip(weights) {
                    // SAFETY: a bin, or the one after the last.
                    *unsafe { counts.get_unchecked_mut(bin as usize) } += w;
                }
                return;
            }
            guide.places::<T, true>(block, &mut ranks, &mut at);
            for (i, &w) in weights.iter().enumerate() {
                if (low..=high).contains(&ranks[i]) {
                    let bin = (at[i] as usize).wrapping_sub(1).min(plan.bins - 1);
                    // SAFETY: just made to be one.
                    *unsafe { own.get_unchecked_mut(bin) } += w;
                }
            }
        });
        own.iter_mut().zip(counts).for_each(|(own, count)| *own += count);
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

    /// The next `n`, of at most a block.
    unsafe fn next(&mut self, n: usize) -> &[W] {
        if let Some(w) = self.given {
            match self.walk.single_run() {
                Some([step]) => {
                    let from = w.ptr.offset(self.walk.offsets[0]);
                    self.walk.offsets[0] += n as isize * step;
                    if step == size_of::<W>() as isize && w.is_aligned() {
                        return std::slice::from_raw_parts(from as *const W, n);
                    }
                    for (i, own) in self.block[..n].iter_mut().enumerate() {
                        *own = (from.offset(i as isize * step) as *const W).read_unaligned();
                    }
                }
                None => {
                    for own in &mut self.block[..n] {
                        *own = (w.ptr.offset(self.walk.offsets[0]) as *const W).read_unaligned();
                        self.walk.step();
                    }
                }
            }
        }
        &self.block[..n]
    }
}

/// The smallest and the largest of a block.
fn extremes(block: &[i64]) -> [i64; 2] {
    vectorized(
        #[inline(always)]
        || block.iter().fold([i64::MAX, i64::MIN], |[low, high], &v| [low.min(v), high.max(v)]),
    )
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
                    self.even.get_or_init(|| if edges.dtype == DType::F64 { Even::new(edges) } else { None });
                }
                Ok(())
            }
            (1, None) => self.count::<i64>(plan, tile),
            (1, Some(_)) => self.count::<f64>(plan, tile),
            (_, weights) => {
                if let (0, Some(told)) = (tile, args.outs.get(1)) {
                    let found = std::slice::from_raw_parts(self.extremes.get::<[i64; 2]>(plan.tiles)?, plan.tiles);
                    let low = found.iter().map(|f| f[0]).min().unwrap_or(0);
                    let high = found.iter().map(|f| f[1]).max().unwrap_or(0);
                    (told.ptr as *mut i64).write_unaligned(low);
                    (told.ptr.offset(told.strides[0]) as *mut i64).write_unaligned(high);
                }
                let range = piece(plan.bins, pieces(plan.bins, BINS), tile);
                match weights {
                    None => self.add_up::<i64>(plan, &args.outs[0], range),
                    Some(_) => self.add_up::<f64>(plan, &args.outs[0], range),
                }
            }
        }
    }
}
