//! The scheduler: ready tasks in program order, worker threads, and callers that help while they wait.
//! See the README of the runtime for why it is right.

use crate::primitives::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::primitives::{Condvar, Deadline, Mutex, thread};
use crate::task::{Job, Task};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

pub struct Scheduler<J: Job> {
    ready: Mutex<VecDeque<Arc<Task<J>>>>,
    /// Something to do, or something is over.
    changed: Condvar,
    /// Threads that wait for `changed`.
    sleepers: AtomicUsize,
    in_flight: AtomicUsize,
    /// Tasks taken from the queue and not over: they hold memory, or are about to.
    busy: AtomicUsize,
    /// Of those, the ones whose binding waits in `assist`.
    starving: AtomicUsize,
    /// All others starved when one that binds was sent to try once more, and nobody came or woke since.
    alone: AtomicBool,
    stop: AtomicBool,
    /// Binding may take long: it is left to the workers, so that callers can be interrupted.
    workers_bind: AtomicBool,
    workers: Mutex<Vec<thread::JoinHandle<()>>>,
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
            changed: Condvar::new(),
            sleepers: AtomicUsize::new(0),
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

    /// Takes over a task whose edges are all drawn.
    pub fn launch(&self, task: &Arc<Task<J>>) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        if task.arrive() {
            self.ready.lock().push_back(task.clone());
            self.wake();
        }
    }

    /// To be called after a change made under the lock of `ready`: whoever sleeps counted itself under it.
    fn wake(&self) {
        if self.sleepers.load(Ordering::Acquire) > 0 {
            self.changed.notify_all();
        }
    }

    fn work(&self) {
        while !self.stop.load(Ordering::Acquire) {
            if !self.help_until(None, true) {
                let mut ready = self.ready.lock();
                if ready.is_empty() && !self.stop.load(Ordering::Acquire) {
                    self.sleepers.fetch_add(1, Ordering::AcqRel);
                    self.changed.wait(&mut ready);
                    self.sleepers.fetch_sub(1, Ordering::AcqRel);
                }
            }
        }
    }

    /// Runs some ready work on this thread, to the end of a task; false when there is none.
    pub fn help(&self) -> bool {
        self.help_until(None, true)
    }

    /// As `help`, but leaves a task to others after the first tile that ends past `end`.
    fn help_until(&self, end: Option<Deadline>, binding: bool) -> bool {
        let Some(task) = self.choose(binding) else { return false };
        if !task.is_bound() {
            task.bind();
            self.advance(&task, 0);
        }
        self.run_tiles(&task, end);
        true
    }

    fn run_tiles(&self, task: &Arc<Task<J>>, end: Option<Deadline>) {
        task.job.entered();
        while let Some((phase, tile)) = task.claim() {
            if task.run(phase, tile) {
                self.advance(task, phase + 1);
            } else if end.is_some_and(Deadline::passed) {
                // With tiles left, the task still stands in the queue.
                break;
            }
        }
        task.job.left();
    }

    /// For a thread that needs what busy tasks hold: runs tiles of one that is bound, or waits until something
    /// changes. False when no other task is busy but such as wait here, too; then one of those gives up.
    /// `binding`: the thread binds a task itself; it is told so only after it tried in vain with nobody else about.
    pub fn assist(&self, binding: bool) -> bool {
        let mut ready = self.ready.lock();
        let starving = self.starving.load(Ordering::Acquire) + binding as usize;
        if self.busy.load(Ordering::Acquire) <= starving {
            // What it tried before may have failed for a task that is over by now.
            return binding && !self.alone.swap(true, Ordering::AcqRel);
        }
        let bound = ready.iter().find(|t| t.is_bound() && t.has_tiles()).cloned();
        if let Some(task) = bound {
            drop(ready);
            self.run_tiles(&task, None);
            return true;
        }
        self.starving.fetch_add(binding as usize, Ordering::AcqRel);
        self.sleepers.fetch_add(1, Ordering::AcqRel);
        self.changed.wait(&mut ready);
        self.sleepers.fetch_sub(1, Ordering::AcqRel);
        self.starving.fetch_sub(binding as usize, Ordering::AcqRel);
        if binding {
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
        loop {
            let front = ready.front()?;
            if front.is_bound() && front.has_tiles() {
                return Some(front.clone());
            }
            let front = ready.pop_front()?;
            if !front.is_bound() {
                self.busy.fetch_add(1, Ordering::AcqRel);
                self.alone.store(false, Ordering::Release);
                return Some(front);
            }
        }
    }

    /// Opens the next phase that has tiles, from `phase` on, or retires the task.
    fn advance(&self, task: &Arc<Task<J>>, phase: usize) {
        let Some(phase) = task.phase_from(phase) else { return self.retire(task) };
        task.open_phase(phase);
        // A single tile is for the thread that is here.
        if task.tiles(phase) > 1 {
            self.ready.lock().push_front(task.clone());
            self.wake();
        }
    }

    fn retire(&self, task: &Arc<Task<J>>) {
        let next = task.retire();
        self.busy.fetch_sub(1, Ordering::AcqRel);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        // Even with nothing to add: whoever waits for this task looks under the lock before it sleeps.
        let mut ready = self.ready.lock();
        ready.extend(next);
        self.wake();
    }

    /// Helps until `over` holds; asks `interrupted` now and then. False when interrupted.
    /// `over` may depend on what retired jobs did and on `in_flight`.
    pub fn wait(&self, over: impl Fn() -> bool, interrupted: impl Fn() -> bool) -> bool {
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
            let mut ready = self.ready.lock();
            if over() {
                return true;
            }
            if ready.is_empty() || !binding {
                self.sleepers.fetch_add(1, Ordering::AcqRel);
                self.changed.wait_for(&mut ready, Duration::from_millis(20));
                self.sleepers.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }
}
