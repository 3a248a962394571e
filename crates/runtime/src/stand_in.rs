//! The CPU in a GPU's stead: the first small launch of a kernel does not wait until it is compiled. What the kernel reads
//! comes to the host, and what it writes goes back to where the GPU would have written it. Only kernels whose every
//! element is the same on both run so: a program's results do not depend on how long compiling takes.

use crate::plan::FusedPlan;
use numloom_cpu::Launch;
use numloom_cuda::{CudaError, Device, FusedLaunch, Lane};
use numloom_ir::kernel::Instr;
use std::ops::Range;

/// Bytes of arrays that come and go in less time than compiling takes, by far.
const MOST: usize = 8 << 20;

/// Bytes between a GPU's addresses that are the same on the host: more than any element wants.
const ALIGN: usize = 256;

/// Some of a GPU's memory, on the host.
struct Copy {
    range: Range<u64>,
    bytes: Vec<u8>,
    lead: usize,
    wrote: bool,
}

impl Copy {
    fn address(&mut self, at: u64) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_add(self.lead + (at - self.range.start) as usize)
    }
}

/// Addresses from the first to past the last byte that an operand touches.
fn reach(ptr: u64, size: usize, domain: &[usize], strides: &[isize]) -> Range<u64> {
    let (mut low, mut high) = (0i64, size as i64);
    for (&n, &s) in domain.iter().zip(strides) {
        let span = (n as i64 - 1) * s as i64;
        low += span.min(0);
        high += span.max(0);
    }
    ptr.wrapping_add_signed(low)..ptr.wrapping_add_signed(high)
}

/// What the launch touches, ranges that share bytes as one; `None` if it is too much. Those that only touch each other may
/// be of two allocations, which no copy goes across.
fn ranges(launch: &FusedLaunch) -> Option<Vec<Range<u64>>> {
    if launch.domain.contains(&0) {
        return None;
    }
    let of = launch.operands.iter().zip(&launch.kernel.operands);
    let mut all: Vec<Range<u64>> = of.map(|(o, d)| reach(o.ptr, d.size(), launch.domain, o.strides)).collect();
    all.sort_unstable_by_key(|r| r.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for r in all {
        match joined.last_mut() {
            Some(last) if r.start < last.end => last.end = last.end.max(r.end),
            _ => joined.push(r),
        }
    }
    let total: u64 = joined.iter().map(|r| r.end - r.start).sum();
    (total as usize <= MOST).then_some(joined)
}

/// Whether the launch is small enough.
pub fn is_small(launch: &FusedLaunch) -> bool {
    ranges(launch).is_some()
}

/// Does the launch here, in its turn among the device's work.
///
/// # Safety
/// As for the launch on the device.
pub unsafe fn run(device: &Device, plan: &FusedPlan, launch: &FusedLaunch) -> Result<(), CudaError> {
    let mut copies = Vec::new();
    for range in ranges(launch).unwrap_or_default() {
        let len = (range.end - range.start) as usize;
        let mut bytes = vec![0u8; len + 2 * ALIGN];
        let lead = bytes.as_ptr().align_offset(ALIGN) + range.start as usize % ALIGN;
        // SAFETY: the vector has room, and stays where it is.
        unsafe { device.download(Lane::Compute, bytes.as_mut_ptr().add(lead), range.start, len)? };
        copies.push(Copy { range, bytes, lead, wrote: false });
    }
    device.wait_for_lane(Lane::Compute)?;
    let stores = |o: usize| {
        launch.kernel.instrs.iter().any(|i| matches!(*i, Instr::Store { operand, .. } if operand as usize == o))
    };
    let mut operands = Vec::with_capacity(launch.operands.len());
    for (k, o) in launch.operands.iter().enumerate() {
        let Some(copy) = copies.iter_mut().find(|c| c.range.contains(&o.ptr)) else { continue };
        copy.wrote |= stores(k);
        let (ptr, dtype) = (copy.address(o.ptr), launch.kernel.operands[k]);
        operands.push(numloom_cpu::Operand { ptr, dtype, strides: o.strides.iter().copied().collect() });
    }
    let settings = numloom_config::current();
    let here = Launch::new(
        &plan.compiled,
        launch.domain,
        operands,
        launch.params.to_vec(),
        launch.reduced,
        Vec::new(),
        settings.min_cpu_chunk,
        1,
        settings.jit,
    );
    for (phase, &tiles) in here.phases().iter().enumerate() {
        for tile in 0..tiles {
            // A GPU raises no floating-point flags, so these are not told either.
            // SAFETY: the operands lie in the copies.
            unsafe { here.run(phase, tile) };
        }
    }
    for copy in copies.iter_mut().filter(|c| c.wrote) {
        let (to, len) = (copy.range.start, (copy.range.end - copy.range.start) as usize);
        let from = copy.address(to);
        // SAFETY: the bytes came from there; they are kept until the lane is past the copy.
        unsafe { device.upload(Lane::Compute, to, from, len)? };
    }
    device.wait_for_lane(Lane::Compute)
}
