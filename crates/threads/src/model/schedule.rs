//! Models of the scheduler: exactly once, in order, and nobody sleeps for ever.

use super::check;
use super::job::{Checked, Trouble};
use crate::{Job, Scheduler, Task};
use shuttle::rand::Rng;
use shuttle::thread;
use std::sync::Arc;

type Tasks = Vec<Arc<Task<Checked>>>;

/// A scheduler with `workers` threads for the time of `body`; afterwards everything must have stopped.
pub fn with_workers<J: Job>(workers: usize, body: impl FnOnce(&'static Scheduler<J>)) {
    let raw = Box::into_raw(Box::new(Scheduler::new()));
    // SAFETY: freed below, after the threads that use it have been joined.
    let scheduler: &'static Scheduler<J> = unsafe { &*raw };
    scheduler.start(workers + 1, workers > 1);
    body(scheduler);
    scheduler.stop();
    assert_eq!(scheduler.in_flight(), 0);
    assert!(!scheduler.help(), "nothing is left to do");
    // SAFETY: made above; no thread is left.
    drop(unsafe { Box::from_raw(raw) });
}

/// For a thread that waits next: it may say so.
pub fn may_stay() -> bool {
    shuttle::rand::thread_rng().gen_range(0..2) == 0
}

pub fn wait_for_all<J: Job>(scheduler: &Scheduler<J>) {
    assert!(scheduler.wait(|| scheduler.in_flight() == 0, || false));
}

fn check_over(tasks: &Tasks) {
    for t in tasks {
        assert!(t.is_over());
        t.job.check_over();
    }
}

/// Phases of every kind: many tiles, one, none.
fn diamond(scheduler: &'static Scheduler<Checked>, trouble: Trouble) -> Tasks {
    let top = Checked::task(scheduler, &[2, 1], trouble, &[]);
    let left = Checked::task(scheduler, &[1, 0, 3], Trouble::None, &[&top]);
    let right = Checked::task(scheduler, &[], Trouble::None, &[&top]);
    let bottom = Checked::task(scheduler, &[2], Trouble::None, &[&left, &right]);
    vec![top, left, right, bottom]
}

fn run_diamond(workers: usize, trouble: Trouble) {
    with_workers(workers, |scheduler| {
        let tasks = diamond(scheduler, trouble);
        tasks.iter().for_each(|t| scheduler.launch(t, may_stay()));
        wait_for_all(scheduler);
        check_over(&tasks);
    });
}

#[test]
fn a_diamond_runs_once_and_in_order() {
    check(|| run_diamond(2, Trouble::None));
}

#[test]
fn callers_without_workers_run_everything() {
    check(|| {
        with_workers(0, |scheduler| {
            let tasks = diamond(scheduler, Trouble::None);
            tasks.iter().for_each(|t| scheduler.launch(t, may_stay()));
            let other = thread::spawn(|| wait_for_all(scheduler));
            wait_for_all(scheduler);
            other.join().unwrap();
            check_over(&tasks);
        });
    });
}

#[test]
fn workers_finish_without_the_caller() {
    check(|| {
        with_workers(3, |scheduler| {
            let tasks = diamond(scheduler, Trouble::None);
            tasks.iter().for_each(|t| scheduler.launch(t, false));
            while scheduler.in_flight() > 0 {
                thread::yield_now();
            }
            check_over(&tasks);
        });
    });
}

#[test]
fn tiles_of_one_task_are_shared() {
    check(|| {
        with_workers(3, |scheduler| {
            let task = Checked::task(scheduler, &[3, 2, 3], Trouble::None, &[]);
            scheduler.launch(&task, may_stay());
            wait_for_all(scheduler);
            task.job.check_over();
        });
    });
}

/// A later window: its edges are drawn while the tasks it follows run and retire.
#[test]
fn edges_are_drawn_while_predecessors_retire() {
    check(|| {
        with_workers(2, |scheduler| {
            let mut tasks: Tasks = Vec::new();
            for i in 0..4 {
                let recent: Vec<_> = tasks.iter().rev().take(2).collect();
                let task = Checked::task(scheduler, if i % 2 == 0 { &[1] } else { &[2] }, Trouble::None, &recent);
                scheduler.launch(&task, may_stay());
                tasks.push(task);
            }
            wait_for_all(scheduler);
            check_over(&tasks);
        });
    });
}

#[test]
fn a_task_that_fails_retires_and_its_successors_run() {
    check(|| {
        let troubles = [
            Trouble::BindFails,
            Trouble::BindPanics,
            Trouble::TileFails(0),
            Trouble::TilePanics(0),
            Trouble::TileFails(1),
            Trouble::TilePanics(1),
        ];
        let trouble = troubles[shuttle::rand::thread_rng().gen_range(0..troubles.len())];
        run_diamond(2, trouble);
    });
}

/// Each of two callers waits for a task of its own; the other may be the one who finishes it.
#[test]
fn no_wake_up_is_lost() {
    check(|| {
        with_workers(1, |scheduler| {
            let first = Checked::task(scheduler, &[2], Trouble::None, &[]);
            let second = Checked::task(scheduler, &[1], Trouble::None, &[&first]);
            let wait = |task: &Arc<Task<Checked>>| {
                let task = task.clone();
                thread::spawn(move || assert!(scheduler.wait(|| task.job.is_retired(), || false)))
            };
            let callers = [wait(&first), wait(&second)];
            scheduler.launch(&first, false);
            scheduler.launch(&second, false);
            callers.into_iter().for_each(|c| c.join().unwrap());
            wait_for_all(scheduler);
            check_over(&vec![first, second]);
        });
    });
}

/// A caller that is interrupted goes away at any time; what it leaves is finished by others.
#[test]
fn an_interrupted_caller_leaves_nothing_behind() {
    check(|| {
        with_workers(1, |scheduler| {
            let task = Checked::task(scheduler, &[3, 2], Trouble::None, &[]);
            scheduler.launch(&task, may_stay());
            let over = scheduler.wait(|| task.job.is_retired(), || true);
            assert!(!over || task.job.is_retired());
            while scheduler.in_flight() > 0 {
                thread::yield_now();
            }
            task.job.check_over();
        });
    });
}
