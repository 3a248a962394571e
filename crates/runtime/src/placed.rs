//! A store in several memories: its replicas, which of them hold which bytes as they should be, and how a task gets
//! the bytes it needs where it needs them. A store that lies in host memory alone has no replicas, only an address.

use crate::channel;
use crate::ledger;
use crate::memory::{self, Memory, NoMemory};
use crate::pool;
use crate::provenance::Provenance;
use crate::reserved;
use crate::spans::{Span, Spans};
use crate::spill;
use crate::stats;
use crate::store::{AWAY, MOVING, Store};
use parking_lot::MutexGuard;
use rustc_hash::FxHashSet;
use std::sync::atomic::Ordering;

/// The bytes of a span of a store in one memory. In host memory it is the whole store, and there is one at most.
pub struct Replica {
    memory: Memory,
    span: Span,
    /// Of the span's first byte.
    address: *mut u8,
    /// What is up to date.
    valid: Spans,
    /// Tasks that work on it: it stays where it is.
    users: u32,
    /// Somebody else's memory, not to be freed.
    foreign: bool,
}

// SAFETY: an address, used under the store's lock or the hazard analysis.
unsafe impl Send for Replica {}

impl Replica {
    /// Where byte zero of the store would lie.
    fn base(&self) -> *mut u8 {
        self.address.wrapping_sub(self.span.start)
    }

    fn covers(&self, span: &Span) -> bool {
        self.span.start <= span.start && span.end <= self.span.end
    }

    fn serves(&self, memory: Memory) -> bool {
        self.memory == memory || self.memory.is_host() && memory.is_host()
    }

    /// Frees the bytes.
    fn discard(self) {
        ledger::forget(self.address, self.memory, self.span.len());
        if !self.foreign {
            // SAFETY: the replica is the only one to know the block, and it is going.
            unsafe { free_span(self.memory, self.address, &self.span) };
        }
    }
}

/// Bytes left free in front of a span on a device, so that elements lie as they would in the whole store.
fn lead(memory: Memory, span: &Span) -> usize {
    if memory.is_host() { 0 } else { span.start % reserved::ALIGN }
}

/// Bytes of any memory for a span. Waits and makes room as the memory's ladder has it.
fn allocate_span(memory: Memory, span: &Span) -> Result<(*mut u8, Memory), NoMemory> {
    if memory.is_host() {
        return crate::store::allocate_host(span.len());
    }
    let lead = lead(memory, span);
    Ok((pool::allocate_in(memory, span.len() + lead)?.wrapping_add(lead), memory))
}

/// # Safety
/// The block must come from `allocate_span` or an eviction, and not be used afterwards.
unsafe fn free_span(memory: Memory, p: *mut u8, span: &Span) {
    let lead = lead(memory, span);
    // SAFETY: the caller's.
    unsafe { free_in(memory, p.wrapping_sub(lead), span.len() + lead) };
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
    /// Where byte zero of the store would lie.
    pub base: *mut u8,
    /// Which replica: that of the block at this address.
    address: *mut u8,
}

/// Brings the parts of a span that are up to date somewhere to one of the replicas.
fn bring(replicas: &mut [Replica], to: usize, span: &Span) -> Result<(), NoMemory> {
    for from in 0..replicas.len() {
        let missing = replicas[to].valid.missing(span);
        if missing.is_empty() {
            break;
        }
        if from == to {
            continue;
        }
        for gap in missing.iter() {
            for part in replicas[from].valid.within(gap).iter() {
                if replicas[to].covers(part) {
                    let (source, target) = (&replicas[from], &replicas[to]);
                    let (a, b) = (source.base().wrapping_add(part.start), target.base().wrapping_add(part.start));
                    // SAFETY: both replicas cover the part, and tasks that write the target's bytes have ended.
                    unsafe { channel::copy(source.memory, a, target.memory, b, part.len()) }
                        .map_err(|said| NoMemory::failed(target.memory, said))?;
                    replicas[to].valid.add(part.clone());
                }
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
                let (memory, span) = (self.memory_of(p), 0..self.nbytes());
                let valid = Spans::of(span.clone());
                replicas.push(Replica { memory, span, address: p, valid, users: 0, foreign: self.is_foreign() });
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

    /// What a new replica should cover, so that there are not two that overlap.
    fn extent_in(&self, memory: Memory, span: &Span, no_more: bool, replicas: &[Replica]) -> Span {
        let whole = 0..self.nbytes();
        if memory.is_host()
            || !no_more && reserved::devices() == 1 && reserved::rounded(whole.len()) <= memory.capacity()
        {
            return whole;
        }
        let mut want = span.clone();
        if no_more {
            return want;
        }
        for r in replicas.iter().filter(|r| r.memory == memory && r.users == 0) {
            if r.span.start <= want.end && want.start <= r.span.end {
                want = want.start.min(r.span.start)..want.end.max(r.span.end);
            }
        }
        want
    }

    /// Makes a span be there in a memory, with the bytes of `fetch` up to date, and keeps it there until `let_go`.
    /// `memory`: a device's, or any of the host's. `no_more`: a new replica covers the span alone, even next to others.
    pub(crate) fn hold(
        &self,
        memory: Memory,
        span: &Span,
        fetch: &Spans,
        no_more: bool,
        op: &'static str,
        at: Provenance,
    ) -> Result<Hold, NoMemory> {
        let mut spare: Option<(*mut u8, Memory, Span)> = None;
        loop {
            let mut replicas = self.placed.lock();
            self.enter(&mut replicas);
            if let Some(k) = replicas.iter().position(|r| r.serves(memory) && r.covers(span)) {
                let fetched = fetch.iter().try_for_each(|f| bring(&mut replicas, k, f));
                replicas[k].users += 1;
                let held = Hold { base: replicas[k].base(), address: replicas[k].address };
                drop(replicas);
                if let Some((p, memory, span)) = spare {
                    // SAFETY: nobody took it.
                    unsafe { free_span(memory, p, &span) };
                }
                if let Err(e) = fetched {
                    self.let_go(held);
                    return Err(e);
                }
                return Ok(held);
            }
            let want = self.extent_in(memory, span, no_more, &replicas);
            match spare.take() {
                Some((p, memory, made)) if made == want => self.add(&mut replicas, memory, made, p, op, at),
                other => {
                    // Not under the lock: whoever frees memory may need it.
                    drop(replicas);
                    if let Some((p, memory, made)) = other {
                        // SAFETY: nobody took it.
                        unsafe { free_span(memory, p, &made) };
                    }
                    let (p, memory) = allocate_span(memory, &want).map_err(|mut e| {
                        e.0.store_at = self.provenance;
                        e
                    })?;
                    spare = Some((p, memory, want));
                }
            }
        }
    }

    /// A new replica; it takes over from those in the same memory that it covers.
    fn add(
        &self,
        replicas: &mut Vec<Replica>,
        memory: Memory,
        span: Span,
        p: *mut u8,
        op: &'static str,
        at: Provenance,
    ) {
        ledger::note(p, memory, span.clone(), self, op, at);
        let whole = span.clone();
        replicas.push(Replica { memory, span, address: p, valid: Spans::none(), users: 0, foreign: false });
        let new = replicas.len() - 1;
        let covered =
            |r: &Replica| r.memory == memory && r.users == 0 && whole.start <= r.span.start && r.span.end <= whole.end;
        if replicas[..new].iter().any(covered) && bring(replicas, new, &whole).is_ok() {
            let last = replicas.pop();
            replicas.extract_if(.., |r| covered(r)).for_each(Replica::discard);
            replicas.extend(last);
        }
        self.data.store(AWAY, Ordering::Release);
    }

    /// The task that holds the span there is about to write these bytes: nobody else has them any more.
    pub(crate) fn wrote_in(&self, held: Hold, wrote: &Spans) {
        let mut replicas = self.placed.lock();
        let mine = |r: &Replica| r.address == held.address;
        for r in replicas.iter_mut() {
            let own = mine(r);
            for span in wrote.iter() {
                if own { r.valid.add(span.clone()) } else { r.valid.remove(span) }
            }
        }
        replicas
            .extract_if(.., |r| r.valid.is_empty() && r.users == 0 && !r.foreign && !mine(r))
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

    /// The address of byte zero in host memory, where the span is up to date. Devices keep what they have of a large
    /// store, unless it is to be had there `alone`, because it may be written.
    pub(crate) fn at_home(&self, span: &Span, alone: bool) -> Result<*mut u8, NoMemory> {
        let small = self.nbytes() < ledger::TRACKED;
        let whole = 0..self.nbytes();
        let span = if small { &whole } else { span };
        let fetch = Spans::of(span.clone());
        let held = self.hold(Memory::System, span, &fetch, false, "array", self.provenance)?;
        if alone || small {
            self.wrote_in(held, &fetch);
        }
        self.let_go(held);
        Ok(held.base)
    }

    /// Puts the whole store into a device's memory, and nowhere else.
    pub(crate) fn move_to_device(&self, memory: Memory) -> Result<(), NoMemory> {
        let whole = Spans::of(0..self.nbytes());
        let held = self.hold(memory, &(0..self.nbytes()), &whole, false, "offload_to", self.provenance)?;
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
        let owned = replicas.iter().find(|r| r.foreign).map_or(std::ptr::null_mut(), |r| r.address);
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
            let leaves = replicas.iter().any(|r| r.memory == memory && r.users == 0 && !r.foreign);
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
    let leaves = |r: &Replica| r.memory == memory && r.users == 0 && !r.foreign;
    let Some(k) = replicas.iter().position(leaves) else { return 0 };
    let mut only_here = replicas[k].valid.clone();
    for (j, r) in replicas.iter().enumerate() {
        if j != k {
            r.valid.iter().for_each(|v| only_here.remove(v));
        }
    }
    let span = replicas[k].span.clone();
    if !only_here.is_empty() {
        let home = replicas.iter().position(|r| r.memory.is_host());
        let to = match home.filter(|&h| h != k) {
            Some(h) => h,
            None => {
                let whole = 0..store.nbytes();
                let place = if memory.is_host() {
                    spill::allocate(whole.len()).map(|p| (p, Memory::Spill))
                } else {
                    refuge(whole.len())
                };
                let Some((p, to)) = place else { return 0 };
                ledger::note(p, to, whole.clone(), store, "eviction", store.provenance);
                replicas.push(Replica {
                    memory: to,
                    span: whole,
                    address: p,
                    valid: Spans::none(),
                    users: 0,
                    foreign: false,
                });
                replicas.len() - 1
            }
        };
        if only_here.iter().try_for_each(|part| bring(&mut replicas, to, part)).is_err() {
            return 0;
        }
    }
    replicas.remove(k).discard();
    stats::count(&stats::EVICTIONS, 1);
    store.leave_list(&mut replicas);
    span.len()
}
