//! From errors of execution to Python exceptions, and the sync points that raise them.

use crate::{account, fperr, provenance};
use numloom_runtime::profile::{self as told, Doing, Lane, Span};
use numloom_runtime::{Array, ErrorKind, ExecError, fork, record};
use pyo3::exceptions::{PyBaseException, PyIndexError, PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::cell::RefCell;
use std::time::Instant;

pyo3::create_exception!(
    numloom,
    Unsupported,
    PyTypeError,
    "A dtype or feature that only NumPy handles; the package turns it into a call of NumPy."
);
pyo3::create_exception!(
    numloom,
    OutOfMemoryError,
    PyMemoryError,
    "A memory pool is exhausted; the text is the account."
);

/// An exception class of NumPy's, looked up once.
pub struct NumpyClass {
    module: &'static str,
    name: &'static str,
    class: PyOnceLock<Py<PyAny>>,
}

impl NumpyClass {
    pub const fn new(module: &'static str, name: &'static str) -> NumpyClass {
        NumpyClass { module, name, class: PyOnceLock::new() }
    }

    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class =
            self.class.get_or_try_init(py, || Ok::<_, PyErr>(py.import(self.module)?.getattr(self.name)?.unbind()))?;
        Ok(class.bind(py).clone())
    }

    /// The exception `class(message)`.
    pub fn err(&self, py: Python<'_>, message: &str) -> PyErr {
        match self.get(py).and_then(|c| c.call1((message,))) {
            Ok(e) => PyErr::from_value(e),
            Err(e) => e,
        }
    }
}

pub static LINALG_ERROR: NumpyClass = NumpyClass::new("numpy.linalg", "LinAlgError");
pub static AXIS_ERROR: NumpyClass = NumpyClass::new("numpy.exceptions", "AxisError");
pub static COMPLEX_WARNING: NumpyClass = NumpyClass::new("numpy.exceptions", "ComplexWarning");

/// Whether only NumPy can do what was asked.
pub fn is_unsupported(py: Python<'_>, e: &PyErr) -> bool {
    e.is_instance_of::<Unsupported>(py)
}

/// The exception of an operation that failed, naming its line.
pub fn raise(py: Python<'_>, e: ExecError) -> PyErr {
    if let Some(a) = &e.account {
        return account::out_of_memory(py, &e, a).unwrap_or_else(|failed| failed);
    }
    let message = match provenance::text(py, e.provenance) {
        Some(at) => format!("{}\n  in {} at {}:{}", e.message, e.op, at.file, at.line),
        None => e.message.clone(),
    };
    match e.kind {
        ErrorKind::OutOfMemory => OutOfMemoryError::new_err(message),
        ErrorKind::Index => PyIndexError::new_err(message),
        ErrorKind::Value => PyValueError::new_err(message),
        ErrorKind::LinAlg => LINALG_ERROR.err(py, &message),
        ErrorKind::Device | ErrorKind::Internal => PyRuntimeError::new_err(message),
    }
}

/// `numpy.exceptions.AxisError` for an axis out of range.
pub fn axis_error(py: Python<'_>, axis: isize, ndim: usize) -> PyErr {
    match AXIS_ERROR.get(py).and_then(|c| c.call1((axis, ndim))) {
        Ok(e) => PyErr::from_value(e),
        Err(e) => e,
    }
}

/// Waits for the array's contents and raises what failed; other threads run meanwhile, and Ctrl-C ends the wait.
#[inline]
pub fn sync(py: Python<'_>, array: &Array) -> PyResult<()> {
    if !record::is_there(array) {
        wait(py, |interrupted| record::sync(array, interrupted))?;
    }
    fperr::emit_reports(py)
}

/// As `sync`, in the call that NumPy raises in: a matrix without a result is worded as NumPy words it.
pub fn sync_call(py: Python<'_>, array: &Array) -> PyResult<()> {
    wait_raising(
        py,
        |interrupted| record::sync(array, interrupted),
        |e| match e.kind {
            ErrorKind::LinAlg => LINALG_ERROR.err(py, &e.message),
            _ => raise(py, e),
        },
    )?;
    fperr::emit_reports(py)
}

/// As `sync`, where the caller may swallow what is raised: it is raised again at the next sync point.
pub fn look(py: Python<'_>, array: &Array) -> PyResult<()> {
    wait(py, |interrupted| record::look(array, interrupted))
}

/// Waits for everything recorded.
pub fn sync_all(py: Python<'_>) -> PyResult<()> {
    wait(py, record::sync_all)?;
    fperr::emit_reports(py)
}

thread_local! {
    static PENDING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// What ended the last wait that was interrupted, and where its traceback lay.
    static INTERRUPT: RefCell<Option<(Py<PyBaseException>, usize)>> = const { RefCell::new(None) };
}

/// The exception that ended the last wait, if nobody has seen it: NumPy takes one for "no buffer", forgets it and asks for
/// the array in another way. It has been through no frame of Python's since, and nobody holds it.
fn swallowed(py: Python<'_>) -> Option<PyErr> {
    let (last, traceback) = INTERRUPT.take()?;
    // SAFETY: a count is read.
    let held = unsafe { ffi::Py_REFCNT(last.as_ptr()) } > 1;
    let last = last.into_bound(py);
    let again = !held && traceback_of(&last) == traceback;
    again.then(|| interrupted_by(PyErr::from_value(last.into_any()), py))
}

/// Keeps what ended a wait until the next one.
fn interrupted_by(e: PyErr, py: Python<'_>) -> PyErr {
    let value = e.value(py);
    INTERRUPT.set(Some((value.clone().unbind(), traceback_of(value))));
    e
}

fn traceback_of(e: &Bound<'_, PyBaseException>) -> usize {
    // SAFETY: the address of what the exception holds is kept, and no reference.
    unsafe {
        let traceback = ffi::PyException_GetTraceback(e.as_ptr());
        ffi::Py_XDECREF(traceback);
        traceback as usize
    }
}

/// When memory is tight, arrays that only garbage holds are let go before the work that needs the room.
pub fn collect_if_tight(py: Python<'_>) {
    if record::is_tight() {
        // What cannot be collected is still there when the work finds no room, and says so.
        let start = Instant::now();
        let _ = py.import("gc").and_then(|gc| gc.call_method0("collect"));
        record::looked_for_garbage(start.elapsed());
    }
}

/// Does without Python's lock what may wait, or hold locks of the runtime's.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| {
        let _inside = fork::enter();
        work()
    })
}

fn wait(py: Python<'_>, work: impl FnOnce(fn() -> bool) -> Result<bool, ExecError> + Send) -> PyResult<()> {
    wait_raising(py, work, |e| raise(py, e))
}

fn wait_raising(
    py: Python<'_>,
    work: impl FnOnce(fn() -> bool) -> Result<bool, ExecError> + Send,
    raise: impl FnOnce(ExecError) -> PyErr,
) -> PyResult<()> {
    if let Some(e) = swallowed(py) {
        return Err(e);
    }
    collect_if_tight(py);
    let place = if numloom_profile::on() { told::place(provenance::here(py)) } else { 0 };
    let _span = Span::about(Lane::Io, Doing::Sync, 0, place);
    match detached(py, || work(interrupted)) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let e = PENDING.take().unwrap_or_else(|| PyRuntimeError::new_err("the wait was interrupted"));
            Err(interrupted_by(e, py))
        }
        Err(e) => Err(raise(e)),
    }
}

/// Asks Python for signals; the exception is kept for the thread that waits. Shows progress where that is wanted.
fn interrupted() -> bool {
    record::show_progress();
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(e) => {
            PENDING.set(Some(e));
            true
        }
    })
}

/// Forces the length of an array of unknown length; a sync point.
pub fn resolve(py: Python<'_>, array: &mut Array) -> PyResult<()> {
    if array.symbol().is_some() {
        sync(py, array)?;
        record::resolve(array).map_err(|e| raise(py, e))?;
    }
    Ok(())
}
