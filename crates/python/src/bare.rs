//! Attributes and methods of `ndarray` whose work takes less time than PyO3's bookkeeping around it: plain calls on
//! exactly our class, of known length. Everything else goes to the attribute or method that PyO3 made.

use crate::convert;
use crate::create;
use crate::dispatch;
use crate::handle::{self, NdArray};
use crate::index;
use crate::layout;
use crate::lists;
use crate::numpy_api::api;
use crate::object;
use crate::quick;
use crate::quick_index;
use crate::short::{self, Given};
use crate::slots::{answer, definition, held, positional, tried};
use numloom_ir::view::{Order, dense_strides};
use numloom_ir::{DType, Dims, ScalarOp, Value, View};
use numloom_runtime::{MapOp, Operand, record};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyType};
use smallvec::SmallVec;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

type Objects<'a> = &'a [*mut ffi::PyObject];
type Answer = Option<PyResult<Py<PyAny>>>;

// In every Python since 3.9, and in the limited API since 3.12.
unsafe extern "C" {
    pub fn PyObject_Vectorcall(
        callable: *mut ffi::PyObject,
        args: *const *mut ffi::PyObject,
        nargs: usize,
        names: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
}

/// An attribute or method as PyO3 made it.
struct Original(OnceLock<Py<PyAny>>);

impl Original {
    const fn new() -> Original {
        Original(OnceLock::new())
    }

    fn pointer(&self) -> *mut ffi::PyObject {
        self.0.get().map_or(std::ptr::null_mut(), |o| o.as_ptr())
    }
}

/// The contents of an object of our class whose length is known.
#[inline(always)]
unsafe fn plain<'a>(x: *mut ffi::PyObject) -> Option<&'a NdArray> {
    let this = &*object::contents(x)?;
    this.array.symbol().is_none().then_some(this)
}

unsafe fn get_original(original: &Original, x: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi::PyObject_CallMethod(original.pointer(), c"__get__".as_ptr(), c"O".as_ptr(), x)
}

unsafe fn set_original(original: &Original, x: *mut ffi::PyObject, value: *mut ffi::PyObject) -> c_int {
    let done = if value.is_null() {
        ffi::PyObject_CallMethod(original.pointer(), c"__delete__".as_ptr(), c"O".as_ptr(), x)
    } else {
        ffi::PyObject_CallMethod(original.pointer(), c"__set__".as_ptr(), c"OO".as_ptr(), x, value)
    };
    if done.is_null() {
        return -1;
    }
    ffi::Py_DecRef(done);
    0
}

unsafe fn call_original(
    original: &Original,
    x: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: isize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let keywords = if names.is_null() { 0 } else { ffi::PyTuple_Size(names) };
    let mut all: SmallVec<[*mut ffi::PyObject; 8]> = SmallVec::new();
    all.push(x);
    all.extend((0..n + keywords).map(|i| *args.offset(i)));
    PyObject_Vectorcall(original.pointer(), all.as_ptr(), 1 + n as usize, names)
}

/// Replaces an attribute of the class, keeping what was there.
fn replace(
    class: &Bound<'_, PyType>,
    name: &str,
    original: &Original,
    make: impl FnOnce(CString) -> *mut ffi::PyObject,
) -> PyResult<()> {
    let py = class.py();
    let was = class.getattr("__dict__")?.get_item(name)?;
    // What PyO3 wrote there: the signature stands before the text.
    let text = |attribute: &str| was.getattr(attribute).ok().and_then(|t| t.extract::<String>().ok());
    let mut doc = text("__doc__").unwrap_or_default();
    if let Some(signature) = text("__text_signature__") {
        doc = format!("{name}{signature}\n--\n\n{doc}");
    }
    let doc = match was.is_instance_of::<PyFunction>() {
        true => function_doc(name, &was)?,
        false => CString::new(doc).map_err(|e| PyRuntimeError::new_err(e.to_string()))?,
    };
    // SAFETY: a new descriptor, or null with the exception set.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, make(doc))? };
    let _ = original.0.set(was.unbind());
    class.setattr(name, made)
}

macro_rules! attributes {
    ($($name:literal $get:ident)*) => {
        /// Puts our attributes into the class.
        fn install_attributes(class: &Bound<'_, PyType>) -> PyResult<()> {
            $({
                static ORIGINAL: Original = Original::new();
                unsafe extern "C" fn get(x: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
                    let py = Python::assume_attached();
                    match plain(x).and_then(|this| $get(py, x, this)) {
                        Some(done) => answer(py, done),
                        None => get_original(&ORIGINAL, x),
                    }
                }
                unsafe extern "C" fn set(x: *mut ffi::PyObject, value: *mut ffi::PyObject, _: *mut c_void) -> c_int {
                    set_original(&ORIGINAL, x, value)
                }
                replace(class, $name, &ORIGINAL, |doc| {
                    // Descriptors point to their definition for ever.
                    let def = Box::leak(Box::new(ffi::PyGetSetDef {
                        name: concat!($name, "\0").as_ptr().cast::<c_char>(),
                        get: Some(get),
                        set: Some(set),
                        doc: doc.into_raw(),
                        closure: std::ptr::null_mut(),
                    }));
                    // SAFETY: a class and a definition that stays.
                    unsafe { ffi::PyDescr_NewGetSet(class.as_type_ptr(), def) }
                })?;
            })*
            Ok(())
        }
    };
}

macro_rules! methods {
    ($($name:literal $call:ident $(($keyword:literal))?)*) => {
        /// Puts our methods into the class.
        fn install_methods(class: &Bound<'_, PyType>) -> PyResult<()> {
            $({
                static ORIGINAL: Original = Original::new();
                unsafe extern "C" fn call(
                    x: *mut ffi::PyObject,
                    args: *const *mut ffi::PyObject,
                    n: isize,
                    names: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    let py = Python::assume_attached();
                    // The first argument by its name is as good as by its place.
                    let first: &[&CStr] = &[$($keyword)?];
                    let named = n == 0 && first.iter().any(|first| is_alone(names, first));
                    if names.is_null() || named {
                        if let Some(done) = tried(|| $call(py, x, plain(x)?, positional(args, n + named as isize))) {
                            return answer(py, done);
                        }
                    }
                    call_original(&ORIGINAL, x, args, n, names)
                }
                replace(class, $name, &ORIGINAL, |doc| {
                    let def = definition(concat!($name, "\0"), call, doc.into_raw());
                    // SAFETY: a class and a definition that stays.
                    unsafe { ffi::PyDescr_NewMethod(class.as_type_ptr(), def) }
                })?;
            })*
            Ok(())
        }
    };
}

macro_rules! methods_of_functions {
    ($($name:literal $call:path;)*) => {
        /// Puts the short ways of functions before the methods of their names, which take the array before the other arguments.
        fn install_methods_of_functions(class: &Bound<'_, PyType>) -> PyResult<()> {
            $({
                static ORIGINAL: Original = Original::new();
                unsafe extern "C" fn call(
                    x: *mut ffi::PyObject,
                    args: *const *mut ffi::PyObject,
                    n: isize,
                    names: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    let py = Python::assume_attached();
                    let mut all: SmallVec<[*mut ffi::PyObject; 8]> = SmallVec::new();
                    all.push(x);
                    let named = if names.is_null() { 0 } else { ffi::PyTuple_Size(names) };
                    all.extend((0..n + named).map(|i| *args.offset(i)));
                    match short::answered(&Given::new(py, all.as_ptr(), n + 1, names), $call) {
                        Some(done) => answer(py, done),
                        None => call_original(&ORIGINAL, x, args, n, names),
                    }
                }
                replace(class, $name, &ORIGINAL, |doc| {
                    let def = definition(concat!($name, "\0"), call, doc.into_raw());
                    // SAFETY: a class and a definition that stays.
                    unsafe { ffi::PyDescr_NewMethod(class.as_type_ptr(), def) }
                })?;
            })*
            Ok(())
        }
    };
}

methods_of_functions! {
    "take" crate::short_making::take;
    "repeat" crate::short_making::repeat;
    "searchsorted" crate::short_numbers::searchsorted;
    "nonzero" crate::short_order::nonzero;
    "argsort" crate::short_order::argsort;
    "sort" crate::short_changing::sort;
    "partition" crate::short_changing::partition;
    "put" crate::short_changing::put_method;
    "compress" crate::short_truths::compress_method;
    "round" crate::short_elements::round;
    "byteswap" crate::short_elements::byteswap;
    "any" crate::short_truths::any;
    "all" crate::short_truths::all;
}

macro_rules! functions {
    ($($name:literal $call:path;)*) => {
        /// Puts functions before those of the package and methods before those of the class: they do plain calls and hand on
        /// the others.
        #[pyfunction]
        pub fn put_short_ways(package: &Bound<'_, PyModule>) -> PyResult<()> {
            let py = package.py();
            install_methods(&py.get_type::<NdArray>())?;
            install_methods_of_functions(&py.get_type::<NdArray>())?;
            $({
                static ORIGINAL: Original = Original::new();
                unsafe extern "C" fn call(
                    _: *mut ffi::PyObject,
                    args: *const *mut ffi::PyObject,
                    n: isize,
                    names: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    let py = Python::assume_attached();
                    let done = tried(|| $call(py, positional(args, n), only_dtype(py, names, args.offset(n), $name)?));
                    match done {
                        Some(done) => answer(py, done),
                        None => PyObject_Vectorcall(ORIGINAL.pointer(), args, n as usize, names),
                    }
                }
                let was = package.getattr($name)?;
                let doc = function_doc($name, &was)?;
                let def = definition(concat!($name, "\0"), call, doc.into_raw());
                let _ = ORIGINAL.0.set(was.unbind());
                // SAFETY: a definition that stays, the module and its name.
                let made = unsafe {
                    let function = ffi::PyCFunction_NewEx(def, package.as_ptr(), package.name()?.as_ptr());
                    Bound::from_owned_ptr_or_err(py, function)?
                };
                package.setattr($name, made)?;
            })*
            Ok(())
        }
    };
}

/// The documentation of a Python function as C functions have it, with the signature before it.
fn function_doc(name: &str, function: &Bound<'_, PyAny>) -> PyResult<CString> {
    let py = function.py();
    let inspect = py.import("inspect")?;
    let signature = inspect.call_method1("signature", (function,))?;
    let mut parts = Vec::new();
    let (mut keyword_only, mut by_place) = (false, false);
    for parameter in signature.getattr("parameters")?.call_method0("values")?.try_iter()? {
        let parameter = parameter?;
        let kind = parameter.getattr("kind")?;
        if kind.eq(parameter.getattr("POSITIONAL_ONLY")?)? {
            by_place = true;
        } else if by_place {
            by_place = false;
            parts.push("/".to_owned());
        }
        if !keyword_only && kind.eq(parameter.getattr("KEYWORD_ONLY")?)? {
            keyword_only = true;
            parts.push("*".to_owned());
        }
        let default = parameter.getattr("default")?;
        let name = parameter.getattr("name")?;
        parts.push(if default.is(parameter.getattr("empty")?) {
            name.to_string()
        } else {
            format!("{name}={}", default.repr()?)
        });
    }
    if by_place {
        parts.push("/".to_owned());
    }
    let doc = function.getattr("__doc__")?.extract::<Option<String>>()?.unwrap_or_default();
    CString::new(format!("{name}({})\n--\n\n{doc}", parts.join(", ")))
        .map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

attributes! {
    "T" transposed
    "shape" shape
    "dtype" dtype
    "size" size
    "ndim" ndim
    "nbytes" nbytes
    "real" real
    "imag" imag
}

methods! {
    "reshape" reshape
    "transpose" transpose
    "ravel" ravel
    "copy" copy
    "astype" astype
    "item" item
    "argmax" argmax (c"axis")
    "argmin" argmin (c"axis")
    "flatten" flatten
    "dot" method_dot
    "cumsum" method_cumsum
    "cumprod" method_cumprod
    "clip" method_clip
    "conj" conjugate
    "conjugate" conjugate
    "fill" fill
    "tolist" tolist
    "__array_ufunc__" array_ufunc
}

/// NumPy's dtype objects, which are always there.
static DESCRS: [AtomicPtr<ffi::PyObject>; DType::ALL.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; DType::ALL.len()];

pub fn install(class: &Bound<'_, PyType>) -> PyResult<()> {
    for (d, place) in DType::ALL.iter().zip(&DESCRS) {
        place.store(api(class.py()).descr(*d).as_ptr(), Relaxed);
    }
    install_attributes(class)
}

/// A view of `x` with another layout.
#[inline]
unsafe fn part(py: Python<'_>, x: *mut ffi::PyObject, this: &NdArray, change: impl FnOnce(&mut View)) -> Answer {
    let parent = held(py, x).cast_unchecked::<NdArray>();
    Some(handle::wrap_changed(py, &parent, this, change))
}

#[inline(always)]
unsafe fn number(py: Python<'_>, n: usize) -> Answer {
    Some(Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromSize_t(n)).map(Bound::unbind))
}

unsafe fn transposed(py: Python<'_>, x: *mut ffi::PyObject, this: &NdArray) -> Answer {
    part(py, x, this, |view| {
        view.shape.reverse();
        view.strides.reverse();
    })
}

unsafe fn shape(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray) -> Answer {
    let shape = &this.array.view.shape;
    let tuple = Bound::from_owned_ptr_or_opt(py, ffi::PyTuple_New(shape.len() as isize))?;
    for (i, &d) in shape.iter().enumerate() {
        let number = ffi::PyLong_FromSize_t(d);
        if number.is_null() || ffi::PyTuple_SetItem(tuple.as_ptr(), i as isize, number) != 0 {
            return Some(Err(PyErr::fetch(py)));
        }
    }
    Some(Ok(tuple.unbind()))
}

unsafe fn dtype(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray) -> Answer {
    let descr = DESCRS[this.array.view.dtype as usize].load(Relaxed);
    ffi::Py_IncRef(descr);
    Some(Ok(Bound::from_owned_ptr(py, descr).unbind()))
}

unsafe fn size(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray) -> Answer {
    number(py, this.array.view.size())
}

unsafe fn nbytes(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray) -> Answer {
    number(py, this.array.view.nbytes())
}

unsafe fn real(py: Python<'_>, x: *mut ffi::PyObject, this: &NdArray) -> Answer {
    let real = this.array.view.dtype.real();
    if real == this.array.view.dtype { None } else { part(py, x, this, |view| view.dtype = real) }
}

unsafe fn imag(py: Python<'_>, x: *mut ffi::PyObject, this: &NdArray) -> Answer {
    let real = this.array.view.dtype.real();
    if real == this.array.view.dtype {
        return None;
    }
    part(py, x, this, |view| {
        view.dtype = real;
        view.offset += real.size();
    })
}

unsafe fn ndim(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray) -> Answer {
    number(py, this.array.view.ndim())
}

/// A Python int.
#[inline(always)]
unsafe fn int(object: *mut ffi::PyObject) -> Option<isize> {
    let mut overflow = 0;
    let exact = ffi::PyLong_CheckExact(object) != 0;
    let i = if exact { ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow) } else { 0 };
    (exact && overflow == 0).then_some(i as isize)
}

/// The ints of `f(2, 3)` or `f((2, 3))`.
#[inline]
unsafe fn ints(args: Objects<'_>) -> Option<SmallVec<[isize; 4]>> {
    let mut all = SmallVec::new();
    match args {
        [tuple] if ffi::PyTuple_CheckExact(*tuple) != 0 => {
            for i in 0..ffi::PyTuple_Size(*tuple) {
                all.push(int(ffi::PyTuple_GetItem(*tuple, i))?);
            }
        }
        _ => {
            for &a in args {
                all.push(int(a)?);
            }
        }
    }
    Some(all)
}

unsafe fn reshape(py: Python<'_>, x: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    let view = &this.array.view;
    let wanted = ints(args)?;
    if args.is_empty() || wanted.len() > 8 {
        return None;
    }
    let size = view.size();
    let (mut known, mut open, mut shape) = (1usize, None, Dims::new());
    for (i, &d) in wanted.iter().enumerate() {
        match usize::try_from(d) {
            Ok(d) => known = known.checked_mul(d)?,
            Err(_) if open.is_none() => open = Some(i),
            Err(_) => return None,
        }
        shape.push(d as usize);
    }
    match open {
        Some(i) if known > 0 && size.is_multiple_of(known) => shape[i] = size / known,
        None if known == size => {}
        _ => return None,
    }
    let strides = if view.is_c_contiguous() {
        dense_strides(view.dtype.size(), &shape, Order::C)
    } else {
        view.reshape(&shape, Order::C)?.strides
    };
    part(py, x, this, |view| {
        view.shape = shape;
        view.strides = strides;
    })
}

unsafe fn transpose(py: Python<'_>, x: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    if args.is_empty() || (args.len() == 1 && args[0] == ffi::Py_None()) {
        return transposed(py, x, this);
    }
    let wanted = ints(args)?;
    let view = &this.array.view;
    let mut axes = Dims::new();
    for &a in &wanted {
        let a = layout::axis(py, a, view.ndim()).ok().filter(|a| !axes.contains(a))?;
        axes.push(a);
    }
    if axes.len() != view.ndim() {
        return None;
    }
    let turned = view.transpose(&axes);
    part(py, x, this, |view| *view = turned)
}

unsafe fn ravel(py: Python<'_>, x: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    let view = &this.array.view;
    if !args.is_empty() || !view.is_c_contiguous() {
        return None;
    }
    let (n, step) = (view.size(), view.dtype.size() as isize);
    part(py, x, this, |view| {
        view.shape = SmallVec::from_buf_and_len([n, 0, 0, 0], 1);
        view.strides = SmallVec::from_buf_and_len([step, 0, 0, 0], 1);
    })
}

unsafe fn copy(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    if !args.is_empty() {
        return None;
    }
    Some(handle::wrap(py, record::cast_small(&this.array, this.array.view.dtype)?.0))
}

unsafe fn astype(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    let &[wanted] = args else { return None };
    cast(py, this, api(py).dtype_at_once(&held(py, wanted))?)
}

unsafe fn item(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    let view = &this.array.view;
    let at = match (args, view.ndim()) {
        ([], _) if view.size() == 1 => 0,
        ([i], 1) => {
            let (i, n) = (int(*i)?, view.shape[0] as isize);
            let at = if i < 0 { i + n } else { i };
            if at < 0 || at >= n {
                return None;
            }
            at * view.strides[0]
        }
        (many, ndim) if many.len() == ndim => {
            let parts: SmallVec<[isize; 4]> = many.iter().map(|&i| int(i)).collect::<Option<_>>()?;
            quick_index::place(view, &parts)?
        }
        _ => return None,
    };
    let value = record::read_element(&this.array, at)?;
    Some(crate::convert::value_to_py(py, &value))
}

unsafe fn place_of_extreme(py: Python<'_>, this: &NdArray, args: Objects<'_>, max: bool) -> Answer {
    if let &[axis] = args {
        let (axis, ndim) = (int(axis)?, this.array.view.ndim());
        let axis = if axis < 0 { axis + ndim as isize } else { axis };
        let places = record::extreme_places(&this.array, usize::try_from(axis).ok()?, max)?;
        return Some(handle::wrap(py, places));
    }
    let place = if args.is_empty() { record::extreme_place(&this.array, max)? } else { return None };
    Some(api(py).make_scalar(py, &Value::from_i128(DType::I64, place as i128)))
}

unsafe fn argmax(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    place_of_extreme(py, this, args, true)
}

unsafe fn argmin(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    place_of_extreme(py, this, args, false)
}

unsafe fn flatten(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    if !args.is_empty() {
        return None;
    }
    let mut made = record::cast_small(&this.array, this.array.view.dtype)?.0;
    let (n, size) = (made.view.size(), made.view.dtype.size() as isize);
    made.view.shape = SmallVec::from_buf_and_len([n, 0, 0, 0], 1);
    made.view.strides = SmallVec::from_buf_and_len([size, 0, 0, 0], 1);
    Some(handle::wrap(py, made))
}

unsafe fn method_dot(py: Python<'_>, x: *mut ffi::PyObject, _: &NdArray, args: Objects<'_>) -> Answer {
    let &[other] = args else { return None };
    dot(py, &[x, other], None)
}

unsafe fn method_cumsum(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    if args.is_empty() { quick::scan(py, ScalarOp::Add, &this.array) } else { None }
}

unsafe fn method_cumprod(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    if args.is_empty() { quick::scan(py, ScalarOp::Multiply, &this.array) } else { None }
}

unsafe fn method_clip(py: Python<'_>, x: *mut ffi::PyObject, _: &NdArray, args: Objects<'_>) -> Answer {
    let &[low, high] = args else { return None };
    quick::clip(&held(py, x), &held(py, low), &held(py, high))
}

unsafe fn conjugate(py: Python<'_>, x: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    let complex = args.is_empty() && this.array.view.dtype.is_complex();
    if complex { quick::unary(ScalarOp::Conjugate, &held(py, x)) } else { None }
}

unsafe fn fill(py: Python<'_>, x: *mut ffi::PyObject, _: &NdArray, args: Objects<'_>) -> Answer {
    let &[value] = args else { return None };
    quick::fill(&held(py, x), &held(py, value))
}

/// The elements of a line as Python's own numbers.
unsafe fn tolist(py: Python<'_>, _: *mut ffi::PyObject, this: &NdArray, args: Objects<'_>) -> Answer {
    if !args.is_empty() {
        return None;
    }
    let (dtype, elements) = line_of(this)?;
    numloom_profile::record::values_read(elements.len());
    let list = Bound::from_owned_ptr_or_opt(py, ffi::PyList_New(elements.len() as isize))?;
    for (i, bits) in elements.into_iter().enumerate() {
        let number = match dtype {
            DType::F64 => ffi::PyFloat_FromDouble(f64::from_bits(bits)),
            _ => ffi::PyLong_FromLongLong(bits as i64),
        };
        if number.is_null() || ffi::PyList_SetItem(list.as_ptr(), i as isize, number) != 0 {
            return Some(Err(PyErr::fetch(py)));
        }
    }
    Some(Ok(list.unbind()))
}

/// A copy of the elements of a small line of doubles or of 64-bit integers: making objects may run Python code, which may
/// change them.
fn line_of(this: &NdArray) -> Option<(DType, SmallVec<[u64; 32]>)> {
    let _still = record::still();
    let near = record::near(&this.array)?;
    let (&[n], &[step]) = (near.view.shape.as_slice(), near.view.strides.as_slice()) else { return None };
    let dtype = near.view.dtype;
    // SAFETY: views lie inside their stores.
    let at = |i: usize| unsafe { near.ptr.offset(i as isize * step).cast::<u64>().read_unaligned() };
    matches!(dtype, DType::F64 | DType::I64).then(|| (dtype, (0..n).map(at).collect()))
}

/// NumPy's ufunc of an array of ours and something of NumPy's: `s * a` of a NumPy scalar comes this way.
unsafe fn array_ufunc(py: Python<'_>, _: *mut ffi::PyObject, _: &NdArray, args: Objects<'_>) -> Answer {
    let (&[ufunc, method], inputs) = args.split_first_chunk()?;
    let op = dispatch::plain(&held(py, ufunc))?;
    let is_call =
        ffi::PyUnicode_Check(method) != 0 && ffi::PyUnicode_CompareWithASCIIString(method, c"__call__".as_ptr()) == 0;
    match *inputs {
        _ if !is_call || inputs.len() != op.nin() => None,
        [a] => quick::unary(op, &held(py, a)),
        [a, b] => quick::binary(op, &held(py, a), &held(py, b)),
        _ => None,
    }
}

functions! {
    "asarray" asarray;
    "asanyarray" asarray;
    "empty" empty;
    "zeros" zeros;
    "ones" ones;
    "empty_like" empty_like;
    "ascontiguousarray" ascontiguousarray;
    "dot" dot;
    "inner" inner;
    "vdot" vdot;
    "array" array;
    "copy" copied;
    "copyto" copyto;
    "arange" arange;
    "cumsum" cumsum;
    "cumprod" cumprod;
    "putmask" crate::short_changing::putmask;
}

unsafe fn asarray(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (x, dtype) = object_and_type(py, args, dtype)?;
    if let Some(this) = object::contents(x) {
        let same = dtype.is_none_or(|dtype| dtype == (*this).array.view.dtype);
        return if same { Some(Ok(held(py, x).to_owned().unbind())) } else { cast(py, plain(x)?, dtype?) };
    }
    made_of(py, x, dtype)
}

/// The first argument, and the type that was asked for in the second or by name.
#[inline]
unsafe fn object_and_type(
    py: Python<'_>,
    args: Objects<'_>,
    dtype: Option<DType>,
) -> Option<(*mut ffi::PyObject, Option<DType>)> {
    match (args, dtype) {
        (&[x], dtype) => Some((x, dtype)),
        (&[x, given], None) if given == ffi::Py_None() => Some((x, None)),
        (&[x, given], None) => Some((x, Some(api(py).dtype_at_once(&held(py, given))?))),
        _ => None,
    }
}

/// A small array in another type. Imaginary parts that get lost are warned of, as are values that do not fit, which raise
/// a flag. The axes of a copy lie as those of the array do, and this one's in C order.
unsafe fn cast(py: Python<'_>, this: &NdArray, to: DType) -> Answer {
    if this.array.view.dtype.is_complex() || !this.array.view.lies_in_c_order() {
        return None;
    }
    let (made, flags) = record::cast_small(&this.array, to)?;
    (flags == 0).then(|| handle::wrap(py, made))
}

/// A new array of a number, or of a few in lists or in an array of NumPy's.
unsafe fn made_of(py: Python<'_>, x: *mut ffi::PyObject, dtype: Option<DType>) -> Answer {
    let x = held(py, x);
    let Some(copy) = convert::small_copy(&x) else {
        return Some(handle::wrap(py, lists::made(&x, dtype)?));
    };
    let Some(dtype) = dtype.filter(|&dtype| dtype != copy.view.dtype) else { return Some(handle::wrap(py, copy)) };
    let (made, flags) = record::cast_small(&copy, dtype).filter(|_| !copy.view.dtype.is_complex())?;
    (flags == 0).then(|| handle::wrap(py, made))
}

unsafe fn ascontiguousarray(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let &[x] = args else { return None };
    let this = plain(x).filter(|this| dtype.is_none() && this.array.view.ndim() > 0)?;
    if this.array.view.is_c_contiguous() {
        return Some(Ok(held(py, x).to_owned().unbind()));
    }
    Some(handle::wrap(py, record::cast_small(&this.array, this.array.view.dtype)?.0))
}

/// A copy in C order of what is in C order; the lines of larger arrays are kept.
unsafe fn array(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (x, dtype) = object_and_type(py, args, dtype)?;
    if object::contents(x).is_none() {
        return made_of(py, x, dtype);
    }
    let this = plain(x).filter(|this| this.array.view.is_c_contiguous())?;
    match dtype.filter(|&dtype| dtype != this.array.view.dtype) {
        None => Some(handle::wrap(py, record::cast_small(&this.array, this.array.view.dtype)?.0)),
        Some(dtype) => cast(py, this, dtype),
    }
}

/// `copy` of what is an array.
unsafe fn copied(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let &[_] = args else { return None };
    if dtype.is_some() { None } else { array(py, args, None) }
}

unsafe fn copyto(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (&[to, from], None) = (args, dtype) else { return None };
    let (to, from) = (plain(to).filter(|to| to.writeable)?, plain(from)?);
    let alike = to.array.view.shape == from.array.view.shape && to.array.view.dtype == from.array.view.dtype;
    let done = alike.then(|| record::run_small(MapOp::Copy, &[Operand::Array(&from.array)], &to.array)).flatten()?;
    done.ok().map(|_| Ok(py.None()))
}

/// `arange` of Python's numbers.
unsafe fn arange(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let mut numbers = [0.0, 0.0, 1.0];
    let mut floats = false;
    let places: &[usize] = match args.len() {
        1 => &[1],
        2 => &[0, 1],
        3 => &[0, 1, 2],
        _ => return None,
    };
    for (&arg, &place) in args.iter().zip(places) {
        numbers[place] = match int(arg) {
            // NumPy computes with integers first.
            Some(i) if i.unsigned_abs() < 1 << 52 => i as f64,
            Some(_) => return None,
            None if ffi::PyFloat_CheckExact(arg) != 0 => {
                floats = true;
                ffi::PyFloat_AsDouble(arg)
            }
            None => return None,
        };
    }
    let [start, stop, step] = numbers;
    let n = ((stop - start) / step).ceil();
    if !(1.0..=8192.0).contains(&n) {
        return None;
    }
    let dtype = dtype.unwrap_or(if floats { DType::F64 } else { DType::I64 });
    // NumPy's second element is the sum in the array's type, and all others follow from the first two.
    let value = |x: f64| Value::from_f64(dtype, x);
    let (first, second) = (value(start).to_f64(), value(start + step).to_f64());
    let delta = value(second - first);
    let last = start + (n - 1.0) * step;
    let fits = match dtype {
        DType::F64 => first + delta.to_f64() == second,
        // Whole numbers that a single holds are the same however they are added up.
        DType::F32 => !floats && [start, last, step].iter().all(|x| x.abs() < (1 << 24) as f64),
        _ if floats || !dtype.is_integer() => false,
        // What is below zero, or too large, is NumPy's to wrap or refuse.
        _ => [start, last, start + step].iter().all(|&x| value(x).to_f64() == x) && step > 0.0,
    };
    fits.then(|| Some(handle::wrap(py, record::iota_new(&value(start), &delta, n as usize)?))).flatten()
}

unsafe fn cumsum(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (&[x], None) = (args, dtype) else { return None };
    quick::scan(py, ScalarOp::Add, &plain(x)?.array)
}

unsafe fn cumprod(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (&[x], None) = (args, dtype) else { return None };
    quick::scan(py, ScalarOp::Multiply, &plain(x)?.array)
}

/// The product of two vectors.
unsafe fn inner(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (&[a, b], None) = (args, dtype) else { return None };
    let vectors = plain(a)?.array.view.ndim() == 1 && plain(b)?.array.view.ndim() == 1;
    vectors.then(|| quick::dot(&held(py, a), &held(py, b))).flatten()
}

unsafe fn vdot(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    // The first of complex vectors is conjugated.
    let is_real = args.first().is_some_and(|&a| plain(a).is_some_and(|a| !a.array.view.dtype.is_complex()));
    if is_real { inner(py, args, dtype) } else { None }
}

unsafe fn dot(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (&[a, b], None) = (args, dtype) else { return None };
    let (a, b) = (held(py, a), held(py, b));
    quick::dot(&a, &b).or_else(|| quick::scaled(&a, &b))
}

/// Shape and type of a new array: `f(3)`, `f((2, 3), dtype)`.
#[inline]
unsafe fn wanted(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Option<(DType, Dims)> {
    let dtype = match (args.get(1), dtype) {
        (Some(&given), None) if args.len() == 2 => api(py).dtype_at_once(&held(py, given))?,
        (None, Some(dtype)) => dtype,
        (None, None) => DType::F64,
        _ => return None,
    };
    let first = args.get(..1)?;
    let shape = match int(first[0]) {
        Some(n) => SmallVec::from_buf_and_len([usize::try_from(n).ok()?, 0, 0, 0], 1),
        None => ints(first)?.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Dims>>()?,
    };
    // Too many dimensions are an error even of no elements.
    (shape.len() <= 8).then_some((dtype, shape))
}

unsafe fn empty(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (dtype, shape) = wanted(py, args, dtype)?;
    Some(handle::wrap(py, record::new_small(dtype, shape, false)?))
}

unsafe fn zeros(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (dtype, shape) = wanted(py, args, dtype)?;
    match record::new_small(dtype, shape.clone(), true) {
        Some(made) => Some(handle::wrap(py, made)),
        None => uniform(py, dtype, &shape, 0),
    }
}

unsafe fn ones(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let (dtype, shape) = wanted(py, args, dtype)?;
    uniform(py, dtype, &shape, 1)
}

/// A new array of one value.
fn uniform(py: Python<'_>, dtype: DType, shape: &Dims, value: i128) -> Answer {
    // One too big to have is refused elsewhere.
    numloom_ir::view::checked_size(shape)?.checked_mul(dtype.size()).filter(|&n| n <= index::most_bytes())?;
    let view = View::dense(dtype, shape, Order::C);
    Some(create::filled(py, view, Value::from_i128(dtype, value)).and_then(|made| handle::wrap(py, made)))
}

unsafe fn empty_like(py: Python<'_>, args: Objects<'_>, dtype: Option<DType>) -> Answer {
    let &[like] = args else { return None };
    let view = &plain(like)?.array.view;
    let shape = view.is_c_contiguous().then(|| view.shape.clone())?;
    Some(handle::wrap(py, record::new_small(dtype.unwrap_or(view.dtype), shape, false)?))
}

/// The type in `dtype=`, if that is the only keyword; `None` in it where there is no keyword that says anything.
unsafe fn only_dtype(
    py: Python<'_>,
    names: *mut ffi::PyObject,
    value: *const *mut ffi::PyObject,
    function: &str,
) -> Option<Option<DType>> {
    if names.is_null() || (function == "array" && is_alone(names, c"copy") && *value == ffi::Py_True()) {
        return Some(None);
    }
    if is_alone(names, c"dtype") { api(py).dtype_at_once(&held(py, *value)).map(Some) } else { None }
}

/// Whether a call has this keyword and no other.
unsafe fn is_alone(names: *mut ffi::PyObject, name: &CStr) -> bool {
    !names.is_null()
        && ffi::PyTuple_Size(names) == 1
        && ffi::PyUnicode_CompareWithASCIIString(ffi::PyTuple_GetItem(names, 0), name.as_ptr()) == 0
}
