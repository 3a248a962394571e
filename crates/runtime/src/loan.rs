//! What work that goes through a device in slabs borrows before it begins: a block of the device's memory for each array,
//! as large as its largest slab, and room on the host for all that will be written. After that nothing is asked for, so
//! nothing is refused half-way.

use crate::error::ExecError;
use crate::mapper::{self, Slab, Touch};
use crate::memory::Memory;
use crate::operation::Operation;
use crate::placed::{self, Hold};
use crate::pool;
use crate::provenance::Provenance;
use crate::reserved;
use crate::store::Store;
use std::sync::Arc;

pub struct Loan {
    memory: Memory,
    /// By store, in the order in which a slab's needs have them.
    pub blocks: Vec<Lent>,
    homes: Vec<Home>,
    /// Work on a slab has begun.
    pub begun: bool,
}

pub struct Lent {
    pub store: Arc<Store>,
    pub block: *mut u8,
    bytes: usize,
}

struct Home {
    store: Arc<Store>,
    hold: Hold,
    /// There was nothing of it anywhere before.
    new: bool,
}

impl Loan {
    /// Everything the slabs need, or nothing.
    pub fn take(memory: Memory, touches: &[Touch], slabs: &[Slab], ops: &[Operation]) -> Result<Loan, ExecError> {
        let mut loan = Loan { memory, blocks: Vec::new(), homes: Vec::new(), begun: false };
        for share in mapper::shares(touches, slabs) {
            let store = share.store;
            let (op, at) = maker(ops, store);
            let refused = |mut e: crate::memory::NoMemory| {
                e.0.store_at = store.provenance;
                ExecError::no_memory(e, op, at)
            };
            if share.writes {
                let new = store.is_bare();
                let hold = store.hold_home(op, at).map_err(refused)?;
                loan.homes.push(Home { store: store.clone(), hold, new });
            }
            let bytes = share.bytes + reserved::ALIGN;
            let block = pool::allocate_in(memory, bytes).map_err(refused)?;
            loan.blocks.push(Lent { store: store.clone(), block, bytes });
        }
        Ok(loan)
    }
}

/// The operation that writes a store, or the first of all, and its line.
pub fn maker(ops: &[Operation], store: &Arc<Store>) -> (&'static str, Provenance) {
    let writes = |o: &&Operation| o.outs.iter().any(|p| Arc::ptr_eq(&p.store, store));
    let op = ops.iter().find(writes).or(ops.first());
    op.map_or(("task", Provenance::default()), |o| (o.name(), o.at))
}

impl Drop for Loan {
    fn drop(&mut self) {
        for lent in self.blocks.drain(..) {
            // SAFETY: from `allocate_in`, and taken back from every store it was lent to.
            unsafe { placed::free_in(self.memory, lent.block, lent.bytes) };
        }
        for home in self.homes.drain(..) {
            home.store.let_go(home.hold);
            if home.new && !self.begun {
                home.store.release();
            }
        }
    }
}
