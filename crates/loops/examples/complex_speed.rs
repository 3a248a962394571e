//! Nanoseconds an element of the functions of complex numbers on runs of 1000, for numbers on the real axis and for
//! others, and of whole calls on runs of 10. With names of operations: those only.

use numloom_ir::{DType, ScalarOp};
use numloom_loops::*;
use std::time::Instant;

const N: usize = 1000;

/// Best of several rounds.
fn time(mut work: impl FnMut()) -> f64 {
    const CALLS: usize = 100;
    (0..25)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| work());
            start.elapsed().as_nanos() as f64 / CALLS as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// Numbers from 0.1 to 0.9, without order.
fn numbers(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / 2f64.powi(53) * 0.8 + 0.1
    })
}

/// The parts of a run: on the real axis, or anywhere about the origin.
fn parts(op: ScalarOp, real: bool, seed: u64) -> Vec<f64> {
    let right = if op == ScalarOp::Arccosh { 1.0 } else { 0.0 };
    let mut from = numbers(seed);
    let mut next = || from.next().expect("numbers without end");
    (0..N).flat_map(|_| if real { [next() + right, 0.0] } else { [next() * 4.0 - 2.0, next() * 4.0 - 2.0] }).collect()
}

fn bytes(parts: &[f64], dtype: DType) -> Vec<u8> {
    if dtype == DType::C128 {
        parts.iter().flat_map(|x| x.to_ne_bytes()).collect()
    } else {
        parts.iter().flat_map(|&x| (x as f32).to_ne_bytes()).collect()
    }
}

fn main() {
    use ScalarOp::*;
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let rows = [
        Sqrt, Log, Log2, Log10, Arcsinh, Arccosh, Arcsin, Arccos, Arctan, Arctanh, Log1p, Exp, Exp2, Expm1, Sin, Cos,
        Tan, Sinh, Cosh, Tanh, Power, Absolute, Reciprocal, Square, Sign, Divide, Multiply,
    ];
    println!("{:<24}{:>12}{:>12}{:>12}", "loop", "real axis", "anywhere", "n=10 call");
    for dtype in [DType::C128, DType::C64] {
        for op in rows.into_iter().filter(|op| chosen.is_empty() || chosen.iter().any(|c| c == op.name())) {
            let lp = op.loop_for(dtype).expect("a loop");
            let f = block_fn(op, lp);
            let mut out = vec![0u8; 16 * N];
            let mut run = |n: usize, real: bool| {
                let runs = [1, 2].map(|seed| bytes(&parts(op, real, seed), dtype));
                let ins = [0, 1].map(|k| In { ptr: runs[k].as_ptr(), step: dtype.size() });
                let to = out.as_mut_ptr();
                // SAFETY: the runs hold `N` elements of `dtype`.
                time(|| unsafe {
                    std::hint::black_box(f)(n, ins.as_ptr(), &to);
                })
            };
            let per = N as f64;
            let name = format!("{} {}", op.name(), dtype);
            println!("{name:<24}{:>12.2}{:>12.2}{:>12.1}", run(N, true) / per, run(N, false) / per, run(10, true));
        }
    }
}
