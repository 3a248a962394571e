//! A window as its operations name it. Windows of one outline have one plan, so where the plan is known there is no need to
//! work out nodes. Only for windows without arrays of unknown length: what becomes of those depends on more.

use crate::node::{Begun, is_unsized};
use crate::operation::{Kind, Operation, Source};
use crate::plan::{Given, Key, KeyWriter, LONGEST_KEPT};
use crate::record::MapOp;
use numloom_ir::Value;

/// The key of a window's plan, from its operations.
pub fn key(ops: &[Operation], begun: &Begun) -> Option<Key> {
    if begun.alive.len() > LONGEST_KEPT {
        return None;
    }
    let mut k = KeyWriter::new(true, begun.alive.len());
    for s in begun.stores() {
        // Which node is the last to touch it follows from the rest.
        k.store(s, 0);
    }
    for &i in &begun.alive {
        let op = &ops[i as usize];
        if op.reads().chain(&op.outs).any(|p| is_unsized(&p.view)) {
            return None;
        }
        // The domain follows from the views.
        k.begin(i, &[]);
        match &op.kind {
            Kind::Map(m) => k.map(*m),
            Kind::Reduce { op, lp, axes, initial } => k.reduce(*op, *lp, *axes, *initial),
            Kind::Library(_) => k.opaque(),
            Kind::Pack | Kind::Unpack | Kind::Nonzero => return None,
        }
        for s in &op.ins {
            match s {
                Source::Value(v) => k.value(v),
                Source::Place(p) => k.view(begun.number_of(&p.store), &p.view),
            }
        }
        k.outputs();
        op.outs.iter().for_each(|p| k.view(begun.number_of(&p.store), &p.view));
        if let Some(p) = &op.mask {
            k.mask();
            k.view(begun.number_of(&p.store), &p.view);
        }
    }
    Some(k.words)
}

/// Operations that are nodes one for one, with the same inputs.
pub struct Operations<'a> {
    pub ops: &'a [Operation],
    /// Of each node, the place of its operation.
    pub places: &'a [u32],
}

impl Given for Operations<'_> {
    fn value(&self, node: usize, input: usize) -> Value {
        match &self.ops[self.places[node] as usize].ins[input] {
            Source::Value(v) => *v,
            Source::Place(_) => unreachable!("a parameter is a value in every window of this outline"),
        }
    }

    fn progression(&self, node: usize, step: bool) -> Value {
        match self.ops[self.places[node] as usize].kind {
            Kind::Map(MapOp::Iota { step: s, .. }) if step => s,
            Kind::Map(MapOp::Iota { start, .. }) => start,
            _ => unreachable!("an arange in every window of this outline"),
        }
    }
}
