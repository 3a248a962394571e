//! The memories: how many bytes each may hold, and what happens when something does not fit.

use crate::error::Account;
use crate::kept;
use crate::ledger;
use crate::placed;
use crate::profile::{Doing, Lane, Span};
use crate::reserved;
use crate::spill;
use crate::stats;
use crate::task::SCHEDULER;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use crate::channel::{Traffic, traffic};
pub use crate::ledger::{Instance, Use, instances, lines};

/// A memory, by the name people know its kind by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Memory {
    System,
    /// Host memory near the cores of one NUMA domain.
    Socket(u8),
    /// Pinned host memory that devices can read.
    ZeroCopy,
    /// A device's own.
    Framebuffer(u8),
    Spill,
}

impl Memory {
    pub fn name(self) -> &'static str {
        match self {
            Memory::System => "SYSTEM_MEM",
            Memory::Socket(_) => "SOCKET_MEM",
            Memory::ZeroCopy => "ZC_MEM",
            Memory::Framebuffer(_) => "FB_MEM",
            Memory::Spill => "SPILL_FILE",
        }
    }

    /// Which of its kind it is.
    pub fn number(self) -> usize {
        match self {
            Memory::Socket(k) | Memory::Framebuffer(k) => k as usize,
            _ => 0,
        }
    }

    /// Whether the CPU works on what lies there.
    pub fn is_host(self) -> bool {
        !matches!(self, Memory::Framebuffer(_))
    }

    /// Bytes it may hold.
    pub fn capacity(self) -> usize {
        match self {
            Memory::System => system_capacity(),
            Memory::Spill => spill::capacity(),
            other => reserved::pool(other).map_or(0, |p| p.capacity),
        }
    }

    /// Bytes that are taken or promised.
    pub fn live(self) -> usize {
        match self {
            Memory::Spill => spill::level().0,
            Memory::System => (stats::LIVE_BYTES.load(Ordering::Acquire) as usize).saturating_sub(kept::bytes()),
            _ => self.budget().map_or(0, |(live, _)| live.load(Ordering::Acquire) as usize),
        }
    }

    /// Bytes taken and the most there ever were.
    fn budget(self) -> Option<(&'static AtomicU64, &'static AtomicU64)> {
        match self {
            Memory::System => Some((&stats::LIVE_BYTES, &stats::PEAK_BYTES)),
            other => reserved::pool(other).map(|p| (&p.live, &p.peak)),
        }
    }
}

/// `--sysmem`, close at hand.
#[inline]
fn system_capacity() -> usize {
    static CAPACITY: AtomicUsize = AtomicUsize::new(0);
    match CAPACITY.load(Ordering::Relaxed) {
        0 => {
            let bytes = numloom_config::current().sysmem;
            CAPACITY.store(bytes, Ordering::Relaxed);
            bytes
        }
        known => known,
    }
}

thread_local! {
    /// Bytes promised to this thread for the instances it is about to make.
    static PROMISED: Cell<usize> = const { Cell::new(0) };
    /// Tasks that this thread binds or runs, one inside another; they count as busy meanwhile.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Allocations until one is made to fail; negative: none is. For tests.
static FAIL_IN: AtomicI64 = AtomicI64::new(-1);
/// Whether any is to fail at all.
static FAILING: AtomicBool = AtomicBool::new(false);
/// From then on all of them fail.
static FAIL_ON: AtomicBool = AtomicBool::new(false);

/// Makes the allocation after `k` others fail, and with `on` those after it. Answers what was left of the last call's
/// count: negative when the failure has happened, or none was wanted.
pub fn fail_allocation(k: i64, on: bool) -> i64 {
    FAIL_ON.store(on, Ordering::SeqCst);
    FAILING.store(on || k >= 0, Ordering::SeqCst);
    FAIL_IN.swap(k, Ordering::SeqCst)
}

/// Whether this allocation is one that a test wants to fail.
#[inline]
pub fn is_made_to_fail() -> bool {
    FAILING.load(Ordering::Relaxed) && count_down()
}

#[cold]
fn count_down() -> bool {
    if FAIL_IN.load(Ordering::Relaxed) < 0 {
        return FAIL_ON.load(Ordering::Relaxed);
    }
    FAIL_IN.fetch_sub(1, Ordering::SeqCst) == 0
}

/// No memory: what was asked for, and what was there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMemory(pub Box<Account>);

impl NoMemory {
    pub fn new(memory: Memory, bytes: usize) -> NoMemory {
        NoMemory(Box::new(ledger::account(memory, bytes)))
    }

    /// Bytes that could not be brought to a memory, because a device failed.
    pub fn failed(memory: Memory, said: String) -> NoMemory {
        let mut e = NoMemory::new(memory, 0);
        e.0.failed = Some(said);
        e
    }
}

/// Runs `work` as part of a task: its binding or a tile.
#[inline]
pub fn inside_a_task<T>(work: impl FnOnce() -> T) -> T {
    struct Left;
    impl Drop for Left {
        fn drop(&mut self) {
            INSIDE.set(INSIDE.get() - 1);
        }
    }
    INSIDE.set(INSIDE.get() + 1);
    let _left = Left;
    work()
}

/// Room for several instances at once, so that two tasks cannot each hold half of what they need.
pub struct Room(());

impl Drop for Room {
    fn drop(&mut self) {
        give(Memory::System, PROMISED.replace(0));
        PROMISES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Rooms there are: without any, nobody has to look for one.
static PROMISES: AtomicUsize = AtomicUsize::new(0);

pub fn room(bytes: usize) -> Result<Room, NoMemory> {
    match take(bytes) {
        Ok(()) => PROMISED.set(bytes),
        // Each instance then finds its own place, some of them in the file.
        Err(_) if spill::is_on() => {}
        Err(e) => return Err(e),
    }
    PROMISES.fetch_add(1, Ordering::Relaxed);
    Ok(Room(()))
}

/// Takes bytes of SYSTEM_MEM for an instance, from what was promised or anew.
#[inline]
pub fn take(bytes: usize) -> Result<(), NoMemory> {
    let promised = PROMISES.load(Ordering::Relaxed) > 0 && take_promised(bytes);
    if promised || take_kept(bytes) || try_take(Memory::System, bytes) || make_room(bytes) {
        Ok(())
    } else {
        Err(NoMemory::new(Memory::System, bytes))
    }
}

/// Takes bytes of another memory. What nobody uses there moves out for them.
pub fn take_in(memory: Memory, bytes: usize) -> Result<(), NoMemory> {
    loop {
        if try_take(memory, bytes) {
            return Ok(());
        }
        let missing = (memory.live() + bytes).saturating_sub(memory.capacity());
        if bytes > memory.capacity() || missing == 0 || !placed::evict(memory, missing) {
            return Err(NoMemory::new(memory, bytes));
        }
    }
}

/// Takes bytes that this thread gave back before.
#[inline]
fn take_kept(bytes: usize) -> bool {
    let taken = kept::take(bytes);
    if taken {
        note_level(stats::LIVE_BYTES.load(Ordering::Relaxed));
    }
    taken
}

/// The counter of SYSTEM_MEM stands at `now`, with what threads keep.
#[inline]
fn note_level(now: u64) {
    if now > stats::PEAK_BYTES.load(Ordering::Relaxed) {
        stats::PEAK_BYTES.fetch_max(now.saturating_sub(kept::bytes() as u64), Ordering::Relaxed);
    }
}

fn take_promised(bytes: usize) -> bool {
    let promised = PROMISED.get();
    if promised >= bytes {
        PROMISED.set(promised - bytes);
    }
    promised >= bytes
}

/// Takes bytes of SYSTEM_MEM whether they fit or not.
pub fn take_anyway(bytes: usize) {
    stats::LIVE_BYTES.fetch_add(bytes as u64, Ordering::AcqRel);
}

/// Takes bytes of SYSTEM_MEM that library operations need beside their arrays: theirs whether they fit or not.
pub fn take_for_scratch(bytes: usize) {
    note_level(stats::LIVE_BYTES.fetch_add(bytes as u64, Ordering::AcqRel) + bytes as u64);
}

pub fn give(memory: Memory, bytes: usize) {
    if memory == Memory::System && bytes <= kept::MOST && system_capacity() >= kept::LARGE && kept::keep(bytes) {
        return;
    }
    if let Some((live, _)) = memory.budget() {
        live.fetch_sub(bytes as u64, Ordering::AcqRel);
    }
}

/// Takes bytes of a memory if there are so many left.
#[inline]
pub fn try_take(memory: Memory, bytes: usize) -> bool {
    let Some((live, peak)) = memory.budget() else { return false };
    let capacity = memory.capacity();
    if bytes > capacity {
        return false;
    }
    let now = live.fetch_add(bytes as u64, Ordering::AcqRel).saturating_add(bytes as u64);
    if now > capacity as u64 {
        live.fetch_sub(bytes as u64, Ordering::AcqRel);
        return false;
    }
    if memory == Memory::System {
        note_level(now);
    } else {
        peak.fetch_max(now, Ordering::Relaxed);
    }
    true
}

/// The ladder of SYSTEM_MEM: wait for what is about to die, move what nobody uses elsewhere.
pub fn make_room(bytes: usize) -> bool {
    if bytes > Memory::System.capacity() || spill::runs_inline() {
        return false;
    }
    let mut span = Span::new(Lane::System, Doing::Room);
    span.count(bytes);
    loop {
        if try_take(Memory::System, bytes) {
            return true;
        }
        let missing = (Memory::System.live() + bytes).saturating_sub(Memory::System.capacity());
        if SCHEDULER.assist(INSIDE.get()) || placed::evict(Memory::System, missing) || spill::evict(missing) {
            continue;
        }
        return try_take(Memory::System, bytes);
    }
}

/// Waits, as a task that is being bound, until something changes.
pub fn wait_for_others() {
    if !SCHEDULER.assist(INSIDE.get().max(1)) {
        std::thread::yield_now();
    }
}

/// One memory, for `numloom.memory()`.
pub struct Level {
    pub memory: Memory,
    pub capacity: usize,
    pub live: usize,
    pub peak: usize,
    pub instances: usize,
}

/// Every memory there is.
pub fn levels() -> Vec<Level> {
    let level = |memory: Memory, peak: usize| Level {
        memory,
        capacity: memory.capacity(),
        live: memory.live(),
        peak,
        instances: ledger::count(memory),
    };
    let mut all = vec![level(Memory::System, stats::PEAK_BYTES.load(Ordering::Relaxed) as usize)];
    all.extend(reserved::all().iter().map(|p| level(p.memory, p.peak.load(Ordering::Relaxed) as usize)));
    if spill::is_on() {
        all.push(level(Memory::Spill, spill::level().1));
    }
    all
}

/// When the next look for garbage is due.
static LOOK_AFTER: Mutex<Option<Instant>> = Mutex::new(None);

/// Whether half of the memory is taken, and the last look for garbage was long enough ago.
pub fn is_tight() -> bool {
    Memory::System.live() >= Memory::System.capacity() / 2 && LOOK_AFTER.lock().is_none_or(|due| Instant::now() > due)
}

/// A look took so long: the next one waits until it is a hundredth of the time.
pub fn looked_for_garbage(took: Duration) {
    *LOOK_AFTER.lock() = Some(Instant::now() + took * 100);
}

pub fn show_usage() -> bool {
    numloom_config::current().show_memory_usage
}
