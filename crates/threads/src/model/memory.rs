//! Models of binding with too little memory for all: whoever fits alone gets its turn, and nobody sleeps for ever.

use super::check;
use super::schedule::{may_stay, wait_for_all, with_workers};
use crate::primitives::atomic::{AtomicUsize, Ordering};
use crate::{Job, Scheduler, Task};
use shuttle::thread;
use std::sync::Arc;

/// Units of memory there are.
const LIMIT: usize = 4;

/// Takes units when it is bound and gives them back when it retires.
struct Hungry {
    scheduler: &'static Scheduler<Hungry>,
    used: Arc<AtomicUsize>,
    units: usize,
    phases: &'static [usize],
    held: AtomicUsize,
    retired: AtomicUsize,
}

impl Hungry {
    fn try_take(&self) -> bool {
        if self.used.fetch_add(self.units, Ordering::SeqCst) + self.units > LIMIT {
            self.used.fetch_sub(self.units, Ordering::SeqCst);
            return false;
        }
        true
    }

    /// As `make_room` of the runtime, but without a last try: that must not be needed.
    fn take(&self) -> bool {
        while !self.try_take() {
            if !self.scheduler.assist(1) {
                return false;
            }
        }
        true
    }
}

impl Job for Hungry {
    type Bound = &'static [usize];
    type Error = String;

    fn bind(&self) -> Result<Self::Bound, String> {
        if !self.take() {
            return Err("no memory".into());
        }
        self.held.store(self.units, Ordering::SeqCst);
        Ok(self.phases)
    }

    fn phases(bound: &Self::Bound) -> &[usize] {
        bound
    }

    fn run(&self, _: &Self::Bound, _: usize, _: usize) -> Result<(), String> {
        assert_eq!(self.held.load(Ordering::SeqCst), self.units, "runs with its memory");
        Ok(())
    }

    fn panicked(&self, message: String) -> String {
        panic!("a check failed inside a job: {message}");
    }

    fn retire(&self, error: Option<String>) {
        assert_eq!(error.is_some(), self.units > LIMIT, "fails when it does not fit alone, and only then");
        self.used.fetch_sub(self.held.swap(0, Ordering::SeqCst), Ordering::SeqCst);
        assert_eq!(self.retired.fetch_add(1, Ordering::SeqCst), 0, "retired once");
    }
}

/// Independent tasks, each with its units and phases; one caller waits, another needs what they hold.
fn run_hungry(workers: usize, tasks: &[(usize, &'static [usize])]) {
    with_workers(workers, |scheduler| {
        let used = Arc::new(AtomicUsize::new(0));
        let task = |&(units, phases)| {
            let (held, retired) = (AtomicUsize::new(0), AtomicUsize::new(0));
            Arc::new(Task::new(Hungry { scheduler, used: used.clone(), units, phases, held, retired }))
        };
        let tasks: Vec<_> = tasks.iter().map(task).collect();
        tasks.iter().for_each(|t| scheduler.launch(t, may_stay()));
        let other = thread::spawn(|| while scheduler.assist(0) {});
        wait_for_all(scheduler);
        other.join().unwrap();
        for t in &tasks {
            assert!(t.is_over());
            assert_eq!(t.job.retired.load(Ordering::SeqCst), 1, "retired once");
        }
        assert_eq!(used.load(Ordering::SeqCst), 0, "all given back");
    });
}

#[test]
fn whoever_fits_alone_is_bound() {
    check(|| run_hungry(2, &[(3, &[2]), (2, &[1]), (4, &[1, 2]), (2, &[])]));
}

#[test]
fn more_binders_than_memory_for_two() {
    check(|| run_hungry(3, &[(3, &[1]), (4, &[3]), (3, &[2]), (4, &[1]), (3, &[])]));
}

#[test]
fn who_never_fits_fails_alone() {
    check(|| run_hungry(2, &[(2, &[2]), (LIMIT + 1, &[1]), (3, &[1]), (4, &[2])]));
}

shuttle::thread_local! {
    /// Tasks that this thread binds or runs, as the runtime counts them.
    static INSIDE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Takes a unit when it is bound, and one more in each of its tiles.
struct Growing {
    scheduler: &'static Scheduler<Growing>,
    used: Arc<AtomicUsize>,
    tiles: &'static [usize],
    held: AtomicUsize,
}

impl Growing {
    fn take(&self) -> Result<(), String> {
        INSIDE.with(|inside| inside.set(inside.get() + 1));
        let taken = loop {
            if self.used.fetch_add(1, Ordering::SeqCst) < LIMIT {
                self.held.fetch_add(1, Ordering::SeqCst);
                break Ok(());
            }
            self.used.fetch_sub(1, Ordering::SeqCst);
            if !self.scheduler.assist(INSIDE.with(|inside| inside.get())) {
                break Err("no memory".into());
            }
        };
        INSIDE.with(|inside| inside.set(inside.get() - 1));
        taken
    }
}

impl Job for Growing {
    type Bound = &'static [usize];
    type Error = String;

    fn bind(&self) -> Result<Self::Bound, String> {
        self.take().map(|()| self.tiles)
    }

    fn phases(bound: &Self::Bound) -> &[usize] {
        bound
    }

    fn run(&self, _: &Self::Bound, _: usize, _: usize) -> Result<(), String> {
        self.take()
    }

    fn panicked(&self, message: String) -> String {
        panic!("a check failed inside a job: {message}");
    }

    fn retire(&self, _: Option<String>) {
        self.used.fetch_sub(self.held.swap(0, Ordering::SeqCst), Ordering::SeqCst);
    }
}

/// Tiles that wait for memory, also those that a thread runs while it waits itself: some fail, none sleeps for ever.
#[test]
fn tiles_that_need_more_come_to_an_end() {
    check(|| {
        with_workers(2, |scheduler| {
            let used = Arc::new(AtomicUsize::new(0));
            let task = |&tiles| Arc::new(Task::new(Growing { scheduler, used: used.clone(), tiles, held: 0.into() }));
            let tasks: Vec<_> = [[2usize].as_slice(), &[3], &[2, 1], &[1]].iter().map(task).collect();
            tasks.iter().for_each(|t| scheduler.launch(t, may_stay()));
            wait_for_all(scheduler);
            assert!(tasks.iter().all(|t| t.is_over()));
            assert_eq!(used.load(Ordering::SeqCst), 0, "all given back");
        });
    });
}

/// Takes units when it is bound, a temporary among them that it gives back when it retires.
struct Modest {
    scheduler: &'static Scheduler<Modest>,
    used: Arc<AtomicUsize>,
    promised: Arc<AtomicUsize>,
    units: usize,
    kept: usize,
    peak: usize,
}

impl Job for Modest {
    type Bound = &'static [usize];
    type Error = String;

    fn waits_for_others(&self, behind: bool) -> bool {
        // What is promised becomes used before it is promised no more.
        let promised = self.promised.load(Ordering::SeqCst);
        behind || self.used.load(Ordering::SeqCst) + promised + self.units > self.peak
    }

    fn chosen(&self) {
        self.promised.fetch_add(self.units, Ordering::SeqCst);
    }

    fn bind(&self) -> Result<Self::Bound, String> {
        let used = self.used.fetch_add(self.units, Ordering::SeqCst) + self.units;
        self.promised.fetch_sub(self.units, Ordering::SeqCst);
        assert!(used <= self.peak, "no more than one after another would need");
        Ok(&[2, 1])
    }

    fn phases(bound: &Self::Bound) -> &[usize] {
        bound
    }

    fn run(&self, _: &Self::Bound, _: usize, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn panicked(&self, message: String) -> String {
        panic!("a check failed inside a job: {message}");
    }

    fn retire(&self, _: Option<String>) {
        assert!(self.scheduler.in_flight() > 0);
        self.used.fetch_sub(self.units - self.kept, Ordering::SeqCst);
    }
}

/// Tasks with the units they take and those they keep, launched in order: they need no more than one after another.
fn run_modest(workers: usize, tasks: &[(usize, usize)]) {
    with_workers(workers, |scheduler| {
        let (used, promised) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut kept_so_far = 0;
        let mut peak = 0;
        for (units, kept) in tasks {
            peak = peak.max(kept_so_far + units);
            kept_so_far += kept;
        }
        for &(units, kept) in tasks {
            let (used, promised) = (used.clone(), promised.clone());
            let task = Arc::new(Task::new(Modest { scheduler, used, promised, units, kept, peak }));
            scheduler.launch(&task, may_stay());
        }
        wait_for_all(scheduler);
        assert_eq!((used.load(Ordering::SeqCst), promised.load(Ordering::SeqCst)), (kept_so_far, 0));
    });
}

#[test]
fn one_that_waits_for_others_takes_over_their_memory() {
    check(|| run_modest(2, &[(3, 0), (3, 1), (2, 0), (2, 1)]));
}

#[test]
fn so_do_more_of_them() {
    check(|| run_modest(3, &[(1, 0), (2, 0), (2, 0), (1, 1), (1, 0)]));
}
