//! Which loop belongs to which row of the operation table.

use crate::cast::cast_fn;
use crate::element::{Bool, C64, C128, Element, Half};
use crate::float_division::divide_fn;
use crate::fold::{
    All, Any, Extreme, Factor, Odd, any_order, extreme, half_in_f32, left, left_from_zero, logic, product,
};
use crate::half_runs::through_f32;
use crate::integer_division::long_fn;
use crate::integer_power::power_fn;
use crate::isa::{ISA, Isa};
use crate::map::{One, OneToTwo, Two, TwoToTwo, one, one_with_two, two, two_with_two};
use crate::scaling::{ldexp_fn, ldexp_half};
use crate::{BlockFn, FoldFn, complex, elementary, float_division, kernels};
use numloom_ir::{DType, ScalarOp};
use std::sync::LazyLock;

/// No operation has more dtype loops than this.
const MOST_LOOPS: usize = 16;
const OPS: usize = ScalarOp::ALL.len();

struct Table {
    isa: Isa,
    blocks: Vec<[Option<BlockFn>; MOST_LOOPS]>,
    folds: Vec<[Option<FoldFn>; MOST_LOOPS]>,
}

impl Table {
    fn loop_index(op: ScalarOp, ins: &[DType], outs: &[DType]) -> usize {
        op.loops()
            .iter()
            .position(|l| l.ins() == ins && l.outs() == outs)
            .unwrap_or_else(|| panic!("{} has no loop {ins:?} -> {outs:?}", op.name()))
    }

    fn set(&mut self, op: ScalarOp, ins: &[DType], outs: &[DType], function: BlockFn) {
        self.blocks[op as usize][Table::loop_index(op, ins, outs)] = Some(function);
    }

    fn set_fold(&mut self, op: ScalarOp, dtype: DType, function: FoldFn) {
        let lp = op.loop_for(dtype).unwrap_or_else(|| panic!("{} has no loop for {dtype}", op.name()));
        self.folds[op as usize][lp] = Some(function);
    }

    /// Where a row has no loop or fold of its own, takes that of another.
    fn borrow(&mut self, op: ScalarOp, dtype: DType, (lender, lent): (ScalarOp, DType)) {
        let (Some(lp), Some(from)) = (op.loop_for(dtype), lender.loop_for(lent)) else { return };
        let (block, fold) = (self.blocks[lender as usize][from], self.folds[lender as usize][from]);
        let own = &mut self.blocks[op as usize][lp];
        *own = own.or(block);
        let own = &mut self.folds[op as usize][lp];
        *own = own.or(fold);
    }

    fn one<A: Element, K: One<A>>(&mut self, op: ScalarOp) {
        self.set(op, &[A::DTYPE], &[K::Out::DTYPE], one::<A, K>(self.isa));
    }

    fn two<A: Element, B: Element, K: Two<A, B>>(&mut self, op: ScalarOp) {
        self.set(op, &[A::DTYPE, B::DTYPE], &[K::Out::DTYPE], two::<A, B, K>(self.isa));
    }

    fn one_to_two<A: Element, K: OneToTwo<A>>(&mut self, op: ScalarOp) {
        self.set(op, &[A::DTYPE], &[K::First::DTYPE, K::Second::DTYPE], one_with_two::<A, K>(self.isa));
    }

    fn two_to_two<A: Element, K: TwoToTwo<A>>(&mut self, op: ScalarOp) {
        self.set(op, &[A::DTYPE; 2], &[A::DTYPE; 2], two_with_two::<A, K>(self.isa));
    }

    fn fold_any_order<T: Element, K: Two<T, T, Out = T>>(&mut self, op: ScalarOp) {
        self.set_fold(op, T::DTYPE, any_order::<T, K>(self.isa));
    }

    fn fold_product<T: Factor, K: Two<T, T, Out = T>>(&mut self, op: ScalarOp) {
        self.set_fold(op, T::DTYPE, product::<T, K>(self.isa));
    }

    fn fold_extreme<T: Element, K: Extreme<T>>(&mut self, op: ScalarOp) {
        self.set_fold(op, T::DTYPE, extreme::<T, K>(self.isa));
    }

    fn fold_left_from_zero<T: Element + Default, K: Two<T, T, Out = T>>(&mut self, op: ScalarOp) {
        self.set_fold(op, T::DTYPE, left_from_zero::<T, K>);
    }

    fn fold_left<T: Element, K: Two<T, T, Out = T>>(&mut self, op: ScalarOp) {
        self.set_fold(op, T::DTYPE, left::<T, K>);
    }
}

/// `rows!(table, method, [Op Op=Kernel ...] x types)`: every operation in every type of the named list.
macro_rules! rows {
    ($table:ident, $method:ident, [$($op:ident $(= $kernel:ident)?)*], $types:tt) => {
        $(rows!(@op $table, $method, $op, ($($kernel)? $op), $types);)*
    };
    (@op $table:ident, $method:ident, $op:ident, ($kernel:ident $($rest:ident)?), [$($t:ty)*]) => {
        $(rows!(@call $table, $method, $op, $kernel, $t);)*
    };
    (@call $table:ident, two, $op:ident, $kernel:ident, $t:ty) => {
        $table.two::<$t, $t, kernels::$kernel>(ScalarOp::$op)
    };
    (@call $table:ident, $method:ident, $op:ident, $kernel:ident, $t:ty) => {
        $table.$method::<$t, kernels::$kernel>(ScalarOp::$op)
    };
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut t = Table { isa: *ISA, blocks: vec![[None; MOST_LOOPS]; OPS], folds: vec![[None; MOST_LOOPS]; OPS] };
    arithmetic(&mut t);
    comparison(&mut t);
    bits_and_integers(&mut t);
    floating(&mut t);
    elementary_functions(&mut t);
    float_division(&mut t);
    halves_through_f32(&mut t);
    integer_division(&mut t);
    folds(&mut t);
    shared(&mut t);
    t
});

fn arithmetic(t: &mut Table) {
    rows!(t, two, [Add Multiply Maximum Minimum], [Bool]);
    rows!(t, two, [Add Subtract Multiply], [u8 u16 u32 u64 Half f32 f64 C64 C128]);
    rows!(t, two, [Maximum Minimum], [i8 u8 i16 u16 i32 u32 i64 u64 Half f32 f64 C64 C128]);
    rows!(t, two, [Fmax Fmin], [Half f32 f64 C64 C128]);
    macro_rules! powers {
        ($($t:ty)*) => { $(t.set(ScalarOp::Power, &[<$t>::DTYPE; 2], &[<$t>::DTYPE], power_fn::<$t>(t.isa));)* };
    }
    powers!(i8 u8 i16 u16 i32 u32 i64 u64);
    rows!(t, two, [Divide], [Half f32 f64 C64 C128]);
    rows!(t, two, [FloorDivide Remainder], [i8 u8 i16 u16 i32 u32 i64 u64 Half f32 f64]);
    rows!(t, two, [Fmod], [i8 u8 i16 u16 i32 u32 i64 u64]);
    rows!(t, two_to_two, [Divmod], [i8 u8 i16 u16 i32 u32 i64 u64 Half f32 f64]);
    rows!(t, one, [Negative Square], [u8 u16 u32 u64 Half f32 f64 C64 C128]);
    rows!(t, one, [Sign Reciprocal], [i8 u8 i16 u16 i32 u32 i64 u64 Half f32 f64 C64 C128]);
    rows!(t, one, [Conjugate], [C64 C128]);
    rows!(t, one, [Absolute], [i8 i16 i32 i64 Half f32 f64 C64 C128]);
    rows!(t, one, [Floor Ceil Trunc], [Half f32 f64]);
}

fn comparison(t: &mut Table) {
    rows!(t, two, [Less LessEqual Greater GreaterEqual],
        [Bool i8 u8 i16 u16 i32 u32 i64 u64 Half f32 f64 C64 C128]);
    rows!(t, two, [Equal NotEqual LogicalAnd LogicalOr LogicalXor], [Bool u8 u16 u32 u64 Half f32 f64 C64 C128]);
    rows!(t, one, [LogicalNot], [Bool u8 u16 u32 u64 Half f32 f64 C64 C128]);
    rows!(t, one, [Isfinite Isinf Isnan], [u8 u16 u32 u64 Half f32 f64 C64 C128]);
    macro_rules! mixed {
        ($($op:ident)*) => { $(
            t.two::<i64, u64, kernels::$op>(ScalarOp::$op);
            t.two::<u64, i64, kernels::$op>(ScalarOp::$op);
        )* };
    }
    mixed!(Equal NotEqual Less LessEqual Greater GreaterEqual);
}

fn bits_and_integers(t: &mut Table) {
    rows!(t, two, [BitwiseAnd BitwiseOr BitwiseXor], [Bool u8 u16 u32 u64]);
    rows!(t, one, [Invert], [Bool u8 u16 u32 u64]);
    rows!(t, two, [LeftShift RightShift Gcd Lcm], [i8 u8 i16 u16 i32 u32 i64 u64]);
    rows!(t, one, [BitwiseCount], [i8 u8 i16 u16 i32 u32 i64 u64]);
}

/// Rows whose loop is that of another row, filled after all others.
fn shared(t: &mut Table) {
    use DType::*;
    let signed = [(I8, U8), (I16, U16), (I32, U32), (I64, U64)];
    for &op in ScalarOp::ALL {
        for dtype in DType::ALL.into_iter().filter(|&d| op.loop_for(d).is_some()) {
            let lender = match op {
                ScalarOp::Fmax if dtype < F16 => (ScalarOp::Maximum, dtype),
                ScalarOp::Fmin if dtype < F16 => (ScalarOp::Minimum, dtype),
                ScalarOp::Isfinite | ScalarOp::Isinf | ScalarOp::Isnan if dtype == Bool => (op, U8),
                _ => (op, signed.iter().find(|s| s.0 == dtype).map_or(dtype, |s| s.1)),
            };
            t.borrow(op, dtype, lender);
        }
    }
    let copies =
        [ScalarOp::Positive, ScalarOp::Conjugate, ScalarOp::Absolute, ScalarOp::Floor, ScalarOp::Ceil, ScalarOp::Trunc];
    for op in copies {
        for dtype in DType::ALL {
            if let Some(lp) = op.loop_for(dtype) {
                t.blocks[op as usize][lp].get_or_insert(cast_fn(dtype, dtype));
            }
        }
    }
}

fn floating(t: &mut Table) {
    rows!(t, one, [Fabs Degrees Radians Deg2rad = Radians Rad2deg = Degrees Signbit Spacing], [Half f32 f64]);
    rows!(t, one, [Sqrt], [Half f32 f64]);
    rows!(t, one, [Rint], [Half f32 f64 C64 C128]);
    rows!(t, two, [Copysign Nextafter Heaviside], [Half f32 f64]);
    rows!(t, one_to_two, [Modf Frexp], [Half f32 f64]);
    macro_rules! ldexp {
        ($($t:ty)*) => { $(
            t.two::<$t, i32, kernels::Ldexp>(ScalarOp::Ldexp);
            t.two::<$t, i64, kernels::Ldexp>(ScalarOp::Ldexp);
        )* };
    }
    ldexp!(f32 f64);
    macro_rules! quicker {
        ($($t:ty, $b:ty;)*) => { $(
            t.set(ScalarOp::Ldexp, &[<$t>::DTYPE, <$b>::DTYPE], &[<$t>::DTYPE], ldexp_fn::<$t, $b>(t.isa));
        )* };
    }
    quicker! {
        f32, i32;
        f32, i64;
        f64, i32;
        f64, i64;
    }
    t.set(ScalarOp::Ldexp, &[DType::F16, DType::I32], &[DType::F16], ldexp_half::<i32>);
    t.set(ScalarOp::Ldexp, &[DType::F16, DType::I64], &[DType::F16], ldexp_half::<i64>);
}

fn elementary_functions(t: &mut Table) {
    for &op in complex::FUNCTIONS {
        t.set(op, &[DType::C64], &[DType::C64], complex::function::<C64>(op, t.isa));
        t.set(op, &[DType::C128], &[DType::C128], complex::function::<C128>(op, t.isa));
    }
    let double = complex::power_fn::<C128>(t.isa);
    t.set(ScalarOp::Power, &[DType::C64; 2], &[DType::C64], complex::power_fn::<C64>(t.isa));
    t.set(ScalarOp::Power, &[DType::C128; 2], &[DType::C128], double);
    t.set(ScalarOp::FloatPower, &[DType::C128; 2], &[DType::C128], double);
    for &op in ScalarOp::ALL {
        for dtype in [DType::F16, DType::F32, DType::F64] {
            if let Some(function) = elementary::loop_of(op, dtype) {
                t.set(op, &[dtype; 2][..op.nin()], &[dtype], function);
            }
            if let Some(function) = elementary::fold_of(op, dtype) {
                t.set_fold(op, dtype, function);
            }
        }
    }
}

/// Replaces the loops by `fmod` where vectors are quicker.
fn float_division(t: &mut Table) {
    macro_rules! parts {
        ($($op:ident $wanted:ident;)*) => { $(parts!(@ $op $wanted f32); parts!(@ $op $wanted f64);)* };
        (@ $op:ident $wanted:ident $t:ty) => {
            let lp = ScalarOp::$op.loop_for(<$t>::DTYPE).expect("a loop of floats");
            let entry = &mut t.blocks[ScalarOp::$op as usize][lp];
            *entry = entry.map(|by_fmod| divide_fn::<$t, float_division::$wanted>(t.isa, by_fmod));
        };
    }
    parts! {
        FloorDivide Floor;
        Remainder Remainder;
        Fmod Truncated;
        Divmod Both;
    }
}

/// Loops of binary16 that are quicker through those of `f32`, a run at a time.
fn halves_through_f32(t: &mut Table) {
    macro_rules! through {
        ($($op:ident $outs:literal;)*) => { $(
            let halves = [DType::F16; 2];
            t.set(ScalarOp::$op, &halves, &halves[..$outs], through_f32::<{ ScalarOp::$op as u8 }, $outs>);
        )* };
    }
    through! {
        FloorDivide 1;
        Remainder 1;
        Divmod 2;
    }
}

/// Replaces the loops that divide 64 bits one by one where vectors are quicker.
fn integer_division(t: &mut Table) {
    macro_rules! parts {
        ($($op:ident)*) => { $(parts!(@ $op i64); parts!(@ $op u64);)* };
        (@ $op:ident $t:ty) => {
            let lp = ScalarOp::$op.loop_for(<$t>::DTYPE).expect("a loop of integers");
            let entry = &mut t.blocks[ScalarOp::$op as usize][lp];
            *entry = entry.map(|by_division| long_fn::<$t, kernels::$op>(t.isa, by_division));
        };
    }
    parts!(FloorDivide Remainder Fmod Divmod);
}

fn folds(t: &mut Table) {
    rows!(t, fold_any_order, [Add], [Bool u8 u16 u32 u64 f32 f64 C64 C128]);
    rows!(t, fold_any_order, [Multiply], [Bool u8 u16 u32 u64]);
    rows!(t, fold_product, [Multiply], [f32 f64 C64 C128]);
    rows!(t, fold_any_order, [Maximum Minimum], [Bool i8 u8 i16 u16 i32 u32 i64 u64 Half C64 C128]);
    rows!(t, fold_any_order, [Fmax Fmin], [Half C64 C128]);
    rows!(t, fold_extreme, [Maximum Minimum Fmax Fmin], [f32 f64]);
    rows!(t, fold_any_order, [BitwiseAnd BitwiseOr BitwiseXor], [Bool u8 u16 u32 u64]);
    rows!(t, fold_left_from_zero, [Gcd], [i8 u8 i16 u16 i32 u32 i64 u64]);
    rows!(t, fold_left, [Lcm Power FloorDivide Remainder Fmod LeftShift RightShift], [i8 u8 i16 u16 i32 u32 i64 u64]);
    rows!(t, fold_left, [Power], [C64 C128]);
    rows!(t, fold_left, [FloatPower = Power], [C128]);
    rows!(t, fold_left, [Subtract], [u8 u16 u32 u64 f32 f64 C64 C128]);
    rows!(t, fold_left, [Divide], [f32 f64 C64 C128]);
    rows!(t, fold_left, [FloorDivide Remainder Copysign Nextafter Heaviside], [Half f32 f64]);
    rows!(t, fold_left, [Equal NotEqual Less LessEqual Greater GreaterEqual], [Bool]);
    macro_rules! halves {
        ($($op:ident)*) => { $(t.set_fold(ScalarOp::$op, DType::F16, half_in_f32::<{ ScalarOp::$op as u8 }>);)* };
    }
    halves!(Add Subtract Multiply Divide);
    macro_rules! truths {
        ($($ty:ty)*) => { $(
            t.set_fold(ScalarOp::LogicalAnd, <$ty>::DTYPE, logic::<$ty, All>(t.isa));
            t.set_fold(ScalarOp::LogicalOr, <$ty>::DTYPE, logic::<$ty, Any>(t.isa));
            t.set_fold(ScalarOp::LogicalXor, <$ty>::DTYPE, logic::<$ty, Odd>(t.isa));
        )* };
    }
    truths!(Bool u8 u16 u32 u64 Half f32 f64 C64 C128);
}

/// The loop of `op.loops()[lp]`.
#[inline]
pub fn block_fn(op: ScalarOp, lp: usize) -> BlockFn {
    TABLE.blocks[op as usize][lp].expect("every row of the operation table has its loop")
}

/// The fold of `op.loops()[lp]`: for loops that take two of a type and give one, and for the logical
/// operations, which give a bool of any type.
#[inline]
pub fn fold_fn(op: ScalarOp, lp: usize) -> Option<FoldFn> {
    TABLE.folds[op as usize][lp]
}
