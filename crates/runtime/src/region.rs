//! Address space reserved at the start for a memory's blocks. Pages come when they are touched and go when a block is
//! given back; addresses are plenty, so blocks never fail for want of a gap that fits.

use crate::ranges::Ranges;
use parking_lot::Mutex;

pub struct Region {
    free: Mutex<Ranges>,
    /// Pages of blocks that are given back go to the system.
    lazy: bool,
}

impl Region {
    /// Reserves `bytes` of address space, if the system lets us.
    pub fn reserve(bytes: usize, align: usize) -> Option<Region> {
        let total = bytes.checked_add(align)?;
        // SAFETY: an anonymous private mapping touches nothing that exists.
        let p = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                total,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if p == libc::MAP_FAILED {
            return None;
        }
        let mut free = Ranges::none();
        free.give((p as usize).next_multiple_of(align), bytes);
        Some(Region { free: Mutex::new(free), lazy: true })
    }

    /// Gives all addresses back.
    pub fn give_up(self) {
        if let Some((start, length)) = self.free.lock().extent() {
            // SAFETY: mapped in `reserve`, and no block was taken.
            unsafe { libc::munmap(start as *mut libc::c_void, length) };
        }
    }

    /// Blocks of memory that somebody else has made, and keeps for as long as there are any.
    pub fn over(start: *mut u8, bytes: usize) -> Region {
        let mut free = Ranges::none();
        free.give(start as usize, bytes);
        Region { free: Mutex::new(free), lazy: false }
    }

    /// The lowest range of `size` bytes that starts at a multiple of `align`.
    pub fn take(&self, size: usize, align: usize) -> Option<*mut u8> {
        self.free.lock().take(size, align).map(|at| at as *mut u8)
    }

    /// Asks for pages of one NUMA domain. Where the system refuses, it places them as it likes.
    pub fn bind_to(&self, domain: usize) {
        const PREFERRED: libc::c_long = 1;
        let mask: u64 = 1 << domain.min(63);
        let free = self.free.lock();
        let Some((start, length)) = free.extent() else { return };
        // SAFETY: a policy on a range of ours; it changes no contents.
        unsafe { libc::syscall(libc::SYS_mbind, start, length, PREFERRED, &mask as *const u64, 64u64, 0u64) };
    }

    /// Gives a range back; whole pages go to the system.
    ///
    /// # Safety
    /// The range must come from `take(size, _)` and not be used afterwards.
    pub unsafe fn give(&self, block: *mut u8, size: usize) {
        // Others may lie on the same page as a small block.
        if self.lazy && size >= 4096 {
            libc::madvise(block as *mut libc::c_void, size, libc::MADV_DONTNEED);
        }
        self.free.lock().give(block as usize, size);
    }
}
