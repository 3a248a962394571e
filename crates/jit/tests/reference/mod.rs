//! A plain evaluator of single elements, to compare the generated code with. Values are their bits,
//! zero-extended.

use numloom_ir::kernel::{Instr, Kernel, Reg};
use numloom_ir::{DType, Kind, ScalarOp};

macro_rules! ints {
    ($t:ty, $op:expr, $a:expr, $b:expr) => {{
        use ScalarOp::*;
        let (a, b) = ($a as $t, $b as $t);
        let keep = |x: $t| x as u64 & (u64::MAX >> (64 - <$t>::BITS));
        let (wide_a, zero) = (a as i128, 0 as $t);
        match $op {
            Add => keep(a.wrapping_add(b)),
            Subtract => keep(a.wrapping_sub(b)),
            Multiply => keep(a.wrapping_mul(b)),
            Square => keep(a.wrapping_mul(a)),
            Negative => keep(zero.wrapping_sub(a)),
            Absolute => keep(if wide_a < 0 { zero.wrapping_sub(a) } else { a }),
            Sign => keep(wide_a.signum() as $t),
            Maximum | Fmax => keep(a.max(b)),
            Minimum | Fmin => keep(a.min(b)),
            BitwiseAnd => keep(a & b),
            BitwiseOr => keep(a | b),
            BitwiseXor => keep(a ^ b),
            Invert => keep(!a),
            LeftShift => keep(u32::try_from(b).ok().and_then(|s| a.checked_shl(s)).unwrap_or(0)),
            RightShift => {
                let out = if wide_a < 0 { zero.wrapping_sub(1) } else { 0 };
                keep(u32::try_from(b).ok().and_then(|s| a.checked_shr(s)).unwrap_or(out))
            }
            Equal => (a == b) as u64,
            NotEqual => (a != b) as u64,
            Less => (a < b) as u64,
            LessEqual => (a <= b) as u64,
            Greater => (a > b) as u64,
            GreaterEqual => (a >= b) as u64,
            LogicalAnd => (a != 0 && b != 0) as u64,
            LogicalOr => (a != 0 || b != 0) as u64,
            LogicalXor => ((a != 0) != (b != 0)) as u64,
            LogicalNot => (a == 0) as u64,
            Isfinite => 1,
            Isnan | Isinf => 0,
            Positive | Conjugate | Floor | Ceil | Trunc => keep(a),
            op => panic!("no reference for {op:?}"),
        }
    }};
}

macro_rules! floats {
    ($t:ident, $bits:ident, $op:expr, $a:expr, $b:expr) => {{
        use ScalarOp::*;
        let (a, b) = ($t::from_bits($a as $bits), $t::from_bits($b as $bits));
        let keep = |x: $t| x.to_bits() as u64;
        match $op {
            Add => keep(a + b),
            Subtract => keep(a - b),
            Multiply => keep(a * b),
            Square => keep(a * a),
            Divide => keep(a / b),
            Reciprocal => keep(1.0 / a),
            Sqrt => keep(a.sqrt()),
            Negative => keep(-a),
            Positive | Conjugate => keep(a),
            Absolute | Fabs => keep(a.abs()),
            Floor => keep(a.floor()),
            Ceil => keep(a.ceil()),
            Trunc => keep(a.trunc()),
            Rint => keep(a.round_ties_even()),
            Sign if a.is_nan() => keep(a),
            Sign => keep(if a > 0.0 {
                1.0
            } else if a < 0.0 {
                -1.0
            } else {
                0.0
            }),
            Copysign => keep(a.copysign(b)),
            Signbit => a.is_sign_negative() as u64,
            Minimum => keep(if a.is_nan() || a < b { a } else { b }),
            Maximum => keep(if a.is_nan() || a > b { a } else { b }),
            Fmin => keep(if b.is_nan() || a < b { a } else { b }),
            Fmax => keep(if b.is_nan() || a > b { a } else { b }),
            Equal => (a == b) as u64,
            NotEqual => (a != b) as u64,
            Less => (a < b) as u64,
            LessEqual => (a <= b) as u64,
            Greater => (a > b) as u64,
            GreaterEqual => (a >= b) as u64,
            LogicalAnd => (a != 0.0 && b != 0.0) as u64,
            LogicalOr => (a != 0.0 || b != 0.0) as u64,
            LogicalXor => ((a != 0.0) != (b != 0.0)) as u64,
            LogicalNot => (a == 0.0) as u64,
            Isnan => a.is_nan() as u64,
            Isinf => a.is_infinite() as u64,
            Isfinite => a.is_finite() as u64,
            op => panic!("no reference for {op:?}"),
        }
    }};
}

fn on_bools(op: ScalarOp, a: bool, b: bool) -> bool {
    use ScalarOp::*;
    match op {
        Add | Maximum | Fmax | LogicalOr | BitwiseOr => a | b,
        Multiply | Minimum | Fmin | LogicalAnd | BitwiseAnd => a & b,
        LogicalXor | BitwiseXor | NotEqual => a != b,
        Equal => a == b,
        Less => !a & b,
        LessEqual => a <= b,
        Greater => a & !b,
        GreaterEqual => a >= b,
        LogicalNot | Invert => !a,
        Isfinite => true,
        Isnan | Isinf => false,
        Absolute | Floor | Ceil | Trunc => a,
        op => panic!("no reference for {op:?}"),
    }
}

fn apply(op: ScalarOp, d: DType, a: u64, b: u64) -> u64 {
    match d {
        DType::Bool => on_bools(op, a != 0, b != 0) as u64,
        DType::I8 => ints!(i8, op, a, b),
        DType::U8 => ints!(u8, op, a, b),
        DType::I16 => ints!(i16, op, a, b),
        DType::U16 => ints!(u16, op, a, b),
        DType::I32 => ints!(i32, op, a, b),
        DType::U32 => ints!(u32, op, a, b),
        DType::I64 => ints!(i64, op, a, b),
        DType::U64 => ints!(u64, op, a, b),
        DType::F32 => floats!(f32, u32, op, a, b),
        DType::F64 => floats!(f64, u64, op, a, b),
        d => panic!("no reference for {d}"),
    }
}

/// The x86 truncation, which NumPy's results show; raises "invalid" as it does.
fn truncated(x: f64, bytes: usize) -> i64 {
    let (low, high) = if bytes == 8 { (i64::MIN as f64, -(i64::MIN as f64)) } else { (i32::MIN as f64, 2147483648.0) };
    let t = x.trunc();
    if t >= low && t < high {
        return t as i64;
    }
    std::hint::black_box(std::hint::black_box(-1f64).sqrt());
    low as i64
}

fn cast(v: u64, from: DType, to: DType) -> u64 {
    if from == to {
        return v;
    }
    let narrow = |x: i128| x as u64 & (u64::MAX >> (64 - 8 * to.size()));
    if from.is_float() {
        let x = if from == DType::F32 { f32::from_bits(v as u32) as f64 } else { f64::from_bits(v) };
        return match to {
            DType::Bool => (x != 0.0) as u64,
            DType::F32 => (x as f32).to_bits() as u64,
            DType::F64 => x.to_bits(),
            _ => narrow(truncated(x, to.size()) as i128),
        };
    }
    let unused = 64 - 8 * from.size();
    let x = if from.kind() == Kind::Signed { ((v << unused) as i64 >> unused) as i128 } else { v as i128 };
    match to {
        DType::Bool => (x != 0) as u64,
        DType::F32 => (x as f32).to_bits() as u64,
        DType::F64 => (x as f64).to_bits(),
        _ => narrow(x),
    }
}

/// Runs one instruction on one element's registers.
pub fn step(kernel: &Kernel, instr: &Instr, regs: &mut [u64]) {
    let at = |r: Reg| r as usize;
    match *instr {
        Instr::Apply { op, lp, dst, src } => {
            let d = op.loops()[lp as usize].ins()[0];
            let b = regs.get(at(src[1])).copied().unwrap_or(0);
            regs[at(dst[0])] = apply(op, d, regs[at(src[0])], b);
        }
        Instr::Cast { dst, src } => {
            regs[at(dst)] = cast(regs[at(src)], kernel.regs[at(src)], kernel.regs[at(dst)]);
        }
        Instr::Select { dst, mask, yes, no } => {
            regs[at(dst)] = if regs[at(mask)] != 0 { regs[at(yes)] } else { regs[at(no)] };
        }
        ref i => panic!("no reference for {i:?}"),
    }
}

/// Equal bits, or two NaNs.
pub fn same(d: DType, a: u64, b: u64) -> bool {
    let nan = |v: u64| match d {
        DType::F32 => f32::from_bits(v as u32).is_nan(),
        DType::F64 => f64::from_bits(v).is_nan(),
        _ => false,
    };
    a == b || (nan(a) && nan(b))
}
