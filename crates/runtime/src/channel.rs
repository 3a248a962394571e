//! Channels: the paths between memories that copies use. Every copy is counted.

use crate::memory::Memory;
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

/// Copies bytes between memories.
///
/// # Safety
/// Both blocks must have `bytes` bytes, and nobody else may touch the second.
pub unsafe fn copy(from: Memory, source: *const u8, to: Memory, target: *mut u8, bytes: usize) {
    // SAFETY: the caller's; blocks of different memories, or of different instances, do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
    let mut all = TRAFFIC.lock();
    match all.iter_mut().find(|t| t.from == from && t.to == to) {
        Some(t) => {
            t.copies += 1;
            t.bytes += bytes;
        }
        None => all.push(Traffic { from, to, copies: 1, bytes }),
    }
}
