//! Fusion: which nodes share a task. Groups stay in an order in which running them one after another
//! gives the program's results; a node joins an earlier group only if nothing between forbids it.

use crate::node::{Node, Nodes, Spot, StoreId, Work, conflict};
use crate::record::MapOp;
use crate::reserved;
use crate::sink::sink;
use crate::stitch::Stitches;
use numloom_ir::{Dims, Overlap, View};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cell::Cell;

/// Nodes that become one task.
#[derive(Debug)]
pub struct Group {
    pub domain: Dims,
    /// In program order.
    pub nodes: Vec<u32>,
    pub touches: Vec<Touch>,
    /// Axes folded away by the group's reductions, if it has any.
    pub reduced: Option<u64>,
    pub fused: bool,
    pub ways: Ways,
}

impl Group {
    /// The touch of the same elements in the same way.
    fn touch_like(&mut self, t: &Touch) -> Option<&mut Touch> {
        self.touches.iter_mut().find(|o| o.store == t.store && o.view == t.view && o.apart == t.apart)
    }

    pub fn touch(&mut self, t: Touch) {
        match self.touch_like(&t) {
            Some(o) => o.writes |= t.writes,
            None => self.touches.push(t),
        }
    }
}

/// How a domain is gone through: what does not go together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    /// In regions, of what is read in pieces.
    patched: bool,
    /// Whole: it is folded, or counted in.
    whole: bool,
}

impl Ways {
    pub fn of(node: &Node, stitches: &Stitches) -> Ways {
        let counts = matches!(node.work, Work::Map(MapOp::Iota { .. }));
        Ways {
            patched: node.reads().any(|s| stitches.of(s.store).is_some()),
            whole: counts || matches!(node.work, Work::Reduce { .. }),
        }
    }

    pub fn with(self, other: Ways) -> Ways {
        Ways { patched: self.patched || other.patched, whole: self.whole || other.whole }
    }

    pub fn are_possible(self) -> bool {
        !(self.patched && self.whole)
    }
}

/// How a group touches a store.
#[derive(Clone, Debug)]
pub struct Touch {
    pub store: StoreId,
    pub view: View,
    pub writes: bool,
    /// Not in step with the domain: written by a reduction, and not there before the task is over, or read in pieces
    /// that lie elsewhere.
    pub apart: bool,
    bounds: (usize, usize),
}

/// Most nodes in one task: bounds the time to analyse and compile it.
pub const MOST_NODES: usize = 200;
const MOST_TOUCHES: usize = 600;

struct Grouping<'a> {
    nodes: &'a Nodes,
    stitches: &'a Stitches,
    groups: Vec<Group>,
    by_store: Vec<Touched>,
}

/// The groups that touch a store, as they came to do so.
#[derive(Clone, Default)]
struct Touched {
    all: SmallVec<[Entry; 4]>,
    written: bool,
}

#[derive(Clone, Copy)]
struct Entry {
    group: u32,
    /// The index of the touch in its group.
    at: u32,
    /// The latest group up to here: whoever must come after it need not look further back.
    upto: u32,
}

impl Touched {
    fn add(&mut self, group: u32, at: u32, writes: bool) {
        let upto = self.all.last().map_or(group, |e| e.upto.max(group));
        self.all.push(Entry { group, at, upto });
        self.written |= writes;
    }

    /// Touches by groups from `least` on, the last first.
    fn from<'a>(&'a self, least: &'a Cell<usize>) -> impl Iterator<Item = Entry> + 'a {
        let back = self.all.iter().rev().take_while(|e| e.upto as usize >= least.get());
        back.filter(|e| e.group as usize >= least.get()).copied()
    }
}

/// The groups, or stores that have to be made after all.
pub fn fuse(nodes: &Nodes, stitches: &Stitches, enabled: bool) -> Result<Vec<Group>, Vec<StoreId>> {
    let count = nodes.stores.len();
    let mut g = Grouping { nodes, stitches, groups: Vec::new(), by_store: vec![Touched::default(); count] };
    for i in 0..g.nodes.nodes.len() {
        if !stitches.has_copy(i as u32) {
            g.place(i as u32, enabled);
        }
    }
    let mut groups = g.groups;
    if enabled {
        // Two that join may be what a third needs to join them.
        loop {
            let before = groups.len();
            groups = join_groups(groups, count);
            if groups.len() == before {
                break;
            }
        }
        sink(&mut groups, nodes, stitches);
    }
    if !stitches.is_empty() {
        hand_out_copies(&mut groups, nodes, stitches)?;
    }
    Ok(groups)
}

/// The copies that would have made what is read in pieces go to those who read it: they are over when these are. What
/// several groups would need is to be made.
fn hand_out_copies(groups: &mut [Group], nodes: &Nodes, stitches: &Stitches) -> Result<(), Vec<StoreId>> {
    let mut owners: FxHashMap<u32, usize> = FxHashMap::default();
    let mut made = Vec::new();
    for (k, group) in groups.iter_mut().enumerate() {
        let read: FxHashSet<StoreId> = group.touches.iter().map(|t| t.store).collect();
        for &copy in read.iter().filter_map(|&s| stitches.of(s)).flat_map(|s| &s.copies) {
            match *owners.entry(copy).or_insert(k) {
                owner if owner != k => made.push(nodes.nodes[copy as usize].outs[0].store),
                _ if !group.nodes.contains(&copy) => group.nodes.push(copy),
                _ => {}
            }
        }
        group.nodes.sort_unstable();
    }
    if made.is_empty() { Ok(()) } else { Err(made) }
}

impl Grouping<'_> {
    fn place(&mut self, index: u32, enabled: bool) {
        let node = &self.nodes.nodes[index as usize];
        let item = touches_of(node, self.stitches);
        let opaque = node.work == Work::Opaque || !enabled;
        let reduced = match node.work {
            Work::Reduce { axes, .. } => Some(axes),
            _ => None,
        };
        let ways = Ways::of(node, self.stitches);
        if !opaque && let Some(k) = home(&self.groups, &self.by_store, &item, &node.domain, reduced, ways) {
            self.groups[k].nodes.push(index);
            self.groups[k].reduced = self.groups[k].reduced.or(reduced);
            self.groups[k].ways = self.groups[k].ways.with(ways);
            add_touches(&mut self.groups, &mut self.by_store, k, item);
            return;
        }
        let node = &self.nodes.nodes[index as usize];
        let fused = node.work != Work::Opaque;
        let k = self.groups.len();
        self.groups.push(Group {
            domain: node.domain.clone(),
            nodes: vec![index],
            touches: Vec::new(),
            reduced,
            fused,
            ways,
        });
        add_touches(&mut self.groups, &mut self.by_store, k, item);
    }
}

pub fn touches_of(node: &Node, stitches: &Stitches) -> SmallVec<[Touch; 4]> {
    let is_reduce = node.is_reduce();
    let touch = |s: &Spot, writes: bool| Touch {
        store: s.store,
        view: s.view.clone(),
        writes,
        apart: is_reduce && writes,
        bounds: if crate::node::is_unsized(&s.view) { (0, usize::MAX) } else { s.view.byte_bounds() },
    };
    let mut all: SmallVec<[Touch; 4]> = node.reads().map(|s| touch(s, false)).collect();
    for piece in node.reads().filter_map(|s| stitches.of(s.store)).flat_map(|s| &s.pieces) {
        all.push(Touch { apart: true, ..touch(&piece.spot, false) });
    }
    all.extend(node.outs.iter().map(|s| touch(s, true)));
    all
}

/// Whether two views that share no element share the lines of memory they lie in, like columns side by side or the parts of
/// complex numbers: written by two tasks, every line would be read and written twice.
fn are_woven(a: &View, b: &View) -> bool {
    const LINE: usize = 64;
    a.strides == b.strides && a.offset.abs_diff(b.offset) < LINE
}

/// The group an item can join: one with the same domain that it shares a view with, or lines of what both write, and that
/// stands at or after every group it must follow.
fn home(
    groups: &[Group],
    by_store: &[Touched],
    item: &[Touch],
    domain: &[usize],
    reduced: Option<u64>,
    ways: Ways,
) -> Option<usize> {
    let least = Cell::new(0usize);
    let at_least = |g: usize| least.set(least.get().max(g));
    let mut shared: SmallVec<[u32; 8]> = SmallVec::new();
    let meets = |t: &Touch, other: &Touch| t.bounds.0 < other.bounds.1 && other.bounds.0 < t.bounds.1;
    // What must come first decides how far back it is worth to look for what is shared.
    for t in item.iter().filter(|t| t.writes || by_store[t.store as usize].written) {
        for e in by_store[t.store as usize].from(&least) {
            let (g, other) = (e.group as usize, &groups[e.group as usize].touches[e.at as usize]);
            if !(t.writes || other.writes) || !meets(t, other) {
                continue;
            }
            let same = !other.apart && !t.apart;
            match conflict(&t.view, &other.view) {
                Overlap::Disjoint if t.writes && other.writes && same && are_woven(&t.view, &other.view) => {
                    shared.push(g as u32);
                }
                Overlap::Disjoint => {}
                Overlap::Same if same => {
                    at_least(g);
                    shared.push(g as u32);
                }
                _ => at_least(g + 1),
            }
        }
    }
    for t in item.iter().filter(|t| !t.writes) {
        for e in by_store[t.store as usize].from(&least) {
            let other = &groups[e.group as usize].touches[e.at as usize];
            if !other.writes && t.view == other.view {
                shared.push(e.group);
            }
        }
    }
    let least = least.get();
    shared.retain(|g| *g as usize >= least);
    let open = |g: &Group| {
        g.fused
            && g.domain.as_slice() == domain
            && g.nodes.len() < MOST_NODES
            && g.touches.len() < MOST_TOUCHES
            && (reduced.is_none() || g.reduced.is_none() || g.reduced == reduced)
            && g.ways.with(ways).are_possible()
    };
    shared.sort_unstable();
    shared.iter().map(|&g| g as usize).find(|&g| open(&groups[g]))
}

fn add_touches(groups: &mut [Group], by_store: &mut [Touched], k: usize, item: impl IntoIterator<Item = Touch>) {
    for t in item {
        let group = &mut groups[k];
        let touched = &mut by_store[t.store as usize];
        match group.touch_like(&t) {
            Some(o) => {
                o.writes |= t.writes;
                touched.written |= t.writes;
            }
            None => {
                touched.add(k as u32, group.touches.len() as u32, t.writes);
                group.touches.push(t);
            }
        }
    }
}

/// Groups may fuse with each other like nodes do: a node can need two groups that nothing tied together before it.
fn join_groups(old: Vec<Group>, stores: usize) -> Vec<Group> {
    if old.len() < 2 {
        return old;
    }
    let mut groups: Vec<Group> = Vec::with_capacity(old.len());
    let mut by_store = vec![Touched::default(); stores];
    for mut g in old {
        let touches = std::mem::take(&mut g.touches);
        let k = if g.fused { home(&groups, &by_store, &touches, &g.domain, g.reduced, g.ways) } else { None };
        let k = match k.filter(|&k| groups[k].nodes.len() + g.nodes.len() <= MOST_NODES) {
            Some(k) => {
                groups[k].nodes.append(&mut g.nodes);
                // As they were recorded: then the window's operations are the task's as they lie. A GPU's kernels take
                // 2 % longer so: what belongs together is further apart in them.
                if !reserved::are_gpus() {
                    groups[k].nodes.sort_unstable();
                }
                groups[k].reduced = groups[k].reduced.or(g.reduced);
                groups[k].ways = groups[k].ways.with(g.ways);
                k
            }
            None => {
                groups.push(g);
                groups.len() - 1
            }
        };
        add_touches(&mut groups, &mut by_store, k, touches);
    }
    groups
}
