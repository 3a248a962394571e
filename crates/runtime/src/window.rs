//! The window: operations recorded and not yet launched, and the rules by which it is flushed.

use crate::appetite;
use crate::edges;
use crate::fork;
use crate::gpu;
use crate::node;
use crate::operation::{Kind, Operation};
use crate::outline;
use crate::parts;
use crate::plan::{self, TaskPlan, TaskWork};
use crate::prepare;
use crate::profile::{self, Doing, Lane, Span};
use crate::prompt;
use crate::reserved;
use crate::slices;
use crate::spill;
use crate::stats;
use crate::store::Store;
use crate::swap;
use crate::task::{Payload, SCHEDULER, Task, Work};
use numloom_profile::record::TaskRecord;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

pub struct Window {
    ops: Mutex<Vec<Operation>>,
    /// Length of `ops`, readable without the lock.
    length: AtomicUsize,
    /// Operations at the front that were left for later because nobody has asked for their results.
    postponed: AtomicUsize,
    /// Operations looked at and kept since the last launch, because they are slices of a loop that goes on.
    kept: AtomicUsize,
    /// Where the operation was recorded with which rounds of a loop are taken to begin; 0 for nowhere yet.
    round: AtomicU64,
    /// Where the last operation was recorded, from half such a window on.
    before: AtomicU64,
    /// Length from which on the window is flushed before such an operation.
    rounds_end: AtomicUsize,
    /// Elements of the largest result recorded since the last launch, and of all of them.
    largest: AtomicUsize,
    elements: AtomicUsize,
    /// Held while operations become tasks: windows are analysed one after another, in order.
    analysing: Mutex<()>,
    /// Wakes the utility thread.
    bell: Mutex<bool>,
    rung: Condvar,
    utility_sleeps: AtomicBool,
    stop: AtomicBool,
}

pub static WINDOW: Window = Window {
    ops: Mutex::new(Vec::new()),
    length: AtomicUsize::new(0),
    postponed: AtomicUsize::new(0),
    kept: AtomicUsize::new(0),
    round: AtomicU64::new(0),
    before: AtomicU64::new(0),
    rounds_end: AtomicUsize::new(ROUNDS),
    largest: AtomicUsize::new(0),
    elements: AtomicUsize::new(0),
    analysing: Mutex::new(()),
    bell: Mutex::new(false),
    rung: Condvar::new(),
    utility_sleeps: AtomicBool::new(false),
    stop: AtomicBool::new(false),
};

/// Windows up to this size are flushed by the caller: a hop to another thread costs more.
const SHORT_WINDOW: usize = 64;
/// Room for so many operations is made as they come.
const FEW: usize = 8;
/// How long a window must have stood still before idle workers take it.
const IDLE: Duration = Duration::from_millis(20);

/// Why a window is flushed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Somebody waits for a result.
    Wanted,
    /// It is as long as windows get.
    Long,
    /// Its first part is work for long, and need not wait for the rest.
    Heavy,
    /// It holds some rounds of a loop over middling arrays, whose recording takes as long as their work.
    Rounds,
    /// Nothing was recorded for a while.
    Idle,
}

/// Most operations of a loop over slices that are kept to become one task: some tens of milliseconds of recording.
const LONGEST_KEPT: usize = 1 << 16;

/// A library operation on so many smallest tiles takes longer than recording many. It is handed to a GPU at once, with
/// all that was recorded before it: the GPU works while Python records on, and a loop with one in it is cut in the same
/// place every time.
const HEAVY: usize = 64;

/// On the CPU so many of them stay in the window, with what was recorded between them: by then a loop has bound its
/// names anew, and what only its last round used needs no memory.
const HEAVY_KEPT: usize = 3;

/// Operations on middling arrays after which the workers begin while Python records the next rounds of the loop. Windows end
/// where a round does, at the same operation every time: one like another has its plan already.
const ROUNDS: usize = 256;
/// Elements of the largest of them. Of larger ones the work takes longer than recording it, and fusing more rounds pays.
const MIDDLING: usize = 1 << 18;
/// Elements of most of them, where a few are larger.
const SMALL: usize = 1 << 14;

/// Tasks launched and not over before recording waits for some: bounds what a long loop piles up.
const MOST_IN_FLIGHT: usize = 8192;

/// Whether the threads run; the utility thread, to wait for its end.
static RUNNING: AtomicBool = AtomicBool::new(false);
static UTILITY: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// Starts the worker and utility threads, unless they run.
#[inline]
pub fn start() {
    if !RUNNING.load(Ordering::Acquire) && !fork::is_closed() {
        start_threads();
    }
}

#[cold]
fn start_threads() {
    let mut utility = UTILITY.lock();
    if RUNNING.load(Ordering::Acquire) {
        return;
    }
    spill::watch();
    // A simulated device may be busy for long; a GPU only takes what it is given.
    SCHEDULER.start(numloom_config::current().cpus, reserved::devices() > 0 && !reserved::are_gpus());
    WINDOW.stop.store(false, Ordering::Release);
    let spawned = std::thread::Builder::new().name("numloom-utility".into()).spawn(|| WINDOW.tend());
    // Without a utility thread every flush happens at sync points: slower, still right.
    *utility = spawned.ok();
    RUNNING.store(true, Ordering::Release);
}

/// Ends the threads; the next operation starts them again.
pub fn stop_threads() {
    let mut utility = UTILITY.lock();
    if !RUNNING.load(Ordering::Acquire) {
        return;
    }
    WINDOW.stop.store(true, Ordering::Release);
    WINDOW.ring();
    if let Some(handle) = utility.take() {
        let _ = handle.join();
    }
    SCHEDULER.stop();
    gpu::rest();
    RUNNING.store(false, Ordering::Release);
}

impl Window {
    pub fn push(&self, mut op: Operation) {
        start();
        prompt::operation();
        op.announce();
        parts::recorded(&op);
        stats::count(&stats::OPERATIONS, 1);
        let heavy = is_heavy(&op);
        let size = op.outs.first().filter(|p| !node::is_unsized(&p.view)).map_or(0, |p| p.view.size());
        if size > self.largest.load(Ordering::Relaxed) {
            self.largest.store(size, Ordering::Relaxed);
        }
        self.elements.store(self.elements.load(Ordering::Relaxed).saturating_add(size), Ordering::Relaxed);
        if self.begins_rounds(&op) {
            self.flush_for(Reason::Rounds, false);
            profile::record::returned();
        }
        if profile::on() {
            op.recorded = profile::record::recorded(profile::place(op.at));
        }
        let length = {
            let mut ops = self.ops.lock();
            ops.push(op);
            self.length.store(ops.len(), Ordering::Release);
            ops.len()
        };
        if SCHEDULER.in_flight() > MOST_IN_FLIGHT {
            let _full = Span::new(Lane::Io, Doing::Full);
            SCHEDULER.wait(|| SCHEDULER.in_flight() < MOST_IN_FLIGHT / 2, || false);
        }
        let limit = numloom_config::current().window_size;
        if heavy && reserved::are_gpus() || length >= limit && limit <= SHORT_WINDOW || length >= limit * 4 {
            self.flush();
            profile::record::returned();
        } else if heavy && length > SHORT_WINDOW / 2 {
            self.flush_for(Reason::Heavy, false);
            profile::record::returned();
        } else if length % limit == 0 || self.utility_sleeps.load(Ordering::Relaxed) {
            self.ring();
        }
    }

    /// Whether the window has enough rounds of a loop, and the operation begins the next.
    fn begins_rounds(&self, op: &Operation) -> bool {
        let length = self.length.load(Ordering::Relaxed);
        if length < ROUNDS / 2 {
            return false;
        }
        let place = op.at.place();
        let here = (place.code as u64) << 32 | (place.at as u64 + 1);
        let end = self.rounds_end.load(Ordering::Relaxed);
        // One that stands before the last one in the same function is taken: there a round begins, and what only the
        // round before needed is forgotten. If there is none, any; and another one where that does not come again.
        let before = self.before.swap(here, Ordering::Relaxed);
        let is_back = before >> 32 == here >> 32 && here < before;
        let round = self.round.load(Ordering::Relaxed);
        if round == 0 && (is_back || length >= end) || length >= 2 * end {
            self.round.store(here, Ordering::Relaxed);
            return false;
        }
        // One that makes what the loop fills is no work of the loop's.
        let small_in_the_mean = self.elements.load(Ordering::Relaxed) / length <= SMALL;
        let middling = small_in_the_mean || self.largest.load(Ordering::Relaxed) <= MIDDLING;
        length >= end
            && middling
            && round == here
            && numloom_config::current().window_size > 2 * ROUNDS
            && reserved::devices() == 0
    }

    fn ring(&self) {
        *self.bell.lock() = true;
        self.rung.notify_one();
    }

    /// Turns everything recorded so far into tasks.
    pub fn flush(&self) {
        self.flush_for(Reason::Wanted, false);
    }

    /// Turns everything recorded so far into tasks, and helps until `over` holds; false when interrupted.
    pub fn finish(&self, over: impl Fn() -> bool + Sync, interrupted: impl Fn() -> bool) -> bool {
        self.flush_to_wait();
        SCHEDULER.wait(over, interrupted)
    }

    /// Turns everything recorded so far into tasks, by a thread that waits for them next.
    pub fn flush_to_wait(&self) {
        self.flush_for(Reason::Wanted, true);
    }

    /// `stays`: this thread waits for tasks next.
    fn flush_for(&self, reason: Reason, stays: bool) {
        let _turn = self.analysing.lock();
        let mut ops = {
            let mut ops = self.ops.lock();
            self.postponed.store(0, Ordering::Release);
            let taken = if reason == Reason::Heavy {
                let mut heavy = ops.iter().enumerate().rev().filter(|(_, o)| is_heavy(o));
                let cut = heavy.nth(HEAVY_KEPT).map_or(0, |(k, _)| k);
                ops.drain(..cut).collect()
            } else {
                // The next window is likely as long: it should not have to grow again.
                let room = if ops.len() > FEW { ops.len() } else { 0 };
                std::mem::replace(&mut *ops, Vec::with_capacity(room))
            };
            self.length.store(ops.len(), Ordering::Release);
            taken
        };
        let fuse = numloom_config::current().fuse;
        if fuse {
            let recorded = ops.len();
            let mut span = Span::new(Lane::Utility, Doing::Merge);
            span.count(recorded);
            let (merged, begun) = slices::merge(ops);
            drop(span);
            ops = merged;
            // A loop over slices goes on: its next slices join the same task if it is kept. For how long is
            // bounded, so that a long loop does not keep the workers waiting.
            let shrunk = ops.len() < recorded / 2;
            if reason == Reason::Rounds && shrunk {
                self.rounds_end.store(2 * recorded, Ordering::Relaxed);
                return self.put_back(ops);
            }
            if reason == Reason::Long && shrunk && self.kept.load(Ordering::Relaxed) < LONGEST_KEPT {
                self.kept.fetch_add(recorded, Ordering::Relaxed);
                return self.put_back(ops);
            }
            if reason == Reason::Long {
                // A body is not cut in two.
                self.put_back(ops.split_off(begun));
            }
        }
        self.kept.store(0, Ordering::Relaxed);
        self.rounds_end.store(ROUNDS, Ordering::Relaxed);
        self.largest.store(0, Ordering::Relaxed);
        self.elements.store(0, Ordering::Relaxed);
        if reason != Reason::Rounds {
            self.round.store(0, Ordering::Relaxed);
        }
        if reason != Reason::Wanted {
            self.postpone(&mut ops);
        }
        if ops.is_empty() {
            return;
        }
        stats::count(&stats::WINDOWS, 1);
        let mut span = Span::new(Lane::Utility, Doing::Analyse);
        span.count(ops.len());
        let begun = node::begin(&ops);
        let key = outline::key(&ops, &begun);
        let places = if key.is_some() { begun.alive.clone() } else { Vec::new() };
        let known = key.as_ref().and_then(plan::known);
        let is_known = known.is_some();
        let mut nodes = if is_known { begun.without_nodes() } else { node::finish(&ops, begun) };
        drop(span);
        let is_outlined = key.is_some();
        let plan = match known {
            Some(plan) => plan,
            None if is_outlined => plan::make(&nodes, fuse, key),
            None => plan::plan(&nodes, fuse),
        };
        prompt::window(&plan.tasks, ops.len() - nodes.dead.len());
        for s in &plan.swaps {
            let [temporary, array] = [s.temporary, s.array].map(|id| &nodes.stores[id as usize].store);
            nodes.stores[s.temporary as usize].store = swap::stand_in(temporary, array);
        }
        let mut span = Span::new(Lane::Utility, Doing::Launch);
        span.count(plan.tasks.len());
        let payloads: Vec<Payload> = if is_outlined {
            let given = outline::Operations { ops: &ops, places: &places };
            plan.tasks.iter().map(|t| payload(t, &nodes, &given)).collect()
        } else {
            plan.tasks.iter().map(|t| payload(t, &nodes, &nodes)).collect()
        };
        // One task that has them all takes them as they lie.
        let is_all = |t: &TaskPlan| t.ops.iter().copied().eq(0..ops.len() as u32);
        let mut all = matches!(&plan.tasks[..], [t] if is_all(t)).then(|| std::mem::take(&mut ops));
        let mut ops: Vec<Option<Operation>> = ops.into_iter().map(Some).collect();
        for &i in &nodes.dead {
            if let Some(op) = ops[i as usize].take() {
                op.withdraw();
                stats::count(&stats::ELIMINATED, op.times as usize);
            }
        }

        // Of several tasks others can begin with one; on a GPU all are short here, and handing one on takes longer.
        let stays = stays && (plan.tasks.len() == 1 || reserved::are_gpus());
        for (t, payload) in plan.tasks.iter().zip(payloads) {
            let own = all.take().unwrap_or_else(|| taken(&mut ops, t));
            launch(t, payload, own, &nodes, stays);
        }
    }

    fn put_back(&self, ops: Vec<Operation>) {
        let mut window = self.ops.lock();
        window.splice(0..0, ops);
        self.length.store(window.len(), Ordering::Release);
    }

    /// Puts `nonzero` operations back to the front of the window, if their mask stays as it is and nothing
    /// else recorded touches what they make: by the time somebody asks, the index arrays are often gone.
    fn postpone(&self, ops: &mut Vec<Operation>) {
        if !ops.iter().any(|o| matches!(o.kind, Kind::Nonzero)) {
            return;
        }
        // Whatever was put back or recorded since comes later, too.
        let waiting = self.ops.lock();
        let touches = |o: &Operation, s: &Arc<Store>| o.reads().chain(&o.outs).any(|p| Arc::ptr_eq(&p.store, s));
        let can_wait: Vec<bool> = ops
            .iter()
            .enumerate()
            .map(|(i, op)| {
                matches!(op.kind, Kind::Nonzero)
                    && ops[i + 1..].iter().chain(&*waiting).all(|later| {
                        op.outs.iter().all(|p| !touches(later, &p.store))
                            && op.reads().all(|p| later.outs.iter().all(|w| !Arc::ptr_eq(&w.store, &p.store)))
                    })
            })
            .collect();
        let mut later = Vec::new();
        let mut now = Vec::with_capacity(ops.len());
        for (op, wait) in std::mem::take(ops).into_iter().zip(can_wait) {
            if wait { later.push(op) } else { now.push(op) }
        }
        drop(waiting);
        *ops = now;
        self.postponed.store(later.len(), Ordering::Release);
        self.put_back(later);
    }

    /// The utility thread: flushes long windows while Python records on, and windows that stand still.
    fn tend(&self) {
        numloom_library::look_for_libraries();
        let limit = numloom_config::current().window_size;
        // With a single core there is no worker: this thread runs what nobody waits for.
        let alone = numloom_config::current().cpus == 1;
        // Length of the window when a wait began that nothing interrupted.
        let mut stood_at = 0;
        while !self.stop.load(Ordering::Acquire) {
            let length = self.length.load(Ordering::Acquire).saturating_sub(self.postponed.load(Ordering::Acquire));
            let idle = length > 0 && length == stood_at;
            if length >= limit || idle {
                let reason = if idle { Reason::Idle } else { Reason::Long };
                stood_at = 0;
                // A defect in the analysis must not take the process down; the operations are lost
                // with their stores, and the next sync point says so.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.flush_for(reason, false)));
                if alone {
                    while SCHEDULER.help() {}
                }
                continue;
            }
            stood_at = 0;
            let mut rung = self.bell.lock();
            if !*rung {
                if length == 0 {
                    self.utility_sleeps.store(true, Ordering::Release);
                    self.rung.wait_for(&mut rung, Duration::from_millis(500));
                    self.utility_sleeps.store(false, Ordering::Release);
                } else if self.rung.wait_for(&mut rung, IDLE).timed_out() {
                    stood_at = length;
                }
            }
            *rung = false;
        }
    }

    /// The operations recorded so far, for a look that changes nothing.
    pub fn inspect<R>(&self, look: impl FnOnce(&[Operation]) -> R) -> R {
        let _turn = self.analysing.lock();
        look(&self.ops.lock())
    }
}

fn is_heavy(op: &Operation) -> bool {
    matches!(op.kind, Kind::Library(_)) && prepare::elements_of(op) >= HEAVY * numloom_config::current().min_cpu_chunk
}

/// Tasks launched and, most of them, not over.
static LAUNCHED: Mutex<Vec<Weak<Task>>> = Mutex::new(Vec::new());

/// What a planned task does, in the window at hand.
fn payload(plan: &TaskPlan, nodes: &node::Nodes, given: &impl plan::Given) -> Payload {
    match &plan.work {
        TaskWork::Fused(fused) => Payload::Fused {
            plan: fused.clone(),
            stores: plan::stores_of(fused, nodes),
            params: plan::param_values(fused, given),
            raised: Arc::default(),
        },
        TaskWork::Chain(chain) => Payload::Chain {
            plan: chain.clone(),
            stores: chain.steps.iter().map(|f| plan::stores_of(f, nodes)).collect(),
            params: chain.steps.iter().map(|f| plan::param_values(f, given)).collect(),
            raised: chain.steps.iter().map(|_| Arc::default()).collect(),
        },
        TaskWork::Opaque => Payload::Opaque,
    }
}

/// The operations of a task, out of the window's.
fn taken(ops: &mut [Option<Operation>], plan: &TaskPlan) -> Vec<Operation> {
    let mut own = Vec::with_capacity(plan.ops.len());
    own.extend(plan.ops.iter().filter_map(|&i| ops[i as usize].take()));
    own
}

/// Makes the task, draws its edges to tasks in flight, and hands it to the scheduler.
fn launch(plan: &TaskPlan, payload: Payload, own: Vec<Operation>, nodes: &node::Nodes, stays: bool) {
    let recorded: u32 = own.iter().map(|o| o.times).sum();
    if recorded > 1 {
        stats::count(&stats::FUSED, recorded as usize);
    }
    let mut record = TaskRecord::new();
    let mut work = Work::new(payload, own);
    work.appetite = appetite::of(plan, nodes);
    if record.is_some() {
        edges::note(&mut record, edges::touched(plan, nodes));
        work.record = record;
    }
    let task = Arc::new(Task::new(work));
    edges::draw(&task, edges::touched(plan, nodes));
    let mut launched = LAUNCHED.lock();
    if task.job.ops.lock().iter().any(|o| matches!(&o.kind, Kind::Library(op) if op.follows_all())) {
        launched.iter().filter_map(Weak::upgrade).for_each(|earlier| task.follow(&earlier));
    }
    if launched.len() == launched.capacity() {
        launched.retain(|t| t.upgrade().is_some_and(|t| !t.is_over()));
    }
    launched.push(Arc::downgrade(&task));
    drop(launched);
    SCHEDULER.launch(&task, stays);
}
