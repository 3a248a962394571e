//! What an index selects from a view: the axes it keeps, and those it picks from with index arrays.

use crate::index::{Item, as_int64, shape_text};
use crate::{convert, errors, provenance};
use numloom_ir::view::{Order, broadcast_shapes, checked_size, keep_order_strides};
use numloom_ir::{Dims, Strides, View};
use numloom_runtime::array::UNSIZED;
use numloom_runtime::{Array, record};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PySlice;
use smallvec::SmallVec;

/// An axis that index arrays pick from.
struct Picked {
    index: Array,
    axis: usize,
    extent: usize,
    stride: isize,
}

/// An index applied to a view: the basic part as a view, and the advanced part to gather or scatter.
pub struct Plan {
    /// The axes that are not picked from.
    rest: View,
    picked: SmallVec<[Picked; 2]>,
    /// The common shape of the advanced indices; `None` when there are none.
    index_shape: Option<Dims>,
    /// Before which axis of `rest` the index axes stand in the result.
    place: usize,
    /// Integers only: the result is one element.
    pub is_element: bool,
}

/// Works out what `items` select. Masks become index arrays here, which forces their lengths.
pub fn plan(py: Python<'_>, view: &View, items: &[Item<'_>]) -> PyResult<Plan> {
    let used: usize = items
        .iter()
        .map(|i| match i {
            Item::Int(_) | Item::Slice(_) | Item::Indices(_) => 1,
            Item::Mask(m) => m.view.ndim(),
            _ => 0,
        })
        .sum();
    if items.iter().filter(|i| matches!(i, Item::Ellipsis)).count() > 1 {
        return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
    }
    let ndim = view.ndim();
    if used > ndim {
        let message = format!("too many indices for array: array is {ndim}-dimensional, but {used} were indexed");
        return Err(PyIndexError::new_err(message));
    }
    check_masks(view, items, ndim - used)?;
    let mut b = Builder::new(view, items.iter().any(is_advanced));
    for item in items {
        match item {
            Item::Int(i) => b.int(*i)?,
            Item::Slice(s) => b.slice(s)?,
            Item::NewAxis => b.keep(1, 0),
            Item::Ellipsis => b.rest(ndim - used),
            Item::Flag(f) => b.advanced(&[*f as usize]),
            Item::Indices(a) => {
                let mut a = a.clone();
                errors::resolve(py, &mut a)?;
                b.pick(if is_read_as_it_is(&a) { a } else { as_int64(py, &a)? });
            }
            Item::Mask(m) => b.mask(py, m)?,
        }
    }
    let left = ndim - b.axis;
    b.rest(left);
    b.finish(items)
}

/// Whether large index arrays of other types are worth no copy: the host's operations read them block by block.
fn is_read_as_it_is(a: &Array) -> bool {
    const LARGE: usize = 1 << 16;
    a.view.size() > LARGE && a.symbol().is_none() && numloom_runtime::devices() == 0
}

/// Masks must fit before integers are looked at, as in NumPy. `skipped`: the axes an ellipsis stands for.
fn check_masks(view: &View, items: &[Item<'_>], skipped: usize) -> PyResult<()> {
    let mut axis = 0;
    for item in items {
        match item {
            Item::Int(_) | Item::Slice(_) | Item::Indices(_) => axis += 1,
            Item::Ellipsis => axis += skipped,
            Item::Mask(m) => {
                if m.symbol().is_none() {
                    for (k, &extent) in m.view.shape.iter().enumerate() {
                        check_mask_axis(axis + k, view.shape[axis + k], extent)?;
                    }
                }
                axis += m.view.ndim();
            }
            Item::NewAxis | Item::Flag(_) => {}
        }
    }
    Ok(())
}

fn is_advanced(i: &Item<'_>) -> bool {
    matches!(i, Item::Mask(_) | Item::Flag(_) | Item::Indices(_))
}

/// Collects the axes of the result from left to right.
struct Builder<'a> {
    view: &'a View,
    axis: usize,
    offset: isize,
    shape: Dims,
    strides: Strides,
    picked: SmallVec<[Picked; 2]>,
    index_shapes: SmallVec<[Dims; 2]>,
    any_advanced: bool,
    /// Where the run of advanced indices began, and whether something came between them.
    run: Option<usize>,
    ended: bool,
    split: bool,
}

impl<'a> Builder<'a> {
    fn new(view: &'a View, any_advanced: bool) -> Builder<'a> {
        Builder {
            view,
            axis: 0,
            offset: view.offset as isize,
            shape: Dims::new(),
            strides: Strides::new(),
            picked: SmallVec::new(),
            index_shapes: SmallVec::new(),
            any_advanced,
            run: None,
            ended: false,
            split: false,
        }
    }

    fn keep(&mut self, extent: usize, stride: isize) {
        self.ended |= self.run.is_some();
        self.shape.push(extent);
        self.strides.push(stride);
    }

    fn rest(&mut self, n: usize) {
        self.ended |= self.run.is_some();
        for _ in 0..n {
            self.keep(self.view.shape[self.axis], self.view.strides[self.axis]);
            self.axis += 1;
        }
    }

    /// An advanced index stands here (beside advanced ones, integers count as such).
    fn mark(&mut self) {
        match self.run {
            None => self.run = Some(self.shape.len()),
            Some(_) => self.split |= self.ended,
        }
    }

    fn int(&mut self, i: isize) -> PyResult<()> {
        let extent = self.view.shape[self.axis];
        let at = wrap_index(i, extent, self.axis)?;
        self.offset += at as isize * self.view.strides[self.axis];
        self.axis += 1;
        if self.any_advanced {
            self.mark();
        }
        Ok(())
    }

    fn slice(&mut self, s: &Bound<'_, PySlice>) -> PyResult<()> {
        let (extent, stride) = (self.view.shape[self.axis], self.view.strides[self.axis]);
        let r = s.indices(extent as isize)?;
        if r.slicelength > 0 {
            self.offset += r.start * stride;
        }
        // An empty or single-element axis never steps, so its stride must not overflow.
        self.keep(r.slicelength, stride.wrapping_mul(r.step));
        self.axis += 1;
        Ok(())
    }

    fn advanced(&mut self, shape: &[usize]) {
        self.mark();
        self.index_shapes.push(SmallVec::from_slice(shape));
    }

    fn pick(&mut self, index: Array) {
        self.advanced(&index.view.shape.clone());
        let (extent, stride) = (self.view.shape[self.axis], self.view.strides[self.axis]);
        self.picked.push(Picked { index, axis: self.axis, extent, stride });
        self.axis += 1;
    }

    fn mask(&mut self, py: Python<'_>, mask: &Array) -> PyResult<()> {
        let mut mask = mask.clone();
        errors::resolve(py, &mut mask)?;
        for (k, &m) in mask.view.shape.iter().enumerate() {
            check_mask_axis(self.axis + k, self.view.shape[self.axis + k], m)?;
        }
        let indices = record::nonzero(&mask, || provenance::here(py)).map_err(|e| errors::raise(py, e))?;
        for mut index in indices {
            errors::resolve(py, &mut index)?;
            self.pick(index);
        }
        Ok(())
    }

    fn finish(self, items: &[Item<'_>]) -> PyResult<Plan> {
        let index_shape = if self.any_advanced {
            let shapes = self.index_shapes.iter().map(|s| s.as_slice());
            Some(broadcast_shapes(shapes).ok_or_else(|| {
                let all: String = self.index_shapes.iter().map(|s| format!("{} ", shape_text(s))).collect();
                PyIndexError::new_err(format!(
                    "shape mismatch: indexing arrays could not be broadcast together with shapes {all}"
                ))
            })?)
        } else {
            None
        };
        check_limits(&self, index_shape.as_deref())?;
        let picks = index_shape.as_deref().filter(|shape| !shape.contains(&UNSIZED));
        if picks.is_some_and(|shape| checked_size(shape).is_none()) {
            return Err(PyValueError::new_err("iterator is too large"));
        }
        Ok(Plan {
            rest: View {
                dtype: self.view.dtype,
                offset: self.offset as usize,
                shape: self.shape,
                strides: self.strides,
            },
            picked: self.picked,
            index_shape,
            place: if self.split { 0 } else { self.run.unwrap_or(0) },
            is_element: items.iter().all(|i| matches!(i, Item::Int(_))) && items.len() == self.view.ndim(),
        })
    }
}

/// NumPy's limits on dimensions and on advanced indices.
fn check_limits(b: &Builder<'_>, index_shape: Option<&[usize]>) -> PyResult<()> {
    let (ndim, advanced) = (b.shape.len() + index_shape.map_or(0, <[usize]>::len), b.index_shapes.len());
    let message = match () {
        _ if ndim > 64 => {
            format!("number of dimensions must be within [0, 64], indexing result would have {ndim}")
        }
        _ if advanced > 64 => "too many advanced (array) indices. This probably means you are indexing with too many booleans. (more than 64 found)".to_owned(),
        _ if advanced > 63 && b.shape.iter().all(|&d| d == 1) => {
            format!("when no subspace is given, the number of index arrays cannot be above 63, but {advanced} index arrays found")
        }
        _ => return Ok(()),
    };
    Err(PyIndexError::new_err(message))
}

/// A Python index into an axis, wrapped once; NumPy's IndexError when it lies outside.
#[inline]
pub fn wrap_index(i: isize, extent: usize, axis: usize) -> PyResult<usize> {
    let at = if i < 0 { i.wrapping_add(extent as isize) } else { i };
    if at < 0 || at as usize >= extent {
        return Err(PyIndexError::new_err(format!("index {i} is out of bounds for axis {axis} with size {extent}")));
    }
    Ok(at as usize)
}

fn check_mask_axis(axis: usize, extent: usize, mask: usize) -> PyResult<()> {
    // NumPy takes a mask of no elements for any extent.
    if extent != mask && mask != 0 {
        return Err(PyIndexError::new_err(format!(
            "boolean index did not match indexed array along axis {axis}; size of axis is {extent} but size of corresponding boolean axis is {mask}"
        )));
    }
    Ok(())
}

/// Index arrays of up to this many elements are checked in the call when they are there.
const CHECKED_AT_ONCE: usize = 4096;

impl Plan {
    /// The view, when there is no advanced part.
    pub fn basic(&self) -> Option<&View> {
        if self.index_shape.is_none() { Some(&self.rest) } else { None }
    }

    pub fn has_picked(&self) -> bool {
        !self.picked.is_empty()
    }

    /// The view without picked axes whose only advanced parts are boolean scalars.
    pub fn flagged(&self) -> Option<View> {
        let extents = self.index_shape.as_ref()?;
        let mut v = self.rest.clone();
        for (k, &d) in extents.iter().enumerate() {
            v.shape.insert(self.place + k, d);
            v.strides.insert(self.place + k, 0);
        }
        Some(v)
    }

    fn index_ndim(&self) -> usize {
        self.index_shape.as_ref().map_or(0, |s| s.len())
    }

    /// The picked axes first, then the rest: what a gather reads and a scatter writes.
    pub fn base(&self) -> View {
        let mut v = self.rest.clone();
        for (k, p) in self.picked.iter().enumerate() {
            v.shape.insert(k, p.extent);
            v.strides.insert(k, p.stride);
        }
        v
    }

    /// Numbers of the picked axes, for errors.
    pub fn axes(&self) -> Dims {
        self.picked.iter().map(|p| p.axis).collect()
    }

    /// The index arrays, broadcast to their common shape.
    pub fn indices(&self) -> SmallVec<[Array; 2]> {
        let shape = self.index_shape.as_deref().unwrap_or(&[]);
        self.picked
            .iter()
            .map(|p| match p.index.view.broadcast_to(shape) {
                Some(v) => p.index.with_view(v),
                None => p.index.clone(),
            })
            .collect()
    }

    /// Index axes first, then the rest.
    pub fn gathered_shape(&self) -> Dims {
        let mut shape = self.index_shape.clone().unwrap_or_default();
        shape.extend_from_slice(&self.rest.shape);
        shape
    }

    /// Index axes outermost, then the rest in the order in which it lies in memory, as NumPy lays it out. Without
    /// a rest the index axes lie as they do in the index arrays.
    pub fn gathered_layout(&self) -> View {
        let rest = self.rest.dense_like(self.rest.dtype);
        let mut v = View::dense(rest.dtype, &self.gathered_shape(), Order::C);
        let n = self.index_ndim();
        v.strides[n..].copy_from_slice(&rest.strides);
        if n > 1 && rest.size() == 1 {
            let indices = self.indices();
            let operands: SmallVec<[&Strides; 2]> = indices.iter().map(|i| &i.view.strides).collect();
            let strides = keep_order_strides(rest.dtype.size(), &v.shape[..n], &operands);
            v.strides[..n].copy_from_slice(&strides);
        }
        v
    }

    /// The axes of a gathered array with the index axes from the outermost in memory inwards; `None` where they lie so.
    pub fn index_order(&self, layout: &View) -> Option<Dims> {
        let n = self.index_ndim();
        if layout.strides[..n].is_sorted_by(|a, b| a >= b) {
            return None;
        }
        let mut axes: Dims = (0..layout.ndim()).collect();
        axes[..n].sort_by_key(|&a| std::cmp::Reverse(layout.strides[a]));
        Some(axes)
    }

    /// Axis `i` of the result is axis `perm[i]` of the gathered array.
    pub fn result_axes(&self) -> Dims {
        let n = self.index_ndim();
        let mut perm: Dims = (n..n + self.place).collect();
        perm.extend(0..n);
        perm.extend(n + self.place..n + self.rest.ndim());
        perm
    }

    /// Raises for indices out of bounds where looking costs no wait; the rest is checked as it runs.
    pub fn check_bounds(&self, py: Python<'_>) -> PyResult<()> {
        if self.index_shape.as_ref().is_some_and(|s| s.contains(&0)) {
            return Ok(());
        }
        for p in &self.picked {
            check_ready(py, &p.index, p.extent, p.axis)?;
        }
        Ok(())
    }
}

/// Raises for an int64 index out of bounds if the indices are few and there.
pub fn check_ready(py: Python<'_>, index: &Array, extent: usize, axis: usize) -> PyResult<()> {
    if extent == 0 && index.view.size() > 0 {
        // Not even the first one lies inside.
        let first = View { shape: Dims::new(), strides: Strides::new(), ..index.view.clone() };
        let first = convert::value_of(py, &index.with_view(first))?;
        return wrap_index(first.to_i128() as isize, extent, axis).map(|_| ());
    }
    if index.view.size() > CHECKED_AT_ONCE || !record::is_ready(index) {
        return Ok(());
    }
    let _still = record::still();
    let data = record::data(index).map_err(|e| errors::raise(py, e))?;
    // SAFETY: the array is ready and the offset lies inside its view.
    let at = |offset: isize| unsafe { data.offset(offset).cast::<i64>().read_unaligned() };
    let is_outside = |i: i64| (i as u64).wrapping_add(extent as u64) >= 2 * extent as u64;
    // A row at a time, without looking where: nearly always all are inside.
    let (mut rows, mut is_any_outside) = (index.view.clone(), false);
    let (n, step) = (rows.shape.pop().unwrap_or(1), rows.strides.pop().unwrap_or(0));
    each_offset(&rows, |row| {
        is_any_outside |= match step {
            8 => (0..n as isize).fold(false, |any, k| any | is_outside(at(row + 8 * k))),
            _ => (0..n as isize).fold(false, |any, k| any | is_outside(at(row + step * k))),
        };
        Ok(())
    })?;
    if !is_any_outside {
        return Ok(());
    }
    each_offset(&index.view, |offset| wrap_index(at(offset) as isize, extent, axis).map(|_| ()))
}

/// Calls `f` with the byte offset of every element from the view's first, in C order.
pub fn each_offset(view: &View, mut f: impl FnMut(isize) -> PyResult<()>) -> PyResult<()> {
    if view.shape.contains(&0) {
        return Ok(());
    }
    let mut at: Dims = SmallVec::from_elem(0, view.ndim());
    let mut offset = 0isize;
    loop {
        f(offset)?;
        let mut k = view.ndim();
        loop {
            if k == 0 {
                return Ok(());
            }
            k -= 1;
            at[k] += 1;
            offset += view.strides[k];
            if at[k] < view.shape[k] {
                break;
            }
            offset -= view.strides[k] * view.shape[k] as isize;
            at[k] = 0;
        }
    }
}
