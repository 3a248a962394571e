//! Memory that one call keeps between its phases.

use crate::LibraryError;
use std::alloc::{Layout, alloc, dealloc};
use std::sync::OnceLock;

/// An uninitialised buffer, allocated by whoever asks first. Tiles write disjoint parts of it in one
/// phase and read them in a later one.
#[derive(Default)]
pub struct Scratch {
    buffer: OnceLock<Option<Buffer>>,
}

/// Cache-line aligned bytes.
pub struct Buffer {
    ptr: *mut u8,
    layout: Layout,
}

// SAFETY: a buffer is plain bytes; who writes which part is the phases' contract.
unsafe impl Send for Buffer {}
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Room for `n` values of `T`, or NumPy's words for an allocation that failed.
    pub fn new<T>(n: usize) -> Result<Buffer, LibraryError> {
        let fail = || LibraryError::Memory(format!("Unable to allocate scratch for {n} elements"));
        let bytes = n.checked_mul(size_of::<T>()).ok_or_else(fail)?.max(1);
        let layout = Layout::from_size_align(bytes, 64.max(align_of::<T>())).map_err(|_| fail())?;
        // SAFETY: the layout has a size of at least one.
        let ptr = unsafe { alloc(layout) };
        if ptr.is_null() { Err(fail()) } else { Ok(Buffer { ptr, layout }) }
    }

    pub fn as_ptr<T>(&self) -> *mut T {
        self.ptr as *mut T
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.ptr, self.layout) }
    }
}

impl Scratch {
    /// The start of `n` values of `T`; the same on every call, so `n` must be too.
    pub fn get<T>(&self, n: usize) -> Result<*mut T, LibraryError> {
        match self.buffer.get_or_init(|| Buffer::new::<T>(n).ok()) {
            Some(buffer) if buffer.layout.size() >= n * size_of::<T>() => Ok(buffer.as_ptr()),
            _ => Err(LibraryError::Memory(format!("Unable to allocate scratch for {n} elements"))),
        }
    }
}
