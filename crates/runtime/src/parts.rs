//! Loops over slices of large arrays. A slice is recorded even where it could be computed at once, because the slices of a
//! loop become one task (`slices.rs`). Not those of a loop in which each goes on from the last: it adds to what the one
//! before wrote, or reads it. They would become a task each, in a row, so they are computed at once.

use crate::node::is_unsized;
use crate::operation::{Operation, Place};
use crate::prompt;
use crate::provenance::Provenance;
use crate::store::Store;
use numloom_ir::View;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Elements of a slice that takes less time than to record what is done with it.
const SMALL: usize = 2048;
/// Slices of an array that make it a large one.
const MANY: usize = 32;

/// Arrays that are kept in mind.
const ARRAYS: usize = 8;
/// Slices one after another that meet the last one written, and make a habit.
const HABIT: u32 = 2;
/// Slices that are computed at once then, before one is recorded again to see.
const FOR_LONG: u32 = 1 << 12;

/// The slice of an array that was written last.
#[derive(Clone, Copy)]
struct Part {
    /// The address of the store, which is only compared.
    store: usize,
    bounds: (usize, usize),
    at: Provenance,
    /// Whether somebody of the next round has met it.
    is_met: bool,
    /// How many before it were, one after another.
    met: u32,
    /// Slices that are to be computed at once.
    left: u32,
}

const NONE: Part = Part { store: 0, bounds: (0, 0), at: Provenance { code: 0, at: 0 }, is_met: false, met: 0, left: 0 };

struct Parts {
    all: [Part; ARRAYS],
    /// Which of them goes next.
    oldest: usize,
}

static PARTS: Mutex<Parts> = Mutex::new(Parts { all: [NONE; ARRAYS], oldest: 0 });
/// Whether there may be an array whose slices are to be computed at once.
static ANY: AtomicBool = AtomicBool::new(false);

fn is_part(store: &Store, view: &View) -> bool {
    !is_unsized(view) && view.size() > SMALL && store.nbytes() / MANY > view.nbytes()
}

/// A middling slice of a large array is likely one of many. Deferred, they merge, unless the program waits for each, or
/// others like it have turned out not to.
#[inline]
pub fn is_one_of_many(store: &Store, view: &View, elements: usize) -> bool {
    elements > SMALL && is_part(store, view) && may_merge(store)
}

#[cold]
fn may_merge(store: &Store) -> bool {
    if !prompt::may_merge() {
        return false;
    }
    if !ANY.load(Relaxed) {
        return true;
    }
    let mut parts = PARTS.lock();
    let address = std::ptr::from_ref(store) as usize;
    match parts.all.iter_mut().find(|p| p.store == address && p.left > 0) {
        Some(part) => {
            part.left -= 1;
            false
        }
        None => true,
    }
}

/// Looks at a slice that is recorded.
pub fn recorded(op: &Operation) {
    let is_slice = |p: &Place| is_part(&p.store, &p.view);
    if op.reads().chain(&op.outs).any(is_slice) {
        look(op);
    }
}

#[cold]
fn look(op: &Operation) {
    let mut parts = PARTS.lock();
    let at = op.at.place();
    for (place, writes) in op.reads().map(|p| (p, false)).chain(op.outs.iter().map(|p| (p, true))) {
        if !is_part(&place.store, &place.view) {
            continue;
        }
        let (store, bounds) = (Arc::as_ptr(&place.store) as usize, place.view.byte_bounds());
        let known = parts.all.iter().position(|p| p.store == store);
        let Some(k) = known else {
            if writes {
                let k = parts.oldest;
                parts.oldest = (k + 1) % ARRAYS;
                parts.all[k] = Part { store, bounds, at, ..NONE };
            }
            continue;
        };
        let part = &mut parts.all[k];
        let meets = bounds.0 < part.bounds.1 && part.bounds.0 < bounds.1;
        // What stands before a write and meets it comes from the next round. The same slice again is no other one.
        let next_round = at.code == part.at.code && at.at <= part.at.at;
        part.is_met |= meets && next_round && !(writes && bounds == part.bounds);
        if !writes {
            continue;
        }
        if bounds != part.bounds {
            part.met = if part.is_met { part.met + 1 } else { 0 };
            part.is_met = false;
        }
        if part.met >= HABIT {
            (part.met, part.left) = (0, FOR_LONG);
            ANY.store(true, Relaxed);
        }
        (part.bounds, part.at) = (bounds, at);
    }
}
