//! Sorting and argsorting rows, by a radix sort of our own: stable, NaN last.

use super::{Program, Step, arguments, grid_of};
use crate::scalar::{Sections, type_name};
use numloom_ir::DType;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

const KEYS: &str = include_str!("../device/sort_key.cuh");
const FILE: &str = include_str!("../device/sort.cuh");
const SHORT_FILE: &str = include_str!("../device/sort_rows.cuh");
const DIGITS: usize = 256;
/// Blocks that count digits: a few for each multiprocessor of a large chip.
const COUNTING: usize = 1056;
/// Elements that are sorted together, at most: places have 32 bits, and sums of a few of them too.
pub const MOST: usize = 1 << 31;
/// The longest row that a single block sorts, whoever else has nothing to do.
const SHORT: usize = 2048;
/// Rows from which on longer ones are sorted by a block each.
const MANY_ROWS: usize = 16;

/// What is wanted of a sort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Elements; zeros in the order of their signs.
    Values,
    /// Places within their row, 64-bit integers.
    Places,
    /// Elements, those that are equal as they were.
    Stable,
}

/// Dense `rows` of `n` elements each, fewer than `MOST` in all. `dst` is elements of the same type, or 64-bit integers.
#[derive(Clone, Copy, Debug)]
pub struct Sort {
    pub dtype: DType,
    pub rows: usize,
    pub n: usize,
    pub src: u64,
    pub dst: u64,
    pub wanted: Wanted,
}

/// What programs give: elements made of their keys, places, elements by their places, or places of 32 bits for the next one.
const VALUES: usize = 0;
const PLACES: usize = 1;
const TAKEN: usize = 2;
const SHORT_PLACES: usize = 3;

/// Digits of the largest of so many numbers.
fn digits(count: usize) -> usize {
    ((usize::BITS - (count.max(1) - 1).leading_zeros()) as usize).div_ceil(8)
}

/// Passes over all elements by one program: those of the keys, or those that put places into the order of their rows.
struct Passes {
    key: usize,
    count: usize,
    wide: bool,
    pairs: bool,
    by_row: bool,
    out: usize,
}

impl Sort {
    /// Complex numbers have no key of 64 bits.
    pub fn is_supported(&self) -> bool {
        !self.dtype.is_complex() && self.total() < MOST
    }

    fn total(&self) -> usize {
        self.rows.saturating_mul(self.n)
    }

    /// Whether elements tell all of what they are by their keys.
    fn is_by_key(&self) -> bool {
        self.wanted == Wanted::Values || (self.wanted == Wanted::Stable && !self.dtype.is_float())
    }

    fn out(&self) -> usize {
        match self.wanted {
            _ if self.is_by_key() => VALUES,
            Wanted::Places => PLACES,
            _ => TAKEN,
        }
    }

    /// Whether the result may not lie where the elements do.
    pub fn is_apart(&self) -> bool {
        let taken = self.passes().iter().any(|p| p.out == TAKEN);
        !self.is_short() && (taken || (self.rows <= 1 && self.dtype.size() == 1))
    }

    // -- rows that a block sorts

    /// As many elements for each thread as shared memory has room for.
    fn short_items(&self) -> Option<usize> {
        let most = match (self.dtype.size(), self.is_by_key()) {
            (8, _) => 14,
            (_, true) => 32,
            (_, false) => 16,
        };
        [8, 16, 32].map(|items: usize| items.min(most)).into_iter().find(|items| self.n <= 256 * items)
    }

    fn is_short(&self) -> bool {
        self.n <= SHORT || (self.rows >= MANY_ROWS && self.short_items().is_some())
    }

    fn short(&self) -> Option<Step> {
        let items = self.short_items()?;
        // Rows as long as half a tile would leave the other half empty, and then nothing has to be carried.
        let together = (256 * items / self.n.max(1)).min(self.rows);
        let carried = together > 1 || !self.is_by_key();
        let blocks = if items > 16 { 3 } else { 4 };
        let definitions = format!(
            "{}#define ITEMS {items}\n#define BLOCKS {blocks}\n#define CARRIED {}\n#define OUT {}\n{KEYS}",
            self.element(),
            carried as u8,
            self.out()
        );
        let words = [self.src, self.dst, self.n as u64, self.rows as u64, together as u64, digits(together) as u64];
        let program = Program::new(Sections::base(), definitions, SHORT_FILE);
        let grid = grid_of(self.rows, together);
        Some(Step { program, function: "sort_rows", grid, words: arguments(&words) })
    }

    // -- longer ones, all together

    fn passes(&self) -> SmallVec<[Passes; 2]> {
        let (size, by_row) = (self.dtype.size(), digits(self.rows));
        let keys = Passes { key: size, count: size, wide: false, pairs: false, by_row: false, out: VALUES };
        if by_row == 0 {
            return smallvec![Passes { pairs: !self.is_by_key(), out: self.out(), ..keys }];
        }
        if self.is_by_key() && size <= 4 {
            let key = if size + by_row <= 4 { 4 } else { 8 };
            return smallvec![Passes { key, count: size + by_row, wide: true, ..keys }];
        }
        let out = if self.is_by_key() { TAKEN } else { self.out() };
        let rows = Passes { key: 4, count: by_row, wide: false, pairs: false, by_row: true, out };
        smallvec![Passes { pairs: true, out: SHORT_PLACES, ..keys }, rows]
    }

    /// Scratch: two buffers of keys, two of places, the counters; and how much it is in all.
    fn layout(&self) -> ([usize; 5], usize) {
        let round = |bytes: usize| bytes.next_multiple_of(256);
        let all = self.passes();
        let keys = all.iter().filter(|p| !p.by_row).map(|p| round(self.total() * p.key)).max().unwrap_or(0);
        let places = if all.iter().any(|p| p.pairs) { round(self.total() * 4) } else { 0 };
        let counters = all.iter().map(|p| round(p.counters(self.total()))).max().unwrap_or(0);
        let mut at = 0;
        let places = [keys, keys, places, places, counters].map(|bytes| {
            let here = at;
            at += bytes;
            here
        });
        (places, at)
    }

    pub fn scratch(&self) -> usize {
        if self.is_short() { 0 } else { self.layout().1 }
    }

    /// What programs know of an element: its type, its bits and how they are ordered.
    fn element(&self) -> String {
        let d = self.dtype;
        let (of_bits, to_bits, infinite) = match d {
            DType::F16 => ("half_of_bits(b)", "(v).bits", "0x7c00"),
            DType::F32 => ("float_of((u32)(b))", "bits_of(v)", "0x7f800000u"),
            _ => ("float_of((u64)(b))", "bits_of(v)", "0x7ff0000000000000ull"),
        };
        let signed = matches!(d, DType::I8 | DType::I16 | DType::I32 | DType::I64);
        let top = format!("((B)((B)1 << {}))", 8 * d.size() - 1);
        format!(
            "typedef {} T;\ntypedef u{} B;\n#define FLOATING {}\n#define EQUAL_ZEROS {}\n#define TOP {top}\n#define FLIP {}\n\
             #define BITS(v) ((B){to_bits})\n#define FROM_BITS(b) {of_bits}\n#define INFINITE ((B){infinite})\n",
            type_name(d),
            8 * d.size(),
            d.is_float() as u8,
            !self.is_by_key() as u8,
            if signed { top.as_str() } else { "((B)0)" },
        )
    }

    /// The steps, with scratch at `scratch`; `None` where it is not supported.
    pub fn steps(&self, scratch: u64) -> Option<SmallVec<[Step; 4]>> {
        if !self.is_supported() {
            return None;
        }
        if self.total() == 0 {
            return Some(SmallVec::new());
        }
        if self.is_short() {
            return Some(smallvec![self.short()?]);
        }
        let at = self.layout().0.map(|offset| scratch + offset as u64);
        let mut steps = SmallVec::new();
        // Where the passes before have left the places.
        let (mut left, mut places) = (self.src, [at[2], at[3]]);
        for p in self.passes() {
            let program = p.program(self);
            let tiles = p.tiles(self.total());
            let keys = if p.by_row { places } else { [at[0], at[1]] };
            let step = |function, blocks: usize, pass: usize| {
                let (first, last) = (pass == 0, pass + 1 == p.count);
                let (from, to) = (pass % 2, 1 - pass % 2);
                let words = arguments(&[
                    if first { left } else { keys[from] },
                    if last && p.out == VALUES { self.dst } else { keys[to] },
                    at[2 + from],
                    if last && p.out != SHORT_PLACES { self.dst } else { at[2 + to] },
                    self.total() as u64,
                    tiles as u64,
                    pass as u64,
                    first as u64 | (last as u64) << 1,
                    at[4],
                    self.n as u64,
                    self.src,
                ]);
                Step { program: program.clone(), function, grid: grid_of(blocks, 1), words }
            };
            steps.push(step("sort_clear", tiles.min(1024), 0));
            steps.push(step("sort_count", self.total().div_ceil(256 * 8).min(COUNTING), 0));
            steps.push(step("sort_starts", p.count, 0));
            steps.extend((0..p.count).map(|pass| step("sort_pass", tiles, pass)));
            if p.count % 2 == 1 {
                places.reverse();
            }
            left = places[0];
        }
        Some(steps)
    }
}

impl Passes {
    /// As many as shared memory has room for: the longer a tile, the longer the runs it writes.
    fn items(&self) -> usize {
        match (self.key, self.pairs) {
            (8, false) => 14,
            (8, true) => 10,
            (_, false) => 32,
            (_, true) => 16,
        }
    }

    /// Blocks of a multiprocessor at once, which bounds the registers of each. 100 million float32 on an H200: 20 items
    /// and 4 blocks take 4.5 ms, 32 and 3 take 2.8.
    fn blocks(&self) -> usize {
        if self.items() > 20 { 3 } else { 4 }
    }

    fn tiles(&self, total: usize) -> usize {
        total.div_ceil(256 * self.items()).max(1)
    }

    /// Bytes of what a tile tells of a digit: two bits of kind beside the count.
    fn told(total: usize) -> usize {
        if total < 1 << 30 { 4 } else { 8 }
    }

    fn counters(&self, total: usize) -> usize {
        4 * DIGITS * (1 + self.count) + self.count * self.tiles(total) * DIGITS * Passes::told(total)
    }

    fn program(&self, sort: &Sort) -> Arc<Program> {
        let definitions = format!(
            "{}typedef u{} K;\ntypedef {} S;\n#define PASSES {}\n#define ITEMS {}\n#define BLOCKS {}\n#define PAIRS {}\n\
             #define WIDE {}\n#define BY_ROW {}\n#define OUT {}\n{KEYS}",
            sort.element(),
            8 * self.key,
            if Passes::told(sort.total()) == 4 { "u32" } else { "u64" },
            self.count,
            self.items(),
            self.blocks(),
            self.pairs as u8,
            self.wide as u8,
            self.by_row as u8,
            self.out,
        );
        Program::new(Sections::base(), definitions, FILE)
    }
}
