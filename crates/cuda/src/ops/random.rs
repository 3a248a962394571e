//! Random numbers, each of a word of the stream by its place: the same numbers as one after another.

use super::{BLOCK, Program, Step, arguments, grid_of};
use crate::scalar::Sections;
use numloom_ir::draws::{Drawn, Draws, Words};
use smallvec::{SmallVec, smallvec};

const FILE: &str = include_str!("../device/random.cuh");

/// Words of a thread at least: finding its place in the stream takes as long as some of them.
const WORDS_EACH: usize = 16;
/// Blocks that fill any chip.
const MOST_BLOCKS: u32 = 2048;

/// Draws `n` elements of `size` bytes to `dst`; `None` for sizes that are not made.
pub fn steps(draws: &Draws, dst: u64, n: usize, size: usize) -> Option<SmallVec<[Step; 4]>> {
    if n == 0 {
        return Some(SmallVec::new());
    }
    let (out, from, given) = match draws.drawn {
        Drawn::F64 { low, range } if size == 8 => {
            let text = "(float_of(a.w[12]) + float_of(a.w[13]) * ((f64)((bits) >> 11) * (1.0 / 9007199254740992.0)))";
            ("f64", text, [low.to_bits(), range.to_bits(), 0])
        }
        Drawn::F32 if size == 4 => ("f32", "((f32)((bits) >> 8) * (1.0f / 16777216.0f))", [0; 3]),
        Drawn::Integer { low, shift, mask, .. } => {
            let out = super::unit_of(size).filter(|_| size <= 8)?;
            (out, "((OUT)(a.w[12] + (((u64)(bits) >> a.w[14]) & a.w[13])))", [low, mask, shift as u64])
        }
        _ => return None,
    };
    let halves = draws.drawn.is_of_halves();
    let (philox, dxsm) =
        (matches!(draws.words, Words::Philox { .. }), matches!(draws.words, Words::Pcg { dxsm: true, .. }));
    let definitions = format!(
        "#define PHILOX {}\n#define DXSM {}\n#define HALVES {}\ntypedef {out} OUT;\n#define FROM(bits) {from}\n",
        philox as u8, dxsm as u8, halves as u8,
    );
    let kept = draws.kept.filter(|_| halves);
    let mut words = [0u64; 15];
    words[..4].copy_from_slice(&[dst, n as u64, kept.is_some() as u64, kept.unwrap_or(0) as u64]);
    match draws.words {
        Words::Pcg { state, inc, .. } => {
            let halves = |x: u128| [x as u64, (x >> 64) as u64];
            words[4..6].copy_from_slice(&halves(state));
            words[6..8].copy_from_slice(&halves(inc));
        }
        Words::Philox { counter, key, used } => {
            words[4..8].copy_from_slice(&counter);
            words[8..10].copy_from_slice(&key);
            words[10] = used;
        }
    }
    words[12..].copy_from_slice(&given);
    let program = Program::new(Sections::base(), definitions, FILE);
    let grid = grid_of(n, BLOCK * WORDS_EACH).min(MOST_BLOCKS);
    Some(smallvec![Step { program, function: "draw", grid, words: arguments(&words) }])
}
