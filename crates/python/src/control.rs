//! The runtime from Python: waiting, counters, plans, and the life of the process.

use crate::convert;
use crate::{errors, provenance};
use numloom_runtime::{fork, record};
use pyo3::prelude::*;
use pyo3::types::PyDict;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::ffi::{c_int, c_void};

/// Waits for one array, or for everything recorded so far.
#[pyfunction]
#[pyo3(signature = (x=None))]
fn sync(py: Python<'_>, x: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match x.filter(|x| !x.is_none()) {
        Some(x) => errors::sync(py, &convert::array(x)?),
        None => errors::sync_all(py),
    }
}

/// Counters of the runtime.
#[pyfunction]
fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    for (name, count, _) in record::stats() {
        out.set_item(name, count)?;
    }
    Ok(out)
}

/// The tasks that would make `x`, as text.
#[pyfunction]
fn explain(x: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = x.py();
    Ok(record::explain(&convert::array(x)?, |p| provenance::line(py, p)))
}

/// Whether the contents are there without waiting.
#[pyfunction]
fn is_ready(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(record::is_ready(&convert::array(x)?))
}

#[pyfunction]
fn _before_fork(py: Python<'_>) {
    py.detach(record::before_fork);
}

#[pyfunction]
fn _after_fork_in_parent() {
    fork::open();
}

#[pyfunction]
fn _after_fork_in_child() {
    fork::begin_anew();
    numloom_runtime::lost::after_fork();
}

/// Ends the runtime: `drop` says that nobody wants what is pending any more, as Ctrl-C does while it is waited for.
#[pyfunction]
fn _shutdown(py: Python<'_>, drop: bool) -> PyResult<()> {
    let interrupted = || Python::attach(|py| py.check_signals().is_err());
    errors::detached(py, || record::shutdown(drop, interrupted)).map_err(|e| errors::raise(py, e))
}

/// Makes a process that would end with status 0 end with 1, after Python has finished: files are closed by then, and what
/// the program has to do at its end is done.
#[pyfunction]
fn _fail_at_exit() {
    // SAFETY: plain functions that stay where they are as long as the process.
    unsafe {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        on_exit(end_failed, std::ptr::null_mut());
        #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
        libc::atexit(end);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    fn on_exit(call: extern "C" fn(c_int, *mut c_void), with: *mut c_void) -> c_int;
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
extern "C" fn end_failed(status: c_int, _: *mut c_void) {
    // A status that the program asked for stays.
    if status == 0 {
        end();
    }
}

extern "C" fn end() {
    // SAFETY: nothing of the process runs after it.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(1);
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add_function(wrap_pyfunction!(sync, m)?)?;
    m.add_function(wrap_pyfunction!(stats, m)?)?;
    m.add_function(wrap_pyfunction!(explain, m)?)?;
    m.add_function(wrap_pyfunction!(is_ready, m)?)?;
    let hooks = PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(_before_fork, m)?)?;
    hooks.set_item("after_in_parent", wrap_pyfunction!(_after_fork_in_parent, m)?)?;
    hooks.set_item("after_in_child", wrap_pyfunction!(_after_fork_in_child, m)?)?;
    if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
        register.call((), Some(&hooks))?;
    }
    m.add_function(wrap_pyfunction!(_fail_at_exit, m)?)?;
    m.add_function(wrap_pyfunction!(_shutdown, m)?)
}
