//! Element types as Rust types: order, arithmetic and casts as NumPy defines them.

use half::f16;
pub use num_complex::{Complex32, Complex64};
use numloom_ir::DType;

/// A bool byte. Foreign memory may hold any non-zero byte for true, so it is not a Rust `bool`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Truth(pub u8);

impl PartialEq for Truth {
    #[inline(always)]
    fn eq(&self, other: &Truth) -> bool {
        (self.0 != 0) == (other.0 != 0)
    }
}

/// One of the fourteen element types.
pub trait Element: Copy + Send + Sync + PartialEq + 'static {
    const DTYPE: DType;
    const ZERO: Self;

    /// Addition as NumPy's `add`: integers wrap, bools are or'ed.
    fn add(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn is_nan(self) -> bool;
    /// Numeric order without NaN rules (complex: lexicographic).
    fn below(self, b: Self) -> bool;
    /// NumPy's sorting order: like `below`, with NaNs after everything else.
    fn sorts_before(self, b: Self) -> bool;
    fn truth(self) -> bool;

    #[inline(always)]
    fn lesser(self, b: Self) -> Self {
        if self.is_nan() || !(b.below(self) || b.is_nan()) { self } else { b }
    }

    #[inline(always)]
    fn greater(self, b: Self) -> Self {
        if self.is_nan() || !(self.below(b) || b.is_nan()) { self } else { b }
    }
}

macro_rules! integers {
    ($($t:ty, $d:ident;)*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            const ZERO: Self = 0;
            #[inline(always)]
            fn add(self, b: Self) -> Self { self.wrapping_add(b) }
            #[inline(always)]
            fn mul(self, b: Self) -> Self { self.wrapping_mul(b) }
            #[inline(always)]
            fn is_nan(self) -> bool { false }
            #[inline(always)]
            fn below(self, b: Self) -> bool { self < b }
            #[inline(always)]
            fn sorts_before(self, b: Self) -> bool { self < b }
            #[inline(always)]
            fn truth(self) -> bool { self != 0 }
        }
    )*};
}
integers! { i8, I8; u8, U8; i16, I16; u16, U16; i32, I32; u32, U32; i64, I64; u64, U64; }

macro_rules! floats {
    ($($t:ty, $d:ident, $zero:expr;)*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            const ZERO: Self = $zero;
            #[inline(always)]
            fn add(self, b: Self) -> Self { self + b }
            #[inline(always)]
            fn mul(self, b: Self) -> Self { self * b }
            #[inline(always)]
            fn is_nan(self) -> bool { <$t>::is_nan(self) }
            #[inline(always)]
            fn below(self, b: Self) -> bool { self < b }
            #[inline(always)]
            fn sorts_before(self, b: Self) -> bool { self < b || (b.is_nan() && !<$t>::is_nan(self)) }
            #[inline(always)]
            fn truth(self) -> bool { self != $zero }
        }
    )*};
}
floats! { f16, F16, f16::ZERO; f32, F32, 0.0; f64, F64, 0.0; }

macro_rules! complexes {
    ($($t:ty, $d:ident;)*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            const ZERO: Self = <$t>::new(0.0, 0.0);
            #[inline(always)]
            fn add(self, b: Self) -> Self { self + b }
            #[inline(always)]
            fn mul(self, b: Self) -> Self { self * b }
            #[inline(always)]
            fn is_nan(self) -> bool { self.re.is_nan() || self.im.is_nan() }
            #[inline(always)]
            fn below(self, b: Self) -> bool { self.re < b.re || (self.re == b.re && self.im < b.im) }
            /// NumPy's order: R + Rj, R + nanj, nan + Rj, nan + nanj.
            #[inline(always)]
            fn sorts_before(self, b: Self) -> bool {
                if self.re < b.re {
                    !self.im.is_nan() || b.im.is_nan()
                } else if self.re > b.re {
                    b.im.is_nan() && !self.im.is_nan()
                } else if self.re == b.re || (self.re.is_nan() && b.re.is_nan()) {
                    self.im < b.im || (b.im.is_nan() && !self.im.is_nan())
                } else {
                    b.re.is_nan()
                }
            }
            #[inline(always)]
            fn truth(self) -> bool { self.re != 0.0 || self.im != 0.0 }
        }
    )*};
}
complexes! { Complex32, C64; Complex64, C128; }

impl Element for Truth {
    const DTYPE: DType = DType::Bool;
    const ZERO: Self = Truth(0);
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Truth(((self.0 | b.0) != 0) as u8)
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Truth((self.0 != 0) as u8 & (b.0 != 0) as u8)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
    #[inline(always)]
    fn below(self, b: Self) -> bool {
        self.0 == 0 && b.0 != 0
    }
    #[inline(always)]
    fn sorts_before(self, b: Self) -> bool {
        self.below(b)
    }
    #[inline(always)]
    fn truth(self) -> bool {
        self.0 != 0
    }
}

/// Runs `$body` with `$T` naming the Rust type of a dtype.
macro_rules! with_type {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::with_type!(@arms $dtype, $T, $body;
            Bool $crate::element::Truth, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64,
            F16 half::f16, F32 f32, F64 f64, C64 $crate::element::Complex32, C128 $crate::element::Complex64)
    };
    (@arms $dtype:expr, $T:ident, $body:expr; $($d:ident $t:ty),*) => {
        match $dtype {
            $(numloom_ir::DType::$d => {
                type $T = $t;
                $body
            })*
        }
    };
}
pub(crate) use with_type;

/// Runs `$body` with `$T` a plain type of `$size` bytes, for operations that only move elements.
macro_rules! with_size {
    ($size:expr, $T:ident => $body:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => {
                type $T = u128;
                $body
            }
        }
    };
}
pub(crate) use with_size;

/// NumPy's unsafe cast of one element.
pub trait CastTo<T> {
    fn cast(self) -> T;
}

macro_rules! primitive_casts {
    ($($s:ty),*) => {$(
        primitive_casts!(@to $s: i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);
        impl CastTo<Truth> for $s {
            #[inline(always)]
            fn cast(self) -> Truth { Truth(self.truth() as u8) }
        }
        impl CastTo<f16> for $s {
            #[inline(always)]
            fn cast(self) -> f16 { f16::from_f64(self as f64) }
        }
        impl CastTo<Complex32> for $s {
            #[inline(always)]
            fn cast(self) -> Complex32 { Complex32::new(self as f32, 0.0) }
        }
        impl CastTo<Complex64> for $s {
            #[inline(always)]
            fn cast(self) -> Complex64 { Complex64::new(self as f64, 0.0) }
        }
    )*};
    (@to $s:ty: $($t:ty),*) => {$(
        impl CastTo<$t> for $s {
            #[inline(always)]
            fn cast(self) -> $t { self as $t }
        }
    )*};
}
primitive_casts!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

/// Casts that go through another type first.
macro_rules! casts_through {
    ($($s:ty, $f:expr;)*) => {$(
        casts_through!(@to $s, $f; i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);
    )*};
    (@to $s:ty, $f:expr; $($t:ty),*) => {$(
        impl CastTo<$t> for $s {
            #[inline(always)]
            fn cast(self) -> $t { $f(self) as $t }
        }
    )*};
}
casts_through! {
    Truth, |v: Truth| (v.0 != 0) as u8;
    f16, f16::to_f32;
    Complex32, |v: Complex32| v.re;
    Complex64, |v: Complex64| v.re;
}

macro_rules! casts {
    ($($s:ty => $t:ty, $f:expr;)*) => {$(
        impl CastTo<$t> for $s {
            #[inline(always)]
            fn cast(self) -> $t { $f(self) }
        }
    )*};
}
casts! {
    Truth => Truth, |v: Truth| Truth(v.truth() as u8);
    Truth => f16, |v: Truth| if v.truth() { f16::ONE } else { f16::ZERO };
    Truth => Complex32, |v: Truth| Complex32::new(v.truth() as u8 as f32, 0.0);
    Truth => Complex64, |v: Truth| Complex64::new(v.truth() as u8 as f64, 0.0);
    f16 => Truth, |v: f16| Truth(v.truth() as u8);
    f16 => f16, |v| v;
    f16 => Complex32, |v: f16| Complex32::new(v.to_f32(), 0.0);
    f16 => Complex64, |v: f16| Complex64::new(v.to_f64(), 0.0);
    Complex32 => Truth, |v: Complex32| Truth(v.truth() as u8);
    Complex32 => f16, |v: Complex32| f16::from_f32(v.re);
    Complex32 => Complex32, |v| v;
    Complex32 => Complex64, |v: Complex32| Complex64::new(v.re as f64, v.im as f64);
    Complex64 => Truth, |v: Complex64| Truth(v.truth() as u8);
    Complex64 => f16, |v: Complex64| f16::from_f64(v.re);
    Complex64 => Complex32, |v: Complex64| Complex32::new(v.re as f32, v.im as f32);
    Complex64 => Complex64, |v| v;
}

/// Reads `n` elements of dtype `from`, `step` bytes apart, as dense `T`s. Source and target may be the
/// same run, not a shifted one.
///
/// # Safety
/// All `n` elements must be readable, `dst` writeable for `n`; neither needs to be aligned.
pub unsafe fn read_run<T: Element + FromAny>(from: DType, src: *const u8, step: isize, dst: *mut T, n: usize) {
    T::read_run(from, src, step, dst, n)
}

/// The inverse: writes `n` dense `T`s as elements of dtype `to`, `step` bytes apart.
///
/// # Safety
/// As `read_run`.
pub unsafe fn write_run<T: Element + FromAny>(src: *const T, to: DType, dst: *mut u8, step: isize, n: usize) {
    T::write_run(src, to, dst, step, n)
}

/// Types that every dtype casts to and from (all fourteen).
pub trait FromAny: Sized {
    /// # Safety
    /// See [`read_run`].
    unsafe fn read_run(from: DType, src: *const u8, step: isize, dst: *mut Self, n: usize);
    /// # Safety
    /// See [`write_run`].
    unsafe fn write_run(src: *const Self, to: DType, dst: *mut u8, step: isize, n: usize);
}

macro_rules! from_any {
    ($($t:ty),*) => {$(
        impl FromAny for $t {
            unsafe fn read_run(from: DType, src: *const u8, step: isize, dst: *mut Self, n: usize) {
                with_type!(from, S => {
                    if step == size_of::<S>() as isize {
                        let src = src as *const S;
                        for i in 0..n {
                            dst.add(i).write_unaligned(src.add(i).read_unaligned().cast());
                        }
                    } else {
                        for i in 0..n {
                            let v = (src.offset(i as isize * step) as *const S).read_unaligned();
                            dst.add(i).write_unaligned(v.cast());
                        }
                    }
                })
            }
            unsafe fn write_run(src: *const Self, to: DType, dst: *mut u8, step: isize, n: usize) {
                with_type!(to, D => {
                    for i in 0..n {
                        let v: D = src.add(i).read_unaligned().cast();
                        (dst.offset(i as isize * step) as *mut D).write_unaligned(v);
                    }
                })
            }
        }
    )*};
}
from_any!(Truth, i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64, Complex32, Complex64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_sorts_last_and_wins_extremes() {
        assert!(1.0f64.sorts_before(f64::NAN) && !f64::NAN.sorts_before(1.0) && !f64::NAN.sorts_before(f64::NAN));
        assert!(1.0f64.lesser(f64::NAN).is_nan() && f64::NAN.greater(1.0).is_nan());
        let (a, b) = (Complex64::new(1.0, f64::NAN), Complex64::new(f64::NAN, 0.0));
        assert!(a.sorts_before(b) && !b.sorts_before(a));
        assert!(Complex64::new(9.0, 9.0).sorts_before(a));
    }

    #[test]
    fn casts_follow_numpy() {
        let from = [0.0f64, -1.5, 300.0];
        let mut to = [0i32; 3];
        unsafe { read_run(DType::F64, from.as_ptr() as *const u8, 8, to.as_mut_ptr(), 3) };
        assert_eq!(to, [0, -1, 300]);
        let mut back = [Truth(9); 3];
        unsafe { write_run(to.as_ptr(), DType::Bool, back.as_mut_ptr() as *mut u8, 1, 3) };
        assert_eq!(back.map(|b| b.0), [0, 1, 1]);
    }
}
