//! A kernel bound to memory: its domain in walking order, cut into tiles, phase by phase.

use crate::blame::Watch;
use crate::copy::Moves;
use crate::frame::layout_of;
use crate::partials::{GRANULE, goes_along};
use crate::program::{Compiled, Layout, Program, Tier};
use crate::trial::Trial;
use crate::walk::{self, Operand, Path};
use numloom_ir::kernel::Instr;
use numloom_ir::{DType, Dims, Strides, Value};
use numloom_loops::BLOCK;
use smallvec::SmallVec;
use std::sync::Arc;

/// Where a reduction's result goes: strides over the domain, 0 along the reduced axes.
pub struct Output {
    pub operand: Operand,
    /// Folded in first, in the accumulator's type.
    pub initial: Option<Value>,
}

/// A set of axes walked in order, with the operands' strides along them.
pub(crate) struct Space {
    pub shape: Dims,
    pub strides: Vec<Strides>,
    pub size: usize,
}

/// Rows shorter than this are walked flat: strided operands are gathered across rows.
const SHORT_ROW: usize = 128;
/// Elements of a reduction that are folded in one go; fixed, so that sums do not depend on the tiles.
const CHUNK: usize = 1 << 16;
/// Most partial values of an outer reduction, over all its chunks.
const PARTIAL_VALUES: usize = 1 << 17;
/// Most accumulators of an outer reduction that a tile keeps.
const ACCUMULATORS: usize = 8192;
/// Results from which on an outer reduction is cut along them alone, into how many tiles for each thread, and the most
/// bytes of accumulators that a tile has then: rows are read in pieces as long as that.
const MANY_COLUMNS: usize = 1 << 16;
const TILES: usize = 4;
const ACCUMULATED: usize = 64 << 10;
/// Elements of a tile of short rows that are folded each: read column by column, they stay in the cache.
const CACHED: usize = 48 << 10;
/// Accumulators over short rows, several of which are combined at once; fixed, so that sums do not depend on the kernel.
const LANES: usize = GRANULE;

pub(crate) enum Shape {
    Map,
    /// Each outer point folds the whole block space; chunks of it become partial values.
    FoldInner {
        chunks: usize,
    },
    /// Each outer point is combined into accumulators over the block space.
    FoldOuter {
        chunks: usize,
        chunk: usize,
        columns: usize,
    },
}

pub struct Launch {
    pub(crate) program: Arc<Program>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) params: Vec<Value>,
    pub(crate) outputs: Vec<Output>,
    /// Strides of the outputs over the kept space.
    pub(crate) output_strides: Vec<Strides>,
    /// The axes blocks run over.
    pub(crate) block: Space,
    /// The axes looped over outside: kept (inner folds) or reduced (outer folds).
    pub(crate) outer: Space,
    /// Of an outer reduction over short rows: all axes, and how many rows are combined at once.
    pub(crate) lanes: Option<(Space, usize)>,
    /// The operands' ways through short rows, which are walked flat.
    pub(crate) flat: Option<Vec<Path>>,
    pub(crate) shape: Shape,
    /// Partial values, one buffer a target, when a reduction has several chunks.
    pub(crate) partials: Vec<Vec<u64>>,
    /// Finds out who raised a flag, where more than one instruction could have.
    pub(crate) watch: Option<Watch>,
    moves: Option<Moves>,
    /// The tier, while it is not known yet which one is the better for the kernel.
    trial: Option<(Arc<Trial>, Tier)>,
    tile: usize,
    tiles: SmallVec<[usize; 2]>,
}

// SAFETY: the addresses inside are used under the runtime's hazard analysis, see `Operand`; partials are
// written by tiles at disjoint places and read only in the next phase.
unsafe impl Send for Launch {}
unsafe impl Sync for Launch {}

impl Launch {
    /// `reduced` marks the domain's axes that the kernel's targets fold away. `min_chunk`: elements a
    /// tile should at least have; `workers`: how many run tiles.
    pub fn new(
        compiled: &Compiled,
        domain: &[usize],
        operands: Vec<Operand>,
        params: Vec<Value>,
        reduced: &[bool],
        outputs: Vec<Output>,
        min_chunk: usize,
        workers: usize,
        jit: bool,
    ) -> Launch {
        let elements: usize = domain.iter().product();
        let tier = if jit { compiled.tier(elements) } else { Tier::Interpreter };
        let stored = stored_operands(compiled);
        let voters: SmallVec<[&Strides; 8]> = (0..operands.len())
            .filter(|&i| stored[i])
            .chain((0..operands.len()).filter(|&i| !stored[i]))
            .map(|i| &operands[i].strides)
            .collect();
        let axes = walk::memory_order(domain, &voters);
        drop(voters);
        let folds = !compiled.kernel.targets.is_empty();
        let (kept, away): (Dims, Dims) = axes.iter().copied().partition(|&a| !folds || !reduced[a]);
        let space = |axes: &[usize], with_outputs: bool| {
            let shape: Dims = axes.iter().map(|&a| domain[a]).collect();
            let mut all: Vec<Strides> = operands.iter().map(|o| axes.iter().map(|&a| o.strides[a]).collect()).collect();
            if with_outputs {
                all.extend(outputs.iter().map(|o| axes.iter().map(|&a| o.operand.strides[a]).collect::<Strides>()));
            }
            let (mut shape, mut strides, _) = walk::coalesce(&shape, &all, &vec![0; axes.len()]);
            if shape.is_empty() {
                shape.push(1);
                strides.iter_mut().for_each(|s| s.push(0));
            }
            let outs = strides.split_off(operands.len());
            (Space { size: shape.iter().product(), shape, strides }, outs)
        };
        let (kept, output_strides) = space(&kept, true);
        let (away, _) = space(&away, false);
        let (shape, block, outer) = if !folds {
            (Shape::Map, kept, away)
        } else if !is_laned(&axes, domain, reduced, &kept, &away) && folds_inside(&axes, domain, reduced, &kept, &away)
        {
            let chunks = away.size.div_ceil(CHUNK).max(1);
            (Shape::FoldInner { chunks }, away, kept)
        } else {
            let along = innermost_is_reduced(&axes, domain, reduced);
            let most_columns = match along {
                true => (CACHED / away.size.max(1)).clamp(BLOCK, ACCUMULATORS),
                // Enough columns for all threads: then chunks would only be more to write and to read again.
                false if kept.size >= MANY_COLUMNS => {
                    let widest = compiled.kernel.targets.iter().map(|t| t.dtype().size()).max().unwrap_or(1);
                    (kept.size / (workers.max(1) * TILES)).clamp(BLOCK, ACCUMULATED / widest)
                }
                false => ACCUMULATORS,
            };
            let columns = kept.size.clamp(1, most_columns);
            let most = (PARTIAL_VALUES / kept.size.max(1)).clamp(2, 256);
            let chunk = match kept.size >= MANY_COLUMNS {
                true => away.size.max(1),
                false => (CHUNK / columns).max(away.size.div_ceil(most)).max(1),
            };
            let chunks = away.size.div_ceil(chunk).max(1);
            (Shape::FoldOuter { chunks, chunk, columns }, kept, away)
        };
        let lanes = (folds && is_laned(&axes, domain, reduced, &block, &outer)).then(|| {
            let shape: Dims = outer.shape.iter().chain(&block.shape).copied().collect();
            let joined = |(a, b): (&Strides, &Strides)| a.iter().chain(b).copied().collect();
            let strides = outer.strides.iter().zip(&block.strides).map(joined).collect();
            (Space { size: outer.size * block.size, shape, strides }, LANES / block.size)
        });
        let walked = lanes.as_ref().map_or(&block, |(all, _)| all);
        let inner = walked.shape.last().copied().unwrap_or(1);
        let flat = lanes.is_some() || walked.shape.len() > 1 && inner < SHORT_ROW;
        let layouts: SmallVec<[Layout; 8]> = (0..operands.len())
            .map(|i| {
                let s = &walked.strides[i];
                if flat {
                    flat_layout(&walked.shape, s, operands[i].dtype, stored[i])
                } else {
                    layout_of(s.last().copied().unwrap_or(0), operands[i].dtype.size(), stored[i])
                }
            })
            .collect();
        let flat = flat.then(|| walked.strides.iter().map(|s| Path::new(&walked.shape, s)).collect());
        let program = compiled.program(&layouts, tier);
        let moves = compiled.copies.as_ref().map(|c| Moves::new(c, &block, &operands));
        let mut launch = Launch {
            program,
            operands,
            params,
            outputs,
            output_strides,
            block,
            outer,
            lanes,
            flat,
            shape,
            partials: Vec::new(),
            watch: None,
            moves,
            trial: compiled.trial.as_ref().filter(|t| jit && !t.is_over()).map(|t| (t.clone(), tier)),
            tile: 0,
            tiles: SmallVec::new(),
        };
        launch.cut(min_chunk, workers);
        launch
    }

    /// Puts the launch under a watch.
    pub fn watched(mut self, watch: Option<Watch>) -> Launch {
        self.watch = watch.map(|w| w.over(&self.operands));
        self
    }

    fn cut(&mut self, min_chunk: usize, workers: usize) {
        let share = |total: usize| total.div_ceil(workers.max(1) * 8);
        match self.shape {
            Shape::Map => {
                let total = self.block.size;
                self.tile =
                    share(total).max(min_chunk.max(1)).next_multiple_of(self.program.block.min(min_chunk.max(1)));
                if let Some(moves) = &self.moves {
                    self.tile = self.tile.next_multiple_of(moves.unit(&self.block).max(1));
                }
                self.tiles = SmallVec::from_slice(&[total.div_ceil(self.tile)]);
            }
            Shape::FoldInner { chunks } => {
                let pairs = self.outer.size * chunks;
                let per_pair = self.block.size.clamp(1, CHUNK);
                self.tile = share(pairs).max(min_chunk / per_pair).max(1);
                self.tiles = SmallVec::from_slice(&[pairs.div_ceil(self.tile)]);
                if chunks > 1 {
                    self.partials_of(pairs);
                    self.tiles.push(1);
                }
            }
            Shape::FoldOuter { chunks, columns, .. } => {
                self.tiles = SmallVec::from_slice(&[self.block.size.div_ceil(columns) * chunks]);
                if chunks > 1 {
                    self.partials_of(self.block.size * chunks);
                    self.tiles.push(1);
                }
            }
        }
        if self.block.size == 0 || self.outer.size == 0 {
            self.cut_empty();
        }
    }

    /// An empty domain has nothing to map; an empty reduction still writes its initial value.
    fn cut_empty(&mut self) {
        self.partials.clear();
        let writes = matches!(self.shape, Shape::FoldInner { .. }) && self.outer.size > 0
            || matches!(self.shape, Shape::FoldOuter { .. }) && self.block.size > 0;
        self.tiles = SmallVec::from_slice(&[writes as usize]);
    }

    fn partials_of(&mut self, count: usize) {
        self.partials = self.program.folds.iter().map(|f| vec![0u64; (count * f.dtype.size()).div_ceil(8)]).collect();
    }

    /// Tiles of each phase; the phases run one after another.
    pub fn phases(&self) -> &[usize] {
        &self.tiles
    }

    /// Runs one tile and answers the floating-point flags it saw.
    ///
    /// # Safety
    /// The operands must be valid memory over the domain, and nothing else may touch what is written.
    pub unsafe fn run(&self, phase: usize, tile: usize) -> u8 {
        let watch = self.watch.as_ref();
        // A tile that leaves what it reads as it is can run again when it has raised a flag; others are watched while
        // they run. Only the first phase takes time.
        let at_once = watch.filter(|w| w.overwrites() || phase > 0);
        let flags = match &self.trial {
            Some((trial, tier)) if phase == 0 => {
                let elements = match self.shape {
                    Shape::Map => self.tile.min(self.block.size - (tile * self.tile).min(self.block.size)),
                    _ => self.block.size * self.outer.size / self.tiles[0].max(1),
                };
                trial.measure(*tier, elements, || self.run_under(at_once, phase, tile))
            }
            _ => self.run_under(at_once, phase, tile),
        };
        if let Some(w) = watch
            && at_once.is_none()
            && w.hears(flags)
        {
            self.run_under(watch, phase, tile);
        }
        flags
    }

    unsafe fn run_under(&self, watch: Option<&Watch>, phase: usize, tile: usize) -> u8 {
        numloom_loops::fp_clear();
        let flags = if self.block.size == 0 || self.outer.size == 0 {
            self.fold_empty()
        } else {
            match (&self.shape, phase) {
                (Shape::Map, _) => {
                    let start = tile * self.tile;
                    let end = (start + self.tile).min(self.block.size);
                    match &self.moves {
                        Some(moves) => {
                            self.run_moves(moves, start, end);
                            0
                        }
                        None => self.run_map(watch, start, end),
                    }
                }
                (Shape::FoldInner { chunks }, 0) => {
                    let start = tile * self.tile;
                    self.fold_inner(watch, *chunks, start, (start + self.tile).min(self.outer.size * chunks))
                }
                (Shape::FoldInner { chunks }, _) => self.finish_inner(watch, *chunks),
                (Shape::FoldOuter { chunks, chunk, columns }, 0) => {
                    self.fold_outer(watch, *chunks, *chunk, *columns, tile)
                }
                (Shape::FoldOuter { chunks, .. }, _) => self.finish_outer(watch, *chunks),
            }
        };
        flags | numloom_loops::fp_status()
    }

    pub(crate) fn chunk_range(&self, chunk: usize) -> (usize, usize) {
        (chunk * CHUNK, ((chunk + 1) * CHUNK).min(self.block.size))
    }
}

fn stored_operands(compiled: &Compiled) -> SmallVec<[bool; 8]> {
    let mut stored: SmallVec<[bool; 8]> = SmallVec::from_elem(false, compiled.kernel.operands.len());
    for i in &compiled.kernel.instrs {
        if let Instr::Store { operand, .. } = i {
            stored[*operand as usize] = true;
        }
    }
    stored
}

/// Whether blocks should run along the reduced axes (long contiguous folds, or hardly anything kept).
fn folds_inside(axes: &[usize], domain: &[usize], reduced: &[bool], kept: &Space, away: &Space) -> bool {
    goes_along(innermost_is_reduced(axes, domain, reduced), kept.size, away.size)
}

fn innermost_is_reduced(axes: &[usize], domain: &[usize], reduced: &[bool]) -> bool {
    axes.iter().rev().find(|&&a| domain[a] > 1).is_none_or(|&a| reduced[a])
}

/// Whether there are many short rows to be added to each other: some at once. Smaller ones may be folded by others in an
/// order that is not this.
fn is_laned(axes: &[usize], domain: &[usize], reduced: &[bool], kept: &Space, away: &Space) -> bool {
    (2..=LANES / 2).contains(&kept.size)
        && kept.size.saturating_mul(away.size) > CHUNK
        && !innermost_is_reduced(axes, domain, reduced)
}

/// In a flat walk an operand is dense only if the whole space is one run of it.
fn flat_layout(shape: &[usize], strides: &[isize], dtype: DType, stored: bool) -> Layout {
    if !stored && strides.iter().all(|&s| s == 0) {
        return Layout::Uniform;
    }
    let mut step = dtype.size() as isize;
    for (&d, &s) in shape.iter().zip(strides).rev() {
        if s != step {
            return Layout::Strided;
        }
        step *= d as isize;
    }
    Layout::Dense
}
