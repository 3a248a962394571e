//! The scheduler: ready tasks in program order, worker threads, and callers that help while they wait.
//! See the README of the runtime for why it is right.

use crate::primitives::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::primitives::{Condvar, Deadline, Mutex, look_out, thread};
use crate::task::{Job, Task};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// What a sleeping caller waits for: asked under the lock of the queue, and gone from the list when the caller is.
struct Watch(*const (dyn Fn() -> bool + Sync));

// SAFETY: what it points to may be called from any thread, and stays there while it is in the list.
unsafe impl Send for Watch {}

pub struct Scheduler<J: Job> {
    /// Those that are bound and have tiles for others, then the rest in the order in which they were launched: what a
    /// program does later takes its memory later.
    ready: Mutex<VecDeque<Arc<Task<J>>>>,
    /// How many stand there, for those who look out for some without the lock.
    queued: AtomicUsize,
    /// Tasks launched so far.
    launched: AtomicU64,
    /// A task that is ready was left in the queue until others are over. Changed under the lock of `ready`.
    held_back: AtomicBool,
    /// Changed and looked through under the lock of `ready` alone.
    watches: Mutex<Vec<Watch>>,
    /// Something to do: workers sleep here.
    work_came: Condvar,
    sleepers: AtomicUsize,
    /// What a caller waits for is over, a binding that starves may try again, or there is more to do than workers: all of
    /// those sleep here.
    changed: Condvar,
    watchers: AtomicUsize,
    in_flight: AtomicUsize,
    /// Tasks taken from the queue and not over: they hold memory, or are about to.
    busy: AtomicUsize,
    /// Of those, the ones that wait in `assist` to go on.
    starving: AtomicUsize,
    /// All others starved when one that binds was sent to try once more, and nobody came or woke since.
    alone: AtomicBool,
    stop: AtomicBool,
    /// Binding may take long: it is left to the workers, so that callers can be interrupted.
    workers_bind: AtomicBool,
    workers: Mutex<Vec<thread::JoinHandle<()>>>,
}

/// Tasks at the front of the queue among which one that may begin is looked for.
const LOOKED_AT: usize = 64;

/// Puts a task that became ready where those launched later begin.
fn add<J: Job>(ready: &mut VecDeque<Arc<Task<J>>>, task: Arc<Task<J>>) {
    let at = ready.partition_point(|t| t.is_bound() || t.earlier_than(&task));
    ready.insert(at, task);
}

impl<J: Job> Default for Scheduler<J> {
    fn default() -> Self {
        Scheduler::new()
    }
}

impl<J: Job> Scheduler<J> {
    pub const fn new() -> Scheduler<J> {
        Scheduler {
            ready: Mutex::new(VecDeque::new()),
            queued: AtomicUsize::new(0),
            launched: AtomicU64::new(0),
            held_back: AtomicBool::new(false),
            watches: Mutex::new(Vec::new()),
            work_came: Condvar::new(),
            sleepers: AtomicUsize::new(0),
            changed: Condvar::new(),
            watchers: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            starving: AtomicUsize::new(0),
            alone: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            workers_bind: AtomicBool::new(false),
            workers: Mutex::new(Vec::new()),
        }
    }

    /// Starts the workers; one core is left to the caller, who helps (and to the utility thread). `workers_bind`: it
    /// binds no tasks where there are others who can.
    pub fn start(&'static self, cpus: usize, workers_bind: bool) {
        let mut workers = self.workers.lock();
        self.stop.store(false, Ordering::Release);
        while workers.len() + 1 < cpus {
            let name = format!("numloom-cpu-{}", workers.len());
            match thread::Builder::new().name(name).spawn(move || self.work()) {
                Ok(h) => workers.push(h),
                Err(_) => break,
            }
        }
        self.workers_bind.store(workers_bind && !workers.is_empty(), Ordering::Release);
    }

    pub fn stop(&'static self) {
        self.stop.store(true, Ordering::Release);
        let _guard = self.ready.lock();
        self.work_came.notify_all();
        self.changed.notify_all();
        drop(_guard);
        for h in self.workers.lock().drain(..) {
            let _ = h.join();
        }
    }

    /// Tasks launched and not over.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    /// Takes over a task whose edges are all drawn. `stays`: this thread waits next, so one task needs nobody else.
    pub fn launch(&self, task: &Arc<Task<J>>, stays: bool) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        task.number(self.launched.fetch_add(1, Ordering::Relaxed));
        if task.arrive() {
            let mut ready = self.ready.lock();
            add(&mut ready, task.clone());
            let mine = stays && !self.workers_bind.load(Ordering::Acquire) && ready.len() == 1;
            // Nor does it need one who looks out, and whose cache does not have what it works on.
            if !mine {
                self.count(&ready);
            }
            drop(ready);
            self.wake(!mine as usize);
        }
    }

    /// To be called after every change of the queue that others are to see, under its lock.
    fn count(&self, ready: &VecDeque<Arc<Task<J>>>) {
        self.queued.store(ready.len(), Ordering::Release);
    }

    /// There is work for so many more threads. To be called after a change made under the lock of `ready`: whoever
    /// sleeps counted itself under it.
    fn wake(&self, threads: usize) {
        let asleep = self.sleepers.load(Ordering::Acquire);
        if threads >= asleep && asleep > 1 {
            self.work_came.notify_all();
        } else {
            for _ in 0..threads.min(asleep) {
                self.work_came.notify_one();
            }
        }
        // One that sleeps may have been called before and not be up yet.
        if threads > 0 && threads >= asleep {
            self.tell();
        }
    }

    /// Something changed that those who wait may wait for. To be called like `wake`.
    fn tell(&self) {
        if self.watchers.load(Ordering::Acquire) > 0 {
            self.changed.notify_all();
        }
    }

    fn work(&self) {
        while !self.stop.load(Ordering::Acquire) {
            if !self.help_until(None, true) {
                // The next task often comes at once, and to be woken takes longer.
                if look_out(|| self.queued.load(Ordering::Acquire) > 0 || self.stop.load(Ordering::Acquire)) {
                    continue;
                }
                let mut ready = self.ready.lock();
                if self.first(&ready).is_none() && !self.stop.load(Ordering::Acquire) {
                    self.sleepers.fetch_add(1, Ordering::AcqRel);
                    self.work_came.wait(&mut ready);
                    self.sleepers.fetch_sub(1, Ordering::AcqRel);
                }
            }
        }
    }

    /// Runs some ready work on this thread, to the end of a task; false when there is none.
    pub fn help(&self) -> bool {
        self.help_until(None, true)
    }

    /// As `help`, but leaves a task to others after the first tile that ends past `end`. Whoever calls it with
    /// `binding` looks into the queue again afterwards, or sees to it that somebody does.
    fn help_until(&self, end: Option<Deadline>, binding: bool) -> bool {
        let Some(task) = self.choose(binding) else { return false };
        if !task.is_bound() {
            task.bind();
            self.look_again();
            self.advance(&task, 0, binding);
        }
        self.run_tiles(&task, end, binding);
        true
    }

    /// For those who wait for others: a task is bound, and what they have to wait for may be less.
    fn look_again(&self) {
        if self.held_back.load(Ordering::Acquire) {
            let ready = self.ready.lock();
            self.held_back.store(false, Ordering::Release);
            self.count(&ready);
            let held = ready.len();
            drop(ready);
            self.wake(held);
            self.tell();
        }
    }

    fn run_tiles(&self, task: &Arc<Task<J>>, end: Option<Deadline>, stays: bool) {
        const SHORT: Duration = Duration::from_micros(200);
        let short = task.is_alone().then(|| Deadline::after(SHORT));
        task.job.entered();
        while let Some((phase, tile)) = task.claim() {
            if task.run(phase, tile) {
                self.advance(task, phase + 1, stays);
                continue;
            }
            let late = end.is_some_and(Deadline::passed);
            if (late || short.is_some_and(Deadline::passed)) && task.share() {
                self.offer(task, phase);
            }
            // With tiles left, the task stands in the queue.
            if late {
                break;
            }
        }
        task.job.left();
    }

    /// For a thread that needs what busy tasks hold: runs tiles of one that is bound, or waits until something
    /// changes. False when no other task is busy but such as wait here, too; then one of those gives up.
    /// `inside`: tasks that the thread binds or runs itself, which end only when it goes on; it is told so only after it
    /// tried in vain with nobody else about.
    pub fn assist(&self, inside: usize) -> bool {
        let mut ready = self.ready.lock();
        let starving = self.starving.load(Ordering::Acquire) + inside;
        if self.busy.load(Ordering::Acquire) <= starving {
            // What it tried before may have failed for a task that is over by now.
            return inside > 0 && !self.alone.swap(true, Ordering::AcqRel);
        }
        let bound = ready.iter().find(|t| t.is_bound() && t.has_tiles()).cloned();
        if let Some(task) = bound {
            drop(ready);
            self.run_tiles(&task, None, false);
            return true;
        }
        self.starving.fetch_add(inside, Ordering::AcqRel);
        self.watchers.fetch_add(1, Ordering::AcqRel);
        self.changed.wait(&mut ready);
        self.watchers.fetch_sub(1, Ordering::AcqRel);
        self.starving.fetch_sub(inside, Ordering::AcqRel);
        if inside > 0 {
            self.alone.store(false, Ordering::Release);
        }
        true
    }

    /// The first task that has something to do. One that is not bound yet leaves the queue: whoever takes it binds
    /// it alone.
    fn choose(&self, binding: bool) -> Option<Arc<Task<J>>> {
        let mut ready = self.ready.lock();
        if !binding {
            return ready.iter().find(|t| t.is_bound() && t.has_tiles()).cloned();
        }
        // Those that are bound stand in front.
        while ready.front().is_some_and(|t| t.is_bound() && !t.has_tiles()) {
            ready.pop_front();
        }
        let first = self.first(&ready);
        self.count(&ready);
        let Some(k) = first else {
            // Until something changes there is nothing to look out for.
            self.queued.store(0, Ordering::Release);
            return None;
        };
        if ready[k].is_bound() {
            return Some(ready[k].clone());
        }
        let task = ready.remove(k)?;
        self.count(&ready);
        task.job.chosen();
        self.busy.fetch_add(1, Ordering::AcqRel);
        self.alone.store(false, Ordering::Release);
        Some(task)
    }

    /// The place of the first task that has something to do and may do it now. To be called under the lock.
    fn first(&self, ready: &VecDeque<Arc<Task<J>>>) -> Option<usize> {
        let others = self.busy.load(Ordering::Acquire) > 0;
        let mut held_back = false;
        let may = |t: &Arc<Task<J>>| {
            if t.is_bound() {
                return t.has_tiles();
            }
            let waits = others && t.job.waits_for_others(held_back);
            held_back |= waits;
            !waits
        };
        let first = ready.iter().take(LOOKED_AT).position(may);
        if held_back {
            self.held_back.store(true, Ordering::Release);
        }
        first
    }

    /// Opens the next phase that has tiles, from `phase` on, or retires the task. `stays`: this thread looks into the
    /// queue when it is done here.
    fn advance(&self, task: &Arc<Task<J>>, phase: usize, stays: bool) {
        let Some(phase) = task.phase_from(phase) else { return self.retire(task, stays) };
        task.open_phase(phase);
        // A single tile is for the thread that is here.
        if task.tiles(phase) > 1 && !task.is_alone() {
            self.offer(task, phase);
        }
    }

    /// Lets others run tiles of the task, too.
    fn offer(&self, task: &Arc<Task<J>>, phase: usize) {
        {
            let mut ready = self.ready.lock();
            ready.push_front(task.clone());
            self.count(&ready);
        }
        self.wake(task.tiles(phase) - 1);
        self.tell();
    }

    fn retire(&self, task: &Arc<Task<J>>, stays: bool) {
        let next = task.retire();
        self.busy.fetch_sub(1, Ordering::AcqRel);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        // Even with nothing to add: whoever waits for this task looks under the lock before it sleeps.
        let mut ready = self.ready.lock();
        let mut more = next.len();
        next.into_iter().for_each(|t| add(&mut ready, t));
        self.count(&ready);
        // What waited for this one to be over may be for any of those who sleep.
        let held_back = self.held_back.swap(false, Ordering::AcqRel);
        if held_back {
            more += ready.len();
        }
        let more = more.saturating_sub(stays as usize);
        // A caller is only called when it need not sleep on: of a thousand short tasks one may be its own.
        let heard = held_back
            || self.watchers.load(Ordering::Acquire) > 0 && {
                let watches = self.watches.lock();
                // SAFETY: see `Watch`.
                watches.len() < self.watchers.load(Ordering::Acquire) || watches.iter().any(|w| unsafe { (*w.0)() })
            };
        drop(ready);
        self.wake(more);
        if heard {
            self.tell();
        }
    }

    /// Helps until `over` holds; asks `interrupted` now and then. False when interrupted.
    /// `over` may depend on what retired jobs did and on `in_flight`.
    pub fn wait(&self, over: impl Fn() -> bool + Sync, interrupted: impl Fn() -> bool) -> bool {
        let is_over = self.help_or_sleep(&over, interrupted);
        // What this thread made ready, or launched, and will not take itself.
        let ready = self.ready.lock();
        let left = ready.iter().filter(|t| !t.is_bound() || t.has_tiles()).count();
        self.count(&ready);
        drop(ready);
        self.wake(left);
        is_over
    }

    fn help_or_sleep(&self, over: &(dyn Fn() -> bool + Sync), interrupted: impl Fn() -> bool) -> bool {
        const PATIENCE: Duration = Duration::from_millis(50);
        let mut end = Deadline::after(PATIENCE);
        loop {
            if over() {
                return true;
            }
            if end.passed() {
                if interrupted() {
                    return false;
                }
                end = Deadline::after(PATIENCE);
            }
            let binding = !self.workers_bind.load(Ordering::Acquire);
            if self.help_until(Some(end), binding) {
                continue;
            }
            if look_out(|| over() || binding && self.queued.load(Ordering::Acquire) > 0) {
                continue;
            }
            let mut ready = self.ready.lock();
            if over() {
                return true;
            }
            if !binding || self.first(&ready).is_none() {
                let watch: *const (dyn Fn() -> bool + Sync + '_) = over;
                // SAFETY: the lifetime is only forgotten; the pointer leaves the list below, under the same lock.
                let watch: *const (dyn Fn() -> bool + Sync + 'static) = unsafe { std::mem::transmute(watch) };
                self.watches.lock().push(Watch(watch));
                self.watchers.fetch_add(1, Ordering::AcqRel);
                self.changed.wait_for(&mut ready, Duration::from_millis(20));
                self.watchers.fetch_sub(1, Ordering::AcqRel);
                let mut watches = self.watches.lock();
                if let Some(k) = watches.iter().position(|w| std::ptr::addr_eq(w.0, watch)) {
                    watches.swap_remove(k);
                }
            }
        }
    }
}
