//! What a sort moves instead of elements: integers in the order of the elements where there are such, with
//! the place packed in below for `argsort`; else the elements themselves.

use crate::division::Divided;
use crate::element::{Complex32, Complex64, Element, Truth};
use crate::merge::{Becomes, Record};
use crate::quicksort;
use half::f16;

/// Turns elements into records and sorted records into answers.
pub(crate) trait Codec {
    type Element: Copy;
    type Record: Record;
    type Answer: Copy;
    fn encode(element: Self::Element, place: usize) -> Self::Record;
    fn answer(record: Self::Record) -> Self::Answer;
}

/// Records with an integer in their order, equal exactly for those that sort as equal.
pub(crate) trait Ranked: Codec {
    fn rank(record: Self::Record) -> i64;

    /// Whether all records of the same rank are the same, so that nobody can tell in which order they are.
    fn is_alike(_record: Self::Record) -> bool {
        false
    }
}

/// Elements that have an integer of their own size in the same order.
pub(crate) trait Keyed: Element {
    type Key: Divided;
    /// Whether all that sorts as equal is the same.
    const DISTINCT: bool;
    fn key(self) -> Self::Key;
    fn from_key(key: Self::Key) -> Self;
    /// As the key, but equal for all that sorts as equal: zeros of both signs, NaNs of all kinds. Fits 32 bits
    /// for elements of up to four bytes.
    fn rank_of(key: Self::Key) -> i64;

    /// Whether everything that sorts as equal has this key.
    fn is_alone(key: Self::Key) -> bool;

    #[inline(always)]
    fn rank(self) -> i64 {
        Self::rank_of(self.key())
    }

    /// An element of that rank.
    fn of_rank(rank: i64) -> Self;

    /// A number in the same order, which may be the same for neighbours.
    fn to_f64(self) -> f64;
}

macro_rules! keyed_integers {
    ($($t:ty, $k:ty, $flip:expr;)*) => {$(
        impl Keyed for $t {
            type Key = $k;
            const DISTINCT: bool = true;
            #[inline(always)]
            fn key(self) -> $k { (self ^ $flip) as $k }
            #[inline(always)]
            fn from_key(key: $k) -> $t { key as $t ^ $flip }
            #[inline(always)]
            fn rank_of(key: $k) -> i64 { key as i64 }
            #[inline(always)]
            fn is_alone(_: $k) -> bool { true }
            #[inline(always)]
            fn of_rank(rank: i64) -> $t { <$t>::from_key(rank as $k) }
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
        }
    )*};
}
keyed_integers! {
    i8, i8, 0; i16, i16, 0; i32, i32, 0; i64, i64, 0;
    u8, i8, 1 << 7; u16, i16, 1 << 15; u32, i32, 1 << 31; u64, i64, 1 << 63;
}

macro_rules! keyed_floats {
    ($($t:ty, $k:ty;)*) => {$(
        impl Keyed for $t {
            type Key = $k;
            const DISTINCT: bool = false;
            /// Negative floats have their magnitude inverted; NaNs lose their sign, which puts them last.
            #[inline(always)]
            fn key(self) -> $k {
                let bits = self.to_bits() as $k;
                let bits = if self.is_nan() { bits & <$k>::MAX } else { bits };
                bits ^ ((bits >> (<$k>::BITS - 1)) & <$k>::MAX)
            }
            #[inline(always)]
            fn from_key(key: $k) -> $t { <$t>::from_bits((key ^ ((key >> (<$k>::BITS - 1)) & <$k>::MAX)) as _) }
            #[inline(always)]
            fn rank_of(key: $k) -> i64 {
                // The key of -0.0 is -1; what is above infinity is NaN.
                (key + (key == -1) as $k).min(<$t>::INFINITY.to_bits() as $k + 1) as i64
            }
            #[inline(always)]
            fn is_alone(key: $k) -> bool { (key != 0) & (key != -1) & (key <= <$t>::INFINITY.to_bits() as $k) }
            #[inline(always)]
            fn of_rank(rank: i64) -> $t {
                if rank > <$t>::INFINITY.to_bits() as i64 { <$t>::NAN } else { <$t>::from_key(rank as $k) }
            }
            #[inline(always)]
            fn to_f64(self) -> f64 { f64::from(self) }
        }
    )*};
}
keyed_floats! { f16, i16; f32, i32; f64, i64; }

impl Keyed for Truth {
    type Key = i8;
    const DISTINCT: bool = true;
    #[inline(always)]
    fn key(self) -> i8 {
        self.truth() as i8
    }
    #[inline(always)]
    fn from_key(key: i8) -> Truth {
        Truth(key as u8)
    }
    #[inline(always)]
    fn rank_of(key: i8) -> i64 {
        key as i64
    }
    #[inline(always)]
    fn is_alone(_: i8) -> bool {
        true
    }
    #[inline(always)]
    fn of_rank(rank: i64) -> Truth {
        Truth(rank as u8)
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.truth() as u8 as f64
    }
}

/// Values through their keys. Zeros of different sign have different keys: a stable sort goes by ranks.
pub(crate) struct Keys<T>(T);

impl<T: Keyed> Codec for Keys<T> {
    type Element = T;
    type Record = T::Key;
    type Answer = T;
    #[inline(always)]
    fn encode(element: T, _: usize) -> T::Key {
        element.key()
    }
    #[inline(always)]
    fn answer(record: T::Key) -> T {
        T::from_key(record)
    }
}

impl<T: Keyed> Ranked for Keys<T> {
    #[inline(always)]
    fn rank(record: T::Key) -> i64 {
        T::rank_of(record)
    }

    #[inline(always)]
    fn is_alike(record: T::Key) -> bool {
        T::is_alone(record)
    }
}

/// Values as they are.
pub(crate) struct Plain<T>(T);

impl<T: Record> Codec for Plain<T> {
    type Element = T;
    type Record = T;
    type Answer = T;
    #[inline(always)]
    fn encode(element: T, _: usize) -> T {
        element
    }
    #[inline(always)]
    fn answer(record: T) -> T {
        record
    }
}

/// Places of elements of up to four bytes in lanes of less than 2^32: all in 64 bits.
pub(crate) struct ShortPlaces<T>(T);

impl<T: Keyed> Codec for ShortPlaces<T> {
    type Element = T;
    type Record = i64;
    type Answer = i64;
    #[inline(always)]
    fn encode(element: T, place: usize) -> i64 {
        (element.rank() << 32) | place as i64
    }
    #[inline(always)]
    fn answer(record: i64) -> i64 {
        record as u32 as i64
    }
}

impl<T: Keyed> Ranked for ShortPlaces<T> {
    #[inline(always)]
    fn rank(record: i64) -> i64 {
        record >> 32
    }
}

/// Places of any other elements that have keys.
pub(crate) struct LongPlaces<T>(T);

impl<T: Keyed> Codec for LongPlaces<T> {
    type Element = T;
    type Record = i128;
    type Answer = i64;
    #[inline(always)]
    fn encode(element: T, place: usize) -> i128 {
        ((element.rank() as i128) << 64) | place as i128
    }
    #[inline(always)]
    fn answer(record: i128) -> i64 {
        record as i64
    }
}

impl<T: Keyed> Ranked for LongPlaces<T> {
    #[inline(always)]
    fn rank(record: i128) -> i64 {
        (record >> 64) as i64
    }
}

/// Places of complex numbers.
pub(crate) struct PairPlaces<T>(T);

#[derive(Clone, Copy)]
pub(crate) struct Pair<T>(T, usize);

impl<T: Element> Codec for PairPlaces<T> {
    type Element = T;
    type Record = Pair<T>;
    type Answer = i64;
    fn encode(element: T, place: usize) -> Pair<T> {
        Pair(element, place)
    }
    fn answer(record: Pair<T>) -> i64 {
        record.1 as i64
    }
}

impl<T: Element> Record for Pair<T> {
    #[inline(always)]
    fn less(&self, other: &Self) -> bool {
        self.0.sorts_before(other.0) || (!other.0.sorts_before(self.0) && self.1 < other.1)
    }
    fn sort(run: &mut [Self], _stable: bool) {
        // Places make all records different, so that every sort of them is stable.
        run.sort_unstable_by(Record::compare);
    }
}

macro_rules! element_records {
    ($($t:ty),*) => {$(
        impl Record for $t {
            #[inline(always)]
            fn less(&self, other: &Self) -> bool { self.sorts_before(*other) }
            fn sort(run: &mut [Self], stable: bool) {
                if stable { run.sort_by(Record::compare) } else { run.sort_unstable_by(Record::compare) }
            }
        }
    )*};
}
element_records!(Complex32, Complex64);

/// Equal integers cannot be told apart: every sort of them is stable.
macro_rules! integer_records {
    ($($t:ty, $sort:expr $(, $sort_as:expr)?;)*) => {$(
        impl Record for $t {
            #[inline(always)]
            fn less(&self, other: &Self) -> bool { self < other }
            fn sort(run: &mut [Self], _stable: bool) { $sort(run) }
            $(unsafe fn sort_as(run: &mut [Self], becomes: Becomes<Self>) { $sort_as(run, becomes) })?
        }
    )*};
}
integer_records! {
    i8, quicksort::count_8;
    i16, quicksort::count_16;
    i32, quicksort::sort_32;
    i64, quicksort::sort_64, quicksort::sort_64_as;
    i128, <[i128]>::sort_unstable;
}

/// Runs `$body` with `$T` naming the Rust type of a dtype that has keys, or `$other` for one that has none.
macro_rules! with_keyed {
    ($dtype:expr, $T:ident => $body:expr, $other:expr) => {
        $crate::sort_key::with_keyed!(@arms $dtype, $T, $body, $other;
            Bool $crate::element::Truth, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64,
            F16 half::f16, F32 f32, F64 f64)
    };
    (@arms $dtype:expr, $T:ident, $body:expr, $other:expr; $($d:ident $t:ty),*) => {
        match $dtype {
            $(numloom_ir::DType::$d => {
                type $T = $t;
                $body
            })*
            numloom_ir::DType::C64 | numloom_ir::DType::C128 => $other,
        }
    };
}
pub(crate) use with_keyed;
