//! Where arrays lie, for whoever asks whether two of them share bytes: no contents are waited for.

use crate::handle::{self, NdArray};
use crate::quick::peek;
use numloom_ir::View;
use pyo3::prelude::*;
use std::sync::Arc;

/// What tells the array's store from others while it lives, the byte of it where the array begins, and whether its
/// memory is another library's, so that other stores may lie there, too.
#[pyfunction]
fn place_of(x: &Bound<'_, NdArray>) -> PyResult<(usize, usize, bool)> {
    let array = handle::sized(x)?;
    Ok((Arc::as_ptr(&array.store).addr(), array.view.offset, array.store.is_foreign()))
}

/// Whether the spans of bytes of two arrays meet; `None` where that is not known from where they lie in their stores.
#[pyfunction]
fn spans_meet(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> Option<bool> {
    // SAFETY: nothing below runs Python code.
    let (a, b) = unsafe { (&peek(a)?.array, &peek(b)?.array) };
    if a.symbol().is_some() || b.symbol().is_some() {
        return None;
    }
    if !Arc::ptr_eq(&a.store, &b.store) {
        let foreign = a.store.is_foreign() || b.store.is_foreign();
        return if foreign { None } else { Some(false) };
    }
    let ((from, to), (first, last)) = (span(&a.view), span(&b.view));
    Some(a.view.size() > 0 && b.view.size() > 0 && from < last && first < to)
}

/// Where the first byte of a view lies in its store, and where its last one ends.
fn span(view: &View) -> (isize, isize) {
    let (mut from, mut to) = (view.offset as isize, (view.offset + view.dtype.size()) as isize);
    for (&n, &step) in view.shape.iter().zip(&view.strides) {
        let far = (n as isize - 1) * step;
        if far < 0 { from += far } else { to += far }
    }
    (from, to)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(place_of, m)?)?;
    m.add_function(wrap_pyfunction!(spans_meet, m)?)
}
