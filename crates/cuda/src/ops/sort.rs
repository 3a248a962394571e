//! Sorting and argsorting one run, by a radix sort of our own: stable, NaN last.

use super::{Program, Step, arguments, grid_of};
use crate::scalar::{Sections, type_name};
use numloom_ir::DType;
use smallvec::SmallVec;
use std::sync::Arc;

const FILE: &str = include_str!("../device/sort.cuh");
const DIGITS: usize = 256;
/// Blocks that count digits: a few for each multiprocessor of a large chip.
const COUNTING: usize = 1056;

/// A dense run of `n` elements below 2^31. `dst` is elements of the same type, or with `places` 64-bit integers.
#[derive(Clone, Copy, Debug)]
pub struct Sort {
    pub dtype: DType,
    pub n: usize,
    pub src: u64,
    pub dst: u64,
    pub places: bool,
}

impl Sort {
    /// Complex numbers have no key of 64 bits; longer runs have places above 32 bits.
    pub fn is_supported(&self) -> bool {
        !self.dtype.is_complex() && self.n < 1 << 31
    }

    /// As many as shared memory has room for: the longer a tile, the longer the runs it writes.
    fn items(&self) -> usize {
        match (self.dtype.size(), self.places) {
            (8, false) => 14,
            (8, true) => 10,
            (_, false) => 32,
            (_, true) => 16,
        }
    }

    fn tiles(&self) -> usize {
        self.n.div_ceil(256 * self.items()).max(1)
    }

    /// Bytes of what a tile tells of a digit: two bits of kind beside the count.
    fn told(&self) -> usize {
        if self.n < 1 << 30 { 4 } else { 8 }
    }

    /// Scratch: two buffers of keys, two of places, the counters; and how much it is in all.
    fn layout(&self) -> ([usize; 5], usize) {
        let round = |bytes: usize| bytes.next_multiple_of(256);
        let keys = round(self.n * self.dtype.size());
        let places = if self.places { round(self.n * 4) } else { 0 };
        let passes = self.dtype.size();
        let counters = round(4 * DIGITS * (1 + passes) + passes * self.tiles() * DIGITS * self.told());
        let mut at = 0;
        let places = [keys, keys, places, places, counters].map(|bytes| {
            let here = at;
            at += bytes;
            here
        });
        (places, at)
    }

    pub fn scratch(&self) -> usize {
        self.layout().1
    }

    fn program(&self) -> Arc<Program> {
        let d = self.dtype;
        let (key, bits) = match d.size() {
            1 => ("u8", 8),
            2 => ("u16", 16),
            4 => ("u32", 32),
            _ => ("u64", 64),
        };
        let (of_bits, to_bits, infinite) = match d {
            DType::F16 => ("half_of_bits(b)", "(v).bits", "0x7c00"),
            DType::F32 => ("float_of((u32)(b))", "bits_of(v)", "0x7f800000u"),
            _ => ("float_of((u64)(b))", "bits_of(v)", "0x7ff0000000000000ull"),
        };
        let signed = matches!(d, DType::I8 | DType::I16 | DType::I32 | DType::I64);
        let top = format!("((K)((K)1 << {}))", bits - 1);
        let definitions = format!(
            "typedef {} T;\ntypedef {key} K;\ntypedef {} S;\n#define PASSES {}\n#define ITEMS {}\n#define PAIRS {}\n#define FLOATING {}\n#define TOP {top}\n\
             #define FLIP {}\n#define BITS(v) ((K){to_bits})\n#define FROM_BITS(b) {of_bits}\n#define INFINITE ((K){infinite})\n",
            type_name(d),
            if self.told() == 4 { "u32" } else { "u64" },
            d.size(),
            self.items(),
            self.places as u8,
            d.is_float() as u8,
            if signed { top.as_str() } else { "((K)0)" },
        );
        Program::new(Sections::base(), definitions, FILE)
    }

    /// The steps, with scratch at `scratch`; `None` where it is not supported.
    pub fn steps(&self, scratch: u64) -> Option<SmallVec<[Step; 4]>> {
        if !self.is_supported() {
            return None;
        }
        let mut steps = SmallVec::new();
        if self.n == 0 {
            return Some(steps);
        }
        let program = self.program();
        let at = self.layout().0.map(|offset| scratch + offset as u64);
        let (tiles, passes) = (self.tiles(), self.dtype.size());
        let step = |function, blocks: usize, pass: usize| {
            let (first, last) = (pass == 0, pass + 1 == passes);
            let (from, to) = (pass % 2, 1 - pass % 2);
            let words = arguments(&[
                if first { self.src } else { at[from] },
                if last && !self.places { self.dst } else { at[to] },
                at[2 + from],
                if last { self.dst } else { at[2 + to] },
                self.n as u64,
                tiles as u64,
                pass as u64,
                first as u64 | (last as u64) << 1,
                at[4],
            ]);
            Step { program: program.clone(), function, grid: grid_of(blocks, 1), words }
        };
        steps.push(step("sort_clear", tiles.min(1024), 0));
        steps.push(step("sort_count", self.n.div_ceil(256 * 8).min(COUNTING), 0));
        steps.push(step("sort_starts", passes, 0));
        steps.extend((0..passes).map(|pass| step("sort_pass", tiles, pass)));
        Some(steps)
    }
}
