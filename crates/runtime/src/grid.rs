//! A store's grid: its bytes as the program's array has them, row by row, so that a block of columns is a box. And where
//! the bytes of such a box lie in an instance that has no others.

use crate::rectangles::{AXES, Rect, Rects};
use numloom_ir::overlap::self_overlaps;
use numloom_ir::{Dims, Strides, View};
use std::ops::Range;

/// The bytes of a store in rows: `dims[3]` bytes to a row, `dims[2]` rows to a plane, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    dims: [usize; AXES],
    /// Bytes from one place along an axis to the next.
    steps: [usize; AXES],
}

impl Grid {
    /// One row.
    pub fn flat(nbytes: usize) -> Grid {
        Grid::with(|a| if a + 1 == AXES { nbytes } else { 1 })
    }

    fn with(dims: impl Fn(usize) -> usize) -> Grid {
        let (dims, mut steps) = (std::array::from_fn(dims), [1; AXES]);
        for a in (0..AXES - 1).rev() {
            steps[a] = steps[a + 1] * dims[a + 1];
        }
        Grid { dims, steps }
    }

    /// The grid of a store that a view covers in full and in order; `None` for other views. Of more axes than a grid has
    /// the slowest are taken together.
    pub fn of(view: &View) -> Option<Grid> {
        let mut axes: smallvec::SmallVec<[(isize, usize); 8]> =
            view.strides.iter().copied().zip(view.shape.iter().copied()).filter(|&(_, n)| n != 1).collect();
        axes.sort_unstable_by_key(|&(step, _)| std::cmp::Reverse(step));
        let mut dense = view.dtype.size();
        for &(step, n) in axes.iter().rev() {
            if step < 0 || step as usize != dense || n == 0 {
                return None;
            }
            dense = dense.checked_mul(n)?;
        }
        let joined = axes.len().saturating_sub(AXES);
        let first: usize = axes[..joined].iter().map(|&(_, n)| n).product();
        let axes = &axes[joined..];
        let grid = Grid::with(|a| {
            let own = (a + axes.len()).checked_sub(AXES).map_or(1, |k| axes[k].1);
            let bytes = if a + 1 == AXES { view.dtype.size() } else { 1 };
            own * bytes * if a == 0 { first } else { 1 }
        });
        (view.offset == 0).then_some(grid)
    }

    pub fn nbytes(&self) -> usize {
        self.dims.iter().product()
    }

    pub fn whole(&self) -> Rect {
        Rect { low: [0; AXES], high: self.dims }
    }

    fn digits(&self, byte: usize) -> [usize; AXES] {
        std::array::from_fn(|a| byte / self.steps[a].max(1) % self.dims[a].max(1))
    }

    /// The first byte of a box.
    pub fn first(&self, rect: &Rect) -> usize {
        (0..AXES).map(|a| rect.low[a] * self.steps[a]).sum()
    }

    /// The axis that a stride goes along.
    fn axis_of(&self, stride: usize) -> usize {
        (0..AXES).find(|&a| self.steps[a] <= stride && stride.is_multiple_of(self.steps[a])).unwrap_or(AXES - 1)
    }

    /// Consecutive bytes.
    pub fn span(&self, span: Range<usize>) -> Rects {
        let mut all = Rects::none();
        let (mut at, end) = (span.start, span.end.min(self.nbytes()));
        while at < end {
            // The coarsest step from here that goes as far as it can without leaving the span or the next coarser one.
            let fits = |a: &usize| at.is_multiple_of(self.steps[*a]) && at + self.steps[*a] <= end;
            let a = (0..AXES).find(fits).unwrap_or(AXES - 1);
            let low = self.digits(at);
            let count = ((end - at) / self.steps[a]).min(self.dims[a] - low[a]);
            let mut rect = self.whole();
            for b in 0..=a {
                (rect.low[b], rect.high[b]) = (low[b], low[b] + 1);
            }
            rect.high[a] = low[a] + count;
            all.add(rect);
            at += count * self.steps[a];
        }
        all
    }

    /// The smallest box around a view, and whether the view goes on from the end of one row in the next.
    fn around(&self, view: &View) -> Option<(Rect, bool)> {
        if view.shape.contains(&0) {
            return None;
        }
        let low = self.digits(view.byte_bounds().0);
        let mut reach = [0; AXES];
        reach[AXES - 1] = view.dtype.size() - 1;
        for (&n, &stride) in view.shape.iter().zip(&view.strides).filter(|&(&n, &s)| n > 1 && s != 0) {
            let a = self.axis_of(stride.unsigned_abs());
            reach[a] += (n - 1) * (stride.unsigned_abs() / self.steps[a]);
        }
        let (mut rect, mut goes_on) = (self.whole(), false);
        for a in (0..AXES).rev() {
            let last = low[a] + reach[a];
            if last < self.dims[a] {
                (rect.low[a], rect.high[a]) = (low[a], last + 1);
            } else {
                goes_on = true;
                if a > 0 {
                    reach[a - 1] += last / self.dims[a].max(1);
                }
            }
        }
        Some((rect, goes_on))
    }

    /// The smallest box around a view; `None` for one without elements.
    pub fn hull(&self, view: &View) -> Option<Rect> {
        self.around(view).map(|(rect, _)| rect)
    }

    /// Boxes that have every byte of a view. None of them begins before it or ends after it.
    pub fn cover(&self, view: &View) -> Rects {
        match self.around(view) {
            None => Rects::none(),
            Some((rect, false)) => Rects::of(rect),
            Some((rect, true)) => {
                let (low, high) = view.byte_bounds();
                self.span(low..high).within(&Rects::of(rect))
            }
        }
    }
}

/// Whether a view has every byte of the boxes that cover it.
pub fn fills(view: &View, cover: &Rects) -> bool {
    let mut steps = view.clone();
    for a in 0..steps.ndim() {
        if steps.strides[a] == 0 {
            steps.shape[a] = 1;
        }
    }
    cover.bytes() == steps.nbytes() && !self_overlaps(&steps)
}

/// What the start of a row keeps of its alignment in the store: elements of any type lie as they would there.
const KEPT_ALIGNMENT: usize = 16;

/// How the bytes of a box lie in a block of memory that has no others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub rect: Rect,
    grid: Grid,
    steps: [usize; AXES],
}

impl Block {
    pub fn of(grid: &Grid, rect: Rect) -> Block {
        let mut steps = [1; AXES];
        for a in (0..AXES - 1).rev() {
            let least = steps[a + 1] * rect.len(a + 1);
            // By induction no step is larger than the grid's own, and where the box has whole rows it is the same.
            steps[a] = least + (grid.steps[a] - least) % KEPT_ALIGNMENT;
        }
        Block { rect, grid: *grid, steps }
    }

    /// Bytes from the first to the last.
    pub fn bytes(&self) -> usize {
        if self.rect.is_empty() {
            return 0;
        }
        (0..AXES).map(|a| (self.rect.len(a) - 1) * self.steps[a]).sum::<usize>() + 1
    }

    /// The store's byte that the block begins with.
    pub fn first(&self) -> usize {
        self.grid.first(&self.rect)
    }

    /// First and last index along every axis of the array that has the whole store. Axes that the grid has as one are
    /// told of in full where the box goes from one to the next.
    pub fn indices(&self, own: &View) -> (Dims, Dims) {
        let along = |(&n, &stride): (&usize, &isize)| {
            let all = (0, n.saturating_sub(1));
            let Some(stride) = usize::try_from(stride).ok().filter(|&s| s > 0 && n > 1) else { return all };
            let a = (0..AXES).find(|&a| self.grid.steps[a] <= stride).unwrap_or(AXES - 1);
            let at = |place: usize| place * self.grid.steps[a] / stride;
            let (low, high) = (at(self.rect.low[a]), at(self.rect.high[a].saturating_sub(1)));
            if low / n == high / n { (low % n, high % n) } else { all }
        };
        own.shape.iter().zip(&own.strides).map(along).unzip()
    }

    /// Bytes between the places along the axes of the block.
    pub fn steps(&self) -> &[usize; AXES] {
        &self.steps
    }

    /// Whether bytes are as far apart as they are in the store.
    fn is_straight(&self) -> bool {
        (0..AXES).all(|a| self.rect.len(a) == 1 || self.steps[a] == self.grid.steps[a])
    }

    /// Where the byte at some place of the grid lies in a block at `address`.
    pub fn at(&self, address: *mut u8, place: &[usize; AXES]) -> *mut u8 {
        let along = |a: usize| place[a].wrapping_sub(self.rect.low[a]).wrapping_mul(self.steps[a]);
        address.wrapping_add((0..AXES).map(along).fold(0, usize::wrapping_add))
    }

    /// Where byte zero of the store would lie, in a block that has whole rows.
    pub fn base(&self, address: *mut u8) -> *mut u8 {
        address.wrapping_sub(self.first())
    }

    /// A view that lies inside the box: its first element in a block at `address`, and its strides there.
    ///
    /// A stride is a number of steps along one axis. Where it leads over the end of that axis, the box has the axis in
    /// full, and then the step of the next axis is just as long as the whole of this one, in the block as in the store.
    pub fn locate(&self, address: *mut u8, view: &View) -> (*mut u8, Strides) {
        if self.is_straight() {
            return (self.base(address).wrapping_add(view.offset), view.strides.clone());
        }
        let mut first = self.at(address, &self.grid.digits(view.byte_bounds().0));
        let strides = view.shape.iter().zip(&view.strides).map(|(&n, &stride)| {
            if n <= 1 || stride == 0 {
                return stride;
            }
            let a = self.grid.axis_of(stride.unsigned_abs());
            let step = (stride.unsigned_abs() / self.grid.steps[a] * self.steps[a]) as isize * stride.signum();
            if step < 0 {
                first = first.wrapping_add(step.unsigned_abs() * (n - 1));
            }
            step
        });
        let strides = strides.collect();
        (first, strides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numloom_ir::DType;
    use numloom_ir::view::Order;
    use std::collections::HashSet;

    fn places(r: &Rect, grid: &Grid) -> Vec<usize> {
        let whole = 0..grid.nbytes();
        whole.filter(|&b| r.contains(&Rect { low: grid.digits(b), high: grid.digits(b).map(|d| d + 1) })).collect()
    }

    fn elements(offset: isize, shape: &[usize], strides: &[isize]) -> Vec<isize> {
        let mut at = vec![offset];
        for (&n, &s) in shape.iter().zip(strides) {
            at = at.iter().flat_map(|&o| (0..n as isize).map(move |i| o + i * s)).collect();
        }
        at
    }

    struct Draws(u64);

    impl Draws {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % n
        }

        /// A store's own view: any order of axes, sometimes more than a grid has.
        fn store(&mut self) -> View {
            let dims: Vec<usize> =
                (0..1 + self.below(5)).map(|_| 1 + [2, 2, 3, 8][self.below(4)].min(self.below(9))).collect();
            let dtype = [DType::U8, DType::F32, DType::F64, DType::C128][self.below(4)];
            let dense = View::dense(dtype, &dims, if self.below(2) == 0 { Order::C } else { Order::F });
            let mut perm: Vec<usize> = (0..dims.len()).collect();
            perm.rotate_left(self.below(dims.len()));
            dense.transpose(&perm)
        }

        fn view(&mut self, of: &View) -> View {
            let mut v = of.clone();
            for _ in 0..self.below(4) {
                let axis = self.below(v.ndim().max(1));
                match self.below(6) {
                    _ if v.ndim() == 0 || v.shape.contains(&0) => {}
                    0 => v = v.index(axis, self.below(v.shape[axis])),
                    1 if v.ndim() > 1 => v = v.diagonal(0, 0, 1),
                    2 => {
                        let flat = [v.size()];
                        v = v.reshape(&flat, Order::C).unwrap_or(v);
                    }
                    3 => v = v.slice(axis, v.shape[axis] - 1, -1, v.shape[axis]),
                    4 if v.dtype == DType::C128 => {
                        v.dtype = DType::F64;
                        v.offset += 8 * self.below(2);
                    }
                    _ => {
                        let start = self.below(v.shape[axis]);
                        let step = 1 + self.below(2);
                        let most = (v.shape[axis] - start).div_ceil(step);
                        v = v.slice(axis, start, step as isize, 1 + self.below(most));
                    }
                }
            }
            v
        }
    }

    /// Covers, hulls and places in a block, against every byte of random views one by one.
    #[test]
    fn views_lie_in_their_boxes_as_in_the_store() {
        let mut draws = Draws(5);
        let (mut filled, mut packed) = (0, 0);
        for _ in 0..4_000 {
            let own = draws.store();
            let grid = Grid::of(&own).expect("a store's own view is dense");
            assert_eq!(grid.nbytes(), own.nbytes());
            let (a, b) = (draws.below(grid.nbytes() + 1), draws.below(grid.nbytes() + 1));
            let span = a.min(b)..a.max(b);
            let mut of_span: Vec<usize> = grid.span(span.clone()).iter().flat_map(|r| places(r, &grid)).collect();
            of_span.sort_unstable();
            assert_eq!(of_span, span.collect::<Vec<_>>());

            let v = draws.view(&own);
            let size = v.dtype.size();
            let firsts = elements(v.offset as isize, &v.shape, &v.strides);
            let bytes: HashSet<usize> = firsts.iter().flat_map(|&f| (0..size).map(move |k| f as usize + k)).collect();
            let cover = grid.cover(&v);
            let covered: HashSet<usize> = cover.iter().flat_map(|r| places(r, &grid)).collect();
            assert!(bytes.is_subset(&covered), "{own:?} {v:?}");
            assert_eq!(fills(&v, &cover), bytes == covered, "{own:?} {v:?}");
            let (low, high) = v.byte_bounds();
            assert!(covered.iter().all(|b| (low..high).contains(b)));
            let Some(mut hull) = grid.hull(&v) else { continue };
            assert!(cover.iter().all(|r| hull.contains(r)));
            if draws.below(4) == 0
                && let Some(other) = grid.hull(&draws.view(&own))
            {
                hull = hull.hull(&other);
            }

            let block = Block::of(&grid, hull);
            let inside: Vec<usize> = places(&hull, &grid);
            let at = |byte: usize| block.at(std::ptr::null_mut(), &grid.digits(byte)) as usize;
            let taken: HashSet<usize> = inside.iter().map(|&b| at(b)).collect();
            assert_eq!(taken.len(), inside.len());
            assert_eq!(taken.iter().max(), Some(&(block.bytes() - 1)));
            assert!(block.bytes() <= grid.nbytes());
            let (first, strides) = block.locate(std::ptr::null_mut(), &v);
            for (&there, here) in firsts.iter().zip(elements(first as isize, &v.shape, &strides)) {
                assert_eq!(at(there as usize), here as usize, "{own:?} {v:?}");
                assert_eq!((here as usize + block.first()) % 16 % size, there as usize % 16 % size);
            }
            filled += (bytes == covered) as usize;
            packed += !block.is_straight() as usize;
        }
        assert!(filled > 2_000 && packed > 200, "{filled} {packed}");
    }

    #[test]
    fn columns_are_boxes_and_lie_close() {
        let own = View::dense(DType::F64, &[100, 50], Order::C);
        let grid = Grid::of(&own).expect("dense");
        let columns = own.slice(1, 10, 1, 4);
        let cover = grid.cover(&columns);
        assert_eq!((cover.bytes(), cover.iter().count()), (100 * 32, 1));
        assert!(fills(&columns, &cover));
        let block = Block::of(&grid, *cover.iter().next().expect("one box"));
        assert_eq!(block.bytes(), 99 * 32 + 32);
        // Rows that are taken whole stay as they were.
        let rows = grid.hull(&own.slice(0, 10, 1, 4)).expect("not empty");
        assert!(Block::of(&grid, rows).is_straight());
    }
}
