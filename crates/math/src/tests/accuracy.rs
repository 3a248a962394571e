//! Errors in units of the last place over random and special neighbourhoods.

use super::*;

/// How far apart two doubles are, in steps of representable numbers.
fn steps(a: f64, b: f64) -> u64 {
    if a.is_nan() && b.is_nan() {
        return 0;
    }
    if a.is_nan() || b.is_nan() {
        return u64::MAX;
    }
    let ordered = |v: f64| {
        let bits = v.to_bits() as i64;
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    ordered(a).abs_diff(ordered(b))
}

/// The error of `got` in units of the last place of an `f32`, beside an exact value.
fn error_f32(got: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if got == rounded || (got.is_nan() && exact.is_nan()) {
        return 0.0;
    }
    if !got.is_finite() || !rounded.is_finite() {
        return f64::INFINITY;
    }
    let exponent = ((rounded.abs().to_bits() >> 23) as i32 - 127).max(-126);
    (got as f64 - exact).abs() / 2f64.powi(exponent - 23)
}

/// Where to draw the arguments of a function from: intervals besides all the bit patterns.
fn intervals(op: ScalarOp) -> &'static [(f64, f64)] {
    match op {
        Exp | Expm1 => &[(-1.0, 1.0), (-40.0, 40.0), (-750.0, 720.0), (-1e-7, 1e-7), (-90.0, 90.0)],
        // Near where the multiple of ln 2 changes, and where half of its inverse is lost beside half of exp.
        Sinh | Cosh => {
            &[(-1.0, 1.0), (0.34, 0.36), (7.0, 9.0), (17.0, 20.0), (-90.0, 90.0), (-720.0, 720.0), (-1e-7, 1e-7)]
        }
        Exp2 => &[(-1.0, 1.0), (-40.0, 40.0), (-1080.0, 1030.0), (-150.0, 130.0)],
        Log | Log2 | Log10 => {
            &[(0.5, 2.0), (0.7, 0.72), (1.4, 1.43), (0.999, 1.001), (0.0, 1000.0), (0.0, 1e-300), (0.0, 1e-309)]
        }
        Log1p => &[(-1.0, 1.0), (-1e-6, 1e-6), (0.0, 1e6), (-0.31, -0.28), (0.40, 0.43)],
        Sin | Cos | Tan => &[(-1.0, 1.0), (-10.0, 10.0), (-1e4, 1e4), (-3e5, 3e5), (-3e8, 3e8), (-1e-7, 1e-7)],
        Arctanh => &[(-1.0, 1.0), (0.15, 0.3), (0.4, 0.5), (0.99, 1.0), (0.999999, 1.0), (-1e-4, 1e-4)],
        Arcsin | Arccos => &[(-1.0, 1.0), (0.499, 0.501), (0.99, 1.0), (-1e-4, 1e-4)],
        Arctan => &[(-1.0, 1.0), (-10.0, 10.0), (-1e5, 1e5), (0.41, 0.42), (2.41, 2.42)],
        Tanh => &[(-1.0, 1.0), (-25.0, 25.0), (-1e-4, 1e-4)],
        Arcsinh => &[(-1.0, 1.0), (-100.0, 100.0), (-1e-4, 1e-4), (-1e12, 1e12)],
        Arccosh => &[(1.0, 1.01), (1.0, 3.0), (1.0, 1e6)],
        Cbrt => &[(0.5, 8.0), (-1.0, 1.0), (-1e6, 1e6), (0.0, 1e-30), (0.0, 1e-37), (0.0, 3e38)],
        _ => &[(-1.0, 1.0), (-1e6, 1e6)],
    }
}

/// Steps away from libm that are allowed: ours and libm's own error together.
fn allowed(op: ScalarOp) -> u64 {
    match op {
        Sin | Cos | Exp | Log | Log2 | Log1p | Exp2 | Hypot | Cbrt | Power => 1,
        Fmod => 0,
        Arcsinh | Arccosh | Arctanh => 3,
        _ => 2,
    }
}

/// What is allowed in single precision, in units of the last place.
fn allowed_f32(op: ScalarOp, level: Level) -> f64 {
    match op {
        _ if level == Level::Baseline => 4.0,
        Log | Log2 | Log10 | Cbrt => 1.1,
        Power => 1.5,
        Sinh | Cosh | Arctanh => 2.0,
        _ => 2.5,
    }
}

fn draw(op: ScalarOp, random: &mut Random, each: usize) -> Vec<f64> {
    let mut x = Vec::new();
    for &(low, high) in intervals(op) {
        x.extend((0..each).map(|_| random.within(low, high)));
    }
    x.extend((0..each).map(|_| f64::from_bits(random.bits())));
    x
}

/// Multiples of π/2 to the nearest double, where a careless reduction loses every digit.
fn near_quarter_turns() -> Vec<f64> {
    (1..20000).flat_map(|n| [n as f64, (n * n) as f64]).map(|n| n * std::f64::consts::FRAC_PI_2).collect()
}

/// The singles on both sides of every multiple of π/2 that libm is not asked for, and multiples of π/4.
fn near_quarter_turns_f32() -> Vec<f32> {
    (1..42000)
        .flat_map(|n| {
            let turn = (n as f64 * std::f64::consts::FRAC_PI_2) as f32;
            [turn.next_down(), turn, -turn, turn.next_up(), (n as f64 * std::f64::consts::FRAC_PI_4) as f32]
        })
        .collect()
}

const EACH: usize = if cfg!(debug_assertions) { 20_000 } else { 400_000 };

#[test]
fn unary_f64_is_within_its_bound() {
    for &op in UNARY {
        let mut x = draw(op, &mut Random(op as u64), EACH);
        if matches!(op, Sin | Cos | Tan) {
            x.extend(near_quarter_turns());
        }
        let expected = reference1(op, &x);
        for level in levels() {
            let (got, _) = run1_f64(op, level, &x);
            let mut worst = (0, 0.0);
            for i in 0..x.len() {
                worst = if steps(got[i], expected[i]) > worst.0 { (steps(got[i], expected[i]), x[i]) } else { worst };
            }
            println!("{level:?} {op:?} f64: {worst:?}");
            assert!(worst.0 <= allowed(op), "{level:?} {op:?}: {worst:?}");
        }
    }
}

#[test]
fn unary_f32_is_within_its_bound() {
    for &op in UNARY {
        let mut random = Random(op as u64);
        let mut x: Vec<f32> = draw(op, &mut random, EACH).iter().map(|&v| v as f32).collect();
        x.extend((0..EACH).map(|_| f32::from_bits(random.bits() as u32)));
        if matches!(op, Sin | Cos | Tan) {
            x.extend(near_quarter_turns_f32());
        }
        let wide: Vec<f64> = x.iter().map(|&v| v as f64).collect();
        let expected = reference1(op, &wide);
        for level in levels() {
            let (got, _) = run1_f32(op, level, &x);
            let mut worst = (0.0, 0.0);
            for i in 0..x.len() {
                let error = error_f32(got[i], expected[i]);
                worst = if error > worst.0 { (error, x[i]) } else { worst };
            }
            println!("{level:?} {op:?} f32: {worst:?}");
            assert!(worst.0 <= allowed_f32(op, level), "{level:?} {op:?}: {worst:?}");
        }
    }
}

/// Powers of every normal base whose results reach from 2^-`range.1` to 2^`range.1`, and those nearer to its ends.
fn draw_powers(random: &mut Random, a: &mut Vec<f64>, b: &mut Vec<f64>, range: (f64, f64)) {
    for _ in 0..EACH {
        let base = 2f64.powf(random.within(-range.0, range.0));
        let reach = random.within(-1.0, 1.0);
        let exponent = if random.bits() & 1 == 0 { range.1 * reach } else { (range.0 + 10.0 * reach).copysign(reach) };
        a.extend([base, base, 1.0 + 0.001 * reach]);
        b.extend([0.5, exponent / base.log2(), exponent / (0.001 * reach).ln_1p()]);
    }
}

fn draw_pairs(op: ScalarOp, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    if op == Power {
        draw_powers(random, &mut a, &mut b, (1022.0, 1080.0));
        draw_powers(random, &mut a, &mut b, (126.0, 150.0));
    }
    for _ in 0..EACH {
        let (low, high) = if op == Power { (0.0, 10.0) } else { (-10.0, 10.0) };
        a.push(random.within(low, high));
        b.push(random.within(-10.0, 10.0));
        a.push(random.within(-3.0, 3.0));
        b.push(random.within(-9.0, 9.0).round());
        a.push(random.within(0.9999, 1.0001));
        b.push(random.within(-6e6, 6e6));
        a.push(random.within(0.0, 1e300));
        b.push(random.within(-1.1, 1.1));
        a.push(f64::from_bits(random.bits()));
        b.push(f64::from_bits(random.bits()));
    }
    (a, b)
}

/// A sum of logarithms that cancels keeps the absolute error of its parts, as NumPy's does.
fn cancels(op: ScalarOp, a: f64, b: f64, y: f64) -> bool {
    matches!(op, Logaddexp | Logaddexp2) && y.abs() < a.abs().max(b.abs())
}

#[test]
fn binary_f64_is_within_its_bound() {
    for &op in BINARY {
        let (a, b) = draw_pairs(op, &mut Random(op as u64));
        let expected = reference2(op, &a, &b);
        for level in levels() {
            let (got, _) = run2_f64(op, level, &a, &b);
            let mut worst = (0, 0.0, 0.0);
            for i in 0..a.len() {
                let error = steps(got[i], expected[i]);
                if error > worst.0 && !cancels(op, a[i], b[i], expected[i]) {
                    worst = (error, a[i], b[i]);
                }
            }
            println!("{level:?} {op:?} f64: {worst:?}");
            assert!(worst.0 <= allowed(op), "{level:?} {op:?}: {worst:?}");
        }
    }
}

#[test]
fn binary_f32_is_within_its_bound() {
    for &op in BINARY {
        let (a, b) = draw_pairs(op, &mut Random(op as u64));
        let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let (a, b) = (narrow(&a), narrow(&b));
        let wide = |v: &[f32]| v.iter().map(|&v| v as f64).collect::<Vec<f64>>();
        let expected = reference2(op, &wide(&a), &wide(&b));
        for level in levels().filter(|&l| l != Level::Baseline) {
            let (got, _) = run2_f32(op, level, &a, &b);
            let mut worst = (0.0, 0.0, 0.0);
            for i in 0..a.len() {
                let error = error_f32(got[i], expected[i]);
                if error > worst.0 && !cancels(op, a[i] as f64, b[i] as f64, expected[i]) {
                    worst = (error, a[i], b[i]);
                }
            }
            println!("{level:?} {op:?} f32: {worst:?}");
            assert!(worst.0 <= allowed_f32(op, level).min(2.0), "{level:?} {op:?}: {worst:?}");
        }
    }
}

/// All numbers of binary16, of which `f32` has the exact values.
#[test]
fn functions_for_halves_are_within_their_bound() {
    let bits = (1u32..0x7c00).chain(0x8001..0xfc00);
    let x: Vec<f32> = bits
        .map(|h| {
            let (exponent, mantissa) = ((h >> 10 & 31) as i32, (h & 0x3ff) as f32);
            let size = if exponent == 0 { mantissa } else { mantissa + 1024.0 } * 2f32.powi(exponent.max(1) - 25);
            if h >> 15 == 0 { size } else { -size }
        })
        .collect();
    for level in levels() {
        for op in [Log, Log2, Log10, Exp2] {
            let function = crate::unary_half_at(op, level).expect("a function of one argument");
            let mut got = vec![0f32; x.len()];
            unsafe { function(x.len(), x.as_ptr(), got.as_mut_ptr()) };
            let exact = run1_f64(op, Level::Baseline, &x.iter().map(|&x| x as f64).collect::<Vec<f64>>()).0;
            for (i, &exact) in exact.iter().enumerate() {
                let (x, got) = (x[i], got[i] as f64);
                // What a half cannot hold needs no digits.
                let beyond = |y: f64| y.abs() >= 65536.0 || y.abs() < 1e-9;
                let close = (got - exact).abs() <= exact.abs() * 2e-6;
                assert!(
                    close || got.is_nan() && exact.is_nan() || beyond(got) && beyond(exact),
                    "{level:?} {op:?}({x}) = {got}, not {exact}"
                );
            }
        }
    }
}
