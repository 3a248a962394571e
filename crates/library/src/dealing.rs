//! Scattered writes to a base that is larger than the caches: positions are first dealt out to buckets of neighbouring
//! places, then each bucket is written while it lies in the cache of whoever takes it.
//!
//! A piece of the positions is dealt out in their order to a run of its own, and a bucket takes the pieces in order,
//! so the last value for a place still comes last.

use crate::combining::{Combining, CombiningPairs, RUNS};
use crate::element::with_size;
use crate::gather::{prefetch, prefetch_run};
use crate::index::{BLOCK, Indexed, Spread};
use crate::scratch::Scratch;
use crate::vector::vectorized;
use crate::walk::piece;
use crate::{LARGE, LibraryError, RawView};

/// Buckets at most.
const BUCKETS: usize = RUNS;
/// Bits of a place in a bucket, unless that makes too many buckets.
const BITS: u32 = 16;
/// Positions that repay the way through scratch.
const MANY: usize = 1 << 18;
/// Pieces that positions are dealt out in at most: with more, what lies together of a bucket is short.
const PIECES: usize = 16;
/// Elements that are written without looking ahead.
const SOME: usize = 8;
/// Bytes between what is read and what will be.
const AHEAD: usize = 1024;
/// Elements of the base for each position, at most: with fewer positions few lines are written twice.
const SPARSE: usize = 16;
/// Bytes of a bucket that is asked for as a whole before it is written.
const FETCHED: usize = 1 << 20;

/// How the offsets of a base are divided.
#[derive(Clone, Copy)]
pub(crate) struct Dealing {
    pub buckets: usize,
    /// Pieces of the positions, each of which is dealt out by itself.
    pub pieces: usize,
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
        let pieces = indexed.check_pieces().min(PIECES);
        (many && fits).then_some(Dealing { buckets, pieces, low, elements, item: item.ilog2(), bits, step })
    }

    /// Whether the positions of the pieces, which reach so far, are so scattered that they are to be dealt out.
    pub fn is_for(&self, reaches: &[[isize; 2]]) -> bool {
        let spread = Spread::new(reaches);
        spread.span() >= LARGE && spread.is_scattered()
    }

    /// The bucket of each of up to a block of offsets, and the place there, if it is wanted.
    fn split<P: Place>(&self, offsets: &[isize], buckets: &mut [u8; BLOCK], places: Option<&mut [P; BLOCK]>) {
        let Dealing { low, item, bits, .. } = *self;
        vectorized(
            // All of its own: what is behind a reference could change with every byte that is written.
            #[inline(always)]
            move || {
                let (n, mask) = (offsets.len().min(BLOCK), (1 << bits) - 1);
                for i in 0..n {
                    buckets[i] = ((offsets[i] - low) as usize >> item >> bits) as u8;
                }
                if let Some(places) = places {
                    for i in 0..n {
                        places[i] = P::new((offsets[i] - low) as usize >> item & mask);
                    }
                }
            },
        )
    }
}

impl Dealt {
    /// Where bucket `b` of piece `part` begins is at `part * (buckets + 1) + b`; behind it stands where it ends.
    fn starts(&self, dealing: &Dealing) -> Result<*mut u32, LibraryError> {
        self.starts.get::<u32>(dealing.pieces * (dealing.buckets + 1))
    }

    /// Whether there is room to deal anything out.
    pub fn has_room(&self, indexed: &Indexed, dealing: &Dealing, values: &RawView) -> bool {
        let n = indexed.positions();
        let places = with_place!(dealing, P => self.places.get::<P>(n).is_ok());
        let room = dealing.step == 0 || self.values.get::<u8>(n * values.dtype.size()).is_ok();
        places && room && self.starts(dealing).is_ok()
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
        let n = indexed.positions();
        let range = piece(n, dealing.pieces, part);
        // A byte says which bucket it is, so that no count can lie outside.
        let mut counts = [0u32; BUCKETS];
        let mut buckets = [0u8; BLOCK];
        indexed.offsets(range.clone(), |_, offsets| {
            dealing.split(offsets, &mut buckets, None::<&mut [P; BLOCK]>);
            buckets[..offsets.len()].iter().for_each(|&bucket| counts[bucket as usize] += 1);
            Ok(())
        })?;
        let starts = self.starts(dealing)?.add(part * (dealing.buckets + 1));
        let (mut before, mut firsts) = (0, [0; BUCKETS]);
        for bucket in 0..dealing.buckets {
            (*starts.add(bucket), firsts[bucket]) = (before, before as usize);
            before += counts[bucket];
        }
        *starts.add(dealing.buckets) = before;
        let firsts = &firsts[..dealing.buckets];
        let places = self.places.get::<P>(n)?;
        let mut own = [P::new(0); BLOCK];
        if size_of::<T>() == 0 {
            let mut dealt = Combining::<P, 64>::new(places.add(range.start), firsts)?;
            indexed.offsets(range, |_, offsets| {
                dealing.split(offsets, &mut buckets, Some(&mut own));
                for i in 0..offsets.len() {
                    dealt.put(buckets[i % BLOCK], own[i % BLOCK]);
                }
                Ok(())
            })?;
            dealt.finish();
            return Ok(());
        }
        let mut dealt = CombiningPairs::new((places, self.values.get::<T>(n)?), range.start, firsts)?;
        indexed.offsets(range, |at, offsets| {
            dealing.split(offsets, &mut buckets, Some(&mut own));
            let from = values.ptr.wrapping_offset(at as isize * dealing.step);
            for i in 0..offsets.len() {
                prefetch(from.wrapping_offset((i + BLOCK) as isize * dealing.step));
                let value = from.wrapping_offset(i as isize * dealing.step) as *const T;
                dealt.put(buckets[i % BLOCK], own[i % BLOCK], value.read_unaligned());
            }
            Ok(())
        })?;
        dealt.finish();
        Ok(())
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
        let (n, item) = (indexed.positions(), 1usize << dealing.item);
        let first = bucket << dealing.bits;
        let base = indexed.base.ptr.wrapping_offset(dealing.low).wrapping_add(first * item);
        let bytes = (dealing.elements - first).min(1 << dealing.bits) * item;
        let starts = self.starts(dealing)?;
        let size = if dealing.step == 0 { 0 } else { values.dtype.size() };
        let copies = if size == 0 { values.ptr } else { self.values.get::<u8>(n * size)? };
        if bytes <= FETCHED {
            // In order this takes a fraction of what it takes line by line as they are met.
            prefetch_run(base, bytes);
        }
        with_place!(dealing, P => {
            let places = self.places.get::<P>(n)?;
            for part in 0..dealing.pieces {
                let start = piece(n, dealing.pieces, part).start;
                let bounds = starts.add(part * (dealing.buckets + 1) + bucket);
                let (mut i, end) = (start + *bounds as usize, start + *bounds.add(1) as usize);
                while i < end {
                    let stop = end.min(i + SOME);
                    prefetch(copies.wrapping_add(i * size + AHEAD));
                    prefetch(places.wrapping_byte_add(i * size_of::<P>() + AHEAD / 2) as *mut u8);
                    while i < stop {
                        f(base.wrapping_add((*places.add(i)).get() << dealing.item), copies.add(i * size));
                        i += 1;
                    }
                }
            }
        });
        Ok(())
    }
}
