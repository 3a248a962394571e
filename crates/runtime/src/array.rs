//! What the front holds: a view of a store.

use crate::store::{Store, Symbol};
use numloom_ir::View;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The extent of a data-dependent axis that is not known yet.
pub const UNSIZED: usize = usize::MAX;

/// A handle on a view of a store. Cloning and dropping handles tells the store who can still see it.
pub struct Array {
    pub store: Arc<Store>,
    pub view: View,
}

impl Array {
    #[inline]
    pub fn new(store: Arc<Store>, view: View) -> Array {
        store.handles.fetch_add(1, Ordering::Relaxed);
        Array { store, view }
    }

    /// The first handle of a store that already counts it.
    #[inline]
    pub(crate) fn first(store: Store, view: View) -> Array {
        Array { store: Arc::new(store), view }
    }

    /// Another view of the same store.
    #[inline]
    pub fn with_view(&self, view: View) -> Array {
        Array::new(self.store.clone(), view)
    }

    /// The symbol of an array whose length is not known yet (its shape reads `[UNSIZED]`).
    #[inline]
    pub fn symbol(&self) -> Option<&Symbol> {
        self.store.symbol.as_ref().filter(|_| self.view.shape.first() == Some(&UNSIZED))
    }
}

impl Clone for Array {
    #[inline]
    fn clone(&self) -> Array {
        Array::new(self.store.clone(), self.view.clone())
    }
}

impl Drop for Array {
    #[inline]
    fn drop(&mut self) {
        self.store.handles.fetch_sub(1, Ordering::Release);
    }
}
