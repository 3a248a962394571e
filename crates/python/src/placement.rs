//! Where arrays lie, by the program's wish, and the time in the stream of operations.

use crate::errors;
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::provenance;
use numloom_ir::DType;
use numloom_ir::view::Order;
use numloom_runtime::record::{self, Target};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The time when everything recorded before is over: a deferred integer.
#[pyfunction]
fn clock(py: Python<'_>, nanoseconds: u64) -> PyResult<Py<PyAny>> {
    let watch = Watch::new(py);
    let out = record::empty(DType::I64, &[], Order::C, || watch.here()).map_err(|e| errors::raise(py, e))?;
    errors::detached(py, || record::clock(nanoseconds, &out, Default::default())).map_err(|e| errors::raise(py, e))?;
    handle::wrap_result(py, out)
}

/// Gives the array its memory now, whole: views of it that come later find it there.
#[pyfunction]
fn stencil_hint(x: &Bound<'_, NdArray>, low: Vec<i64>, high: Vec<i64>) -> PyResult<()> {
    let array = handle::sized(x)?;
    for (name, offsets) in [("low_offsets", &low), ("high_offsets", &high)] {
        if offsets.len() != array.view.ndim() {
            return Err(PyValueError::new_err(format!(
                "{name} has {} numbers, the array has {} dimensions",
                offsets.len(),
                array.view.ndim()
            )));
        }
        if offsets.iter().any(|&o| o < 0) {
            return Err(PyValueError::new_err(format!("{name} must not be negative")));
        }
    }
    record::data(&array).map(|_| ()).map_err(|e| errors::raise(x.py(), e))
}

/// Moves the array to a memory of a kind (0: system, 1: a device's, 2: pinned, 3: a socket's), and nowhere else.
#[pyfunction]
fn offload(x: &Bound<'_, PyAny>, target: usize) -> PyResult<()> {
    let py = x.py();
    let Some(own) = handle::as_ndarray(x) else { return Err(PyTypeError::new_err("an array of numloom is needed")) };
    let kinds = [
        (Target::System, "SYSMEM", "--sysmem"),
        (Target::Framebuffer, "FBMEM", "--gpus"),
        (Target::ZeroCopy, "ZCMEM", "--gpus"),
        (Target::Socket, "SOCKETMEM", "--numamem"),
    ];
    let Some(&(kind, name, flag)) = kinds.get(target) else { return Err(PyValueError::new_err("no such target")) };
    let Some(memory) = record::memory_of_kind(kind) else {
        return Err(PyValueError::new_err(format!("there is no {name} in this run: give {flag} to have some")));
    };
    let array = handle::sized(own)?;
    errors::sync(py, &array)?;
    errors::detached(py, || record::offload(&array, memory)).map_err(|e| errors::raise(py, e))
}

/// Directories in which NVIDIA's wheels may lie.
#[pyfunction]
fn look_for_cuda_in(directories: Vec<std::path::PathBuf>) {
    numloom_runtime::gpu::look_in(directories);
}

/// Operations that devices have no way for and that ran on the CPU: name, file, line and how often.
#[pyfunction]
fn unplaced(py: Python<'_>) -> Vec<(&'static str, String, u32, u64)> {
    let told = |(name, at, calls)| {
        let (file, line) = provenance::text(py, at).map_or(("?".to_owned(), 0), |p| (p.file, p.line));
        (name, file, line, calls)
    };
    numloom_runtime::unplaced::all().into_iter().map(told).collect()
}

#[pyfunction]
fn forget_unplaced() {
    numloom_runtime::unplaced::forget();
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(unplaced, m)?)?;
    m.add_function(wrap_pyfunction!(forget_unplaced, m)?)?;
    m.add_function(wrap_pyfunction!(clock, m)?)?;
    m.add_function(wrap_pyfunction!(stencil_hint, m)?)?;
    m.add_function(wrap_pyfunction!(look_for_cuda_in, m)?)?;
    m.add_function(wrap_pyfunction!(offload, m)?)
}
