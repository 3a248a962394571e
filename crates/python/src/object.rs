//! Objects of `ndarray`, made and freed without the allocator: the last few that died are used again.

use crate::handle::NdArray;
use numloom_ir::View;
use numloom_runtime::Array;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// Our class, and where in its objects the contents and the list of weak references lie.
static CLASS: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(std::ptr::null_mut());
static CONTENTS: AtomicUsize = AtomicUsize::new(0);
static WEAK: AtomicUsize = AtomicUsize::new(0);
/// What PyO3 does with a dead object.
static DEALLOC: AtomicUsize = AtomicUsize::new(0);

const KEPT: usize = 64;

/// Dead objects. Their contents are gone; everything else in them is as in a new one.
struct Free {
    objects: [*mut ffi::PyObject; KEPT],
    count: usize,
}

struct Locked(UnsafeCell<Free>);

// SAFETY: used by whoever holds the interpreter's lock, and not over anything that lets go of it.
unsafe impl Sync for Locked {}

static FREE: Locked = Locked(UnsafeCell::new(Free { objects: [std::ptr::null_mut(); KEPT], count: 0 }));

/// Finds out how objects are laid out; called once when the module is imported.
pub fn init(sample: &Bound<'_, NdArray>) -> PyResult<()> {
    let contents: *const NdArray = &*sample.borrow();
    let class = sample.get_type();
    CONTENTS.store(contents as usize - sample.as_ptr() as usize, Relaxed);
    WEAK.store(class.getattr("__weakrefoffset__")?.extract()?, Relaxed);
    CLASS.store(class.as_type_ptr(), Relaxed);
    Ok(())
}

#[inline]
pub fn class() -> *mut ffi::PyTypeObject {
    CLASS.load(Relaxed)
}

/// The contents of an object that is exactly an `ndarray`.
///
/// # Safety
/// `object` is alive.
#[inline]
pub unsafe fn contents(object: *mut ffi::PyObject) -> Option<*mut NdArray> {
    (ffi::Py_TYPE(object) == class()).then(|| contents_of(object))
}

#[inline]
unsafe fn contents_of(object: *mut ffi::PyObject) -> *mut NdArray {
    object.byte_add(CONTENTS.load(Relaxed)).cast()
}

/// A new object around `array`.
#[inline]
pub fn make(py: Python<'_>, array: Array, writeable: bool, base: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
    // SAFETY: the interpreter's lock is held; the object is an `ndarray` whose contents nobody has seen.
    unsafe {
        let free = &mut *FREE.0.get();
        if free.count == 0 {
            return Ok(Py::new(py, NdArray { array, writeable, base, exported: None })?.into_any());
        }
        free.count -= 1;
        let object = ffi::PyObject_Init(free.objects[free.count], class());
        contents_of(object).write(NdArray { array, writeable, base, exported: None });
        Ok(Bound::from_owned_ptr(py, object).unbind())
    }
}

/// A new object like `contents`, with another layout.
#[inline]
pub fn make_like(
    py: Python<'_>,
    contents: &NdArray,
    base: Py<PyAny>,
    change: impl FnOnce(&mut View),
) -> PyResult<Py<PyAny>> {
    // SAFETY: as in `make`; each field is written once.
    unsafe {
        let free = &mut *FREE.0.get();
        if free.count == 0 {
            let mut array = contents.array.clone();
            change(&mut array.view);
            return make(py, array, contents.writeable, Some(base));
        }
        free.count -= 1;
        let object = ffi::PyObject_Init(free.objects[free.count], class());
        let to = contents_of(object);
        (&raw mut (*to).array).write(contents.array.clone());
        (&raw mut (*to).writeable).write(contents.writeable);
        (&raw mut (*to).base).write(Some(base));
        (&raw mut (*to).exported).write(None);
        change(&mut (*to).array.view);
        Ok(Bound::from_owned_ptr(py, object).unbind())
    }
}

/// Takes over from PyO3's way to free an object, which it answers to.
pub fn take_over(dealloc: ffi::destructor) -> ffi::destructor {
    DEALLOC.store(dealloc as usize, Relaxed);
    bury
}

/// `tp_dealloc`.
unsafe extern "C" fn bury(object: *mut ffi::PyObject) {
    let free = FREE.0.get();
    let plain = contents(object).filter(|&x| {
        let watched = !object.byte_add(WEAK.load(Relaxed)).cast::<*mut ffi::PyObject>().read().is_null();
        (*free).count < KEPT && !watched && (*x).exported.is_none() && !(*x).array.store.is_foreign()
    });
    let Some(x) = plain else {
        let dealloc: ffi::destructor = std::mem::transmute(DEALLOC.load(Relaxed));
        return dealloc(object);
    };
    // Objects from here on are not tracked: they lead to nothing that could lead back to them.
    ffi::PyObject_GC_UnTrack(object.cast());
    let base = (*x).base.take();
    std::ptr::drop_in_place(x);
    (*free).objects[(*free).count] = object;
    (*free).count += 1;
    ffi::Py_DecRef(class().cast());
    if let Some(base) = base {
        ffi::Py_DecRef(base.into_ptr());
    }
}
