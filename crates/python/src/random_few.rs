//! Draws of a few numbers: made in the call, one by one, straight into the memory of the array. Blocks of words, copies of
//! the state and operations that could be recorded would all cost more than they do.

use crate::random::{BitStream, KeptNormal};
use numloom_random::ahead;
use numloom_random::bounded::{Bounded, Buffer};
use numloom_random::draw::{Parameter, each};
use numloom_random::table::{Distribution, Draw};
use numloom_random::{Bits, normal, shuffle, with_bits};
use numloom_runtime::{Array, record};
use pyo3::prelude::*;

/// Whether the array is drawn in this way: it is small, and nothing is to be drawn before it.
fn is_few(stream: &BitStream, out: &Array) -> bool {
    out.view.size() <= ahead::WORTH && !stream.owes()
}

/// Runs the expression, which draws to `$to`, with the stream's own type of bits. Answers what it gives, or nothing if
/// the array has to be filled in another way.
macro_rules! at_once {
    ($py:expr, $stream:expr, $out:expr, |$bits:ident, $to:ident| $draw:expr) => {{
        if !is_few($stream, $out) {
            return Ok(None);
        }
        $stream.locked($py, |state| {
            record::write_small("random", $out, |$to| with_bits!(state, b => { let $bits = b; $draw }))
        })
    }};
}

/// Shuffles a line of few elements in place.
pub fn shuffled(py: Python<'_>, stream: &BitStream, line: &Array) -> PyResult<Option<()>> {
    let (n, size) = (line.view.size(), line.view.dtype.size());
    if n < 2 || !line.view.offset.is_multiple_of(line.view.dtype.align()) {
        return Ok(None);
    }
    // SAFETY: so many elements lie there, one after another, and nobody else touches them.
    at_once!(py, stream, line, |bits, to| unsafe { shuffle_dense(bits, to, n, size) })
}

/// Shuffles elements that lie one after another.
///
/// # Safety
/// Nobody else touches them, and they are aligned.
pub unsafe fn shuffle_dense<B: Bits>(bits: &mut B, first: *mut u8, n: usize, size: usize) {
    macro_rules! all {
        ($type:ty) => {
            shuffle::shuffle(bits, std::slice::from_raw_parts_mut(first as *mut $type, n))
        };
    }
    match size {
        1 => all!(u8),
        2 => all!(u16),
        4 => all!(u32),
        8 => all!(u64),
        _ => all!([u64; 2]),
    }
}

/// A standard distribution by name; nothing if there is none of the name.
pub fn standard(py: Python<'_>, stream: &BitStream, name: &str, single: bool, out: &Array) -> PyResult<Option<()>> {
    let n = out.view.size();
    // SAFETY: there is room for n elements.
    let drawn = at_once!(py, stream, out, |bits, to| unsafe { fill_standard(bits, name, single, to, n) })?;
    Ok(drawn.filter(|known| *known).map(|_| ()))
}

/// One number of a standard distribution.
pub fn standard_number<B: Bits>(bits: &mut B, name: &str, single: bool) -> Option<f64> {
    let mut word = [0u64];
    let to = word.as_mut_ptr().cast();
    // SAFETY: there is room for one element.
    let known = unsafe { fill_standard(bits, name, single, to, 1) };
    let x = if single { f32::from_bits(word[0] as u32) as f64 } else { f64::from_bits(word[0]) };
    known.then_some(x)
}

/// Whether the name is known, and `n` elements drawn.
///
/// # Safety
/// `to` has room for them, aligned to their size.
unsafe fn fill_standard<B: Bits>(bits: &mut B, name: &str, single: bool, to: *mut u8, n: usize) -> bool {
    unsafe fn fill<T>(to: *mut u8, n: usize, mut draw: impl FnMut() -> T) {
        (0..n).for_each(|i| to.cast::<T>().add(i).write(draw()));
    }
    match (name, single) {
        ("random", false) => fill(to, n, || bits.next_f64()),
        ("random", true) => fill(to, n, || bits.next_f32()),
        ("exponential_inv", false) => fill(to, n, || -(-bits.next_f64()).ln_1p()),
        ("exponential_inv", true) => fill(to, n, || -((-bits.next_f32()) as f64).ln_1p() as f32),
        ("normal", false) => fill(to, n, || normal::standard_normal(bits)),
        ("normal", true) => fill(to, n, || normal::standard_normal_f32(bits)),
        ("exponential", false) => fill(to, n, || normal::standard_exponential(bits)),
        ("exponential", true) => fill(to, n, || normal::standard_exponential_f32(bits)),
        _ => return false,
    }
    true
}

/// Integers `low + [0, range]` of as many bytes as the output's elements have.
pub fn integers(py: Python<'_>, stream: &BitStream, low: u64, bounded: Bounded, out: &Array) -> PyResult<Option<()>> {
    let (n, size) = (out.view.size(), out.view.dtype.size());
    at_once!(py, stream, out, |bits, to| {
        let mut buffer = Buffer::default();
        for i in 0..n {
            let bytes = low.wrapping_add(bounded.draw(bits, &mut buffer)).to_le_bytes();
            // SAFETY: there is room for n elements of so many bytes, eight at most; the machine is a little-endian one.
            unsafe { to.add(i * size).copy_from_nonoverlapping(bytes.as_ptr(), size) };
        }
    })
}

/// A row of the table.
pub fn row(
    py: Python<'_>,
    stream: &BitStream,
    kept: Option<&KeptNormal>,
    what: Distribution,
    params: &[Parameter],
    out: &Array,
) -> PyResult<Option<()>> {
    at_once!(py, stream, out, |bits, to| {
        let mut kept = kept.map(|kept| kept.0.lock());
        let mut draw = Draw::new(bits, kept.as_deref().copied().unwrap_or_default());
        let mut to = to.cast::<u64>();
        each(params, &out.view.shape, |values| {
            // SAFETY: a double or an int64 each, of eight bytes, and as many as the shape has.
            unsafe {
                to.write(what.draw(&mut draw, values).bits());
                to = to.add(1);
            }
            true
        });
        if let Some(kept) = &mut kept {
            **kept = draw.kept;
        }
    })
}
