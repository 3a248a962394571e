//! The short way for plain operations: from Python's objects to the block loop, or into the window, without borrow
//! flags, reference counts or lists on the way. Whatever does not fit is `None`, and the general path does it.

use crate::fperr::{self, Watch};
use crate::handle::{self, NdArray};
use crate::numpy_api::api;
use crate::ufunc::input::Input;
use crate::ufunc::methods::library_fold;
use crate::ufunc::reduction::scan_loop;
use crate::ufunc::resolve::loop_for;
use crate::{bare, convert, errors, lists, object, operator_slots, quick_index, slots};
use numloom_ir::promote::{ArgType, Casting, can_cast};
use numloom_ir::view::Order;
use numloom_ir::{DType, Kind, ScalarOp, Value};
use numloom_library::Fold;
use numloom_runtime::{Array, MapOp, Operand, record};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use std::sync::Arc;

/// Makes the short ways ready; called once when the module is imported.
pub fn init(py: Python<'_>) -> PyResult<()> {
    let sample = Bound::new(py, NdArray::owning(convert::constant(py, Value::from_f64(DType::F64, 0.0))?))?;
    object::init(&sample)?;
    slots::install(&sample.get_type());
    operator_slots::install::<{ operator_slots::NDARRAY }>(&sample.get_type());
    bare::install(&sample.get_type())
}

/// The contents of an object that is exactly an `ndarray`, without a borrow flag.
///
/// # Safety
/// Not to be kept over anything that runs Python code or lets go of the interpreter's lock, and not to be used
/// while the object is borrowed mutably.
#[inline]
pub unsafe fn peek<'a>(obj: &'a Bound<'_, PyAny>) -> Option<&'a NdArray> {
    object::contents(obj.as_ptr()).map(|x| &*x)
}

/// An argument of an operation: one of our arrays, a Python number, or a NumPy scalar.
enum Quick<'a> {
    Array(&'a Array),
    Float(f64),
    Int(i64),
    Value(Value),
}

impl<'a> Quick<'a> {
    /// # Safety
    /// As for `peek`.
    #[inline]
    unsafe fn read(obj: &'a Bound<'_, PyAny>) -> Option<Quick<'a>> {
        if let Some(x) = peek(obj) {
            return Some(Quick::Array(&x.array));
        }
        if let Ok(f) = obj.cast_exact::<PyFloat>() {
            return Some(Quick::Float(f.value()));
        }
        if ffi::PyLong_CheckExact(obj.as_ptr()) != 0 {
            let mut overflow = 0;
            let v = ffi::PyLong_AsLongLongAndOverflow(obj.as_ptr(), &mut overflow);
            return (overflow == 0).then_some(Quick::Int(v));
        }
        api(obj.py()).scalar_value(obj).map(Quick::Value)
    }

    /// One argument, or two.
    ///
    /// # Safety
    /// As for `peek`.
    #[inline]
    unsafe fn read_both(
        left: &'a Bound<'_, PyAny>,
        right: Option<&'a Bound<'_, PyAny>>,
    ) -> Option<(Quick<'a>, Option<Quick<'a>>)> {
        let right = match right {
            Some(r) => Some(Quick::read(r)?),
            None => None,
        };
        Some((Quick::read(left)?, right))
    }

    /// Whether it is certain that an operation on it is recorded.
    #[inline]
    fn is_large(&self) -> bool {
        matches!(self, Quick::Array(a) if record::is_large(a))
    }

    #[inline]
    fn arg_type(&self) -> ArgType {
        match self {
            Quick::Array(a) => ArgType::Strong(a.view.dtype),
            Quick::Float(_) => ArgType::WeakFloat,
            Quick::Int(_) => ArgType::WeakInt,
            Quick::Value(v) => ArgType::Strong(v.dtype),
        }
    }

    #[inline]
    fn operand(&self, dtype: DType) -> Option<Operand<'a>> {
        Some(match *self {
            Quick::Array(a) => Operand::Array(a),
            Quick::Float(f) if dtype == DType::F64 => {
                let mut bytes = [0u8; 16];
                bytes[..8].copy_from_slice(&f.to_le_bytes());
                Operand::Value(Value { dtype, bytes })
            }
            Quick::Value(v) if v.dtype == dtype => Operand::Value(v),
            Quick::Value(v) => Operand::Value(v.cast(dtype)),
            Quick::Float(f) => Operand::Value(Input::Float(f).value(dtype).ok()?),
            Quick::Int(i) => Operand::Value(Input::Int(i as i128).value(dtype).ok()?),
        })
    }
}

/// What an operation found out of its operands' types.
struct Call<'a> {
    lp: u8,
    ins: [Operand<'a>; 2],
}

/// The loop for two arguments (or one, then the second is not looked at).
#[inline]
fn prepare<'a>(op: ScalarOp, a: &Quick<'a>, b: Option<&Quick<'a>>) -> Option<Call<'a>> {
    let lp = match b {
        Some(b) => loop_for(op, &[a.arg_type(), b.arg_type()]),
        None => loop_for(op, &[a.arg_type()]),
    }?;
    let types = op.loops()[lp as usize].ins();
    // Whether integers may be raised to a power depends on the exponents.
    if op == ScalarOp::Power && types[0].is_integer() && !b.is_some_and(|b| has_no_negatives(b)) {
        return None;
    }
    let first = a.operand(types[0])?;
    let second = match b {
        Some(b) => b.operand(types[1])?,
        None => first,
    };
    Some(Call { lp, ins: [first, second] })
}

/// Whether exponents are certain not to be negative: a number, or small arrays that are there.
fn has_no_negatives(exponents: &Quick<'_>) -> bool {
    match exponents {
        Quick::Int(i) => *i >= 0,
        Quick::Array(a) if a.view.dtype.kind() == Kind::Unsigned => true,
        Quick::Array(a) if a.view.dtype.kind() == Kind::Signed => {
            let _still = record::still();
            let Some(near) = record::near(a).filter(record::Near::is_dense) else { return false };
            // SAFETY: dense, there, and of the type that is read.
            unsafe {
                match a.view.dtype {
                    DType::I8 => all_from_zero::<i8>(&near),
                    DType::I16 => all_from_zero::<i16>(&near),
                    DType::I32 => all_from_zero::<i32>(&near),
                    _ => all_from_zero::<i64>(&near),
                }
            }
        }
        _ => false,
    }
}

unsafe fn all_from_zero<T: Default + PartialOrd>(near: &record::Near) -> bool {
    (0..near.view.size()).all(|i| near.ptr.cast::<T>().add(i).read_unaligned() >= T::default())
}

/// How a small operation went.
enum Tried {
    Done(PyResult<Py<PyAny>>),
    /// Its operands are large or not there yet: it is to be recorded.
    Deferred,
    Unfit,
}

#[inline]
fn computed(py: Python<'_>, op: ScalarOp, call: &Call<'_>, nin: usize) -> Tried {
    // What went wrong goes wrong once more in the general path, which says so.
    let Some(Ok((array, flags))) = record::map_small(op, call.lp, &call.ins[..nin]) else {
        let deferred = call.ins[..nin].iter().any(|i| matches!(i, Operand::Array(a) if record::is_deferred(a)));
        return if deferred { Tried::Deferred } else { Tried::Unfit };
    };
    if flags != 0
        && let Err(e) = fperr::check(py, flags, op.name())
    {
        return Tried::Done(Err(e));
    }
    Tried::Done(handle::wrap(py, array))
}

/// Records an operation on arrays of one shape, dense or of the same unknown length. `None` for others.
fn recorded(op: ScalarOp, left: &Bound<'_, PyAny>, right: Option<&Bound<'_, PyAny>>) -> Option<PyResult<Py<PyAny>>> {
    let py = left.py();
    // Looking for the user's line may run Python code, so it comes before the operands.
    let watch = Watch::new(py);
    let at = watch.here();
    // SAFETY: nothing below runs Python code before the operands are done with.
    let (a, b) = unsafe { Quick::read_both(left, right)? };
    let call = prepare(op, &a, b.as_ref())?;
    let types = &op.loops()[call.lp as usize];
    let ([dtype], ins) = (types.outs(), &call.ins[..types.ins().len()]) else { return None };
    let like = ins.iter().find_map(|i| match i {
        Operand::Array(a) if a.view.ndim() > 0 => Some(*a),
        _ => None,
    })?;
    let fits = |i: &Operand| match i {
        Operand::Array(a) => a.view.ndim() == 0 || is_alike(a, like),
        Operand::Value(_) => true,
    };
    if !ins.iter().all(fits) {
        return None;
    }
    let made = match like.symbol() {
        Some(_) => record::empty_packed(like, *dtype, || at),
        None => record::empty(*dtype, &like.view.shape, Order::C, || at),
    };
    let done = made.and_then(|out| {
        let flags = record::map(MapOp::Scalar { op, lp: call.lp }, ins, &[&out], None, || at)?;
        Ok((out, flags))
    });
    Some(match done {
        Ok((out, flags)) => watch.finish(flags, op.name(), &out).and_then(|()| handle::wrap(py, out)),
        Err(e) => Err(errors::raise(py, e)),
    })
}

/// Whether two arrays have one shape, known or not, and the plain layout that a result of both would have.
#[inline]
fn is_alike(a: &Array, like: &Array) -> bool {
    let same_length = match (a.symbol(), like.symbol()) {
        (Some(x), Some(y)) => Arc::ptr_eq(x, y),
        (None, None) => true,
        _ => false,
    };
    same_length && a.view.shape == like.view.shape && (a.view.ndim() == 1 || a.view.is_c_contiguous())
}

/// `op(left, right)`.
#[inline]
pub fn binary(op: ScalarOp, left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    // SAFETY: nothing below runs Python code before the operands are done with.
    let (a, b) = match unsafe { (Quick::read(left), Quick::read(right)) } {
        (Some(a), Some(b)) if a.is_large() || b.is_large() => return recorded(op, left, Some(right)),
        (Some(a), Some(b)) => (a, b),
        _ => return with_alike(op, left, right),
    };
    let call = prepare(op, &a, Some(&b))?;
    match computed(left.py(), op, &call, 2) {
        Tried::Done(result) => Some(result),
        Tried::Deferred => recorded(op, left, Some(right)),
        Tried::Unfit => None,
    }
}

/// `op(left, right)` where one of them is a small array-like.
#[cold]
fn with_alike(op: ScalarOp, left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let copies = [lists::small(left), lists::small(right)];
    fn either<'a>(copy: &'a Option<Array>, obj: &'a Bound<'_, PyAny>) -> Option<Quick<'a>> {
        // SAFETY: as in `binary`.
        copy.as_ref().map_or_else(|| unsafe { Quick::read(obj) }, |copy| Some(Quick::Array(copy)))
    }
    let (a, b) = (either(&copies[0], left)?, either(&copies[1], right)?);
    let call = prepare(op, &a, Some(&b))?;
    match computed(left.py(), op, &call, 2) {
        Tried::Done(result) => Some(result),
        _ => None,
    }
}

/// `op(operand)`.
#[inline]
pub fn unary(op: ScalarOp, operand: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    // SAFETY: as in `binary`.
    let Some(a) = (unsafe { Quick::read(operand) }) else { return of_alike(op, operand) };
    let call = prepare(op, &a, None)?;
    match computed(operand.py(), op, &call, 1) {
        Tried::Done(result) => Some(result),
        Tried::Deferred => recorded(op, operand, None),
        Tried::Unfit => None,
    }
}

/// `op(operand)` of a small array-like.
#[cold]
fn of_alike(op: ScalarOp, operand: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let copy = lists::small(operand)?;
    let call = prepare(op, &Quick::Array(&copy), None)?;
    match computed(operand.py(), op, &call, 1) {
        Tried::Done(result) => Some(result),
        _ => None,
    }
}

/// `op(left, right)` of an operation with two results; without `right`, of one argument.
pub fn pair(op: ScalarOp, left: &Bound<'_, PyAny>, right: Option<&Bound<'_, PyAny>>) -> Option<PyResult<Py<PyAny>>> {
    let py = left.py();
    // SAFETY: as in `binary`.
    let (a, b) = unsafe { Quick::read_both(left, right)? };
    let call = prepare(op, &a, b.as_ref())?;
    let (first, second, flags) = record::map_pair(op, call.lp, &call.ins[..op.nin()])?;
    if flags != 0
        && let Err(e) = fperr::check(py, flags, op.name())
    {
        return Some(Err(e));
    }
    let both = || PyTuple::new(py, [handle::wrap(py, first)?, handle::wrap(py, second)?]);
    Some(both().map(|both| both.into_any().unbind()))
}

/// `op(left, right, out=target)`; without `right`, of one argument.
#[inline]
pub fn into(
    op: ScalarOp,
    left: &Bound<'_, PyAny>,
    right: Option<&Bound<'_, PyAny>>,
    target: &Bound<'_, PyAny>,
) -> Option<PyResult<()>> {
    // SAFETY: as in `binary`.
    let ((a, b), out) = unsafe { (Quick::read_both(left, right)?, peek(target)?) };
    let call = prepare(op, &a, b.as_ref())?;
    let fits = |o: &Operand| match o {
        Operand::Array(x) => x.view.ndim() == 0 || x.view.shape == out.array.view.shape,
        Operand::Value(_) => true,
    };
    let types = &op.loops()[call.lp as usize];
    if !out.writeable
        || !call.ins.iter().all(fits)
        || types.outs().len() != 1
        || !can_cast(types.outs()[0], out.array.view.dtype, Casting::SameKind)
    {
        return None;
    }
    let nin = types.ins().len();
    let flags = record::run_small(MapOp::Scalar { op, lp: call.lp }, &call.ins[..nin], &out.array)?.ok()?;
    Some(fperr::check(target.py(), flags, op.name()))
}

/// `where(condition, x, y)` of small arrays, or of large ones of one shape.
pub fn choose(condition: &Bound<'_, PyAny>, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let py = condition.py();
    // SAFETY: nothing below runs Python code before the operands are done with.
    let chosen = unsafe { Choice::read(condition, x, y)? };
    if !record::is_large(chosen.mask) {
        let made = record::select_new(chosen.mask, chosen.ins[0], chosen.ins[1], chosen.dtype)?;
        return Some(handle::wrap(py, made));
    }
    // Looking for the user's line may run Python code, so the operands are read again.
    let at = Watch::new(py).here();
    // SAFETY: as above.
    let Choice { mask, ins, dtype } = unsafe { Choice::read(condition, x, y)? };
    let fits = |i: &Operand| match i {
        Operand::Array(a) => is_alike(a, mask),
        Operand::Value(_) => true,
    };
    if mask.view.dtype != DType::Bool || !is_alike(mask, mask) || !ins.iter().all(fits) {
        return None;
    }
    let done = record::empty(dtype, &mask.view.shape, Order::C, || at).and_then(|out| {
        record::map(MapOp::Select, &[Operand::Array(mask), ins[0], ins[1]], &[&out], None, || at)?;
        Ok(out)
    });
    Some(done.map_err(|e| errors::raise(py, e)).and_then(|out| handle::wrap(py, out)))
}

/// The operands of `where`: arrays of one type, or one and numbers.
struct Choice<'a> {
    mask: &'a Array,
    ins: [Operand<'a>; 2],
    dtype: DType,
}

impl<'a> Choice<'a> {
    /// # Safety
    /// As for `peek`.
    unsafe fn read(
        condition: &'a Bound<'_, PyAny>,
        x: &'a Bound<'_, PyAny>,
        y: &'a Bound<'_, PyAny>,
    ) -> Option<Choice<'a>> {
        let (mask, x, y) = (&peek(condition)?.array, Quick::read(x)?, Quick::read(y)?);
        let dtype = match (&x, &y) {
            (Quick::Array(a), Quick::Array(b)) if a.view.dtype == b.view.dtype => a.view.dtype,
            (Quick::Array(a), Quick::Float(_)) | (Quick::Float(_), Quick::Array(a)) if a.view.dtype.is_inexact() => {
                a.view.dtype
            }
            (Quick::Array(a), Quick::Int(_)) | (Quick::Int(_), Quick::Array(a)) if a.view.dtype != DType::Bool => {
                a.view.dtype
            }
            _ => return None,
        };
        Some(Choice { mask, ins: [x.operand(dtype)?, y.operand(dtype)?], dtype })
    }
}

/// The product of two small vectors, of a matrix and a vector, or of two matrices.
pub fn dot(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let py = left.py();
    // SAFETY: as in `binary`.
    let ours = unsafe { [peek(left), peek(right)] };
    let copies =
        [(ours[0], left), (ours[1], right)].map(|(ours, obj)| if ours.is_some() { None } else { lists::small(obj) });
    let array = |k: usize| ours[k].map(|x: &NdArray| &x.array).or(copies[k].as_ref());
    let (a, b) = (array(0)?, array(1)?);
    if a.view.ndim() == 1 && b.view.ndim() == 1 {
        return record::dot(a, b).map(|product| api(py).make_scalar(py, &product));
    }
    record::product(a, b).map(|product| handle::wrap(py, product))
}

/// The product of a small array and a number of Python's, in the array's own type; `None` where anything is to be warned of.
#[cold]
pub fn scaled(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    // SAFETY: as in `binary`.
    let (a, b) = unsafe { (Quick::read(left)?, Quick::read(right)?) };
    let Quick::Array(array) = a else { return None };
    let fits = match b {
        Quick::Float(_) => array.view.dtype == DType::F64,
        Quick::Int(_) => matches!(array.view.dtype, DType::F64 | DType::I64),
        _ => false,
    };
    let call = prepare(ScalarOp::Multiply, &a, Some(&b)).filter(|_| fits && array.view.is_c_contiguous())?;
    let (made, flags) = record::map_small(ScalarOp::Multiply, call.lp, &call.ins)?.ok()?;
    (flags == 0 && made.view.ndim() > 0).then(|| handle::wrap(left.py(), made))
}

/// `clip(x, low, high)` of a small array between two numbers that its own type holds.
pub fn clip(x: &Bound<'_, PyAny>, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    let py = x.py();
    // SAFETY: as in `binary`.
    let (x, low, high) = unsafe { (Quick::read(x)?, Quick::read(low)?, Quick::read(high)?) };
    let Quick::Array(a) = x else { return None };
    let dtype = a.view.dtype;
    let fits = |number: &Quick<'_>| match number {
        Quick::Float(_) => dtype.is_float(),
        Quick::Int(_) => dtype != DType::Bool,
        _ => false,
    };
    if !fits(&low) || !fits(&high) {
        return None;
    }
    let (low, high) = (low.operand(dtype)?, high.operand(dtype)?);
    let at_least = ScalarOp::Maximum.loop_for(dtype)? as u8;
    let at_most = MapOp::Scalar { op: ScalarOp::Minimum, lp: ScalarOp::Minimum.loop_for(dtype)? as u8 };
    let (made, flags) = record::map_small(ScalarOp::Maximum, at_least, &[Operand::Array(a), low])?.ok()?;
    let more = record::run_small(at_most, &[Operand::Array(&made), high], &made)?.ok()?;
    (flags | more == 0).then(|| handle::wrap(py, made))
}

/// `target.fill(value)` of a small array and a number that its type holds.
pub fn fill(target: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    // SAFETY: as in `binary`.
    let (target_array, value) = unsafe { (peek(target)?, Quick::read(value)?) };
    let dtype = target_array.array.view.dtype;
    let fits = matches!(
        (&value, dtype),
        (Quick::Float(_), DType::F64 | DType::F32) | (Quick::Int(_), DType::F64 | DType::F32 | DType::I64)
    );
    if !fits || !target_array.writeable {
        return None;
    }
    let done = record::run_small(MapOp::Copy, &[value.operand(dtype)?], &target_array.array)?;
    done.ok().filter(|&flags| flags == 0).map(|_| Ok(target.py().None()))
}

/// `op.accumulate` of a small line.
pub fn scan(py: Python<'_>, op: ScalarOp, a: &Array) -> Option<PyResult<Py<PyAny>>> {
    if op.nin() != 2 || op.nout() != 1 {
        return None;
    }
    let lp = scan_loop(op, a.view.dtype, None, None)?;
    let fold = library_fold(op, lp);
    // Other loops are asked about their operands first.
    if matches!(fold, Fold::Call(_)) {
        return None;
    }
    let (made, flags) = record::scan_small(&fold, a, op.loops()[lp as usize].outs()[0])?;
    Some(fperr::check(py, flags, "accumulate").and_then(|()| handle::wrap(py, made)))
}

/// `op.reduceat(x, indices)` of a small line.
pub fn stretches(op: ScalarOp, x: &Bound<'_, PyAny>, indices: &Bound<'_, PyAny>) -> Option<PyResult<Py<PyAny>>> {
    if op.nin() != 2 || op.nout() != 1 {
        return None;
    }
    // Reading a list may run Python code, so it comes before the arrays.
    let listed = quick_index::listed(indices);
    // SAFETY: as in `binary`.
    let (a, given) = unsafe { (&peek(x)?.array, peek(indices)) };
    let starts = given.map(|given| &given.array).or(listed.as_ref())?;
    let lp = scan_loop(op, a.view.dtype, None, None)?;
    let fold = library_fold(op, lp);
    // Other loops are asked about their operands first, and other types are cast.
    if matches!(fold, Fold::Call(_)) || op.loops()[lp as usize].outs()[0] != a.view.dtype {
        return None;
    }
    let (made, flags) = record::reduce_stretches_small(&fold, a, starts)?;
    Some(fperr::check(x.py(), flags, "reduceat").and_then(|()| handle::wrap(x.py(), made)))
}

/// `op.at(x, index, value)` of a small line, dense indices, and values of the line's own type.
pub fn update(
    op: ScalarOp,
    x: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> Option<PyResult<()>> {
    use ScalarOp::{Add, Maximum, Minimum, Multiply, Subtract};
    // Reading a list may run Python code, so it comes before the arrays.
    let listed = quick_index::listed(index);
    // SAFETY: as in `binary`.
    let (target, given, value) = unsafe { (peek(x)?, peek(index), Quick::read(value)?) };
    let index = given.map(|given| &given.array).or(listed.as_ref())?;
    let dtype = target.array.view.dtype;
    // Python's numbers count as arrays here.
    let fits = match &value {
        Quick::Array(a) => a.view.dtype == dtype,
        Quick::Value(v) => v.dtype == dtype,
        Quick::Float(_) => dtype == DType::F64,
        Quick::Int(_) => matches!(dtype, DType::I64 | DType::F64),
    };
    if !fits || !target.writeable || !matches!(op, Add | Subtract | Multiply | Maximum | Minimum) {
        return None;
    }
    let lp = op.loop_for(dtype)? as u8;
    let flags = record::update_small(op, lp, &target.array, index, &value.operand(dtype)?)?;
    Some(fperr::check(x.py(), flags, op.name()))
}
