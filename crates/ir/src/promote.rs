//! NumPy's promotion (NEP 50): which type two operands meet in, and which casts are allowed.

use crate::dtype::{DType, Kind};
use crate::scalar_op::{Loop, ScalarOp};

/// How an operand takes part in type resolution: an array's type, or a Python number, which is weak.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArgType {
    Strong(DType),
    WeakInt,
    WeakFloat,
    WeakComplex,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Casting {
    No,
    Equiv,
    Safe,
    SameKind,
    Unsafe,
}

impl Casting {
    pub fn name(self) -> &'static str {
        ["no", "equiv", "safe", "same_kind", "unsafe"][self as usize]
    }

    pub fn from_name(name: &str) -> Option<Casting> {
        use Casting::*;
        [No, Equiv, Safe, SameKind, Unsafe].into_iter().find(|c| c.name() == name)
    }
}

fn signed(size: usize) -> DType {
    match size {
        1 => DType::I8,
        2 => DType::I16,
        4 => DType::I32,
        _ => DType::I64,
    }
}

fn float(size: usize) -> DType {
    match size {
        2 => DType::F16,
        4 => DType::F32,
        _ => DType::F64,
    }
}

/// The float type that holds every value of an integer type, as NumPy picks it.
fn float_for_integer(d: DType) -> DType {
    match d.size() {
        1 => DType::F16,
        2 => DType::F32,
        _ => DType::F64,
    }
}

/// `numpy.promote_types`.
pub fn promote(a: DType, b: DType) -> DType {
    if a == b {
        return a;
    }
    let (lo, hi) = if a.kind() <= b.kind() { (a, b) } else { (b, a) };
    match (lo.kind(), hi.kind()) {
        (Kind::Bool, _) => hi,
        (x, y) if x == y => {
            if lo.size() >= hi.size() {
                lo
            } else {
                hi
            }
        }
        (Kind::Signed, Kind::Unsigned) => {
            if lo.size() > hi.size() {
                lo
            } else if hi.size() == 8 {
                DType::F64
            } else {
                signed(hi.size() * 2)
            }
        }
        (_, Kind::Float) => float(float_for_integer(lo).size().max(hi.size())),
        (Kind::Float, Kind::Complex) => complex(lo.size().max(hi.real().size())),
        _ => complex(float_for_integer(lo).size().max(hi.real().size())),
    }
}

fn complex(part: usize) -> DType {
    if part <= 4 { DType::C64 } else { DType::C128 }
}

/// The type that holds what several hold. Those that are not exact say how much they need before integers are added one
/// by one: all integers together may need more than any of them.
pub fn promote_all(dtypes: impl Iterator<Item = DType> + Clone) -> Option<DType> {
    let inexact = dtypes.clone().filter(|d| d.is_inexact());
    inexact.chain(dtypes.filter(|d| !d.is_inexact())).reduce(promote)
}

/// `numpy.can_cast`.
pub fn can_cast(from: DType, to: DType, casting: Casting) -> bool {
    match casting {
        Casting::Unsafe => true,
        Casting::No | Casting::Equiv => from == to,
        Casting::Safe => promote(from, to) == to,
        Casting::SameKind => {
            promote(from, to) == to || {
                let rank = |d: DType| match d.kind() {
                    Kind::Bool => 0,
                    Kind::Unsigned => 1,
                    Kind::Signed => 2,
                    Kind::Float => 3,
                    Kind::Complex => 4,
                };
                rank(from) <= rank(to) && from.kind() != Kind::Bool
            }
        }
    }
}

/// The type a weak Python number takes beside arrays whose common type is `strong`.
pub fn weak_dtype(weak: ArgType, strong: Option<DType>) -> DType {
    match (weak, strong) {
        (ArgType::Strong(d), _) => d,
        (ArgType::WeakInt, None | Some(DType::Bool)) => DType::I64,
        (ArgType::WeakInt, Some(d)) => d,
        (ArgType::WeakFloat, Some(d)) if d.is_inexact() => d.real(),
        (ArgType::WeakFloat, _) => DType::F64,
        (ArgType::WeakComplex, Some(d)) if d.is_inexact() => promote(d, DType::C64),
        (ArgType::WeakComplex, _) => DType::C128,
    }
}

/// `numpy.result_type` of arrays' types and Python numbers; `None` for no arguments.
pub fn result_type(args: &[ArgType]) -> Option<DType> {
    let strong = strong_type(args);
    let mut weak = args.iter().filter(|a| !matches!(a, ArgType::Strong(_)));
    let first = weak.next().map(|&w| weak_dtype(w, strong));
    let all = weak.fold(first, |acc, &w| acc.map(|d| promote(d, weak_dtype(w, strong))));
    match (strong, all) {
        (Some(s), Some(w)) => Some(promote(s, w)),
        (s, w) => s.or(w),
    }
}

/// The common type of the arrays: each beside the most general of them, and then those among each other.
fn strong_type(args: &[ArgType]) -> Option<DType> {
    // NumPy's numbers of the types are in the order of ours but for halves, which come last.
    let rank = |d: &DType| (*d == DType::F16, *d as u8);
    let strong = || {
        args.iter().filter_map(|a| match a {
            ArgType::Strong(d) => Some(*d),
            _ => None,
        })
    };
    let most = strong().max_by_key(rank)?;
    strong().map(|d| promote(most, d)).reduce(promote)
}

/// The first loop of `op` whose inputs the arguments cast to safely: NumPy's type resolution.
pub fn resolve(op: ScalarOp, args: &[ArgType]) -> Option<usize> {
    let strong = strong_type(args);
    let fits = |l: &Loop, weak_as: &dyn Fn(ArgType) -> DType| {
        args.iter().zip(l.ins()).all(|(&a, &want)| can_cast(weak_as(a), want, Casting::Safe))
    };
    let loops = op.loops();
    let beside = |a: ArgType| weak_dtype(a, strong);
    let alone = |a: ArgType| weak_dtype(a, None);
    loops.iter().position(|l| fits(l, &beside)).or_else(|| loops.iter().position(|l| fits(l, &alone)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_follows_numpy() {
        assert_eq!(promote(DType::I64, DType::U64), DType::F64);
        assert_eq!(promote(DType::U8, DType::I8), DType::I16);
        assert_eq!(promote(DType::I16, DType::F16), DType::F32);
        assert_eq!(promote(DType::I32, DType::C64), DType::C128);
        assert_eq!(promote(DType::U8, DType::C64), DType::C64);
        assert_eq!(promote(DType::F64, DType::C64), DType::C128);
        assert!(can_cast(DType::I64, DType::F32, Casting::SameKind));
        assert!(!can_cast(DType::F32, DType::I64, Casting::SameKind));
        assert!(!can_cast(DType::I8, DType::U8, Casting::SameKind));
    }

    #[test]
    fn several_types_are_promoted_beside_the_most_general() {
        let of = |types: [DType; 3]| result_type(&types.map(ArgType::Strong));
        assert_eq!(of([DType::U16, DType::I16, DType::F32]), Some(DType::F32));
        assert_eq!(of([DType::I8, DType::U16, DType::F16]), Some(DType::F32));
        assert_eq!(of([DType::U16, DType::I16, DType::C64]), Some(DType::C64));
        assert_eq!(of([DType::I64, DType::U64, DType::I8]), Some(DType::F64));
    }

    #[test]
    fn python_numbers_are_weak() {
        let l = resolve(ScalarOp::Add, &[ArgType::Strong(DType::F32), ArgType::WeakFloat]).unwrap();
        assert_eq!(ScalarOp::Add.loops()[l].ins(), [DType::F32, DType::F32]);
        let l = resolve(ScalarOp::Add, &[ArgType::Strong(DType::U8), ArgType::WeakInt]).unwrap();
        assert_eq!(ScalarOp::Add.loops()[l].ins(), [DType::U8, DType::U8]);
        let l = resolve(ScalarOp::Ldexp, &[ArgType::Strong(DType::F32), ArgType::WeakInt]).unwrap();
        assert_eq!(ScalarOp::Ldexp.loops()[l].ins(), [DType::F32, DType::I64]);
    }
}
