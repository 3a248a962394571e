//! The memory pool: bytes of instances. Small ones come from the heap, large ones from blocks that are kept when
//! they are freed.

use crate::ledger;
use crate::memory::{self, Memory, NoMemory};
use crate::profile::{Doing, Lane, Span};
use crate::recent;
use crate::region::Region;
use crate::reserved;
use crate::spill;
use numloom_threads::{Blocks, Source};
use std::sync::LazyLock;

/// Blocks of at least this many bytes are mapped by the pool itself; smaller ones come from the heap.
const MAPPED: usize = 256 << 10;
const HUGE_PAGE: usize = 2 << 20;
pub const ALIGN: usize = 64;

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
        return Err(NoMemory::new(Memory::System, nbytes));
    }
    if let Err(mut e) = memory::take(size) {
        e.0.bytes = nbytes;
        // Small arrays do not move; where others can, they are not what fails. What runs inline cannot wait.
        let little = nbytes < ledger::TRACKED && spill::is_on() || spill::runs_inline() && !spill::is_on();
        if !little {
            return Err(e);
        }
        memory::take_anyway(size);
    }
    let got = if size < MAPPED { heap(size) } else { BLOCKS.take(size) };
    got.ok_or_else(|| {
        memory::give(Memory::System, size);
        NoMemory::new(Memory::System, nbytes)
    })
}

/// As `allocate`, if there is room now: waits for nobody and moves nothing.
pub fn allocate_at_once(nbytes: usize) -> Option<*mut u8> {
    let size = rounded(nbytes);
    if !memory::try_take(Memory::System, size) {
        return None;
    }
    let got = if size < MAPPED { heap(size) } else { BLOCKS.take(size) };
    if got.is_none() {
        memory::give(Memory::System, size);
    }
    got
}

/// Memory that a library operation needs beside its arrays. It goes back with `free`.
pub fn lend(nbytes: usize) -> Option<*mut u8> {
    let size = rounded(nbytes);
    let got = if size < MAPPED { heap(size) } else { BLOCKS.take(size) };
    if got.is_some() {
        memory::take_for_scratch(size);
    }
    got
}

/// Memory of the socket whose core this thread runs on, or of another one, if one has room.
pub fn allocate_near(nbytes: usize) -> Option<(*mut u8, Memory)> {
    let size = reserved::rounded(nbytes);
    let (sockets, here) = (reserved::sockets(), reserved::socket_here());
    let near_first = (0..sockets).map(|k| Memory::Socket(((here + k) % sockets) as u8));
    if memory::is_made_to_fail() {
        return None;
    }
    for memory in near_first.filter(|&m| memory::try_take(m, size)) {
        match reserved::pool(memory).and_then(|p| p.take(size).ok()) {
            Some(p) => return Some((p, memory)),
            None => memory::give(memory, size),
        }
    }
    None
}

/// Bytes of a memory besides SYSTEM_MEM.
pub fn allocate_in(memory: Memory, nbytes: usize) -> Result<*mut u8, NoMemory> {
    let Some(pool) = reserved::pool(memory) else { return Err(NoMemory::new(memory, nbytes)) };
    let size = reserved::rounded(nbytes);
    if memory::is_made_to_fail() {
        return Err(NoMemory::new(memory, nbytes));
    }
    memory::take_in(memory, size).map_err(|mut e| {
        e.0.bytes = nbytes;
        e
    })?;
    pool.take(size).map_err(|said| {
        memory::give(memory, size);
        said.map_or_else(|| NoMemory::new(memory, nbytes), |said| NoMemory::failed(memory, said))
    })
}

/// # Safety
/// `ptr` must come from `allocate_in(memory, nbytes)` and not be used afterwards.
pub unsafe fn free_in(memory: Memory, ptr: *mut u8, nbytes: usize) {
    if let Some(pool) = reserved::pool(memory) {
        let size = reserved::rounded(nbytes);
        // SAFETY: the caller's.
        unsafe { pool.give(ptr, size) };
        memory::give(memory, size);
    }
}

/// # Safety
/// `ptr` must come from `allocate(nbytes)` or `lend(nbytes)` and not be used afterwards.
pub unsafe fn free(ptr: *mut u8, nbytes: usize) {
    let size = rounded(nbytes);
    if size < MAPPED {
        // SAFETY: from `heap` of the same size.
        unsafe { recent::give(ptr, size) };
    } else {
        // SAFETY: a mapped block, from `take` of the same size.
        unsafe { BLOCKS.give(ptr, size) };
    }
    memory::give(Memory::System, size);
}

fn heap(size: usize) -> Option<*mut u8> {
    let p = recent::take(size);
    (!p.is_null()).then_some(p)
}

/// Blocks of the address space reserved for SYSTEM_MEM; large ones are aligned for huge pages.
struct System;

/// Twice what may be used: room for blocks of any size between others. Where there are not so many addresses, it is most
/// of those that there are.
static REGION: LazyLock<Option<Region>> = LazyLock::new(|| {
    let most = Memory::System.capacity().saturating_mul(2);
    let some = || {
        let fits = |bytes: &usize| Region::reserve(*bytes, HUGE_PAGE).map(Region::give_up).is_some();
        let mut smaller =
            std::iter::successors(Some(most / 4 * 3), |bytes| (*bytes > HUGE_PAGE).then_some(bytes / 4 * 3));
        Region::reserve(smaller.find(fits)? / 4 * 3, HUGE_PAGE)
    };
    Region::reserve(most, HUGE_PAGE).or_else(some)
});

impl Source for System {
    fn map(&self, size: usize) -> Option<*mut u8> {
        let huge = size >= HUGE_PAGE;
        let mut span = Span::new(Lane::System, Doing::Allocate);
        span.count(size);
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
    fn what_is_lent_comes_back_warm() {
        let a = lend(5 << 20).unwrap();
        unsafe { free(a, 5 << 20) };
        assert_eq!(lend(5 << 20), Some(a));
        unsafe { free(a, 5 << 20) };
        assert_eq!(lend(usize::MAX / 2), None);
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert_eq!(allocate(usize::MAX / 2).unwrap_err().0.bytes, usize::MAX / 2);
    }
}
