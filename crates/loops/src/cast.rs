//! Conversions between element types, as NumPy's `astype` with unsafe casting.

use crate::element::{Bool, C64, C128, Element, Float, Half, complex};
use crate::half_runs::{narrow_fn, widen_fn};
use crate::isa::ISA;
use crate::map::{One, Style, one};
use crate::{BlockFn, FP_INVALID};
use numloom_ir::DType;
use std::marker::PhantomData;
use std::sync::LazyLock;

trait CastTo<T>: Element {
    const STYLE: Style;
    fn cast(self, flags: &mut u8) -> T;
}

struct Cast<T>(PhantomData<T>);

impl<A: CastTo<T>, T: Element> One<A> for Cast<T> {
    type Out = T;
    const STYLE: Style = A::STYLE;
    #[inline(always)]
    fn call(a: A, flags: &mut u8) -> T {
        a.cast(flags)
    }
}

macro_rules! cast {
    ($style:ident, [$($from:ty)*] -> $to:tt, |$a:ident, $flags:ident| $e:expr) => { $(cast!(@ $style, $from, $to, $a, $flags, $e);)* };
    (@ $style:ident, $from:ty, [$($to:ty)*], $a:ident, $flags:ident, $e:expr) => { $(
        impl CastTo<$to> for $from {
            const STYLE: Style = Style::$style;
            #[inline(always)]
            fn cast(self, $flags: &mut u8) -> $to {
                #[allow(dead_code)]
                type To = $to;
                let $a = self;
                $e
            }
        }
    )* };
}

cast!(Ieee, [i8 u8 i16 u16 i32 u32 i64 u64] -> [i8 u8 i16 u16 i32 u32 i64 u64 f32 f64], |a, _flags| a as To);
cast!(Ieee, [i8 u8 i16 u16 i32 u32 i64 u64] -> [Half], |a, flags| Half::narrow(a as f32, flags));
cast!(Ieee, [i8 u8 i16 u16 i32 u32 i64 u64] -> [Bool], |a, _flags| Bool::new(a != 0));

cast!(Ieee, [Bool] -> [i8 u8 i16 u16 i32 u32 i64 u64], |a, _flags| a.get() as To);
cast!(Ieee, [Bool] -> [f32 f64], |a, _flags| a.get() as u8 as To);
cast!(Ieee, [Bool] -> [Half], |a, _flags| Half(if a.get() { 0x3c00 } else { 0 }));
cast!(Ieee, [Bool] -> [Bool], |a, _flags| Bool::new(a.get()));

cast!(Ieee, [f32 f64] -> [f32 f64], |a, _flags| a as To);
cast!(Ieee, [f32] -> [Half], |a, flags| Half::narrow(a, flags));
cast!(Ieee, [f64] -> [Half], |a, flags| Half::narrow_f64(a, flags));
cast!(Ieee, [f32 f64] -> [Bool], |a, _flags| Bool::new(a != 0.0));
// x86 has instructions to signed 32 and 64 bits; compilers reach the other widths through them.
cast!(Quiet, [f32 f64] -> [i8 u8 i16 u16 i32], |a, flags| a.to_i32(flags) as To);
cast!(Quiet, [f32 f64] -> [i64], |a, flags| a.to_i64(flags));
// The unsigned half that has no instruction is moved down and its top bit put back.
cast!(Quiet, [f32 f64] -> [u32], |a, flags| {
    let high = a >= TWO_31 as _;
    let low = if high { a - TWO_31 as Self } else { a };
    low.to_i32(flags) as u32 ^ (high as u32) << 31
});
cast!(Quiet, [f32 f64] -> [u64], |a, flags| {
    let high = a >= TWO_63 as _;
    let low = if high { a - TWO_63 as Self } else { a };
    low.to_i64(flags) as u64 ^ (high as u64) << 63
});

cast!(Ieee, [Half] -> [Half], |a, _flags| a);
cast!(Ieee, [Half] -> [f32], |a, _flags| a.widen());
cast!(Ieee, [Half] -> [f64], |a, _flags| a.widen() as f64);
cast!(Ieee, [Half] -> [Bool], |a, _flags| Bool::new(!a.zero()));
cast!(Quiet, [Half] -> [i8 u8 i16 u16 i32 i64 u64], |a, flags| a.widen().cast(flags));
cast!(Quiet, [Half] -> [u32], |a, flags| a.widen().to_i64(flags) as u32);

cast!(Ieee, [Bool i8 u8 i16 u16 i32 u32 i64 u64 Half f32 f64] -> [C64], |a, flags| complex(a.cast(flags), 0.0));
cast!(Ieee, [Bool i8 u8 i16 u16 i32 u32 i64 u64 Half f32 f64] -> [C128], |a, flags| complex(a.cast(flags), 0.0));
cast!(Quiet, [C64 C128] -> [i8 u8 i16 u16 i32 u32 i64 u64], |a, flags| a.re.cast(flags));
cast!(Ieee, [C64 C128] -> [Half f32 f64], |a, flags| a.re.cast(flags));
cast!(Ieee, [C64 C128] -> [Bool], |a, _flags| Bool::new((a.re != 0.0) | (a.im != 0.0)));
cast!(Ieee, [C64 C128] -> [C64 C128], |a, flags| complex(a.re.cast(flags), a.im.cast(flags)));

const TWO_31: f64 = 2_147_483_648.0;
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Truncation as x86 does it: the lowest integer, and "invalid", for what is out of range.
trait Truncate: Float {
    fn to_i32(self, flags: &mut u8) -> i32;
    fn to_i64(self, flags: &mut u8) -> i64;
}

macro_rules! truncate {
    ($t:ty, $($name:ident $int:ty, $above:literal;)*) => {
        impl Truncate for $t { $(
            #[inline(always)]
            fn $name(self, flags: &mut u8) -> $int {
                let inside = (self > $above) & (self < -(<$int>::MIN as $t)) | (self == <$int>::MIN as $t);
                let safe = if inside { self } else { <$int>::MIN as $t };
                *flags |= if inside { 0 } else { FP_INVALID };
                // SAFETY: `safe` is above the lowest integer minus one and below the highest plus one.
                unsafe { safe.to_int_unchecked::<$int>() }
            }
        )* }
    };
}

truncate!(f32, to_i32 i32, -2147483648.0; to_i64 i64, -9223372036854775808.0;);
truncate!(f64, to_i32 i32, -2147483649.0; to_i64 i64, -9223372036854775808.0;);

static CASTS: LazyLock<[[BlockFn; DType::COUNT]; DType::COUNT]> = LazyLock::new(|| {
    macro_rules! rows {
        ($types:tt) => { rows!(@ $types $types) };
        (@ [$($from:ty)*] $to:tt) => { [$(rows!(row $from, $to)),*] };
        (row $from:ty, [$($to:ty)*]) => { [$(one::<$from, Cast<$to>>(*ISA)),*] };
    }
    let mut casts = rows!([Bool i8 u8 i16 u16 i32 u32 i64 u64 Half f32 f64 C64 C128]);
    let (half, single) = (DType::F16 as usize, DType::F32 as usize);
    casts[half][single] = widen_fn(*ISA, casts[half][single]);
    casts[single][half] = narrow_fn(*ISA, casts[single][half]);
    casts
});

/// The loop that converts `from` into `to`.
#[inline]
pub fn cast_fn(from: DType, to: DType) -> BlockFn {
    CASTS[from as usize][to as usize]
}
