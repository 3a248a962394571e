//! Where arrays lie, for whoever asks whether two of them share bytes: no contents are waited for.

use crate::handle::{self, NdArray};
use pyo3::prelude::*;
use std::sync::Arc;

/// What tells the array's store from others while it lives, the byte of it where the array begins, and whether its
/// memory is another library's, so that other stores may lie there, too.
#[pyfunction]
fn place_of(x: &Bound<'_, NdArray>) -> PyResult<(usize, usize, bool)> {
    let array = handle::sized(x)?;
    Ok((Arc::as_ptr(&array.store).addr(), array.view.offset, array.store.is_foreign()))
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(place_of, m)?)
}
