//! Short ways of composed functions: each does the whole of a plain call on a few elements that are there, and answers
//! `None` to every other call, which is then composed. `_fallback.native` asks the short way of its name first.

use crate::handle::{self, NdArray};
use crate::numpy_api::api;
use crate::slots::{answer, definition, held, positional, tried};
use crate::{linalg, lists, object};
use crate::{short_axes as axes, short_changing as changing, short_elements as elements};
use crate::{short_making as making, short_numbers as numbers};
use crate::{short_order as order, short_places as places, short_truths as truths};
use numloom_ir::{Value, View};
use numloom_library::Run;
use numloom_runtime::Array;
use numloom_runtime::record::{self, Near};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;
use std::ffi::CStr;

/// What a short way made. It becomes an object after the short way is over: making one may run Python code, which
/// nothing may that holds `record::still`.
pub enum Made {
    Array(Array),
    /// An array, or the scalar that stands for it where it has no dimensions.
    Result(Array),
    Value(Value),
    /// The only member of a tuple.
    Alone(Array),
    /// The members of a tuple.
    Several(Vec<Array>),
    /// The call has changed an argument, and answers `None`.
    Nothing,
    /// A view of an object that is exactly our class.
    Part(*mut ffi::PyObject, View),
}

impl Made {
    pub fn wrap(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Made::Array(a) => handle::wrap(py, a),
            Made::Result(a) => handle::wrap_result(py, a),
            Made::Value(v) => api(py).make_scalar(py, &v),
            Made::Nothing => Ok(py.None()),
            Made::Part(of, view) => {
                // SAFETY: an argument of the call, which the caller holds.
                let of = unsafe { held(py, of).cast_unchecked::<NdArray>() };
                let contents = unsafe { ours(of.as_ptr()) }.ok_or_else(|| PyTypeError::new_err("not an ndarray"))?;
                handle::wrap_changed(py, &of, contents, |own| *own = view)
            }
            Made::Several(all) => {
                let all =
                    all.into_iter().map(|a| handle::wrap(py, a)).collect::<PyResult<SmallVec<[Py<PyAny>; 4]>>>()?;
                Ok(PyTuple::new(py, all)?.into_any().unbind())
            }
            Made::Alone(a) => Ok(PyTuple::new(py, [handle::wrap(py, a)?])?.into_any().unbind()),
        }
    }
}

/// The arguments of a call, as the interpreter hands them over.
pub struct Given<'a> {
    pub py: Python<'a>,
    pub positional: &'a [*mut ffi::PyObject],
    names: *mut ffi::PyObject,
    named: *const *mut ffi::PyObject,
    /// Arrays that array-likes were read as.
    made: &'a [Py<PyAny>],
}

impl<'a> Given<'a> {
    pub unsafe fn new(
        py: Python<'a>,
        args: *const *mut ffi::PyObject,
        n: isize,
        names: *mut ffi::PyObject,
    ) -> Given<'a> {
        Given { py, positional: positional(args, n), names, named: args.wrapping_offset(n), made: &[] }
    }

    /// Whether an argument is an array for the time of the call alone: nobody would see it changed.
    pub fn is_passing(&self, object: *mut ffi::PyObject) -> bool {
        self.made.iter().any(|made| made.as_ptr() == object)
    }

    pub fn has_names(&self) -> bool {
        !self.names.is_null()
    }

    /// The same call with arrays for the array-likes of a few elements among its arguments, if there are any.
    unsafe fn with_arrays(&self) -> Option<Read<'a>> {
        let named = if self.has_names() { ffi::PyTuple_Size(self.names) } else { 0 };
        let values = (0..named).map(|k| *self.named.offset(k));
        let mut all: SmallVec<[*mut ffi::PyObject; 8]> = self.positional.iter().copied().chain(values).collect();
        let mut made = SmallVec::new();
        for value in &mut all {
            if let Some(array) = lists::small(&held(self.py, *value)) {
                let array = handle::wrap(self.py, array).ok()?;
                *value = array.as_ptr();
                made.push(array);
            }
        }
        let any = !made.is_empty();
        any.then_some(Read { py: self.py, all, count: self.positional.len(), names: self.names, made })
    }

    /// The arguments by their place in `names`; null where none was given. An empty name is one that only the place can
    /// give. `None` for a call that does not fit the names.
    pub unsafe fn bind<const N: usize>(&self, names: [&CStr; N]) -> Option<[*mut ffi::PyObject; N]> {
        let mut all = [std::ptr::null_mut(); N];
        all.get_mut(..self.positional.len())?.copy_from_slice(self.positional);
        let count = if self.has_names() { ffi::PyTuple_Size(self.names) } else { 0 };
        for k in 0..count {
            let name = ffi::PyTuple_GetItem(self.names, k);
            let is = |n: &&CStr| ffi::PyUnicode_CompareWithASCIIString(name, n.as_ptr()) == 0;
            let place = names.iter().position(is).filter(|&p| p >= self.positional.len())?;
            all[place] = *self.named.offset(k);
        }
        Some(all)
    }
}

/// Arguments of which some were made into arrays.
struct Read<'a> {
    py: Python<'a>,
    all: SmallVec<[*mut ffi::PyObject; 8]>,
    count: usize,
    names: *mut ffi::PyObject,
    made: SmallVec<[Py<PyAny>; 2]>,
}

impl Read<'_> {
    fn given(&self) -> Given<'_> {
        let (positional, named) = self.all.split_at(self.count);
        Given { py: self.py, positional, names: self.names, named: named.as_ptr(), made: &self.made }
    }
}

/// What a short way answers to a call as it is, or else with arrays for array-likes.
pub unsafe fn answered(given: &Given, call: unsafe fn(&Given) -> Option<Made>) -> Option<PyResult<Py<PyAny>>> {
    if let Some(made) = tried(|| call(given).map(|made| made.wrap(given.py))) {
        return Some(made);
    }
    tried(|| {
        let read = given.with_arrays()?;
        call(&read.given()).map(|made| made.wrap(given.py))
    })
}

macro_rules! short_ways {
    ($($name:literal $call:path;)*) => {
        /// Puts the table of short ways into the module.
        pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
            let table = PyDict::new(m.py());
            $({
                unsafe extern "C" fn call(
                    _: *mut ffi::PyObject,
                    args: *const *mut ffi::PyObject,
                    n: isize,
                    names: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    let py = Python::assume_attached();
                    match answered(&Given::new(py, args, n, names), $call) {
                        // `None` says that nothing was done.
                        Some(Ok(made)) if made.is_none(py) => py.Ellipsis().into_ptr(),
                        Some(done) => answer(py, done),
                        None => py.None().into_ptr(),
                    }
                }
                let def = definition(concat!($name, "\0"), call, std::ptr::null());
                let none = std::ptr::null_mut();
                // SAFETY: a definition that stays.
                let made = unsafe { Bound::from_owned_ptr_or_err(m.py(), ffi::PyCFunction_NewEx(def, none, none))? };
                table.set_item($name, made)?;
            })*
            m.add("short_ways", table)
        }
    };
}

short_ways! {
    "zeros_like" making::zeros_like;
    "ones_like" making::ones_like;
    "eye" making::eye;
    "diag" making::diag;
    "concatenate" making::concatenate;
    "hstack" making::hstack;
    "vstack" making::vstack;
    "column_stack" making::column_stack;
    "dstack" making::dstack;
    "stack" making::stack;
    "append" making::append;
    "repeat" making::repeat;
    "take" making::take;
    "tile" making::tile;
    "interp" numbers::interp;
    "convolve" numbers::convolve;
    "correlate" numbers::correlate;
    "bincount" numbers::bincount;
    "searchsorted" numbers::searchsorted;
    "einsum" numbers::einsum;
    "nonzero" order::nonzero;
    "sort" order::sort;
    "argsort" order::argsort;
    "partition" order::partition;
    "argpartition" order::argpartition;
    "lexsort" order::lexsort;
    "unique" order::unique;
    "median" order::median;
    "percentile" order::percentile;
    "quantile" order::quantile;
    "linspace" making::linspace;
    "outer" numbers::outer;
    "cross" numbers::cross;
    "linalg.norm" numbers::norm;
    "count_nonzero" truths::count_nonzero;
    "compress" truths::compress;
    "any" truths::any;
    "all" truths::all;
    "fill_diagonal" changing::fill_diagonal;
    "round" elements::round;
    "around" elements::round;
    "isposinf" elements::isposinf;
    "isneginf" elements::isneginf;
    "choose" elements::choose;
    "moveaxis" axes::moveaxis;
    "rollaxis" axes::rollaxis;
    "asfortranarray" axes::asfortranarray;
    "packbits" truths::packbits;
    "ravel_multi_index" places::ravel_multi_index;
    "unravel_index" places::unravel_index;
    "unpackbits" truths::unpackbits;
    "put" changing::put;
    "place" changing::place;
    "linalg.solve" linalg::solve;
    "linalg.inv" linalg::inv;
    "linalg.det" linalg::det;
}

/// An argument for which `None` is the same as nothing.
#[inline]
pub unsafe fn unless_none(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    if object == ffi::Py_None() { std::ptr::null_mut() } else { object }
}

/// The items of a list or tuple.
pub unsafe fn items(object: *mut ffi::PyObject) -> Option<SmallVec<[*mut ffi::PyObject; 8]>> {
    if object.is_null() {
        None
    } else if ffi::PyList_CheckExact(object) != 0 {
        Some((0..ffi::PyList_Size(object)).map(|i| ffi::PyList_GetItem(object, i)).collect())
    } else if ffi::PyTuple_CheckExact(object) != 0 {
        Some((0..ffi::PyTuple_Size(object)).map(|i| ffi::PyTuple_GetItem(object, i)).collect())
    } else {
        None
    }
}

/// The contents of an object that is exactly our class.
#[inline]
pub unsafe fn ours<'a>(object: *mut ffi::PyObject) -> Option<&'a NdArray> {
    if object.is_null() {
        return None;
    }
    object::contents(object).map(|x| &*x)
}

/// A small array that is there.
#[inline]
pub unsafe fn near<'a>(object: *mut ffi::PyObject) -> Option<Near<'a>> {
    record::near(&ours(object)?.array)
}

/// As `near`, for functions that look at every element once.
#[inline]
pub unsafe fn near_enough<'a>(object: *mut ffi::PyObject) -> Option<Near<'a>> {
    record::near_enough(&ours(object)?.array)
}

/// The elements of a 1-d array, or the one of a 0-d array.
#[inline]
pub fn run(x: &Near) -> Option<Run> {
    match (x.view.shape.as_slice(), x.view.strides.as_slice()) {
        ([], _) => Some(Run { ptr: x.ptr, step: 0, len: 1 }),
        (&[len], &[step]) => Some(Run { ptr: x.ptr, step, len }),
        _ => None,
    }
}

/// Calls `f` for the lines of a small array along an axis, in C order, until it answers false: with the line, and in a
/// dense array of the same shape the place of its first element and the elements from one to the next. `None` where
/// lines are not evenly spaced, or there is no such axis.
#[inline]
pub fn lines(a: &Near, axis: isize, mut f: impl FnMut(Run, usize, usize) -> bool) -> Option<bool> {
    let (shape, ndim) = (&a.view.shape, a.view.ndim() as isize);
    let axis = usize::try_from(if axis < 0 { axis + ndim } else { axis }).ok()?;
    let &len = shape.get(axis)?;
    if ndim == 1 {
        return Some(f(Run { ptr: a.ptr, step: a.view.strides[0], len }, 0, 1));
    }
    let size = a.view.dtype.size();
    let behind: usize = shape[axis + 1..].iter().product();
    let mut firsts = (0..a.view.size()).step_by((len * behind).max(1)).flat_map(|at| at..at + behind);
    let line = |first: usize| Run { ptr: a.ptr.wrapping_add(first * size), step: (behind * size) as isize, len };
    a.is_dense().then(|| firsts.all(|first| f(line(first), first, behind)))
}

/// A Python int, or what was not given.
#[inline]
pub unsafe fn int_or(object: *mut ffi::PyObject, default: isize) -> Option<isize> {
    if object.is_null() {
        return Some(default);
    }
    if ffi::PyLong_CheckExact(object) == 0 {
        return None;
    }
    let mut overflow = 0;
    let i = ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow);
    (overflow == 0).then_some(i as isize)
}

/// A real number of Python's or NumPy's.
#[inline]
pub unsafe fn number(py: Python<'_>, object: *mut ffi::PyObject) -> Option<f64> {
    let object = held(py, object);
    if api(py).is_double(&object) {
        return Some(ffi::PyFloat_AsDouble(object.as_ptr()));
    }
    if ffi::PyLong_CheckExact(object.as_ptr()) != 0 {
        // Whole numbers that a double holds.
        return int_or(object.as_ptr(), 0).filter(|i| i.unsigned_abs() <= 1 << 53).map(|i| i as f64);
    }
    let value = api(py).scalar_value(&object)?;
    (!value.dtype.is_complex() && value.dtype.size() <= 4).then(|| value.to_f64())
}

/// Which of these words a string is; the one at `default` where none was given.
#[inline]
pub unsafe fn word<const N: usize>(object: *mut ffi::PyObject, default: usize, words: [&CStr; N]) -> Option<usize> {
    if object.is_null() {
        return Some(default);
    }
    let is = |w: &&CStr| ffi::PyUnicode_CompareWithASCIIString(object, w.as_ptr()) == 0;
    if ffi::PyUnicode_CheckExact(object) != 0 { words.iter().position(is) } else { None }
}
