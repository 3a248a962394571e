//! Operations that a device would have been given, had it a way to do them: they ran on the CPU, and their arrays were
//! brought there. Counted by name and line, for the report of what ran where.

use crate::mapper;
use crate::operation::Operation;
use crate::prepare;
use crate::provenance::Provenance;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::LazyLock;

type Counts = HashMap<(&'static str, Provenance), u64>;

static COUNTS: LazyLock<Mutex<Counts>> = LazyLock::new(|| Mutex::new(HashMap::new()));

/// Before an operation without a way on devices is bound to the host: counts it if a device was meant for it.
pub fn count(op: &Operation) {
    let (touches, elements) = (prepare::touches_of(op), prepare::elements_of(op));
    if !mapper::memory_for(&touches, elements).is_host() {
        *COUNTS.lock().entry((op.name(), op.at.place())).or_default() += op.times.max(1) as u64;
    }
}

/// Name, place and number of calls.
pub fn all() -> Vec<(&'static str, Provenance, u64)> {
    COUNTS.lock().iter().map(|(&(name, at), &calls)| (name, at, calls)).collect()
}

pub fn forget() {
    COUNTS.lock().clear();
}
