//! Reductions: chunks of fixed size become partial values, partial values are combined in a fixed order,
//! so the result is the same for any number of workers and tiles.

use crate::blame::{Watch, charged};
use crate::frame::{Folding, Row, with_frame};
use crate::launch::{Launch, Space};
use crate::partials::Partials;
use crate::walk;
use numloom_loops::{BLOCK, In, cast_fn, scatter};
use smallvec::SmallVec;
use std::ops::Range;

impl Launch {
    fn partial(&self, target: usize, index: usize) -> *mut u8 {
        let size = self.program.folds[target].dtype.size();
        // SAFETY: `index` is below the count the buffer was made for; tiles write disjoint indices.
        unsafe { (self.partials[target].as_ptr() as *mut u8).add(index * size) }
    }

    /// Pairs of (kept point, chunk of the reduced space), numbered kept point first.
    pub(crate) unsafe fn fold_inner(&self, watch: Option<&Watch>, chunks: usize, start: usize, end: usize) -> u8 {
        let targets = self.program.folds.len();
        let partials = self.program.folds.iter().map(|f| Partials::new(f.dtype.size())).collect();
        with_frame(&self.program, &self.params, Folding::Inner { partials }, watch, |frame| {
            for pair in start..end {
                let (point, chunk) = (pair / chunks, pair % chunks);
                let (a, b) = self.chunk_range(chunk);
                let base = self.base_at(point);
                self.run_range(frame, &base, a, b, |_, _, _| {});
                for t in 0..targets {
                    let mut value = [0u64; 2];
                    let out = if chunks > 1 { self.partial(t, pair) } else { value.as_mut_ptr() as *mut u8 };
                    frame.take_partial(t, out);
                    if chunks == 1 {
                        frame.flags |= charged(watch, t, || self.finish(t, point, 1, out));
                    }
                }
            }
            frame.all_flags()
        })
    }

    pub(crate) unsafe fn finish_inner(&self, watch: Option<&Watch>, chunks: usize) -> u8 {
        let targets = 0..self.program.folds.len();
        targets.fold(0, |flags, t| flags | charged(watch, t, || self.finish_inner_target(t, chunks)))
    }

    unsafe fn finish_inner_target(&self, t: usize, chunks: usize) -> u8 {
        let fns = &self.program.folds[t];
        let size = fns.dtype.size();
        let mut flags = 0;
        for point in 0..self.outer.size {
            let mut folded: SmallVec<[[u64; 2]; 16]> = SmallVec::new();
            for a in (0..chunks).step_by(BLOCK) {
                let n = BLOCK.min(chunks - a);
                let mut value = [0u64; 2];
                let run = In { ptr: self.partial(t, point * chunks + a), step: size };
                flags |= (fns.fold)(n, run, value.as_mut_ptr() as *mut u8);
                folded.push(value);
            }
            let out = folded.as_mut_ptr() as *mut u8;
            for k in 1..folded.len() {
                let next = folded.as_ptr().add(k) as *const u8;
                let ins = [In { ptr: out, step: size }, In { ptr: next, step: size }];
                flags |= (fns.combine)(1, ins.as_ptr(), &out);
            }
            flags |= self.finish(t, point, 1, out);
        }
        flags
    }

    /// One range of columns (kept points) over one chunk of the reduced space.
    pub(crate) unsafe fn fold_outer(
        &self,
        watch: Option<&Watch>,
        chunks: usize,
        chunk: usize,
        columns: usize,
        tile: usize,
    ) -> u8 {
        let (group, part) = (tile / chunks, tile % chunks);
        let (k0, k1) = (group * columns, ((group + 1) * columns).min(self.block.size));
        let (r0, r1) = (part * chunk, ((part + 1) * chunk).min(self.outer.size));
        let mut own: SmallVec<[Vec<u64>; 2]> = SmallVec::new();
        let accs: SmallVec<[*mut u8; 2]> = self
            .program
            .folds
            .iter()
            .enumerate()
            .map(|(t, f)| {
                if chunks > 1 {
                    self.partial(t, part * self.block.size + k0)
                } else {
                    own.push(vec![0u64; ((k1 - k0) * f.dtype.size()).div_ceil(8)]);
                    own.last_mut().map_or(std::ptr::null_mut(), |v| v.as_mut_ptr() as *mut u8)
                }
            })
            .collect();
        if let Some((all, lanes)) = &self.lanes {
            return self.fold_lanes(watch, all, *lanes, r0..r1, &accs, chunks == 1);
        }
        let folding = Folding::Outer { acc: accs.clone(), first: true };
        with_frame(&self.program, &self.params, folding, watch, |frame| {
            for r in r0..r1 {
                let base = self.base_at(r);
                self.run_range(frame, &base, k0, k1, |frame, at, _| {
                    if let Folding::Outer { acc, first } = &mut frame.folding {
                        *first = r == r0;
                        for (t, f) in self.program.folds.iter().enumerate() {
                            acc[t] = accs[t].add((at - k0) * f.dtype.size());
                        }
                    }
                });
            }
            if chunks == 1 {
                for t in 0..accs.len() {
                    frame.flags |= charged(watch, t, || self.finish(t, k0, k1 - k0, accs[t]));
                }
            }
            frame.all_flags()
        })
    }

    /// Short rows, `lanes` of them combined at once into as many rows of accumulators, which become one in the end.
    unsafe fn fold_lanes(
        &self,
        watch: Option<&Watch>,
        all: &Space,
        lanes: usize,
        rows: Range<usize>,
        accs: &[*mut u8],
        finishes: bool,
    ) -> u8 {
        let columns = self.block.size;
        let sizes = self.program.folds.iter().map(|f| f.dtype.size());
        let mut wide: SmallVec<[Vec<u64>; 2]> =
            sizes.clone().map(|size| vec![0u64; (lanes * columns * size).div_ceil(8)]).collect();
        let acc = wide.iter_mut().map(|v| v.as_mut_ptr() as *mut u8).collect();
        with_frame(&self.program, &self.params, Folding::Outer { acc, first: true }, watch, |frame| {
            let base: SmallVec<[*mut u8; 8]> = self.operands.iter().map(|o| o.ptr).collect();
            let inner: SmallVec<[isize; 8]> = all.strides.iter().map(|s| s.last().copied().unwrap_or(0)).collect();
            let row = Row { ptrs: &base, operands: &self.operands, inner: &inner, flat: self.flat.as_deref() };
            frame.begin_row(&row);
            for r in rows.clone().step_by(lanes) {
                if let Folding::Outer { first, .. } = &mut frame.folding {
                    *first = r == rows.start;
                }
                frame.run_block(&row, r * columns, lanes.min(rows.end - r) * columns);
            }
            for (t, size) in sizes.enumerate() {
                let (fns, first) = (&self.program.folds[t], wide[t].as_mut_ptr() as *mut u8);
                for lane in 1..lanes.min(rows.len()) {
                    let ins = [In { ptr: first, step: size }, In { ptr: first.add(lane * columns * size), step: size }];
                    frame.flags |= charged(watch, t, || (fns.combine)(columns, ins.as_ptr(), &first));
                }
                std::ptr::copy_nonoverlapping(first, accs[t], columns * size);
                if finishes {
                    frame.flags |= charged(watch, t, || self.finish(t, 0, columns, accs[t]));
                }
            }
            frame.all_flags()
        })
    }

    pub(crate) unsafe fn finish_outer(&self, watch: Option<&Watch>, chunks: usize) -> u8 {
        let targets = 0..self.program.folds.len();
        targets.fold(0, |flags, t| flags | charged(watch, t, || self.finish_outer_target(t, chunks)))
    }

    unsafe fn finish_outer_target(&self, t: usize, chunks: usize) -> u8 {
        let fns = &self.program.folds[t];
        let (columns, size) = (self.block.size, fns.dtype.size());
        let mut flags = 0;
        for k in (0..columns).step_by(BLOCK) {
            let n = BLOCK.min(columns - k);
            let acc = self.partial(t, k);
            for c in 1..chunks {
                let ins = [In { ptr: acc, step: size }, In { ptr: self.partial(t, c * columns + k), step: size }];
                flags |= (fns.combine)(n, ins.as_ptr(), &acc);
            }
            flags |= self.finish(t, k, n, acc);
        }
        flags
    }

    /// The result of reducing nothing: the initial value at every kept point.
    pub(crate) unsafe fn fold_empty(&self) -> u8 {
        let kept = if self.kept_is_block() { self.block.size } else { self.outer.size };
        for (t, output) in self.outputs.iter().enumerate() {
            let Some(v) = output.initial else { continue };
            for k in 0..kept {
                self.write(t, k, 1, v.bytes.as_ptr());
            }
        }
        0
    }

    fn kept_is_block(&self) -> bool {
        matches!(self.shape, crate::launch::Shape::FoldOuter { .. })
    }

    /// Folds the initial value into `n` finished values from kept point `k` on, and writes them out.
    unsafe fn finish(&self, t: usize, k: usize, n: usize, values: *mut u8) -> u8 {
        let fns = &self.program.folds[t];
        let size = fns.dtype.size();
        let mut flags = 0;
        for a in (0..n).step_by(BLOCK) {
            let len = BLOCK.min(n - a);
            let at = values.add(a * size);
            if let Some(v) = &self.outputs[t].initial {
                let ins = [In { ptr: v.bytes.as_ptr(), step: 0 }, In { ptr: at, step: size }];
                flags |= (fns.combine)(len, ins.as_ptr(), &at);
            }
            flags |= self.write(t, k + a, len, at);
        }
        flags
    }

    /// Casts `n <= BLOCK` accumulated values to the output's type and puts them at kept points `k..k + n`.
    unsafe fn write(&self, t: usize, k: usize, n: usize, values: *const u8) -> u8 {
        let fns = &self.program.folds[t];
        let out = &self.outputs[t].operand;
        let size = out.dtype.size();
        // Not cleared: a row's worth of zeros for each result would cost more than the reduction.
        let mut cast = std::mem::MaybeUninit::<[u64; 2 * BLOCK]>::uninit();
        let dense = cast.as_mut_ptr() as *mut u8;
        let flags = cast_fn(fns.dtype, out.dtype)(n, &In { ptr: values, step: fns.dtype.size() }, &dense);
        let kept = if self.kept_is_block() { &self.block } else { &self.outer };
        let strides = &self.output_strides[t];
        if kept.shape.len() == 1 {
            scatter(size, n, dense, out.ptr.offset(k as isize * strides[0]), strides[0]);
        } else {
            for i in 0..n {
                let at = walk::offset_of(k + i, &kept.shape, strides);
                std::ptr::copy_nonoverlapping(dense.add(i * size), out.ptr.offset(at), size);
            }
        }
        flags
    }
}
