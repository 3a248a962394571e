//! When a fused task finds no room for all its results, its operations run one by one: what fits is there
//! afterwards, and the error names the operation that did not.

use crate::error::{ErrorKind, ExecError};
use crate::operation::Operation;
use crate::retire;
use crate::store::Store;
use crate::task::{Payload, Prepared, Work};
use numloom_threads::Job;
use std::sync::Arc;

/// Runs the task's operations in order on this thread. Failures are kept with the stores they leave without contents.
pub fn run(work: &Work) -> Prepared {
    let mut ops = std::mem::take(&mut *work.ops.lock());
    let mut has_failed = false;
    for i in 0..ops.len() {
        let poisoned = ops[i].reads().find_map(|p| retire::failure_of(&p.store));
        let failed = match poisoned {
            Some(e) => Some(e),
            None => {
                let op = std::mem::replace(&mut ops[i], Operation::nothing());
                let (op, done) = run_one(op);
                ops[i] = op;
                done.err().map(Arc::new)
            }
        };
        if let Some(e) = failed {
            let known = retire::has_failed_before(&ops[i..=i]) | std::mem::replace(&mut has_failed, true);
            retire::leave_without_contents(&ops[i..=i], &e, !known);
        }
        release_temporaries(&ops, i);
    }
    *work.ops.lock() = ops;
    Prepared::Done
}

fn run_one(op: Operation) -> (Operation, Result<(), ExecError>) {
    let single = Work::new(Payload::Opaque, vec![op]);
    let done = single.bind().and_then(|prepared| {
        for (phase, &tiles) in Work::phases(&prepared).iter().enumerate() {
            for tile in 0..tiles {
                single.run(&prepared, phase, tile)?;
            }
        }
        Ok(())
    });
    retire::keep_reports(&single);
    let op = single.ops.lock().pop().unwrap_or_else(Operation::nothing);
    (op, done)
}

/// Frees what only operations up to this one could see.
fn release_temporaries(ops: &[Operation], done: usize) {
    let touches = |o: &Operation, s: &Arc<Store>| o.reads().chain(&o.outs).any(|p| Arc::ptr_eq(&p.store, s));
    for p in ops[done].reads().chain(&ops[done].outs) {
        let mine = |read: bool| {
            let places = |o: &Operation| -> usize {
                if read {
                    o.reads().filter(|q| Arc::ptr_eq(&q.store, &p.store)).count()
                } else {
                    o.outs.iter().filter(|q| Arc::ptr_eq(&q.store, &p.store)).count()
                }
            };
            ops.iter().map(places).sum::<usize>() as u32
        };
        if !ops[done + 1..].iter().any(|o| touches(o, &p.store)) && p.store.is_private(mine(true), mine(false)) {
            p.store.release();
        }
    }
}

/// Whether running one by one can help: there is more than one result to make.
pub fn helps(work: &Work, e: &ExecError) -> bool {
    let new = |stores: &mut dyn Iterator<Item = &Arc<Store>>| stores.filter(|s| s.is_bare()).count();
    let results = match &*work.payload.lock() {
        Some(Payload::Fused { plan, stores, .. }) => new(&mut plan.made(stores)),
        Some(Payload::Chain { stores, .. }) => new(&mut stores.iter().flatten()),
        _ => 0,
    };
    e.kind == ErrorKind::OutOfMemory && results > 1
}
