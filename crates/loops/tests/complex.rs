//! Functions of complex numbers: branch cuts, exceptions, and that a number's neighbours do not matter.

use numloom_ir::{DType, ScalarOp};
use numloom_loops::*;

type C = (f64, f64);

const FUNCTIONS: [ScalarOp; 20] = [
    ScalarOp::Sqrt,
    ScalarOp::Exp,
    ScalarOp::Exp2,
    ScalarOp::Expm1,
    ScalarOp::Log,
    ScalarOp::Log2,
    ScalarOp::Log10,
    ScalarOp::Log1p,
    ScalarOp::Sin,
    ScalarOp::Cos,
    ScalarOp::Tan,
    ScalarOp::Arcsin,
    ScalarOp::Arccos,
    ScalarOp::Arctan,
    ScalarOp::Sinh,
    ScalarOp::Cosh,
    ScalarOp::Tanh,
    ScalarOp::Arcsinh,
    ScalarOp::Arccosh,
    ScalarOp::Arctanh,
];

/// The function of a run, and the exceptions seen.
fn apply(op: ScalarOp, run: &[C]) -> (Vec<C>, u8) {
    let parts: Vec<f64> = run.iter().flat_map(|z| [z.0, z.1]).collect();
    let mut out = vec![0f64; parts.len()];
    let ins = [In { ptr: parts.as_ptr().cast(), step: 16 }; 2];
    fp_clear();
    // SAFETY: `run.len()` pairs are read, and as many written; the second input is the first.
    let flags = unsafe {
        block_fn(op, op.loop_for(DType::C128).expect("a loop"))(run.len(), ins.as_ptr(), &out.as_mut_ptr().cast())
    };
    let seen = flags | fp_status();
    (out.chunks_exact(2).map(|z| (z[0], z[1])).collect(), seen)
}

fn one(op: ScalarOp, z: C) -> C {
    apply(op, &[z]).0[0]
}

fn bits(z: C) -> (u64, u64) {
    // Any NaN is as good as another.
    let of = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    (of(z.0), of(z.1))
}

/// Numbers of all magnitudes with special ones among them.
fn mixture(n: usize) -> Vec<C> {
    let odd = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, -f64::INFINITY, f64::NAN, 5e-324, f64::MAX, 1e-200, -1e200, 800.0];
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let mut part = || {
        let unit = next() as f64 / 2f64.powi(30) - 1.0;
        match next() % 5 {
            0 => odd[next() as usize % odd.len()],
            1 => unit * 10f64.powi((next() % 40) as i32 - 20),
            _ => unit * 3.0,
        }
    };
    (0..n).map(|_| (part(), part())).collect()
}

#[test]
fn neighbours_do_not_matter() {
    let run = mixture(700);
    for op in FUNCTIONS.into_iter().chain([ScalarOp::Power]) {
        let whole = apply(op, &run).0;
        for (&z, &w) in run.iter().zip(&whole) {
            assert_eq!(bits(one(op, z)), bits(w), "{} of {z:?}", op.name());
        }
        for (from, n) in [(1, 15), (3, 16), (5, 17), (7, 257), (100, 300)] {
            for (i, &w) in apply(op, &run[from..from + n]).0.iter().enumerate() {
                assert_eq!(bits(w), bits(whole[from + i]), "{} in a run of {n}", op.name());
            }
        }
    }
}

#[test]
fn conjugates_give_conjugates() {
    for op in FUNCTIONS {
        for z in mixture(500) {
            let (w, below) = (one(op, z), one(op, (z.0, -z.1)));
            // The signs that come with NaN are free.
            if z.0.is_finite() && z.1.is_finite() && !w.0.is_nan() && !w.1.is_nan() {
                assert_eq!(bits((w.0, -w.1)), bits(below), "{} of {z:?}", op.name());
            }
        }
    }
}

#[test]
fn odd_functions_are_odd() {
    use ScalarOp::*;
    for op in [Sin, Tan, Arcsin, Arctan, Sinh, Tanh, Arcsinh, Arctanh] {
        for z in mixture(500).into_iter().filter(|z| z.0.is_finite() && z.1.is_finite()) {
            let (w, other) = (one(op, z), one(op, (-z.0, -z.1)));
            assert_eq!(bits((-w.0, -w.1)), bits(other), "{} of {z:?}", op.name());
        }
    }
}

/// On a cut the sign of zero tells the side.
#[test]
fn cuts_have_two_sides() {
    use ScalarOp::*;
    use std::f64::consts::{FRAC_PI_2, PI};
    let near = |a: C, b: C| {
        let close = |x: f64, y: f64| {
            (x - y).abs() <= 4.0 * f64::EPSILON * y.abs() && x.is_sign_negative() == y.is_sign_negative()
        };
        close(a.0, b.0) && close(a.1, b.1)
    };
    let (half, large) = (1.3169578969248167, 3f64.sqrt());
    let rows = [
        (Sqrt, (-4.0, 0.0), (0.0, 2.0)),
        (Sqrt, (-4.0, -0.0), (0.0, -2.0)),
        (Log, (-1.0, 0.0), (0.0, PI)),
        (Log, (-1.0, -0.0), (0.0, -PI)),
        (Log1p, (-2.0, -0.0), (0.0, -PI)),
        (Arcsin, (2.0, 0.0), (FRAC_PI_2, half)),
        (Arcsin, (2.0, -0.0), (FRAC_PI_2, -half)),
        (Arcsin, (-2.0, 0.0), (-FRAC_PI_2, half)),
        (Arccos, (2.0, 0.0), (0.0, -half)),
        (Arccos, (2.0, -0.0), (0.0, half)),
        (Arccos, (-2.0, 0.0), (PI, -half)),
        (Arccosh, (0.5, 0.0), (0.0, PI / 3.0)),
        (Arccosh, (0.5, -0.0), (0.0, -PI / 3.0)),
        (Arccosh, (-2.0, -0.0), (half, -PI)),
        (Arcsinh, (0.0, 2.0), (half, FRAC_PI_2)),
        (Arcsinh, (-0.0, 2.0), (-half, FRAC_PI_2)),
        (Arctanh, (2.0, 0.0), (0.5 * 3f64.ln(), FRAC_PI_2)),
        (Arctanh, (2.0, -0.0), (0.5 * 3f64.ln(), -FRAC_PI_2)),
        (Arctan, (0.0, 2.0), (FRAC_PI_2, 0.5 * 3f64.ln())),
        (Arctan, (-0.0, 2.0), (-FRAC_PI_2, 0.5 * 3f64.ln())),
        (Arcsin, (1.0, 0.0), (FRAC_PI_2, 0.0)),
        (Arccos, (1.0, 0.0), (0.0, -0.0)),
        (Arccosh, (1.0, -0.0), (0.0, -0.0)),
        (Sqrt, (-0.0, -0.0), (0.0, -0.0)),
        (Sqrt, (2.0, 2.0 * large), (large, 1.0)),
    ];
    for (op, z, expected) in rows {
        let w = one(op, z);
        assert!(near(w, expected), "{} of {z:?} is {w:?}, not {expected:?}", op.name());
    }
}

/// Where the distance from the unit circle, or from a branch point, is all that the result shows.
#[test]
fn small_distances_keep_their_digits() {
    use ScalarOp::*;
    let near = |x: f64, y: f64| (x - y).abs() <= 3.0 * f64::EPSILON * y.abs();
    let tiny = 2f64.powi(-40);
    assert!(near(one(Log, (1.0, tiny)).0, 0.5 * tiny * tiny));
    assert!(near(one(Log, (0.6, 0.8)).0, 2.2204460492503132e-17));
    assert!(near(one(Log1p, (tiny, 0.0)).0, tiny.ln_1p()));
    assert!(near(one(Log1p, (0.0, tiny)).0, 0.5 * tiny * tiny));
    assert!(near(one(Arccosh, (1.0 + tiny, 0.0)).0, (2.0 * tiny).sqrt() * (1.0 - tiny / 12.0)));
    assert!(near(one(Arcsinh, (tiny, 0.5)).0, tiny / 0.75f64.sqrt()));
    assert!(near(one(Arctanh, (tiny, 3.0)).0, tiny / 10.0));
}

#[test]
fn exceptions() {
    use ScalarOp::*;
    let flags = |op: ScalarOp, z: C| apply(op, &[z, (0.5, 0.25), (0.5, 0.0)]).1;
    assert_eq!(flags(Log, (0.0, 0.0)), FP_DIVIDE);
    assert_eq!(flags(Arctanh, (1.0, 0.0)), FP_DIVIDE);
    assert_eq!(flags(Exp, (800.0, 1.0)), FP_OVERFLOW);
    assert_eq!(flags(Exp, (-800.0, 1.0)), FP_UNDERFLOW);
    assert_eq!(flags(Sinh, (800.0, 1.0)) & FP_OVERFLOW, FP_OVERFLOW);
    assert_eq!(flags(Exp, (1.0, f64::INFINITY)), FP_INVALID);
    assert_eq!(flags(Sqrt, (f64::INFINITY, 1.0)), 0);
    for op in FUNCTIONS {
        assert_eq!(flags(op, (f64::NAN, f64::NAN)), 0, "{}", op.name());
        assert_eq!(flags(op, (0.25, -0.75)), 0, "{}", op.name());
        assert_eq!(flags(op, (0.25, 0.0)), 0, "{}", op.name());
    }
}

#[test]
fn single_precision_overflows_on_its_own() {
    let (z, mut w) = ([100f32, 0.5], [0f32; 2]);
    let lp = ScalarOp::Exp.loop_for(DType::C64).expect("a loop");
    fp_clear();
    // SAFETY: one element is read and one is written.
    let flags =
        unsafe { block_fn(ScalarOp::Exp, lp)(1, &In { ptr: z.as_ptr().cast(), step: 8 }, &w.as_mut_ptr().cast()) };
    assert_eq!((w, flags | fp_status()), ([f32::INFINITY; 2], FP_OVERFLOW));
}

/// One exponent for all goes its own way; it gives what single numbers do.
#[test]
fn whole_powers_are_the_same_together_and_alone() {
    let run = mixture(300);
    let lp = ScalarOp::Power.loop_for(DType::C128).expect("a loop");
    let parts: Vec<f64> = run.iter().flat_map(|z| [z.0, z.1]).collect();
    for whole in -5..=9 {
        let exponent = [whole as f64, 0.0];
        let at = |i: usize, n: usize, many: &[f64], step: usize| {
            let mut out = vec![0f64; 2 * n];
            let base = In { ptr: parts[2 * i..].as_ptr().cast(), step: 16 };
            let ins = [base, In { ptr: many.as_ptr().cast(), step }];
            // SAFETY: `n` pairs are read of each run, one of a value, and `n` written.
            unsafe { block_fn(ScalarOp::Power, lp)(n, ins.as_ptr(), &out.as_mut_ptr().cast()) };
            out
        };
        let together = at(0, run.len(), &exponent, 0);
        // The last exponent differs, so that each number goes alone.
        let mut mixed = exponent.repeat(run.len());
        mixed[2 * run.len() - 2] = 0.5;
        let general = at(0, run.len(), &mixed, 16);
        for i in 0..run.len() - 1 {
            let of = |r: &[f64]| bits((r[2 * i], r[2 * i + 1]));
            assert_eq!(of(&together), of(&general), "{:?} to the {whole}", run[i]);
            let alone = at(i, 1, &exponent, 16);
            assert_eq!(of(&together), bits((alone[0], alone[1])), "{:?} to the {whole}, alone", run[i]);
        }
    }
}
