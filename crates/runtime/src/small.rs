//! Small things at once that are not one block loop: products, extremes and sums along one axis of arrays that are there.

use crate::array::Array;
use crate::dot::LIGHT;
use crate::inline::{SMALL, dense_run, is_dense};
use crate::lines;
use crate::near;
use crate::prompt;
use crate::provenance::Provenance;
use crate::record::{self, MapOp, Operand};
use crate::store::Store;
use crate::{spill, stats};
use numloom_ir::view::{Order, dense_strides};
use numloom_ir::{DType, Dims, ScalarOp, Value, View};
use numloom_library::{Args, LibraryOp, MatMul, RawView};
use numloom_loops::{FP_INVALID, FP_OVERFLOW, FP_UNDERFLOW, In, cast_fn, count_true, fp_clear, fp_status};
use smallvec::SmallVec;

#[inline]
pub(crate) fn is_small(elements: usize) -> bool {
    elements > 0 && elements <= SMALL && elements <= numloom_config::current().inline_size
}

/// Integer divisions of up to this many elements that are there run in the call, and are heard of there.
const DIVISION: usize = 1 << 14;

/// How many elements an operation counts as when it is decided whether it runs at once. A division of integers takes
/// time enough in any case, and a program that divides by zero wants to know where; arrays of one value are where such
/// a division's operands often come from, and take next to none.
pub fn weight(op: MapOp, ins: &[Operand], elements: usize) -> usize {
    use ScalarOp::{Divmod, FloorDivide, Fmod, Remainder};
    let inline = numloom_config::current().inline_size;
    if elements > DIVISION || inline == 0 {
        return elements;
    }
    let at_once = match op {
        MapOp::Scalar { op: op @ (FloorDivide | Remainder | Fmod | Divmod), lp } => {
            op.loops()[lp as usize].ins()[0].is_integer()
        }
        MapOp::Copy => matches!(ins, [Operand::Value(_)]),
        _ => false,
    };
    if at_once { elements.min(inline) } else { elements }
}

/// Whether an operation takes no longer than reading and writing its elements.
pub fn is_light(op: MapOp) -> bool {
    use ScalarOp::*;
    let MapOp::Scalar { op, .. } = op else { return false };
    let arithmetic =
        matches!(op, Add | Subtract | Multiply | Divide | Negative | Absolute | Square | Maximum | Minimum);
    let comparison = matches!(op, Less | LessEqual | Equal | NotEqual | Greater | GreaterEqual);
    arithmetic || comparison || matches!(op, LogicalAnd | LogicalOr | LogicalNot | BitwiseAnd | BitwiseOr | Invert)
}

/// Elements of vectors whose products tasks add up in one go, too.
const WHOLE_DOT: usize = 1 << 16;

/// The dot product of two small vectors of doubles or singles.
pub fn dot(a: &Array, b: &Array) -> Option<Value> {
    let _still = spill::inline();
    let (dtype, n) = (a.view.dtype, a.view.size());
    if a.view.ndim() != 1 || b.view.shape != a.view.shape || n == 0 || n > WHOLE_DOT || !prompt::gives_value(n) {
        return None;
    }
    let x = lines::run(a, dtype, &a.view.shape, 0)?;
    let y = lines::run(b, dtype, &a.view.shape, 1)?;
    if !(x.ptr as usize | y.ptr as usize).is_multiple_of(dtype.align()) {
        return None;
    }
    let mut sum = 0u64;
    prompt::value();
    // SAFETY: both are dense over `n` aligned elements.
    let known = unsafe {
        if dtype == DType::I64 {
            let x = std::slice::from_raw_parts(x.ptr.cast::<u64>(), n);
            let y = std::slice::from_raw_parts(y.ptr.cast::<u64>(), n);
            sum = x.iter().zip(y).fold(0u64, |sum, (&x, &y)| sum.wrapping_add(x.wrapping_mul(y)));
            true
        } else {
            numloom_library::dots_dense(dtype, x.ptr, 0, y.ptr, [1, n], (&raw mut sum).cast())
        }
    };
    stats::count_inline("dot");
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&sum.to_ne_bytes());
    let sum = Value { dtype, bytes };
    // What overflowed is heard of, which takes the longer way.
    (known && sum.to_f64().is_finite()).then_some(sum)
}

/// The product of two small matrices that are there, or of one and a vector; `None` for others, and where there is a
/// floating-point exception to be heard of.
pub fn product(a: &Array, b: &Array) -> Option<Array> {
    let _still = spill::inline();
    let (dtype, size) = (a.view.dtype, a.view.dtype.size());
    let (left, right) = (near::there(a)?, near::there(b)?);
    let matrix = |v: &View, upright: bool| match (v.shape.as_slice(), v.strides.as_slice()) {
        (&[n], &[step]) if upright => Some(([n, 1], [step, 0])),
        (&[n], &[step]) => Some(([1, n], [0, step])),
        (&[rows, columns], &[down, along]) => Some(([rows, columns], [down, along])),
        _ => None,
    };
    let ((left_shape, left_steps), (right_shape, right_steps)) = (matrix(&a.view, false)?, matrix(&b.view, true)?);
    let ([m, k], [depth, n]) = (left_shape, right_shape);
    let elements = m.saturating_mul(k).saturating_add(k.saturating_mul(n)).saturating_add(m.saturating_mul(n));
    let weight = if m == 1 || n == 1 { elements / LIGHT } else { elements };
    if b.view.dtype != dtype || k != depth || k == 0 || m * n == 0 || weight > numloom_config::current().inline_size {
        return None;
    }
    let shape: Dims = match (a.view.ndim(), b.view.ndim()) {
        (2, 2) => SmallVec::from_slice(&[m, n]),
        (2, 1) => SmallVec::from_slice(&[m]),
        (1, 2) => SmallVec::from_slice(&[n]),
        _ => return None,
    };
    let made = small_room(dtype, shape)?;
    fp_clear();
    let heard = || fp_status() & (FP_INVALID | FP_OVERFLOW | FP_UNDERFLOW) != 0;
    if n == 1 && rows_times(left.ptr, left_steps, (right.ptr, right_steps[0]), [m, k], &made) {
        stats::count_inline("matmul");
        return (!heard()).then_some(made);
    }
    let raw = |ptr: *const u8, shape: [usize; 2], steps: [isize; 2]| RawView {
        ptr: ptr.cast_mut(),
        dtype,
        shape: SmallVec::from_slice(&shape),
        strides: SmallVec::from_slice(&steps),
    };
    let args = Args {
        ins: vec![raw(left.ptr, left_shape, left_steps), raw(right.ptr, right_shape, right_steps)],
        outs: vec![raw(made.store.ptr(), [m, n], [(n * size) as isize, size as isize])],
    };
    let op = MatMul::default();
    for (phase, &tiles) in op.phases(&args).iter().enumerate() {
        for tile in 0..tiles {
            // SAFETY: views lie inside their stores; the output is new.
            unsafe { op.run(&args, phase, tile) }.ok()?;
        }
    }
    stats::count_inline(op.name());
    (!heard()).then_some(made)
}

/// The product of dense rows with a dense vector, into an array of theirs; false if it is not so.
fn rows_times(
    a: *const u8,
    [down, along]: [isize; 2],
    (x, step): (*const u8, isize),
    mk: [usize; 2],
    to: &Array,
) -> bool {
    let (dtype, size) = (to.view.dtype, to.view.dtype.size() as isize);
    let aligned = (a as usize | x as usize | down as usize).is_multiple_of(size as usize);
    // SAFETY: the rows and the vector lie inside their stores; the result is new, with an element for each row.
    aligned
        && along == size
        && step == size
        && unsafe { numloom_library::dots_dense(dtype, a, down / size, x, mk, to.store.ptr()) }
}

/// The first place of the extreme of a small array, in C order.
pub fn extreme_place(a: &Array, max: bool) -> Option<usize> {
    let _still = spill::inline();
    let n = a.view.size();
    if a.view.ndim() == 0 || n == 0 || !prompt::gives_value(n) {
        return None;
    }
    let run = dense_run(a, a.view.dtype, &a.view.shape)?;
    stats::count_inline(if max { "argmax" } else { "argmin" });
    prompt::value();
    // SAFETY: dense over `n` elements.
    unsafe { numloom_library::extreme_place(a.view.dtype, max, run.ptr, n).ok() }
}

/// The first places of the extremes of a small array along an axis.
pub fn extreme_places(a: &Array, axis: usize, max: bool) -> Option<Array> {
    let _still = spill::inline();
    let (from, v) = (near::near(a)?, &a.view);
    let (&n, &step) = (v.shape.get(axis)?, v.strides.get(axis)?);
    let (mut shape, mut steps) = (v.shape.clone(), v.strides.clone());
    shape.remove(axis);
    steps.remove(axis);
    // All of one axis is a number.
    let made = small_room(DType::I64, shape.clone()).filter(|made| made.view.ndim() > 0)?;
    let (slot, size, lines) = (lines::slot(0), v.dtype.size(), made.view.size());
    // The lines side by side, or one after another.
    let together = lines >= numloom_library::TOGETHER;
    let at = if together { 0 } else { shape.len() };
    shape.insert(at, n);
    steps.insert(at, step);
    // SAFETY: the box lies inside the view, and a slot has room for it; the result is new, with a place for each line.
    unsafe {
        made.store.ptr().write_bytes(0, made.store.nbytes());
        let places = std::slice::from_raw_parts_mut(made.store.ptr().cast::<i64>(), lines);
        let dense = together && axis == 0 && is_dense(v);
        let run = if dense { from.ptr } else { slot.cast_const() };
        if !dense {
            lines::gather_box(size, &shape, &steps, from.ptr, slot);
        }
        if together {
            numloom_library::extremes_down(v.dtype, max, run, n, places);
        } else {
            for (k, place) in places.iter_mut().enumerate() {
                *place = numloom_library::extreme_place(v.dtype, max, run.add(k * n * size), n).ok()? as i64;
            }
        }
    }
    stats::count_inline(if max { "argmax" } else { "argmin" });
    Some(made)
}

/// Truths of up to this many elements that are there are counted in the call: at worst some tens of microseconds.
const COUNTED: usize = 1 << 20;

/// How many elements of a dense bool array that is there are true.
pub fn count_small(a: &Array) -> Option<usize> {
    let _still = spill::inline();
    let n = a.view.size();
    if a.view.ndim() == 0 || n > COUNTED || numloom_config::current().inline_size == 0 {
        return None;
    }
    let run = dense_run(a, DType::Bool, &a.view.shape)?;
    stats::count_inline("count_nonzero");
    // SAFETY: dense over `n` elements.
    Some(unsafe { count_true(n, run.ptr) })
}

/// Truths of up to this many elements are looked through in the call: at worst some tens of microseconds.
const LOOKED_THROUGH: usize = 1 << 20;

/// Whether any element of a dense bool array that is there is true, or of a small one of any type; or whether all are.
pub fn truth(a: &Array, all: bool) -> Option<bool> {
    let _still = spill::inline();
    let n = a.view.size();
    if a.view.dtype != DType::Bool && is_small(n) && a.view.ndim() > 0 {
        let (run, truths) = (lines::run(a, a.view.dtype, &a.view.shape, 0)?, lines::slot(1));
        stats::count_inline(if all { "all" } else { "any" });
        // SAFETY: `n` elements, not more than a slot has room for.
        let true_ones = unsafe {
            cast_fn(a.view.dtype, DType::Bool)(n, &run, &truths);
            count_true(n, truths)
        };
        return Some(if all { true_ones == n } else { true_ones > 0 });
    }
    if a.view.ndim() == 0 || n > LOOKED_THROUGH || numloom_config::current().inline_size == 0 {
        return None;
    }
    let run = dense_run(a, DType::Bool, &a.view.shape)?;
    stats::count_inline(if all { "all" } else { "any" });
    // SAFETY: dense over `n` elements of one byte each, which nothing writes meanwhile.
    let bytes = unsafe { std::slice::from_raw_parts(run.ptr, n) };
    // Long pieces without a branch, so that they are read in vectors.
    let any = bytes.chunks(256).any(|piece| {
        if all { piece.iter().fold(false, |o, &b| o | (b == 0)) } else { piece.iter().fold(0, |o, &b| o | b) != 0 }
    });
    Some(any != all)
}

/// A small array that has its memory at once: zeros, or whatever lies there.
#[inline]
pub fn new_small(dtype: DType, shape: Dims, zeros: bool) -> Option<Array> {
    let made = small_room(dtype, shape)?;
    if zeros {
        // SAFETY: the store has room for all of it; zeros of every type are zero bytes.
        unsafe { made.store.ptr().write_bytes(0, made.store.nbytes()) };
    }
    stats::count_inline("zeros");
    Some(made)
}

/// Such an array for an operation to fill.
#[inline]
pub fn small_room(dtype: DType, shape: Dims) -> Option<Array> {
    let n = numloom_ir::view::checked_size(&shape)?;
    if !is_small(n) {
        return None;
    }
    let store = Store::to_fill(n * dtype.size()).ok()?;
    let strides = dense_strides(dtype.size(), &shape, Order::C);
    Some(Array::first(store, View { dtype, offset: 0, shape, strides }))
}

/// Runs `write` on the memory of a small dense array, as the operation `name`, if it has memory and nothing recorded is
/// on its way to it.
#[inline]
pub fn write_small<R>(name: &'static str, out: &Array, write: impl FnOnce(*mut u8) -> R) -> Option<R> {
    let _still = spill::inline();
    let there = is_small(out.view.size())
        && is_dense(&out.view)
        && out.symbol().is_none()
        && out.store.is_idle()
        && !out.store.is_away()
        && !out.store.ptr().is_null();
    if !there {
        return None;
    }
    // SAFETY: a view's offset lies inside its store.
    let done = write(unsafe { out.store.ptr().add(out.view.offset) });
    out.store.wrote();
    stats::count_inline(name);
    Some(done)
}

/// A small array with these elements; `None` unless they are as many, and as large, as it takes.
pub fn new_of<T: Copy>(dtype: DType, shape: Dims, elements: &[T]) -> Option<Array> {
    let fits = size_of::<T>() == dtype.size() && shape.iter().product::<usize>() == elements.len();
    let made = new_small(dtype, shape, false).filter(|_| fits)?;
    // SAFETY: the new store has room for as many bytes, and nobody else has seen it.
    unsafe { std::ptr::copy_nonoverlapping(elements.as_ptr().cast(), made.store.ptr(), size_of_val(elements)) };
    Some(made)
}

/// Bytes of arrays that are put one after another in the call.
const STACKED: usize = 4 << 20;

/// Dense arrays of one shape and type that are there, one after another along a new first axis, if they are not large.
pub fn stack_small(items: &[&Array], at: impl FnOnce() -> Provenance) -> Option<Array> {
    let _still = spill::inline();
    let (first, n) = (items.first()?, items.first()?.view.size());
    let (dtype, shape) = (first.view.dtype, &first.view.shape);
    let mut whole: Dims = SmallVec::from_slice(&[items.len()]);
    whole.extend_from_slice(shape);
    let mut runs: SmallVec<[In; 8]> = SmallVec::new();
    for a in items {
        runs.push(dense_run(a, dtype, shape).filter(|_| a.view.shape == *shape)?);
    }
    let bytes = n * dtype.size();
    let made = match new_small(dtype, whole.clone(), false) {
        Some(made) => made,
        None if bytes.saturating_mul(items.len()) <= STACKED => record::empty(dtype, &whole, Order::C, at).ok()?,
        None => return None,
    };
    let to = made.store.materialise().ok()?;
    for (k, run) in runs.iter().enumerate() {
        // SAFETY: dense over `n` elements each, and the new array has as many for each.
        unsafe { std::ptr::copy_nonoverlapping(run.ptr, to.add(k * bytes), bytes) };
    }
    made.store.wrote();
    Some(made)
}
