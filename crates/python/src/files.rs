//! Arrays over files and over bytes that never change: `memmap`, and memory that work may be deferred on although
//! others can read it.
//!
//! Work on a file that nobody writes through a mapping of ours is deferred like any other, so that it fuses and goes
//! through the file tile by tile: nothing as large as the file is ever made. As soon as a mapping exists that writes
//! the file, all mappings of it are exposed: each operation then sees the file as NumPy would have.

use crate::convert;
use crate::errors::{self, Unsupported};
use crate::handle::NdArray;
use crate::numpy_api::api;
use numloom_runtime::record;
use numloom_runtime::store::Store;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// A mapping that may still be in use.
struct Mapping {
    /// Device and inode; mappings of something without a name are known by their store alone.
    file: Option<(u64, u64)>,
    store: Weak<Store>,
    writes: bool,
}

static MAPPINGS: Mutex<Vec<Mapping>> = Mutex::new(Vec::new());

/// An `ndarray` over a file.
#[pyclass(name = "memmap", module = "numloom", extends = NdArray, frozen)]
pub struct MemoryMap {
    /// The `numpy.memmap` that has the file.
    mapped: Py<PyAny>,
}

#[pymethods]
impl MemoryMap {
    #[new]
    #[allow(clippy::new_ret_no_self)] // of another dtype it is NumPy's
    #[pyo3(signature = (*args, **kwargs))]
    fn new<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let mapped = api(py).numpy(py).getattr("memmap")?.call(args, kwargs)?;
        match over_mapping(&mapped) {
            Err(e) if errors::is_unsupported(py, &e) => Ok(mapped),
            made => made,
        }
    }

    #[getter]
    fn filename<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.mapped.bind(py).getattr("filename")
    }

    #[getter]
    fn offset<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.mapped.bind(py).getattr("offset")
    }

    #[getter]
    fn mode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.mapped.bind(py).getattr("mode")
    }

    #[getter]
    fn _mmap<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.mapped.bind(py).getattr("_mmap")
    }

    /// Writes what was changed to the file.
    fn flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        errors::sync(py, &slf.as_super().borrow().array)?;
        slf.get().mapped.bind(py).call_method0("flush").map(drop)
    }
}

/// A `memmap` over what a `numpy.memmap` has mapped; `Unsupported` where only NumPy knows the elements.
#[pyfunction]
fn over_mapping<'py>(mapped: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = mapped.py();
    convert::expect_numpy(mapped)?;
    let found = api(py).describe(mapped)?;
    if !found.aligned {
        return Err(Unsupported::new_err("elements of the file lie between the boundaries of their type"));
    }
    let writes = !matches!(mapped.getattr("mode")?.extract::<String>()?.as_str(), "r" | "c");
    let file = mapped.getattr("filename")?.extract::<Option<PathBuf>>().ok().flatten();
    let file = file.and_then(|path| std::fs::metadata(path).ok()).map(|m| (m.dev(), m.ino()));
    let array = convert::adopt(mapped, &found, is_seen(py, file, writes));
    MAPPINGS.lock().push(Mapping { file, store: Arc::downgrade(&array.store), writes });
    let base = Some(mapped.getattr("base")?.unbind());
    let handle = NdArray { array, writeable: found.writeable, base, exported: None };
    let whole = PyClassInitializer::from(handle).add_subclass(MemoryMap { mapped: mapped.clone().unbind() });
    Ok(Bound::new(py, whole)?.into_any())
}

/// Whether a new mapping has others that write under it, or writes under them; these are exposed from here on.
fn is_seen(py: Python<'_>, file: Option<(u64, u64)>, writes: bool) -> bool {
    let others: Vec<Arc<Store>> = {
        let mut mappings = MAPPINGS.lock();
        mappings.retain(|m| m.store.strong_count() > 0);
        let mut same = mappings.iter().filter(|m| file.is_some() && m.file == file);
        if !writes {
            return same.any(|m| m.writes);
        }
        same.filter_map(|m| m.store.upgrade()).collect()
    };
    // Not under the lock: they wait for what was recorded.
    errors::detached(py, || others.iter().for_each(|s| record::expose_for_good(s)));
    true
}

/// Waits for everything recorded that reads a mapped file: it is about to be written in another way.
#[pyfunction]
fn settle_mappings(py: Python<'_>) {
    let live: Vec<Arc<Store>> = MAPPINGS.lock().iter().filter_map(|m| m.store.upgrade()).collect();
    errors::detached(py, || live.iter().for_each(|s| record::wait_until_idle(s)));
}

/// An array over memory that nobody can change: the bytes of a `bytes` object.
#[pyfunction]
fn over_constant(array: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = array.py();
    convert::expect_numpy(array)?;
    let found = api(py).describe(array)?;
    if !found.aligned || found.writeable {
        return Err(Unsupported::new_err("these bytes are not fixed, or not where their type has them"));
    }
    let base = api(py).base(array).map(Bound::unbind);
    let made = convert::adopt(array, &found, false);
    Ok(Py::new(py, NdArray { array: made, writeable: false, base, exported: None })?.into_any())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<MemoryMap>()?;
    m.add_function(wrap_pyfunction!(over_mapping, m)?)?;
    m.add_function(wrap_pyfunction!(settle_mappings, m)?)?;
    m.add_function(wrap_pyfunction!(over_constant, m)?)
}
