//! Where the extremes are (`argmax`, `argmin`) along one axis of a matrix.

use super::{BLOCK, Program, Step, arguments, grid_of};
use crate::scalar::{Sections, type_name};
use numloom_ir::DType;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

const FILE: &str = include_str!("../device/extreme.cuh");
/// Blocks that a large chip is busy with, and elements a block should have for itself.
const BLOCKS: usize = 1056;
const CHUNK: usize = 1 << 13;
/// Bytes of what a block found.
const FOUND: usize = 16;

/// `rows` runs of `n` elements, at least one; strides in bytes, aligned. `dst` is 64-bit integers.
#[derive(Clone, Copy, Debug)]
pub struct Extreme {
    pub max: bool,
    pub dtype: DType,
    pub src: u64,
    pub dst: u64,
    pub rows: usize,
    pub n: usize,
    pub src_row: isize,
    pub src_step: isize,
    pub dst_row: isize,
}

impl Extreme {
    fn is_columns(&self) -> bool {
        let beside = self.src_row.unsigned_abs() < self.src_step.unsigned_abs();
        self.rows >= 4096 && (beside || self.n <= 32)
    }

    fn chunk(&self) -> usize {
        let splits = (BLOCKS / self.rows.max(1)).clamp(1, self.n.div_ceil(CHUNK).max(1));
        self.n.div_ceil(splits).max(1)
    }

    fn splits(&self) -> usize {
        self.n.div_ceil(self.chunk()).max(1)
    }

    pub fn scratch(&self) -> usize {
        if self.is_columns() || self.splits() == 1 { 0 } else { self.rows * self.splits() * FOUND }
    }

    fn program(&self) -> Option<Arc<Program>> {
        let sign = if self.max { ">" } else { "<" };
        let beats = match self.dtype {
            d if d.is_complex() => return None,
            DType::F16 => format!("(is_nan(v) && !is_nan(b)) || widen(v) {sign} widen(b)"),
            d if d.is_inexact() => format!("(is_nan(v) && !is_nan(b)) || v {sign} b"),
            _ => format!("v {sign} b"),
        };
        let definitions =
            format!("typedef {} T;\nFN bool beats(T v, T b) {{ return {beats}; }}\n", type_name(self.dtype));
        Some(Program::new(Sections::base(), definitions, FILE))
    }

    /// The steps, with scratch at `scratch`; `None` for complex numbers.
    pub fn steps(&self, scratch: u64) -> Option<SmallVec<[Step; 4]>> {
        let program = self.program()?;
        if self.rows == 0 {
            return Some(SmallVec::new());
        }
        let words = arguments(&[
            self.src,
            self.dst,
            self.n as u64,
            self.rows as u64,
            self.src_row as u64,
            self.src_step as u64,
            self.dst_row as u64,
            self.splits() as u64,
            self.chunk() as u64,
            scratch,
        ]);
        let step = |function, grid| Step { program: program.clone(), function, grid, words: words.clone() };
        if self.is_columns() {
            return Some(smallvec![step("extreme_columns", grid_of(self.rows, BLOCK))]);
        }
        let mut steps = smallvec![step("extreme_rows", grid_of(self.rows * self.splits(), 1))];
        if self.splits() > 1 {
            steps.push(step("extreme_parts", grid_of(self.rows, 1)));
        }
        Some(steps)
    }
}
