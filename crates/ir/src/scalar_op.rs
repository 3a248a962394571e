//! The table of scalar operations: one row an operation, from which the ufuncs, type resolution,
//! the interpreter, the JIT and the docs are all made.

use crate::dtype::DType;
use smallvec::SmallVec;
use std::sync::LazyLock;

/// One dtype loop: the types an operation computes in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    types: SmallVec<[DType; 4]>,
    nin: usize,
}

impl Loop {
    #[inline]
    pub fn ins(&self) -> &[DType] {
        &self.types[..self.nin]
    }

    #[inline]
    pub fn outs(&self) -> &[DType] {
        &self.types[self.nin..]
    }

    fn parse(text: &str) -> Loop {
        let (a, b) = text.split_once('>').unwrap_or((text, ""));
        let types = a.chars().chain(b.chars()).filter_map(DType::from_code).collect();
        Loop { types, nin: a.len() }
    }

    /// NumPy's spelling: `dd->d`.
    pub fn signature(&self) -> String {
        let text = |d: &[DType]| d.iter().map(|d| d.code()).collect::<String>();
        format!("{}->{}", text(self.ins()), text(self.outs()))
    }
}

/// What an empty reduction gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    None,
    Zero,
    One,
    MinusOne,
    MinusInfinity,
    True,
    False,
}

struct Row {
    name: &'static str,
    nin: u8,
    nout: u8,
    loops: &'static [&'static str],
    identity: Identity,
    aliases: &'static [&'static str],
    doc: &'static str,
}

const ARITH: &[&str] =
    &["??>?", "bb>b", "BB>B", "hh>h", "HH>H", "ii>i", "II>I", "ll>l", "LL>L", "ee>e", "ff>f", "dd>d", "FF>F", "DD>D"];
const NUMERIC: &[&str] =
    &["bb>b", "BB>B", "hh>h", "HH>H", "ii>i", "II>I", "ll>l", "LL>L", "ee>e", "ff>f", "dd>d", "FF>F", "DD>D"];
const REAL: &[&str] = &["bb>b", "BB>B", "hh>h", "HH>H", "ii>i", "II>I", "ll>l", "LL>L", "ee>e", "ff>f", "dd>d"];
const BITS: &[&str] = &["??>?", "bb>b", "BB>B", "hh>h", "HH>H", "ii>i", "II>I", "ll>l", "LL>L"];
const INTEGER: &[&str] = &["bb>b", "BB>B", "hh>h", "HH>H", "ii>i", "II>I", "ll>l", "LL>L"];
const FLOAT2: &[&str] = &["ee>e", "ff>f", "dd>d"];
const INEXACT2: &[&str] = &["ee>e", "ff>f", "dd>d", "FF>F", "DD>D"];
const COMPARE: &[&str] = &[
    "??>?", "bb>?", "BB>?", "hh>?", "HH>?", "ii>?", "II>?", "ll>?", "LL>?", "lL>?", "Ll>?", "ee>?", "ff>?", "dd>?",
    "FF>?", "DD>?",
];
const LOGICAL: &[&str] =
    &["??>?", "bb>?", "BB>?", "hh>?", "HH>?", "ii>?", "II>?", "ll>?", "LL>?", "ee>?", "ff>?", "dd>?", "FF>?", "DD>?"];
const TEST: &[&str] =
    &["?>?", "b>?", "B>?", "h>?", "H>?", "i>?", "I>?", "l>?", "L>?", "e>?", "f>?", "d>?", "F>?", "D>?"];
const NUMERIC1: &[&str] = &["b>b", "B>B", "h>h", "H>H", "i>i", "I>I", "l>l", "L>L", "e>e", "f>f", "d>d", "F>F", "D>D"];
const FLOAT1: &[&str] = &["e>e", "f>f", "d>d"];
const INEXACT1: &[&str] = &["e>e", "f>f", "d>d", "F>F", "D>D"];
const ROUND: &[&str] = &["?>?", "b>b", "B>B", "h>h", "H>H", "i>i", "I>I", "l>l", "L>L", "e>e", "f>f", "d>d"];
const BITS1: &[&str] = &["?>?", "b>b", "B>B", "h>h", "H>H", "i>i", "I>I", "l>l", "L>L"];

macro_rules! table {
    ($($variant:ident $name:literal $nin:literal $nout:literal $loops:expr, $identity:ident, [$($alias:literal)*], $doc:literal;)*) => {
        /// A scalar operation: every elementwise ufunc, by NumPy's name.
        #[repr(u8)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum ScalarOp { $($variant),* }

        impl ScalarOp {
            pub const ALL: &'static [ScalarOp] = &[$(ScalarOp::$variant),*];
        }

        static ROWS: &[Row] = &[$(Row {
            name: $name, nin: $nin, nout: $nout, loops: $loops,
            identity: Identity::$identity, aliases: &[$($alias),*], doc: $doc,
        }),*];
    };
}

table! {
    Add "add" 2 1 ARITH, Zero, [], "Add arguments element-wise.";
    Subtract "subtract" 2 1 NUMERIC, None, [], "Subtract arguments, element-wise.";
    Multiply "multiply" 2 1 ARITH, One, [], "Multiply arguments element-wise.";
    Divide "divide" 2 1 INEXACT2, None, ["true_divide"], "Divide arguments element-wise.";
    FloorDivide "floor_divide" 2 1 REAL, None, [], "The largest integer not above the quotient.";
    Remainder "remainder" 2 1 REAL, None, ["mod"], "The remainder of floor division; has the sign of the divisor.";
    Fmod "fmod" 2 1 REAL, None, [], "The remainder of truncated division; has the sign of the dividend.";
    Divmod "divmod" 2 2 &["bb>bb", "BB>BB", "hh>hh", "HH>HH", "ii>ii", "II>II", "ll>ll", "LL>LL", "ee>ee", "ff>ff", "dd>dd"], None, [], "Floor quotient and remainder at once.";
    Power "power" 2 1 NUMERIC, None, ["pow"], "First argument raised to the power of the second.";
    FloatPower "float_power" 2 1 &["dd>d", "DD>D"], None, [], "Power computed in at least double precision.";
    Negative "negative" 1 1 NUMERIC1, None, [], "Numerical negative.";
    Positive "positive" 1 1 NUMERIC1, None, [], "Numerical positive.";
    Absolute "absolute" 1 1 &["?>?", "b>b", "B>B", "h>h", "H>H", "i>i", "I>I", "l>l", "L>L", "e>e", "f>f", "d>d", "F>f", "D>d"], None, ["abs"], "Absolute value.";
    Fabs "fabs" 1 1 FLOAT1, None, [], "Absolute value, in floating point.";
    Sign "sign" 1 1 NUMERIC1, None, [], "Sign of a number.";
    Reciprocal "reciprocal" 1 1 NUMERIC1, None, [], "One over the argument.";
    Square "square" 1 1 NUMERIC1, None, [], "The argument times itself.";
    Sqrt "sqrt" 1 1 INEXACT1, None, [], "Non-negative square root.";
    Cbrt "cbrt" 1 1 FLOAT1, None, [], "Cube root.";
    Exp "exp" 1 1 INEXACT1, None, [], "e to the power of the argument.";
    Exp2 "exp2" 1 1 INEXACT1, None, [], "2 to the power of the argument.";
    Expm1 "expm1" 1 1 INEXACT1, None, [], "exp(x) - 1, accurate near zero.";
    Log "log" 1 1 INEXACT1, None, [], "Natural logarithm.";
    Log2 "log2" 1 1 INEXACT1, None, [], "Base-2 logarithm.";
    Log10 "log10" 1 1 INEXACT1, None, [], "Base-10 logarithm.";
    Log1p "log1p" 1 1 INEXACT1, None, [], "log(1 + x), accurate near zero.";
    Logaddexp "logaddexp" 2 1 FLOAT2, MinusInfinity, [], "log(exp(a) + exp(b)).";
    Logaddexp2 "logaddexp2" 2 1 FLOAT2, MinusInfinity, [], "log2(2**a + 2**b).";
    Sin "sin" 1 1 INEXACT1, None, [], "Sine.";
    Cos "cos" 1 1 INEXACT1, None, [], "Cosine.";
    Tan "tan" 1 1 INEXACT1, None, [], "Tangent.";
    Arcsin "arcsin" 1 1 INEXACT1, None, ["asin"], "Inverse sine.";
    Arccos "arccos" 1 1 INEXACT1, None, ["acos"], "Inverse cosine.";
    Arctan "arctan" 1 1 INEXACT1, None, ["atan"], "Inverse tangent.";
    Arctan2 "arctan2" 2 1 FLOAT2, None, ["atan2"], "Angle of the point (second, first), by quadrant.";
    Sinh "sinh" 1 1 INEXACT1, None, [], "Hyperbolic sine.";
    Cosh "cosh" 1 1 INEXACT1, None, [], "Hyperbolic cosine.";
    Tanh "tanh" 1 1 INEXACT1, None, [], "Hyperbolic tangent.";
    Arcsinh "arcsinh" 1 1 INEXACT1, None, ["asinh"], "Inverse hyperbolic sine.";
    Arccosh "arccosh" 1 1 INEXACT1, None, ["acosh"], "Inverse hyperbolic cosine.";
    Arctanh "arctanh" 1 1 INEXACT1, None, ["atanh"], "Inverse hyperbolic tangent.";
    Hypot "hypot" 2 1 FLOAT2, Zero, [], "Length of the hypotenuse.";
    Degrees "degrees" 1 1 FLOAT1, None, [], "Radians to degrees.";
    Radians "radians" 1 1 FLOAT1, None, [], "Degrees to radians.";
    Deg2rad "deg2rad" 1 1 FLOAT1, None, [], "Degrees to radians.";
    Rad2deg "rad2deg" 1 1 FLOAT1, None, [], "Radians to degrees.";
    Conjugate "conjugate" 1 1 NUMERIC1, None, ["conj"], "Complex conjugate.";
    Rint "rint" 1 1 INEXACT1, None, [], "Round to the nearest integer, ties to even.";
    Floor "floor" 1 1 ROUND, None, [], "Largest integer not above the argument.";
    Ceil "ceil" 1 1 ROUND, None, [], "Smallest integer not below the argument.";
    Trunc "trunc" 1 1 ROUND, None, [], "Nearest integer towards zero.";
    Gcd "gcd" 2 1 INTEGER, Zero, [], "Greatest common divisor.";
    Lcm "lcm" 2 1 INTEGER, None, [], "Lowest common multiple.";
    BitwiseAnd "bitwise_and" 2 1 BITS, MinusOne, [], "Bit-wise and.";
    BitwiseOr "bitwise_or" 2 1 BITS, Zero, [], "Bit-wise or.";
    BitwiseXor "bitwise_xor" 2 1 BITS, Zero, [], "Bit-wise exclusive or.";
    Invert "invert" 1 1 BITS1, None, ["bitwise_not" "bitwise_invert"], "Bit-wise inversion.";
    LeftShift "left_shift" 2 1 INTEGER, None, ["bitwise_left_shift"], "Shift the bits to the left.";
    RightShift "right_shift" 2 1 INTEGER, None, ["bitwise_right_shift"], "Shift the bits to the right.";
    BitwiseCount "bitwise_count" 1 1 &["b>B", "B>B", "h>B", "H>B", "i>B", "I>B", "l>B", "L>B"], None, [], "Number of one-bits in the absolute value.";
    Equal "equal" 2 1 COMPARE, None, [], "a == b, element-wise.";
    NotEqual "not_equal" 2 1 COMPARE, None, [], "a != b, element-wise.";
    Less "less" 2 1 COMPARE, None, [], "a < b, element-wise.";
    LessEqual "less_equal" 2 1 COMPARE, None, [], "a <= b, element-wise.";
    Greater "greater" 2 1 COMPARE, None, [], "a > b, element-wise.";
    GreaterEqual "greater_equal" 2 1 COMPARE, None, [], "a >= b, element-wise.";
    LogicalAnd "logical_and" 2 1 LOGICAL, True, [], "Truth of both arguments.";
    LogicalOr "logical_or" 2 1 LOGICAL, False, [], "Truth of either argument.";
    LogicalXor "logical_xor" 2 1 LOGICAL, False, [], "Truth of exactly one argument.";
    LogicalNot "logical_not" 1 1 TEST, None, [], "Truth of not the argument.";
    Maximum "maximum" 2 1 ARITH, None, [], "The larger argument; NaN wins.";
    Minimum "minimum" 2 1 ARITH, None, [], "The smaller argument; NaN wins.";
    Fmax "fmax" 2 1 ARITH, None, [], "The larger argument; NaN loses.";
    Fmin "fmin" 2 1 ARITH, None, [], "The smaller argument; NaN loses.";
    Isfinite "isfinite" 1 1 TEST, None, [], "Neither infinite nor NaN.";
    Isinf "isinf" 1 1 TEST, None, [], "Infinite.";
    Isnan "isnan" 1 1 TEST, None, [], "Not a number.";
    Signbit "signbit" 1 1 &["e>?", "f>?", "d>?"], None, [], "The sign bit is set.";
    Copysign "copysign" 2 1 FLOAT2, None, [], "First argument with the sign of the second.";
    Nextafter "nextafter" 2 1 FLOAT2, None, [], "Next float after the first towards the second.";
    Spacing "spacing" 1 1 FLOAT1, None, [], "Distance to the next float.";
    Modf "modf" 1 2 &["e>ee", "f>ff", "d>dd"], None, [], "Fractional and integral parts.";
    Frexp "frexp" 1 2 &["e>ei", "f>fi", "d>di"], None, [], "Mantissa and exponent.";
    Ldexp "ldexp" 2 1 &["ei>e", "fi>f", "el>e", "fl>f", "di>d", "dl>d"], None, [], "First argument times 2 to the power of the second.";
    Heaviside "heaviside" 2 1 FLOAT2, None, [], "The step function.";
}

struct Resolved {
    loops: Vec<Loop>,
}

static LOOPS: LazyLock<Vec<Resolved>> = LazyLock::new(|| {
    ROWS.iter().map(|r| Resolved { loops: r.loops.iter().map(|t| Loop::parse(t)).collect() }).collect()
});

impl ScalarOp {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    pub fn doc(self) -> &'static str {
        self.row().doc
    }

    #[inline]
    pub fn nin(self) -> usize {
        self.row().nin as usize
    }

    #[inline]
    pub fn nout(self) -> usize {
        self.row().nout as usize
    }

    pub fn identity(self) -> Identity {
        self.row().identity
    }

    #[inline]
    pub fn loops(self) -> &'static [Loop] {
        &LOOPS[self as usize].loops
    }

    /// The loop whose every input is `dtype`.
    pub fn loop_for(self, dtype: DType) -> Option<usize> {
        self.loops().iter().position(|l| l.ins().iter().all(|&d| d == dtype))
    }

    pub fn from_name(name: &str) -> Option<ScalarOp> {
        ScalarOp::ALL.iter().copied().find(|o| o.name() == name || o.aliases().contains(&name))
    }

    pub fn is_comparison(self) -> bool {
        (ScalarOp::Equal..=ScalarOp::GreaterEqual).contains(&self)
    }
}
