//! Which operation of a task raised a floating-point flag. The hardware only says that one did.

use crate::error::FpReport;
use crate::operation::{Kind, Operation, Source};
use crate::prepare;
use crate::record::MapOp;
use crate::task::{Payload, Work};
use numloom_ir::ScalarOp;
use numloom_loops::{FP_DIVIDE, FP_INVALID, FP_OVERFLOW, FP_UNDERFLOW};
use std::sync::atomic::Ordering;

const KINDS: [u8; 4] = [FP_DIVIDE, FP_OVERFLOW, FP_UNDERFLOW, FP_INVALID];

/// After this many times a task that warns in a loop is taken to go on as before: finding out costs another pass.
const OFTEN: u32 = 16;

/// The flags that the instructions of a kernel were seen to raise.
#[derive(Default)]
pub struct Blamed {
    raised: Vec<u8>,
    times: u32,
}

impl Blamed {
    pub fn flags(&self) -> u8 {
        self.raised.iter().fold(0, |all, f| all | f)
    }

    pub fn add(&mut self, raised: &[u8]) {
        self.raised.resize(raised.len(), 0);
        self.raised.iter_mut().zip(raised).for_each(|(all, f)| *all |= f);
    }

    fn replace(&mut self, raised: Vec<u8>) {
        self.raised = raised;
        self.times += 1;
    }
}

/// Reports for the flags a task has raised, one for each operation and kind, in the program's order. Called when
/// its work is done and before anything that follows it starts.
pub fn reports(work: &Work) -> Vec<FpReport> {
    let flags = work.flags.load(Ordering::Relaxed);
    if flags == 0 {
        return Vec::new();
    }
    let count = work.ops.lock().len();
    let mut by_op = if count > 1 { blamed(work, count).unwrap_or_default() } else { Vec::new() };
    by_op.resize(count, 0);
    let ops = work.ops.lock();
    let found = by_op.iter().fold(0, |all, f| all | f);
    for kind in KINDS.into_iter().filter(|k| flags & !found & k != 0) {
        if let Some(k) = likeliest(kind, &ops) {
            by_op[k] |= kind;
        }
    }
    let mut all = Vec::new();
    for (op, raised) in ops.iter().zip(by_op) {
        let kinds = KINDS.into_iter().filter(|k| raised & flags & k != 0);
        all.extend(kinds.map(|k| FpReport { flags: k, op: heard_of_as(op), provenance: op.at }));
    }
    all
}

/// What NumPy calls the operation when it warns.
fn heard_of_as(op: &Operation) -> &'static str {
    match &op.kind {
        Kind::Map(MapOp::Copy) => "cast",
        Kind::Library(library) => library.raises().unwrap_or(op.name()),
        _ => op.name(),
    }
}

/// The flags that each operation is known to have raised, where that can still be found out.
fn blamed(work: &Work, count: usize) -> Option<Vec<u8>> {
    let mut by_op = vec![0u8; count];
    let mut note = |first: usize, origins: &[u32], raised: &[u8]| {
        for (&origin, &flags) in origins.iter().zip(raised) {
            if let Some(f) = by_op.get_mut(first + origin as usize) {
                *f |= flags;
            }
        }
    };
    match &*work.payload.lock() {
        Some(Payload::Fused { plan, stores, params }) => {
            let mut kept = plan.blamed.lock();
            let flags = work.flags.load(Ordering::Relaxed);
            if kept.times < OFTEN || flags & !kept.flags() != 0 {
                let mut raised = vec![0u8; plan.compiled.kernel.instrs.len()];
                for (domain, operands) in prepare::operands_of(work, plan, stores).ok()? {
                    // SAFETY: the task's stores are kept and nobody writes them before it has retired.
                    let part = unsafe { numloom_cpu::blame(&plan.compiled, &domain, &operands, params) }?;
                    raised.iter_mut().zip(part).for_each(|(all, f)| *all |= f);
                }
                kept.replace(raised);
            }
            note(0, &plan.origins, &kept.raised);
        }
        Some(Payload::Chain { plan, blamed, .. }) => {
            for ((step, &first), raised) in plan.steps.iter().zip(&plan.firsts).zip(&*blamed.lock()) {
                note(first, &step.origins, &raised.raised);
            }
        }
        _ => return None,
    }
    Some(by_op)
}

/// The operation most likely to have raised a flag: those that can hardly help it come before those that only do
/// on extreme numbers.
fn likeliest(flag: u8, ops: &[Operation]) -> Option<usize> {
    let most = ops.iter().map(|o| likelihood(o, flag)).max()?;
    ops.iter().position(|o| likelihood(o, flag) == most)
}

fn likelihood(op: &Operation, flag: u8) -> u8 {
    use ScalarOp::*;
    let Kind::Map(map) = &op.kind else { return if matches!(op.kind, Kind::Reduce { .. }) { 2 } else { 0 } };
    let inexact = op.outs[0].view.dtype.is_inexact();
    match map {
        MapOp::Scalar { op: scalar, .. } => {
            let singular = matches!(
                scalar,
                Divide
                    | FloorDivide
                    | Remainder
                    | Fmod
                    | Divmod
                    | Log
                    | Log2
                    | Log10
                    | Log1p
                    | Power
                    | FloatPower
                    | Arctanh
            );
            let prone = match flag {
                FP_DIVIDE => singular || matches!(scalar, Reciprocal),
                FP_INVALID => singular || matches!(scalar, Sqrt | Arcsin | Arccos | Arccosh | Sin | Cos | Tan),
                FP_OVERFLOW => {
                    matches!(scalar, Exp | Exp2 | Expm1 | Power | FloatPower | Multiply | Square | Sinh | Cosh | Ldexp)
                }
                _ => matches!(scalar, Exp | Exp2 | Multiply | Divide | Power),
            };
            if prone {
                4
            } else if inexact && flag != FP_DIVIDE {
                2
            } else {
                0
            }
        }
        MapOp::Copy => {
            let casts = op.ins.first().is_some_and(|s| match s {
                Source::Place(p) => p.view.dtype.is_inexact() && p.view.dtype != op.outs[0].view.dtype,
                Source::Value(_) => false,
            });
            if casts && flag & (FP_INVALID | FP_OVERFLOW) != 0 { 3 } else { 0 }
        }
        _ => 0,
    }
}
