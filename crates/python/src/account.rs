//! What the memories hold, for Python: the account of an allocation that failed, and `numloom.memory()`.
//! Facts only; `numloom._memory` words them.

use crate::provenance;
use numloom_runtime::lost::{self, Failure};
use numloom_runtime::memory::{self, Instance};
use numloom_runtime::{Account, ExecError, Provenance};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// File and line, or nothing where nobody knows.
fn line(py: Python<'_>, at: Provenance) -> Option<String> {
    provenance::text(py, at).map(|p| format!("{}:{}", p.file, p.line))
}

fn instance<'py>(py: Python<'py>, i: &Instance) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("id", i.id)?;
    d.set_item("store", i.store())?;
    d.set_item("memory", i.memory.name())?;
    d.set_item("number", i.memory.number())?;
    d.set_item("low", PyTuple::new(py, i.low.iter())?)?;
    d.set_item("high", PyTuple::new(py, i.high.iter())?)?;
    d.set_item("bytes", i.bytes)?;
    d.set_item("dtype", i.dtype.name())?;
    d.set_item("shape", PyTuple::new(py, i.shape.iter())?)?;
    d.set_item("store_line", line(py, i.store_at))?;
    d.set_item("operation", i.op)?;
    d.set_item("operation_line", line(py, i.op_at))?;
    Ok(d)
}

fn facts<'py>(py: Python<'py>, e: &ExecError, a: &Account) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("bytes", a.bytes)?;
    d.set_item("memory", a.memory.name())?;
    d.set_item("number", a.memory.number())?;
    d.set_item("reserved", a.reserved)?;
    d.set_item("available", a.available)?;
    d.set_item("small", a.small)?;
    d.set_item("operation", e.op)?;
    d.set_item("line", line(py, e.provenance))?;
    d.set_item("store_line", line(py, a.store_at))?;
    let instances = PyList::empty(py);
    for i in &a.instances {
        let one = instance(py, i)?;
        one.set_item("unread", a.unread.contains(&i.id))?;
        instances.append(one)?;
    }
    d.set_item("instances", instances)?;
    Ok(d)
}

/// The exception for an operation that found no room.
pub fn out_of_memory(py: Python<'_>, e: &ExecError, a: &Account) -> PyResult<PyErr> {
    let words = py.import(intern!(py, "numloom._memory"))?;
    let error = words.call_method1(intern!(py, "out_of_memory"), (facts(py, e, a)?,))?;
    Ok(PyErr::from_value(error))
}

/// Memories, lines and instances as they are now.
#[pyfunction]
fn memory_now(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let d = PyDict::new(py);
    let pools = PyList::empty(py);
    for l in memory::levels() {
        let p = PyDict::new(py);
        p.set_item("memory", l.memory.name())?;
        p.set_item("number", l.memory.number())?;
        p.set_item("capacity", l.capacity)?;
        p.set_item("live", l.live)?;
        p.set_item("peak", l.peak)?;
        p.set_item("instances", l.instances)?;
        pools.append(p)?;
    }
    d.set_item("pools", pools)?;
    let channels = PyList::empty(py);
    for t in memory::traffic() {
        let end = |m: memory::Memory| (m.name(), m.number());
        channels.append((end(t.from), end(t.to), t.copies, t.bytes))?;
    }
    d.set_item("channels", channels)?;
    let lines = PyList::empty(py);
    for (at, u) in memory::lines() {
        lines.append((line(py, at), u.live, u.peak))?;
    }
    d.set_item("lines", lines)?;
    let instances = PyList::empty(py);
    for i in memory::instances() {
        instances.append(instance(py, &i)?)?;
    }
    d.set_item("instances", instances)?;
    Ok(d)
}

/// For tests: makes the allocation that comes after `k` others fail, and with `on` all that follow; negative: none.
/// Negative answer: the failure asked for before has happened.
#[pyfunction]
#[pyo3(signature = (k, on=false))]
fn _fail_allocation(k: i64, on: bool) -> i64 {
    memory::fail_allocation(k, on)
}

/// For tests: makes the task that comes to a device after `k` others fail to compile or to launch, or lose the device;
/// negative: none. Negative answer: the failure asked for before has happened.
#[pyfunction]
fn _fail_device(what: &str, k: i64) -> PyResult<i64> {
    let failure = match what {
        "compile" => Failure::Compile,
        "launch" => Failure::Launch,
        "loss" => Failure::Loss,
        other => return Err(PyValueError::new_err(format!("a device does not fail by {other}"))),
    };
    Ok(lost::fail_task(failure, k))
}

/// Whether the levels are to be printed at exit.
#[pyfunction]
fn show_memory_usage() -> bool {
    memory::show_usage()
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(memory_now, m)?)?;
    m.add_function(wrap_pyfunction!(show_memory_usage, m)?)?;
    m.add_function(wrap_pyfunction!(_fail_device, m)?)?;
    m.add_function(wrap_pyfunction!(_fail_allocation, m)?)
}
