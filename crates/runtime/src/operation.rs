//! An operation as it was recorded: one NumPy call.

use crate::provenance::Provenance;
use crate::record::MapOp;
use crate::store::Store;
use numloom_ir::{ScalarOp, Value, View};
use numloom_library::LibraryOp;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A view of a store, as an operation names it.
#[derive(Clone)]
pub struct Place {
    pub store: Arc<Store>,
    pub view: View,
}

#[derive(Clone)]
pub enum Source {
    Place(Place),
    Value(Value),
}

pub enum Kind {
    Map(MapOp),
    /// One input; `axes` are folded away. The output has extent 1 along them.
    Reduce {
        op: ScalarOp,
        lp: u8,
        axes: u64,
        initial: Option<Value>,
    },
    /// Inputs x and mask; one output of unknown length.
    Pack,
    /// Inputs mask and packed values; the output is updated where the mask is true.
    Unpack,
    /// Input mask; one output of unknown length per axis.
    Nonzero,
    Library(Box<dyn LibraryOp>),
}

pub struct Operation {
    pub kind: Kind,
    pub ins: SmallVec<[Source; 2]>,
    pub outs: SmallVec<[Place; 1]>,
    /// Write only (or fold only) where this is true.
    pub mask: Option<Box<Place>>,
    pub at: Provenance,
    /// Outputs (by bit) that nothing wrote before: without this operation they have no contents.
    pub fresh: u8,
    /// How many recorded operations it stands for: more than one after slices were merged.
    pub times: u32,
    /// When it was recorded, where a profile is written.
    pub recorded: u64,
    /// How often the program had been told by then that memory was full.
    pub told: u32,
}

impl Operation {
    /// Whether nothing wrote this output before.
    pub fn is_fresh(&self, k: usize) -> bool {
        self.fresh >> k.min(7) & 1 == 1
    }

    /// A copy that nobody waits for, of an operation that is no library's.
    pub fn twin(&self) -> Operation {
        let kind = match &self.kind {
            Kind::Map(m) => Kind::Map(*m),
            Kind::Reduce { op, lp, axes, initial } => Kind::Reduce { op: *op, lp: *lp, axes: *axes, initial: *initial },
            Kind::Pack => Kind::Pack,
            Kind::Unpack => Kind::Unpack,
            Kind::Nonzero | Kind::Library(_) => Kind::Nonzero,
        };
        let (ins, outs, mask) = (self.ins.clone(), self.outs.clone(), self.mask.clone());
        Operation {
            kind,
            ins,
            outs,
            mask,
            at: self.at,
            fresh: self.fresh,
            times: self.times,
            recorded: 0,
            told: self.told,
        }
    }

    /// Stands in where an operation was taken out for a while.
    pub fn nothing() -> Operation {
        let (ins, outs) = (SmallVec::new(), SmallVec::new());
        Operation {
            kind: Kind::Nonzero,
            ins,
            outs,
            mask: None,
            at: Provenance::default(),
            fresh: 0,
            times: 0,
            recorded: 0,
            told: 0,
        }
    }

    pub fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Map(m) => m.name(),
            Kind::Reduce { .. } => "reduce",
            Kind::Pack => "boolean index",
            Kind::Unpack => "boolean assignment",
            Kind::Nonzero => "nonzero",
            Kind::Library(op) => op.name(),
        }
    }

    pub fn reads(&self) -> impl Iterator<Item = &Place> {
        let ins = self.ins.iter().filter_map(|s| match s {
            Source::Place(p) => Some(p),
            Source::Value(_) => None,
        });
        ins.chain(self.mask.as_deref())
    }

    /// Tells the stores that an operation is on its way to them.
    pub fn announce(&mut self) {
        for p in self.reads() {
            p.store.pending_reads.fetch_add(1, Ordering::Relaxed);
        }
        for (k, p) in self.outs.iter().enumerate() {
            p.store.pending_writes.fetch_add(1, Ordering::Relaxed);
            if p.store.version() == 0 && k < 8 && !p.store.is_foreign() {
                self.fresh |= 1 << k;
            }
            p.store.wrote();
        }
    }

    /// Tells the stores that it is over.
    pub fn withdraw(&self) {
        for p in self.reads() {
            p.store.pending_reads.fetch_sub(1, Ordering::Release);
        }
        for p in &self.outs {
            p.store.pending_writes.fetch_sub(1, Ordering::Release);
        }
    }
}
