//! An array updated from its own neighbourhood (`a[1:-1] = f(a[:-2], a[2:])`) on a device. The result cannot be written
//! where it is read, so it has memory of its own; copied back, every byte would move twice more. Here that memory lies
//! just like the array's: what is left of the array is copied there, and the two change places.

use crate::channel;
use crate::error::ExecError;
use crate::grid::fills;
use crate::ledger;
use crate::memory::NoMemory;
use crate::node::{Nodes, Spot, StoreId};
use crate::placed::Replica;
use crate::plan::{FusedPlan, TaskPlan, TaskWork};
use crate::prepare::FusedTask;
use crate::rectangles::Rects;
use crate::reserved;
use crate::store::Store;
use numloom_ir::View;
use numloom_ir::kernel::{Instr, NO_REG};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A temporary that lies like an array, and becomes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swap {
    pub temporary: StoreId,
    pub array: StoreId,
}

/// Smaller results are copied in no time: on a GPU, while the host asks for copies of the four borders.
fn worthwhile() -> usize {
    if reserved::are_gpus() { 32 << 20 } else { 1 << 20 }
}

/// Finds tasks that copy what another has computed, and nobody else sees, into an array that the other reads. The
/// temporary's views become the array's.
pub fn find(tasks: &mut [TaskPlan], nodes: &Nodes) -> Vec<Swap> {
    let mut found: Vec<(Swap, usize, usize)> = Vec::new();
    for (k, task) in tasks.iter().enumerate() {
        let Some((from, to)) = copy_of(task) else { continue };
        let (temporary, array) = (&nodes.stores[from.store as usize], &nodes.stores[to.store as usize]);
        let whole = array.store.nbytes();
        let apt = from.view == from.view.dense_like(from.view.dtype)
            && from.view.dtype == to.view.dtype
            && from.view.nbytes() >= worthwhile().max(whole / 2)
            && !temporary.live
            && temporary.fresh
            && temporary.store.is_bare();
        let touching = |t: &TaskPlan| t.accesses.iter().any(|(s, ..)| *s == from.store);
        let mut others = tasks.iter().enumerate().filter(|(j, t)| *j != k && touching(t));
        let (Some((maker, made_by)), None) = (others.next(), others.next()) else { continue };
        let taken = found.iter().any(|(s, ..)| s.temporary == from.store);
        if apt && !taken && makes(made_by, from, to.store) {
            found.push((Swap { temporary: from.store, array: to.store }, maker, k));
        }
    }
    found.retain(|&(swap, maker, copier)| {
        let Some((_, to)) = copy_of(&tasks[copier]).map(|(a, b)| (a.clone(), b.clone())) else { return false };
        let (Some(made), Some(copied)) = (alone(&tasks[maker]), alone(&tasks[copier])) else { return false };
        let (made, copied) = (lying_like(made, swap, &to.view, false), lying_like(copied, swap, &to.view, true));
        tasks[maker].work = TaskWork::Fused(Arc::new(made));
        tasks[copier].work = TaskWork::Fused(Arc::new(copied));
        true
    });
    found.into_iter().map(|(swap, ..)| swap).collect()
}

fn alone(task: &TaskPlan) -> Option<&FusedPlan> {
    match &task.work {
        TaskWork::Fused(f) => Some(f),
        _ => None,
    }
}

/// What a task that only copies reads and writes.
fn copy_of(task: &TaskPlan) -> Option<(&Spot, &Spot)> {
    let plan = alone(task)?;
    match plan.compiled.kernel.instrs[..] {
        [Instr::Load { dst, operand: from }, Instr::Store { operand: to, src, mask: NO_REG }] if src == dst => {
            let (from, to) = (&plan.operands[from as usize], &plan.operands[to as usize]);
            (plan.operands.len() == 2 && from.store != to.store).then_some((from, to))
        }
        _ => None,
    }
}

/// Whether a task writes just that, everywhere, and reads the array.
fn makes(task: &TaskPlan, result: &Spot, array: StoreId) -> bool {
    let Some(plan) = alone(task) else { return false };
    let stores = |o: usize| plan.operands[o].store;
    let only = plan.compiled.kernel.instrs.iter().all(|i| match *i {
        Instr::Load { operand, .. } => stores(operand as usize) != result.store,
        Instr::Store { operand, mask, .. } => plan.operands[operand as usize] == *result && mask == NO_REG,
        _ => true,
    });
    let times = plan.operands.iter().filter(|s| s.store == result.store).count();
    only && times == 1 && plan.folded.is_empty() && plan.operands.iter().any(|s| s.store == array)
}

fn lying_like(plan: &FusedPlan, swap: Swap, view: &View, swaps: bool) -> FusedPlan {
    let mut plan = plan.clone();
    for spot in plan.operands.iter_mut().filter(|s| s.store == swap.temporary) {
        spot.view = view.clone();
    }
    plan.swaps = swaps;
    plan
}

/// For a task that copies a temporary which lies like the array: changes their places, if both are on one device. False
/// where it has to copy after all.
pub fn done(task: &FusedTask) -> Result<bool, ExecError> {
    let Some((from, to)) = (match task.plan.compiled.kernel.instrs[..] {
        [Instr::Load { operand: from, .. }, Instr::Store { operand: to, .. }] => Some((from as usize, to as usize)),
        _ => None,
    }) else {
        return Ok(false);
    };
    let (temporary, array) = (&task.stores[from], &task.stores[to]);
    let op = task.ops.first();
    exchange(array, temporary, &task.plan.operands[to].view).map_err(|e| {
        let (name, at) = op.map_or(("task", Default::default()), |o| (o.name(), o.at));
        ExecError::no_memory(e, name, at)
    })
}

/// The array takes the temporary's place in a device's memory, and its bytes outside the view along.
fn exchange(array: &Store, temporary: &Store, view: &View) -> Result<bool, NoMemory> {
    let grid = array.settled_grid(None);
    let cover = grid.cover(view);
    let touched = array.exposed.load(Ordering::Acquire) > 0;
    if touched || temporary.settled_grid(None) != grid || !fills(view, &cover) {
        return Ok(false);
    }
    // Nobody else locks two stores at a time.
    let (mut a, mut t) = (array.placed.lock(), temporary.placed.lock());
    let [new] = t.as_mut_slice() else { return Ok(false) };
    let Some(k) = a.iter().position(|r| r.can_change_with(new, &grid.whole())) else { return Ok(false) };
    let mut outside = Rects::of(grid.whole());
    outside.remove_all(&cover);
    crate::placed::bring(&mut a, k, &outside)?;
    for part in outside.within(a[k].valid()).iter() {
        let lens = std::array::from_fn(|axis| part.len(axis));
        // SAFETY: both have the whole grid, and tasks that touch either have ended.
        unsafe { channel::copy(a[k].end(part), new.end(part), &lens) }
            .map_err(|said| NoMemory::failed(new.memory(), said))?;
    }
    ledger::exchanged(a[k].address(), new.address());
    Replica::change_places(&mut a[k], new);
    for (j, r) in a.iter_mut().enumerate() {
        r.has_changed(&cover, j == k);
    }
    Ok(true)
}

/// A store to stand in for a temporary: it lies like the array.
pub fn stand_in(temporary: &Store, array: &Store) -> Arc<Store> {
    let store = Store::new(array.nbytes(), temporary.provenance);
    store.note_extent(&array.extent());
    Arc::new(store)
}
