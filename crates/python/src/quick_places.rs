//! `x[places]`, `x[rows, columns]`, `x[:, places]` of a few elements that are there, read and written at once. Whatever
//! does not fit is `None`, and the general path does it.

use crate::convert;
use crate::handle::{self, NdArray};
use crate::quick::peek;
use crate::quick_index::{Plain, at, clipped, listed, number};
use numloom_ir::view::{Order, broadcast_shapes, dense_strides};
use numloom_ir::{DType, Dims, Strides, View};
use numloom_runtime::{Array, record};
use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// The most elements that are picked here.
const MOST: usize = 1024;

/// Indices of more parts go the general way, which has NumPy's limits.
const PARTS: usize = 6;

/// One part of an index.
enum Part {
    Plain(Plain),
    Places(Array),
}

/// The parts of an index of which some are places. Reading them may run Python code.
struct Parts(SmallVec<[Part; 4]>);

impl Parts {
    fn read(index: &Bound<'_, PyAny>) -> Option<Parts> {
        let py = index.py();
        // SAFETY: the caller's tuple, whose items live as long as it.
        let items: SmallVec<[Borrowed<'_, '_, PyAny>; 4]> = unsafe {
            match ffi::PyTuple_CheckExact(index.as_ptr()) {
                0 => SmallVec::from_iter([index.as_borrowed()]),
                _ => (0..ffi::PyTuple_Size(index.as_ptr()))
                    .map(|i| Borrowed::from_ptr(py, ffi::PyTuple_GetItem(index.as_ptr(), i)))
                    .collect(),
            }
        };
        if items.len() > PARTS {
            return None;
        }
        let parts = Parts(items.iter().map(|item| read(item)).collect::<Option<_>>()?);
        parts.0.iter().any(|p| matches!(p, Part::Places(_))).then_some(parts)
    }
}

fn read(item: &Bound<'_, PyAny>) -> Option<Part> {
    // SAFETY: nothing below runs Python code before the array is done with.
    if let Some(places) = unsafe { peek(item) } {
        return Some(Part::Places(places.array.clone()));
    }
    if let Some(plain) = Plain::read(item.as_ptr()) {
        return Some(Part::Plain(plain));
    }
    listed(item).or_else(|| convert::small_copy(item)).map(Part::Places)
}

/// An axis that places pick from: where they lie in their array, and what one of them is worth.
struct Axis {
    ptr: *const u8,
    view: View,
    extent: usize,
    stride: isize,
}

/// What an index picks: for every place in C order the bytes from the view's first element, and of what is there, a part
/// in its own layout.
struct Picked {
    offsets: SmallVec<[isize; 32]>,
    places: Dims,
    rest: Dims,
    steps: Strides,
    /// Before which axis of the rest the places stand in the result.
    front: usize,
}

impl Picked {
    /// The caller holds `record::still`.
    fn of(parts: &Parts, view: &View) -> Option<Picked> {
        let used = parts.0.iter().filter(|p| !matches!(p, Part::Plain(Plain::NewAxis | Plain::Ellipsis))).count();
        let mut skipped = Some(view.ndim().checked_sub(used)?);
        let mut axes: SmallVec<[Axis; 2]> = SmallVec::new();
        let (mut rest, mut steps, mut base, mut axis) = (Dims::new(), Strides::new(), 0isize, 0);
        // Places that something stands between come first in the result; integers count as places.
        let (mut run, mut ended, mut split) = (None, false, false);
        let mut keep = |extent: usize, stride: isize, run: Option<usize>, ended: &mut bool| {
            *ended |= run.is_some();
            rest.push(extent);
            steps.push(stride);
        };
        let mut kept = 0;
        for part in &parts.0 {
            let picks = matches!(part, Part::Places(_) | Part::Plain(Plain::Int(_)));
            if picks {
                split |= ended;
                run = run.or(Some(kept));
            }
            match part {
                Part::Places(places) => {
                    let near = record::near(places).filter(|p| p.view.dtype == DType::I64 && p.view.ndim() > 0)?;
                    let (extent, stride) = (view.shape[axis], view.strides[axis]);
                    axes.push(Axis { ptr: near.ptr, view: near.view.clone(), extent, stride });
                    axis += 1;
                }
                Part::Plain(Plain::Int(i)) => {
                    base += at(*i, view.shape[axis], view.strides[axis])?;
                    axis += 1;
                }
                Part::Plain(Plain::Slice { start, stop, step }) => {
                    let (first, len) = clipped(*start, *stop, *step, view.shape[axis]);
                    base += first * view.strides[axis];
                    keep(len, view.strides[axis].wrapping_mul(*step), run, &mut ended);
                    (axis, kept) = (axis + 1, kept + 1);
                }
                Part::Plain(Plain::NewAxis) => {
                    keep(1, 0, run, &mut ended);
                    kept += 1;
                }
                Part::Plain(Plain::Ellipsis) => {
                    ended |= run.is_some();
                    for _ in 0..skipped.take()? {
                        keep(view.shape[axis], view.strides[axis], run, &mut ended);
                        (axis, kept) = (axis + 1, kept + 1);
                    }
                }
            }
        }
        for _ in 0..skipped.unwrap_or(0) {
            keep(view.shape[axis], view.strides[axis], run, &mut ended);
            axis += 1;
        }
        let places = broadcast_shapes(axes.iter().map(|a| a.view.shape.as_slice()))?;
        let count = places.iter().chain(&rest).try_fold(1usize, |all, &n| all.checked_mul(n))?;
        // In C order lie places of one axis, and those of which each picks more than one element.
        let plain =
            places.len() == 1 || rest.iter().product::<usize>() > 1 || axes.iter().all(|a| a.view.is_c_contiguous());
        if count == 0 || count > MOST || !plain || places.len() + rest.len() > 8 {
            return None;
        }
        let mut offsets = SmallVec::from_elem(base, places.iter().product());
        for a in &axes {
            let spread = a.view.broadcast_to(&places)?;
            each_offset(&spread.shape, &spread.strides, |k, offset| {
                // SAFETY: the view lies inside its store, and is there.
                let i = unsafe { a.ptr.offset(offset).cast::<i64>().read_unaligned() };
                offsets[k] += at(i as isize, a.extent, a.stride)?;
                Some(())
            })?;
        }
        let front = if split { 0 } else { run.unwrap_or(0) };
        Some(Picked { offsets, places, rest, steps, front })
    }

    fn each(&self) -> SmallVec<[isize; 32]> {
        let mut all = SmallVec::new();
        let whole = each_offset(&self.rest, &self.steps, |_, offset| {
            all.push(offset);
            Some(())
        });
        debug_assert!(whole.is_some());
        all
    }

    /// The layout of the result over elements of which the places come first: its axes, and how they lie.
    fn layout(&self, dtype: DType) -> View {
        let shape: Dims = self.places.iter().chain(&self.rest).copied().collect();
        let strides = dense_strides(dtype.size(), &shape, Order::C);
        let n = self.places.len();
        let axes: Dims = (n..n + self.front).chain(0..n).chain(n + self.front..shape.len()).collect();
        View { dtype, offset: 0, shape, strides }.transpose(&axes)
    }
}

/// Calls `f` with the number and the offset of every element in C order, until it answers `None`.
fn each_offset(shape: &[usize], strides: &[isize], mut f: impl FnMut(usize, isize) -> Option<()>) -> Option<()> {
    let Some((&columns, outer)) = shape.split_last() else { return f(0, 0) };
    let step = strides[outer.len()];
    let mut at: SmallVec<[usize; 8]> = SmallVec::from_elem(0, outer.len());
    let (mut row, mut k) = (0isize, 0);
    loop {
        for column in 0..columns {
            f(k, row + column as isize * step)?;
            k += 1;
        }
        let mut axis = outer.len();
        loop {
            if axis == 0 {
                return Some(());
            }
            axis -= 1;
            at[axis] += 1;
            row += strides[axis];
            if at[axis] < shape[axis] {
                break;
            }
            row -= strides[axis] * shape[axis] as isize;
            at[axis] = 0;
        }
    }
}

/// `$body` with `$t` a type of as many bytes as an element has.
macro_rules! with_bytes {
    ($size:expr, $t:ident => $body:expr) => {
        match $size {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            8 => {
                type $t = u64;
                $body
            }
            _ => {
                type $t = u128;
                $body
            }
        }
    };
}

/// `x[index]`, of an index of which at least one part is places.
pub fn get(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let parts = Parts::read(index)?;
    let made = {
        let _still = record::still();
        // SAFETY: nothing below runs Python code before the array is done with.
        let this = unsafe { peek(x.as_any())? };
        let from = record::there(&this.array)?;
        let picked = Picked::of(&parts, from.view)?;
        let rest = View { shape: picked.rest.clone(), strides: picked.steps.clone(), ..from.view.clone() };
        // The result's other axes lie as the array's do.
        if !rest.lies_in_c_order() {
            return None;
        }
        let dtype = from.view.dtype;
        let each = picked.each();
        let (made, to) = record::laid_out("take", picked.offsets.len() * each.len(), picked.layout(dtype))?;
        // SAFETY: what is picked lies inside the view, and the result has an element for each.
        unsafe {
            with_bytes!(dtype.size(), T => {
                let mut to = to.cast::<T>();
                for &place in &picked.offsets {
                    for &offset in &each {
                        to.write_unaligned(from.ptr.offset(place + offset).cast::<T>().read_unaligned());
                        to = to.add(1);
                    }
                }
            });
        }
        made
    };
    Some(handle::wrap(x.py(), made))
}

/// `x[index] = value`, of an index of which at least one part is places. False where nothing was written.
pub fn set(x: &Bound<'_, NdArray>, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> bool {
    let Some(parts) = Parts::read(index) else { return false };
    write(x, &parts, value).is_some()
}

fn write(x: &Bound<'_, NdArray>, parts: &Parts, value: &Bound<'_, PyAny>) -> Option<()> {
    let _still = record::still();
    // SAFETY: nothing below runs Python code.
    let (this, given) = unsafe { (peek(x.as_any())?, peek(value)) };
    let dtype = this.array.view.dtype;
    let apart = |a: &Array| !std::sync::Arc::ptr_eq(&a.store, &this.array.store);
    let are_apart = parts.0.iter().all(|p| !matches!(p, Part::Places(places) if !apart(places)));
    if !this.writeable || !are_apart {
        return None;
    }
    let picked = Picked::of(parts, &this.array.view)?;
    let layout = picked.layout(dtype);
    let one = if given.is_none() { Some(number(value, dtype)?) } else { None };
    // The values in the order of the places: as the result would lie.
    let (ptr, strides) = match (given, &one) {
        (Some(values), _) => {
            let near = record::near(&values.array).filter(|v| v.view.dtype == dtype && apart(&values.array))?;
            let n = picked.places.len();
            let axes: Dims = (picked.front..picked.front + n)
                .chain(0..picked.front)
                .chain(picked.front + n..layout.shape.len())
                .collect();
            (near.ptr, near.view.broadcast_to(&layout.shape)?.transpose(&axes).strides)
        }
        (None, Some(one)) => (one.bytes.as_ptr(), SmallVec::from_elem(0, layout.shape.len())),
        (None, None) => return None,
    };
    let shape: Dims = picked.places.iter().chain(&picked.rest).copied().collect();
    let each = picked.each();
    let to = record::to_change(&this.array)?;
    // SAFETY: what is picked lies inside the view, which nothing recorded touches; a value for each lies elsewhere.
    unsafe {
        with_bytes!(dtype.size(), T => each_offset(&shape, &strides, |k, from| {
            let at = picked.offsets[k / each.len()] + each[k % each.len()];
            to.offset(at).cast::<T>().write_unaligned(ptr.offset(from).cast::<T>().read_unaligned());
            Some(())
        }))?;
    }
    record::changed(&this.array, "put");
    Some(())
}
