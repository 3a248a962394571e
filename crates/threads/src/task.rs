//! A task: what is launched. It waits for its predecessors, is bound to memory by the first worker that takes
//! it, run tile by tile by any number of workers, and retired by the last.

use super::primitives::Mutex;
use super::primitives::OnceLock;
use super::primitives::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a task does. A task calls `bind` once, after its predecessors are over; then `run` once for every tile, from
/// any thread, a phase only after all tiles of the one before; then `retire` once, before its successors start.
/// After an error or a panic the tiles that are left are skipped; the task still retires.
pub trait Job: Send + Sync + 'static {
    /// The job with its memory.
    type Bound: Send + Sync;
    type Error: Send;

    /// Nothing is left that it waits for.
    fn ready(&self) {}

    /// Whether it had better not begin while others run, whose memory it could take over once they are over; `behind`:
    /// one launched earlier waits for that. Asked under the scheduler's lock.
    fn waits_for_others(&self, _behind: bool) -> bool {
        false
    }

    /// It was chosen to be bound next. Under the scheduler's lock.
    fn chosen(&self) {}

    fn bind(&self) -> Result<Self::Bound, Self::Error>;

    /// Whether it is likely over before another thread would be awake to help. Asked once, after `bind`.
    fn is_short(&self) -> bool {
        false
    }

    /// A thread comes to run tiles of it, and leaves when there are none for it any more. For those who watch.
    fn entered(&self) {}
    fn left(&self) {}

    /// The number of tiles of every phase.
    fn phases(bound: &Self::Bound) -> &[usize];

    fn run(&self, bound: &Self::Bound, phase: usize, tile: usize) -> Result<(), Self::Error>;

    /// The error that a panic with this message becomes.
    fn panicked(&self, message: String) -> Self::Error;

    /// Ends the job; `error` is the first there was. Must not panic.
    fn retire(&self, error: Option<Self::Error>);
}

pub struct Task<J: Job> {
    pub job: J,
    /// Its place among all that were launched.
    number: AtomicU64,
    /// Predecessors that are not over, plus one while the task is being built.
    waits: AtomicUsize,
    /// Tasks that wait for this one; `None` once it is over.
    successors: Mutex<Option<Vec<Arc<Task<J>>>>>,
    /// Set once; `None` inside when binding failed, so that there is nothing to run.
    bound: OnceLock<Option<J::Bound>>,
    /// The thread that bound it, or that ended the phase before, runs the tiles by itself: it stands in no queue.
    alone: AtomicBool,
    /// Phase in the high half, next tile in the low half: claimed together.
    cursor: AtomicU64,
    /// Tiles of the current phase that are finished.
    done: AtomicUsize,
    /// The error of the earliest tile that had one, and which tile of which phase that is.
    error: Mutex<Option<((usize, usize), J::Error)>>,
}

impl<J: Job> Task<J> {
    pub fn new(job: J) -> Task<J> {
        Task {
            job,
            number: AtomicU64::new(0),
            waits: AtomicUsize::new(1),
            successors: Mutex::new(Some(Vec::new())),
            bound: OnceLock::new(),
            alone: AtomicBool::new(false),
            cursor: AtomicU64::new(0),
            done: AtomicUsize::new(0),
            error: Mutex::new(None),
        }
    }

    /// Makes `self` wait for `earlier`, unless that is over already. Only before `self` is launched.
    pub fn follow(self: &Arc<Self>, earlier: &Arc<Self>) {
        if Arc::ptr_eq(self, earlier) {
            return;
        }
        if let Some(list) = earlier.successors.lock().as_mut() {
            self.waits.fetch_add(1, Ordering::Relaxed);
            list.push(self.clone());
        }
    }

    pub(super) fn number(&self, number: u64) {
        self.number.store(number, Ordering::Relaxed);
    }

    pub(super) fn earlier_than(&self, other: &Self) -> bool {
        self.number.load(Ordering::Relaxed) < other.number.load(Ordering::Relaxed)
    }

    pub fn is_over(&self) -> bool {
        self.successors.lock().is_none()
    }

    /// One thing less to wait for; true when that was the last.
    pub(super) fn arrive(&self) -> bool {
        let last = self.waits.fetch_sub(1, Ordering::AcqRel) == 1;
        if last {
            self.job.ready();
        }
        last
    }

    /// Binds the job. Only the worker that took the ready task calls this, once.
    pub(super) fn bind(&self) {
        let bound = self.attempt((0, 0), || self.job.bind());
        let _ = self.bound.set(bound);
        self.alone.store(self.job.is_short(), Ordering::Release);
    }

    /// Whether one thread has it for itself.
    pub(super) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Acquire)
    }

    /// It took longer than was thought; true when it is the first to say so.
    pub(super) fn share(&self) -> bool {
        self.alone.swap(false, Ordering::AcqRel)
    }

    pub(super) fn is_bound(&self) -> bool {
        self.bound.get().is_some()
    }

    fn bound(&self) -> Option<&J::Bound> {
        self.bound.get()?.as_ref()
    }

    /// The first phase from `phase` on that has tiles.
    pub(super) fn phase_from(&self, phase: usize) -> Option<usize> {
        let phases = J::phases(self.bound()?);
        (phase..phases.len()).find(|&p| phases[p] > 0)
    }

    pub(super) fn tiles(&self, phase: usize) -> usize {
        self.bound().and_then(|b| J::phases(b).get(phase).copied()).unwrap_or(0)
    }

    /// Opens a phase. Only the worker that bound the task or finished the last tile of a phase calls this.
    pub(super) fn open_phase(&self, phase: usize) {
        self.done.store(0, Ordering::Release);
        // Not a plain store: `loom` would not know that it comes after additions that claimed nothing.
        self.cursor.swap((phase as u64) << 32, Ordering::AcqRel);
    }

    /// Whether a tile of the current phase is still to be claimed.
    pub(super) fn has_tiles(&self) -> bool {
        let (phase, tile) = halves(self.cursor.load(Ordering::Acquire));
        tile < self.tiles(phase)
    }

    /// The next tile to run, as (phase, tile), if one is left in this phase.
    pub(super) fn claim(&self) -> Option<(usize, usize)> {
        if !self.has_tiles() {
            return None;
        }
        let (phase, tile) = halves(self.cursor.fetch_add(1, Ordering::AcqRel));
        (tile < self.tiles(phase)).then_some((phase, tile))
    }

    /// Runs a claimed tile, unless one before it has failed; true when it was the last of its phase. Which tile fails is
    /// so the same in every run: those before it were claimed before it.
    pub(super) fn run(&self, phase: usize, tile: usize) -> bool {
        let Some(bound) = self.bound() else { return false };
        let at = (phase, tile);
        let goes_on = self.error.lock().as_ref().is_none_or(|(failed, _)| at < *failed);
        if goes_on {
            self.attempt(at, || self.job.run(bound, phase, tile));
        }
        self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.tiles(phase)
    }

    /// Ends the task and answers the successors that became ready.
    pub(super) fn retire(&self) -> Vec<Arc<Task<J>>> {
        let error = self.error.lock().take();
        self.job.retire(error.map(|(_, error)| error));
        let list = self.successors.lock().take().unwrap_or_default();
        list.into_iter().filter(|t| t.arrive()).collect()
    }

    /// What `work` answers. An error or a panic fails the task, if none is earlier.
    fn attempt<T>(&self, at: (usize, usize), work: impl FnOnce() -> Result<T, J::Error>) -> Option<T> {
        let error = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(error)) => error,
            Err(panic) => self.job.panicked(message(&*panic)),
        };
        let mut first = self.error.lock();
        if first.as_ref().is_none_or(|(failed, _)| at < *failed) {
            *first = Some((at, error));
        }
        None
    }
}

fn halves(cursor: u64) -> (usize, usize) {
    ((cursor >> 32) as usize, cursor as u32 as usize)
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a task panicked".into())
}
