//! `repeat` by an array of counts; a single count is a copy that `_shape.py` writes down.

use crate::handle::{self, NdArray};
use crate::index::check_new_size;
use crate::{errors, provenance};
use numloom_ir::view::Order;
use numloom_library::Repeat;
use numloom_runtime::record;
use pyo3::prelude::*;

/// The elements of a 1-d array, each as often as its int64 count says; all counts come to `total`.
#[pyfunction]
pub fn repeated(x: &Bound<'_, NdArray>, counts: &Bound<'_, NdArray>, total: usize) -> PyResult<Py<PyAny>> {
    let (py, x, counts) = (x.py(), handle::sized(x)?, handle::sized(counts)?);
    let at = || provenance::here(py);
    check_new_size(&[total], x.view.dtype)?;
    let out = record::empty(x.view.dtype, &[total], Order::C, at).map_err(|e| errors::raise(py, e))?;
    record::library(Box::new(Repeat::new()), &[&x, &counts], &[&out], at).map_err(|e| errors::raise(py, e))?;
    handle::wrap(py, out)
}
