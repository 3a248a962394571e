//! The keywords of a ufunc call.

use super::input::{Input, Native, Stop};
use super::layout::OutputOrder;
use crate::convert;
use crate::handle::NdArray;
use numloom_ir::promote::Casting;
use numloom_ir::{DType, ScalarOp};
use numloom_runtime::Array;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

pub struct Keywords<'py> {
    /// Empty when no output was given.
    pub outs: SmallVec<[Option<Bound<'py, NdArray>>; 2]>,
    out_given: bool,
    pub mask: Option<Array>,
    /// Types that `dtype=` or `signature=` fixes, inputs first; empty when neither was given.
    pub fixed: SmallVec<[Option<DType>; 4]>,
    pub casting: Casting,
    pub order: OutputOrder,
}

impl<'py> Keywords<'py> {
    /// No keywords at all.
    pub fn none() -> Keywords<'py> {
        Keywords {
            outs: SmallVec::new(),
            out_given: false,
            mask: None,
            fixed: SmallVec::new(),
            casting: Casting::SameKind,
            order: OutputOrder::K,
        }
    }

    /// Reads positional outputs and keywords. What is out of the ordinary, or wrong, is left to NumPy.
    pub fn parse(
        op: ScalarOp,
        outs: &[Bound<'py, PyAny>],
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> Native<Keywords<'py>> {
        let mut kw = Keywords { out_given: !outs.is_empty(), ..Keywords::none() };
        for o in outs {
            kw.outs.push(output(o)?);
        }
        for (key, value) in kwargs.into_iter().flatten() {
            let key = key.cast_into::<PyString>().map_err(PyErr::from)?;
            kw.set(op, key.to_str().map_err(Stop::from)?, &value)?;
        }
        Ok(kw)
    }

    fn set(&mut self, op: ScalarOp, key: &str, value: &Bound<'py, PyAny>) -> Native<()> {
        match key {
            "out" if self.out_given => return Err(Stop::ToNumpy),
            "out" => {
                self.out_given = true;
                self.outs = outputs(value, op.nout())?;
            }
            "where" => self.mask = mask(value)?,
            "casting" => self.casting = text(value).and_then(|s| Casting::from_name(&s)).ok_or(Stop::ToNumpy)?,
            "order" => self.order = order(value)?,
            "subok" => {
                value.extract::<bool>().map_err(|_| Stop::ToNumpy)?;
            }
            "dtype" if self.fixed.is_empty() => {
                if let Some(d) = convert::dtype_option(Some(value))? {
                    self.fixed = SmallVec::from_elem(None, op.nin());
                    self.fixed.extend(std::iter::repeat_n(Some(d), op.nout()));
                }
            }
            "signature" | "sig" if self.fixed.is_empty() => self.fixed = signature(value, op)?,
            _ => return Err(Stop::ToNumpy),
        }
        Ok(())
    }

    /// NumPy's warning about `where=` without `out=`.
    pub fn warn_uninitialised(&self, py: Python<'_>) -> PyResult<()> {
        if self.mask.is_none() || self.out_given {
            return Ok(());
        }
        let text =
            c"'where' used without 'out', expect unitialized memory in output. If this is intentional, use out=None.";
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)
    }
}

fn text(value: &Bound<'_, PyAny>) -> Option<String> {
    value.extract().ok()
}

/// One output: None, or an array of ours; NumPy's arrays are written by NumPy.
fn output<'py>(value: &Bound<'py, PyAny>) -> Native<Option<Bound<'py, NdArray>>> {
    if value.is_none() {
        return Ok(None);
    }
    value.cast::<NdArray>().map(|a| Some(a.clone())).map_err(|_| Stop::ToNumpy)
}

/// `out=`: one array, or a tuple with one entry per output.
pub fn outputs<'py>(value: &Bound<'py, PyAny>, nout: usize) -> Native<SmallVec<[Option<Bound<'py, NdArray>>; 2]>> {
    match value.cast::<PyTuple>() {
        Ok(t) if t.len() == nout => t.iter().map(|o| output(&o)).collect(),
        Ok(_) => Err(Stop::ToNumpy),
        Err(_) => match output(value)? {
            None if nout == 1 => Ok(SmallVec::new()),
            Some(o) if nout == 1 => Ok(SmallVec::from_iter([Some(o)])),
            _ => Err(Stop::ToNumpy),
        },
    }
}

/// `where=`: `None` for True.
pub fn mask(value: &Bound<'_, PyAny>) -> Native<Option<Array>> {
    let py = value.py();
    if value.is_exact_instance_of::<pyo3::types::PyBool>() && value.is_truthy()? {
        return Ok(None);
    }
    let array = Input::from_py(value)?.resolve(py)?.into_array(py)?;
    if array.view.dtype == DType::Bool { Ok(Some(array)) } else { Err(Stop::ToNumpy) }
}

pub fn order(value: &Bound<'_, PyAny>) -> Native<OutputOrder> {
    match text(value).as_deref() {
        Some("K" | "k") => Ok(OutputOrder::K),
        Some("C" | "c") => Ok(OutputOrder::C),
        Some("F" | "f") => Ok(OutputOrder::F),
        Some("A" | "a") => Ok(OutputOrder::A),
        _ => Err(Stop::ToNumpy),
    }
}

/// `"dd->d"`, or a tuple with a type or None for every operand.
fn signature(value: &Bound<'_, PyAny>, op: ScalarOp) -> Native<SmallVec<[Option<DType>; 4]>> {
    let nargs = op.nin() + op.nout();
    let fixed: SmallVec<[Option<DType>; 4]> = if let Ok(t) = value.cast::<PyTuple>() {
        t.iter().map(|d| convert::dtype_option(Some(&d))).collect::<PyResult<_>>()?
    } else {
        let s = text(value).ok_or(Stop::ToNumpy)?;
        let (ins, outs) = s.split_once("->").ok_or(Stop::ToNumpy)?;
        if ins.len() != op.nin() {
            return Err(Stop::ToNumpy);
        }
        ins.chars().chain(outs.chars()).map(DType::from_code).collect()
    };
    let text_was_known = value.cast::<PyTuple>().is_ok() || fixed.iter().all(Option::is_some);
    if fixed.len() == nargs && text_was_known && fixed.iter().any(Option::is_some) {
        Ok(fixed)
    } else {
        Err(Stop::ToNumpy)
    }
}
