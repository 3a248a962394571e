//! The elementary functions of `numloom-math`, as block loops: spreads values, passes binary16 through `f32`.

use crate::element::{Element, Half};
use crate::half_runs::{Room, narrowed, widened};
use crate::map::splat;
use crate::{BlockFn, FoldFn, In, block_fn};
use numloom_ir::{DType, ScalarOp};
use numloom_math::{Binary, Unary};
use std::sync::LazyLock;

/// A type that `numloom-math` has functions of.
pub(crate) trait Elementary: Element + PartialEq {
    const ZERO: Self;
    const TWO: Self;
    fn unary(op: u8) -> Unary<Self>;
    fn binary(op: u8) -> Binary<Self>;
}

macro_rules! elementary {
    ($t:ty, $unary:ident, $binary:ident) => {
        impl Elementary for $t {
            const ZERO: $t = 0.0;
            const TWO: $t = 2.0;

            #[inline]
            fn unary(op: u8) -> Unary<$t> {
                static FOUND: LazyLock<Vec<Option<Unary<$t>>>> =
                    LazyLock::new(|| ScalarOp::ALL.iter().map(|&op| numloom_math::$unary(op)).collect());
                FOUND[op as usize].expect("numloom-math has every elementary function")
            }

            #[inline]
            fn binary(op: u8) -> Binary<$t> {
                static FOUND: LazyLock<Vec<Option<Binary<$t>>>> =
                    LazyLock::new(|| ScalarOp::ALL.iter().map(|&op| numloom_math::$binary(op)).collect());
                FOUND[op as usize].expect("numloom-math has every elementary function")
            }
        }
    };
}

elementary!(f32, unary_f32, binary_f32);
elementary!(f64, unary_f64, binary_f64);

/// The input as a run: itself, or `room` filled with its one value.
#[inline(always)]
unsafe fn run_of<T: Element>(n: usize, input: In, room: &mut Room<T>) -> *const T {
    let ptr = input.ptr.cast::<T>();
    if input.step != 0 {
        return ptr;
    }
    splat(n, ptr.read_unaligned(), room.start());
    room.start()
}

pub(crate) unsafe fn unary<T: Elementary, const OP: u8>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, out) = (*ins, (*outs).cast::<T>());
    let function = T::unary(OP);
    if a.step != 0 {
        return function(n, a.ptr.cast(), out);
    }
    let mut value = a.ptr.cast::<T>().read_unaligned();
    let at = &raw mut value;
    let flags = function(1, at, at);
    splat(n, value, out);
    flags
}

pub(crate) unsafe fn binary<T: Elementary, const OP: u8>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, b, out) = (*ins, *ins.add(1), (*outs).cast::<T>());
    // A square is common, exact to half an ulp as a product, and far cheaper.
    if OP == ScalarOp::Power as u8 && b.step == 0 && b.ptr.cast::<T>().read_unaligned() == T::TWO {
        let product = block_fn(ScalarOp::Multiply, multiply_loop(T::DTYPE));
        return product(n, [a, a].as_ptr(), outs);
    }
    let mut room = Room::new();
    let function = T::binary(OP);
    match (a.step != 0, b.step != 0) {
        (true, true) => function(n, a.ptr.cast(), b.ptr.cast(), out),
        (true, false) => function(n, a.ptr.cast(), run_of(n, b, &mut room), out),
        (false, true) => function(n, run_of(n, a, &mut room), b.ptr.cast(), out),
        (false, false) => {
            let (x, y) = (a.ptr.cast::<T>().read_unaligned(), b.ptr.cast::<T>().read_unaligned());
            let mut value = x;
            let flags = function(1, &x, &y, &mut value);
            splat(n, value, out);
            flags
        }
    }
}

#[inline]
fn multiply_loop(dtype: DType) -> usize {
    static AT: LazyLock<[usize; DType::COUNT]> =
        LazyLock::new(|| DType::ALL.map(|d| ScalarOp::Multiply.loop_for(d).unwrap_or(0)));
    AT[dtype as usize]
}

pub(crate) unsafe fn unary_half<const OP: u8>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    static FOUND: LazyLock<Vec<Option<Unary<f32>>>> =
        LazyLock::new(|| ScalarOp::ALL.iter().map(|&op| numloom_math::unary_half(op)).collect());
    let function = FOUND[OP as usize].expect("numloom-math has every elementary function");
    let mut room = Room::<f32>::new();
    let one_value = widened(n, *ins, &mut room).step == 0;
    let run = room.start();
    let flags = function(if one_value { 1 } else { n }, run, run);
    if one_value {
        splat(n, run.read(), run);
    }
    flags | narrowed(n, &mut room, outs)
}

pub(crate) unsafe fn binary_half<const OP: u8>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (mut left, mut right, mut result) = (Room::new(), Room::new(), Room::<f32>::new());
    let wide = [widened(n, *ins, &mut left), widened(n, *ins.add(1), &mut right)];
    let out = result.start().cast::<u8>();
    binary::<f32, OP>(n, wide.as_ptr(), &out) | narrowed(n, &mut result, outs)
}

/// Folds by halves: for functions that do not mind the order.
pub(crate) unsafe fn fold_halves<T: Elementary, const OP: u8>(n: usize, input: In, out: *mut u8) -> u8 {
    let (mut room, function) = (Room::<T>::new(), T::binary(OP));
    let run = room.start();
    if input.step != 0 {
        std::ptr::copy_nonoverlapping(input.ptr, run.cast(), n * size_of::<T>());
    } else {
        splat(n, input.ptr.cast::<T>().read_unaligned(), run);
    }
    let (mut left, mut flags) = (n, 0);
    if n == 1 && OP == ScalarOp::Hypot as u8 {
        // The length of one negative number is positive.
        let zero = T::ZERO;
        flags |= function(1, run, &zero, run);
    }
    while left > 1 {
        let half = left / 2;
        flags |= function(half, run, run.add(left - half), run);
        left -= half;
    }
    out.cast::<T>().write_unaligned(run.read());
    flags
}

/// Folds from the left, one after another.
pub(crate) unsafe fn fold_left<T: Elementary, const OP: u8>(n: usize, input: In, out: *mut u8) -> u8 {
    let function = T::binary(OP);
    let mut so_far = input.ptr.cast::<T>().read_unaligned();
    let mut flags = 0;
    for i in 1..n {
        let next = input.ptr.add(i * input.step).cast::<T>();
        let at = &raw mut so_far;
        flags |= function(1, at, next, at);
    }
    out.cast::<T>().write_unaligned(so_far);
    flags
}

/// The binary16 forms of a fold over `f32`.
pub(crate) unsafe fn fold_half<const OP: u8, const HALVES: bool>(n: usize, input: In, out: *mut u8) -> u8 {
    let mut room = Room::<f32>::new();
    let wide = widened(n, input, &mut room);
    let mut result = 0f32;
    let at = (&raw mut result).cast();
    let flags = if HALVES { fold_halves::<f32, OP>(n, wide, at) } else { fold_left::<f32, OP>(n, wide, at) };
    let mut rounding = 0;
    out.cast::<Half>().write_unaligned(Half::narrow(result, &mut rounding));
    flags | rounding
}

macro_rules! tables {
    (unary [$($one:ident)*] halves [$($halves:ident)*] left [$($left:ident)*]) => {
        /// The loop of an elementary function whose arguments are all of `dtype`.
        pub(crate) fn loop_of(op: ScalarOp, dtype: DType) -> Option<BlockFn> {
            Some(match (op, dtype) {
                $((ScalarOp::$one, DType::F16) => unary_half::<{ ScalarOp::$one as u8 }>,
                (ScalarOp::$one, DType::F32) => unary::<f32, { ScalarOp::$one as u8 }>,
                (ScalarOp::$one, DType::F64) => unary::<f64, { ScalarOp::$one as u8 }>,)*
                $((ScalarOp::$halves, DType::F16) => binary_half::<{ ScalarOp::$halves as u8 }>,
                (ScalarOp::$halves, DType::F32) => binary::<f32, { ScalarOp::$halves as u8 }>,
                (ScalarOp::$halves, DType::F64) => binary::<f64, { ScalarOp::$halves as u8 }>,)*
                $((ScalarOp::$left, DType::F16) => binary_half::<{ ScalarOp::$left as u8 }>,
                (ScalarOp::$left, DType::F32) => binary::<f32, { ScalarOp::$left as u8 }>,
                (ScalarOp::$left, DType::F64) => binary::<f64, { ScalarOp::$left as u8 }>,)*
                (ScalarOp::FloatPower, DType::F64) => binary::<f64, { ScalarOp::Power as u8 }>,
                _ => return None,
            })
        }

        /// The fold of an elementary function of two arguments of `dtype`.
        pub(crate) fn fold_of(op: ScalarOp, dtype: DType) -> Option<FoldFn> {
            Some(match (op, dtype) {
                $((ScalarOp::$halves, DType::F16) => fold_half::<{ ScalarOp::$halves as u8 }, true>,
                (ScalarOp::$halves, DType::F32) => fold_halves::<f32, { ScalarOp::$halves as u8 }>,
                (ScalarOp::$halves, DType::F64) => fold_halves::<f64, { ScalarOp::$halves as u8 }>,)*
                $((ScalarOp::$left, DType::F16) => fold_half::<{ ScalarOp::$left as u8 }, false>,
                (ScalarOp::$left, DType::F32) => fold_left::<f32, { ScalarOp::$left as u8 }>,
                (ScalarOp::$left, DType::F64) => fold_left::<f64, { ScalarOp::$left as u8 }>,)*
                (ScalarOp::FloatPower, DType::F64) => fold_left::<f64, { ScalarOp::Power as u8 }>,
                _ => return None,
            })
        }
    };
}

tables! {
    unary [Cbrt Exp Exp2 Expm1 Log Log2 Log10 Log1p Sin Cos Tan Arcsin Arccos Arctan Sinh Cosh Tanh Arcsinh Arccosh Arctanh]
    halves [Hypot Logaddexp Logaddexp2]
    left [Power Arctan2 Fmod]
}
