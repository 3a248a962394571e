//! Binding Python arguments to parameter names; NumPy words the errors.

use super::input::{Native, Stop};
use crate::errors;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};
use smallvec::SmallVec;

pub type Bound1<'py> = Option<Bound<'py, PyAny>>;

/// The arguments in the order of `names`; anything that does not fit is left to NumPy.
pub fn bind<'py, const N: usize>(
    names: [&str; N],
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Native<[Bound1<'py>; N]> {
    let bound = bind_list(&names, args, kwargs)?;
    let mut all = [const { None }; N];
    for (slot, value) in all.iter_mut().zip(bound) {
        *slot = value;
    }
    Ok(all)
}

pub type Axes = SmallVec<[usize; 4]>;

/// An axis counted from either end, as NumPy takes it.
pub fn axis(py: Python<'_>, value: &Bound<'_, PyAny>, ndim: usize) -> Native<usize> {
    if value.is_instance_of::<PyBool>() {
        return Err(Stop::ToNumpy);
    }
    // NumPy has words of its own for what is no int of C's.
    let i = value.extract::<i32>().map_err(|_| Stop::ToNumpy)? as isize;
    let at = if i < 0 { i + ndim as isize } else { i };
    if at < 0 || at >= ndim as isize { Err(Stop::Raise(errors::axis_error(py, i, ndim))) } else { Ok(at as usize) }
}

/// The axes of a reduction, ascending: an int, a tuple, or None for all of them. Scalars allow axis 0 and -1.
pub fn axes(py: Python<'_>, value: Option<&Bound<'_, PyAny>>, ndim: usize) -> Native<Axes> {
    let Some(value) = value.filter(|v| !v.is_none()) else {
        return Ok((0..ndim).collect());
    };
    if let Ok(t) = value.cast::<PyTuple>() {
        let mut all: Axes = SmallVec::new();
        for v in t.iter() {
            all.push(axis(py, &v, ndim)?);
        }
        all.sort_unstable();
        let distinct = all.windows(2).all(|w| w[0] != w[1]);
        return if distinct { Ok(all) } else { Err(Stop::ToNumpy) };
    }
    if ndim == 0 && matches!(value.extract::<isize>(), Ok(0 | -1)) {
        return Ok(SmallVec::new());
    }
    Ok(SmallVec::from_elem(axis(py, value, ndim)?, 1))
}

/// `axes`, beside other arguments: where one of these may be wrong, too, NumPy knows which it names first.
pub fn axes_beside(
    py: Python<'_>,
    value: Option<&Bound<'_, PyAny>>,
    ndim: usize,
    others: &[&Bound1<'_>],
) -> Native<Axes> {
    let alone = || others.iter().all(|other| given(other).is_none());
    axes(py, value, ndim).map_err(|stop| if alone() { stop } else { Stop::ToNumpy })
}

/// Like `axes`, where even scalars allow no axis.
pub fn strict_axes(py: Python<'_>, value: Option<&Bound<'_, PyAny>>, ndim: usize) -> Native<Axes> {
    let found = axes(py, value, ndim)?;
    match value.map(|v| v.extract::<isize>()) {
        Some(Ok(i)) if ndim == 0 => Err(Stop::Raise(errors::axis_error(py, i, ndim))),
        _ => Ok(found),
    }
}

/// A flag such as `keepdims`.
pub fn flag(value: Option<&Bound<'_, PyAny>>) -> Native<bool> {
    match value {
        None => Ok(false),
        Some(v) if is_no_value(v) => Ok(false),
        Some(v) => match v.extract::<bool>() {
            Ok(b) => Ok(b),
            Err(_) => v.extract::<i64>().map(|i| i != 0).map_err(|_| Stop::ToNumpy),
        },
    }
}

/// NumPy's marker for a keyword that was not given.
pub fn is_no_value(value: &Bound<'_, PyAny>) -> bool {
    value.get_type().name().is_ok_and(|n| n == "_NoValueType")
}

/// `None` for an argument that is absent, None or NumPy's marker.
pub fn given<'a, 'py>(value: &'a Bound1<'py>) -> Option<&'a Bound<'py, PyAny>> {
    value.as_ref().filter(|v| !v.is_none() && !is_no_value(v))
}

/// `bind` for a list of names known at run time.
pub fn bind_list<'py>(
    names: &[&str],
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Native<SmallVec<[Bound1<'py>; 9]>> {
    let mut bound: SmallVec<[Bound1<'py>; 9]> = SmallVec::new();
    bound.extend(args.iter().map(Some));
    if bound.len() > names.len() {
        return Err(Stop::ToNumpy);
    }
    bound.resize_with(names.len(), || None);
    for (key, value) in kwargs.into_iter().flatten() {
        let key = key.cast_into::<PyString>().map_err(PyErr::from)?;
        let at = names.iter().position(|n| key == *n).ok_or(Stop::ToNumpy)?;
        if bound[at].replace(value).is_some() {
            return Err(Stop::ToNumpy);
        }
    }
    Ok(bound)
}
