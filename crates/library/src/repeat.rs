//! Every element as often as its count says (`repeat`).

use crate::element::with_size;
use crate::gather::copy_run;
use crate::scratch::Scratch;
use crate::walk::{ensure, ensure_operands, piece, pieces};
use crate::{Args, LARGE, LibraryError, LibraryOp, RawView};
use numloom_ir::DType;
use numloom_loops::{stream, streamed};
use smallvec::{SmallVec, smallvec};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Inputs: x and int64 counts, both 1-d and of one length. The output is 1-d, as long as the sum of the counts.
#[derive(Default)]
pub struct Repeat {
    /// What the counts of each chunk come to.
    sums: Scratch,
}

/// Elements of a chunk.
const CHUNK: usize = 1 << 16;
/// Elements that are put together before they are written.
const ROOM: usize = 1024;
/// Copies that are made of every element, whether it wants fewer or not: no branch to predict.
const COPIES: usize = 4;

impl Repeat {
    pub fn new() -> Repeat {
        Repeat::default()
    }

    fn check(&self, args: &Args) -> Result<usize, LibraryError> {
        let name = self.name();
        ensure_operands(args, 2, 1, name)?;
        let (x, counts, out) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        ensure(x.shape.len() == 1 && x.shape == counts.shape && out.shape.len() == 1, name, "shapes do not fit")?;
        ensure(counts.dtype == DType::I64 && x.dtype == out.dtype, name, "dtypes do not fit")?;
        Ok(x.shape[0])
    }
}

impl LibraryOp for Repeat {
    fn name(&self) -> &'static str {
        "repeat"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        let chunks = |n| if n == 0 { 0 } else { pieces(n, CHUNK) };
        self.check(args).map_or(smallvec![1], |n| smallvec![chunks(n), chunks(n)])
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let n = self.check(args)?;
        let (x, counts, out) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        let (chunks, range) = (pieces(n, CHUNK), piece(n, pieces(n, CHUNK), tile));
        let sums = self.sums.get::<u64>(chunks)?;
        if phase == 0 {
            *sums.add(tile) = sum(counts, range)?;
            return Ok(());
        }
        let sums = std::slice::from_raw_parts(sums, chunks);
        let come_to = |sums: &[u64]| sums.iter().fold(0u64, |all, s| all.saturating_add(*s));
        ensure(come_to(sums) == out.size() as u64, self.name(), "the output does not fit the counts")?;
        let first = come_to(&sums[..tile]) as usize;
        with_size!(x.dtype.size(), T => repeat::<T>(x, counts, out, range, first));
        Ok(())
    }
}

/// Never wraps round: what does not fit must not look as if it did.
unsafe fn sum(counts: &RawView, range: Range<usize>) -> Result<u64, LibraryError> {
    let (mut all, mut least) = (0u64, 0);
    let (counts, step) = (counts.ptr, counts.strides[0]);
    for i in range {
        let count = (counts.offset(i as isize * step) as *const i64).read_unaligned();
        least = count.min(least);
        all = all.saturating_add(count as u64);
    }
    if least < 0 {
        return Err(LibraryError::Value("repeats may not contain negative values.".into()));
    }
    Ok(all)
}

/// The elements of `range`, into the output from place `first` on.
unsafe fn repeat<T: Copy>(x: &RawView, counts: &RawView, out: &RawView, range: Range<usize>, first: usize) {
    let (item, step) = (size_of::<T>(), out.strides[0]);
    let past = step == item as isize && out.size() * item >= LARGE;
    let mut room = [MaybeUninit::<T>::uninit(); ROOM + COPIES];
    let room = room.as_mut_ptr() as *mut T;
    let mut to = out.ptr.wrapping_offset(first as isize * step);
    let mut flush = |n: usize| {
        if past {
            stream(room.cast(), to, n * item);
        } else {
            copy_run(room.cast(), item as isize, to, step, n, item);
        }
        to = to.wrapping_offset(n as isize * step);
    };
    let mut filled = 0;
    let ((x, x_step), (counts, counts_step)) = ((x.ptr, x.strides[0]), (counts.ptr, counts.strides[0]));
    for i in range {
        let value = (x.offset(i as isize * x_step) as *const T).read_unaligned();
        let mut count = (counts.offset(i as isize * counts_step) as *const i64).read_unaligned() as usize;
        while count > COPIES {
            let n = count.min(ROOM - filled);
            (filled..filled + n).for_each(|at| room.add(at).write(value));
            (filled, count) = (filled + n, count - n);
            if filled == ROOM {
                flush(filled);
                filled = 0;
            }
        }
        // Here fewer than `ROOM` are filled, so that there is room for all copies.
        (0..COPIES).for_each(|at| room.add(filled + at).write(value));
        filled += count;
        if filled >= ROOM {
            flush(filled);
            filled = 0;
        }
    }
    flush(filled);
    if past {
        streamed();
    }
}
