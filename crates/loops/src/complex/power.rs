//! Powers of complex numbers.

use super::exponential::{Exp, exp_rows};
use super::logarithm::{Log, log_rows};
use super::{CHUNK, LANES, Parts, Rows, any_nan, covered, lanes, put_together, single, take_apart};
use crate::element::{C64, C128, complex};
use crate::fp_status::Quiet;
use crate::isa::for_each_isa;
use crate::kernel_macros::two;
use crate::kernels::quotient;
use crate::map::splat;
use crate::{FP_INVALID, In};

#[inline(always)]
fn product(a: C128, b: C128) -> C128 {
    complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// Whole exponents below this are products, as in NumPy.
const LARGEST_PRODUCT: f64 = 100.0;

#[inline(always)]
fn is_product(b: C128) -> bool {
    (b.im == 0.0) & (b.re == b.re.trunc()) & (b.re.abs() < LARGEST_PRODUCT)
}

/// One power, whatever the numbers.
fn power(a: C128, b: C128, flags: &mut u8) -> C128 {
    if b.re == 0.0 && b.im == 0.0 {
        return complex(1.0, 0.0);
    }
    if a.re == 0.0 && a.im == 0.0 {
        if b.re > 0.0 {
            return complex(0.0, 0.0);
        }
        *flags |= FP_INVALID;
        return complex(f64::NAN, f64::NAN);
    }
    if is_product(b) {
        let whole = b.re as i32;
        let positive = match whole {
            1 => a,
            2 => product(a, a),
            3 => product(a, product(a, a)),
            _ => by_squaring(a, whole.unsigned_abs()),
        };
        return if whole < 0 { quotient(complex(1.0, 0.0), positive) } else { positive };
    }
    // NumPy asks whether a real exponent is whole, which raises this for NaN.
    if b.re.is_nan() && b.im == 0.0 {
        *flags |= FP_INVALID;
    }
    single::<Exp>(product(b, single::<Log>(a)))
}

fn by_squaring(a: C128, mut left: u32) -> C128 {
    let (mut square, mut result) = (a, complex(1.0, 0.0));
    loop {
        if left & 1 != 0 {
            result = product(result, square);
        }
        left >>= 1;
        if left == 0 {
            return result;
        }
        square = product(square, square);
    }
}

two!(Power, Scalar, [C128], |a, b, flags| power(a, b, flags));
two!(Power, Scalar, [C64], |a, b, flags| power(a.widen(), b.widen(), flags).narrow());

/// exp(b log(a)); NaN for exponents that are done by products.
#[inline(always)]
unsafe fn rows(n: usize, a: &Rows, b: &Rows, out: &mut Rows) {
    let mut log = Rows::new();
    log_rows(n, a, &mut log, 1.0);
    lanes!(n, |i| {
        let exponent = product(b.get(i), log.get(i));
        log.set(i, complex(covered(!is_product(b.get(i)), exponent.re), exponent.im));
    });
    exp_rows(n, &log, out);
}

#[cold]
#[inline(never)]
unsafe fn mend(n: usize, a: &Rows, b: &Rows, out: &mut Rows) -> u8 {
    let mut flags = 0;
    for i in 0..n {
        let result = out.get(i);
        if result.re.is_nan() || result.im.is_nan() {
            out.set(i, power(a.get(i), b.get(i), &mut flags));
        }
    }
    flags
}

unsafe fn one_by_one<A: Parts>(n: usize, a: &Rows, b: &Rows, to: *mut A) -> u8 {
    let mut flags = 0;
    for i in 0..n {
        to.add(i).write_unaligned(A::rounded(power(a.get(i), b.get(i), &mut flags)));
    }
    flags
}

/// `to` times `by`, in the place of `to`.
#[inline(always)]
unsafe fn multiply(n: usize, to: &mut Rows, by: &Rows) {
    lanes!(n, |i| {
        to.set(i, product(to.get(i), by.get(i)));
    });
}

#[inline(always)]
unsafe fn fill(n: usize, to: &mut Rows, value: impl Fn(usize) -> C128) {
    lanes!(n, |i| {
        to.set(i, value(i));
    });
}

/// The products that `power` does for a positive or negative exponent, in the same order, before it divides.
#[inline(always)]
unsafe fn same_products(n: usize, a: &Rows, whole: i32, out: &mut Rows) {
    if let 1..=3 = whole {
        fill(n, out, |i| a.get(i));
        for _ in 1..whole {
            lanes!(n, |i| {
                out.set(i, product(a.get(i), out.get(i)));
            });
        }
        return;
    }
    let mut square = Rows::new();
    fill(n, &mut square, |i| a.get(i));
    fill(n, out, |_| complex(1.0, 0.0));
    let mut left = whole.unsigned_abs();
    loop {
        if left & 1 != 0 {
            multiply(n, out, &square);
        }
        left >>= 1;
        if left == 0 {
            return;
        }
        lanes!(n, |i| {
            square.set(i, product(square.get(i), square.get(i)));
        });
    }
}

/// Powers with one whole exponent for all.
#[inline(always)]
unsafe fn same_whole<A: Parts>(n: usize, a: &Rows, b: C128, to: *mut A) -> u8 {
    let (mut out, mut flags) = (Rows::new(), 0);
    same_products(n.next_multiple_of(LANES), a, b.re as i32, &mut out);
    let mut any_zero = false;
    for i in 0..n {
        any_zero |= (a.re.get(i) == 0.0) & (a.im.get(i) == 0.0);
    }
    if b.re <= 0.0 || any_zero {
        for i in 0..n {
            let base = a.get(i);
            if b.re < 0.0 && (base.re != 0.0 || base.im != 0.0) {
                out.set(i, quotient(complex(1.0, 0.0), out.get(i)));
            } else if b.re == 0.0 || base.re == 0.0 && base.im == 0.0 {
                out.set(i, power(base, b, &mut flags));
            }
        }
    }
    put_together(n, &out, to);
    flags
}

/// Lanes of an input from element `at` on: a run's, or its one value in all.
#[inline(always)]
unsafe fn take<A: Parts>(n: usize, input: In, at: usize, to: &mut Rows) {
    if input.step != 0 {
        return take_apart(n, input.ptr.cast::<A>().add(at), to);
    }
    let value = input.ptr.cast::<A>().read_unaligned().wide();
    lanes!(n.next_multiple_of(LANES), |i| {
        to.set(i, value);
    });
}

/// `n` elements, at most a chunk, from element `at` on.
#[inline(always)]
unsafe fn chunk<A: Parts>(n: usize, a: In, b: In, at: usize, to: *mut A) -> u8 {
    let (mut x, mut y, mut out) = (Rows::new(), Rows::new(), Rows::new());
    let whole = n.next_multiple_of(LANES);
    take::<A>(n, a, at, &mut x);
    take::<A>(n, b, at, &mut y);
    // Where all exponents are whole, logarithms would be for nothing.
    let first = y.get(0);
    if is_product(first) {
        if b.step == 0 || (1..n).all(|i| y.get(i) == first) {
            return same_whole(n, &x, first, to.add(at));
        }
        if (1..n).all(|i| is_product(y.get(i))) {
            return one_by_one(n, &x, &y, to.add(at));
        }
    }
    let quiet = Quiet::begin();
    rows(whole, &x, &y, &mut out);
    let odd = any_nan(whole, &out);
    quiet.end();
    let flags = if odd { mend(n, &x, &y, &mut out) } else { 0 };
    put_together(n, &out, to.add(at));
    flags
}

#[inline(always)]
unsafe fn body<A: Parts>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, b, out) = (*ins, *ins.add(1), (*outs).cast::<A>());
    if a.step == 0 && b.step == 0 && n > 1 {
        let flags = chunk(1, a, b, 0, out);
        splat(n, out.read_unaligned(), out);
        return flags;
    }
    let (mut flags, mut done) = (0, 0);
    while done < n {
        flags |= chunk((n - done).min(CHUNK), a, b, done, out);
        done += CHUNK;
    }
    flags
}

// The loop of powers of numbers of type `A`.
for_each_isa!(pub(crate) power_fn = body[A: Parts](n: usize, ins: *const In, outs: *const *mut u8) -> u8);
