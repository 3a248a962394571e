//! What the machine itself costs and gives: page faults, and the bytes that its memory moves.

use std::sync::OnceLock;
use std::time::Instant;

/// Page faults of the process: without and with a read from disk.
pub fn faults() -> (u64, u64) {
    // SAFETY: zeros are a value of the structure, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    (usage.ru_minflt.max(0) as u64, usage.ru_majflt.max(0) as u64)
}

/// Nanoseconds that the first touch of a page takes, kernel and clearing included. Found out once, on a few pages.
pub fn fault_ns() -> u64 {
    static COST: OnceLock<u64> = OnceLock::new();
    *COST.get_or_init(|| {
        const PAGES: usize = 256;
        let fresh = || {
            let before = faults().0;
            let began = Instant::now();
            // SAFETY: a mapping of its own, written within its length and given back.
            let mapped = unsafe {
                let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
                let at = libc::mmap(std::ptr::null_mut(), PAGES * PAGE, protection, flags, -1, 0);
                if at == libc::MAP_FAILED {
                    return None;
                }
                for page in 0..PAGES {
                    at.cast::<u8>().add(page * PAGE).write_volatile(1);
                }
                libc::munmap(at, PAGES * PAGE);
                faults().0.saturating_sub(before)
            };
            (mapped > 0).then(|| began.elapsed().as_nanos() as u64 / mapped)
        };
        (0..3).filter_map(|_| fresh()).min().unwrap_or(0)
    })
}

const PAGE: usize = 4096;
/// More than caches hold, in all, and how often it is gone over.
const BUFFER: usize = 96 << 20;
const ROUNDS: usize = 3;

/// Bytes a second that so many threads read and write together, at best. Measured once in a process; `None` where the
/// memory or the threads for it cannot be had.
pub fn bandwidth(threads: usize) -> Option<u64> {
    static RATE: OnceLock<Option<u64>> = OnceLock::new();
    *RATE.get_or_init(|| measure(threads.clamp(1, 64)))
}

fn measure(threads: usize) -> Option<u64> {
    let mut buffer: Vec<u64> = Vec::new();
    buffer.try_reserve_exact(BUFFER / 8).ok()?;
    buffer.resize(BUFFER / 8, 1);
    let part = buffer.len().div_ceil(threads);
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let all = std::thread::scope(|scope| {
            buffer.chunks_mut(part).all(|piece| {
                let work = move || piece.iter_mut().for_each(|word| *word = word.wrapping_add(1));
                std::thread::Builder::new().spawn_scoped(scope, work).is_ok()
            })
        });
        if !all {
            return None;
        }
        best = best.min(began.elapsed().as_secs_f64());
    }
    std::hint::black_box(&buffer);
    // Every byte is read and written.
    Some((2.0 * BUFFER as f64 / best) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_costs_something_and_is_counted() {
        let before = faults().0;
        std::hint::black_box(vec![1u8; 8 << 20]);
        assert!(faults().0 > before);
        assert!((10..1_000_000).contains(&fault_ns()), "{} ns", fault_ns());
    }

    #[test]
    fn memory_moves_between_a_megabyte_and_a_hundred_terabytes_a_second() {
        assert!(bandwidth(2).is_some_and(|b| (1 << 20..100 << 40).contains(&b)));
    }
}
