//! How long tasks usually take: one that is over before another thread would be awake is left to the thread that has it.

use crate::operation::Kind;
use crate::prepare::elements_of;
use crate::task::{Payload, Work};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Tasks on more elements than this are never short, and not measured.
const MEASURED: usize = 1 << 20;
/// Nanoseconds of work under which calling another thread, and what its cache has not, cost more than it saves.
const SHORT: u64 = 40_000;

/// Picoseconds an element, as measured; 0 before the first time.
#[derive(Default, Debug)]
pub struct Pace(AtomicU64);

impl Clone for Pace {
    fn clone(&self) -> Pace {
        Pace(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl Pace {
    fn is_short(&self, elements: usize) -> bool {
        let pace = self.0.load(Ordering::Relaxed);
        pace > 0 && pace.saturating_mul(elements as u64) < SHORT * 1000
    }

    /// A measurement counts a quarter: a task that was interrupted is soon forgotten.
    fn learn(&self, elements: usize, ns: u64) {
        let (now, was) = (ns * 1000 / elements as u64 + 1, self.0.load(Ordering::Relaxed));
        self.0.store(if was == 0 { now } else { (3 * was + now).div_ceil(4) }, Ordering::Relaxed);
    }
}

/// Of library operations, by their names.
static LIBRARY: Mutex<Option<FxHashMap<&'static str, Pace>>> = Mutex::new(None);

/// What a task took so far.
#[derive(Default)]
pub struct Spent {
    /// Elements it works on; 0 where nothing is measured.
    elements: AtomicU64,
    ns: AtomicU64,
}

impl Spent {
    /// Runs a part of the task.
    pub fn measure<R>(&self, part: impl FnOnce() -> R) -> R {
        if self.elements.load(Ordering::Relaxed) == 0 {
            return part();
        }
        let begun = Instant::now();
        let done = part();
        self.ns.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }
}

/// Calls `then` with the pace of tasks like this one and the elements it works on, if it is one that may be short.
fn with_pace<R>(work: &Work, then: impl FnOnce(&Pace, usize) -> R) -> Option<R> {
    let payload = work.payload.lock();
    let (pace, elements) = match payload.as_ref()? {
        Payload::Fused { plan, .. } => (Some(&plan.pace), plan.domain.iter().product()),
        Payload::Chain { .. } => return None,
        Payload::Opaque => (None, work.ops.lock().first().map_or(0, elements_of)),
    };
    if elements == 0 || elements > MEASURED {
        return None;
    }
    if let Some(pace) = pace {
        return Some(then(pace, elements));
    }
    let ops = work.ops.lock();
    let Kind::Library(op) = &ops.first()?.kind else { return None };
    Some(then(LIBRARY.lock().get_or_insert_default().entry(op.name()).or_default(), elements))
}

/// Whether the task is likely over sooner than another thread could help with it. To be asked before it runs.
pub fn is_short(work: &Work) -> bool {
    let short = with_pace(work, |pace, elements| {
        work.spent.elements.store(elements as u64, Ordering::Relaxed);
        pace.is_short(elements)
    });
    short.unwrap_or(false)
}

/// Remembers what the task took. To be called when all its parts are over.
pub fn learn(work: &Work) {
    let ns = work.spent.ns.load(Ordering::Relaxed);
    if ns > 0 {
        with_pace(work, |pace, elements| pace.learn(elements, ns));
    }
}
