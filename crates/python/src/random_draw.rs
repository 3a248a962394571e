//! Draws from a stream: arguments to parameters, and the operation that makes the array. What is asked in another
//! way, or wrongly, is left to NumPy (`Unsupported`): nothing was drawn then, and it draws from the same state.

use crate::handle::{self, NdArray};
use crate::index::check_new_size;
use crate::numpy_api::api;
use crate::random::{BitStream, KeptNormal};
use crate::random_few;
use crate::random_later::Later;
use crate::random_parameters::{parameters, shape_of};
use crate::{convert, errors, provenance};
use errors::Unsupported;
use numloom_ir::view::Order;
use numloom_ir::{DType, Dims, Value};
use numloom_library::{LibraryOp, RawView};
use numloom_random::ahead::{self, Ahead};
use numloom_random::bounded::{Bounded, Buffer, Width};
use numloom_random::draw::{OneByOne, Parameter, each};
use numloom_random::fixed::{Fill, Fixed};
use numloom_random::pass::Pass;
use numloom_random::rare::{Rare, is_apt};
use numloom_random::samplers::{ExponentialF32, Narrow, NormalF32, OfExponential, OfNormal, OfUniform, Sampler, Wide};
use numloom_random::split::Split;
use numloom_random::table::{Distribution, Draw, Element, ROWS, Values};
use numloom_random::{After, BitGen, Bits, with_bits};
use numloom_runtime::{Array, record};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::marker::PhantomData;

type Object<'a, 'py> = &'a Bound<'py, PyAny>;

#[cold]
pub fn to_numpy(why: &'static str) -> PyErr {
    Unsupported::new_err(why)
}

/// Something that errors of any kind leave to NumPy.
pub fn or_numpy<T>(result: PyResult<T>) -> PyResult<T> {
    result.map_err(|_| to_numpy("NumPy words it"))
}

/// A new dense array for a draw.
pub fn new_array(py: Python<'_>, shape: &[usize], dtype: DType) -> PyResult<Array> {
    if let Some(small) = record::small_room(dtype, shape.into()) {
        return Ok(small);
    }
    or_numpy(check_new_size(shape, dtype))?;
    record::empty(dtype, shape, Order::C, || provenance::here(py)).map_err(|e| errors::raise(py, e))
}

/// Elements up to which a draw is sooner made than recorded.
const FEW: usize = 4096;

/// Draws into `out`: now, if it is little and nothing is to be drawn before it, or else when its turn comes.
pub fn draw(
    py: Python<'_>,
    stream: &BitStream,
    out: &Array,
    op: impl FnOnce(BitGen, After) -> Box<dyn LibraryOp> + Send + 'static,
) -> PyResult<()> {
    if stream.is_foreign() || out.view.size() <= FEW && !stream.owes() {
        return draw_now(py, stream, out, op);
    }
    errors::collect_if_tight(py);
    stream.owing(py, |chain| {
        let later = Box::new(Later::new(chain.clone(), op));
        let recorded = record::library(later, &[&chain.cell], &[out, &chain.cell], || provenance::here(py));
        recorded.map(|_| ()).map_err(|e| errors::raise(py, e))
    })
}

/// Runs an operation on the stream now and moves the stream to where it ended. Signals wait until it has, as NumPy's
/// loops let them wait: a handler that draws from the same stream goes on behind the draw that it interrupts.
pub fn draw_now(
    py: Python<'_>,
    stream: &BitStream,
    out: &Array,
    op: impl FnOnce(BitGen, After) -> Box<dyn LibraryOp>,
) -> PyResult<()> {
    errors::collect_if_tight(py);
    let mut waited = false;
    let recorded = stream.locked(py, |state| {
        let after = After::default();
        let op = op(state.clone(), after.clone());
        let recorded = record::library(op, &[], &[out], || provenance::here(py));
        if !out.store.is_idle() {
            waited = true;
            errors::detached(py, || record::wait_until_idle(&out.store));
        }
        if let Some(end) = after.lock().take() {
            *state = end;
        }
        recorded
    })?;
    recorded.map_err(|e| errors::raise(py, e))?;
    // Something else that failed is raised here too; the draw counts all the same.
    if waited { errors::sync(py, out) } else { Ok(()) }
}

/// An operation of the stream's own type, boxed.
macro_rules! boxed {
    ($state:expr, $bits:ident => $op:expr) => {{
        let mut state = $state;
        with_bits!(&mut state, b => {
            let $bits = b.clone();
            Box::new($op) as Box<dyn LibraryOp>
        })
    }};
}
pub(crate) use boxed;

/// Fills `out`: at once the state is moved on, if the stream jumps, and the numbers come later.
pub fn fill(py: Python<'_>, stream: &BitStream, what: Fixed, out: &Array) -> PyResult<()> {
    if !stream.jumps {
        return draw(py, stream, out, move |state, after| boxed!(state, bits => Fill::new(what, bits, after)));
    }
    if stream.owes() {
        let n = out.view.size();
        return draw(py, stream, out, move |state, after| {
            let mut end = state.clone();
            with_bits!(&mut end, b => what.skip(b, n));
            *after.lock() = Some(end);
            boxed!(state, bits => Fill::new(what, bits, After::default()))
        });
    }
    stream.locked(py, |state| {
        let op = boxed!(state.clone(), bits => Fill::new(what, bits, After::default()));
        record::library(op, &[], &[out], || provenance::here(py)).map_err(|e| errors::raise(py, e))?;
        with_bits!(state, b => what.skip(b, out.view.size()));
        Ok(())
    })?
}

fn split<S: Sampler>(py: Python<'_>, stream: &BitStream, sampler: S, rate: f64, out: &Array) -> PyResult<()> {
    draw(py, stream, out, move |state, after| boxed!(state, bits => Split::new(sampler, bits, rate, after)))
}

/// Where a draw goes: a number, a new array, or one that was given.
enum Target<'py> {
    Number,
    New(Dims),
    Given(Bound<'py, NdArray>),
}

fn target<'py>(size: Option<Object<'_, 'py>>, out: Option<Object<'_, 'py>>, dtype: DType) -> PyResult<Target<'py>> {
    let size = size.filter(|s| !s.is_none());
    let Some(out) = out.filter(|o| !o.is_none()) else {
        return Ok(match size {
            None => Target::Number,
            Some(s) => Target::New(shape_of(s)?),
        });
    };
    let given = or_numpy(out.cast::<NdArray>().map_err(PyErr::from))?;
    let array = handle::sized(given)?;
    let fits = given.borrow().writeable && array.view.dtype == dtype && array.view.is_c_contiguous();
    let same = match size {
        None => true,
        Some(s) => shape_of(s)? == array.view.shape,
    };
    if fits && same { Ok(Target::Given(given.clone())) } else { Err(to_numpy("out does not fit")) }
}

/// The standard distributions of `Generator` and `RandomState` that take no parameters, by name.
#[pyfunction]
#[pyo3(signature = (stream, name, size=None, dtype=None, out=None))]
pub fn draw_standard<'py>(
    stream: &Bound<'py, BitStream>,
    name: &str,
    size: Option<Object<'_, 'py>>,
    dtype: Option<Object<'_, 'py>>,
    out: Option<Object<'_, 'py>>,
) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let stream = stream.get();
    let single = match or_numpy(convert::dtype_option(dtype))? {
        None | Some(DType::F64) => false,
        Some(DType::F32) => true,
        Some(_) => return Err(to_numpy("dtype")),
    };
    let dtype = if single { DType::F32 } else { DType::F64 };
    let (array, given) = match target(size, out, dtype)? {
        Target::Number => {
            let x = stream.locked(py, |state| with_bits!(state, b => random_few::standard_number(b, name, single)))?;
            return Ok(x.ok_or_else(|| to_numpy("name"))?.into_pyobject(py)?.into_any().unbind());
        }
        Target::New(shape) => (new_array(py, &shape, dtype)?, None),
        Target::Given(given) => (handle::sized(&given)?, Some(given)),
    };
    let drawn = random_few::standard(py, stream, name, single, &array)?.is_some();
    match (name, single) {
        _ if drawn => {}
        ("random", false) => fill(py, stream, Fixed::F64, &array)?,
        ("random", true) => fill(py, stream, Fixed::F32, &array)?,
        ("exponential_inv", false) => fill(py, stream, Fixed::Exponential, &array)?,
        ("exponential_inv", true) => fill(py, stream, Fixed::ExponentialF32, &array)?,
        ("normal", false) => split(py, stream, OfNormal::Itself, NORMAL_RATE, &array)?,
        ("normal", true) => split(py, stream, NormalF32, NORMAL_RATE, &array)?,
        ("exponential", false) => split(py, stream, OfExponential::Itself, EXPONENTIAL_RATE, &array)?,
        ("exponential", true) => split(py, stream, ExponentialF32, EXPONENTIAL_RATE, &array)?,
        _ => return Err(to_numpy("name")),
    }
    match given {
        Some(g) => Ok(g.into_any().unbind()),
        None => handle::wrap(py, array),
    }
}

/// A little more than the words that an element takes on average.
const NORMAL_RATE: f64 = 1.03;
const EXPONENTIAL_RATE: f64 = 1.04;

/// The rows of the table by name, for the methods to be made of: (name, place).
#[pyfunction]
pub fn distribution_rows() -> Vec<(&'static str, usize)> {
    ROWS.iter().enumerate().map(|(k, row)| (row.name, k)).collect()
}

/// Draws from the distribution in row `row`, with the arguments of its method.
#[pyfunction]
#[pyo3(signature = (stream, kept, row, args, kwargs))]
pub fn draw_distribution<'py>(
    stream: &Bound<'py, BitStream>,
    kept: Option<&Bound<'py, KeptNormal>>,
    row: usize,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let row = ROWS.get(row).ok_or_else(|| to_numpy("row"))?;
    let (params, shape) = parameters(py, row, args, kwargs)?;
    let kept = kept.map(|k| k.get());
    let stream = stream.get();
    let Some(shape) = shape else {
        let mut values = Values::default();
        each(&params, &[], |v| {
            values = *v;
            true
        });
        let element = stream.locked(py, |state| {
            let mut kept = kept.map(|kept| kept.0.lock());
            with_bits!(state, b => {
                let mut draw = Draw::new(b, kept.as_deref().copied().unwrap_or_default());
                let element = row.kind.draw(&mut draw, &values);
                if let Some(kept) = &mut kept {
                    **kept = draw.kept;
                }
                element
            })
        })?;
        return Ok(match element {
            Element::F(x) => x.into_pyobject(py)?.into_any().unbind(),
            Element::I(x) => x.into_pyobject(py)?.into_any().unbind(),
        });
    };
    let out = new_array(py, &shape, if row.integer { DType::I64 } else { DType::F64 })?;
    if random_few::row(py, stream, kept, row.kind, &params, &out)?.is_some() {
        return handle::wrap(py, out);
    }
    let numbers: Option<Vec<f64>> =
        params.iter().map(|p| if let Parameter::F(x) = p { Some(*x) } else { None }).collect();
    let drawn = match numbers {
        Some(numbers) => draw_at_once(py, stream, row.kind, &numbers, &out)?,
        None => None,
    };
    if drawn.is_none() {
        one_by_one(py, stream, kept, row.kind, params.into_vec(), &out)?;
    }
    handle::wrap(py, out)
}

/// The distributions that are better not drawn one by one, with parameters that are numbers.
fn draw_at_once(
    py: Python<'_>,
    stream: &BitStream,
    kind: Distribution,
    p: &[f64],
    out: &Array,
) -> PyResult<Option<()>> {
    use Distribution as D;
    match kind {
        D::Uniform | D::LegacyUniform => fill(py, stream, Fixed::Uniform { low: p[0], range: p[1] - p[0] }, out)?,
        D::LegacyExponential => fill(py, stream, Fixed::LegacyExponential { scale: p[0] }, out)?,
        D::Normal => split(py, stream, OfNormal::Affine { loc: p[0], scale: p[1] }, NORMAL_RATE, out)?,
        D::Lognormal => split(py, stream, OfNormal::Exp { mean: p[0], sigma: p[1] }, NORMAL_RATE, out)?,
        D::Exponential => split(py, stream, OfExponential::Scaled { scale: p[0] }, EXPONENTIAL_RATE, out)?,
        D::Rayleigh => split(py, stream, OfExponential::Rayleigh { scale: p[0] }, EXPONENTIAL_RATE, out)?,
        D::Pareto => split(py, stream, OfExponential::Pareto { a: p[0] }, EXPONENTIAL_RATE, out)?,
        D::Weibull if p[0] != 0.0 => split(py, stream, OfExponential::Weibull { a: p[0] }, EXPONENTIAL_RATE, out)?,
        D::Power => split(py, stream, OfExponential::Power { a: p[0] }, EXPONENTIAL_RATE, out)?,
        D::Laplace => split(py, stream, OfUniform::Laplace { loc: p[0], scale: p[1] }, 1.001, out)?,
        D::Gumbel => split(py, stream, OfUniform::Gumbel { loc: p[0], scale: p[1] }, 1.001, out)?,
        D::Logistic => split(py, stream, OfUniform::Logistic { loc: p[0], scale: p[1] }, 1.001, out)?,
        _ => return Ok(None),
    }
    Ok(Some(()))
}

fn one_by_one(
    py: Python<'_>,
    stream: &BitStream,
    kept: Option<&KeptNormal>,
    what: Distribution,
    params: Vec<Parameter>,
    out: &Array,
) -> PyResult<()> {
    let kept = kept.map(|kept| kept.0.clone()).unwrap_or_default();
    draw(py, stream, out, move |state, after| boxed!(state, bits => OneByOne { what, params, bits, after, kept }))
}

/// Integers in [low, low + range] of `dtype`; `masked` as `RandomState` does it. Without a size, a NumPy scalar.
#[pyfunction]
#[pyo3(signature = (stream, low, range, dtype, masked, size=None))]
pub fn draw_integers<'py>(
    stream: &Bound<'py, BitStream>,
    low: Object<'_, 'py>,
    range: u64,
    dtype: Object<'_, 'py>,
    masked: bool,
    size: Option<Object<'_, 'py>>,
) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let stream = stream.get();
    let dtype = or_numpy(convert::dtype_from_py(dtype))?;
    let width = match dtype {
        DType::Bool => Width::Bit,
        DType::I8 | DType::U8 => Width::W8,
        DType::I16 | DType::U16 => Width::W16,
        DType::I32 | DType::U32 => Width::W32,
        DType::I64 | DType::U64 => Width::W64,
        _ => return Err(to_numpy("dtype")),
    };
    let low = low.extract::<i64>().map(|low| low as u64).or_else(|_| low.extract())?;
    let bounded = Bounded { width, range, masked };
    let Some(size) = size.filter(|s| !s.is_none()) else {
        let x = stream.locked(py, |state| with_bits!(state, b => bounded.draw(b, &mut Buffer::default())))?;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&low.wrapping_add(x).to_le_bytes());
        return api(py).make_scalar(py, &Value { dtype, bytes });
    };
    let out = new_array(py, &shape_of(size)?, dtype)?;
    if random_few::integers(py, stream, low, bounded, &out)?.is_some() {
    } else if bounded.is_fixed() {
        fill(py, stream, Fixed::Bounded { low, bounded }, &out)?;
    } else if matches!(width, Width::W64 | Width::W32) && rare(py, stream, low, bounded, &out)? {
    } else if matches!(width, Width::W64 | Width::W32) {
        // Where many words are rejected, tiles would have little in common with their guesses.
        let rate = bounded.rejects().map_or(1.001, |r| 1.001 / (1.0 - r as f64 / 4294967296.0));
        match (bounded.is_narrow(), dtype.size()) {
            (true, 8) => split(py, stream, Narrow::<u64> { low, bounded, out: PhantomData }, rate * 1.01, &out)?,
            (true, _) => split(py, stream, Narrow::<u32> { low, bounded, out: PhantomData }, rate * 1.01, &out)?,
            (false, _) => split(py, stream, Wide { low, bounded }, rate * if masked { 2.0 } else { 1.01 }, &out)?,
        }
    } else {
        draw(py, stream, &out, move |state, after| {
            // SAFETY: the elements are the view's.
            boxed!(state, bits => unsafe { Pass::new(bits, after, move |b, view| parts(b, low, bounded, view)) })
        })?;
    }
    handle::wrap(py, out)
}

/// Draws integers of which hardly any word is rejected; false for others.
fn rare(py: Python<'_>, stream: &BitStream, low: u64, bounded: Bounded, out: &Array) -> PyResult<bool> {
    let range = bounded.range;
    if !is_apt(&bounded, out.view.size()) {
        return Ok(false);
    }
    let size = out.view.dtype.size();
    draw(py, stream, out, move |state, after| match (bounded.is_narrow(), size) {
        (true, 8) => boxed!(state, bits => Rare::<u64, _, false>::new(low, range, bits, after)),
        (true, _) => boxed!(state, bits => Rare::<u32, _, false>::new(low, range, bits, after)),
        (false, _) => boxed!(state, bits => Rare::<u64, _, true>::new(low, range, bits, after)),
    })?;
    Ok(true)
}

/// Integers that share words: of 16 or 8 bits.
///
/// # Safety
/// The view is dense, and nobody else touches its elements.
unsafe fn parts<B: Bits>(bits: &mut B, low: u64, bounded: Bounded, view: &RawView) {
    if B::COPIES {
        let mut words = ahead::Narrow::new(bits);
        parts_of(&mut words, low, bounded, view);
        *bits = words.finish();
    } else {
        parts_of(bits, low, bounded, view);
    }
}

unsafe fn parts_of<B: Bits>(bits: &mut B, low: u64, bounded: Bounded, view: &RawView) {
    let n: usize = view.shape.iter().product();
    if view.dtype.size() == 2 {
        bounded.fill_parts(bits, low, std::slice::from_raw_parts_mut(view.ptr as *mut u16, n));
    } else {
        bounded.fill_parts(bits, low, std::slice::from_raw_parts_mut(view.ptr, n));
    }
}

/// Raw words, as uint64.
#[pyfunction]
pub fn draw_raw<'py>(stream: &Bound<'py, BitStream>, size: Object<'_, 'py>) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let out = new_array(py, &shape_of(size)?, DType::U64)?;
    fill(py, stream.get(), Fixed::Raw, &out)?;
    handle::wrap(py, out)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(draw_standard, m)?)?;
    m.add_function(wrap_pyfunction!(distribution_rows, m)?)?;
    m.add_function(wrap_pyfunction!(draw_distribution, m)?)?;
    m.add_function(wrap_pyfunction!(draw_integers, m)?)?;
    m.add_function(wrap_pyfunction!(draw_raw, m)?)
}
