//! Small lists and tuples of numbers, those of such, and those of small arrays, made into an array without a detour.

use crate::convert;
use crate::handle;
use crate::numpy_api::{Api, api};
use crate::provenance;
use crate::quick::peek;
use numloom_ir::{DType, Dims};
use numloom_runtime::{Array, record};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// The most numbers that are read one by one here.
const MOST: usize = 1024;

/// A list or a tuple, exactly.
#[derive(Clone, Copy)]
struct Items<'a, 'py>(&'a Bound<'py, PyAny>);

impl<'a, 'py> Items<'a, 'py> {
    fn of(obj: &'a Bound<'py, PyAny>) -> Option<Items<'a, 'py>> {
        (obj.is_exact_instance_of::<PyList>() || obj.is_exact_instance_of::<PyTuple>()).then_some(Items(obj))
    }

    fn len(self) -> usize {
        match self.0.cast_exact::<PyList>() {
            Ok(list) => list.len(),
            Err(_) => self.0.cast_exact::<PyTuple>().map_or(0, |t| t.len()),
        }
    }

    /// Until the first that is not there: a list may become shorter.
    fn iter(self) -> impl Iterator<Item = Bound<'py, PyAny>> + use<'a, 'py> {
        (0..self.len()).map_while(move |k| match self.0.cast_exact::<PyList>() {
            Ok(list) => list.get_item(k).ok(),
            Err(_) => self.0.cast_exact::<PyTuple>().ok()?.get_item(k).ok(),
        })
    }
}

/// `array(items, dtype)` of a number, of a small list or tuple of numbers (or of such with as many numbers each), or of small
/// arrays that are there and alike. `None` for any other.
#[pyfunction]
#[pyo3(signature = (items, dtype=None))]
pub fn from_items(items: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    let (py, dtype) = (items.py(), dtype.filter(|d| !d.is_none()));
    let wanted = dtype.map(|d| api(py).dtype_at_once(d));
    let Some(items) = Items::of(items) else {
        let made = number(items, wanted.flatten()).filter(|_| wanted != Some(None));
        return made.map(|array| handle::wrap(py, array)).transpose();
    };
    let made = match wanted {
        Some(None) => None,
        wanted => {
            let wanted = wanted.flatten();
            numbers(items, wanted).or_else(|| truths(items, wanted)).or_else(|| stacked(items, wanted))
        }
    };
    let made = match made {
        None if are_plain(items) => through_numpy(items, dtype)?,
        made => made,
    };
    if made.is_some() && numloom_profile::on() {
        numloom_profile::record::array_from(items.len());
    }
    made.map(|array| handle::wrap(py, array)).transpose()
}

/// A short list or tuple of numbers or of bools, with the type that NumPy gives it.
pub fn plain(items: &Bound<'_, PyAny>) -> Option<Array> {
    let items = Items::of(items)?;
    numbers(items, None).or_else(|| truths(items, None))
}

/// A short list or tuple of numbers that is assigned to elements of `dtype`.
pub fn assigned(items: &Bound<'_, PyAny>, dtype: DType) -> Option<Array> {
    numbers(Items::of(items)?, Some(dtype))
}

/// Whether all are numbers of Python's or NumPy's, or lists and tuples of such: nothing that asks our arrays.
fn are_plain(items: Items<'_, '_>) -> bool {
    let numpy = api(items.0.py());
    let is_number = |x: &Bound<'_, PyAny>| {
        let exact = x.is_exact_instance_of::<PyInt>() || x.is_exact_instance_of::<PyFloat>();
        exact || x.is_exact_instance_of::<PyBool>() || x.is_exact_instance_of::<PyComplex>() || numpy.is_scalar(x)
    };
    let is_row =
        |x: &Bound<'_, PyAny>| Items::of(x).is_some_and(|row| row.len() <= MOST && row.iter().all(|y| is_number(&y)));
    (1..=MOST).contains(&items.len()) && items.iter().all(|x| is_number(&x) || is_row(&x))
}

/// NumPy reads what is rare; `None` where it does not make an array of one of our types.
fn through_numpy(items: Items<'_, '_>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Array>> {
    let py = items.0.py();
    let make = api(py).numpy(py).getattr(intern!(py, "array"))?;
    let made = match dtype {
        Some(d) => make.call1((items.0, d)),
        None => make.call1((items.0,)),
    };
    // The general way words the error.
    Ok(made.ok().and_then(|made| convert::own_numpy(&made).ok()))
}

/// Numbers read so far: doubles from the first that is one.
struct Numbers {
    ints: SmallVec<[i64; 16]>,
    doubles: SmallVec<[f64; 16]>,
}

impl Numbers {
    fn len(&self) -> usize {
        self.ints.len() + self.doubles.len()
    }

    fn push_double(&mut self, x: f64) {
        // An integer in a list of doubles is the double that it converts to.
        self.doubles.extend(self.ints.drain(..).map(|i| i as f64));
        self.doubles.push(x);
    }

    fn into_doubles(mut self) -> SmallVec<[f64; 16]> {
        self.doubles.extend(self.ints.drain(..).map(|i| i as f64));
        self.doubles
    }

    /// False for what is neither exactly a float (or NumPy's double) nor exactly an int of 64 bits.
    fn read(&mut self, numpy: &Api, item: &Bound<'_, PyAny>) -> bool {
        if numpy.is_double(item) {
            // SAFETY: a float, or of a class derived from it.
            self.push_double(unsafe { ffi::PyFloat_AsDouble(item.as_ptr()) });
            return true;
        }
        // SAFETY: any object.
        if unsafe { ffi::PyLong_CheckExact(item.as_ptr()) } == 0 {
            return false;
        }
        let mut overflow = 0;
        // SAFETY: exactly an int, so nothing is raised.
        let v = unsafe { ffi::PyLong_AsLongLongAndOverflow(item.as_ptr(), &mut overflow) };
        if overflow != 0 {
            return false;
        }
        if self.doubles.is_empty() {
            self.ints.push(v)
        } else {
            self.doubles.push(v as f64)
        }
        true
    }
}

/// An array of no axes.
fn number(item: &Bound<'_, PyAny>, wanted: Option<DType>) -> Option<Array> {
    if let Some(truth) = truth(item) {
        return if matches!(wanted, None | Some(DType::Bool)) {
            record::new_of(DType::Bool, Dims::new(), &[truth])
        } else {
            None
        };
    }
    let mut read = Numbers { ints: SmallVec::new(), doubles: SmallVec::new() };
    let exact = item.is_exact_instance_of::<PyFloat>() || item.is_exact_instance_of::<PyInt>();
    if !exact || !read.read(api(item.py()), item) {
        return None;
    }
    match wanted {
        None | Some(DType::I64) if read.doubles.is_empty() => record::new_of(DType::I64, Dims::new(), &read.ints),
        None | Some(DType::F64) => record::new_of(DType::F64, Dims::new(), &read.into_doubles()),
        _ => None,
    }
}

/// The value of exactly a bool.
fn truth(item: &Bound<'_, PyAny>) -> Option<bool> {
    // SAFETY: the two objects live for ever.
    unsafe {
        match item.as_ptr() {
            p if p == ffi::Py_True() => Some(true),
            p if p == ffi::Py_False() => Some(false),
            _ => None,
        }
    }
}

/// Bools, or nothing at all.
fn truths(items: Items<'_, '_>, wanted: Option<DType>) -> Option<Array> {
    let n = items.len();
    if n == 0 {
        let double = wanted.is_none_or(|d| d == DType::F64);
        return record::new_of::<f64>(DType::F64, SmallVec::from_slice(&[0]), &[]).filter(|_| double);
    }
    if n > MOST || !matches!(wanted, None | Some(DType::Bool)) {
        return None;
    }
    let read: Option<SmallVec<[bool; 64]>> = items.iter().map(|x| truth(&x)).collect();
    record::new_of(DType::Bool, SmallVec::from_slice(&[n]), &read?)
}

fn numbers(items: Items<'_, '_>, wanted: Option<DType>) -> Option<Array> {
    let numpy = api(items.0.py());
    let rows = items.len();
    if rows == 0 || rows > MOST || !matches!(wanted, None | Some(DType::F64 | DType::F32 | DType::I64)) {
        return None;
    }
    let mut read = Numbers { ints: SmallVec::new(), doubles: SmallVec::new() };
    let mut shape: Dims = SmallVec::from_slice(&[rows]);
    for (k, item) in items.iter().enumerate() {
        match Items::of(&item) {
            Some(row) => {
                let columns = row.len();
                if columns == 0 || rows * columns > MOST || read.len() != k * columns {
                    return None;
                }
                if k == 0 {
                    shape.push(columns);
                }
                if shape.len() != 2 || !row.iter().all(|x| read.read(numpy, &x)) {
                    return None;
                }
            }
            None if shape.len() == 1 && read.read(numpy, &item) => {}
            None => return None,
        }
    }
    if read.len() != shape.iter().product::<usize>() {
        return None;
    }
    let of_ints = read.doubles.is_empty();
    match wanted.unwrap_or(if of_ints { DType::I64 } else { DType::F64 }) {
        DType::I64 if of_ints => record::new_of(DType::I64, shape, &read.ints),
        // Doubles are cut to integers by NumPy, which says what is wrong with them.
        DType::I64 => None,
        DType::F64 => record::new_of(DType::F64, shape, &read.into_doubles()),
        _ => {
            let doubles = read.into_doubles();
            let singles: SmallVec<[f32; 16]> = doubles.iter().map(|&x| x as f32).collect();
            // One that is too large is NumPy's to warn of.
            let is_kept = doubles.iter().zip(&singles).all(|(x, y)| x.is_finite() == y.is_finite());
            if is_kept { record::new_of(DType::F32, shape, &singles) } else { None }
        }
    }
}

/// Arrays of ours, all of one shape and type.
fn stacked(items: Items<'_, '_>, wanted: Option<DType>) -> Option<Array> {
    // SAFETY: an object that the list holds, and nothing is done with its contents.
    unsafe { peek(&items.iter().next()?)? };
    // Looking for the user's line may run Python code, so it comes before the arrays.
    let at = provenance::here(items.0.py());
    let held: SmallVec<[Bound<'_, PyAny>; 8]> = items.iter().collect();
    // SAFETY: nothing below runs Python code.
    let arrays = unsafe { held.iter().map(|x| peek(x).map(|a| &a.array)).collect::<Option<SmallVec<[&Array; 8]>>>()? };
    if wanted.is_some_and(|d| arrays.iter().any(|a| a.view.dtype != d)) {
        return None;
    }
    record::stack_small(&arrays, || at)
}
