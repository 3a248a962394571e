//! Factorisations: arrays in, arrays made for the results, one library operation over the batch.

use crate::errors::{self, Unsupported};
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::short::{Given, Made, near};
use numloom_ir::view::Order;
use numloom_ir::{DType, Value, View};
use numloom_library::{Args, LibraryOp, RawView};
use numloom_linalg::Factor;
use numloom_runtime::Array;
use numloom_runtime::record::{self, Near};
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Runs the operation `name` of `numloom_linalg::ROWS`: reads `ins`, writes `outs`. With `wait`, a matrix without a
/// result is an exception of this call; otherwise of the next sync point.
#[pyfunction]
#[pyo3(signature = (name, ins, outs, option = false, wait = false))]
fn factor(
    py: Python<'_>,
    name: &str,
    ins: Vec<Bound<'_, NdArray>>,
    outs: Vec<Bound<'_, NdArray>>,
    option: bool,
    wait: bool,
) -> PyResult<()> {
    if outs.iter().any(|o| !o.borrow().writeable) {
        return Err(Unsupported::new_err("an output that cannot be written"));
    }
    let workers = numloom_config::current().cpus;
    let op = Factor::new(name, option, workers).ok_or_else(|| PyValueError::new_err("no such factorisation"))?;
    let sized = |xs: &[Bound<'_, NdArray>]| xs.iter().map(handle::sized).collect::<PyResult<Vec<Array>>>();
    let (ins, outs) = (sized(&ins)?, sized(&outs)?);
    let (reads, writes): (Vec<&Array>, Vec<&Array>) = (ins.iter().collect(), outs.iter().collect());
    let watch = Watch::new(py);
    let flags = record::library(Box::new(op), &reads, &writes, || watch.here()).map_err(|e| errors::raise(py, e))?;
    outs.first().map_or(Ok(()), |out| watch.finish(flags, name, out))?;
    if wait && let Some(out) = outs.first() {
        errors::sync_call(py, out)?;
    }
    Ok(())
}

/// The largest side of a matrix that is factorised in the call.
const SMALL: usize = 32;

/// A small square matrix of doubles that is there.
unsafe fn square<'a>(object: *mut ffi::PyObject) -> Option<(Near<'a>, usize)> {
    let a = near(object).filter(|a| a.view.dtype == DType::F64)?;
    let n = a.view.shape.first().copied().filter(|&n| n <= SMALL)?;
    (a.view.shape.as_slice() == [n, n]).then_some((a, n))
}

/// A view of one or two axes as a matrix.
fn matrix(ptr: *mut u8, view: &View) -> RawView {
    let (mut shape, mut strides) = (view.shape.clone(), view.strides.clone());
    if shape.len() == 1 {
        shape.push(1);
        strides.push(0);
    }
    RawView { ptr, dtype: DType::F64, shape, strides }
}

/// Whether a factorisation gave a result. One without is left to the composed function, which says so.
unsafe fn succeeds(name: &str, ins: Vec<RawView>, out: RawView) -> bool {
    let args = Args { ins, outs: vec![out] };
    let op = Factor::new(name, false, 1);
    op.is_some_and(|op| op.phases(&args).as_slice() == [1] && op.run(&args, 0, 0).is_ok())
}

/// The short way of `solve`: a few equations in doubles.
pub unsafe fn solve(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, b] = given.bind([c"a", c"b"])?;
    let (a, n) = square(a)?;
    let b = near(b).filter(|b| b.view.dtype == DType::F64)?;
    let fits = matches!(b.view.ndim(), 1 | 2) && b.view.shape[0] == n;
    let (made, to) = fits.then(|| record::to_fill("solve", DType::F64, b.view.shape.clone())).flatten()?;
    let ins = vec![matrix(a.ptr.cast_mut(), a.view), matrix(b.ptr.cast_mut(), b.view)];
    succeeds("solve", ins, matrix(to, &made.view)).then_some(Made::Array(made))
}

/// The short way of `inv`.
pub unsafe fn inv(given: &Given) -> Option<Made> {
    let _still = record::still();
    let (a, _) = square(given.bind([c"a"])?[0])?;
    let (made, to) = record::to_fill("inv", DType::F64, a.view.shape.clone())?;
    succeeds("inv", vec![matrix(a.ptr.cast_mut(), a.view)], matrix(to, &made.view)).then_some(Made::Array(made))
}

/// The short way of `det`. What overflows is told of by the other.
pub unsafe fn det(given: &Given) -> Option<Made> {
    let _still = record::still();
    let (a, _) = square(given.bind([c"a"])?[0])?;
    let mut found = 0.0f64;
    let number = View::dense(DType::F64, &[], Order::C);
    let out = RawView { ptr: (&raw mut found).cast(), dtype: DType::F64, shape: number.shape, strides: number.strides };
    let known = succeeds("det", vec![matrix(a.ptr.cast_mut(), a.view)], out) && found.is_finite();
    known.then(|| Made::Value(Value::from_f64(DType::F64, found)))
}

/// As many threads as there are workers for a BLAS; nothing if none is to be used.
pub fn threads_of_a_blas() -> Option<usize> {
    let settings = numloom_config::current();
    (settings.blas == numloom_config::Blas::Auto).then_some(settings.cpus)
}

/// The file of the BLAS that large matrices are given to, if there is one.
#[pyfunction]
fn blas() -> Option<&'static str> {
    numloom_blas::get().map(|blas| blas.path.as_str())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(blas, m)?)?;
    m.add_function(wrap_pyfunction!(factor, m)?)
}
