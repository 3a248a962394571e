//! Elementary functions of complex numbers, with the special values and branch cuts of C99's Annex G.
//!
//! A chunk is taken apart into rows of real and of imaginary parts. Straight-line loops over lanes do the algebra,
//! `numloom-math` the functions of real numbers, a row at a call. A lane that this does not cover (infinities, NaN,
//! parts so large or small that a square leaves the range) comes out NaN: those are computed again one by one, by
//! `special`, whose exceptions are the only ones that are seen. All compute in `f64`; `complex64` widens and rounds.

mod exponential;
mod hyperbolic;
mod inverse;
mod logarithm;
mod power;
mod root;

pub(crate) use power::power_fn;

use crate::element::{C64, C128, Element, complex};
use crate::elementary::Elementary;
use crate::fp_status::Quiet;
use crate::isa::{Isa, for_each_isa};
use crate::map::{hush, splat, unhush};
use crate::{BlockFn, In};
use numloom_ir::ScalarOp;
use std::mem::MaybeUninit;

/// Elements taken at a time: enough that a call for each row costs little beside its work.
const CHUNK: usize = 256;

/// Loops run over multiples of this many lanes, two of the widest vectors.
const LANES: usize = 16;

/// One number for each lane of a chunk.
#[repr(align(64))]
struct Row([MaybeUninit<f64>; CHUNK]);

impl Row {
    #[inline(always)]
    fn new() -> Row {
        Row([const { MaybeUninit::uninit() }; CHUNK])
    }

    #[inline(always)]
    unsafe fn get(&self, i: usize) -> f64 {
        self.0.get_unchecked(i).assume_init()
    }

    #[inline(always)]
    unsafe fn set(&mut self, i: usize, x: f64) {
        self.0.get_unchecked_mut(i).write(x);
    }

    /// The function `op` of the first `n` lanes, in their place.
    #[inline(always)]
    unsafe fn apply(&mut self, op: ScalarOp, n: usize) {
        let at = self.0.as_mut_ptr().cast::<f64>();
        f64::unary(op as u8)(n, at, at);
    }

    /// The function `op` of the first `n` lanes of `from`.
    #[inline(always)]
    unsafe fn take(&mut self, op: ScalarOp, n: usize, from: &Row) {
        f64::unary(op as u8)(n, from.0.as_ptr().cast(), self.0.as_mut_ptr().cast());
    }

    /// The angles of the points with these coordinates.
    #[inline(always)]
    unsafe fn take_angle(&mut self, n: usize, y: &Row, x: &Row) {
        let to = self.0.as_mut_ptr().cast();
        f64::binary(ScalarOp::Arctan2 as u8)(n, y.0.as_ptr().cast(), x.0.as_ptr().cast(), to);
    }

    /// As `take_angle`, where the first row of coordinates is this one.
    #[inline(always)]
    unsafe fn turn_to_angle(&mut self, n: usize, x: &Row) {
        let at = self.0.as_mut_ptr().cast::<f64>();
        f64::binary(ScalarOp::Arctan2 as u8)(n, at, x.0.as_ptr().cast(), at);
    }
}

/// Real and imaginary parts of a chunk.
struct Rows {
    re: Row,
    im: Row,
}

impl Rows {
    #[inline(always)]
    fn new() -> Rows {
        Rows { re: Row::new(), im: Row::new() }
    }

    #[inline(always)]
    unsafe fn get(&self, i: usize) -> C128 {
        complex(self.re.get(i), self.im.get(i))
    }

    #[inline(always)]
    unsafe fn set(&mut self, i: usize, z: C128) {
        self.re.set(i, z.re);
        self.im.set(i, z.im);
    }
}

/// A loop over the first `n` lanes, a multiple of `LANES`: knowing that, the compiler leaves nothing over for one by one.
macro_rules! lanes {
    ($n:expr, |$i:ident| $body:block) => {
        let n: usize = $n;
        std::hint::assert_unchecked(n.is_multiple_of($crate::complex::LANES));
        for $i in 0..n {
            $body
        }
    };
}
use lanes;

/// `x`, or the NaN that sends a lane to `special`.
#[inline(always)]
fn covered(inside: bool, x: f64) -> f64 {
    if inside { x } else { f64::NAN }
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Whether squares of a part, and quotients of two such parts, are normal numbers (or zero, where it is).
#[inline(always)]
fn is_moderate(x: f64) -> bool {
    let size = x.abs();
    (size == 0.0) | (size > 1e-140) & (size < 1e140)
}

/// Whether a result is zero only where the number it is proportional to is, and is no subnormal number.
#[inline(always)]
fn is_normal_or_zero(result: f64, source: f64) -> bool {
    (source == 0.0) | (result.abs() >= f64::MIN_POSITIVE)
}

/// The product, if it is a normal number or zero because a factor is.
// `contains` short-circuits; lanes have no branches.
#[allow(clippy::manual_range_contains)]
#[inline(always)]
fn normal_product(a: f64, b: f64) -> f64 {
    let size = (a * b).abs();
    covered((size >= f64::MIN_POSITIVE) & (size <= f64::MAX) | (a == 0.0) | (b == 0.0), a * b)
}

/// A function of one complex number.
trait Function: 'static {
    /// The function of the first `n` lanes, a multiple of `LANES`; NaN for those that it does not cover.
    unsafe fn rows(n: usize, z: &Rows, out: &mut Rows);

    /// One number that `rows` may not cover.
    fn special(z: C128) -> C128;
}

/// A number of either precision, as the rows have it.
pub(crate) trait Parts: Element {
    fn wide(self) -> C128;
    fn rounded(z: C128) -> Self;
}

impl Parts for C128 {
    #[inline(always)]
    fn wide(self) -> C128 {
        self
    }

    #[inline(always)]
    fn rounded(z: C128) -> C128 {
        z
    }
}

impl Parts for C64 {
    #[inline(always)]
    fn wide(self) -> C128 {
        self.widen()
    }

    #[inline(always)]
    fn rounded(z: C128) -> C64 {
        z.narrow()
    }
}

/// Stands in lanes that a chunk does not fill; every function covers it.
const FILLER: C128 = C128 { re: 0.5, im: 0.25 };

#[inline(always)]
unsafe fn take_apart<A: Parts>(n: usize, from: *const A, to: &mut Rows) {
    for i in 0..n {
        to.set(i, from.add(i).read_unaligned().wide());
    }
    for i in n..n.next_multiple_of(LANES) {
        to.set(i, FILLER);
    }
}

/// Rounds here, where exceptions are seen.
#[inline(always)]
unsafe fn put_together<A: Parts>(n: usize, from: &Rows, to: *mut A) {
    for i in 0..n {
        to.add(i).write_unaligned(A::rounded(from.get(i)));
    }
}

#[inline(always)]
unsafe fn any_nan(n: usize, rows: &Rows) -> bool {
    let mut found = false;
    lanes!(n, |i| {
        found |= rows.re.get(i).is_nan() | rows.im.get(i).is_nan();
    });
    found
}

#[cold]
#[inline(never)]
unsafe fn mend<F: Function>(n: usize, z: &Rows, out: &mut Rows) {
    for i in 0..n {
        let result = out.get(i);
        if result.re.is_nan() || result.im.is_nan() {
            out.set(i, special::<F>(z.get(i)));
        }
    }
}

/// Nothing is raised for two NaNs, but comparisons may, once they are made of vectors.
fn special<F: Function>(z: C128) -> C128 {
    let quiet = hush(z.re.is_nan() && z.im.is_nan());
    let result = std::hint::black_box(F::special(z));
    unhush(quiet);
    result
}

/// The function of at most a chunk.
#[inline(always)]
unsafe fn chunk<A: Parts, F: Function>(n: usize, from: *const A, to: *mut A) {
    let (mut z, mut out) = (Rows::new(), Rows::new());
    let whole = n.next_multiple_of(LANES);
    take_apart(n, from, &mut z);
    let quiet = Quiet::begin();
    F::rows(whole, &z, &mut out);
    let odd = any_nan(whole, &out);
    quiet.end();
    if odd {
        mend::<F>(n, &z, &mut out);
    }
    put_together(n, &out, to);
}

/// The function of one number, as a loop would have it.
fn single<F: Function>(mut z: C128) -> C128 {
    let at = &raw mut z;
    // SAFETY: one element is read and then written.
    unsafe { chunk::<C128, F>(1, at, at) };
    z
}

#[inline(always)]
unsafe fn body<A: Parts, F: Function>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (input, out) = (*ins, (*outs).cast::<A>());
    let from = input.ptr.cast::<A>();
    if input.step == 0 {
        let mut value = from.read_unaligned();
        let at = &raw mut value;
        chunk::<A, F>(1, at, at);
        splat(n, value, out);
        return 0;
    }
    let mut done = 0;
    while done < n {
        chunk::<A, F>((n - done).min(CHUNK), from.add(done), out.add(done));
        done += CHUNK;
    }
    0
}

for_each_isa!(function_isa = body[A: Parts, F: Function](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

macro_rules! table {
    ($($op:ident = $room:ident::$function:ident;)*) => {
        pub(crate) const FUNCTIONS: &[ScalarOp] = &[$(ScalarOp::$op),*];

        /// The loop of one of `FUNCTIONS` for numbers of type `A`.
        pub(crate) fn function<A: Parts>(op: ScalarOp, isa: Isa) -> BlockFn {
            match op {
                $(ScalarOp::$op => function_isa::<A, $room::$function>(isa),)*
                _ => unreachable!("{} is none of the functions", op.name()),
            }
        }
    };
}

table! {
    Sqrt = root::Sqrt;
    Exp = exponential::Exp;
    Exp2 = exponential::Exp2;
    Expm1 = exponential::Expm1;
    Log = logarithm::Log;
    Log2 = logarithm::Log2;
    Log10 = logarithm::Log10;
    Log1p = logarithm::Log1p;
    Sin = hyperbolic::Sin;
    Cos = hyperbolic::Cos;
    Tan = hyperbolic::Tan;
    Arcsin = inverse::Arcsin;
    Arccos = inverse::Arccos;
    Arctan = inverse::Arctan;
    Sinh = hyperbolic::Sinh;
    Cosh = hyperbolic::Cosh;
    Tanh = hyperbolic::Tanh;
    Arcsinh = inverse::Arcsinh;
    Arccosh = inverse::Arccosh;
    Arctanh = inverse::Arctanh;
}

/// `i z`.
fn turned(z: C128) -> C128 {
    complex(-z.im, z.re)
}

/// `-i z`.
fn turned_back(z: C128) -> C128 {
    complex(z.im, -z.re)
}

#[inline(always)]
fn scaled(z: C128, by: f64) -> C128 {
    complex(z.re * by, z.im * by)
}

/// NaN of an infinity, raising "invalid", and of NaN; zero of a finite number.
fn invalid(x: f64) -> f64 {
    x * 0.0
}
