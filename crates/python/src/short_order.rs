//! Short ways of functions that look for places in arrays of one dimension: quantiles, and where something is true.

use crate::short::{Given, Made, int_or, lines, near, number, run};
use crate::short_changing::put_line;
use numloom_ir::{DType, Value};
use numloom_library::{self as library, Room, Run};
use numloom_runtime::record::{self, Near};
use pyo3::ffi;
use smallvec::{SmallVec, smallvec};

/// One quantile of doubles, or a list of them, between their neighbours by NumPy's own rule.
unsafe fn share_of(given: &Given, whole: f64) -> Option<Made> {
    let _still = record::still();
    let [a, q] = given.bind([c"a", c"q"])?;
    let a = near(a).filter(|a| a.view.dtype == DType::F64 && a.view.ndim() == 1)?;
    let run = run(&a).filter(|_| !q.is_null())?;
    let share = |q: *mut ffi::PyObject| {
        // NumPy divides narrower numbers in their own type.
        let is_wide = ffi::PyFloat_Check(q) != 0 || ffi::PyLong_Check(q) != 0;
        number(given.py, q).filter(|_| is_wide).map(|q| q / whole).filter(|q| (0.0..=1.0).contains(q))
    };
    if ffi::PyList_CheckExact(q) == 0 && ffi::PyTuple_CheckExact(q) == 0 {
        return finite(library::quantile_few(run, share(q)?)?);
    }
    let count = ffi::PySequence_Size(q);
    let item = |k: isize| match ffi::PyList_CheckExact(q) {
        0 => ffi::PyTuple_GetItem(q, k),
        _ => ffi::PyList_GetItem(q, k),
    };
    let shares: Room<f64> = (0..count).map(|k| share(item(k))).collect::<Option<_>>()?;
    let found = library::quantiles_few(run, &shares).filter(|found| found.iter().all(|v| v.is_finite()))?;
    let (made, to) = record::to_fill("quantile", DType::F64, smallvec![found.len()])?;
    std::ptr::copy_nonoverlapping(found.as_ptr(), to.cast(), found.len());
    Some(Made::Array(made))
}

/// Where something is not, the composed function warns of it.
fn finite(found: f64) -> Option<Made> {
    found.is_finite().then(|| Made::Value(Value::from_f64(DType::F64, found)))
}

pub unsafe fn median(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a] = given.bind([c"a"])?;
    let a = near(a).filter(|a| a.view.dtype == DType::F64 && a.view.ndim() == 1)?;
    finite(library::median_few(run(&a)?)?)
}

pub unsafe fn quantile(given: &Given) -> Option<Made> {
    share_of(given, 1.0)
}

pub unsafe fn percentile(given: &Given) -> Option<Made> {
    share_of(given, 100.0)
}

pub unsafe fn nonzero(given: &Given) -> Option<Made> {
    let [a] = given.bind([c"a"])?;
    nonzero_of(a)
}

/// `nonzero` of what is exactly an array of ours, on one axis.
pub unsafe fn nonzero_of(a: *mut ffi::PyObject) -> Option<Made> {
    let _still = record::still();
    let a = near(a).filter(|a| a.view.ndim() == 1)?;
    let truths = library::Truths::of(a.view.dtype, run(&a)?)?;
    let (made, to) = record::to_fill("nonzero", DType::I64, smallvec![truths.count()])?;
    truths.write_places(to.cast());
    Some(Made::Alone(made))
}

/// The array and the axis of a call about lines: the last axis unless another was given.
unsafe fn lined<'a>(given: &Given) -> Option<(Near<'a>, isize)> {
    let [a, axis] = given.bind([c"a", c"axis"])?;
    Some((near(a)?, int_or(axis, -1)?))
}

pub unsafe fn sort(given: &Given) -> Option<Made> {
    let _still = record::still();
    let (a, axis) = lined(given)?;
    let (dtype, size) = (a.view.dtype, a.view.dtype.size());
    let (made, to) = record::to_fill("sort", dtype, a.view.shape.clone())?;
    let mut room: SmallVec<[u128; 16]> = SmallVec::new();
    let done = lines(&a, axis, |line, first, step| {
        if step == 1 {
            return library::sort_few(dtype, line, to.add(first * size));
        }
        room.resize((line.len * size).div_ceil(16), 0);
        let sorted = room.as_mut_ptr().cast::<u8>();
        let done = library::sort_few(dtype, line, sorted);
        put_line(size, line.len, sorted, to.add(first * size), (step * size) as isize);
        done
    });
    (done == Some(true)).then_some(Made::Array(made))
}

pub unsafe fn argsort(given: &Given) -> Option<Made> {
    let _still = record::still();
    let (a, axis) = lined(given)?;
    let dtype = a.view.dtype;
    let (made, to) = record::to_fill("argsort", DType::I64, a.view.shape.clone())?;
    let to = to.cast::<i64>();
    let mut room: Room<i64> = Room::new();
    let done = lines(&a, axis, |line, first, step| {
        if step == 1 {
            return library::places_few(dtype, line, to.add(first));
        }
        room.resize(line.len, 0);
        let done = library::places_few(dtype, line, room.as_mut_ptr());
        put_line(8, line.len, room.as_ptr().cast(), to.add(first).cast(), 8 * step as isize);
        done
    });
    (done == Some(true)).then_some(Made::Array(made))
}

/// Elements that are sorted sooner than others put them in parts.
const FEW: usize = 1024;

/// A line of few elements of which one place is wanted.
unsafe fn few<'a>(given: &Given) -> Option<Near<'a>> {
    let [a, kth] = given.bind([c"a", c"kth"])?;
    let a = near(a).filter(|a| a.view.ndim() == 1 && a.view.size() <= FEW && !kth.is_null())?;
    let n = a.view.size() as isize;
    (-n..n).contains(&int_or(kth, 0)?).then_some(a)
}

pub unsafe fn partition(given: &Given) -> Option<Made> {
    let _still = record::still();
    let a = few(given)?;
    let (made, to) = record::to_fill("partition", a.view.dtype, a.view.shape.clone())?;
    library::sort_few(a.view.dtype, run(&a)?, to).then_some(Made::Array(made))
}

pub unsafe fn argpartition(given: &Given) -> Option<Made> {
    let _still = record::still();
    let a = few(given)?;
    let (made, to) = record::to_fill("argpartition", DType::I64, a.view.shape.clone())?;
    library::places_few(a.view.dtype, run(&a)?, to.cast()).then_some(Made::Array(made))
}

pub unsafe fn lexsort(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [keys] = given.bind([c"keys"])?;
    if keys.is_null() || ffi::PyTuple_CheckExact(keys) == 0 {
        return None;
    }
    let mut runs: SmallVec<[(DType, Run); 4]> = SmallVec::new();
    for k in 0..ffi::PyTuple_Size(keys) {
        let key = near(ffi::PyTuple_GetItem(keys, k)).filter(|key| key.view.ndim() == 1)?;
        runs.push((key.view.dtype, run(&key)?));
    }
    let n = runs.first()?.1.len;
    if runs.iter().any(|(_, run)| run.len != n) {
        return None;
    }
    let (made, to) = record::to_fill("lexsort", DType::I64, smallvec![n])?;
    library::lex_places_few(&runs, to.cast()).then_some(Made::Array(made))
}

pub unsafe fn unique(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [ar] = given.bind([c"ar"])?;
    let a = near(ar).filter(|a| a.view.ndim() == 1 && a.view.dtype.size() <= 8)?;
    // Small arrays have no more elements.
    let mut room = [0u64; 1024];
    let run = run(&a).filter(|run| run.len <= room.len())?;
    let n = library::distinct_few(a.view.dtype, run, room.as_mut_ptr().cast())?;
    let (made, to) = record::to_fill("unique", a.view.dtype, smallvec![n])?;
    std::ptr::copy_nonoverlapping(room.as_ptr().cast(), to, n * a.view.dtype.size());
    Some(Made::Array(made))
}
