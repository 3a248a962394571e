//! Short ways between the places of elements in an array and in the line of all of them.

use crate::quick_index;
use crate::short::{Given, Made, int_or, near, ours};
use crate::slots::held;
use numloom_ir::{DType, Dims};
use numloom_runtime::Array;
use numloom_runtime::record::{self, Near};
use pyo3::ffi;
use smallvec::SmallVec;

/// The extents of a shape that Python's ints or one of them give, if there are as many elements as an index can tell.
unsafe fn extents(object: *mut ffi::PyObject) -> Option<Dims> {
    let extent = |object| usize::try_from(int_or(object, 0)?).ok().filter(|&n| n > 0);
    let shape: Dims = if object.is_null() {
        return None;
    } else if let Some(x) = indices(object).filter(|x| x.view.ndim() == 1) {
        (0..x.view.size()).map(|i| at(&x, i).filter(|&n| n > 0)).collect::<Option<_>>()?
    } else if ffi::PyTuple_CheckExact(object) != 0 {
        (0..ffi::PyTuple_Size(object)).map(|i| extent(ffi::PyTuple_GetItem(object, i))).collect::<Option<_>>()?
    } else {
        Dims::from_elem(extent(object)?, 1)
    };
    let all = shape.iter().try_fold(1usize, |all, &n| all.checked_mul(n))?;
    (isize::try_from(all).is_ok() && !shape.is_empty()).then_some(shape)
}

unsafe fn indices<'a>(object: *mut ffi::PyObject) -> Option<Near<'a>> {
    near(object).filter(are_places)
}

fn are_places(x: &Near) -> bool {
    x.view.dtype == DType::I64 && x.view.ndim() > 0 && x.is_dense()
}

unsafe fn at(x: &Near, i: usize) -> Option<usize> {
    usize::try_from(x.ptr.cast::<i64>().add(i).read_unaligned()).ok()
}

pub unsafe fn ravel_multi_index(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [places, shape] = given.bind([c"multi_index", c"dims"])?;
    let shape = extents(shape)?;
    if places.is_null() || ffi::PyTuple_CheckExact(places) == 0 || ffi::PyTuple_Size(places) != shape.len() as isize {
        return None;
    }
    // Arrays, or what short lists of Python's ints are read as.
    let places = (0..shape.len()).map(|k| {
        let object = ffi::PyTuple_GetItem(places, k as isize);
        ours(object).map(|x| x.array.clone()).or_else(|| quick_index::listed(&held(given.py, object)))
    });
    let places = places.collect::<Option<SmallVec<[Array; 4]>>>()?;
    let all = places.iter().map(|x| record::near(x).filter(are_places));
    let all = all.collect::<Option<SmallVec<[Near; 4]>>>()?;
    let own = &all[0].view.shape;
    if all.iter().any(|x| &x.view.shape != own) {
        return None;
    }
    let (made, to) = record::to_fill("ravel_multi_index", DType::I64, own.clone())?;
    for i in 0..all[0].view.size() {
        let mut flat = 0;
        for (x, &n) in all.iter().zip(&shape) {
            flat = flat * n + at(x, i).filter(|&place| place < n)?;
        }
        to.cast::<i64>().add(i).write_unaligned(flat as i64);
    }
    Some(Made::Array(made))
}

pub unsafe fn unravel_index(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [flat, shape] = given.bind([c"indices", c"shape"])?;
    let (flat, shape) = (indices(flat)?, extents(shape)?);
    let (n, all) = (flat.view.size(), shape.iter().product());
    let made = (0..shape.len()).map(|_| record::to_fill("unravel_index", DType::I64, flat.view.shape.clone()));
    let made = made.collect::<Option<SmallVec<[record::Filled; 4]>>>()?;
    for i in 0..n {
        let mut left = at(&flat, i).filter(|&place| place < all)?;
        for ((_, to), &extent) in made.iter().zip(&shape).rev() {
            to.cast::<i64>().add(i).write_unaligned((left % extent) as i64);
            left /= extent;
        }
    }
    Some(Made::Several(made.into_iter().map(|(array, _)| array).collect()))
}
