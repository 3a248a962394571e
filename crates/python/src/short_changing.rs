//! Short ways that change a small array where it lies: sorted, or some of its elements put.

use crate::handle::NdArray;
use crate::quick::peek;
use crate::quick_index::number;
use crate::short::{Given, Made, int_or, lines, near, ours, run};
use crate::slots::held;
use numloom_ir::promote::{Casting, can_cast};
use numloom_ir::{DType, Value};
use numloom_library as library;
use numloom_runtime::Array;
use numloom_runtime::record::{self, Near};
use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// A small array in C order that may be written now, and its first element.
unsafe fn changeable<'a>(object: *mut ffi::PyObject) -> Option<(Near<'a>, &'a Array, *mut u8)> {
    let this = ours(object).filter(|this| this.writeable)?;
    let near = record::near(&this.array).filter(Near::is_dense)?;
    Some((near, &this.array, record::to_change(&this.array)?))
}

pub unsafe fn sort(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, axis] = given.bind([c"", c"axis"])?;
    let (a, array, to) = changeable(a)?;
    let (dtype, size) = (a.view.dtype, a.view.dtype.size());
    let mut room: SmallVec<[u128; 64]> = SmallVec::new();
    let done = lines(&a, int_or(axis, -1)?, |line, first, _| {
        room.resize((line.len * size).div_ceil(16), 0);
        let sorted = room.as_mut_ptr().cast::<u8>();
        let done = library::sort_few(dtype, line, sorted);
        if done {
            put_line(size, line.len, sorted, to.add(first * size), line.step);
        }
        done
    });
    if done == Some(true) {
        record::changed(array, "sort");
        return Some(Made::Nothing);
    }
    None
}

/// As `short_order::partition`: a line of few elements is sorted.
pub unsafe fn partition(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, kth] = given.bind([c"", c"kth"])?;
    let (a, array, to) = changeable(a).filter(|(a, ..)| a.view.ndim() == 1 && !kth.is_null())?;
    let n = a.view.size() as isize;
    let mut room = [0u128; 64];
    if !(-n..n).contains(&int_or(kth, 0)?) || a.view.nbytes() > size_of_val(&room) {
        return None;
    }
    let sorted = room.as_mut_ptr().cast::<u8>();
    if !library::sort_few(a.view.dtype, run(&a)?, sorted) {
        return None;
    }
    std::ptr::copy_nonoverlapping(sorted, to, a.view.nbytes());
    record::changed(array, "partition");
    Some(Made::Nothing)
}

/// Copies elements that lie one after another to others that are `step` bytes apart.
pub unsafe fn put_line(size: usize, n: usize, from: *const u8, to: *mut u8, step: isize) {
    if step == size as isize {
        return std::ptr::copy_nonoverlapping(from, to, n * size);
    }
    for i in 0..n {
        std::ptr::copy_nonoverlapping(from.add(i * size), to.offset(i as isize * step), size);
    }
}

/// What is put: elements of the target's type, from the first again after the last.
struct Source {
    bytes: SmallVec<[u8; 128]>,
    size: usize,
}

impl Source {
    /// A number that the type holds as it is, or another array of the same type.
    unsafe fn read(py: Python<'_>, object: *mut ffi::PyObject, to: &Array) -> Option<Source> {
        let dtype = to.view.dtype;
        let size = dtype.size();
        if object.is_null() {
            return None;
        }
        if let Some(value) = number(&held(py, object), dtype) {
            return Some(Source { bytes: SmallVec::from_slice(&value.bytes[..size]), size });
        }
        let given = &ours(object)?.array;
        // What is put where it is read from is read in NumPy's order.
        if given.store.ptr() == to.store.ptr() {
            return None;
        }
        let cast;
        let values = if given.view.dtype == dtype {
            record::near(given)?
        } else if can_cast(given.view.dtype, dtype, Casting::Safe) {
            cast = record::cast_small(given, dtype)?.0;
            record::near(&cast)?
        } else {
            return None;
        };
        let mut bytes = SmallVec::new();
        if values.is_dense() {
            bytes.extend_from_slice(std::slice::from_raw_parts(values.ptr, values.view.size() * size));
        } else {
            let run = run(&values)?;
            for i in 0..run.len {
                bytes.extend_from_slice(std::slice::from_raw_parts(run.ptr.offset(i as isize * run.step), size));
            }
        }
        Some(Source { bytes, size })
    }

    unsafe fn put(&self, k: usize, to: *mut u8, place: usize) {
        let n = self.bytes.len() / self.size;
        let from = self.bytes.as_ptr().add(if n == 1 { 0 } else { k % n } * self.size);
        std::ptr::copy_nonoverlapping(from, to.add(place * self.size), self.size);
    }
}

/// The method's arguments have other names than the function's.
pub unsafe fn put_method(given: &Given) -> Option<Made> {
    put_at(given, given.bind([c"", c"indices", c"values"])?)
}

pub unsafe fn put(given: &Given) -> Option<Made> {
    put_at(given, given.bind([c"a", c"ind", c"v"])?)
}

unsafe fn put_at(given: &Given, [a, places, values]: [*mut ffi::PyObject; 3]) -> Option<Made> {
    let _still = record::still();
    if given.is_passing(a) {
        return None;
    }
    let (a, array, to) = changeable(a)?;
    let (n, source) = (a.view.size() as isize, Source::read(given.py, values, array)?);
    let inside = |i: isize| usize::try_from(if i < 0 { i + n } else { i }).ok().filter(|&i| i < n as usize);
    let mut found: SmallVec<[usize; 16]> = SmallVec::new();
    if places.is_null() {
        return None;
    } else if ffi::PyLong_CheckExact(places) != 0 {
        found.push(inside(int_or(places, 0)?)?);
    } else {
        let run = near(places).filter(|p| p.view.dtype == DType::I64).and_then(|p| run(&p))?;
        for k in 0..run.len {
            let i = run.ptr.offset(k as isize * run.step).cast::<i64>().read_unaligned();
            found.push(inside(i as isize)?);
        }
    }
    for (k, &place) in found.iter().enumerate() {
        source.put(k, to, place);
    }
    record::changed(array, "put");
    Some(Made::Nothing)
}

/// A mask over a small array that may be written, and what is put.
unsafe fn masked<'a>(
    py: Python<'_>,
    [a, mask, values]: [*mut ffi::PyObject; 3],
) -> Option<(&'a Array, *mut u8, &'a [u8], Source)> {
    let (a, array, to) = changeable(a)?;
    // A mask that is written itself would be read while it changes.
    let apart = ours(mask)?.array.store.ptr() != array.store.ptr();
    let mask = near(mask).filter(|m| m.view.dtype == DType::Bool && m.view.shape == a.view.shape && m.is_dense())?;
    let truths = std::slice::from_raw_parts(mask.ptr, mask.view.size());
    apart.then_some((array, to, truths, Source::read(py, values, array)?))
}

pub unsafe fn place(given: &Given) -> Option<Made> {
    let _still = record::still();
    let all = given.bind([c"arr", c"mask", c"vals"])?;
    let (array, to, truths, source) = masked(given.py, all).filter(|_| !given.is_passing(all[0]))?;
    let places = truths.iter().enumerate().filter(|(_, t)| **t != 0).map(|(i, _)| i);
    for (k, place) in places.enumerate() {
        source.put(k, to, place);
    }
    record::changed(array, "place");
    Some(Made::Nothing)
}

/// One number all down the diagonal of a small matrix.
pub unsafe fn fill_diagonal(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, val] = given.bind([c"a", c"val"])?;
    if val.is_null() || given.is_passing(a) {
        return None;
    }
    let (a, array, to) = changeable(a)?;
    let &[rows, columns] = a.view.shape.as_slice() else { return None };
    let (value, size) = (number(&held(given.py, val), a.view.dtype)?, a.view.dtype.size());
    for i in 0..rows.min(columns) {
        std::ptr::copy_nonoverlapping(value.bytes.as_ptr(), to.add(i * (columns + 1) * size), size);
    }
    record::changed(array, "fill_diagonal");
    Some(Made::Nothing)
}

/// `x[mask] = value` of a small array and a number; false where nothing was written.
pub fn fill_where(x: &NdArray, mask: &Array, value: &Value) -> bool {
    let _still = record::still();
    let fits = x.writeable && mask.view.dtype == DType::Bool && mask.view.shape == x.array.view.shape;
    let near = |a| record::near(a).filter(Near::is_dense);
    // A mask that is written itself would be read while it changes.
    let apart = mask.store.ptr() != x.array.store.ptr();
    let Some(mask) = near(mask).filter(|_| fits && apart && near(&x.array).is_some()) else { return false };
    let Some(to) = record::to_change(&x.array) else { return false };
    let (n, size) = (mask.view.size(), x.array.view.dtype.size());
    for i in 0..n {
        // SAFETY: both are dense over as many elements.
        unsafe {
            if mask.ptr.add(i).read() != 0 {
                std::ptr::copy_nonoverlapping(value.bytes.as_ptr(), to.add(i * size), size);
            }
        }
    }
    record::changed(&x.array, "putmask");
    true
}

/// `x.flat[key] = value` of an array in C order and a number that it holds; false where nothing was written.
#[pyfunction]
pub fn put_flat(x: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: nothing below runs Python code, nor does reading an int.
    let Some(key) = (unsafe { int_or(key.as_ptr(), 0) }) else { return false };
    // SAFETY: as above.
    let Some(this) = unsafe { peek(x) }.filter(|this| this.writeable && this.array.symbol().is_none()) else {
        return false;
    };
    let view = &this.array.view;
    let (n, size) = (view.size() as isize, view.dtype.size());
    let at = if key < 0 { key + n } else { key };
    let Some(value) = number(value, view.dtype).filter(|_| (0..n).contains(&at) && view.is_c_contiguous()) else {
        return false;
    };
    record::write_element(&this.array, at * size as isize, &value)
}

/// `putmask(a, mask, values)`.
pub unsafe fn putmask(
    py: Python<'_>,
    args: &[*mut ffi::PyObject],
    dtype: Option<DType>,
) -> Option<PyResult<Py<PyAny>>> {
    let _still = record::still();
    let (&[a, mask, values], None) = (args, dtype) else { return None };
    let (array, to, truths, source) = masked(py, [a, mask, values])?;
    for (i, _) in truths.iter().enumerate().filter(|(_, t)| **t != 0) {
        source.put(i, to, i);
    }
    record::changed(array, "putmask");
    Some(Ok(py.None()))
}
