//! Sorting, partitioning and searching: the arrays in, the library's operations recorded, arrays out. Which call of
//! NumPy's wants what is written in `_sorting.py`.

use crate::handle::{self, NdArray};
use crate::{errors, provenance};
use numloom_ir::DType;
use numloom_ir::view::Order;
use numloom_library::{Interpolate, LibraryOp, SearchSorted, Select, Sort, Tally};
use numloom_runtime::{Array, record};
use pyo3::prelude::*;

type Answer = PyResult<Py<PyAny>>;

/// Records `op` over known arrays, into `out`.
fn into(py: Python<'_>, op: impl LibraryOp + 'static, ins: &[&Array], out: &Array) -> PyResult<()> {
    record::library(Box::new(op), ins, &[out], || provenance::here(py)).map(|_| ()).map_err(|e| errors::raise(py, e))
}

fn like(py: Python<'_>, x: &Array) -> PyResult<Array> {
    record::empty_view(x.view.dense_like(x.view.dtype), || provenance::here(py)).map_err(|e| errors::raise(py, e))
}

fn places(py: Python<'_>, shape: &[usize]) -> PyResult<Array> {
    record::empty(DType::I64, shape, Order::C, || provenance::here(py)).map_err(|e| errors::raise(py, e))
}

/// A sorted copy, in the layout that a copy has.
#[pyfunction]
fn sorted(x: &Bound<'_, NdArray>, axis: usize, stable: bool) -> Answer {
    let (py, array) = (x.py(), handle::sized(x)?);
    let out = like(py, &array)?;
    into(py, Sort::new(axis, stable), &[&array], &out)?;
    handle::wrap(py, out)
}

/// The array must be writeable.
#[pyfunction]
fn sort_in_place(x: &Bound<'_, NdArray>, axis: usize, stable: bool) -> PyResult<()> {
    let array = handle::sized(x)?;
    into(x.py(), Sort::new(axis, stable), &[&array], &array)
}

/// Sorts an array of one dimension where it lies, if it may be written to; answers whether it was.
#[pyfunction]
fn sort_row(x: &Bound<'_, NdArray>) -> PyResult<bool> {
    let plain = |a: &NdArray| a.writeable && a.array.symbol().is_none() && a.array.view.ndim() == 1;
    let array = match x.borrow() {
        held if plain(&held) => held.array.clone(),
        _ => return Ok(false),
    };
    into(x.py(), Sort::new(0, false), &[&array], &array).map(|()| true)
}

/// Always stable.
#[pyfunction]
fn sorting_places(x: &Bound<'_, NdArray>, axis: usize) -> Answer {
    let (py, array) = (x.py(), handle::sized(x)?);
    let out = places(py, &array.view.shape)?;
    into(py, Sort::argsort(axis), &[&array], &out)?;
    handle::wrap(py, out)
}

#[pyfunction]
fn partitioned(x: &Bound<'_, NdArray>, axis: usize, kth: Vec<usize>) -> Answer {
    let (py, array) = (x.py(), handle::sized(x)?);
    let out = like(py, &array)?;
    into(py, Sort::partition(axis, &kth), &[&array], &out)?;
    handle::wrap(py, out)
}

#[pyfunction]
fn partition_in_place(x: &Bound<'_, NdArray>, axis: usize, kth: Vec<usize>) -> PyResult<()> {
    let array = handle::sized(x)?;
    into(x.py(), Sort::partition(axis, &kth), &[&array], &array)
}

#[pyfunction]
fn partitioning_places(x: &Bound<'_, NdArray>, axis: usize, kth: Vec<usize>) -> Answer {
    let (py, array) = (x.py(), handle::sized(x)?);
    let out = places(py, &array.view.shape)?;
    into(py, Sort::argpartition(axis, &kth), &[&array], &out)?;
    handle::wrap(py, out)
}

/// Where values belong in a sorted array of the same dtype; the sorter is int64.
#[pyfunction]
#[pyo3(signature = (sorted, values, right, sorter=None))]
fn insertion_places(
    sorted: &Bound<'_, NdArray>,
    values: &Bound<'_, NdArray>,
    right: bool,
    sorter: Option<&Bound<'_, NdArray>>,
) -> Answer {
    let py = sorted.py();
    let (a, v, sorter) = (handle::sized(sorted)?, handle::sized(values)?, sorter.map(handle::sized).transpose()?);
    let out = places(py, &v.view.shape)?;
    let ins: Vec<&Array> = [&a, &v].into_iter().chain(sorter.as_ref()).collect();
    into(py, SearchSorted::new(right), &ins, &out)?;
    handle::wrap_result(py, out)
}

/// The piecewise linear function through the `values` at the `bounds`, for all points; beyond its ends, `left` and
/// `right`. Nothing where there are GPUs, which do it in steps.
#[pyfunction]
#[pyo3(signature = (points, bounds, values, left=None, right=None))]
fn interpolated(
    points: &Bound<'_, NdArray>,
    bounds: &Bound<'_, NdArray>,
    values: &Bound<'_, NdArray>,
    left: Option<f64>,
    right: Option<f64>,
) -> PyResult<Option<Py<PyAny>>> {
    let py = points.py();
    if numloom_runtime::devices() > 0 {
        return Ok(None);
    }
    let (points, bounds, values) = (handle::sized(points)?, handle::sized(bounds)?, handle::sized(values)?);
    let made = record::empty(DType::F64, &points.view.shape, Order::C, || provenance::here(py));
    let out = made.map_err(|e| errors::raise(py, e))?;
    into(py, Interpolate::new(left, right), &[&points, &bounds, &values], &out)?;
    handle::wrap(py, out).map(Some)
}

/// The elements at the `kth` places of each lane, in the place of the lane.
#[pyfunction]
fn order_statistics(x: &Bound<'_, NdArray>, axis: usize, kth: Vec<usize>) -> Answer {
    let (py, array) = (x.py(), handle::sized(x)?);
    let mut shape = array.view.shape.clone();
    shape[axis] = kth.len();
    let made = record::empty(array.view.dtype, &shape, Order::C, || provenance::here(py));
    let out = made.map_err(|e| errors::raise(py, e))?;
    into(py, Select::new(axis, &kth), &[&array], &out)?;
    handle::wrap(py, out)
}

/// How many values, or which weights, fall into each of `bins` bins: between edges, or without them by their own
/// number. Then there are two answers, the second the smallest value and the largest.
#[pyfunction]
#[pyo3(signature = (values, bins, edges=None, weights=None))]
fn tally(
    values: &Bound<'_, NdArray>,
    bins: usize,
    edges: Option<&Bound<'_, NdArray>>,
    weights: Option<&Bound<'_, NdArray>>,
) -> Answer {
    let py = values.py();
    let values = handle::sized(values)?;
    let (edges, weights) = (edges.map(handle::sized).transpose()?, weights.map(handle::sized).transpose()?);
    let dtype = if weights.is_some() { DType::F64 } else { DType::I64 };
    let made = record::empty(dtype, &[bins], Order::C, || provenance::here(py));
    let out = made.map_err(|e| errors::raise(py, e))?;
    let ins: Vec<&Array> = std::iter::once(&values).chain(&edges).chain(&weights).collect();
    if edges.is_some() {
        into(py, Tally::between(), &ins, &out)?;
        return handle::wrap(py, out);
    }
    let told = places(py, &[2])?;
    record::library(Box::new(Tally::of_integers()), &ins, &[&out, &told], || provenance::here(py))
        .map_err(|e| errors::raise(py, e))?;
    Ok((handle::wrap(py, out)?, handle::wrap(py, told)?).into_pyobject(py)?.into_any().unbind())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(sorted, m)?)?;
    m.add_function(wrap_pyfunction!(sort_in_place, m)?)?;
    m.add_function(wrap_pyfunction!(sort_row, m)?)?;
    m.add_function(wrap_pyfunction!(sorting_places, m)?)?;
    m.add_function(wrap_pyfunction!(partitioned, m)?)?;
    m.add_function(wrap_pyfunction!(partition_in_place, m)?)?;
    m.add_function(wrap_pyfunction!(partitioning_places, m)?)?;
    m.add_function(wrap_pyfunction!(insertion_places, m)?)?;
    m.add_function(wrap_pyfunction!(interpolated, m)?)?;
    m.add_function(wrap_pyfunction!(order_statistics, m)?)?;
    m.add_function(wrap_pyfunction!(tally, m)?)
}
