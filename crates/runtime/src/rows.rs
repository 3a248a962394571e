//! Elementwise operations at once, row by row: operands that lie along the rows of the result or have one value for
//! each. And copies: of matrices that lie column by column, and of runs that overlap.

use crate::array::Array;
use crate::error::ExecError;
use crate::inline::{self, is_dense, loop_of};
use crate::provenance::Provenance;
use crate::record::{MapOp, Operand};
use crate::spill;
use numloom_ir::{DType, Strides};
use numloom_loops::{BLOCK, In, fp_clear, fp_status, turn};
use smallvec::SmallVec;

/// Rows shorter than this are better put together.
const SHORTEST: usize = 16;

/// An operand's first element, and its bytes from one element to the next along every axis of the result.
struct Along {
    ptr: *const u8,
    strides: Strides,
}

fn along(a: &Array, dtype: DType, out: &Array) -> Option<Along> {
    let (v, base) = (&a.view, a.store.ptr());
    // What is written may only be read as the same elements.
    let apart = base != out.store.ptr() || *v == out.view;
    if v.dtype != dtype || base.is_null() || !apart {
        return None;
    }
    // A view's offset lies inside its store.
    Some(Along { ptr: base.wrapping_add(v.offset), strides: v.broadcast_to(&out.view.shape)?.strides })
}

/// Runs an operation whose arrays are there and may be touched. `None` where they do not lie so.
pub fn run(op: MapOp, ins: &[Operand], out: &Array) -> Option<Result<u8, ExecError>> {
    let _still = spill::inline();
    let (shape, size) = (out.view.shape.as_slice(), out.view.dtype.size());
    let (&columns, outer) = shape.split_last()?;
    if outer.is_empty() || columns < SHORTEST || !is_dense(&out.view) || ins.len() > 2 {
        return None;
    }
    let (f, types) = loop_of(op, ins, out.view.dtype)?;
    let mut operands: SmallVec<[(Along, usize); 2]> = SmallVec::new();
    for (i, want) in ins.iter().zip(types) {
        operands.push(match i {
            Operand::Value(v) if v.dtype == want => {
                (Along { ptr: v.bytes.as_ptr(), strides: SmallVec::from_elem(0, shape.len()) }, 0)
            }
            Operand::Value(_) => return None,
            Operand::Array(a) => {
                let operand = along(a, want, out)?;
                let step = usize::try_from(*operand.strides.last()?).ok()?;
                (step == 0 || step == want.size()).then_some((operand, step))?
            }
        });
    }
    let mut to = match out.store.materialise() {
        // SAFETY: a view's offset lies inside its store.
        Ok(p) => unsafe { p.add(out.view.offset) },
        Err(e) => return Some(Err(ExecError::no_memory(e, op.name(), Provenance::default()))),
    };
    let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
    let mut flags = 0;
    fp_clear();
    for _ in 0..outer.iter().product() {
        let mut args = [In { ptr: std::ptr::null(), step: 0 }; 2];
        for (arg, (operand, step)) in args.iter_mut().zip(&operands) {
            *arg = In { ptr: operand.ptr, step: *step };
        }
        for at in (0..columns).step_by(BLOCK) {
            let len = BLOCK.min(columns - at);
            // SAFETY: every operand has the row's elements, or one for all of them; the result has the next ones.
            unsafe {
                flags |= f(len, args.as_ptr(), &to);
                to = to.add(len * size);
            }
            for a in &mut args {
                a.ptr = a.ptr.wrapping_add(a.step * len);
            }
        }
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            let over = index[axis] == outer[axis];
            for (operand, _) in &mut operands {
                let back = if over { outer[axis] as isize - 1 } else { -1 };
                operand.ptr = operand.ptr.wrapping_offset(-back * operand.strides[axis]);
            }
            if !over {
                break;
            }
            index[axis] = 0;
        }
    }
    flags |= fp_status();
    out.store.wrote();
    Some(Ok(flags))
}

/// Copies a run of elements to where it overlaps itself. `None` where it is anything else, or not to be done at once.
pub fn moved(op: MapOp, ins: &[Operand], out: &Array) -> Option<Result<u8, ExecError>> {
    let _still = spill::inline();
    let (MapOp::Copy, [Operand::Array(a)]) = (op, ins) else { return None };
    let (n, base) = (out.view.size(), out.store.ptr());
    let alike = a.view.shape == out.view.shape && a.view.dtype == out.view.dtype;
    let runs = alike && is_dense(&a.view) && is_dense(&out.view) && a.store.ptr() == base && !base.is_null();
    if !runs || !inline::is_possible(n, std::iter::once(*a), &[out]) {
        return None;
    }
    inline::counted(op.name());
    // SAFETY: both runs lie inside the store, which nothing recorded touches.
    unsafe { std::ptr::copy(base.add(a.view.offset), base.add(out.view.offset), n * out.view.dtype.size()) };
    out.store.wrote();
    Some(Ok(0))
}

/// Copies a matrix that lies column by column into one that lies row by row. `None` where they do not lie so.
pub fn turned(op: MapOp, ins: &[Operand], out: &Array) -> Option<Result<u8, ExecError>> {
    let _still = spill::inline();
    let (MapOp::Copy, [Operand::Array(a)], &[rows, columns]) = (op, ins, out.view.shape.as_slice()) else {
        return None;
    };
    let size = out.view.dtype.size();
    let apart = a.store.ptr() != out.store.ptr();
    if rows.min(columns) < 2 || !is_dense(&out.view) || a.view.shape != out.view.shape || !apart {
        return None;
    }
    let from = along(a, out.view.dtype, out).filter(|from| from.strides[0] == size as isize)?;
    let to = match out.store.materialise() {
        // SAFETY: a view's offset lies inside its store.
        Ok(p) => unsafe { p.add(out.view.offset) },
        Err(e) => return Some(Err(ExecError::no_memory(e, op.name(), Provenance::default()))),
    };
    // SAFETY: `columns` runs of `rows` elements each lie in the source, and the target has as many places.
    unsafe { turn(size, columns, rows, from.ptr, from.strides[1], to, (columns * size) as isize) };
    out.store.wrote();
    Some(Ok(0))
}
