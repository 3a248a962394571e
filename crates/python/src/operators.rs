//! Python's operators on `ndarray` and `Scalar`, each the ufunc of the same meaning.

use crate::handle::{self, NdArray, Scalar};
use crate::numpy_api::api;
use crate::quick;
use crate::ufunc::call::{call_full, compute_into, compute_named};
use crate::ufunc::fallback::{call_numpy, call_operator};
use crate::ufunc::input::{Input, Native, Stop};
use crate::ufunc::keywords::Keywords;
use crate::ufunc::products::{self, Product};
use numloom_ir::{DType, ScalarOp};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

type Object<'a, 'py> = &'a Bound<'py, PyAny>;

/// Whether a binary operator leaves the work to the other operand: NumPy's rules for foreign classes.
#[inline]
fn defers(other: Object<'_, '_>) -> bool {
    let plain = other.is_exact_instance_of::<NdArray>()
        || other.is_exact_instance_of::<Scalar>()
        || other.is_exact_instance_of::<PyFloat>()
        || other.is_exact_instance_of::<PyInt>();
    !plain && foreign_defers(other).unwrap_or(false)
}

#[cold]
fn foreign_defers(other: Object<'_, '_>) -> PyResult<bool> {
    let py = other.py();
    let numpy = api(py);
    if numpy.is_exact_array(other) || numpy.is_scalar(other) || other.is_instance_of::<NdArray>() {
        return Ok(false);
    }
    let class = other.get_type();
    if let Some(protocol) = class.getattr_opt(intern!(py, "__array_ufunc__"))? {
        return Ok(protocol.is_none());
    }
    match other.getattr_opt(intern!(py, "__array_priority__"))? {
        Some(p) => Ok(p.extract::<f64>()? > 0.0),
        None => Ok(false),
    }
}

/// The name floating-point warnings give an operation on scalars only.
fn scalar_name(op: ScalarOp) -> &'static str {
    match op {
        ScalarOp::Add => "scalar add",
        ScalarOp::Subtract => "scalar subtract",
        ScalarOp::Multiply => "scalar multiply",
        ScalarOp::Divide => "scalar divide",
        ScalarOp::FloorDivide => "scalar floor_divide",
        ScalarOp::Remainder => "scalar remainder",
        ScalarOp::Power => "scalar power",
        ScalarOp::Negative => "scalar negative",
        ScalarOp::Absolute => "scalar absolute",
        other => other.name(),
    }
}

/// The function of Python's `operator` module (or built-in) for an operation.
fn operator_name(op: ScalarOp) -> &'static str {
    match op {
        ScalarOp::Add => "add",
        ScalarOp::Subtract => "sub",
        ScalarOp::Multiply => "mul",
        ScalarOp::Divide => "truediv",
        ScalarOp::FloorDivide => "floordiv",
        ScalarOp::Remainder => "mod",
        ScalarOp::Divmod => "divmod",
        ScalarOp::Power => "pow",
        ScalarOp::LeftShift => "lshift",
        ScalarOp::RightShift => "rshift",
        ScalarOp::BitwiseAnd => "and_",
        ScalarOp::BitwiseOr => "or_",
        ScalarOp::BitwiseXor => "xor",
        ScalarOp::Negative => "neg",
        ScalarOp::Positive => "pos",
        ScalarOp::Absolute => "abs",
        ScalarOp::Invert => "invert",
        ScalarOp::Equal => "eq",
        ScalarOp::NotEqual => "ne",
        ScalarOp::Less => "lt",
        ScalarOp::LessEqual => "le",
        ScalarOp::Greater => "gt",
        _ => "ge",
    }
}

#[inline]
fn native_binary(py: Python<'_>, op: ScalarOp, left: Object<'_, '_>, right: Object<'_, '_>) -> Native<Py<PyAny>> {
    let ins = [Input::from_py(left)?, Input::from_py(right)?];
    let scalars = !ins.iter().any(|i| matches!(i, Input::Handle(_) | Input::Array(_)));
    let name = if scalars { scalar_name(op) } else { op.name() };
    Ok(handle::wrap_result(py, compute_named(py, op, &ins, name)?)?)
}

#[inline]
fn binary(op: ScalarOp, left: Object<'_, '_>, right: Object<'_, '_>, other: Object<'_, '_>) -> PyResult<Py<PyAny>> {
    if let Some(done) = quick::binary(op, left, right) {
        return done;
    }
    binary_any(op, left, right, other)
}

fn binary_any(op: ScalarOp, left: Object<'_, '_>, right: Object<'_, '_>, other: Object<'_, '_>) -> PyResult<Py<PyAny>> {
    let py = left.py();
    if defers(other) {
        return Ok(py.NotImplemented());
    }
    if op == ScalarOp::Multiply
        && let Some(number) = repeats(left, right)
    {
        return if number.is_integer() { Ok(py.NotImplemented()) } else { Err(no_repetition(py, number)) };
    }
    match native_binary(py, op, left, right) {
        Ok(r) => Ok(r),
        Err(Stop::Raise(e)) => Err(e),
        Err(Stop::ToNumpy) => to_numpy(op, left, right),
    }
}

/// The type of a number beside a sequence of Python's; a whole number says how often that is repeated.
fn repeats(left: Object<'_, '_>, right: Object<'_, '_>) -> Option<DType> {
    let number = |o: Object<'_, '_>| o.cast::<Scalar>().ok().map(|s| s.borrow().array.view.dtype);
    let sequence = |o: Object<'_, '_>| {
        o.is_instance_of::<PyList>()
            || o.is_instance_of::<PyTuple>()
            || o.is_instance_of::<PyString>()
            || o.is_instance_of::<PyBytes>()
    };
    if sequence(right) { number(left) } else { number(right).filter(|_| sequence(left)) }
}

#[cold]
fn no_repetition(py: Python<'_>, number: DType) -> PyErr {
    let class = api(py).scalar_type(number).bind(py).getattr("__name__").map_or(String::new(), |n| n.to_string());
    PyTypeError::new_err(format!("can't multiply sequence by non-int of type 'numpy.{class}'"))
}

/// NumPy's operator; foreign classes with `__array_ufunc__` are asked through the ufunc.
#[cold]
fn to_numpy(op: ScalarOp, left: Object<'_, '_>, right: Object<'_, '_>) -> PyResult<Py<PyAny>> {
    let py = left.py();
    let foreign = |o: Object<'_, '_>| !api(py).is_array(o) && crate::ufunc::input::overrides(o) && !is_ours(o);
    if foreign(left) || foreign(right) {
        return call_numpy(py, op.name(), None, &PyTuple::new(py, [left, right])?, None);
    }
    call_operator(py, operator_name(op), &[left, right])
}

fn is_ours(o: Object<'_, '_>) -> bool {
    o.is_instance_of::<NdArray>() || o.is_instance_of::<Scalar>()
}

fn unary(op: ScalarOp, operand: Object<'_, '_>) -> PyResult<Py<PyAny>> {
    if let Some(done) = quick::unary(op, operand) {
        return done;
    }
    let py = operand.py();
    let native = || -> Native<Py<PyAny>> {
        let input = Input::from_py(operand)?;
        let name = if matches!(input, Input::Scalar(_)) { scalar_name(op) } else { op.name() };
        Ok(handle::wrap_result(py, compute_named(py, op, &[input], name)?)?)
    };
    match native() {
        Ok(r) => Ok(r),
        Err(Stop::Raise(e)) => Err(e),
        Err(Stop::ToNumpy) => call_operator(py, operator_name(op), &[operand]),
    }
}

/// `target OP= other`: the ufunc with `out=target`, so NumPy's casting rule and errors.
fn in_place(op: ScalarOp, target: &Bound<'_, NdArray>, other: Object<'_, '_>) -> PyResult<()> {
    if op != ScalarOp::Power
        && let Some(done) = quick::into(op, target.as_any(), Some(other), target.as_any())
    {
        return done;
    }
    let py = target.py();
    let native = || -> Native<()> {
        let handle = target.try_borrow().map_err(PyErr::from)?;
        if !handle.writeable {
            return Err(Stop::ToNumpy);
        }
        let out = handle.array.clone();
        let second = Input::from_py(other)?;
        if op == ScalarOp::Power
            && let Some(fast) = fast_power(&out, other)
        {
            return compute_into(py, fast, &[Input::Handle(handle)], &out);
        }
        compute_into(py, op, &[Input::Handle(handle), second], &out)
    };
    match native() {
        Ok(()) => Ok(()),
        Err(Stop::Raise(e)) => Err(e),
        Err(Stop::ToNumpy) => {
            let kwargs = PyDict::new(py);
            kwargs.set_item(intern!(py, "out"), target)?;
            let fast = if op == ScalarOp::Power { fast_power(&target.borrow().array, other) } else { None };
            let args = match fast {
                Some(_) => PyTuple::new(py, [target.as_any()])?,
                None => PyTuple::new(py, [target.as_any(), other])?,
            };
            call_numpy(py, fast.unwrap_or(op).name(), None, &args, Some(&kwargs)).map(|_| ())
        }
    }
}

/// NumPy's short cuts of `**` with a Python number: squares, roots and reciprocals.
fn fast_power(base: &numloom_runtime::Array, exponent: Object<'_, '_>) -> Option<ScalarOp> {
    let dtype = base.view.dtype;
    let (e, is_int) = if let Ok(f) = exponent.cast_exact::<PyFloat>() {
        (f.value(), false)
    } else if exponent.is_exact_instance_of::<PyInt>() {
        (exponent.extract::<i32>().ok()? as f64, true)
    } else {
        return None;
    };
    let inexact = dtype.is_inexact();
    if e == 2.0 && (inexact || is_int) {
        Some(ScalarOp::Square)
    } else if e == 0.5 && inexact {
        Some(ScalarOp::Sqrt)
    } else if e == -1.0 && inexact {
        Some(ScalarOp::Reciprocal)
    } else {
        None
    }
}

fn power(
    left: Object<'_, '_>,
    right: Object<'_, '_>,
    other: Object<'_, '_>,
    modulo: Object<'_, '_>,
) -> PyResult<Py<PyAny>> {
    let py = left.py();
    if !modulo.is_none() {
        return Ok(py.NotImplemented());
    }
    if let Ok(base) = left.cast::<NdArray>() {
        let fast = fast_power(&base.borrow().array, right);
        if let Some(op) = fast {
            return unary(op, left);
        }
    }
    binary(ScalarOp::Power, left, right, other)
}

fn divmod(left: Object<'_, '_>, right: Object<'_, '_>, other: Object<'_, '_>) -> PyResult<Py<PyAny>> {
    let py = left.py();
    if defers(other) {
        return Ok(py.NotImplemented());
    }
    if let Some(pair) = quick::pair(ScalarOp::Divmod, left, Some(right)) {
        return pair;
    }
    match call_full(py, ScalarOp::Divmod, &[left.clone(), right.clone()], &Keywords::none()) {
        Ok(r) => Ok(r),
        Err(Stop::Raise(e)) => Err(e),
        Err(Stop::ToNumpy) => to_numpy(ScalarOp::Divmod, left, right),
    }
}

fn matmul(left: Object<'_, '_>, right: Object<'_, '_>, other: Object<'_, '_>) -> PyResult<Py<PyAny>> {
    let py = left.py();
    let is_number = |x: Object<'_, '_>| x.is_exact_instance_of::<Scalar>() || api(py).is_scalar(x);
    if defers(other) || is_number(left) && is_number(right) {
        return Ok(py.NotImplemented());
    }
    if let Some(product) = quick::dot(left, right) {
        return product;
    }
    match products::multiply(py, Product::MatMul, left, right, None) {
        Ok(r) => Ok(r),
        Err(Stop::Raise(e)) => Err(e),
        Err(Stop::ToNumpy) => call_numpy(py, "matmul", None, &PyTuple::new(py, [left, right])?, None),
    }
}

fn compare(slf: Object<'_, '_>, other: Object<'_, '_>, how: CompareOp) -> PyResult<Py<PyAny>> {
    let op = match how {
        CompareOp::Lt => ScalarOp::Less,
        CompareOp::Le => ScalarOp::LessEqual,
        CompareOp::Eq => ScalarOp::Equal,
        CompareOp::Ne => ScalarOp::NotEqual,
        CompareOp::Gt => ScalarOp::Greater,
        CompareOp::Ge => ScalarOp::GreaterEqual,
    };
    binary(op, slf, other, other)
}

macro_rules! operators {
    ($class:ty; $($forward:ident $reflected:ident $op:ident;)*; $($unary:ident $uop:ident;)*) => {
        #[pymethods]
        impl $class {
            $(
                fn $forward(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    binary(ScalarOp::$op, slf.as_any(), other, other)
                }

                fn $reflected(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    binary(ScalarOp::$op, other, slf.as_any(), other)
                }
            )*
            $(
                fn $unary(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
                    unary(ScalarOp::$uop, slf.as_any())
                }
            )*

            fn __pow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                power(slf.as_any(), other, other, modulo)
            }

            fn __rpow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                power(other, slf.as_any(), other, modulo)
            }

            fn __divmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                divmod(slf.as_any(), other, other)
            }

            fn __rdivmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                divmod(other, slf.as_any(), other)
            }

            fn __matmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                matmul(slf.as_any(), other, other)
            }

            fn __rmatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                matmul(other, slf.as_any(), other)
            }

            fn __richcmp__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, how: CompareOp) -> PyResult<Py<PyAny>> {
                compare(slf.as_any(), other, how)
            }
        }
    };
}

macro_rules! operators_of {
    ($($class:ty),*) => {$(
        operators! {
            $class;
            __add__ __radd__ Add;
            __sub__ __rsub__ Subtract;
            __mul__ __rmul__ Multiply;
            __truediv__ __rtruediv__ Divide;
            __floordiv__ __rfloordiv__ FloorDivide;
            __mod__ __rmod__ Remainder;
            __lshift__ __rlshift__ LeftShift;
            __rshift__ __rrshift__ RightShift;
            __and__ __rand__ BitwiseAnd;
            __or__ __ror__ BitwiseOr;
            __xor__ __rxor__ BitwiseXor;
            ;
            __neg__ Negative;
            __pos__ Positive;
            __abs__ Absolute;
            __invert__ Invert;
        }
    )*};
}
operators_of!(NdArray, Scalar);

macro_rules! in_place_operators {
    ($($name:ident $op:ident;)*) => {
        #[pymethods]
        impl NdArray {
            $(
                fn $name(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
                    in_place(ScalarOp::$op, slf, other)
                }
            )*

            fn __ipow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<()> {
                in_place(ScalarOp::Power, slf, other)
            }

            fn __concat__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                Err(PyTypeError::new_err(
                    "Concatenation operation is not implemented for NumPy arrays, use np.concatenate() instead. Please do not rely on this error; it may not be given on all Python implementations.",
                ))
            }

            fn __imatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
                let py = slf.py();
                match products::multiply(py, Product::MatMul, slf.as_any(), other, Some(slf.clone())) {
                    Ok(_) => Ok(()),
                    Err(Stop::Raise(e)) => Err(e),
                    Err(Stop::ToNumpy) => call_operator(py, "imatmul", &[slf.as_any(), other]).map(|_| ()),
                }
            }
        }
    };
}
in_place_operators! {
    __iadd__ Add;
    __isub__ Subtract;
    __imul__ Multiply;
    __itruediv__ Divide;
    __ifloordiv__ FloorDivide;
    __imod__ Remainder;
    __ilshift__ LeftShift;
    __irshift__ RightShift;
    __iand__ BitwiseAnd;
    __ior__ BitwiseOr;
    __ixor__ BitwiseXor;
}
