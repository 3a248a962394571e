//! `numloom.explain`: the tasks that would make an array, read off the window without running it.

use crate::array::Array;
use crate::node;
use crate::operation::Operation;
use crate::plan::{self, FusedPlan, TaskPlan, TaskWork};
use crate::provenance::Provenance;
use crate::slices::{self, Seen};
use crate::window::WINDOW;
use numloom_ir::kernel::Instr;
use std::borrow::Borrow;
use std::fmt::Write;
use std::sync::Arc;

/// One task a paragraph: what it is, its operations with their lines, the bytes it moves.
/// `line` renders a provenance.
pub fn explain(a: &Array, line: impl Fn(Provenance) -> String) -> String {
    WINDOW.inspect(|ops| {
        let fuse = numloom_config::current().fuse;
        let ops = if fuse { slices::preview(ops) } else { ops.iter().map(Seen::AsIs).collect() };
        let nodes = node::build(&ops);
        let plan = plan::plan(&nodes, fuse);
        let wanted = needed_tasks(&plan.tasks, &nodes, a);
        let mut out = String::new();
        for (number, t) in wanted.iter().enumerate() {
            describe(&mut out, number + 1, t, &ops, &line);
        }
        if wanted.is_empty() {
            let state = if a.store.is_settled() { "is there already" } else { "is being made" };
            let _ = writeln!(out, "nothing recorded: the array {state}");
        }
        out
    })
}

/// Backwards from the array: tasks that write what is needed need what they read.
fn needed_tasks<'p>(tasks: &'p [TaskPlan], nodes: &node::Nodes, a: &Array) -> Vec<&'p TaskPlan> {
    let mut needed: Vec<bool> = nodes.stores.iter().map(|s| Arc::ptr_eq(&s.store, &a.store)).collect();
    let mut picked: Vec<&TaskPlan> = Vec::new();
    for t in tasks.iter().rev() {
        if t.accesses.iter().any(|(s, _, writes)| *writes && needed[*s as usize]) {
            t.accesses.iter().for_each(|(s, _, _)| needed[*s as usize] = true);
            picked.push(t);
        }
    }
    picked.reverse();
    picked
}

fn describe(out: &mut String, number: usize, t: &TaskPlan, ops: &[Seen], line: &impl Fn(Provenance) -> String) {
    let op = |i: &u32| -> &Operation { ops[*i as usize].borrow() };
    let count: u32 = t.ops.iter().map(|i| op(i).times).sum();
    let (kind, read, written) = match &t.work {
        TaskWork::Opaque => ("library", None, None),
        TaskWork::Chain(c) => {
            let mut total = (0, 0);
            for f in &c.steps {
                let (r, w) = traffic(f, |s| c.locals.iter().any(|(l, _)| *l == s));
                total = (total.0 + r, total.1 + w);
            }
            ("chain by rows", Some(total.0), Some(total.1))
        }
        TaskWork::Fused(f) => {
            let (r, w) = traffic(f, |_| false);
            (if f.folded.is_empty() { "elementwise" } else { "reduction" }, Some(r), Some(w))
        }
    };
    let _ = write!(out, "task {number}: {kind}, {count} operation{}", if count == 1 { "" } else { "s" });
    if let TaskWork::Fused(f) = &t.work {
        let _ = write!(out, " over {:?}", f.domain.as_slice());
    }
    if let (Some(r), Some(w)) = (read, written) {
        let _ = write!(out, ", reads {} bytes, writes {} bytes", r, w);
    }
    out.push('\n');
    const MOST: usize = 24;
    for op in t.ops.iter().take(MOST).map(op) {
        let _ = write!(out, "    {:<18} {}", op.name(), line(op.at));
        if op.times > 1 {
            let _ = write!(out, ", {} slices", op.times);
        }
        out.push('\n');
    }
    if t.ops.len() > MOST {
        let _ = writeln!(out, "    and {} more", t.ops.len() - MOST);
    }
}

/// Bytes a fused task reads and writes, but for stores that stay in the cache.
fn traffic(f: &FusedPlan, cached: impl Fn(u32) -> bool) -> (usize, usize) {
    let n: usize = f.domain.iter().product();
    let bytes = |o: u16| {
        let spot = &f.operands[o as usize];
        if cached(spot.store) { 0 } else { n * spot.view.dtype.size() }
    };
    let (mut r, mut w) = (0, 0);
    for i in &f.compiled.kernel.instrs {
        match i {
            Instr::Load { operand, .. } => r += bytes(*operand),
            Instr::Store { operand, .. } => w += bytes(*operand),
            _ => {}
        }
    }
    let results = f.folded.iter().filter(|f| !cached(f.spot.store));
    (r, w + results.map(|f| f.spot.view.nbytes()).sum::<usize>())
}
