//! Arrays on a GPU, to and from libraries that have theirs there (CuPy, JAX, PyTorch, Numba): DLPack and
//! `__cuda_array_interface__`, without copies. Streams are put in order, so that each sees what the other has written.

use crate::convert;
use crate::errors;
use crate::handle::{self, NdArray};
use crate::provenance;
use numloom_ir::{DType, Dims, Strides, View};
use numloom_runtime::Array;
use numloom_runtime::lent::{self, Lent, OnDevice};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::{CStr, c_void};

/// DLPack's numbers for kinds of devices.
const ON_CUDA: i32 = 2;
const ON_CUDA_MANAGED: i32 = 13;

const FRESH: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";

/// Keeps an array on its device while others see it there.
#[pyclass(name = "_Lent", module = "numloom", frozen)]
pub struct Lending {
    _lent: Lent,
}

/// DLPack's description of an array, as its header has it.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_kind: i32,
    device: i32,
    rank: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// What stands behind an array given away.
struct Context {
    shape: Vec<i64>,
    strides: Vec<i64>,
    keeper: Option<Py<Lending>>,
}

/// DLPack's code for a kind of number, and its bits.
fn code_of(dtype: DType) -> (u8, u8) {
    let bits = (dtype.size() * 8) as u8;
    match dtype {
        DType::Bool => (6, 8),
        d if d.is_complex() => (5, bits),
        d if d.is_inexact() => (2, bits),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => (1, bits),
        _ => (0, bits),
    }
}

fn dtype_of(code: u8, bits: u8, lanes: u16) -> Option<DType> {
    DType::ALL.into_iter().find(|&d| lanes == 1 && code_of(d) == (code, bits))
}

fn lent(x: &Bound<'_, NdArray>) -> PyResult<Option<(Array, OnDevice, Lent)>> {
    let py = x.py();
    let array = handle::sized(x)?;
    errors::look(py, &array)?;
    let found = errors::detached(py, || lent::lend(&array)).map_err(|e| errors::raise(py, e))?;
    Ok(found.map(|(place, lent)| (array, place, lent)))
}

/// The dictionary of `__cuda_array_interface__`; `None` for an array that is not on a device. The memory is given away
/// for as long as the object in it lives.
#[pyfunction]
fn device_interface<'py>(x: &Bound<'py, NdArray>) -> PyResult<Option<(Bound<'py, PyDict>, Py<Lending>)>> {
    let py = x.py();
    let Some((array, place, lent)) = lent(x)? else { return Ok(None) };
    let view = &array.view;
    let d = PyDict::new(py);
    d.set_item("shape", PyTuple::new(py, view.shape.iter())?)?;
    d.set_item("typestr", convert::dtype_to_py(py, view.dtype).getattr(py, "str")?)?;
    d.set_item("data", (place.ptr, !x.borrow().writeable))?;
    let strides = if view.is_c_contiguous() { py.None() } else { PyTuple::new(py, view.strides.iter())?.into() };
    d.set_item("strides", strides)?;
    d.set_item("version", 3)?;
    // 0 is not a stream that others may wait for.
    let stream = if place.stream == 0 { py.None() } else { place.stream.into_pyobject(py)?.into_any().unbind() };
    d.set_item("stream", stream)?;
    Ok(Some((d, Py::new(py, Lending { _lent: lent })?)))
}

/// `__cuda_array_interface__`, or the error that says there is none: others ask by looking for the attribute.
pub fn cuda_array_interface<'py>(x: &Bound<'py, NdArray>) -> PyResult<(Bound<'py, PyDict>, Py<Lending>)> {
    let absent = || PyAttributeError::new_err("the array is not on a GPU, so it has no __cuda_array_interface__");
    if !numloom_runtime::gpu::are_there() {
        return Err(absent());
    }
    device_interface(x)?.ok_or_else(absent)
}

/// The device of `__dlpack_device__`, if it is a GPU's.
pub fn dlpack_device(array: &Array) -> Option<(u32, u32)> {
    let there = numloom_runtime::gpu::are_there();
    there.then(|| lent::device_of(array)).flatten().map(|ordinal| (ON_CUDA as u32, ordinal))
}

/// `__dlpack__` of an array on a GPU; `None` for one that is not there.
pub fn dlpack<'py>(x: &Bound<'py, NdArray>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Option<Py<PyAny>>> {
    let py = x.py();
    let given = |name: &str| -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = kwargs.map(|k| k.get_item(name)).transpose()?.flatten();
        Ok(found.filter(|v| !v.is_none()))
    };
    let wants_host = given("dl_device")?.is_some_and(|d| d.extract::<(i32, i32)>().is_ok_and(|(kind, _)| kind == 1));
    let copies = given("copy")?.is_some_and(|c| c.is_truthy().unwrap_or(false));
    if !numloom_runtime::gpu::are_there() || wants_host || copies {
        return Ok(None);
    }
    if !x.borrow().writeable {
        return Err(PyBufferError::new_err("Cannot export readonly array since signalling readonly is unsupported."));
    }
    let Some((array, place, lent)) = lent(x)? else { return Ok(None) };
    let stream: i64 = given("stream")?.map_or(Ok(1), |s| s.extract())?;
    if stream != -1 {
        // 1 and 2 are the driver's own names of its two default streams.
        lent::precede(place.ordinal, stream as u64).map_err(PyBufferError::new_err)?;
    }
    let keeper = Py::new(py, Lending { _lent: lent })?;
    Ok(Some(capsule(py, &array.view, place, keeper)?))
}

fn capsule(py: Python<'_>, view: &View, place: OnDevice, keeper: Py<Lending>) -> PyResult<Py<PyAny>> {
    let size = view.dtype.size() as i64;
    let mut context = Box::new(Context {
        shape: view.shape.iter().map(|&n| n as i64).collect(),
        strides: view.strides.iter().map(|&s| s as i64 / size).collect(),
        keeper: Some(keeper),
    });
    let (code, bits) = code_of(view.dtype);
    let tensor = Tensor {
        data: place.ptr as *mut c_void,
        device_kind: ON_CUDA,
        device: place.ordinal as i32,
        rank: view.ndim() as i32,
        code,
        bits,
        lanes: 1,
        shape: context.shape.as_mut_ptr(),
        strides: context.strides.as_mut_ptr(),
        offset: 0,
    };
    let managed = Box::new(Managed { tensor, context: Box::into_raw(context).cast(), deleter: Some(delete) });
    let managed = Box::into_raw(managed);
    // SAFETY: the capsule takes the pointer over; its destructor deletes what nobody has taken.
    unsafe {
        let made = ffi::PyCapsule_New(managed.cast(), FRESH.as_ptr(), Some(drop_capsule));
        if made.is_null() {
            delete(managed);
            return Err(PyErr::fetch(py));
        }
        Ok(Bound::from_owned_ptr(py, made).unbind())
    }
}

/// Others are done with an array of ours, on any thread.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: made in `capsule`, and deleted once.
    unsafe {
        let managed = Box::from_raw(managed);
        let mut context = Box::from_raw(managed.context.cast::<Context>());
        Python::attach(|_| drop(context.keeper.take()));
    }
}

unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with a capsule; one that was taken has another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, FRESH.as_ptr()) == 1 {
            let managed: *mut Managed = ffi::PyCapsule_GetPointer(capsule, FRESH.as_ptr()).cast();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

/// An array of somebody else's, until we are done with it.
struct Taken(*mut Managed);

// SAFETY: DLPack's deleters may be called from any thread.
unsafe impl Send for Taken {}
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: taken out of its capsule once, and deleted once.
        unsafe {
            if let Some(deleter) = (*self.0).deleter {
                deleter(self.0);
            }
        }
    }
}

/// `from_dlpack` of an array on a GPU; `None` where it is not on one of ours.
pub fn from_dlpack(x: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Option<Py<PyAny>>> {
    let py = x.py();
    if !numloom_runtime::gpu::are_there() || !x.hasattr("__dlpack_device__")? {
        return Ok(None);
    }
    let (kind, ordinal): (i32, i32) = x.call_method0("__dlpack_device__")?.extract()?;
    if kind != ON_CUDA && kind != ON_CUDA_MANAGED {
        return Ok(None);
    }
    let kwargs = PyDict::new(py);
    kwargs.set_item("stream", lent::stream_of(ordinal as u32))?;
    let capsule = x.call_method("__dlpack__", (), Some(&kwargs))?;
    // SAFETY: the name is checked before the pointer is used, and changed when it is taken.
    let taken = unsafe {
        let managed: *mut Managed = ffi::PyCapsule_GetPointer(capsule.as_ptr(), FRESH.as_ptr()).cast();
        if managed.is_null() {
            return Err(PyErr::fetch(py));
        }
        if ffi::PyCapsule_SetName(capsule.as_ptr(), USED.as_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        Taken(managed)
    };
    // SAFETY: described by its producer, who keeps it until the deleter is called.
    let (t, shape, strides) = unsafe {
        let t = &(*taken.0).tensor;
        let rank = t.rank.max(0) as usize;
        let list = |p: *mut i64| if p.is_null() || rank == 0 { &[][..] } else { std::slice::from_raw_parts(p, rank) };
        (t, list(t.shape), list(t.strides))
    };
    let dtype = dtype_of(t.code, t.bits, t.lanes).ok_or_else(|| PyBufferError::new_err("unsupported dtype"))?;
    let shape: Dims = shape.iter().map(|&n| n.max(0) as usize).collect();
    let mut view = View::dense(dtype, &shape, numloom_ir::view::Order::C);
    if !strides.is_empty() {
        view.strides = strides.iter().map(|&s| s as isize * dtype.size() as isize).collect();
    }
    let (first, device) = (t.data as u64 + t.offset, t.device);
    let array = adopt(py, view, first, device as u32, Box::new(taken))?;
    made(py, array, copy).map(Some)
}

/// An array over what `__cuda_array_interface__` describes; `None` for objects that have none.
pub fn from_interface(x: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Option<Py<PyAny>>> {
    let py = x.py();
    if !numloom_runtime::gpu::are_there() || !x.hasattr("__cuda_array_interface__")? {
        return Ok(None);
    }
    let described = x.getattr("__cuda_array_interface__")?.cast_into::<PyDict>()?;
    let field =
        |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> { Ok(described.get_item(name)?.filter(|v| !v.is_none())) };
    let needed = |name: &str| -> PyResult<Bound<'_, PyAny>> {
        field(name)?.ok_or_else(|| PyValueError::new_err(format!("__cuda_array_interface__ has no {name}")))
    };
    if field("mask")?.is_some() {
        return Err(PyTypeError::new_err("masked arrays on a GPU are not supported"));
    }
    let dtype = convert::dtype_from_py(&needed("typestr")?)?;
    let shape: Vec<usize> = needed("shape")?.extract()?;
    let (ptr, _): (u64, bool) = needed("data")?.extract()?;
    let mut view = View::dense(dtype, &shape, numloom_ir::view::Order::C);
    if let Some(strides) = field("strides")? {
        let strides: Vec<isize> = strides.extract()?;
        view.strides = Strides::from_slice(&strides);
    }
    // The interface does not say which GPU; libraries that have several say so themselves.
    let ordinal = device_number(x).unwrap_or(0);
    if let Some(stream) = field("stream")? {
        lent::follow(ordinal, stream.extract()?).map_err(PyValueError::new_err)?;
    }
    let owner: Py<PyAny> = x.clone().unbind();
    let array = adopt(py, view, ptr, ordinal, Box::new(owner))?;
    made(py, array, copy).map(Some)
}

fn device_number(x: &Bound<'_, PyAny>) -> Option<u32> {
    let device = x.getattr("device").ok()?;
    device.getattr("id").or_else(|_| device.getattr("index")).ok()?.extract().ok()
}

/// The array over memory of others that holds a view: it begins with the view's first byte.
fn adopt(py: Python<'_>, mut view: View, first: u64, ordinal: u32, owner: Box<dyn Send + Sync>) -> PyResult<Array> {
    let before: usize = view
        .shape
        .iter()
        .zip(&view.strides)
        .filter(|&(&n, &s)| n > 1 && s < 0)
        .map(|(&n, &s)| (n - 1) * s.unsigned_abs())
        .sum();
    view.offset = before;
    let nbytes = view.byte_bounds().1;
    let at = provenance::here(py);
    // SAFETY: its producer described the memory, and keeps it while the owner lives.
    let array = unsafe { lent::adopt(view, first - before as u64, nbytes, ordinal, owner, at) };
    array.ok_or_else(|| {
        PyValueError::new_err(format!("the array is on GPU {ordinal}, which this run does not use: give --gpus"))
    })
}

fn made(py: Python<'_>, array: Array, copy: Option<bool>) -> PyResult<Py<PyAny>> {
    let own = handle::wrap(py, array)?;
    if copy == Some(true) { own.call_method0(py, "copy") } else { Ok(own) }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(device_interface, m)?)
}
