//! When the arrays of a fused task do not fit into a device's memory together, they go through it in slabs.

use crate::chain::ChainRun;
use crate::device_time;
use crate::error::{ErrorKind, ExecError};
use crate::gpu;
use crate::loan::Loan;
use crate::mapper::{self, Mapping, Part, Slab, Touch};
use crate::memory::Memory;
use crate::operation::Operation;
use crate::placed;
use crate::plan::FusedPlan;
use crate::prepare::{self, Bases, FusedTask};
use crate::reserved;
use crate::retire;
use crate::task::{Prepared, Work};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The memory that less at a time could fit into, if a device's was full.
pub fn helps(e: &ExecError) -> Option<Memory> {
    e.account.as_ref().map(|a| a.memory).filter(|m| e.kind == ErrorKind::OutOfMemory && !m.is_host())
}

/// Slabs a task is cut into at most: what needs more is too large for any memory, and comparing them all takes long.
const MOST_SLABS: usize = 4096;

/// Runs the task on this thread, a slab of its domain at a time; `None` where there are none that can be told apart and
/// fit.
pub fn run(work: &Work, task: &FusedTask, memory: Memory) -> Option<Result<Prepared, ExecError>> {
    let &FusedTask { ops, plan, stores, .. } = task;
    let touches = mapper::touches(plan, stores);
    let slabs = slabs(plan, &touches, memory)?;
    Some(through(memory, ops, &touches, &slabs, |bases, k| match reserved::gpu(memory) {
        Some(device) => device_time::around(device, memory, || gpu::enqueue(device, bases, task, Some(&slabs[k]))),
        None => prepare::launch(bases, task, Some(&slabs[k])).map(|launch| {
            for (phase, &tiles) in launch.phases().iter().enumerate() {
                for tile in 0..tiles {
                    // SAFETY: the analysis ordered this task after everything that touches what it writes.
                    work.flags.fetch_or(unsafe { launch.run(phase, tile) }, Ordering::Relaxed);
                }
            }
        }),
    }))
}

/// Has one slab after another on a device and works on each. All memory is taken before the first, so want of memory
/// is found while nothing has changed, and the caller may try in another way. What fails later is the device; then
/// nothing may run again, and what was to be written says why it was not.
fn through(
    memory: Memory,
    ops: &[Operation],
    touches: &[Touch],
    slabs: &[Slab],
    work_on: impl Fn(&Bases, usize) -> Result<(), ExecError>,
) -> Result<Prepared, ExecError> {
    let mut mapping = Mapping::begin(vec![Part { memory, slab: None }]);
    // What is there in full would leave no room for what is not.
    placed::evict(memory, usize::MAX);
    let take = || Loan::take(memory, touches, slabs, ops);
    let mut loan = take().or_else(|_| {
        placed::evict(memory, usize::MAX);
        take()
    })?;
    for (k, slab) in slabs.iter().enumerate() {
        let borrowed = mapping.borrow(memory, slab, touches, ops, &loan.blocks);
        let done = borrowed.and_then(|()| {
            mapping.commit();
            loan.begun = true;
            let bases = Bases::Held(std::mem::replace(&mut mapping, Mapping::begin(Vec::new())), memory);
            let done = work_on(&bases, k);
            if let Bases::Held(back, _) = bases {
                mapping = back;
            }
            done
        });
        let done = done.and(mapping.give_back(ops));
        match done {
            Ok(()) => {}
            Err(e) if k == 0 => return Err(e),
            Err(e) => {
                let e = Arc::new(e);
                retire::leave_without_contents(ops, &e, true);
                break;
            }
        }
    }
    Ok(Prepared::Done)
}

/// As `run`, for a chain: whole tiles of its rows at a time.
pub fn run_chain(
    work: &Work,
    ops: &[Operation],
    touches: &[Touch],
    memory: Memory,
    rows: usize,
    tile: usize,
    bind: impl Fn(&Bases, Option<&Slab>) -> Result<ChainRun, ExecError>,
) -> Option<Result<Prepared, ExecError>> {
    let tiles = rows.div_ceil(tile);
    let slab = |tiles: &Range<usize>| Slab { axis: 0, range: tiles.start * tile..(tiles.end * tile).min(rows) };
    let mut count = 2;
    let cuts: Vec<Range<usize>> = loop {
        if count > tiles.min(MOST_SLABS) {
            return None;
        }
        let cuts: Vec<_> = (0..count).map(|k| tiles * k / count..tiles * (k + 1) / count).collect();
        let most = cuts.iter().map(|c| mapper::bytes_of(touches, &slab(c))).max()?;
        if most <= memory.capacity() / 2 {
            break cuts;
        }
        count *= 2;
    };
    let slabs: Vec<Slab> = cuts.iter().map(slab).collect();
    if !mapper::are_apart(touches, &slabs) {
        return None;
    }
    Some(through(memory, ops, touches, &slabs, |bases, k| {
        bind(bases, Some(&slabs[k])).map(|run| {
            for tile in cuts[k].clone() {
                // SAFETY: as in `run`; the rows of the tile are held.
                work.flags.fetch_or(unsafe { run.run(tile) }, Ordering::Relaxed);
            }
        })
    }))
}

/// Slabs that fit into half of the memory one at a time, along the longest axis where that can be done.
fn slabs(plan: &FusedPlan, touches: &[Touch], memory: Memory) -> Option<Vec<Slab>> {
    let mut axes: Vec<usize> = (0..plan.domain.len()).filter(|&a| mapper::can_be_cut(plan, a)).collect();
    axes.sort_by_key(|&a| std::cmp::Reverse(plan.domain[a]));
    for axis in axes {
        let n = plan.domain[axis];
        let mut count = 2.min(n);
        loop {
            let slabs = mapper::cut(plan, axis, count);
            let most = slabs.iter().map(|s| mapper::bytes_of(touches, s)).max()?;
            if most <= memory.capacity() / 2 {
                if mapper::are_apart(touches, &slabs) {
                    return Some(slabs);
                }
                break;
            }
            if count == n || count == MOST_SLABS {
                break;
            }
            count = (count * 2).min(n).min(MOST_SLABS);
        }
    }
    None
}
