//! Programs that deferring gains nothing: middling operations on data that is there run on the caller's thread like small
//! ones. They are those that want every result at once, for as long as sync points follow one another so closely; and
//! those whose windows become about as many tasks as operations, all of them short. A task costs some microseconds to
//! plan, launch and bind, which it must save.

use crate::plan::{TaskPlan, TaskWork};
use crate::reserved;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Elements of the largest operation that runs at once then, over those of a small one: tens of microseconds of work.
const MIDDLING: usize = 8;
/// The same of light operations where results are wanted at once: two threads would not make up for the task.
const WAITED: usize = 32;
/// The same of those that give one value, which read and do not write.
const READ: usize = 64;
/// Operations between two sync points that are few.
const FEW: u32 = 4;
/// Sync points with few operations before them, one after another, that make a habit.
const HABIT: u32 = 8;

/// Tasks of a window that tell what the program is like, and operations of each that save little.
const MANY: usize = 16;
const EACH: usize = 3;
/// Operations that run at once after such a window, before one is recorded again to see.
const FOR_LONG: u32 = 1 << 12;

/// How many of these are left.
static LEFT: AtomicU32 = AtomicU32::new(0);
/// Operations above the small ones since the last sync point.
static SINCE: AtomicU32 = AtomicU32::new(0);
/// Sync points one after another that had few of them.
static STREAK: AtomicU32 = AtomicU32::new(0);

// Counted by whoever comes: a lost count of two threads is as good as any.

/// An operation that is not small was recorded, or ran at once.
#[inline]
pub fn operation() {
    let since = SINCE.load(Relaxed) + 1;
    SINCE.store(since, Relaxed);
    if since > FEW {
        STREAK.store(0, Relaxed);
    }
}

/// So many operations of a window became these tasks.
pub fn window(tasks: &[TaskPlan], operations: usize) {
    let mut short = 0;
    for t in tasks {
        match &t.work {
            TaskWork::Fused(f) if is_middling(f.domain.iter().product()) => short += 1,
            TaskWork::Opaque => {}
            _ => return,
        }
    }
    if short >= MANY && operations <= EACH * tasks.len() {
        LEFT.store(FOR_LONG, Relaxed);
    }
}

/// The most elements of operations that would run at once if their arrays were there.
pub fn most() -> usize {
    let small = numloom_config::current().inline_size;
    if LEFT.load(Relaxed) > 0 && reserved::devices() == 0 { small * MIDDLING } else { small }
}

/// The most elements of operations that ever run at once.
#[inline]
pub fn most_ever() -> usize {
    numloom_config::current().inline_size.saturating_mul(READ)
}

/// The program waits for a result.
#[inline]
pub fn sync_point() {
    if SINCE.load(Relaxed) > 0 {
        STREAK.store(STREAK.load(Relaxed).saturating_add(1), Relaxed);
        SINCE.store(0, Relaxed);
    }
}

/// A value was computed or read at once. Who knows whether the program looks at it.
#[inline]
pub fn value() {
    SINCE.store(0, Relaxed);
}

/// Whether an operation on so many elements runs at once if its arrays are there.
#[inline]
pub fn runs_at_once(elements: usize) -> bool {
    elements <= numloom_config::current().inline_size || is_middling(elements) && is_habit()
}

/// Whether one does that takes no longer than reading and writing its elements, where others of its size do not.
pub fn light_runs_at_once(elements: usize) -> bool {
    let at_once = is_within(elements, WAITED) && !is_middling(elements) && wants_results();
    if at_once {
        operation();
    }
    at_once
}

/// Whether an operation on so many elements whose result is one value runs at once if its arrays are there: to launch it
/// and to fetch the value would take as long.
#[inline]
pub fn gives_value(elements: usize) -> bool {
    elements <= numloom_config::current().inline_size
        || is_middling(elements)
        || is_within(elements, READ) && wants_results()
}

/// Whether sync points have followed one another closely for a while.
#[inline]
pub fn wants_results() -> bool {
    STREAK.load(Relaxed) >= HABIT
}

/// Whether operations that could run at once may save something together: neither does the program wait for each, nor did
/// those before become as many tasks.
#[inline]
pub fn may_merge() -> bool {
    LEFT.load(Relaxed) == 0 && !wants_results()
}

fn is_middling(elements: usize) -> bool {
    is_within(elements, MIDDLING)
}

/// Whether these are at most so many times the elements of a small operation.
fn is_within(elements: usize, times: usize) -> bool {
    elements / times <= numloom_config::current().inline_size && reserved::devices() == 0
}

fn is_habit() -> bool {
    let left = LEFT.load(Relaxed);
    LEFT.store(left.saturating_sub(1), Relaxed);
    let habit = left > 0 || wants_results();
    if habit {
        operation();
    }
    habit
}
