//! How long tasks take on GPUs, for the profiler: an event of the device before and one after what a task puts into the
//! stream, not around what the host does before it (it compiles the kernel). The profiler's thread reads them when they have been passed. Nothing happens while no profile is written.

use crate::memory::Memory;
use crate::profile::{on, record};
use crate::reserved;
use numloom_cuda::{Device, Event, Lane};
use numloom_profile::device::{DeviceSpan, Mark, Marks};
use parking_lot::Mutex;

struct Passing(Event);

impl Mark for Passing {
    fn passed(&self) -> bool {
        self.0.is_done().unwrap_or(true)
    }

    fn since(&self, earlier: &Passing) -> Option<u64> {
        self.0.since(&earlier.0).ok().map(|ms| (ms.max(0.0) as f64 * 1e6) as u64)
    }
}

/// The marks of every device, by number, while a session runs.
static ALL: Mutex<Vec<Option<Marks<Passing>>>> = Mutex::new(Vec::new());

/// Puts work into the device's stream, and marks around it.
pub fn around<R>(device: &Device, memory: Memory, work: impl FnOnce() -> R) -> R {
    let number = memory.number();
    if !on() || !is_set(device, number) {
        return work();
    }
    let (done, stretches) = device.timed(work);
    if let Some(Some(marks)) = ALL.lock().get_mut(number) {
        let task = record::task_here();
        stretches.into_iter().for_each(|(first, last)| marks.push(task, Passing(first), Passing(last)));
    }
    done
}

/// Whether the device's clock is set. Once a session it is, by the host's, when the device has nothing left to do.
fn is_set(device: &Device, number: usize) -> bool {
    let mut all = ALL.lock();
    if all.len() <= number {
        all.resize_with(number + 1, || None);
    }
    if all[number].is_none() {
        let Ok(base) = device.record(Lane::Compute, true) else { return false };
        if base.wait().is_err() {
            return false;
        }
        all[number] = Some(Marks::new(number as u32, Passing(base), record::nanoseconds_now()));
    }
    true
}

/// What devices are through with; `all`: the session ends, and everything is waited for.
pub fn spans(all: bool) -> Vec<DeviceSpan> {
    if all && !ALL.lock().is_empty() {
        for device in reserved::all().iter().filter_map(|pool| pool.gpu()) {
            // An error of a kernel is told at the program's own sync point.
            let _ = device.wait_for_lane(Lane::Compute);
        }
    }
    let mut marks = ALL.lock();
    let out = marks.iter_mut().flatten().flat_map(|m| m.read(record::counts)).collect();
    if all {
        marks.clear();
    }
    out
}
