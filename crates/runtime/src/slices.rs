//! Merging neighbours: a loop over adjacent slices (`for s in range(0, n, 4096): … z[s:s+4096] …`)
//! records the same few operations again and again, each time one slice further. Such bodies become one
//! body over the joined slices before anything else looks at the window. Where something is the same in every body and
//! lies along the slice (`for i in …: z[i] -= r`), it cannot be joined: then what moves has one more axis, along which
//! the bodies follow one another (`Template::raised`).
//!
//! Running the bodies one after another and running each operation once over all slices is the same if
//! every operation is elementwise, every temporary is made, used and forgotten inside its own body, and
//! what is left only meets element by element (`Template::is_elementwise`).

use crate::node::{conflict, is_plain, is_unsized};
use crate::operation::{Kind, Operation, Place, Source};
use crate::record::MapOp;
use crate::store::Store;
use numloom_ir::overlap::self_overlaps;
use numloom_ir::view::Order;
use numloom_ir::{Dims, Overlap, View};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Longest body: it still fits in one task.
const LONGEST_BODY: usize = 96;
/// Earlier places with the same operation that are tried as the start of the body before.
const TRIES: usize = 4;

/// Axes to which one more may be added.
const MOST_AXES: usize = 63;
/// Operations of one signature at which no run was found, after which none is looked for: the loop's rounds do not join.
const PATIENCE: u32 = 12;

/// A body and its repetitions.
pub struct Run {
    pub start: usize,
    pub period: usize,
    pub times: usize,
    /// Operations recorded that each of the body's stands for besides itself.
    others: u32,
    slots: Vec<Slot>,
    axis: usize,
    domain: Dims,
    /// As in the template.
    steps: Option<Vec<isize>>,
}

/// What a place of the body is in every repetition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// A temporary of the body, by number.
    Temp(u16),
    /// One slice further each time.
    Moving,
    /// The same elements each time; they do not depend on the slice.
    Still,
}

/// The runs of a window, in order, and where a body starts that the window has only begun.
pub fn find(ops: &[Operation]) -> (Vec<Run>, usize) {
    const NONE: usize = usize::MAX;
    let mut runs: Vec<Run> = Vec::new();
    let signatures: Vec<u64> = ops.iter().map(signature).collect();
    let mut last: FxHashMap<u64, usize> = FxHashMap::default();
    let mut before: Vec<usize> = vec![NONE; ops.len()];
    let mut in_vain: FxHashMap<u64, u32> = FxHashMap::default();
    let (mut i, mut free) = (0, 0);
    while i < ops.len() {
        let mut j = last.get(&signatures[i]).copied().unwrap_or(NONE);
        before[i] = j;
        let mut run = None;
        let mut tried = false;
        let tries = if in_vain.get(&signatures[i]).is_some_and(|&n| n >= PATIENCE) { 0 } else { TRIES };
        for _ in 0..tries {
            // Bodies of one run do not belong to another.
            if j == NONE || j < free || i - j > LONGEST_BODY || run.is_some() {
                break;
            }
            if moves(&ops[j], &ops[i]) {
                tried = true;
                run = run_at(ops, &signatures, j, i - j);
            }
            j = before[j];
        }
        if run.is_none() && tried {
            *in_vain.entry(signatures[i]).or_default() += 1;
        }
        match run {
            Some(run) => {
                i = run.start + run.period * run.times;
                free = i;
                runs.push(run);
            }
            None => {
                last.insert(signatures[i], i);
                i += 1;
            }
        }
    }
    let begun = runs.last().map(|run| {
        let rest = &signatures[free..];
        let same = rest.len() < run.period && *rest == signatures[run.start..run.start + rest.len()];
        if same { free } else { ops.len() }
    });
    (runs, begun.unwrap_or(ops.len()))
}

/// Whether the later operation touches a store of the earlier one, elsewhere: worth a closer look.
fn moves(a: &Operation, b: &Operation) -> bool {
    places(a).zip(places(b)).any(|((p, _), (q, _))| {
        Arc::ptr_eq(&p.store, &q.store) && p.view.offset != q.view.offset && p.view.strides == q.view.strides
    })
}

/// The run whose first body is `ops[start..start + period]`, if the next one repeats it.
fn run_at(ops: &[Operation], signatures: &[u64], start: usize, period: usize) -> Option<Run> {
    let body = |k: usize| start + k * period..start + (k + 1) * period;
    let repeats = |k: usize| body(k).end <= ops.len() && signatures[body(k)] == signatures[body(0)];
    if !repeats(1) {
        return None;
    }
    let run = |mut t: Template| {
        let (mut times, mut others) = (1, 0);
        while repeats(times) && t.extend(&ops[body(times)]) {
            others += ops[body(times)][0].times;
            times += 1;
        }
        let Some(axis) = t.axis.filter(|_| times > 1) else { return Err(t.meets) };
        t.domain[axis] = t.extent;
        Ok(Run { start, period, times, others, slots: t.slots, axis, domain: t.domain, steps: t.steps })
    };
    match run(Template::new(&ops[body(0)])?) {
        Ok(joined) => Some(joined),
        // Bodies that meet each other do so however they are put together.
        Err(true) => None,
        Err(false) => Template::raised(&ops[body(0)], &ops[body(1)]).and_then(|t| run(t).ok()),
    }
}

/// Equal for operations that may be the same work: what it is, on which types, from which line.
fn signature(op: &Operation) -> u64 {
    let mut h = FxHasher::default();
    op.at.hash(&mut h);
    let kind = match &op.kind {
        Kind::Map(MapOp::Scalar { op, lp }) => 1 | (*op as u64) << 8 | (*lp as u64) << 16,
        Kind::Map(MapOp::Copy) => 2,
        Kind::Map(MapOp::Select) => 3,
        Kind::Pack => 4,
        Kind::Unpack => 5,
        _ => 6,
    };
    (kind, op.ins.len(), op.outs[0].view.dtype).hash(&mut h);
    h.finish()
}

struct Temp<'a> {
    store: &'a Arc<Store>,
    reads: u32,
    writes: u32,
}

/// A place that every body has in the same store.
struct Touch<'a> {
    place: &'a Place,
    writes: bool,
    slot: Slot,
    /// Where bodies have an axis of their own.
    step: isize,
}

struct Template<'a> {
    ops: &'a [Operation],
    slots: Vec<Slot>,
    temps: Vec<Temp<'a>>,
    /// The body's own domain; along `axis` the bodies follow one another.
    domain: Dims,
    axis: Option<usize>,
    /// Joined extent along `axis` so far.
    extent: usize,
    /// If the bodies follow one another along an axis of their own, the first: the bytes from each place to the same one of
    /// the next body, by slot.
    steps: Option<Vec<isize>>,
    /// Whether the next body does the same work, but not apart from those so far.
    meets: bool,
}

/// The view with an axis before its own, which has `rank` with it, along which `extent` of them are `step` bytes apart.
fn raise(v: &View, step: isize, extent: usize, rank: usize) -> View {
    let mut w = v.clone();
    while w.ndim() < rank {
        w = w.expand(0);
    }
    w.shape[0] = extent;
    w.strides[0] = step;
    w
}

/// An operation's places in the order of its slots: inputs, mask, outputs.
fn places(op: &Operation) -> impl Iterator<Item = (&Place, bool)> {
    op.reads().map(|p| (p, false)).chain(op.outs.iter().map(|p| (p, true)))
}

fn places_mut(op: &mut Operation) -> impl Iterator<Item = &mut Place> {
    let ins = op.ins.iter_mut().filter_map(|s| match s {
        Source::Place(p) => Some(p),
        Source::Value(_) => None,
    });
    ins.chain(op.mask.as_deref_mut()).chain(&mut op.outs)
}

/// The points an elementwise operation works on; `None` inside a boolean index. `Err`: not elementwise.
fn domain_of(op: &Operation) -> Result<Option<&Dims>, ()> {
    let place = match (&op.kind, op.ins.first()) {
        // `arange` depends on the place in its own domain: it is never the same one slice further.
        (Kind::Map(MapOp::Iota { .. }), _) => return Err(()),
        (Kind::Map(_) | Kind::Unpack, _) => &op.outs[0],
        (Kind::Pack, Some(Source::Place(p))) => p,
        _ => return Err(()),
    };
    Ok((!is_unsized(&place.view)).then_some(&place.view.shape))
}

/// The whole of a temporary's store, front to back.
fn is_whole(p: &Place, domain: &Dims) -> bool {
    if is_unsized(&p.view) {
        return is_plain(&p.view);
    }
    p.view.offset == 0 && p.view.shape == *domain && p.view.is_c_contiguous() && p.store.nbytes() == p.view.nbytes()
}

impl<'a> Template<'a> {
    fn new(ops: &'a [Operation]) -> Option<Template<'a>> {
        let domain = ops.iter().find_map(|o| domain_of(o).ok().flatten())?.clone();
        if domain.contains(&0) {
            return None;
        }
        let mut t = Template {
            ops,
            slots: Vec::new(),
            temps: Vec::new(),
            domain,
            axis: None,
            extent: 0,
            steps: None,
            meets: false,
        };
        for op in ops {
            if domain_of(op).ok()?.is_some_and(|d| *d != t.domain) {
                return None;
            }
            for (k, p) in op.outs.iter().enumerate() {
                if op.fresh >> k & 1 == 1 {
                    t.temps.push(Temp { store: &p.store, reads: 0, writes: 0 });
                }
            }
            for (p, writes) in places(op) {
                let temp = t.temps.iter_mut().enumerate().find(|(_, t)| Arc::ptr_eq(t.store, &p.store));
                match temp {
                    Some((k, temp)) if is_whole(p, &t.domain) => {
                        *if writes { &mut temp.writes } else { &mut temp.reads } += 1;
                        t.slots.push(Slot::Temp(k as u16));
                    }
                    Some(_) => return None,
                    None if is_unsized(&p.view) || (writes && p.view.shape != t.domain) => return None,
                    None => t.slots.push(Slot::Still),
                }
            }
        }
        t.temps.iter().all(|x| x.store.is_private(x.reads, x.writes)).then_some(t)
    }

    /// A template for bodies along an axis of their own, from the first two.
    fn raised(ops: &'a [Operation], next: &[Operation]) -> Option<Template<'a>> {
        let mut t = Template::new(ops)?;
        let are_maps =
            ops.iter().all(|op| matches!(op.kind, Kind::Map(_)) && places(op).all(|(p, _)| !is_unsized(&p.view)));
        if !are_maps
            || t.domain.len() >= MOST_AXES
            || ops.iter().zip(next).any(|(a, b)| places(a).count() != places(b).count())
        {
            return None;
        }
        let mut steps = Vec::with_capacity(t.slots.len());
        let pairs = ops.iter().zip(next).flat_map(|(a, b)| places(a).zip(places(b)));
        for (slot, ((p, writes), (q, _))) in t.slots.iter_mut().zip(pairs) {
            let step = (q.view.offset as isize).wrapping_sub(p.view.offset as isize);
            match slot {
                Slot::Temp(_) => steps.push(0),
                _ if step != 0 => {
                    if p.view.ndim() > t.domain.len() {
                        return None;
                    }
                    *slot = Slot::Moving;
                    steps.push(step);
                }
                // Every body would write the same elements.
                _ if writes => return None,
                _ => steps.push(0),
            }
        }
        t.domain.insert(0, 1);
        (t.axis, t.extent, t.steps) = (Some(0), 1, Some(steps));
        Some(t)
    }

    /// Takes in the next body, if it is the same work one slice further.
    fn extend(&mut self, body: &[Operation]) -> bool {
        if self.axis.is_none() && !self.find_axis(body) {
            return false;
        }
        let Some(axis) = self.axis else { return false };
        let Some(domain) = body.iter().find_map(|o| domain_of(o).ok().flatten()) else { return false };
        let (fits, more) = match self.steps {
            Some(_) => (domain[..] == self.domain[1..], 1),
            None => {
                let other = |k: usize| k == axis || domain[k] == self.domain[k];
                let fits = domain.len() == self.domain.len() && domain[axis] > 0 && (0..domain.len()).all(other);
                (fits, domain.get(axis).copied().unwrap_or(0))
            }
        };
        if !fits || !self.repeats(body, domain, axis) {
            return false;
        }
        if !self.is_elementwise(axis, self.extent + more) {
            self.meets = true;
            return false;
        }
        self.extent += more;
        true
    }

    /// The first view that moves decides along which axis the bodies follow one another.
    fn find_axis(&mut self, body: &[Operation]) -> bool {
        let pairs = self.ops.iter().zip(body).flat_map(|(a, b)| places(a).zip(places(b)));
        let moved = self.slots.iter().zip(pairs).find(|(slot, ((p, _), (q, _)))| {
            !matches!(slot, Slot::Temp(_)) && p.view.offset != q.view.offset && p.view.shape == self.domain
        });
        let Some((_, ((p, _), (q, _)))) = moved else { return false };
        let (v, w) = (&p.view, &q.view);
        let Some(axis) =
            (0..v.ndim()).find(|&k| v.strides[k] != 0 && shifted(v, k, self.domain[k]) == w.offset as isize)
        else {
            return false;
        };
        let pairs = self.ops.iter().flat_map(places);
        for (slot, (p, _)) in self.slots.iter_mut().zip(pairs) {
            if *slot == Slot::Still {
                let v = &p.view;
                // Counted from the last axis, as broadcasting does.
                let own = (axis + v.ndim()).checked_sub(self.domain.len());
                match own {
                    Some(k) if v.shape[k] != 1 || v.shape == self.domain => *slot = Slot::Moving,
                    _ => {}
                }
                if *slot == Slot::Moving && v.shape != self.domain {
                    return false;
                }
            }
        }
        self.axis = Some(axis);
        self.extent = self.domain[axis];
        true
    }

    fn repeats(&self, body: &[Operation], domain: &Dims, axis: usize) -> bool {
        let mut twins: SmallVec<[Option<&Arc<Store>>; 16]> = SmallVec::from_elem(None, self.temps.len());
        let mut slots = self.slots.iter().enumerate();
        for (a, b) in self.ops.iter().zip(body) {
            let same_kind = match (&a.kind, &b.kind) {
                (Kind::Map(x), Kind::Map(y)) => x == y,
                (Kind::Pack, Kind::Pack) | (Kind::Unpack, Kind::Unpack) => true,
                _ => false,
            };
            let alike = same_kind
                && a.fresh == b.fresh
                && a.ins.len() == b.ins.len()
                && a.outs.len() == b.outs.len()
                && a.mask.is_some() == b.mask.is_some();
            let same_values = a.ins.iter().zip(&b.ins).all(|(x, y)| match (x, y) {
                (Source::Value(v), Source::Value(w)) => v == w,
                (Source::Place(_), Source::Place(_)) => true,
                _ => false,
            });
            if !alike || !same_values || matches!(domain_of(b), Ok(Some(d)) if d != domain) {
                return false;
            }
            for ((p, _), (q, _)) in places(a).zip(places(b)) {
                let Some((index, slot)) = slots.next() else { return false };
                let same = match *slot {
                    Slot::Temp(k) => {
                        q.view.dtype == p.view.dtype
                            && is_unsized(&p.view) == is_unsized(&q.view)
                            && is_whole(q, domain)
                            && Arc::ptr_eq(twins[k as usize].get_or_insert(&q.store), &q.store)
                    }
                    Slot::Still => Arc::ptr_eq(&p.store, &q.store) && p.view == q.view,
                    Slot::Moving if let Some(steps) = &self.steps => {
                        let there = p.view.offset as isize + steps[index] * self.extent as isize;
                        Arc::ptr_eq(&p.store, &q.store)
                            && p.view.dtype == q.view.dtype
                            && p.view.shape == q.view.shape
                            && p.view.strides == q.view.strides
                            && there == q.view.offset as isize
                    }
                    Slot::Moving => {
                        Arc::ptr_eq(&p.store, &q.store)
                            && p.view.dtype == q.view.dtype
                            && p.view.strides == q.view.strides
                            && q.view.shape == *domain
                            && shifted(&p.view, axis, self.extent) == q.view.offset as isize
                    }
                };
                if !same {
                    return false;
                }
            }
        }
        // A fresh write makes each temporary, so different temporaries are different stores.
        self.temps.iter().zip(twins).all(|(t, twin)| twin.is_some_and(|s| s.is_private(t.reads, t.writes)))
    }

    /// Whether what is no temporary, grown to `extent`, still only meets element by element.
    fn is_elementwise(&self, axis: usize, extent: usize) -> bool {
        let mut touches: SmallVec<[Touch; 8]> = SmallVec::new();
        let all = self.ops.iter().flat_map(places);
        for (index, (&slot, (place, writes))) in self.slots.iter().zip(all).enumerate() {
            if matches!(slot, Slot::Temp(_)) {
                continue;
            }
            let step = self.steps.as_ref().map_or(0, |steps| steps[index]);
            let known = touches.iter_mut().find(|t| {
                Arc::ptr_eq(&t.place.store, &place.store)
                    && t.place.view == place.view
                    && t.slot == slot
                    && t.step == step
            });
            match known {
                Some(t) => t.writes |= writes,
                None => touches.push(Touch { place, writes, slot, step }),
            }
        }
        let grown = |t: &Touch| match (t.slot, &self.steps) {
            (Slot::Moving, Some(_)) => raise(&t.place.view, t.step, extent, self.domain.len()),
            (Slot::Moving, None) => {
                let mut v = t.place.view.clone();
                v.shape[axis] = extent;
                v
            }
            _ => t.place.view.clone(),
        };
        // Bodies that begin in the middle of the one before write elements again: grown, their view meets itself.
        let meets_itself = |t: &Touch| t.writes && self_overlaps(&grown(t));
        touches.iter().enumerate().all(|(i, x)| {
            let is_apart = touches[..i].iter().all(|y| {
                !Arc::ptr_eq(&x.place.store, &y.place.store)
                    || !(x.writes || y.writes)
                    || conflict(&grown(x), &grown(y)) == Overlap::Disjoint
                    || (x.slot == y.slot && conflict(&grown(x), &grown(y)) == Overlap::Same)
            });
            is_apart && !meets_itself(x)
        })
    }
}

/// Where the view starts `extent` elements further along `axis`.
fn shifted(v: &View, axis: usize, extent: usize) -> isize {
    v.offset as isize + v.strides[axis] * extent as isize
}

impl Run {
    /// The view of a place of the body when all slices are joined.
    fn widened(&self, v: &View, (index, slot): (usize, Slot)) -> View {
        match slot {
            Slot::Moving if let Some(steps) = &self.steps => raise(v, steps[index], self.domain[0], self.domain.len()),
            Slot::Temp(_) if !is_unsized(v) => View::dense(v.dtype, &self.domain, Order::C),
            Slot::Moving => {
                let mut w = v.clone();
                w.shape[self.axis] = self.domain[self.axis];
                w
            }
            _ => v.clone(),
        }
    }

    /// A copy of the body over the joined slices, to look at.
    fn preview(&self, ops: &[Operation]) -> Vec<Operation> {
        let mut body: Vec<Operation> = ops[self.start..self.start + self.period].iter().map(Operation::twin).collect();
        self.widen(&mut body);
        body
    }

    fn widen(&self, body: &mut [Operation]) {
        let mut slots = self.slots.iter().copied().enumerate();
        for op in body {
            op.times += self.others;
            for (p, slot) in places_mut(op).zip(&mut slots) {
                p.view = self.widened(&p.view, slot);
            }
        }
    }

    /// The body stands for its repetitions from now on: its temporaries are as large as all of theirs, and
    /// the stores they share wait for it alone.
    fn take_over(&self, body: &mut [Operation]) {
        self.widen(body);
        let mut slots = self.slots.iter();
        let rest = self.times as u32 - 1;
        for op in body {
            for ((p, writes), &slot) in places(op).zip(&mut slots) {
                match slot {
                    Slot::Temp(_) if !is_unsized(&p.view) => p.store.set_nbytes(p.view.nbytes()),
                    Slot::Temp(_) => {}
                    _ if writes => drop(p.store.pending_writes.fetch_sub(rest, Ordering::Release)),
                    _ => drop(p.store.pending_reads.fetch_sub(rest, Ordering::Release)),
                }
            }
        }
    }
}

/// The window with each run as one body, and where a body starts that the window has only begun.
pub fn merge(mut ops: Vec<Operation>) -> (Vec<Operation>, usize) {
    // Bodies one slice further start elsewhere (`moves`).
    if ops.iter().flat_map(places).all(|(p, _)| p.view.offset == 0) {
        let all = ops.len();
        return (ops, all);
    }
    let (runs, begun) = find(&ops);
    if runs.is_empty() {
        return (ops, begun);
    }
    let gone: usize = runs.iter().map(|r| r.period * (r.times - 1)).sum();
    let mut out = Vec::with_capacity(ops.len() - gone);
    let mut rest = ops.drain(..);
    let mut at = 0;
    for run in &runs {
        out.extend(rest.by_ref().take(run.start - at));
        let first = out.len();
        out.extend(rest.by_ref().take(run.period));
        run.take_over(&mut out[first..]);
        rest.by_ref().take(run.period * (run.times - 1)).for_each(drop);
        at = run.start + run.period * run.times;
    }
    out.extend(rest);
    (out, begun - gone)
}

/// An operation of the window as `merge` would leave it.
pub enum Seen<'a> {
    AsIs(&'a Operation),
    Joined(Box<Operation>),
}

impl std::borrow::Borrow<Operation> for Seen<'_> {
    fn borrow(&self) -> &Operation {
        match self {
            Seen::AsIs(op) => op,
            Seen::Joined(op) => op,
        }
    }
}

/// What `merge` would leave, for a look that changes nothing.
pub fn preview(ops: &[Operation]) -> Vec<Seen<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    for run in find(ops).0 {
        out.extend(ops[at..run.start].iter().map(Seen::AsIs));
        out.extend(run.preview(ops).into_iter().map(|op| Seen::Joined(Box::new(op))));
        at = run.start + run.period * run.times;
    }
    out.extend(ops[at..].iter().map(Seen::AsIs));
    out
}
