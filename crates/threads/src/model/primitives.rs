//! The primitives of the crate over those of `shuttle`, with the interface of `parking_lot`. Every use of one is a
//! point where another thread may go on. Time passes at random, except that nobody wakes because of it: a wake-up
//! that gets lost is a deadlock, which `shuttle` reports.

pub use shuttle::sync::atomic;
pub use shuttle::thread;

use self::atomic::{AtomicBool, Ordering};
use shuttle::rand::Rng;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

pub struct Mutex<T>(shuttle::sync::Mutex<T>);

/// Empty only inside `Condvar::wait`.
pub struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap()))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().unwrap()
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().unwrap()
    }
}

pub struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar(shuttle::sync::Condvar::new())
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let inner = guard.0.take().unwrap();
        guard.0 = Some(self.0.wait(inner).unwrap());
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) {
        self.wait(guard);
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

pub struct OnceLock<T> {
    is_set: AtomicBool,
    value: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    pub const fn new() -> OnceLock<T> {
        OnceLock { is_set: AtomicBool::new(false), value: std::sync::OnceLock::new() }
    }

    pub fn get(&self) -> Option<&T> {
        if self.is_set.load(Ordering::Acquire) { self.value.get() } else { None }
    }

    pub fn set(&self, value: T) -> Result<(), T> {
        let answer = self.value.set(value);
        self.is_set.store(true, Ordering::Release);
        answer
    }
}

#[derive(Clone, Copy)]
pub struct Deadline;

impl Deadline {
    pub fn after(_: Duration) -> Deadline {
        Deadline
    }

    pub fn passed(self) -> bool {
        shuttle::rand::thread_rng().gen_bool(0.25)
    }
}

pub fn look_out(seen: impl Fn() -> bool) -> bool {
    shuttle::thread::yield_now();
    seen()
}
