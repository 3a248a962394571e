//! The operation: a transform of every lane along one axis.

use crate::half::Half;
use crate::lanes::{Axis, room};
use crate::number::Number;
use crate::split::Split;
use numloom_ir::DType;
use numloom_library::{Args, Form, LibraryError, LibraryOp, Scratch, Spectrum as Kind, Walk, piece, pieces, without};
use numloom_loops as loops;
use rustfft::num_complex::Complex;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Input x, output the transform of the first `n` elements along `axis` (zeros where there are fewer), times `scale`.
/// Both have equal shapes apart from the axis.
pub struct Fft {
    kind: Kind,
    axis: usize,
    /// Points of the transform.
    n: usize,
    inverse: bool,
    scale: f64,
    in_place: bool,
    middle: Scratch,
    spectrum: Scratch,
}

/// Elements of a tile, about, and lanes that are fetched together where they are not dense.
const TILE: usize = 1 << 15;
const GROUP: usize = 16;
/// Elements of such a group.
const GROUPED: usize = 1 << 15;

impl Fft {
    /// `in_place`: input and output are one and the same view.
    pub fn new(kind: Kind, axis: usize, n: usize, inverse: bool, scale: f64, in_place: bool) -> Fft {
        Fft { kind, axis, n, inverse, scale, in_place, middle: Scratch::default(), spectrum: Scratch::default() }
    }

    fn fits(&self, args: &Args) -> bool {
        let ([x], [out]) = (&args.ins[..], &args.outs[..]) else { return false };
        let bins = if self.kind == Kind::RealToHalf { self.n / 2 + 1 } else { self.n };
        let inexact = |d: DType| d.is_inexact() && d != DType::F16;
        x.shape.len() == out.shape.len()
            && self.axis < x.shape.len()
            && without(x, self.axis).0 == without(out, self.axis).0
            && out.shape[self.axis] == bins
            && self.n > 0
            && inexact(x.dtype)
            && inexact(out.dtype)
            && out.dtype.is_complex() == (self.kind != Kind::HalfToReal)
            && (!x.dtype.is_complex() || self.kind != Kind::RealToHalf)
    }

    /// How a few long lanes are split.
    fn split(&self, lanes: usize) -> Option<Split> {
        if self.kind == Kind::Complex && lanes <= 2 { Split::new(self.n, self.inverse) } else { None }
    }

    /// How a few long lanes of real numbers are.
    fn half(&self, from: Axis, to: Axis, lanes: usize) -> Option<Half> {
        match self.kind {
            Kind::RealToHalf if lanes <= 2 => Half::new(self.n, from, false),
            Kind::HalfToReal if lanes <= 2 && from.len > self.n / 2 => Half::new(self.n, to, true),
            _ => None,
        }
    }

    fn tiles(&self, lanes: usize) -> usize {
        pieces(lanes.saturating_mul(self.n), TILE).min(pieces(lanes, GROUP.min(lanes.div_ceil(4))))
    }

    unsafe fn typed<T: Number>(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let (shape, x_steps) = without(x, self.axis);
        let (_, out_steps) = without(out, self.axis);
        let lanes: usize = shape.iter().product();
        let mut walk = Walk::new(&shape, [&x_steps, &out_steps]);
        let (from, to) = (Axis::of(x, self.axis), Axis::of(out, self.axis));
        if let Some(split) = self.split(lanes) {
            let middle = self.middle.get::<Complex<T>>(lanes * self.n)?;
            let tiles = split.tiles(phase);
            let lane = tile / tiles;
            walk.seek(lane);
            let [x_at, out_at] = walk.offsets;
            let middle = std::slice::from_raw_parts_mut(middle.add(lane * self.n), self.n);
            let scale = T::narrow(self.scale);
            return match phase {
                0 => split.columns(from, x_at, middle.as_mut_ptr(), tile % tiles),
                _ => split.rows(middle.as_ptr(), to, out_at, scale, tile % tiles),
            };
        }
        if let Some(half) = self.half(from, to, lanes) {
            let (pairs, scale) = (self.n / 2, T::narrow(self.scale));
            let (lane, tiles) = (tile / half.tiles(phase), half.tiles(phase));
            let middle = self.middle.get::<Complex<T>>(lanes * pairs)?.add(lane * pairs);
            let spectrum = self.spectrum.get::<Complex<T>>(lanes * pairs)?.add(lane * pairs);
            walk.seek(lane);
            let [x_at, out_at] = walk.offsets;
            let tile = tile % tiles;
            if self.kind == Kind::HalfToReal {
                return match phase {
                    0 => half.part(from, x_at, spectrum, tile),
                    1 => half.split.columns(half.spectrum_in(spectrum), 0, middle, tile),
                    _ => half.split.rows(middle, half.pairs_of(to), out_at, scale, tile),
                };
            }
            return match phase {
                0 => half.split.columns(half.pairs_of(from), x_at, middle, tile),
                1 => half.split.rows(middle, half.spectrum_in(spectrum), 0, T::one(), tile),
                _ => half.combine(spectrum, to, out_at, scale, tile),
            };
        }
        self.whole::<T>(from, to, walk, piece(lanes, self.tiles(lanes), tile))
    }

    /// Transforms of whole lanes, a group at a time.
    unsafe fn whole<T: Number>(
        &self,
        from: Axis,
        to: Axis,
        mut walk: Walk<2>,
        lanes: Range<usize>,
    ) -> Result<(), LibraryError> {
        let dense = |a: &Axis| a.step == a.dtype.size() as isize;
        // As many lanes as stay in the cache.
        let most = if dense(&from) && dense(&to) { 1 } else { (GROUPED / self.n).clamp(GROUP / 4, GROUP) };
        let mut work = Work::<T>::new(self, from.dtype.is_complex(), most.min(lanes.len()))?;
        walk.seek(lanes.start);
        let mut left = lanes.len();
        while left > 0 {
            let (mut ins, mut outs) = (SmallVec::<[isize; GROUP]>::new(), SmallVec::<[isize; GROUP]>::new());
            for _ in 0..most.min(left) {
                ins.push(walk.offsets[0]);
                outs.push(walk.offsets[1]);
                walk.step();
            }
            left -= ins.len();
            work.run(from, &ins, to, &outs)?;
        }
        if to.large {
            loops::streamed();
        }
        Ok(())
    }
}

/// The buffers and the plan of one tile.
enum Work<T: Number> {
    Complex {
        plan: std::sync::Arc<dyn rustfft::Fft<T>>,
        z: Vec<Complex<T>>,
        scratch: Vec<Complex<T>>,
        scale: T,
    },
    /// The full spectrum of real numbers, by way of its half.
    Full {
        half: Box<Work<T>>,
        n: usize,
        inverse: bool,
    },
    Half {
        plan: std::sync::Arc<dyn realfft::RealToComplex<T>>,
        x: Vec<T>,
        z: Vec<Complex<T>>,
        scratch: Vec<Complex<T>>,
        scale: T,
    },
    Real {
        plan: std::sync::Arc<dyn realfft::ComplexToReal<T>>,
        z: Vec<Complex<T>>,
        x: Vec<T>,
        scratch: Vec<Complex<T>>,
        scale: T,
    },
}

impl<T: Number> Work<T> {
    fn new(op: &Fft, complex_input: bool, lanes: usize) -> Result<Work<T>, LibraryError> {
        let (n, scale, half) = (op.n, T::narrow(op.scale), op.n / 2 + 1);
        match op.kind {
            Kind::Complex if complex_input => {
                let plan = T::complex(n, op.inverse);
                let (z, scratch) = (room(lanes * n)?, room(plan.get_inplace_scratch_len())?);
                Ok(Work::Complex { plan, z, scratch, scale })
            }
            Kind::Complex => {
                let plan = T::real_to_half(n);
                let (x, z, scratch) = (room(lanes * n)?, room(lanes * half)?, room(plan.get_scratch_len())?);
                let half = Box::new(Work::Half { plan, x, z, scratch, scale });
                Ok(Work::Full { half, n, inverse: op.inverse })
            }
            Kind::RealToHalf => {
                let plan = T::real_to_half(n);
                let (x, z, scratch) = (room(lanes * n)?, room(lanes * half)?, room(plan.get_scratch_len())?);
                Ok(Work::Half { plan, x, z, scratch, scale })
            }
            Kind::HalfToReal => {
                let plan = T::half_to_real(n);
                let (z, x, scratch) = (room(lanes * half)?, room(lanes * n)?, room(plan.get_scratch_len())?);
                Ok(Work::Real { plan, z, x, scratch, scale })
            }
        }
    }

    /// Fetches lanes and transforms them, real numbers into `z`.
    unsafe fn halves(&mut self, from: Axis, ins: &[isize]) {
        let Work::Half { plan, x, z, scratch, .. } = self else { return };
        let n = plan.len();
        from.gather_real(ins, n, &mut x[..ins.len() * n]);
        for (x, z) in x.chunks_exact_mut(n).zip(z.chunks_exact_mut(n / 2 + 1)).take(ins.len()) {
            // What the plans of these make of infinities is NaN.
            match *x {
                [a] => z[0] = Complex::new(a, T::zero()),
                [a, b] => (z[0], z[1]) = (Complex::new(a + b, T::zero()), Complex::new(a - b, T::zero())),
                _ => plan.process_with_scratch(x, z, scratch).expect("buffers of the plan's own sizes"),
            }
        }
    }

    /// Transforms lanes: `ins` and `outs` are where they begin. The places of lane `k` in a buffer are those from
    /// `k` times its length on, and there are as many lanes as the buffers were made for, or fewer.
    unsafe fn run(&mut self, from: Axis, ins: &[isize], to: Axis, outs: &[isize]) -> Result<(), LibraryError> {
        match self {
            Work::Complex { plan, z, scratch, scale } => {
                let (n, scale) = (plan.len(), *scale);
                if let ([start], true) = (outs, to.is_dense::<Complex<T>>()) {
                    let at = to.ptr.offset(*start).cast::<Complex<T>>();
                    if at.is_aligned() {
                        // In the output itself, unless that is large; where input and output are one view, the lane is
                        // there already.
                        let there = from.ptr.offset(ins[0]).cast() == at;
                        let apart = to.large && !there;
                        let z = if apart { &mut z[..n] } else { std::slice::from_raw_parts_mut(at, n) };
                        if !there {
                            from.gather(ins, n, z);
                        }
                        plan.process_with_scratch(z, scratch);
                        if scale != T::one() {
                            z.iter_mut().for_each(|z| *z = *z * scale);
                        }
                        if apart {
                            loops::stream(z.as_ptr().cast(), at.cast(), size_of_val(z));
                        }
                        return Ok(());
                    }
                }
                let z = &mut z[..ins.len() * n];
                from.gather(ins, n, z);
                plan.process_with_scratch(z, scratch);
                to.scatter_scaled(outs, z, n, scale);
            }
            Work::Full { half, n, inverse } => {
                half.halves(from, ins);
                let (n, inverse) = (*n, *inverse);
                let bins = n / 2 + 1;
                let Work::Half { z, scale, .. } = &**half else { return Ok(()) };
                let (z, scale) = (z.as_ptr(), *scale);
                to.scatter(outs, |lane, i| {
                    let low = i < bins;
                    let w = *z.add(lane * bins + if low { i } else { n - i }) * scale;
                    if low == inverse { w.conj() } else { w }
                });
            }
            Work::Half { .. } => {
                self.halves(from, ins);
                let Work::Half { plan, z, scale, .. } = self else { return Ok(()) };
                let (bins, scale) = (plan.len() / 2 + 1, *scale);
                if let ([start], true) = (outs, to.is_dense::<Complex<T>>() && to.large) {
                    let z = &mut z[..bins];
                    if scale != T::one() {
                        z.iter_mut().for_each(|z| *z = *z * scale);
                    }
                    loops::stream(z.as_ptr().cast(), to.ptr.offset(*start), size_of_val(z));
                    return Ok(());
                }
                to.scatter_scaled(outs, &mut z[..outs.len() * bins], bins, scale);
            }
            Work::Real { plan, z, x, scratch, scale } => {
                let n = plan.len();
                let bins = n / 2 + 1;
                from.gather(ins, bins, &mut z[..ins.len() * bins]);
                for (z, x) in z.chunks_exact_mut(bins).zip(x.chunks_exact_mut(n)).take(ins.len()) {
                    if let [even, odd] = x {
                        (*even, *odd) = (z[0].re + z[1].re, z[0].re - z[1].re);
                        continue;
                    }
                    // The spectrum of real numbers is real at zero and, for even lengths, at the far end.
                    z[0].im = T::zero();
                    if n % 2 == 0 {
                        z[bins - 1].im = T::zero();
                    }
                    plan.process_with_scratch(z, x, scratch).expect("buffers of the plan's own sizes");
                }
                let (x, scale) = (x.as_ptr(), *scale);
                to.scatter(outs, |lane, i| Complex::new(*x.add(lane * n + i) * scale, T::zero()));
            }
        }
        Ok(())
    }
}

/// Whether there are only small prime factors. Other lengths are transformed by convolutions, which lose too much in
/// single precision.
fn is_smooth(mut n: usize) -> bool {
    for p in [2, 3, 5, 7, 11, 13] {
        while n > 0 && n.is_multiple_of(p) {
            n /= p;
        }
    }
    n == 1
}

impl LibraryOp for Fft {
    fn name(&self) -> &'static str {
        match (self.kind, self.inverse) {
            (Kind::Complex, false) => "fft",
            (Kind::Complex, true) => "ifft",
            (Kind::RealToHalf, _) => "rfft",
            (Kind::HalfToReal, _) => "irfft",
        }
    }

    fn form(&self) -> Form {
        let Fft { kind: spectrum, axis, n, inverse, scale, .. } = *self;
        Form::Fourier { spectrum, axis, n, inverse, scale }
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        if !self.fits(args) {
            return smallvec![1];
        }
        let lanes: usize = without(&args.ins[0], self.axis).0.iter().product();
        if lanes == 0 {
            return smallvec![0];
        }
        let [from, to] = [&args.ins[0], &args.outs[0]].map(|view| Axis::of(view, self.axis));
        if let Some(half) = self.half(from, to, lanes) {
            return (0..3).map(|phase| lanes * half.tiles(phase)).collect();
        }
        match self.split(lanes) {
            Some(split) => smallvec![lanes * split.tiles(0), lanes * split.tiles(1)],
            None => smallvec![self.tiles(lanes)],
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        if !self.fits(args) {
            return Err(LibraryError::Value(format!("{}: operands do not fit", self.name())));
        }
        match args.outs[0].dtype {
            DType::F32 | DType::C64 if is_smooth(self.n) => self.typed::<f32>(args, phase, tile),
            _ => self.typed::<f64>(args, phase, tile),
        }
    }

    fn raises(&self) -> Option<&'static str> {
        // As NumPy's own loops are called.
        Some(match self.kind {
            Kind::RealToHalf if self.n.is_multiple_of(2) => "rfft_n_even",
            Kind::RealToHalf => "rfft_n_odd",
            _ => self.name(),
        })
    }

    fn in_place(&self) -> bool {
        self.in_place
    }
}
