//! The memories: how many bytes each may hold, what lies in it and which line put it there, and what happens when
//! something does not fit.

use crate::error::Account;
use crate::provenance::Provenance;
use crate::spill;
use crate::stats;
use crate::store::Store;
use crate::task::SCHEDULER;
use numloom_ir::{DType, Dims};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A kind of memory, by the name people know it by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Memory {
    System,
    Spill,
}

impl Memory {
    pub fn name(self) -> &'static str {
        match self {
            Memory::System => "SYSTEM_MEM",
            Memory::Spill => "SPILL_FILE",
        }
    }

    /// Bytes it may hold.
    pub fn capacity(self) -> usize {
        match self {
            Memory::System => system_capacity(),
            Memory::Spill => spill::capacity(),
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

/// An array's bytes in a memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    pub id: u64,
    pub memory: Memory,
    pub bytes: usize,
    pub dtype: DType,
    pub shape: Dims,
    /// The line that made the array.
    pub store_at: Provenance,
    /// The operation that made the instance.
    pub op: &'static str,
    pub op_at: Provenance,
    /// The store, only to ask about it while the instance is in the table.
    store: usize,
}

/// Instances smaller than this are counted together: there are many, and they come and go.
pub const TRACKED: usize = 64 << 10;

/// Bytes of a line's arrays: now, and the most at once.
#[derive(Clone, Copy, Default)]
pub struct Use {
    pub live: usize,
    pub peak: usize,
}

#[derive(Default)]
struct Table {
    instances: FxHashMap<usize, Instance>,
    lines: FxHashMap<Provenance, Use>,
    tracked: usize,
}

static TABLE: std::sync::LazyLock<Mutex<Table>> = std::sync::LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Bytes of SYSTEM_MEM that are taken or promised, and the most there ever were: counters like the others.
use stats::{LIVE_BYTES as LIVE, PEAK_BYTES as PEAK};

thread_local! {
    /// Bytes promised to this thread for the instances it is about to make.
    static PROMISED: Cell<usize> = const { Cell::new(0) };
    /// This thread binds a task, which counts as busy meanwhile.
    static BINDING: Cell<bool> = const { Cell::new(false) };
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
    pub fn new(bytes: usize) -> NoMemory {
        NoMemory(Box::new(account(bytes)))
    }
}

/// Runs `work` as the binding of a task.
pub fn while_binding<T>(work: impl FnOnce() -> T) -> T {
    let before = BINDING.replace(true);
    let out = work();
    BINDING.set(before);
    out
}

/// Room for several instances at once, so that two tasks cannot each hold half of what they need.
pub struct Room(());

impl Drop for Room {
    fn drop(&mut self) {
        give(PROMISED.replace(0));
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
    if promised || try_take(bytes) || make_room(bytes) { Ok(()) } else { Err(NoMemory::new(bytes)) }
}

fn take_promised(bytes: usize) -> bool {
    let promised = PROMISED.get();
    if promised >= bytes {
        PROMISED.set(promised - bytes);
    }
    promised >= bytes
}

/// Takes bytes whether they fit or not.
pub fn take_anyway(bytes: usize) {
    LIVE.fetch_add(bytes as u64, Ordering::AcqRel);
}

pub fn give(bytes: usize) {
    LIVE.fetch_sub(bytes as u64, Ordering::AcqRel);
}

/// Counts memory that library operations need beside their arrays, or give back. It is theirs whether it fits or not.
pub fn count_scratch(bytes: isize) {
    if bytes < 0 {
        return give(bytes.unsigned_abs());
    }
    let now = LIVE.fetch_add(bytes as u64, Ordering::AcqRel) + bytes as u64;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

fn live() -> usize {
    LIVE.load(Ordering::Acquire) as usize
}

#[inline]
fn try_take(bytes: usize) -> bool {
    if bytes > system_capacity() {
        return false;
    }
    let now = LIVE.fetch_add(bytes as u64, Ordering::AcqRel).saturating_add(bytes as u64);
    if now > system_capacity() as u64 {
        LIVE.fetch_sub(bytes as u64, Ordering::AcqRel);
        return false;
    }
    if now > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(now, Ordering::Relaxed);
    }
    true
}

/// The ladder: wait for what is about to die, move what nobody uses to the spill file.
fn make_room(bytes: usize) -> bool {
    if bytes > Memory::System.capacity() || spill::runs_inline() {
        return false;
    }
    loop {
        if try_take(bytes) {
            return true;
        }
        let missing = (live() + bytes).saturating_sub(Memory::System.capacity());
        if SCHEDULER.assist(BINDING.get()) || spill::evict(missing) {
            continue;
        }
        return try_take(bytes);
    }
}

/// Notes an instance, if it is large enough to be told of.
#[inline]
pub fn note(address: *mut u8, memory: Memory, bytes: usize, store: &Store, op: &'static str, op_at: Provenance) {
    if bytes < TRACKED {
        return;
    }
    let (dtype, shape) = store.extent();
    let store_at = store.provenance;
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let instance =
        Instance { id, memory, bytes, dtype, shape, store_at, op, op_at, store: store as *const Store as usize };
    let mut table = TABLE.lock();
    table.tracked += bytes;
    let line = table.lines.entry(store_at).or_default();
    line.live += bytes;
    line.peak = line.peak.max(line.live);
    table.instances.insert(address as usize, instance);
}

pub fn forget(address: *mut u8, bytes: usize) {
    if bytes < TRACKED {
        return;
    }
    let mut table = TABLE.lock();
    if let Some(i) = table.instances.remove(&(address as usize)) {
        table.tracked -= i.bytes;
        if let Some(line) = table.lines.get_mut(&i.store_at) {
            line.live -= i.bytes;
        }
    }
}

/// The instance at an address has moved.
pub fn moved(from: *mut u8, to: *mut u8, memory: Memory) {
    let mut table = TABLE.lock();
    if let Some(mut i) = table.instances.remove(&(from as usize)) {
        i.memory = memory;
        table.instances.insert(to as usize, i);
    }
}

/// Whether a tracked instance lies at the address, in that memory.
pub fn lies_in(address: *mut u8, memory: Memory) -> bool {
    TABLE.lock().instances.get(&(address as usize)).is_some_and(|i| i.memory == memory)
}

/// Moves instances to the spill file, the largest first, until `missing` bytes are free. False if none could be moved.
pub fn evict(missing: usize) -> bool {
    let mut leaving: Vec<(*const Store, *mut u8, usize)> = Vec::new();
    {
        let table = TABLE.lock();
        let mut here: Vec<&Instance> = table.instances.values().filter(|i| i.memory == Memory::System).collect();
        here.sort_unstable_by_key(|i| std::cmp::Reverse(i.bytes));
        let mut bytes = 0;
        for i in here {
            if bytes >= missing {
                break;
            }
            let store = i.store as *const Store;
            // SAFETY: a store forgets its instance, under this lock, before it goes.
            if let Some(from) = unsafe { (*store).begin_move() } {
                bytes += i.bytes;
                leaving.push((store, from, i.bytes));
            }
        }
    }
    // Not under the lock: what runs inline may need it.
    spill::let_inline_pass();
    let mut freed = 0;
    for (store, from, bytes) in leaving {
        // SAFETY: a store that is moving cannot go, see `finish_move`.
        if unsafe { (*store).finish_move(from, Memory::Spill, spill::allocate) } {
            freed += bytes;
        }
    }
    freed > 0
}

/// What lies in SYSTEM_MEM now, and why `bytes` more do not fit.
fn account(bytes: usize) -> Account {
    let table = TABLE.lock();
    let mut instances: Vec<Instance> =
        table.instances.values().filter(|i| i.memory == Memory::System).cloned().collect();
    instances.sort_by_key(|i| (std::cmp::Reverse(i.bytes), i.id));
    let mut unread = Vec::new();
    for i in &instances {
        // SAFETY: as in `evict`.
        let store = unsafe { &*(i.store as *const Store) };
        if store.is_idle() {
            unread.push(i.id);
        }
    }
    let reserved = live();
    let listed: usize = instances.iter().map(|i| i.bytes).sum();
    Account {
        bytes,
        memory: Memory::System,
        reserved,
        available: Memory::System.capacity(),
        small: reserved.saturating_sub(listed),
        instances,
        unread,
        store_at: Provenance::default(),
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

pub fn levels() -> Vec<Level> {
    let count = |m: Memory| TABLE.lock().instances.values().filter(|i| i.memory == m).count();
    let mut all = vec![Level {
        memory: Memory::System,
        capacity: Memory::System.capacity(),
        live: live(),
        peak: PEAK.load(Ordering::Relaxed) as usize,
        instances: count(Memory::System),
    }];
    if spill::is_on() {
        let (live, peak) = spill::level();
        let (memory, capacity) = (Memory::Spill, spill::capacity());
        all.push(Level { memory, capacity, live, peak, instances: count(Memory::Spill) });
    }
    all
}

/// Every line that made tracked arrays, with the bytes it holds now and held at most.
pub fn lines() -> Vec<(Provenance, Use)> {
    TABLE.lock().lines.iter().map(|(&at, &u)| (at, u)).collect()
}

/// Every tracked instance, largest first.
pub fn instances() -> Vec<Instance> {
    let mut all: Vec<Instance> = TABLE.lock().instances.values().cloned().collect();
    all.sort_by_key(|i| (std::cmp::Reverse(i.bytes), i.id));
    all
}

/// When the next look for garbage is due.
static LOOK_AFTER: Mutex<Option<Instant>> = Mutex::new(None);

/// Whether half of the memory is taken, and the last look for garbage was long enough ago.
pub fn is_tight() -> bool {
    live() >= Memory::System.capacity() / 2 && LOOK_AFTER.lock().is_none_or(|due| Instant::now() > due)
}

/// A look took so long: the next one waits until it is a hundredth of the time.
pub fn looked_for_garbage(took: Duration) {
    *LOOK_AFTER.lock() = Some(Instant::now() + took * 100);
}

pub fn show_usage() -> bool {
    numloom_config::current().show_memory_usage
}
