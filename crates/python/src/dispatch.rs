//! NumPy functions called on our arrays: ours of the same name runs, else NumPy on converted arguments.

use crate::callers;
use crate::convert;
use crate::errors;
use crate::handle::{self, NdArray, Scalar};
use crate::numpy_api::api;
use crate::protocols;
use crate::scalar;
use crate::ufunc::fallback::any_override;
use numloom_ir::ScalarOp;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Arguments with our arrays as NumPy views, inside tuples, lists and dicts too.
pub fn to_numpy_args<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    lent(obj, &mut Vec::new())
}

/// The same inside these containers. One of them inside itself goes as it is, for NumPy to refuse.
fn lent<'py>(obj: &Bound<'py, PyAny>, inside: &mut Vec<*mut ffi::PyObject>) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    if let Some(a) = handle::as_ndarray(obj) {
        return protocols::numpy_view(a);
    }
    if let Some(s) = handle::as_scalar(obj) {
        return Ok(scalar::numpy_scalar(s)?.into_bound(py));
    }
    if inside.contains(&obj.as_ptr()) {
        return Ok(obj.clone());
    }
    inside.push(obj.as_ptr());
    let made = lent_container(obj, inside);
    inside.pop();
    made
}

fn lent_container<'py>(obj: &Bound<'py, PyAny>, inside: &mut Vec<*mut ffi::PyObject>) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    if let Ok(t) = obj.cast_exact::<PyTuple>() {
        let parts: PyResult<Vec<_>> = t.iter().map(|o| lent(&o, inside)).collect();
        return Ok(PyTuple::new(py, parts?)?.into_any());
    }
    if let Ok(l) = obj.cast_exact::<PyList>() {
        let parts: PyResult<Vec<_>> = l.iter().map(|o| lent(&o, inside)).collect();
        return Ok(PyList::new(py, parts?)?.into_any());
    }
    if let Ok(d) = obj.cast_exact::<PyDict>() {
        let out = PyDict::new(py);
        for (k, v) in d.iter() {
            out.set_item(k, lent(&v, inside)?)?;
        }
        return Ok(out.into_any());
    }
    Ok(obj.clone())
}

/// Results of NumPy as ours, where the dtype is one of ours. `held`: who refers to them besides other users.
fn from_numpy_result<'py>(obj: &Bound<'py, PyAny>, held: isize) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    if api(py).is_exact_array(obj) {
        return match convert::own_handle(obj, held) {
            Ok(a) => Ok(a.into_bound(py)),
            Err(e) if errors::is_unsupported(py, &e) => Ok(obj.clone()),
            Err(e) => Err(e),
        };
    }
    if let Ok(t) = obj.cast_exact::<PyTuple>() {
        let parts: PyResult<Vec<_>> = t.iter().map(|o| from_numpy_result(&o, 2)).collect();
        return Ok(PyTuple::new(py, parts?)?.into_any());
    }
    if let Ok(l) = obj.cast_exact::<PyList>() {
        let parts: PyResult<Vec<_>> = l.iter().map(|o| from_numpy_result(&o, 2)).collect();
        return Ok(PyList::new(py, parts?)?.into_any());
    }
    Ok(obj.clone())
}

/// Calls `f` on converted arguments; `out=` arrays of ours come back as they were given.
fn call_numpy<'py>(
    f: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let plain = to_numpy_args(args.as_any())?.cast_into::<PyTuple>()?;
    let named = match kwargs {
        Some(k) => Some(to_numpy_args(k.as_any())?.cast_into::<PyDict>()?),
        None => None,
    };
    let found = f.call(plain, named.as_ref())?;
    if let Some(out) = kwargs.map(|k| k.get_item("out")).transpose()?.flatten() {
        match out.cast::<PyTuple>() {
            Ok(t) if t.len() == 1 && !t.get_item(0)?.is_none() => return t.get_item(0),
            Err(_) if !out.is_none() => return Ok(out),
            _ => {}
        }
    }
    drop(named);
    from_numpy_result(&found, 1)
}

/// Calls `f` on converted arguments, and leaves the result as it is.
fn call_for_library<'py>(
    f: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let plain = to_numpy_args(args.as_any())?.cast_into::<PyTuple>()?;
    let named = kwargs.map(|k| to_numpy_args(k.as_any())).transpose()?;
    f.call(plain, named.map(Bound::cast_into::<PyDict>).transpose()?.as_ref())
}

/// `ufunc.method(*inputs, **kwargs)` of ours; `None` when there is none or it cannot.
fn call_ours<'py>(
    ufunc: &Bound<'py, PyAny>,
    method: &str,
    inputs: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = ufunc.py();
    let name: String = ufunc.getattr("__name__")?.extract()?;
    // Only NumPy's own: somebody else's ufunc may have the same name.
    if !api(py).numpy(py).getattr_opt(name.as_str())?.is_some_and(|f| f.is(ufunc)) {
        return Ok(None);
    }
    let Some(ours) = py.import("numloom._core")?.getattr_opt(name.as_str())? else { return Ok(None) };
    let mut foreign_outs = None;
    let kwargs = match kwargs.map(|k| share_outs(k, &mut foreign_outs)).transpose() {
        Ok(kwargs) => kwargs,
        Err(e) if errors::is_unsupported(py, &e) => return Ok(None),
        Err(e) => return Err(e),
    };
    match ours.call_method(method, inputs, kwargs.as_ref()) {
        Ok(found) => Ok(Some(foreign_outs.unwrap_or(found))),
        Err(e) if errors::is_unsupported(py, &e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Keyword arguments in which NumPy arrays given as `out` are wrapped; they are what the call returns.
fn share_outs<'py>(
    kwargs: &Bound<'py, PyDict>,
    returned: &mut Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = kwargs.py();
    let Some(out) = kwargs.get_item("out")? else { return Ok(kwargs.clone()) };
    let outs = match out.cast::<PyTuple>() {
        Ok(t) => t.clone(),
        Err(_) => PyTuple::new(py, [&out])?,
    };
    let shared = |o: Bound<'py, PyAny>| -> PyResult<Bound<'py, PyAny>> {
        if !api(py).is_array(&o) {
            return Ok(o);
        }
        let (array, writeable) = convert::borrow_numpy(&o)?;
        let base = Some(o.unbind());
        Ok(Bound::new(py, NdArray { array, writeable, base, exported: None })?.into_any())
    };
    if !outs.iter().any(|o| api(py).is_array(&o)) {
        return Ok(kwargs.clone());
    }
    let wrapped: PyResult<Vec<_>> = outs.iter().map(shared).collect();
    let new = kwargs.copy()?;
    new.set_item("out", PyTuple::new(py, wrapped?)?)?;
    *returned = Some(if outs.len() == 1 { outs.get_item(0)? } else { outs.into_any() });
    Ok(new)
}

/// The operation of a ufunc of NumPy's that gives one result.
pub fn plain(ufunc: &Bound<'_, PyAny>) -> Option<ScalarOp> {
    static KNOWN: OnceLock<FxHashMap<usize, ScalarOp>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let numpy = api(ufunc.py()).numpy(ufunc.py());
        let theirs = |op: &ScalarOp| Some((numpy.getattr(op.name()).ok()?.as_ptr() as usize, *op));
        ScalarOp::ALL.iter().filter(|op| op.nout() == 1).filter_map(theirs).collect()
    });
    known.get(&(ufunc.as_ptr() as usize)).copied()
}

fn array_ufunc<'py>(
    ufunc: &Bound<'py, PyAny>,
    method: &str,
    inputs: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if any_override(inputs, kwargs)? {
        return Ok(ufunc.py().NotImplemented().into_bound(ufunc.py()));
    }
    if callers::is_library(ufunc.py()) {
        return call_for_library(&ufunc.getattr(method)?, inputs, kwargs);
    }
    if let Some(found) = call_ours(ufunc, method, inputs, kwargs)? {
        return Ok(found);
    }
    call_numpy(&ufunc.getattr(method)?, inputs, kwargs)
}

/// The function of ours that has the same place in the package as `func` has in NumPy.
fn our_function<'py>(func: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = func.py();
    let module: String = func.getattr("__module__")?.extract()?;
    let name: String = func.getattr("__name__")?.extract()?;
    let Some(rest) = module.strip_prefix("numpy") else { return Ok(None) };
    let Ok(mut at) = py.import("numloom").map(|m| m.into_any()) else { return Ok(None) };
    for part in rest.split('.').filter(|p| !p.is_empty()) {
        match at.getattr_opt(part)? {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(at.getattr_opt(name.as_str())?.filter(|f| !f.is(func)))
}

fn array_function<'py>(
    func: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    if callers::is_library(func.py()) {
        return call_for_library(func, args, Some(kwargs));
    }
    match our_function(func)? {
        Some(ours) => ours.call(args, Some(kwargs)),
        None => call_numpy(func, args, Some(kwargs)),
    }
}

macro_rules! dispatch_methods {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            #[pyo3(signature = (ufunc, method, *inputs, **kwargs))]
            fn __array_ufunc__<'py>(
                &self,
                ufunc: &Bound<'py, PyAny>,
                method: &str,
                inputs: &Bound<'py, PyTuple>,
                kwargs: Option<&Bound<'py, PyDict>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                array_ufunc(ufunc, method, inputs, kwargs)
            }

            fn __array_function__<'py>(
                &self,
                func: &Bound<'py, PyAny>,
                _types: &Bound<'py, PyAny>,
                args: &Bound<'py, PyTuple>,
                kwargs: &Bound<'py, PyDict>,
            ) -> PyResult<Bound<'py, PyAny>> {
                array_function(func, args, kwargs)
            }
        }
    };
}

dispatch_methods!(NdArray);
dispatch_methods!(Scalar);
