//! Which operation of a task raised a floating-point flag. The hardware only says that one did.

use crate::error::FpReport;
use crate::operation::{Kind, Operation};
use crate::plan::FusedPlan;
use crate::record::MapOp;
use crate::task::{Payload, Work};
use numloom_cpu::{Raised, Watch, may_raise};
use numloom_loops::{FP_DIVIDE, FP_INVALID, FP_OVERFLOW, FP_UNDERFLOW};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const KINDS: [u8; 4] = [FP_DIVIDE, FP_OVERFLOW, FP_UNDERFLOW, FP_INVALID];
const ALL: u8 = FP_DIVIDE | FP_OVERFLOW | FP_UNDERFLOW | FP_INVALID;

/// The kinds that some of the operations are to be heard of for.
pub fn heard(ops: &[Operation]) -> u8 {
    ops.iter().fold(0, |all, o| all | !o.at.ignored()) & ALL
}

/// The operations that could raise a flag, one for each instruction that could.
fn suspects(plan: &FusedPlan) -> impl Iterator<Item = u32> {
    let kernel = &plan.compiled.kernel;
    kernel.instrs.iter().zip(&plan.origins).filter(|(i, _)| may_raise(kernel, i)).map(|(_, o)| *o)
}

/// A watch over a fused task, if more than one of its operations could raise a flag.
pub fn watch(plan: &FusedPlan, heard: u8, raised: &Arc<Raised>) -> Option<Watch> {
    let several = suspects(plan).next().is_some() && sole_suspect(plan).is_none();
    (heard != 0 && several).then(|| Watch::new(&plan.compiled, heard, raised))
}

/// A watch over a step of a chain: what the chain raised may be another step's.
pub fn watch_step(plan: &FusedPlan, heard: u8, raised: &Arc<Raised>) -> Option<Watch> {
    (heard != 0 && suspects(plan).next().is_some()).then(|| Watch::new(&plan.compiled, heard, raised))
}

/// The only operation that could raise a flag.
fn sole_suspect(plan: &FusedPlan) -> Option<u32> {
    let mut suspects = suspects(plan);
    let one = suspects.next()?;
    suspects.all(|o| o == one).then_some(one)
}

/// Reports for the flags a task has raised, one for each operation and kind, in the program's order. Called when
/// its work is done.
pub fn reports(work: &Work) -> Vec<FpReport> {
    let flags = work.flags.load(Ordering::Relaxed);
    if flags == 0 {
        return Vec::new();
    }
    let ops = work.ops.lock();
    let mut by_op = vec![0u8; ops.len()];
    match &*work.payload.lock() {
        Some(Payload::Fused { plan, raised, .. }) => match sole_suspect(plan) {
            // Nobody else could have: there was no watch.
            Some(one) => add(&mut by_op, one as usize, flags),
            None => note(plan, 0, raised, &mut by_op),
        },
        Some(Payload::Chain { plan, raised, .. }) => {
            for ((step, &first), raised) in plan.steps.iter().zip(&plan.firsts).zip(raised) {
                note(step, first, raised, &mut by_op);
            }
        }
        _ => add(&mut by_op, 0, flags),
    }
    let mut all = Vec::new();
    for (op, raised) in ops.iter().zip(by_op) {
        let kinds = KINDS.into_iter().filter(|k| raised & flags & k != 0);
        all.extend(kinds.map(|k| FpReport { flags: k, op: heard_of_as(op), provenance: op.at }));
    }
    all
}

/// Adds what the operations of a fused task (or a step of a chain) were seen to raise.
fn note(plan: &FusedPlan, first: usize, raised: &Raised, by_op: &mut [u8]) {
    for (&origin, flags) in plan.origins.iter().zip(raised.by_instruction()) {
        add(by_op, first + origin as usize, flags);
    }
}

fn add(by_op: &mut [u8], op: usize, flags: u8) {
    if let Some(f) = by_op.get_mut(op) {
        *f |= flags;
    }
}

/// What NumPy calls the operation when it warns.
fn heard_of_as(op: &Operation) -> &'static str {
    match &op.kind {
        Kind::Map(MapOp::Copy) => "cast",
        Kind::Library(library) => library.raises().unwrap_or(op.name()),
        _ => op.name(),
    }
}
