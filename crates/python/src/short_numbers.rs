//! Short ways of functions that compute: interpolation, convolution, counts, places, norms and Einstein's sums.

use crate::short::{Given, Made, int_or, near, number, ours, run, unless_none, word};
use crate::slots::held;
use numloom_ir::view::dense_strides;
use numloom_ir::{DType, Dims, Strides, Value, View, view::Order};
use numloom_library::{self as library, Labelled, Room, Run, interpolate, slide, vectorized};
use numloom_runtime::record::{self, Near};
use pyo3::ffi;
use pyo3::types::{PyString, PyStringMethods};
use smallvec::{SmallVec, smallvec};

pub unsafe fn interp(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [x, xp, fp, left, right] = given.bind([c"x", c"xp", c"fp", c"left", c"right"])?;
    let doubles = |x: &Near| x.view.dtype == DType::F64;
    let (xp, fp) = (near(xp).filter(doubles)?, near(fp).filter(doubles)?);
    if x.is_null() || xp.view.ndim() != 1 || fp.view.shape != xp.view.shape {
        return None;
    }
    let (mut xp_room, mut fp_room) = (Room::new(), Room::new());
    let (xp, fp) = (run(&xp)?.slice::<f64>(&mut xp_room), run(&fp)?.slice::<f64>(&mut fp_room));
    let end = |chosen: *mut ffi::PyObject, value: f64| {
        let chosen = unless_none(chosen);
        if chosen.is_null() { Some(value) } else { number(given.py, chosen) }
    };
    let (left, right) = (end(left, fp[0])?, end(right, *fp.last()?)?);
    let Some(array) = ours(x) else {
        let mut made = [0.0];
        interpolate(&[number(given.py, x)?], xp, fp, left, right, &mut made);
        return Some(Made::Value(Value::from_f64(DType::F64, made[0])));
    };
    let at = record::near(&array.array).filter(doubles)?;
    let mut room = Room::new();
    let dense = at.is_dense().then_some(Run { ptr: at.ptr, step: 8, len: at.view.size() });
    let points = dense.or_else(|| run(&at))?.slice::<f64>(&mut room);
    let (made, to) = record::to_fill("interp", DType::F64, at.view.shape.clone())?;
    interpolate(points, xp, fp, left, right, std::slice::from_raw_parts_mut(to.cast(), points.len()));
    Some(Made::Result(made))
}

/// So many products are added up at once.
const PRODUCTS: usize = 1 << 20;
/// So many elements are read in the call where that takes no longer than to say what is to be done with them.
const MIDDLING: usize = 1 << 16;

/// An array that is there, and may be larger than those that are `near`.
unsafe fn middling<'a>(object: *mut ffi::PyObject) -> Option<Near<'a>> {
    let array = &ours(object)?.array;
    let n = array.view.size();
    let few = n > 0 && n <= MIDDLING && n <= numloom_config::current().inline_size.saturating_mul(8);
    if few { record::there(array) } else { None }
}

/// How many places before the first and after the last meeting of all taps the result has.
unsafe fn ends(mode: *mut ffi::PyObject, default: usize, taps: usize) -> Option<(usize, usize)> {
    match word(mode, default, [c"valid", c"same", c"full"])? {
        0 => Some((0, 0)),
        1 => Some((taps / 2, (taps - 1) / 2)),
        _ => Some((taps - 1, taps - 1)),
    }
}

/// Two sequences of one type. Halves are added up in single precision, which takes a cast.
unsafe fn sequences<'a>(a: *mut ffi::PyObject, v: *mut ffi::PyObject) -> Option<(DType, Run, Run, [Near<'a>; 2])> {
    let (a, v) = (middling(a)?, middling(v)?);
    let dtype = a.view.dtype;
    let fits = dtype == v.view.dtype && dtype != DType::F16 && a.view.ndim() == 1 && v.view.ndim() == 1;
    let few = a.view.size().checked_mul(v.view.size())? <= PRODUCTS;
    if fits && few { Some((dtype, run(&a)?, run(&v)?, [a, v])) } else { None }
}

unsafe fn slid(dtype: DType, a: Run, taps: Run, (before, after): (usize, usize)) -> Option<Made> {
    let len = before + a.len - taps.len + 1 + after;
    let view = View { dtype, offset: 0, shape: smallvec![len], strides: smallvec![dtype.size() as isize] };
    let (made, to) = record::laid_out("convolve", len, view)?;
    slide(dtype, a, taps, before, to, len);
    Some(Made::Array(made))
}

pub unsafe fn convolve(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, v, mode] = given.bind([c"a", c"v", c"mode"])?;
    let (dtype, a, v, _) = sequences(a, v)?;
    let (a, v) = if v.len > a.len { (v, a) } else { (a, v) };
    let taps = Run { ptr: v.ptr.offset((v.len - 1) as isize * v.step), step: -v.step, len: v.len };
    slid(dtype, a, taps, ends(mode, 2, taps.len)?)
}

pub unsafe fn correlate(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, v, mode] = given.bind([c"a", c"v", c"mode"])?;
    let (dtype, a, taps, _) = sequences(a, v)?;
    // Complex taps are conjugated, and a longer second sequence turns the result round.
    if dtype.is_complex() || taps.len > a.len {
        return None;
    }
    slid(dtype, a, taps, ends(mode, 0, taps.len)?)
}

pub unsafe fn bincount(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [x, weights, least] = given.bind([c"", c"weights", c"minlength"])?;
    let (x, weights, least) = (middling(x)?, unless_none(weights), usize::try_from(int_or(least, 0)?).ok()?);
    let mut room = Room::new();
    let values = library::integers(x.view.dtype, run(&x).filter(|_| x.view.ndim() == 1)?, &mut room)?;
    let (low, high) = vectorized(
        #[inline(always)]
        || values.iter().fold((i64::MAX, 0), |(low, high), &v| (v.min(low), v.max(high))),
    );
    if low < 0 {
        return None;
    }
    let n = (high as usize).checked_add(1)?.max(least);
    if weights.is_null() {
        let (made, to) = record::to_fill("bincount", DType::I64, smallvec![n])?;
        library::count(values, std::slice::from_raw_parts_mut(to.cast(), n));
        return Some(Made::Array(made));
    }
    let weights = near(weights).filter(|w| w.view.dtype == DType::F64 && w.view.shape == x.view.shape)?;
    let mut weights_room = Room::new();
    let (made, to) = record::to_fill("bincount", DType::F64, smallvec![n])?;
    library::weigh(values, run(&weights)?.slice(&mut weights_room), std::slice::from_raw_parts_mut(to.cast(), n));
    Some(Made::Array(made))
}

pub unsafe fn searchsorted(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, v, side] = given.bind([c"a", c"v", c"side"])?;
    let a = record::there(&ours(a)?.array).filter(|a| a.view.ndim() == 1)?;
    let (dtype, sorted) = (a.view.dtype, run(&a)?);
    let right = word(side, 0, [c"left", c"right"])? == 1;
    let place = |value: *const u8| library::insertion_place(dtype, sorted, value, right);
    if let Some(values) = ours(v) {
        let values = record::near(&values.array).filter(|v| v.view.dtype == dtype && v.is_dense())?;
        let (made, to) = record::to_fill("searchsorted", DType::I64, values.view.shape.clone())?;
        let wanted = Run { ptr: values.ptr, step: dtype.size() as isize, len: values.view.size() };
        return library::insertion_places(dtype, sorted, wanted, right, to.cast()).then_some(Made::Result(made));
    }
    let value = match dtype {
        _ if v.is_null() => return None,
        DType::F64 => Value::from_f64(dtype, number(given.py, v)?),
        DType::I64 => Value::from_i128(dtype, int_or(v, 0)? as i128),
        _ => return None,
    };
    let found = Value::from_i128(DType::I64, place(value.bytes.as_ptr())? as i128);
    Some(Made::Value(found))
}

pub unsafe fn norm(given: &Given) -> Option<Made> {
    let [x] = given.bind([c"x"])?;
    let squares = record::sum_of_squares(&ours(x)?.array)?;
    let root = match squares.dtype {
        DType::F64 => squares.to_f64().sqrt(),
        DType::F32 => (squares.to_f64() as f32).sqrt() as f64,
        _ => return None,
    };
    // What overflows may have to be told of.
    root.is_finite().then(|| Made::Value(Value::from_f64(squares.dtype, root)))
}

pub unsafe fn outer(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, b] = given.bind([c"a", c"b"])?;
    let (a, b) = (near(a)?, near(b)?);
    let dtype = a.view.dtype;
    if dtype != b.view.dtype || dtype == DType::F16 {
        return None;
    }
    let flat = |x: &Near| {
        let dense = x.is_dense().then(|| Run { ptr: x.ptr, step: dtype.size() as isize, len: x.view.size() });
        dense.or_else(|| run(x))
    };
    let (a, b) = (flat(&a)?, flat(&b)?);
    let (made, to) = record::to_fill("outer", dtype, smallvec![a.len, b.len])?;
    // What is to be warned of is computed once more, and told.
    (library::outer(dtype, a, b, to) == 0).then_some(Made::Array(made))
}

pub unsafe fn cross(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, b] = given.bind([c"a", c"b"])?;
    let (a, b) = (near(a).filter(Near::is_dense)?, near(b).filter(Near::is_dense)?);
    if a.view.dtype != b.view.dtype || a.view.shape != b.view.shape || a.view.shape.last() != Some(&3) {
        return None;
    }
    let (made, to) = record::to_fill("cross", a.view.dtype, a.view.shape.clone())?;
    let flags = library::cross(a.view.dtype, a.ptr, b.ptr, a.view.size() / 3, to)?;
    (flags == 0).then_some(Made::Array(made))
}

/// The letters of one array.
type Labels = SmallVec<[u8; 8]>;

/// The labels of each array and of the result; `None` for what is not plainly written.
fn read(text: &str, arrays: usize) -> Option<(SmallVec<[Labels; 4]>, Labels)> {
    let letters = |t: &str| t.bytes().map(|c| c.is_ascii_alphabetic().then_some(c)).collect::<Option<Labels>>();
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left, Some(letters(right)?)),
        None => (text, None),
    };
    let terms = left.split(',').map(letters).collect::<Option<SmallVec<[Labels; 4]>>>()?;
    let count = |c: u8| terms.iter().flatten().filter(|&&x| x == c).count();
    let result = right.unwrap_or_else(|| {
        let mut once: Labels = terms.iter().flatten().copied().filter(|&c| count(c) == 1).collect();
        once.sort_unstable();
        once
    });
    let unique = (1..result.len()).all(|i| !result[..i].contains(&result[i]));
    (terms.len() == arrays && unique && result.iter().all(|&c| count(c) > 0)).then_some((terms, result))
}

/// The labels from the outermost to the innermost, as NumPy's iterator puts them: by the arrays' steps as far as those
/// say something, else as they come.
fn in_memory_order(labels: usize, steps: &[Strides]) -> SmallVec<[usize; 8]> {
    let mut inward: SmallVec<[usize; 8]> = (0..labels).rev().collect();
    for i in 1..labels {
        let (label, mut to) = (inward[i], i);
        for j in (0..i).rev() {
            let both = steps.iter().map(|s| (s[inward[j]].abs(), s[label].abs())).filter(|&(a, b)| a != 0 && b != 0);
            let (mut told, mut all_wider) = (false, true);
            for (inner, outer) in both {
                told = true;
                all_wider &= inner > outer;
            }
            match (told, all_wider) {
                (true, true) => to = j,
                (true, false) => break,
                (false, _) => {}
            }
        }
        inward.remove(i);
        inward.insert(to, label);
    }
    inward.reverse();
    inward
}

pub unsafe fn einsum(given: &Given) -> Option<Made> {
    let _still = record::still();
    let (&text, objects) = given.positional.split_first().filter(|_| !given.has_names())?;
    let text = held(given.py, text);
    let (terms, result) = read(text.cast_exact::<PyString>().ok()?.to_str().ok()?, objects.len())?;
    let arrays = objects.iter().map(|&x| near(x)).collect::<Option<SmallVec<[Near; 4]>>>()?;
    let dtype = arrays.first()?.view.dtype;
    let aligned = |x: &Near| {
        x.ptr.align_offset(dtype.align()) == 0
            && x.view.strides.iter().all(|s| s.unsigned_abs().is_multiple_of(dtype.align()))
    };
    if dtype == DType::F16 || !arrays.iter().all(|x| x.view.dtype == dtype && aligned(x)) {
        return None;
    }
    // The result's labels, then the others in their own order.
    let mut labels = result.clone();
    let mut others: Labels = terms.iter().flatten().copied().filter(|c| !result.contains(c)).collect();
    others.sort_unstable();
    others.dedup();
    labels.extend(others);
    let mut extents: Dims = smallvec![1; labels.len()];
    let mut steps: SmallVec<[Strides; 4]> = smallvec![smallvec![0; labels.len()]; arrays.len()];
    for ((term, x), own) in terms.iter().zip(&arrays).zip(&mut steps) {
        if term.len() != x.view.ndim() {
            return None;
        }
        for ((c, &n), &step) in term.iter().zip(&x.view.shape).zip(&x.view.strides) {
            let at = labels.iter().position(|l| l == c)?;
            if extents[at] != n && extents[at] != 1 && n != 1 {
                return None;
            }
            // An axis of one element is stretched, except along a diagonal, where NumPy refuses it.
            if n == 1 && term.iter().filter(|l| *l == c).count() > 1 {
                return None;
            }
            extents[at] = extents[at].max(n);
            own[at] += if n == 1 { 0 } else { step };
        }
    }
    // One array of which nothing is summed stays a view.
    let is_view = arrays.len() == 1 && labels.len() == result.len();
    let work = extents.iter().try_fold(1usize, |all, &n| all.checked_mul(n))?;
    if is_view && !result.is_empty() {
        let view = View { dtype, offset: arrays[0].view.offset, shape: extents, strides: steps.swap_remove(0) };
        return Some(Made::Part(objects[0], view));
    }
    if is_view || work > PRODUCTS {
        return None;
    }
    let order = in_memory_order(labels.len(), &steps);
    let shape: Dims = extents[..result.len()].iter().copied().collect();
    let mut strides = dense_strides(dtype.size(), &shape, Order::C);
    let mut step = dtype.size() as isize;
    for &label in order.iter().rev().filter(|&&l| l < result.len()) {
        strides[label] = step;
        step *= shape[label] as isize;
    }
    let n = shape.iter().product();
    let out = strides.iter().copied().chain(std::iter::repeat(0)).take(labels.len()).collect::<Strides>();
    let (made, to) = record::laid_out("einsum", n, View { dtype, offset: 0, shape, strides })?;
    let sorted = |ptr: *mut u8, of: &Strides| Labelled { ptr, strides: order.iter().map(|&l| of[l]).collect() };
    let ins: SmallVec<[Labelled; 4]> = arrays.iter().zip(&steps).map(|(x, s)| sorted(x.ptr.cast_mut(), s)).collect();
    let sizes: Dims = order.iter().map(|&l| extents[l]).collect();
    library::contract(dtype, &sizes, &ins, &sorted(to, &out));
    Some(Made::Result(made))
}
