//! Copies that turn matrices over. Copies of any other strides are fused kernels of one load and one store.

use super::select::program;
use super::{Step, arguments, grid_of};
use crate::plan::{FusedLaunch, Operand};
use numloom_ir::kernel::{Instr, NO_REG};
use smallvec::{SmallVec, smallvec};

/// `dst[b, j, i] = src[b, i, j]`: `src` dense along `j`, `dst` along `i`; strides in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Transpose {
    pub itemsize: usize,
    pub src: u64,
    pub dst: u64,
    pub rows: usize,
    pub columns: usize,
    pub batch: usize,
    pub src_row: isize,
    pub dst_row: isize,
    pub src_batch: isize,
    pub dst_batch: isize,
}

impl Transpose {
    /// The launch as one, if it is a mere copy that turns large matrices over.
    pub fn of(launch: &FusedLaunch) -> Option<Transpose> {
        const LEAST: usize = 32;
        let [Instr::Load { dst, operand: from }, Instr::Store { operand: to, src, mask: NO_REG }] =
            launch.kernel.instrs[..]
        else {
            return None;
        };
        let (src_at, dst_at) = (launch.operands.get(from as usize)?, launch.operands.get(to as usize)?);
        let dtype = *launch.kernel.operands.get(to as usize)?;
        let fits = launch.operands.iter().all(|o| o.strides.len() == launch.domain.len());
        if dst != src || from == to || launch.operands.len() != 2 || !fits {
            return None;
        }
        let size = dtype.size() as isize;
        let aligned = |o: &Operand| {
            o.ptr.is_multiple_of(dtype.size() as u64) && o.strides.iter().all(|s| s.unsigned_abs() % dtype.size() == 0)
        };
        let long: SmallVec<[usize; 4]> = (0..launch.domain.len()).filter(|&a| launch.domain[a] != 1).collect();
        let dense = |o: &Operand| long.iter().copied().find(|&a| o.strides[a] == size);
        let (across, down) = (dense(src_at)?, dense(dst_at)?);
        let (rows, columns) = (launch.domain[down], launch.domain[across]);
        let large = rows >= LEAST && columns >= LEAST && across != down && long.len() <= 3;
        // A grid has room for so many tiles.
        let few = launch.domain.iter().fold(1usize, |n, &d| n.saturating_mul(d)) >> 41 == 0;
        if !large || !few || !aligned(src_at) || !aligned(dst_at) {
            return None;
        }
        let batch = long.iter().copied().find(|&a| a != across && a != down);
        Some(Transpose {
            itemsize: dtype.size(),
            src: src_at.ptr,
            dst: dst_at.ptr,
            rows,
            columns,
            batch: batch.map_or(1, |a| launch.domain[a]),
            src_row: src_at.strides[down],
            dst_row: dst_at.strides[across],
            src_batch: batch.map_or(0, |a| src_at.strides[a]),
            dst_batch: batch.map_or(0, |a| dst_at.strides[a]),
        })
    }

    /// `None` for an item size no element has.
    pub fn steps(&self) -> Option<SmallVec<[Step; 4]>> {
        let program = program(self.itemsize)?;
        let side = if self.itemsize > 4 { 32 } else { 64 };
        let (down, across) = (self.rows.div_ceil(side), self.columns.div_ceil(side));
        if down * across * self.batch == 0 {
            return Some(SmallVec::new());
        }
        let words = arguments(&[
            self.src,
            self.dst,
            self.rows as u64,
            self.columns as u64,
            down as u64,
            across as u64,
            self.src_row as u64,
            self.dst_row as u64,
            self.src_batch as u64,
            self.dst_batch as u64,
        ]);
        Some(smallvec![Step { program, function: "transpose", grid: grid_of(down * across * self.batch, 1), words }])
    }
}
