//! The arguments of a distribution's method as parameters: numbers, or arrays that are broadcast.

use crate::convert::{self, Arg};
use crate::errors;
use crate::layout;
use crate::provenance;
use crate::random_draw::{new_array, or_numpy, to_numpy};
use numloom_ir::{DType, Dims, Value, View};
use numloom_random::draw::{Parameter, each};
use numloom_random::table::{Param, Row};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString, PyTuple};
use smallvec::SmallVec;

type Object<'a, 'py> = &'a Bound<'py, PyAny>;

/// Parameters that a row has at most.
const MOST: usize = 3;

pub type Parameters = SmallVec<[Parameter; MOST]>;

/// A size as a shape; NumPy words what is none.
pub fn shape_of(size: Object<'_, '_>) -> PyResult<Dims> {
    or_numpy(layout::shape(size))
}

/// A number or an array that has its values.
enum Given {
    F(f64),
    I(i64),
    Fs(Vec<f64>, Dims),
    Is(Vec<i64>, Dims),
}

/// The parameters of a row, checked, and the shape of what is drawn; none for a single number.
pub fn parameters<'py>(
    py: Python<'py>,
    row: &Row,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<(Parameters, Option<Dims>)> {
    let count = row.params.len();
    let mut found = arguments(row, args, kwargs)?;
    if let Some(params) = numbers(row, &found) {
        let size = found[count].take().filter(|s| !s.is_none());
        return Ok((params, size.as_ref().map(shape_of).transpose()?));
    }
    let mut given: SmallVec<[Given; MOST]> = SmallVec::new();
    for (k, param) in row.params.iter().enumerate() {
        given.push(match (found[k].take(), param.default) {
            (Some(obj), _) => read(py, param, &obj)?,
            (None, Some(x)) => Given::F(x),
            (None, None) => return Err(to_numpy("an argument is missing")),
        });
    }
    let size = found[count].take().filter(|s| !s.is_none());
    let size = size.as_ref().map(shape_of).transpose()?;
    let own = broadcast(&given)?;
    let shape = match (&size, &own) {
        (Some(size), Some(own)) => {
            let same = broadcast_shapes(own, size).is_some_and(|both| both == *size);
            Some(if same { size.clone() } else { return Err(to_numpy("size does not fit")) })
        }
        (size, own) => size.clone().or_else(|| own.clone()),
    };
    let over = |shape: &Dims| given.iter().map(|g| g.parameter(shape)).collect::<Parameters>();
    let are_numbers = own.is_none();
    let own = own.unwrap_or_default();
    let params = over(&own);
    if !each(&params, &own, |v| row.kind.accepts(v)) {
        return Err(to_numpy("parameters do not fit each other"));
    }
    Ok((if are_numbers { params } else { over(shape.as_ref().unwrap_or(&own)) }, shape))
}

/// Parameters that are Python's own numbers and all right, which most are.
fn numbers(row: &Row, found: &[Option<Bound<'_, PyAny>>]) -> Option<Parameters> {
    let mut params = Parameters::new();
    for (param, given) in row.params.iter().zip(found) {
        let number = match given {
            None => Parameter::F(param.default?),
            Some(obj) => match obj.cast_exact::<PyFloat>() {
                Ok(x) if !param.integer => Parameter::F(x.value()),
                _ if !obj.is_exact_instance_of::<PyInt>() => return None,
                _ if param.integer => Parameter::I(obj.extract().ok()?),
                _ => Parameter::F(obj.extract::<i64>().ok()? as f64),
            },
        };
        let is_in_range = match number {
            Parameter::F(x) => given.is_none() || param.check.holds(x),
            Parameter::I(x) => param.check.holds(x as f64),
            _ => false,
        };
        if !is_in_range {
            return None;
        }
        params.push(number);
    }
    each(&params, &[], |v| row.kind.accepts(v)).then_some(params)
}

/// What was given for each parameter, and for the size after them.
fn arguments<'py>(
    row: &Row,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<[Option<Bound<'py, PyAny>>; MOST + 1]> {
    let count = row.params.len();
    if args.len() > count + 1 {
        return Err(to_numpy("too many arguments"));
    }
    let mut found = [const { None }; MOST + 1];
    for (place, given) in found.iter_mut().zip(args) {
        *place = Some(given);
    }
    for (key, given) in kwargs {
        let key = or_numpy(key.cast::<PyString>().map_err(PyErr::from))?;
        let name = or_numpy(key.to_str())?;
        let place = if name == "size" { Some(count) } else { row.params.iter().position(|p| p.name == name) };
        match place.map(|k| &mut found[k]) {
            Some(place @ None) => *place = Some(given),
            _ => return Err(to_numpy("an argument unknown, or given twice")),
        }
    }
    Ok(found)
}

fn read(py: Python<'_>, param: &Param, obj: Object<'_, '_>) -> PyResult<Given> {
    let given = match or_numpy(convert::arg(obj))? {
        Arg::Float(x) if !param.integer => Given::F(x),
        Arg::Int(x) if !param.integer => Given::F(x as f64),
        Arg::Int(x) => Given::I(i64::try_from(x).map_err(|_| to_numpy("too large"))?),
        Arg::Value(v) => number(param, &v)?,
        Arg::Array { mut array } => {
            or_numpy(errors::resolve(py, &mut array))?;
            if array.view.ndim() == 0 {
                number(param, &convert::value_of(py, &array)?)?
            } else {
                many(py, param, &array)?
            }
        }
        _ => return Err(to_numpy("not a number")),
    };
    let holds = |x: f64| param.check.holds(x);
    let fits = match &given {
        Given::F(x) => holds(*x),
        Given::I(x) => holds(*x as f64),
        Given::Fs(x, _) => x.iter().all(|&x| holds(x)),
        Given::Is(x, _) => x.iter().all(|&x| holds(x as f64)),
    };
    if fits { Ok(given) } else { Err(to_numpy("out of range")) }
}

/// Whether NumPy casts the dtype to the parameter's without being asked.
fn casts(param: &Param, dtype: DType) -> bool {
    if param.integer { !dtype.is_inexact() && dtype != DType::U64 } else { !dtype.is_complex() }
}

fn number(param: &Param, v: &Value) -> PyResult<Given> {
    if !casts(param, v.dtype) {
        return Err(to_numpy("dtype"));
    }
    let number = v.cast(if param.integer { DType::I64 } else { DType::F64 });
    let word: [u8; 8] = number.bytes[..8].try_into().unwrap_or_default();
    Ok(if param.integer { Given::I(i64::from_le_bytes(word)) } else { Given::F(f64::from_le_bytes(word)) })
}

fn many(py: Python<'_>, param: &Param, array: &Array) -> PyResult<Given> {
    if !casts(param, array.view.dtype) {
        return Err(to_numpy("dtype"));
    }
    let shape = array.view.shape.clone();
    Ok(if param.integer {
        Given::Is(dense(py, array, DType::I64)?, shape)
    } else {
        Given::Fs(dense(py, array, DType::F64)?, shape)
    })
}

/// The elements of the array in C order, cast to `dtype`, whose type `T` is.
pub fn dense<T: Copy>(py: Python<'_>, array: &Array, dtype: DType) -> PyResult<Vec<T>> {
    debug_assert_eq!(size_of::<T>(), dtype.size());
    let copy = new_array(py, &array.view.shape, dtype)?;
    record::map(MapOp::Copy, &[Operand::Array(array)], &[&copy], None, || provenance::here(py))
        .map_err(|e| errors::raise(py, e))?;
    errors::sync(py, &copy)?;
    let n = copy.view.size();
    if n == 0 {
        return Ok(Vec::new());
    }
    let from = record::data(&copy).map_err(|e| errors::raise(py, e))?;
    // SAFETY: a dense array of n elements of T, complete.
    Ok(unsafe { std::slice::from_raw_parts(from as *const T, n) }.to_vec())
}

fn broadcast_shapes(a: &[usize], b: &[usize]) -> Option<Dims> {
    let n = a.len().max(b.len());
    let at = |s: &[usize], k: usize| if k + s.len() < n { 1 } else { s[k + s.len() - n] };
    (0..n)
        .map(|k| match (at(a, k), at(b, k)) {
            (1, y) => Some(y),
            (x, 1) => Some(x),
            (x, y) => (x == y).then_some(x),
        })
        .collect()
}

fn broadcast(given: &[Given]) -> PyResult<Option<Dims>> {
    let mut all: Option<Dims> = None;
    for g in given {
        let (Given::Fs(_, shape) | Given::Is(_, shape)) = g else { continue };
        let both = broadcast_shapes(all.as_deref().unwrap_or_default(), shape);
        all = Some(both.ok_or_else(|| to_numpy("shapes do not fit"))?);
    }
    Ok(all)
}

impl Given {
    fn parameter(&self, shape: &[usize]) -> Parameter {
        let strides = |own: &Dims| {
            let dense = View::dense(DType::Bool, own, numloom_ir::view::Order::C);
            let missing = shape.len() - own.len();
            let stride =
                |k: usize| if k < missing || own[k - missing] == 1 { 0 } else { dense.strides[k - missing] as usize };
            (0..shape.len()).map(stride).collect()
        };
        match self {
            Given::F(x) => Parameter::F(*x),
            Given::I(x) => Parameter::I(*x),
            Given::Fs(values, own) => Parameter::Fs { values: values.clone(), strides: strides(own) },
            Given::Is(values, own) => Parameter::Is { values: values.clone(), strides: strides(own) },
        }
    }
}
