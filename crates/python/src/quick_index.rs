//! Plain indexing of small things at once: `x[i]`, `x[a:b, None]`, `x[mask]`, `x[indices]`, and writing to the first two.
//! Whatever does not fit is `None`, and the general path does it.

use crate::handle::{self, NdArray};
use crate::numpy_api::api;
use crate::quick::peek;
use crate::{convert, errors, provenance};
use numloom_ir::{DType, Value, View};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::ffi;
use pyo3::prelude::*;

/// One part of an index, before it is held against an axis.
#[derive(Clone, Copy)]
enum Plain {
    Int(isize),
    Slice { start: isize, stop: isize, step: isize },
    NewAxis,
    Ellipsis,
}

impl Plain {
    /// Reading a slice may run Python code, so this comes before any `peek`.
    #[inline]
    fn read(index: *mut ffi::PyObject) -> Option<Plain> {
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
            (index == ffi::Py_Ellipsis()).then_some(Plain::Ellipsis)
        }
    }
}

/// Indices of more parts than this go the general way.
const MOST: usize = 6;

/// The parts of an index.
struct Parts {
    list: [Plain; MOST],
    count: usize,
}

impl Parts {
    #[inline]
    fn read(index: &Bound<'_, PyAny>) -> Option<Parts> {
        let index = index.as_ptr();
        // SAFETY: a live object, read as a tuple where it is one.
        unsafe {
            if ffi::PyTuple_CheckExact(index) == 0 {
                return Some(Parts { list: [Plain::read(index)?; MOST], count: 1 });
            }
            let count = ffi::PyTuple_Size(index) as usize;
            if count > MOST {
                return None;
            }
            let mut list = [Plain::NewAxis; MOST];
            for (i, part) in list[..count].iter_mut().enumerate() {
                *part = Plain::read(ffi::PyTuple_GetItem(index, i as isize))?;
            }
            Some(Parts { list, count })
        }
    }

    /// What they select; `None` for whatever is out of bounds, too much, or better left to the general path.
    #[inline]
    fn of(&self, view: &View) -> Option<Picked> {
        match (&self.list[..self.count], view.ndim()) {
            ([Plain::Int(i)], 1) => Some(Picked::At(at(*i, view.shape[0], view.strides[0])?)),
            ([Plain::Int(i), Plain::Int(j)], 2) => {
                let row = at(*i, view.shape[0], view.strides[0])?;
                Some(Picked::At(row + at(*j, view.shape[1], view.strides[1])?))
            }
            ([Plain::Slice { start, stop, step }], 1..) => {
                let mut part = view.clone();
                let (first, len) = clipped(*start, *stop, *step, view.shape[0]);
                if len > 0 {
                    part.offset = (part.offset as isize + first * part.strides[0]) as usize;
                }
                part.shape[0] = len;
                part.strides[0] = part.strides[0].wrapping_mul(*step);
                Some(Picked::Part(part))
            }
            (parts, ndim) => pick(parts, view, ndim),
        }
    }
}

/// Where an index lies along an axis, in bytes.
#[inline]
fn at(i: isize, extent: usize, stride: isize) -> Option<isize> {
    let at = if i < 0 { i + extent as isize } else { i };
    (at >= 0 && (at as usize) < extent).then(|| at * stride)
}

/// The first element and the number of elements of a slice along an axis.
#[inline]
fn clipped(start: isize, stop: isize, step: isize, extent: usize) -> (isize, usize) {
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

/// The general case of `Parts::of`.
fn pick(parts: &[Plain], view: &View, ndim: usize) -> Option<Picked> {
    let (mut used, mut ellipses) = (0, 0);
    for p in parts {
        match p {
            Plain::Int(_) | Plain::Slice { .. } => used += 1,
            Plain::Ellipsis => ellipses += 1,
            Plain::NewAxis => {}
        }
    }
    if used > ndim || ellipses > 1 {
        return None;
    }
    let mut part =
        View { dtype: view.dtype, offset: view.offset, shape: Default::default(), strides: Default::default() };
    let (mut axis, mut offset) = (0, 0);
    for p in parts {
        match *p {
            Plain::Int(i) => {
                offset += at(i, view.shape[axis], view.strides[axis])?;
                axis += 1;
            }
            Plain::Slice { start, stop, step } => {
                let (first, len) = clipped(start, stop, step, view.shape[axis]);
                if len > 0 {
                    offset += first * view.strides[axis];
                }
                part.shape.push(len);
                part.strides.push(view.strides[axis].wrapping_mul(step));
                axis += 1;
            }
            Plain::NewAxis => {
                part.shape.push(1);
                part.strides.push(0);
            }
            Plain::Ellipsis => {
                let skipped = axis..axis + ndim - used;
                part.shape.extend_from_slice(&view.shape[skipped.clone()]);
                part.strides.extend_from_slice(&view.strides[skipped]);
                axis += ndim - used;
            }
        }
    }
    part.shape.extend_from_slice(&view.shape[axis..]);
    part.strides.extend_from_slice(&view.strides[axis..]);
    if part.shape.is_empty() {
        // With an ellipsis it is an array without dimensions, which the general path makes.
        return (ellipses == 0).then_some(Picked::At(offset));
    }
    part.offset = (part.offset as isize + offset) as usize;
    Some(Picked::Part(part))
}

enum Picked {
    /// One element, in bytes from the view's first.
    At(isize),
    /// One or more dimensions.
    Part(View),
}

/// `x[index]`.
#[inline]
pub fn get(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let py = x.py();
    let parts = Parts::read(index);
    // SAFETY: nothing below runs Python code before the arrays are done with.
    let this = unsafe { peek(x.as_any())? };
    let array = &this.array;
    if array.symbol().is_some() {
        return None;
    }
    let Some(parts) = parts else {
        return selected(x, array, index);
    };
    match parts.of(&array.view)? {
        Picked::At(at) => {
            let value = record::read_element(array, at)?;
            Some(api(py).make_scalar(py, &value))
        }
        Picked::Part(part) => Some(handle::wrap_part(py, x, this, array.with_view(part))),
    }
}

/// `x[index]` of a mask or an array of indices.
fn selected(x: &Bound<'_, NdArray>, array: &Array, index: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    // SAFETY: as in `get`.
    let chosen = unsafe { peek(index)? };
    let made = match chosen.array.view.dtype {
        DType::Bool => match record::pack_small(array, &chosen.array) {
            Some(made) => made,
            None if record::is_deferred(array) || record::is_deferred(&chosen.array) => return packed(x, index),
            None => return None,
        },
        DType::I64 => record::take_small(array, &chosen.array)?,
        _ => return None,
    };
    Some(handle::wrap(x.py(), made))
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
    fits.then(|| record::unpack(&x.array, mask, values, || at).map_err(|e| errors::raise(py, e)))
}

/// `x[index] = value`.
#[inline]
pub fn set(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Option<PyResult<()>> {
    match Parts::read(index) {
        Some(parts) => set_plain(x, &parts, value).then_some(Ok(())),
        None => unpacked(x, index, value),
    }
}

fn set_plain(x: &Bound<'_, NdArray>, parts: &Parts, value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: as in `get`.
    let Some(this) = (unsafe { peek(x.as_any()) }) else { return false };
    let array = &this.array;
    if !this.writeable || array.symbol().is_some() {
        return false;
    }
    // SAFETY: as in `get`.
    let from = unsafe { peek(value) };
    let number = match from {
        Some(_) => None,
        None if array.view.dtype == DType::F64 && api(x.py()).is_double(value) => {
            // SAFETY: a float, or NumPy's double, which is one.
            Some(Value::from_f64(DType::F64, unsafe { ffi::PyFloat_AsDouble(value.as_ptr()) }))
        }
        None => match api(x.py()).scalar_value(value) {
            Some(v) if v.dtype == array.view.dtype => Some(v),
            _ => match small_int(value, array.view.dtype) {
                Some(v) => Some(v),
                None => return false,
            },
        },
    };
    match (parts.of(&array.view), number, from) {
        (Some(Picked::At(at)), Some(v), None) => record::write_element(array, at, &v),
        (Some(Picked::Part(part)), Some(v), None) => copy(Operand::Value(v), &array.with_view(part)),
        (Some(Picked::Part(part)), None, Some(from))
            if from.array.view.shape == part.shape && from.array.view.dtype == part.dtype =>
        {
            copy(Operand::Array(&from.array), &array.with_view(part))
        }
        _ => false,
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
