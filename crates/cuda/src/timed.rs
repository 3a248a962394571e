//! When a device is at work for somebody: events before and after what a thread gives its compute stream. Where the host
//! is long about something in between (it compiles, or opens a library), a stretch ends and another begins.

use crate::device::{Device, Event, Lane};
use crate::driver::Context;
use smallvec::SmallVec;
use std::cell::RefCell;

/// From one event to another the compute stream was at work.
pub type Stretches = SmallVec<[(Event, Event); 1]>;

struct Timing {
    device: Context,
    /// Where the stretch that goes on began.
    began: Option<Event>,
    over: Stretches,
}

thread_local! {
    /// Of the thread's work now, if it is timed.
    static TIMING: RefCell<Option<Timing>> = const { RefCell::new(None) };
}

/// Whether this thread's work is timed: then nothing of it waits in the queue.
pub(crate) fn is_timed() -> bool {
    TIMING.with_borrow(|t| t.is_some())
}

impl Device {
    /// Does work, and tells when the device is at it.
    pub fn timed<R>(&self, work: impl FnOnce() -> R) -> (R, Stretches) {
        TIMING.set(Some(Timing { device: self.context, began: None, over: Stretches::new() }));
        let done = work();
        self.stretch_ends();
        (done, TIMING.take().map(|t| t.over).unwrap_or_default())
    }

    /// Something is about to be put into the compute stream.
    #[inline]
    pub(crate) fn stretch_begins(&self) {
        TIMING.with_borrow_mut(|timing| {
            if let Some(t) = timing
                && t.device == self.context
                && t.began.is_none()
            {
                t.began = self.record(Lane::Compute, true).ok();
            }
        });
    }

    /// Nothing more is put into the compute stream for a while.
    #[inline]
    pub(crate) fn stretch_ends(&self) {
        TIMING.with_borrow_mut(|timing| {
            if let Some(t) = timing
                && t.device == self.context
                && let Some(began) = t.began.take()
                && let Ok(ended) = self.record(Lane::Compute, true)
            {
                t.over.push((began, ended));
            }
        });
    }
}
