//! How much memory a task will take when it is bound, and whether it gives some back when it is over. What a program does
//! one after another needs its arrays one after another: a task that would need more than there ever was waits for one
//! that is about to free some, if other threads can help that one meanwhile.

use crate::memory::Memory;
use crate::node::Nodes;
use crate::operation::Operation;
use crate::plan::TaskPlan;
use crate::pool;
use crate::reserved;
use crate::stats;
use crate::store::Store;
use crate::task::{Payload, Work};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Less than this is taken at any time.
const LITTLE: usize = 1 << 20;

/// Bytes that tasks will take which were chosen and are not bound yet.
static PROMISED: AtomicUsize = AtomicUsize::new(0);
/// Tasks under way that others can help with and that will free much.
static FREEING: AtomicUsize = AtomicUsize::new(0);

/// What is known of a task.
#[derive(Default)]
pub struct Appetite {
    /// The most it may take when it is bound.
    at_most: usize,
    /// Whether it touches arrays that are worth a thought.
    is_large: bool,
    /// What it was promised until it is bound.
    promised: AtomicUsize,
    /// Whether it counts as one that frees much.
    freeing: AtomicBool,
}

/// That of a planned task. With several memories each has a mapper who sees to what is where.
pub fn of(plan: &TaskPlan, nodes: &Nodes) -> Appetite {
    if reserved::devices() > 0 {
        return Appetite::default();
    }
    let mut appetite = Appetite::default();
    for (s, _, writes) in &plan.accesses {
        let store = &nodes.stores[*s as usize].store;
        let bytes = store.nbytes();
        appetite.is_large |= bytes >= LITTLE;
        appetite.at_most += if *writes && store.is_bare() { bytes } else { 0 };
    }
    appetite
}

/// Whether a task had better not begin while others run; `behind`: an earlier one waits for them, which is to have what
/// they free.
pub fn waits_for_others(work: &Work, behind: bool) -> bool {
    if work.appetite.at_most < LITTLE || FREEING.load(Ordering::Acquire) == 0 {
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
    let appetite = &work.appetite;
    if appetite.at_most >= LITTLE {
        let new = new_bytes(work);
        appetite.promised.store(new, Ordering::Release);
        PROMISED.fetch_add(new, Ordering::AcqRel);
    }
    if appetite.is_large && frees_much(work) {
        appetite.freeing.store(true, Ordering::Release);
        FREEING.fetch_add(1, Ordering::AcqRel);
    }
}

/// It is bound: what it took is counted, and what it was promised is no more. `divided`: others can help.
pub fn bound(work: &Work, divided: bool) {
    let promised = work.appetite.promised.swap(0, Ordering::AcqRel);
    if promised > 0 {
        PROMISED.fetch_sub(promised, Ordering::AcqRel);
    }
    if !divided && work.appetite.freeing.swap(false, Ordering::AcqRel) {
        FREEING.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Bytes of the instances that the task would make now.
fn new_bytes(work: &Work) -> usize {
    // Whoever looks at them may wait for who asks this.
    let (Some(ops), Some(payload)) = (work.ops.try_lock(), work.payload.try_lock()) else { return 0 };
    let mut new: SmallVec<[&Arc<Store>; 8]> = SmallVec::new();
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

/// Whether large arrays are gone when the task is over: nobody but its operations will have touched them.
fn frees_much(work: &Work) -> bool {
    let Some(ops) = work.ops.try_lock() else { return false };
    let mut uses: SmallVec<[(&Store, u32, u32); 8]> = SmallVec::new();
    let mut count = |store, writes: bool| {
        let store: &Store = store;
        if store.nbytes() < LITTLE {
            return;
        }
        let known = uses.iter().position(|(s, ..)| std::ptr::eq(*s, store));
        let k = known.unwrap_or_else(|| {
            uses.push((store, 0, 0));
            uses.len() - 1
        });
        if writes { uses[k].2 += 1 } else { uses[k].1 += 1 }
    };
    for op in ops.iter() {
        let op: &Operation = op;
        op.reads().for_each(|p| count(&p.store, false));
        op.outs.iter().for_each(|p| count(&p.store, true));
    }
    uses.into_iter().any(|(s, reads, writes)| !s.is_bare() && !s.is_foreign() && s.is_private(reads, writes))
}
