//! Element types as Rust types: order, arithmetic and casts as NumPy defines them.

use half::f16;
pub use num_complex::{Complex32, Complex64};
use numloom_ir::DType;
use numloom_loops::{In, cast_fn, copy_bytes, fp_raise};
use std::mem::MaybeUninit;

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

/// Elements cast at a time.
const BLOCK: usize = 256;

/// Reads `n` elements of dtype `from`, `step` bytes apart, as dense `T`s (NumPy's unsafe cast). Source and target
/// may be the same run, not a shifted one.
///
/// # Safety
/// All `n` elements must be readable, `dst` writeable for `n`; neither needs to be aligned.
pub unsafe fn read_run<T: Element>(from: DType, src: *const u8, step: isize, dst: *mut T, n: usize) {
    if from == T::DTYPE {
        return move_run::<T>(src, step, dst as *mut u8, size_of::<T>() as isize, n);
    }
    let (cast, item) = (cast_fn(from, T::DTYPE), from.size());
    let mut buffer = MaybeUninit::<[u128; BLOCK]>::uninit();
    for at in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - at);
        let mut ptr = src.offset(at as isize * step);
        if step != item as isize {
            let dense = buffer.as_mut_ptr() as *mut u8;
            with_size!(item, S => move_run::<S>(ptr, step, dense, item as isize, len));
            ptr = dense;
        }
        cast(len, &In { ptr, step: item }, &(dst.add(at) as *mut u8));
    }
}

/// The inverse: writes `n` dense `T`s as elements of dtype `to`, `step` bytes apart.
///
/// # Safety
/// As `read_run`.
pub unsafe fn write_run<T: Element>(src: *const T, to: DType, dst: *mut u8, step: isize, n: usize) {
    let item = size_of::<T>();
    if to == T::DTYPE {
        return move_run::<T>(src as *const u8, item as isize, dst, step, n);
    }
    let cast = cast_fn(T::DTYPE, to);
    let mut buffer = MaybeUninit::<[u128; BLOCK]>::uninit();
    for at in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - at);
        let (from, dense) = (In { ptr: src.add(at) as *const u8, step: item }, buffer.as_mut_ptr() as *mut u8);
        fp_raise(cast(len, &from, &dense));
        let dst = dst.offset(at as isize * step);
        with_size!(to.size(), D => move_run::<D>(dense, to.size() as isize, dst, step, len));
    }
}

/// Copies `n` elements between evenly spaced places, first to last.
#[inline(always)]
unsafe fn move_run<T: Copy>(src: *const u8, step: isize, dst: *mut u8, dst_step: isize, n: usize) {
    let item = size_of::<T>() as isize;
    if step == item && dst_step == item {
        let bytes = n * size_of::<T>();
        return match (src as usize).abs_diff(dst as usize) >= bytes {
            true => copy_bytes(src, dst, bytes),
            false => std::ptr::copy(src, dst, bytes),
        };
    }
    for i in 0..n as isize {
        let v = (src.offset(i * step) as *const T).read_unaligned();
        (dst.offset(i * dst_step) as *mut T).write_unaligned(v);
    }
}

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
        // What does not fit is what the machine's conversion makes of it, not the nearest integer.
        let (far, mut small) = ([1e30f64, -1e30, 300.0, f64::NAN], [0i8; 4]);
        unsafe { read_run(DType::F64, far.as_ptr() as *const u8, 8, small.as_mut_ptr(), 4) };
        assert_eq!(small, [0, 0, 44, 0]);
        let mut back = [Truth(9); 3];
        unsafe { write_run(to.as_ptr(), DType::Bool, back.as_mut_ptr() as *mut u8, 1, 3) };
        assert_eq!(back.map(|b| b.0), [0, 1, 1]);
    }
}
