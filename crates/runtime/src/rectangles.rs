//! Sets of bytes of a store, as boxes over its grid: which of them an instance holds as they should be.

use smallvec::SmallVec;

/// Axes of a grid, the last counted in bytes.
pub const AXES: usize = 4;

/// A box: from `low` up to, and without, `high` along every axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rect {
    pub low: [usize; AXES],
    pub high: [usize; AXES],
}

impl Rect {
    fn each(low: impl Fn(usize) -> usize, high: impl Fn(usize) -> usize) -> Rect {
        Rect { low: std::array::from_fn(low), high: std::array::from_fn(high) }
    }

    pub fn is_empty(&self) -> bool {
        (0..AXES).any(|a| self.low[a] >= self.high[a])
    }

    pub fn len(&self, axis: usize) -> usize {
        self.high[axis] - self.low[axis]
    }

    /// Bytes of a box that is not empty.
    pub fn bytes(&self) -> usize {
        (0..AXES).map(|a| self.len(a)).product()
    }

    pub fn contains(&self, other: &Rect) -> bool {
        (0..AXES).all(|a| self.low[a] <= other.low[a] && other.high[a] <= self.high[a])
    }

    pub fn meets(&self, other: &Rect) -> bool {
        (0..AXES).all(|a| self.low[a] < other.high[a] && other.low[a] < self.high[a])
    }

    /// What both have; may be empty.
    pub fn within(&self, other: &Rect) -> Rect {
        Rect::each(|a| self.low[a].max(other.low[a]), |a| self.high[a].min(other.high[a]))
    }

    /// The smallest box around both.
    pub fn hull(&self, other: &Rect) -> Rect {
        Rect::each(|a| self.low[a].min(other.low[a]), |a| self.high[a].max(other.high[a]))
    }

    /// The boxes that are left when a hole that meets this one is cut out, in rows as long as can be.
    fn without(&self, hole: &Rect, mut keep: impl FnMut(Rect)) {
        let mut rest = *self;
        for a in 0..AXES {
            if rest.low[a] < hole.low[a] {
                let mut before = rest;
                before.high[a] = hole.low[a];
                keep(before);
                rest.low[a] = hole.low[a];
            }
            if hole.high[a] < rest.high[a] {
                let mut after = rest;
                after.low[a] = hole.high[a];
                keep(after);
                rest.high[a] = hole.high[a];
            }
        }
    }

    /// One box in the place of two that lie side by side.
    fn joined(&self, other: &Rect) -> Option<Rect> {
        let differs = |a: &usize| self.low[*a] != other.low[*a] || self.high[*a] != other.high[*a];
        let mut axes = (0..AXES).filter(differs);
        let a = axes.next()?;
        let touch = self.high[a] == other.low[a] || other.high[a] == self.low[a];
        (touch && axes.next().is_none()).then(|| self.hull(other))
    }
}

/// Boxes that have no byte in common.
#[derive(Clone, Debug, Default)]
pub struct Rects(SmallVec<[Rect; 1]>);

impl Rects {
    pub fn none() -> Rects {
        Rects(SmallVec::new())
    }

    pub fn of(rect: Rect) -> Rects {
        let mut all = Rects::none();
        all.add(rect);
        all
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.0.iter().map(Rect::bytes).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Rect> {
        self.0.iter()
    }

    pub fn add(&mut self, rect: Rect) {
        if rect.is_empty() || self.0.iter().any(|r| r.contains(&rect)) {
            return;
        }
        self.remove(&rect);
        let mut grown = rect;
        while let Some((k, both)) = self.0.iter().enumerate().find_map(|(k, r)| Some((k, r.joined(&grown)?))) {
            self.0.swap_remove(k);
            grown = both;
        }
        self.0.push(grown);
    }

    pub fn add_all(&mut self, others: &Rects) {
        others.iter().for_each(|r| self.add(*r));
    }

    pub fn remove(&mut self, hole: &Rect) {
        if hole.is_empty() || !self.0.iter().any(|r| r.meets(hole)) {
            return;
        }
        let mut left = SmallVec::new();
        for r in &self.0 {
            if r.meets(hole) { r.without(hole, |part| left.push(part)) } else { left.push(*r) }
        }
        self.0 = left;
    }

    pub fn remove_all(&mut self, others: &Rects) {
        others.iter().for_each(|r| self.remove(r));
    }

    /// What is in both.
    pub fn within(&self, others: &Rects) -> Rects {
        let shared = self.0.iter().flat_map(|r| others.iter().map(|o| r.within(o)));
        Rects(shared.filter(|r| !r.is_empty()).collect())
    }

    pub fn meets(&self, others: &Rects) -> bool {
        self.0.iter().any(|r| others.iter().any(|o| r.meets(o)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn bytes(r: &Rect) -> HashSet<[usize; AXES]> {
        let mut all = vec![[0; AXES]];
        for a in 0..AXES {
            let along = |at: [usize; AXES]| {
                (r.low[a]..r.high[a]).map(move |i| {
                    let mut at = at;
                    at[a] = i;
                    at
                })
            };
            all = all.into_iter().flat_map(along).collect();
        }
        all.into_iter().collect()
    }

    fn all(rects: &Rects) -> HashSet<[usize; AXES]> {
        let one_by_one: Vec<_> = rects.iter().flat_map(bytes).collect();
        let set: HashSet<_> = one_by_one.iter().copied().collect();
        assert_eq!(one_by_one.len(), set.len(), "boxes have bytes in common: {rects:?}");
        assert_eq!(rects.bytes(), set.len());
        set
    }

    /// Against a plain set of bytes, over a long run of random steps.
    #[test]
    fn boxes_are_sets_of_bytes() {
        let mut state = 7u64;
        let mut draw = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        let dims = [2, 3, 5, 8];
        let mut rect = || {
            let mut r = Rect { low: [0; AXES], high: dims };
            for a in 0..AXES {
                let (x, y) = (draw(dims[a] + 1), draw(dims[a] + 1));
                (r.low[a], r.high[a]) = (x.min(y), x.max(y));
            }
            r
        };
        let (mut rects, mut plain, mut others, mut plain_others) =
            (Rects::none(), HashSet::new(), Rects::none(), HashSet::new());
        for step in 0..4_000 {
            let r = rect();
            if step % 3 == 0 {
                rects.remove(&r);
                plain.retain(|b| !bytes(&r).contains(b));
            } else {
                rects.add(r);
                plain.extend(bytes(&r));
            }
            assert_eq!(all(&rects), plain);
            if step % 7 == 0 {
                (others, plain_others) = (Rects::none(), HashSet::new());
            }
            let o = rect();
            others.add(o);
            plain_others.extend(bytes(&o));
            assert_eq!(all(&rects.within(&others)), &plain & &plain_others);
            assert_eq!(rects.meets(&others), !plain.is_disjoint(&plain_others));
            let (mut missing, mut both) = (others.clone(), others.clone());
            missing.remove_all(&rects);
            both.add_all(&rects);
            assert_eq!(all(&missing), &plain_others - &plain);
            assert_eq!(all(&both), &plain_others | &plain);
        }
    }

    #[test]
    fn neighbours_become_one() {
        let row = |k: usize| Rect { low: [0, 0, k, 0], high: [1, 1, k + 1, 8] };
        let mut rows = Rects::none();
        [0, 2, 4, 3, 1].into_iter().for_each(|k| rows.add(row(k)));
        assert_eq!(rows.iter().collect::<Vec<_>>(), [&Rect { low: [0, 0, 0, 0], high: [1, 1, 5, 8] }]);
    }
}
