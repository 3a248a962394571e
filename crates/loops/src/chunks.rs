//! Two inputs taken a chunk at a time, by loops that do a whole chunk either quickly or with care.

use crate::In;
use crate::element::Element;
use crate::map::{Feed, Run, Value};

pub(crate) const CHUNK: usize = 32;

/// What is done to a chunk.
pub(crate) trait ChunkLoop<T: Element> {
    /// Stands in both inputs for what a short chunk lacks.
    const ONE: T;
    /// Outputs, one or two.
    const OUTS: usize;
    /// Writes `CHUNK` elements of each output, after the last read of the inputs: they may be the same runs. Of one
    /// output both addresses are the same.
    unsafe fn chunk(&mut self, a: impl Feed<T>, b: impl Feed<T>, outs: [*mut T; 2]);
}

#[inline(always)]
unsafe fn feed_chunks<T: Element, L: ChunkLoop<T>>(
    n: usize,
    a: impl Feed<T>,
    b: impl Feed<T>,
    outs: [*mut T; 2],
    chunks: &mut L,
) {
    let mut i = 0;
    while i + CHUNK <= n {
        chunks.chunk(a.after(i), b.after(i), [outs[0].add(i), outs[L::OUTS - 1].add(i)]);
        i += CHUNK;
    }
    if i < n {
        let (mut x, mut y) = ([L::ONE; CHUNK], [L::ONE; CHUNK]);
        for j in 0..n - i {
            (x[j], y[j]) = (a.get(i + j), b.get(i + j));
        }
        let mut results = [[L::ONE; CHUNK]; 2];
        let first = results.as_mut_ptr().cast::<T>();
        chunks.chunk(Run(x.as_ptr()), Run(y.as_ptr()), [first, first.add(CHUNK * (L::OUTS - 1))]);
        for k in 0..L::OUTS {
            for j in 0..n - i {
                outs[k].add(i + j).write_unaligned(results[k][j]);
            }
        }
    }
}

/// A block loop made of chunks.
#[inline(always)]
pub(crate) unsafe fn in_chunks<T: Element, L: ChunkLoop<T>>(
    n: usize,
    ins: *const In,
    outs: *const *mut u8,
    chunks: &mut L,
) {
    let (a, b) = (*ins, *ins.add(1));
    let (pa, pb) = (a.ptr.cast::<T>(), b.ptr.cast::<T>());
    let outs = [(*outs).cast::<T>(), (*outs.add(L::OUTS - 1)).cast()];
    match (a.step != 0, b.step != 0) {
        (true, true) => feed_chunks(n, Run(pa), Run(pb), outs, chunks),
        (true, false) => feed_chunks(n, Run(pa), Value(pb.read_unaligned()), outs, chunks),
        (false, true) => feed_chunks(n, Value(pa.read_unaligned()), Run(pb), outs, chunks),
        (false, false) => feed_chunks(n, Value(pa.read_unaligned()), Value(pb.read_unaligned()), outs, chunks),
    }
}
