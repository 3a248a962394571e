//! NumPy's own function on our arguments: for what we have not, and to raise errors in NumPy's words.

use super::input::overrides;
use crate::errors::is_unsupported;
use crate::handle::{NdArray, Scalar};
use crate::numpy_api::api;
use crate::{convert, handle, protocols};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// Arrays lent to NumPy for one call, so that an `out=` comes back as the object that was given.
#[derive(Default)]
struct Lent<'py> {
    pairs: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    involved: bool,
}

impl<'py> Lent<'py> {
    fn lend(&mut self, obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = obj.py();
        if let Ok(a) = obj.cast::<NdArray>() {
            let array = handle::sized(a)?;
            let view = protocols::to_numpy(py, &array, a.borrow().writeable)?;
            self.pairs.push((view.clone(), obj.clone()));
            self.involved = true;
            return Ok(view);
        }
        if api(py).is_array(obj) {
            self.pairs.push((obj.clone(), obj.clone()));
            return Ok(obj.clone());
        }
        if let Ok(s) = obj.cast_exact::<Scalar>() {
            self.involved = true;
            let value = convert::value_of(py, &s.borrow().array)?;
            return Ok(api(py).make_scalar(py, &value)?.into_bound(py));
        }
        if let Ok(t) = obj.cast_exact::<PyTuple>() {
            let items = t.iter().map(|o| self.lend(&o)).collect::<PyResult<Vec<_>>>()?;
            return Ok(PyTuple::new(py, items)?.into_any());
        }
        if let Ok(l) = obj.cast_exact::<PyList>() {
            let items = l.iter().map(|o| self.lend(&o)).collect::<PyResult<Vec<_>>>()?;
            return Ok(PyList::new(py, items)?.into_any());
        }
        Ok(obj.clone())
    }

    fn take_back(&self, obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = obj.py();
        if let Some((_, ours)) = self.pairs.iter().find(|(host, _)| host.is(obj)) {
            return Ok(ours.clone());
        }
        if api(py).is_exact_array(obj) {
            return match convert::own_numpy(obj) {
                Ok(array) => Ok(handle::wrap(py, array)?.into_bound(py)),
                Err(e) if is_unsupported(py, &e) => Ok(obj.clone()),
                Err(e) => Err(e),
            };
        }
        if let Ok(t) = obj.cast_exact::<PyTuple>() {
            let items = t.iter().map(|o| self.take_back(&o)).collect::<PyResult<Vec<_>>>()?;
            return Ok(PyTuple::new(py, items)?.into_any());
        }
        Ok(obj.clone())
    }
}

/// `numpy.<name>(*args, **kwargs)`, or `numpy.<name>.<method>` for a ufunc's method.
#[cold]
pub fn call_numpy<'py>(
    py: Python<'py>,
    name: &str,
    method: Option<&str>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let function = api(py).numpy(py).getattr(name)?;
    if let Some(answer) = call_override(&function, method, args, kwargs)? {
        return Ok(answer);
    }
    let function = match method {
        Some(m) => function.getattr(m)?,
        None => function,
    };
    let mut lent = Lent::default();
    let args = lent.lend(args.as_any())?.cast_into::<PyTuple>()?;
    let converted = PyDict::new(py);
    for (key, value) in kwargs.into_iter().flatten() {
        converted.set_item(key, lent.lend(&value)?)?;
    }
    let result = function.call(args, Some(&converted))?;
    if lent.involved {
        let full = method.map_or_else(|| name.to_owned(), |m| format!("{name}.{m}"));
        note(py, &full)?;
    }
    Ok(lent.take_back(&result)?.unbind())
}

/// `left OP right` between NumPy's arrays, through Python's `operator` module.
#[cold]
pub fn call_operator<'py>(py: Python<'py>, name: &str, operands: &[&Bound<'py, PyAny>]) -> PyResult<Py<PyAny>> {
    let mut lent = Lent::default();
    let hosts = operands.iter().map(|o| lent.lend(o)).collect::<PyResult<Vec<_>>>()?;
    let module = if matches!(name, "divmod" | "pow") { "builtins" } else { "operator" };
    let result = py.import(module)?.getattr(name)?.call1(PyTuple::new(py, hosts)?)?;
    if !result.is(py.NotImplemented()) {
        note(py, name)?;
    }
    Ok(lent.take_back(&result)?.unbind())
}

/// Counts the call in the package's coverage report, and warns about it.
fn note(py: Python<'_>, name: &str) -> PyResult<()> {
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    match modules.get_item(intern!(py, "numloom._fallback")) {
        Ok(package) => package.call_method1(intern!(py, "note"), (name,)).map(|_| ()),
        Err(_) => Ok(()),
    }
}

/// Lets a foreign class with `__array_ufunc__` answer first, as NumPy would.
fn call_override<'py>(
    function: &Bound<'py, PyAny>,
    method: Option<&str>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Py<PyAny>>> {
    let py = function.py();
    let protocol = intern!(py, "__array_ufunc__");
    if !function.hasattr(intern!(py, "reduceat"))? {
        return Ok(None);
    }
    let mut asked = false;
    for arg in args.iter().filter(|a| overrides(a) && !api(py).is_array(a)) {
        asked = true;
        let mut all = vec![function.clone(), method.unwrap_or("__call__").into_pyobject(py)?.into_any()];
        all.extend(args.iter());
        let answer = arg.getattr(protocol)?;
        if answer.is_none() {
            let class = arg.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "operand '{class}' does not support ufuncs (__array_ufunc__=None)"
            )));
        }
        let answer = answer.call(PyTuple::new(py, all)?, kwargs)?;
        if !answer.is(py.NotImplemented()) {
            return Ok(Some(answer.unbind()));
        }
    }
    if asked {
        let names: Vec<String> = args.iter().map(|a| a.repr().map_or(String::new(), |r| r.to_string())).collect();
        let text = format!(
            "operand type(s) all returned NotImplemented from __array_ufunc__({}, {:?}, {}): ",
            function.repr()?,
            method.unwrap_or("__call__"),
            names.join(", ")
        );
        return Err(PyTypeError::new_err(text));
    }
    Ok(None)
}
