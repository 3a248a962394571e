//! Address space reserved at the start for a memory's blocks. Pages come when they are touched and go when a block is
//! given back; addresses are plenty, so blocks never fail for want of a gap that fits.

use parking_lot::Mutex;

pub struct Region {
    /// Free ranges (start, length), by start; neighbours are one.
    free: Mutex<Vec<(usize, usize)>>,
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
        let base = (p as usize).next_multiple_of(align);
        Some(Region { free: Mutex::new(vec![(base, bytes)]) })
    }

    /// The lowest range of `size` bytes that starts at a multiple of `align`.
    pub fn take(&self, size: usize, align: usize) -> Option<*mut u8> {
        let mut free = self.free.lock();
        for k in 0..free.len() {
            let (start, len) = free[k];
            let at = start.next_multiple_of(align);
            let Some(rest) = (start + len).checked_sub(at + size) else { continue };
            free.remove(k);
            if rest > 0 {
                free.insert(k, (at + size, rest));
            }
            if at > start {
                free.insert(k, (start, at - start));
            }
            return Some(at as *mut u8);
        }
        None
    }

    /// Gives a range back; its pages go to the system.
    ///
    /// # Safety
    /// The range must come from `take(size, _)` and not be used afterwards.
    pub unsafe fn give(&self, block: *mut u8, size: usize) {
        libc::madvise(block as *mut libc::c_void, size, libc::MADV_DONTNEED);
        let mut free = self.free.lock();
        let k = free.partition_point(|&(start, _)| start < block as usize);
        free.insert(k, (block as usize, size));
        if k + 1 < free.len() && free[k].0 + free[k].1 == free[k + 1].0 {
            free[k].1 += free[k + 1].1;
            free.remove(k + 1);
        }
        if k > 0 && free[k - 1].0 + free[k - 1].1 == free[k].0 {
            free[k - 1].1 += free[k].1;
            free.remove(k);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_again() {
        let r = Region::reserve(1 << 20, 1 << 16).unwrap();
        let blocks: Vec<_> = (0..16).map(|_| r.take(1 << 16, 1 << 16).unwrap()).collect();
        assert!(r.take(1 << 16, 4096).is_none());
        for b in blocks.into_iter().rev().step_by(2) {
            unsafe { r.give(b, 1 << 16) };
        }
        assert!(r.take(1 << 17, 4096).is_none());
        let all = r.free.lock().len();
        assert_eq!(all, 8);
    }
}
