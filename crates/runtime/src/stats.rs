//! Counters for `numloom.stats()`: one row each.

use crate::kept;
use crate::profile;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($name:ident: $help:literal;)*) => {
        $(#[doc = $help] pub static $name: AtomicU64 = AtomicU64::new(0);)*

        /// Name, value and meaning of every counter, in the order to print.
        pub fn all() -> Vec<(&'static str, u64, &'static str)> {
            let mut rows = vec![$((stringify!($name), $name.load(Ordering::Relaxed), $help)),*];
            // What ran inline is counted once as it runs, and added here.
            rows[0].1 += INLINE.load(Ordering::Relaxed);
            let (built, replayed) = numloom_cuda::graphs();
            for (name, value, _) in &mut rows {
                match *name {
                    "LIVE_BYTES" => *value = value.saturating_sub(kept::bytes() as u64),
                    "GRAPHS_BUILT" => *value = built,
                    "GRAPHS_REPLAYED" => *value = replayed,
                    "SETTLED" => *value = numloom_cuda::settled(),
                    _ => {}
                }
            }
            rows
        }
    };
}

counters! {
    OPERATIONS: "operations recorded or run inline";
    INLINE: "operations run at once on the caller's thread";
    TASKS: "tasks launched";
    FUSED: "operations that share a task with another";
    ELIMINATED: "operations whose result nobody could see";
    WINDOWS: "windows flushed";
    PLAN_HITS: "windows whose plan was known";
    KERNEL_HITS: "kernels found ready";
    KERNELS: "kernels made";
    SYNCS: "sync points";
    BYTES_READ: "bytes read by tasks";
    BYTES_WRITTEN: "bytes written by tasks";
    EVICTIONS: "instances moved out of a full memory";
    GRAPHS_BUILT: "CUDA graphs made of small kernels that were launched together before";
    GRAPHS_REPLAYED: "CUDA graphs launched";
    SETTLED: "kernels launched on a GPU with their parameters compiled in";
    LIVE_BYTES: "bytes of instances in SYSTEM_MEM now";
    PEAK_BYTES: "most bytes of instances in SYSTEM_MEM at once";
}

#[inline]
pub fn count(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

/// Counts an operation that ran inline. Callers hold the interpreter's lock, so a plain addition loses nothing that
/// matters.
#[inline]
pub fn count_inline(name: &'static str) {
    INLINE.store(INLINE.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    profile::small(name);
}
