//! What the runtime tells. Every call does nothing when no session runs, and takes no lock when one does.

use crate::clock;
use crate::event::{Event, What};
use crate::kinds::{Doing, Lane, Reason, Use};
use crate::local::{self, Place};
use crate::names;
use crate::nvtx;
use crate::session;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub use crate::clock::{counts, now};
pub use crate::names::shape;
pub use crate::session::on;

static NEXT_TASK: AtomicU32 = AtomicU32::new(1);

/// A task's own record, from its launch to its end.
pub struct TaskRecord {
    pub id: u32,
    session: u32,
    created: u64,
    ready: AtomicU64,
    started: AtomicU64,
    mapped: AtomicU64,
    tiles: AtomicU32,
    read: AtomicU64,
    written: AtomicU64,
    /// Tasks it has to wait for.
    pub follows: Vec<u32>,
}

/// An operation of a task that is over.
pub struct OperationRecord {
    pub name: &'static str,
    pub place: Place,
    /// From `shape`.
    pub shape: u32,
    pub recorded: u64,
    pub times: u32,
    pub traits: u8,
}

/// Where binding did the work itself.
pub enum Bound {
    /// Tiles are left to run.
    Tiles,
    /// It is over.
    Done,
    /// It stands in a device's stream.
    Enqueued,
}

impl TaskRecord {
    /// A record for a task that is being launched; `None` when no session runs.
    #[inline]
    pub fn new() -> Option<Box<TaskRecord>> {
        on().then(|| {
            Box::new(TaskRecord {
                id: NEXT_TASK.fetch_add(1, Ordering::Relaxed),
                session: session::number(),
                created: clock::now(),
                ready: AtomicU64::new(0),
                started: AtomicU64::new(0),
                mapped: AtomicU64::new(0),
                tiles: AtomicU32::new(0),
                read: AtomicU64::new(0),
                written: AtomicU64::new(0),
                follows: Vec::new(),
            })
        })
    }

    /// Nothing is left that it waits for.
    pub fn ready(&self) {
        self.ready.store(clock::now(), Ordering::Relaxed);
    }

    /// A worker begins to bind it to memory.
    pub fn binding(&self) {
        self.started.store(clock::now(), Ordering::Relaxed);
        local::with(|l| l.bind(self.id));
    }

    /// Its binding is over.
    pub fn bound(&self, how: Bound) {
        let (started, now) = (self.started.load(Ordering::Relaxed), clock::now());
        let bytes = local::with(|l| l.bound()).unwrap_or((0, 0, 0));
        self.mapped.store(now.saturating_sub(started), Ordering::Relaxed);
        self.read.store(bytes.1, Ordering::Relaxed);
        self.written.store(bytes.2, Ordering::Relaxed);
        let (lane, doing, count) = match how {
            Bound::Tiles => (Lane::Utility, Doing::Map, bytes.0),
            Bound::Done => (Lane::Cpu, Doing::Task, 0),
            Bound::Enqueued => (Lane::GpuHost, Doing::Enqueue, 0),
        };
        local::with(|l| l.span_after(lane, doing, started, now, self.id as u64, count));
    }

    /// A worker comes to run tiles of it.
    pub fn entered(&self) {
        local::with(|l| {
            l.tiles = (0, 0);
            l.begin(Lane::Cpu, Doing::Task, self.id as u64, 0);
        });
    }

    /// A tile of it is over.
    pub fn tile(&self) {
        local::with(|l| l.tiles = (l.tiles.0 + 1, clock::now()));
    }

    /// The worker leaves it.
    pub fn left(&self) {
        local::with(|l| {
            if l.is_open(Lane::Cpu, self.id as u64) {
                let (tiles, ended) = std::mem::take(&mut l.tiles);
                self.tiles.fetch_add(tiles, Ordering::Relaxed);
                l.end_at(Lane::Cpu, tiles as u64, (tiles > 0).then_some(ended));
            }
        });
    }

    /// It is over. Before its successors are told.
    pub fn retired(
        &self,
        variant: u8,
        failed: bool,
        operations: impl Iterator<Item = OperationRecord>,
        instances: &[u64],
    ) {
        if self.session != session::number() {
            return;
        }
        self.left();
        local::with(|l| {
            for o in operations {
                let half = names::known(o.name);
                let at = [o.recorded, o.place, o.shape as u64, 0];
                l.push(Event { what: What::Operation, small: o.traits, half, word: o.times, at });
            }
            let mut list = |what, numbers: &mut dyn Iterator<Item = u64>| {
                let mut at = [0; 4];
                loop {
                    let small = at.iter_mut().zip(&mut *numbers).map(|(to, n)| *to = n).count() as u8;
                    if small == 0 {
                        break;
                    }
                    l.push(Event { what, small, half: 0, word: self.id, at });
                }
            };
            list(What::Edges, &mut self.follows.iter().map(|&n| n as u64));
            list(What::Reads, &mut instances.iter().copied());
            let load = |a: &AtomicU64| a.load(Ordering::Relaxed);
            let at = [load(&self.read), load(&self.written), load(&self.mapped), 0];
            let tiles = self.tiles.load(Ordering::Relaxed);
            l.push(Event { what: What::TaskSize, small: variant, half: failed as u16, word: tiles, at });
            let at = [self.created, load(&self.ready), load(&self.started), clock::now()];
            l.push(Event { what: What::Task, small: 0, half: 0, word: self.id, at });
        });
    }
}

/// Now, in nanoseconds; `counts` is the way back.
pub fn nanoseconds_now() -> u64 {
    clock::nanoseconds(clock::now())
}

/// The task that is being bound on this thread; 0: none.
pub fn task_here() -> u32 {
    local::with(|l| l.task()).unwrap_or(0)
}

/// Bytes that the task being bound on this thread reads and writes.
pub fn traffic(read: u64, written: u64) {
    if on() {
        local::with(|l| l.count_traffic(read, written));
    }
}

/// Spends time on a lane until it goes.
pub struct Span(Option<Lane>, u64);

impl Span {
    #[inline]
    pub fn new(lane: Lane, doing: Doing) -> Span {
        Span::about(lane, doing, 0, 0)
    }

    #[inline]
    pub fn about(lane: Lane, doing: Doing, subject: u64, place: Place) -> Span {
        let open = on() && local::with(|l| l.begin(lane, doing, subject, place)).is_some();
        Span(open.then_some(lane), 0)
    }

    /// About the task that is being bound on this thread.
    pub fn of_task(lane: Lane, doing: Doing) -> Span {
        let open = on() && local::with(|l| l.begin(lane, doing, l.task() as u64, 0)).is_some();
        Span(open.then_some(lane), 0)
    }

    /// How much it was for.
    pub fn count(&mut self, count: usize) {
        self.1 = count as u64;
    }

    /// What it turned out to be.
    pub fn rename(&self, doing: Doing) {
        if let Some(lane) = self.0 {
            local::with(|l| l.rename(lane, doing));
        }
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(lane) = self.0 {
            local::with(|l| l.end_at(lane, self.1, None));
        }
    }
}

/// The open sync point of this thread waits for this task.
pub fn waits_for(task: u32) {
    if on() {
        local::with(|l| l.set_subject(Lane::Io, task as u64));
    }
}

/// A call entered the window: when.
#[inline]
pub fn recorded(place: Place) -> u64 {
    if !on() {
        return 0;
    }
    let now = clock::now();
    local::with(|l| l.called(now, place, true));
    now
}

/// Where the calling thread's program is.
pub fn here() -> Place {
    session::hooks().map_or(0, |h| (h.here)())
}

/// An operation ran at once.
#[inline]
pub fn small(name: &'static str) {
    if on() {
        small_now(name);
    }
}

#[cold]
fn small_now(name: &'static str) {
    let place = here();
    local::with(|l| {
        let now = clock::now();
        l.called(now, place, false);
        l.tally(place, name, None, 0, now);
    });
}

/// A text that stays, for names that come from outside. There are few of them, each kept once.
pub fn lasting(text: &str) -> &'static str {
    names::lasting(text)
}

/// The program did something that deserves a look.
#[inline]
pub fn used(used: Use, what: &'static str, bytes: usize) {
    if on() {
        used_at(used, what, bytes, here());
    }
}

#[cold]
pub fn used_at(used: Use, what: &'static str, bytes: usize, place: Place) {
    local::with(|l| l.tally(place, what, Some(used), bytes as u64, clock::now()));
}

/// So many values of arrays have entered Python.
#[inline]
pub fn values_read(count: usize) {
    if on() {
        local::with(|l| l.values = l.values.saturating_add(count as u64));
    }
}

/// An array is made from so many values. If as many have been read since the last one was, it is from those.
pub fn array_from(count: usize) {
    let read = local::with(|l| std::mem::take(&mut l.values)).unwrap_or(0);
    if count > 0 && read >= count as u64 {
        used(Use::FromValues, "array", count);
    }
}

/// The call that was told of last is over: what it did is not Python's time.
pub fn returned() {
    if on() {
        local::with(|l| l.returned(clock::now()));
    }
}

/// An array's bytes came into a memory.
pub struct Born {
    pub memory: u8,
    pub id: u64,
    pub bytes: usize,
    pub shape: u32,
    pub place: Place,
    pub by: &'static str,
    pub by_place: Place,
    pub store: u32,
    /// Bytes in the memory after it.
    pub level: usize,
}

pub fn born(i: Born) {
    let half = names::known(i.by);
    local::with(|l| {
        l.count_new(i.bytes as u64);
        let at = [i.by_place, i.store as u64, i.level as u64, l.task() as u64];
        l.push(Event { what: What::InstanceBy, small: 0, half, word: 0, at });
        let at = [i.id, i.bytes as u64, clock::now(), i.place];
        l.push(Event { what: What::Instance, small: i.memory, half: 0, word: i.shape, at });
    });
}

pub fn died(memory: u8, id: u64, reads: u32, level: usize) {
    let at = [id, clock::now(), level as u64, 0];
    local::with(|l| l.push(Event { what: What::Death, small: memory, half: 0, word: reads, at }));
}

/// Bytes went from one memory to another, from a time until now.
pub fn copied(from: u8, to: u8, started: u64, bytes: usize, reason: Reason, place: Place) {
    let half = to as u16 | (reason as u16) << 8;
    local::with(|l| {
        let at = [started, clock::now(), bytes as u64, place];
        let word = l.task();
        l.push(Event { what: What::Copy, small: from, half, word, at });
    });
}

/// Ranges that the program names: the number to end it with.
pub fn begin_range(name: &str) -> u64 {
    if nvtx::attached() {
        nvtx::push(name);
    }
    if on() {
        local::with(|l| l.ranges += 1);
        clock::now()
    } else {
        0
    }
}

pub fn end_range(name: &str, started: u64) {
    if nvtx::attached() {
        nvtx::pop();
    }
    if started == 0 || !on() {
        return;
    }
    let (word, place) = (names::number(name), here());
    local::with(|l| {
        l.ranges = l.ranges.saturating_sub(1);
        let (small, half) = (l.ranges, l.processor(Lane::Io));
        let at = [started.max(session::began()), clock::now(), place, 0];
        l.push(Event { what: What::Range, small, half, word, at });
    });
}

/// NumPy does something on the host for as long as this lives.
pub fn fallback(name: &str) -> Span {
    if !on() {
        return Span(None, 0);
    }
    Span::about(Lane::Io, Doing::Fallback, names::number(name) as u64, here())
}
