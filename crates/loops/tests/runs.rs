//! What holds for every loop, whatever it computes: lengths, values instead of runs, results in place.

use numloom_ir::{DType, ScalarOp};
use numloom_loops::*;

/// Bytes of `n` elements that are small whole numbers, zero and negative ones among them.
fn sample(dtype: DType, n: usize, seed: usize) -> Vec<u8> {
    let numbers: Vec<f64> = (0..n.max(1)).map(|i| ((i * 7 + seed * 3) % 11) as f64 - 3.0).collect();
    let mut bytes = vec![0u8; n.max(1) * dtype.size()];
    for (i, number) in numbers.iter().enumerate() {
        let (from, out) = (In { ptr: (number as *const f64).cast(), step: 0 }, bytes[i * dtype.size()..].as_mut_ptr());
        // SAFETY: one element is read and one is written.
        unsafe { cast_fn(DType::F64, dtype)(1, &from, &out) };
    }
    bytes
}

/// Runs a loop, each input given by its bytes and whether it is one value.
fn run(op: ScalarOp, lp: usize, n: usize, inputs: &[(&[u8], bool)]) -> Vec<Vec<u8>> {
    let types = &op.loops()[lp];
    let ins: Vec<In> = inputs
        .iter()
        .zip(types.ins())
        .map(|((bytes, value), dtype)| In { ptr: bytes.as_ptr(), step: if *value { 0 } else { dtype.size() } })
        .collect();
    let mut results: Vec<Vec<u8>> = types.outs().iter().map(|d| vec![0; n * d.size()]).collect();
    let outs: Vec<*mut u8> = results.iter_mut().map(|r| r.as_mut_ptr()).collect();
    // SAFETY: the runs have the lengths that `n` asks for.
    unsafe { block_fn(op, lp)(n, ins.as_ptr(), outs.as_ptr()) };
    results
}

fn every_loop(mut test: impl FnMut(ScalarOp, usize)) {
    for &op in ScalarOp::ALL {
        for lp in 0..op.loops().len() {
            test(op, lp);
        }
    }
}

/// Elementary functions may round differently in a vector's last lanes.
fn same(op: ScalarOp, dtype: DType, a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return true;
    }
    let values = |bytes: &[u8]| -> Vec<f64> {
        let real = dtype.real();
        bytes
            .chunks(real.size())
            .map(|chunk| {
                let mut value = 0f64;
                let (from, out) = (In { ptr: chunk.as_ptr(), step: 0 }, (&raw mut value).cast::<u8>());
                // SAFETY: one element is read and one is written.
                unsafe { cast_fn(real, DType::F64)(1, &from, &out) };
                value
            })
            .collect()
    };
    let slack = if dtype.real() == DType::F64 { 1e-14 } else { 1e-6 };
    let inexact = dtype.is_inexact() && op != ScalarOp::Add;
    values(a)
        .iter()
        .zip(values(b))
        .all(|(&x, y)| x == y || x.is_nan() && y.is_nan() || inexact && (x - y).abs() <= slack * y.abs().max(1.0))
}

#[test]
fn every_row_of_the_table_has_a_loop() {
    every_loop(|op, lp| assert_ne!(block_fn(op, lp) as usize, 0));
}

#[test]
fn length_does_not_change_an_element() {
    every_loop(|op, lp| {
        let types = &op.loops()[lp];
        let whole: Vec<Vec<u8>> = types.ins().iter().enumerate().map(|(k, &d)| sample(d, 70, k)).collect();
        let inputs: Vec<(&[u8], bool)> = whole.iter().map(|w| (w.as_slice(), false)).collect();
        let full = run(op, lp, 70, &inputs);
        for n in [0, 1, 2, 7, 8, 9, 10, 15, 16, 17, 31, 33, 63, 64, 65] {
            for (k, part) in run(op, lp, n, &inputs).iter().enumerate() {
                let dtype = types.outs()[k];
                assert!(same(op, dtype, part, &full[k][..n * dtype.size()]), "{} loop {lp}, {n} elements", op.name());
            }
        }
    });
}

#[test]
fn a_value_is_a_run_of_equal_elements() {
    every_loop(|op, lp| {
        let types = &op.loops()[lp];
        let n = 75;
        for values in 1..1u32 << types.ins().len() {
            let mut spread = Vec::new();
            let mut given = Vec::new();
            for (k, &dtype) in types.ins().iter().enumerate() {
                let is_value = values >> k & 1 != 0;
                let run = sample(dtype, if is_value { 1 } else { n }, k + 1);
                spread.push(if is_value { run.repeat(n) } else { run.clone() });
                given.push((run, is_value));
            }
            let dense: Vec<(&[u8], bool)> = spread.iter().map(|r| (r.as_slice(), false)).collect();
            let stepped: Vec<(&[u8], bool)> = given.iter().map(|(r, v)| (r.as_slice(), *v)).collect();
            for (k, (a, b)) in run(op, lp, n, &dense).iter().zip(run(op, lp, n, &stepped)).enumerate() {
                assert!(same(op, types.outs()[k], a, &b), "{} loop {lp}, values {values:b}", op.name());
            }
        }
    });
}

#[test]
fn a_result_may_take_the_place_of_an_input() {
    every_loop(|op, lp| {
        let types = &op.loops()[lp];
        let n = 150;
        let whole: Vec<Vec<u8>> = types.ins().iter().enumerate().map(|(k, &d)| sample(d, n, k)).collect();
        let inputs: Vec<(&[u8], bool)> = whole.iter().map(|w| (w.as_slice(), false)).collect();
        let apart = run(op, lp, n, &inputs);
        for place in (0..types.ins().len()).filter(|&p| types.ins()[p].size() == types.outs()[0].size()) {
            let mut runs = whole.clone();
            let pointers: Vec<*mut u8> = runs.iter_mut().map(|r| r.as_mut_ptr()).collect();
            let ins: Vec<In> = pointers.iter().zip(types.ins()).map(|(&ptr, d)| In { ptr, step: d.size() }).collect();
            let mut second = vec![0u8; 16 * n];
            let outs = [pointers[place], second.as_mut_ptr()];
            // SAFETY: as in `run`; the first output is the run of an input.
            unsafe { block_fn(op, lp)(n, ins.as_ptr(), outs.as_ptr()) };
            assert!(same(op, types.outs()[0], &runs[place], &apart[0]), "{} loop {lp} over input {place}", op.name());
        }
    });
}

#[test]
fn folds_agree_with_the_loop_applied_in_turn() {
    every_loop(|op, lp| {
        let Some(fold) = fold_fn(op, lp) else { return };
        let types = &op.loops()[lp];
        let (dtype, size) = (types.ins()[0], types.ins()[0].size());
        if dtype.is_inexact() || types.outs()[0] != dtype {
            return;
        }
        for n in [1usize, 2, 3, 7, 8, 9, 40, 64, 127, 128, 129, 200] {
            let run_of = sample(dtype, n, 2);
            let mut so_far = run_of[..size].to_vec();
            for i in 1..n {
                so_far = run(op, lp, 1, &[(&so_far, false), (&run_of[i * size..], false)]).remove(0);
            }
            if n == 1 && op == ScalarOp::Gcd {
                continue;
            }
            let mut result = vec![0u8; size];
            // SAFETY: `n` elements are there.
            unsafe { fold(n, In { ptr: run_of.as_ptr(), step: size }, result.as_mut_ptr()) };
            assert_eq!(result, so_far, "{} {dtype} of {n}", op.name());
        }
    });
}

#[test]
fn logical_folds_of_any_type_give_a_bool() {
    let fold = |op: ScalarOp, numbers: &[f64]| {
        let lp = op.loop_for(DType::F64).expect("a loop");
        let (input, mut out) = (In { ptr: numbers.as_ptr().cast(), step: 8 }, 9u8);
        // SAFETY: the input is a slice.
        unsafe { fold_fn(op, lp).expect("a fold")(numbers.len(), input, &mut out) };
        out
    };
    let mut numbers = vec![f64::NAN; 100];
    assert_eq!(
        [ScalarOp::LogicalAnd, ScalarOp::LogicalOr, ScalarOp::LogicalXor].map(|op| fold(op, &numbers)),
        [1, 1, 0]
    );
    numbers[70] = 0.0;
    assert_eq!(
        [ScalarOp::LogicalAnd, ScalarOp::LogicalOr, ScalarOp::LogicalXor].map(|op| fold(op, &numbers)),
        [0, 1, 1]
    );
    assert_eq!(fold(ScalarOp::LogicalOr, &[0.0; 65]), 0);
}

/// The fold of doubles, as bits.
fn fold_of(op: ScalarOp, numbers: &[f64]) -> u64 {
    let lp = op.loop_for(DType::F64).expect("a loop");
    let mut result = 0u64;
    let input = In { ptr: numbers.as_ptr().cast(), step: 8 };
    // SAFETY: the input is a slice, the result an element.
    unsafe { fold_fn(op, lp).expect("a fold")(numbers.len(), input, (&raw mut result).cast()) };
    result
}

#[test]
fn extremes_are_found_wherever_they_stand() {
    let special = f64::from_bits(0xfff8_0000_0000_1234);
    for n in [1usize, 8, 63, 64, 65, 100, 127, 128, 129, 200, 1024] {
        for place in 0..n {
            let mut numbers: Vec<f64> = (0..n).map(|i| (i * 7 % 11) as f64).collect();
            numbers[place] = 20.0;
            for op in [ScalarOp::Maximum, ScalarOp::Fmax] {
                assert_eq!(fold_of(op, &numbers), 20f64.to_bits(), "{} of {n}, {place}", op.name());
            }
            numbers[place] = -1.0;
            for op in [ScalarOp::Minimum, ScalarOp::Fmin] {
                assert_eq!(fold_of(op, &numbers), (-1f64).to_bits(), "{} of {n}, {place}", op.name());
            }
            numbers[place] = special;
            for op in [ScalarOp::Maximum, ScalarOp::Minimum] {
                assert_eq!(fold_of(op, &numbers), special.to_bits(), "{} of {n}, {place}", op.name());
            }
            for (op, other) in [(ScalarOp::Fmax, f64::max as fn(f64, f64) -> f64), (ScalarOp::Fmin, f64::min)] {
                let expected = numbers.iter().copied().reduce(other).expect("an element");
                assert_eq!(fold_of(op, &numbers), expected.to_bits(), "{} of {n}, {place}", op.name());
            }
        }
    }
}

#[test]
fn extremes_against_a_value_know_zeros_and_nans() {
    let special = f64::from_bits(0x7ff8_0000_0000_0042);
    let numbers = [0.0, -0.0, 1.0, -1.0, f64::NAN, special, f64::INFINITY, -f64::INFINITY];
    for op in [ScalarOp::Maximum, ScalarOp::Minimum, ScalarOp::Fmax, ScalarOp::Fmin] {
        let lp = op.loop_for(DType::F64).expect("a loop");
        let run_of: Vec<u8> = (0..200).flat_map(|i| numbers[i * 3 % 8].to_ne_bytes()).collect();
        for value in numbers {
            let many: Vec<u8> = (0..200).flat_map(|_| value.to_ne_bytes()).collect();
            let with_run = run(op, lp, 200, &[(&run_of, false), (&many, false)]);
            let with_value = run(op, lp, 200, &[(&run_of, false), (&many, true)]);
            assert!(with_run == with_value, "{} with {value}", op.name());
        }
    }
}

#[test]
fn chunks_of_any_numbers_divide_as_single_ones() {
    let odd = [3i64, -7, 0, -1, i64::MIN, i64::MAX, 1 << 52, -(1 << 52) - 1, (1 << 53) + 1, 5];
    for op in [ScalarOp::FloorDivide, ScalarOp::Remainder, ScalarOp::Fmod] {
        let lp = op.loop_for(DType::I64).expect("a loop");
        // Odd ones now and then, so that some chunks have none.
        let number =
            |i: usize, seed: usize| if (i + seed).is_multiple_of(41) { odd[i % 10] } else { (i * seed) as i64 - 300 };
        let (a, b): (Vec<i64>, Vec<i64>) = (0..500).map(|i| (number(i, 5), number(i, 3) | 1)).unzip();
        let bytes = |x: &[i64]| x.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
        let whole = run(op, lp, 500, &[(&bytes(&a), false), (&bytes(&b), false)]).remove(0);
        for i in 0..500 {
            let truncated = (a[i].wrapping_div(b[i]), a[i].wrapping_rem(b[i]));
            let crosses = truncated.1 != 0 && (truncated.1 < 0) != (b[i] < 0);
            let expected = match op {
                ScalarOp::FloorDivide => truncated.0 - crosses as i64,
                ScalarOp::Remainder => truncated.1 + if crosses { b[i] } else { 0 },
                _ => truncated.1,
            };
            assert_eq!(whole[8 * i..][..8], expected.to_ne_bytes(), "{} of {} by {}", op.name(), a[i], b[i]);
        }
    }
}
