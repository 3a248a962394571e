//! NumPy's own function on our arguments: for what we have not, and to raise errors in NumPy's words.

use super::input::{has_ufunc_method, has_wrap_method};
use crate::errors::is_unsupported;
use crate::handle::{NdArray, Scalar};
use crate::numpy_api::api;
use crate::{convert, handle, protocols};
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
            return match convert::own_handle(obj, 1) {
                Ok(array) => Ok(array.into_bound(py)),
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
    if let Some(answer) = call_wrapped(name, method, args, kwargs)? {
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

/// Lets foreign classes with `__array_ufunc__` answer first: NumPy asks them, and us, in its own order.
fn call_override<'py>(
    function: &Bound<'py, PyAny>,
    method: Option<&str>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Py<PyAny>>> {
    let py = function.py();
    if !function.hasattr(intern!(py, "reduceat"))? || !any_override(args, kwargs)? {
        return Ok(None);
    }
    let function = match method {
        Some(m) => function.getattr(m)?,
        None => function.clone(),
    };
    function.call(args, kwargs).map(|answer| Some(answer.unbind()))
}

/// Whether an operand (an input, an output or a mask) has an `__array_ufunc__` that is neither ours nor NumPy's.
pub fn any_override(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
    let py = args.py();
    let foreign = |o: &Bound<'_, PyAny>| has_ufunc_method(o) && !api(py).is_array(o);
    if args.iter_borrowed().any(|a| foreign(&a)) {
        return Ok(true);
    }
    let Some(kwargs) = kwargs else { return Ok(false) };
    for key in [intern!(py, "out"), intern!(py, "where")] {
        let Some(given) = kwargs.get_item(key)? else { continue };
        let found = match given.cast::<PyTuple>() {
            Ok(several) => several.iter_borrowed().any(|o| foreign(&o)),
            Err(_) => foreign(&given),
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Hands results to the `__array_wrap__` of an operand, that of the highest priority.
fn call_wrapped<'py>(
    name: &str,
    method: Option<&str>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Py<PyAny>>> {
    let py = args.py();
    let with_outputs = kwargs.is_some_and(|k| k.contains(intern!(py, "out")).unwrap_or(false));
    if with_outputs || method == Some("at") || args.iter_borrowed().any(|a| api(py).is_array(&a)) {
        return Ok(None);
    }
    let mut best: Option<(f64, Bound<'py, PyAny>)> = None;
    let mut plain = Vec::with_capacity(args.len());
    for arg in args.iter() {
        if !has_wrap_method(&arg) {
            plain.push(arg);
            continue;
        }
        let priority = match arg.getattr_opt(intern!(py, "__array_priority__"))? {
            Some(p) => p.extract()?,
            None => 0.0,
        };
        if best.as_ref().is_none_or(|(p, _)| *p < priority) {
            best = Some((priority, arg.getattr(intern!(py, "__array_wrap__"))?));
        }
        plain.push(handle::wrap(py, convert::array(&arg)?)?.into_bound(py));
    }
    let Some((priority, wrap)) = best else { return Ok(None) };
    let ufunc = py.import(intern!(py, "numloom._core"))?.getattr(name)?;
    let plain = PyTuple::new(py, plain)?;
    let result = ufunc.call_method(method.unwrap_or("__call__"), plain, kwargs)?;
    // Plain arrays have priority 0; `outer` wraps nothing.
    if method == Some("outer") || priority < 0.0 && args.iter_borrowed().any(|a| a.is_instance_of::<NdArray>()) {
        return Ok(Some(result.unbind()));
    }
    let wrapped = |i: usize, result: &Bound<'py, PyAny>| {
        let array = handle::wrap(py, convert::array(result)?)?;
        let context = method.is_none().then_some((&ufunc, args, i));
        wrap.call1((array, context, handle::as_ndarray(result).is_none()))
    };
    let answer = match result.cast::<PyTuple>() {
        Ok(several) => {
            let parts = several.iter().enumerate().map(|(i, r)| wrapped(i, &r)).collect::<PyResult<Vec<_>>>()?;
            PyTuple::new(py, parts)?.into_any()
        }
        Err(_) => wrapped(0, &result)?,
    };
    Ok(Some(answer.unbind()))
}
