//! A store: a logical array of bytes, with the line that made it and its memory once it has one.

use crate::error::ExecError;
use crate::memory::{self, Memory, NoMemory};
use crate::pool;
use crate::provenance::Provenance;
use crate::spill;
use crate::task::Task;
use numloom_ir::{DType, Dims, ScalarOp, Value, View};
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
    data: AtomicPtr<u8>,
    pub(crate) provenance: Provenance,
    /// Type and extents of a store large enough to be told of.
    extent: OnceLock<Box<(DType, Dims)>>,
    /// Python handles; 0 means nobody outside the window can read it any more.
    pub(crate) handles: AtomicU32,
    /// Operations recorded and not yet retired that read, and that write, this store.
    pub(crate) pending_reads: AtomicU32,
    pub(crate) pending_writes: AtomicU32,
    /// Foreign code (NumPy, a buffer) sees the bytes: operations on it are not deferred.
    pub(crate) exposed: AtomicU32,
    /// Counts recorded writes, so that what was derived from the contents knows when it is stale.
    version: AtomicU64,
    pub(crate) symbol: Option<Symbol>,
    /// What a data-dependent store was made from.
    pub(crate) origin: Option<Arc<Origin>>,
    /// Why it has no contents.
    pub(crate) error: OnceLock<Arc<ExecError>>,
    /// The last boolean index with this store as the mask, to know its length again.
    pub(crate) last_pack: Mutex<Option<Box<LastPack>>>,
    /// For a truth array: what computed it, to recognise the same mask written twice (`z[~m] = z[~m] - 1`).
    pub(crate) made_by: OnceLock<Box<MadeBy>>,
    /// Memory that belongs to somebody else, kept alive by this.
    owner: Option<Box<dyn Send + Sync>>,
    /// Its number in the window being analysed; see `node`.
    pub(crate) mark: AtomicU64,
    /// Tasks in flight that touch this store; used by the analysis alone.
    pub(crate) accesses: Mutex<Vec<Access>>,
}

/// A task in flight and the view through which it touches a store.
pub(crate) struct Access {
    pub task: Arc<Task>,
    pub view: View,
    pub writes: bool,
}

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

/// Version and view of a mask when it was last used, and the length that had.
pub(crate) struct LastPack {
    pub version: u64,
    pub view: View,
    pub symbol: std::sync::Weak<OnceLock<usize>>,
}

/// Contents of at most this many bytes come straight from the heap, uncounted: they are many and short-lived.
const SMALL: usize = 1024;
const SMALL_ALIGN: usize = 16;

/// Stands for the address while the bytes move.
const MOVING: *mut u8 = std::ptr::without_provenance_mut(1);

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
    if p.is_null() { Err(NoMemory::new(nbytes)) } else { Ok(p) }
}

/// # Safety
/// `p` must come from `allocate(nbytes)` and not be used afterwards.
#[inline]
unsafe fn free(p: *mut u8, nbytes: usize) {
    if nbytes > SMALL { pool::free(p, nbytes) } else { std::alloc::dealloc(p, small_layout(nbytes)) }
}

impl Store {
    #[inline]
    pub fn new(nbytes: usize, provenance: Provenance) -> Store {
        Store {
            nbytes: AtomicUsize::new(nbytes),
            data: AtomicPtr::new(std::ptr::null_mut()),
            provenance,
            extent: OnceLock::new(),
            handles: AtomicU32::new(0),
            pending_reads: AtomicU32::new(0),
            pending_writes: AtomicU32::new(0),
            exposed: AtomicU32::new(0),
            version: AtomicU64::new(0),
            symbol: None,
            origin: None,
            error: OnceLock::new(),
            last_pack: Mutex::new(None),
            made_by: OnceLock::new(),
            owner: None,
            mark: AtomicU64::new(0),
            accesses: Mutex::new(Vec::new()),
        }
    }

    /// Notes what a new store is for, if it is large enough to be told of.
    #[inline]
    pub(crate) fn note_extent(&self, view: &View) {
        if self.nbytes() >= memory::TRACKED {
            let _ = self.extent.set(Box::new((view.dtype, view.shape.clone())));
        }
    }

    /// Type and extents of what it holds; bytes where nobody said.
    pub(crate) fn extent(&self) -> (DType, Dims) {
        match self.extent.get() {
            Some(e) => (**e).clone(),
            None => (DType::U8, Dims::from_slice(&[self.nbytes()])),
        }
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

    #[inline]
    pub fn version(&self) -> u64 {
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

    /// The address of the bytes; null while the store has none.
    #[inline]
    pub fn ptr(&self) -> *mut u8 {
        let p = self.data.load(Ordering::Acquire);
        if p == MOVING { self.arrived() } else { p }
    }

    #[cold]
    fn arrived(&self) -> *mut u8 {
        loop {
            let p = self.data.load(Ordering::Acquire);
            if p != MOVING {
                return p;
            }
            std::thread::yield_now();
        }
    }

    /// Back to SYSTEM_MEM from the spill file, unless it is there or in use.
    pub(crate) fn bring_home(&self) -> Result<(), NoMemory> {
        if !memory::lies_in(self.ptr(), Memory::Spill) {
            return Ok(());
        }
        let mut room = Some(pool::allocate(self.nbytes())?);
        if let Some(from) = self.begin_move() {
            spill::let_inline_pass();
            self.finish_move(from, Memory::System, |_| room.take());
        }
        // SAFETY: nobody took the block.
        room.into_iter().for_each(|p| unsafe { pool::free(p, self.nbytes()) });
        Ok(())
    }

    /// Starts to move the bytes, if nobody seems to use them: their address. From here on whoever records an operation
    /// on them or exposes them waits for the new one. What runs inline must be let pass before `finish_move`.
    pub(crate) fn begin_move(&self) -> Option<*mut u8> {
        if self.owner.is_some() || !self.is_idle() || self.exposed.load(Ordering::SeqCst) > 0 {
            return None;
        }
        let from = self.data.swap(MOVING, Ordering::SeqCst);
        if from.is_null() || from == MOVING {
            self.data.store(from, Ordering::Release);
            return None;
        }
        Some(from)
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
        // SAFETY: both blocks have the store's size, and nobody else touches either.
        unsafe { std::ptr::copy_nonoverlapping(from, to, n) };
        memory::moved(from, to, memory);
        self.data.store(to, Ordering::Release);
        // SAFETY: the bytes came from `allocate` or the file, and nobody has their address any more.
        unsafe {
            if !spill::free(from) {
                free(from, n);
            }
        }
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

    /// The same, for an operation and its line.
    #[inline]
    pub fn materialise_for(&self, op: &'static str, at: Provenance) -> Result<*mut u8, NoMemory> {
        let p = self.ptr();
        if p.is_null() { self.allocate(op, at) } else { Ok(p) }
    }

    fn allocate(&self, op: &'static str, at: Provenance) -> Result<*mut u8, NoMemory> {
        let n = self.nbytes();
        let (p, memory) = match allocate(n) {
            Ok(p) => (p, Memory::System),
            Err(mut e) => match (n >= memory::TRACKED).then(|| spill::allocate(n)).flatten() {
                Some(p) => (p, Memory::Spill),
                None => {
                    e.0.store_at = self.provenance;
                    return Err(e);
                }
            },
        };
        match self.data.compare_exchange(std::ptr::null_mut(), p, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                memory::note(p, memory, n, self, op, at);
                Ok(p)
            }
            Err(other) => {
                // SAFETY: `p` was never shared.
                unsafe {
                    if memory == Memory::System {
                        free(p, n);
                    } else {
                        spill::free(p);
                    }
                }
                Ok(if other == MOVING { self.arrived() } else { other })
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

    /// Gives the memory back. Nobody may read the contents any more.
    pub(crate) fn release(&self) {
        if self.owner.is_some() {
            return;
        }
        let mut p = self.ptr();
        while let Err(other) = self.data.compare_exchange(p, std::ptr::null_mut(), Ordering::AcqRel, Ordering::Acquire)
        {
            p = if other == MOVING { self.arrived() } else { other };
        }
        if !p.is_null() {
            memory::forget(p, self.nbytes());
            // SAFETY: the bytes came from `allocate`, and nobody uses them any more.
            unsafe {
                if !spill::free(p) {
                    free(p, self.nbytes());
                }
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
        if p.is_null() || self.owner.is_some() {
            return;
        }
        if n < memory::TRACKED {
            // SAFETY: the last reference is going; the bytes came from `allocate`, and small ones never move.
            unsafe { free(p, n) };
        } else {
            self.release();
        }
    }
}
