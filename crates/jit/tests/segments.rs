//! Generated code against the plain evaluator: every operation in every type, every cast, and random
//! segments, over all short lengths, unaligned runs, outputs in place and uniform inputs.

mod flags;
mod program;
mod reference;

use numloom_ir::kernel::{Instr, Kernel, NO_REG, Reg};
use numloom_ir::{DType, ScalarOp};
use numloom_jit::{Input, Segment, compile};
use program::{Program, Random, TYPES, random_program};

#[test]
fn every_operation_in_every_type() {
    let mut random = Random(1);
    let mut count = 0;
    for &op in ScalarOp::ALL {
        for (lp, l) in op.loops().iter().enumerate() {
            for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
                let mut p = Program::default();
                let a = p.input(l.ins()[0], first);
                let b = if op.nin() == 2 { p.input(l.ins()[1], second) } else { NO_REG };
                let Some(r) = p.apply(op, lp, a, b) else { continue };
                p.outputs.push(r);
                let code = p.compile();
                for n in [0, 1, 15, 16, 33, 1000] {
                    p.check(&code, n, false, &mut random);
                }
                p.check(&code, 67, true, &mut random);
                count += 1;
            }
        }
    }
    assert!(count > 800, "only {count} forms are supported");
}

#[test]
fn every_cast_and_select() {
    let mut random = Random(2);
    for from in TYPES {
        for to in TYPES {
            let mut p = Program::default();
            let a = p.input(from, false);
            let Some(r) = p.cast(a, to) else {
                assert!(from.is_float() && matches!(to, DType::U32 | DType::U64), "{from} to {to}");
                continue;
            };
            p.outputs.push(r);
            let code = p.compile();
            for n in [3, 16, 64, 1000] {
                p.check(&code, n, n == 64, &mut random);
            }
        }
        let mut p = Program::default();
        let (m, a, b) = (p.input(DType::Bool, false), p.input(from, false), p.input(from, true));
        let r = p.select(m, a, b).expect("selects of simple types are supported");
        p.outputs.push(r);
        let code = p.compile();
        (0..70).for_each(|n| p.check(&code, n, n % 2 == 0, &mut random));
    }
}

#[test]
fn random_segments() {
    let mut random = Random(3);
    for _ in 0..400 {
        let p = random_program(&mut random);
        let code = p.compile();
        for n in 0..=70 {
            p.check(&code, n, n % 3 == 0, &mut random);
        }
        p.check(&code, 1000, false, &mut random);
        p.check(&code, 1000, true, &mut random);
    }
}

#[test]
fn a_long_segment_compiles() {
    let mut random = Random(4);
    let mut p = Program::default();
    let (x, y) = (p.input(DType::F64, false), p.input(DType::F64, true));
    let mut r = x;
    for op in [ScalarOp::Add, ScalarOp::Multiply].into_iter().cycle().take(3000) {
        r = p.apply(op, op.loop_for(DType::F64).unwrap(), r, y).unwrap();
    }
    p.outputs.push(r);
    p.check(&p.compile(), 100, true, &mut random);
}

/// Comparisons are quiet about NaN, in the vectors and in the tail, while what makes a NaN is not.
#[test]
fn flags_of_a_masked_chain() {
    const INVALID: u32 = 1;
    let mut p = Program::default();
    let (x, y, limit) = (p.input(DType::F32, false), p.input(DType::F32, false), p.input(DType::F32, true));
    let lp = |op: ScalarOp| op.loop_for(DType::F32).unwrap();
    let mut apply = |op: ScalarOp, a, b| p.apply(op, lp(op), a, b).unwrap();
    let sum = apply(ScalarOp::Add, x, y);
    let low = apply(ScalarOp::Less, sum, limit);
    let top = apply(ScalarOp::Maximum, sum, limit);
    let r = p.select(low, x, top).unwrap();
    p.outputs.push(r);
    let codes = p.compile();
    let run = |code: &numloom_jit::Compiled, n: usize, at: usize, a: f32, b: f32, limit: f32| {
        let (mut xs, mut ys, mut out) = (vec![1f32; n], vec![2f32; n], vec![0f32; n]);
        (xs[at], ys[at]) = (a, b);
        let slots = [xs.as_ptr(), ys.as_ptr(), &limit, out.as_mut_ptr()].map(|p| p as *mut u8);
        let before = flags::take();
        // SAFETY: three runs of `n` elements and one value.
        unsafe { code.call(n, slots.as_ptr()) };
        let raised = flags::take();
        flags::set(before);
        raised
    };
    for (code, n) in codes.iter().flat_map(|code| [1, 5, 16, 64, 67].map(|n| (code, n))) {
        for at in 0..n {
            assert_eq!(run(code, n, at, 1.0, 1.0, 1.0), 0);
            assert_eq!(run(code, n, at, f32::NAN, 1.0, 1.0), 0);
            assert_eq!(run(code, n, at, 1.0, f32::NAN, f32::NAN), 0);
            assert_eq!(run(code, n, at, f32::INFINITY, f32::NEG_INFINITY, 1.0), INVALID);
            assert_eq!(run(code, n, at, f32::INFINITY, f32::NEG_INFINITY, f32::NAN), INVALID);
        }
    }
}

/// Elements that are not there are no zeros either: a division by them would be reported.
#[test]
fn what_is_behind_the_last_element_raises_nothing() {
    let mut p = Program::default();
    let (x, y) = (p.input(DType::F64, false), p.input(DType::F64, false));
    let mut apply = |op: ScalarOp, a, b| p.apply(op, op.loop_for(DType::F64).unwrap(), a, b).unwrap();
    let ratio = apply(ScalarOp::Divide, x, y);
    let inverse = apply(ScalarOp::Reciprocal, ratio, NO_REG);
    p.outputs.push(inverse);
    for (code, n) in p.compile().iter().flat_map(|code| (0..40).map(move |n| (code, n))) {
        let (xs, ys, mut out) = (vec![4f64; n], vec![2f64; n], vec![0f64; n]);
        let slots = [xs.as_ptr(), ys.as_ptr(), out.as_mut_ptr()].map(|p| p as *mut u8);
        let before = flags::take();
        // SAFETY: three runs of `n` elements.
        unsafe { code.call(n, slots.as_ptr()) };
        assert_eq!(flags::take(), 0, "{n} elements");
        flags::set(before);
        assert!(out.iter().all(|&x| x == 0.5));
    }
}

/// More values wanted later than there are registers, more slots than addresses are kept of, and more masks.
#[test]
fn more_values_than_registers() {
    for (d, inputs) in [(DType::F64, 3), (DType::F32, 24), (DType::I16, 40), (DType::U64, 9)] {
        let mut random = Random(17);
        let mut p = Program::default();
        let mut known: Vec<Reg> = (0..inputs).map(|at| p.input(d, at % 3 == 2)).collect();
        let mut masks = vec![p.input(DType::Bool, false), p.input(DType::Bool, true), p.input(DType::Bool, true)];
        let op = |p: &mut Program, op: ScalarOp, a, b| p.apply(op, op.loop_for(d).unwrap(), a, b).unwrap();
        for k in 0..60 {
            let (a, b) = (random.pick(&known), known[k % known.len()]);
            let sum = op(&mut p, if k % 2 == 0 { ScalarOp::Add } else { ScalarOp::Maximum }, a, b);
            known.push(sum);
            masks.push(op(&mut p, ScalarOp::Less, sum, a));
        }
        // Everything is wanted once more, the first last.
        let (mut r, mut m) = (known[0], masks[0]);
        for k in (0..known.len().max(masks.len())).rev() {
            let (value, mask) = (known[k % known.len()], masks[k % masks.len()]);
            let chosen = p.select(mask, value, r).unwrap();
            r = op(&mut p, ScalarOp::Subtract, chosen, value);
            m = p.select(m, mask, m).unwrap();
        }
        p.outputs = vec![r, m];
        p.outputs.extend(&known[inputs..inputs + 20]);
        let codes = p.compile();
        for n in [0, 1, 7, 8, 9, 31, 32, 33, 64, 200] {
            p.check(&codes, n, false, &mut random);
            p.check(&codes, n, true, &mut random);
        }
    }
}

#[test]
fn threads_compile_share_and_drop_code() {
    std::thread::scope(|scope| {
        for seed in 5..9 {
            scope.spawn(move || {
                let mut random = Random(seed);
                for _ in 0..50 {
                    let p = random_program(&mut random);
                    let code = p.compile();
                    let (p, code) = (&p, &code);
                    std::thread::scope(|inner| {
                        inner.spawn(move || p.check(code, 40, false, &mut Random(seed)));
                        inner.spawn(move || p.check(code, 41, true, &mut Random(seed + 1)));
                    });
                }
            });
        }
    });
}

#[test]
fn broken_segments_are_errors() {
    let mut kernel = Kernel::default();
    let (a, b, c) = (kernel.new_reg(DType::F32), kernel.new_reg(DType::F32), kernel.new_reg(DType::C64));
    let add = Instr::Apply {
        op: ScalarOp::Add,
        lp: ScalarOp::Add.loop_for(DType::F32).unwrap() as u8,
        dst: [b, NO_REG],
        src: [a, a],
    };
    let dense = |reg| Input { reg, uniform: false };
    let fails = |instrs: &[Instr], inputs: &[Input], outputs: &[Reg]| {
        compile(&Segment { kernel: &kernel, instrs, inputs, outputs }).is_err()
    };
    assert!(!fails(&[add], &[dense(a)], &[b]));
    assert!(!fails(&[], &[dense(a)], &[a]));
    assert!(fails(&[add], &[], &[b]));
    assert!(fails(&[add, add], &[dense(a)], &[b]));
    assert!(fails(&[add], &[dense(a), dense(c)], &[b]));
    assert!(fails(&[add], &[dense(a), dense(77)], &[b]));
    assert!(fails(&[add], &[dense(a)], &[c]));
    assert!(fails(&[Instr::Load { dst: b, operand: 0 }], &[dense(a)], &[b]));
}
