//! Where values belong in a sorted array.

use super::{BLOCK, Program, Step, arguments, grid_of};
use crate::scalar::{Sections, type_name};
use numloom_ir::DType;
use smallvec::{SmallVec, smallvec};

const FILE: &str = include_str!("../device/search.cuh");

/// Elements evenly apart: the address of the first, bytes from one to the next, how many.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub ptr: u64,
    pub step: isize,
    pub n: usize,
}

/// `places` (64-bit integers) of `values` in `sorted`, both of one type; `right`: behind what is equal.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    pub dtype: DType,
    pub sorted: Run,
    pub values: Run,
    pub places: Run,
    pub right: bool,
}

impl Search {
    /// `None` for complex numbers.
    pub fn steps(&self) -> Option<SmallVec<[Step; 4]>> {
        let d = self.dtype;
        if d.is_complex() {
            return None;
        }
        if self.values.n == 0 {
            return Some(SmallVec::new());
        }
        let (compared, ordered) = if d == DType::F16 { ("f32", "widen(v)") } else { (type_name(d), "(v)") };
        let definitions = format!(
            "typedef {} T;\ntypedef {compared} R;\n#define FLOATING {}\n#define ORDERED(v) {ordered}\n",
            type_name(d),
            d.is_float() as u8,
        );
        let words = arguments(&[
            self.sorted.ptr,
            self.sorted.step as u64,
            self.sorted.n as u64,
            self.values.ptr,
            self.values.step as u64,
            self.values.n as u64,
            self.places.ptr,
            self.places.step as u64,
            self.right as u64,
        ]);
        let program = Program::new(Sections::base(), definitions, FILE);
        Some(smallvec![Step { program, function: "search", grid: grid_of(self.values.n, BLOCK).min(1 << 16), words }])
    }
}
