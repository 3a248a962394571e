//! What the generated code can do. Everything else stays with the block interpreter.

use numloom_ir::kernel::{Instr, Kernel, NO_REG, Reg};
use numloom_ir::{DType, Kind, ScalarOp};

/// Whether an instruction may stand in a [`Segment`](crate::Segment).
pub fn supports(kernel: &Kernel, instr: &Instr) -> bool {
    let dtype = |r: Reg| kernel.regs.get(r as usize).copied();
    match *instr {
        Instr::Apply { op, lp, dst, src } => apply_dtype(op, lp).is_some_and(|(d, out)| {
            let second = if op.nin() == 2 { dtype(src[1]) == Some(d) } else { src[1] == NO_REG };
            dtype(src[0]) == Some(d) && second && dtype(dst[0]) == Some(out) && dst[1] == NO_REG
        }),
        Instr::Cast { dst, src } => match (dtype(src), dtype(dst)) {
            (Some(from), Some(to)) => cast(from, to),
            _ => false,
        },
        Instr::Select { dst, mask, yes, no } => {
            let d = dtype(dst);
            d.is_some_and(simple) && dtype(mask) == Some(DType::Bool) && dtype(yes) == d && dtype(no) == d
        }
        _ => false,
    }
}

fn simple(d: DType) -> bool {
    !d.is_complex() && d != DType::F16
}

/// Input and result type of a supported loop.
pub fn apply_dtype(op: ScalarOp, lp: u8) -> Option<(DType, DType)> {
    let l = op.loops().get(lp as usize)?;
    let d = *l.ins().first()?;
    let known = op.nout() == 1 && l.ins().iter().all(|&i| i == d) && simple(d) && operation(op, d.kind());
    known.then(|| (d, l.outs()[0]))
}

/// Unsigned targets of 4 and 8 bytes are left out: NumPy's out-of-range results there depend on how
/// its own loops happen to be vectorised.
fn cast(from: DType, to: DType) -> bool {
    simple(from) && simple(to) && !(from.is_float() && matches!(to, DType::U32 | DType::U64))
}

fn operation(op: ScalarOp, kind: Kind) -> bool {
    use ScalarOp::*;
    let everywhere = matches!(
        op,
        Add | Multiply
            | Minimum
            | Maximum
            | Fmin
            | Fmax
            | Equal
            | NotEqual
            | Less
            | LessEqual
            | Greater
            | GreaterEqual
            | LogicalAnd
            | LogicalOr
            | LogicalXor
            | LogicalNot
            | Isnan
            | Isinf
            | Isfinite
            | Absolute
            | Floor
            | Ceil
            | Trunc
    );
    let numeric = matches!(op, Subtract | Negative | Positive | Conjugate | Square | Sign);
    let bits = matches!(op, BitwiseAnd | BitwiseOr | BitwiseXor | Invert);
    let shifts = matches!(op, LeftShift | RightShift);
    let float = matches!(op, Divide | Sqrt | Reciprocal | Rint | Fabs | Copysign | Signbit);
    match kind {
        Kind::Bool => everywhere || bits,
        Kind::Signed | Kind::Unsigned => everywhere || numeric || bits || shifts,
        Kind::Float => everywhere || numeric || float,
        Kind::Complex => false,
    }
}
