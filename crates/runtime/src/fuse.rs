//! Fusion: which nodes share a task. Groups stay in an order in which running them one after another
//! gives the program's results; a node joins an earlier group only if nothing between forbids it.

use crate::node::{Nodes, Spot, StoreId, Work, conflict};
use crate::reserved;
use numloom_ir::{Dims, Overlap, View};
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
}

/// How a group touches a store.
#[derive(Clone, Debug)]
pub struct Touch {
    pub store: StoreId,
    pub view: View,
    pub writes: bool,
    /// Written by a reduction: not there before the task is over.
    pub at_end: bool,
    bounds: (usize, usize),
}

/// Most nodes in one task: bounds the time to analyse and compile it.
const MOST_NODES: usize = 200;
const MOST_TOUCHES: usize = 600;

struct Grouping<'a> {
    nodes: &'a Nodes,
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

pub fn fuse(nodes: &Nodes, enabled: bool) -> Vec<Group> {
    let count = nodes.stores.len();
    let mut g = Grouping { nodes, groups: Vec::new(), by_store: vec![Touched::default(); count] };
    for i in 0..g.nodes.nodes.len() {
        g.place(i as u32, enabled);
    }
    if enabled { join_groups(g.groups, count) } else { g.groups }
}

impl Grouping<'_> {
    fn place(&mut self, index: u32, enabled: bool) {
        let node = &self.nodes.nodes[index as usize];
        let item = touches_of(node);
        let opaque = node.work == Work::Opaque || !enabled;
        let reduced = match node.work {
            Work::Reduce { axes, .. } => Some(axes),
            _ => None,
        };
        if !opaque && let Some(k) = home(&self.groups, &self.by_store, &item, &node.domain, reduced) {
            self.groups[k].nodes.push(index);
            self.groups[k].reduced = self.groups[k].reduced.or(reduced);
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
        });
        add_touches(&mut self.groups, &mut self.by_store, k, item);
    }
}

fn touches_of(node: &crate::node::Node) -> SmallVec<[Touch; 4]> {
    let at_end = node.is_reduce();
    let touch = |s: &Spot, writes: bool| Touch {
        store: s.store,
        view: s.view.clone(),
        writes,
        at_end: at_end && writes,
        bounds: if crate::node::is_unsized(&s.view) { (0, usize::MAX) } else { s.view.byte_bounds() },
    };
    let mut all: SmallVec<[Touch; 4]> = node.reads().map(|s| touch(s, false)).collect();
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
            let same = !other.at_end && !t.at_end;
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
    };
    shared.sort_unstable();
    shared.iter().map(|&g| g as usize).find(|&g| open(&groups[g]))
}

fn add_touches(groups: &mut [Group], by_store: &mut [Touched], k: usize, item: impl IntoIterator<Item = Touch>) {
    for t in item {
        let group = &mut groups[k];
        let known = group.touches.iter_mut().find(|o| o.store == t.store && o.view == t.view && o.at_end == t.at_end);
        match known {
            Some(o) => {
                o.writes |= t.writes;
                by_store[t.store as usize].written |= t.writes;
            }
            None => {
                by_store[t.store as usize].add(k as u32, group.touches.len() as u32, t.writes);
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
        let k = if g.fused { home(&groups, &by_store, &touches, &g.domain, g.reduced) } else { None };
        let k = match k.filter(|&k| groups[k].nodes.len() + g.nodes.len() <= MOST_NODES) {
            Some(k) => {
                groups[k].nodes.append(&mut g.nodes);
                // As they were recorded: then the window's operations are the task's as they lie. A GPU's kernels take
                // 2 % longer so: what belongs together is further apart in them.
                if !reserved::are_gpus() {
                    groups[k].nodes.sort_unstable();
                }
                groups[k].reduced = groups[k].reduced.or(g.reduced);
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
