//! The scheduler: ready tasks in program order, worker threads, and callers that help while they wait.
//! See the README beside this file for why it is right.

use crate::error::{ErrorKind, ExecError, FpReport};
use crate::operation::Kind;
use crate::prepare;
use crate::record::run_tile;
use crate::stats;
use crate::task::{Prepared, Task};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub struct Scheduler {
    ready: Mutex<VecDeque<Arc<Task>>>,
    /// Something to do, or something is over.
    changed: Condvar,
    sleepers: AtomicUsize,
    /// Tasks launched and not over.
    pub in_flight: AtomicUsize,
    stop: AtomicBool,
    workers: Mutex<Vec<std::thread::JoinHandle<()>>>,
    failures: Mutex<Vec<ExecError>>,
    reports: Mutex<Vec<FpReport>>,
}

/// Most floating-point reports kept between two sync points.
const MOST_REPORTS: usize = 256;

pub static SCHEDULER: Scheduler = Scheduler {
    ready: Mutex::new(VecDeque::new()),
    changed: Condvar::new(),
    sleepers: AtomicUsize::new(0),
    in_flight: AtomicUsize::new(0),
    stop: AtomicBool::new(false),
    workers: Mutex::new(Vec::new()),
    failures: Mutex::new(Vec::new()),
    reports: Mutex::new(Vec::new()),
};

impl Scheduler {
    /// Starts the workers; one core is left to the caller, who helps (and to the utility thread).
    pub fn start(&'static self, cpus: usize) {
        let mut workers = self.workers.lock();
        self.stop.store(false, Ordering::Release);
        while workers.len() + 1 < cpus {
            let name = format!("numloom-cpu-{}", workers.len());
            match std::thread::Builder::new().name(name).spawn(move || self.work()) {
                Ok(h) => workers.push(h),
                Err(_) => break,
            }
        }
    }

    /// Forgets the threads of the parent after a fork; they do not exist here.
    pub fn forget_workers(&'static self) {
        self.workers.lock().drain(..).for_each(std::mem::forget);
        self.sleepers.store(0, Ordering::Release);
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

    /// Takes over a task whose edges are all drawn.
    pub fn launch(&self, task: &Arc<Task>) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        if task.arrive() {
            self.push(task.clone());
        }
    }

    fn push(&self, task: Arc<Task>) {
        self.ready.lock().push_back(task);
        self.wake();
    }

    fn wake(&self) {
        if self.sleepers.load(Ordering::Acquire) > 0 {
            self.changed.notify_all();
        }
    }

    fn work(&self) {
        while !self.stop.load(Ordering::Acquire) {
            if !self.help() {
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
        self.help_until(None)
    }

    /// As `help`, but leaves a task to others after the first tile that ends past `end`.
    fn help_until(&self, end: Option<Instant>) -> bool {
        let task = {
            let mut ready = self.ready.lock();
            loop {
                let Some(front) = ready.front() else { return false };
                match front.prepared.get() {
                    // Not bound to memory yet: whoever takes it does that, alone.
                    None => match ready.pop_front() {
                        Some(t) => break t,
                        None => return false,
                    },
                    Some(p) if front.has_tiles(p) => break front.clone(),
                    Some(_) => {
                        ready.pop_front();
                    }
                }
            }
        };
        self.run(&task, end);
        true
    }

    fn run(&self, task: &Arc<Task>, end: Option<Instant>) {
        if task.prepared.get().is_none() {
            let made = catch_unwind(AssertUnwindSafe(|| prepare::prepare(task)));
            let made = match made {
                Ok(Ok(p)) => p,
                Ok(Err(e)) => {
                    task.fail(e);
                    Prepared::Done
                }
                Err(panic) => {
                    task.fail(task.failure(ErrorKind::Internal, panic_text(&panic)));
                    Prepared::Done
                }
            };
            let _ = task.prepared.set(made);
            let Some(p) = task.prepared.get() else { return };
            match task.tiles(p, 0) {
                0 => self.advance(task, p, 0),
                1 => {}
                _ => {
                    self.ready.lock().push_front(task.clone());
                    self.wake();
                }
            }
        }
        let Some(p) = task.prepared.get() else { return };
        while let Some((phase, tile)) = task.claim(|phase| task.tiles(p, phase)) {
            self.run_tile(task, p, phase, tile);
            if task.finish_tile(task.tiles(p, phase)) {
                self.advance(task, p, phase + 1);
            } else if end.is_some_and(|e| Instant::now() > e) {
                // With tiles left, the task still stands in the queue.
                return;
            }
        }
    }

    fn run_tile(&self, task: &Task, p: &Prepared, phase: usize, tile: usize) {
        if task.error.lock().is_some() {
            return;
        }
        let ran = catch_unwind(AssertUnwindSafe(|| match p {
            // SAFETY: the analysis ordered this task after everything that touches what it writes.
            Prepared::Launch(l) => {
                let flags = unsafe { l.run(phase, tile) };
                task.flags.fetch_or(flags, Ordering::Relaxed);
                Ok(())
            }
            // SAFETY: as above.
            Prepared::Chain(c) => {
                let flags = unsafe { c.run(tile) };
                task.flags.fetch_or(flags, Ordering::Relaxed);
                Ok(())
            }
            Prepared::Library { own, args, .. } => {
                let mut flags = 0;
                // SAFETY: as above; the operation stays in place until the task retires.
                let ran = unsafe {
                    let op = own.as_deref().unwrap_or_else(|| &*task.library());
                    run_tile(op, args, phase, tile, &mut flags)
                };
                task.flags.fetch_or(flags, Ordering::Relaxed);
                ran
            }
            Prepared::Done => Ok(()),
        }));
        match ran {
            Ok(Ok(())) => {}
            Ok(Err(e)) => task.fail(library_failure(task, e)),
            Err(panic) => task.fail(task.failure(ErrorKind::Internal, panic_text(&panic))),
        }
    }

    /// Opens the next phase that has tiles, or retires the task.
    fn advance(&self, task: &Arc<Task>, p: &Prepared, mut phase: usize) {
        while phase < task.phases(p) && task.tiles(p, phase) == 0 {
            phase += 1;
        }
        if phase >= task.phases(p) {
            return self.retire(task);
        }
        task.open_phase(phase);
        if task.tiles(p, phase) > 1 {
            self.ready.lock().push_front(task.clone());
            self.wake();
        }
    }

    fn retire(&self, task: &Arc<Task>) {
        let reports = task.fp_reports();
        if !reports.is_empty() {
            let mut kept = self.reports.lock();
            let room = MOST_REPORTS.saturating_sub(kept.len());
            kept.extend(reports.into_iter().take(room));
        }
        let error = task.error.lock().take();
        let ops = std::mem::take(&mut *task.ops.lock());
        if let Some(e) = error {
            let e = Arc::new(e);
            let mut known = false;
            for op in &ops {
                known |= op.reads().any(|p| p.store.is_broken());
                for (_, p) in op.outs.iter().enumerate().filter(|(k, _)| op.fresh >> (*k).min(7) & 1 == 1) {
                    let _ = p.store.error.set(e.clone());
                }
            }
            if !known {
                self.failures.lock().push((*e).clone());
            }
        }
        task.payload.lock().take();
        for op in &ops {
            op.withdraw();
        }
        let next = task.release();
        drop(ops);
        for t in next {
            self.ready.lock().push_back(t);
        }
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        stats::count(&stats::TASKS, 1);
        let _guard = self.ready.lock();
        self.wake();
    }

    /// Helps until `over` holds; asks `interrupted` now and then. False when interrupted.
    pub fn wait(&self, over: impl Fn() -> bool, interrupted: impl Fn() -> bool) -> bool {
        const PATIENCE: Duration = Duration::from_millis(50);
        let mut end = Instant::now() + PATIENCE;
        loop {
            if over() {
                return true;
            }
            if Instant::now() > end {
                if interrupted() {
                    return false;
                }
                end = Instant::now() + PATIENCE;
            }
            if self.help_until(Some(end)) {
                continue;
            }
            let mut ready = self.ready.lock();
            if over() {
                return true;
            }
            if ready.is_empty() {
                self.sleepers.fetch_add(1, Ordering::AcqRel);
                self.changed.wait_for(&mut ready, Duration::from_millis(20));
                self.sleepers.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// The oldest failure nobody has been told about.
    pub fn take_failure(&self) -> Option<ExecError> {
        let mut f = self.failures.lock();
        if f.is_empty() { None } else { Some(f.remove(0)) }
    }

    /// A failure that was raised through its own array is not raised again.
    pub fn forget_failure(&self, e: &ExecError) {
        self.failures.lock().retain(|f| f != e);
    }

    pub fn take_reports(&self) -> Vec<FpReport> {
        std::mem::take(&mut *self.reports.lock())
    }
}

fn library_failure(task: &Task, e: numloom_library::LibraryError) -> ExecError {
    use numloom_library::LibraryError::*;
    match e {
        Index(m) => task.failure(ErrorKind::Index, m),
        Value(m) => task.failure(ErrorKind::Value, m),
        LinAlg(m) => task.failure(ErrorKind::LinAlg, m),
        Memory(m) => task.failure(ErrorKind::OutOfMemory, m),
    }
}

fn panic_text(panic: &Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a task panicked".into())
}

impl Task {
    fn phases(&self, p: &Prepared) -> usize {
        match p {
            Prepared::Launch(l) => l.phases().len(),
            Prepared::Chain(_) => 1,
            Prepared::Library { phases, .. } => phases.len(),
            Prepared::Done => 0,
        }
    }

    fn tiles(&self, p: &Prepared, phase: usize) -> usize {
        match p {
            Prepared::Launch(l) => l.phases().get(phase).copied().unwrap_or(0),
            Prepared::Chain(c) => {
                if phase == 0 {
                    c.tiles()
                } else {
                    0
                }
            }
            Prepared::Library { phases, .. } => phases.get(phase).copied().unwrap_or(0),
            Prepared::Done => 0,
        }
    }

    fn has_tiles(&self, p: &Prepared) -> bool {
        self.peek(|phase| self.tiles(p, phase))
    }

    /// The library operation of an opaque task. It stays in place until retirement.
    fn library(&self) -> *const dyn numloom_library::LibraryOp {
        let ops = self.ops.lock();
        match ops.first().map(|o| &o.kind) {
            Some(Kind::Library(op)) => &**op as *const _,
            _ => unreachable!("only library operations are prepared as such"),
        }
    }
}
