//! Slots of our classes without PyO3 around them: what they do takes less time than its bookkeeping. Each does the
//! plain cases of exactly our class and hands everything else to the function that PyO3 put there.
//!
//! The limited API has no way to change a slot of a class that is there. The fields have stood where they stand since
//! Python 3.8; `RawType::of` compares every one it knows with what the API answers, and where one differs, PyO3's slots
//! stay.

use crate::handle::NdArray;
use crate::object;
use crate::quick_index;
use pyo3::Borrowed;
use pyo3::exceptions::PyIndexError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::{c_char, c_int, c_ulong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The start of `PyTypeObject`.
#[repr(C)]
pub struct RawType {
    head: ffi::PyVarObject,
    name: *const std::ffi::c_char,
    basicsize: isize,
    itemsize: isize,
    dealloc: Option<ffi::destructor>,
    vectorcall_offset: isize,
    before_numbers: [*mut c_void; 4],
    numbers: *mut RawNumbers,
    sequence: *mut RawSequence,
    mapping: *mut RawMapping,
    hash: *mut c_void,
    call: *mut c_void,
    before_flags: [*mut c_void; 4],
    flags: c_ulong,
    before_compare: [*mut c_void; 3],
    compare: Option<ffi::richcmpfunc>,
    before_make: [*mut c_void; 13],
    make: Option<ffi::newfunc>,
}

/// `PyNumberMethods`: functions, in an order that only ever grew at its end.
pub type RawNumbers = [*mut c_void; 36];

/// The start of `PySequenceMethods`.
#[repr(C)]
struct RawSequence {
    length: Option<ffi::lenfunc>,
    before_item: [*mut c_void; 2],
    item: *mut c_void,
    before_assign: *mut c_void,
    assign: *mut c_void,
}

/// `PyMappingMethods`.
#[repr(C)]
struct RawMapping {
    length: Option<ffi::lenfunc>,
    subscript: Option<ffi::binaryfunc>,
    assign: Option<ffi::objobjargproc>,
}

const HAVE_VECTORCALL: c_ulong = 1 << 11;

impl RawType {
    /// The fields of a class, if they lie where we think.
    pub fn of(class: &Bound<'_, PyType>) -> Option<NonNull<RawType>> {
        let ty = class.as_type_ptr();
        // SAFETY: a class; what is read lies inside any type object, and is compared before it is believed.
        unsafe {
            let raw = &*ty.cast::<RawType>();
            let slot = |n| ffi::PyType_GetSlot(ty, n);
            let basicsize: isize = class.getattr("__basicsize__").ok()?.extract().ok()?;
            let known = raw.basicsize == basicsize
                && raw.flags == ffi::PyType_GetFlags(ty)
                && raw.dealloc.is_some_and(|d| d as *mut c_void == slot(ffi::Py_tp_dealloc))
                && raw.hash == slot(ffi::Py_tp_hash)
                && raw.call == slot(ffi::Py_tp_call)
                && raw.compare.map_or(std::ptr::null_mut(), |f| f as *mut c_void) == slot(ffi::Py_tp_richcompare)
                && raw.make.map_or(std::ptr::null_mut(), |f| f as *mut c_void) == slot(ffi::Py_tp_new)
                && !raw.mapping.is_null()
                && (*raw.mapping).length.map_or(std::ptr::null_mut(), |f| f as *mut c_void) == slot(ffi::Py_mp_length)
                && (*raw.mapping).subscript.map_or(std::ptr::null_mut(), |f| f as *mut c_void)
                    == slot(ffi::Py_mp_subscript)
                && (*raw.mapping).assign.map_or(std::ptr::null_mut(), |f| f as *mut c_void)
                    == slot(ffi::Py_mp_ass_subscript);
            if known { NonNull::new(ty.cast()) } else { None }
        }
    }

    /// The operators of the class.
    pub fn numbers(&mut self) -> Option<&mut RawNumbers> {
        // SAFETY: null, or the class's own, which live as long as it.
        unsafe { self.numbers.as_mut() }
    }

    /// What compares objects of the class.
    pub fn compare(&mut self) -> &mut Option<ffi::richcmpfunc> {
        &mut self.compare
    }

    /// What makes objects of the class.
    pub fn make(&mut self) -> &mut Option<ffi::newfunc> {
        &mut self.make
    }

    /// Calls of the class's objects go to the function whose address lies `offset` bytes into them. What did them
    /// before, as the address of a `ternaryfunc`.
    pub fn call_through(&mut self, offset: usize) -> usize {
        self.vectorcall_offset = offset as isize;
        self.flags |= HAVE_VECTORCALL;
        self.call as usize
    }
}

static LENGTH: AtomicUsize = AtomicUsize::new(0);
static SUBSCRIPT: AtomicUsize = AtomicUsize::new(0);
static ASSIGN: AtomicUsize = AtomicUsize::new(0);

/// Puts our functions into the class `ndarray`.
pub fn install(class: &Bound<'_, PyType>) {
    let Some(mut raw) = RawType::of(class) else { return };
    // SAFETY: checked there; classes are not shared between threads while the module is being imported.
    let (raw, mapping) = unsafe {
        let raw = raw.as_mut();
        let mapping = &mut *raw.mapping;
        (raw, mapping)
    };
    if let (Some(dealloc), Some(get), Some(set), Some(length)) =
        (raw.dealloc, mapping.subscript, mapping.assign, mapping.length)
    {
        LENGTH.store(length as usize, Relaxed);
        mapping.length = Some(self::length);
        SUBSCRIPT.store(get as usize, Relaxed);
        ASSIGN.store(set as usize, Relaxed);
        raw.dealloc = Some(object::take_over(dealloc));
        mapping.subscript = Some(subscript);
        mapping.assign = Some(assign);
        // What has items by number and no length is no sequence, neither for `reversed` nor for `bisect`.
        // SAFETY: null, or the class's own.
        if let Some(sequence) = unsafe { raw.sequence.as_mut() }
            && [(sequence.item, ffi::Py_sq_item), (sequence.assign, ffi::Py_sq_ass_item)]
                .iter()
                .all(|&(there, slot)| there == unsafe { ffi::PyType_GetSlot(class.as_type_ptr(), slot) })
        {
            sequence.length = Some(self::length);
            sequence.item = item as *mut c_void;
            sequence.assign = assign_item as *mut c_void;
        }
    }
}

/// An object that the caller holds.
#[inline]
pub unsafe fn held<'a, 'py>(py: Python<'py>, object: *mut ffi::PyObject) -> Borrowed<'a, 'py, PyAny> {
    Borrowed::from_ptr(py, object)
}

/// Runs a plain case; `None` when it is not one, or when it panicked half-way.
#[inline]
pub fn tried<T>(run: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok().flatten()
}

/// The arguments of a call that have no name.
///
/// # Safety
/// `args` are the arguments of the call at hand, `n` of them without a name.
#[inline(always)]
pub unsafe fn positional<'a>(args: *const *mut ffi::PyObject, n: isize) -> &'a [*mut ffi::PyObject] {
    if n == 0 { &[] } else { std::slice::from_raw_parts(args, n as usize) }
}

/// A function's definition, to which it points for ever. `name` and `doc` end with a zero, and stay.
pub fn definition(
    name: &'static str,
    call: ffi::PyCFunctionFastWithKeywords,
    doc: *const c_char,
) -> &'static mut ffi::PyMethodDef {
    Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name.as_ptr().cast(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: call },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc,
    }))
}

/// What a slot answers: an object, or null with the exception set.
#[inline]
pub fn answer(py: Python<'_>, result: PyResult<Py<PyAny>>) -> *mut ffi::PyObject {
    match result {
        Ok(object) => object.into_ptr(),
        Err(e) => {
            e.restore(py);
            std::ptr::null_mut()
        }
    }
}

/// `x[index]`.
unsafe extern "C" fn subscript(x: *mut ffi::PyObject, index: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let py = Python::assume_attached();
    let (this, at) = (held(py, x), held(py, index));
    // `get` looks at the class before anything else.
    match tried(|| quick_index::get(&this.cast_unchecked::<NdArray>(), &at)) {
        Some(done) => answer(py, done),
        None => {
            let get: ffi::binaryfunc = std::mem::transmute(SUBSCRIPT.load(Relaxed));
            get(x, index)
        }
    }
}

/// `x[index] = value`, and `del x[index]` without a value.
unsafe extern "C" fn assign(x: *mut ffi::PyObject, index: *mut ffi::PyObject, value: *mut ffi::PyObject) -> c_int {
    let py = Python::assume_attached();
    if !value.is_null() {
        let (this, at, value) = (held(py, x), held(py, index), held(py, value));
        match tried(|| quick_index::set(&this.cast_unchecked::<NdArray>(), &at, &value)) {
            Some(Ok(())) => return 0,
            Some(Err(e)) => {
                e.restore(py);
                return -1;
            }
            None => {}
        }
    }
    let set: ffi::objobjargproc = std::mem::transmute(ASSIGN.load(Relaxed));
    set(x, index, value)
}

/// The number of an item as an object. Python has added the length to one below zero: if it still is, it is outside.
unsafe fn number(x: *mut ffi::PyObject, i: isize) -> *mut ffi::PyObject {
    if i >= 0 {
        return ffi::PyLong_FromSsize_t(i);
    }
    let n = length(x);
    if n >= 0 {
        let text = format!("index {} is out of bounds for axis 0 with size {n}", i - n);
        PyIndexError::new_err(text).restore(Python::assume_attached());
    }
    std::ptr::null_mut()
}

/// `x[i]`, as C code asks for it.
unsafe extern "C" fn item(x: *mut ffi::PyObject, i: isize) -> *mut ffi::PyObject {
    let index = number(x, i);
    if index.is_null() {
        return index;
    }
    let found = subscript(x, index);
    ffi::Py_DECREF(index);
    found
}

/// `x[i] = value`, as C code asks for it.
unsafe extern "C" fn assign_item(x: *mut ffi::PyObject, i: isize, value: *mut ffi::PyObject) -> c_int {
    let index = number(x, i);
    if index.is_null() {
        return -1;
    }
    let done = assign(x, index, value);
    ffi::Py_DECREF(index);
    done
}

/// `len(x)`.
unsafe extern "C" fn length(x: *mut ffi::PyObject) -> isize {
    if let Some(this) = object::contents(x) {
        let array = &(*this).array;
        if let (Some(&n), None) = (array.view.shape.first(), array.symbol()) {
            return n as isize;
        }
    }
    let length: ffi::lenfunc = std::mem::transmute(LENGTH.load(Relaxed));
    length(x)
}
