//! The binary operations that scans, `reduceat` and `ufunc.at` fold with.

use crate::element::{Element, Truth};
use std::sync::Arc;

/// Any binary loop of one element: reads two elements, writes one (which may be either of the two).
pub type BinaryFn = Arc<dyn Fn(*const u8, *const u8, *mut u8) + Send + Sync>;

/// What to fold with, in the type of the output.
#[derive(Clone)]
pub enum Fold {
    Add,
    Multiply,
    Minimum,
    Maximum,
    /// The logical ones take the truth of their input; the output is bool.
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    /// Any other loop of the output's type. It is applied strictly from left to right.
    Call(BinaryFn),
}

/// A fold known to the compiler.
pub trait Combine<T>: Copy + Send + Sync {
    fn combine(self, a: T, b: T) -> T;
}

macro_rules! combines {
    ($($name:ident, $method:ident;)*) => {$(
        #[derive(Clone, Copy)]
        pub struct $name;
        impl<T: Element> Combine<T> for $name {
            #[inline(always)]
            fn combine(self, a: T, b: T) -> T { a.$method(b) }
        }
    )*};
}
combines! { Add, add; Multiply, mul; Minimum, lesser; Maximum, greater; }

#[derive(Clone, Copy)]
pub struct Xor;

impl Combine<Truth> for Xor {
    #[inline(always)]
    fn combine(self, a: Truth, b: Truth) -> Truth {
        Truth((a.truth() != b.truth()) as u8)
    }
}

/// A loop behind a pointer, as a `Combine` of an element type of the right size.
#[derive(Clone, Copy)]
pub struct Called<'a>(pub &'a (dyn Fn(*const u8, *const u8, *mut u8) + Send + Sync));

impl<T: Element> Combine<T> for Called<'_> {
    #[inline]
    fn combine(self, a: T, b: T) -> T {
        let mut out = T::ZERO;
        (self.0)(&raw const a as *const u8, &raw const b as *const u8, &raw mut out as *mut u8);
        out
    }
}

impl Fold {
    /// The logical folds work on bools only.
    pub fn fits(&self, dtype: numloom_ir::DType) -> bool {
        let logical = matches!(self, Fold::LogicalAnd | Fold::LogicalOr | Fold::LogicalXor);
        !logical || dtype == numloom_ir::DType::Bool
    }

    /// Whether floating-point exceptions belong to the fold; comparisons only raise them for NaNs, silently in NumPy.
    pub fn raises(&self) -> bool {
        matches!(self, Fold::Add | Fold::Multiply | Fold::Call(_))
    }

    /// Whether taking elements out of their order would show: a caller's loop may do anything, products are
    /// NumPy's to the bit, and of several complex NaNs the first one wins. Sums may be rounded differently.
    pub fn in_order(&self, dtype: numloom_ir::DType) -> bool {
        match self {
            Fold::Call(_) => true,
            Fold::Multiply => dtype.is_inexact(),
            Fold::Minimum | Fold::Maximum => dtype.is_complex(),
            _ => false,
        }
    }
}

/// Runs `$body` with `$T` the type of `$dtype` and `$f` a `Combine<$T>` for the fold; `$fold` must fit.
macro_rules! with_fold {
    ($fold:expr, $dtype:expr, $T:ident, $f:ident => $body:expr) => {
        match &$fold {
            $crate::fold::Fold::LogicalAnd => { type $T = $crate::element::Truth; let $f = $crate::fold::Multiply; $body }
            $crate::fold::Fold::LogicalOr => { type $T = $crate::element::Truth; let $f = $crate::fold::Add; $body }
            $crate::fold::Fold::LogicalXor => { type $T = $crate::element::Truth; let $f = $crate::fold::Xor; $body }
            $crate::fold::Fold::Add => $crate::element::with_type!($dtype, $T => { let $f = $crate::fold::Add; $body }),
            $crate::fold::Fold::Multiply => $crate::element::with_type!($dtype, $T => { let $f = $crate::fold::Multiply; $body }),
            $crate::fold::Fold::Minimum => $crate::element::with_type!($dtype, $T => { let $f = $crate::fold::Minimum; $body }),
            $crate::fold::Fold::Maximum => $crate::element::with_type!($dtype, $T => { let $f = $crate::fold::Maximum; $body }),
            $crate::fold::Fold::Call(call) => $crate::element::with_type!($dtype, $T => { let $f = $crate::fold::Called(&**call); $body }),
        }
    };
}
pub(crate) use with_fold;
