//! Locks, atomics, threads and time: those of the system, or in unit tests those of the model checker.

#[cfg(not(test))]
mod system {
    pub use parking_lot::{Condvar, Mutex};
    pub use std::sync::OnceLock;
    pub use std::sync::atomic;
    pub use std::thread;
    use std::time::{Duration, Instant};

    /// A moment to come.
    #[derive(Clone, Copy)]
    pub struct Deadline(Instant);

    impl Deadline {
        pub fn after(time: Duration) -> Deadline {
            Deadline(Instant::now() + time)
        }

        pub fn passed(self) -> bool {
            Instant::now() > self.0
        }
    }
}

#[cfg(not(test))]
pub use system::*;

#[cfg(test)]
pub use crate::model::primitives::*;
