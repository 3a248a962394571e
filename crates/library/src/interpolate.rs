//! Linear interpolation. Points that rise or fall are found by walking from each to the next, others by a guide.

use crate::guide::{BLOCK, Guide, blocks};
use crate::vector::vectorized;
use crate::walk::{ensure, ensure_operands, piece, pieces};
use crate::{Args, LibraryError, LibraryOp, RawView};
use numloom_ir::DType;
use numloom_ir::view::{Order, dense_strides};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::sync::OnceLock;

/// What the piecewise linear function through `(xp[i], fp[i])` is at every `x`; `left` and `right` beyond its ends.
/// `xp` rises. As NumPy's, number for number: around infinite slopes and bounds, too.
pub fn interpolate(x: &[f64], xp: &[f64], fp: &[f64], left: f64, right: f64, out: &mut [f64]) {
    let [first, .., last] = *xp else {
        let (at, value) = (xp[0], fp[0]);
        for (o, &x) in out.iter_mut().zip(x) {
            *o = if x < at {
                left
            } else if x > at {
                right
            } else {
                value
            };
        }
        return;
    };
    let mut before = 0;
    for (o, &x) in out.iter_mut().zip(x) {
        *o = if x.is_nan() {
            x
        } else if x < first {
            left
        } else if x > last {
            right
        } else {
            before = nearby(xp, x, before);
            at(x, xp, fp, before)
        };
    }
}

/// The last place whose bound is not above `x`, which is not below the first: looked for farther and farther from
/// `guess`.
#[inline]
fn nearby(xp: &[f64], x: f64, guess: usize) -> usize {
    let (mut low, mut high, mut step) = (guess, guess, 1);
    if xp[guess] <= x {
        while low + step < xp.len() && xp[low + step] <= x {
            low += step;
            step *= 2;
        }
        high = xp.len().min(low + step);
    } else {
        while high > step && xp[high - step] > x {
            high -= step;
            step *= 2;
        }
        low = high.saturating_sub(step);
    }
    // There is nothing between them where bounds are NaN.
    low + xp.get(low + 1..high).map_or(0, |between| between.partition_point(|&bound| bound <= x))
}

#[inline]
fn at(x: f64, xp: &[f64], fp: &[f64], i: usize) -> f64 {
    let (x0, f0) = (xp[i], fp[i]);
    if i + 1 == xp.len() || x0 == x {
        return f0;
    }
    let (x1, f1) = (xp[i + 1], fp[i + 1]);
    let slope = (f1 - f0) / (x1 - x0);
    let made = slope * (x - x0) + f0;
    if !made.is_nan() {
        return made;
    }
    // Seen from the other end it may still be a number.
    let made = slope * (x - x1) + f1;
    if made.is_nan() && f0 == f1 { f0 } else { made }
}

/// As `interpolate`, for any number of points. Inputs: the points, the bounds and their values, the last two of one
/// axis and one length; all are float64. Output: as many values, dense.
pub struct Interpolate {
    /// Beyond the ends; the first and the last value where there is none.
    left: Option<f64>,
    right: Option<f64>,
    guide: OnceLock<Result<Guide, LibraryError>>,
}

/// Points of a tile.
const TILE: usize = 1 << 14;

impl Interpolate {
    pub fn new(left: Option<f64>, right: Option<f64>) -> Interpolate {
        Interpolate { left, right, guide: OnceLock::new() }
    }

    fn check(&self, args: &Args) -> Result<usize, LibraryError> {
        let name = self.name();
        ensure_operands(args, 3, 1, name)?;
        let (x, xp, fp, out) = (&args.ins[0], &args.ins[1], &args.ins[2], &args.outs[0]);
        ensure(args.ins.iter().chain([out]).all(|v| v.dtype == DType::F64), name, "dtypes do not fit")?;
        ensure(xp.shape.len() == 1 && xp.shape == fp.shape && xp.shape[0] > 0, name, "bounds do not fit")?;
        let dense = dense_strides(8, &out.shape, Order::C);
        ensure(x.shape == out.shape && out.strides == dense && out.is_aligned(), name, "shapes do not fit")?;
        Ok(x.size())
    }
}

/// The elements of one axis, where they lie or copied.
unsafe fn dense(v: &RawView) -> Cow<'_, [f64]> {
    if v.strides[0] == 8 && v.is_aligned() {
        return Cow::Borrowed(std::slice::from_raw_parts(v.ptr as *const f64, v.shape[0]));
    }
    let read = |i: usize| (v.ptr.offset(i as isize * v.strides[0]) as *const f64).read_unaligned();
    Cow::Owned((0..v.shape[0]).map(read).collect())
}

/// Whether numbers rise, or fall.
fn in_order(numbers: &[f64]) -> bool {
    let next = numbers.get(1..).unwrap_or(&[]);
    vectorized(
        #[inline(always)]
        || {
            let turns = |(rises, falls): (bool, bool), (a, b): (&f64, &f64)| (rises & (a <= b), falls & (a >= b));
            let (rises, falls) = numbers.iter().zip(next).fold((true, true), turns);
            rises | falls
        },
    )
}

impl LibraryOp for Interpolate {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        match self.check(args) {
            Err(_) => smallvec![1],
            Ok(0) => smallvec![0],
            Ok(n) => smallvec![pieces(n, TILE)],
        }
    }

    unsafe fn run(&self, args: &Args, _phase: usize, tile: usize) -> Result<(), LibraryError> {
        let n = self.check(args)?;
        let range = piece(n, pieces(n, TILE), tile);
        let (xp, fp) = (&*dense(&args.ins[1]), &*dense(&args.ins[2]));
        let (first, last) = (xp[0], xp[xp.len() - 1]);
        let (left, right) = (self.left.unwrap_or(fp[0]), self.right.unwrap_or(fp[fp.len() - 1]));
        let to = (args.outs[0].ptr as *mut f64).add(range.start);
        let (mut ranks, mut places) = ([0i64; BLOCK], [0u32; BLOCK]);
        let mut result = Ok(());
        blocks::<f64>(&args.ins[0], range, |block, done| {
            let out = std::slice::from_raw_parts_mut(to.add(done), block.len());
            if xp.len() == 1 || in_order(block) || !Guide::pays(xp.len(), n) {
                return interpolate(block, xp, fp, left, right, out);
            }
            let guide = match self.guide.get_or_init(|| Guide::new::<f64>(&args.ins[1])) {
                Ok(guide) => guide,
                Err(e) => return result = Err(e.clone()),
            };
            guide.places::<f64, true>(block, &mut ranks, &mut places);
            for ((o, &x), &place) in out.iter_mut().zip(block).zip(&places) {
                *o = if x.is_nan() {
                    x
                } else if x < first {
                    left
                } else if x > last {
                    right
                } else {
                    at(x, xp, fp, (place as usize).saturating_sub(1))
                };
            }
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(x: f64, xp: &[f64], fp: &[f64]) -> f64 {
        let mut out = [0.0];
        interpolate(&[x], xp, fp, -1.0, -2.0, &mut out);
        out[0]
    }

    #[test]
    fn between_at_and_beyond_the_bounds() {
        let (xp, fp) = ([0.0, 1.0, 3.0, 4.0], [10.0, 20.0, 40.0, 30.0]);
        for (x, expected) in [(0.5, 15.0), (0.0, 10.0), (2.0, 30.0), (4.0, 30.0), (-0.1, -1.0), (4.1, -2.0)] {
            assert_eq!(one(x, &xp, &fp), expected, "{x}");
        }
        assert!(one(f64::NAN, &xp, &fp).is_nan());
    }

    #[test]
    fn one_point_and_infinities() {
        assert_eq!([one(1.0, &[2.0], &[5.0]), one(2.0, &[2.0], &[5.0]), one(3.0, &[2.0], &[5.0])], [-1.0, 5.0, -2.0]);
        assert_eq!(one(f64::NAN, &[2.0], &[5.0]), 5.0);
        assert_eq!(one(0.0, &[f64::NEG_INFINITY, 1.0], &[3.0, 3.0]), 3.0);
    }

    #[test]
    fn points_in_any_order() {
        let xp: Vec<f64> = (0..100).map(f64::from).collect();
        let x: Vec<f64> = (0..300).map(|i| f64::from((i * 37) % 397) / 4.0).collect();
        let mut out = vec![0.0; x.len()];
        interpolate(&x, &xp, &xp, 0.0, 0.0, &mut out);
        assert_eq!(out, x.iter().map(|&x| if x > 99.0 { 0.0 } else { x }).collect::<Vec<_>>());
        for guess in 0..100 {
            (0..100).for_each(|i| assert_eq!(nearby(&xp, i as f64 + 0.5, guess), i));
        }
    }
}
