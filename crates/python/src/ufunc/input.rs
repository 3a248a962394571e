//! Arguments of a call as the runtime takes them: arrays, strong scalars, and Python numbers, which are weak.

use crate::convert::{self, Arg};
use crate::errors;
use crate::handle::{NdArray, Scalar};
use crate::numpy_api::api;
use numloom_ir::promote::ArgType;
use numloom_ir::{DType, Value};
use numloom_runtime::{Array, Operand};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString};

/// Why the native path ended.
pub enum Stop {
    /// NumPy's own function shall answer: it supports what we do not, or raises the error in its own words.
    ToNumpy,
    Raise(PyErr),
}

pub type Native<T> = Result<T, Stop>;

impl From<PyErr> for Stop {
    #[cold]
    fn from(e: PyErr) -> Stop {
        if Python::attach(|py| errors::is_unsupported(py, &e)) { Stop::ToNumpy } else { Stop::Raise(e) }
    }
}

/// The exception of a failed runtime call.
#[cold]
pub fn failed(py: Python<'_>, e: numloom_runtime::ExecError) -> PyErr {
    errors::raise(py, e)
}

pub enum Input<'py> {
    Handle(PyRef<'py, NdArray>),
    Scalar(PyRef<'py, Scalar>),
    Array(Array),
    /// A NumPy scalar or Python bool: takes part in promotion like an array.
    Value(Value),
    Int(i128),
    Float(f64),
    Complex(f64, f64),
}

impl<'py> Input<'py> {
    #[inline]
    pub fn from_py(obj: &Bound<'py, PyAny>) -> Native<Input<'py>> {
        if let Ok(a) = obj.cast_exact::<NdArray>() {
            return Ok(Input::Handle(a.try_borrow().map_err(PyErr::from)?));
        }
        if let Ok(s) = obj.cast_exact::<Scalar>() {
            return Ok(Input::Scalar(s.try_borrow().map_err(PyErr::from)?));
        }
        if overrides(obj) {
            return Err(Stop::ToNumpy);
        }
        Ok(match convert::arg(obj)? {
            Arg::Array { array, .. } => Input::Array(array),
            Arg::Value(v) => Input::Value(v),
            Arg::Int(i) => Input::Int(i),
            Arg::BigInt(_) => return Err(Stop::ToNumpy),
            Arg::Float(f) => Input::Float(f),
            Arg::Complex(re, im) => Input::Complex(re, im),
        })
    }

    #[inline]
    pub fn array(&self) -> Option<&Array> {
        match self {
            Input::Handle(h) => Some(&h.array),
            Input::Scalar(s) => Some(&s.array),
            Input::Array(a) => Some(a),
            _ => None,
        }
    }

    #[inline]
    pub fn arg_type(&self) -> ArgType {
        match self {
            Input::Handle(h) => ArgType::Strong(h.array.view.dtype),
            Input::Scalar(s) => ArgType::Strong(s.array.view.dtype),
            Input::Array(a) => ArgType::Strong(a.view.dtype),
            Input::Value(v) => ArgType::Strong(v.dtype),
            Input::Int(_) => ArgType::WeakInt,
            Input::Float(_) => ArgType::WeakFloat,
            Input::Complex(..) => ArgType::WeakComplex,
        }
    }

    /// The operand of a loop that computes in `dtype`; NumPy raises for Python numbers that do not fit.
    #[inline]
    pub fn operand(&self, dtype: DType) -> Native<Operand<'_>> {
        match self.array() {
            Some(a) => Ok(Operand::Array(a)),
            None => Ok(Operand::Value(self.value(dtype)?)),
        }
    }

    /// A number (not an array) in the type of the loop.
    pub fn value(&self, dtype: DType) -> Native<Value> {
        let value = match *self {
            Input::Value(v) => v.cast(dtype),
            Input::Int(i) if fits(i, dtype) => Value::from_i128(dtype, i),
            Input::Float(f) if dtype.is_inexact() => Value::from_f64(dtype, f),
            Input::Complex(re, im) if dtype.is_complex() => Value::from_complex(dtype, re, im),
            _ => return Err(Stop::ToNumpy),
        };
        // A number that overflows in the cast: NumPy says so in a warning.
        let overflows = match *self {
            Input::Int(_) => value.to_f64().is_infinite(),
            Input::Float(f) => f.is_finite() && value.to_f64().is_infinite(),
            Input::Complex(re, im) => {
                (re.is_finite() && value.to_f64().is_infinite()) || (im.is_finite() && value.imag().is_infinite())
            }
            _ => false,
        };
        if overflows && dtype.is_inexact() { Err(Stop::ToNumpy) } else { Ok(value) }
    }

    /// Gives an array of unknown length its length; a sync point.
    pub fn resolve(self, py: Python<'py>) -> Native<Input<'py>> {
        match self.array() {
            Some(a) if a.symbol().is_some() => {
                let mut a = a.clone();
                errors::resolve(py, &mut a)?;
                Ok(Input::Array(a))
            }
            _ => Ok(self),
        }
    }

    /// Another input of the same contents, with its length known.
    pub fn sized(&self, py: Python<'_>) -> Native<Input<'static>> {
        Ok(match *self {
            Input::Value(v) => Input::Value(v),
            Input::Int(i) => Input::Int(i),
            Input::Float(f) => Input::Float(f),
            Input::Complex(re, im) => Input::Complex(re, im),
            Input::Handle(_) | Input::Scalar(_) | Input::Array(_) => {
                let mut array = self.array().ok_or(Stop::ToNumpy)?.clone();
                errors::resolve(py, &mut array)?;
                Input::Array(array)
            }
        })
    }

    /// The argument as an array, numbers as 0-d ones in the type they have alone.
    pub fn into_array(self, py: Python<'py>) -> Native<Array> {
        let dtype = numloom_ir::promote::weak_dtype(self.arg_type(), None);
        match self {
            Input::Array(a) => Ok(a),
            Input::Handle(h) => Ok(h.array.clone()),
            Input::Scalar(s) => Ok(s.array.clone()),
            number => Ok(filled(py, number.value(dtype)?, &[])?),
        }
    }
}

/// A new array with one value everywhere.
pub fn filled(py: Python<'_>, value: Value, shape: &[usize]) -> PyResult<Array> {
    use numloom_ir::view::Order;
    use numloom_runtime::{MapOp, record};
    let at = || crate::provenance::here(py);
    let out = record::empty(value.dtype, shape, Order::C, at).map_err(|e| failed(py, e))?;
    record::map(MapOp::Copy, &[Operand::Value(value)], &[&out], None, at).map_err(|e| failed(py, e))?;
    Ok(out)
}

/// Whether the object's class has a say of its own in what ufuncs do with it (`__array_ufunc__`, or a subclass of
/// `numpy.ndarray`). Python's and NumPy's numbers and plain arrays have none.
#[inline]
pub fn overrides(obj: &Bound<'_, PyAny>) -> bool {
    let number = obj.is_exact_instance_of::<PyFloat>()
        || obj.is_exact_instance_of::<PyInt>()
        || obj.is_exact_instance_of::<PyBool>()
        || obj.is_exact_instance_of::<PyList>();
    !number && foreign_override(obj)
}

#[cold]
fn foreign_override(obj: &Bound<'_, PyAny>) -> bool {
    api(obj.py()).is_array(obj) && !api(obj.py()).is_exact_array(obj) || has_ufunc_method(obj) || has_wrap_method(obj)
}

/// Whether a class that is neither NumPy's nor ours has the method.
fn foreign_method(obj: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> bool {
    let numpy = api(obj.py());
    let known = numpy.is_exact_array(obj)
        || numpy.is_scalar(obj)
        || obj.is_instance_of::<NdArray>()
        || obj.is_exact_instance_of::<Scalar>();
    !known && obj.get_type().hasattr(name).unwrap_or(false)
}

/// A foreign class with `__array_ufunc__`.
pub fn has_ufunc_method(obj: &Bound<'_, PyAny>) -> bool {
    foreign_method(obj, intern!(obj.py(), "__array_ufunc__"))
}

/// A foreign class with `__array_wrap__`, which is asked only in the absence of the former.
pub fn has_wrap_method(obj: &Bound<'_, PyAny>) -> bool {
    foreign_method(obj, intern!(obj.py(), "__array_wrap__")) && !has_ufunc_method(obj)
}

/// Lowest and highest value of an integer type.
pub fn bounds(dtype: DType) -> (i128, i128) {
    let bits = dtype.size() as u32 * 8;
    match dtype.kind() {
        numloom_ir::Kind::Unsigned => (0, (1i128 << bits) - 1),
        numloom_ir::Kind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (0, 1),
    }
}

fn fits(i: i128, dtype: DType) -> bool {
    let (lo, hi) = bounds(dtype);
    !dtype.is_integer() || (lo <= i && i <= hi)
}
