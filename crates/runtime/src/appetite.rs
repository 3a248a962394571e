//! How much memory a task will take when it is bound, and whether it gives some back when it is over. What a program does
//! one after another needs its arrays one after another: a task that would need more than there ever was waits for those
//! launched before it that will free some, as long as other threads can help these.

use crate::memory::Memory;
use crate::node::{Nodes, StoreId};
use crate::plan::TaskPlan;
use crate::pool;
use crate::reserved;
use crate::stats;
use crate::store::Store;
use crate::task::{Payload, Work};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Less than this is taken at any time.
const LITTLE: usize = 1 << 20;

/// Bytes that tasks will take which were chosen and are not bound yet.
static PROMISED: AtomicUsize = AtomicUsize::new(0);
/// Tasks launched and not over that will free much, by number; those that one thread is busy with alone are taken out.
static FREEING: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
static LAUNCHED: AtomicU64 = AtomicU64::new(0);

/// What is known of a task.
#[derive(Default)]
pub struct Appetite {
    /// Its place among all that were launched.
    number: u64,
    /// The most it may take when it is bound.
    at_most: usize,
    /// What it was promised until it is bound.
    promised: AtomicUsize,
    /// Whether it frees much.
    frees: bool,
}

/// That of a planned task, about to be launched. With several memories each has a mapper who sees to what is where.
pub fn of(plan: &TaskPlan, nodes: &Nodes) -> Appetite {
    if reserved::devices() > 0 {
        return Appetite::default();
    }
    let store = |s: &StoreId| &nodes.stores[*s as usize].store;
    let written = plan.accesses.iter().filter(|(_, _, writes)| *writes).map(|(s, ..)| store(s));
    let at_most = written.filter(|s| s.is_bare()).map(|s| s.nbytes()).sum();
    let frees = plan.ends.iter().any(|s| store(s).nbytes() >= LITTLE);
    let number = LAUNCHED.fetch_add(1, Ordering::Relaxed);
    if frees {
        FREEING.lock().insert(number);
    }
    Appetite { number, at_most, promised: AtomicUsize::new(0), frees }
}

/// Whether a task had better not begin while others run; `behind`: an earlier one waits for them, which is to have what
/// they free.
pub fn waits_for_others(work: &Work, behind: bool) -> bool {
    let is_before = |&first: &u64| first < work.appetite.number;
    if work.appetite.at_most < LITTLE || !FREEING.lock().first().is_some_and(is_before) {
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
}

/// It is bound: what it took is counted, and what it was promised is no more. `divided`: others can help.
pub fn bound(work: &Work, divided: bool) {
    let promised = work.appetite.promised.swap(0, Ordering::AcqRel);
    if promised > 0 {
        PROMISED.fetch_sub(promised, Ordering::AcqRel);
    }
    if !divided && work.appetite.frees {
        FREEING.lock().remove(&work.appetite.number);
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
