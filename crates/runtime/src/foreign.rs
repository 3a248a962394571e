//! Memory of somebody else that is still seen there. Arrays over the same bytes are views of one store, so that what they
//! share is known as it is of any two views.

use crate::provenance::Provenance;
use crate::store::Store;
use parking_lot::Mutex;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// All such stores, and some that are gone.
static SEEN: Mutex<Vec<Weak<Store>>> = Mutex::new(Vec::new());

/// The store over `ptr..ptr + nbytes`, and where in it that begins. `owner` keeps these bytes.
///
/// # Safety
/// They must stay valid while `owner` lives.
pub unsafe fn store_over(
    ptr: *mut u8,
    nbytes: usize,
    owner: Box<dyn Send + Sync>,
    at: impl FnOnce() -> Provenance,
) -> (Arc<Store>, usize) {
    // Looked at without the lock: one that goes meanwhile may run code of its owner's, which may come here.
    let live: Vec<Arc<Store>> = SEEN.lock().iter().filter_map(Weak::upgrade).collect();
    // Whoever keeps the known store alive keeps the memory under it, so this owner may go.
    if let Some(known) = live.iter().find_map(|s| begins_at(s, ptr, nbytes).map(|before| (s.clone(), before))) {
        return known;
    }
    let store = Arc::new(Store::adopt(ptr, nbytes, owner, at()));
    store.exposed.store(1, Ordering::Release);
    let mut seen = SEEN.lock();
    if seen.len() == seen.capacity() {
        seen.retain(|s| s.strong_count() > 0);
    }
    seen.push(Arc::downgrade(&store));
    (store, 0)
}

/// Where in a store these bytes begin, if it has all of them.
fn begins_at(store: &Store, ptr: *mut u8, nbytes: usize) -> Option<usize> {
    let before = (ptr as usize).checked_sub(store.ptr() as usize)?;
    (before.checked_add(nbytes)? <= store.nbytes()).then_some(before)
}
