//! Chains: tasks in a row that work row by row on the same arrays (normalise, exponentiate, divide by
//! the row's sum) run together, a tile of rows at a time. What passes between them stays in the cache,
//! and temporaries are as large as a tile, not as an array.

use crate::fp;
use crate::mapper::can_be_cut;
use crate::node::{Nodes, Spot, StoreId, conflict};
use crate::plan::{FusedPlan, TaskPlan, TaskWork};
use numloom_cpu::{Launch, Operand, Output, Raised};
use numloom_ir::{Overlap, Value, View};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// Fused tasks that share their first axis.
pub struct ChainPlan {
    pub steps: Vec<Arc<FusedPlan>>,
    /// Where each step's operations start among the task's.
    pub firsts: Vec<usize>,
    pub rows: usize,
    /// Rows of a tile; fixed by the shapes, so that results do not depend on the workers.
    pub tile: usize,
    /// Stores that live and die inside a tile, with the bytes of one row.
    pub locals: Vec<(StoreId, usize)>,
}

impl ChainPlan {
    pub fn is_local(&self, store: StoreId) -> bool {
        self.locals.iter().any(|(s, _)| *s == store)
    }
}

/// Bytes of the arrays that a tile of rows should touch: they stay in the second-level cache.
const TILE_BYTES: usize = 384 << 10;
/// Arrays smaller than this pass between tasks through the cache anyway.
const WORTHWHILE: usize = 1 << 20;
const MOST_STEPS: usize = 32;
/// Bytes of a row from which on its parts share hardly a line.
const LONG_ROW: isize = 1024;

/// Joins runs of tasks into chains where that saves a pass over memory.
pub fn chain(tasks: Vec<TaskPlan>, nodes: &Nodes) -> Vec<TaskPlan> {
    let mut out: Vec<TaskPlan> = Vec::with_capacity(tasks.len());
    let mut open: Vec<TaskPlan> = Vec::new();
    let mut shared = Shared::default();
    for t in tasks {
        let joins = open.is_empty() || (open.len() < MOST_STEPS && fits(&open, &shared, &t));
        if !joins {
            close(&mut open, &mut out, nodes);
            shared.0.clear();
        }
        if open.is_empty() && rows_of(&t).is_none() {
            out.push(t);
        } else {
            shared.add(&t);
            open.push(t);
        }
    }
    close(&mut open, &mut out, nodes);
    out
}

/// The extent of the first axis of a task that can be cut along it.
fn rows_of(t: &TaskPlan) -> Option<usize> {
    match &t.work {
        TaskWork::Fused(f) if can_be_cut(f, 0) && f.regions.is_empty() && !f.domain.contains(&0) => {
            f.domain.first().copied().filter(|&r| r >= 64)
        }
        _ => None,
    }
}

fn spots(t: &TaskPlan) -> impl Iterator<Item = &Spot> {
    let f = match &t.work {
        TaskWork::Fused(f) => Some(f),
        _ => None,
    };
    f.into_iter().flat_map(|f| f.operands.iter().chain(f.folded.iter().map(|r| &r.spot)))
}

fn writes(t: &TaskPlan, store: StoreId) -> bool {
    t.accesses.iter().any(|(s, _, w)| *s == store && *w)
}

/// Whether a tile of rows that `first` leaves in the cache is of use where they are touched again: not if that is another
/// long part of the rows, which each task does better alone, past the caches.
fn passes(first: &TaskPlan, s: &Spot) -> bool {
    let short = s.view.strides.first().is_some_and(|step| step.abs() < LONG_ROW);
    let mut of_store = spots(first).filter(|o| o.store == s.store);
    of_store.any(|o| short || conflict(&o.view, &s.view) != Overlap::Disjoint)
}

/// Whether `t` can run behind the open tasks, tile by tile: what it shares with them and one of them
/// writes must be touched row by row, each row apart from the others.
fn fits(open: &[TaskPlan], shared: &Shared, t: &TaskPlan) -> bool {
    if rows_of(t).is_none() || rows_of(t) != rows_of(&open[0]) {
        return false;
    }
    let mut passes_any = false;
    for s in spots(t) {
        let Some(touched) = shared.of(s.store) else { continue };
        passes_any = passes_any || open.iter().rev().any(|o| passes(o, s));
        if touched.written || writes(t, s.store) {
            let all = spots(t).filter(|o| o.store == s.store).fold(touched.rows, |all, o| all?.with(&o.view));
            if all.is_none() {
                return false;
            }
        }
    }
    passes_any
}

/// What the open tasks touch, store by store.
#[derive(Default)]
struct Shared(FxHashMap<StoreId, Touched>);

struct Touched {
    /// `None` where the rows of all views do not align.
    rows: Option<Rows>,
    written: bool,
}

impl Shared {
    fn of(&self, store: StoreId) -> Option<&Touched> {
        self.0.get(&store)
    }

    fn add(&mut self, t: &TaskPlan) {
        for s in spots(t) {
            let touched = self.0.entry(s.store).or_insert_with(|| Touched { rows: Rows::of(&s.view), written: false });
            touched.rows = touched.rows.and_then(|rows| rows.with(&s.view));
            touched.written |= writes(t, s.store);
        }
    }
}

/// The bytes of the first row of some views that step from row to row alike.
#[derive(Clone, Copy)]
struct Rows {
    step: isize,
    low: usize,
    high: usize,
}

impl Rows {
    fn of(view: &View) -> Option<Rows> {
        let step = view.strides.first().copied().filter(|&step| step > 0)?;
        let mut first = view.clone();
        first.shape[0] = 1;
        let (low, high) = first.byte_bounds();
        (high - low <= step as usize).then_some(Rows { step, low, high })
    }

    /// Those of one more view, if a row stays clear of the next.
    fn with(self, view: &View) -> Option<Rows> {
        let Rows { step, low, high } = Rows::of(view).filter(|rows| rows.step == self.step)?;
        let rows = Rows { step, low: low.min(self.low), high: high.max(self.high) };
        (rows.high - rows.low <= step as usize).then_some(rows)
    }
}

/// Ends the open run: as one chain where that pays, else as the tasks it came from.
fn close(open: &mut Vec<TaskPlan>, out: &mut Vec<TaskPlan>, nodes: &Nodes) {
    let tasks = std::mem::take(open);
    let large = |s: &Spot| s.view.nbytes() >= WORTHWHILE;
    let pays = tasks.len() > 1
        && tasks.iter().enumerate().any(|(i, t)| spots(t).any(|s| large(s) && tasks[..i].iter().any(|o| passes(o, s))));
    if !pays {
        out.extend(tasks);
        return;
    }
    let rows = rows_of(&tasks[0]).unwrap_or(1);
    let mut row_bytes = 0;
    let mut seen: Vec<StoreId> = Vec::new();
    for s in tasks.iter().flat_map(spots) {
        if !seen.contains(&s.store) {
            seen.push(s.store);
            row_bytes += s.view.nbytes() / rows;
        }
    }
    let tile = (TILE_BYTES / row_bytes.max(1)).clamp(1, rows);
    if tile < 4 {
        out.extend(tasks);
        return;
    }
    let mut joined = TaskPlan { work: TaskWork::Opaque, accesses: Vec::new(), ops: Vec::new(), ends: Vec::new() };
    let (mut steps, mut firsts) = (Vec::new(), Vec::new());
    let locals = locals_of(&tasks, nodes, &seen);
    for t in tasks {
        firsts.push(joined.ops.len());
        joined.ops.extend(t.ops);
        for a in t.accesses {
            if !joined.accesses.contains(&a) && !locals.iter().any(|(s, _)| *s == a.0) {
                joined.accesses.push(a);
            }
        }
        if let TaskWork::Fused(f) = t.work {
            steps.push(f);
        }
    }
    joined.work = TaskWork::Chain(Arc::new(ChainPlan { steps, firsts, rows, tile, locals }));
    out.push(joined);
}

/// Stores nobody outside the chain sees: fresh, written first, never read again.
fn locals_of(tasks: &[TaskPlan], nodes: &Nodes, seen: &[StoreId]) -> Vec<(StoreId, usize)> {
    let mut ops: Vec<u32> = tasks.iter().flat_map(|t| t.ops.iter().copied()).collect();
    ops.sort_unstable();
    seen.iter()
        .filter_map(|&store| {
            let local = &nodes.stores[store as usize];
            let last = nodes.nodes[local.last as usize].op;
            let inside = nodes.touched_only_by(store, &ops);
            let first_write =
                tasks.iter().find(|t| spots(t).any(|s| s.store == store)).is_some_and(|t| writes(t, store));
            let stride = tasks.iter().flat_map(spots).find(|s| s.store == store)?.view.strides.first().copied()?;
            let whole = stride > 0 && stride as usize * tasks_rows(tasks) == local.store.nbytes();
            let kept =
                local.live || !local.fresh || !inside || !first_write || !whole || ops.binary_search(&last).is_err();
            (!kept).then_some((store, stride as usize))
        })
        .collect()
}

fn tasks_rows(tasks: &[TaskPlan]) -> usize {
    tasks.first().and_then(rows_of).unwrap_or(0)
}

/// A chain bound to memory.
pub struct ChainRun {
    pub plan: Arc<ChainPlan>,
    pub steps: Vec<BoundStep>,
    pub jit: bool,
    /// Flags that instructions of each step were seen to raise, and those that are to be heard of.
    pub raised: Vec<Arc<Raised>>,
    pub heard: u8,
}

/// A step's operands at row 0; `local[i]` names the tile buffer that takes an operand's place.
pub struct BoundStep {
    pub operands: Vec<Operand>,
    pub operand_locals: Vec<Option<usize>>,
    pub outputs: Vec<(Operand, Option<Value>)>,
    pub output_locals: Vec<Option<usize>>,
    pub params: Vec<Value>,
}

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<[u64; 8]>>> = const { RefCell::new(Vec::new()) };
}

impl ChainRun {
    pub fn tiles(&self) -> usize {
        self.plan.rows.div_ceil(self.plan.tile)
    }

    /// Runs every step on one tile of rows; answers the floating-point flags.
    ///
    /// # Safety
    /// As for `Launch::run`: the operands are valid over the domain and nobody else touches what is written.
    pub unsafe fn run(&self, tile: usize) -> u8 {
        let first = tile * self.plan.tile;
        let rows = self.plan.tile.min(self.plan.rows - first);
        BUFFERS.with(|cell| {
            let mut own = Vec::new();
            let mut kept = cell.try_borrow_mut().ok();
            let buffers: &mut Vec<Vec<[u64; 8]>> = kept.as_deref_mut().unwrap_or(&mut own);
            buffers.resize_with(buffers.len().max(self.plan.locals.len()), Vec::new);
            for (buffer, (_, row)) in buffers.iter_mut().zip(&self.plan.locals) {
                let need = (row * self.plan.tile).div_ceil(64) + 1;
                if buffer.len() < need {
                    buffer.resize(need, [0; 8]);
                }
            }
            let place = |o: &Operand, local: Option<usize>| {
                let step = o.strides[0] * first as isize;
                // A local operand's address is its offset inside a row; its rows start at the tile's.
                let ptr = match local {
                    Some(k) => (buffers[k].as_ptr() as *mut u8).wrapping_add(o.ptr as usize),
                    None => o.ptr.wrapping_offset(step),
                };
                Operand { ptr, dtype: o.dtype, strides: o.strides.clone() }
            };
            let mut flags = 0;
            for (k, (step, bound)) in self.plan.steps.iter().zip(&self.steps).enumerate() {
                let mut domain = step.domain.clone();
                domain[0] = rows;
                let operands: Vec<Operand> =
                    bound.operands.iter().zip(&bound.operand_locals).map(|(o, l)| place(o, *l)).collect();
                let outputs = bound
                    .outputs
                    .iter()
                    .zip(&bound.output_locals)
                    .map(|((o, initial), l)| Output { operand: place(o, *l), initial: *initial })
                    .collect();
                let reduced: Vec<bool> = (0..domain.len()).map(|a| step.reduced >> a.min(63) & 1 == 1).collect();
                let launch = Launch::new(
                    &step.compiled,
                    &domain,
                    operands,
                    bound.params.clone(),
                    &reduced,
                    outputs,
                    usize::MAX / 2,
                    1,
                    self.jit,
                );
                let launch = launch.watched(fp::watch_step(step, self.heard, &self.raised[k]));
                for (phase, &tiles) in launch.phases().iter().enumerate() {
                    for t in 0..tiles {
                        flags |= launch.run(phase, t);
                    }
                }
            }
            flags
        })
    }
}
