//! Arrays whose elements take a fixed number of words each: every tile jumps to its place in the stream, and the
//! state after the array is known before anything is drawn.

use crate::bits::{Bits, to_f32};
use crate::bounded::{Bounded, Width, mask};
use crate::convert;
use crate::generator::{After, Stream};
use numloom_ir::draws::{Drawn, Draws};
use numloom_library::{Args, Form, LibraryError, LibraryOp};
use smallvec::{SmallVec, smallvec};

/// What an element is.
#[derive(Clone, Copy, Debug)]
pub enum Fixed {
    /// A double in [0, 1).
    F64,
    /// `low + range * u`.
    Uniform {
        low: f64,
        range: f64,
    },
    /// A float in [0, 1).
    F32,
    /// A double by inversion: the exponential distribution.
    Exponential,
    ExponentialF32,
    /// `scale` times the exponential by the plain logarithm of `RandomState`.
    LegacyExponential {
        scale: f64,
    },
    /// A word without its lowest bit.
    Positive,
    /// A word as the generator makes it, of 32 or 64 bits.
    Raw,
    /// An integer `low + [0, range]` of as many bytes as the output has; the range takes no rejection.
    Bounded {
        low: u64,
        bounded: Bounded,
    },
}

impl Fixed {
    /// Of 32-bit words rather than 64-bit ones, and how many elements share one.
    fn words<B: Bits>(&self) -> (bool, usize) {
        match self {
            Fixed::Raw => (B::NARROW, 1),
            Fixed::F32 | Fixed::ExponentialF32 => (true, 1),
            Fixed::Bounded { bounded, .. } => match bounded.width {
                Width::Bit => (true, 32),
                Width::W8 => (true, 4),
                Width::W16 => (true, 2),
                _ => (bounded.is_narrow(), 1),
            },
            _ => (false, 1),
        }
    }

    /// The state after `n` elements from `bits`.
    pub fn skip<B: Bits>(&self, bits: &mut B, n: usize) {
        if matches!(self, Fixed::Bounded { bounded, .. } if bounded.range == 0) {
            return;
        }
        let (narrow, share) = self.words::<B>();
        let words = n.div_ceil(share) as u64;
        if narrow { bits.skip32(words) } else { bits.skip64(words) }
    }

    /// The same for those who have the words of any place, if it is made of them by exact arithmetic.
    fn drawn(&self) -> Option<Drawn> {
        match *self {
            Fixed::F64 => Some(Drawn::F64 { low: 0.0, range: 1.0 }),
            Fixed::Uniform { low, range } => Some(Drawn::F64 { low, range }),
            Fixed::F32 => Some(Drawn::F32),
            Fixed::Bounded { low, bounded } if bounded.range > 0 && !bounded.shares_words() => {
                let (halves, ones) = (bounded.is_narrow(), bounded.range.count_ones());
                let (shift, mask) = match bounded.masked {
                    true => (0, mask(bounded.range)),
                    false => (if halves { 32 } else { 64 } - ones, u64::MAX),
                };
                Some(Drawn::Integer { low, shift, mask, halves })
            }
            _ => None,
        }
    }

    /// Draws `n` elements to `out`.
    ///
    /// # Safety
    /// There is room for them, aligned to their size.
    pub unsafe fn draw<B: Bits>(&self, bits: &mut B, out: *mut u8, n: usize, size: usize) {
        match *self {
            // Zero plus one times a number that is not negative is the number.
            Fixed::F64 => uniforms(bits, out, n, 0.0, 1.0),
            Fixed::Uniform { low, range } => uniforms(bits, out, n, low, range),
            Fixed::Exponential => doubles(bits, out, n, |u| -(-u).ln_1p()),
            Fixed::LegacyExponential { scale } => doubles(bits, out, n, |u| scale * -(1.0 - u).ln()),
            Fixed::F32 => floats(bits, out, n),
            Fixed::ExponentialF32 => narrow::<B, f32>(bits, out, n, |w| -((-to_f32(w)) as f64).ln_1p() as f32),
            Fixed::Positive => wide::<B, u64>(bits, out, n, |w| w >> 1),
            Fixed::Raw if B::NARROW => narrow::<B, u64>(bits, out, n, |w| w as u64),
            Fixed::Raw if B::COPIES => wide::<B, u64>(bits, out, n, |w| w),
            Fixed::Raw => {
                std::slice::from_raw_parts_mut(out as *mut u64, n).iter_mut().for_each(|x| *x = bits.next_raw());
            }
            Fixed::Bounded { low, bounded } => match size {
                8 => integers::<B, u64>(bits, out, n, low, bounded),
                4 => integers::<B, u32>(bits, out, n, low, bounded),
                2 => integers::<B, u16>(bits, out, n, low, bounded),
                _ => integers::<B, u8>(bits, out, n, low, bounded),
            },
        }
    }
}

/// An unsigned integer that a 64-bit one is cut down to.
pub trait Cut: Copy {
    fn cut(x: u64) -> Self;
}

macro_rules! cut {
    ($($type:ty),*) => { $(impl Cut for $type {
        #[inline(always)]
        fn cut(x: u64) -> $type {
            x as $type
        }
    })* };
}
cut!(u8, u16, u32, u64);

const BLOCK: usize = 1024;

unsafe fn doubles<B: Bits>(bits: &mut B, out: *mut u8, n: usize, make: impl Fn(f64) -> f64) {
    if B::COPIES {
        return wide::<B, f64>(bits, out, n, |w| make(B::to_f64(w)));
    }
    for x in std::slice::from_raw_parts_mut(out as *mut f64, n) {
        *x = make(bits.next_f64());
    }
}

unsafe fn uniforms<B: Bits>(bits: &mut B, out: *mut u8, n: usize, low: f64, range: f64) {
    if !B::COPIES {
        return doubles(bits, out, n, |u| low + range * u);
    }
    let mut words = [0u64; BLOCK];
    for block in std::slice::from_raw_parts_mut(out as *mut f64, n).chunks_mut(BLOCK) {
        let words = &mut words[..block.len()];
        bits.fill_fractions(words);
        convert::uniforms(words, block, low, range);
    }
}

unsafe fn floats<B: Bits>(bits: &mut B, out: *mut u8, n: usize) {
    let mut words = [0u32; BLOCK];
    for block in std::slice::from_raw_parts_mut(out as *mut f32, n).chunks_mut(BLOCK) {
        let words = &mut words[..block.len()];
        bits.fill_u32(words);
        convert::floats(words, block);
    }
}

#[inline(always)]
unsafe fn wide<B: Bits, T>(bits: &mut B, out: *mut u8, n: usize, make: impl Fn(u64) -> T) {
    let mut words = [0u64; BLOCK];
    for block in std::slice::from_raw_parts_mut(out as *mut T, n).chunks_mut(BLOCK) {
        let words = &mut words[..block.len()];
        bits.fill_u64(words);
        for (x, &w) in block.iter_mut().zip(&*words) {
            *x = make(w);
        }
    }
}

#[inline(always)]
unsafe fn narrow<B: Bits, T>(bits: &mut B, out: *mut u8, n: usize, make: impl Fn(u32) -> T) {
    let mut words = [0u32; BLOCK];
    for block in std::slice::from_raw_parts_mut(out as *mut T, n).chunks_mut(BLOCK) {
        let words = &mut words[..block.len()];
        bits.fill_u32(words);
        for (x, &w) in block.iter_mut().zip(&*words) {
            *x = make(w);
        }
    }
}

/// What a part of a word of `bits` bits stands for: its upper bits, or the lower ones under a mask.
fn part_to_value<T: Cut>(low: u64, range: u64, masked: bool, bits: u32) -> impl Fn(u32) -> T {
    let (mask, shift) = (mask(range) as u32, if masked { 0 } else { bits - range.count_ones() });
    move |part| T::cut(low.wrapping_add((if masked { part & mask } else { part >> shift }) as u64))
}

/// Fills with what `make` makes of the parts of 32-bit words, `SHARE` to a word, the lowest first. The first element
/// takes a new word.
#[inline(always)]
fn parts<B: Bits, T, const SHARE: usize>(bits: &mut B, out: &mut [T], make: impl Fn(u32) -> T) {
    let width = 32 / SHARE;
    let of = |word: u32, k: usize| word >> (k * width) & (u32::MAX >> (32 - width));
    let mut words = [0u32; BLOCK];
    for block in out.chunks_mut(BLOCK * SHARE) {
        let words = &mut words[..block.len().div_ceil(SHARE)];
        bits.fill_u32(words);
        let (whole, rest) = block.as_chunks_mut::<SHARE>();
        for (some, &word) in whole.iter_mut().zip(&*words) {
            for (k, x) in some.iter_mut().enumerate() {
                *x = make(of(word, k));
            }
        }
        for (k, x) in rest.iter_mut().enumerate() {
            *x = make(of(words[words.len() - 1], k));
        }
    }
}

/// Results of a power of two, or of one: the upper bits of a word, or the lower ones under a mask.
unsafe fn integers<B: Bits, T: Cut>(bits: &mut B, out: *mut u8, n: usize, low: u64, bounded: Bounded) {
    let range = bounded.range;
    let (masked, mask) = (bounded.masked, mask(range));
    let width = range.count_ones();
    if range == 0 {
        std::slice::from_raw_parts_mut(out as *mut T, n).fill(T::cut(low));
    } else if let Width::Bit | Width::W8 | Width::W16 = bounded.width {
        let out = std::slice::from_raw_parts_mut(out as *mut T, n);
        match bounded.width {
            Width::Bit => parts::<B, T, 32>(bits, out, |w| T::cut(low.wrapping_add(w as u64))),
            // Of a full range it is the part itself, either way.
            Width::W8 => parts::<B, T, 4>(bits, out, part_to_value(low, range, masked, 8)),
            _ => parts::<B, T, 2>(bits, out, part_to_value(low, range, masked, 16)),
        }
    } else if bounded.is_narrow() {
        let shift = 32 - width;
        let value = |w: u32| if masked { w as u64 & mask } else { w as u64 >> shift };
        narrow::<B, T>(bits, out, n, |w| T::cut(low.wrapping_add(value(w))));
    } else {
        let shift = 64 - width;
        let value = |w: u64| if masked { w & mask } else { w >> shift };
        wide::<B, T>(bits, out, n, |w| T::cut(low.wrapping_add(value(w))));
    }
}

/// Fills its output, which is dense, from the stream as it was when the operation was made.
pub struct Fill<B> {
    what: Fixed,
    bits: B,
    after: After,
}

impl<B: Stream> Fill<B> {
    /// `after` gets the state where no jump told it before: the last tile ends there.
    pub fn new(what: Fixed, bits: B, after: After) -> Fill<B> {
        Fill { what, bits, after }
    }
}

impl<B: Stream> LibraryOp for Fill<B> {
    fn name(&self) -> &'static str {
        "random"
    }

    fn form(&self) -> Form {
        match (self.bits.words(), self.what.drawn()) {
            (Some((words, kept)), Some(drawn)) => Form::Draw(Draws { words, kept, drawn }),
            _ => Form::Other,
        }
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        let n: usize = args.outs[0].shape.iter().product();
        smallvec![n.div_ceil(B::tile(n))]
    }

    unsafe fn run(&self, args: &Args, _phase: usize, tile: usize) -> Result<(), LibraryError> {
        let out = &args.outs[0];
        let n: usize = out.shape.iter().product();
        let size = out.dtype.size();
        let mut bits = self.bits.clone();
        let first = if tile == 0 { 0 } else { tile * B::tile(n) };
        if first > 0 {
            self.what.skip(&mut bits, first);
        }
        let count = B::tile(n).min(n - first);
        self.what.draw(&mut bits, out.ptr.add(first * size), count, size);
        if !B::JUMPS && first + count == n {
            *self.after.lock() = Some(bits.into());
        }
        Ok(())
    }
}
