//! The window as the analysis sees it: stores numbered, dead operations gone, boolean indexing that
//! can stay unpacked rewritten to masked work over the whole domain.

use crate::array::UNSIZED;
use crate::filler::{filler, is_narrow};
use crate::operation::{Kind, Operation, Place, Source};
use crate::record::MapOp;
use crate::store::{Store, Symbol};
use numloom_ir::view::Order;
use numloom_ir::{Overlap, ScalarOp, Value, View, overlap};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub type StoreId = u32;

/// A view of a numbered store.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Spot {
    pub store: StoreId,
    pub view: View,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    Spot(Spot),
    Value(Value),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Work {
    Map(MapOp),
    Reduce {
        op: ScalarOp,
        lp: u8,
        axes: u64,
        initial: Option<Value>,
    },
    /// Not fused: a library operation, or one whose domain is not known yet.
    Opaque,
}

/// One operation, every view already broadcast to its domain.
#[derive(Clone, Debug)]
pub struct Node {
    pub work: Work,
    pub domain: SmallVec<[usize; 4]>,
    pub ins: SmallVec<[Input; 3]>,
    pub outs: SmallVec<[Spot; 1]>,
    pub mask: Option<Spot>,
    /// The operation it stands for, by place in the window.
    pub op: u32,
}

#[derive(Clone)]
pub struct LocalStore {
    pub store: Arc<Store>,
    /// Somebody outside the window can still see it.
    pub live: bool,
    /// Its first write is in this window, so nobody outside has seen any contents.
    pub fresh: bool,
    /// Place of the last node that touches it.
    pub last: u32,
}

pub struct Nodes {
    pub nodes: Vec<Node>,
    pub stores: Vec<LocalStore>,
    /// Operations nobody can see the result of.
    pub dead: Vec<u32>,
}

pub fn is_unsized(v: &View) -> bool {
    v.shape.first() == Some(&UNSIZED)
}

/// `overlap` that also answers for views whose extent is not known.
pub fn conflict(a: &View, b: &View) -> Overlap {
    if is_unsized(a) || is_unsized(b) { Overlap::Partial } else { overlap::overlap(a, b) }
}

/// Between which bytes a view of its store lies, as far as is known.
pub fn bounds(a: &View) -> (usize, usize) {
    if is_unsized(a) { (0, usize::MAX) } else { a.byte_bounds() }
}

struct Numbering {
    by: By,
    stores: Vec<LocalStore>,
}

/// How a store's number is found again.
enum By {
    /// Written on the store itself, valid for one window. Only while windows are analysed one at a time.
    Mark(u32),
    /// By address: for the one operation that a worker looks at while the next window is analysed.
    Address(FxHashMap<usize, StoreId>),
}

impl Numbering {
    fn marking(capacity: usize) -> Numbering {
        static WINDOWS: AtomicU32 = AtomicU32::new(1);
        let window = WINDOWS.fetch_add(1, Ordering::Relaxed);
        Numbering { by: By::Mark(window), stores: Vec::with_capacity(capacity) }
    }

    fn id(&mut self, store: &Arc<Store>) -> StoreId {
        let next = self.stores.len() as StoreId;
        let known = match &mut self.by {
            By::Mark(window) => {
                let mark = store.mark.load(Ordering::Relaxed);
                if (mark >> 32) as u32 == *window {
                    return mark as u32;
                }
                store.mark.store((*window as u64) << 32 | next as u64, Ordering::Relaxed);
                next
            }
            By::Address(ids) => *ids.entry(Arc::as_ptr(store) as usize).or_insert(next),
        };
        if known == next {
            self.stores.push(LocalStore { store: store.clone(), live: true, fresh: false, last: 0 });
        }
        known
    }
}

/// Numbers the stores of a window and finds out which of them somebody outside it can see.
fn number<O: Borrow<Operation>>(ops: &[O]) -> Numbering {
    // Most operations make one store, and few read others.
    let room = ops.len() + ops.len() / 8 + 8;
    let mut numbering = Numbering::marking(room);
    let mut counts: Vec<(u32, u32)> = Vec::with_capacity(room);
    for op in ops.iter().map(O::borrow) {
        for p in op.reads() {
            let id = numbering.id(&p.store) as usize;
            counts.resize(counts.len().max(id + 1), (0, 0));
            counts[id].0 += 1;
        }
        for (k, p) in op.outs.iter().enumerate() {
            let id = numbering.id(&p.store) as usize;
            counts.resize(counts.len().max(id + 1), (0, 0));
            counts[id].1 += 1;
            numbering.stores[id].fresh |= k < 8 && op.fresh >> k & 1 == 1;
        }
    }
    for (local, (reads, writes)) in numbering.stores.iter_mut().zip(counts) {
        let s = &local.store;
        // The program may have recorded a reader in the next window and dropped its handle since this
        // window was taken: the reader was announced before the handle went, so look in that order.
        let held = s.handles.load(Ordering::Acquire) > 0;
        local.live = held
            || s.is_foreign()
            || s.exposed.load(Ordering::Acquire) > 0
            || s.pending_reads.load(Ordering::Acquire) > reads
            || s.pending_writes.load(Ordering::Acquire) > writes;
    }
    numbering
}

/// Arrays of one unknown length that never have to exist packed: the mask they were packed with.
struct Family {
    mask: Place,
    virtual_: bool,
    /// The mask is no longer what it was: who needs it from here on needs the packed values.
    overwritten: bool,
    /// Some function in it is defined between -1 and 1 only.
    narrow: bool,
}

/// One operation on its own, wanted whoever can see its result.
pub fn build_one(op: &Operation) -> Nodes {
    let mut numbering = Numbering { by: By::Address(FxHashMap::default()), stores: Vec::new() };
    let node = node_of(op, 0, &FxHashMap::default(), &mut numbering);
    let mut stores = numbering.stores;
    stores.iter_mut().for_each(|s| s.live = true);
    Nodes { nodes: vec![node], stores, dead: Vec::new() }
}

pub fn build<O: Borrow<Operation>>(ops: &[O]) -> Nodes {
    let begun = begin(ops);
    finish(ops, begun)
}

/// A window with its stores numbered: what is worked out of any.
pub struct Begun {
    numbering: Numbering,
    /// Operations that somebody can see the result of, and the others, by place in the window.
    pub alive: Vec<u32>,
    dead: Vec<u32>,
}

impl Begun {
    pub fn stores(&self) -> &[LocalStore] {
        &self.numbering.stores
    }

    /// The number of a store of the window.
    pub fn number_of(&self, store: &Store) -> StoreId {
        store.mark.load(Ordering::Relaxed) as u32
    }

    /// Without its nodes, for a window whose plan is known.
    pub fn without_nodes(self) -> Nodes {
        Nodes { nodes: Vec::new(), stores: self.numbering.stores, dead: self.dead }
    }
}

pub fn begin<O: Borrow<Operation>>(ops: &[O]) -> Begun {
    let mut numbering = number(ops);
    let wanted = find_alive(ops, &mut numbering);
    let mut begun = Begun { numbering, alive: Vec::with_capacity(ops.len()), dead: Vec::new() };
    for (i, alive) in wanted.into_iter().enumerate() {
        if alive { begun.alive.push(i as u32) } else { begun.dead.push(i as u32) }
    }
    begun
}

pub fn finish<O: Borrow<Operation>>(ops: &[O], begun: Begun) -> Nodes {
    let Begun { mut numbering, alive, dead } = begun;
    let families = find_families(ops, &alive, &mut numbering);
    let node = |&i: &u32| node_of(ops[i as usize].borrow(), i, &families, &mut numbering);
    let nodes: Vec<Node> = alive.iter().map(node).collect();
    let mut stores = numbering.stores;
    for (i, n) in nodes.iter().enumerate() {
        n.spots().for_each(|s| stores[s.store as usize].last = i as u32);
    }
    Nodes { nodes, stores, dead }
}

/// Backwards: an operation is alive if somebody can see what it writes, or an alive one reads it.
fn find_alive<O: Borrow<Operation>>(ops: &[O], numbering: &mut Numbering) -> Vec<bool> {
    let mut alive = vec![false; ops.len()];
    // All have their numbers by now.
    let mut wanted = vec![false; numbering.stores.len()];
    for (i, op) in ops.iter().map(O::borrow).enumerate().rev() {
        let mut any = false;
        for p in &op.outs {
            let id = numbering.id(&p.store) as usize;
            any |= numbering.stores[id].live || wanted[id];
        }
        if !any {
            continue;
        }
        alive[i] = true;
        for p in op.reads().chain(&op.outs) {
            wanted[numbering.id(&p.store) as usize] = true;
        }
    }
    alive
}

fn symbol_key(s: &Symbol) -> usize {
    Arc::as_ptr(s) as usize
}

fn find_families<O: Borrow<Operation>>(
    ops: &[O],
    alive: &[u32],
    numbering: &mut Numbering,
) -> FxHashMap<usize, Family> {
    let mut families: FxHashMap<usize, Family> = FxHashMap::default();
    for op in alive.iter().map(|&i| ops[i as usize].borrow()) {
        let packed = |p: &Place| is_unsized(&p.view).then(|| p.store.symbol.clone()).flatten();
        if let Kind::Pack = op.kind
            && let (Some(Source::Place(mask)), Some(symbol)) = (op.ins.get(1), op.outs.first().and_then(packed))
        {
            families.entry(symbol_key(&symbol)).or_insert_with(|| Family {
                mask: mask.clone(),
                virtual_: true,
                overwritten: false,
                narrow: false,
            });
        }
        let simple = matches!(op.kind, Kind::Map(_) | Kind::Pack | Kind::Unpack | Kind::Reduce { .. });
        for p in op.reads().chain(&op.outs) {
            let Some(symbol) = packed(p) else { continue };
            if matches!(op.kind, Kind::Nonzero) {
                continue;
            }
            // A store packed in an earlier window has no family here and stays packed.
            if let Some(f) = families.get_mut(&symbol_key(&symbol)) {
                let local = numbering.id(&p.store) as usize;
                let visible = numbering.stores[local].live || !numbering.stores[local].fresh;
                f.virtual_ &= simple && !visible && !f.overwritten && is_plain(&p.view);
                f.narrow |= matches!(&op.kind, Kind::Map(op) if is_narrow(op));
            }
        }
        for p in &op.outs {
            let hit = |f: &&mut Family| Arc::ptr_eq(&f.mask.store, &p.store);
            families.values_mut().filter(hit).for_each(|f| f.overwritten = true);
        }
    }
    if families.is_empty() {
        return families;
    }
    // A store that is read here but was made by no pack or map of this window cannot be unpacked.
    let mut made: FxHashMap<usize, ()> = FxHashMap::default();
    for op in alive.iter().map(|&i| ops[i as usize].borrow()) {
        for p in op.reads().filter(|p| is_unsized(&p.view)) {
            if !made.contains_key(&(Arc::as_ptr(&p.store) as usize))
                && let Some(s) = &p.store.symbol
                && let Some(f) = families.get_mut(&symbol_key(s))
            {
                f.virtual_ = false;
            }
        }
        for p in &op.outs {
            made.insert(Arc::as_ptr(&p.store) as usize, ());
        }
    }
    families
}

/// The whole packed store, front to back.
pub fn is_plain(v: &View) -> bool {
    v.ndim() == 1 && v.offset == 0 && v.strides[0] == v.dtype.size() as isize
}

fn node_of(op: &Operation, index: u32, families: &FxHashMap<usize, Family>, numbering: &mut Numbering) -> Node {
    let any_unsized = op.reads().chain(&op.outs).any(|p| is_unsized(&p.view));
    let family_of = |p: &Place| p.store.symbol.as_ref().and_then(|s| families.get(&symbol_key(s)));
    let family = if any_unsized {
        op.reads().chain(&op.outs).filter(|p| is_unsized(&p.view)).find_map(family_of).filter(|f| f.virtual_)
    } else {
        None
    };
    let opaque = matches!(op.kind, Kind::Library(_) | Kind::Nonzero)
        || (any_unsized && family.is_none())
        || (matches!(op.kind, Kind::Pack | Kind::Unpack) && family.is_none());
    if opaque {
        return opaque_node(op, index, numbering);
    }
    let full = family.map(|f| f.mask.view.shape.clone());
    let mut spot = |p: &Place, domain: &[usize]| {
        let store = numbering.id(&p.store);
        let view = match &full {
            Some(shape) if is_unsized(&p.view) => {
                // If the value has to outlive its task, it does so unpacked.
                let dense = View::dense(p.view.dtype, shape, Order::C);
                p.store.set_nbytes(dense.nbytes());
                dense
            }
            _ if p.view.shape[..] == *domain => p.view.clone(),
            _ => p.view.broadcast_to(domain).unwrap_or_else(|| p.view.clone()),
        };
        Spot { store, view: settle(view) }
    };
    let input = |s: &Source, domain: &[usize], spot: &mut dyn FnMut(&Place, &[usize]) -> Spot| match s {
        Source::Place(p) => Input::Spot(spot(p, domain)),
        Source::Value(v) => Input::Value(*v),
    };
    let blank =
        |work, domain| Node { work, domain, ins: SmallVec::new(), outs: SmallVec::new(), mask: None, op: index };
    match &op.kind {
        Kind::Map(m) => {
            let domain = full.clone().filter(|_| any_unsized).unwrap_or_else(|| op.outs[0].view.shape.clone());
            let mut n = blank(Work::Map(*m), domain.clone());
            n.ins = op.ins.iter().map(|s| input(s, &domain, &mut spot)).collect();
            n.outs = op.outs.iter().map(|p| spot(p, &domain)).collect();
            n.mask = op.mask.as_ref().map(|p| spot(p, &domain));
            n
        }
        Kind::Pack => {
            let (domain, family) = (full.clone().unwrap_or_default(), family);
            let x = input(&op.ins[0], &domain, &mut spot);
            let mask = input(&op.ins[1], &domain, &mut spot);
            let out = spot(&op.outs[0], &domain);
            let fill = Input::Value(filler(out.view.dtype, family.is_some_and(|f| f.narrow)));
            let mut n = blank(Work::Map(MapOp::Select), domain);
            n.ins.extend([mask, x, fill]);
            n.outs.push(out);
            n
        }
        Kind::Unpack => {
            let domain = op.outs[0].view.shape.clone();
            let mut n = blank(Work::Map(MapOp::Copy), domain.clone());
            if let Input::Spot(mask) = input(&op.ins[0], &domain, &mut spot) {
                n.mask = Some(mask);
            }
            n.ins.push(input(&op.ins[1], &domain, &mut spot));
            n.outs.push(spot(&op.outs[0], &domain));
            n
        }
        Kind::Reduce { op: fold, lp, axes, initial } => {
            let domain = match (&op.ins[0], &full) {
                (Source::Place(p), Some(shape)) if is_unsized(&p.view) => shape.clone(),
                (Source::Place(p), _) => p.view.shape.clone(),
                (Source::Value(_), _) => SmallVec::new(),
            };
            let axes = if any_unsized { u64::MAX } else { *axes };
            let mut n = blank(Work::Reduce { op: *fold, lp: *lp, axes, initial: *initial }, domain.clone());
            n.ins.push(input(&op.ins[0], &domain, &mut spot));
            n.mask = match (&op.mask, family) {
                (Some(m), _) => Some(spot(m, &domain)),
                (None, Some(f)) => Some(spot(&f.mask, &domain)),
                (None, None) => None,
            };
            let out = &op.outs[0];
            let mut view = out.view.clone();
            view.shape.resize(domain.len(), 1);
            view.strides.resize(domain.len(), 0);
            n.outs.push(Spot { store: spot(out, &domain).store, view: settle(view) });
            n
        }
        Kind::Nonzero | Kind::Library(_) => opaque_node(op, index, numbering),
    }
}

fn opaque_node(op: &Operation, index: u32, numbering: &mut Numbering) -> Node {
    let mut spot = |p: &Place| Spot { store: numbering.id(&p.store), view: p.view.clone() };
    Node {
        work: Work::Opaque,
        domain: SmallVec::new(),
        ins: op.reads().map(|p| Input::Spot(spot(p))).collect(),
        outs: op.outs.iter().map(&mut spot).collect(),
        mask: None,
        op: index,
    }
}

/// Axes of extent 1 have no meaningful stride: with 0 everywhere, equal views compare equal.
fn settle(mut v: View) -> View {
    for (s, &d) in v.strides.iter_mut().zip(&v.shape) {
        if d == 1 {
            *s = 0;
        }
    }
    v
}

impl Nodes {
    /// Whether every node that touches the store stands for one of these operations (sorted).
    pub fn touched_only_by(&self, store: StoreId, ops: &[u32]) -> bool {
        self.nodes.iter().filter(|n| n.spots().any(|s| s.store == store)).all(|n| ops.binary_search(&n.op).is_ok())
    }
}

impl Node {
    pub fn reads(&self) -> impl Iterator<Item = &Spot> {
        let ins = self.ins.iter().filter_map(|i| match i {
            Input::Spot(s) => Some(s),
            Input::Value(_) => None,
        });
        ins.chain(&self.mask)
    }

    pub fn spots(&self) -> impl Iterator<Item = &Spot> {
        self.reads().chain(&self.outs)
    }

    pub fn is_reduce(&self) -> bool {
        matches!(self.work, Work::Reduce { .. })
    }
}
