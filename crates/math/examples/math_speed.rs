//! Nanoseconds an element for every function, beside a loop of std's scalar calls.
//!
//! `cargo run --release -p numloom-math --example math_speed [name ...]`

use numloom_ir::ScalarOp::{self, *};
use numloom_math::{binary_f32, binary_f64, unary_f32, unary_f64};
use std::hint::black_box;
use std::time::Instant;

const N: usize = 1024;

/// The best of many short runs, in ns a call.
fn best(mut call: impl FnMut()) -> f64 {
    (0..40)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..50 {
                call();
            }
            start.elapsed().as_secs_f64() * 1e9 / 50.0
        })
        .fold(f64::INFINITY, f64::min)
}

/// A uniform argument in `[low, high)` for every `i`.
fn arguments(low: f64, high: f64, seed: u64) -> Vec<f64> {
    let mut state = seed;
    (0..N)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            low + (high - low) * ((state >> 11) as f64 / (1u64 << 53) as f64)
        })
        .collect()
}

fn wanted(op: ScalarOp) -> bool {
    let names: Vec<String> = std::env::args().skip(1).collect();
    names.is_empty() || names.iter().any(|n| n == op.name())
}

macro_rules! bench_type {
    ($t:ident $unary:ident $binary:ident) => {{
        let ones: &[(ScalarOp, f64, f64, fn($t) -> $t)] = &[
            (Exp, -20.0, 20.0, $t::exp),
            (Exp2, -20.0, 20.0, $t::exp2),
            (Expm1, -5.0, 5.0, $t::exp_m1),
            (Log, 0.01, 100.0, $t::ln),
            (Log2, 0.01, 100.0, $t::log2),
            (Log10, 0.01, 100.0, $t::log10),
            (Log1p, -0.9, 10.0, $t::ln_1p),
            (Sin, -100.0, 100.0, $t::sin),
            (Cos, -100.0, 100.0, $t::cos),
            (Tan, -100.0, 100.0, $t::tan),
            (Arcsin, -1.0, 1.0, $t::asin),
            (Arccos, -1.0, 1.0, $t::acos),
            (Arctan, -5.0, 5.0, $t::atan),
            (Sinh, -5.0, 5.0, $t::sinh),
            (Cosh, -5.0, 5.0, $t::cosh),
            (Tanh, -5.0, 5.0, $t::tanh),
            (Arcsinh, -50.0, 50.0, $t::asinh),
            (Arccosh, 1.0, 50.0, $t::acosh),
            (Arctanh, -1.0, 1.0, $t::atanh),
            (Cbrt, -50.0, 50.0, $t::cbrt),
        ];
        let logaddexp = |a: $t, b: $t| a.max(b) + (-(a - b).abs()).exp().ln_1p();
        let logaddexp2 = |a: $t, b: $t| a.max(b) + (-(a - b).abs()).exp2().ln_1p();
        let twos: &[(ScalarOp, f64, f64, fn($t, $t) -> $t)] = &[
            (Power, 0.0, 10.0, $t::powf),
            (Arctan2, -5.0, 5.0, $t::atan2),
            (Hypot, -5.0, 5.0, $t::hypot),
            (Logaddexp, -5.0, 5.0, logaddexp),
            (Logaddexp2, -5.0, 5.0, logaddexp2),
            (Fmod, -50.0, 50.0, |a, b| a % b),
        ];
        println!(
            "{:<12} {:>9} {:>9} {:>7} {:>10} {:>10}",
            stringify!($t),
            "ns/elem",
            "std",
            "ratio",
            "n=1 ns",
            "n=10 ns"
        );
        let mut out = vec![0.0; N];
        let report = |op: ScalarOp, fast: f64, slow: f64, one: f64, ten: f64| {
            let n = N as f64;
            println!(
                "{:<12} {:>9.3} {:>9.3} {:>7.1} {:>10.1} {:>10.1}",
                op.name(),
                fast / n,
                slow / n,
                slow / fast,
                one,
                ten
            );
        };
        for &(op, low, high, scalar) in ones {
            if !wanted(op) {
                continue;
            }
            let x: Vec<$t> = arguments(low, high, 1).iter().map(|&v| v as $t).collect();
            let kernel = $unary(op).expect("listed");
            let mut run = |n| {
                // SAFETY: `x` and `out` hold N >= n elements each.
                best(|| unsafe {
                    black_box(kernel(black_box(n), x.as_ptr(), out.as_mut_ptr()));
                })
            };
            let (fast, one, ten) = (run(N), run(1), run(10));
            let slow = best(|| {
                for i in 0..N {
                    out[i] = scalar(black_box(x[i]));
                }
                black_box(&mut out);
            });
            report(op, fast, slow, one, ten);
        }
        for &(op, low, high, scalar) in twos {
            if !wanted(op) {
                continue;
            }
            let a: Vec<$t> = arguments(low, high, 1).iter().map(|&v| v as $t).collect();
            let b: Vec<$t> = arguments(low, high, 2).iter().map(|&v| v as $t).collect();
            let kernel = $binary(op).expect("listed");
            let mut run = |n| {
                // SAFETY: `a`, `b` and `out` hold N >= n elements each.
                best(|| unsafe {
                    black_box(kernel(black_box(n), a.as_ptr(), b.as_ptr(), out.as_mut_ptr()));
                })
            };
            let (fast, one, ten) = (run(N), run(1), run(10));
            let slow = best(|| {
                for i in 0..N {
                    out[i] = scalar(black_box(a[i]), b[i]);
                }
                black_box(&mut out);
            });
            report(op, fast, slow, one, ten);
        }
    }};
}

fn main() {
    bench_type!(f64 unary_f64 binary_f64);
    bench_type!(f32 unary_f32 binary_f32);
}
