//! Elements read or written through index arrays, one for each of some axes of an array.

use super::{BLOCK, Program, Step, Words, grid_of, unit_of};
use crate::scalar::Sections;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

const FILE: &str = include_str!("../device/index.cuh");
/// Elements of one thread at a time.
const FLIGHT: usize = 4;
/// Index arrays and axes of a domain that a launch's arguments have room for.
pub const MOST_ARRAYS: usize = 8;
pub const MOST_AXES: usize = 16;

/// What `bad` is where all indices are right, but some place is named more than once.
pub const REPEATED: u64 = 1;

/// What to do with an index out of range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Leaves the complement of `Picked::wrong`'s number at `bad`, and the element alone.
    Raise,
    Wrap,
    Clip,
}

/// An array of 64-bit indices into one axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index {
    pub ptr: u64,
    pub extent: usize,
    /// Bytes of the indexed array from one place of the axis to the next.
    pub stride: isize,
}

/// An axis of the index arrays (along which the indexed array stands still), or one that is not indexed (along which
/// they do). Strides are in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    pub extent: usize,
    pub array: isize,
    pub values: isize,
    /// One for each index array.
    pub indices: SmallVec<[isize; 4]>,
    /// Positions from one place to the next.
    position: usize,
}

/// `array[index, ...]` against `values`. Every extent is one at least.
#[derive(Clone, Debug)]
pub struct Picked {
    itemsize: usize,
    array: u64,
    values: u64,
    indices: SmallVec<[Index; 4]>,
    positions: SmallVec<[Axis; 4]>,
    rest: SmallVec<[Axis; 4]>,
    mode: Mode,
    /// One 64-bit integer, zero before.
    pub bad: u64,
}

impl Axis {
    pub fn new(extent: usize, array: isize, values: isize, indices: SmallVec<[isize; 4]>) -> Axis {
        Axis { extent, array, values, indices, position: 0 }
    }

    /// Whether the axis outside of this one goes on where this one ends.
    fn continues(&self, outer: &Axis) -> bool {
        let n = self.extent as isize;
        outer.array == self.array * n
            && outer.values == self.values * n
            && outer.position == self.position * self.extent
            && outer.indices.iter().zip(&self.indices).all(|(&o, &i)| o == i * n)
    }
}

/// Sorted by where the values lie or, where these stand still, the array; joined where they can be.
fn joined(axes: impl Iterator<Item = Axis>) -> SmallVec<[Axis; 4]> {
    let mut all: SmallVec<[Axis; 4]> = axes.filter(|a| a.extent > 1).collect();
    all.sort_by_key(|a| {
        std::cmp::Reverse(match (a.values, a.array) {
            (0, 0) => usize::MAX,
            (0, array) => array.unsigned_abs(),
            (values, _) => values.unsigned_abs(),
        })
    });
    let mut out: SmallVec<[Axis; 4]> = SmallVec::new();
    for axis in all {
        match out.last_mut() {
            Some(outer) if axis.continues(outer) => *outer = Axis { extent: axis.extent * outer.extent, ..axis },
            _ => out.push(axis),
        }
    }
    out
}

impl Picked {
    /// `None` where there is nothing to do, or more of it than a launch has room for. `positions` are the axes of the
    /// index arrays in their order, `rest` those that are not indexed.
    pub fn new(
        itemsize: usize,
        (array, values): (u64, u64),
        indices: &[Index],
        mut positions: SmallVec<[Axis; 4]>,
        rest: SmallVec<[Axis; 4]>,
        mode: Mode,
    ) -> Option<Picked> {
        let some =
            positions.iter().chain(&rest).map(|a| a.extent).chain(indices.iter().map(|i| i.extent)).all(|n| n > 0);
        let axes = positions.len() + rest.len();
        if !some || indices.is_empty() || indices.len() > MOST_ARRAYS || axes > MOST_AXES {
            return None;
        }
        let mut number = 1usize;
        for axis in positions.iter_mut().rev() {
            axis.position = number;
            number = number.checked_mul(axis.extent)?;
        }
        let indices = SmallVec::from_slice(indices);
        Some(Picked { itemsize, array, values, indices, positions, rest, mode, bad: 0 })
    }

    fn count(axes: &[Axis]) -> usize {
        axes.iter().map(|a| a.extent).product()
    }

    fn places(&self) -> usize {
        self.indices.iter().fold(1usize, |n, i| n.saturating_mul(i.extent))
    }

    /// Elements that lie side by side are moved several at a time.
    fn widened(&self) -> (usize, SmallVec<[Axis; 4]>) {
        let mut axes = joined(self.positions.iter().chain(&self.rest).cloned());
        let mut size = self.itemsize;
        while size < 16 {
            let wide = 2 * size;
            let (last, outer) = match axes.split_last_mut() {
                Some((last, outer)) if last.position == 0 && last.extent.is_multiple_of(2) => (last, outer),
                _ => break,
            };
            let even = |bytes: isize| bytes.unsigned_abs().is_multiple_of(wide);
            let aligned = self.array.is_multiple_of(wide as u64) && self.values.is_multiple_of(wide as u64);
            let dense = last.array == size as isize && last.values == size as isize;
            let strides = outer.iter().all(|a| even(a.array) && even(a.values));
            if !(aligned && dense && strides && self.indices.iter().all(|i| even(i.stride))) {
                break;
            }
            last.extent /= 2;
            (last.array, last.values) = (wide as isize, wide as isize);
            size = wide;
        }
        (size, axes)
    }

    fn step(&self, function: &'static str, size: usize, axes: &[Axis], owners: u64) -> Option<Step> {
        let unit = unit_of(size)?;
        let total = Picked::count(axes);
        let one = [Axis::new(1, 0, 0, smallvec![0; self.indices.len()])];
        let axes = if axes.is_empty() { &one } else { axes };
        let counter = if total < 1 << 31 { "u32" } else { "u64" };
        let owner = 8 * self.owner();
        let definitions = format!(
            "struct __align__(16) u128 {{ u64 a, b; }};\ntypedef {unit} U;\ntypedef {counter} I;\ntypedef u{owner} O;\n#define ARRAYS {}\n#define DIMS {}\n",
            self.indices.len(),
            axes.len()
        );
        let program: Arc<Program> = Program::new(Sections::base(), definitions, FILE);
        let head = [
            self.array,
            self.values,
            total as u64,
            Picked::count(&self.positions) as u64,
            self.mode as u64,
            self.bad,
            owners,
            self.table().map_or(0, |slots| slots as u64 - 1),
        ];
        let mut words = Words::from_slice(&head);
        let mut places = self.places();
        for i in &self.indices {
            places /= i.extent;
            words.extend([i.ptr, i.extent as u64, i.stride as u64, places as u64]);
        }
        for axis in axes {
            words.extend([axis.extent as u64, axis.array as u64, axis.values as u64, axis.position as u64]);
            words.extend(axis.indices.iter().map(|&s| s as u64));
        }
        let grid = grid_of(total, BLOCK * FLIGHT).min(1 << 16);
        Some(Step { program, function, grid, words })
    }

    /// `values = array[index, ...]`.
    pub fn take(&self) -> Option<Step> {
        let (size, axes) = self.widened();
        self.step("index_take", size, &axes, 0)
    }

    /// Bytes of a position's number, counted from one.
    fn owner(&self) -> usize {
        if Picked::count(&self.positions) < u32::MAX as usize { 4 } else { 8 }
    }

    /// Slots of the owners' table, where places are so many more than positions that it is smaller than an array of them.
    fn table(&self) -> Option<usize> {
        let slots = (2 * Picked::count(&self.positions)).next_power_of_two();
        (slots.saturating_mul(16) < self.places().saturating_mul(self.owner())).then_some(slots)
    }

    /// Whether all positions are given the same: then it does not matter how often a place is named.
    fn is_one_for_all(&self) -> bool {
        self.positions.iter().all(|a| a.extent == 1 || a.values == 0)
    }

    /// Bytes of scratch `put` needs, zero before.
    pub fn put_scratch(&self) -> usize {
        match self.table() {
            _ if self.is_one_for_all() => 0,
            Some(_) => self.put_in_order_scratch(),
            None => 4 * self.places().div_ceil(32),
        }
    }

    /// `array[index, ...] = values`: a step that looks at the indices, and one that writes, if `bad` is still zero. Where
    /// it is `REPEATED`, `put_in_order` is to be done instead. No two places of the array share bytes.
    pub fn put(&self, scratch: u64) -> Option<[Step; 2]> {
        if self.table().is_some() && !self.is_one_for_all() {
            return self.put_in_order(scratch);
        }
        let (size, axes) = self.widened();
        let marks = if self.is_one_for_all() { 0 } else { scratch };
        let looking = self.step("index_marks", self.itemsize, &joined(self.positions.iter().cloned()), marks)?;
        Some([looking, self.step("index_put", size, &axes, 0)?])
    }

    /// Bytes of scratch `put_in_order` needs, zero before.
    pub fn put_in_order_scratch(&self) -> usize {
        self.table().map_or(self.places().saturating_mul(self.owner()), |slots| 16 * slots)
    }

    /// As `put`; of several values for one place the last wins.
    pub fn put_in_order(&self, scratch: u64) -> Option<[Step; 2]> {
        let (size, axes) = self.widened();
        let looking = self.step("index_owners", self.itemsize, &joined(self.positions.iter().cloned()), scratch)?;
        Some([looking, self.step("index_put", size, &axes, scratch)?])
    }

    /// Which index array is wrong where, by what was found at `bad`: its number, and the address of the index.
    pub fn wrong(&self, found: u64) -> Option<(usize, u64)> {
        let (number, positions) = (!found as usize, Picked::count(&self.positions));
        let (k, mut position) = (number / positions, number % positions);
        let mut at = self.indices.get(k)?.ptr;
        for axis in self.positions.iter().rev() {
            at = at.wrapping_add((position % axis.extent) as u64 * axis.indices[k] as u64);
            position /= axis.extent;
        }
        Some((k, at))
    }
}
