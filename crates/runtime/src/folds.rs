//! Reductions at once, of arrays that are there. Sums come out as those of tasks do: in the order of `Partials`, along
//! the axis that `goes_along` says.

use crate::array::Array;
use crate::boxes;
use crate::error::ExecError;
use crate::inline::{SMALL, dense_run, in_blocks, is_dense};
use crate::lines::{self, slot};
use crate::lower::identity_value;
use crate::node;
use crate::operation::Operation;
use crate::plan::{self, TaskWork};
use crate::prompt;
use crate::provenance::Provenance;
use crate::spill;
use numloom_cpu::{GRANULE, Launch, Output, Partials, goes_along};
use numloom_ir::{DType, ScalarOp, Value};
use numloom_loops::{BLOCK, BlockFn, FoldFn, In, block_fn, fold_fn, fp_clear, fp_status, gather};
use smallvec::SmallVec;

type Result<T> = std::result::Result<T, ExecError>;

/// Elements that tasks fold in one go, too.
const CHUNK: usize = 1 << 16;

/// The sum of the squares of a dense array of floats that is there and not too large.
pub fn sum_of_squares(a: &Array) -> Option<Value> {
    let _still = spill::inline();
    let (dtype, n) = (a.view.dtype, a.view.size());
    if n == 0 || n > CHUNK || !dtype.is_inexact() || dtype.is_complex() || !prompt::gives_value(n) {
        return None;
    }
    let run = dense_run(a, dtype, &a.view.shape).filter(|run| run.step > 0)?;
    let loop_of =
        |op: ScalarOp| op.loops().iter().position(|l| l.outs() == [dtype] && l.ins().iter().all(|&d| d == dtype));
    let (square, (add, sum)) =
        (loop_of(ScalarOp::Square)?, crate::lower::accumulator(ScalarOp::Add, loop_of(ScalarOp::Add)? as u8));
    let fold = fold_fn(ScalarOp::Add, add as usize).filter(|_| sum == dtype)?;
    let (size, to) = (dtype.size(), slot(0));
    let (mut partials, mut bytes) = (Partials::new(size), [0; 16]);
    for at in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - at);
        // SAFETY: dense over `n` elements; the buffer has room for a block.
        unsafe {
            block_fn(ScalarOp::Square, square)(len, &In { ptr: run.ptr.add(at * size), step: size }, &to);
            partials.add(fold, In { ptr: to, step: size }, len);
        }
    }
    // SAFETY: something was added, and a value has 16 bytes at most.
    unsafe { partials.take(fold, bytes.as_mut_ptr()) };
    prompt::value();
    Some(Value { dtype, bytes })
}

/// A dense matrix, and how its elements are folded.
struct Matrix {
    from: *const u8,
    rows: usize,
    columns: usize,
    /// Bytes of an element.
    size: usize,
    fold: FoldFn,
    combine: BlockFn,
}

impl Matrix {
    fn row(&self, i: usize) -> In {
        In { ptr: self.from.wrapping_add(i * self.columns * self.size), step: self.size }
    }

    /// Some elements of a column, in the thread's buffer or where they are wanted.
    unsafe fn column(&self, i: usize, j: usize, n: usize, to: *mut u8) -> In {
        let stride = self.columns * self.size;
        gather(self.size, n, self.from.add(i * stride + j * self.size), stride as isize, to);
        In { ptr: to, step: self.size }
    }

    /// Every column's value: column by column (`along`), or rows added to rows.
    unsafe fn fold_columns(&self, along: bool, to: *mut u8) -> u8 {
        let &Matrix { rows, columns, size, .. } = self;
        let mut flags = 0;
        if along {
            let mut partials = Partials::new(size);
            for j in 0..columns {
                for i in (0..rows).step_by(BLOCK) {
                    let n = BLOCK.min(rows - i);
                    flags |= partials.add(self.fold, self.column(i, j, n, slot(0)), n);
                }
                flags |= partials.take(self.fold, to.add(j * size));
            }
            return flags;
        }
        std::ptr::copy_nonoverlapping(self.from, to, columns * size);
        for i in 1..rows {
            flags |= in_blocks(self.combine, columns, [In { ptr: to, step: size }, self.row(i)], to, size);
        }
        flags
    }

    /// Every row's value: row by row, or columns added to columns.
    unsafe fn fold_rows(&self, to: *mut u8) -> u8 {
        let &Matrix { rows, columns, size, .. } = self;
        let mut flags = 0;
        if goes_along(true, rows, columns) {
            let mut partials = Partials::new(size);
            for i in 0..rows {
                flags |= partials.add(self.fold, self.row(i), columns);
                flags |= partials.take(self.fold, to.add(i * size));
            }
            return flags;
        }
        for i in (0..rows).step_by(BLOCK) {
            let (n, to) = (BLOCK.min(rows - i), to.add(i * size));
            self.column(i, 0, n, to);
            for j in 1..columns {
                let ins = [In { ptr: to, step: size }, self.column(i, j, n, slot(0))];
                flags |= (self.combine)(n, ins.as_ptr(), &to);
            }
        }
        flags
    }
}

/// A dense array as matrices behind one another: how many, and the rows and columns of each. `axes`, which are folded
/// away, are its rows, or its columns where none are left behind them; `None` where others lie between them.
fn matrices(shape: &[usize], axes: &[usize]) -> Option<(usize, usize, usize)> {
    let (first, last) = (*axes.iter().min()?, *axes.iter().max()?);
    let among = &shape[first..=last];
    if (first..=last).any(|axis| shape[axis] > 1 && !axes.contains(&axis)) {
        return None;
    }
    let [before, folded, behind] = [&shape[..first], among, &shape[last + 1..]].map(|s| s.iter().product::<usize>());
    Some(if behind == 1 { (1, before, folded) } else { (before, folded, behind) })
}

/// The elements of a small array in another type, with what folds to nothing where a mask says so.
fn prepared(op: ScalarOp, input: &Array, dtype: DType, mask: Option<&Array>, flags: &mut u8) -> Option<*const u8> {
    let (own, shape, n) = (input.view.dtype, &input.view.shape, input.view.size());
    if n > SMALL {
        return None;
    }
    let mut run = lines::run(input, own, shape, 0).filter(|run| run.step > 0)?;
    if own != dtype {
        // SAFETY: `n` elements, not more than a block.
        unsafe {
            fp_clear();
            run = boxes::cast(run, own, dtype, n, 0, flags);
            *flags |= fp_status();
        }
    }
    let Some(mask) = mask else { return Some(run.ptr) };
    let chosen = dense_run(mask, DType::Bool, shape).filter(|m| m.step > 0)?;
    let (nothing, size, to) = (identity_value(op, dtype)?, dtype.size(), slot(1));
    // SAFETY: `n` elements and as many truths; a slot has room for a block of any type.
    unsafe {
        for i in 0..n {
            let from = if *chosen.ptr.add(i) != 0 { run.ptr.add(i * size) } else { nothing.bytes.as_ptr() };
            std::ptr::copy_nonoverlapping(from, to.add(i * size), size);
        }
    }
    Some(to)
}

/// A whole dense array or line that is there folded to one value, or a dense one along axes that lie side by side. `None`
/// for others. What is small and whole may be masked, or of another type.
pub fn fold_dense(
    op: ScalarOp,
    lp: u8,
    input: &Array,
    axes: &[usize],
    out: &Array,
    mask: Option<&Array>,
    initial: Option<Value>,
) -> Option<Result<u8>> {
    let _still = spill::inline();
    let (view, n, base) = (&input.view, input.view.size(), input.store.ptr());
    let whole = axes.len() == view.ndim();
    let (lp, dtype) = match crate::lower::accumulator(op, lp) {
        // Folded in one go, halves are rounded once by the fold itself.
        (_, DType::F32) if view.dtype == DType::F16 && whole && n <= GRANULE && initial.is_none() => (lp, DType::F16),
        other => other,
    };
    let as_it_is = view.dtype == dtype && mask.is_none();
    if !(as_it_is || whole) || out.view.dtype != dtype || n == 0 || n > CHUNK || base.is_null() {
        return None;
    }
    let mut cast_flags = 0;
    // All of an array is one row.
    let (many, rows, columns, along_rows) = if whole {
        (1, 1, n, true)
    } else {
        let (many, rows, columns) = matrices(&view.shape, axes)?;
        if rows.min(columns) < 2 || !is_dense(&out.view) {
            return None;
        }
        let behind: usize = view.shape[*axes.iter().max()? + 1..].iter().product();
        (many, rows, columns, behind == 1)
    };
    let from = match is_dense(view) {
        _ if !as_it_is => prepared(op, input, dtype, mask, &mut cast_flags)?,
        // SAFETY: a view's offset lies inside its store.
        true => unsafe { base.add(view.offset).cast_const() },
        false if whole => lines::copied(input, dtype, &view.shape, 0)?.ptr,
        false => return None,
    };
    let (size, fold, combine) = (dtype.size(), fold_fn(op, lp as usize)?, block_fn(op, lp as usize));
    let to = match out.store.materialise() {
        Ok(p) => p,
        Err(e) => return Some(Err(ExecError::no_memory(e, "reduce", Provenance::default()))),
    };
    let matrix =
        |k: usize| Matrix { from: from.wrapping_add(k * rows * columns * size), rows, columns, size, fold, combine };
    // SAFETY: the input is dense over rows and columns, the output over what is left; nothing else touches them.
    let flags = unsafe {
        let to = to.add(out.view.offset);
        fp_clear();
        let mut flags = cast_flags;
        if along_rows {
            flags |= matrix(0).fold_rows(to);
        } else {
            let along = goes_along(false, many * columns, rows);
            (0..many).for_each(|k| flags |= matrix(k).fold_columns(along, to.add(k * columns * size)));
        }
        if let Some(v) = initial {
            let v = v.cast(dtype);
            let ins = [In { ptr: v.bytes.as_ptr(), step: 0 }, In { ptr: to, step: size }];
            flags |= in_blocks(combine, if along_rows { rows } else { many * columns }, ins, to, size);
        }
        flags | fp_status()
    };
    out.store.wrote();
    Some(Ok(flags))
}

/// Any other reduction: a plan of one task, run here.
pub fn run_planned(op: Operation) -> Result<u8> {
    let _still = spill::inline();
    let nodes = node::build_one(&op);
    let plan = plan::plan(&nodes, false);
    let Some(TaskWork::Fused(fused)) = plan.tasks.first().map(|t| &t.work) else { return Ok(0) };
    let name = op.name();
    let address = |spot: &node::Spot| -> Result<numloom_cpu::Operand> {
        let store = &nodes.stores[spot.store as usize].store;
        let base = store.materialise().map_err(|e| ExecError::no_memory(e, name, Provenance::default()))?;
        // SAFETY: a view's offset lies inside its store.
        let ptr = unsafe { base.add(spot.view.offset) };
        Ok(numloom_cpu::Operand { ptr, dtype: spot.view.dtype, strides: spot.view.strides.clone() })
    };
    let operands = fused.operands.iter().map(address).collect::<Result<Vec<_>>>()?;
    let outputs = fused
        .folded
        .iter()
        .map(|f| Ok(Output { operand: address(&f.spot)?, initial: f.initial }))
        .collect::<Result<Vec<_>>>()?;
    let reduced: SmallVec<[bool; 8]> = (0..fused.domain.len()).map(|a| fused.reduced >> a.min(63) & 1 == 1).collect();
    let params = plan::param_values(fused, &nodes);
    let launch =
        Launch::new(&fused.compiled, &fused.domain, operands, params, &reduced, outputs, usize::MAX / 2, 1, false);
    let mut flags = 0;
    for (phase, &tiles) in launch.phases().iter().enumerate() {
        for tile in 0..tiles {
            // SAFETY: nothing recorded touches these stores (`is_possible`).
            flags |= unsafe { launch.run(phase, tile) };
        }
    }
    for p in &op.outs {
        p.store.wrote();
    }
    Ok(flags)
}
