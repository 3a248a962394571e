//! Which dtype loop a call runs in: NumPy's resolution, remembered per operation and argument types.

use numloom_ir::promote::{self, ArgType, Casting, can_cast};
use numloom_ir::{DType, Loop, ScalarOp};
use std::sync::atomic::{AtomicU8, Ordering};

/// Fourteen dtypes and the three kinds of Python number.
const CODES: usize = DType::COUNT + 3;
const UNKNOWN: u8 = 0;
const NO_LOOP: u8 = u8::MAX;

#[allow(clippy::declare_interior_mutable_const)]
const ROW: [AtomicU8; CODES * CODES] = [const { AtomicU8::new(UNKNOWN) }; CODES * CODES];
/// The loop's index plus one.
static MEMO: [[AtomicU8; CODES * CODES]; ScalarOp::ALL.len()] = [ROW; ScalarOp::ALL.len()];

#[inline]
fn code(arg: ArgType) -> usize {
    match arg {
        ArgType::Strong(d) => d as usize,
        ArgType::WeakInt => DType::COUNT,
        ArgType::WeakFloat => DType::COUNT + 1,
        ArgType::WeakComplex => DType::COUNT + 2,
    }
}

/// The loop for these arguments, `None` when NumPy has none (it then raises, see `fallback`).
#[inline]
pub fn loop_for(op: ScalarOp, args: &[ArgType]) -> Option<u8> {
    let at = match args {
        [a] => code(*a) * CODES,
        [a, b] => code(*a) * CODES + code(*b),
        _ => return None,
    };
    let slot = &MEMO[op as usize][at];
    match slot.load(Ordering::Relaxed) {
        UNKNOWN => {
            let lp = find(op, args);
            slot.store(lp.map_or(NO_LOOP, |l| l + 1), Ordering::Relaxed);
            lp
        }
        NO_LOOP => None,
        l => Some(l - 1),
    }
}

fn find(op: ScalarOp, args: &[ArgType]) -> Option<u8> {
    let bools = args.iter().all(|a| *a == ArgType::Strong(DType::Bool));
    let exact = |a: &ArgType| match a {
        ArgType::Strong(d) => !d.is_inexact(),
        weak => *weak == ArgType::WeakInt,
    };
    let lp = match op {
        // NumPy refuses these on booleans although int8 would hold them.
        ScalarOp::Subtract | ScalarOp::Negative | ScalarOp::Positive | ScalarOp::Sign if bools => None,
        ScalarOp::Gcd | ScalarOp::Lcm if bools => None,
        // A Python int as mantissa does not follow the exponent's type; NumPy sorts that out.
        ScalarOp::Ldexp if args[0] == ArgType::WeakInt => None,
        // A Python int as exponent is one of C's.
        ScalarOp::Ldexp if args[1] == ArgType::WeakInt => promote::resolve(op, &[args[0], ArgType::Strong(DType::I32)]),
        // Integers of any width divide in double precision.
        ScalarOp::Divide if args.iter().all(exact) => op.loop_for(DType::F64),
        _ => promote::resolve(op, args),
    };
    lp.map(|l| l as u8)
}

/// The loop a `dtype=` or `signature=` asks for: fixed types where given, resolved from the arguments elsewhere.
pub fn loop_with_signature(op: ScalarOp, args: &[ArgType], fixed: &[Option<DType>]) -> Option<u8> {
    let fits = |l: &Loop| l.ins().iter().chain(l.outs()).zip(fixed).all(|(&have, want)| want.is_none_or(|w| w == have));
    if let Some(lp) = loop_for(op, args)
        && fits(&op.loops()[lp as usize])
    {
        return Some(lp);
    }
    // NumPy casts no argument of it that does not fit, for its exponent is an integer whatever the output is.
    let takes = |l: &Loop| {
        op != ScalarOp::Ldexp
            || args.iter().zip(l.ins()).all(|(a, t)| matches!(a, ArgType::Strong(d) if can_cast(*d, *t, Casting::Safe)))
    };
    op.loops().iter().position(|l| fits(l) && takes(l)).map(|l| l as u8)
}
