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

    /// Looks out for a moment without sleeping; whether `seen` came true.
    pub fn look_out(seen: impl Fn() -> bool) -> bool {
        const MOMENT: Duration = Duration::from_micros(25);
        // Between two looks at the clock.
        const LOOKS: usize = 32;
        let end = Deadline::after(MOMENT);
        while !end.passed() {
            for _ in 0..LOOKS {
                if seen() {
                    return true;
                }
                std::hint::spin_loop();
            }
        }
        false
    }
}

#[cfg(not(test))]
pub use system::*;

#[cfg(test)]
pub use crate::model::primitives::*;
