//! The profiler from Python: sessions, ranges, and what only the front sees.

use crate::provenance;
use numloom_profile::kinds::Use;
use numloom_profile::record::{self, Span};
use numloom_profile::{Hooks, Line, Place};
use numloom_runtime::profile as told;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The lines of places. Called by the thread that writes profiles, which waits for the interpreter for it.
fn lines(places: &[Place]) -> Vec<Option<Line>> {
    let known = Python::try_attach(|py| {
        let line = |&place: &Place| provenance::text(py, told::provenance(place));
        let lines = places.iter().map(line);
        lines.map(|l| l.map(|at| Line { file: at.file, line: at.line, function: at.function })).collect()
    });
    known.unwrap_or_else(|| vec![None; places.len()])
}

fn here() -> Place {
    // SAFETY: whoever runs an operation at once, or tells of a use, holds the interpreter's lock.
    told::place(provenance::here(unsafe { Python::assume_attached() }))
}

/// Whether a profile is asked for, how its name starts, where it goes, and the rank and how many there are.
#[pyfunction]
fn _profile_settings() -> (bool, String, PathBuf, usize, usize) {
    let s = numloom_config::current();
    let ranks = numloom_config::Ranks::detect(&numloom_config::variable);
    let (rank, size) = ranks.map_or((0, 1), |r| (r.rank, r.size));
    (s.profile, s.profile_name.clone(), s.logdir.clone(), rank, size)
}

fn failed(e: numloom_profile::Error) -> PyErr {
    match e {
        numloom_profile::Error::Io { .. } => PyOSError::new_err(e.to_string()),
        _ => PyRuntimeError::new_err(e.to_string()),
    }
}

/// Begins a profile in a new file.
#[pyfunction]
fn _profile_start(path: PathBuf, mut meta: Vec<(String, String)>) -> PyResult<()> {
    let s = numloom_config::current();
    let facts = [("cpus", s.cpus.to_string()), ("window_size", s.window_size.to_string())];
    meta.extend(facts.map(|(key, value)| (key.to_string(), value)));
    meta.push(("fuse".into(), u8::from(s.fuse).to_string()));
    numloom_profile::start(&path, meta).map_err(failed)
}

/// Ends the profile: the path of its file, if one was being written.
#[pyfunction]
fn _profile_stop(py: Python<'_>) -> PyResult<Option<PathBuf>> {
    py.detach(numloom_profile::stop).map_err(failed)
}

#[pyfunction]
fn _profile_forget() {
    numloom_profile::forget();
}

/// Whether a profile is being written.
#[pyfunction]
fn _profiling() -> bool {
    record::on()
}

#[pyfunction]
fn _range_begin(name: &str) -> u64 {
    record::begin_range(name)
}

#[pyfunction]
fn _range_end(name: &str, started: u64) {
    record::end_range(name, started);
}

/// NumPy works on the host between `__enter__` and `__exit__`.
#[pyclass(frozen)]
struct FallbackSpan {
    name: String,
    span: parking_lot::Mutex<Option<Span>>,
}

#[pymethods]
impl FallbackSpan {
    #[new]
    fn new(name: String) -> FallbackSpan {
        FallbackSpan { name, span: parking_lot::Mutex::new(None) }
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        let this = slf.get();
        *this.span.lock() = Some(record::fallback(&this.name));
        slf.clone()
    }

    /// So many arrays of ours went to NumPy.
    fn lent(&self, arrays: usize) {
        if let Some(span) = self.span.lock().as_mut() {
            span.count(arrays);
        }
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, pyo3::types::PyTuple>) {
        self.span.lock().take();
    }
}

/// Tells of a use by its number and what it was; the names are those of functions, and few.
#[pyfunction]
fn _profile_use(kind: u8, what: &str, bytes: usize) {
    if let Some(kind) = Use::of(kind).filter(|_| record::on()) {
        record::used(kind, record::lasting(what), bytes);
    }
}

/// Writes the viewer's page with profiles in it.
#[pyfunction]
fn _profile_report(viewer: PathBuf, profiles: Vec<PathBuf>, page: PathBuf) -> PyResult<()> {
    use numloom_profile::report;
    let filled = report::page(Some(&viewer)).and_then(|text| report::with_profiles(&text, &profiles));
    let filled = filled.map_err(PyOSError::new_err)?;
    Ok(std::fs::write(page, filled)?)
}

/// `numloom prof` and `legate_prof`: the exit status. `page`: the viewer's.
#[pyfunction]
fn prof(py: Python<'_>, legate: bool, words: Vec<String>, page: Option<PathBuf>) -> i32 {
    // Ctrl-C ends it, as it ends any command: there is nothing of Python's to tidy up.
    if py
        .import("signal")
        .and_then(|s| s.call_method1("signal", (s.getattr("SIGINT")?, s.getattr("SIG_DFL")?)))
        .is_err()
    {
        return 1;
    }
    py.detach(|| numloom_driver::prof::run(legate, &words, page.as_deref()))
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    numloom_profile::nvtx::attach();
    numloom_profile::set_hooks(Hooks {
        lines,
        here,
        snapshot: told::snapshot,
        held: told::held,
        device_spans: told::device_spans,
    });
    m.add_class::<FallbackSpan>()?;
    m.add_function(wrap_pyfunction!(prof, m)?)?;
    m.add_function(wrap_pyfunction!(_profile_report, m)?)?;
    m.add_function(wrap_pyfunction!(_profile_settings, m)?)?;
    m.add_function(wrap_pyfunction!(_profile_start, m)?)?;
    m.add_function(wrap_pyfunction!(_profile_stop, m)?)?;
    m.add_function(wrap_pyfunction!(_profile_forget, m)?)?;
    m.add_function(wrap_pyfunction!(_profiling, m)?)?;
    m.add_function(wrap_pyfunction!(_range_begin, m)?)?;
    m.add_function(wrap_pyfunction!(_range_end, m)?)?;
    m.add_function(wrap_pyfunction!(_profile_use, m)?)
}
