//! Waiting for a GPU. After the driver's own wait a program ran slower for a while on the virtual machine where this was
//! measured: with CuPy, 1,500 rounds of a Python loop took 74 to 78 us after `cuStreamSynchronize` and 61 to 62 after an
//! event that was asked over and over, twice 200 rounds on one host. Why is not known; the driver's wait may spin on the pause
//! instruction, which hosts of virtual machines can take as a hint. So short waits ask an event, and the driver's wait is
//! for work that takes long.

use crate::CudaError;
use crate::device::{Device, Event, Lane};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long an event is asked.
const ASKED: Duration = Duration::from_millis(5);
/// How often it is asked between two looks at the clock.
const AT_A_TIME: usize = 8;

/// Events to wait with, between waits.
#[derive(Default)]
pub(crate) struct Waits(Mutex<Vec<Event>>);

impl Waits {
    /// Before the device goes.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).clear();
    }
}

impl Device {
    /// Waits for what a lane was given, if that does not take long; whether it is done.
    pub(crate) fn ask_for_a_while(&self, lane: Lane) -> Result<bool, CudaError> {
        let known = self.waits.0.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let event = match known {
            Some(event) => self.record_again(&event, lane).map(|()| event),
            None => self.record(lane, false),
        }?;
        let done = event.ask_for_a_while();
        self.waits.0.lock().unwrap_or_else(|e| e.into_inner()).push(event);
        done
    }
}

impl Event {
    /// Asks until it has been passed, or for as long as that makes sense; whether it has.
    pub(crate) fn ask_for_a_while(&self) -> Result<bool, CudaError> {
        let begun = Instant::now();
        loop {
            for _ in 0..AT_A_TIME {
                if self.is_done()? {
                    return Ok(true);
                }
            }
            if begun.elapsed() > ASKED {
                return Ok(false);
            }
        }
    }
}
