//! Time: the processor's own counter where it runs evenly, the system's clock elsewhere.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

struct Clock {
    origin: Instant,
    /// Whether the counter is used.
    counts: bool,
}

static CLOCK: OnceLock<Clock> = OnceLock::new();
/// Nanoseconds a count, times 2^32; 0 while it is not known.
static SCALE: AtomicU64 = AtomicU64::new(0);

fn clock() -> &'static Clock {
    CLOCK.get_or_init(|| Clock { origin: Instant::now(), counts: counts_evenly() })
}

#[cfg(target_arch = "x86_64")]
fn counts_evenly() -> bool {
    let Ok(info) = std::fs::read_to_string("/proc/cpuinfo") else { return false };
    let flags = info.lines().find(|l| l.starts_with("flags")).unwrap_or_default();
    ["constant_tsc", "nonstop_tsc"].iter().all(|want| flags.split_whitespace().any(|f| f == *want))
}

#[cfg(not(target_arch = "x86_64"))]
fn counts_evenly() -> bool {
    false
}

/// Now, in counts. Never 0.
#[inline]
pub fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    if SCALE.load(Ordering::Relaxed) != 0 {
        // SAFETY: every processor of this kind has the instruction.
        return unsafe { core::arch::x86_64::_rdtsc() };
    }
    clock().origin.elapsed().as_nanos() as u64 + 1
}

/// Finds out how long a count is. Before the first session.
pub fn calibrate() {
    let clock = clock();
    if !clock.counts || SCALE.load(Ordering::Relaxed) != 0 {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: as in `now`.
        let counts = || unsafe { core::arch::x86_64::_rdtsc() };
        let (began, first) = (Instant::now(), counts());
        while began.elapsed() < Duration::from_millis(10) {
            std::hint::spin_loop();
        }
        let (took, last) = (began.elapsed(), counts());
        let passed = last.wrapping_sub(first).max(1);
        SCALE.store((((took.as_nanos()) << 32) / passed as u128).max(1) as u64, Ordering::Relaxed);
    }
}

/// Counts as nanoseconds.
#[inline]
pub fn nanoseconds(counts: u64) -> u64 {
    match SCALE.load(Ordering::Relaxed) {
        0 => counts,
        scale => ((counts as u128 * scale as u128) >> 32) as u64,
    }
}

/// So many nanoseconds in counts.
pub fn counts(nanoseconds: u64) -> u64 {
    match SCALE.load(Ordering::Relaxed) {
        0 => nanoseconds,
        scale => (((nanoseconds as u128) << 32) / scale as u128) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_millisecond_is_one() {
        calibrate();
        let (began, first) = (Instant::now(), now());
        std::thread::sleep(Duration::from_millis(20));
        let (took, counted) = (began.elapsed().as_nanos() as f64, nanoseconds(now() - first) as f64);
        assert!((counted / took - 1.0).abs() < 0.2, "{counted} ns of {took}");
        assert!(nanoseconds(counts(1_000_000)).abs_diff(1_000_000) < 100);
    }
}
