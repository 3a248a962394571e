//! The mapper: on which processor a task runs, and in which memory its arrays are held meanwhile. Without devices
//! there is nothing to choose, and it is not asked.

use crate::error::ExecError;
use crate::gpu;
use crate::grid::{self, Block};
use crate::loan::{self, Borrowed};
use crate::lost;
use crate::memory::{self, Memory};
use crate::operation::Operation;
use crate::placed::Hold;
use crate::plan::FusedPlan;
use crate::rectangles::{Rect, Rects};
use crate::reserved;
use crate::store::Store;
use numloom_ir::kernel::{Instr, NO_REG};
use numloom_ir::{Strides, View};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A view that a task touches, and how.
pub struct Touch<'a> {
    pub store: &'a Arc<Store>,
    pub view: View,
    /// What was there before matters.
    pub reads: bool,
    pub writes: bool,
}

/// Some places along one axis of a task's domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    pub axis: usize,
    pub range: Range<usize>,
}

/// A part of a task's domain, or all of it, and the memory it works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub memory: Memory,
    pub slab: Option<Slab>,
}

/// What a task needs of one store.
struct Need<'a> {
    store: &'a Arc<Store>,
    /// Around all that it touches.
    rect: Rect,
    /// Bytes that must be up to date.
    fetch: Rects,
    wrote: Rects,
}

impl Need<'_> {
    /// Bytes of an instance that has no more than this.
    fn bytes(&self) -> usize {
        Block::of(&self.store.settled_grid(None), self.rect).bytes()
    }

    /// Whether what one of two writes the other touches.
    fn disturbs(&self, other: &Need) -> bool {
        Arc::ptr_eq(self.store, other.store) && (self.wrote.meets(&other.wrote) || self.wrote.meets(&other.fetch))
    }
}

/// What a fused task touches.
pub fn touches<'a>(plan: &FusedPlan, stores: &'a [Arc<Store>]) -> Vec<Touch<'a>> {
    let mut all: Vec<Touch> = plan
        .spots()
        .zip(stores)
        .map(|(spot, store)| Touch { store, view: spot.view.clone(), reads: false, writes: false })
        .collect();
    for instr in &plan.compiled.kernel.instrs {
        match *instr {
            Instr::Load { operand, .. } => all[operand as usize].reads = true,
            Instr::Store { operand, mask, .. } => {
                all[operand as usize].writes = true;
                all[operand as usize].reads |= mask != NO_REG;
            }
            _ => {}
        }
    }
    all[plan.operands.len()..].iter_mut().for_each(|t| t.writes = true);
    all
}

/// The view of a slab of the domain.
pub fn within(view: &View, slab: &Slab) -> View {
    let mut v = view.clone();
    if let Some(&stride) = v.strides.get(slab.axis).filter(|&&s| s != 0) {
        v.offset = (v.offset as isize + slab.range.start as isize * stride) as usize;
        v.shape[slab.axis] = slab.range.len();
    }
    v
}

fn needs<'a>(touches: &[Touch<'a>], slab: Option<&Slab>) -> Vec<Need<'a>> {
    let mut all: Vec<Need<'a>> = Vec::new();
    for t in touches {
        let cut;
        let view = match slab {
            Some(slab) => {
                cut = within(&t.view, slab);
                &cut
            }
            None => &t.view,
        };
        let grid = t.store.settled_grid(Some(&t.view));
        let Some(rect) = grid.hull(view) else { continue };
        let cover = grid.cover(view);
        let k = all.iter().position(|n| Arc::ptr_eq(n.store, t.store)).unwrap_or_else(|| {
            all.push(Need { store: t.store, rect, fetch: Rects::none(), wrote: Rects::none() });
            all.len() - 1
        });
        let need = &mut all[k];
        need.rect = need.rect.hull(&rect);
        // Bytes between those that are written stay what they were.
        if t.reads || !grid::fills(view, &cover) {
            need.fetch.add_all(&cover);
        }
        if t.writes {
            need.wrote.add_all(&cover);
        }
    }
    all
}

/// The memory for a task over so many elements: a device's if it is worth one, or if its data is there already.
pub fn memory_for(touches: &[Touch], elements: usize) -> Memory {
    let mut most = (0, Memory::System);
    if lost::are_lost() || touches.iter().any(|t| t.store.exposed.load(Ordering::Acquire) > 0) {
        return most.1;
    }
    for k in 0..reserved::devices() {
        let memory = Memory::Framebuffer(k as u8);
        let bytes: usize = touches.iter().map(|t| t.store.bytes_in(memory)).sum();
        if bytes > most.0 {
            most = (bytes, memory);
        }
    }
    if most.0 == 0 && elements >= numloom_config::current().min_gpu_chunk {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        most.1 = Memory::Framebuffer((NEXT.fetch_add(1, Ordering::Relaxed) % reserved::devices()) as u8);
    }
    most.1
}

/// Where a fused task runs: on several devices, each with some of the rows, if it is large enough and rows can be told
/// apart by the bytes they touch.
pub fn parts(plan: &FusedPlan, touches: &[Touch]) -> Vec<Part> {
    let elements: usize = plan.domain.iter().product();
    let able = !reserved::are_gpus() || gpu::can_run(plan);
    let memory = if able { memory_for(touches, elements) } else { Memory::System };
    let whole = vec![Part { memory, slab: None }];
    let rows = plan.domain.first().copied().unwrap_or(1);
    let count = reserved::devices().min(elements / numloom_config::current().min_gpu_chunk).min(rows);
    if memory.is_host() || count < 2 || !can_be_cut(plan, 0) {
        return whole;
    }
    let slabs = cut(plan, 0, count);
    if !are_apart(touches, &slabs) {
        return whole;
    }
    let place = |(k, slab)| Part { memory: Memory::Framebuffer(k as u8), slab: Some(slab) };
    slabs.into_iter().enumerate().map(place).collect()
}

/// Slabs along an axis, `count` of nearly the same size.
pub fn cut(plan: &FusedPlan, axis: usize, count: usize) -> Vec<Slab> {
    let n = plan.domain[axis];
    (0..count).map(|k| Slab { axis, range: n * k / count..n * (k + 1) / count }).collect()
}

/// Whether the places along an axis of a task's domain can be worked on one by one.
pub fn can_be_cut(plan: &FusedPlan, axis: usize) -> bool {
    let last = axis + 1 == plan.domain.len();
    let counts = last && plan.compiled.kernel.instrs.iter().any(|i| matches!(i, Instr::Iota { .. }));
    axis < plan.domain.len() && plan.reduced >> axis.min(63) & 1 == 0 && !counts
}

/// Bytes that a slab of a task needs at once.
pub fn bytes_of(touches: &[Touch], slab: &Slab) -> usize {
    needs(touches, Some(slab)).iter().map(|n| reserved::rounded(n.bytes() + reserved::ALIGN)).sum()
}

/// What slabs that come one after another need of one store.
pub struct Share<'a> {
    pub store: &'a Arc<Store>,
    /// Of the largest slab.
    pub bytes: usize,
    pub writes: bool,
}

pub fn shares<'a>(touches: &[Touch<'a>], slabs: &[Slab]) -> Vec<Share<'a>> {
    let mut all: Vec<Share<'a>> = Vec::new();
    for need in slabs.iter().flat_map(|slab| needs(touches, Some(slab))) {
        let (bytes, writes) = (need.bytes(), !need.wrote.is_empty());
        match all.iter_mut().find(|s| Arc::ptr_eq(s.store, need.store)) {
            Some(share) => {
                share.bytes = share.bytes.max(bytes);
                share.writes |= writes;
            }
            None => all.push(Share { store: need.store, bytes, writes }),
        }
    }
    all
}

/// No slab touches bytes that another one writes.
pub fn are_apart(touches: &[Touch], slabs: &[Slab]) -> bool {
    let needs: Vec<Vec<Need>> = slabs.iter().map(|s| needs(touches, Some(s))).collect();
    needs.iter().enumerate().all(|(i, mine)| {
        let others = || needs.iter().enumerate().filter(|(j, _)| *j != i).flat_map(|(_, o)| o);
        mine.iter().filter(|n| !n.wrote.is_empty()).all(|n| !others().any(|o| n.disturbs(o)))
    })
}

/// A store that a task holds in a memory.
struct Held {
    store: Arc<Store>,
    memory: Memory,
    hold: Hold,
    wrote: Rects,
    /// In a block that was lent for it.
    lent: bool,
}

/// Where a task's arrays are held while it runs.
pub struct Mapping {
    pub parts: Vec<Part>,
    held: Vec<Held>,
    turns: SmallVec<[Memory; 2]>,
}

// SAFETY: the addresses are used under the runtime's hazard analysis, like a store's own.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Waits until the devices of the parts are free. A device runs one task at a time, so that all its memory but
    /// what that task holds can be had for it.
    pub fn begin(parts: Vec<Part>) -> Mapping {
        let mut mapping = Mapping { parts, held: Vec::new(), turns: SmallVec::new() };
        let mut devices: SmallVec<[Memory; 2]> = mapping.parts.iter().map(|p| p.memory).collect();
        devices.sort_unstable_by_key(|m| m.number());
        devices.dedup();
        for memory in devices {
            if let Some(pool) = reserved::pool(memory).filter(|_| !memory.is_host()) {
                while !pool.begin() {
                    memory::wait_for_others();
                }
                mapping.turns.push(memory);
            }
        }
        mapping
    }

    /// Brings what a part touches to its memory and keeps it there.
    pub fn hold(
        &mut self,
        memory: Memory,
        slab: Option<&Slab>,
        touches: &[Touch],
        ops: &[Operation],
    ) -> Result<(), ExecError> {
        for need in needs(touches, slab) {
            let (op, at) = loan::maker(ops, need.store);
            let held = need.store.hold(memory, &need.rect, &need.fetch, op, at);
            let hold = held.map_err(|e| ExecError::no_memory(e, op, at))?;
            self.held.push(Held { store: need.store.clone(), memory, hold, wrote: need.wrote, lent: false });
        }
        Ok(())
    }

    /// As `hold`, with no more of any store than this slab, in the blocks that were lent for it.
    pub fn borrow(
        &mut self,
        memory: Memory,
        slab: &Slab,
        touches: &[Touch],
        ops: &[Operation],
        blocks: &[Borrowed],
    ) -> Result<(), ExecError> {
        for need in needs(touches, Some(slab)) {
            let Some(lent) = blocks.iter().find(|l| Arc::ptr_eq(&l.store, need.store)) else { continue };
            let (op, at) = loan::maker(ops, need.store);
            let held = need.store.lend(memory, lent.block, &need.rect, &need.fetch, op, at);
            let hold = held.map_err(|e| ExecError::no_memory(e, op, at))?;
            self.held.push(Held { store: need.store.clone(), memory, hold, wrote: need.wrote, lent: true });
        }
        Ok(())
    }

    /// The blocks that were lent are free again; what was written in them is at home.
    pub fn give_back(&mut self, ops: &[Operation]) -> Result<(), ExecError> {
        let mut back = Ok(());
        for h in self.held.drain(..) {
            let (op, at) = loan::maker(ops, &h.store);
            let brought = h.store.take_back(h.hold, &h.wrote).map_err(|e| ExecError::no_memory(e, op, at));
            back = back.and(brought);
        }
        back
    }

    /// Everything is in place: what the task writes is out of date everywhere else from here on.
    pub fn commit(&self) {
        for h in self.held.iter().filter(|h| !h.wrote.is_empty()) {
            h.store.wrote_in(h.hold, &h.wrote);
        }
    }

    /// The stores may move again; the devices are kept.
    pub fn let_go(&mut self) {
        for h in self.held.drain(..) {
            if h.lent {
                // Work on it has failed, and says so itself.
                let _ = h.store.take_back(h.hold, &Rects::none());
            } else {
                h.store.let_go(h.hold);
            }
        }
    }

    /// The first element of a view in a memory, and its strides there; null for one of a store without bytes.
    pub fn locate(&self, memory: Memory, store: &Store, view: &View) -> (*mut u8, Strides) {
        let found = self.held.iter().find(|h| h.memory == memory && std::ptr::eq(&*h.store, store));
        match found {
            Some(h) => h.hold.locate(view),
            None => (std::ptr::null_mut(), view.strides.clone()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.let_go();
        for memory in self.turns.drain(..) {
            if let Some(pool) = reserved::pool(memory) {
                pool.end();
            }
        }
    }
}
