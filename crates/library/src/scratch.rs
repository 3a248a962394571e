//! Memory that one call keeps between its phases.

use crate::LibraryError;
use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::sync::OnceLock;

const LINE: usize = 64;

/// Buffers of at least this many bytes are borrowed from whoever keeps memory, if somebody does and has so much.
const BORROWED: usize = 64 << 10;

static LENDER: OnceLock<Lender> = OnceLock::new();

/// Keeps memory, so that its pages need not be touched for the first time again, and the account of it.
#[derive(Clone, Copy)]
pub struct Lender {
    /// So many bytes at a multiple of a cache line.
    pub take: fn(usize) -> Option<*mut u8>,
    /// Takes back what `take` gave for that number of bytes.
    pub give: unsafe fn(*mut u8, usize),
}

pub fn borrow_from(lender: Lender) {
    let _ = LENDER.set(lender);
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
    lender: Option<Lender>,
}

// SAFETY: a buffer is plain bytes; who writes which part is the phases' contract.
unsafe impl Send for Buffer {}
unsafe impl Sync for Buffer {}

impl Buffer {
    fn layout<T>(n: usize) -> Result<Layout, LibraryError> {
        const { assert!(align_of::<T>() <= LINE) };
        let bytes = n.checked_mul(size_of::<T>()).map(|bytes| bytes.max(1));
        bytes.and_then(|bytes| Layout::from_size_align(bytes, LINE).ok()).ok_or_else(|| no_scratch(n))
    }

    /// Room for `n` values of `T`, or NumPy's words for an allocation that failed.
    pub fn new<T>(n: usize) -> Result<Buffer, LibraryError> {
        let layout = Buffer::layout::<T>(n)?;
        if layout.size() >= BORROWED
            && let Some(&lender) = LENDER.get()
            && let Some(ptr) = (lender.take)(layout.size())
        {
            return Ok(Buffer { ptr, layout, lender: Some(lender) });
        }
        Buffer::not_borrowed(layout).ok_or_else(|| no_scratch(n))
    }

    fn not_borrowed(layout: Layout) -> Option<Buffer> {
        // SAFETY: the layout has a size of at least one.
        let ptr = unsafe { alloc(layout) };
        (!ptr.is_null()).then_some(Buffer { ptr, layout, lender: None })
    }

    pub fn as_ptr<T>(&self) -> *mut T {
        self.ptr as *mut T
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.lender {
            // SAFETY: taken from it in `new`, so many bytes.
            Some(lender) => unsafe { (lender.give)(self.ptr, self.layout.size()) },
            // SAFETY: allocated in `new` with this layout.
            None => unsafe { dealloc(self.ptr, self.layout) },
        }
    }
}

fn no_scratch(elements: usize) -> LibraryError {
    LibraryError::Memory(format!("Unable to allocate scratch for {elements} elements"))
}

thread_local! {
    static OWN: Cell<Option<Buffer>> = const { Cell::new(None) };
}

/// Room that a thread keeps for whoever needs some that is in its caches: it would be much for a stack, which may be small.
pub struct OwnRoom(Option<Buffer>);

impl OwnRoom {
    pub const BYTES: usize = 3 << 17;

    pub fn take() -> Result<OwnRoom, LibraryError> {
        let kept = OWN.try_with(Cell::take).ok().flatten();
        let layout = Buffer::layout::<u8>(OwnRoom::BYTES)?;
        kept.or_else(|| Buffer::not_borrowed(layout))
            .map(|b| OwnRoom(Some(b)))
            .ok_or_else(|| no_scratch(OwnRoom::BYTES))
    }

    pub fn as_ptr<T>(&self) -> *mut T {
        self.0.as_ref().map_or(std::ptr::null_mut(), Buffer::as_ptr)
    }
}

impl Drop for OwnRoom {
    fn drop(&mut self) {
        let buffer = self.0.take();
        let _ = OWN.try_with(|own| own.set(buffer));
    }
}

impl Scratch {
    /// The start of `n` values of `T`; the same on every call, so `n` must be too.
    pub fn get<T>(&self, n: usize) -> Result<*mut T, LibraryError> {
        match self.buffer.get_or_init(|| Buffer::new::<T>(n).ok()) {
            Some(buffer) if buffer.layout.size() >= n * size_of::<T>() => Ok(buffer.as_ptr()),
            _ => Err(no_scratch(n)),
        }
    }
}
