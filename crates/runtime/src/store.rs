//! A store: a logical array of bytes, with the line that made it and its memory once it has one.

use crate::error::ExecError;
use crate::grid::Grid;
use crate::ledger;
use crate::memory::{Memory, NoMemory};
use crate::placed::{self, Replica};
use crate::pool;
use crate::profile;
use crate::provenance::Provenance;
use crate::reserved;
use crate::spill;
use crate::task::Task;
use numloom_ir::view::Order;
use numloom_ir::{DType, ScalarOp, Value, View};
use numloom_library::Reaches;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::alloc::Layout;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The length of a data-dependent result (`x[mask]`, `nonzero`), not known until it has run.
pub type Symbol = Arc<OnceLock<usize>>;

pub struct Store {
    /// Bytes; of a data-dependent store 0 until its symbol is set.
    nbytes: AtomicUsize,
    pub(crate) data: AtomicPtr<u8>,
    /// Its bytes in several memories; empty while the address says it all.
    pub(crate) placed: Mutex<Vec<Replica>>,
    pub(crate) provenance: Provenance,
    /// The view that has all of it, of a store that is large enough to be told of or lies in several memories.
    extent: OnceLock<Box<View>>,
    /// Python handles; 0 means nobody outside the window can read it any more.
    pub(crate) handles: AtomicU32,
    /// Operations recorded and not yet retired that read, and that write, this store.
    pub(crate) pending_reads: AtomicU32,
    pub(crate) pending_writes: AtomicU32,
    /// Foreign code (NumPy, a buffer) sees the bytes: operations on it are not deferred.
    pub(crate) exposed: AtomicU32,
    /// Foreign code sees the bytes on a device; see `lent`.
    pub(crate) lent: AtomicU32,
    /// Counts recorded writes, so that what was derived from the contents knows when it is stale.
    version: AtomicU64,
    pub(crate) symbol: Option<Symbol>,
    /// What a data-dependent store was made from.
    pub(crate) origin: Option<Arc<Origin>>,
    /// Why it has no contents.
    pub(crate) error: OnceLock<Arc<ExecError>>,
    /// The last index with this store as the mask or the index array, to know again what was found.
    pub(crate) last_use: Mutex<Option<Box<LastUse>>>,
    /// For a truth array: what computed it, to recognise the same mask written twice (`z[~m] = z[~m] - 1`).
    pub(crate) made_by: OnceLock<Box<MadeBy>>,
    /// Memory that belongs to somebody else, kept alive by this.
    owner: Option<Box<dyn Send + Sync>>,
    /// Its number in the window being analysed; see `node`.
    pub(crate) mark: AtomicU64,
    /// Tasks in flight that touch this store; used by the analysis alone.
    pub(crate) accesses: Mutex<Accesses>,
}

/// The accesses of tasks in flight to a store, and of some that are over.
#[derive(Default)]
pub(crate) struct Accesses {
    pub all: Vec<Access>,
    /// How many were left when those of tasks that are over went last.
    left: usize,
}

impl Accesses {
    /// A list of this length is looked through every time.
    const SHORT: usize = 32;

    /// Drops those of tasks that are over. Of a long list, when it has doubled: to look at all of it for every task would
    /// take longer than the tasks.
    pub fn prune(&mut self) {
        if self.all.len() >= Self::SHORT && self.all.len() < 2 * self.left {
            return;
        }
        self.all.retain(|a| !a.task.is_over());
        self.left = self.all.len();
    }
}

/// A task and the view through which it touches a store.
pub(crate) struct Access {
    pub task: Arc<Task>,
    pub view: View,
    /// Between which bytes the view lies.
    pub bounds: (usize, usize),
    pub writes: bool,
    /// The task's number, and those of the tasks it follows: none has another's.
    pub number: u64,
    pub follows: Numbers,
}

pub(crate) type Numbers = SmallVec<[u64; 4]>;

/// The mask that a data-dependent store came from, as it was then.
#[derive(Clone)]
pub(crate) struct Origin {
    pub mask: Arc<Store>,
    pub mask_view: View,
    pub mask_version: u64,
    /// For an index array of `nonzero`: its axis.
    pub axis: Option<usize>,
    /// The store's own version when it was made.
    pub own_version: u64,
}

/// An operation and what it read, as it was then. Holds no memory: stores are only told apart.
#[derive(Clone)]
pub(crate) struct MadeBy {
    pub op: (ScalarOp, u8),
    pub ins: SmallVec<[MadeFrom; 2]>,
}

#[derive(Clone)]
pub(crate) enum MadeFrom {
    Place { store: std::sync::Weak<Store>, version: u64, view: View },
    Value(Value),
}

impl PartialEq for MadeFrom {
    fn eq(&self, other: &MadeFrom) -> bool {
        use MadeFrom::{Place, Value};
        match (self, other) {
            (Value(a), Value(b)) => a == b,
            (Place { store, version, view }, Place { store: s, version: n, view: v }) => {
                store.ptr_eq(s) && version == n && view == v
            }
            _ => false,
        }
    }
}

/// Version and view of a mask or an index array when it was last used, and what was found then.
pub(crate) struct LastUse {
    pub version: u64,
    pub view: View,
    pub found: Found,
}

pub(crate) enum Found {
    /// How many elements of a mask are true.
    Length(std::sync::Weak<OnceLock<usize>>),
    /// How far indices into an axis of this extent reach.
    Reaches(usize, Reaches),
}

/// Contents of at most this many bytes come straight from the heap, uncounted: they are many and short-lived.
const SMALL: usize = 1024;
const SMALL_ALIGN: usize = 16;

/// Stands for the address while the bytes move.
pub(crate) const MOVING: *mut u8 = std::ptr::without_provenance_mut(1);
/// Stands for the address while there are replicas.
pub(crate) const AWAY: *mut u8 = std::ptr::without_provenance_mut(2);

#[inline]
fn small_layout(nbytes: usize) -> Layout {
    // SAFETY: a power of two, and far from overflowing.
    unsafe { Layout::from_size_align_unchecked(nbytes.max(1), SMALL_ALIGN) }
}

#[inline]
fn allocate_small(nbytes: usize) -> *mut u8 {
    // SAFETY: the size is not zero.
    unsafe { std::alloc::alloc(small_layout(nbytes)) }
}

#[inline]
fn allocate(nbytes: usize) -> Result<*mut u8, NoMemory> {
    if nbytes > SMALL {
        return pool::allocate(nbytes);
    }
    let p = allocate_small(nbytes);
    if p.is_null() { Err(NoMemory::new(Memory::System, nbytes)) } else { Ok(p) }
}

/// The same in SYSTEM_MEM without waiting for others or moving anything.
pub(crate) fn allocate_at_once(nbytes: usize) -> Option<*mut u8> {
    if nbytes > SMALL {
        return pool::allocate_at_once(nbytes);
    }
    let p = allocate_small(nbytes);
    (!p.is_null()).then_some(p)
}

/// Host memory for an array: near the thread where sockets have memory of their own, else SYSTEM_MEM, else the file.
pub(crate) fn allocate_host(nbytes: usize) -> Result<(*mut u8, Memory), NoMemory> {
    // Settings are not read for small arrays: there are some before the driver has settled them.
    if nbytes >= ledger::TRACKED
        && reserved::sockets() > 0
        && let Some(found) = pool::allocate_near(nbytes)
    {
        return Ok(found);
    }
    match allocate(nbytes) {
        Ok(p) => Ok((p, Memory::System)),
        Err(e) => match (nbytes >= ledger::TRACKED).then(|| spill::allocate(nbytes)).flatten() {
            Some(p) => Ok((p, Memory::Spill)),
            None => Err(e),
        },
    }
}

/// # Safety
/// `p` must come from `allocate(nbytes)` and not be used afterwards.
#[inline]
pub(crate) unsafe fn free(p: *mut u8, nbytes: usize) {
    if nbytes > SMALL { pool::free(p, nbytes) } else { std::alloc::dealloc(p, small_layout(nbytes)) }
}

impl Store {
    #[inline]
    pub fn new(nbytes: usize, provenance: Provenance) -> Store {
        Store {
            nbytes: AtomicUsize::new(nbytes),
            data: AtomicPtr::new(std::ptr::null_mut()),
            placed: Mutex::new(Vec::new()),
            provenance,
            extent: OnceLock::new(),
            handles: AtomicU32::new(0),
            pending_reads: AtomicU32::new(0),
            pending_writes: AtomicU32::new(0),
            exposed: AtomicU32::new(0),
            lent: AtomicU32::new(0),
            version: AtomicU64::new(0),
            symbol: None,
            origin: None,
            error: OnceLock::new(),
            last_use: Mutex::new(None),
            made_by: OnceLock::new(),
            owner: None,
            mark: AtomicU64::new(0),
            accesses: Mutex::default(),
        }
    }

    /// Notes what a new store is for, if it is large enough to be told of.
    #[inline]
    pub(crate) fn note_extent(&self, view: &View) {
        if self.nbytes() >= ledger::TRACKED {
            let _ = self.extent.set(Box::new(view.clone()));
        }
    }

    /// Type, extents and order of what it holds; bytes where nobody said.
    pub(crate) fn extent(&self) -> View {
        let bytes = || View::dense(DType::U8, &[self.nbytes()], Order::C);
        let known = self.extent.get().filter(|v| v.nbytes() == self.nbytes());
        known.map_or_else(bytes, |v| (**v).clone())
    }

    /// Its bytes in rows; all of them one row where nobody has said yet how it is used.
    pub(crate) fn grid(&self) -> Grid {
        let known = self.extent.get().and_then(|v| Grid::of(v)).filter(|g| g.nbytes() == self.nbytes());
        known.unwrap_or_else(|| Grid::flat(self.nbytes()))
    }

    /// The same for good: from here on what is known of its bytes is known of boxes in this grid. If nobody has said
    /// how it is used, a view that has all of it says so now.
    pub(crate) fn settled_grid(&self, seen: Option<&View>) -> Grid {
        self.extent.get_or_init(|| {
            let tells = |v: &&View| v.nbytes() == self.nbytes() && Grid::of(v).is_some();
            let bytes = || View::dense(DType::U8, &[self.nbytes()], Order::C);
            Box::new(seen.filter(tells).cloned().unwrap_or_else(bytes))
        });
        self.grid()
    }

    /// A store whose length is not known yet.
    pub(crate) fn with_symbol(symbol: Symbol, origin: Arc<Origin>, provenance: Provenance) -> Store {
        let mut s = Store::new(0, provenance);
        s.symbol = Some(symbol);
        s.origin = Some(origin);
        s
    }

    /// A store with memory that the caller is about to fill, seen by one handle.
    #[inline]
    pub(crate) fn to_fill(nbytes: usize) -> Result<Arc<Store>, NoMemory> {
        let p = allocate(nbytes)?;
        let room = Arc::<Store>::new_uninit();
        // Written where it stays: moving it costs more than making it.
        // SAFETY: nobody else knows the new room, and it is filled before it is used.
        unsafe {
            let s = Arc::as_ptr(&room).cast::<Store>().cast_mut();
            s.write(Store::new(nbytes, Provenance::default()));
            *(*s).data.get_mut() = p;
            *(*s).handles.get_mut() = 1;
            *(*s).version.get_mut() = 1;
            Ok(room.assume_init())
        }
    }

    /// A store over memory of somebody else.
    pub(crate) fn adopt(ptr: *mut u8, nbytes: usize, owner: Box<dyn Send + Sync>, provenance: Provenance) -> Store {
        let mut s = Store::new(nbytes, provenance);
        s.data = AtomicPtr::new(ptr);
        s.owner = Some(owner);
        s
    }

    /// A number that is another one after every write; 0 before the first. While foreign code may write it is another
    /// one whenever somebody asks.
    #[inline]
    pub fn version(&self) -> u64 {
        if self.exposed.load(Ordering::Acquire) > 0 {
            self.wrote();
        }
        self.version.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn wrote(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub fn nbytes(&self) -> usize {
        self.nbytes.load(Ordering::Acquire)
    }

    /// Fixes the size of a data-dependent store, before its memory is asked for.
    pub(crate) fn set_nbytes(&self, nbytes: usize) {
        self.nbytes.store(nbytes, Ordering::Release);
    }

    /// The address of the bytes; null while the store has none, or has them in several memories.
    #[inline]
    pub fn ptr(&self) -> *mut u8 {
        let p = self.data.load(Ordering::Acquire);
        if p == MOVING || p == AWAY { self.arrived() } else { p }
    }

    #[cold]
    fn arrived(&self) -> *mut u8 {
        loop {
            match self.data.load(Ordering::Acquire) {
                MOVING => std::thread::yield_now(),
                AWAY => return std::ptr::null_mut(),
                p => return p,
            }
        }
    }

    /// Whether it has no bytes anywhere.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.data.load(Ordering::Acquire).is_null()
    }

    /// The memory that an address of this store lies in.
    pub(crate) fn memory_of(&self, p: *mut u8) -> Memory {
        let told = self.nbytes() >= ledger::TRACKED || reserved::exist();
        told.then(|| ledger::memory_at(p)).flatten().unwrap_or(Memory::System)
    }

    /// To SYSTEM_MEM or to pinned memory, and nowhere else, unless it is there or in use.
    pub(crate) fn move_to_host(&self, memory: Memory) -> Result<(), NoMemory> {
        if self.is_away() {
            self.at_home(None, true)?;
        }
        let (p, n) = (self.ptr(), self.nbytes());
        if p.is_null() || self.memory_of(p) == memory {
            return Ok(());
        }
        let mut room = Some(if memory == Memory::System { allocate(n)? } else { pool::allocate_in(memory, n)? });
        if let Some(from) = self.begin_move() {
            spill::let_inline_pass();
            self.finish_move(from, memory, |_| room.take());
        }
        // SAFETY: nobody took the block.
        room.into_iter().for_each(|p| unsafe { placed::free_in(memory, p, n) });
        Ok(())
    }

    /// Starts to move the bytes, if nobody seems to use them: their address. From here on whoever records an operation
    /// on them or exposes them waits for the new one. What runs inline must be let pass before `finish_move`.
    pub(crate) fn begin_move(&self) -> Option<*mut u8> {
        if self.owner.is_some() || !self.is_idle() || self.exposed.load(Ordering::SeqCst) > 0 {
            return None;
        }
        let from = self.data.load(Ordering::SeqCst);
        if from.is_null() || from == MOVING || from == AWAY {
            return None;
        }
        self.data.compare_exchange(from, MOVING, Ordering::SeqCst, Ordering::SeqCst).ok()
    }

    /// Copies the bytes to a block that `allocate` gives, unless somebody did come before `begin_move`. True if they
    /// have moved. The store cannot go meanwhile: who drops it waits for the address, too.
    pub(crate) fn finish_move(
        &self,
        from: *mut u8,
        memory: Memory,
        mut allocate: impl FnMut(usize) -> Option<*mut u8>,
    ) -> bool {
        let n = self.nbytes();
        let free_to_go = self.is_idle() && self.exposed.load(Ordering::SeqCst) == 0;
        let Some(to) = (if free_to_go { allocate(n) } else { None }) else {
            self.data.store(from, Ordering::Release);
            return false;
        };
        let started = if profile::on() { profile::record::now() } else { 0 };
        // SAFETY: both blocks have the store's size, and nobody else touches either.
        unsafe { std::ptr::copy_nonoverlapping(from, to, n) };
        let old = self.memory_of(from);
        profile::copied(old, memory, started, n, self.provenance);
        if ledger::is_tracked(old, n) {
            ledger::moved(from, to, memory);
        } else {
            ledger::note_whole(to, memory, self, "offload_to", self.provenance);
        }
        self.data.store(to, Ordering::Release);
        // SAFETY: nobody has the old address any more.
        unsafe { placed::free_in(old, from, n) };
        true
    }

    pub fn is_foreign(&self) -> bool {
        self.owner.is_some()
    }

    /// The address, allocating on first use. Only the task that writes first (or a caller that holds
    /// the only pending access) calls this, so two allocations cannot race for long: the loser frees.
    #[inline]
    pub fn materialise(&self) -> Result<*mut u8, NoMemory> {
        let p = self.ptr();
        if p.is_null() { self.allocate("array", self.provenance) } else { Ok(p) }
    }

    /// The address where a view can be read on the host, allocating on first use.
    pub(crate) fn for_host(&self, view: &View) -> Result<*mut u8, NoMemory> {
        if self.is_away() {
            return self.at_home(Some(view), self.exposed.load(Ordering::Acquire) > 0);
        }
        self.materialise()
    }

    /// The same, for an operation and its line.
    #[inline]
    pub fn materialise_for(&self, op: &'static str, at: Provenance) -> Result<*mut u8, NoMemory> {
        let p = self.ptr();
        if p.is_null() { self.allocate(op, at) } else { Ok(p) }
    }

    fn allocate(&self, op: &'static str, at: Provenance) -> Result<*mut u8, NoMemory> {
        if self.is_away() {
            return self.at_home(None, true);
        }
        let n = self.nbytes();
        let (p, memory) = allocate_host(n).map_err(|mut e| {
            e.0.store_at = self.provenance;
            e
        })?;
        match self.data.compare_exchange(std::ptr::null_mut(), p, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                ledger::note_whole(p, memory, self, op, at);
                Ok(p)
            }
            Err(_) => {
                // SAFETY: `p` was never shared.
                unsafe { placed::free_in(memory, p, n) };
                self.materialise()
            }
        }
    }

    /// Nobody but operations that read and write it this often can see the store.
    pub(crate) fn is_private(&self, reads: u32, writes: u32) -> bool {
        // A reader is announced before the handle it came from goes, so look in that order.
        self.handles.load(Ordering::Acquire) == 0
            && self.exposed.load(Ordering::Acquire) == 0
            && self.pending_reads.load(Ordering::Acquire) == reads
            && self.pending_writes.load(Ordering::Acquire) == writes
    }

    /// Nobody can see the contents any more: no handle, no operation on its way. A mask may still be asked for by what
    /// was packed with it.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.is_private(0, 0) && self.owner.is_none() && !self.is_bare() && self.last_use.lock().is_none()
    }

    /// Whether it can take over the bytes of a store that is read for the last time, so many times by whoever asks.
    pub(crate) fn can_inherit(&self, from: &Store, reads: u32) -> bool {
        let last = from.is_private(reads, 0) && !from.is_foreign() && from.last_use.lock().is_none();
        last && from.nbytes() == self.nbytes() && self.is_bare() && !from.is_away() && !from.is_bare()
    }

    /// Takes them over: nothing has to be copied. False, and nothing has changed, if somebody else can still see them or
    /// they lie in several memories.
    pub(crate) fn inherit(&self, from: &Store, reads: u32, op: &'static str, at: Provenance) -> bool {
        let n = self.nbytes();
        if !self.can_inherit(from, reads) {
            return false;
        }
        let p = from.ptr();
        let memory = from.memory_of(p);
        if from.data.compare_exchange(p, std::ptr::null_mut(), Ordering::AcqRel, Ordering::Acquire).is_err() {
            return false;
        }
        ledger::forget(p, memory, n);
        ledger::note_whole(p, memory, self, op, at);
        self.data.store(p, Ordering::Release);
        true
    }

    /// Gives the memory back. Nobody may read the contents any more.
    pub(crate) fn release(&self) {
        if self.release_replicas() || self.owner.is_some() {
            return;
        }
        loop {
            let p = self.ptr();
            if p.is_null() {
                return;
            }
            let memory = self.memory_of(p);
            let gone = self.data.compare_exchange(p, std::ptr::null_mut(), Ordering::AcqRel, Ordering::Acquire);
            if gone.is_ok() {
                ledger::forget(p, memory, self.nbytes());
                // SAFETY: the bytes are this store's, and nobody uses them any more.
                unsafe { placed::free_in(memory, p, self.nbytes()) };
                return;
            }
        }
    }

    #[inline]
    pub fn is_broken(&self) -> bool {
        self.error.get().is_some()
    }

    /// Nothing recorded will still write it: its contents may be read.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.pending_writes.load(Ordering::Acquire) == 0
    }

    /// Nothing recorded will still touch it: it may be written.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.is_settled() && self.pending_reads.load(Ordering::Acquire) == 0
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let (p, n) = (*self.data.get_mut(), *self.nbytes.get_mut());
        if p.is_null() || self.owner.is_some() && p != AWAY {
            return;
        }
        if n < ledger::TRACKED && !reserved::exist() {
            // SAFETY: the last reference is going; the bytes came from `allocate`, and small ones never move.
            unsafe { free(p, n) };
        } else {
            self.release();
        }
    }
}
