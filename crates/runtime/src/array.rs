//! What the front holds: a view of a store.

use crate::store::{Store, Symbol};
use numloom_ir::View;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// The extent of a data-dependent axis that is not known yet.
pub const UNSIZED: usize = usize::MAX;

/// A handle on a view of a store. Cloning and dropping handles tells the store who can still see it.
pub struct Array {
    pub store: Held,
    pub view: View,
}

/// The store of a handle. All handles of a store share one reference to it: the first brings it, the last takes it
/// along. So a view counts once, not twice.
pub struct Held(ManuallyDrop<Arc<Store>>);

impl Deref for Held {
    type Target = Arc<Store>;

    #[inline]
    fn deref(&self) -> &Arc<Store> {
        &self.0
    }
}

impl Array {
    #[inline]
    pub fn new(store: Arc<Store>, view: View) -> Array {
        let held = Held(ManuallyDrop::new(store));
        if held.handles.fetch_add(1, Ordering::Relaxed) > 0 {
            // SAFETY: a reference too many: other handles have one, which lives as long as this handle counts.
            unsafe { Arc::decrement_strong_count(Arc::as_ptr(&held)) };
        }
        Array { store: held, view }
    }

    /// The first handle of a store that already counts it.
    #[inline]
    pub(crate) fn first(store: Arc<Store>, view: View) -> Array {
        Array { store: Held(ManuallyDrop::new(store)), view }
    }

    /// Another view of the same store.
    #[inline]
    pub fn with_view(&self, view: View) -> Array {
        self.store.handles.fetch_add(1, Ordering::Relaxed);
        // SAFETY: not a reference of its own: that of all handles, of which this is one.
        Array { store: Held(ManuallyDrop::new(unsafe { std::ptr::read(&*self.store) })), view }
    }

    /// The symbol of an array whose length is not known yet (its shape reads `[UNSIZED]`).
    #[inline]
    pub fn symbol(&self) -> Option<&Symbol> {
        if self.view.shape.first() == Some(&UNSIZED) { self.store.symbol.as_ref() } else { None }
    }
}

impl Clone for Array {
    #[inline]
    fn clone(&self) -> Array {
        self.with_view(self.view.clone())
    }
}

impl Drop for Array {
    #[inline]
    fn drop(&mut self) {
        if self.store.handles.fetch_sub(1, Ordering::Release) == 1 {
            // What others did through their handles comes before the store goes.
            fence(Ordering::Acquire);
            // SAFETY: the last handle owns the reference of all, and is not used again.
            unsafe { ManuallyDrop::drop(&mut self.store.0) };
        }
    }
}
