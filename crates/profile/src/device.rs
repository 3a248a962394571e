//! Time on devices. What a task does there is over long after the host has asked for it; marks in the device's stream,
//! one before and one after, are read when they have been passed.

use std::collections::VecDeque;

/// A place in a device's stream that remembers when it was passed.
pub trait Mark {
    /// Whether it has been passed; one that failed has.
    fn passed(&self) -> bool;
    /// Nanoseconds since an earlier one; both have been passed. `None`: nobody knows.
    fn since(&self, earlier: &Self) -> Option<u64>;
}

/// A task's time on a device, in counts of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSpan {
    pub device: u32,
    pub task: u32,
    pub started: u64,
    pub stopped: u64,
}

/// Devices tell distances as single-precision milliseconds; beyond this many ns a new mark is counted from.
const FAR: u64 = 2_000_000_000;

/// The marks of one device that have not been read.
pub struct Marks<M> {
    device: u32,
    /// A mark whose time is known, in ns on the host's clock.
    base: M,
    base_at: u64,
    waiting: VecDeque<(u32, M, M)>,
    /// The end of the last span: they follow each other.
    until: u64,
}

impl<M: Mark> Marks<M> {
    /// `base` has been passed at `at` (in ns).
    pub fn new(device: u32, base: M, at: u64) -> Marks<M> {
        Marks { device, base, base_at: at, waiting: VecDeque::new(), until: 0 }
    }

    /// A task between two marks. In the order of the stream.
    pub fn push(&mut self, task: u32, first: M, last: M) {
        self.waiting.push_back((task, first, last));
    }

    /// The spans whose marks have been passed, in order; `counts` turns ns into counts of the clock.
    pub fn read(&mut self, counts: impl Fn(u64) -> u64) -> Vec<DeviceSpan> {
        let mut out = Vec::new();
        while self.waiting.front().is_some_and(|(_, _, last)| last.passed()) {
            let Some((task, first, last)) = self.waiting.pop_front() else { break };
            let (Some(from), Some(to)) = (first.since(&self.base), last.since(&self.base)) else { continue };
            let started = (self.base_at + from).max(self.until);
            let stopped = (self.base_at + to).max(started);
            self.until = stopped;
            out.push(DeviceSpan { device: self.device, task, started: counts(started), stopped: counts(stopped) });
            if to > FAR {
                (self.base, self.base_at) = (last, self.base_at + to);
            }
        }
        out
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A mark of a device whose clock the test sets.
    struct Fake(u64, Rc<Cell<u64>>);

    impl Mark for Fake {
        fn passed(&self) -> bool {
            self.1.get() >= self.0
        }

        fn since(&self, earlier: &Fake) -> Option<u64> {
            // As a device tells it: milliseconds in single precision.
            Some(((self.0 - earlier.0) as f32 / 1e6) as f64 as f32 as f64).map(|ms| (ms * 1e6) as u64)
        }
    }

    fn span(task: u32, started: u64, stopped: u64) -> DeviceSpan {
        DeviceSpan { device: 1, task, started, stopped }
    }

    #[test]
    fn spans_come_when_the_device_is_through_with_them_and_on_the_hosts_clock() {
        let clock = Rc::new(Cell::new(0));
        let at = |ns| Fake(ns, clock.clone());
        let mut marks = Marks::new(1, at(0), 5_000_000);
        marks.push(7, at(1_000_000), at(3_000_000));
        marks.push(8, at(3_000_000), at(4_000_000));
        assert_eq!(marks.read(|ns| ns), []);
        clock.set(3_500_000);
        assert_eq!(marks.read(|ns| ns), [span(7, 6_000_000, 8_000_000)]);
        assert!(!marks.is_empty());
        clock.set(9_000_000);
        assert_eq!(marks.read(|ns| ns * 2), [span(8, 16_000_000, 18_000_000)]);
        assert!(marks.is_empty());
    }

    #[test]
    fn distances_stay_exact_however_long_the_run() {
        let clock = Rc::new(Cell::new(u64::MAX));
        let at = |ns| Fake(ns, clock.clone());
        let mut marks = Marks::new(1, at(0), 0);
        // Tasks of 10 µs, a second apart, for twenty hours: at the end a single is right to 8 s.
        let mut worst = 0;
        for k in 1..72_000u64 {
            marks.push(k as u32, at(k * 1_000_000_000), at(k * 1_000_000_000 + 10_000));
            for s in marks.read(|ns| ns) {
                worst = worst.max((s.stopped - s.started).abs_diff(10_000));
            }
        }
        assert!(worst <= 500, "{worst} ns of 10 µs");
    }

    #[test]
    fn spans_of_one_device_never_overlap() {
        let clock = Rc::new(Cell::new(u64::MAX));
        let at = |ns| Fake(ns, clock.clone());
        let mut marks = Marks::new(1, at(0), 0);
        marks.push(1, at(10), at(30));
        marks.push(2, at(20), at(40));
        let all = marks.read(|ns| ns);
        assert_eq!((all[0].stopped, all[1].started), (all[0].stopped, all[0].stopped));
    }
}
