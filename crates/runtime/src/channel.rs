//! Channels: the paths between memories that copies use. Every copy is counted.

use crate::memory::Memory;
use crate::profile;
use crate::provenance::Provenance;
use crate::reserved;
use numloom_cuda::Lane;
use parking_lot::Mutex;

/// What went from one memory to another so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub from: Memory,
    pub to: Memory,
    pub copies: usize,
    pub bytes: usize,
}

static TRAFFIC: Mutex<Vec<Traffic>> = Mutex::new(Vec::new());

pub fn traffic() -> Vec<Traffic> {
    TRAFFIC.lock().clone()
}

/// Copies bytes between memories. What the CPU reads or writes of it afterwards is in place when this returns; a GPU
/// does its part in the order of its work. The error is what the GPU said.
///
/// # Safety
/// Both blocks must have `bytes` bytes, and nobody else may touch the second.
pub unsafe fn copy(from: Memory, source: *const u8, to: Memory, target: *mut u8, bytes: usize) -> Result<(), String> {
    let started = if profile::on() { profile::record::now() } else { 0 };
    // SAFETY: the caller's; blocks of different memories, or of different instances, do not overlap.
    unsafe {
        match (reserved::gpu(from), reserved::gpu(to)) {
            (None, None) => std::ptr::copy_nonoverlapping(source, target, bytes),
            // Pageable memory is read, or written, before these calls return.
            (None, Some(gpu)) => gpu.upload(Lane::Compute, target as u64, source, bytes).map_err(|e| e.to_string())?,
            (Some(gpu), None) => {
                gpu.download(Lane::Compute, target, source as u64, bytes).map_err(|e| e.to_string())?;
                gpu.wait().map_err(|e| e.to_string())?;
            }
            (Some(a), Some(b)) => {
                if from != to {
                    a.wait().map_err(|e| e.to_string())?;
                }
                b.copy(Lane::Compute, target as u64, source as u64, bytes).map_err(|e| e.to_string())?;
                if from != to {
                    b.wait().map_err(|e| e.to_string())?;
                }
            }
        }
    }
    profile::copied(from, to, started, bytes, Provenance::default());
    let mut all = TRAFFIC.lock();
    match all.iter_mut().find(|t| t.from == from && t.to == to) {
        Some(t) => {
            t.copies += 1;
            t.bytes += bytes;
        }
        None => all.push(Traffic { from, to, copies: 1, bytes }),
    }
    Ok(())
}
