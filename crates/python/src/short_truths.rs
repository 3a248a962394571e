//! Short ways of functions that ask which of a few elements are true: how many, any or all along an axis, and the elements
//! that a condition picks.

use crate::short::{Given, Made, int_or, lines, near, ours, run};
use numloom_ir::{DType, Dims, Value};
use numloom_library::{Run, Truths};
use numloom_runtime::record::{self, Near};
use pyo3::ffi;
use smallvec::smallvec;

pub unsafe fn count_nonzero(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a] = given.bind([c"a"])?;
    let count = match record::count_small(&ours(a)?.array) {
        Some(count) => count,
        None => truths(&near(a)?)?.count(),
    };
    Some(Made::Value(Value::from_i128(DType::I64, count as i128)))
}

/// Which elements of a small array are true, if they are one run.
unsafe fn truths(a: &Near) -> Option<Truths> {
    let size = a.view.dtype.size() as isize;
    let dense = a.is_dense().then(|| Run { ptr: a.ptr, step: size, len: a.view.size() });
    Truths::of(a.view.dtype, dense.or_else(|| run(a))?)
}

/// Whether any elements of each line along an axis are true, or all of them.
unsafe fn along(given: &Given, all: bool) -> Option<Made> {
    let _still = record::still();
    let [a, axis] = given.bind([c"a", c"axis"])?;
    let a = near(a).filter(|a| a.view.ndim() > 1 && !axis.is_null())?;
    let (dtype, axis) = (a.view.dtype, int_or(axis, 0)?);
    let at = usize::try_from(if axis < 0 { axis + a.view.ndim() as isize } else { axis }).ok()?;
    let mut shape: Dims = a.view.shape.clone();
    if at < shape.len() {
        shape.remove(at);
    }
    let (made, to) = record::to_fill(if all { "all" } else { "any" }, DType::Bool, shape)?;
    let mut k = 0;
    let done = lines(&a, axis, |line, _, _| {
        let Some(truths) = Truths::of(dtype, line) else { return false };
        let count = truths.count();
        to.add(k).write(if all { count == line.len } else { count > 0 } as u8);
        k += 1;
        true
    });
    (done == Some(true)).then_some(Made::Array(made))
}

pub unsafe fn any(given: &Given) -> Option<Made> {
    along(given, false)
}

pub unsafe fn all(given: &Given) -> Option<Made> {
    along(given, true)
}

/// The truths of a line or of a whole dense array, eight in a byte, the first of them highest.
pub unsafe fn packbits(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a] = given.bind([c""])?;
    let a = near(a).filter(|a| a.view.dtype == DType::Bool || a.view.dtype.is_integer())?;
    let (truths, n) = (truths(&a)?, a.view.size());
    let (made, to) = record::to_fill("packbits", DType::U8, smallvec![n.div_ceil(8)])?;
    for (k, bits) in truths.bytes().take(n.div_ceil(8)).enumerate() {
        to.add(k).write(bits.reverse_bits());
    }
    Some(Made::Array(made))
}

pub unsafe fn unpackbits(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a] = given.bind([c""])?;
    let a = near(a).filter(|a| a.view.dtype == DType::U8)?;
    let (n, step) = match run(&a) {
        _ if a.is_dense() => (a.view.size(), 1),
        run => run.map(|run| (run.len, run.step))?,
    };
    let (made, to) = record::to_fill("unpackbits", DType::U8, smallvec![8 * n])?;
    for k in 0..n {
        let byte = a.ptr.offset(k as isize * step).read();
        to.add(8 * k).cast::<[u8; 8]>().write(std::array::from_fn(|bit| byte >> (7 - bit) & 1));
    }
    Some(Made::Array(made))
}

/// The method takes the array first.
pub unsafe fn compress_method(given: &Given) -> Option<Made> {
    let [a, condition] = given.bind([c"", c"condition"])?;
    picked(condition, a)
}

pub unsafe fn compress(given: &Given) -> Option<Made> {
    let [condition, a] = given.bind([c"condition", c"a"])?;
    picked(condition, a)
}

/// The elements of a line where a condition of one line is true; it may be shorter.
unsafe fn picked(condition: *mut ffi::PyObject, a: *mut ffi::PyObject) -> Option<Made> {
    let _still = record::still();
    let (condition, a) = (near(condition)?, near(a)?);
    let lines = condition.view.ndim() == 1 && a.view.ndim() == 1;
    let truths = truths(&condition).filter(|_| lines && condition.view.size() <= a.view.size())?;
    let mut places = [0i64; 1024];
    let (n, run, size) = (truths.count(), run(&a)?, a.view.dtype.size());
    truths.write_places(places.as_mut_ptr());
    let (made, to) = record::to_fill("compress", a.view.dtype, smallvec![n])?;
    for (k, &place) in places[..n].iter().enumerate() {
        std::ptr::copy_nonoverlapping(run.ptr.offset(place as isize * run.step), to.add(k * size), size);
    }
    Some(Made::Array(made))
}
