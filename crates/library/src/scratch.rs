//! Memory that one call keeps between its phases.

use crate::LibraryError;
use std::alloc::{Layout, alloc, dealloc};
use std::sync::OnceLock;

/// Buffers of at least this many bytes are told to whoever keeps the account of memory.
const TOLD: usize = 64 << 10;

static ACCOUNT: OnceLock<fn(isize)> = OnceLock::new();

/// Names the account: it is told of the bytes of large buffers when they come, and, negative, when they go.
pub fn account_with(account: fn(isize)) {
    let _ = ACCOUNT.set(account);
}

fn tell(bytes: usize, sign: isize) {
    if bytes >= TOLD
        && let Some(account) = ACCOUNT.get()
    {
        account(sign * bytes as isize);
    }
}

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
        if ptr.is_null() {
            return Err(fail());
        }
        tell(bytes, 1);
        Ok(Buffer { ptr, layout })
    }

    pub fn as_ptr<T>(&self) -> *mut T {
        self.ptr as *mut T
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.ptr, self.layout) };
        tell(self.layout.size(), -1);
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
