//! A process that forks while others of its threads are in the runtime. The child has none of those threads, but every lock
//! as it was; so whoever works here without Python's lock says so, and a fork waits for all of them, and they for it.
//! Nothing here is a lock itself: what the child finds, it can write over.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

static CLOSED: AtomicBool = AtomicBool::new(false);
static INSIDE: AtomicUsize = AtomicUsize::new(0);

const PAUSE: Duration = Duration::from_micros(50);

thread_local! {
    /// How many `Inside` this thread has: a signal that comes while it waits may bring it here again.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// This thread is in the runtime.
pub struct Inside(());

/// Waits for a fork that is on its way. Call without Python's lock.
#[inline]
pub fn enter() -> Inside {
    let depth = DEPTH.get();
    if depth == 0 {
        loop {
            INSIDE.fetch_add(1, Ordering::SeqCst);
            if !CLOSED.load(Ordering::SeqCst) {
                break;
            }
            INSIDE.fetch_sub(1, Ordering::SeqCst);
            while CLOSED.load(Ordering::Acquire) {
                std::thread::sleep(PAUSE);
            }
        }
    }
    DEPTH.set(depth + 1);
    Inside(())
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn own() -> usize {
    usize::from(DEPTH.get() > 0)
}

/// Lets nobody else in, and waits until nobody else is in. One fork at a time: false while there is another. This thread
/// ends it, with `open` or `begin_anew`, and may come and go until then.
pub fn close() -> bool {
    if CLOSED.swap(true, Ordering::SeqCst) {
        return false;
    }
    while INSIDE.load(Ordering::SeqCst) > own() {
        std::thread::sleep(PAUSE);
    }
    DEPTH.set(DEPTH.get() + 1);
    true
}

/// Whether a fork is on its way: no threads begin then.
#[inline]
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Acquire)
}

/// The fork is over, in the parent.
pub fn open() {
    DEPTH.set(DEPTH.get().saturating_sub(1));
    CLOSED.store(false, Ordering::SeqCst);
}

/// The fork is over, in the child: of the others there, none is inside any more.
pub fn begin_anew() {
    DEPTH.set(DEPTH.get().saturating_sub(1));
    INSIDE.store(own(), Ordering::SeqCst);
    CLOSED.store(false, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn whoever_is_inside_is_waited_for_and_nobody_comes_in() {
        let (entered, left) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let first = {
            let (entered, left) = (entered.clone(), left.clone());
            std::thread::spawn(move || {
                let _inside = enter();
                let _again = enter();
                entered.store(true, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                left.store(true, Ordering::SeqCst);
            })
        };
        while !entered.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        assert!(close());
        assert!(left.load(Ordering::SeqCst) && is_closed() && !close());
        let second = Arc::new(AtomicBool::new(false));
        let other = {
            let second = second.clone();
            std::thread::spawn(move || {
                let _inside = enter();
                second.store(true, Ordering::SeqCst);
            })
        };
        std::thread::sleep(Duration::from_millis(5));
        assert!(!second.load(Ordering::SeqCst));
        open();
        first.join().unwrap();
        other.join().unwrap();
        assert_eq!(INSIDE.load(Ordering::SeqCst), 0);
    }
}
