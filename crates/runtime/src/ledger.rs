//! The ledger: what lies in the memories and which lines of the program put it there.

use crate::error::Account;
use crate::grid::Block;
use crate::memory::Memory;
use crate::profile;
use crate::provenance::Provenance;
use crate::store::Store;
use numloom_ir::{DType, Dims};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// An array's bytes in a memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    pub id: u64,
    pub memory: Memory,
    pub bytes: usize,
    pub dtype: DType,
    pub shape: Dims,
    /// First and last element along every axis of the part of the array that it holds.
    pub low: Dims,
    pub high: Dims,
    /// The line that made the array.
    pub store_at: Provenance,
    /// The operation that made the instance.
    pub op: &'static str,
    pub op_at: Provenance,
    /// How often the array was read while it lay here, and when last; counted where a profile is written.
    pub reads: u32,
    pub last_read: u64,
    /// The store, only to ask about it while the instance is in the table.
    store: usize,
}

impl Instance {
    /// Tells instances of one store from those of another.
    pub fn store(&self) -> usize {
        self.store
    }
}

/// Instances of host memory smaller than this are counted together: there are many, and they come and go.
pub const TRACKED: usize = 64 << 10;

/// Whether an instance is told of one by one.
#[inline]
pub fn is_tracked(memory: Memory, bytes: usize) -> bool {
    bytes >= TRACKED || !matches!(memory, Memory::System | Memory::Socket(_) | Memory::Spill)
}

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
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Notes an instance of a part of a store, if it is one to be told of.
pub fn note(address: *mut u8, memory: Memory, block: &Block, store: &Store, op: &'static str, op_at: Provenance) {
    if is_tracked(memory, block.bytes()) {
        enter(address, memory, Some(block), store, op, op_at);
    }
}

/// The same for one of the whole store.
#[inline]
pub fn note_whole(address: *mut u8, memory: Memory, store: &Store, op: &'static str, op_at: Provenance) {
    if is_tracked(memory, store.nbytes()) {
        enter(address, memory, None, store, op, op_at);
    }
}

fn enter(address: *mut u8, memory: Memory, block: Option<&Block>, store: &Store, op: &'static str, op_at: Provenance) {
    let own = store.extent();
    let (low, high) = match block {
        Some(block) => block.indices(&own),
        None => (own.shape.iter().map(|_| 0).collect(), own.shape.iter().map(|n| n.saturating_sub(1)).collect()),
    };
    let (bytes, store_at) = (block.map_or(store.nbytes(), Block::bytes), store.provenance);
    let (dtype, shape) = (own.dtype, own.shape);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let store = store as *const Store as usize;
    let instance =
        Instance { id, memory, bytes, dtype, shape, low, high, store_at, op, op_at, reads: 0, last_read: 0, store };
    if profile::on() {
        profile::born(&instance, memory.live());
    }
    let mut table = TABLE.lock();
    let line = table.lines.entry(store_at).or_default();
    line.live += bytes;
    line.peak = line.peak.max(line.live);
    table.instances.insert(address as usize, instance);
}

pub fn forget(address: *mut u8, memory: Memory, bytes: usize) {
    if !is_tracked(memory, bytes) {
        return;
    }
    let mut table = TABLE.lock();
    if let Some(i) = table.instances.remove(&(address as usize))
        && let Some(line) = table.lines.get_mut(&i.store_at)
    {
        line.live -= i.bytes;
        if profile::on() {
            profile::died(&i);
        }
    }
}

/// The instance at an address has moved.
pub fn moved(from: *mut u8, to: *mut u8, memory: Memory) {
    let mut table = TABLE.lock();
    if let Some(mut i) = table.instances.remove(&(from as usize)) {
        if profile::on() {
            profile::died(&i);
            i.id = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        i.memory = memory;
        if profile::on() {
            profile::born(&i, memory.live());
        }
        table.instances.insert(to as usize, i);
    }
}

/// The instances at two addresses have changed places.
pub fn exchanged(a: *mut u8, b: *mut u8) {
    let mut table = TABLE.lock();
    let (x, y) = (table.instances.remove(&(a as usize)), table.instances.remove(&(b as usize)));
    for (address, instance) in [(b, x), (a, y)] {
        if let Some(i) = instance {
            table.instances.insert(address as usize, i);
        }
    }
}

/// Somebody reads the array. Its instances are shown to `found`.
pub fn read(store: &Store, now: u64, mut found: impl FnMut(u64)) {
    let mut table = TABLE.lock();
    let at = store.ptr() as usize;
    if let Some(i) = table.instances.get_mut(&at) {
        (i.reads, i.last_read) = (i.reads + 1, now);
        found(i.id);
        return;
    }
    // In several memories it has no address of its own.
    let store = store as *const Store as usize;
    for i in table.instances.values_mut().filter(|i| i.store == store) {
        (i.reads, i.last_read) = (i.reads + 1, now);
        found(i.id);
    }
}

/// The memory of a tracked instance.
pub fn memory_at(address: *mut u8) -> Option<Memory> {
    TABLE.lock().instances.get(&(address as usize)).map(|i| i.memory)
}

/// Shows the stores with instances in a memory, those with the largest first, to somebody who may choose to go on
/// (true) or stop. They cannot go meanwhile: a store forgets its instances, under the same lock, before it goes.
pub fn look_through(memory: Memory, mut look: impl FnMut(&Store, &Instance) -> bool) {
    let table = TABLE.lock();
    let mut here: Vec<&Instance> = table.instances.values().filter(|i| i.memory == memory).collect();
    here.sort_unstable_by_key(|i| (std::cmp::Reverse(i.bytes), i.id));
    for i in here {
        // SAFETY: see above.
        if !look(unsafe { &*(i.store as *const Store) }, i) {
            break;
        }
    }
}

/// What lies in a memory now, and why `bytes` more do not fit.
pub fn account(memory: Memory, bytes: usize) -> Account {
    let (mut instances, mut unread) = (Vec::new(), Vec::new());
    look_through(memory, |store, i| {
        if store.is_idle() {
            unread.push(i.id);
        }
        instances.push(i.clone());
        true
    });
    let reserved = memory.live();
    let listed: usize = instances.iter().map(|i| i.bytes).sum();
    let small = reserved.saturating_sub(listed);
    let (available, store_at) = (memory.capacity(), Provenance::default());
    Account { bytes, memory, reserved, available, small, instances, unread, store_at, failed: None }
}

pub fn count(memory: Memory) -> usize {
    TABLE.lock().instances.values().filter(|i| i.memory == memory).count()
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
