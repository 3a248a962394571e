//! Choosing between arrays: `where`, `clip`, `copyto`, `putmask`.

use crate::assign::warn_complex;
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::provenance;
use crate::quick;
use crate::short_order::nonzero_of;
use crate::ufunc::arguments::{Bound1, bind, given};
use crate::ufunc::call::{compute, compute_into, new_result};
use crate::ufunc::fallback::call_numpy;
use crate::ufunc::input::{Input, Native, Stop, failed};
use crate::ufunc::keywords::mask;
use crate::ufunc::layout::{Arrays, OutputOrder, common_shape};
use crate::ufunc::products::{cast, flattened};
use crate::ufunc::reduction::{reduction_out, result};
use numloom_ir::promote::{ArgType, Casting, can_cast, result_type};
use numloom_ir::view::Order;
use numloom_ir::{DType, ScalarOp, View};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

type Object<'a, 'py> = &'a Bound<'py, PyAny>;

fn or_numpy<'py>(
    name: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    native: impl FnOnce() -> Native<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    match native() {
        Ok(r) => Ok(r),
        Err(Stop::Raise(e)) => Err(e),
        Err(Stop::ToNumpy) => call_numpy(args.py(), name, None, args, kwargs),
    }
}

/// `where(condition, x, y)`; with the condition alone, `nonzero(condition)`.
#[pyfunction(name = "where")]
#[pyo3(signature = (*args, **kwargs))]
fn where_<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
    let py = args.py();
    if kwargs.is_none() && args.len() == 1 {
        // SAFETY: an object that the tuple holds.
        let few = unsafe { nonzero_of(args.get_borrowed_item(0)?.as_ptr()) };
        if let Some(few) = few {
            return few.wrap(py);
        }
    }
    or_numpy("where", args, kwargs, || {
        if kwargs.is_some_and(|k| !k.is_empty()) {
            return Err(Stop::ToNumpy);
        }
        match args.len() {
            1 => nonzero(py, &args.get_item(0)?),
            3 => choose(py, &args.get_item(0)?, &args.get_item(1)?, &args.get_item(2)?),
            _ => Err(Stop::ToNumpy),
        }
    })
}

/// The argument's truth.
fn truth<'py>(py: Python<'py>, obj: Object<'_, 'py>) -> Native<Array> {
    let array = Input::from_py(obj)?.resolve(py)?.into_array(py)?;
    Ok(cast(py, array, DType::Bool)?)
}

fn nonzero<'py>(py: Python<'py>, condition: Object<'_, 'py>) -> Native<Py<PyAny>> {
    let mask = truth(py, condition)?;
    if mask.view.ndim() == 0 {
        return Err(Stop::ToNumpy);
    }
    let found = record::nonzero(&mask, || provenance::here(py)).map_err(|e| failed(py, e))?;
    let wrapped = found.into_iter().map(|a| handle::wrap(py, a)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, wrapped)?.into_any().unbind())
}

fn choose<'py>(
    py: Python<'py>,
    condition: Object<'_, 'py>,
    x: Object<'_, 'py>,
    y: Object<'_, 'py>,
) -> Native<Py<PyAny>> {
    if let Some(done) = quick::choose(condition, x, y) {
        return Ok(done?);
    }
    let condition = truth(py, condition)?;
    let ins = [Input::from_py(x)?.resolve(py)?, Input::from_py(y)?.resolve(py)?];
    let types: SmallVec<[ArgType; 2]> = ins.iter().map(Input::arg_type).collect();
    let dtype = result_type(&types).ok_or(Stop::ToNumpy)?;
    let arrays: Arrays = std::iter::once(&condition).chain(ins.iter().filter_map(Input::array)).collect();
    let shape = common_shape(&arrays)?;
    let operands = [Operand::Array(&condition), ins[0].operand(dtype)?, ins[1].operand(dtype)?];
    let out = new_result(py, dtype, &shape, &arrays, OutputOrder::K)?;
    record::map(MapOp::Select, &operands, &[&out], None, || provenance::here(py)).map_err(|e| failed(py, e))?;
    // NumPy answers 0-d arrays here, not scalars.
    Ok(handle::wrap(py, out)?)
}

/// A limit of `clip` that was given.
fn limit<'py>(py: Python<'py>, value: &Bound1<'py>) -> Native<Option<Input<'py>>> {
    given(value).map(|v| Input::from_py(v)?.resolve(py)).transpose()
}

#[pyfunction]
#[pyo3(signature = (*args, **kwargs))]
fn clip<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
    let py = args.py();
    if kwargs.is_none() && args.len() == 3 {
        let [x, low, high] = [args.get_borrowed_item(0)?, args.get_borrowed_item(1)?, args.get_borrowed_item(2)?];
        if let Some(clipped) = quick::clip(&x, &low, &high) {
            return clipped;
        }
    }
    or_numpy("clip", args, kwargs, || {
        let [a, low, high, out, min, max] = bind(["a", "a_min", "a_max", "out", "min", "max"], args, kwargs)?;
        if args.len() > 4 || (low.is_some() && min.is_some()) || (high.is_some() && max.is_some()) {
            return Err(Stop::ToNumpy);
        }
        let a = Input::from_py(&a.ok_or(Stop::ToNumpy)?)?.resolve(py)?;
        let out = reduction_out(given(&out))?;
        clip_between(py, a, limit(py, &low.or(min))?, limit(py, &high.or(max))?, out)
    })
}

/// The method `ndarray.clip(min=None, max=None, out=None)`.
#[pymethods]
impl NdArray {
    #[pyo3(signature = (*args, **kwargs))]
    fn clip<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let native = || -> Native<Py<PyAny>> {
            let [min, max, out] = bind(["min", "max", "out"], args, kwargs)?;
            let a = Input::from_py(slf.as_any())?.resolve(py)?;
            clip_between(py, a, limit(py, &min)?, limit(py, &max)?, reduction_out(given(&out))?)
        };
        match native() {
            Ok(r) => Ok(r),
            Err(Stop::Raise(e)) => Err(e),
            Err(Stop::ToNumpy) => {
                let all: Vec<_> = std::iter::once(slf.as_any().clone()).chain(args.iter()).collect();
                call_numpy(py, "ndarray", Some("clip"), &PyTuple::new(py, all)?, kwargs)
            }
        }
    }
}

fn clip_between<'py>(
    py: Python<'py>,
    a: Input<'py>,
    low: Option<Input<'py>>,
    high: Option<Input<'py>>,
    out: Option<Bound<'py, NdArray>>,
) -> Native<Py<PyAny>> {
    let types: SmallVec<[ArgType; 3]> = std::iter::once(&a).chain(&low).chain(&high).map(Input::arg_type).collect();
    let dtype = result_type(&types).filter(|&d| d != DType::Bool).ok_or(Stop::ToNumpy)?;
    // Every operand in the common type, so that neither step promotes by itself.
    let typed = |i: Input<'py>| -> Native<Input<'py>> {
        match i.array() {
            Some(x) => Ok(Input::Array(cast(py, x.clone(), dtype)?)),
            None => Ok(Input::Value(i.value(dtype)?)),
        }
    };
    let mut steps: SmallVec<[(ScalarOp, Input); 2]> = SmallVec::new();
    if let Some(l) = low {
        steps.push((ScalarOp::Maximum, typed(l)?));
    }
    if let Some(h) = high {
        steps.push((ScalarOp::Minimum, typed(h)?));
    }
    let Some((last_op, last)) = steps.pop() else { return Err(Stop::ToNumpy) };
    let mut at = typed(a)?;
    let twice = !steps.is_empty();
    for (op, bound) in steps {
        at = Input::Array(compute(py, op, &[at, bound])?);
    }
    match out {
        // What the first step has made already is there for the second to change.
        None if twice && matches!(last, Input::Value(_)) && at.array().is_some_and(record::is_ready) => {
            let Some(made) = at.array().cloned() else { return Err(Stop::ToNumpy) };
            compute_into(py, last_op, &[at, last], &made)?;
            Ok(handle::wrap_result(py, made)?)
        }
        None => Ok(handle::wrap_result(py, compute(py, last_op, &[at, last])?)?),
        Some(o) => {
            let array = handle::sized(&o)?;
            if !o.borrow().writeable {
                return Err(Stop::ToNumpy);
            }
            compute_into(py, last_op, &[at, last], &array)?;
            Ok(result(py, array, Some(o))?)
        }
    }
}

/// An array of ours that may be written.
fn destination(obj: Object<'_, '_>) -> Native<Array> {
    let dst = obj.cast::<NdArray>().map_err(|_| Stop::ToNumpy)?;
    if dst.borrow().writeable { Ok(handle::sized(dst)?) } else { Err(Stop::ToNumpy) }
}

/// Whether an assignment casts the source to `dtype` under the rule; Python numbers must fit.
fn may_assign(source: &Input<'_>, dtype: DType, casting: Casting) -> bool {
    match source.arg_type() {
        ArgType::Strong(d) => can_cast(d, dtype, casting),
        ArgType::WeakInt => dtype != DType::Bool,
        ArgType::WeakFloat => dtype.is_inexact(),
        ArgType::WeakComplex => dtype.is_complex(),
    }
}

/// `dst[...] = source` where `mask`.
fn assign(py: Python<'_>, dst: &Array, source: &Input<'_>, mask: Option<&Array>) -> Native<()> {
    let fits = |a: &Array| a.view.broadcast_to(&dst.view.shape).is_some();
    if !source.array().is_none_or(fits) || !mask.is_none_or(fits) {
        return Err(Stop::ToNumpy);
    }
    let operand = source.operand(dst.view.dtype)?;
    source.array().map_or(Ok(()), |a| warn_complex(py, a.view.dtype, dst.view.dtype))?;
    let watch = Watch::new(py);
    let flags = record::map(MapOp::Copy, &[operand], &[dst], mask, || watch.here()).map_err(|e| failed(py, e))?;
    Ok(watch.finish(flags, "cast", dst)?)
}

/// `copyto(dst, src, casting='same_kind', where=True)`.
#[pyfunction]
#[pyo3(signature = (*args, **kwargs))]
fn copyto<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
    let py = args.py();
    or_numpy("copyto", args, kwargs, || {
        let [dst, src, casting, place] = bind(["dst", "src", "casting", "where"], args, kwargs)?;
        let (Some(dst), Some(src)) = (dst, src) else { return Err(Stop::ToNumpy) };
        let casting = match given(&casting) {
            Some(c) => c.extract::<String>().ok().and_then(|s| Casting::from_name(&s)).ok_or(Stop::ToNumpy)?,
            None => Casting::SameKind,
        };
        let dst = destination(&dst)?;
        let source = Input::from_py(&src)?.resolve(py)?;
        if !may_assign(&source, dst.view.dtype, casting) {
            return Err(Stop::ToNumpy);
        }
        let place = given(&place).map(mask).transpose()?.flatten();
        assign(py, &dst, &source, place.as_ref())?;
        Ok(py.None())
    })
}

/// `putmask(a, mask, values)`: values of another size are repeated.
#[pyfunction]
#[pyo3(signature = (*args, **kwargs))]
fn putmask<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
    let py = args.py();
    or_numpy("putmask", args, kwargs, || {
        let [a, place, values] = bind(["a", "mask", "values"], args, kwargs)?;
        let (Some(a), Some(place), Some(values)) = (a, place, values) else { return Err(Stop::ToNumpy) };
        let dst = destination(&a)?;
        let place = truth(py, &place)?;
        let values = Input::from_py(&values)?.resolve(py)?;
        if place.view.shape != dst.view.shape || !may_assign(&values, dst.view.dtype, Casting::Safe) {
            return Err(Stop::ToNumpy);
        }
        let values = match values.array().map(|v| v.view.size()) {
            Some(0) => return Ok(py.None()),
            Some(1) | None => values,
            Some(_) if values.array().is_some_and(|v| v.view.shape == dst.view.shape) => values,
            Some(_) => Input::Array(repeated(py, values.array().ok_or(Stop::ToNumpy)?, &dst)?),
        };
        let single = values.array().filter(|v| v.view.size() == 1).cloned();
        let values = match single {
            Some(v) => {
                Input::Array(v.with_view(View { shape: SmallVec::new(), strides: SmallVec::new(), ..v.view.clone() }))
            }
            None => values,
        };
        assign(py, &dst, &values, Some(&place))?;
        Ok(py.None())
    })
}

/// The values over and over in C order, in the shape of `like`.
fn repeated(py: Python<'_>, values: &Array, like: &Array) -> Native<Array> {
    let flat = flattened(py, values)?;
    let (n, size) = (flat.view.size(), like.view.size());
    let rows = size.div_ceil(n);
    let at = || provenance::here(py);
    let grid = record::empty(flat.view.dtype, &[rows, n], Order::C, at).map_err(|e| failed(py, e))?;
    record::map(MapOp::Copy, &[Operand::Array(&flat)], &[&grid], None, at).map_err(|e| failed(py, e))?;
    Ok(grid.with_view(View::dense(flat.view.dtype, &like.view.shape, Order::C)))
}

pub fn register(_py: Python<'_>, m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(where_, m)?)?;
    m.add_function(wrap_pyfunction!(clip, m)?)?;
    m.add_function(wrap_pyfunction!(copyto, m)?)?;
    m.add_function(wrap_pyfunction!(putmask, m)?)
}
