//! Plain indexing of small things at once: `x[i]`, `x[a:b]`, `x[mask]`, `x[indices]`, and writing to the first two.
//! Whatever does not fit is `None`, and the general path does it.

use crate::handle::{self, NdArray};
use crate::numpy_api::api;
use crate::quick::peek;
use crate::{convert, errors, provenance};
use numloom_ir::{DType, Value, View};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyFloat;

/// An integer or slice, before it is held against an axis.
enum Plain {
    Int(isize),
    Slice { start: isize, stop: isize, step: isize },
}

impl Plain {
    /// Reading a slice may run Python code, so this comes before any `peek`.
    #[inline]
    fn read(index: &Bound<'_, PyAny>) -> Option<Plain> {
        // SAFETY: the object is a Python int where it is read as one, a slice where it is read as one.
        unsafe {
            if ffi::PyLong_CheckExact(index.as_ptr()) != 0 {
                let mut overflow = 0;
                let i = ffi::PyLong_AsLongLongAndOverflow(index.as_ptr(), &mut overflow) as isize;
                return (overflow == 0).then_some(Plain::Int(i));
            }
            if ffi::PySlice_Check(index.as_ptr()) == 0 {
                return None;
            }
            let (mut start, mut stop, mut step) = (0, 0, 0);
            if ffi::PySlice_Unpack(index.as_ptr(), &mut start, &mut stop, &mut step) != 0 {
                // The general path meets the same error.
                ffi::PyErr_Clear();
                return None;
            }
            Some(Plain::Slice { start, stop, step })
        }
    }

    /// What it selects along the first axis; `None` out of bounds.
    #[inline]
    fn of(self, view: &View) -> Option<Picked> {
        let (&extent, &stride) = (view.shape.first()?, view.strides.first()?);
        match self {
            Plain::Int(i) => {
                let at = if i < 0 { i + extent as isize } else { i };
                (at >= 0 && (at as usize) < extent).then(|| Picked::At(at * stride))
            }
            Plain::Slice { mut start, mut stop, step } => {
                // SAFETY: plain arithmetic on what it is given.
                let len = unsafe { ffi::PySlice_AdjustIndices(extent as isize, &mut start, &mut stop, step) } as usize;
                let mut part = view.clone();
                if len > 0 {
                    part.offset = (part.offset as isize + start * stride) as usize;
                }
                part.shape[0] = len;
                part.strides[0] = stride.wrapping_mul(step);
                Some(Picked::Part(part))
            }
        }
    }
}

enum Picked {
    /// Bytes from the view's first element.
    At(isize),
    Part(View),
}

/// The view of element `at` of the first axis.
#[inline]
fn element_view(view: &View, at: isize) -> View {
    let mut v = view.clone();
    v.offset = (v.offset as isize + at) as usize;
    v.shape.remove(0);
    v.strides.remove(0);
    v
}

/// `x[index]`.
#[inline]
pub fn get(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let py = x.py();
    let plain = Plain::read(index);
    // SAFETY: nothing below runs Python code before the arrays are done with.
    let this = unsafe { peek(x.as_any())? };
    let array = &this.array;
    if array.symbol().is_some() {
        return None;
    }
    let Some(plain) = plain else {
        // SAFETY: as above.
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
        return Some(handle::wrap(py, made));
    };
    let part = match plain.of(&array.view)? {
        Picked::At(at) if array.view.ndim() == 1 => {
            let value = record::read_element(array, at)?;
            return Some(api(py).make_scalar(py, &value));
        }
        Picked::At(at) => element_view(&array.view, at),
        Picked::Part(part) => part,
    };
    Some(handle::wrap_part(py, x, this, array.with_view(part)))
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
    match Plain::read(index) {
        Some(plain) => set_plain(x, plain, value).then_some(Ok(())),
        None => unpacked(x, index, value),
    }
}

fn set_plain(x: &Bound<'_, NdArray>, plain: Plain, value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: as in `get`.
    let Some(this) = (unsafe { peek(x.as_any()) }) else { return false };
    let array = &this.array;
    if !this.writeable || array.symbol().is_some() {
        return false;
    }
    // SAFETY: as in `get`.
    let from = unsafe { peek(value) };
    let number = match (value.cast_exact::<PyFloat>(), from) {
        (_, Some(_)) => None,
        (Ok(f), None) if array.view.dtype == DType::F64 => Some(Value::from_f64(DType::F64, f.value())),
        _ => match api(x.py()).scalar_value(value) {
            Some(v) if v.dtype == array.view.dtype => Some(v),
            _ => match small_int(value, array.view.dtype) {
                Some(v) => Some(v),
                None => return false,
            },
        },
    };
    match (plain.of(&array.view), number, from) {
        (Some(Picked::At(at)), Some(v), None) if array.view.ndim() == 1 => record::write_element(array, at, &v),
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
