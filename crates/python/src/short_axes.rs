//! Short ways of functions that give an array's axes in another order, or lay them so in memory.

use crate::short::{Given, Made, int_or, near, ours};
use numloom_ir::view::{Order, dense_strides};
use numloom_ir::{Dims, View};
use numloom_runtime::record::{self, Near};
use pyo3::ffi;

/// A view of an array of known length whose axis `from` stands at `to`.
unsafe fn moved(x: *mut ffi::PyObject, from: isize, to: isize) -> Option<Made> {
    let array = &ours(x).filter(|x| x.array.symbol().is_none())?.array;
    let n = array.view.ndim();
    let axis = |i: isize| usize::try_from(if i < 0 { i + n as isize } else { i }).ok().filter(|&i| i < n);
    let (from, to) = (axis(from)?, axis(to)?);
    let mut axes: Dims = (0..n).filter(|&other| other != from).collect();
    axes.insert(to, from);
    Some(Made::Part(x, array.view.transpose(&axes)))
}

pub unsafe fn moveaxis(given: &Given) -> Option<Made> {
    let [a, source, destination] = given.bind([c"a", c"source", c"destination"])?;
    if source.is_null() || destination.is_null() || given.is_passing(a) {
        return None;
    }
    moved(a, int_or(source, 0)?, int_or(destination, 0)?)
}

/// With `start` from zero, before which the axis is rolled: not one of the places behind it.
pub unsafe fn rollaxis(given: &Given) -> Option<Made> {
    let [a, axis, start] = given.bind([c"a", c"axis", c"start"])?;
    let (axis, start) = (int_or(axis, 0).filter(|_| !axis.is_null())?, int_or(start, 0)?);
    if axis < 0 || start < 0 || start > axis || given.is_passing(a) {
        return None;
    }
    moved(a, axis, start)
}

/// A small matrix that lies row by row, copied column by column.
pub unsafe fn asfortranarray(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a] = given.bind([c"a"])?;
    let a = near(a).filter(Near::is_dense)?;
    let &[rows, columns] = a.view.shape.as_slice() else { return None };
    if rows < 2 || columns < 2 {
        return None;
    }
    let (dtype, size) = (a.view.dtype, a.view.dtype.size());
    let strides = dense_strides(size, &a.view.shape, Order::F);
    let view = View { dtype, offset: 0, shape: a.view.shape.clone(), strides };
    let (made, to) = record::laid_out("asfortranarray", rows * columns, view)?;
    for column in 0..columns {
        for row in 0..rows {
            let from = a.ptr.add((row * columns + column) * size);
            std::ptr::copy_nonoverlapping(from, to.add((column * rows + row) * size), size);
        }
    }
    Some(Made::Array(made))
}
