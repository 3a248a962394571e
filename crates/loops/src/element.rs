//! The element types of the loops, as they lie in memory.

use numloom_ir::DType;

/// A type that a run is made of. Any bit pattern is a value.
pub trait Element: Copy + PartialEq + Send + Sync + 'static {
    const DTYPE: DType;
}

/// NumPy's bool: one byte, zero or one. Any other byte counts as true.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bool(pub u8);

impl Bool {
    #[inline(always)]
    pub fn new(truth: bool) -> Bool {
        Bool(truth as u8)
    }

    #[inline(always)]
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

/// IEEE binary16, by its bits.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Half(pub u16);

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Complex<T> {
    pub re: T,
    pub im: T,
}

pub type C64 = Complex<f32>;
pub type C128 = Complex<f64>;

#[inline(always)]
pub fn complex<T>(re: T, im: T) -> Complex<T> {
    Complex { re, im }
}

impl C64 {
    #[inline(always)]
    pub fn widen(self) -> C128 {
        complex(self.re as f64, self.im as f64)
    }
}

impl C128 {
    #[inline(always)]
    pub fn narrow(self) -> C64 {
        complex(self.re as f32, self.im as f32)
    }
}

macro_rules! elements {
    ($($t:ty = $d:ident),*) => { $(impl Element for $t { const DTYPE: DType = DType::$d; })* };
}

elements!(
    Bool = Bool,
    i8 = I8,
    u8 = U8,
    i16 = I16,
    u16 = U16,
    i32 = I32,
    u32 = U32,
    i64 = I64,
    u64 = U64,
    Half = F16,
    f32 = F32,
    f64 = F64,
    C64 = C64,
    C128 = C128
);

/// What the operations need to know of `f32` and `f64` by their bits, so that asking raises nothing.
pub trait Float: Element + PartialOrd {
    fn nan(self) -> bool;
    fn infinite(self) -> bool;
    fn finite(self) -> bool;
    fn negative(self) -> bool;
    fn with_sign_of(self, other: Self) -> Self;
}

macro_rules! float {
    ($t:ty, $bits:ty, $inf:literal) => {
        impl Float for $t {
            #[inline(always)]
            fn nan(self) -> bool {
                self.to_bits() & !(1 << (<$bits>::BITS - 1)) > $inf
            }

            #[inline(always)]
            fn infinite(self) -> bool {
                self.to_bits() & !(1 << (<$bits>::BITS - 1)) == $inf
            }

            #[inline(always)]
            fn finite(self) -> bool {
                self.to_bits() & !(1 << (<$bits>::BITS - 1)) < $inf
            }

            #[inline(always)]
            fn negative(self) -> bool {
                self.to_bits() >> (<$bits>::BITS - 1) != 0
            }

            #[inline(always)]
            fn with_sign_of(self, other: $t) -> $t {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                <$t>::from_bits(self.to_bits() & !SIGN | other.to_bits() & SIGN)
            }
        }
    };
}

float!(f32, u32, 0x7f80_0000);
float!(f64, u64, 0x7ff0_0000_0000_0000);
