//! `ndarray.flags`.

use crate::handle::{self, NdArray};
use crate::layout::Truth;
use crate::numpy_api::api;
use numloom_ir::View;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

#[pyclass(name = "flagsobj", module = "numloom")]
pub struct Flags {
    array: Py<NdArray>,
}

/// What a flag's name asks about a view, whether it owns its data, and whether it may be written.
fn answer(name: &str, v: &View, owns: bool, writeable: bool) -> Option<bool> {
    let (c, f) = (v.is_c_contiguous(), v.is_f_contiguous());
    Some(match name {
        "C_CONTIGUOUS" | "CONTIGUOUS" | "C" => c,
        "F_CONTIGUOUS" | "FORTRAN" | "F" => f,
        "OWNDATA" | "O" => owns,
        "WRITEABLE" | "W" => writeable,
        "ALIGNED" | "A" => true,
        "WRITEBACKIFCOPY" | "X" => false,
        "FNC" => f && !c,
        "FORC" => f || c,
        "BEHAVED" | "B" => writeable,
        "CARRAY" | "CA" => c && writeable,
        "FARRAY" | "FA" => f && !c && writeable,
        _ => return None,
    })
}

const SHOWN: [&str; 6] = ["C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY"];

impl Flags {
    pub fn new(array: Py<NdArray>) -> Flags {
        Flags { array }
    }

    fn read(&self, py: Python<'_>, name: &str) -> PyResult<Option<bool>> {
        let x = self.array.bind(py);
        let view = handle::sized(x)?.view.clone();
        let x = x.borrow();
        Ok(answer(name, &view, x.base.is_none(), x.writeable))
    }

    pub fn set_writeable(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        let x = self.array.bind(py);
        let base = x.borrow().base.as_ref().map(|b| b.clone_ref(py));
        if on && let Some(base) = base {
            let base = base.bind(py);
            let allowed = match handle::as_ndarray(base) {
                Some(b) => b.borrow().writeable,
                None if api(py).is_array(base) => api(py).describe(base)?.writeable,
                None => x.borrow().writeable || is_writeable_buffer(base),
            };
            if !allowed {
                return Err(PyValueError::new_err("cannot set WRITEABLE flag to True of this array"));
            }
        }
        x.borrow_mut().writeable = on;
        Ok(())
    }
}

/// Whether another object lets its memory be written.
fn is_writeable_buffer(base: &Bound<'_, PyAny>) -> bool {
    let readonly = PyMemoryView::from(base).and_then(|m| m.getattr("readonly")?.extract::<bool>());
    readonly.is_ok_and(|r| !r)
}

#[pymethods]
impl Flags {
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let found = if name.chars().all(|c| c.is_lowercase() || c == '_') {
            self.read(py, &name.to_ascii_uppercase())?
        } else {
            None
        };
        found.ok_or_else(|| {
            let message = format!("'numloom.flagsobj' object has no attribute '{name}'");
            pyo3::exceptions::PyAttributeError::new_err(message)
        })
    }

    #[getter]
    fn writeable(&self, py: Python<'_>) -> bool {
        self.array.bind(py).borrow().writeable
    }

    #[setter(writeable)]
    fn change_writeable(&self, py: Python<'_>, on: Truth) -> PyResult<()> {
        self.set_writeable(py, on.0)
    }

    #[getter]
    fn aligned(&self) -> bool {
        true
    }

    /// Elements lie aligned, whatever is said of them.
    #[setter]
    fn set_aligned(&self, _on: Truth) {}

    #[getter]
    fn num(&self, py: Python<'_>) -> PyResult<u32> {
        let bits = [1, 2, 4, 0x400, 0x100, 0x2000];
        let mut num = 0;
        for (name, bit) in SHOWN.iter().zip(bits) {
            if self.read(py, name)? == Some(true) {
                num |= bit;
            }
        }
        Ok(num)
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.read(py, name)?.ok_or_else(|| PyKeyError::new_err("Unknown flag"))
    }

    fn __setitem__(&self, py: Python<'_>, name: &str, on: Truth) -> PyResult<()> {
        let on = on.0;
        match name {
            "WRITEABLE" | "W" => self.set_writeable(py, on),
            "ALIGNED" | "A" => Ok(()),
            "WRITEBACKIFCOPY" | "X" if !on => Ok(()),
            _ => Err(PyKeyError::new_err("Unknown flag")),
        }
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Flags>() {
            Ok(o) => Ok(self.num(py)? == o.borrow().num(py)?),
            Err(_) => Ok(false),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = String::new();
        for name in SHOWN {
            let on = if self.read(py, name)? == Some(true) { "True" } else { "False" };
            text.push_str(&format!("  {name} : {on}\n"));
        }
        Ok(text)
    }
}
