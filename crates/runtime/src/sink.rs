//! A value that only a later task reads is computed there: nothing is stored to be loaded again, and no memory held
//! meanwhile. Fusion puts a node into the first group that has what it reads, which in a loop is the round before.

use crate::fuse::{Group, MOST_NODES, Touch, Ways, touches_of};
use crate::node::{Node, Nodes, Spot, StoreId, Work, conflict};
use crate::stitch::Stitches;
use numloom_ir::{Dims, Overlap, View};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Most nodes that move together.
const MOST_TOGETHER: usize = 32;

struct Sinking<'a> {
    nodes: &'a Nodes,
    stitches: &'a Stitches,
    groups: &'a mut Vec<Group>,
    /// The group of every node that is in one.
    group_of: Vec<usize>,
    /// Nodes that write and read each store, in order.
    writers: Vec<SmallVec<[u32; 2]>>,
    readers: Vec<SmallVec<[u32; 4]>>,
}

const NOWHERE: usize = usize::MAX;

pub fn sink(groups: &mut Vec<Group>, nodes: &Nodes, stitches: &Stitches) {
    if groups.iter().filter(|g| g.fused).count() < 2 {
        return;
    }
    let mut group_of = vec![NOWHERE; nodes.nodes.len()];
    for (k, g) in groups.iter().enumerate() {
        g.nodes.iter().for_each(|&i| group_of[i as usize] = k);
    }
    let count = nodes.stores.len();
    let (mut writers, mut readers) = (vec![SmallVec::new(); count], vec![SmallVec::new(); count]);
    for (i, n) in nodes.nodes.iter().enumerate() {
        n.reads().for_each(|s| SmallVec::push(&mut readers[s.store as usize], i as u32));
        n.outs.iter().for_each(|s| SmallVec::push(&mut writers[s.store as usize], i as u32));
    }
    let mut s = Sinking { nodes, stitches, groups, group_of, writers, readers };
    // From the last group back: what moves may make what it reads move, too.
    for k in (0..s.groups.len()).rev() {
        if s.groups[k].fused {
            s.sink_from(k);
        }
    }
    s.make_slots();
    for k in (0..s.groups.len()).rev() {
        if s.groups[k].fused {
            s.postpone_from(k);
        }
    }
    groups.retain(|g| !g.nodes.is_empty());
}

impl Sinking<'_> {
    fn node(&self, i: u32) -> &Node {
        &self.nodes.nodes[i as usize]
    }

    fn sink_from(&mut self, k: usize) {
        let worth = self.worth(k);
        let mut moved = false;
        for i in self.groups[k].nodes.clone().into_iter().rev() {
            // One that went along with another is gone already.
            if self.group_of[i as usize] != k {
                continue;
            }
            let Some(to) = self.only_reader(i).filter(|&to| self.can_be_done(i, k, to)) else { continue };
            let together = self.with_what_it_needs(i, k, to);
            if self.pays(&together, k, to, worth) {
                self.put(&together, to);
                moved = true;
            }
        }
        if moved {
            self.without_those_gone(k);
        }
    }

    fn put(&mut self, nodes: &[u32], to: usize) {
        for &j in nodes {
            self.group_of[j as usize] = to;
            let ways = self.ways_of(j);
            let group = &mut self.groups[to];
            group.nodes.push(j);
            group.ways = group.ways.with(ways);
        }
        self.groups[to].nodes.sort_unstable();
        self.look_again(to);
    }

    fn without_those_gone(&mut self, k: usize) {
        let group_of = &self.group_of;
        self.groups[k].nodes.retain(|&i| group_of[i as usize] == k);
        self.look_again(k);
    }

    /// Empty groups between all others: what is postponed may become a task of its own.
    fn make_slots(&mut self) {
        for g in self.group_of.iter_mut().filter(|g| **g != NOWHERE) {
            *g *= 2;
        }
        let all = std::mem::take(self.groups);
        for group in all {
            let slot = Group {
                domain: Dims::new(),
                nodes: Vec::new(),
                touches: Vec::new(),
                reduced: None,
                fused: true,
                ways: Ways::default(),
            };
            self.groups.extend([group, slot]);
        }
    }

    /// What goes on from round to round beside something else (`b = b * 0.5`) is made a round at a time, and not all of it
    /// in the first: each value is gone when the next but one is there.
    fn postpone_from(&mut self, k: usize) {
        let worth = self.worth(k);
        let mut moved = false;
        // Those that read a value go before it does.
        for i in self.groups[k].nodes.clone().into_iter().rev() {
            if self.group_of[i as usize] == k
                && let Some((together, to)) = self.later(i, k, worth)
            {
                if self.groups[to].nodes.is_empty() {
                    self.groups[to].domain = self.groups[k].domain.clone();
                }
                self.put(&together, to);
                moved = true;
            }
        }
        if moved {
            self.without_those_gone(k);
        }
    }

    /// How many arrays may be loaded once more to make one later. Where a group keeps one alone for others, as much as it
    /// takes to store it; where it keeps some, to load it, too; of many, each is memory that may not be there.
    fn worth(&self, k: usize) -> usize {
        let is_kept = |out: &&Spot| {
            let readers = &self.readers[out.store as usize];
            bytes(&out.view) >= large()
                && !self.nodes.stores[out.store as usize].live
                && readers.iter().any(|&r| self.group_of[r as usize] != k)
        };
        let outs = self.groups[k].nodes.iter().flat_map(|&i| &self.node(i).outs);
        match outs.filter(is_kept).count() {
            0 | 1 => 1,
            2..=4 => 2,
            _ => 4,
        }
    }

    /// A large value's node, with those that only it reads, and where they go: into the last group that reads what they are
    /// made from anyway, before it is needed, or between two, as long as what they are made from is there.
    fn later(&self, i: u32, from: usize, worth: usize) -> Option<(Vec<u32>, usize)> {
        let size: usize = self.node(i).outs.iter().map(|s| bytes(&s.view)).sum();
        if size < large() || !self.is_new_map(i) {
            return None;
        }
        let domain = &self.groups[from].domain;
        let mut limit = self.groups.len() - 1;
        for (out, reader) in self.users(i) {
            let g = self.group_of[reader as usize];
            if g == NOWHERE || g == from {
                return None;
            }
            let joins = self.groups[g].fused && self.groups[g].domain == *domain && self.is_in_step(out, reader);
            limit = limit.min(if joins { g } else { g - 1 });
        }
        let (together, needed) = self.with_its_own(i, from);
        let others = |s: &Spot| {
            let readers = self.readers[s.store as usize].iter().copied();
            readers.filter(|r| !together.contains(r) && self.group_of[*r as usize] != NOWHERE)
        };
        let is_open = |g: usize| {
            let group = &self.groups[g];
            let ways = together.iter().fold(group.ways, |w, &j| w.with(self.ways_of(j)));
            group.fused
                && (group.domain == *domain || group.nodes.is_empty())
                && group.nodes.len() + together.len() <= MOST_NODES
                && ways.are_possible()
        };
        // Where each is read last.
        let last = |s: &Spot| others(s).map(|r| self.group_of[r as usize]).max().unwrap_or(from);
        let reads = |s: &Spot, g: usize| others(s).any(|r| self.group_of[r as usize] == g && self.is_in_step(s, r));
        let is_live = |s: &Spot| self.nodes.stores[s.store as usize].live;
        let pays = |to: usize| {
            let loaded = needed.iter().filter(|s| !reads(s, to));
            let cost: usize = loaded.clone().map(|s| bytes(&s.view)).sum();
            // Or there until the group before, but for a slot.
            let is_kept = |s: &&Spot| is_live(s) || last(s) + 2 >= to || bytes(&s.view) <= size / 16;
            let there = |&j: &u32| self.sources(self.node(j)).all(|(s, v)| !self.is_overwritten(s, v, j, to));
            is_open(to) && cost <= worth * size && loaded.clone().all(is_kept) && together.iter().all(there)
        };
        let beside = needed.iter().flat_map(|s| others(s).map(move |r| (s, r)));
        let beside = beside.filter(|(s, r)| self.is_in_step(s, *r)).map(|(_, r)| self.group_of[r as usize]);
        if let Some(to) = beside.filter(|&g| g > from && g <= limit && !self.groups[g].nodes.is_empty()).max()
            && pays(to)
        {
            return Some((together, to));
        }
        // After one group at least: else it is there as early.
        let ends = needed.iter().filter(|s| !is_live(s) && bytes(&s.view) > size / 16).map(|s| last(s) + 1).min();
        let is_asked_for = self.users(i).next().is_some();
        let to = if is_asked_for { limit.min(ends.unwrap_or(limit)) } else { ends? };
        let slot = if to % 2 == 1 { to } else { to.checked_sub(1)? };
        // A task of its own just before its reader had better be part of that.
        let to = if slot + 1 == limit && pays(limit) { limit } else { slot };
        (slot > from + 2 && slot <= limit && pays(to)).then_some((together, to))
    }

    /// A node with those of its group that only it reads, and what they need from elsewhere.
    fn with_its_own(&self, i: u32, from: usize) -> (Vec<u32>, Vec<&Spot>) {
        let mut together = vec![i];
        let mut needed: Vec<&Spot> = Vec::new();
        let mut at = 0;
        while at < together.len() {
            for s in self.node(together[at]).reads() {
                let is_made = |&j: &u32| self.node(j).outs.iter().any(|out| out.store == s.store);
                if together.iter().any(is_made) {
                    continue;
                }
                match self.writers[s.store as usize][..] {
                    [maker] if together.len() < MOST_TOGETHER && self.goes_along(maker, &together, from) => {
                        together.push(maker);
                    }
                    _ => needed.push(s),
                }
            }
            at += 1;
        }
        (together, needed)
    }

    /// Elementwise work that makes something new.
    fn is_new_map(&self, i: u32) -> bool {
        let n = self.node(i);
        let is_new = |s: &Spot| self.nodes.stores[s.store as usize].fresh && self.writers[s.store as usize].len() == 1;
        n.mask.is_none() && matches!(n.work, Work::Map(_)) && n.outs.iter().all(is_new)
    }

    /// Whether a node's results are for these alone, and seen by nobody else.
    fn goes_along(&self, maker: u32, with: &[u32], from: usize) -> bool {
        let seen = |s: &Spot| self.nodes.stores[s.store as usize].live;
        self.group_of[maker as usize] == from
            && self.is_new_map(maker)
            && !self.node(maker).outs.iter().any(seen)
            && self.users(maker).all(|(out, reader)| with.contains(&reader) && self.is_in_step(out, reader))
    }

    /// Who reads what a node makes.
    fn users(&self, i: u32) -> impl Iterator<Item = (&Spot, u32)> {
        let outs = self.node(i).outs.iter();
        outs.flat_map(|s| self.readers[s.store as usize].iter().map(move |&r| (s, r)))
    }

    /// Whether a node reads all it does of an array element by element as this view has them.
    fn is_in_step(&self, s: &Spot, reader: u32) -> bool {
        self.node(reader).reads().all(|r| r.store != s.store || r.view == s.view)
    }

    /// The group that all readers of a node's results are in, where nobody else can see them.
    fn only_reader(&self, i: u32) -> Option<usize> {
        let mut to = None;
        for out in &self.node(i).outs {
            for &reader in &self.readers[out.store as usize] {
                let g = self.group_of[reader as usize];
                if *to.get_or_insert(g) != g {
                    return None;
                }
            }
        }
        to.filter(|&g| g != NOWHERE)
    }

    /// Whether a node of group `from` gives the same in group `to`, as far as it alone is concerned.
    fn can_be_done(&self, i: u32, from: usize, to: usize) -> bool {
        let (n, here, there) = (self.node(i), &self.groups[from], &self.groups[to]);
        // Whoever reads it element by element as it is made, and nobody outside the window, has it from there.
        let is_own = |s: &Spot| {
            let local = &self.nodes.stores[s.store as usize];
            !local.live
                && local.fresh
                && self.writers[s.store as usize].len() == 1
                && self.readers[s.store as usize].iter().all(|&reader| self.is_in_step(s, reader))
        };
        to > from
            && there.fused
            && here.domain == there.domain
            && n.mask.is_none()
            && matches!(n.work, Work::Map(_))
            && n.outs.iter().all(is_own)
            && there.ways.with(self.ways_of(i)).are_possible()
            && self.sources(n).all(|(store, view)| !self.is_overwritten(store, view, i, to))
    }

    /// What a node reads, piece by piece.
    fn sources<'a>(&'a self, n: &'a Node) -> impl Iterator<Item = (StoreId, &'a View)> {
        n.reads().flat_map(|s| {
            let pieces =
                self.stitches.of(s.store).map(|stitch| stitch.pieces.iter().map(|p| (p.spot.store, &p.spot.view)));
            let whole = pieces.is_none().then_some((s.store, &s.view));
            pieces.into_iter().flatten().chain(whole)
        })
    }

    /// Whether a later node, in a group up to `to`, writes what this one reads.
    fn is_overwritten(&self, store: StoreId, view: &View, reader: u32, to: usize) -> bool {
        let later = self.writers[store as usize].iter().filter(|&&w| w > reader);
        let mut early = later.filter(|&&w| self.group_of[w as usize] <= to);
        early.any(|&w| {
            let outs = self.node(w).outs.iter().filter(|s| s.store == store);
            outs.into_iter().any(|s| conflict(&s.view, view) != Overlap::Disjoint)
        })
    }

    fn ways_of(&self, i: u32) -> Ways {
        Ways::of(self.node(i), self.stitches)
    }

    /// The node, and before it those whose results only it and the group that it goes to read.
    fn with_what_it_needs(&self, last: u32, from: usize, to: usize) -> Vec<u32> {
        let mut all = vec![last];
        let mut at = 0;
        while at < all.len() && all.len() < MOST_TOGETHER {
            for s in self.node(all[at]).reads() {
                let [maker] = self.writers[s.store as usize][..] else { continue };
                if all.contains(&maker) || self.group_of[maker as usize] != from || !self.can_be_done(maker, from, to) {
                    continue;
                }
                let goes_along = |out: &Spot| {
                    let mut readers = self.readers[out.store as usize].iter();
                    readers.all(|r| all.contains(r) || self.group_of[*r as usize] == to)
                };
                if self.node(maker).outs.iter().all(goes_along) {
                    all.push(maker);
                }
            }
            at += 1;
        }
        all
    }

    /// Whether less is stored and loaded when these nodes move.
    fn pays(&self, together: &[u32], from: usize, to: usize, worth: usize) -> bool {
        let made = |store: StoreId| {
            let writers = &self.writers[store as usize];
            writers.iter().any(|w| together.contains(w))
        };
        let there = &self.groups[to];
        if there.nodes.len() + together.len() > MOST_NODES {
            return false;
        }
        let (mut saved, mut cost) = (0, 0);
        let mut seen: FxHashSet<&Spot> = FxHashSet::default();
        for &i in together {
            for out in &self.node(i).outs {
                // Stored here and loaded there.
                let outside = self.readers[out.store as usize].iter().any(|r| !together.contains(r));
                saved += if outside { 2 * bytes(&out.view) } else { 0 };
            }
            for s in self.node(i).reads().filter(|s| !made(s.store)) {
                let is_there = |t: &Touch| t.store == s.store && t.view == s.view && !t.apart;
                if there.touches.iter().any(is_there) || !seen.insert(s) {
                    continue;
                }
                cost += bytes(&s.view) * if self.is_kept(s.store, from, to) { 1 } else { 2 };
            }
        }
        cost <= worth * saved / 2
    }

    /// Whether an array is in memory until group `to`, whatever moves there.
    fn is_kept(&self, store: StoreId, from: usize, to: usize) -> bool {
        let local = &self.nodes.stores[store as usize];
        let made_here = self.writers[store as usize].iter().any(|&w| self.group_of[w as usize] == from);
        let read_later = || self.readers[store as usize].iter().any(|&r| self.group_of[r as usize] >= to);
        local.live || !made_here || read_later()
    }

    fn look_again(&mut self, k: usize) {
        let touches: Vec<Touch> = {
            let nodes = self.groups[k].nodes.iter().map(|&i| self.node(i));
            nodes.flat_map(|n| touches_of(n, self.stitches)).collect()
        };
        let group = &mut self.groups[k];
        group.touches.clear();
        touches.into_iter().for_each(|t| group.touch(t));
    }
}

/// Bytes of an array that is worth some thought. Where even tiles are small, less is large.
fn large() -> usize {
    numloom_config::current().min_cpu_chunk.saturating_mul(64).min(1 << 20)
}

/// Of the elements that differ: a value for all is none.
fn bytes(view: &View) -> usize {
    let each = view.shape.iter().zip(&view.strides).filter(|(_, s)| **s != 0).map(|(d, _)| *d);
    each.product::<usize>() * view.dtype.size()
}
