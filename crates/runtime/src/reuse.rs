//! A new array takes over the memory of one that its own task reads last, where both lie alike: element by element each is
//! read before it is written. So `x[index] - y` needs one array beyond its inputs, and not two.

use crate::node::{Nodes, Spot, StoreId};
use crate::plan::{self, FusedPlan, TaskPlan, TaskWork};
use numloom_ir::View;
use numloom_ir::kernel::{Instr, NO_REG};
use numloom_ir::view::Order;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Smaller arrays are not worth another kernel, unless even tiles are smaller.
fn worthwhile() -> usize {
    const LEAST: usize = 64 << 10;
    LEAST.min(numloom_config::current().min_cpu_chunk * 8)
}

/// A task's operand that is written into the memory of another.
#[derive(Clone, Copy, Debug)]
pub struct Takeover {
    pub new: u16,
    pub old: u16,
}

/// Finds them in tasks that stand in the order in which they may run.
pub fn find(tasks: &mut [TaskPlan], nodes: &Nodes) {
    let mut seen: FxHashSet<StoreId> = FxHashSet::default();
    for t in tasks {
        let TaskPlan { work, accesses, ops, .. } = t;
        if let TaskWork::Fused(fused) = work {
            let ends = |s: StoreId| ops.contains(&nodes.nodes[nodes.stores[s as usize].last as usize].op);
            let takeovers = takeovers(fused, nodes, &|s| !seen.contains(&s), &ends);
            if !takeovers.is_empty() {
                let fused = Arc::make_mut(fused);
                let mut kernel = fused.compiled.kernel.clone();
                for instr in &mut kernel.instrs {
                    if let Instr::Store { operand, .. } = instr
                        && let Some(t) = takeovers.iter().find(|t| t.new == *operand)
                    {
                        *operand = t.old;
                    }
                }
                fused.compiled = plan::compiled(kernel);
                // Whoever reads it still must be over.
                for t in &takeovers {
                    let store = fused.operands[t.old as usize].store;
                    accesses.iter_mut().filter(|a| a.0 == store).for_each(|a| a.2 = true);
                }
                fused.takeovers = takeovers;
            }
        }
        seen.extend(accesses.iter().map(|a| a.0));
    }
}

fn takeovers(
    fused: &FusedPlan,
    nodes: &Nodes,
    begins: &dyn Fn(StoreId) -> bool,
    ends: &dyn Fn(StoreId) -> bool,
) -> Vec<Takeover> {
    let instrs = &fused.compiled.kernel.instrs;
    // What only moves elements goes a way of its own, from one place to another.
    if instrs.iter().all(|i| matches!(i, Instr::Load { .. } | Instr::Store { .. })) {
        return Vec::new();
    }
    let loaded = |k: u16| instrs.iter().any(|i| matches!(i, Instr::Load { operand, .. } if *operand == k));
    let stored = |k: u16| instrs.iter().any(|i| matches!(i, Instr::Store { operand, .. } if *operand == k));
    let plainly = |k: u16| {
        let mut stores = instrs.iter().filter(|i| matches!(i, Instr::Store { operand, .. } if *operand == k));
        stores.all(|i| matches!(i, Instr::Store { mask, .. } if *mask == NO_REG))
    };
    let alone = |s: StoreId| fused.spots().filter(|spot| spot.store == s).count() == 1;
    let whole = |spot: &Spot| {
        let store = &nodes.stores[spot.store as usize].store;
        store.symbol.is_none()
            && store.nbytes() >= worthwhile()
            && store.nbytes() == spot.view.nbytes()
            && is_dense(&spot.view)
    };
    let spots = || fused.operands.iter().enumerate().map(|(k, spot)| (k as u16, spot));
    let is_old = |(k, spot): &(u16, &Spot)| {
        let local = &nodes.stores[spot.store as usize];
        let patched = fused.patches.iter().any(|p| p.operand == *k);
        !local.live && ends(spot.store) && !patched && loaded(*k) && !stored(*k) && alone(spot.store) && whole(spot)
    };
    let mut old: Vec<(u16, &Spot)> = spots().filter(is_old).collect();
    let mut found = Vec::new();
    for (k, spot) in spots() {
        let local = &nodes.stores[spot.store as usize];
        let is_new = local.fresh && begins(spot.store) && stored(k) && !loaded(k) && plainly(k);
        if !is_new || !alone(spot.store) || !whole(spot) {
            continue;
        }
        if let Some(at) = old.iter().position(|(_, o)| o.view == spot.view) {
            found.push(Takeover { new: k, old: old.swap_remove(at).0 });
        }
    }
    found
}

/// Whether a view has its elements side by side, in some order of its axes, from the first byte on.
fn is_dense(view: &View) -> bool {
    let orders = [Order::C, Order::F];
    view.offset == 0 && orders.into_iter().any(|order| settled(&View::dense(view.dtype, &view.shape, order)) == *view)
}

/// As views of nodes are: axes of extent 1 have no stride.
fn settled(view: &View) -> View {
    let mut v = view.clone();
    for (s, &d) in v.strides.iter_mut().zip(&v.shape) {
        if d == 1 {
            *s = 0;
        }
    }
    v
}
