//! Floating-point exceptions: NumPy's `errstate` decides what becomes of them.
//!
//! An operation that ran in the call is reported in the call. A deferred one is reported at the next sync point,
//! under the `errstate` of its recording: what was ignored then travels in the high bits of its provenance. A state
//! that needs more than a warning (`raise`, `call`, `print`, `log`) makes the call wait for its result.

use crate::errors;
use crate::provenance::{self, Place};
use numloom_loops::{FP_DIVIDE, FP_INVALID, FP_OVERFLOW, FP_UNDERFLOW};
use numloom_runtime::{Array, Provenance, record};
use pyo3::exceptions::{PyFloatingPointError, PyNameError, PyRuntimeWarning};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString};
use std::cell::{Cell, RefCell};
use std::ffi::CString;

/// Ignored when nobody has changed `errstate`.
const IGNORED_BY_DEFAULT: u8 = FP_UNDERFLOW;

/// Flag, NumPy's key in `geterr()`, and its words.
const KINDS: [(u8, &str, &str); 4] = [
    (FP_DIVIDE, "divide", "divide by zero"),
    (FP_OVERFLOW, "over", "overflow"),
    (FP_UNDERFLOW, "under", "underflow"),
    (FP_INVALID, "invalid", "invalid value"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Ignore,
    Warn,
    Raise,
    Call,
    Print,
    Log,
}

#[derive(Clone, Copy)]
struct State {
    modes: [Mode; 4],
    /// Flags whose mode is `Ignore`.
    ignored: u8,
    /// Some mode wants its exception inside the call.
    eager: bool,
}

thread_local! {
    /// The state read last, and NumPy's object it was read from (kept alive, so its address says enough).
    static LAST: RefCell<Option<(Py<PyAny>, State)>> = const { RefCell::new(None) };
}

// Public since 3.7.1 and unchanged, though not in the limited API's headers.
unsafe extern "C" {
    fn PyContextVar_Get(
        var: *mut ffi::PyObject,
        default: *mut ffi::PyObject,
        value: *mut *mut ffi::PyObject,
    ) -> std::ffi::c_int;
}

/// NumPy's context variable for `errstate`.
static ERRSTATE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn read(py: Python<'_>) -> PyResult<State> {
    let modes = py.import(intern!(py, "numpy"))?.call_method0(intern!(py, "geterr"))?;
    let mut state = State { modes: [Mode::Warn; 4], ignored: 0, eager: false };
    for (i, (flag, key, _)) in KINDS.iter().enumerate() {
        let name: String = modes.get_item(*key)?.extract()?;
        state.modes[i] = match name.as_str() {
            "ignore" => Mode::Ignore,
            "raise" => Mode::Raise,
            "call" => Mode::Call,
            "print" => Mode::Print,
            "log" => Mode::Log,
            _ => Mode::Warn,
        };
        match state.modes[i] {
            Mode::Ignore => state.ignored |= flag,
            Mode::Warn => {}
            _ => state.eager = true,
        }
    }
    Ok(state)
}

/// The `errstate` in force. NumPy keeps it in a context variable, whose value is a new object for every state.
fn state(py: Python<'_>) -> PyResult<State> {
    let var = ERRSTATE.get_or_try_init(py, || {
        let umath = py.import("numpy._core.umath").or_else(|_| py.import("numpy.core.umath"))?;
        Ok::<_, PyErr>(umath.getattr("_extobj_contextvar")?.unbind())
    })?;
    let mut value = std::ptr::null_mut();
    // SAFETY: a context variable; it has a default, so a success gives a new reference.
    let current = unsafe {
        if PyContextVar_Get(var.as_ptr(), std::ptr::null_mut(), &mut value) != 0 || value.is_null() {
            return Err(PyErr::fetch(py));
        }
        Bound::from_owned_ptr(py, value)
    };
    if let Some(state) = LAST.with_borrow(|l| l.as_ref().filter(|(o, _)| o.is(&current)).map(|(_, s)| *s)) {
        return Ok(state);
    }
    let state = read(py)?;
    LAST.set(Some((current.unbind(), state)));
    Ok(state)
}

/// What Python's filters make of warnings about floating-point exceptions.
#[derive(Clone, Copy, Default)]
struct Filtered {
    ignored: u8,
    /// Those that are to be exceptions, which a program expects in the call.
    raised: u8,
}

/// The filters read last: the first of them, kept so that no other takes its place in memory, and their number.
/// A change shows in one or the other.
struct Filters {
    first: Py<PyAny>,
    len: usize,
    filtered: Filtered,
}

thread_local! {
    static LAST_FILTERS: RefCell<Option<Filters>> = const { RefCell::new(None) };
}

/// What the filters in force say: a program may leave the block in which it set them before the work is done.
fn filtered(py: Python<'_>) -> PyResult<Filtered> {
    static WARNINGS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = WARNINGS.get_or_try_init(py, || Ok::<_, PyErr>(py.import("warnings")?.into_any().unbind()))?;
    let filters = module.bind(py).getattr(intern!(py, "filters"))?.cast_into::<PyList>()?;
    let Ok(first) = filters.get_item(0) else { return Ok(Filtered::default()) };
    let len = filters.len();
    let known = |last: &Filters| (last.len == len && last.first.is(&first)).then_some(last.filtered);
    if let Some(filtered) = LAST_FILTERS.with_borrow(|last| last.as_ref().and_then(known)) {
        return Ok(filtered);
    }
    let filtered = read_filters(py, &filters)?;
    LAST_FILTERS.set(Some(Filters { first: first.unbind(), len, filtered }));
    Ok(filtered)
}

/// The first filter that fits decides. One for a module or a line is left to whoever shows the warning.
#[cold]
fn read_filters(py: Python<'_>, filters: &Bound<'_, PyList>) -> PyResult<Filtered> {
    let mut filtered = Filtered::default();
    let category = py.get_type::<PyRuntimeWarning>();
    for (flag, _, words) in KINDS {
        let text = format!("{words} encountered in a ufunc");
        for filter in filters.iter() {
            let (action, message, class, module, line): (String, Py<PyAny>, Py<PyAny>, Py<PyAny>, i64) =
                filter.extract()?;
            let message = message.bind(py);
            let says = match message.is_none() {
                true => true,
                false if message.is_instance_of::<PyString>() => message.eq(&text)?,
                false => !message.call_method1(intern!(py, "match"), (&text,))?.is_none(),
            };
            if !says || !module.is_none(py) || line != 0 || !category.is_subclass(class.bind(py))? {
                continue;
            }
            match action.as_str() {
                "ignore" => filtered.ignored |= flag,
                "error" => filtered.raised |= flag,
                _ => {}
            }
            break;
        }
    }
    Ok(filtered)
}

/// Watches one recording call: where it was made, and whether it must wait for its result.
pub struct Watch<'py> {
    py: Python<'py>,
    recorded: Cell<Option<(Provenance, bool)>>,
}

impl<'py> Watch<'py> {
    pub fn new(py: Python<'py>) -> Watch<'py> {
        Watch { py, recorded: Cell::new(None) }
    }

    /// The provenance to hand to the runtime when it records the operation.
    pub fn here(&self) -> Provenance {
        match self.recorded.get() {
            Some((at, _)) => at,
            None => self.look(),
        }
    }

    fn look(&self) -> Provenance {
        let at = provenance::here(self.py);
        let (ignored, eager) = match state(self.py) {
            Ok(s) => (s.ignored, s.eager),
            Err(_) => (IGNORED_BY_DEFAULT, false),
        };
        let filtered = filtered(self.py).unwrap_or_default();
        let (ignored, eager) = (ignored | filtered.ignored, eager || filtered.raised & !ignored != 0);
        let at = at.ignoring(ignored);
        self.recorded.set(Some((at, eager)));
        at
    }

    /// After the runtime's call: reports what an inline run raised, waits where `errstate` asks for it.
    #[inline]
    pub fn finish(&self, flags: u8, op_name: &str, out: &Array) -> PyResult<()> {
        if flags != 0 {
            return check(self.py, flags, op_name);
        }
        match self.recorded.get() {
            Some((at, true)) => self.finish_eagerly(at, op_name, out),
            _ => Ok(()),
        }
    }

    #[cold]
    fn finish_eagerly(&self, at: Provenance, op_name: &str, out: &Array) -> PyResult<()> {
        match errors::detached(self.py, || record::sync(out, || false)) {
            Ok(_) => {}
            Err(e) => return Err(errors::raise(self.py, e)),
        }
        let reports = record::take_fp_reports();
        let (own, others): (Vec<_>, Vec<_>) = reports.into_iter().partition(|r| r.provenance == at);
        for r in others {
            warn_deferred(self.py, r.flags, r.op, r.provenance)?;
        }
        let flags = own.iter().fold(0, |f, r| f | r.flags);
        check(self.py, flags, op_name)
    }
}

/// The line of a provenance that may carry ignored kinds.
pub fn place(at: Provenance) -> Provenance {
    at.place()
}

/// Deals with the exceptions of an operation that has just run, as `errstate` says.
#[inline]
pub fn check(py: Python<'_>, flags: u8, op_name: &str) -> PyResult<()> {
    if flags == 0 { Ok(()) } else { report(py, flags, op_name) }
}

#[cold]
fn report(py: Python<'_>, flags: u8, op_name: &str) -> PyResult<()> {
    let state = state(py)?;
    for (mode, (flag, _, words)) in state.modes.into_iter().zip(KINDS) {
        if flags & flag == 0 {
            continue;
        }
        let text = format!("{words} encountered in {op_name}");
        match mode {
            Mode::Ignore => {}
            Mode::Warn => warn_at(py, &text, provenance::here(py))?,
            Mode::Raise => return Err(PyFloatingPointError::new_err(text)),
            Mode::Print => eprintln!("Warning: {text}"),
            Mode::Call => {
                error_callback(py, "call", words)?.call1((words, flags))?;
            }
            Mode::Log => {
                let line = format!("Warning: {text}\n");
                error_callback(py, "log", words)?.call_method1(intern!(py, "write"), (line,))?;
            }
        }
    }
    Ok(())
}

fn error_callback<'py>(py: Python<'py>, mode: &str, words: &str) -> PyResult<Bound<'py, PyAny>> {
    let callback = py.import(intern!(py, "numpy"))?.call_method0(intern!(py, "geterrcall"))?;
    if callback.is_none() {
        let what = if mode == "log" { "log specified for" } else { "python callback specified for" };
        return Err(PyNameError::new_err(format!("{what} {words} (in ufunc) but no function found.")));
    }
    Ok(callback)
}

/// Warns about the exceptions of deferred operations that have run since the last time.
pub fn emit_reports(py: Python<'_>) -> PyResult<()> {
    for r in record::take_fp_reports() {
        warn_deferred(py, r.flags, r.op, r.provenance)?;
    }
    Ok(())
}

fn warn_deferred(py: Python<'_>, flags: u8, op_name: &str, at: Provenance) -> PyResult<()> {
    let flags = flags & !at.ignored();
    for (flag, _, words) in KINDS {
        if flags & flag != 0 {
            warn_at(py, &format!("{words} encountered in {op_name}"), place(at))?;
        }
    }
    Ok(())
}

/// A warning at the user's line, shown once per line under Python's default filter.
fn warn_at(py: Python<'_>, text: &str, at: Provenance) -> PyResult<()> {
    static REGISTRIES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let Some(Place { file, line, .. }) = provenance::text(py, at) else {
        return PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text)?, 1);
    };
    let registries = REGISTRIES.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    let registry = match registries.get_item(&file)? {
        Some(r) => r,
        None => {
            let new = PyDict::new(py);
            registries.set_item(&file, &new)?;
            new.into_any()
        }
    };
    let warnings = py.import(intern!(py, "warnings"))?;
    let category = py.get_type::<PyRuntimeWarning>();
    let module = file.strip_suffix(".py").unwrap_or(&file).to_owned();
    warnings.call_method1(intern!(py, "warn_explicit"), (text, category, &file, line, module, registry))?;
    Ok(())
}
