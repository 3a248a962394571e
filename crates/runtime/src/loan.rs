//! What work that goes through a device in slabs borrows before it begins: a block of the device's memory for each array,
//! as large as its largest slab, and room on the host for all that will be written. After that nothing is asked for, so
//! nothing is refused half-way.

use crate::error::ExecError;
use crate::grid::Block;
use crate::ledger;
use crate::mapper::{self, Slab, Touch};
use crate::memory::{Memory, NoMemory};
use crate::operation::Operation;
use crate::placed::{self, Hold, Owner, Replica, bring, free_block, lead, refuge};
use crate::pool;
use crate::provenance::Provenance;
use crate::rectangles::{Rect, Rects};
use crate::reserved;
use crate::store::{AWAY, Store};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub struct Loan {
    memory: Memory,
    /// By store, in the order in which a slab's needs have them.
    pub blocks: Vec<Borrowed>,
    homes: Vec<Home>,
    /// Work on a slab has begun.
    pub begun: bool,
}

pub struct Borrowed {
    pub store: Arc<Store>,
    pub block: *mut u8,
    bytes: usize,
}

struct Home {
    store: Arc<Store>,
    hold: Hold,
}

impl Loan {
    /// Everything the slabs need, or nothing.
    pub fn take(memory: Memory, touches: &[Touch], slabs: &[Slab], ops: &[Operation]) -> Result<Loan, ExecError> {
        let mut loan = Loan { memory, blocks: Vec::new(), homes: Vec::new(), begun: false };
        for share in mapper::shares(touches, slabs) {
            let store = share.store;
            let (op, at) = maker(ops, store);
            let refused = |mut e: NoMemory| {
                e.0.store_at = store.provenance;
                ExecError::no_memory(e, op, at)
            };
            if share.writes {
                let hold = store.hold_home(op, at).map_err(refused)?;
                loan.homes.push(Home { store: store.clone(), hold });
            }
            let bytes = share.bytes + reserved::ALIGN;
            let block = pool::allocate_in(memory, bytes).map_err(refused)?;
            loan.blocks.push(Borrowed { store: store.clone(), block, bytes });
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
            if self.begun {
                home.store.let_go(home.hold);
            } else {
                home.store.give_up(home.hold);
            }
        }
    }
}

impl Store {
    /// Host memory for the whole store, kept until `let_go`, so that what a device has of it can go there.
    pub(crate) fn hold_home(&self, op: &'static str, at: Provenance) -> Result<Hold, NoMemory> {
        let grid = self.settled_grid(None);
        let whole = Block::of(&grid, grid.whole());
        let hold = || self.hold(Memory::System, &whole.rect, &Rects::none(), op, at);
        hold().or_else(|e| {
            let Some((p, memory)) = refuge(whole.bytes()) else { return Err(e) };
            let mut replicas = self.placed.lock();
            self.enter(&mut replicas);
            if replicas.iter().any(|r| r.memory.is_host()) {
                // SAFETY: nobody took it.
                unsafe { free_block(memory, p, &whole) };
            } else {
                self.add(&mut replicas, memory, whole, p, op, at);
            }
            drop(replicas);
            hold()
        })
    }

    /// As `let_go`, by a task that has not begun: what was made for it and nobody else has used since goes.
    pub(crate) fn give_up(&self, held: Hold) {
        let mut replicas = self.placed.lock();
        let unused = |r: &mut Replica| {
            r.address == held.address && r.users == 1 && r.valid.is_empty() && r.owner == Owner::Replica
        };
        replicas.extract_if(.., unused).for_each(Replica::discard);
        self.forget_if_none(&replicas);
        drop(replicas);
        self.let_go(held);
    }

    /// As `hold`, for a box alone, in a block that the task has for it until `take_back`.
    pub(crate) fn lend(
        &self,
        memory: Memory,
        p: *mut u8,
        rect: &Rect,
        fetch: &Rects,
        op: &'static str,
        at: Provenance,
    ) -> Result<Hold, NoMemory> {
        let block = Block::of(&self.settled_grid(None), *rect);
        let address = p.wrapping_add(lead(memory, &block));
        let held = Hold { block, address };
        let mut replicas = self.placed.lock();
        self.enter(&mut replicas);
        ledger::note(address, memory, &block, self, op, at);
        replicas.push(Replica { users: 1, owner: Owner::Task, ..Replica::new(memory, block, address) });
        self.data.store(AWAY, Ordering::Release);
        let new = replicas.len() - 1;
        let fetched = bring(&mut replicas, new, fetch);
        drop(replicas);
        match fetched {
            Ok(()) => Ok(held),
            Err(e) => self.take_back(held, &Rects::none()).and(Err(e)),
        }
    }

    /// The task has its block again; what it wrote there is at home.
    pub(crate) fn take_back(&self, held: Hold, wrote: &Rects) -> Result<(), NoMemory> {
        let mut replicas = self.placed.lock();
        let home = replicas.iter().position(|r| r.memory.is_host());
        let brought = home.map_or(Ok(()), |home| bring(&mut replicas, home, wrote));
        replicas.extract_if(.., |r| r.address == held.address).for_each(Replica::discard);
        self.forget_if_none(&replicas);
        self.leave_list(&mut replicas);
        brought
    }
}
