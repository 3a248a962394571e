//! Short ways of functions that look at every element by itself: rounded, asked for infinities, its bytes swapped.

use crate::short::{Given, Made, int_or, items, near};
use numloom_ir::DType;
use numloom_runtime::record::{self, Near};
use pyo3::ffi;
use smallvec::SmallVec;

/// The elements of a small dense array become those of another of `dtype`; nothing that has no axes, which is a scalar
/// then. `None` where `f` refuses one of them.
unsafe fn each<T: Copy, U>(
    name: &'static str,
    a: &Near,
    dtype: DType,
    mut f: impl FnMut(T) -> Option<U>,
) -> Option<Made> {
    if !a.is_dense() || a.view.ndim() == 0 {
        return None;
    }
    let (made, to) = record::to_fill(name, dtype, a.view.shape.clone())?;
    for i in 0..a.view.size() {
        to.cast::<U>().add(i).write_unaligned(f(a.ptr.cast::<T>().add(i).read_unaligned())?);
    }
    Some(Made::Array(made))
}

/// As many as NumPy takes.
const MOST_CHOICES: usize = 60;

/// Decimals whose power of ten a single holds.
const MOST_DECIMALS: isize = 8;

pub unsafe fn round(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, decimals] = given.bind([c"a", c"decimals"])?;
    let (a, decimals) = (near(a)?, int_or(decimals, 0).filter(|d| (0..=MOST_DECIMALS).contains(d))?);
    let power = 10f64.powi(decimals as i32);
    // What overflows on the way is NumPy's to warn of.
    match a.view.dtype {
        DType::F64 => each("round", &a, DType::F64, |x: f64| {
            let scaled = x * power;
            (scaled.is_finite() || !x.is_finite()).then(|| scaled.round_ties_even() / power)
        }),
        DType::F32 => each("round", &a, DType::F32, |x: f32| {
            let scaled = x * power as f32;
            (scaled.is_finite() || !x.is_finite()).then(|| scaled.round_ties_even() / power as f32)
        }),
        _ => None,
    }
}

unsafe fn equal(given: &Given, name: &'static str, sought: f64) -> Option<Made> {
    let _still = record::still();
    let [x] = given.bind([c"x"])?;
    let x = near(x)?;
    match x.view.dtype {
        DType::F64 => each(name, &x, DType::Bool, |x: f64| Some(x == sought)),
        DType::F32 => each(name, &x, DType::Bool, |x: f32| Some(f64::from(x) == sought)),
        _ => None,
    }
}

pub unsafe fn isposinf(given: &Given) -> Option<Made> {
    equal(given, "isposinf", f64::INFINITY)
}

pub unsafe fn isneginf(given: &Given) -> Option<Made> {
    equal(given, "isneginf", f64::NEG_INFINITY)
}

pub unsafe fn byteswap(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, inplace] = given.bind([c"", c"inplace"])?;
    let a = near(a).filter(|_| inplace.is_null() || inplace == ffi::Py_False())?;
    let dtype = a.view.dtype;
    match dtype.size() {
        _ if dtype.is_complex() => None,
        1 => each("byteswap", &a, dtype, |x: u8| Some(x)),
        2 => each("byteswap", &a, dtype, |x: u16| Some(x.swap_bytes())),
        4 => each("byteswap", &a, dtype, |x: u32| Some(x.swap_bytes())),
        8 => each("byteswap", &a, dtype, |x: u64| Some(x.swap_bytes())),
        _ => None,
    }
}

/// Choices of one type and of the places' shape, all of them dense.
pub unsafe fn choose(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a, choices] = given.bind([c"a", c"choices"])?;
    let (a, choices) = (near(a).filter(Near::is_dense)?, items(choices)?);
    let choices = choices.into_iter().map(|c| near(c)).collect::<Option<SmallVec<[Near; 8]>>>()?;
    let dtype = choices.first()?.view.dtype;
    let alike = |c: &Near| c.view.dtype == dtype && c.view.shape == a.view.shape && c.is_dense();
    if choices.len() < 2 || choices.len() > MOST_CHOICES || a.view.ndim() == 0 || !choices.iter().all(alike) {
        return None;
    }
    let place = |i: usize| match a.view.dtype {
        DType::Bool => Some(a.ptr.add(i).read() as usize),
        DType::I64 => usize::try_from(a.ptr.cast::<i64>().add(i).read_unaligned()).ok(),
        _ => None,
    };
    let (made, to) = record::to_fill("choose", dtype, a.view.shape.clone())?;
    for i in 0..a.view.size() {
        let from = choices.get(place(i)?)?;
        std::ptr::copy_nonoverlapping(from.ptr.add(i * dtype.size()), to.add(i * dtype.size()), dtype.size());
    }
    Some(Made::Array(made))
}
