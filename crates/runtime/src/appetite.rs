//! How much memory a task will take when it is bound. What a program does one after another needs its arrays one after
//! another: a task that would need more than there ever was waits until those before it are over, and their
//! temporaries are gone.

use crate::memory::Memory;
use crate::node::Nodes;
use crate::plan::TaskPlan;
use crate::pool;
use crate::reserved;
use crate::stats;
use crate::store::Store;
use crate::task::{Payload, Work};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Less than this is taken at any time.
const LITTLE: usize = 1 << 20;

/// Bytes that tasks will take which were chosen and are not bound yet.
static PROMISED: AtomicUsize = AtomicUsize::new(0);

/// The most that a planned task may take. With several memories each has a mapper who sees to what is where.
pub fn at_most(plan: &TaskPlan, nodes: &Nodes) -> usize {
    if reserved::devices() > 0 {
        return 0;
    }
    let written = plan.accesses.iter().filter(|(_, _, writes)| *writes);
    written.map(|(s, _, _)| &nodes.stores[*s as usize].store).filter(|s| s.is_bare()).map(|s| s.nbytes()).sum()
}

/// Whether a task had better not begin while others run; `behind`: an earlier one waits for them, which is to have what
/// they free.
pub fn waits_for_others(work: &Work, behind: bool) -> bool {
    if work.at_most < LITTLE {
        return false;
    }
    let new = new_bytes(work);
    // In this order: what is promised is live before it is promised no more.
    let promised = PROMISED.load(Ordering::Acquire);
    let live = Memory::System.live() + promised;
    new >= LITTLE && (behind || (live + new) as u64 > stats::PEAK_BYTES.load(Ordering::Relaxed))
}

/// The task will be bound next.
pub fn chosen(work: &Work) {
    if work.at_most >= LITTLE {
        let new = new_bytes(work);
        work.promised.store(new, Ordering::Release);
        PROMISED.fetch_add(new, Ordering::AcqRel);
    }
}

/// It is bound, or over: what it took is counted, and what it was promised is no more.
pub fn bound(work: &Work) {
    let promised = work.promised.swap(0, Ordering::AcqRel);
    if promised > 0 {
        PROMISED.fetch_sub(promised, Ordering::AcqRel);
    }
}

/// Bytes of the instances that the task would make now.
fn new_bytes(work: &Work) -> usize {
    // Whoever looks at them may wait for who asks this.
    let (Some(ops), Some(payload)) = (work.ops.try_lock(), work.payload.try_lock()) else { return 0 };
    let mut new: Vec<&Arc<Store>> = Vec::new();
    let mut add = |s| {
        let s: &Arc<Store> = s;
        if s.is_bare() && !new.iter().any(|n| Arc::ptr_eq(n, s)) {
            new.push(s);
        }
    };
    match payload.as_ref() {
        None => {}
        Some(Payload::Fused { plan, stores, .. }) => plan.made(stores).for_each(add),
        Some(Payload::Chain { plan, stores, .. }) => {
            let all = plan.steps.iter().zip(stores).flat_map(|(f, s)| f.spots().zip(s));
            all.filter(|(spot, _)| !plan.is_local(spot.store)).for_each(|(_, s)| add(s));
        }
        Some(Payload::Opaque) => ops.iter().flat_map(|op| &op.outs).for_each(|p| add(&p.store)),
    }
    new.iter().map(|s| pool::rounded(s.nbytes())).sum()
}
