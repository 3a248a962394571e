//! Arrays whose elements take one word each, but for a few: drawn in parallel all the same, with the numbers and the
//! state of one pass.
//!
//! The stream is cut into tiles of words. In the first phase each tile goes through its words as if an element began
//! with the first of them, counts the elements that begin in it, and notes how far the last one reaches into the next
//! tile. In the second phase, the true beginnings follow from left to right: where an element reaches into a tile, the
//! tile is gone through from there, side by side with the guess, until both begin an element with the same word; from
//! there on they are the same. That gives every tile its first word and the place of its first element, and the third
//! phase draws.

use crate::ahead::{Ahead, BLOCK, Narrow, WORTH, Wide};
use crate::bits::Bits;
use crate::generator::{After, Stream};
use crate::samplers::Sampler;
use numloom_library::{Args, LibraryError, LibraryOp};
use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};

/// Words of a tile.
const TILE: u64 = 1 << 16;
/// Arrays below this are drawn in one go.
const SMALL: usize = 1 << 17;

#[derive(Clone, Copy, Default)]
struct Piece {
    /// The first word of the first element.
    start: u64,
    /// The place of the first element.
    first: u64,
    /// Elements that begin in the tile.
    count: u64,
    /// How far the last of them reaches into the next tile.
    over: u64,
}

/// Draws from a dense stream of words into a dense output.
pub struct Split<S, B> {
    sampler: S,
    bits: B,
    /// How many words an element takes at most, on average.
    rate: f64,
    pieces: Mutex<Vec<Piece>>,
    after: After,
}

impl<S: Sampler, B: Stream> Split<S, B> {
    /// `rate`: a little more than the words of an element, on average.
    pub fn new(sampler: S, bits: B, rate: f64, after: After) -> Split<S, B> {
        Split { sampler, bits, rate, pieces: Mutex::default(), after }
    }

    fn tiles(&self, n: usize) -> usize {
        if !B::JUMPS || n < SMALL { 1 } else { (n as f64 * self.rate / TILE as f64).ceil() as usize }
    }

    /// The stream from its word `at` on.
    fn at(&self, at: u64) -> B {
        let mut bits = self.bits.clone();
        if S::WIDE {
            bits.skip64(at)
        } else {
            bits.skip32(at)
        }
        bits
    }

    /// Phase one: the elements that begin in the tile, if one begins with its first word.
    fn guess(&self, tile: usize) -> Piece {
        let start = tile as u64 * TILE;
        let bits = self.at(start);
        let (count, used) = if S::WIDE { self.count::<Wide<B>>(&bits) } else { self.count::<Narrow<B>>(&bits) };
        Piece { start, first: 0, count, over: used - TILE }
    }

    /// The elements that begin within the words of a tile, and the words that they take.
    fn count<A: Ahead<B>>(&self, bits: &B) -> (u64, u64) {
        let (mut words, mut count) = (A::new(bits), 0);
        // A tile is whole blocks, so a run ends where the tile does at the latest.
        while words.used() < TILE {
            let (run, stopped) = words.run(BLOCK, |w| self.sampler.alone::<B>(w).is_some());
            count += run as u64;
            if stopped {
                self.sampler.sample(&mut words);
                count += 1;
            }
        }
        (count, words.used())
    }

    /// Where an element that begins with the stream's word ends.
    fn end_of(&self, start: u64) -> u64 {
        let mut bits = Counted { bits: self.at(start), used: 0 };
        self.sampler.sample(&mut bits);
        start + bits.used
    }

    /// Phase two: the guesses put right, from left to right.
    fn settle(&self, pieces: &mut [Piece]) {
        let (mut over, mut first) = (0, 0);
        for (k, piece) in pieces.iter_mut().enumerate() {
            let (begin, end) = (k as u64 * TILE, (k as u64 + 1) * TILE);
            if over > 0 {
                let (mut guess, mut truth) = (begin, begin + over);
                let (mut guessed, mut counted) = (0, 0);
                while guess != truth && truth < end {
                    if guess < truth {
                        guess = self.end_of(guess);
                        guessed += 1;
                    } else {
                        truth = self.end_of(truth);
                        counted += 1;
                    }
                }
                piece.start = begin + over;
                if guess == truth && truth < end {
                    piece.count = piece.count - guessed + counted;
                } else {
                    (piece.count, piece.over) = (counted, truth - end);
                }
            }
            piece.first = first;
            first += piece.count;
            over = piece.over;
        }
    }

    /// Draws `count` elements from `bits`; answers the state after them.
    unsafe fn draw(&self, bits: &B, out: *mut S::Out, count: usize) -> B {
        let out = std::slice::from_raw_parts_mut(out, count);
        if !B::COPIES || count < WORTH {
            let mut bits = bits.clone();
            out.iter_mut().for_each(|x| *x = self.sampler.sample(&mut bits));
            return bits;
        }
        if S::WIDE { self.draw_ahead::<Wide<B>>(bits, out) } else { self.draw_ahead::<Narrow<B>>(bits, out) }
    }

    fn draw_ahead<A: Ahead<B>>(&self, bits: &B, out: &mut [S::Out]) -> B {
        let (mut words, mut at) = (A::new(bits), 0);
        while at < out.len() {
            let mut room = out[at..].iter_mut();
            let (run, stopped) = words.run(room.len(), |w| match (self.sampler.alone::<B>(w), room.next()) {
                (Some(element), Some(x)) => {
                    *x = element;
                    true
                }
                _ => false,
            });
            at += run;
            if stopped {
                out[at] = self.sampler.sample(&mut words);
                at += 1;
            }
        }
        words.finish()
    }
}

/// Counts the words it hands on.
#[derive(Clone)]
struct Counted<B> {
    bits: B,
    used: u64,
}

impl<B: Bits> Bits for Counted<B> {
    const JUMPS: bool = false;
    const COPIES: bool = true;

    fn next_u64(&mut self) -> u64 {
        self.used += 1;
        self.bits.next_u64()
    }

    fn next_u32(&mut self) -> u32 {
        self.used += 1;
        self.bits.next_u32()
    }

    fn to_f64(word: u64) -> f64 {
        B::to_f64(word)
    }
}

impl<S: Sampler, B: Stream> LibraryOp for Split<S, B> {
    fn name(&self) -> &'static str {
        "random"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        let n: usize = args.outs[0].shape.iter().product();
        match self.tiles(n) {
            _ if n == 0 => smallvec![0],
            1 => smallvec![1],
            tiles => {
                *self.pieces.lock() = vec![Piece::default(); tiles];
                smallvec![tiles, 1, tiles]
            }
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let out = &args.outs[0];
        let n: usize = out.shape.iter().product();
        let to = out.ptr as *mut S::Out;
        let tiles = self.tiles(n);
        if tiles == 1 {
            *self.after.lock() = Some(self.draw(&self.bits, to, n).into());
            return Ok(());
        }
        match phase {
            0 => {
                let piece = self.guess(tile);
                self.pieces.lock()[tile] = piece;
            }
            1 => self.settle(&mut self.pieces.lock()),
            _ => {
                let Piece { start, first, count, .. } = self.pieces.lock()[tile];
                if first >= n as u64 {
                    return Ok(());
                }
                // The last tile goes on where the words were not enough, and stops where the array ends.
                let left = n as u64 - first;
                let is_last = left <= count || tile + 1 == tiles;
                let count = if is_last { left } else { count };
                let end = self.draw(&self.at(start), to.add(first as usize), count as usize);
                if is_last {
                    *self.after.lock() = Some(end.into());
                }
            }
        }
        Ok(())
    }
}
