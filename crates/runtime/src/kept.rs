//! Bytes of SYSTEM_MEM that a thread gave back and will likely take again, not yet told to the counter that all threads
//! share: small arrays come and go by the million, and every visit there costs as much as half an allocation.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most that a thread keeps.
pub const MOST: usize = 32 << 10;
/// Memories smaller than this are counted to the byte at every step.
pub const LARGE: usize = 64 << 20;

/// One thread's, on a cache line of its own. Only that thread changes it, so plain loads and stores do.
#[repr(align(64))]
struct Slot(AtomicUsize);

/// Threads that come later keep nothing.
const THREADS: usize = 64;
static SLOTS: [Slot; THREADS] = [const { Slot(AtomicUsize::new(0)) }; THREADS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The thread has not asked for a slot yet.
const UNKNOWN: usize = usize::MAX;

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(UNKNOWN) };
}

#[inline]
fn slot() -> Option<&'static AtomicUsize> {
    let mut k = MINE.get();
    if k == UNKNOWN {
        k = NEXT.fetch_add(1, Ordering::Relaxed).min(THREADS);
        MINE.set(k);
    }
    SLOTS.get(k).map(|s| &s.0)
}

/// Takes bytes from what this thread keeps.
#[inline]
pub fn take(bytes: usize) -> bool {
    if bytes > MOST {
        return false;
    }
    let Some(slot) = slot() else { return false };
    match slot.load(Ordering::Relaxed).checked_sub(bytes) {
        Some(rest) => {
            slot.store(rest, Ordering::Relaxed);
            true
        }
        None => false,
    }
}

/// Keeps bytes, unless they are too many.
#[inline]
pub fn keep(bytes: usize) -> bool {
    let Some(slot) = slot() else { return false };
    let all = slot.load(Ordering::Relaxed) + bytes;
    if all <= MOST {
        slot.store(all, Ordering::Relaxed);
    }
    all <= MOST
}

/// What all threads keep.
pub fn bytes() -> usize {
    SLOTS.iter().take(NEXT.load(Ordering::Relaxed)).map(|s| s.0.load(Ordering::Relaxed)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_can_be_taken_again_and_no_more() {
        assert!(!take(1));
        assert!(keep(1000) && keep(MOST - 1000) && !keep(1));
        assert!(bytes() >= MOST);
        assert!(take(MOST) && !take(1));
    }
}
