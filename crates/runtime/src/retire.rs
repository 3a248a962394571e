//! Retirement: counters down, memory free; errors and floating-point flags are kept for the next sync point.

use crate::error::{ErrorKind, ExecError, FpReport};
use crate::fp;
use crate::operation::{Operation, Place};
use crate::pace;
use crate::profile;
use crate::stats;
use crate::store::Store;
use crate::taint;
use crate::task::Work;
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most floating-point reports kept between two sync points.
const MOST_REPORTS: usize = 256;

/// A failure for the next sync point.
struct Failure {
    error: ExecError,
    /// Whether an array that had contents was not written: nothing but this says so. What has none raises when it is read.
    loses: bool,
}

static FAILURES: Mutex<Vec<Failure>> = Mutex::new(Vec::new());
/// How often the program has been told that memory is full.
static TOLD: AtomicU32 = AtomicU32::new(0);
static REPORTS: Mutex<Vec<FpReport>> = Mutex::new(Vec::new());

/// Ends the work of a task whose tiles are all over.
pub fn retire(work: &Work, error: Option<ExecError>) {
    keep_reports(work);
    pace::learn(work);
    let ops = std::mem::take(&mut *work.ops.lock());
    profile::retired(work, &ops, error.is_some());
    if let Some(e) = error {
        let e = Arc::new(e);
        let new = !has_failed_before(&ops);
        leave_without_contents(&ops, &e, new);
    }
    work.payload.lock().take();
    work.mapping.lock().take();
    for op in &ops {
        op.withdraw();
    }
    // Whoever launches the rest of the window still knows its stores; their memory need not wait for that.
    for p in ops.iter().flat_map(|op| op.reads().chain(&op.outs)) {
        if p.store.is_forgotten() {
            p.store.release();
        }
    }
    stats::count(&stats::TASKS, 1);
}

/// Whether the operations read or update an array that has failed before: of it, the program is told once.
pub fn has_failed_before(ops: &[Operation]) -> bool {
    let has_failed = |p: &Place| failure_of(&p.store).is_some();
    let updates = |op: &Operation| op.outs.iter().enumerate().any(|(k, p)| !op.is_fresh(k) && has_failed(p));
    ops.iter().any(|op| op.reads().any(has_failed) || updates(op))
}

/// Keeps what the work's operations have raised for the next sync point.
pub fn keep_reports(work: &Work) {
    // A defect there must not keep the task from retiring.
    let reports = catch_unwind(AssertUnwindSafe(|| fp::reports(work))).unwrap_or_default();
    if !reports.is_empty() {
        let mut kept = REPORTS.lock();
        let room = MOST_REPORTS.saturating_sub(kept.len());
        kept.extend(reports.into_iter().take(room));
    }
}

/// What the operation would have made first raises the error whenever it is read; what it would have updated, until
/// the program has been told.
///
/// In one go with keeping it for the next sync point, if it is `new`: whoever sees it at an array raises it and takes it
/// from what is kept, and must find it there.
pub fn leave_without_contents(ops: &[Operation], e: &Arc<ExecError>, new: bool) {
    let mut failures = FAILURES.lock();
    let mut loses = false;
    for op in ops {
        for (k, p) in op.outs.iter().enumerate() {
            if op.is_fresh(k) {
                let _ = p.store.error.set(e.clone());
            } else {
                taint::add(&p.store, e);
                loses = true;
            }
        }
    }
    // Of what was recorded before the program was told that memory is full, it need not hear the same of every array.
    let told = TOLD.load(Ordering::Acquire);
    let is_known = e.kind == ErrorKind::OutOfMemory && !loses && ops.iter().all(|op| op.told != told);
    if new && !is_known {
        failures.push(Failure { error: (**e).clone(), loses });
    }
}

/// How often the program has been told that memory is full.
pub fn told() -> u32 {
    TOLD.load(Ordering::Relaxed)
}

/// The program is told of a failure. If memory was full it is told of all that found no room so far: what they were to
/// make raises when it is read.
fn tell(failures: &mut Vec<Failure>, e: &ExecError) {
    taint::clear();
    if e.kind == ErrorKind::OutOfMemory {
        TOLD.fetch_add(1, Ordering::AcqRel);
        failures.retain(|f| f.loses || f.error.kind != ErrorKind::OutOfMemory);
    }
}

/// Why the store cannot be read, if something failed that was to write it.
pub fn failure_of(store: &Store) -> Option<Arc<ExecError>> {
    store.error.get().cloned().or_else(|| taint::of(store))
}

/// Keeps a failure for the next sync point.
pub fn keep_failure(e: ExecError) {
    FAILURES.lock().push(Failure { error: e, loses: true });
}

/// The oldest failure nobody has been told about. It stays so.
pub fn first_failure() -> Option<ExecError> {
    FAILURES.lock().first().map(|f| f.error.clone())
}

/// The oldest failure nobody has been told about.
pub fn take_failure() -> Option<ExecError> {
    let mut failures = FAILURES.lock();
    if failures.is_empty() {
        return None;
    }
    let first = failures.remove(0).error;
    tell(&mut failures, &first);
    Some(first)
}

/// A failure that was raised through its own array is not raised again.
pub fn forget_failure(e: &ExecError) {
    let mut failures = FAILURES.lock();
    failures.retain(|f| f.error != *e);
    tell(&mut failures, e);
}

pub fn take_reports() -> Vec<FpReport> {
    std::mem::take(&mut *REPORTS.lock())
}
