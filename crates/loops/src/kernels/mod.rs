//! The scalar functions, by subject. Each operation of the table is a type of the same name here,
//! which implements `One`, `Two`, `OneToTwo` or `TwoToTwo` for its dtype loops.

mod arithmetic;
mod bits;
mod compare;
mod complex_arithmetic;
mod divide;
mod floating;
mod integer;
mod round;

macro_rules! names {
    ($($k:ident)*) => { $(pub struct $k;)* };
}

names! {
    Add Subtract Multiply Divide FloorDivide Remainder Fmod Divmod Power Negative Absolute
    Fabs Sign Reciprocal Square Sqrt Degrees Radians Conjugate Rint Floor Ceil Trunc
    Gcd Lcm BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift RightShift BitwiseCount Equal NotEqual
    Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalXor LogicalNot Maximum Minimum
    Fmax Fmin Isfinite Isinf Isnan Signbit Copysign Nextafter Spacing Modf Frexp Ldexp Heaviside
}

pub use compare::Truth;
pub(crate) use complex_arithmetic::quotient;
pub use divide::{FloorPair, floor_pair};
