//! Matrix products: the generalised ufuncs `matmul`, `vecdot`, `matvec`, `vecmat`, and `dot` and its relatives.

use super::arguments::{bind, given};
use super::call::{compute, compute_into_named, compute_named};
use super::input::{Input, Native, Stop, failed};
use super::keywords::outputs;
use super::{fallback, methods};
use crate::assign::warn_complex;
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::{index, provenance};
use numloom_ir::promote::{Casting, can_cast, promote};
use numloom_ir::view::{Order, broadcast_shapes};
use numloom_ir::{DType, Dims, ScalarOp, View};
use numloom_library::MatMul;
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Product {
    MatMul,
    VecDot,
    MatVec,
    VecMat,
}

impl Product {
    pub const ALL: [Product; 4] = [Product::MatMul, Product::VecDot, Product::MatVec, Product::VecMat];

    pub fn name(self) -> &'static str {
        ["matmul", "vecdot", "matvec", "vecmat"][self as usize]
    }

    /// Whether each operand is a vector rather than a matrix, given its number of dimensions.
    fn vectors(self, a: usize, b: usize) -> (bool, bool) {
        match self {
            Product::MatMul => (a == 1, b == 1),
            Product::VecDot => (true, true),
            Product::MatVec => (false, true),
            Product::VecMat => (true, false),
        }
    }
}

/// `matmul(a, b, /, out=None)` and its relatives. Other keywords, and errors, are NumPy's.
pub fn call<'py>(
    py: Python<'py>,
    product: Product,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Native<Py<PyAny>> {
    let [a, b, out] = bind(["", "", "out"], args, kwargs)?;
    let (Some(a), Some(b)) = (a, b) else { return Err(Stop::ToNumpy) };
    let out = match given(&out) {
        Some(o) => outputs(o, 1)?.into_iter().next().flatten(),
        None => None,
    };
    multiply(py, product, &a, &b, out)
}

pub fn multiply<'py>(
    py: Python<'py>,
    product: Product,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    out: Option<Bound<'py, NdArray>>,
) -> Native<Py<PyAny>> {
    let (a, b) = (operand(py, a)?, operand(py, b)?);
    let target = match &out {
        Some(o) if !o.borrow().writeable => return Err(Stop::ToNumpy),
        Some(o) => Some(handle::sized(o)?),
        None => None,
    };
    let array = contract(py, product, Some(product.name()), a, b, target)?;
    Ok(super::reduction::result(py, array, out)?)
}

fn operand<'py>(py: Python<'py>, obj: &Bound<'py, PyAny>) -> Native<Array> {
    Input::from_py(obj)?.resolve(py)?.into_array(py)
}

/// The array in another type; itself if it has it.
pub fn cast(py: Python<'_>, a: Array, dtype: DType) -> PyResult<Array> {
    if a.view.dtype == dtype {
        return Ok(a);
    }
    // What is spread over an axis is cast once, and stays spread: results lie as they would without the cast.
    let mut once = a.view.clone();
    for (extent, &step) in once.shape.iter_mut().zip(&a.view.strides) {
        if step == 0 && *extent > 1 {
            *extent = 1;
        }
    }
    if a.symbol().is_some() || once.shape == a.view.shape {
        return index::cast(py, &a, dtype);
    }
    let made = index::cast(py, &a.with_view(once), dtype)?;
    Ok(match made.view.broadcast_to(&a.view.shape) {
        Some(spread) => made.with_view(spread),
        None => made,
    })
}

/// The operand of a loop in `dtype`. A cast that may lose more than places is a step of its own, for its warnings are.
pub fn narrowed(py: Python<'_>, a: Array, dtype: DType) -> PyResult<Array> {
    let from = a.view.dtype;
    let loses =
        dtype != DType::Bool && (from.is_inexact() || dtype == DType::F16) && !can_cast(from, dtype, Casting::Safe);
    if !loses {
        return Ok(a);
    }
    warn_complex(py, from, dtype)?;
    cast(py, a, dtype)
}

/// The name that floating-point warnings give a product; NumPy hears of none in `vdot` and `einsum`.
type Heard = Option<&'static str>;

/// One of the four products, over broadcast batch dimensions.
fn contract(
    py: Python<'_>,
    product: Product,
    heard_as: Heard,
    a: Array,
    b: Array,
    target: Option<Array>,
) -> Native<Array> {
    let (va, vb) = product.vectors(a.view.ndim(), b.view.ndim());
    if a.view.ndim() < 2 - va as usize || b.view.ndim() < 2 - vb as usize {
        return Err(Stop::ToNumpy);
    }
    let dtype = promote(a.view.dtype, b.view.dtype);
    let conjugated = matches!(product, Product::VecDot | Product::VecMat) && a.view.dtype.is_complex();
    let a = if conjugated { compute(py, ScalarOp::Conjugate, &[Input::Array(a)])? } else { a };
    let (a, b) = (cast(py, a, dtype)?, cast(py, b, dtype)?);
    let a_matrix = if va { a.view.expand(a.view.ndim() - 1) } else { a.view.clone() };
    let b_matrix = if vb { b.view.expand(b.view.ndim()) } else { b.view.clone() };
    let (na, nb) = (a_matrix.ndim(), b_matrix.ndim());
    let (m, k, n) = (a_matrix.shape[na - 2], a_matrix.shape[na - 1], b_matrix.shape[nb - 1]);
    if b_matrix.shape[nb - 2] != k {
        return Err(Stop::ToNumpy);
    }
    let batch = broadcast_shapes([&a_matrix.shape[..na - 2], &b_matrix.shape[..nb - 2]]).ok_or(Stop::ToNumpy)?;
    let full = |rows: usize, cols: usize| -> Dims { batch.iter().copied().chain([rows, cols]).collect() };
    let out_shape: Dims = batch.iter().copied().chain((!va).then_some(m)).chain((!vb).then_some(n)).collect();
    let out = match target {
        Some(t) if t.view.shape != out_shape || !can_cast(dtype, t.view.dtype, Casting::SameKind) => {
            return Err(Stop::ToNumpy);
        }
        Some(t) => t,
        None => record::empty(dtype, &out_shape, Order::C, || provenance::here(py)).map_err(|e| failed(py, e))?,
    };
    let mut out_matrix = out.view.clone();
    if va {
        out_matrix = out_matrix.expand(batch.len());
    }
    if vb {
        out_matrix = out_matrix.expand(batch.len() + 1);
    }
    let (Some(av), Some(bv)) = (a_matrix.broadcast_to(&full(m, k)), b_matrix.broadcast_to(&full(k, n))) else {
        return Err(Stop::ToNumpy);
    };
    run(py, heard_as, &a.with_view(av), &b.with_view(bv), &out.with_view(out_matrix), dtype)?;
    Ok(out)
}

/// `out = a @ b` for matrices with equal batch shapes; through a temporary when `out` has another type.
fn run(py: Python<'_>, heard_as: Heard, a: &Array, b: &Array, out: &Array, dtype: DType) -> PyResult<()> {
    let watch = Watch::new(py);
    let product = || Box::new(heard_as.map_or_else(MatMul::new, MatMul::heard_as));
    let name = heard_as.unwrap_or("matmul");
    if out.view.dtype == dtype {
        let flags = record::library(product(), &[a, b], &[out], || watch.here()).map_err(|e| failed(py, e))?;
        return watch.finish(flags, name, out);
    }
    let made = record::empty(dtype, &out.view.shape, Order::C, || watch.here()).map_err(|e| failed(py, e))?;
    let flags = record::library(product(), &[a, b], &[&made], || watch.here()).map_err(|e| failed(py, e))?;
    watch.finish(flags, name, &made)?;
    record::map(MapOp::Copy, &[Operand::Array(&made)], &[out], None, || watch.here()).map_err(|e| failed(py, e))?;
    Ok(())
}

/// `dot`: sums over the last axis of `a` and the one before last of `b`.
fn dot_arrays(py: Python<'_>, a: Array, b: Array, target: Option<Array>) -> Native<Array> {
    let (na, nb) = (a.view.ndim(), b.view.ndim());
    let dtype = promote(a.view.dtype, b.view.dtype);
    if na == 0 || nb == 0 {
        if target.is_some() {
            return Err(Stop::ToNumpy);
        }
        let whole = if na == 0 { &b } else { &a };
        let (shape, unknown) = (whole.view.shape.clone(), whole.symbol().is_some());
        let ins = [Input::Array(a), Input::Array(b)];
        // To NumPy only these are products of its own, in C order whatever the order of the factor.
        if !matches!(dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128) {
            return compute(py, ScalarOp::Multiply, &ins);
        }
        if unknown {
            return compute_named(py, ScalarOp::Multiply, &ins, "dot");
        }
        let out = record::empty(dtype, &shape, Order::C, || provenance::here(py)).map_err(|e| failed(py, e))?;
        return compute_into_named(py, ScalarOp::Multiply, &ins, &out, "dot").map(|()| out);
    }
    let k_axis = nb.saturating_sub(2);
    if a.view.shape[na - 1] != b.view.shape[k_axis] {
        return Err(Stop::ToNumpy);
    }
    let (a, b) = (cast(py, a, dtype)?, cast(py, b, dtype)?);
    // Matrices, with the outer axes of `a` and of `b` as separate batch axes.
    let a_matrix = if na == 1 { a.view.expand(0) } else { a.view.clone() };
    let b_matrix = if nb == 1 { b.view.expand(1) } else { b.view.clone() };
    let (outer_a, outer_b) = (a_matrix.ndim() - 2, b_matrix.ndim() - 2);
    let out_shape: Dims = a.view.shape[..na - 1]
        .iter()
        .chain(b.view.shape.iter().enumerate().filter(|(i, _)| *i != k_axis).map(|(_, d)| d))
        .copied()
        .collect();
    let out = match target {
        Some(t) if t.view.shape != out_shape || t.view.dtype != dtype || !t.view.is_c_contiguous() => {
            return Err(Stop::ToNumpy);
        }
        Some(t) => t,
        None => record::empty(dtype, &out_shape, Order::C, || provenance::here(py)).map_err(|e| failed(py, e))?,
    };
    let mut av = a_matrix;
    for i in 0..outer_b {
        av = av.expand(outer_a + i);
    }
    let mut bv = b_matrix;
    for _ in 0..outer_a {
        bv = bv.expand(0);
    }
    let batch: Dims = av.shape[..outer_a].iter().chain(&bv.shape[outer_a..outer_a + outer_b]).copied().collect();
    let full = |v: &View| -> Dims { batch.iter().chain(&v.shape[v.ndim() - 2..]).copied().collect() };
    // The result's axes are (outer a, rows, outer b, columns).
    let mut ov = out.view.clone();
    if na == 1 {
        ov = ov.expand(outer_a);
    }
    if nb == 1 {
        ov = ov.expand(ov.ndim());
    }
    let perm: Dims =
        (0..outer_a).chain(outer_a + 1..outer_a + 1 + outer_b).chain([outer_a, outer_a + 1 + outer_b]).collect();
    let (Some(av), Some(bv)) = (av.broadcast_to(&full(&av)), bv.broadcast_to(&full(&bv))) else {
        return Err(Stop::ToNumpy);
    };
    run(py, Some("dot"), &a.with_view(av), &b.with_view(bv), &out.with_view(ov.transpose(&perm)), dtype)?;
    Ok(out)
}

fn inner_arrays(py: Python<'_>, a: Array, b: Array) -> Native<Array> {
    let n = b.view.ndim();
    let b = if n >= 2 && a.view.ndim() > 0 {
        let perm: Dims = (0..n - 2).chain([n - 1, n - 2]).collect();
        b.with_view(b.view.transpose(&perm))
    } else {
        b
    };
    dot_arrays(py, a, b, None)
}

/// All elements in C order as one axis; a copy where strides cannot express it.
pub fn flattened(py: Python<'_>, a: &Array) -> PyResult<Array> {
    let shape = [a.view.size()];
    if let Some(v) = a.view.reshape(&shape, Order::C) {
        return Ok(a.with_view(v));
    }
    Ok(copied(py, a)?.with_view(View::dense(a.view.dtype, &shape, Order::C)))
}

fn copied(py: Python<'_>, a: &Array) -> PyResult<Array> {
    let at = || provenance::here(py);
    let out = record::empty(a.view.dtype, &a.view.shape, Order::C, at).map_err(|e| failed(py, e))?;
    record::map(MapOp::Copy, &[Operand::Array(a)], &[&out], None, at).map_err(|e| failed(py, e))?;
    Ok(out)
}

fn or_numpy<'py>(
    name: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    native: impl FnOnce() -> Native<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    match native() {
        Ok(r) => Ok(r),
        Err(Stop::Raise(e)) => Err(e),
        Err(Stop::ToNumpy) => fallback::call_numpy(args.py(), name, None, args, kwargs),
    }
}

#[pyfunction]
#[pyo3(signature = (*args, **kwargs))]
fn dot<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
    let py = args.py();
    or_numpy("dot", args, kwargs, || {
        let [a, b, out] = bind(["a", "b", "out"], args, kwargs)?;
        let (Some(a), Some(b)) = (a, b) else { return Err(Stop::ToNumpy) };
        let out = match given(&out) {
            Some(o) => Some(o.cast::<NdArray>().map_err(|_| Stop::ToNumpy)?.clone()),
            None => None,
        };
        let target = match &out {
            Some(o) if !o.borrow().writeable => return Err(Stop::ToNumpy),
            Some(o) => Some(handle::sized(o)?),
            None => None,
        };
        let array = dot_arrays(py, operand(py, &a)?, operand(py, &b)?, target)?;
        if out.is_some() && array.view.ndim() == 0 {
            // NumPy answers a number, which stays as it is when the output is written again.
            return Ok(handle::wrap_result(py, copied(py, &array)?)?);
        }
        Ok(super::reduction::result(py, array, out)?)
    })
}

#[pyfunction]
#[pyo3(signature = (*args, **kwargs))]
fn inner<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
    let py = args.py();
    or_numpy("inner", args, kwargs, || {
        let [a, b] = bind(["a", "b"], args, kwargs)?;
        let (Some(a), Some(b)) = (a, b) else { return Err(Stop::ToNumpy) };
        Ok(handle::wrap_result(py, inner_arrays(py, operand(py, &a)?, operand(py, &b)?)?)?)
    })
}

#[pyfunction]
#[pyo3(signature = (*args, **kwargs))]
fn vdot<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
    let py = args.py();
    or_numpy("vdot", args, kwargs, || {
        let [a, b] = bind(["a", "b"], args, kwargs)?;
        let (Some(a), Some(b)) = (a, b) else { return Err(Stop::ToNumpy) };
        let (a, b) = (flattened(py, &operand(py, &a)?)?, flattened(py, &operand(py, &b)?)?);
        Ok(handle::wrap_result(py, contract(py, Product::VecDot, None, a, b, None)?)?)
    })
}

/// `matmul` without floating-point warnings.
#[pyfunction]
fn quiet_matmul(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = a.py();
    or_numpy("matmul", &PyTuple::new(py, [a, b])?, None, || {
        let made = contract(py, Product::MatMul, None, operand(py, a)?, operand(py, b)?, None)?;
        Ok(handle::wrap_result(py, made)?)
    })
}

#[pyfunction]
#[pyo3(signature = (*args, **kwargs))]
fn outer<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
    let py = args.py();
    or_numpy("outer", args, kwargs, || {
        let [a, b, out] = bind(["a", "b", "out"], args, kwargs)?;
        let (Some(a), Some(b), None) = (a, b, given(&out)) else { return Err(Stop::ToNumpy) };
        let (a, b) = (flattened(py, &operand(py, &a)?)?, flattened(py, &operand(py, &b)?)?);
        let array = methods::outer_arrays(py, ScalarOp::Multiply, a, b)?;
        Ok(handle::wrap_result(py, array)?)
    })
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(dot, m)?)?;
    m.add_function(wrap_pyfunction!(inner, m)?)?;
    m.add_function(wrap_pyfunction!(vdot, m)?)?;
    m.add_function(wrap_pyfunction!(quiet_matmul, m)?)?;
    m.add_function(wrap_pyfunction!(outer, m)?)
}
