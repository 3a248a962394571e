//! Random numbers that take a fixed number of words each, for backends that draw them in their own way: the words of a
//! stream any of which can be had by itself, and what is made of them.

/// The 64-bit words of a stream, from the next one on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// A linear congruential generator of 128 bits. `dxsm`: the cheap multiplier and the output of that name, taken before
    /// the step; otherwise XSL-RR, after it.
    Pcg { state: u128, inc: u128, dxsm: bool },
    /// Philox 4x64: blocks of four words by a counter, least significant word first. Of the block at `counter` the first
    /// `used` words are gone.
    Philox { counter: [u64; 4], key: [u64; 2], used: u64 },
}

/// What an element is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Drawn {
    /// `low + range * u`, u in [0, 1) of the upper 53 bits of a word.
    F64 { low: f64, range: f64 },
    /// A float in [0, 1) of the upper 24 bits of half a word.
    F32,
    /// `low + (word >> shift & mask)`, in as many bytes as the array has; of half words or whole ones.
    Integer { low: u64, shift: u32, mask: u64, halves: bool },
}

/// An array of random numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Draws {
    pub words: Words,
    /// Half a word that is left of the one before: the first half word.
    pub kept: Option<u32>,
    pub drawn: Drawn,
}

impl Drawn {
    /// Whether a word makes two elements.
    pub fn is_of_halves(&self) -> bool {
        matches!(self, Drawn::F32 | Drawn::Integer { halves: true, .. })
    }
}
