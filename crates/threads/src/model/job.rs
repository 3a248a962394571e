//! A job that checks what the scheduler promises to jobs, and says so by a panic that the model cannot miss.
//! Its counters are points to switch threads at. It must not yield: that would undo the priorities by which
//! `PctScheduler` finds what few preemptions decide.

use crate::primitives::atomic::{AtomicUsize, Ordering};
use crate::{Job, Scheduler, Task};
use shuttle::rand::Rng;
use std::sync::Arc;

/// Where a job goes wrong on purpose.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Trouble {
    None,
    BindFails,
    BindPanics,
    /// In a phase, for its tile 0.
    TileFails(usize),
    TilePanics(usize),
}

const PLANNED: &str = "planned";

pub struct Checked {
    scheduler: &'static Scheduler<Checked>,
    phases: &'static [usize],
    trouble: Trouble,
    after: Vec<Arc<Task<Checked>>>,
    bound: AtomicUsize,
    /// Times each tile of each phase was begun, and was finished.
    begun: Vec<Vec<AtomicUsize>>,
    finished: Vec<Vec<AtomicUsize>>,
    retired: AtomicUsize,
}

impl Checked {
    /// A task that follows those in `after`; not launched yet.
    pub fn task(
        scheduler: &'static Scheduler<Checked>,
        phases: &'static [usize],
        trouble: Trouble,
        after: &[&Arc<Task<Checked>>],
    ) -> Arc<Task<Checked>> {
        let zeros = || phases.iter().map(|&n| (0..n).map(|_| AtomicUsize::new(0)).collect()).collect();
        let task = Arc::new(Task::new(Checked {
            scheduler,
            phases,
            trouble,
            after: after.iter().map(|t| (*t).clone()).collect(),
            bound: AtomicUsize::new(0),
            begun: zeros(),
            finished: zeros(),
            retired: AtomicUsize::new(0),
        }));
        for t in after {
            task.follow(t);
        }
        task
    }

    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::SeqCst) == 1
    }

    /// Everything that had to happen did, once.
    pub fn check_over(&self) {
        assert_eq!(self.bound.load(Ordering::SeqCst), 1, "bound once");
        assert_eq!(self.retired.load(Ordering::SeqCst), 1, "retired once");
        if self.trouble == Trouble::None {
            self.check_phases_before(self.phases.len());
        }
    }

    fn check_phases_before(&self, end: usize) {
        for tile in self.finished[..end].iter().flatten() {
            assert_eq!(tile.load(Ordering::SeqCst), 1, "every tile of an earlier phase ran once");
        }
    }

    fn go_wrong(&self, failing: Trouble, panicking: Trouble) -> Result<(), &'static str> {
        if self.trouble == panicking {
            // Unlike `panic!`, no hook runs: nothing is printed thousands of times.
            std::panic::resume_unwind(Box::new(PLANNED));
        }
        if self.trouble == failing { Err(PLANNED) } else { Ok(()) }
    }
}

impl Job for Checked {
    type Bound = &'static [usize];
    type Error = &'static str;

    fn bind(&self) -> Result<Self::Bound, Self::Error> {
        assert_eq!(self.bound.fetch_add(1, Ordering::SeqCst), 0, "bound once");
        for t in &self.after {
            assert!(t.job.is_retired(), "predecessors are over");
        }
        self.go_wrong(Trouble::BindFails, Trouble::BindPanics)?;
        Ok(self.phases)
    }

    /// Rightly or not: nothing may depend on it.
    fn waits_for_others(&self, _: bool) -> bool {
        shuttle::rand::thread_rng().gen_bool(0.3)
    }

    /// Rightly or not, too.
    fn is_short(&self) -> bool {
        shuttle::rand::thread_rng().gen_bool(0.3)
    }

    fn phases(bound: &Self::Bound) -> &[usize] {
        bound
    }

    fn run(&self, _: &Self::Bound, phase: usize, tile: usize) -> Result<(), Self::Error> {
        assert_eq!(self.begun[phase][tile].fetch_add(1, Ordering::SeqCst), 0, "a tile runs once");
        assert_eq!(self.retired.load(Ordering::SeqCst), 0, "not retired yet");
        if self.trouble == Trouble::None {
            self.check_phases_before(phase);
        }
        for later in self.begun[phase + 1..].iter().flatten() {
            assert_eq!(later.load(Ordering::SeqCst), 0, "no tile of a later phase runs");
        }
        if tile == 0 {
            self.go_wrong(Trouble::TileFails(phase), Trouble::TilePanics(phase))?;
        }
        self.finished[phase][tile].fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Called outside of what catches panics, so that a failed check ends the model.
    fn panicked(&self, message: String) -> Self::Error {
        assert_eq!(message, PLANNED, "a check failed inside a job");
        PLANNED
    }

    fn retire(&self, error: Option<Self::Error>) {
        assert!(self.scheduler.in_flight() > 0, "counted until it is over");
        assert_eq!(error.is_some(), self.trouble != Trouble::None, "the error arrives");
        for (begun, finished) in self.begun.iter().flatten().zip(self.finished.iter().flatten()) {
            let (begun, finished) = (begun.load(Ordering::SeqCst), finished.load(Ordering::SeqCst));
            assert!(begun == finished || self.trouble != Trouble::None, "nothing runs any more");
        }
        assert_eq!(self.retired.fetch_add(1, Ordering::SeqCst), 0, "retired once");
    }
}
