//! The memory pool: bytes of instances. Small ones come from the heap, large ones from blocks that are kept when
//! they are freed.

use crate::memory::{self, Memory, NoMemory};
use crate::region::Region;
use crate::spill;
use numloom_threads::{Blocks, Source};
use std::alloc::Layout;
use std::sync::LazyLock;

/// Blocks of at least this many bytes are mapped by the pool itself; smaller ones come from the heap.
const MAPPED: usize = 256 << 10;
const HUGE_PAGE: usize = 2 << 20;
const ALIGN: usize = 64;

static BLOCKS: Blocks<System> = Blocks::new(System);

/// The size a block of `nbytes` really has: in steps of less than a hundredth, so that similar sizes share blocks.
pub fn rounded(nbytes: usize) -> usize {
    if nbytes < MAPPED {
        return nbytes.max(1).next_multiple_of(ALIGN);
    }
    let step = (nbytes.next_power_of_two() / 256).clamp(4096, HUGE_PAGE);
    nbytes.next_multiple_of(step)
}

pub fn allocate(nbytes: usize) -> Result<*mut u8, NoMemory> {
    let size = rounded(nbytes);
    if memory::is_made_to_fail() {
        return Err(NoMemory::new(nbytes));
    }
    if let Err(mut e) = memory::take(size) {
        e.0.bytes = nbytes;
        // Small arrays do not move; where others can, they are not what fails.
        if nbytes >= memory::TRACKED || !spill::is_on() {
            return Err(e);
        }
        memory::take_anyway(size);
    }
    let got = if size < MAPPED { heap(size) } else { BLOCKS.take(size) };
    got.ok_or_else(|| {
        memory::give(size);
        NoMemory::new(nbytes)
    })
}

/// # Safety
/// `ptr` must come from `allocate(nbytes)` and not be used afterwards.
pub unsafe fn free(ptr: *mut u8, nbytes: usize) {
    let size = rounded(nbytes);
    if size < MAPPED {
        // SAFETY: same layout as in `heap`.
        unsafe { std::alloc::dealloc(ptr, Layout::from_size_align_unchecked(size, ALIGN)) };
    } else {
        // SAFETY: a mapped block, from `take` of the same size.
        unsafe { BLOCKS.give(ptr, size) };
    }
    memory::give(size);
}

fn heap(size: usize) -> Option<*mut u8> {
    // SAFETY: the size is not zero and the alignment is a power of two.
    let p = unsafe { std::alloc::alloc(Layout::from_size_align_unchecked(size, ALIGN)) };
    (!p.is_null()).then_some(p)
}

/// Blocks of the address space reserved for SYSTEM_MEM; large ones are aligned for huge pages.
struct System;

/// Twice what may be used: room for blocks of any size between others.
static REGION: LazyLock<Option<Region>> =
    LazyLock::new(|| Region::reserve(Memory::System.capacity().saturating_mul(2), HUGE_PAGE));

impl Source for System {
    fn map(&self, size: usize) -> Option<*mut u8> {
        let huge = size >= HUGE_PAGE;
        let p = REGION.as_ref()?.take(size, if huge { HUGE_PAGE } else { 4096 })?;
        if huge {
            // A last piece of less than a huge page stays small.
            // SAFETY: advice on a range of ours; it changes no contents.
            unsafe { libc::madvise(p as *mut libc::c_void, size / HUGE_PAGE * HUGE_PAGE, libc::MADV_HUGEPAGE) };
        }
        Some(p)
    }

    unsafe fn unmap(&self, block: *mut u8, size: usize) {
        if let Some(region) = &*REGION {
            // SAFETY: a block from `map` of the same size that nobody uses.
            unsafe { region.give(block, size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_blocks_come_back_warm() {
        let a = allocate(3 << 20).unwrap();
        unsafe { a.write_bytes(7, 3 << 20) };
        unsafe { free(a, 3 << 20) };
        let b = allocate(3 << 20).unwrap();
        assert_eq!(a, b);
        assert_eq!(unsafe { *b }, 7);
        unsafe { free(b, 3 << 20) };
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert_eq!(allocate(usize::MAX / 2).unwrap_err().0.bytes, usize::MAX / 2);
    }
}
