//! What a scalar operation is in CUDA C: its function, the sections of device code it needs, what it costs.

use numloom_ir::kernel::{Instr, Kernel, NO_REG, Target};
use numloom_ir::{DType, ScalarOp};

/// A file of device code. Kernels carry only the sections they need, so that NVRTC has little to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Section {
    Base,
    Number,
    Cast,
    Truth,
    Arithmetic,
    Compare,
    Integer,
    Floating,
    Elementary,
    Complex,
    ComplexFunctions,
    Fold,
}

/// In the order they must stand in a program.
const TEXTS: &[(Section, &str)] = &[
    (Section::Base, include_str!("device/base.cuh")),
    (Section::Number, include_str!("device/number.cuh")),
    (Section::Cast, include_str!("device/cast.cuh")),
    (Section::Truth, include_str!("device/truth.cuh")),
    (Section::Arithmetic, include_str!("device/arithmetic.cuh")),
    (Section::Compare, include_str!("device/compare.cuh")),
    (Section::Integer, include_str!("device/integer.cuh")),
    (Section::Floating, include_str!("device/floating.cuh")),
    (Section::Elementary, include_str!("device/elementary.cuh")),
    (Section::Complex, include_str!("device/complex.cuh")),
    (Section::ComplexFunctions, include_str!("device/complex_functions.cuh")),
    (Section::Fold, include_str!("device/fold.cuh")),
];

/// A set of sections, closed under what they build on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sections(u16);

impl Sections {
    pub fn base() -> Sections {
        Sections(1 << Section::Base as u8 | 1 << Section::Number as u8)
    }

    pub fn add(&mut self, section: Section) {
        self.0 |= 1 << section as u8;
        match section {
            Section::Compare => self.add(Section::Truth),
            Section::ComplexFunctions => self.add(Section::Complex),
            _ => {}
        }
    }

    pub fn join(&mut self, other: Sections) {
        self.0 |= other.0;
    }

    pub fn text(self) -> String {
        TEXTS.iter().filter(|(s, _)| self.0 & 1 << *s as u8 != 0).map(|(_, t)| *t).collect()
    }
}

/// The type of a register in CUDA C.
pub fn type_name(d: DType) -> &'static str {
    match d {
        DType::Bool => "bool",
        DType::I8 => "i8",
        DType::U8 => "u8",
        DType::I16 => "i16",
        DType::U16 => "u16",
        DType::I32 => "i32",
        DType::U32 => "u32",
        DType::I64 => "i64",
        DType::U64 => "u64",
        DType::F16 => "f16",
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::C64 => "c64",
        DType::C128 => "c128",
    }
}

/// The section that has the function of `op` for inputs of type `d`.
pub fn section_of(op: ScalarOp, d: DType) -> Section {
    use ScalarOp::*;
    match op {
        Add | Subtract | Multiply | Divide | Negative | Positive | Absolute | Fabs | Sign | Reciprocal | Square
        | Degrees | Radians | Deg2rad | Rad2deg | Conjugate | Rint | Floor | Ceil | Trunc => {
            if d.is_complex() {
                Section::Complex
            } else {
                Section::Arithmetic
            }
        }
        Sqrt if !d.is_complex() => Section::Arithmetic,
        FloorDivide | Remainder | Fmod | Divmod => {
            if d.is_inexact() {
                Section::Floating
            } else {
                Section::Integer
            }
        }
        Gcd | Lcm | BitwiseAnd | BitwiseOr | BitwiseXor | Invert | LeftShift | RightShift | BitwiseCount => {
            Section::Integer
        }
        Power if !d.is_inexact() => Section::Integer,
        Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | LogicalAnd | LogicalOr | LogicalXor
        | LogicalNot | Maximum | Minimum | Fmax | Fmin | Isfinite | Isinf | Isnan | Signbit => Section::Compare,
        Copysign | Nextafter | Spacing | Modf | Frexp | Ldexp | Heaviside => Section::Floating,
        _ if d.is_complex() => Section::ComplexFunctions,
        _ => Section::Elementary,
    }
}

/// Everything the kernel's instructions call.
pub fn sections_of(kernel: &Kernel) -> Sections {
    let mut all = Sections::base();
    for i in &kernel.instrs {
        match *i {
            Instr::Apply { op, lp, .. } => {
                if let Some(&d) = op.loops().get(lp as usize).and_then(|l| l.ins().first()) {
                    all.add(section_of(op, d));
                }
            }
            Instr::Cast { dst, src } => {
                let of = |r: u16| kernel.regs.get(r as usize).copied().unwrap_or(DType::F64);
                cast_sections(of(src), of(dst), &mut all);
            }
            _ => {}
        }
    }
    for t in &kernel.targets {
        all.add(Section::Fold);
        all.add(Section::Truth);
        all.add(section_of(t.op, accumulator(t)));
    }
    all
}

/// Whether a GPU computes every element just as the CPU does: nothing but operations that are exact or rounded right,
/// and no folds.
pub fn agrees_with_cpu(kernel: &Kernel) -> bool {
    let exact = |i: &Instr| match *i {
        Instr::Apply { op, lp, .. } => op.loops().get(lp as usize).is_some_and(|l| {
            let Some(&d) = l.ins().first() else { return false };
            let section = section_of(op, d);
            let constant = matches!(op, ScalarOp::Degrees | ScalarOp::Radians | ScalarOp::Deg2rad | ScalarOp::Rad2deg);
            !constant && !d.is_complex() && matches!(section, Section::Arithmetic | Section::Compare | Section::Integer)
        }),
        Instr::Iota { .. } | Instr::Reduce { .. } => false,
        _ => true,
    };
    kernel.targets.is_empty() && kernel.instrs.iter().all(exact)
}

/// What a cast expression between two types calls.
pub fn cast_sections(from: DType, to: DType, all: &mut Sections) {
    if to == DType::Bool {
        all.add(Section::Truth);
    } else if to.is_integer() && from.is_inexact() {
        all.add(Section::Cast);
    }
}

/// NumPy's unsafe cast of the expression `x` (a name, used more than once).
pub fn cast_expression(from: DType, to: DType, x: &str) -> String {
    let name = type_name(to);
    if from == to {
        return x.to_string();
    }
    if to == DType::Bool {
        return format!("truth({x})");
    }
    if from.is_complex() {
        return if to.is_complex() {
            let real = type_name(to.real());
            format!("pair(({real}){x}.re, ({real}){x}.im)")
        } else {
            cast_expression(from.real(), to, &format!("{x}.re"))
        };
    }
    if to.is_complex() {
        let real = to.real();
        return format!("pair({}, ({})0)", cast_expression(from, real, x), type_name(real));
    }
    match (from, to) {
        (DType::F64, DType::F16) => format!("narrow({x})"),
        (_, DType::F16) => format!("narrow((f32){x})"),
        (DType::F16, DType::U32) => format!("(u32)to_i64(widen({x}))"),
        (DType::F16, _) => cast_expression(DType::F32, to, &format!("widen({x})")),
        (DType::F32 | DType::F64, DType::I64) => format!("to_i64({x})"),
        (DType::F32 | DType::F64, DType::U32) => format!("to_u32({x})"),
        (DType::F32 | DType::F64, DType::U64) => format!("to_u64({x})"),
        (DType::F32 | DType::F64, d) if d.is_integer() => format!("({name})to_i32({x})"),
        _ => format!("({name}){x}"),
    }
}

/// A call of the operation's function.
pub fn call(op: ScalarOp, args: &[&str]) -> String {
    format!("nl_{}({})", op.name(), args.join(", "))
}

/// How lanes of float32 go through an operation that would have a branch for each of them.
#[derive(Clone, Copy)]
pub struct InLanes {
    /// All of them, with one branch.
    pub together: &'static str,
    /// One of them without any: right where it finds nothing unusual.
    pub plain: &'static str,
}

pub fn in_lanes(op: ScalarOp) -> Option<InLanes> {
    let (together, plain) = match op {
        ScalarOp::Divide => ("divide_lanes", "plain_quotient"),
        ScalarOp::Sqrt => ("sqrt_lanes", "plain_root"),
        ScalarOp::Log => ("log_lanes", "plain_log"),
        _ => return None,
    };
    Some(InLanes { together, plain })
}

/// The same for an instruction; `None` where it is of another type.
pub fn instr_in_lanes(kernel: &Kernel, i: &Instr) -> Option<InLanes> {
    let Instr::Apply { op, dst, .. } = *i else { return None };
    let of_singles = i.sources().chain(i.results()).all(|r| kernel.regs.get(r as usize) == Some(&DType::F32));
    if of_singles && dst[0] != NO_REG { in_lanes(op) } else { None }
}

/// Whether one branch does for all such instructions of a kernel: nothing is written before the last of them.
pub fn branches_once(kernel: &Kernel) -> bool {
    let last = kernel.instrs.iter().rposition(|i| instr_in_lanes(kernel, i).is_some());
    let written = kernel.instrs.iter().position(|i| matches!(i, Instr::Store { .. } | Instr::Reduce { .. }));
    last.is_some_and(|last| written.is_none_or(|first| last < first)) && kernel.targets.is_empty()
}

/// The type a reduction is carried in: sums of float32 in float64 and everything of float16 in float32, so that
/// the order of partial sums costs no digits; rounded once at the end.
pub fn accumulator(t: &Target) -> DType {
    use ScalarOp::*;
    let own = t.dtype();
    match (t.op, own) {
        (Add | Subtract, DType::F32) => DType::F64,
        (Add | Subtract, DType::C64) => DType::C128,
        (Add | Subtract | Multiply | Divide | Logaddexp | Logaddexp2 | Hypot, DType::F16) => DType::F32,
        _ => own,
    }
}

/// A value that changes nothing when folded in, for operations whose order of folding is free.
/// `None`: the operation is folded from the left, element by element.
pub fn neutral(t: &Target) -> Option<String> {
    use ScalarOp::*;
    let d = accumulator(t);
    let name = type_name(d);
    let part = |float: &str| match d {
        DType::C64 => format!("pair((f32){float}, (f32){float})"),
        DType::C128 => format!("pair((f64){float}, (f64){float})"),
        DType::F16 => format!("narrow((f32){float})"),
        _ => format!("({name}){float}"),
    };
    Some(match t.op {
        // Minus zero: plus zero would turn a sum of minus zeros positive.
        Add if d.is_inexact() => part("-0.0"),
        Add | BitwiseOr | BitwiseXor | Gcd | LogicalOr | LogicalXor => format!("({name})0"),
        Multiply if d.is_complex() => format!("pair(({0})1, ({0})0)", type_name(d.real())),
        Multiply | LogicalAnd => format!("({name})1"),
        BitwiseAnd if d == DType::Bool => "true".to_string(),
        BitwiseAnd => format!("({name})-1"),
        Hypot => format!("({name})0"),
        Maximum | Logaddexp | Logaddexp2 if d.is_inexact() => part("-inf_f64()"),
        Minimum if d.is_inexact() => part("inf_f64()"),
        Fmax | Fmin if d.is_inexact() => part("nan_f64()"),
        Maximum | Fmax if d == DType::Bool => "false".to_string(),
        Minimum | Fmin if d == DType::Bool => "true".to_string(),
        Maximum | Fmax => format!("num<{name}>::low()"),
        Minimum | Fmin => format!("num<{name}>::high()"),
        _ => return None,
    })
}

/// Instructions of one application, roughly; decides how many elements a thread unrolls.
pub fn cost(op: ScalarOp, d: DType) -> usize {
    use ScalarOp::*;
    let double = matches!(d, DType::F64 | DType::I64 | DType::U64 | DType::C128);
    match op {
        Divide | Sqrt | Reciprocal if d.is_complex() => 60,
        Divide | Sqrt | Reciprocal => {
            if double {
                25
            } else {
                10
            }
        }
        FloorDivide | Remainder | Fmod | Divmod => {
            if d.is_inexact() {
                120
            } else if double {
                80
            } else {
                25
            }
        }
        Exp if d == DType::F32 => 10,
        Log if d == DType::F32 => 20,
        Power | FloatPower | Gcd | Lcm => 150,
        Frexp | Ldexp | Modf | Spacing | Nextafter => 20,
        _ if section_of(op, d) == Section::ComplexFunctions => 40,
        _ if section_of(op, d) == Section::Elementary => {
            if double {
                80
            } else {
                30
            }
        }
        _ if d.is_complex() => 4,
        _ => 1,
    }
}
