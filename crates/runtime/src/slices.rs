//! Merging neighbours: a loop over adjacent slices (`for s in range(0, n, 4096): … z[s:s+4096] …`)
//! records the same small group again and again, each time one slice further. Such groups become one
//! group over the joined slices.

use crate::fuse::{Group, Grouping};
use crate::node::{Input, Node, Spot, StoreId, Work, conflict};
use numloom_ir::{Overlap, View};
use rustc_hash::FxHashMap;

/// Merges the last group into the one before it, if it is the same work on the neighbouring slice.
pub fn merge_last(g: &mut Grouping) {
    let n = g.groups.len();
    if n < 2 {
        return;
    }
    let Some(axis) = match_groups(g, n - 2, n - 1) else { return };
    let Some(last) = g.groups.pop() else { return };
    for t in &last.touches {
        g.by_store[t.store as usize].retain(|(group, _)| *group != (n - 1) as u32);
    }
    let prev = &mut g.groups[n - 2];
    let extent = prev.domain[axis] + last.domain[axis];
    prev.domain[axis] = extent;
    for &i in &prev.nodes {
        let node = &mut g.nodes.nodes[i as usize];
        node.domain[axis] = extent;
        node.spots_mut().for_each(|s| s.view.shape[axis] = extent);
    }
    prev.touches.iter_mut().for_each(|t| t.widen(axis, extent));
    prev.absorbed.extend(last.nodes.iter().map(|&i| g.nodes.nodes[i as usize].op));
    prev.absorbed.extend(last.absorbed);
    g.merged = true;
}

/// The axis along which `b` is the same work as `a`, one slice further.
fn match_groups(g: &Grouping, first: usize, second: usize) -> Option<usize> {
    let (nodes, a, b) = (&*g.nodes, &g.groups[first], &g.groups[second]);
    if !a.fused || !b.fused || a.nodes.len() != b.nodes.len() || a.domain.len() != b.domain.len() {
        return None;
    }
    if a.reduced.is_some() || b.reduced.is_some() || a.domain.contains(&0) || b.domain.contains(&0) {
        return None;
    }
    let mut m = Match { grouping: g, first, second, axis: None, still: Vec::new(), twins: FxHashMap::default() };
    for (&i, &j) in a.nodes.iter().zip(&b.nodes) {
        if !m.nodes_match(&nodes.nodes[i as usize], &nodes.nodes[j as usize]) {
            return None;
        }
    }
    let axis = m.axis?;
    let extent = a.domain[axis] + b.domain[axis];
    let fits = m.still.iter().all(|v| v.strides[axis] == 0) && is_elementwise(a, axis, extent);
    fits.then_some(axis)
}

/// Whether the group's views, grown to `extent`, still only meet element by element.
fn is_elementwise(group: &Group, axis: usize, extent: usize) -> bool {
    let grown: Vec<_> = group
        .touches
        .iter()
        .map(|t| {
            let mut t = t.clone();
            t.widen(axis, extent);
            t
        })
        .collect();
    grown.iter().enumerate().all(|(i, x)| {
        grown[..i]
            .iter()
            .all(|y| x.store != y.store || !(x.writes || y.writes) || conflict(&x.view, &y.view) != Overlap::Partial)
    })
}

struct Match<'a> {
    grouping: &'a Grouping<'a>,
    first: usize,
    second: usize,
    axis: Option<usize>,
    /// Views that both read in the same place.
    still: Vec<View>,
    /// Temporaries of the one that stand for temporaries of the other.
    twins: FxHashMap<StoreId, StoreId>,
}

impl Match<'_> {
    fn nodes_match(&mut self, x: &Node, y: &Node) -> bool {
        // `arange` depends on the place in its own domain: it is never the same one slice further.
        let iota = matches!(x.work, Work::Map(crate::record::MapOp::Iota { .. }));
        if iota || x.work != y.work || x.ins.len() != y.ins.len() || x.mask.is_some() != y.mask.is_some() {
            return false;
        }
        let ins = x.ins.iter().zip(&y.ins).all(|(p, q)| match (p, q) {
            (Input::Value(v), Input::Value(w)) => v == w,
            (Input::Spot(s), Input::Spot(t)) => self.spots_match(s, t),
            _ => false,
        });
        let mask = match (&x.mask, &y.mask) {
            (Some(s), Some(t)) => self.spots_match(s, t),
            _ => true,
        };
        ins && mask && x.outs.iter().zip(&y.outs).all(|(s, t)| self.spots_match(s, t))
    }

    fn spots_match(&mut self, s: &Spot, t: &Spot) -> bool {
        if s.store == t.store {
            return self.views_neighbour(&s.view, &t.view);
        }
        if !self.is_temporary(s.store, self.first) || !self.is_temporary(t.store, self.second) {
            return false;
        }
        s.view.dtype == t.view.dtype
            && s.view.strides.len() == t.view.strides.len()
            && *self.twins.entry(s.store).or_insert(t.store) == t.store
    }

    /// Made, used and forgotten inside its group.
    fn is_temporary(&self, store: StoreId, group: usize) -> bool {
        let local = &self.grouping.nodes.stores[store as usize];
        let last = self.grouping.groups[group].nodes.last().copied().unwrap_or(0);
        let alone = self.grouping.by_store[store as usize].iter().all(|&(g, _)| g as usize == group);
        !local.live && local.fresh && local.last <= last && alone
    }

    fn views_neighbour(&mut self, v: &View, w: &View) -> bool {
        if v.dtype != w.dtype || v.strides != w.strides {
            return false;
        }
        let extents = &self.grouping.groups[self.first].domain;
        let fits = |axis: usize| {
            let shift = v.strides[axis] * extents[axis] as isize;
            v.offset as isize + shift == w.offset as isize
                && (0..v.shape.len()).all(|k| k == axis || v.shape[k] == w.shape[k])
        };
        match self.axis {
            Some(axis) => fits(axis),
            None => {
                // The first view that moves decides the axis.
                if v.offset == w.offset {
                    self.still.push(v.clone());
                    return true;
                }
                self.axis = (0..v.shape.len()).find(|&k| v.strides[k] != 0 && fits(k));
                self.axis.is_some()
            }
        }
    }
}
