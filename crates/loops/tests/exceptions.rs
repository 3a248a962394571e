//! Special values and the floating-point exceptions that go with them.

use numloom_ir::{DType, ScalarOp};
use numloom_loops::*;

/// Applies an operation to runs of one element; answers the result and the exceptions seen.
fn apply<A: Copy, B: Copy, O: Copy + Default>(op: ScalarOp, dtype: DType, a: A, b: B) -> (O, u8) {
    let lp = op.loop_for(dtype).expect("a loop");
    let ins = [
        In { ptr: (&raw const a).cast(), step: size_of::<A>() },
        In { ptr: (&raw const b).cast(), step: size_of::<B>() },
    ];
    let mut out = [O::default(); 1];
    let to = out.as_mut_ptr().cast();
    fp_clear();
    // SAFETY: one element is read from each input and one is written.
    let flags = unsafe { block_fn(op, lp)(1, ins.as_ptr(), &to) };
    (out[0], flags | fp_status())
}

#[test]
fn integer_division() {
    use ScalarOp::*;
    assert_eq!(apply(FloorDivide, DType::I32, 7i32, 0i32), (0i32, FP_DIVIDE));
    assert_eq!(apply(FloorDivide, DType::I32, i32::MIN, -1i32), (i32::MIN, FP_OVERFLOW));
    assert_eq!(apply(FloorDivide, DType::I64, i64::MIN, -1i64), (i64::MIN, FP_OVERFLOW));
    assert_eq!(apply(FloorDivide, DType::I8, -7i8, 2i8), (-4i8, 0));
    assert_eq!(apply(Remainder, DType::I16, -7i16, 2i16), (1i16, 0));
    assert_eq!(apply(Fmod, DType::I16, -7i16, 2i16), (-1i16, 0));
    assert_eq!(apply(Remainder, DType::I64, i64::MIN, -1i64), (0i64, 0));
    assert_eq!(apply(FloorDivide, DType::U32, u32::MAX, 1u32), (u32::MAX, 0));
    assert_eq!(apply(Remainder, DType::U64, 7u64, 0u64), (0u64, FP_DIVIDE));
}

#[test]
fn narrow_division_is_exact() {
    for a in i8::MIN..=i8::MAX {
        for b in i8::MIN..=i8::MAX {
            if b == 0 || (a, b) == (i8::MIN, -1) {
                continue;
            }
            let floor = (a as f64 / b as f64).floor() as i8;
            assert_eq!(apply::<_, _, i8>(ScalarOp::FloorDivide, DType::I8, a, b).0, floor);
        }
    }
    let large = [u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) - 1, 3_000_000_019, 65_537, 65_535, 3, 2, 1];
    for a in large {
        for b in large {
            assert_eq!(apply::<_, _, u32>(ScalarOp::FloorDivide, DType::U32, a, b).0, a / b);
            assert_eq!(apply::<_, _, u32>(ScalarOp::Remainder, DType::U32, a, b).0, a % b);
            let (a, b) = (a as i32, b as i32);
            if b != -1 {
                assert_eq!(apply::<_, _, i32>(ScalarOp::Fmod, DType::I32, a, b).0, a % b);
            }
        }
    }
}

#[test]
fn arithmetic_raises_and_comparison_does_not() {
    use ScalarOp::*;
    assert_eq!(apply(Divide, DType::F64, 1f64, 0f64), (f64::INFINITY, FP_DIVIDE));
    assert_eq!(apply::<_, _, f64>(Divide, DType::F64, 0f64, 0f64).1, FP_INVALID);
    assert_eq!(apply(Multiply, DType::F32, 1e38f32, 1e38f32), (f32::INFINITY, FP_OVERFLOW));
    assert_eq!(apply(Less, DType::F64, f64::NAN, 1f64), (0u8, 0));
    assert_eq!(apply(Maximum, DType::F64, 1f64, 2f64), (2f64, 0));
    assert!(apply::<_, _, f64>(Maximum, DType::F64, 1f64, f64::NAN).0.is_nan());
    assert_eq!(apply(Fmax, DType::F64, 1f64, f64::NAN), (1f64, 0));
    assert_eq!(apply(LogicalNot, DType::F64, f64::NAN, 0u8), (0u8, 0));
}

#[test]
fn a_quotient_that_nobody_wants_raises_nothing() {
    let (one, least) = (1.0f64, f64::from_bits(1));
    assert_eq!(apply::<_, _, f64>(ScalarOp::Remainder, DType::F64, one, least), (0.0, 0));
    assert_eq!(apply::<_, _, f64>(ScalarOp::Fmod, DType::F64, one, least), (0.0, 0));
    let (_, flags) = apply::<_, _, f64>(ScalarOp::FloorDivide, DType::F64, one, least);
    assert_eq!(flags & FP_OVERFLOW, FP_OVERFLOW);
}

#[test]
fn extremes_of_runs_with_nans_raise_nothing() {
    let run: Vec<f64> = (0..300).map(|i| if i % 50 == 7 { f64::NAN } else { i as f64 }).collect();
    for op in [ScalarOp::Maximum, ScalarOp::Minimum, ScalarOp::Fmax, ScalarOp::Fmin] {
        let lp = op.loop_for(DType::F64).expect("a loop");
        let (mut one, mut many) = (0f64, vec![0f64; run.len()]);
        let (input, value) =
            (In { ptr: run.as_ptr().cast(), step: 8 }, In { ptr: (&raw const run[1]).cast(), step: 0 });
        fp_clear();
        // SAFETY: the runs are of the same length, the fold has room for its result.
        unsafe {
            fold_fn(op, lp).expect("a fold")(run.len(), input, (&raw mut one).cast());
            block_fn(op, lp)(run.len(), [input, value].as_ptr(), &many.as_mut_ptr().cast());
        }
        assert_eq!(fp_status(), 0, "{}", op.name());
    }
}

#[test]
fn shifts_beyond_the_width() {
    use ScalarOp::*;
    assert_eq!(apply(LeftShift, DType::I32, 1i32, 32i32), (0i32, 0));
    assert_eq!(apply(RightShift, DType::I32, -5i32, 40i32), (-1i32, 0));
    assert_eq!(apply(RightShift, DType::U8, 200u8, 8u8), (0u8, 0));
    assert_eq!(apply(RightShift, DType::I8, -128i8, -1i8), (-1i8, 0));
}

#[test]
fn binary16_rounds_once() {
    let convert = |x: f64| {
        let (from, mut half) = (In { ptr: (&raw const x).cast(), step: 8 }, 0u16);
        let to = (&raw mut half).cast::<u8>();
        fp_clear();
        // SAFETY: one element is read and one is written.
        let flags = unsafe { cast_fn(DType::F64, DType::F16)(1, &from, &to) };
        (half, flags)
    };
    // Just above the middle of two neighbours, by less than f32 can tell.
    assert_eq!(convert(1.0 + 2f64.powi(-11) + 2f64.powi(-40)).0, 0x3c01);
    assert_eq!(convert(1.0 + 2f64.powi(-11)).0, 0x3c00);
    assert_eq!(convert(65519.99).0, 0x7bff);
    assert_eq!(convert(65520.0), (0x7c00, FP_OVERFLOW));
    assert_eq!(convert(1e300), (0x7c00, FP_OVERFLOW));
    assert_eq!(convert(2f64.powi(-25)), (0, FP_UNDERFLOW));
    assert_eq!(convert(2f64.powi(-24)), (1, 0));
    assert_eq!(convert(-0.0), (0x8000, 0));
    for bits in 0..=u16::MAX {
        let half = half::f16::from_bits(bits);
        let back = convert(half.to_f64());
        assert!(if half.is_nan() { back.0 & 0x7fff > 0x7c00 } else { back == (bits, 0) }, "{bits:04x}");
    }
}

#[test]
fn casts_to_integers_are_those_of_x86() {
    let convert = |x: f64, to: DType| {
        let (from, mut out) = (In { ptr: (&raw const x).cast(), step: 8 }, 0u64);
        let at = (&raw mut out).cast::<u8>();
        // SAFETY: one element is read and one is written.
        let flags = unsafe { cast_fn(DType::F64, to)(1, &from, &at) };
        (out, flags)
    };
    assert_eq!(convert(f64::NAN, DType::I64), (1 << 63, FP_INVALID));
    assert_eq!(convert(3e9, DType::I32), (1 << 31, FP_INVALID));
    assert_eq!(convert(300.7, DType::U8), (44, 0));
    assert_eq!(convert(-1.5, DType::U64), (u64::MAX, 0));
    assert_eq!(convert(1.5e19, DType::U64), (15_000_000_000_000_000_000, 0));
    assert_eq!(convert(-2147483648.9, DType::I32), (1 << 31, 0));
}
