//! NumPy's C table, reached through its capsule: reading and making `numpy.ndarray` objects without
//! going through Python attributes. Only slots that have kept their meaning since NumPy 1.7 are used.

use crate::convert::dtype_named;
use crate::errors::Unsupported;
use numloom_ir::{DType, Dims, Strides, Value};
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyString};
use smallvec::SmallVec;
use std::ffi::{c_char, c_int, c_long, c_void};

/// The start of `PyArrayObject`, the same in every NumPy.
#[repr(C)]
struct RawArray {
    head: ffi::PyObject,
    data: *mut u8,
    ndim: c_int,
    dims: *const isize,
    strides: *const isize,
    base: *mut ffi::PyObject,
    descr: *mut RawDescr,
    flags: c_int,
}

/// The start of `PyArray_Descr`, the same in NumPy 1 and 2.
#[repr(C)]
struct RawDescr {
    head: ffi::PyObject,
    typeobj: *mut ffi::PyObject,
    kind: c_char,
    code: c_char,
    byteorder: c_char,
    former_flags: c_char,
    type_num: c_int,
}

const WRITEABLE: c_int = 0x400;
const ALIGNED: c_int = 0x100;
const OWNDATA: c_int = 0x4;

mod slot {
    pub const ARRAY_TYPE: usize = 2;
    pub const DESCR_TYPE: usize = 3;
    pub const GENERIC_TYPE: usize = 10;
    pub const SCALAR_AS_CTYPE: usize = 62;
    pub const SCALAR: usize = 60;
    pub const NEW_FROM_DESCR: usize = 94;
    pub const SET_BASE_OBJECT: usize = 282;
}

type ScalarAsCtype = unsafe extern "C" fn(*mut ffi::PyObject, *mut c_void);
type MakeScalar = unsafe extern "C" fn(*mut c_void, *mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;
type NewFromDescr = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    *mut ffi::PyObject,
    c_int,
    *const isize,
    *const isize,
    *mut c_void,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;
type SetBaseObject = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;

pub struct Api {
    table: *const *const c_void,
    /// `numpy.dtype` objects in the order of `DType::ALL`.
    descrs: Vec<Py<PyAny>>,
    /// NumPy's scalar types in the order of `DType::ALL`, then the aliases (long long).
    scalar_types: Vec<(*mut ffi::PyTypeObject, DType)>,
    scalar_type_objects: Vec<Py<PyAny>>,
    /// How scalars of each type are allocated, where their value is known to follow the object's head.
    scalar_allocs: Vec<Option<ffi::allocfunc>>,
    module: Py<PyModule>,
    asarray: Py<PyAny>,
}

// SAFETY: the table is immutable once NumPy is loaded; the pointers are to objects that live as long as NumPy.
unsafe impl Send for Api {}
unsafe impl Sync for Api {}

static API: PyOnceLock<Api> = PyOnceLock::new();

/// Loads the table; called once when the module is imported.
pub fn init(py: Python<'_>) -> PyResult<()> {
    API.get_or_try_init(py, || load(py)).map(|_| ())
}

fn load(py: Python<'_>) -> PyResult<Api> {
    let module = py.import("numpy")?;
    let umath = py.import("numpy._core._multiarray_umath")?;
    let capsule = umath.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
    // SAFETY: the capsule has no name and holds NumPy's function table.
    let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) }.cast::<*const c_void>();
    if table.is_null() {
        return Err(PyErr::take(py).unwrap_or_else(|| PyImportError::new_err("numpy has no C table")));
    }
    let (mut descrs, mut scalar_types, mut scalar_type_objects) = (Vec::new(), Vec::new(), Vec::new());
    let mut scalar_allocs = Vec::new();
    for d in DType::ALL {
        let name = if d == DType::Bool { "bool_" } else { d.name() };
        let ty = module.getattr(name)?;
        descrs.push(module.call_method1("dtype", (&ty,))?.unbind());
        scalar_types.push((ty.as_ptr().cast(), d));
        scalar_allocs.push(scalar_alloc(&ty, d)?);
        scalar_type_objects.push(ty.unbind());
    }
    for (name, d) in [("longlong", DType::I64), ("ulonglong", DType::U64)] {
        scalar_types.push((module.getattr(name)?.as_ptr().cast(), d));
    }
    let asarray = module.getattr("asarray")?.unbind();
    Ok(Api { table, descrs, scalar_types, scalar_type_objects, scalar_allocs, module: module.unbind(), asarray })
}

/// The class's way to allocate, if a value that nothing else looks like is found right behind the head of a scalar.
/// Truth values are two objects that are always there.
fn scalar_alloc(class: &Bound<'_, PyAny>, d: DType) -> PyResult<Option<ffi::allocfunc>> {
    let value = Value::from_f64(d, 77.0);
    let sample = class.call1((77,))?;
    // SAFETY: a scalar is at least as long as its head and its value; `Py_tp_alloc` is an allocfunc or null.
    unsafe {
        let at = sample.as_ptr().cast::<u8>().add(size_of::<ffi::PyObject>());
        let found = d != DType::Bool && std::slice::from_raw_parts(at, d.size()) == &value.bytes[..d.size()];
        let alloc = ffi::PyType_GetSlot(class.as_ptr().cast(), ffi::Py_tp_alloc);
        Ok((found && !alloc.is_null()).then(|| std::mem::transmute::<*mut c_void, ffi::allocfunc>(alloc)))
    }
}

/// The loaded table.
#[inline]
pub fn api(py: Python<'_>) -> &'static Api {
    API.get(py).expect("NumPy's table is loaded with the module")
}

fn dtype_of_type_num(num: c_int) -> Option<DType> {
    let long64 = size_of::<c_long>() == 8;
    Some(match num {
        0 => DType::Bool,
        1 => DType::I8,
        2 => DType::U8,
        3 => DType::I16,
        4 => DType::U16,
        5 => DType::I32,
        6 => DType::U32,
        7 => [DType::I32, DType::I64][long64 as usize],
        8 => [DType::U32, DType::U64][long64 as usize],
        9 => DType::I64,
        10 => DType::U64,
        11 => DType::F32,
        12 => DType::F64,
        14 => DType::C64,
        15 => DType::C128,
        23 => DType::F16,
        _ => return None,
    })
}

fn is_native(byteorder: c_char) -> bool {
    matches!(byteorder as u8, b'=' | b'|') || byteorder as u8 == if cfg!(target_endian = "big") { b'>' } else { b'<' }
}

/// What a `numpy.ndarray` of a type we know looks like.
pub struct Foreign {
    pub dtype: DType,
    pub data: *mut u8,
    pub shape: Dims,
    pub strides: Strides,
    pub writeable: bool,
    pub aligned: bool,
    pub owns_data: bool,
}

impl Api {
    fn entry(&self, slot: usize) -> *const c_void {
        // SAFETY: slots are within NumPy's table.
        unsafe { *self.table.add(slot) }
    }

    /// `numpy` itself.
    pub fn numpy<'py>(&self, py: Python<'py>) -> &Bound<'py, PyModule> {
        self.module.bind(py)
    }

    /// `numpy.asarray(obj)`.
    pub fn asarray<'py>(&self, obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.asarray.bind(obj.py()).call1((obj,))
    }

    pub fn is_array(&self, obj: &Bound<'_, PyAny>) -> bool {
        // SAFETY: slot 2 is the type object of numpy.ndarray.
        unsafe { ffi::PyObject_TypeCheck(obj.as_ptr(), self.entry(slot::ARRAY_TYPE).cast_mut().cast()) != 0 }
    }

    pub fn is_exact_array(&self, obj: &Bound<'_, PyAny>) -> bool {
        // SAFETY: any object has a type.
        unsafe { ffi::Py_TYPE(obj.as_ptr()) == self.entry(slot::ARRAY_TYPE).cast_mut().cast() }
    }

    pub fn is_scalar(&self, obj: &Bound<'_, PyAny>) -> bool {
        // SAFETY: slot 10 is the type object of numpy.generic.
        unsafe { ffi::PyObject_TypeCheck(obj.as_ptr(), self.entry(slot::GENERIC_TYPE).cast_mut().cast()) != 0 }
    }

    /// The element type of a `numpy.dtype` object; `None` when it is not one of ours (or byte-swapped).
    pub fn dtype_of(&self, descr: &Bound<'_, PyAny>) -> Option<DType> {
        let py = descr.py();
        if let Some(i) = self.descrs.iter().position(|d| d.bind(py).is(descr)) {
            return Some(DType::ALL[i]);
        }
        // SAFETY: checked to be a numpy.dtype before its fields are read.
        unsafe {
            if ffi::PyObject_TypeCheck(descr.as_ptr(), self.entry(slot::DESCR_TYPE).cast_mut().cast()) == 0 {
                return None;
            }
            descr_dtype(descr.as_ptr().cast())
        }
    }

    /// The type that a NumPy scalar class stands for.
    #[inline]
    pub fn dtype_of_scalar_type(&self, ty: *mut ffi::PyTypeObject) -> Option<DType> {
        self.scalar_types.iter().find(|(t, _)| *t == ty).map(|(_, d)| *d)
    }

    /// The type that a dtype object, one of NumPy's scalar classes or one of Python's own stands for.
    #[inline]
    pub fn dtype_at_once(&self, obj: &Bound<'_, PyAny>) -> Option<DType> {
        let python = [
            (&raw mut ffi::PyFloat_Type, DType::F64),
            (&raw mut ffi::PyLong_Type, DType::I64),
            (&raw mut ffi::PyBool_Type, DType::Bool),
            (&raw mut ffi::PyComplex_Type, DType::C128),
        ];
        let class = obj.as_ptr().cast::<ffi::PyTypeObject>();
        let known = python.iter().find(|(t, _)| *t == class).map(|(_, d)| *d);
        let name = || obj.cast_exact::<PyString>().ok()?.to_str().ok().and_then(dtype_named);
        known.or_else(|| self.dtype_of_scalar_type(class)).or_else(|| self.dtype_of(obj)).or_else(name)
    }

    pub fn scalar_type(&self, d: DType) -> &Py<PyAny> {
        &self.scalar_type_objects[d as usize]
    }

    pub fn descr(&self, d: DType) -> &Py<PyAny> {
        &self.descrs[d as usize]
    }

    /// The value of a NumPy scalar of one of our types.
    #[inline]
    pub fn scalar_value(&self, obj: &Bound<'_, PyAny>) -> Option<Value> {
        // SAFETY: the class was found in our list, so NumPy writes at most sixteen bytes.
        unsafe {
            let dtype = self.dtype_of_scalar_type(ffi::Py_TYPE(obj.as_ptr()))?;
            let mut bytes = [0u8; 16];
            let read: ScalarAsCtype = std::mem::transmute(self.entry(slot::SCALAR_AS_CTYPE));
            read(obj.as_ptr(), bytes.as_mut_ptr().cast());
            Some(Value { dtype, bytes })
        }
    }

    /// Whether an object is exactly a Python float or NumPy's double.
    #[inline]
    pub fn is_double(&self, obj: &Bound<'_, PyAny>) -> bool {
        // SAFETY: any object has a type.
        let ty = unsafe { ffi::Py_TYPE(obj.as_ptr()) };
        ty == &raw mut ffi::PyFloat_Type || ty == self.scalar_types[DType::F64 as usize].0
    }

    /// A NumPy scalar object.
    #[inline]
    pub fn make_scalar(&self, py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
        numloom_profile::record::values_read(1);
        let d = value.dtype;
        let Some(alloc) = self.scalar_allocs[d as usize] else { return self.make_any_scalar(py, value) };
        // SAFETY: the class's own allocator; its scalars hold their value behind their head.
        unsafe {
            let made = Bound::from_owned_ptr_or_err(py, alloc(self.scalar_types[d as usize].0, 0))?;
            let to = made.as_ptr().cast::<u8>().add(size_of::<ffi::PyObject>());
            match d.size() {
                8 => std::ptr::copy_nonoverlapping(value.bytes.as_ptr(), to, 8),
                n => std::ptr::copy_nonoverlapping(value.bytes.as_ptr(), to, n),
            }
            Ok(made.unbind())
        }
    }

    /// The NumPy scalar of a type of so many bytes, of which `T` has as many: they come as they are, as a `Value` would be
    /// put together and taken apart again.
    #[inline]
    pub fn make_scalar_of<T: Copy>(&self, py: Python<'_>, dtype: DType, bits: T) -> PyResult<Py<PyAny>> {
        debug_assert_eq!(size_of::<T>(), dtype.size());
        numloom_profile::record::values_read(1);
        // SAFETY: as in `make_scalar`, or the bytes of a value.
        unsafe {
            let Some(alloc) = self.scalar_allocs[dtype as usize] else {
                let bytes = std::slice::from_raw_parts((&raw const bits).cast(), size_of::<T>());
                return self.make_any_scalar(py, &Value::from_bytes(dtype, bytes));
            };
            let made = Bound::from_owned_ptr_or_err(py, alloc(self.scalar_types[dtype as usize].0, 0))?;
            made.as_ptr().cast::<u8>().add(size_of::<ffi::PyObject>()).cast::<T>().write_unaligned(bits);
            Ok(made.unbind())
        }
    }

    fn make_any_scalar(&self, py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
        let mut bytes = value.bytes;
        // SAFETY: the bytes hold one element of the dtype.
        unsafe {
            let make: MakeScalar = std::mem::transmute(self.entry(slot::SCALAR));
            let made = make(bytes.as_mut_ptr().cast(), self.descr(value.dtype).as_ptr(), std::ptr::null_mut());
            Ok(Bound::from_owned_ptr_or_err(py, made)?.unbind())
        }
    }

    /// Reads a NumPy array's description; `Unsupported` for dtypes that are not ours.
    pub fn describe(&self, obj: &Bound<'_, PyAny>) -> PyResult<Foreign> {
        debug_assert!(self.is_array(obj));
        // SAFETY: `obj` is a numpy.ndarray, whose first fields are laid out as `RawArray`.
        unsafe {
            let raw = &*obj.as_ptr().cast::<RawArray>();
            let Some(dtype) = descr_dtype(raw.descr) else {
                return Err(Unsupported::new_err("this dtype is not supported"));
            };
            let ndim = raw.ndim as usize;
            let field = |p: *const isize| -> Strides {
                if ndim == 0 { SmallVec::new() } else { SmallVec::from_slice(std::slice::from_raw_parts(p, ndim)) }
            };
            Ok(Foreign {
                dtype,
                data: raw.data,
                shape: field(raw.dims).iter().map(|&d| d as usize).collect(),
                strides: field(raw.strides),
                writeable: raw.flags & WRITEABLE != 0,
                aligned: raw.flags & ALIGNED != 0,
                owns_data: raw.flags & OWNDATA != 0 && raw.base.is_null(),
            })
        }
    }

    /// What keeps a NumPy array's memory alive, if it is not the array itself.
    pub fn base<'py>(&self, obj: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        if !self.is_array(obj) {
            return None;
        }
        // SAFETY: a numpy.ndarray; its base is null or a live object.
        unsafe {
            let base = (*obj.as_ptr().cast::<RawArray>()).base;
            if base.is_null() { None } else { Some(Bound::from_borrowed_ptr(obj.py(), base)) }
        }
    }

    /// A `numpy.ndarray` over `data`, kept valid by `owner`.
    ///
    /// # Safety
    /// `data`, `shape` and `strides` must describe memory of `dtype` that lives while `owner` does.
    pub unsafe fn make_array<'py>(
        &self,
        py: Python<'py>,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
        data: *mut u8,
        writeable: bool,
        owner: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let make: NewFromDescr = std::mem::transmute(self.entry(slot::NEW_FROM_DESCR));
        let set_base: SetBaseObject = std::mem::transmute(self.entry(slot::SET_BASE_OBJECT));
        let made = make(
            self.entry(slot::ARRAY_TYPE).cast_mut().cast(),
            // NumPy takes the reference to the descriptor.
            self.descr(dtype).clone_ref(py).into_ptr(),
            shape.len() as c_int,
            shape.as_ptr().cast(),
            strides.as_ptr(),
            data.cast(),
            if writeable { WRITEABLE } else { 0 },
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, made)?;
        if set_base(array.as_ptr(), owner.into_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

unsafe fn descr_dtype(descr: *const RawDescr) -> Option<DType> {
    if is_native((*descr).byteorder) { dtype_of_type_num((*descr).type_num) } else { None }
}
