//! Copies that turn matrices over. Copies of any other strides are fused kernels of one load and one store.

use super::select::program;
use super::{Step, arguments, grid_of};
use smallvec::{SmallVec, smallvec};

const TILE: usize = 32;

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
    /// `None` for an item size no element has.
    pub fn steps(&self) -> Option<SmallVec<[Step; 4]>> {
        let program = program(self.itemsize)?;
        let (down, across) = (self.rows.div_ceil(TILE), self.columns.div_ceil(TILE));
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
