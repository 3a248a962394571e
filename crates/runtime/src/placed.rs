//! A store in several memories: its replicas, which of them hold which bytes as they should be, and how a task gets
//! the bytes it needs where it needs them. A store that lies in host memory alone has no replicas, only an address.

use crate::channel::{self, End};
use crate::grid::{Block, Grid};
use crate::ledger;
use crate::memory::{self, Memory, NoMemory};
use crate::pool;
use crate::provenance::Provenance;
use crate::rectangles::{Rect, Rects};
use crate::reserved;
use crate::spill;
use crate::stats;
use crate::store::{AWAY, MOVING, Store};
use numloom_ir::{Strides, View};
use parking_lot::MutexGuard;
use rustc_hash::FxHashSet;
use std::sync::atomic::Ordering;

/// The bytes of a box of a store in one memory. In host memory it is the whole store, and there is one at most.
pub struct Replica {
    memory: Memory,
    block: Block,
    /// Of the box's first byte.
    address: *mut u8,
    /// What is up to date.
    valid: Rects,
    /// Tasks that work on it: it stays where it is.
    users: u32,
    owner: Owner,
}

/// Whose memory a replica lies in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Replica,
    /// A task's, for as long as it works there. It goes without asking, so nothing counts on what it holds.
    Task,
    /// Somebody's who knows nothing of us.
    Foreign,
}

// SAFETY: an address, used under the store's lock or the hazard analysis.
unsafe impl Send for Replica {}

impl Replica {
    fn new(memory: Memory, block: Block, address: *mut u8) -> Replica {
        Replica { memory, block, address, valid: Rects::none(), users: 0, owner: Owner::Replica }
    }

    fn serves(&self, memory: Memory) -> bool {
        self.memory == memory || self.memory.is_host() && memory.is_host()
    }

    /// Whether another one can take its place: each has all of its store on the same device, and nobody works on them.
    pub(crate) fn can_change_with(&self, other: &Replica, whole: &Rect) -> bool {
        let free = |r: &Replica| r.users == 0 && r.owner == Owner::Replica && r.block.rect == *whole;
        self.memory == other.memory && !self.memory.is_host() && free(self) && free(other)
    }

    /// The bytes change; what is up to date is left to the caller to say.
    pub(crate) fn change_places(a: &mut Replica, b: &mut Replica) {
        std::mem::swap(&mut a.address, &mut b.address);
        b.valid = Rects::none();
    }

    /// These bytes have become new, here or elsewhere.
    pub(crate) fn has_changed(&mut self, bytes: &Rects, here: bool) {
        if here { self.valid.add_all(bytes) } else { self.valid.remove_all(bytes) }
    }

    pub(crate) fn valid(&self) -> &Rects {
        &self.valid
    }

    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }

    pub(crate) fn address(&self) -> *mut u8 {
        self.address
    }

    /// Where a box that it covers begins.
    pub(crate) fn end(&self, rect: &Rect) -> End {
        End { memory: self.memory, first: self.block.at(self.address, &rect.low), steps: *self.block.steps() }
    }

    /// Frees the bytes.
    fn discard(self) {
        ledger::forget(self.address, self.memory, self.block.bytes());
        if self.owner == Owner::Replica {
            // SAFETY: the replica is the only one to know the block, and it is going.
            unsafe { free_block(self.memory, self.address, &self.block) };
        }
    }
}

/// Bytes left free in front of a box on a device, so that elements lie as they would in the whole store.
fn lead(memory: Memory, block: &Block) -> usize {
    if memory.is_host() { 0 } else { block.first() % reserved::ALIGN }
}

/// Bytes of any memory for a box. Waits and makes room as the memory's ladder has it.
fn allocate_block(memory: Memory, block: &Block) -> Result<(*mut u8, Memory), NoMemory> {
    if memory.is_host() {
        return crate::store::allocate_host(block.bytes());
    }
    let lead = lead(memory, block);
    Ok((pool::allocate_in(memory, block.bytes() + lead)?.wrapping_add(lead), memory))
}

/// # Safety
/// The block must come from `allocate_block` or an eviction, and not be used afterwards.
unsafe fn free_block(memory: Memory, p: *mut u8, block: &Block) {
    let lead = lead(memory, block);
    // SAFETY: the caller's.
    unsafe { free_in(memory, p.wrapping_sub(lead), block.bytes() + lead) };
}

/// # Safety
/// The block must have so many bytes of that memory, and not be used afterwards.
pub unsafe fn free_in(memory: Memory, p: *mut u8, bytes: usize) {
    // SAFETY: the caller's.
    unsafe {
        match memory {
            Memory::System => crate::store::free(p, bytes),
            Memory::Spill => {
                spill::free(p);
            }
            other => pool::free_in(other, p, bytes),
        }
    }
}

/// Host memory for what leaves a device, without waiting for any: pinned memory first.
fn refuge(bytes: usize) -> Option<(*mut u8, Memory)> {
    if memory::is_made_to_fail() {
        return None;
    }
    let size = reserved::rounded(bytes);
    if memory::try_take(Memory::ZeroCopy, size) {
        match reserved::pool(Memory::ZeroCopy).and_then(|z| z.take(size).ok()) {
            Some(p) => return Some((p, Memory::ZeroCopy)),
            None => memory::give(Memory::ZeroCopy, size),
        }
    }
    if let Some(p) = crate::store::allocate_at_once(bytes) {
        return Some((p, Memory::System));
    }
    spill::allocate(bytes).map(|p| (p, Memory::Spill))
}

/// A replica that is held: it stays until it is let go.
#[derive(Clone, Copy)]
pub struct Hold {
    block: Block,
    /// Which replica: that of the block at this address.
    address: *mut u8,
}

impl Hold {
    /// The first element of a view that is held, and its strides there.
    pub fn locate(&self, view: &View) -> (*mut u8, Strides) {
        self.block.locate(self.address, view)
    }
}

/// Brings the parts of some boxes that are up to date somewhere to one of the replicas, from near by if it can be.
pub(crate) fn bring(replicas: &mut [Replica], to: usize, wanted: &Rects) -> Result<(), NoMemory> {
    let mut missing = wanted.within(&Rects::of(replicas[to].block.rect));
    missing.remove_all(&replicas[to].valid);
    let here = replicas[to].memory;
    for near in [true, false] {
        for from in 0..replicas.len() {
            if missing.is_empty() {
                return Ok(());
            }
            if from == to || (replicas[from].memory == here) != near {
                continue;
            }
            for part in missing.within(&replicas[from].valid).iter() {
                let lens = std::array::from_fn(|a| part.len(a));
                // SAFETY: both replicas cover the part, and tasks that write the target's bytes have ended.
                unsafe { channel::copy(replicas[from].end(part), replicas[to].end(part), &lens) }
                    .map_err(|said| NoMemory::failed(here, said))?;
                replicas[to].valid.add(*part);
                missing.remove(part);
            }
        }
    }
    Ok(())
}

impl Store {
    /// Whether the address alone does not tell where the newest bytes are.
    #[inline]
    pub fn is_away(&self) -> bool {
        self.data.load(Ordering::Acquire) == AWAY
    }

    /// Bytes that are up to date in a device's memory.
    pub(crate) fn bytes_in(&self, memory: Memory) -> usize {
        if !self.is_away() {
            return 0;
        }
        self.placed.lock().iter().filter(|r| r.memory == memory).map(|r| r.valid.bytes()).sum()
    }

    /// From an address to a list of replicas, with the host's as the first.
    fn enter(&self, replicas: &mut Vec<Replica>) {
        while replicas.is_empty() {
            let p = self.data.load(Ordering::Acquire);
            if p.is_null() || p == AWAY {
                return;
            }
            if p == MOVING {
                std::thread::yield_now();
                continue;
            }
            if self.data.compare_exchange(p, AWAY, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                let grid = self.settled_grid(None);
                let mut home = Replica::new(self.memory_of(p), Block::of(&grid, grid.whole()), p);
                home.valid.add(grid.whole());
                home.owner = if self.is_foreign() { Owner::Foreign } else { Owner::Replica };
                replicas.push(home);
            }
        }
    }

    /// Back to an address, once the host has the only replica and nobody works on it.
    fn leave_list(&self, replicas: &mut Vec<Replica>) {
        if let [only] = replicas.as_slice()
            && only.memory.is_host()
            && only.users == 0
        {
            let p = only.address;
            replicas.clear();
            self.data.store(p, Ordering::Release);
        }
    }

    /// What a new replica should cover. On the only device the first small part of a store comes alone, the next one
    /// has the whole store come, so that a walk over an array does not move what is there again and again. Of several
    /// devices each has its parts; those that together are a box become one.
    fn extent_in(&self, grid: &Grid, memory: Memory, rect: &Rect, replicas: &[Replica]) -> Rect {
        let whole = grid.whole();
        let mut here = replicas.iter().filter(|r| r.memory == memory);
        let alone = rect.bytes().saturating_mul(8) <= whole.bytes() && here.clone().next().is_none();
        let fits = reserved::devices() == 1 && reserved::rounded(whole.bytes()) <= memory.capacity();
        if memory.is_host() || fits && !alone {
            return whole;
        }
        if alone {
            return *rect;
        }
        let grow = |want: Rect, r: &Rect| {
            let both = want.hull(r);
            let shared = if want.meets(r) { want.within(r).bytes() } else { 0 };
            if both.bytes() <= want.bytes() + r.bytes() - shared { both } else { want }
        };
        here.by_ref().filter(|r| r.users == 0).fold(*rect, |want, r| grow(want, &r.block.rect))
    }

    /// Makes a box be there in a memory, with `fetch` up to date, and keeps it there until `let_go`.
    /// `memory`: a device's, or any of the host's.
    pub(crate) fn hold(
        &self,
        memory: Memory,
        rect: &Rect,
        fetch: &Rects,
        op: &'static str,
        at: Provenance,
    ) -> Result<Hold, NoMemory> {
        let grid = self.settled_grid(None);
        let mut spare: Option<(*mut u8, Memory, Block)> = None;
        loop {
            let mut replicas = self.placed.lock();
            self.enter(&mut replicas);
            self.forget_copies_of_lent(&mut replicas);
            if let Some(k) = replicas.iter().position(|r| r.serves(memory) && r.block.rect.contains(rect)) {
                let fetched = bring(&mut replicas, k, fetch);
                let r = &mut replicas[k];
                r.users += 1;
                let held = Hold { block: r.block, address: r.address };
                drop(replicas);
                if let Some((p, memory, block)) = spare {
                    // SAFETY: nobody took it.
                    unsafe { free_block(memory, p, &block) };
                }
                if let Err(e) = fetched {
                    self.let_go(held);
                    return Err(e);
                }
                return Ok(held);
            }
            let want = self.extent_in(&grid, memory, rect, &replicas);
            match spare.take() {
                Some((p, memory, made)) if made.rect == want => self.add(&mut replicas, memory, made, p, op, at),
                other => {
                    // Not under the lock: whoever frees memory may need it.
                    drop(replicas);
                    if let Some((p, memory, made)) = other {
                        // SAFETY: nobody took it.
                        unsafe { free_block(memory, p, &made) };
                    }
                    let block = Block::of(&grid, want);
                    let (p, memory) = allocate_block(memory, &block).map_err(|mut e| {
                        e.0.store_at = self.provenance;
                        e
                    })?;
                    spare = Some((p, memory, block));
                }
            }
        }
    }

    /// Somebody may have written what others see of it on a device since the last look.
    fn forget_copies_of_lent(&self, replicas: &mut [Replica]) {
        if self.lent.load(Ordering::Acquire) == 0 {
            return;
        }
        let seen = |r: &Replica| !r.memory.is_host() && r.users > 0;
        let Some(k) = replicas.iter().position(seen) else { return };
        let newest = replicas[k].valid.clone();
        replicas.iter_mut().enumerate().filter(|(j, _)| *j != k).for_each(|(_, r)| r.valid.remove_all(&newest));
    }

    /// What others see of it on a device is up to date there.
    pub(crate) fn return_to_lent(&self) -> Result<(), NoMemory> {
        let mut replicas = self.placed.lock();
        let seen = |r: &Replica| !r.memory.is_host() && r.users > 0;
        let whole = Rects::of(self.settled_grid(None).whole());
        replicas.iter().position(seen).map_or(Ok(()), |k| bring(&mut replicas, k, &whole))
    }

    /// The bytes of a new store are somebody else's, on a device.
    pub(crate) fn enter_foreign(&self, memory: Memory, p: *mut u8) {
        let grid = self.settled_grid(None);
        let block = Block::of(&grid, grid.whole());
        let mut replica = Replica { users: 1, owner: Owner::Foreign, ..Replica::new(memory, block, p) };
        replica.valid.add(grid.whole());
        self.placed.lock().push(replica);
        self.data.store(AWAY, Ordering::Release);
    }

    /// A new replica; it takes over from those in the same memory that it covers.
    fn add(
        &self,
        replicas: &mut Vec<Replica>,
        memory: Memory,
        block: Block,
        p: *mut u8,
        op: &'static str,
        at: Provenance,
    ) {
        ledger::note(p, memory, &block, self, op, at);
        replicas.push(Replica::new(memory, block, p));
        let new = replicas.len() - 1;
        let covered = |r: &Replica| r.memory == memory && r.users == 0 && block.rect.contains(&r.block.rect);
        let mut theirs = Rects::none();
        replicas[..new].iter().filter(|r| covered(r)).for_each(|r| theirs.add_all(&r.valid));
        if replicas[..new].iter().any(covered) && bring(replicas, new, &theirs).is_ok() {
            let last = replicas.pop();
            replicas.extract_if(.., |r| covered(r)).for_each(Replica::discard);
            replicas.extend(last);
        }
        self.data.store(AWAY, Ordering::Release);
    }

    /// The task that holds them there is about to write these bytes: nobody else has them any more.
    pub(crate) fn wrote_in(&self, held: Hold, wrote: &Rects) {
        let mut replicas = self.placed.lock();
        let mine = |r: &Replica| r.address == held.address;
        for r in replicas.iter_mut() {
            if mine(r) { r.valid.add_all(wrote) } else { r.valid.remove_all(wrote) }
        }
        replicas
            .extract_if(.., |r| r.valid.is_empty() && r.users == 0 && r.owner == Owner::Replica && !mine(r))
            .for_each(Replica::discard);
    }

    /// A task has ended that held the store there.
    pub(crate) fn let_go(&self, held: Hold) {
        let mut replicas = self.placed.lock();
        if let Some(r) = replicas.iter_mut().find(|r| r.address == held.address) {
            r.users = r.users.saturating_sub(1);
        }
        self.leave_list(&mut replicas);
    }

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
        if replicas.is_empty() {
            // Nobody had ever written it.
            self.data.store(std::ptr::null_mut(), Ordering::Release);
        }
        self.leave_list(&mut replicas);
        brought
    }

    /// The address of byte zero in host memory, where a view is up to date, or the whole store. Devices keep what they
    /// have of a large store, unless it is to be had there `alone`, because it may be written.
    pub(crate) fn at_home(&self, view: Option<&View>, alone: bool) -> Result<*mut u8, NoMemory> {
        let small = self.nbytes() < ledger::TRACKED;
        let grid = self.settled_grid(None);
        let fetch = view.filter(|_| !small).map_or_else(|| Rects::of(grid.whole()), |v| grid.cover(v));
        let held = self.hold(Memory::System, &grid.whole(), &fetch, "array", self.provenance)?;
        if alone || small {
            self.wrote_in(held, &fetch);
        }
        self.let_go(held);
        Ok(held.block.base(held.address))
    }

    /// Puts the whole store into a device's memory, and nowhere else.
    pub(crate) fn move_to_device(&self, memory: Memory) -> Result<(), NoMemory> {
        let grid = self.settled_grid(None);
        let whole = Rects::of(grid.whole());
        let held = self.hold(memory, &grid.whole(), &whole, "offload_to", self.provenance)?;
        self.wrote_in(held, &whole);
        self.let_go(held);
        Ok(())
    }

    /// Frees every replica. False if there are none.
    pub(crate) fn release_replicas(&self) -> bool {
        let mut replicas = self.placed.lock();
        if replicas.is_empty() {
            return false;
        }
        let owned = replicas.iter().find(|r| r.owner == Owner::Foreign).map_or(std::ptr::null_mut(), |r| r.address);
        replicas.drain(..).for_each(Replica::discard);
        self.data.store(owned, Ordering::Release);
        true
    }
}

/// Moves replicas that nobody works on out of a memory until `missing` bytes are free there: from a device to the
/// host, from the host to the spill file, unless the bytes are elsewhere anyway. False if none could be moved.
pub fn evict(memory: Memory, missing: usize) -> bool {
    if reserved::devices() == 0 {
        return false;
    }
    if !memory.is_host()
        && Memory::ZeroCopy.live() + missing > Memory::ZeroCopy.capacity()
        && memory::make_room(missing)
    {
        memory::give(Memory::System, missing);
    }
    let (mut freed, mut seen) = (0, FxHashSet::default());
    while freed < missing {
        let mut chosen: Option<(&'static Store, MutexGuard<'static, Vec<Replica>>)> = None;
        ledger::look_through(memory, |store, instance| {
            let in_use = !store.is_idle() || store.exposed.load(Ordering::SeqCst) > 0;
            if !seen.insert(instance.id) || memory.is_host() && in_use {
                return true;
            }
            // SAFETY: a store with replicas goes only after it has locked them, and the guard goes first.
            let store: &'static Store = unsafe { &*(store as *const Store) };
            let Some(replicas) = store.placed.try_lock() else { return true };
            let leaves = replicas.iter().any(|r| r.memory == memory && r.users == 0 && r.owner == Owner::Replica);
            if leaves {
                chosen = Some((store, replicas));
            }
            !leaves
        });
        let Some((store, replicas)) = chosen else { break };
        if memory.is_host() {
            spill::let_inline_pass();
        }
        freed += leave(store, replicas, memory);
    }
    freed > 0
}

/// Takes a replica out of a memory; answers its bytes, or 0 where there is no other place for them.
fn leave(store: &Store, mut replicas: MutexGuard<Vec<Replica>>, memory: Memory) -> usize {
    let leaves = |r: &Replica| r.memory == memory && r.users == 0 && r.owner == Owner::Replica;
    let Some(k) = replicas.iter().position(leaves) else { return 0 };
    let mut only_here = replicas[k].valid.clone();
    for (j, r) in replicas.iter().enumerate() {
        if j != k && r.owner != Owner::Task {
            only_here.remove_all(&r.valid);
        }
    }
    let bytes = replicas[k].block.bytes();
    if !only_here.is_empty() {
        let home = replicas.iter().position(|r| r.memory.is_host());
        let to = match home.filter(|&h| h != k) {
            Some(h) => h,
            None => {
                let grid = store.settled_grid(None);
                let whole = Block::of(&grid, grid.whole());
                let place = if memory.is_host() {
                    spill::allocate(whole.bytes()).map(|p| (p, Memory::Spill))
                } else {
                    refuge(whole.bytes())
                };
                let Some((p, to)) = place else { return 0 };
                ledger::note(p, to, &whole, store, "eviction", store.provenance);
                replicas.push(Replica::new(to, whole, p));
                replicas.len() - 1
            }
        };
        if bring(&mut replicas, to, &only_here).is_err() {
            return 0;
        }
    }
    replicas.remove(k).discard();
    stats::count(&stats::EVICTIONS, 1);
    store.leave_list(&mut replicas);
    bytes
}
