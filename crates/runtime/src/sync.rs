//! Sync points: where a value enters Python, so work is forced.

use crate::array::{Array, UNSIZED};
use crate::error::{ErrorKind, ExecError, FpReport};
use crate::fork;
use crate::gpu;
use crate::memory::Memory;
use crate::profile;
use crate::prompt;
use crate::reserved;
use crate::retire;
use crate::stats;
use crate::store::Store;
use crate::taint;
use crate::task::{self, SCHEDULER};
use crate::window::{self, WINDOW};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, ExecError>;

/// Waits for the array's contents; raises what failed. Call without the GIL.
/// `interrupted` is asked now and then (e.g. for signals); true ends the wait early with `Ok(false)`.
pub fn sync(a: &Array, interrupted: impl Fn() -> bool) -> Result<bool> {
    stats::count(&stats::SYNCS, 1);
    wait_for(&a.store, interrupted)
}

/// As `sync`, for callers whose exceptions may be swallowed: what failed is raised again at the next sync point.
pub fn look(a: &Array, interrupted: impl Fn() -> bool) -> Result<bool> {
    if !settle(&a.store, interrupted) {
        return Ok(false);
    }
    match retire::failure_of(&a.store).map(|e| (*e).clone()).or_else(retire::first_failure) {
        Some(e) => Err(e),
        None => Ok(true),
    }
}

/// Waits until nothing recorded writes the store any more; false when interrupted.
fn settle(store: &Store, interrupted: impl Fn() -> bool) -> bool {
    prompt::sync_point();
    if store.is_settled() {
        return true;
    }
    WINDOW.flush_to_wait();
    profile::waits_for(store);
    SCHEDULER.wait(|| store.is_settled() || taint::of(store).is_some(), interrupted)
}

pub(crate) fn wait_for(store: &Arc<Store>, interrupted: impl Fn() -> bool) -> Result<bool> {
    if !settle(store, interrupted) {
        return Ok(false);
    }
    if let Some(e) = retire::failure_of(store) {
        retire::forget_failure(&e);
        return Err((*e).clone());
    }
    match retire::take_failure() {
        Some(e) => Err(e),
        None => Ok(true),
    }
}

/// Whether the contents are there without waiting.
pub fn is_ready(a: &Array) -> bool {
    a.store.is_settled() && a.symbol().is_none() && !a.store.is_broken()
}

/// The same, for a caller who wants them now.
pub fn is_there(a: &Array) -> bool {
    let there = is_ready(a);
    if there {
        prompt::sync_point();
    }
    there
}

/// Waits for everything recorded so far.
pub fn sync_all(interrupted: impl Fn() -> bool) -> Result<bool> {
    stats::count(&stats::SYNCS, 1);
    prompt::sync_point();
    if !WINDOW.finish(|| SCHEDULER.in_flight() == 0, interrupted) {
        return Ok(false);
    }
    gpu::wait_for_all()?;
    match retire::take_failure() {
        Some(e) => Err(e),
        None => Ok(true),
    }
}

/// Helps with what is recorded until it is done, or for some tens of milliseconds. Where there are devices their work
/// goes on by itself, and what they hold is not worth fetching.
pub(crate) fn catch_up() {
    if reserved::devices() == 0 {
        WINDOW.finish(|| SCHEDULER.in_flight() == 0, || true);
    }
}

/// Forces the length of an array of unknown length; a sync point. Afterwards its shape is known.
pub fn resolve(a: &mut Array) -> Result<()> {
    let Some(symbol) = a.symbol().cloned() else { return Ok(()) };
    if symbol.get().is_none() || !a.store.is_settled() {
        wait_for(&a.store, || false)?;
    }
    let Some(&count) = symbol.get() else {
        let message = "the length of a boolean index was never found".to_string();
        let (op, provenance) = ("boolean index", a.store.provenance);
        return Err(ExecError::new(ErrorKind::Internal, message, op, provenance));
    };
    debug_assert_eq!(a.view.shape[0], UNSIZED);
    a.view.shape[0] = count;
    Ok(())
}

/// The address of the view's first element. The array must be ready; memory is made if nothing wrote it yet.
pub fn data(a: &Array) -> Result<*mut u8> {
    profile::read(&a.store);
    let base = a.store.for_host(&a.view).map_err(|e| ExecError::no_memory(e, "array", a.store.provenance))?;
    // SAFETY: a view's offset lies inside its store.
    Ok(unsafe { base.add(a.view.offset) })
}

/// While this lives, foreign code may see the array's bytes, so operations on its store are not deferred.
pub struct Exposure(Array);

/// Foreign code may write, so what was recorded to read the bytes before is waited for.
pub fn expose(a: &Array) -> Exposure {
    wait_until_idle(&a.store);
    a.store.wrote();
    a.store.exposed.fetch_add(1, Ordering::AcqRel);
    Exposure(a.clone())
}

/// As `expose`, and for as long as the store lives.
pub fn expose_for_good(store: &Store) {
    wait_until_idle(store);
    store.wrote();
    store.exposed.fetch_add(1, Ordering::AcqRel);
}

/// Waits for everything recorded that touches the store.
pub fn wait_until_idle(store: &Store) {
    if !store.is_idle() {
        WINDOW.finish(|| store.is_idle() || taint::of(store).is_some(), || false);
    }
}

impl Drop for Exposure {
    fn drop(&mut self) {
        self.0.store.exposed.fetch_sub(1, Ordering::AcqRel);
    }
}

/// How often a wait says how far it is.
const PROGRESS: Duration = Duration::from_millis(500);

pub(crate) fn show_progress() {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    if !numloom_config::current().show_progress {
        return;
    }
    let mut last = LAST.lock();
    if last.is_none_or(|t| t.elapsed() >= PROGRESS) {
        *last = Some(Instant::now());
        let done = stats::TASKS.load(Ordering::Relaxed);
        let live = Memory::System.live() >> 20;
        eprintln!("numloom: {} tasks to go, {done} done, {live} MiB of arrays", SCHEDULER.in_flight());
    }
}

/// Floating-point exceptions of deferred operations since the last call.
pub fn take_fp_reports() -> Vec<FpReport> {
    retire::take_reports()
}

/// A child has none of the parent's threads, but every lock as it was: nobody may hold one. So the work is finished, other
/// threads leave, and ours end; on both sides the next operation starts them anew. Call without Python's lock.
pub(crate) fn before_fork() {
    while !fork::close() {
        std::thread::yield_now();
    }
    if let Err(e) = sync_all(|| false) {
        // Not for a fork to tell.
        retire::keep_failure(e);
    }
    window::stop_threads();
}

/// Waits for what is in flight, or drops it, then stops the threads.
pub(crate) fn shutdown(drop: bool, interrupted: impl Fn() -> bool) -> Result<()> {
    let mut done = if drop { Ok(false) } else { sync_all(interrupted) };
    if let Ok(false) = done {
        // What nobody waits for fails nobody.
        task::abandon();
        let _ = sync_all(|| false);
        done = Ok(true);
    }
    window::stop_threads();
    done.map(|_| ())
}
