//! Means and spreads: sums divided by counts, all deferred so that the passes can fuse.

use super::{Object, Params, input};
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::ufunc::arguments::{Axes, Bound1, flag, given, strict_axes};
use crate::ufunc::call::{compute, compute_into};
use crate::ufunc::input::{Input, Native, Stop, failed};
use crate::ufunc::products::cast;
use crate::ufunc::reduction::{Fold, Initial, fold, fold_all, reduction_mask, reduction_out, result};
use crate::ufunc::resolve::loop_for;
use crate::{convert, provenance};
use numloom_ir::promote::ArgType;
use numloom_ir::{DType, Dims, ScalarOp, Value};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use std::ffi::CStr;

/// How many elements each result of a reduction is made of.
enum Count {
    Same(usize),
    /// Under `where=`: counted, with the reduced axes as extents of 1.
    Each(Array),
}

impl Count {
    fn of(py: Python<'_>, input: &Array, axes: &Axes, mask: Option<&Array>) -> Native<Count> {
        let Some(mask) = mask else {
            return Ok(Count::Same(axes.iter().map(|&a| input.view.shape[a]).product()));
        };
        let spread = mask.with_view(mask.view.broadcast_to(&input.view.shape).ok_or(Stop::ToNumpy)?);
        let f = Fold { axes: axes.clone(), dtype: Some(DType::I64), keepdims: true, ..Fold::default() };
        Ok(Count::Each(fold(py, ScalarOp::Add, &spread, &f)?))
    }

    /// Less the degrees of freedom taken away, not below zero.
    fn less(self, py: Python<'_>, ddof: f64) -> Native<Divisor> {
        Ok(match self {
            Count::Same(n) => Divisor::Same((n as f64 - ddof).max(0.0)),
            Count::Each(n) if ddof == 0.0 => Divisor::Each(n),
            Count::Each(n) => {
                let rest = compute(py, ScalarOp::Subtract, &[Input::Array(n), Input::Float(ddof)])?;
                Divisor::Each(compute(py, ScalarOp::Maximum, &[Input::Array(rest), Input::Float(0.0)])?)
            }
        })
    }
}

enum Divisor {
    Same(f64),
    Each(Array),
}

impl Divisor {
    /// Warns where nothing is left to divide by. Counts under `where=` must be computed for that.
    fn warn_if_zero(&self, py: Python<'_>, text: &CStr) -> Native<()> {
        let zero = match self {
            Divisor::Same(n) => *n == 0.0,
            Divisor::Each(n) => {
                let none = compute(py, ScalarOp::LessEqual, &[Input::Array(n.clone()), Input::Int(0)])?;
                let any = fold_all(py, ScalarOp::LogicalOr, &none)?;
                convert::value_of(py, &any)?.to_i128() != 0
            }
        };
        if zero {
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), text, 1)?;
        }
        Ok(())
    }
}

/// The type that a sum is divided by a count in. NumPy's is the one of doubles and the sum; the sum's own gives the same
/// where it holds the count exactly and has half the digits of doubles.
fn division_type(sum: DType, divisor: &Divisor) -> DType {
    let exact = matches!(divisor, Divisor::Same(n) if f64::from(*n as f32) == *n);
    match sum {
        DType::F16 => DType::F64,
        DType::F32 if !exact => DType::F64,
        DType::C64 if !exact => DType::C128,
        _ => sum,
    }
}

/// `total / divisor` in `dtype` (an unsafe cast, as NumPy's), into `out` or a new array.
/// `total` may have its reduced axes as extents of 1 that `out` lacks only if the divisor is one number.
fn quotient(py: Python<'_>, total: &Array, divisor: &Divisor, dtype: DType, out: Option<Array>) -> Native<Array> {
    // A number is cast to a whole one in a step of its own, with warnings of its own.
    if dtype.is_integer() && out.is_none() && total.view.ndim() == 0 {
        let wide = quotient(py, total, divisor, DType::F64, None)?;
        return Ok(cast(py, wide, dtype)?);
    }
    let weak = match divisor {
        Divisor::Same(_) => ArgType::WeakFloat,
        Divisor::Each(n) => ArgType::Strong(n.view.dtype),
    };
    let lp = match total.view.dtype {
        d if d.is_inexact() => {
            let d = ArgType::Strong(division_type(d, divisor));
            loop_for(ScalarOp::Divide, &[d, d])
        }
        d => loop_for(ScalarOp::Divide, &[ArgType::Strong(d), weak]),
    };
    let lp = lp.ok_or(Stop::ToNumpy)?;
    let loop_type = ScalarOp::Divide.loops()[lp as usize].ins()[1];
    let second = match divisor {
        Divisor::Same(n) => Operand::Value(Value::from_f64(loop_type, *n)),
        Divisor::Each(n) => Operand::Array(n),
    };
    let array = match out {
        Some(o) => o,
        None => record::empty_view(total.view.dense_like(dtype), || provenance::here(py)).map_err(|e| failed(py, e))?,
    };
    let watch = Watch::new(py);
    let op = MapOp::Scalar { op: ScalarOp::Divide, lp };
    let flags = record::map(op, &[Operand::Array(total), second], &[&array], None, || watch.here());
    // NumPy's numbers divide by a count as arrays do, but for those that are Python's.
    let of_numbers = match total.view.dtype {
        DType::F64 | DType::C128 => true,
        d => d.is_integer() && d != DType::U64,
    };
    let is_number = array.view.ndim() == 0 && of_numbers;
    let name = if is_number { "scalar divide" } else { "divide" };
    watch.finish(flags.map_err(|e| failed(py, e))?, name, &array)?;
    Ok(array)
}

/// The type a mean is summed in, and the type of the result. Only plain means sum halves in single precision.
fn mean_types(input: DType, dtype: Option<DType>, spread: bool) -> (DType, DType) {
    match (dtype, input) {
        (Some(d), _) => (d, d),
        (None, DType::F16) if !spread => (DType::F32, DType::F16),
        (None, d) if d.is_inexact() => (d, d),
        _ => (DType::F64, DType::F64),
    }
}

/// Drops axes of extent 1 that a reduction with `keepdims` left.
fn without_axes(array: Array, axes: &[usize]) -> Array {
    let mut view = array.view.clone();
    for &a in axes.iter().rev() {
        view = view.squeeze(a);
    }
    array.with_view(view)
}

/// `out=` as an array with the reduced axes put back.
fn spread_out(out: &Bound<'_, NdArray>, axes: &[usize], keepdims: bool, want: &Dims) -> Native<Array> {
    let array = handle::sized(out)?;
    let mut view = array.view.clone();
    if !keepdims {
        for &a in axes {
            if a > view.ndim() {
                return Err(Stop::ToNumpy);
            }
            view = view.expand(a);
        }
    }
    if view.shape != *want || !out.borrow().writeable { Err(Stop::ToNumpy) } else { Ok(array.with_view(view)) }
}

/// What `mean` and `var` share: the input, where it is reduced, and where the result goes.
struct Moments<'py> {
    input: Array,
    axes: Axes,
    keepdims: bool,
    mask: Option<Array>,
    out: Option<Bound<'py, NdArray>>,
    /// Summed in, and answered in.
    types: (DType, DType),
}

impl<'py> Moments<'py> {
    fn read(
        x: Object<'_, 'py>,
        [axis, dtype, out, keepdims, place]: [&Bound1<'py>; 5],
        spread: bool,
    ) -> Native<Moments<'py>> {
        let py = x.py();
        let input = input(x)?;
        let (dtype, out) = (convert::dtype_option(given(dtype))?, reduction_out(given(out))?);
        let types = mean_types(input.view.dtype, dtype, spread);
        // NumPy sums in the output's type, and rounds a variance to whole numbers where it is told to.
        let natural = if spread && types.1.is_complex() { types.1.real() } else { types.1 };
        let other_out = out.as_ref().is_some_and(|o| o.borrow().array.view.dtype != natural);
        if other_out || spread && dtype.is_some_and(|d| d.is_complex() || !d.is_inexact()) {
            return Err(Stop::ToNumpy);
        }
        Ok(Moments {
            axes: strict_axes(py, given(axis), input.view.ndim())?,
            keepdims: flag(keepdims.as_ref())?,
            mask: reduction_mask(place.as_ref(), &input)?,
            out,
            types,
            input,
        })
    }

    /// The sum with the reduced axes kept.
    fn total(&self, py: Python<'py>, of: &Array, dtype: DType) -> Native<Array> {
        let f = Fold {
            axes: self.axes.clone(),
            dtype: Some(dtype),
            keepdims: true,
            mask: self.mask.clone(),
            initial: Initial::Identity,
            out: None,
        };
        fold(py, ScalarOp::Add, of, &f)
    }

    /// The quotient in the result's shape, as the object to return.
    fn answer(self, py: Python<'py>, total: &Array, divisor: &Divisor, root: bool) -> Native<Py<PyAny>> {
        let kept = total.view.shape.clone();
        let target = match &self.out {
            Some(o) => Some(spread_out(o, &self.axes, self.keepdims, &kept)?),
            None => None,
        };
        let target_given = target.clone();
        let direct = target.filter(|_| !root);
        // A whole reduction becomes a scalar, which is divided as one.
        let squeezed = self.out.is_none() && !self.keepdims && matches!(divisor, Divisor::Same(_));
        let (total, axes) = if squeezed {
            (without_axes(total.clone(), &self.axes), Axes::new())
        } else {
            (total.clone(), self.axes.clone())
        };
        // The total of real types answers in `types.1`; a variance of complex numbers is real already.
        let dtype = if total.view.dtype == self.types.0 { self.types.1 } else { total.view.dtype };
        let mut array = quotient(py, &total, divisor, dtype, direct)?;
        if root {
            array = self.rooted(py, array, target_given)?;
        }
        if self.out.is_none() && !self.keepdims {
            array = without_axes(array, &axes);
        }
        Ok(result(py, array, self.out)?)
    }

    fn rooted(&self, py: Python<'py>, variance: Array, target: Option<Array>) -> Native<Array> {
        match target {
            None => compute(py, ScalarOp::Sqrt, &[Input::Array(variance)]),
            Some(t) => {
                compute_into(py, ScalarOp::Sqrt, &[Input::Array(variance)], &t)?;
                Ok(t)
            }
        }
    }
}

pub fn mean<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    let py = x.py();
    let m = Moments::read(x, [&p[0], &p[1], &p[2], &p[3], &p[4]], false)?;
    let divisor = Count::of(py, &m.input, &m.axes, m.mask.as_ref())?.less(py, 0.0)?;
    divisor.warn_if_zero(py, c"Mean of empty slice")?;
    let total = m.total(py, &m.input, m.types.0)?;
    m.answer(py, &total, &divisor, false)
}

/// The squared distance from the mean: real for complex numbers too.
fn squared(py: Python<'_>, d: Array) -> Native<Array> {
    let dtype = d.view.dtype;
    if !dtype.is_complex() {
        return compute(py, ScalarOp::Square, &[Input::Array(d)]);
    }
    let part = |offset: usize| {
        let mut v = d.view.clone();
        v.dtype = dtype.real();
        v.offset += offset;
        Input::Array(d.with_view(v))
    };
    let re = compute(py, ScalarOp::Square, &[part(0)])?;
    let im = compute(py, ScalarOp::Square, &[part(dtype.real().size())])?;
    compute(py, ScalarOp::Add, &[Input::Array(re), Input::Array(im)])
}

fn spread<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>, root: bool) -> Native<Py<PyAny>> {
    let py = x.py();
    let [axis, dtype, out, ddof, keepdims, place, mean, correction] = p else { return Err(Stop::ToNumpy) };
    if given(mean).is_some() {
        return Err(Stop::ToNumpy);
    }
    let ddof = match (given(ddof), given(correction)) {
        (None, None) => 0.0,
        (Some(d), None) | (None, Some(d)) => d.extract::<f64>().map_err(|_| Stop::ToNumpy)?,
        _ => return Err(Stop::ToNumpy),
    };
    let m = Moments::read(x, [axis, dtype, out, keepdims, place], true)?;
    let whole = Count::of(py, &m.input, &m.axes, m.mask.as_ref())?;
    let (count, divisor) = match whole {
        Count::Same(n) => (Divisor::Same(n as f64), Count::Same(n).less(py, ddof)?),
        Count::Each(n) => (Divisor::Each(n.clone()), Count::Each(n).less(py, ddof)?),
    };
    divisor.warn_if_zero(py, c"Degrees of freedom <= 0 for slice")?;
    let total = m.total(py, &m.input, m.types.0)?;
    let centre = quotient(py, &total, &count, m.types.0, None)?;
    let distance = compute(py, ScalarOp::Subtract, &[Input::Array(m.input.clone()), Input::Array(centre)])?;
    let squares = squared(py, distance)?;
    let sum_type = if m.types.0.is_complex() { m.types.0.real() } else { m.types.0 };
    let total = m.total(py, &squares, sum_type)?;
    m.answer(py, &total, &divisor, root)
}

pub fn var<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    spread(x, p, false)
}

pub fn std<'py>(x: Object<'_, 'py>, p: Params<'_, 'py>) -> Native<Py<PyAny>> {
    spread(x, p, true)
}
