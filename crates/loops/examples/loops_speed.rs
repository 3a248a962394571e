//! Nanoseconds an element of some loops on runs of 1024 (and of whole calls on runs of 10), in L1.

use numloom_ir::{DType, ScalarOp};
use numloom_loops::*;
use std::time::Instant;

/// Best of several rounds.
fn time(mut work: impl FnMut()) -> f64 {
    const CALLS: usize = 2000;
    (0..15)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| work());
            start.elapsed().as_nanos() as f64 / CALLS as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn ignore(_: usize) {}

fn ones(dtype: DType) -> Vec<u8> {
    let one = 1.5f64;
    let mut bytes = vec![0u8; 16 * BLOCK];
    let (from, out) = (In { ptr: (&raw const one).cast(), step: 0 }, bytes.as_mut_ptr());
    // SAFETY: `bytes` has room for a block of any type.
    unsafe { cast_fn(DType::F64, dtype)(BLOCK, &from, &out) };
    bytes
}

fn main() {
    println!("{:<34}{:>12}{:>12}{:>12}{:>12}", "loop", "dense", "in place", "value", "n=10 call");
    let rows = [
        (ScalarOp::Add, "?bhilefdFD"),
        (ScalarOp::Multiply, "bilefdFD"),
        (ScalarOp::Divide, "efdFD"),
        (ScalarOp::FloorDivide, "bhilfd"),
        (ScalarOp::Remainder, "bhilfd"),
        (ScalarOp::Maximum, "blefdD"),
        (ScalarOp::Less, "bilefdD"),
        (ScalarOp::Equal, "bfd"),
        (ScalarOp::LogicalAnd, "?fd"),
        (ScalarOp::BitwiseAnd, "?bl"),
        (ScalarOp::Power, "ifd"),
        (ScalarOp::Sqrt, "efdD"),
        (ScalarOp::Exp, "efdD"),
        (ScalarOp::Absolute, "lefdFD"),
        (ScalarOp::Floor, "efd"),
        (ScalarOp::Isnan, "efd"),
    ];
    for (op, codes) in rows {
        for dtype in codes.chars().filter_map(DType::from_code) {
            let lp = op.loop_for(dtype).expect("a loop");
            let (mut a, b, mut out) = (ones(dtype), ones(dtype), vec![0u8; 16 * BLOCK]);
            let f = block_fn(op, lp);
            let (pa, pb) = (a.as_mut_ptr(), b.as_ptr());
            let size = dtype.size();
            let run = |n: usize, step: usize, to: *mut u8| {
                let ins = [In { ptr: pa, step: size }, In { ptr: pb, step }];
                // SAFETY: every buffer holds a block of any type.
                time(|| unsafe {
                    std::hint::black_box(f)(n, ins.as_ptr(), &to);
                })
            };
            let dense = run(BLOCK, size, out.as_mut_ptr());
            let value = run(BLOCK, 0, out.as_mut_ptr());
            let small = run(10, size, out.as_mut_ptr());
            let in_place = run(BLOCK, size, pa);
            let per = |t: f64| t / BLOCK as f64;
            let name = format!("{} {}", op.name(), dtype);
            println!("{name:<34}{:>12.3}{:>12.3}{:>12.3}{:>12.1}", per(dense), per(in_place), per(value), small);
        }
    }
    println!("{:<34}{:>12}{:>12}", "fold", "dense", "n=10 call");
    for (op, codes) in
        [(ScalarOp::Add, "blefdD"), (ScalarOp::Maximum, "blefd"), (ScalarOp::Fmin, "fd"), (ScalarOp::LogicalOr, "?f")]
    {
        for dtype in codes.chars().filter_map(DType::from_code) {
            let f = op.loop_for(dtype).and_then(|lp| fold_fn(op, lp)).expect("a fold");
            let (a, mut out) = (ones(dtype), [0u8; 16]);
            let input = In { ptr: a.as_ptr(), step: dtype.size() };
            let mut run = |n: usize| {
                // SAFETY: `a` holds a block, `out` an element of any type.
                time(|| unsafe {
                    std::hint::black_box(f)(n, input, out.as_mut_ptr());
                })
            };
            let name = format!("{} {}", op.name(), dtype);
            println!("{name:<34}{:>12.3}{:>12.1}", run(BLOCK) / BLOCK as f64, run(10));
        }
    }
    println!("{:<34}{:>12}", "cast", "dense");
    for pair in ["fd", "df", "fe", "ef", "di", "fi", "dl", "lf", "ld", "bf", "?f", "dB"] {
        let types: Vec<DType> = pair.chars().filter_map(DType::from_code).collect();
        let (a, mut out) = (ones(types[0]), vec![0u8; 16 * BLOCK]);
        let (input, to, f) =
            (In { ptr: a.as_ptr(), step: types[0].size() }, out.as_mut_ptr(), cast_fn(types[0], types[1]));
        // SAFETY: every buffer holds a block of any type.
        let t = time(|| unsafe {
            std::hint::black_box(f)(BLOCK, &input, &to);
        });
        println!("{:<34}{:>12.3}", format!("{} to {}", types[0], types[1]), t / BLOCK as f64);
    }
    println!("{:<34}{:>12}", "move", "dense");
    let mask: Vec<u8> = (0..BLOCK).map(|i| (i * 7919 % 13 < 6) as u8).collect();
    for size in [1usize, 2, 4, 8, 16] {
        let (a, b, mut out) = (vec![1u8; 64 * BLOCK], vec![2u8; 16 * BLOCK], vec![0u8; 64 * BLOCK]);
        let (pa, pb, to, pm) = (a.as_ptr(), b.as_ptr(), out.as_mut_ptr(), mask.as_ptr());
        let ins = [In { ptr: pm, step: 1 }, In { ptr: pa, step: size }, In { ptr: pb, step: size }];
        let (last, one) = (size * (BLOCK - 1), size as isize);
        // SAFETY: every buffer holds four blocks of this size, which is what the strides reach.
        unsafe {
            let rows: [(&str, f64); 8] = [
                ("select", time(|| ignore(std::hint::black_box(select_fn(size))(BLOCK, ins.as_ptr(), &to) as usize))),
                ("gather reversed", time(|| gather(size, BLOCK, pa.add(last), -one, to))),
                ("gather every 2nd", time(|| gather(size, BLOCK, pa, 2 * one, to))),
                ("gather every 4th", time(|| gather(size, BLOCK, pa, 4 * one, to))),
                ("scatter every 2nd", time(|| scatter(size, BLOCK, pa, to, 2 * one))),
                ("scatter masked", time(|| scatter_masked(size, BLOCK, pa, pm, to, one))),
                ("compress", time(|| ignore(compress(size, BLOCK, pa, pm, to)))),
                ("expand", time(|| ignore(expand(size, BLOCK, pa, pm, to)))),
            ];
            for (name, t) in rows {
                println!("{:<34}{:>12.3}", format!("{name} {size}"), t / BLOCK as f64);
            }
        }
    }
}
