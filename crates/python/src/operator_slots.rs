//! Python's operators of `ndarray` without PyO3 around them, as `slots` does it: numbers, NumPy's scalars and arrays of
//! exactly our class, on either side. Everything else goes to the operator that PyO3 made.
//!
//! NumPy's scalars and arrays have them, too, for an array of ours on the right: NumPy's own way to it leads through a
//! ufunc and `__array_ufunc__`, and takes longer than the operation.

use crate::object;
use crate::quick;
use crate::slots::{RawType, answer, held, tried};
use numloom_ir::ScalarOp;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

type Object = *mut ffi::PyObject;

/// Puts a function where the class has another, if that lies where we think. The other one is kept before that.
fn replace(class: &Bound<'_, PyType>, at: usize, id: c_int, original: &AtomicUsize, by: *mut c_void) {
    let Some(mut raw) = RawType::of(class) else { return };
    // SAFETY: checked there; classes are not shared between threads while the module is being imported.
    let Some(field) = (unsafe { raw.as_mut() }).numbers().and_then(|n| n.get_mut(at)) else { return };
    // SAFETY: a class made by a specification, and the number of a slot.
    let was = unsafe { ffi::PyType_GetSlot(class.as_type_ptr(), id) };
    if !was.is_null() && *field == was {
        original.store(was as usize, Relaxed);
        *field = by;
    }
}

/// The classes whose operators are replaced: ours, and NumPy's by the numbers they have in `numpy_types`.
const CLASSES: usize = 18;
pub const NDARRAY: usize = 0;
type Originals = [AtomicUsize; CLASSES];

/// A binary operation, if it is one for us: a slot of NumPy's is also asked about NumPy's objects alone.
#[inline(always)]
unsafe fn binary<const CLASS: usize>(op: ScalarOp, a: Object, b: Object) -> Option<PyResult<Py<PyAny>>> {
    if CLASS != NDARRAY && object::contents(b).is_none() {
        return None;
    }
    let py = Python::assume_attached();
    tried(|| quick::binary(op, &held(py, a), &held(py, b)))
}

macro_rules! operators {
    ($($at:literal $id:ident $way:ident $op:ident;)*) => {
        /// Puts our functions into a class.
        pub fn install<const CLASS: usize>(class: &Bound<'_, PyType>) {
            $(operators!(@$way class CLASS $at $id $op);)*
            install_compare::<CLASS>(class);
        }
    };
    (@binary $class:ident $number:ident $at:literal $id:ident $op:ident) => {{
        static ORIGINAL: Originals = [const { AtomicUsize::new(0) }; CLASSES];
        unsafe extern "C" fn run<const CLASS: usize>(a: Object, b: Object) -> Object {
            match binary::<CLASS>(ScalarOp::$op, a, b) {
                Some(done) => answer(Python::assume_attached(), done),
                None => std::mem::transmute::<usize, ffi::binaryfunc>(ORIGINAL[CLASS].load(Relaxed))(a, b),
            }
        }
        replace($class, $at, ffi::$id, &ORIGINAL[$number], run::<$number> as *mut c_void);
    }};
    // Of one operand, or changing it: there is no array but our own.
    (@$way:ident $class:ident $number:ident $at:literal $id:ident $op:ident) => {
        if $number == NDARRAY {
            static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
            operators!(@own $way $op);
            replace($class, $at, ffi::$id, &ORIGINAL, run as *mut c_void);
        }
    };
    (@own unary $op:ident) => {
        unsafe extern "C" fn run(a: Object) -> Object {
            let py = Python::assume_attached();
            match tried(|| quick::unary(ScalarOp::$op, &held(py, a))) {
                Some(done) => answer(py, done),
                None => std::mem::transmute::<usize, ffi::unaryfunc>(ORIGINAL.load(Relaxed))(a),
            }
        }
    };
    (@own in_place $op:ident) => {
        unsafe extern "C" fn run(a: Object, b: Object) -> Object {
            let py = Python::assume_attached();
            let (target, other) = (held(py, a), held(py, b));
            match tried(|| quick::into(ScalarOp::$op, &target, Some(&other), &target)) {
                Some(done) => answer(py, done.map(|()| target.to_owned().unbind())),
                None => std::mem::transmute::<usize, ffi::binaryfunc>(ORIGINAL.load(Relaxed))(a, b),
            }
        }
    };
}

// The number of the field in `PyNumberMethods`, its number in the API, how many operands it has, the operation.
operators! {
    0 Py_nb_add binary Add;
    1 Py_nb_subtract binary Subtract;
    2 Py_nb_multiply binary Multiply;
    3 Py_nb_remainder binary Remainder;
    6 Py_nb_negative unary Negative;
    8 Py_nb_absolute unary Absolute;
    10 Py_nb_invert unary Invert;
    13 Py_nb_and binary BitwiseAnd;
    14 Py_nb_xor binary BitwiseXor;
    15 Py_nb_or binary BitwiseOr;
    19 Py_nb_inplace_add in_place Add;
    20 Py_nb_inplace_subtract in_place Subtract;
    21 Py_nb_inplace_multiply in_place Multiply;
    26 Py_nb_inplace_and in_place BitwiseAnd;
    27 Py_nb_inplace_xor in_place BitwiseXor;
    28 Py_nb_inplace_or in_place BitwiseOr;
    29 Py_nb_floor_divide binary FloorDivide;
    30 Py_nb_true_divide binary Divide;
    32 Py_nb_inplace_true_divide in_place Divide;
}

static COMPARE: Originals = [const { AtomicUsize::new(0) }; CLASSES];

fn install_compare<const CLASS: usize>(class: &Bound<'_, PyType>) {
    let Some(mut raw) = RawType::of(class) else { return };
    // SAFETY: as in `replace`.
    let field = unsafe { raw.as_mut() }.compare();
    if let Some(was) = *field {
        COMPARE[CLASS].store(was as usize, Relaxed);
        *field = Some(compare::<CLASS>);
    }
}

unsafe extern "C" fn compare<const CLASS: usize>(a: Object, b: Object, how: c_int) -> Object {
    const HOW: [ScalarOp; 6] = [
        ScalarOp::Less,
        ScalarOp::LessEqual,
        ScalarOp::Equal,
        ScalarOp::NotEqual,
        ScalarOp::Greater,
        ScalarOp::GreaterEqual,
    ];
    let op = usize::try_from(how).ok().and_then(|how| HOW.get(how));
    match op.and_then(|&op| binary::<CLASS>(op, a, b)) {
        Some(done) => answer(Python::assume_attached(), done),
        None => std::mem::transmute::<usize, ffi::richcmpfunc>(COMPARE[CLASS].load(Relaxed))(a, b, how),
    }
}
