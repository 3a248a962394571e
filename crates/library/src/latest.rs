//! Rows written through indices that name most places: a table says which position comes last for each place, then
//! the places are written in the order in which they lie. No row is written twice, and no value read in vain.

use crate::gather::{Rest, prefetch};
use crate::index::{Indexed, Spread};
use crate::scratch::Scratch;
use crate::walk::{Walk, piece};
use crate::{LibraryError, RawView};
use numloom_ir::Strides;

/// Places between the extremes for each position, at most: of fewer positions few meet.
const SPARSE: usize = 2;
/// Bytes of a row that repays looking for a later one also where the positions are hardly scattered.
const LONG: usize = 1024;
/// Places looked at before the rows found for them are written.
const BLOCK: usize = 1024;
/// How many rows before it is copied a row is asked for, and how many bytes of it; the rest is asked for by the copy.
const AHEAD: usize = 12;
const ASKED: usize = 256;
const LINE: usize = 64;

/// Which position is the last for each place between the extremes.
pub(crate) struct Latest<'a> {
    /// The base, with strides in places instead of bytes.
    numbered: RawView,
    /// Bytes from place to place.
    unit: isize,
    /// The lowest place and the number of places that the positions reach.
    low: isize,
    count: usize,
    /// One place more for each tile, where it leaves what is not its own.
    table: *mut u32,
    indexed: &'a Indexed<'a>,
    tiles: usize,
}

impl<'a> Latest<'a> {
    /// For positions whose pieces reach so far in bytes, and whose writing is divided among `tiles`; None if it is not
    /// worth it or there is no room.
    pub fn new(
        indexed: &'a Indexed<'a>,
        reaches: &[[isize; 2]],
        tiles: usize,
        scratch: &Scratch,
    ) -> Option<Latest<'a>> {
        let (base, positions) = (indexed.base, indexed.positions());
        let axes = || base.shape.iter().zip(&base.strides).take(indexed.indices.len());
        let unit = axes().filter(|(extent, _)| **extent > 1).fold(0, |unit, (_, stride)| divisor(unit, stride.abs()));
        if unit == 0 || positions >= u32::MAX as usize {
            return None;
        }
        let spread = Spread::new(reaches);
        let (low, count) = (spread.low / unit, spread.span() / unit as usize + 1);
        let long = base.shape[indexed.indices.len()..].iter().product::<usize>() * base.dtype.size() >= LONG;
        if count / SPARSE > positions || !(long || spread.is_scattered()) {
            return None;
        }
        let table = scratch.get::<u32>(count + tiles).ok()?;
        let strides: Strides = base.strides.iter().map(|stride| stride / unit).collect();
        let numbered = RawView { ptr: base.ptr, dtype: base.dtype, shape: base.shape.clone(), strides };
        Some(Latest { numbered, unit, low, count, table, indexed, tiles })
    }

    /// Calls `f(place in x, value, steps, n)` for every run of a tile.
    ///
    /// # Safety
    /// All indices must have been checked, the values be readable, and nobody else may have the tile.
    pub unsafe fn for_each_run(
        &self,
        values: &RawView,
        reaches: &[[isize; 2]],
        tile: usize,
        f: impl Fn(*mut u8, *const u8, [isize; 2], usize),
    ) -> Result<(), LibraryError> {
        let part = piece(self.count, self.tiles, tile);
        let first = self.low + part.start as isize;
        // SAFETY: `new` asked for so many; parts lie one behind another, each with its one place more.
        let table = std::slice::from_raw_parts_mut(self.table.add(part.start + tile), part.len() + 1);
        self.note(reaches, first, table)?;

        let (base, count, nd) = (self.indexed.base, self.indexed.indices.len(), self.indexed.indices[0].shape.len());
        let rest = Rest::new(&base.shape[count..], [&base.strides[count..], &values.strides[nd..]]);
        let mut from = Walk::new(&values.shape[..nd], [&values.strides[..nd]]);
        let step = from.single_run();
        let mut value = |position: usize| match step {
            Some([step]) => values.ptr.wrapping_offset(position as isize * step),
            None => {
                from.seek(position);
                values.ptr.wrapping_offset(from.offsets[0])
            }
        };
        let steps = rest.walk.single_run();
        let asked = if steps.is_some() { (rest.n * base.dtype.size()).min(ASKED) } else { 0 };
        let mut found = [(base.ptr, values.ptr as *const u8); BLOCK];
        for (at, block) in table[..part.len()].chunks(BLOCK).enumerate() {
            let place = |i: usize| base.ptr.wrapping_offset((first + (at * BLOCK + i) as isize) * self.unit);
            let mut n = 0;
            for (i, &latest) in block.iter().enumerate() {
                found[n] = (place(i), value(latest.saturating_sub(1) as usize));
                n += (latest != 0) as usize;
            }
            for i in 0..n {
                let ahead = found[(i + AHEAD).min(n - 1)].1;
                (0..asked).step_by(LINE).for_each(|at| prefetch(ahead.wrapping_add(at)));
                let (to, value) = found[i];
                match steps {
                    Some(steps) => f(to, value, steps, rest.n),
                    None => rest.walk.clone().runs(0..rest.n, |[x, v], steps, n| {
                        f(to.offset(x), value.offset(v), steps, n);
                        Ok::<_, LibraryError>(())
                    })?,
                }
            }
        }
        Ok(())
    }

    /// Fills the part of the table that begins with place `first`: one more than the last position for each, or 0.
    unsafe fn note(&self, reaches: &[[isize; 2]], first: isize, table: &mut [u32]) -> Result<(), LibraryError> {
        table.fill(0);
        let width = table.len() - 1;
        let own = first * self.unit..(first + width as isize) * self.unit;
        let numbered = self.indexed.over(&self.numbered);
        for (part, &[low, high]) in reaches.iter().enumerate() {
            if high < own.start || low >= own.end {
                continue;
            }
            numbered.offsets(self.indexed.piece(part), |at, places| {
                for (i, place) in places.iter().enumerate() {
                    // Without a branch, which nobody could foresee.
                    table[(place.wrapping_sub(first) as usize).min(width)] = (at + i + 1) as u32;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The greatest common divisor of numbers that are not negative.
fn divisor(a: isize, b: isize) -> isize {
    if b == 0 { a } else { divisor(b, a % b) }
}
