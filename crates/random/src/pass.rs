//! Arrays drawn in one pass by whatever it takes.

use crate::generator::{After, Stream};
use numloom_library::{Args, LibraryError, LibraryOp, RawView};
use smallvec::{SmallVec, smallvec};

/// Runs `work` once, over the whole output, and notes the state after it.
pub struct Pass<B, F> {
    bits: B,
    after: After,
    work: F,
}

impl<B: Stream, F: Fn(&mut B, &RawView) + Send + Sync> Pass<B, F> {
    /// # Safety
    /// `work` writes nothing but the elements of the view it is given.
    pub unsafe fn new(bits: B, after: After, work: F) -> Pass<B, F> {
        Pass { bits, after, work }
    }
}

impl<B: Stream, F: Fn(&mut B, &RawView) + Send + Sync> LibraryOp for Pass<B, F> {
    fn name(&self) -> &'static str {
        "random"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        smallvec![args.outs[0].shape.iter().all(|&n| n > 0) as usize]
    }

    unsafe fn run(&self, args: &Args, _phase: usize, _tile: usize) -> Result<(), LibraryError> {
        let mut bits = self.bits.clone();
        (self.work)(&mut bits, &args.outs[0]);
        *self.after.lock() = Some(bits.into());
        Ok(())
    }
}
