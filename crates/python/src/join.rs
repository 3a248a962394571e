//! `concatenate`: a new array and one copy for each part, so that everything stays deferred.

use crate::errors::{self, Unsupported};
use crate::fperr::Watch;
use crate::handle::{self, NdArray};
use crate::index::check_new_size;
use crate::layout::Axis;
use numloom_ir::promote::promote_all;
use numloom_ir::view::{Order, copied, dense_strides};
use numloom_ir::{Dims, Strides, View};
use numloom_runtime::profile::{self as told, Use};
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

type Parts = SmallVec<[Array; 4]>;

/// The parts of a list or tuple that holds nothing but arrays of ours.
fn parts(arrays: &Bound<'_, PyAny>) -> PyResult<Parts> {
    let one =
        |part: Bound<'_, PyAny>| -> PyResult<Array> { handle::sized(part.cast::<NdArray>().map_err(|_| refused())?) };
    if let Ok(list) = arrays.cast_exact::<PyList>() {
        return list.iter().map(one).collect();
    }
    arrays.cast_exact::<PyTuple>().map_err(|_| refused())?.iter().map(one).collect()
}

/// NumPy does it, or words the error.
fn refused() -> PyErr {
    Unsupported::new_err("not plain arrays that fit together")
}

/// Dense strides in the order in which the parts' axes lie in memory, as far as they agree; else C order.
fn joined_strides(itemsize: usize, shape: &[usize], parts: &[Array]) -> Strides {
    if shape.len() == 1 {
        return dense_strides(itemsize, shape, Order::C);
    }
    // Whether axis `outer` belongs inside `inner`; `None` when axes of extent 1 leave it open.
    let inside = |outer: usize, inner: usize| {
        let mut swap = None;
        for v in parts.iter().map(|p| &p.view).filter(|v| v.shape[outer] != 1 && v.shape[inner] != 1) {
            if v.strides[inner].abs() <= v.strides[outer].abs() {
                return Some(false);
            }
            swap = Some(true);
        }
        swap
    };
    let mut axes: Dims = (0..shape.len()).collect();
    for i in 1..axes.len() {
        let (axis, mut at) = (axes[i], i);
        for j in (0..i).rev() {
            match inside(axes[j], axis) {
                Some(true) => at = j,
                Some(false) => break,
                None => {}
            }
        }
        axes.remove(i);
        axes.insert(at, axis);
    }
    let mut strides: Strides = SmallVec::from_elem(0, shape.len());
    let mut step = itemsize as isize;
    for &a in axes.iter().rev() {
        strides[a] = step;
        step = step.saturating_mul(shape[a].max(1) as isize);
    }
    strides
}

/// `concatenate(arrays, axis)` in the arrays' common type; `Unsupported` for whatever else they are.
#[pyfunction]
#[pyo3(signature = (arrays, axis=Axis(0)))]
pub fn join(arrays: &Bound<'_, PyAny>, axis: Axis) -> PyResult<Py<PyAny>> {
    let (py, axis) = (arrays.py(), axis.0);
    let parts = parts(arrays)?;
    let first = parts.first().ok_or_else(refused)?;
    let ndim = first.view.ndim();
    let at = if axis < 0 { axis + ndim as isize } else { axis };
    if at < 0 || at >= ndim as isize {
        return Err(refused());
    }
    let axis = at as usize;
    let mut shape = copied(&first.view.shape);
    let dtype = promote_all(parts.iter().map(|p| p.view.dtype)).ok_or_else(refused)?;
    for p in &parts[1..] {
        let fits = p.view.ndim() == ndim && (0..ndim).all(|i| i == axis || p.view.shape[i] == shape[i]);
        if !fits {
            return Err(refused());
        }
        shape[axis] += p.view.shape[axis];
    }
    check_new_size(&shape, dtype)?;
    told::used(Use::Stack, "concatenate", shape.iter().product::<usize>() * dtype.size());
    let strides = joined_strides(dtype.size(), &shape, &parts);
    let watch = Watch::new(py);
    let out = record::empty_view(View { dtype, offset: 0, shape, strides }, || watch.here());
    let out = out.map_err(|e| errors::raise(py, e))?;
    let mut start = 0;
    for p in &parts {
        let len = p.view.shape[axis];
        let dest = out.with_view(out.view.slice(axis, start, 1, len));
        let flags = record::map(MapOp::Copy, &[Operand::Array(p)], &[&dest], None, || watch.here());
        watch.finish(flags.map_err(|e| errors::raise(py, e))?, "cast", &dest)?;
        start += len;
    }
    handle::wrap(py, out)
}
