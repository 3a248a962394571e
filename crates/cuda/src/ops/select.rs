//! Packing by a mask, and positions of the true elements.

use super::{BLOCK, Program, Step, arguments, grid_of, unit_of};
use crate::scalar::Sections;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

const FILE: &str = include_str!("../device/select.cuh");
/// Mask bytes of one thread.
const EACH: usize = 16;

/// The program for elements of a size, whatever their type.
pub(super) fn program(itemsize: usize) -> Option<Arc<Program>> {
    let unit = unit_of(itemsize)?;
    let definitions = format!("struct u128 {{ u64 a, b; }};\ntypedef {unit} U;\n");
    Some(Program::new(Sections::base(), definitions, FILE))
}

/// The elements (and, or, the places) where a dense mask is true, in order; and how many they are.
#[derive(Clone, Copy, Debug)]
pub struct Pack {
    pub itemsize: usize,
    pub n: usize,
    pub mask: u64,
    /// Dense values and room for those chosen; 0 where only places are wanted.
    pub values: u64,
    pub packed: u64,
    /// Room for the places, as 64-bit integers; 0 where only values are wanted.
    pub places: u64,
    /// One 64-bit integer.
    pub count: u64,
}

impl Pack {
    fn tiles(&self) -> usize {
        self.n.div_ceil(BLOCK * EACH).max(1)
    }

    pub fn scratch(&self) -> usize {
        self.tiles() * 8
    }

    /// Steps that count, for a caller that must know how much room to give; and then those that write.
    pub fn steps(&self, scratch: u64) -> Option<(SmallVec<[Step; 4]>, SmallVec<[Step; 4]>)> {
        let program = program(self.itemsize)?;
        let words = arguments(&[
            self.mask,
            self.n as u64,
            scratch,
            self.tiles() as u64,
            self.count,
            self.values,
            self.packed,
            self.places,
        ]);
        let step = |function, grid| Step { program: program.clone(), function, grid, words: words.clone() };
        let tiles = grid_of(self.tiles(), 1);
        Some((smallvec![step("pack_count", tiles), step("pack_offsets", 1)], smallvec![step("pack_write", tiles)]))
    }

    /// As `steps`, but `values` get what is `packed`, the elements of which are `apart` bytes from one to the next:
    /// none for one value that goes everywhere.
    pub fn steps_back(&self, scratch: u64, apart: isize) -> Option<(SmallVec<[Step; 4]>, SmallVec<[Step; 4]>)> {
        let (counting, mut writing) = self.steps(scratch)?;
        for step in &mut writing {
            step.function = "unpack_write";
            step.words[8] = apart as u64;
        }
        Some((counting, writing))
    }
}

/// Steps that make `count` places in a dense array of a shape, 64-bit integers, places along each of its axes.
pub fn unravel(places: u64, count: usize, shape: &[usize], along: &[u64]) -> Option<SmallVec<[Step; 4]>> {
    let program = program(8)?;
    let mut inner = 1;
    let mut steps = SmallVec::new();
    for (&extent, &to) in shape.iter().zip(along).rev() {
        let words = arguments(&[places, count as u64, inner as u64, extent.max(1) as u64, to]);
        let grid = grid_of(count, BLOCK).min(1 << 16);
        steps.push(Step { program: program.clone(), function: "unravel", grid, words });
        inner *= extent.max(1);
    }
    Some(steps)
}
