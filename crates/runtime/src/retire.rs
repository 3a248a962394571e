//! Retirement: counters down, memory free; errors and floating-point flags are kept for the next sync point.

use crate::error::{ExecError, FpReport};
use crate::stats;
use crate::task::{Payload, Work};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most floating-point reports kept between two sync points.
const MOST_REPORTS: usize = 256;

static FAILURES: Mutex<Vec<ExecError>> = Mutex::new(Vec::new());
static REPORTS: Mutex<Vec<FpReport>> = Mutex::new(Vec::new());

/// Ends the work of a task whose tiles are all over.
pub fn retire(work: &Work, error: Option<ExecError>) {
    let reports = fp_reports(work);
    if !reports.is_empty() {
        let mut kept = REPORTS.lock();
        let room = MOST_REPORTS.saturating_sub(kept.len());
        kept.extend(reports.into_iter().take(room));
    }
    let ops = std::mem::take(&mut *work.ops.lock());
    if let Some(e) = error {
        let e = Arc::new(e);
        let mut known = false;
        for op in &ops {
            known |= op.reads().any(|p| p.store.is_broken());
            for (_, p) in op.outs.iter().enumerate().filter(|(k, _)| op.fresh >> (*k).min(7) & 1 == 1) {
                let _ = p.store.error.set(e.clone());
            }
        }
        if !known {
            FAILURES.lock().push((*e).clone());
        }
    }
    work.payload.lock().take();
    for op in &ops {
        op.withdraw();
    }
    stats::count(&stats::TASKS, 1);
}

/// Reports for the flags seen: the operation that can raise each kind, if the task can tell.
fn fp_reports(work: &Work) -> Vec<FpReport> {
    let flags = work.flags.load(Ordering::Relaxed);
    let speculative = match &*work.payload.lock() {
        Some(Payload::Fused { plan, .. }) => plan.speculative,
        Some(Payload::Chain { plan, .. }) => plan.steps.iter().any(|s| s.speculative),
        _ => false,
    };
    if flags == 0 || speculative {
        return Vec::new();
    }
    crate::fp::attribute(flags, &work.ops.lock())
}

/// The oldest failure nobody has been told about.
pub fn take_failure() -> Option<ExecError> {
    let mut f = FAILURES.lock();
    if f.is_empty() { None } else { Some(f.remove(0)) }
}

/// A failure that was raised through its own array is not raised again.
pub fn forget_failure(e: &ExecError) {
    FAILURES.lock().retain(|f| f != e);
}

pub fn take_reports() -> Vec<FpReport> {
    std::mem::take(&mut *REPORTS.lock())
}
