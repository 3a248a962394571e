//! Draws of whole rows (multinomial, Dirichlet, multivariate hypergeometric) and of orders (permutations, shuffles,
//! samples without replacement).

use crate::handle::{self, NdArray};
use crate::random::{BitStream, KeptNormal};
use crate::random_draw::{boxed, draw, draw_now, new_array, or_numpy, to_numpy};
use crate::random_few as few;
use crate::random_parameters::{dense, shape_of};
use crate::{convert, errors};
use numloom_ir::DType;
use numloom_library::{LibraryOp, RawView};
use numloom_random::binomial::{self, multinomial};
use numloom_random::draw::KeptAfter;
use numloom_random::gamma::{self, Normals, Ziggurat};
use numloom_random::hypergeometric;
use numloom_random::legacy::Polar;
use numloom_random::pass::Pass;
use numloom_random::shuffle;
use numloom_random::with_bits;
use numloom_runtime::record;
use pyo3::prelude::*;

type Object<'a, 'py> = &'a Bound<'py, PyAny>;

/// A 1-d argument as doubles.
fn doubles(obj: Object<'_, '_>) -> PyResult<Vec<f64>> {
    let array = or_numpy(convert::sized_array(obj))?;
    if array.view.ndim() != 1 || array.view.dtype.is_complex() {
        return Err(to_numpy("not a list of numbers"));
    }
    dense(obj.py(), &array, DType::F64)
}

/// The shape of rows of length `k`: `size` of them, or one.
fn shape_of_rows(size: Option<Object<'_, '_>>, k: usize) -> PyResult<numloom_ir::Dims> {
    let mut shape = size.filter(|s| !s.is_none()).map(shape_of).transpose()?.unwrap_or_default();
    shape.push(k);
    Ok(shape)
}

/// The rows of a dense view, each of length `k`.
///
/// # Safety
/// The view holds elements of `T`, and nobody else touches them.
unsafe fn rows<T>(view: &RawView, k: usize) -> std::slice::ChunksExactMut<'_, T> {
    let n: usize = view.shape.iter().product();
    std::slice::from_raw_parts_mut(view.ptr as *mut T, n).chunks_exact_mut(k)
}

/// `size` multinomials of `n` trials; the probabilities are checked.
#[pyfunction]
#[pyo3(signature = (stream, n, pvals, size, legacy = false))]
fn draw_multinomial<'py>(
    stream: &Bound<'py, BitStream>,
    n: i64,
    pvals: Object<'_, 'py>,
    size: Option<Object<'_, 'py>>,
    legacy: bool,
) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let p = doubles(pvals)?;
    let fits = n >= 0 && !p.is_empty() && p.iter().all(|x| (0.0..=1.0).contains(x));
    if !fits || compensated_sum(&p[..p.len() - 1]) > 1.0 + 1e-12 {
        return Err(to_numpy("pvals"));
    }
    let out = new_array(py, &shape_of_rows(size, p.len())?, DType::I64)?;
    draw(py, stream.get(), &out, move |state, after| {
        // SAFETY: the rows are the view's.
        boxed!(state, bits => unsafe { Pass::new(bits, after, move |b, view| {
            for row in rows::<i64>(view, p.len()) {
                row.fill(0);
                multinomial(b, n, &p, legacy, row);
            }
        }) })
    })?;
    handle::wrap(py, out)
}

/// Draws binomials as NumPy's generators do from 2.5 on.
#[pyfunction]
fn correct_binomials(on: bool) {
    binomial::correct_series(on);
}

/// Kahan's sum.
fn compensated_sum(x: &[f64]) -> f64 {
    let Some((&first, rest)) = x.split_first() else { return 0.0 };
    let (mut sum, mut lost) = (first, 0.0);
    for &x in rest {
        let y = x - lost;
        let t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    sum
}

/// `size` points of a simplex by the Dirichlet distribution; with a kept normal as `RandomState` does it.
#[pyfunction]
#[pyo3(signature = (stream, kept, alpha, size))]
fn draw_dirichlet<'py>(
    stream: &Bound<'py, BitStream>,
    kept: Option<&Bound<'py, KeptNormal>>,
    alpha: Object<'_, 'py>,
    size: Option<Object<'_, 'py>>,
) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let alpha = doubles(alpha)?;
    let legacy = kept.is_some();
    let fits = |&a: &f64| if legacy { a > 0.0 } else { a >= 0.0 };
    if alpha.is_empty() || !alpha.iter().all(fits) {
        return Err(to_numpy("alpha"));
    }
    let out = new_array(py, &shape_of_rows(size, alpha.len())?, DType::F64)?;
    let shared = kept.map_or_else(KeptAfter::default, |kept| kept.get().0.clone());
    draw(py, stream.get(), &out, move |state, after| {
        // SAFETY: the rows are the view's.
        boxed!(state, bits => unsafe { Pass::new(bits, after, move |b, view| {
            let mut kept = *shared.lock();
            for row in rows::<f64>(view, alpha.len()) {
                if legacy {
                    by_gammas(&mut Polar { bits: b, kept: &mut kept }, &alpha, row);
                } else {
                    dirichlet(&mut Ziggurat(b), &alpha, row);
                }
            }
            *shared.lock() = kept;
        }) })
    })?;
    handle::wrap(py, out)
}

/// Gammas over their sum.
fn by_gammas(n: &mut impl Normals, alpha: &[f64], row: &mut [f64]) {
    let mut sum = 0.0;
    for (x, &a) in row.iter_mut().zip(alpha) {
        *x = gamma::standard_gamma(n, a);
        sum += *x;
    }
    let over = 1.0 / sum;
    row.iter_mut().for_each(|x| *x *= over);
}

/// Small shapes break a stick by betas: their gammas could all be zero.
fn dirichlet(n: &mut impl Normals, alpha: &[f64], row: &mut [f64]) {
    if alpha.iter().any(|&a| a >= 0.1) {
        return by_gammas(n, alpha, row);
    }
    row.fill(0.0);
    let mut rest = vec![0.0; alpha.len()];
    let mut sum = 0.0;
    for (r, &a) in rest.iter_mut().zip(alpha).rev() {
        sum += a;
        *r = sum;
    }
    if sum <= 0.0 {
        return;
    }
    let (mut left, last) = (1.0, alpha.len() - 1);
    for j in 0..last {
        let part = gamma::beta(n, alpha[j], rest[j + 1]);
        row[j] = left * part;
        left *= 1.0 - part;
        if rest[j + 1] == 0.0 {
            break;
        }
    }
    row[last] = left;
}

/// `size` samples of `nsample` from an urn; the arguments are checked, and the colors have at most 10^9 balls.
#[pyfunction]
#[pyo3(signature = (stream, colors, nsample, size, by_count))]
fn draw_from_urn<'py>(
    stream: &Bound<'py, BitStream>,
    colors: Vec<i64>,
    nsample: i64,
    size: Option<Object<'_, 'py>>,
    by_count: bool,
) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let total = colors.iter().try_fold(0i64, |n, &c| if c < 0 { None } else { n.checked_add(c) });
    if colors.is_empty() || nsample < 0 || !total.is_some_and(|t| t < 1_000_000_000 && nsample <= t) {
        return Err(to_numpy("colors"));
    }
    let out = new_array(py, &shape_of_rows(size, colors.len())?, DType::I64)?;
    draw(py, stream.get(), &out, move |state, after| {
        // SAFETY: the rows are the view's.
        boxed!(state, bits => unsafe { Pass::new(bits, after, move |b, view| {
            let balls = |(k, &c): (usize, &i64)| std::iter::repeat_n(k as u32, c as usize);
            let mut urn: Vec<u32> = if by_count { colors.iter().enumerate().flat_map(balls).collect() } else { vec![] };
            for row in rows::<i64>(view, colors.len()) {
                row.fill(0);
                if by_count {
                    hypergeometric::by_count(b, &colors, &mut urn, nsample, row);
                } else {
                    hypergeometric::marginals(b, &colors, nsample, row);
                }
            }
        }) })
    })?;
    handle::wrap(py, out)
}

/// `standard_gamma` in single precision, `size` of one shape; without a size, a number.
#[pyfunction]
#[pyo3(signature = (stream, shape, size))]
fn draw_gamma_f32<'py>(
    stream: &Bound<'py, BitStream>,
    shape: f32,
    size: Option<Object<'_, 'py>>,
) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let Some(size) = size.filter(|s| !s.is_none()) else {
        let x = stream.get().locked(py, |state| with_bits!(state, b => gamma::standard_gamma_f32(b, shape)))?;
        return Ok((x as f64).into_pyobject(py)?.into_any().unbind());
    };
    let out = new_array(py, &shape_of(size)?, DType::F32)?;
    draw(py, stream.get(), &out, move |state, after| {
        // SAFETY: the elements are the view's.
        boxed!(state, bits => unsafe { Pass::new(bits, after, move |b, view| {
            rows::<f32>(view, 1).for_each(|x| x[0] = gamma::standard_gamma_f32(b, shape));
        }) })
    })?;
    handle::wrap(py, out)
}

/// The numbers below `n` in random order, in each of as many rows as asked for.
#[pyfunction]
fn draw_orders<'py>(stream: &Bound<'py, BitStream>, n: usize, lanes: usize) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let out = new_array(py, &[lanes, n], DType::I64)?;
    draw(py, stream.get(), &out, move |state, after| {
        // SAFETY: the rows are the view's.
        boxed!(state, bits => unsafe { Pass::new(bits, after, move |b, view| {
            for row in rows::<i64>(view, n) {
                row.iter_mut().enumerate().for_each(|(i, x)| *x = i as i64);
                shuffle::shuffle(b, row);
            }
        }) })
    })?;
    handle::wrap(py, out)
}

/// `size` different numbers below `all`, as `Generator.choice` picks them.
#[pyfunction]
fn draw_sample<'py>(stream: &Bound<'py, BitStream>, all: usize, size: usize, shuffled: bool) -> PyResult<Py<PyAny>> {
    let py = stream.py();
    let out = new_array(py, &[size], DType::I64)?;
    draw(py, stream.get(), &out, move |state, after| {
        // SAFETY: the elements are the view's.
        boxed!(state, bits => unsafe { Pass::new(bits, after, move |b, view| {
            let places = shuffle::sample(b, all, size, shuffled);
            rows::<i64>(view, size).for_each(|row| row.copy_from_slice(&places));
        }) })
    })?;
    handle::wrap(py, out)
}

/// Shuffles a 1-d array in place.
#[pyfunction]
fn shuffle_in_place<'py>(stream: &Bound<'py, BitStream>, x: Object<'_, 'py>) -> PyResult<()> {
    let py = stream.py();
    let given = or_numpy(x.cast::<NdArray>().map_err(PyErr::from))?;
    let array = handle::sized(given)?;
    if array.view.ndim() != 1 || !given.borrow().writeable {
        return Err(to_numpy("shuffle"));
    }
    if array.view.size() > 0 && few::shuffled(py, stream.get(), &array)?.is_some() {
        return Ok(());
    }
    // What it holds is read too: it must be there, and in this memory.
    errors::sync(py, &array)?;
    record::data(&array).map_err(|e| errors::raise(py, e))?;
    draw_now(
        py,
        stream.get(),
        &array,
        move |state, after| boxed!(state, bits => unsafe { Pass::new(bits, after, move |b, view| shuffle_view(b, view)) }),
    )
}

/// # Safety
/// The view is 1-d, and nobody else touches its elements.
unsafe fn shuffle_view<B: numloom_random::Bits>(bits: &mut B, view: &RawView) {
    let (n, step, size) = (view.shape[0], view.strides[0], view.dtype.size());
    if step == size as isize && n >= 2 {
        return few::shuffle_dense(bits, view.ptr, n, size);
    }
    let mut order: Vec<usize> = (0..n).collect();
    shuffle::shuffle(bits, &mut order);
    let at = |i: usize| view.ptr.offset(i as isize * step);
    let mut copy = vec![0u8; n * size];
    for i in 0..n {
        std::ptr::copy_nonoverlapping(at(i), copy.as_mut_ptr().add(i * size), size);
    }
    for (i, &from) in order.iter().enumerate() {
        std::ptr::copy_nonoverlapping(copy.as_ptr().add(from * size), at(i), size);
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(draw_multinomial, m)?)?;
    m.add_function(wrap_pyfunction!(correct_binomials, m)?)?;
    m.add_function(wrap_pyfunction!(draw_dirichlet, m)?)?;
    m.add_function(wrap_pyfunction!(draw_from_urn, m)?)?;
    m.add_function(wrap_pyfunction!(draw_gamma_f32, m)?)?;
    m.add_function(wrap_pyfunction!(draw_orders, m)?)?;
    m.add_function(wrap_pyfunction!(draw_sample, m)?)?;
    m.add_function(wrap_pyfunction!(shuffle_in_place, m)?)
}
