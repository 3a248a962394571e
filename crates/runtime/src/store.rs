//! A store: a logical array of bytes, with the line that made it and its memory once it has one.

use crate::error::ExecError;
use crate::provenance::Provenance;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The length of a data-dependent result (`x[mask]`, `nonzero`), not known until it has run.
pub type Symbol = Arc<std::sync::OnceLock<usize>>;

pub struct Store {
    /// Bytes of the store; 0 until the symbol is set for data-dependent stores.
    pub(crate) nbytes: AtomicU64,
    pub(crate) data: AtomicPtr<u8>,
    pub(crate) provenance: Mutex<Provenance>,
    /// Python handles; 0 means nobody outside the window can read it any more.
    pub(crate) handles: AtomicU32,
    /// Operations recorded and not yet retired that read, and that write, this store.
    pub(crate) pending_reads: AtomicU32,
    pub(crate) pending_writes: AtomicU32,
    /// Foreign code (NumPy, a buffer) sees the bytes: operations on it are not deferred.
    pub(crate) exposed: AtomicU32,
    /// Counts recorded writes, so that what was derived from the contents knows when it is stale.
    pub(crate) version: AtomicU64,
    pub(crate) symbol: Option<Symbol>,
    pub(crate) error: Mutex<Option<Arc<ExecError>>>,
    /// Memory that belongs to somebody else, kept alive by this.
    pub(crate) owner: Option<Box<dyn Send + Sync>>,
}

impl Store {
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }
}
