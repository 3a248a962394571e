//! Programs that want every result at once. Deferring gains them nothing, so that middling operations on data that is
//! there run on the caller's thread like small ones, for as long as sync points follow one another so closely.

use crate::reserved;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Elements of the largest operation that runs at once then, over those of a small one: tens of microseconds of work.
const MIDDLING: usize = 8;
/// Operations between two sync points that are few.
const FEW: u32 = 4;
/// Sync points with few operations before them, one after another, that make a habit.
const HABIT: u32 = 8;

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

/// The program waits for a result.
#[inline]
pub fn sync_point() {
    if SINCE.load(Relaxed) > 0 {
        STREAK.store(STREAK.load(Relaxed).saturating_add(1), Relaxed);
        SINCE.store(0, Relaxed);
    }
}

/// A value was computed at once. Who knows whether the program looks at it.
#[inline]
pub fn value() {
    SINCE.store(0, Relaxed);
}

/// Whether an operation on so many elements runs at once if its arrays are there.
#[inline]
pub fn runs_at_once(elements: usize) -> bool {
    elements <= numloom_config::current().inline_size || is_middling(elements) && is_habit()
}

/// Whether an operation on so many elements whose result is one value runs at once if its arrays are there: to launch it
/// and to fetch the value would take as long.
#[inline]
pub fn gives_value(elements: usize) -> bool {
    elements <= numloom_config::current().inline_size || is_middling(elements)
}

fn is_middling(elements: usize) -> bool {
    elements / MIDDLING <= numloom_config::current().inline_size && reserved::devices() == 0
}

fn is_habit() -> bool {
    let habit = STREAK.load(Relaxed) >= HABIT;
    if habit {
        operation();
    }
    habit
}
