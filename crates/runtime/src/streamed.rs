//! When the arrays of a fused task do not fit into a device's memory together, they go through it in slabs.

use crate::chain::ChainRun;
use crate::error::{ErrorKind, ExecError};
use crate::gpu;
use crate::mapper::{self, Mapping, Part, Slab, Touch};
use crate::memory::Memory;
use crate::operation::Operation;
use crate::placed;
use crate::plan::FusedPlan;
use crate::prepare::{self, Bases, FusedTask};
use crate::reserved;
use crate::task::{Prepared, Work};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// The memory that less at a time could fit into, if a device's was full.
pub fn helps(e: &ExecError) -> Option<Memory> {
    e.account.as_ref().map(|a| a.memory).filter(|m| e.kind == ErrorKind::OutOfMemory && !m.is_host())
}

/// Runs the task on this thread, a slab of its domain at a time; `None` where there are none that can be told apart and
/// fit.
pub fn run(work: &Work, task: &FusedTask, memory: Memory) -> Option<Result<Prepared, ExecError>> {
    let &FusedTask { ops, plan, stores, .. } = task;
    let touches = mapper::touches(plan, stores);
    let slabs = slabs(plan, &touches, memory)?;
    let mut mapping = Mapping::begin(vec![Part { memory, slab: None }]);
    // What is there in full would leave no room for what is not.
    placed::evict(memory, usize::MAX);
    for slab in slabs {
        if let Err(e) = mapping.hold_some(memory, &slab, &touches, ops) {
            return Some(Err(e));
        }
        mapping.commit();
        let bases = Bases::Held(mapping, memory);
        let done = match reserved::gpu(memory) {
            Some(device) => gpu::enqueue(device, &bases, task, Some(&slab)),
            None => prepare::launch(&bases, task, Some(&slab)).map(|launch| {
                for (phase, &tiles) in launch.phases().iter().enumerate() {
                    for tile in 0..tiles {
                        // SAFETY: the analysis ordered this task after everything that touches what it writes.
                        work.flags.fetch_or(unsafe { launch.run(phase, tile) }, Ordering::Relaxed);
                    }
                }
            }),
        };
        if let Err(e) = done {
            return Some(Err(e));
        }
        let Bases::Held(back, _) = bases else { return None };
        mapping = back;
        mapping.let_go();
    }
    Some(Ok(Prepared::Done))
}

/// As `run`, for a chain: whole tiles of its rows at a time.
pub fn run_chain(
    work: &Work,
    ops: &[Operation],
    touches: &[Touch],
    memory: Memory,
    rows: usize,
    tile: usize,
    bind: impl Fn(&Bases) -> Result<ChainRun, ExecError>,
) -> Option<Result<Prepared, ExecError>> {
    let tiles = rows.div_ceil(tile);
    let slab = |tiles: &Range<usize>| Slab { axis: 0, range: tiles.start * tile..(tiles.end * tile).min(rows) };
    let mut count = 2;
    let cuts: Vec<Range<usize>> = loop {
        if count > tiles {
            return None;
        }
        let cuts: Vec<_> = (0..count).map(|k| tiles * k / count..tiles * (k + 1) / count).collect();
        let most = cuts.iter().map(|c| mapper::bytes_of(touches, &slab(c))).max()?;
        if most <= memory.capacity() / 2 {
            break cuts;
        }
        count *= 2;
    };
    if !mapper::are_apart(touches, &cuts.iter().map(slab).collect::<Vec<_>>()) {
        return None;
    }
    let mut mapping = Mapping::begin(vec![Part { memory, slab: None }]);
    placed::evict(memory, usize::MAX);
    for cut in cuts {
        if let Err(e) = mapping.hold_some(memory, &slab(&cut), touches, ops) {
            return Some(Err(e));
        }
        mapping.commit();
        let bases = Bases::Held(mapping, memory);
        match bind(&bases) {
            Err(e) => return Some(Err(e)),
            Ok(run) => {
                for tile in cut {
                    // SAFETY: as in `run`; the rows of the tile are held.
                    work.flags.fetch_or(unsafe { run.run(tile) }, Ordering::Relaxed);
                }
            }
        }
        let Bases::Held(back, _) = bases else { return None };
        mapping = back;
        mapping.let_go();
    }
    Some(Ok(Prepared::Done))
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
            if count == n {
                break;
            }
            count = (count * 2).min(n);
        }
    }
    None
}
