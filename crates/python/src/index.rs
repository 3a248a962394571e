//! Reading `x[index]`: what an index means, and the view, packed array or gather it gives.

use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::numpy_api::api;
use crate::{convert, errors, provenance};
use numloom_ir::view::{Order, broadcast_shapes};
use numloom_ir::{DType, Dims, Strides, View};
use numloom_library::{Mode, Take};

use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySequence, PySlice, PyTuple};
use smallvec::SmallVec;

/// One part of an index.
pub enum Item<'py> {
    Int(isize),
    Slice(Bound<'py, PySlice>),
    Ellipsis,
    NewAxis,
    /// A boolean array of one or more dimensions.
    Mask(Array),
    /// A boolean scalar: a new axis of extent 0 or 1.
    Flag(bool),
    /// An integer array of one or more dimensions.
    Indices(Array),
}

pub type Items<'py> = SmallVec<[Item<'py>; 4]>;

const INVALID: &str = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices";

/// The parts of an index, and whether a 0-d array stood for an integer (the result is then a copy).
pub fn parse<'py>(index: &Bound<'py, PyAny>) -> PyResult<(Items<'py>, bool)> {
    let mut items = Items::new();
    let mut from_array = false;
    match index.cast::<PyTuple>() {
        Ok(tuple) => {
            for part in tuple.iter_borrowed() {
                items.push(item(&part, &mut from_array)?);
            }
        }
        Err(_) => items.push(item(index, &mut from_array)?),
    }
    Ok((items, from_array))
}

#[inline]
fn item<'py>(part: &Bound<'py, PyAny>, from_array: &mut bool) -> PyResult<Item<'py>> {
    if part.is_exact_instance_of::<PyInt>() {
        return int_item(part);
    }
    if let Ok(s) = part.cast_exact::<PySlice>() {
        return Ok(Item::Slice(s.clone()));
    }
    if part.is_none() {
        return Ok(Item::NewAxis);
    }
    if part.is_exact_instance_of::<PyEllipsis>() {
        return Ok(Item::Ellipsis);
    }
    if let Ok(b) = part.cast_exact::<PyBool>() {
        return Ok(Item::Flag(b.is_true()));
    }
    if let Ok(a) = part.cast_exact::<NdArray>() {
        let a = a.borrow();
        if a.array.view.ndim() > 0 && a.array.view.dtype == DType::Bool {
            return Ok(Item::Mask(a.array.clone()));
        }
        if a.array.view.ndim() > 0 && a.array.view.dtype.is_integer() {
            return Ok(Item::Indices(a.array.clone()));
        }
    }
    array_item(part, from_array)
}

fn int_item<'py>(part: &Bound<'py, PyAny>) -> PyResult<Item<'py>> {
    let py = part.py();
    // SAFETY: a plain call; the error is fetched.
    let v = unsafe { ffi::PyNumber_AsSsize_t(part.as_ptr(), std::ptr::null_mut()) };
    if v == -1 && PyErr::occurred(py) {
        let e = PyErr::fetch(py);
        return Err(if e.is_instance_of::<PyOverflowError>(py) { e } else { PyIndexError::new_err(INVALID) });
    }
    // NumPy clips nothing: an int beyond the address space is no index at all.
    if (v == isize::MAX || v == isize::MIN) && convert::small_int(part).ok().flatten() != Some(v as i128) {
        return Err(PyIndexError::new_err(INVALID));
    }
    Ok(Item::Int(v))
}

#[cold]
fn array_item<'py>(part: &Bound<'py, PyAny>, from_array: &mut bool) -> PyResult<Item<'py>> {
    let py = part.py();
    let numpy = api(py);
    if let Some(v) = numpy.scalar_value(part) {
        return match v.dtype {
            DType::Bool => Ok(Item::Flag(v.bytes[0] != 0)),
            d if d.is_integer() => int_item(part),
            _ => Err(PyIndexError::new_err(INVALID)),
        };
    }
    let is_array = handle::as_ndarray(part).is_some() || handle::as_scalar(part).is_some() || numpy.is_array(part);
    if !is_array && part.hasattr("__index__")? {
        return int_item(part);
    }
    if !is_array && (part.cast::<PySequence>().is_err() || part.is_instance_of::<pyo3::types::PyString>()) {
        let numeric = part.is_instance_of::<pyo3::types::PyFloat>() || !part.hasattr("__array__")?;
        if numeric {
            return Err(PyIndexError::new_err(INVALID));
        }
    }
    let array = match convert::array(part) {
        Ok(a) => a,
        Err(e) if errors::is_unsupported(py, &e) => return Err(not_integer(is_array)),
        Err(e) => return Err(e),
    };
    match array.view.dtype {
        DType::Bool if array.view.ndim() == 0 => Ok(Item::Flag(convert::value_of(py, &array)?.bytes[0] != 0)),
        DType::Bool => Ok(Item::Mask(array)),
        d if d.is_integer() && array.view.ndim() == 0 => {
            *from_array |= handle::as_scalar(part).is_none();
            Ok(Item::Int(convert::value_of(py, &array)?.to_i128() as isize))
        }
        d if d.is_integer() => Ok(Item::Indices(array)),
        // An empty list has no type of its own.
        _ if !is_array && array.view.size() == 0 => Ok(Item::Indices(as_int64(py, &array)?)),
        _ => Err(not_integer(is_array)),
    }
}

fn not_integer(is_array: bool) -> PyErr {
    PyIndexError::new_err(if is_array {
        "arrays used as indices must be of integer (or boolean) type"
    } else {
        INVALID
    })
}

/// The array as int64.
pub fn as_int64(py: Python<'_>, a: &Array) -> PyResult<Array> {
    cast(py, a, DType::I64)
}

/// The array in another type: itself, or a new one.
pub fn cast(py: Python<'_>, a: &Array, to: DType) -> PyResult<Array> {
    if a.view.dtype == to { Ok(a.clone()) } else { copy_as(py, a, a.view.dense_like(to)) }
}

/// A new array of layout `view` with the elements of `a`; of unknown length if `a` is.
pub fn copy_as(py: Python<'_>, a: &Array, view: View) -> PyResult<Array> {
    let watch = Watch::new(py);
    let out = match a.symbol() {
        Some(_) => record::empty_packed(a, view.dtype, || provenance::here(py)),
        None => record::empty_view(view, || provenance::here(py)),
    };
    let out = out.map_err(|e| errors::raise(py, e))?;
    let flags = record::map(MapOp::Copy, &[Operand::Array(a)], &[&out], None, || watch.here());
    watch.finish(flags.map_err(|e| errors::raise(py, e))?, "cast", &out)?;
    Ok(out)
}

pub fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",")),
    }
}

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
                b.pick(as_int64(py, &a)?);
            }
            Item::Mask(m) => b.mask(py, m)?,
        }
    }
    let left = ndim - b.axis;
    b.rest(left);
    b.finish(items)
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
    if extent != mask {
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

    /// Index axes outermost, then the rest in the order in which it lies in memory, as NumPy lays it out.
    fn gathered_layout(&self) -> View {
        let rest = self.rest.dense_like(self.rest.dtype);
        let mut v = View::dense(rest.dtype, &self.gathered_shape(), Order::C);
        let n = self.index_ndim();
        v.strides[n..].copy_from_slice(&rest.strides);
        v
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
    if index.view.size() > CHECKED_AT_ONCE || !record::is_ready(index) {
        return Ok(());
    }
    let data = record::data(index).map_err(|e| errors::raise(py, e))?;
    each_offset(&index.view, |offset| {
        // SAFETY: the array is ready and the offset lies inside its view.
        let i = unsafe { data.offset(offset).cast::<i64>().read_unaligned() };
        wrap_index(i as isize, extent, axis).map(|_| ())
    })
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

/// The mask that an index stands for, if it selects elements by one mask of all of x: the mask itself, or the
/// arrays of its `nonzero`.
pub fn whole_mask(items: &[Item<'_>], x: &Array) -> Option<Array> {
    let mask = match items {
        [Item::Mask(m)] => m.clone(),
        _ => {
            let mut indices: SmallVec<[&Array; 4]> = SmallVec::new();
            for i in items {
                let Item::Indices(a) = i else { return None };
                indices.push(a);
            }
            if indices.len() != x.view.ndim() || indices.is_empty() {
                return None;
            }
            record::nonzero_mask(&indices)?
        }
    };
    (mask.view.shape == x.view.shape && mask.symbol().is_none() && x.symbol().is_none()).then_some(mask)
}

/// `x[index]`.
pub fn get(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = x.py();
    let array = handle::sized(x)?;
    if index.is_exact_instance_of::<PyInt>() && array.view.ndim() > 0 {
        let Item::Int(i) = int_item(index)? else { return Err(PyTypeError::new_err(INVALID)) };
        let at = wrap_index(i, array.view.shape[0], 0)?;
        let part = array.with_view(array.view.index(0, at));
        return if part.view.ndim() == 0 { element(py, &part) } else { handle::wrap_view(x, part) };
    }
    if let (Ok(s), Some(&extent)) = (index.cast_exact::<PySlice>(), array.view.shape.first()) {
        let r = s.indices(extent as isize)?;
        let mut view = array.view.clone();
        if r.slicelength > 0 {
            view.offset = (view.offset as isize + r.start * view.strides[0]) as usize;
        }
        view.shape[0] = r.slicelength;
        view.strides[0] = view.strides[0].wrapping_mul(r.step);
        return handle::wrap_view(x, array.with_view(view));
    }
    let (items, from_array) = parse(index)?;
    if let Some(mask) = whole_mask(&items, &array) {
        let packed = record::pack(&array, &mask, || provenance::here(py)).map_err(|e| errors::raise(py, e))?;
        return handle::wrap(py, packed);
    }
    let plan = plan(py, &array.view, &items)?;
    if let Some(view) = plan.basic() {
        let part = array.with_view(view.clone());
        return match (plan.is_element, from_array) {
            (true, _) => element(py, &part),
            (false, true) => handle::wrap(py, copy_as(py, &part, part.view.dense_like(part.view.dtype))?),
            (false, false) => handle::wrap_view(x, part),
        };
    }
    handle::wrap(py, gather(py, &array, &plan)?)
}

/// One element: NumPy's scalar if the value is there, else a `Scalar` of a copy, for scalars do not change
/// with the array.
fn element(py: Python<'_>, part: &Array) -> PyResult<Py<PyAny>> {
    if record::is_ready(part) {
        return api(py).make_scalar(py, &convert::ready_value(py, part)?);
    }
    let copy = copy_as(py, part, View::dense(part.view.dtype, &[], Order::C))?;
    handle::wrap_result(py, copy)
}

/// The elements an advanced index selects, as a new array.
pub fn gather(py: Python<'_>, x: &Array, plan: &Plan) -> PyResult<Array> {
    if !plan.has_picked() {
        let view = plan.flagged().unwrap_or_else(|| x.view.clone());
        let part = x.with_view(view);
        return copy_as(py, &part, plan.gathered_layout().transpose(&plan.result_axes()));
    }
    plan.check_bounds(py)?;
    let shape = plan.gathered_shape();
    let at = || provenance::here(py);
    let dtype = x.view.dtype;
    check_new_size(&shape, dtype)?;
    let out = record::empty_view(plan.gathered_layout(), at).map_err(|e| errors::raise(py, e))?;
    let base = x.with_view(plan.base());
    let indices = plan.indices();
    let mut ins: SmallVec<[&Array; 4]> = SmallVec::new();
    ins.push(&base);
    ins.extend(indices.iter());
    let op = Take::new(&plan.axes(), Mode::Raise);
    record::library(Box::new(op), &ins, &[&out], at).map_err(|e| errors::raise(py, e))?;
    let view = out.view.transpose(&plan.result_axes());
    Ok(out.with_view(view))
}

/// NumPy's refusal of arrays beyond the address space and of too many dimensions.
pub fn check_new_size(shape: &[usize], dtype: DType) -> PyResult<()> {
    use pyo3::exceptions::PyValueError;
    if shape.len() > 64 {
        let message = format!("maximum supported dimension for an ndarray is currently 64, found {}", shape.len());
        return Err(PyValueError::new_err(message));
    }
    let bytes = numloom_ir::view::checked_size(shape).and_then(|n| n.checked_mul(dtype.size()));
    match bytes {
        Some(n) if n <= isize::MAX as usize => Ok(()),
        _ => Err(PyValueError::new_err(
            "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.",
        )),
    }
}
