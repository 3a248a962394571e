//! Blocks of the heap that a thread freed last, to be used again: temporaries of a loop come in the same sizes over and
//! over, and a heap whose page was emptied by the last of them gives the page up and makes a new one each time, which took
//! as long as to add a thousand numbers.

use std::alloc::Layout;
use std::cell::RefCell;

const KEPT: usize = 4;
/// Larger blocks are not kept here: their work takes longer than the heap.
const LARGEST: usize = 64 << 10;

struct Recent {
    blocks: [(usize, *mut u8); KEPT],
    /// Which of them goes next.
    oldest: usize,
}

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent { blocks: [(0, std::ptr::null_mut()); KEPT], oldest: 0 }) };
}

impl Drop for Recent {
    fn drop(&mut self) {
        for (size, ptr) in self.blocks {
            if size > 0 {
                // SAFETY: a block of the heap of this size, which nobody else knows.
                unsafe { dealloc(ptr, size) };
            }
        }
    }
}

unsafe fn dealloc(ptr: *mut u8, size: usize) {
    std::alloc::dealloc(ptr, layout(size));
}

/// The layout of a block of the heap.
#[inline]
fn layout(size: usize) -> Layout {
    // SAFETY: sizes of arrays are not zero and far below the limit, and the alignment is a power of two.
    unsafe { Layout::from_size_align_unchecked(size, crate::pool::ALIGN) }
}

/// A block of so many bytes; null where there is none.
#[inline]
pub fn take(size: usize) -> *mut u8 {
    let kept = RECENT.try_with(|r| {
        let mut r = r.try_borrow_mut().ok()?;
        let block = r.blocks.iter_mut().find(|b| b.0 == size)?;
        Some(std::mem::replace(block, (0, std::ptr::null_mut())).1)
    });
    // SAFETY: the size is not zero.
    kept.ok().flatten().unwrap_or_else(|| unsafe { std::alloc::alloc(layout(size)) })
}

/// Gives a block back.
///
/// # Safety
/// It comes from `take` of the same size, and is not used afterwards.
#[inline]
pub unsafe fn give(ptr: *mut u8, size: usize) {
    let displaced = RECENT.try_with(|r| {
        let mut r = r.try_borrow_mut().ok().filter(|_| size <= LARGEST)?;
        let at = match r.blocks.iter().position(|b| b.0 == 0) {
            Some(free) => free,
            None => {
                r.oldest = (r.oldest + 1) % KEPT;
                r.oldest
            }
        };
        Some(std::mem::replace(&mut r.blocks[at], (size, ptr)))
    });
    match displaced.ok().flatten() {
        Some((0, _)) => {}
        Some((size, ptr)) => dealloc(ptr, size),
        None => dealloc(ptr, size),
    }
}
