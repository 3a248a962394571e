//! What stands in for elements that a mask leaves out: they are computed, too, and must raise no flag of their own.

use crate::record::MapOp;
use numloom_ir::{DType, ScalarOp, Value};

/// A number in the middle of most functions' domains that is no likely zero of anything. `narrow`: the function knows
/// numbers up to one only.
pub fn filler(dtype: DType, narrow: bool) -> Value {
    if dtype.is_inexact() {
        Value::from_f64(dtype, if narrow { 0.618_033_988_7 } else { 1.618_033_988_7 })
    } else {
        Value::from_i128(dtype, !narrow as i128)
    }
}

/// Whether an operation takes numbers up to one only.
pub fn is_narrow(op: &MapOp) -> bool {
    use ScalarOp::{Arccos, Arcsin, Arctanh};
    matches!(op, MapOp::Scalar { op: Arccos | Arcsin | Arctanh, .. })
}

/// Whether an operation may raise a flag for some operands. (A copy may where it converts.)
pub fn may_raise(op: &MapOp) -> bool {
    use ScalarOp::*;
    let MapOp::Scalar { op, lp } = op else { return matches!(op, MapOp::Copy) };
    let types = &op.loops()[*lp as usize];
    if !types.ins().iter().chain(types.outs()).any(|d| d.is_inexact()) {
        return matches!(op, FloorDivide | Remainder | Fmod | Divmod | Reciprocal);
    }
    let moves = matches!(op, Positive | Negative | Absolute | Fabs | Conjugate | Copysign | Sign | Signbit | Heaviside);
    let chooses = matches!(op, Maximum | Minimum | Fmax | Fmin | Isnan | Isinf | Isfinite);
    let truths = matches!(op, LogicalAnd | LogicalOr | LogicalXor | LogicalNot) || op.is_comparison();
    !(moves || chooses || truths)
}
