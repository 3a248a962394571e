//! Running a range of a launch's block space, block by block.

use crate::blame::Watch;
use crate::frame::{Folding, Frame, Row, with_frame};
use crate::launch::Launch;
use crate::walk;
use smallvec::SmallVec;

impl Launch {
    pub(crate) unsafe fn run_map(&self, watch: Option<&Watch>, start: usize, end: usize) -> u8 {
        with_frame(&self.program, &self.params, Folding::None, watch, |frame| {
            let base: SmallVec<[*mut u8; 8]> = self.operands.iter().map(|o| o.ptr).collect();
            self.run_range(frame, &base, start, end, |_, _, _| {});
            frame.all_flags()
        })
    }

    /// Runs elements `start..end` of the block space with the operands at `base`; `before` is told the
    /// place and length of every block first.
    pub(crate) unsafe fn run_range(
        &self,
        frame: &mut Frame,
        base: &[*mut u8],
        start: usize,
        end: usize,
        mut before: impl FnMut(&mut Frame, usize, usize),
    ) {
        let shape = &self.block.shape;
        let block = self.program.block;
        let inner_axis = shape.len() - 1;
        let inner: SmallVec<[isize; 8]> = self.block.strides.iter().map(|s| s[inner_axis]).collect();
        if self.flat.is_some() || shape.len() == 1 {
            let row = Row { ptrs: base, operands: &self.operands, inner: &inner, flat: self.flat.as_deref() };
            frame.begin_row(&row);
            let mut at = start;
            while at < end {
                let n = block.min(end - at);
                before(frame, at, n);
                frame.run_block(&row, at, n);
                at += n;
            }
            return;
        }
        let length = shape[inner_axis];
        let outer = &shape[..inner_axis];
        let mut at = start;
        while at < end {
            let (index, first) = (at / length, at % length);
            let ptrs: SmallVec<[*mut u8; 8]> = base
                .iter()
                .zip(&self.block.strides)
                .map(|(p, s)| p.offset(walk::offset_of(index, outer, &s[..inner_axis])))
                .collect();
            let row = Row { ptrs: &ptrs, operands: &self.operands, inner: &inner, flat: None };
            frame.begin_row(&row);
            let stop = length.min(first + (end - at));
            let mut k = first;
            while k < stop {
                let n = block.min(stop - k);
                before(frame, at, n);
                frame.run_block(&row, k, n);
                k += n;
                at += n;
            }
        }
    }

    /// The operands' addresses at a point of the outer space.
    pub(crate) unsafe fn base_at(&self, index: usize) -> SmallVec<[*mut u8; 8]> {
        self.operands
            .iter()
            .zip(&self.outer.strides)
            .map(|(o, s)| o.ptr.offset(walk::offset_of(index, &self.outer.shape, s)))
            .collect()
    }
}
