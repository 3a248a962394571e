//! A value that only a later task reads is computed there: nothing is stored to be loaded again, and no memory held
//! meanwhile. Fusion puts a node into the first group that has what it reads, which in a loop is the round before.

use crate::fuse::{Group, MOST_NODES, Touch, Ways, touches_of};
use crate::node::{Node, Nodes, Spot, StoreId, Work, conflict};
use crate::stitch::Stitches;
use numloom_ir::{Overlap, View};
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
    s.delay();
    groups.retain(|g| !g.nodes.is_empty());
}

impl Sinking<'_> {
    fn node(&self, i: u32) -> &Node {
        &self.nodes.nodes[i as usize]
    }

    fn sink_from(&mut self, k: usize) {
        let mut moved = false;
        for i in self.groups[k].nodes.clone().into_iter().rev() {
            // One that went along with another is gone already.
            if self.group_of[i as usize] != k {
                continue;
            }
            let Some(to) = self.only_reader(i).filter(|&to| self.can_be_done(i, k, to)) else { continue };
            let together = self.with_what_it_needs(i, k, to);
            if self.pays(&together, k, to) {
                for &j in &together {
                    self.group_of[j as usize] = to;
                    let ways = self.ways_of(j);
                    let group = &mut self.groups[to];
                    group.nodes.push(j);
                    group.ways = group.ways.with(ways);
                }
                self.groups[to].nodes.sort_unstable();
                self.look_again(to);
                moved = true;
            }
        }
        if moved {
            let group_of = &self.group_of;
            self.groups[k].nodes.retain(|&i| group_of[i as usize] == k);
            self.look_again(k);
        }
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
        let in_step = |s: &Spot, reader: u32| self.node(reader).reads().all(|r| r.store != s.store || r.view == s.view);
        let is_own = |s: &Spot| {
            let local = &self.nodes.stores[s.store as usize];
            !local.live
                && local.fresh
                && self.writers[s.store as usize].len() == 1
                && self.readers[s.store as usize].iter().all(|&reader| in_step(s, reader))
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

    /// Large values that only tasks of one operation read, made long before the first of these needs them, become tasks of
    /// their own before that: indices of one gather are gone before the next needs its.
    fn delay(&mut self) {
        let mut late: Vec<(usize, u32)> = Vec::new();
        for k in 0..self.groups.len() {
            let nodes = &self.groups[k].nodes;
            if self.groups[k].fused && nodes.len() > 1 {
                late.extend(nodes.iter().filter_map(|&i| self.first_user(i, k).map(|to| (to, i))));
            }
        }
        // From the last on: where the others go stays as it is.
        late.sort_unstable();
        let mut changed: Vec<usize> = late.iter().map(|&(_, i)| self.group_of[i as usize]).collect();
        while let Some((to, i)) = late.pop() {
            let from = self.group_of[i as usize];
            self.groups[from].nodes.retain(|&j| j != i);
            let domain = self.node(i).domain.clone();
            let ways = self.ways_of(i);
            // Two of one domain for one reader share a task.
            match self.groups.get_mut(to).filter(|g| g.fused && g.touches.is_empty() && g.domain == domain) {
                Some(group) => {
                    group.nodes.insert(0, i);
                    group.ways = group.ways.with(ways);
                }
                None => {
                    let nodes = vec![i];
                    self.groups
                        .insert(to, Group { domain, nodes, touches: Vec::new(), reduced: None, fused: true, ways });
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        // Groups moved up by those put before them: look at all that may have changed.
        if !changed.is_empty() {
            for k in 0..self.groups.len() {
                if self.groups[k].fused {
                    self.look_again(k);
                }
            }
        }
    }

    /// The group that reads a node's value first, if that is late and all who read it are tasks of one operation.
    fn first_user(&self, i: u32, from: usize) -> Option<usize> {
        // Where even tiles are small, less is large.
        let large = numloom_config::current().min_cpu_chunk.saturating_mul(64).min(1 << 20);
        let n = self.node(i);
        let [out] = &n.outs[..] else { return None };
        let local = &self.nodes.stores[out.store as usize];
        let readers = &self.readers[out.store as usize];
        let own = !local.live && local.fresh && self.writers[out.store as usize].len() == 1 && n.mask.is_none();
        let is_map = matches!(n.work, Work::Map(_));
        if !own || !is_map || readers.is_empty() || bytes(&out.view) < large {
            return None;
        }
        let users = || readers.iter().map(|&r| self.group_of[r as usize]);
        let to = users().min().filter(|_| users().all(|g| g != NOWHERE && !self.groups[g].fused))?;
        // What it reads is stored anyway, and if it is kept for longer takes no more than what it makes.
        let kept = |s: &Spot| {
            let made_here = || self.writers[s.store as usize].iter().any(|&w| self.group_of[w as usize] == from);
            self.nodes.stores[s.store as usize].live || !made_here() || self.is_read_outside(s.store, from)
        };
        let cost: usize = n.reads().map(|s| bytes(&s.view)).sum();
        let unchanged = || self.sources(n).all(|(store, view)| !self.is_overwritten(store, view, i, to));
        (to > from + 1 && cost <= bytes(&out.view) && n.reads().all(kept) && unchanged()).then_some(to)
    }

    fn is_read_outside(&self, store: StoreId, group: usize) -> bool {
        self.readers[store as usize].iter().any(|&r| self.group_of[r as usize] != group)
    }

    /// Whether less is stored and loaded when these nodes move.
    fn pays(&self, together: &[u32], from: usize, to: usize) -> bool {
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
        cost <= saved / 2
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

/// Of the elements that differ: a value for all is none.
fn bytes(view: &View) -> usize {
    let each = view.shape.iter().zip(&view.strides).filter(|(_, s)| **s != 0).map(|(d, _)| *d);
    each.product::<usize>() * view.dtype.size()
}
