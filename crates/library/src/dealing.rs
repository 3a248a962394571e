//! Scattered writes to a base that is larger than the caches: positions are first dealt out to buckets of neighbouring
//! places, then each bucket is written while it lies in the cache of whoever takes it.
//!
//! A piece of the positions is dealt out in their order to a run of its own, and a bucket takes the pieces in order,
//! so the last value for a place still comes last.

use crate::element::with_size;
use crate::gather::prefetch;
use crate::index::{Indexed, Spread};
use crate::scratch::Scratch;
use crate::{LARGE, LibraryError, RawView};

/// Buckets at most: each has two lines of the first cache while positions are dealt out.
const BUCKETS: usize = 256;
/// Bits of a place in a bucket, unless that makes too many buckets.
const BITS: u32 = 16;
/// Positions that repay the way through scratch.
const MANY: usize = 1 << 18;
/// Elements of the base for each position, at most: with fewer positions few lines are written twice.
const SPARSE: usize = 16;
/// Bytes of a bucket that is asked for as a whole before it is written.
const FETCHED: usize = 1 << 20;
const LINE: usize = 64;

/// How the offsets of a base are divided.
#[derive(Clone, Copy)]
pub(crate) struct Dealing {
    pub buckets: usize,
    /// The lowest offset there is.
    low: isize,
    /// Elements between the extremes of the base.
    elements: usize,
    item: u32,
    bits: u32,
    /// Bytes between the values of two positions.
    step: isize,
}

/// What is kept between the phases: for each piece of the positions where its buckets begin, and the places and the
/// values of all positions, piece by piece, bucket by bucket.
#[derive(Default)]
pub(crate) struct Dealt {
    starts: Scratch,
    places: Scratch,
    values: Scratch,
}

/// A number of an element in its bucket.
trait Place: Copy {
    fn new(place: usize) -> Self;
    fn get(self) -> usize;
}

impl Place for u16 {
    #[inline(always)]
    fn new(place: usize) -> u16 {
        place as u16
    }

    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

impl Place for u32 {
    #[inline(always)]
    fn new(place: usize) -> u32 {
        place as u32
    }

    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

macro_rules! with_place {
    ($dealing:expr, $p:ident => $body:expr) => {
        if $dealing.bits <= u16::BITS {
            type $p = u16;
            $body
        } else {
            type $p = u32;
            $body
        }
    };
}

impl Dealing {
    /// For single elements whose offsets are multiples of their size, and values `step` bytes apart, if it is worth it.
    pub fn new(indexed: &Indexed, step: isize) -> Option<Dealing> {
        let (base, count) = (indexed.base, indexed.indices.len());
        let (mut low, mut span) = (0, 0);
        for (&extent, &stride) in base.shape[..count].iter().zip(&base.strides) {
            let reach = (extent as isize - 1) * stride;
            low += reach.min(0);
            span += reach.unsigned_abs();
        }
        let item = base.dtype.size();
        let elements = span / item + 1;
        let bits = BITS.max(elements.div_ceil(BUCKETS).next_power_of_two().ilog2());
        let many = indexed.positions() >= MANY.max(elements / SPARSE);
        let fits = span >= LARGE && bits <= u32::BITS && item << bits <= LARGE;
        let buckets = elements.div_ceil(1 << bits);
        (many && fits).then_some(Dealing { buckets, low, elements, item: item.ilog2(), bits, step })
    }

    /// Whether the positions of the pieces, which reach so far, are so scattered that they are to be dealt out.
    pub fn is_for(&self, reaches: &[[isize; 2]]) -> bool {
        let spread = Spread::new(reaches);
        spread.span() >= LARGE && spread.is_scattered()
    }

    #[inline(always)]
    fn element(&self, offset: isize) -> usize {
        (offset - self.low) as usize >> self.item
    }
}

impl Dealt {
    /// Where bucket `b` of piece `part` begins is at `part * (buckets + 1) + b`; behind it stands where it ends.
    fn starts(&self, indexed: &Indexed, dealing: &Dealing) -> Result<*mut u32, LibraryError> {
        self.starts.get::<u32>(indexed.check_pieces() * (dealing.buckets + 1))
    }

    /// Whether there is room to deal anything out.
    pub fn has_room(&self, indexed: &Indexed, dealing: &Dealing, values: &RawView) -> bool {
        let n = indexed.positions();
        let places = with_place!(dealing, P => self.places.get::<P>(n).is_ok());
        let room = dealing.step == 0 || self.values.get::<u8>(n * values.dtype.size()).is_ok();
        places && room && self.starts(indexed, dealing).is_ok()
    }

    /// Deals one piece of the positions out.
    ///
    /// # Safety
    /// All indices must have been checked, and the values be readable.
    pub unsafe fn deal(
        &self,
        indexed: &Indexed,
        dealing: &Dealing,
        values: &RawView,
        part: usize,
    ) -> Result<(), LibraryError> {
        with_place!(dealing, P => {
            if dealing.step == 0 {
                self.deal_as::<P, ()>(indexed, dealing, values, part)
            } else {
                with_size!(values.dtype.size(), T => self.deal_as::<P, T>(indexed, dealing, values, part))
            }
        })
    }

    unsafe fn deal_as<P: Place, T: Copy>(
        &self,
        indexed: &Indexed,
        dealing: &Dealing,
        values: &RawView,
        part: usize,
    ) -> Result<(), LibraryError> {
        let (n, range) = (indexed.positions(), indexed.piece(part));
        let places = self.places.get::<P>(n)?.add(range.start);
        let copies = if size_of::<T>() == 0 { std::ptr::dangling_mut() } else { self.values.get::<T>(n)? };
        let copies = copies.add(range.start);
        // A byte says which bucket it is, so that no count can lie outside.
        let mut next = [0u32; BUCKETS];
        let (bits, mask) = (dealing.bits, (1 << dealing.bits) - 1);
        indexed.offsets(range.clone(), |_, offsets| {
            offsets.iter().for_each(|&offset| next[(dealing.element(offset) >> bits) as u8 as usize] += 1);
            Ok(())
        })?;
        let starts = self.starts(indexed, dealing)?.add(part * (dealing.buckets + 1));
        let mut before = 0;
        for (bucket, next) in next[..dealing.buckets].iter_mut().enumerate() {
            *starts.add(bucket) = before;
            before += std::mem::replace(next, before);
        }
        *starts.add(dealing.buckets) = before;
        indexed.offsets(range, |at, offsets| {
            let from = values.ptr.wrapping_offset(at as isize * dealing.step);
            for (i, &offset) in offsets.iter().enumerate() {
                let element = dealing.element(offset);
                let next = &mut next[(element >> bits) as u8 as usize];
                let to = *next as usize;
                *next += 1;
                places.add(to).write(P::new(element & mask));
                let value = from.wrapping_offset(i as isize * dealing.step) as *const T;
                copies.add(to).write_unaligned(value.read_unaligned());
            }
            Ok(())
        })
    }

    /// Calls `f(place in the base, value)` for every position of a bucket, in order.
    ///
    /// # Safety
    /// All pieces must have been dealt out, and nobody else may write to the bucket.
    pub unsafe fn write(
        &self,
        indexed: &Indexed,
        dealing: &Dealing,
        values: &RawView,
        bucket: usize,
        f: impl Fn(*mut u8, *const u8),
    ) -> Result<(), LibraryError> {
        let (n, pieces, item) = (indexed.positions(), indexed.check_pieces(), 1usize << dealing.item);
        let first = bucket << dealing.bits;
        let base = indexed.base.ptr.wrapping_offset(dealing.low).wrapping_add(first * item);
        let bytes = (dealing.elements - first).min(1 << dealing.bits) * item;
        let starts = self.starts(indexed, dealing)?;
        let size = if dealing.step == 0 { 0 } else { values.dtype.size() };
        let copies = if size == 0 { values.ptr } else { self.values.get::<u8>(n * size)? };
        if bytes <= FETCHED {
            // In order this takes a fraction of what it takes line by line as they are met.
            (0..bytes).step_by(LINE).for_each(|at| prefetch(base.wrapping_add(at)));
        }
        with_place!(dealing, P => {
            let places = self.places.get::<P>(n)?;
            for part in 0..pieces {
                let start = indexed.piece(part).start;
                let bounds = starts.add(part * (dealing.buckets + 1) + bucket);
                for i in start + *bounds as usize..start + *bounds.add(1) as usize {
                    f(base.wrapping_add((*places.add(i)).get() << dealing.item), copies.add(i * size));
                }
            }
        });
        Ok(())
    }
}
