//! Arrays on a device that other libraries see there, ours and theirs. Whoever sees the bytes may write them at any
//! time, so nothing but the instance on the device counts: what the host has of it is forgotten before every look, and
//! operations on such an array stand in the device's stream when the call that recorded them returns.

use crate::array::Array;
use crate::error::ExecError;
use crate::memory::Memory;
use crate::placed::Hold;
use crate::provenance::Provenance;
use crate::rectangles::Rects;
use crate::reserved;
use crate::store::Store;
use crate::sync;
use numloom_ir::View;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where an array lies on a device.
#[derive(Clone, Copy, Debug)]
pub struct OnDevice {
    /// Of the first element.
    pub ptr: u64,
    /// The device's number, as the driver counts.
    pub ordinal: u32,
    /// The stream that has all work on the array, as the driver knows it; 0 on a simulated device.
    pub stream: u64,
}

/// While this lives, the array stays where it is on its device.
pub struct Lent {
    array: Array,
    hold: Hold,
}

// SAFETY: a hold is an address that the store keeps valid.
unsafe impl Send for Lent {}
unsafe impl Sync for Lent {}

impl Drop for Lent {
    fn drop(&mut self) {
        self.array.store.lent.fetch_sub(1, Ordering::AcqRel);
        self.array.store.let_go(self.hold);
    }
}

/// The device that has most of an array's newest bytes, once it is computed.
pub fn device_of(a: &Array) -> Option<u32> {
    sync::wait_until_idle(&a.store);
    let memory = most_of(&a.store)?;
    Some(reserved::gpu(memory).map_or(memory.number() as u32, |d| d.properties().ordinal))
}

fn most_of(store: &Store) -> Option<Memory> {
    let devices = (0..reserved::devices()).map(|k| Memory::Framebuffer(k as u8));
    devices.map(|m| (store.bytes_in(m), m)).filter(|(bytes, _)| *bytes > 0).max_by_key(|(b, _)| *b).map(|(_, m)| m)
}

/// Shows an array to others, if it is on a device.
pub fn lend(a: &Array) -> Result<Option<(OnDevice, Lent)>, ExecError> {
    sync::wait_until_idle(&a.store);
    let Some(memory) = most_of(&a.store) else { return Ok(None) };
    let grid = a.store.settled_grid(None);
    let whole = Rects::of(grid.whole());
    let failed = |e| ExecError::no_memory(e, "array", a.store.provenance);
    let hold = a.store.hold(memory, &grid.whole(), &whole, "array", a.store.provenance).map_err(failed)?;
    a.store.wrote_in(hold, &whole);
    a.store.lent.fetch_add(1, Ordering::AcqRel);
    let (ptr, _) = hold.locate(&a.view);
    let (ordinal, stream) = match reserved::gpu(memory) {
        Some(device) => (device.properties().ordinal, device.raw_stream()),
        None => (memory.number() as u32, 0),
    };
    Ok(Some((OnDevice { ptr: ptr as u64, ordinal, stream }, Lent { array: a.clone(), hold })))
}

/// An array over memory of a device that somebody else has; `None` if the device is not one of this run.
///
/// # Safety
/// `ptr..ptr + nbytes` must be memory of that device while `owner` lives, and `view` must lie inside it.
pub unsafe fn adopt(
    view: View,
    ptr: u64,
    nbytes: usize,
    ordinal: u32,
    owner: Box<dyn Send + Sync>,
    at: Provenance,
) -> Option<Array> {
    let is_it = |m: &Memory| match reserved::gpu(*m) {
        Some(device) => device.properties().ordinal == ordinal,
        None => m.number() as u32 == ordinal,
    };
    let memory = (0..reserved::devices()).map(|k| Memory::Framebuffer(k as u8)).find(is_it)?;
    let store = Store::adopt(std::ptr::null_mut(), nbytes, owner, at);
    store.note_extent(&view);
    store.enter_foreign(memory, ptr as *mut u8);
    store.lent.store(1, Ordering::Release);
    Some(Array::new(Arc::new(store), view))
}

/// The device's stream goes on only after what another stream was given so far.
pub fn follow(ordinal: u32, stream: u64) -> Result<(), String> {
    with_device(ordinal, |d| d.follow(stream))
}

/// Another stream goes on only after what the device was given so far.
pub fn precede(ordinal: u32, stream: u64) -> Result<(), String> {
    with_device(ordinal, |d| d.precede(stream))
}

/// The stream that has all work on a device, for others to wait for; 0 where there is none.
pub fn stream_of(ordinal: u32) -> u64 {
    let mut stream = 0;
    let _ = with_device(ordinal, |d| {
        stream = d.raw_stream();
        Ok(())
    });
    stream
}

fn with_device(
    ordinal: u32,
    mut work: impl FnMut(&numloom_cuda::Device) -> Result<(), numloom_cuda::CudaError>,
) -> Result<(), String> {
    for pool in reserved::all() {
        if let Some(device) = pool.gpu().filter(|d| d.properties().ordinal == ordinal) {
            work(device).map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}
