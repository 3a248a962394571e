//! Running folds (`cumsum` and its kin) along one axis of a matrix.

use super::{BLOCK, Program, Step, arguments, grid_of};
use crate::scalar::{
    Section, Sections, accumulator, call, cast_expression, cast_sections, neutral, section_of, type_name,
};
use numloom_ir::kernel::Target;
use numloom_ir::{DType, ScalarOp};
use smallvec::{SmallVec, smallvec};

const FILE: &str = include_str!("../device/scan.cuh");

/// `rows` runs of `n` elements; strides in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    pub op: ScalarOp,
    pub dtype: DType,
    pub src: u64,
    pub dst: u64,
    pub rows: usize,
    pub n: usize,
    pub src_row: isize,
    pub dst_row: isize,
    pub src_step: isize,
    pub dst_step: isize,
}

impl Scan {
    fn items(&self) -> usize {
        4 * (16 / self.dtype.size())
    }

    fn tiles(&self) -> usize {
        self.n.div_ceil(BLOCK * self.items()).max(1)
    }

    /// Neighbouring rows lie side by side and there are enough of them for a thread each.
    fn is_columns(&self) -> bool {
        let size = self.dtype.size() as isize;
        self.src_step != size && self.src_row == size && self.rows >= 4096
    }

    /// Bytes of scratch the steps need.
    pub fn scratch(&self) -> usize {
        if self.is_columns() || self.tiles() == 1 { 0 } else { self.rows * self.tiles() * 16 }
    }

    /// `None` when the operation must be folded from the left.
    fn program(&self) -> Option<std::sync::Arc<Program>> {
        let lp = self.op.loop_for(self.dtype)?;
        let target = Target { op: self.op, lp: lp as u8 };
        if target.dtype() != self.dtype {
            return None;
        }
        let (acc, start) = (accumulator(&target), neutral(&target)?);
        let mut sections = Sections::base();
        sections.add(Section::Fold);
        sections.add(section_of(self.op, acc));
        cast_sections(acc, self.dtype, &mut sections);
        let definitions = format!(
            "typedef {} T;\ntypedef {} A;\n#define NEUTRAL ({start})\nFN A JOIN(A x, A y) {{ return {}; }}\n\
             FN A TO_A(T x) {{ return {}; }}\nFN T TO_T(A x) {{ return {}; }}\n",
            type_name(self.dtype),
            type_name(acc),
            call(self.op, &["x", "y"]),
            cast_expression(self.dtype, acc, "x"),
            cast_expression(acc, self.dtype, "x"),
        );
        Some(Program::new(sections, definitions, FILE))
    }

    /// The steps, with scratch at `scratch`; `None` for an operation that has no value which changes nothing.
    pub fn steps(&self, scratch: u64) -> Option<SmallVec<[Step; 4]>> {
        let program = self.program()?;
        if self.rows == 0 || self.n == 0 {
            return Some(SmallVec::new());
        }
        let size = self.dtype.size() as isize;
        let aligned = |ptr: u64, row: isize| ptr.is_multiple_of(16) && (self.rows == 1 || row % 16 == 0);
        let vectors = self.src_step == size
            && self.dst_step == size
            && aligned(self.src, self.src_row)
            && aligned(self.dst, self.dst_row);
        let words = arguments(&[
            self.src,
            self.dst,
            self.n as u64,
            self.tiles() as u64,
            self.src_row as u64,
            self.dst_row as u64,
            self.src_step as u64,
            self.dst_step as u64,
            vectors as u64,
            scratch,
            self.rows as u64,
        ]);
        let step = |function, grid| Step { program: program.clone(), function, grid, words: words.clone() };
        if self.is_columns() {
            return Some(smallvec![step("scan_columns", grid_of(self.rows, BLOCK))]);
        }
        let blocks = grid_of(self.rows * self.tiles(), 1);
        let write = step("scan_write", blocks);
        if self.tiles() == 1 {
            return Some(smallvec![write]);
        }
        Some(smallvec![step("scan_fold", blocks), step("scan_tiles", grid_of(self.rows, 1)), write])
    }
}
