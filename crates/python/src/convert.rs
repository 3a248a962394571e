//! Python objects as operands, dtypes, values: fast for our own classes and Python numbers, through NumPy
//! for everything else.

use crate::errors::Unsupported;
use crate::handle::{self, NdArray, Scalar};
use crate::lists;
use crate::numpy_api::{Foreign, api};
use crate::protocols::{self, Exporter};
use crate::{errors, provenance};
use numloom_ir::{DType, Value, View};
use numloom_runtime::{Array, record};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple, PyType};

/// An argument of a ufunc or assignment, as type resolution wants to see it.
pub enum Arg {
    Array {
        array: Array,
    },
    /// A typed scalar: a Python bool or a NumPy scalar.
    Value(Value),
    /// A Python int, which is weak (NEP 50).
    Int(i128),
    /// A Python int beyond 64 bits, signed or unsigned.
    BigInt(Py<PyAny>),
    Float(f64),
    Complex(f64, f64),
}

/// Reads any object as an argument. Dtypes we do not have raise `Unsupported`.
#[inline]
pub fn arg(obj: &Bound<'_, PyAny>) -> PyResult<Arg> {
    if let Ok(a) = obj.cast_exact::<NdArray>() {
        let array = a.borrow().array.clone();
        return Ok(Arg::Array { array });
    }
    if let Ok(s) = obj.cast_exact::<Scalar>() {
        return Ok(Arg::Array { array: s.borrow().array.clone() });
    }
    match python_number(obj)? {
        Some(number) => Ok(number),
        None => foreign_arg(obj),
    }
}

/// Python's own numbers, by exact type.
#[inline]
pub fn python_number(obj: &Bound<'_, PyAny>) -> PyResult<Option<Arg>> {
    if let Ok(f) = obj.cast_exact::<PyFloat>() {
        return Ok(Some(Arg::Float(f.value())));
    }
    if obj.is_exact_instance_of::<PyInt>() {
        return int_arg(obj).map(Some);
    }
    if let Ok(b) = obj.cast_exact::<PyBool>() {
        return Ok(Some(Arg::Value(Value::from_i128(DType::Bool, b.is_true() as i128))));
    }
    if let Ok(c) = obj.cast_exact::<PyComplex>() {
        return Ok(Some(Arg::Complex(c.real(), c.imag())));
    }
    Ok(None)
}

fn int_arg(obj: &Bound<'_, PyAny>) -> PyResult<Arg> {
    Ok(match small_int(obj)? {
        Some(v) => Arg::Int(v),
        None => Arg::BigInt(obj.clone().unbind()),
    })
}

/// A Python int that fits in 64 bits, signed or unsigned.
pub fn small_int(obj: &Bound<'_, PyAny>) -> PyResult<Option<i128>> {
    let mut overflow = 0;
    // SAFETY: `obj` is a Python int; errors are fetched.
    let v = unsafe { ffi::PyLong_AsLongLongAndOverflow(obj.as_ptr(), &mut overflow) };
    if overflow == 0 {
        return if v == -1 && PyErr::occurred(obj.py()) { Err(PyErr::fetch(obj.py())) } else { Ok(Some(v as i128)) };
    }
    match obj.extract::<u64>() {
        Ok(v) => Ok(Some(v as i128)),
        Err(e) if e.is_instance_of::<PyOverflowError>(obj.py()) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cold]
fn foreign_arg(obj: &Bound<'_, PyAny>) -> PyResult<Arg> {
    let py = obj.py();
    let numpy = api(py);
    if let Some(v) = numpy.scalar_value(obj) {
        return Ok(Arg::Value(v));
    }
    if let Some(array) = lists::plain(obj) {
        return Ok(Arg::Array { array });
    }
    if let Some(a) = handle::as_ndarray(obj) {
        let array = a.borrow().array.clone();
        return Ok(Arg::Array { array });
    }
    if numpy.is_array(obj) {
        let (array, _) = borrow_numpy(obj)?;
        return Ok(Arg::Array { array });
    }
    if let Ok(f) = obj.cast::<PyFloat>() {
        return Ok(Arg::Float(f.value()));
    }
    if obj.is_instance_of::<PyInt>() {
        return int_arg(obj);
    }
    if let Ok(c) = obj.cast::<PyComplex>() {
        return Ok(Arg::Complex(c.real(), c.imag()));
    }
    if obj.is_instance_of::<PyString>() || obj.is_none() {
        return Err(Unsupported::new_err("this dtype is not supported"));
    }
    let made = made_by_numpy(obj, |o| numpy.asarray(o))?;
    match handle::as_ndarray(&made) {
        Some(ours) => Ok(Arg::Array { array: ours.borrow().array.clone() }),
        None => Ok(Arg::Array { array: own_numpy(&made)? }),
    }
}

/// Stands for an object whose `__array__` may answer with an array of ours, which NumPy would not take.
#[pyclass(name = "_StandIn", module = "numloom", frozen)]
struct StandIn {
    object: Py<PyAny>,
    /// What `__array__` answered: the view that NumPy got, and the array.
    answer: PyOnceLock<(Py<PyAny>, Py<PyAny>)>,
}

#[pymethods]
impl StandIn {
    #[pyo3(signature = (*args, **kwargs))]
    fn __array__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let made = self.object.bind(py).call_method(intern!(py, "__array__"), args, kwargs)?;
        let Some(ours) = handle::as_ndarray(&made) else { return Ok(made) };
        let view = protocols::numpy_view(ours)?;
        // Asked twice, the first answer is the one that may come back.
        let _ = self.answer.set(py, (view.clone().unbind(), made.clone().unbind()));
        Ok(view)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.object.bind(py).getattr(name)
    }
}

/// `make(obj)`, a call of NumPy's that makes an array, for an object whose `__array__` may be ours: then the array
/// it answered comes back.
pub fn made_by_numpy<'py>(
    obj: &Bound<'py, PyAny>,
    make: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    // SAFETY: a live object.
    let plain = obj.is_exact_instance_of::<PyList>()
        || obj.is_exact_instance_of::<PyTuple>()
        || obj.is_instance_of::<PyType>()
        || unsafe { ffi::PyObject_CheckBuffer(obj.as_ptr()) } != 0;
    if plain || api(py).is_scalar(obj) || !obj.get_type().hasattr(intern!(py, "__array__"))? {
        return make(obj);
    }
    let stand_in = Bound::new(py, StandIn { object: obj.clone().unbind(), answer: PyOnceLock::new() })?;
    let made = make(stand_in.as_any())?;
    match stand_in.get().answer.get(py) {
        Some((view, ours)) if made.is(view) => Ok(ours.bind(py).clone()),
        _ => Ok(made),
    }
}

/// Any array-like as an array, with the type NumPy would give it alone.
pub fn array(obj: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = obj.py();
    match arg(obj)? {
        Arg::Array { array, .. } => Ok(array),
        Arg::Value(v) => constant(py, v),
        Arg::Int(v) if v <= i64::MAX as i128 => constant(py, Value::from_i128(DType::I64, v)),
        Arg::Int(v) => constant(py, Value::from_i128(DType::U64, v)),
        Arg::BigInt(v) => Err(Unsupported::new_err(format!("the integer {v} does not fit in 64 bits"))),
        Arg::Float(v) => constant(py, Value::from_f64(DType::F64, v)),
        Arg::Complex(re, im) => constant(py, Value::from_complex(DType::C128, re, im)),
    }
}

/// Like `array`, with the length known.
pub fn sized_array(obj: &Bound<'_, PyAny>) -> PyResult<Array> {
    if let Some(a) = handle::as_ndarray(obj) {
        return handle::sized(a);
    }
    array(obj)
}

/// A 0-d array holding `v`.
pub fn constant(py: Python<'_>, v: Value) -> PyResult<Array> {
    // SAFETY: the value's bytes are one element.
    unsafe { record::from_host(v.dtype, &[], &[], v.bytes.as_ptr(), || provenance::here(py)) }
        .map_err(|e| errors::raise(py, e))
}

/// The bytes a foreign view touches, as a view inside `[start, start + nbytes)`.
fn enclose(f: &Foreign) -> (View, *mut u8, usize) {
    let (mut lo, mut hi) = (0isize, 0isize);
    if !f.shape.contains(&0) {
        for (&d, &s) in f.shape.iter().zip(&f.strides) {
            let reach = (d as isize - 1) * s;
            if reach < 0 { lo += reach } else { hi += reach }
        }
        hi += f.dtype.size() as isize;
    }
    let view = View { dtype: f.dtype, offset: (-lo) as usize, shape: f.shape.clone(), strides: f.strides.clone() };
    (view, f.data.wrapping_offset(lo), (hi - lo) as usize)
}

/// NumPy arrays that are misaligned are copied by NumPy first.
fn describe_aligned<'py>(obj: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Foreign)> {
    let numpy = api(obj.py());
    let f = numpy.describe(obj)?;
    if f.aligned {
        return Ok((obj.clone(), f));
    }
    let copy = numpy.numpy(obj.py()).call_method1("array", (obj,))?;
    let f = numpy.describe(&copy)?;
    Ok((copy, f))
}

/// As `ours`, where NumPy has described the array.
fn exported_by_us(obj: &Bound<'_, PyAny>, f: &Foreign) -> Option<Array> {
    let py = obj.py();
    let mut at = obj.clone();
    loop {
        if let Ok(exporter) = at.cast_exact::<Exporter>() {
            return within(&exporter.get().array(), f);
        }
        at = match at.cast::<PyMemoryView>() {
            Ok(view) => view.getattr("obj").ok()?,
            Err(_) => api(py).base(&at)?,
        };
    }
}

/// The view of an array's store that NumPy describes, if it lies there.
pub fn within(whole: &Array, f: &Foreign) -> Option<Array> {
    let first = record::data(whole).ok()?;
    let (mut view, start, nbytes) = enclose(f);
    let before = (start as isize).wrapping_sub(first as isize) + whole.view.offset as isize;
    let before = usize::try_from(before).ok().filter(|b| b + nbytes <= whole.store.nbytes())?;
    view.offset += before;
    Some(whole.with_view(view))
}

/// Memory that is misaligned cannot be shared.
fn refuse_misaligned(f: &Foreign) -> PyResult<()> {
    if f.aligned { Ok(()) } else { Err(Unsupported::new_err("misaligned memory that others see")) }
}

/// An array over a NumPy array's memory, which NumPy's side goes on seeing; and whether it may be written.
pub fn borrow_numpy(obj: &Bound<'_, PyAny>) -> PyResult<(Array, bool)> {
    let (obj, f) = (obj.clone(), api(obj.py()).describe(obj)?);
    refuse_misaligned(&f)?;
    if let Some(ours) = exported_by_us(&obj, &f) {
        return Ok((ours, f.writeable));
    }
    Ok((adopt(&obj, &f, true), f.writeable))
}

/// The array of ours that a NumPy array is a view of, if it is one.
pub fn ours(obj: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
    let (obj, f) = describe_aligned(obj)?;
    Ok(exported_by_us(&obj, &f))
}

/// A new array with a NumPy array's elements.
pub fn copy_numpy(obj: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = obj.py();
    let (_, f) = describe_aligned(obj)?;
    // SAFETY: NumPy's description of its own memory.
    let copy = unsafe { record::from_host(f.dtype, &f.shape, &f.strides, f.data, || provenance::here(py)) };
    copy.map_err(|e| errors::raise(py, e))
}

/// A new array with the elements of a plain small array of exactly NumPy's class.
pub fn small_copy(obj: &Bound<'_, PyAny>) -> Option<Array> {
    let numpy = api(obj.py());
    if !numpy.is_exact_array(obj) {
        return None;
    }
    let f = numpy.describe(obj).ok()?;
    let view = View { dtype: f.dtype, offset: 0, shape: f.shape, strides: f.strides };
    if !view.is_c_contiguous() {
        return None;
    }
    let copy = record::small_room(view.dtype, view.shape)?;
    // SAFETY: NumPy's elements lie one after another, and the copy has room for as many.
    unsafe { std::ptr::copy_nonoverlapping(f.data, copy.store.ptr(), copy.view.nbytes()) };
    Some(copy)
}

/// An array over the memory of a NumPy array that only the caller refers to; shared ones are borrowed instead.
pub fn own_numpy(obj: &Bound<'_, PyAny>) -> PyResult<Array> {
    own_numpy_held(obj, 1)
}

/// Fresh results of up to this many bytes are cheaper to copy than to keep.
const COPIED: usize = 1024;

/// `own_numpy_held` as an object. It is a view of what it shares memory with, and read-only where NumPy's array is.
pub fn own_handle(obj: &Bound<'_, PyAny>, held: isize) -> PyResult<Py<PyAny>> {
    let py = obj.py();
    let Foreign { writeable, owns_data, .. } = api(py).describe(obj)?;
    if writeable
        && owns_data
        && references(obj) <= held
        && let Some(copy) = small_copy(obj).filter(|copy| copy.view.nbytes() <= COPIED)
    {
        return handle::wrap(py, copy);
    }
    let (array, shared) = take_over(obj, held)?;
    let viewed = api(py).base(obj).filter(|b| shared && !b.is_exact_instance_of::<Exporter>());
    let base = if writeable { viewed } else { viewed.or_else(|| Some(obj.clone())) };
    Ok(Py::new(py, NdArray { array, writeable, base: base.map(Bound::unbind), exported: None })?.into_any())
}

/// Like `own_numpy`, where `held` references (variables, containers) are known to go away.
pub fn own_numpy_held(obj: &Bound<'_, PyAny>, held: isize) -> PyResult<Array> {
    Ok(take_over(obj, held)?.0)
}

/// The array over a NumPy array's memory, and whether somebody else can see that memory.
fn take_over(obj: &Bound<'_, PyAny>, held: isize) -> PyResult<(Array, bool)> {
    let py = obj.py();
    let fresh = is_fresh(obj, held);
    if !fresh {
        refuse_misaligned(&api(py).describe(obj)?)?;
    }
    let (obj, f) = describe_aligned(obj)?;
    let view = View { dtype: f.dtype, offset: 0, shape: f.shape.clone(), strides: f.strides.clone() };
    if fresh && f.writeable && view.nbytes() <= COPIED && view.is_c_contiguous() {
        // SAFETY: NumPy's description of its own memory.
        let copy = unsafe { record::from_host(f.dtype, &f.shape, &f.strides, f.data, || provenance::here(py)) };
        return Ok((copy.map_err(|e| errors::raise(py, e))?, false));
    }
    if let Some(ours) = exported_by_us(&obj, &f) {
        return Ok((ours, true));
    }
    let shared = !(fresh && f.writeable);
    Ok((adopt(&obj, &f, shared), shared))
}

fn references(obj: &Bound<'_, PyAny>) -> isize {
    // SAFETY: a live object.
    unsafe { ffi::Py_REFCNT(obj.as_ptr()) }
}

/// Whether nobody else can reach this memory: the array, and every array it is a view of, is referred to only
/// from where we stand.
fn is_fresh(obj: &Bound<'_, PyAny>, held: isize) -> bool {
    let numpy = api(obj.py());
    if references(obj) > held {
        return false;
    }
    let mut at = obj.clone();
    loop {
        match numpy.describe(&at) {
            Ok(f) if f.owns_data => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
        let Some(base) = numpy.base(&at) else { return false };
        // The view's reference and ours.
        if !numpy.is_exact_array(&base) || references(&base) > 2 {
            return false;
        }
        at = base;
    }
}

/// Raises unless the object is a `numpy.ndarray`.
pub fn expect_numpy(obj: &Bound<'_, PyAny>) -> PyResult<()> {
    if api(obj.py()).is_array(obj) { Ok(()) } else { Err(PyTypeError::new_err("a numpy.ndarray is expected")) }
}

/// An array over a NumPy array's memory. Unless others can change it, work on it is deferred.
pub fn adopt(obj: &Bound<'_, PyAny>, f: &Foreign, exposed: bool) -> Array {
    let py = obj.py();
    let (view, start, nbytes) = enclose(f);
    // SAFETY: the owner is the NumPy array, which keeps this memory; arrays that NumPy may not write are
    // never written by us, because their handles are not writeable.
    unsafe { record::adopt(view, start, nbytes, Box::new(obj.clone().unbind()), exposed, || provenance::here(py)) }
}

/// Anything `numpy.dtype()` takes; `Unsupported` (a TypeError) for types that are not ours.
pub fn dtype_from_py(obj: &Bound<'_, PyAny>) -> PyResult<DType> {
    let py = obj.py();
    let numpy = api(py);
    if let Some(d) = numpy.dtype_at_once(obj) {
        return Ok(d);
    }
    if handle::as_ndarray(obj).is_some() {
        return Err(PyTypeError::new_err("Cannot construct a dtype from an array"));
    }
    let descr = numpy.numpy(py).call_method1("dtype", (obj,))?;
    numpy.dtype_of(&descr).ok_or_else(|| {
        Unsupported::new_err(format!(
            "the dtype {} is not supported",
            descr.str().map_or(String::new(), |s| s.to_string())
        ))
    })
}

/// The usual names of our types; NumPy knows the others.
pub fn dtype_named(name: &str) -> Option<DType> {
    Some(match name {
        "f8" | "float64" | "float" | "d" => DType::F64,
        "f4" | "float32" | "f" => DType::F32,
        "f2" | "float16" => DType::F16,
        "i8" | "int64" | "int" => DType::I64,
        "i4" | "int32" => DType::I32,
        "i2" | "int16" => DType::I16,
        "i1" | "int8" => DType::I8,
        "u8" | "uint64" => DType::U64,
        "u4" | "uint32" => DType::U32,
        "u2" | "uint16" => DType::U16,
        "u1" | "uint8" => DType::U8,
        "c16" | "complex128" | "complex" => DType::C128,
        "c8" | "complex64" => DType::C64,
        "bool" | "?" => DType::Bool,
        _ => return None,
    })
}

/// `dtype_from_py` of an optional argument, where None means "not given".
pub fn dtype_option(obj: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DType>> {
    match obj {
        Some(o) if !o.is_none() => dtype_from_py(o).map(Some),
        _ => Ok(None),
    }
}

/// The `numpy.dtype` object.
#[inline]
pub fn dtype_to_py(py: Python<'_>, d: DType) -> Py<PyAny> {
    api(py).descr(d).clone_ref(py)
}

/// One argument that must be an `ndarray` of ours.
pub fn expect_ndarray<'a, 'py>(obj: &'a Bound<'py, PyAny>, what: &str) -> PyResult<&'a Bound<'py, NdArray>> {
    handle::as_ndarray(obj).ok_or_else(|| PyTypeError::new_err(format!("{what} must be a numloom.ndarray")))
}

/// The element of a 0-d array; a sync point.
pub fn value_of(py: Python<'_>, array: &Array) -> PyResult<Value> {
    errors::sync(py, array)?;
    ready_value(py, array)
}

/// The first element of an array whose contents are there.
#[inline]
pub fn ready_value(py: Python<'_>, array: &Array) -> PyResult<Value> {
    let _still = record::still();
    let p = record::data(array).map_err(|e| errors::raise(py, e))?;
    // SAFETY: the array is ready, so its first element is readable.
    Ok(unsafe { Value::from_bytes(array.view.dtype, std::slice::from_raw_parts(p, array.view.dtype.size())) })
}

/// A Python number: what `item()` gives.
pub fn value_to_py(py: Python<'_>, v: &Value) -> PyResult<Py<PyAny>> {
    Ok(match v.dtype {
        DType::Bool => PyBool::new(py, v.bytes[0] != 0).to_owned().into_any().unbind(),
        DType::U64 => (v.to_i128() as u64).into_pyobject(py)?.into_any().unbind(),
        d if d.is_integer() => (v.to_i128() as i64).into_pyobject(py)?.into_any().unbind(),
        d if d.is_complex() => PyComplex::from_doubles(py, v.to_f64(), v.imag()).into_any().unbind(),
        _ => PyFloat::new(py, v.to_f64()).into_any().unbind(),
    })
}
