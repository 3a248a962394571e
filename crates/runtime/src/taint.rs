//! Arrays that a failed operation was to update in place. Until the program has been told of the failure, whatever
//! reads them fails, too; then they are what they were before.

use crate::error::ExecError;
use crate::store::Store;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

type Tainted = FxHashMap<usize, (Arc<Store>, Arc<ExecError>)>;

static TAINTED: LazyLock<Mutex<Tainted>> = LazyLock::new(Mutex::default);
static ANY: AtomicBool = AtomicBool::new(false);

/// The store counts as having a write pending meanwhile, so nothing runs on it inline.
pub fn add(store: &Arc<Store>, e: &Arc<ExecError>) {
    TAINTED.lock().entry(Arc::as_ptr(store) as usize).or_insert_with(|| {
        store.pending_writes.fetch_add(1, Ordering::AcqRel);
        (store.clone(), e.clone())
    });
    ANY.store(true, Ordering::Release);
}

pub fn of(store: &Store) -> Option<Arc<ExecError>> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    TAINTED.lock().get(&(store as *const Store as usize)).map(|(_, e)| e.clone())
}

/// The program has been told.
pub fn clear() {
    if !ANY.swap(false, Ordering::AcqRel) {
        return;
    }
    for (store, _) in std::mem::take(&mut *TAINTED.lock()).into_values() {
        store.pending_writes.fetch_sub(1, Ordering::AcqRel);
    }
}
