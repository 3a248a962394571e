//! The number of the library's own threads is one number of the whole process. It is changed only where it is not
//! already what is wanted, and set back after the last job; so a program that sets it itself finds what it set.

use parking_lot::Mutex;
use std::ffi::c_int;

pub(crate) struct Threads {
    pub wanted: usize,
    pub get: unsafe extern "C" fn() -> c_int,
    pub set: unsafe extern "C" fn(c_int),
    pub jobs: Mutex<Jobs>,
}

/// Jobs under way, and the number to go back to, with the one that was put in its place.
#[derive(Default)]
pub(crate) struct Jobs {
    running: usize,
    changed: Option<(c_int, c_int)>,
}

/// A job with the threads it wants, until it is dropped.
pub struct Held<'a>(&'a Threads);

impl Threads {
    pub fn hold(&self) -> Held<'_> {
        let mut jobs = self.jobs.lock();
        jobs.running += 1;
        let wanted = self.wanted as c_int;
        // SAFETY: both take and answer a number, at any time and from any thread.
        unsafe {
            let before = (self.get)();
            if jobs.running == 1 && before != wanted {
                (self.set)(wanted);
                jobs.changed = Some((before, (self.get)()));
            }
        }
        Held(self)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut jobs = self.0.jobs.lock();
        jobs.running -= 1;
        if jobs.running == 0
            && let Some((before, ours)) = jobs.changed.take()
        {
            // SAFETY: as in `hold`. Somebody else's number is left alone.
            unsafe {
                if (self.0.get)() == ours {
                    (self.0.set)(before);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI32, Ordering};

    static NUMBER: AtomicI32 = AtomicI32::new(0);

    unsafe extern "C" fn get() -> c_int {
        NUMBER.load(Ordering::Relaxed)
    }

    unsafe extern "C" fn set(n: c_int) {
        NUMBER.store(n.min(8), Ordering::Relaxed);
    }

    #[test]
    fn the_number_is_as_before_after_the_last_job() {
        let threads = |wanted| Threads { wanted, get, set, jobs: Mutex::default() };
        let now = || NUMBER.load(Ordering::Relaxed);
        let four = threads(4);
        NUMBER.store(3, Ordering::Relaxed);
        let (a, b) = (four.hold(), four.hold());
        assert_eq!(now(), 4);
        drop(a);
        assert_eq!(now(), 4);
        drop(b);
        assert_eq!(now(), 3);

        let many = threads(100);
        drop(many.hold());
        assert_eq!(now(), 3);

        let held = four.hold();
        NUMBER.store(1, Ordering::Relaxed);
        drop(held);
        assert_eq!(now(), 1);
    }
}
