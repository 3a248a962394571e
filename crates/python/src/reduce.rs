//! Reductions and scans as methods of `ndarray` and as functions: `sum`, `mean`, `argmax`, `cumsum`, ...

mod moments;

use crate::handle::{self, NdArray, Scalar};
use crate::numpy_api::api;
use crate::ufunc::arguments::{Bound1, axes, axes_beside, axis, bind_list, flag, given};
use crate::ufunc::call::compute;
use crate::ufunc::fallback::call_numpy;
use crate::ufunc::input::{Input, Native, Stop, failed};
use crate::ufunc::methods::accumulate_array;
use crate::ufunc::products::{cast, flattened};
use crate::ufunc::reduction::{Fold, fold, fold_input, initial, reduction_mask, reduction_out, result};
use crate::{convert, provenance};
use moments::{mean, std, var};
use numloom_ir::view::Order;
use numloom_ir::{DType, Dims, ScalarOp, Value};
use numloom_library::ArgReduce;
use numloom_runtime::{Array, record};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

type Object<'a, 'py> = &'a Bound<'py, PyAny>;
type Params<'a, 'py> = &'a [Bound1<'py>];

/// The argument as an array of known length.
fn input<'py>(x: Object<'_, 'py>) -> Native<Array> {
    Input::from_py(x)?.resolve(x.py())?.into_array(x.py())
}

/// A fold with NumPy's usual keywords.
fn folded<'py>(
    op: ScalarOp,
    x: Object<'_, 'py>,
    [axis, dtype, out, keepdims, start, place]: [&Bound1<'py>; 6],
) -> Native<Py<PyAny>> {
    let py = x.py();
    let input = fold_input(op, x)?;
    let f = Fold {
        axes: axes_beside(py, given(axis), input.view.ndim(), &[dtype, out, keepdims, start, place])?,
        dtype: convert::dtype_option(given(dtype))?,
        out: reduction_out(given(out))?,
        keepdims: flag(keepdims.as_ref())?,
        initial: initial(start.as_ref())?,
        mask: reduction_mask(place.as_ref(), &input)?,
    };
    let array = fold(py, op, &input, &f)?;
    Ok(result(py, array, f.out)?)
}

fn sum<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    if let Some(count) = true_ones(x, p) {
        return Ok(count?);
    }
    folded(ScalarOp::Add, x, [&p[0], &p[1], &p[2], &p[3], &p[4], &p[5]])
}

/// Whether None was given, which is no answer to `keepdims`, and to `where` means no.
fn is_none(p: &Bound1<'_>) -> bool {
    p.as_ref().is_some_and(|p| p.is_none())
}

/// The sum of truths: how many there are. `None` for calls with more to them.
fn true_ones(x: Object<'_, '_>, p: Params<'_, '_>) -> Option<PyResult<Py<PyAny>>> {
    if p.iter().any(|p| given(p).is_some()) || is_none(&p[3]) || is_none(&p[5]) {
        return None;
    }
    let x = x.cast_exact::<NdArray>().ok()?.try_borrow().ok()?;
    let count = record::count_small(&x.array)?;
    Some(api(x.py()).make_scalar(x.py(), &Value::from_i128(DType::I64, count as i128)))
}

fn prod<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    folded(ScalarOp::Multiply, x, [&p[0], &p[1], &p[2], &p[3], &p[4], &p[5]])
}

fn min<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    folded(ScalarOp::Minimum, x, [&p[0], &None, &p[1], &p[2], &p[3], &p[4]])
}

fn max<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    folded(ScalarOp::Maximum, x, [&p[0], &None, &p[1], &p[2], &p[3], &p[4]])
}

/// Whether any or all elements are true, at once: looking ends where that is known. `None` for calls with more to them.
fn truth(x: Object<'_, '_>, p: Params<'_, '_>, all: bool) -> Option<PyResult<Py<PyAny>>> {
    if p.iter().any(|p| given(p).is_some()) || is_none(&p[2]) || is_none(&p[3]) {
        return None;
    }
    let x = x.cast_exact::<NdArray>().ok()?.try_borrow().ok()?;
    let truth = record::truth(&x.array, all)?;
    Some(api(x.py()).make_scalar(x.py(), &Value::from_i128(DType::Bool, truth as i128)))
}

fn any<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    if let Some(done) = truth(x, p, false) {
        return Ok(done?);
    }
    folded(ScalarOp::LogicalOr, x, [&p[0], &None, &p[1], &p[2], &None, &p[3]])
}

fn all<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    if let Some(done) = truth(x, p, true) {
        return Ok(done?);
    }
    folded(ScalarOp::LogicalAnd, x, [&p[0], &None, &p[1], &p[2], &None, &p[3]])
}

fn scanned<'py>(op: ScalarOp, x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    let py = x.py();
    let mut input = input(x)?;
    let at = match given(&p[0]) {
        Some(a) if input.view.ndim() > 0 => axis(py, a, input.view.ndim())?,
        Some(_) => return Err(Stop::ToNumpy),
        None => {
            input = flattened(py, &input)?;
            0
        }
    };
    let out = reduction_out(given(&p[2]))?;
    if out.as_ref().is_some_and(|o| !o.borrow().writeable) {
        return Err(Stop::ToNumpy);
    }
    accumulate_array(py, op, &input, at, convert::dtype_option(given(&p[1]))?, out)
}

fn cumsum<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    scanned(ScalarOp::Add, x, p)
}

fn cumprod<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    scanned(ScalarOp::Multiply, x, p)
}

fn arg_extreme<'py>(largest: bool, x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    let py = x.py();
    let mut input = input(x)?;
    let at = given(&p[0]).map(|a| axis(py, a, input.view.ndim().max(1))).transpose()?;
    // A scalar has the axis of an array of one element, which is gone in the result even under `keepdims`.
    if input.view.ndim() == 0 && at.is_some() {
        input = input.with_view(input.view.expand(0));
        if flag(p[2].as_ref())? {
            return Err(Stop::ToNumpy);
        }
    }
    let ndim = input.view.ndim();
    let keepdims = flag(p[2].as_ref())?;
    let mut shape: Dims = match at {
        Some(a) => input.view.shape.iter().enumerate().filter(|(i, _)| *i != a).map(|(_, d)| *d).collect(),
        None => Dims::new(),
    };
    if at.map_or(input.view.size(), |a| input.view.shape[a]) == 0 {
        return Err(Stop::ToNumpy);
    }
    if keepdims {
        match at {
            Some(a) => shape.insert(a, 1),
            None => shape.resize(ndim, 1),
        }
    }
    let out = reduction_out(given(&p[1]))?;
    let array = match &out {
        Some(o) => {
            let a = handle::sized(o)?;
            if a.view.dtype != DType::I64 || a.view.shape != shape || !o.borrow().writeable {
                return Err(Stop::ToNumpy);
            }
            a
        }
        None => record::empty(DType::I64, &shape, Order::C, || provenance::here(py)).map_err(|e| failed(py, e))?,
    };
    let op = ArgReduce::new(largest, at);
    record::library(Box::new(op), &[&input], &[&array], || provenance::here(py)).map_err(|e| failed(py, e))?;
    Ok(result(py, array, out)?)
}

fn argmin<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    arg_extreme(false, x, p)
}

fn argmax<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    arg_extreme(true, x, p)
}

fn ptp<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    let py = x.py();
    let input = input(x)?;
    if given(&p[1]).is_some() || input.view.dtype == DType::Bool {
        return Err(Stop::ToNumpy);
    }
    let f =
        Fold { axes: axes(py, given(&p[0]), input.view.ndim())?, keepdims: flag(p[2].as_ref())?, ..Fold::default() };
    let high = fold(py, ScalarOp::Maximum, &input, &f)?;
    let low = fold(py, ScalarOp::Minimum, &input, &f)?;
    Ok(handle::wrap_result(py, compute(py, ScalarOp::Subtract, &[Input::Array(high), Input::Array(low)])?)?)
}

fn count_nonzero<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    let py = x.py();
    let input = input(x)?;
    let f =
        Fold { axes: axes(py, given(&p[0]), input.view.ndim())?, keepdims: flag(p[1].as_ref())?, ..Fold::default() };
    if given(&p[0]).is_none()
        && !f.keepdims
        && let Some(count) = record::count_small(&input)
    {
        return Ok(api(py).make_scalar(py, &Value::from_i128(DType::I64, count as i128))?);
    }
    let truth = cast(py, input, DType::Bool)?;
    Ok(handle::wrap_result(py, fold(py, ScalarOp::Add, &truth, &f)?)?)
}

/// One reduction: its name, its parameters after the array, and what does it.
struct Row {
    name: &'static str,
    /// The array first, then NumPy's keywords in order.
    names: &'static [&'static str],
    run: for<'a, 'b, 'py> fn(Object<'a, 'py>, Params<'b, 'py>) -> Native<Py<PyAny>>,
}

impl Row {
    /// The parameters of the method: those of the function without the array and without the standard's other name
    /// for `ddof`.
    fn of_method(&self) -> &'static [&'static str] {
        let names = &self.names[1..];
        names.strip_suffix(&["correction"]).unwrap_or(names)
    }

    fn method<'py>(
        &self,
        x: Object<'_, 'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let native = || {
            let mut bound = bind_list(self.of_method(), args, kwargs)?;
            bound.resize_with(self.names.len() - 1, || None);
            (self.run)(x, &bound)
        };
        match native() {
            Ok(r) => Ok(r),
            Err(Stop::Raise(e)) => Err(e),
            Err(Stop::ToNumpy) => {
                let all: Vec<_> = std::iter::once(x.clone()).chain(args.iter()).collect();
                // A method's errors are worded otherwise than the function's.
                let (name, method) =
                    if x.is_instance_of::<NdArray>() { ("ndarray", Some(self.name)) } else { (self.name, None) };
                call_numpy(x.py(), name, method, &PyTuple::new(x.py(), all)?, kwargs)
            }
        }
    }

    fn function<'py>(&self, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
        let native = || {
            let bound = bind_list(self.names, args, kwargs)?;
            let (Some(x), params) = (&bound[0], &bound[1..]) else { return Err(Stop::ToNumpy) };
            (self.run)(x, params)
        };
        match native() {
            Ok(r) => Ok(r),
            Err(Stop::Raise(e)) => Err(e),
            Err(Stop::ToNumpy) => call_numpy(args.py(), self.name, None, args, kwargs),
        }
    }
}

const FOLD: &[&str] = &["a", "axis", "dtype", "out", "keepdims", "initial", "where"];
const EXTREME: &[&str] = &["a", "axis", "out", "keepdims", "initial", "where"];
const LOGIC: &[&str] = &["a", "axis", "out", "keepdims", "where"];
const ARG: &[&str] = &["a", "axis", "out", "keepdims"];
const SCAN: &[&str] = &["a", "axis", "dtype", "out"];
const MEAN: &[&str] = &["a", "axis", "dtype", "out", "keepdims", "where"];
const SPREAD: &[&str] = &["a", "axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction"];
const PTP: &[&str] = &["a", "axis", "out", "keepdims"];
const COUNT: &[&str] = &["a", "axis", "keepdims"];

macro_rules! reductions {
    (methods { $($name:ident $names:ident;)* } functions { $($fname:ident $fnames:ident;)* }) => {
        reductions!(@methods NdArray $($name $names;)*);
        reductions!(@methods Scalar $($name $names;)*);

        /// The module's functions.
        mod functions {
            use super::*;
            $(reductions!(@function $name $names);)*
            $(reductions!(@function $fname $fnames);)*
        }

        pub fn register(_py: Python<'_>, m: &Bound<'_, PyModule>) -> PyResult<()> {
            $(m.add_function(wrap_pyfunction!(functions::$name, m)?)?;)*
            $(m.add_function(wrap_pyfunction!(functions::$fname, m)?)?;)*
            Ok(())
        }
    };
    (@methods $class:ident $($name:ident $names:ident;)*) => {
        #[pymethods]
        impl $class {
            $(
                #[pyo3(signature = (*args, **kwargs))]
                fn $name<'py>(
                    slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>,
                ) -> PyResult<Py<PyAny>> {
                    const ROW: Row = Row { name: stringify!($name), names: $names, run: $name };
                    ROW.method(slf.as_any(), args, kwargs)
                }
            )*
        }
    };
    (@function $name:ident $names:ident) => {
        #[pyfunction]
        #[pyo3(signature = (*args, **kwargs))]
        pub fn $name<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
            const ROW: Row = Row { name: stringify!($name), names: $names, run: super::$name };
            ROW.function(args, kwargs)
        }
    };
}

reductions! {
    methods {
    sum FOLD;
    prod FOLD;
    min EXTREME;
    max EXTREME;
    any LOGIC;
    all LOGIC;
    argmin ARG;
    argmax ARG;
    mean MEAN;
    var SPREAD;
    std SPREAD;
    cumsum SCAN;
    cumprod SCAN;
    }
    functions {
    ptp PTP;
    count_nonzero COUNT;
    }
}
