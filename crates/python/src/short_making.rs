//! Short ways of functions that make small arrays of others: zeros and ones, diagonals, joins and repetitions.

use crate::lists;
use crate::numpy_api::api;
use crate::short::{Given, Made, int_or, items, near, near_enough, number, ours, unless_none};
use crate::slots::held;
use numloom_ir::promote::promote_all;
use numloom_ir::{DType, Dims, Value};
use numloom_library::repeat_pieces;
use numloom_runtime::profile::{self as told, Use};
use numloom_runtime::record::Near;
use numloom_runtime::{Array, record};
use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::{SmallVec, smallvec};

/// A dtype that was given, or another.
#[inline]
unsafe fn dtype_or(py: Python<'_>, object: *mut ffi::PyObject, default: DType) -> Option<DType> {
    let object = unless_none(object);
    if object.is_null() { Some(default) } else { api(py).dtype_at_once(&held(py, object)) }
}

/// The shape of an array in C order, whose contents need not be there, and the type wanted.
unsafe fn likeness(given: &Given) -> Option<(DType, Dims)> {
    let [like, dtype] = given.bind([c"a", c"dtype"])?;
    let array = &ours(like)?.array;
    let plain = array.symbol().is_none() && array.view.is_c_contiguous();
    plain.then_some((dtype_or(given.py, dtype, array.view.dtype)?, array.view.shape.clone()))
}

pub unsafe fn zeros_like(given: &Given) -> Option<Made> {
    let (dtype, shape) = likeness(given)?;
    Some(Made::Array(record::new_small(dtype, shape, true)?))
}

pub unsafe fn ones_like(given: &Given) -> Option<Made> {
    let (dtype, shape) = likeness(given)?;
    let n = shape.iter().product();
    let (made, to) = record::to_fill("ones", dtype, shape)?;
    let one = Value::from_i128(dtype, 1);
    repeat_pieces(one.bytes.as_ptr(), dtype.size(), 1, |_| n, to);
    Some(Made::Array(made))
}

pub unsafe fn take(given: &Given) -> Option<Made> {
    let [a, indices, axis] = given.bind([c"a", c"indices", c"axis"])?;
    if unless_none(axis).is_null() {
        return Some(Made::Array(record::take_small(&ours(a)?.array, &ours(indices)?.array)?));
    }
    take_along(a, indices, int_or(axis, 0)?)
}

/// Parts of a small dense array, picked along one of its axes.
unsafe fn take_along(a: *mut ffi::PyObject, indices: *mut ffi::PyObject, axis: isize) -> Option<Made> {
    let _still = record::still();
    let a = near(a).filter(Near::is_dense)?;
    let picked = near(indices).filter(|i| i.view.dtype == DType::I64 && i.is_dense())?;
    let axis = usize::try_from(if axis < 0 { axis + a.view.ndim() as isize } else { axis }).ok()?;
    let (shape, n) = (&a.view.shape, *a.view.shape.get(axis)?);
    let mut places: SmallVec<[usize; 16]> = SmallVec::new();
    for k in 0..picked.view.size() {
        let i = picked.ptr.cast::<i64>().add(k).read_unaligned();
        places.push(usize::try_from(if i < 0 { i + n as i64 } else { i }).ok().filter(|&i| i < n)?);
    }
    let each = shape[axis + 1..].iter().product::<usize>() * a.view.dtype.size();
    let before: usize = shape[..axis].iter().product();
    let whole: Dims = shape[..axis].iter().chain(&picked.view.shape).chain(&shape[axis + 1..]).copied().collect();
    let (made, mut to) = record::to_fill("take", a.view.dtype, whole)?;
    for block in 0..before {
        for &place in &places {
            std::ptr::copy_nonoverlapping(a.ptr.add((block * n + place) * each), to, each);
            to = to.add(each);
        }
    }
    Some(Made::Array(made))
}

/// Zeros, and where the first element of the k-th diagonal is, its step and its length.
unsafe fn diagonal(
    dtype: DType,
    rows: usize,
    columns: usize,
    k: isize,
) -> Option<(record::Filled, usize, usize, usize)> {
    let filled = record::to_fill("eye", dtype, smallvec![rows, columns])?;
    filled.1.write_bytes(0, rows * columns * dtype.size());
    let (down, right) = (k.min(0).unsigned_abs(), k.max(0) as usize);
    let len = rows.saturating_sub(down).min(columns.saturating_sub(right));
    Some((filled, (down * columns + right) * dtype.size(), (columns + 1) * dtype.size(), len))
}

pub unsafe fn eye(given: &Given) -> Option<Made> {
    let [rows, columns, k, dtype] = given.bind([c"N", c"M", c"k", c"dtype"])?;
    let dtype = dtype_or(given.py, dtype, DType::F64)?;
    if rows.is_null() {
        return None;
    }
    let rows = int_or(rows, 0)?;
    let columns = usize::try_from(int_or(unless_none(columns), rows)?).ok()?;
    let ((made, to), first, step, len) = diagonal(dtype, rows.try_into().ok()?, columns, int_or(k, 0)?)?;
    let one = Value::from_i128(dtype, 1);
    for i in 0..len {
        std::ptr::copy_nonoverlapping(one.bytes.as_ptr(), to.add(first + i * step), dtype.size());
    }
    Some(Made::Array(made))
}

pub unsafe fn diag(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [v, k] = given.bind([c"v", c"k"])?;
    let (v, k) = (near(v)?, int_or(k, 0)?);
    let (&[n], &[v_step], dtype) = (v.view.shape.as_slice(), v.view.strides.as_slice(), v.view.dtype) else {
        return None;
    };
    let side = n.checked_add(k.unsigned_abs())?;
    let ((made, to), first, step, _) = diagonal(dtype, side, side, k)?;
    for i in 0..n {
        let from = v.ptr.offset(i as isize * v_step);
        std::ptr::copy_nonoverlapping(from, to.add(first + i * step), dtype.size());
    }
    Some(Made::Array(made))
}

pub unsafe fn linspace(given: &Given) -> Option<Made> {
    let [start, stop, count, endpoint] = given.bind([c"start", c"stop", c"num", c"endpoint"])?;
    let whole = |x: *mut ffi::PyObject| {
        !x.is_null() && (api(given.py).is_double(&held(given.py, x)) || ffi::PyLong_CheckExact(x) != 0)
    };
    if !whole(start) || !whole(stop) {
        return None;
    }
    let (start, stop, n) =
        (number(given.py, start)?, number(given.py, stop)?, usize::try_from(int_or(count, 50)?).ok()?);
    let open = endpoint == ffi::Py_False();
    if n < 2 || !(open || endpoint.is_null() || endpoint == ffi::Py_True()) {
        return None;
    }
    let step = (stop - start) / (if open { n } else { n - 1 }) as f64;
    let end = step * n as f64 + start;
    // Steps that vanish are taken otherwise, and what overflows is told of.
    if !step.is_normal() || !end.is_finite() {
        return None;
    }
    let (made, to) = record::to_fill("linspace", DType::F64, smallvec![n])?;
    let values = std::slice::from_raw_parts_mut(to.cast::<f64>(), n);
    values.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64 * step + start);
    if !open {
        values[n - 1] = stop;
    }
    Some(Made::Array(made))
}

/// A dense array to be put beside others.
struct Part {
    ptr: *const u8,
    shape: Dims,
}

impl Part {
    fn size(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Dense arrays of one type.
struct Parts {
    dtype: DType,
    all: SmallVec<[Part; 8]>,
    /// What was made of those that were not.
    _made: SmallVec<[Array; 4]>,
}

impl Parts {
    /// What array-likes of a few elements become side by side; `None` if there are none, or others.
    unsafe fn of(py: Python<'_>, items: &[*mut ffi::PyObject]) -> Option<Parts> {
        let dtype = ours(*items.first()?).map(|first| first.array.view.dtype);
        let mut all = SmallVec::new();
        for &item in items {
            let alike = near_enough(item).filter(|p| Some(p.view.dtype) == dtype && p.is_dense());
            match alike {
                Some(part) => all.push(Part { ptr: part.ptr, shape: part.view.shape.clone() }),
                None => return Parts::cast(py, items),
            }
        }
        Some(Parts { dtype: dtype?, all, _made: SmallVec::new() })
    }

    /// As `of`, in their common type.
    #[cold]
    unsafe fn cast(py: Python<'_>, items: &[*mut ffi::PyObject]) -> Option<Parts> {
        let mut made: SmallVec<[Array; 4]> = SmallVec::new();
        for &item in items {
            made.push(match ours(item) {
                // How axes lie that are not in C order, those of the result do as well.
                Some(x) if near_enough(item)?.is_dense() || x.array.view.ndim() < 2 => x.array.clone(),
                Some(_) => return None,
                None => {
                    let item = held(py, item);
                    lists::small(&item).or_else(|| lists::scalar(&item))?
                }
            });
        }
        let dtype = promote_all(made.iter().map(|a| a.view.dtype))?;
        let mut all = SmallVec::new();
        for a in &mut made {
            if a.view.dtype != dtype || !record::near_enough(a)?.is_dense() {
                let (cast, flags) = record::cast_small(a, dtype)?;
                if flags != 0 {
                    return None;
                }
                *a = cast;
            }
            let part = record::near_enough(a)?;
            all.push(Part { ptr: part.ptr, shape: part.view.shape.clone() });
        }
        Some(Parts { dtype, all, _made: made })
    }

    /// The dense arrays that the items of a list or tuple become.
    unsafe fn listed(py: Python<'_>, list: *mut ffi::PyObject) -> Option<Parts> {
        Parts::of(py, &items(list)?)
    }

    /// The most axes that one of them has.
    fn ndim(&self) -> usize {
        self.all.iter().map(|p| p.shape.len()).max().unwrap_or(0)
    }

    fn reshape(mut self, shape: impl Fn(&Dims) -> Dims) -> Parts {
        self.all.iter_mut().for_each(|p| p.shape = shape(&p.shape));
        self
    }

    /// The parts side by side along an axis that they have.
    unsafe fn joined(&self, axis: usize) -> Option<Made> {
        let mut shape = self.all[0].shape.clone();
        *shape.get_mut(axis)? = 0;
        for p in &self.all {
            let s = &p.shape;
            if s.len() != shape.len() || (0..s.len()).any(|i| i != axis && s[i] != shape[i]) {
                return None;
            }
            shape[axis] += s[axis];
        }
        let rows = shape[..axis].iter().product();
        self.filled(rows, shape)
    }

    /// The parts one after another in every one of `rows` rows.
    unsafe fn filled(&self, rows: usize, shape: Dims) -> Option<Made> {
        let size = self.dtype.size();
        let (made, mut to) = record::to_fill("concatenate", self.dtype, shape)?;
        told::used(Use::Stack, "concatenate", made.view.size() * size);
        let elements = self.all.iter().map(Part::size).sum::<usize>();
        if rows > 1 && self.all.iter().all(|p| p.size() == rows) {
            // Lines side by side.
            let step = (elements / rows * size) as isize;
            for (k, p) in self.all.iter().enumerate() {
                numloom_loops::scatter(size, rows, p.ptr, to.add(k * size), step);
            }
            return Some(Made::Array(made));
        }
        for row in 0..rows {
            for p in &self.all {
                let bytes = p.size() / rows * size;
                std::ptr::copy_nonoverlapping(p.ptr.add(row * bytes), to, bytes);
                to = to.add(bytes);
            }
        }
        Some(Made::Array(made))
    }
}

/// An axis counted from the front.
fn counted(axis: isize, ndim: usize) -> Option<usize> {
    usize::try_from(if axis < 0 { axis + ndim as isize } else { axis }).ok().filter(|&axis| axis < ndim)
}

pub unsafe fn concatenate(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [list, axis] = given.bind([c"", c"axis"])?;
    let parts = Parts::listed(given.py, list)?;
    parts.joined(counted(int_or(axis, 0)?, parts.ndim())?)
}

/// All elements of both one after another, or both along an axis.
pub unsafe fn append(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [arr, values, axis] = given.bind([c"arr", c"values", c"axis"])?;
    let axis = unless_none(axis);
    if arr.is_null() || values.is_null() {
        return None;
    }
    let parts = Parts::of(given.py, &[arr, values])?;
    if axis.is_null() {
        return parts.reshape(|shape| smallvec![shape.iter().product()]).joined(0);
    }
    parts.joined(counted(int_or(axis, 0)?, parts.ndim())?)
}

pub unsafe fn hstack(given: &Given) -> Option<Made> {
    let _still = record::still();
    let parts = Parts::listed(given.py, given.bind([c"tup"])?[0])?.reshape(|shape| match shape.as_slice() {
        [] => smallvec![1],
        _ => shape.clone(),
    });
    parts.joined((parts.all[0].shape.len() > 1) as usize)
}

/// Lines as columns, beside matrices.
pub unsafe fn column_stack(given: &Given) -> Option<Made> {
    let _still = record::still();
    let parts = Parts::listed(given.py, given.bind([c"tup"])?[0])?.reshape(|shape| match shape.as_slice() {
        [] => smallvec![1, 1],
        &[n] => smallvec![n, 1],
        _ => shape.clone(),
    });
    parts.joined(1)
}

pub unsafe fn vstack(given: &Given) -> Option<Made> {
    let _still = record::still();
    let parts = Parts::listed(given.py, given.bind([c"tup"])?[0])?.reshape(|shape| match shape.as_slice() {
        [] => smallvec![1, 1],
        &[n] => smallvec![1, n],
        _ => shape.clone(),
    });
    parts.joined(0)
}

pub unsafe fn dstack(given: &Given) -> Option<Made> {
    let _still = record::still();
    let parts = Parts::listed(given.py, given.bind([c"tup"])?[0])?.reshape(|shape| match shape.as_slice() {
        [] => smallvec![1, 1, 1],
        &[n] => smallvec![1, n, 1],
        &[m, n] => smallvec![m, n, 1],
        _ => shape.clone(),
    });
    parts.joined(2)
}

pub unsafe fn stack(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [list, axis] = given.bind([c"arrays", c"axis"])?;
    let parts = Parts::listed(given.py, list)?;
    let own = parts.all[0].shape.clone();
    if own.len() > 7 || parts.all.iter().any(|p| p.shape != own) {
        return None;
    }
    let axis = counted(int_or(axis, 0)?, own.len() + 1)?;
    let widened = |shape: &Dims| {
        let mut shape = shape.clone();
        shape.insert(axis, 1);
        shape
    };
    parts.reshape(widened).joined(axis)
}

/// How often each piece is repeated: alike, or by an array of counts.
unsafe fn times(object: *mut ffi::PyObject, pieces: usize) -> Option<SmallVec<[usize; 32]>> {
    if ffi::PyLong_CheckExact(object) != 0 {
        return Some(smallvec![usize::try_from(int_or(object, 0)?).ok()?]);
    }
    let counts = near(object)?;
    let (&[n], &[step], DType::I64) = (counts.view.shape.as_slice(), counts.view.strides.as_slice(), counts.view.dtype)
    else {
        return None;
    };
    if n != pieces {
        return None;
    }
    let at = |i: usize| counts.ptr.offset(i as isize * step).cast::<i64>().read_unaligned();
    (0..n).map(|i| usize::try_from(at(i)).ok()).collect()
}

pub unsafe fn repeat(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, repeats, axis] = given.bind([c"a", c"repeats", c"axis"])?;
    let axis = unless_none(axis);
    let a = near_enough(a).filter(|a| a.is_dense() && a.view.ndim() > 0 && !repeats.is_null())?;
    let (size, mut shape) = (a.view.dtype.size(), a.view.shape.clone());
    let along = if axis.is_null() {
        shape = smallvec![a.view.size()];
        0
    } else {
        let axis = int_or(axis, 0)?;
        usize::try_from(if axis < 0 { axis + shape.len() as isize } else { axis }).ok()?
    };
    let pieces = *shape.get(along)?;
    let times = times(repeats, pieces)?;
    let each = |i: usize| if times.len() == 1 { times[0] } else { times[i % pieces] };
    shape[along] = match times.as_slice() {
        &[n] => pieces.checked_mul(n)?,
        all => all.iter().try_fold(0usize, |sum, &n| sum.checked_add(n))?,
    };
    let inner = a.view.shape[a.view.ndim().min(along + 1)..].iter().product::<usize>();
    let inner = if axis.is_null() { 1 } else { inner };
    let (made, to) = record::to_fill("repeat", a.view.dtype, shape)?;
    repeat_pieces(a.ptr, inner * size, a.view.size() / inner, each, to);
    Some(Made::Array(made))
}

pub unsafe fn tile(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, reps] = given.bind([c"A", c"reps"])?;
    let a = near_enough(a).filter(|a| a.is_dense() && a.view.ndim() > 0 && !reps.is_null())?;
    let mut times: Dims = Dims::new();
    if ffi::PyTuple_CheckExact(reps) != 0 {
        for k in 0..ffi::PyTuple_Size(reps) {
            times.push(usize::try_from(int_or(ffi::PyTuple_GetItem(reps, k), 0)?).ok()?);
        }
    } else {
        times.push(usize::try_from(int_or(reps, 0)?).ok()?);
    }
    let mut shape = a.view.shape.clone();
    let ndim = shape.len().max(times.len());
    // Axes that one of them lacks have one element, or come once.
    let (fewer, less) = (ndim - shape.len(), ndim - times.len());
    shape.insert_many(0, std::iter::repeat_n(1, fewer));
    times.insert_many(0, std::iter::repeat_n(1, less));
    let whole: Option<Dims> = shape.iter().zip(&times).map(|(n, times)| n.checked_mul(*times)).collect();
    let (made, to) = record::to_fill("tile", a.view.dtype, whole?)?;
    tile_axes(&shape, &times, a.ptr, a.view.dtype.size(), to);
    Some(Made::Array(made))
}

/// Writes an array of dense elements as often along each axis as `times` says, and answers how many bytes these were.
unsafe fn tile_axes(shape: &[usize], times: &[usize], from: *const u8, size: usize, to: *mut u8) -> usize {
    let Some((&n, inner)) = shape.split_first() else { return 0 };
    let once = if inner.is_empty() {
        std::ptr::copy_nonoverlapping(from, to, n * size);
        n * size
    } else {
        let each = inner.iter().product::<usize>() * size;
        (0..n).fold(0, |at, i| at + tile_axes(inner, &times[1..], from.add(i * each), size, to.add(at)))
    };
    for k in 1..times[0] {
        std::ptr::copy_nonoverlapping(to, to.add(k * once), once);
    }
    once * times[0]
}
