//! Models of the memory orderings: `task.rs` once more, over the primitives of `loom`, which lets every load see
//! whatever the orderings allow and reports two accesses to one cell that nothing orders.

mod primitives;
#[path = "../task.rs"]
#[allow(dead_code, clippy::duplicate_mod)]
mod task;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc;
use task::{Job, Task};

/// Plain memory that a tile writes and the next phase, retirement and the successors read.
struct Cells {
    phases: &'static [usize],
    /// One for each tile of the first phase.
    cells: Vec<UnsafeCell<usize>>,
    /// What the predecessor wrote.
    before: Option<Arc<Task<Cells>>>,
    retired: AtomicUsize,
}

// SAFETY: that the cells are used in turn is what the models check.
unsafe impl Sync for Cells {}
// SAFETY: as above.
unsafe impl Send for Cells {}

impl Cells {
    fn task(phases: &'static [usize], before: Option<&Arc<Task<Cells>>>) -> Arc<Task<Cells>> {
        let task = Arc::new(Task::new(Cells {
            phases,
            cells: (0..phases[0]).map(|_| UnsafeCell::new(0)).collect(),
            before: before.cloned(),
            retired: AtomicUsize::new(0),
        }));
        before.into_iter().for_each(|b| task.follow(b));
        task
    }

    fn sum(&self) -> usize {
        // SAFETY: checked by loom.
        self.cells.iter().map(|c| c.with(|c| unsafe { *c })).sum()
    }
}

impl Job for Cells {
    type Bound = &'static [usize];
    type Error = ();

    fn bind(&self) -> Result<Self::Bound, ()> {
        if let Some(before) = &self.before {
            assert_eq!(before.job.sum(), before.job.phases[0], "what predecessors wrote is seen");
        }
        Ok(self.phases)
    }

    fn phases(bound: &Self::Bound) -> &[usize] {
        bound
    }

    fn run(&self, _: &Self::Bound, phase: usize, tile: usize) -> Result<(), ()> {
        if phase == 0 {
            // SAFETY: checked by loom.
            self.cells[tile].with_mut(|c| unsafe { *c += 1 });
        } else {
            assert_eq!(self.sum(), self.phases[0], "what the first phase wrote is seen, once");
        }
        Ok(())
    }

    fn panicked(&self, message: String) {
        panic!("a check failed inside a job: {message}");
    }

    fn retire(&self, error: Option<()>) {
        assert!(error.is_none());
        assert_eq!(self.sum(), self.phases[0], "what tiles wrote is seen");
        self.retired.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs tiles while there are any, as a worker does that found the task in the queue; the successors it made ready.
fn join(task: &Arc<Task<Cells>>) -> Vec<Arc<Task<Cells>>> {
    let mut ready = Vec::new();
    while let Some((phase, tile)) = task.claim() {
        if task.run(phase, tile) {
            ready.extend(advance(task, phase + 1));
        }
    }
    ready
}

fn advance(task: &Arc<Task<Cells>>, phase: usize) -> Vec<Arc<Task<Cells>>> {
    match task.phase_from(phase) {
        Some(phase) => {
            task.open_phase(phase);
            Vec::new()
        }
        None => task.retire(),
    }
}

/// Binds a ready task and opens its first phase.
fn begin(task: &Arc<Task<Cells>>) {
    assert!(task.arrive());
    task.bind();
    advance(task, 0);
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Three threads go through the phases with nothing but the task between them.
#[test]
fn a_phase_sees_what_the_one_before_wrote() {
    check(|| {
        let task = Cells::task(&[2, 0, 2], None);
        begin(&task);
        let others = [0, 1].map(|_| {
            let task = task.clone();
            thread::spawn(move || drop(join(&task)))
        });
        join(&task);
        others.into_iter().for_each(|o| o.join().unwrap());
        assert_eq!(task.job.retired.load(Ordering::Relaxed), 1);
    });
}

/// Two predecessors end on two threads; whoever ends last starts the successor.
#[test]
fn a_successor_sees_what_its_predecessors_wrote() {
    check(|| {
        let (first, second) = (Cells::task(&[1], None), Cells::task(&[1], None));
        let last = Cells::task(&[1], Some(&first));
        last.follow(&second);
        assert!(!last.arrive());
        let run = |task: Arc<Task<Cells>>| {
            move || {
                begin(&task);
                for next in join(&task) {
                    assert_eq!(task.job.sum(), 1);
                    next.bind();
                    advance(&next, 0);
                    join(&next);
                }
            }
        };
        let other = thread::spawn(run(second));
        run(first)();
        other.join().unwrap();
        assert_eq!(last.job.retired.load(Ordering::Relaxed), 1);
    });
}

/// An edge drawn while the predecessor retires: the successor starts exactly once, and after it.
#[test]
fn an_edge_is_seen_by_the_retirement_or_not_drawn() {
    check(|| {
        let first = Cells::task(&[1], None);
        let other = {
            let first = first.clone();
            thread::spawn(move || {
                begin(&first);
                join(&first)
            })
        };
        let last = Cells::task(&[1], Some(&first));
        let mine = last.arrive();
        if mine {
            last.bind();
        }
        let theirs = other.join().unwrap();
        assert_eq!(theirs.len() + usize::from(mine), 1);
        theirs.iter().for_each(|t| t.bind());
    });
}
