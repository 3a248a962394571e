//! The time, as an operation: taken when everything recorded before it is over.

use crate::{Args, LibraryError, LibraryOp};
use smallvec::SmallVec;
use std::sync::OnceLock;
use std::time::Instant;

pub struct Clock {
    /// Nanoseconds of a unit.
    unit: u64,
}

impl Clock {
    pub fn new(unit: u64) -> Clock {
        Clock { unit }
    }

    /// So many units since the first time that somebody asked.
    pub fn now(unit: u64) -> i64 {
        static START: OnceLock<Instant> = OnceLock::new();
        (START.get_or_init(Instant::now).elapsed().as_nanos() as u64 / unit.max(1)) as i64
    }
}

impl LibraryOp for Clock {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn phases(&self, _: &Args) -> SmallVec<[usize; 4]> {
        SmallVec::from_slice(&[1])
    }

    fn follows_all(&self) -> bool {
        true
    }

    unsafe fn run(&self, args: &Args, _: usize, _: usize) -> Result<(), LibraryError> {
        // SAFETY: the output is one int64 of this operation's.
        unsafe { (args.outs[0].ptr as *mut i64).write(Clock::now(self.unit)) };
        Ok(())
    }
}
