//! A plan: what a window becomes, in terms of numbered stores, so that the next window of the same
//! structure (a loop body) is not analysed again.

use crate::chain::{self, ChainPlan};
use crate::fuse::{self, Group};
use crate::gpu::OnGpu;
use crate::lower::{self, Folded, Lowered, ParamSource};
use crate::node::{Input, LocalStore, Nodes, Spot, StoreId, Work};
use crate::pace::Pace;
use crate::profile::{Doing, Lane, Span};
use crate::record::MapOp;
use crate::reserved;
use crate::reuse::{self, Takeover};
use crate::stats;
use crate::stitch::{Patchwork, Region, Stitches};
use crate::store::Store;
use crate::swap::{self, Swap};
use numloom_cpu::Compiled;
use numloom_ir::kernel::Kernel;
use numloom_ir::{Dims, ScalarOp, Value, View};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

/// One task of a plan.
pub struct TaskPlan {
    pub work: TaskWork,
    /// Views by which the task depends on others: store, view, writes.
    pub accesses: Vec<(StoreId, View, bool)>,
    /// Operations that are over when the task is, by place in the window.
    pub ops: Vec<u32>,
    /// Stores that nobody needs any more then.
    pub ends: Vec<StoreId>,
}

pub enum TaskWork {
    Fused(Arc<FusedPlan>),
    /// Fused tasks run together, a tile of rows at a time.
    Chain(Arc<ChainPlan>),
    /// The one operation itself.
    Opaque,
}

#[derive(Clone)]
pub struct FusedPlan {
    pub compiled: Arc<Compiled>,
    pub domain: Dims,
    pub operands: Vec<Spot>,
    pub params: Vec<ParamSource>,
    pub folded: Vec<Folded>,
    pub reduced: u64,
    /// For each of the kernel's instructions the operation it is part of, by place in the task.
    pub origins: Vec<u32>,
    pub on_gpu: OnGpu,
    pub pace: Pace,
    /// It copies a temporary that lies like the array: on a device the two can change places.
    pub swaps: bool,
    /// Operands that are not made but read in pieces, and the regions of its domain in which each is one piece.
    pub patches: Vec<Patchwork>,
    /// Operands that are written into the memory of others.
    pub takeovers: Vec<Takeover>,
    pub regions: Vec<Region>,
}

impl FusedPlan {
    /// Its operands, then its reductions' results, then the pieces of what is read in pieces: the order of `stores_of`.
    pub fn spots(&self) -> impl Iterator<Item = &Spot> {
        let pieces = self.patches.iter().flat_map(|p| p.pieces.iter().map(|(_, spot)| spot));
        self.operands.iter().chain(self.folded.iter().map(|f| &f.spot)).chain(pieces)
    }

    /// Of its stores, those that it needs memory of.
    pub fn made<'a>(&'a self, stores: &'a [Arc<Store>]) -> impl Iterator<Item = &'a Arc<Store>> {
        let is_patched = |k: usize| self.patches.iter().any(|p| p.operand as usize == k);
        let is_new = |k: usize| self.takeovers.iter().any(|t| t.new as usize == k);
        stores.iter().enumerate().filter(move |(k, _)| !is_patched(*k) && !is_new(*k)).map(|(_, s)| s)
    }
}

pub struct Plan {
    pub tasks: Vec<TaskPlan>,
    /// Temporaries that something else stands in for.
    pub swaps: Vec<Swap>,
}

/// Windows longer than this are not kept as plans: they rarely repeat and their keys are large.
pub const LONGEST_KEPT: usize = 2500;
const MOST_PLANS: usize = 512;
/// Nodes of all plans that are kept: what is kept of each is a kilobyte or so.
const MOST_NODES: usize = 1 << 16;
const MOST_KERNELS: usize = 4096;

pub type Key = Vec<u64>;

#[derive(Default)]
struct Plans {
    by_key: FxHashMap<Key, Arc<Plan>>,
    nodes: usize,
}

static PLANS: LazyLock<Mutex<Plans>> = LazyLock::new(Mutex::default);
static KERNELS: LazyLock<Mutex<FxHashMap<Kernel, Arc<Compiled>>>> = LazyLock::new(Mutex::default);

/// The plan of nodes, kept by their key.
pub fn plan(nodes: &Nodes, fusing: bool) -> Arc<Plan> {
    let key = (nodes.nodes.len() <= LONGEST_KEPT).then(|| key_of(nodes));
    key.as_ref().and_then(known).unwrap_or_else(|| make(nodes, fusing, key))
}

/// The plan that was made for a window of this key.
pub fn known(key: &Key) -> Option<Arc<Plan>> {
    let found = PLANS.lock().by_key.get(key).cloned()?;
    let mut span = Span::new(Lane::Utility, Doing::Planned);
    stats::count(&stats::PLAN_HITS, 1);
    span.count(found.tasks.len());
    Some(found)
}

/// Makes a plan, and keeps it by a key that it is not known by.
pub fn make(nodes: &Nodes, fusing: bool, key: Option<Key>) -> Arc<Plan> {
    let mut span = Span::new(Lane::Utility, Doing::Fuse);
    let mut tasks = grouped(nodes, fusing);
    let swaps = if fusing && reserved::devices() > 0 { swap::find(&mut tasks, nodes) } else { Vec::new() };
    // A GPU has no tiles that stay in a cache.
    if fusing && !reserved::are_gpus() {
        tasks = chain::chain(tasks, nodes);
    }
    // With several memories an array is where its task runs, and devices have memory of their own to reuse.
    if fusing && reserved::devices() == 0 {
        reuse::find(&mut tasks, nodes);
    }
    find_ends(&mut tasks, nodes);
    span.count(tasks.len());
    let made = Arc::new(Plan { tasks, swaps });
    if let Some(key) = key {
        let mut plans = PLANS.lock();
        if plans.by_key.len() >= MOST_PLANS || plans.nodes > MOST_NODES {
            *plans = Plans::default();
        }
        plans.nodes += nodes.nodes.len();
        plans.by_key.insert(key, made.clone());
    }
    made
}

/// Which task of those is the last to touch what nobody outside the window sees.
fn find_ends(tasks: &mut [TaskPlan], nodes: &Nodes) {
    let mut last = vec![None; nodes.stores.len()];
    for (k, t) in tasks.iter().enumerate() {
        t.accesses.iter().for_each(|(s, ..)| last[*s as usize] = Some(k));
    }
    for (s, last) in last.into_iter().enumerate() {
        if let Some(k) = last.filter(|_| !nodes.stores[s].live) {
            tasks[k].ends.push(s as StoreId);
        }
    }
}

/// The tasks of the window. What is read in pieces is found first; where that does not do, it is made after all.
fn grouped(nodes: &Nodes, fusing: bool) -> Vec<TaskPlan> {
    const ROUNDS: usize = 4;
    let mut refused = FxHashSet::default();
    for _ in 0..ROUNDS {
        let stitches = if fusing { Stitches::find(nodes, &mut refused) } else { Stitches::default() };
        let tasks = fuse::fuse(nodes, &stitches, fusing).and_then(|groups| lower_all(nodes, &groups, &stitches));
        match tasks {
            Ok(tasks) => return tasks,
            Err(made) => refused.extend(made),
        }
    }
    let all_made = Stitches::default();
    let groups = fuse::fuse(nodes, &all_made, fusing);
    groups.and_then(|groups| lower_all(nodes, &groups, &all_made)).unwrap_or_default()
}

fn lower_all(nodes: &Nodes, groups: &[Group], stitches: &Stitches) -> Result<Vec<TaskPlan>, Vec<StoreId>> {
    let mut last_group = vec![0usize; nodes.stores.len()];
    for (g, group) in groups.iter().enumerate() {
        group.touches.iter().for_each(|t| last_group[t.store as usize] = g);
    }
    let task = |(g, group)| task_of(nodes, group, stitches, &|s| last_group[s as usize] > g);
    groups.iter().enumerate().map(task).collect()
}

fn task_of(
    nodes: &Nodes,
    group: &Group,
    stitches: &Stitches,
    needed_later: &dyn Fn(StoreId) -> bool,
) -> Result<TaskPlan, Vec<StoreId>> {
    let ops: Vec<u32> = group.nodes.iter().map(|&i| nodes.nodes[i as usize].op).collect();
    if !group.fused {
        let accesses = group.touches.iter().map(|t| (t.store, t.view.clone(), t.writes)).collect();
        return Ok(TaskPlan { work: TaskWork::Opaque, accesses, ops, ends: Vec::new() });
    }
    let Lowered { kernel, operands, params, folded, origins } = lower::lower(nodes, group, stitches, needed_later);
    let Some((patches, regions)) = stitches.regions(&operands, &group.domain) else {
        return Err(operands.iter().map(|o| o.store).filter(|&s| stitches.of(s).is_some()).collect());
    };
    let touched = |s: StoreId| {
        let in_pieces = || patches.iter().flat_map(|p| &p.pieces).any(|(_, spot)| spot.store == s);
        let whole = || operands.iter().any(|o| o.store == s && stitches.of(s).is_none());
        whole() || folded.iter().any(|f| f.spot.store == s) || in_pieces()
    };
    let accesses =
        group.touches.iter().filter(|t| touched(t.store)).map(|t| (t.store, t.view.clone(), t.writes)).collect();
    let plan = FusedPlan {
        compiled: compiled(kernel),
        domain: group.domain.clone(),
        operands,
        params,
        folded,
        reduced: group.reduced.unwrap_or(0),
        origins,
        on_gpu: OnGpu::default(),
        pace: Pace::default(),
        swaps: false,
        patches,
        takeovers: Vec::new(),
        regions,
    };
    Ok(TaskPlan { work: TaskWork::Fused(Arc::new(plan)), accesses, ops, ends: Vec::new() })
}

/// The kernel, made ready once for all windows.
pub fn compiled(kernel: Kernel) -> Arc<Compiled> {
    let mut kernels = KERNELS.lock();
    if let Some(c) = kernels.get(&kernel) {
        stats::count(&stats::KERNEL_HITS, 1);
        return c.clone();
    }
    stats::count(&stats::KERNELS, 1);
    if kernels.len() >= MOST_KERNELS {
        kernels.clear();
    }
    let mut span = Span::new(Lane::Utility, Doing::Compile);
    span.count(kernel.instrs.len());
    let c = Arc::new(Compiled::new(kernel.clone()));
    kernels.insert(kernel, c.clone());
    c
}

/// The stores of a plan's operands, then of its reductions' results, in the window at hand.
pub fn stores_of(plan: &FusedPlan, nodes: &Nodes) -> Vec<Arc<Store>> {
    plan.spots().map(|s| nodes.stores[s.store as usize].store.clone()).collect()
}

/// The values of a plan's parameters in the window at hand.
pub fn param_values(plan: &FusedPlan, given: &impl Given) -> Vec<Value> {
    let one = |p: &ParamSource| match *p {
        ParamSource::Fixed(v) => v,
        ParamSource::Node { node, input } => given.value(node as usize, input as usize),
        ParamSource::Iota { node, step } => given.progression(node as usize, step),
    };
    plan.params.iter().map(one).collect()
}

/// A window's nodes, as far as parameters need them.
pub trait Given {
    /// A node's input that is a value.
    fn value(&self, node: usize, input: usize) -> Value;
    /// The step, or the start, of an `arange`.
    fn progression(&self, node: usize, step: bool) -> Value;
}

impl Given for Nodes {
    fn value(&self, node: usize, input: usize) -> Value {
        match &self.nodes[node].ins[input] {
            Input::Value(v) => *v,
            Input::Spot(_) => unreachable!("a parameter is a value in every window of this structure"),
        }
    }

    fn progression(&self, node: usize, step: bool) -> Value {
        match self.nodes[node].work {
            Work::Map(MapOp::Iota { start, step: s }) => {
                if step {
                    s
                } else {
                    start
                }
            }
            _ => unreachable!("an arange in every window of this structure"),
        }
    }
}

/// Everything the analysis looks at, in order: two windows with equal keys have equal plans.
/// The values of parameters are left out; those of reductions' initials are in.
fn key_of(nodes: &Nodes) -> Key {
    let mut k = KeyWriter::new(false, nodes.nodes.len());
    for s in &nodes.stores {
        k.store(s, s.last);
    }
    for n in &nodes.nodes {
        k.begin(n.op, &n.domain);
        match n.work {
            Work::Map(m) => k.map(m),
            Work::Reduce { op, lp, axes, initial } => k.reduce(op, lp, axes, initial),
            Work::Opaque => k.opaque(),
        }
        for i in &n.ins {
            match i {
                Input::Value(v) => k.value(v),
                Input::Spot(s) => k.view(s.store, &s.view),
            }
        }
        k.outputs();
        n.outs.iter().for_each(|s| k.view(s.store, &s.view));
        if let Some(m) = &n.mask {
            k.mask();
            k.view(m.store, &m.view);
        }
    }
    k.words
}

/// Writes a window's key: stores first, then what each operation does to which.
pub struct KeyWriter {
    pub words: Key,
    /// Which values are equal matters (neighbouring slices merge only then), not what they are.
    classes: Classes,
    has_devices: bool,
}

impl KeyWriter {
    /// `outline`: the key is of operations, not of nodes.
    pub fn new(outline: bool, operations: usize) -> KeyWriter {
        let mut words = Vec::with_capacity(operations * 24 + 1);
        words.push(outline as u64);
        KeyWriter { words, classes: Classes::default(), has_devices: reserved::devices() > 0 }
    }

    pub fn store(&mut self, s: &LocalStore, last: u32) {
        if self.has_devices {
            self.words.push(s.store.nbytes() as u64);
        }
        self.words.push(s.live as u64 | (s.fresh as u64) << 1 | (last as u64) << 2);
    }

    pub fn begin(&mut self, op: u32, domain: &[usize]) {
        self.words.push(u64::MAX);
        self.words.push(op as u64 | (domain.len() as u64) << 40);
        self.words.extend(domain.iter().map(|&d| d as u64));
    }

    pub fn map(&mut self, m: MapOp) {
        self.words.push(match m {
            MapOp::Scalar { op, lp } => 1 | (op as u64) << 8 | (lp as u64) << 16,
            MapOp::Copy => 2,
            MapOp::Select => 3,
            MapOp::Iota { start, step } => 4 | (start.dtype as u64) << 8 | (step.dtype as u64) << 16,
        });
    }

    pub fn reduce(&mut self, op: ScalarOp, lp: u8, axes: u64, initial: Option<Value>) {
        self.words.push(5 | (op as u64) << 8 | (lp as u64) << 16 | (initial.is_some() as u64) << 24);
        self.words.push(axes);
        if let Some(v) = initial {
            let mut h = FxHasher::default();
            v.hash(&mut h);
            self.words.extend([h.finish(), v.dtype as u64]);
        }
    }

    pub fn opaque(&mut self) {
        self.words.push(6);
    }

    pub fn value(&mut self, v: &Value) {
        self.words.push(v.dtype as u64 | self.classes.of(v) << 8 | 1 << 63);
    }

    pub fn view(&mut self, store: StoreId, v: &View) {
        let head = store as u64 | (v.dtype as u64) << 32 | (v.ndim() as u64) << 40;
        if let ([length], [step]) = (v.shape.as_slice(), v.strides.as_slice()) {
            return self.words.extend_from_slice(&[head, v.offset as u64, *length as u64, *step as u64]);
        }
        self.words.extend_from_slice(&[head, v.offset as u64]);
        self.words.extend(v.shape.iter().map(|&d| d as u64));
        self.words.extend(v.strides.iter().map(|&d| d as u64));
    }

    /// Outputs follow.
    pub fn outputs(&mut self) {
        self.words.push(u64::MAX - 1);
    }

    /// A mask follows.
    pub fn mask(&mut self) {
        self.words.push(u64::MAX - 2);
    }
}

/// Numbers for values, equal ones the same, in the order of their first coming.
#[derive(Default)]
struct Classes {
    /// The first few, which are looked through: most windows have no more.
    few: SmallVec<[Value; FEW_VALUES]>,
    others: FxHashMap<Value, u64>,
}

const FEW_VALUES: usize = 24;

impl Classes {
    fn of(&mut self, v: &Value) -> u64 {
        if let Some(k) = self.few.iter().position(|x| x == v) {
            return k as u64;
        }
        let next = (self.few.len() + self.others.len()) as u64;
        if self.few.len() < FEW_VALUES {
            self.few.push(*v);
            return next;
        }
        *self.others.entry(*v).or_insert(next)
    }
}
