//! Matrices copied between arrays of any strides and the dense columns that NVIDIA's solvers work on, in the type that
//! they compute in.

use super::{BLOCK, Program, Step, arguments, grid_of};
use crate::scalar::{Sections, cast_expression, type_name};
use numloom_ir::DType;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

const FILE: &str = include_str!("../device/dense.cuh");
const SIDE: usize = 32;

/// A matrix in a device's memory; steps from row to row and from column to column in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Dense {
    pub ptr: u64,
    pub dtype: DType,
    pub rows: usize,
    pub columns: usize,
    pub row_step: isize,
    pub column_step: isize,
}

impl Dense {
    /// Columns side by side, as solvers take matrices.
    pub fn in_columns(ptr: u64, dtype: DType, rows: usize, columns: usize) -> Dense {
        let size = dtype.size() as isize;
        Dense { ptr, dtype, rows, columns, row_step: size, column_step: rows as isize * size }
    }

    /// The transpose, in the same memory.
    pub fn turned(self) -> Dense {
        let Dense { rows, columns, row_step, column_step, .. } = self;
        Dense { rows: columns, columns: rows, row_step: column_step, column_step: row_step, ..self }
    }

    pub fn bytes(&self) -> usize {
        self.rows * self.columns * self.dtype.size()
    }

    fn lies_along_rows(&self) -> bool {
        self.column_step.unsigned_abs() <= self.row_step.unsigned_abs() && self.columns > 1
    }
}

/// What of a matrix is copied; zeros elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    All,
    Lower,
    Upper,
}

/// A number that is told when it was read.
pub const NOT_A_NUMBER: u64 = 2;

/// `to = from`, of equal extents.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub from: Dense,
    pub to: Dense,
    pub part: Part,
    pub conjugate: bool,
    /// One 64-bit integer, zero before, that becomes 1 if an infinite number is read and `NOT_A_NUMBER` if one that is
    /// none; or 0.
    pub seen: u64,
}

fn program(from: DType, to: DType) -> Arc<Program> {
    let one = if to.is_complex() { format!("pair(({0})1, ({0})0)", type_name(to.real())) } else { "(D)1".into() };
    let definitions = format!(
        "typedef {} S;\ntypedef {} D;\n#define CONVERTED(v) ({})\n#define ONE {one}\n",
        type_name(from),
        type_name(to),
        cast_expression(from, to, "v"),
    );
    Program::new(Sections::base(), definitions, FILE)
}

fn is_known(d: DType) -> bool {
    matches!(d, DType::F32 | DType::F64 | DType::C64 | DType::C128)
}

impl Move {
    pub fn whole(from: Dense, to: Dense) -> Move {
        Move { from, to, part: Part::All, conjugate: false, seen: 0 }
    }

    /// `None` for types that solvers do not know, or extents that differ.
    pub fn steps(&self) -> Option<SmallVec<[Step; 4]>> {
        let Move { from, to, .. } = self;
        let same = (from.rows, from.columns) == (to.rows, to.columns);
        if !same || !is_known(from.dtype) || !is_known(to.dtype) || from.dtype.is_complex() != to.dtype.is_complex() {
            return None;
        }
        if from.rows * from.columns == 0 {
            return Some(SmallVec::new());
        }
        let (down, across) = (from.rows.div_ceil(SIDE), from.columns.div_ceil(SIDE));
        let words = arguments(&[
            from.ptr,
            to.ptr,
            from.rows as u64,
            from.columns as u64,
            down as u64,
            from.row_step as u64,
            from.column_step as u64,
            to.row_step as u64,
            to.column_step as u64,
            self.part as u64,
            self.conjugate as u64,
            from.lies_along_rows() as u64 | (to.lies_along_rows() as u64) << 1,
            self.seen,
        ]);
        let program = program(from.dtype, to.dtype);
        Some(smallvec![Step { program, function: "dense_move", grid: grid_of(down * across, 1), words }])
    }
}

/// Steps that make dense columns the identity.
pub fn identity(to: Dense) -> Option<SmallVec<[Step; 4]>> {
    if to.rows != to.columns || !is_known(to.dtype) {
        return None;
    }
    let grid = grid_of(to.rows * to.rows, BLOCK * 8).min(1 << 16);
    let words = arguments(&[to.ptr, to.rows as u64]);
    Some(smallvec![Step { program: program(to.dtype, to.dtype), function: "dense_identity", grid, words }])
}
