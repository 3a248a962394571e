//! Which operation of a fused task raised a floating-point flag. The hardware only says that one did.

use crate::error::FpReport;
use crate::operation::{Kind, Operation, Source};
use crate::record::MapOp;
use numloom_ir::ScalarOp;
use numloom_loops::{FP_DIVIDE, FP_INVALID, FP_OVERFLOW, FP_UNDERFLOW};

/// One report for each flag, naming the operation most likely to have raised it: operations that can
/// hardly help raising it come before those that only do on extreme numbers.
pub fn attribute(flags: u8, ops: &[Operation]) -> Vec<FpReport> {
    [FP_DIVIDE, FP_OVERFLOW, FP_UNDERFLOW, FP_INVALID]
        .into_iter()
        .filter(|f| flags & f != 0)
        .filter_map(|flag| {
            let best = ops.iter().max_by_key(|o| (likelihood(o, flag), std::cmp::Reverse(o.at.at)))?;
            let best = ops.iter().find(|o| likelihood(o, flag) == likelihood(best, flag))?;
            let name = match &best.kind {
                Kind::Library(op) => op.raises().unwrap_or(op.name()),
                _ => best.name(),
            };
            Some(FpReport { flags: flag, op: name, provenance: best.at })
        })
        .collect()
}

fn likelihood(op: &Operation, flag: u8) -> u8 {
    use ScalarOp::*;
    let Kind::Map(map) = &op.kind else { return if matches!(op.kind, Kind::Reduce { .. }) { 2 } else { 0 } };
    let inexact = op.outs[0].view.dtype.is_inexact();
    match map {
        MapOp::Scalar { op: scalar, .. } => {
            let prone = match flag {
                FP_DIVIDE => matches!(
                    scalar,
                    Divide
                        | FloorDivide
                        | Remainder
                        | Fmod
                        | Divmod
                        | Reciprocal
                        | Log
                        | Log2
                        | Log10
                        | Log1p
                        | Power
                        | FloatPower
                        | Arctanh
                ),
                FP_INVALID => matches!(
                    scalar,
                    Divide
                        | FloorDivide
                        | Remainder
                        | Fmod
                        | Divmod
                        | Sqrt
                        | Log
                        | Log2
                        | Log10
                        | Log1p
                        | Power
                        | FloatPower
                        | Arcsin
                        | Arccos
                        | Arccosh
                        | Arctanh
                        | Sin
                        | Cos
                        | Tan
                ),
                FP_OVERFLOW => {
                    matches!(scalar, Exp | Exp2 | Expm1 | Power | FloatPower | Multiply | Square | Sinh | Cosh | Ldexp)
                }
                _ => matches!(scalar, Exp | Exp2 | Multiply | Divide | Power),
            };
            if prone {
                4
            } else if inexact && flag != FP_DIVIDE {
                2
            } else {
                0
            }
        }
        MapOp::Copy => {
            let casts = op.ins.first().is_some_and(|s| match s {
                Source::Place(p) => p.view.dtype.is_inexact() && p.view.dtype != op.outs[0].view.dtype,
                Source::Value(_) => false,
            });
            if casts && flag & (FP_INVALID | FP_OVERFLOW) != 0 { 3 } else { 0 }
        }
        _ => 0,
    }
}
