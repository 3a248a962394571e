//! Plain indexing of small things at once: `x[i]`, `x[a:b, None]`, `x[mask]`, `x[indices]`, and writing to all but masks.
//! Whatever does not fit is `None`, and the general path does it.

use crate::handle::{self, NdArray};
use crate::numpy_api::api;
use crate::quick::peek;
use crate::short_changing::fill_where;
use crate::{convert, errors, lists, provenance, quick_places};
use numloom_ir::{DType, Value, View};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyList};
use smallvec::SmallVec;
use std::sync::Arc;

/// One part of an index, before it is held against an axis.
#[derive(Clone, Copy)]
pub enum Plain {
    Int(isize),
    Slice { start: isize, stop: isize, step: isize },
    NewAxis,
    Ellipsis,
}

impl Plain {
    /// Reading a slice may run Python code, so this comes before any `peek`.
    #[inline]
    pub fn read(index: *mut ffi::PyObject) -> Option<Plain> {
        // SAFETY: the object is a Python int where it is read as one, a slice where it is read as one.
        unsafe {
            if ffi::PyLong_CheckExact(index) != 0 {
                let mut overflow = 0;
                let i = ffi::PyLong_AsLongLongAndOverflow(index, &mut overflow) as isize;
                return (overflow == 0).then_some(Plain::Int(i));
            }
            if ffi::PySlice_Check(index) != 0 {
                let (mut start, mut stop, mut step) = (0, 0, 0);
                if ffi::PySlice_Unpack(index, &mut start, &mut stop, &mut step) != 0 {
                    // The general path meets the same error.
                    ffi::PyErr_Clear();
                    return None;
                }
                return Some(Plain::Slice { start, stop, step });
            }
            if index == ffi::Py_None() {
                return Some(Plain::NewAxis);
            }
            if index == ffi::Py_Ellipsis() {
                return Some(Plain::Ellipsis);
            }
            // Whoever reads an index is attached.
            let py = Python::assume_attached();
            let number = api(py).scalar_value(&Borrowed::from_ptr(py, index)).filter(|v| v.dtype.is_integer())?;
            isize::try_from(number.to_i128()).ok().map(Plain::Int)
        }
    }
}

/// Indices of more parts than this go the general way.
const MOST: usize = 6;

/// The parts of a tuple.
struct Parts {
    list: [Plain; MOST],
    count: usize,
}

impl Parts {
    const NONE: Parts = Parts { list: [Plain::NewAxis; MOST], count: 0 };

    /// False where a part is not plain.
    fn read(&mut self, tuple: *mut ffi::PyObject) -> bool {
        // SAFETY: the caller's tuple.
        unsafe {
            self.count = ffi::PyTuple_Size(tuple) as usize;
            self.count <= MOST
                && self.list[..self.count]
                    .iter_mut()
                    .enumerate()
                    .all(|(i, part)| Plain::read(ffi::PyTuple_GetItem(tuple, i as isize)).map(|p| *part = p).is_some())
        }
    }

    fn as_slice(&self) -> &[Plain] {
        &self.list[..self.count]
    }
}

#[inline]
fn is_tuple(index: &Bound<'_, PyAny>) -> bool {
    // SAFETY: a live object.
    unsafe { ffi::PyTuple_CheckExact(index.as_ptr()) != 0 }
}

/// Where an index lies along an axis, in bytes.
#[inline]
pub fn at(i: isize, extent: usize, stride: isize) -> Option<isize> {
    let at = if i < 0 { i + extent as isize } else { i };
    (at >= 0 && (at as usize) < extent).then(|| at * stride)
}

/// The first element and the number of elements of a slice along an axis.
#[inline]
pub fn clipped(start: isize, stop: isize, step: isize, extent: usize) -> (isize, usize) {
    let n = extent as isize;
    // Beyond the ends lies the end, for a step backwards the place before the first.
    let (low, high) = if step < 0 { (-1, n - 1) } else { (0, n) };
    let clip = |i: isize| if i < 0 { (i + n).max(low) } else { i.min(high) };
    let (start, stop) = (clip(start), clip(stop));
    let (from, to) = if step < 0 { (stop, start) } else { (start, stop) };
    let steps = match (to - from, step) {
        (..=0, _) => 0,
        (distance, 1) => distance as usize,
        (distance, _) => (distance as usize - 1) / step.unsigned_abs() + 1,
    };
    (start, steps)
}

/// The layout that an index gives a view, of few enough dimensions to be written down here.
struct Picked {
    offset: usize,
    shape: [usize; 4],
    strides: [isize; 4],
    ndim: usize,
}

impl Picked {
    #[inline]
    fn push(&mut self, extent: usize, stride: isize) -> Option<()> {
        *self.shape.get_mut(self.ndim)? = extent;
        self.strides[self.ndim] = stride;
        self.ndim += 1;
        Some(())
    }

    #[inline]
    fn put(&self, view: &mut View) {
        view.offset = self.offset;
        view.shape = SmallVec::from_buf_and_len(self.shape, self.ndim);
        view.strides = SmallVec::from_buf_and_len(self.strides, self.ndim);
    }
}

/// Where the element lies that an integer for every axis selects, in bytes from the view's first.
#[inline]
fn element_at(parts: &[Plain], view: &View) -> Option<isize> {
    let (shape, strides) = (view.shape.as_slice(), view.strides.as_slice());
    if parts.len() != shape.len() || parts.len() != strides.len() {
        return None;
    }
    let mut offset = 0;
    for (i, part) in parts.iter().enumerate() {
        let Plain::Int(index) = part else { return None };
        offset += at(*index, shape[i], strides[i])?;
    }
    Some(offset)
}

/// The part of one or more dimensions that an index selects; `None` for whatever is out of bounds, too much, or better
/// left to the general path.
fn pick(parts: &[Plain], view: &View) -> Option<Picked> {
    let (shape, strides) = (view.shape.as_slice(), view.strides.as_slice());
    let used = parts.iter().filter(|p| matches!(p, Plain::Int(_) | Plain::Slice { .. })).count();
    let mut skipped = shape.len().checked_sub(used)?;
    let mut out = Picked { offset: view.offset, shape: [0; 4], strides: [0; 4], ndim: 0 };
    let (mut axis, mut ellipses) = (0, 0);
    let mut skip = |out: &mut Picked, axis: &mut usize| {
        for _ in 0..std::mem::take(&mut skipped) {
            out.push(shape[*axis], strides[*axis])?;
            *axis += 1;
        }
        Some(())
    };
    for p in parts {
        match *p {
            Plain::Int(i) => {
                out.offset = out.offset.wrapping_add_signed(at(i, shape[axis], strides[axis])?);
                axis += 1;
            }
            Plain::Slice { start, stop, step } => {
                let (first, len) = clipped(start, stop, step, shape[axis]);
                if len > 0 {
                    out.offset = out.offset.wrapping_add_signed(first * strides[axis]);
                }
                out.push(len, strides[axis].wrapping_mul(step))?;
                axis += 1;
            }
            Plain::NewAxis => out.push(1, 0)?,
            Plain::Ellipsis => {
                ellipses += 1;
                skip(&mut out, &mut axis)?;
            }
        }
    }
    skip(&mut out, &mut axis)?;
    (ellipses <= 1 && out.ndim > 0).then_some(out)
}

/// Cuts the first axis down to a slice of it.
#[inline]
fn cut(view: &mut View, start: isize, stop: isize, step: isize) {
    let (Some(extent), Some(stride)) = (view.shape.first_mut(), view.strides.first_mut()) else { return };
    let (first, len) = clipped(start, stop, step, *extent);
    if len > 0 {
        view.offset = (view.offset as isize + first * *stride) as usize;
    }
    *extent = len;
    *stride = stride.wrapping_mul(step);
}

/// Leaves out the first axis: what begins so many bytes behind the first element.
#[inline]
pub fn row(view: &mut View, skipped: isize) {
    view.offset = view.offset.wrapping_add_signed(skipped);
    let rest = view.shape.len() - 1;
    for axis in 0..rest {
        view.shape[axis] = view.shape[axis + 1];
        view.strides[axis] = view.strides[axis + 1];
    }
    view.shape.truncate(rest);
    view.strides.truncate(rest);
}

/// `x[index]`.
#[inline]
pub fn get(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let py = x.py();
    if is_tuple(index) {
        return get_tuple(x, index);
    }
    // SAFETY: nothing is done with the contents.
    let plain = if unsafe { peek(index) }.is_some() { None } else { Plain::read(index.as_ptr()) };
    // SAFETY: nothing below runs Python code before the arrays are done with.
    let this = unsafe { peek(x.as_any())? };
    let array = &this.array;
    if array.symbol().is_some() {
        return None;
    }
    match plain {
        Some(Plain::Int(i)) if array.view.ndim() == 1 => {
            element(py, array, at(i, *array.view.shape.first()?, *array.view.strides.first()?)?)
        }
        Some(Plain::Slice { start, stop, step }) if array.view.ndim() > 0 => {
            Some(handle::wrap_changed(py, x, this, |view| cut(view, start, stop, step)))
        }
        Some(Plain::Int(i)) if array.view.ndim() > 1 => {
            let skipped = at(i, *array.view.shape.first()?, *array.view.strides.first()?)?;
            Some(handle::wrap_changed(py, x, this, |view| row(view, skipped)))
        }
        Some(Plain::NewAxis) if array.view.ndim() == 1 => Some(handle::wrap_changed(py, x, this, |view| {
            view.shape.insert(0, 1);
            view.strides.insert(0, 0);
        })),
        Some(Plain::Ellipsis) if array.view.ndim() > 0 => Some(handle::wrap_changed(py, x, this, |_| ())),
        Some(plain) => picked(x, this, &[plain]),
        None => selected(x, array, index),
    }
}

#[inline]
fn element(py: Python<'_>, array: &Array, at: isize) -> Option<PyResult<Py<PyAny>>> {
    let value = record::read_element(array, at)?;
    Some(api(py).make_scalar(py, &value))
}

/// Where the element lies that integers, one for every axis, select.
pub fn place(view: &View, parts: &[isize]) -> Option<isize> {
    let parts: SmallVec<[Plain; 4]> = parts.iter().map(|&i| Plain::Int(i)).collect();
    element_at(&parts, view)
}

fn get_tuple(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let mut parts = Parts::NONE;
    if !parts.read(index.as_ptr()) {
        return quick_places::get(x, index);
    }
    // SAFETY: as in `get`.
    let this = unsafe { peek(x.as_any())? };
    if this.array.symbol().is_some() {
        return None;
    }
    picked(x, this, parts.as_slice())
}

fn picked(x: &Bound<'_, NdArray>, this: &NdArray, parts: &[Plain]) -> Option<PyResult<Py<PyAny>>> {
    if let Some(at) = element_at(parts, &this.array.view) {
        return element(x.py(), &this.array, at);
    }
    let part = pick(parts, &this.array.view)?;
    Some(handle::wrap_changed(x.py(), x, this, |view| part.put(view)))
}

/// `x[index]` of a mask or an array of indices.
fn selected(x: &Bound<'_, NdArray>, array: &Array, index: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    if array.view.ndim() != 1 {
        // SAFETY: as in `get`.
        let is_mask = unsafe { peek(index) }.is_some_and(|i| i.array.view.dtype == DType::Bool);
        if !is_mask {
            return quick_places::get(x, index);
        }
    }
    if let Some(places) = listed(index) {
        return record::take_small(array, &places).map(|made| handle::wrap(x.py(), made));
    }
    // SAFETY: as in `get`.
    let chosen = unsafe { peek(index)? };
    let made = match chosen.array.view.dtype {
        DType::Bool => match record::pack_small(array, &chosen.array) {
            Some(made) => made,
            None if record::is_deferred(array) || record::is_deferred(&chosen.array) => return packed(x, index),
            None => return None,
        },
        dtype if dtype.is_integer() => record::take_small(array, &chosen.array)?,
        _ => return None,
    };
    Some(handle::wrap(x.py(), made))
}

/// The longest list that is read as indices here.
const SHORT_LIST: usize = 64;

/// A short list of Python's ints as an array of indices.
pub fn listed(index: &Bound<'_, PyAny>) -> Option<Array> {
    let list = index.cast_exact::<PyList>().ok().filter(|l| (1..=SHORT_LIST).contains(&l.len()))?;
    let mut places: SmallVec<[i64; 8]> = SmallVec::new();
    for item in list.iter() {
        match Plain::read(item.as_ptr()) {
            Some(Plain::Int(i)) => places.push(i as i64),
            _ => return None,
        }
    }
    let (array, to) = record::to_fill("index", DType::I64, SmallVec::from_slice(&[places.len()]))?;
    // SAFETY: room for so many int64.
    unsafe { std::ptr::copy_nonoverlapping(places.as_ptr(), to.cast(), places.len()) };
    Some(array)
}

/// `x[mask]` of a mask of x's shape, recorded.
fn packed(x: &Bound<'_, NdArray>, mask: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let py = x.py();
    // Looking for the user's line may run Python code, so it comes before the operands.
    let at = provenance::here(py);
    // SAFETY: nothing below runs Python code before the arrays are done with.
    let (x, mask) = unsafe { (&peek(x.as_any())?.array, &peek(mask)?.array) };
    if x.symbol().is_some() || mask.symbol().is_some() || mask.view.shape != x.view.shape {
        return None;
    }
    let made = record::pack(x, mask, || at);
    Some(made.map_err(|e| errors::raise(py, e)).and_then(|packed| handle::wrap(py, packed)))
}

/// `x[mask] = values` with values packed with the same mask, recorded.
fn unpacked(x: &Bound<'_, NdArray>, mask: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> Option<PyResult<()>> {
    // SAFETY: as in `packed`.
    let is_packed = unsafe { peek(values)?.array.symbol().is_some() };
    if !is_packed {
        return None;
    }
    let py = x.py();
    let at = provenance::here(py);
    // SAFETY: as in `packed`.
    let (x, mask, values) = unsafe { (peek(x.as_any())?, &peek(mask)?.array, &peek(values)?.array) };
    let fits = x.writeable
        && x.array.symbol().is_none()
        && mask.symbol().is_none()
        && mask.view.dtype == DType::Bool
        && mask.view.shape == x.array.view.shape
        && values.symbol().is_some()
        && values.view.dtype == x.array.view.dtype
        && record::same_mask(values, mask);
    // Nothing is cast here that could raise a flag.
    fits.then(|| record::unpack(&x.array, mask, values, || at).map(|_| ()).map_err(|e| errors::raise(py, e)))
}

/// `x[index] = value`.
#[inline]
pub fn set(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Option<PyResult<()>> {
    if is_tuple(index) {
        let mut parts = Parts::NONE;
        let done = match parts.read(index.as_ptr()) {
            true => set_plain(x, parts.as_slice(), value),
            false => quick_places::set(x, index, value),
        };
        return done.then_some(Ok(()));
    }
    // SAFETY: nothing is done with the contents.
    let plain = if unsafe { peek(index) }.is_some() { None } else { Plain::read(index.as_ptr()) };
    match plain {
        Some(plain) => set_plain(x, &[plain], value).then_some(Ok(())),
        None if set_places(x, index, value) || quick_places::set(x, index, value) => Some(Ok(())),
        None => unpacked(x, index, value),
    }
}

/// `x[indices] = value`, of one axis.
fn set_places(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> bool {
    let listed = listed(index);
    // SAFETY: as in `get`.
    let (this, given) = unsafe { (peek(x.as_any()), peek(index)) };
    let (Some(this), Some(index)) = (this, listed.as_ref().or(given.map(|g| &g.array))) else { return false };
    if !this.writeable || index.symbol().is_some() {
        return false;
    }
    let dtype = this.array.view.dtype;
    if index.view.dtype == DType::Bool {
        // SAFETY: as in `get`.
        return match unsafe { peek(value) } {
            Some(values) => record::unpack_small(&this.array, index, &values.array),
            None => number(value, dtype).is_some_and(|value| fill_where(this, index, &value)),
        };
    }
    if !index.view.dtype.is_integer() {
        return false;
    }
    let assigned = lists::assigned(value, dtype).filter(|made| made.view.shape == index.view.shape);
    // SAFETY: as in `get`.
    let value = match (unsafe { peek(value) }, &assigned) {
        (Some(values), _) => Some(Operand::Array(&values.array)),
        (None, Some(made)) => Some(Operand::Array(made)),
        (None, None) => number(value, dtype).map(Operand::Value),
    };
    value.is_some_and(|value| record::put_small(&this.array, index, &value))
}

/// A number that an array of `dtype` holds as it is.
#[inline]
pub fn number(value: &Bound<'_, PyAny>, dtype: DType) -> Option<Value> {
    let numpy = api(value.py());
    if dtype == DType::F64 && numpy.is_double(value) {
        // SAFETY: a float, or NumPy's double, which is one.
        return Some(Value::from_f64(DType::F64, unsafe { ffi::PyFloat_AsDouble(value.as_ptr()) }));
    }
    if let Some(v) = numpy.scalar_value(value) {
        return Some(v).filter(|v| v.dtype == dtype);
    }
    small_int(value, dtype).or_else(|| rounded(value, dtype))
}

/// A float or a bool of Python's in the other types that hold it, if they do so without a word.
fn rounded(value: &Bound<'_, PyAny>, dtype: DType) -> Option<Value> {
    if let Ok(flag) = value.cast_exact::<PyBool>() {
        return (dtype == DType::Bool).then(|| Value::from_i128(DType::Bool, flag.is_true() as i128));
    }
    let (re, im) = match value.cast_exact::<PyComplex>() {
        Ok(z) if dtype.is_complex() => (z.real(), z.imag()),
        Ok(_) => return None,
        Err(_) => (value.cast_exact::<PyFloat>().ok()?.value(), 0.0),
    };
    let fits = |x: f64| x == 0.0 || !x.is_finite() || (x as f32).is_normal();
    match dtype {
        DType::F32 | DType::C64 if fits(re) && fits(im) => Some(Value::from_complex(dtype, re, im)),
        DType::C128 => Some(Value::from_complex(dtype, re, im)),
        _ => None,
    }
}

fn set_plain(x: &Bound<'_, NdArray>, parts: &[Plain], value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: as in `get`.
    let Some(this) = (unsafe { peek(x.as_any()) }) else { return false };
    let array = &this.array;
    if !this.writeable || array.symbol().is_some() {
        return false;
    }
    if let Some(at) = element_at(parts, &array.view) {
        if array.view.dtype == DType::F64 && api(value.py()).is_double(value) {
            // SAFETY: as in `number`.
            let value = unsafe { ffi::PyFloat_AsDouble(value.as_ptr()) };
            return record::write_bytes(array, at, &value.to_ne_bytes());
        }
        return number(value, array.view.dtype).is_some_and(|v| record::write_element(array, at, &v));
    }
    let Some(part) = pick(parts, &array.view) else { return false };
    let mut to = array.clone();
    part.put(&mut to.view);
    // SAFETY: as in `get`.
    match unsafe { peek(value) } {
        None => match number(value, array.view.dtype) {
            Some(v) => copy(Operand::Value(v), &to),
            None => {
                let made = lists::assigned(value, array.view.dtype).filter(|made| made.view.shape == to.view.shape);
                made.is_some_and(|made| copy(Operand::Array(&made), &to))
            }
        },
        // What `x[1:] += y` comes to in the end.
        Some(from) if Arc::ptr_eq(&from.array.store, &to.store) && from.array.view == to.view => true,
        Some(from) => {
            let alike = from.array.view.shape == to.view.shape && from.array.view.dtype == to.view.dtype;
            alike && copy(Operand::Array(&from.array), &to)
        }
    }
}

fn copy(from: Operand<'_>, to: &Array) -> bool {
    matches!(record::run_small(MapOp::Copy, &[from], to), Some(Ok(0)))
}

/// A Python int that an array of integers or of double precision holds exactly.
fn small_int(value: &Bound<'_, PyAny>, dtype: DType) -> Option<Value> {
    if !value.is_exact_instance_of::<pyo3::types::PyInt>() || !(dtype.is_integer() || dtype == DType::F64) {
        return None;
    }
    let v = convert::small_int(value).ok().flatten()?;
    let made = Value::from_i128(dtype, v);
    (made.to_i128() == v).then_some(made)
}
