//! Arrays drawn element by element, in one pass: distributions with parameters, which may be arrays too.

use crate::ahead::{Ahead, WORTH, Wide};
use crate::bits::Bits;
use crate::generator::{After, Stream};
use crate::legacy::Kept;
use crate::table::{Distribution, Draw, Values};
use numloom_library::{Args, LibraryError, LibraryOp, RawView};
use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// One parameter: a number, or an array broadcast to the output, with its strides in elements.
#[derive(Clone, Debug)]
pub enum Parameter {
    F(f64),
    I(i64),
    Fs { values: Vec<f64>, strides: Vec<usize> },
    Is { values: Vec<i64>, strides: Vec<usize> },
}

impl Parameter {
    fn put(&self, values: &mut Values, k: usize, at: usize) {
        match self {
            Parameter::F(x) => values.f[k] = *x,
            Parameter::I(x) => values.i[k] = *x,
            Parameter::Fs { values: many, .. } => values.f[k] = many[at],
            Parameter::Is { values: many, .. } => values.i[k] = many[at],
        }
    }

    fn strides(&self) -> &[usize] {
        match self {
            Parameter::F(_) | Parameter::I(_) => &[],
            Parameter::Fs { strides, .. } | Parameter::Is { strides, .. } => strides,
        }
    }
}

/// The normal that `RandomState` keeps, after the operation.
pub type KeptAfter = Arc<Mutex<Kept>>;

/// Draws its output, which is dense, in C order.
pub struct OneByOne<B> {
    pub what: Distribution,
    pub params: Vec<Parameter>,
    pub bits: B,
    pub after: After,
    pub kept: KeptAfter,
}

/// Calls `f` with the parameters of every element of the shape, in C order, until it says no.
pub fn each(params: &[Parameter], shape: &[usize], mut f: impl FnMut(&Values) -> bool) -> bool {
    let mut values = Values::default();
    let mut at: SmallVec<[usize; 4]> = smallvec![0; params.len()];
    for (k, p) in params.iter().enumerate() {
        if p.strides().is_empty() && !matches!(p, Parameter::Fs { .. } | Parameter::Is { .. }) {
            p.put(&mut values, k, 0);
        }
    }
    let n: usize = shape.iter().product();
    let many = params.iter().any(|p| matches!(p, Parameter::Fs { .. } | Parameter::Is { .. }));
    let mut place: SmallVec<[usize; 8]> = smallvec![0; shape.len()];
    for _ in 0..n {
        if many {
            for (k, p) in params.iter().enumerate() {
                p.put(&mut values, k, at[k]);
            }
        }
        if !f(&values) {
            return false;
        }
        if many {
            step(&mut place, shape, params, &mut at);
        }
    }
    true
}

/// The next place in C order, and where each parameter lies for it.
fn step(place: &mut [usize], shape: &[usize], params: &[Parameter], at: &mut [usize]) {
    for axis in (0..shape.len()).rev() {
        place[axis] += 1;
        let back = place[axis] == shape[axis];
        for (k, p) in params.iter().enumerate() {
            let Some(stride) = p.strides().get(axis) else { continue };
            at[k] = if back { at[k] - stride * (shape[axis] - 1) } else { at[k] + stride };
        }
        if !back {
            return;
        }
        place[axis] = 0;
    }
}

impl<B: Stream> LibraryOp for OneByOne<B> {
    fn name(&self) -> &'static str {
        "random"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        smallvec![args.outs[0].shape.iter().all(|&n| n > 0) as usize]
    }

    unsafe fn run(&self, args: &Args, _phase: usize, _tile: usize) -> Result<(), LibraryError> {
        let out = &args.outs[0];
        let count: usize = out.shape.iter().product();
        let end = if B::COPIES && count >= WORTH && self.what.is_wide() {
            let mut words = Wide::new(&self.bits);
            self.draw(&mut words, out);
            words.finish()
        } else {
            let mut bits = self.bits.clone();
            self.draw(&mut bits, out);
            bits
        };
        *self.after.lock() = Some(end.into());
        Ok(())
    }
}

impl<B: Stream> OneByOne<B> {
    /// # Safety
    /// As for `run`.
    unsafe fn draw<W: Bits>(&self, bits: &mut W, out: &RawView) {
        let mut draw = Draw::new(bits, *self.kept.lock());
        // A double or an int64, each of eight bytes.
        let mut to = out.ptr as *mut u64;
        each(&self.params, &out.shape, |v| {
            to.write(self.what.draw(&mut draw, v).bits());
            to = to.add(1);
            true
        });
        *self.kept.lock() = draw.kept;
    }
}
