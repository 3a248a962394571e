//! Fourier transforms along one axis.

use crate::errors::{self, Unsupported};
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use numloom_fft::{Fft, Kind};
use numloom_library::LibraryOp;
use numloom_runtime::record;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Writes the transform of `x` along `axis` into `out`: of `n` points, times `scale`. `kind`: "complex", "half" (real
/// numbers to half a spectrum) or "real" (and back).
#[pyfunction]
fn transform(
    py: Python<'_>,
    x: &Bound<'_, NdArray>,
    out: &Bound<'_, NdArray>,
    axis: usize,
    kind: &str,
    n: usize,
    inverse: bool,
    scale: f64,
) -> PyResult<()> {
    if !out.borrow().writeable {
        return Err(Unsupported::new_err("an output that cannot be written"));
    }
    let kind = match kind {
        "complex" => Kind::Complex,
        "half" => Kind::RealToHalf,
        "real" => Kind::HalfToReal,
        _ => return Err(PyValueError::new_err("no such transform")),
    };
    let op = Fft::new(kind, axis, n, inverse, scale, x.is(out));
    let (x, out) = (handle::sized(x)?, handle::sized(out)?);
    let (name, watch) = (op.raises().unwrap_or(op.name()), Watch::new(py));
    let flags = record::library(Box::new(op), &[&x], &[&out], || watch.here()).map_err(|e| errors::raise(py, e))?;
    watch.finish(flags, name, &out)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(transform, m)?)
}
