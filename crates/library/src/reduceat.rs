//! Folds over the stretches of an axis between given indices (`ufunc.reduceat`).

use crate::element::{Element, read_run};
use crate::fold::{Combine, Fold, with_fold};
use crate::run::Run;
use crate::scan::fold_run;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces, without};
use crate::{Args, LibraryError, LibraryOp, RawView};
use numloom_ir::{DType, Dims, Strides};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// `out[i] = fold(x[indices[i] : indices[i + 1]])` along `axis`, the last stretch going to the end; a stretch
/// that does not ascend gives `x[indices[i]]`. Inputs: x and the 1-d int64 indices. The output has the
/// input's shape with one element along the axis for each index; the input is cast to its dtype.
pub struct ReduceAt {
    fold: Fold,
    axis: usize,
    ufunc: String,
}

/// Elements of a tile, and columns folded side by side.
const TILE: usize = 1 << 16;
const COLUMNS: usize = 256;

struct Plan {
    outer: Dims,
    steps: [Strides; 2],
    lanes: usize,
    segments: usize,
    /// The outer axis along which lanes lie side by side, and its blocks.
    columns: Option<(usize, usize)>,
}

impl ReduceAt {
    /// `ufunc` is named in errors.
    pub fn new(fold: Fold, axis: usize, ufunc: &str) -> ReduceAt {
        ReduceAt { fold, axis, ufunc: ufunc.to_string() }
    }

    fn plan(&self, args: &Args) -> Result<Plan, LibraryError> {
        let name = self.name();
        ensure_operands(args, 2, 1, name)?;
        let (x, indices, out) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        ensure(indices.dtype == DType::I64 && indices.shape.len() == 1, name, "indices must be 1-d int64")?;
        ensure(self.axis < x.shape.len() && out.shape.len() == x.shape.len(), name, "shapes do not fit")?;
        ensure(self.fold.fits(out.dtype), name, "the output must be bool")?;
        let ((outer, x_steps), (out_outer, out_steps)) = (without(x, self.axis), without(out, self.axis));
        ensure(outer == out_outer && out.shape[self.axis] == indices.shape[0], name, "shapes do not fit")?;
        let inner = (0..outer.len()).filter(|&i| outer[i] >= 8).min_by_key(|&i| x_steps[i].unsigned_abs());
        let columns = inner
            .filter(|&i| x_steps[i].unsigned_abs() < x.strides[self.axis].unsigned_abs())
            .map(|i| (i, pieces(outer[i], COLUMNS)));
        let lanes = outer.iter().product();
        Ok(Plan { outer, steps: [x_steps, out_steps], lanes, segments: indices.shape[0], columns })
    }

    /// Work that cannot be divided further: stretches of one lane, or of one block of columns.
    fn units(plan: &Plan) -> usize {
        match plan.columns {
            Some((inner, blocks)) => plan.lanes / plan.outer[inner].max(1) * blocks * plan.segments,
            None => plan.lanes * plan.segments,
        }
    }

    fn tiles(plan: &Plan, x: &RawView) -> usize {
        let units = Self::units(plan);
        if units == 0 { 0 } else { pieces(x.size(), TILE).min(units) }
    }

    /// The stretch that index `i` begins.
    unsafe fn stretch(&self, args: &Args, i: usize) -> Range<usize> {
        let (x, indices) = (&args.ins[0], &args.ins[1]);
        let at =
            |i: usize| (indices.ptr.offset(i as isize * indices.strides[0]) as *const i64).read_unaligned() as usize;
        let start = at(i);
        let end = if i + 1 < indices.shape[0] { at(i + 1) } else { x.shape[self.axis] };
        start..end.max(start + 1)
    }

    unsafe fn check_indices(&self, args: &Args) -> Result<(), LibraryError> {
        let (indices, extent) = (&args.ins[1], args.ins[0].shape[self.axis]);
        for i in 0..indices.shape[0] as isize {
            let v = (indices.ptr.offset(i * indices.strides[0]) as *const i64).read_unaligned();
            if v < 0 || v as usize >= extent {
                return Err(LibraryError::Index(format!(
                    "index {v} out-of-bounds in {}.reduceat [0, {extent})",
                    self.ufunc
                )));
            }
        }
        Ok(())
    }

    unsafe fn run_typed<T: Element, F: Combine<T>>(&self, f: F, args: &Args, plan: &Plan, units: Range<usize>) {
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let (down, out_down) = (x.strides[self.axis], out.strides[self.axis]);
        let (mut outer, mut steps) = (plan.outer.clone(), plan.steps.clone());
        let (mut across, mut blocks, mut width) = ([0; 2], 1, 1);
        if let Some((inner, n)) = plan.columns {
            (width, blocks) = (outer.remove(inner), n);
            across = [steps[0].remove(inner), steps[1].remove(inner)];
        }
        let in_order = self.fold.in_order(T::DTYPE);
        let mut walk = Walk::new(&outer, [&steps[0], &steps[1]]);
        for unit in units {
            let (block, segment) = (unit / plan.segments, unit % plan.segments);
            walk.seek(block / blocks);
            let columns = piece(width, blocks, block % blocks);
            let stretch = self.stretch(args, segment);
            let skip = |o: usize| walk.offsets[o] + columns.start as isize * across[o];
            let from = x.ptr.offset(skip(0) + stretch.start as isize * down);
            let to = out.ptr.offset(skip(1) + segment as isize * out_down);
            if plan.columns.is_none() {
                let value = fold_run::<T, F>(f, x.dtype, from, down, stretch.len(), in_order);
                (to as *mut T).write_unaligned(value);
                continue;
            }
            let mut sums = [T::ZERO; COLUMNS];
            let mut row = [T::ZERO; COLUMNS];
            read_run(x.dtype, from, across[0], sums.as_mut_ptr(), columns.len());
            for i in 1..stretch.len() {
                read_run(x.dtype, from.offset(i as isize * down), across[0], row.as_mut_ptr(), columns.len());
                for j in 0..columns.len() {
                    sums[j] = f.combine(sums[j], row[j]);
                }
            }
            for j in 0..columns.len() {
                (to.offset(j as isize * across[1]) as *mut T).write_unaligned(sums[j]);
            }
        }
    }
}

/// The same for a few elements of a line: false where an index lies outside.
///
/// # Safety
/// `x` is readable memory of `dtype`, which the fold fits, and `to` has room for an element for each index.
pub unsafe fn reduce_stretches(fold: &Fold, dtype: DType, x: Run, starts: &[i64], to: *mut u8) -> bool {
    if starts.iter().any(|&i| i < 0 || i as usize >= x.len) {
        return false;
    }
    let in_order = fold.in_order(dtype);
    with_fold!(*fold, dtype, T, f => {
        for (k, &start) in starts.iter().enumerate() {
            let start = start as usize;
            let end = starts.get(k + 1).map_or(x.len, |&i| i as usize);
            let n = end.max(start + 1) - start;
            let value = fold_run::<T, _>(f, dtype, x.ptr.offset(start as isize * x.step), x.step, n, in_order);
            to.cast::<T>().add(k).write_unaligned(value);
        }
    });
    true
}

impl LibraryOp for ReduceAt {
    fn name(&self) -> &'static str {
        "reduceat"
    }

    fn raises(&self) -> Option<&'static str> {
        self.fold.raises().then(|| self.name())
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        // All indices are checked first, in one tile: there are few of them.
        self.plan(args).map_or(smallvec![1], |plan| smallvec![1, Self::tiles(&plan, &args.ins[0])])
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let plan = self.plan(args)?;
        if phase == 0 {
            return self.check_indices(args);
        }
        let units = piece(Self::units(&plan), Self::tiles(&plan, &args.ins[0]), tile);
        with_fold!(self.fold, args.outs[0].dtype, T, f => self.run_typed::<T, _>(f, args, &plan, units));
        Ok(())
    }
}
