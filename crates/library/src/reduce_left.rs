//! Folds over one axis, strictly from the left, with any binary loop (`subtract.reduce` and its like).

use crate::element::{read_run, with_type, write_run};
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces, without};
use crate::{Args, LibraryError, LibraryOp};
use numloom_ir::{DType, Dims, ScalarOp, Strides, Value};
use numloom_loops::{BlockFn, In, block_fn, fp_raise};
use smallvec::{SmallVec, smallvec};
use std::mem::MaybeUninit;
use std::ops::Range;

/// `out = ((first op x[i]) op x[i + 1]) ...` along `axis`; the first operand is the initial value, or else `x[0]`.
///
/// Inputs: x, and a bool mask of its shape if there is one; what it excludes is skipped. The output has x's shape
/// with extent 1 along the axis. x is cast to the loop's types as it is read, the result to the output's type. As in
/// NumPy, the first operand passes through the output, and its type, on the way.
pub struct ReduceLeft {
    run: BlockFn,
    /// The loop's types: of the running fold (the first input and the output), and of what is folded in.
    total: DType,
    item: DType,
    axis: usize,
    initial: Option<Value>,
}

/// Folds that run side by side, which is also a tile.
const COLUMNS: usize = 1024;

/// Fewer columns than these are folded one by one, along the axis.
const NARROW: usize = 8;

/// Room for a row of any type.
type Row = MaybeUninit<[u128; COLUMNS]>;

/// Evenly spaced columns of a tile: offsets and steps in x, the mask and the output.
struct Run {
    at: usize,
    n: usize,
    offsets: [isize; 3],
    steps: [isize; 3],
}

impl ReduceLeft {
    /// The first input and the output of loop `lp` must have the same type, as must `initial`.
    pub fn new(op: ScalarOp, lp: u8, axis: usize, initial: Option<Value>) -> ReduceLeft {
        let types = &op.loops()[lp as usize];
        debug_assert!(types.ins()[0] == types.outs()[0] && initial.is_none_or(|v| v.dtype == types.outs()[0]));
        ReduceLeft { run: block_fn(op, lp as usize), total: types.outs()[0], item: types.ins()[1], axis, initial }
    }

    fn check(&self, args: &Args) -> Result<(), LibraryError> {
        let name = self.name();
        ensure_operands(args, args.ins.len().clamp(1, 2), 1, name)?;
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let axis = self.axis;
        ensure(axis < x.shape.len() && x.shape.len() == out.shape.len(), name, "shapes do not fit")?;
        let reduced = x.shape.iter().zip(&out.shape).enumerate();
        let fits = reduced.into_iter().all(|(i, (&n, &m))| m == if i == axis { 1 } else { n });
        ensure(fits, name, "shapes do not fit")?;
        ensure(self.initial.is_some() || x.shape[axis] > 0 && args.ins.len() == 1, name, "nothing to begin with")?;
        let masks = args.ins[1..].iter().all(|m| m.dtype == DType::Bool && m.shape == x.shape);
        ensure(masks, name, "the mask must be bool and of the input's shape")
    }

    fn columns(&self, args: &Args) -> usize {
        args.outs[0].size()
    }

    /// The runs that the columns of a tile consist of.
    fn runs(&self, args: &Args, columns: Range<usize>) -> Vec<Run> {
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let ((outer, x_steps), (_, out_steps)) = (without(x, self.axis), without(out, self.axis));
        let mask_steps: Strides = args.ins.get(1).map_or_else(|| x_steps.clone(), |m| without(m, self.axis).1);
        let outer: Dims = outer;
        let mut runs = Vec::new();
        let mut at = 0;
        let done = Walk::new(&outer, [&x_steps, &mask_steps, &out_steps]).runs::<()>(columns, |offsets, steps, n| {
            runs.push(Run { at, n, offsets, steps });
            at += n;
            Ok(())
        });
        debug_assert!(done.is_ok());
        runs
    }

    /// Row `i` of the tile as dense elements to fold in: where it lies if it is dense, else read into `row`.
    unsafe fn items(&self, args: &Args, runs: &[Run], i: usize, row: &mut Row) -> *const u8 {
        let x = &args.ins[0];
        if let [r] = runs
            && x.dtype == self.item
            && r.steps[0] == self.item.size() as isize
        {
            return x.ptr.offset(r.offsets[0] + i as isize * x.strides[self.axis]);
        }
        self.read(args, runs, i, self.item, row);
        row.as_ptr() as *const u8
    }

    /// Reads row `i` of the tile as dense elements of `dtype`.
    unsafe fn read(&self, args: &Args, runs: &[Run], i: usize, dtype: DType, row: &mut Row) {
        let x = &args.ins[0];
        with_type!(dtype, T => {
            let row = row.as_mut_ptr() as *mut T;
            for r in runs {
                let src = x.ptr.offset(r.offsets[0] + i as isize * x.strides[self.axis]);
                read_run::<T>(x.dtype, src, r.steps[0], row.add(r.at), r.n);
            }
        })
    }

    /// Reads the first row as the loop's type, through the output's.
    unsafe fn read_first(&self, args: &Args, runs: &[Run], width: usize, totals: &mut Row) {
        let stored = args.outs[0].dtype;
        if stored == self.total {
            return self.read(args, runs, 0, self.total, totals);
        }
        let mut row = Row::uninit();
        self.read(args, runs, 0, stored, &mut row);
        with_type!(self.total, T => {
            read_run::<T>(stored, row.as_ptr() as *const u8, stored.size() as isize, totals.as_mut_ptr() as *mut T, width)
        })
    }

    /// Folds the columns `range` of a row in.
    unsafe fn fold(&self, totals: &mut Row, items: *const u8, range: Range<usize>) {
        let total = (totals.as_mut_ptr() as *mut u8).add(range.start * self.total.size());
        let item = items.add(range.start * self.item.size());
        let ins = [In { ptr: total, step: self.total.size() }, In { ptr: item, step: self.item.size() }];
        fp_raise((self.run)(range.len(), ins.as_ptr(), &total));
    }

    /// Folds the rows `range` in, column after column.
    unsafe fn fold_along(&self, args: &Args, runs: &[Run], range: Range<usize>, totals: &mut Row) {
        let x = &args.ins[0];
        let (step, size) = (x.strides[self.axis], self.item.size());
        let mut row = Row::uninit();
        for (r, k) in runs.iter().flat_map(|r| (0..r.n).map(move |k| (r, k))) {
            let column = x.ptr.offset(r.offsets[0] + k as isize * r.steps[0]);
            let total = (totals.as_mut_ptr() as *mut u8).add((r.at + k) * self.total.size());
            let mut ins = [In { ptr: total, step: self.total.size() }, In { ptr: total, step: size }];
            let mut flags = 0;
            for start in range.clone().step_by(COLUMNS) {
                let n = COLUMNS.min(range.end - start);
                let src = column.offset(start as isize * step);
                with_type!(self.item, T => read_run::<T>(x.dtype, src, step, row.as_mut_ptr() as *mut T, n));
                for i in 0..n {
                    ins[1].ptr = (row.as_ptr() as *const u8).add(i * size);
                    flags |= (self.run)(1, ins.as_ptr(), &total);
                }
            }
            fp_raise(flags);
        }
    }

    /// Folds in what the mask lets through of row `i`.
    unsafe fn fold_masked(&self, args: &Args, runs: &[Run], i: usize, totals: &mut Row, items: *const u8) {
        let mask = &args.ins[1];
        for r in runs {
            let at = mask.ptr.offset(r.offsets[1] + i as isize * mask.strides[self.axis]);
            let on = |j: usize| *at.offset(j as isize * r.steps[1]) != 0;
            let mut j = 0;
            while j < r.n {
                let start = j;
                while j < r.n && on(j) {
                    j += 1;
                }
                if j > start {
                    self.fold(totals, items, r.at + start..r.at + j);
                }
                j += 1;
            }
        }
    }
}

impl LibraryOp for ReduceLeft {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn raises(&self) -> Option<&'static str> {
        Some(self.name())
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        match self.check(args) {
            Ok(()) if self.columns(args) == 0 => smallvec![0],
            Ok(()) => smallvec![pieces(self.columns(args), COLUMNS)],
            Err(_) => smallvec![1],
        }
    }

    unsafe fn run(&self, args: &Args, _phase: usize, tile: usize) -> Result<(), LibraryError> {
        self.check(args)?;
        let (len, all) = (args.ins[0].shape[self.axis], self.columns(args));
        let columns = piece(all, pieces(all, COLUMNS), tile);
        let (mut totals, mut row) = (Row::uninit(), Row::uninit());
        let width = columns.len();
        let runs = self.runs(args, columns);
        let first = match &self.initial {
            Some(value) => {
                let value = value.cast(args.outs[0].dtype).cast(self.total);
                let (bytes, size) = (value.bytes.as_ptr(), self.total.size());
                for j in 0..width {
                    std::ptr::copy_nonoverlapping(bytes, (totals.as_mut_ptr() as *mut u8).add(j * size), size);
                }
                0
            }
            None => {
                self.read_first(args, &runs, width, &mut totals);
                1
            }
        };
        match args.ins.len() {
            1 if width < NARROW => self.fold_along(args, &runs, first..len, &mut totals),
            n => {
                for i in first..len {
                    let items = self.items(args, &runs, i, &mut row);
                    match n {
                        1 => self.fold(&mut totals, items, 0..width),
                        _ => self.fold_masked(args, &runs, i, &mut totals, items),
                    }
                }
            }
        }
        let out = &args.outs[0];
        with_type!(self.total, T => {
            let totals = totals.as_ptr() as *const T;
            for r in &runs {
                write_run::<T>(totals.add(r.at), out.dtype, out.ptr.offset(r.offsets[2]), r.steps[2], r.n);
            }
        });
        Ok(())
    }
}
