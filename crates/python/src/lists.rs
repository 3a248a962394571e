//! Small lists and tuples of numbers, those of such, and those of small arrays, made into an array without a detour.

use crate::convert;
use crate::handle;
use crate::numpy_api::{Api, api};
use crate::provenance;
use crate::quick::peek;
use numloom_ir::view::Order;
use numloom_ir::{DType, Dims, Value};
use numloom_runtime::{Array, record};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// The most numbers that are read one by one here.
const MOST: usize = 1024;

/// Lists in lists in lists, as deep as they are read here.
const DEEPEST: usize = 4;

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

/// `array(items, dtype)` of a number, of a small list or tuple of numbers (or of such, with as many numbers each), or of
/// small arrays that are there and alike. `None` for any other.
#[pyfunction]
#[pyo3(signature = (items, dtype=None))]
pub fn from_items(items: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    let (py, dtype) = (items.py(), dtype.filter(|d| !d.is_none()));
    let wanted = dtype.map(|d| api(py).dtype_at_once(d));
    let mut array = if wanted == Some(None) { None } else { read(items, wanted.flatten()) };
    if array.is_none()
        && let Some(items) = Items::of(items).filter(|&items| are_plain(items))
    {
        array = through_numpy(items, dtype)?;
    }
    if array.is_some() {
        told(items);
    }
    array.map(|array| handle::wrap(py, array)).transpose()
}

/// The profile hears of arrays that are made of lists.
fn told(items: &Bound<'_, PyAny>) {
    if numloom_profile::on()
        && let Some(items) = Items::of(items)
    {
        numloom_profile::record::array_from(items.len());
    }
}

/// As `from_items`, as far as it reads them itself.
pub fn made(items: &Bound<'_, PyAny>, wanted: Option<DType>) -> Option<Array> {
    let array = read(items, wanted)?;
    told(items);
    Some(array)
}

fn read(items: &Bound<'_, PyAny>, wanted: Option<DType>) -> Option<Array> {
    match Items::of(items) {
        None => number(items, wanted),
        Some(items) => numbers(items, wanted).or_else(|| truths(items, wanted)).or_else(|| stacked(items, wanted)),
    }
}

/// A short list or tuple of numbers or of bools, with the type that NumPy gives it.
pub fn plain(items: &Bound<'_, PyAny>) -> Option<Array> {
    let items = Items::of(items)?;
    numbers(items, None).or_else(|| truths(items, None))
}

/// The array of no axes that a number is read as.
pub fn scalar(item: &Bound<'_, PyAny>) -> Option<Array> {
    number(item, None)
}

/// The small array that an array-like of a few elements is read as: a list or tuple of numbers, or an array of NumPy's.
pub fn small(items: &Bound<'_, PyAny>) -> Option<Array> {
    if let Some(copy) = convert::small_copy(items) {
        return Some(copy);
    }
    let array = plain(items)?;
    told(items);
    Some(array)
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

/// Numbers read so far: all of them doubles from the first that is one, or complex.
#[derive(Default)]
struct Numbers {
    ints: SmallVec<[i64; 16]>,
    doubles: SmallVec<[f64; 16]>,
    complexes: SmallVec<[[f64; 2]; 4]>,
}

impl Numbers {
    fn len(&self) -> usize {
        self.ints.len() + self.doubles.len() + self.complexes.len()
    }

    fn push_double(&mut self, x: f64) {
        if !self.complexes.is_empty() {
            return self.complexes.push([x, 0.0]);
        }
        // An integer in a list of doubles is the double that it converts to.
        self.doubles.extend(self.ints.drain(..).map(|i| i as f64));
        self.doubles.push(x);
    }

    fn push_complex(&mut self, z: [f64; 2]) {
        self.complexes.extend(self.ints.drain(..).map(|i| [i as f64, 0.0]));
        self.complexes.extend(self.doubles.drain(..).map(|x| [x, 0.0]));
        self.complexes.push(z);
    }

    /// False for what is neither exactly a float (or NumPy's double) nor exactly a complex, nor an int of 64 bits.
    fn read(&mut self, numpy: &Api, item: &Bound<'_, PyAny>) -> bool {
        if numpy.is_double(item) {
            // SAFETY: a float, or of a class derived from it.
            self.push_double(unsafe { ffi::PyFloat_AsDouble(item.as_ptr()) });
            return true;
        }
        // SAFETY: any object.
        if unsafe { ffi::PyLong_CheckExact(item.as_ptr()) } == 0 {
            let Ok(z) = item.cast_exact::<PyComplex>() else { return false };
            self.push_complex([z.real(), z.imag()]);
            return true;
        }
        let mut overflow = 0;
        // SAFETY: exactly an int, so nothing is raised.
        let v = unsafe { ffi::PyLong_AsLongLongAndOverflow(item.as_ptr(), &mut overflow) };
        if overflow != 0 {
            return false;
        }
        if self.ints.len() == self.len() {
            self.ints.push(v);
        } else {
            self.push_double(v as f64);
        }
        true
    }

    /// Reads rows of rows, as many in each; the extents are those of the first of them. False where they differ.
    fn read_rows(&mut self, numpy: &Api, rows: Items<'_, '_>, depth: usize, shape: &mut Dims) -> bool {
        let n = rows.len();
        if shape.len() == depth && self.len() == 0 && depth < DEEPEST {
            shape.push(n);
        }
        if n == 0 || shape.get(depth) != Some(&n) || shape.iter().product::<usize>() > MOST {
            return false;
        }
        rows.iter().all(|item| match Items::of(&item) {
            Some(row) => self.read_rows(numpy, row, depth + 1, shape),
            None => shape.len() == depth + 1 && self.read(numpy, &item),
        })
    }

    /// The array of a type; `None` where it does not hold the numbers as they are, which is NumPy's to say.
    fn into_array(self, wanted: Option<DType>, shape: Dims) -> Option<Array> {
        if self.len() != shape.iter().product::<usize>() {
            return None;
        }
        let own = match () {
            _ if !self.complexes.is_empty() => DType::C128,
            _ if !self.doubles.is_empty() => DType::F64,
            _ => DType::I64,
        };
        let dtype = wanted.unwrap_or(own);
        match (own, dtype) {
            (DType::I64, DType::I64) => record::new_of(dtype, shape, &self.ints),
            (DType::F64, DType::F64) => record::new_of(dtype, shape, &self.doubles),
            (DType::C128, DType::C128) => record::new_of(dtype, shape, &self.complexes),
            (DType::I64, _) => {
                let made = |i: i64| match dtype.is_integer() {
                    true => Value::from_i128(dtype, i as i128),
                    false => Value::from_f64(dtype, i as f64),
                };
                let value = |&i: &i64| Some(made(i)).filter(|v| holds(v, i as f64, Some(i)));
                elements(dtype, shape, self.ints.iter().map(value))
            }
            // Doubles are cut to integers by NumPy, which says what is wrong with them.
            (DType::F64, DType::F32 | DType::C64 | DType::C128) => {
                let value = |&x: &f64| Some(Value::from_f64(dtype, x)).filter(|v| holds(v, x, None));
                elements(dtype, shape, self.doubles.iter().map(value))
            }
            (DType::C128, DType::C64) => {
                let fits = |v: &Value, [re, im]: [f64; 2]| holds(v, re, None) && v.imag().is_finite() == im.is_finite();
                let value = |&z: &[f64; 2]| Some(Value::from_complex(dtype, z[0], z[1])).filter(|v| fits(v, z));
                elements(dtype, shape, self.complexes.iter().map(value))
            }
            _ => None,
        }
    }
}

/// Whether a value is the number that it was made of, as far as its type can be: integers are the same, and floats that
/// became infinite are NumPy's to warn of.
fn holds(value: &Value, x: f64, int: Option<i64>) -> bool {
    match (value.dtype, int) {
        // What rounds to halves rounds once.
        (DType::F16 | DType::Bool, _) => false,
        (dtype, Some(i)) if dtype.is_integer() => value.to_i128() == i as i128,
        _ => value.to_f64().is_finite() == x.is_finite(),
    }
}

/// A new array of as many elements.
fn elements(dtype: DType, shape: Dims, values: impl Iterator<Item = Option<Value>>) -> Option<Array> {
    let size = dtype.size();
    let (made, to) = record::to_fill("array", dtype, shape)?;
    for (k, value) in values.enumerate() {
        // SAFETY: room for as many values as the shape has, which are as many as there are.
        unsafe { std::ptr::copy_nonoverlapping(value?.bytes.as_ptr(), to.add(k * size), size) };
    }
    Some(made)
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
    let mut read = Numbers::default();
    let exact = item.is_exact_instance_of::<PyFloat>() || item.is_exact_instance_of::<PyInt>();
    let fits = exact && read.read(api(item.py()), item);
    fits.then(|| read.into_array(wanted, Dims::new())).flatten()
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
        let nothing = record::empty(wanted.unwrap_or(DType::F64), &[0], Order::C, || provenance::here(items.0.py()));
        return nothing.ok();
    }
    if n > MOST || !matches!(wanted, None | Some(DType::Bool)) {
        return None;
    }
    let read: Option<SmallVec<[bool; 64]>> = items.iter().map(|x| truth(&x)).collect();
    record::new_of(DType::Bool, SmallVec::from_slice(&[n]), &read?)
}

fn numbers(items: Items<'_, '_>, wanted: Option<DType>) -> Option<Array> {
    let (mut read, mut shape) = (Numbers::default(), Dims::new());
    let fits = read.read_rows(api(items.0.py()), items, 0, &mut shape);
    fits.then(|| read.into_array(wanted, shape)).flatten()
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
