//! Special values, to the bit, and the flags they raise.

use super::*;
use crate::{DIVIDE, INVALID, OVERFLOW, UNDERFLOW};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const TINY: f64 = 5e-324;

/// Equal to the bit; NaN of any sign and payload for NaN.
fn same(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits()
}

const ONES: &[(ScalarOp, f64, f64, u8)] = &[
    (Exp, 0.0, 1.0, 0),
    (Exp, -0.0, 1.0, 0),
    (Exp, INF, INF, 0),
    (Exp, -INF, 0.0, 0),
    (Exp, 710.0, INF, OVERFLOW),
    (Exp, -1000.0, 0.0, UNDERFLOW),
    (Exp, -745.0, TINY, UNDERFLOW),
    (Exp2, 10.0, 1024.0, 0),
    (Exp2, 1024.0, INF, OVERFLOW),
    (Exp2, -1074.0, TINY, UNDERFLOW),
    (Exp2, -INF, 0.0, 0),
    (Expm1, 0.0, 0.0, 0),
    (Expm1, -0.0, -0.0, 0),
    (Expm1, TINY, TINY, 0),
    (Expm1, -INF, -1.0, 0),
    (Expm1, -800.0, -1.0, 0),
    (Expm1, 800.0, INF, OVERFLOW),
    (Log, 0.0, -INF, DIVIDE),
    (Log, -0.0, -INF, DIVIDE),
    (Log, 1.0, 0.0, 0),
    (Log, -1.0, NAN, INVALID),
    (Log, -INF, NAN, INVALID),
    (Log, INF, INF, 0),
    (Log2, 0.0, -INF, DIVIDE),
    (Log2, 8.0, 3.0, 0),
    (Log2, TINY, -1074.0, 0),
    (Log2, 0.5, -1.0, 0),
    (Log10, 0.0, -INF, DIVIDE),
    (Log10, 1000.0, 3.0, 0),
    (Log10, 1e22, 22.0, 0),
    (Log10, 1.0, 0.0, 0),
    (Log1p, -1.0, -INF, DIVIDE),
    (Log1p, -2.0, NAN, INVALID),
    (Log1p, -0.0, -0.0, 0),
    (Log1p, TINY, TINY, 0),
    (Log1p, INF, INF, 0),
    (Sin, INF, NAN, INVALID),
    (Sin, -0.0, -0.0, 0),
    (Sin, TINY, TINY, 0),
    (Sin, 1e22, -0.8522008497671888, 0),
    (Cos, -INF, NAN, INVALID),
    (Cos, 0.0, 1.0, 0),
    (Cos, 1e22, 0.523214785395139, 0),
    (Tan, INF, NAN, INVALID),
    (Tan, -0.0, -0.0, 0),
    (Arcsin, 1.5, NAN, INVALID),
    (Arcsin, -0.0, -0.0, 0),
    (Arcsin, 1.0, std::f64::consts::FRAC_PI_2, 0),
    (Arcsin, -1.0, -std::f64::consts::FRAC_PI_2, 0),
    (Arccos, -1.5, NAN, INVALID),
    (Arccos, 1.0, 0.0, 0),
    (Arccos, -1.0, std::f64::consts::PI, 0),
    (Arccos, 0.0, std::f64::consts::FRAC_PI_2, 0),
    (Arctan, INF, std::f64::consts::FRAC_PI_2, 0),
    (Arctan, -INF, -std::f64::consts::FRAC_PI_2, 0),
    (Arctan, -0.0, -0.0, 0),
    (Arctan, 1.0, std::f64::consts::FRAC_PI_4, 0),
    (Arctan, TINY, TINY, 0),
    (Sinh, -0.0, -0.0, 0),
    (Sinh, 800.0, INF, OVERFLOW),
    (Sinh, -800.0, -INF, OVERFLOW),
    (Sinh, -INF, -INF, 0),
    (Cosh, 0.0, 1.0, 0),
    (Cosh, -800.0, INF, OVERFLOW),
    (Cosh, -INF, INF, 0),
    (Tanh, -0.0, -0.0, 0),
    (Tanh, INF, 1.0, 0),
    (Tanh, -INF, -1.0, 0),
    (Tanh, TINY, TINY, 0),
    (Tanh, -30.0, -1.0, 0),
    (Arcsinh, -0.0, -0.0, 0),
    (Arcsinh, -INF, -INF, 0),
    (Arccosh, 1.0, 0.0, 0),
    (Arccosh, 0.5, NAN, INVALID),
    (Arccosh, -3.0, NAN, INVALID),
    (Arccosh, INF, INF, 0),
    (Arctanh, 1.0, INF, DIVIDE),
    (Arctanh, -1.0, -INF, DIVIDE),
    (Arctanh, 2.0, NAN, INVALID),
    (Arctanh, -0.0, -0.0, 0),
    (Cbrt, -0.0, -0.0, 0),
    (Cbrt, 27.0, 3.0, 0),
    (Cbrt, -8.0, -2.0, 0),
    (Cbrt, -INF, -INF, 0),
];

const TWOS: &[(ScalarOp, f64, f64, f64, u8)] = &[
    (Power, 0.0, -1.0, INF, DIVIDE),
    (Power, -0.0, -3.0, -INF, DIVIDE),
    (Power, 0.0, 0.0, 1.0, 0),
    (Power, 0.0, 2.0, 0.0, 0),
    (Power, -0.0, 3.0, -0.0, 0),
    (Power, -2.0, 3.0, -8.0, 0),
    (Power, -2.0, 2.0, 4.0, 0),
    (Power, -2.0, 0.5, NAN, INVALID),
    (Power, 2.0, 0.5, std::f64::consts::SQRT_2, 0),
    (Power, 10.0, 400.0, INF, OVERFLOW),
    (Power, -10.0, 401.0, -INF, OVERFLOW),
    (Power, 10.0, -400.0, 0.0, UNDERFLOW),
    (Power, NAN, 0.0, 1.0, 0),
    (Power, 1.0, NAN, 1.0, 0),
    (Power, 1.0, INF, 1.0, 0),
    (Power, -1.0, INF, 1.0, 0),
    (Power, INF, -1.0, 0.0, 0),
    (Power, -INF, 3.0, -INF, 0),
    (Power, 2.0, NAN, NAN, 0),
    (Power, 0.5, -INF, INF, 0),
    (Arctan2, 0.0, 0.0, 0.0, 0),
    (Arctan2, -0.0, 0.0, -0.0, 0),
    (Arctan2, 0.0, -0.0, std::f64::consts::PI, 0),
    (Arctan2, -0.0, -1.0, -std::f64::consts::PI, 0),
    (Arctan2, 1.0, 0.0, std::f64::consts::FRAC_PI_2, 0),
    (Arctan2, -1.0, -0.0, -std::f64::consts::FRAC_PI_2, 0),
    (Arctan2, INF, INF, std::f64::consts::FRAC_PI_4, 0),
    (Arctan2, INF, -INF, 3.0 * std::f64::consts::FRAC_PI_4, 0),
    (Arctan2, 1.0, INF, 0.0, 0),
    (Arctan2, NAN, 1.0, NAN, 0),
    (Arctan2, 1.0, NAN, NAN, 0),
    (Hypot, INF, NAN, INF, 0),
    (Hypot, NAN, -INF, INF, 0),
    (Hypot, 3.0, -4.0, 5.0, 0),
    (Hypot, 0.0, -0.0, 0.0, 0),
    (Hypot, 1.5e308, 1.5e308, INF, OVERFLOW),
    (Hypot, 3e-320, 4e-320, 5e-320, 0),
    (Hypot, NAN, 1.0, NAN, 0),
    (Fmod, 5.5, 2.0, 1.5, 0),
    (Fmod, -5.5, 2.0, -1.5, 0),
    (Fmod, -4.0, 2.0, -0.0, 0),
    (Fmod, 1.0, 0.0, NAN, INVALID),
    (Fmod, INF, 2.0, NAN, INVALID),
    (Fmod, 3.0, -INF, 3.0, 0),
    (Fmod, -0.0, 5.0, -0.0, 0),
    (Fmod, NAN, 0.0, NAN, 0),
    (Logaddexp, -INF, -INF, -INF, 0),
    (Logaddexp, INF, INF, INF, 0),
    (Logaddexp, -INF, 3.0, 3.0, 0),
    (Logaddexp, INF, -INF, INF, 0),
    (Logaddexp, NAN, 3.0, NAN, INVALID),
    (Logaddexp, 0.0, -800.0, 0.0, 0),
    (Logaddexp2, 1.0, 1.0, 2.0, 0),
    (Logaddexp2, -INF, -INF, -INF, 0),
    (Logaddexp2, 1e6, 0.0, 1e6, 0),
];

/// At every place of an array: in the vector part, the padded part and among the last few.
#[test]
fn unary_specials() {
    for level in levels() {
        for &(op, x, expected, flags) in ONES {
            for n in [1, 7, 21] {
                for place in [0, n - 1] {
                    let mut line = vec![if op == Arccosh { 1.5 } else { 0.5 }; n];
                    line[place] = x;
                    let (got, raised) = run1_f64(op, level, &line);
                    assert!(same(got[place], expected), "{level:?} {op:?}({x:?}) = {:?}", got[place]);
                    assert_eq!(raised, flags, "{level:?} {op:?}({x:?})");
                }
            }
        }
        for &op in UNARY {
            let (got, raised) = run1_f64(op, level, &[NAN; 20]);
            assert!(got.iter().all(|y| y.is_nan()) && raised == 0, "{op:?}");
        }
    }
}

/// Arguments and results that an `f32` holds exactly and whose flags do not depend on its range.
#[test]
fn unary_specials_in_single_precision() {
    let exact = |v: f64| v.is_nan() || v as f32 as f64 == v;
    for level in levels() {
        for &(op, x, expected, flags) in ONES.iter().filter(|r| exact(r.1) && exact(r.2)) {
            let (got, raised) = run1_f32(op, level, &[x as f32; 9]);
            assert!(same(got[0] as f64, expected), "{level:?} {op:?}({x:?}) = {:?}", got[0]);
            assert_eq!(raised, flags, "{level:?} {op:?}({x:?})");
        }
        assert_eq!(run1_f32(Exp, level, &[89.0; 9]), (vec![f32::INFINITY; 9], OVERFLOW));
        assert_eq!(run1_f32(Cosh, level, &[90.0; 9]), (vec![f32::INFINITY; 9], OVERFLOW));
        assert_eq!(run1_f32(Exp2, level, &[-149.0; 9]), (vec![f32::from_bits(1); 9], UNDERFLOW));
        assert_eq!(run2_f32(Power, level, &[1e30; 9], &[2.0; 9]), (vec![f32::INFINITY; 9], OVERFLOW));
        assert_eq!(run2_f32(Hypot, level, &[3e38; 9], &[3e38; 9]), (vec![f32::INFINITY; 9], OVERFLOW));
    }
}

#[test]
fn binary_specials() {
    let exact = |v: f64| v.is_nan() || v as f32 as f64 == v;
    for level in levels() {
        for &(op, a, b, expected, flags) in TWOS {
            for n in [1, 7, 21] {
                let (got, raised) = run2_f64(op, level, &vec![a; n], &vec![b; n]);
                assert!(got.iter().all(|&y| same(y, expected)), "{level:?} {op:?}({a:?}, {b:?}) = {:?}", got[0]);
                assert_eq!(raised, flags, "{level:?} {op:?}({a:?}, {b:?})");
            }
            if exact(a) && exact(b) && exact(expected) {
                let (got, raised) = run2_f32(op, level, &[a as f32; 9], &[b as f32; 9]);
                assert!(same(got[0] as f64, expected), "{level:?} {op:?}({a:?}, {b:?}) = {:?} in f32", got[0]);
                assert_eq!(raised, flags, "{level:?} {op:?}({a:?}, {b:?}) in f32");
            }
        }
    }
}

#[test]
fn powers_of_ten_and_two_have_whole_logarithms() {
    for level in levels() {
        let tens: Vec<f64> = (0..=22).map(|k| 10f64.powi(k)).collect();
        assert_eq!(run1_f64(Log10, level, &tens).0, (0..=22).map(f64::from).collect::<Vec<_>>());
        let twos: Vec<f64> =
            (0..52).map(|k| f64::from_bits(1 << k)).chain((1..2047).map(|k| f64::from_bits(k << 52))).collect();
        let whole: Vec<f64> = (-1074..1024).map(f64::from).collect();
        assert!(run1_f64(Log2, level, &twos).0 == whole, "{level:?}");
        assert!(run1_f64(Exp2, level, &whole).0 == twos, "{level:?}");

        let tens: Vec<f32> = (0..=10).map(|k| 10f32.powi(k)).collect();
        assert_eq!(run1_f32(Log10, level, &tens).0, (0..=10).map(|k| k as f32).collect::<Vec<_>>());
        let twos: Vec<f32> =
            (0..23).map(|k| f32::from_bits(1 << k)).chain((1..255).map(|k| f32::from_bits(k << 23))).collect();
        let whole: Vec<f32> = (-149..128).map(|k| k as f32).collect();
        assert!(run1_f32(Log2, level, &twos).0 == whole, "{level:?}");
        assert!(run2_f32(Power, level, &vec![2.0; whole.len()], &whole).0 == twos, "{level:?}");
    }
}

/// Results that are numbers of the type come out as they are.
#[test]
fn cubes_squares_and_first_powers_are_exact() {
    for level in levels() {
        let roots: Vec<f32> = (-256..=256).map(|k| k as f32).collect();
        let cubes: Vec<f32> = roots.iter().map(|r| r * r * r).collect();
        assert_eq!(run1_f32(Cbrt, level, &cubes).0, roots, "{level:?}");
        let powers: Vec<f32> = (-42..=42).map(|k| 2f32.powi(k)).collect();
        let cubes: Vec<f32> = powers.iter().map(|p| p * p * p).collect();
        assert_eq!(run1_f32(Cbrt, level, &cubes).0, powers, "{level:?}");

        let mut random = Random(3);
        let x: Vec<f32> = (0..200_000).map(|_| f32::from_bits((random.bits() >> 33) as u32 % 0x7f80_0000)).collect();
        assert!(run2_f32(Power, level, &x, &vec![1.0; x.len()]).0 == x, "{level:?}");
        let x: Vec<f64> = (0..200_000).map(|_| random.within(-1e9, 1e9)).collect();
        assert!(run2_f64(Power, level, &x, &vec![1.0; x.len()]).0 == x, "{level:?}");
        let roots: Vec<f32> = (-4096..=4096).map(|k| k as f32).collect();
        let squares: Vec<f32> = roots.iter().map(|r| r * r).collect();
        assert_eq!(run2_f32(Power, level, &roots, &vec![2.0; roots.len()]).0, squares, "{level:?}");
    }
}

/// Functions that are odd are so to the bit, and keep the sign of zero and of what is subnormal.
#[test]
fn odd_functions_are_odd() {
    let odd = [Tan, Sinh, Arctanh, Cbrt, Sin, Tanh, Arcsinh, Arcsin, Arctan];
    let mut random = Random(5);
    let mut x: Vec<f32> = (0..50_000).map(|_| f32::from_bits((random.bits() >> 33) as u32 % 0x7f80_0000)).collect();
    x.extend([0.0, f32::from_bits(1), f32::MIN_POSITIVE, 0.25, 0.5, 1.0]);
    let negated: Vec<f32> = x.iter().map(|v| -v).collect();
    let wide = |v: &[f32]| v.iter().map(|&v| v as f64).collect::<Vec<_>>();
    for level in levels() {
        for op in odd {
            let (up, down) = (run1_f32(op, level, &x).0, run1_f32(op, level, &negated).0);
            assert!((0..x.len()).all(|i| same(up[i] as f64, -down[i] as f64)), "{level:?} {op:?}");
            let (up, down) = (run1_f64(op, level, &wide(&x)).0, run1_f64(op, level, &wide(&negated)).0);
            assert!((0..x.len()).all(|i| same(up[i], -down[i])), "{level:?} {op:?}");
        }
    }
}

/// Numbers of all sizes, and those around which functions change what they do.
fn edges() -> Vec<f64> {
    let near = [1.0f64, 87.3, 88.0, 88.73, 89.42, 103.98, 127.0, 128.0, 150.5, 709.79, 710.48, 745.14, 1024.0, 1075.5];
    let sizes = (-330..=308).step_by(11).map(|k| 10f64.powi(k));
    let around =
        near.iter().flat_map(|&x| [x.next_down(), x, x.next_up(), (x as f32).next_down() as f64, x as f32 as f64]);
    let up: Vec<f64> = sizes.chain(around).chain([0.0, TINY, f64::MIN_POSITIVE, f64::MAX, INF, NAN]).collect();
    up.iter().flat_map(|&x| [x, -x]).collect()
}

/// What is known without computing is what libm computes, and raises the same.
#[test]
fn limits_are_those_of_libm() {
    let x = edges();
    let pairs: Vec<(f64, f64)> = x.iter().flat_map(|&a| x.iter().map(move |&b| (a, b))).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let single = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
    let special = |y: f64, libm: f64| (y.is_finite() && y != 0.0) || same(y, libm);
    for level in levels() {
        for &op in UNARY {
            for &x in &x {
                // Three beside it, so that it is in the vector part as well.
                let (got, raised) = run1_f64(op, level, &[x; 8]);
                let (libm, flags) = run1_f64(op, Level::Baseline, &[x]);
                assert!(special(got[0], libm[0]), "{level:?} {op:?}({x:?}) = {:?}, not {:?}", got[0], libm[0]);
                assert_eq!(raised, flags, "{level:?} {op:?}({x:?})");
                let (got, raised) = run1_f32(op, level, &[x as f32; 8]);
                let (libm, flags) = run1_f32(op, Level::Baseline, &[x as f32]);
                assert!(special(got[0] as f64, libm[0] as f64), "{level:?} {op:?}({:?}) = {:?}", x as f32, got[0]);
                assert_eq!(raised, flags, "{level:?} {op:?}({:?})", x as f32);
            }
        }
        for op in [Power, Arctan2, Hypot, Fmod, Logaddexp, Logaddexp2] {
            let (got, libm) = (run2_f64(op, level, &a, &b), run2_f64(op, Level::Baseline, &a, &b));
            let wrong = (0..a.len()).find(|&i| !special(got.0[i], libm.0[i]));
            assert_eq!(wrong.map(|i| (a[i], b[i], got.0[i], libm.0[i])), None, "{level:?} {op:?}");
            let (a, b) = (single(&a), single(&b));
            let (got, libm) = (run2_f32(op, level, &a, &b), run2_f32(op, Level::Baseline, &a, &b));
            let wrong = (0..a.len()).find(|&i| !special(got.0[i] as f64, libm.0[i] as f64));
            assert_eq!(wrong.map(|i| (a[i], b[i], got.0[i], libm.0[i])), None, "{level:?} {op:?} in f32");
        }
    }
}
