//! Scalar operations as Cranelift instructions, written once for single elements and for vectors.
//! A bool is a byte 0 or 1 when single, and lanes of all ones or all zeros, of any width, in a vector.

use crate::plan::VECTOR;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use numloom_ir::{DType, Kind, ScalarOp};

/// Writes operations on single elements (`vector` false) or on 128-bit vectors.
pub struct Ops<'b, 'f> {
    pub b: &'b mut FunctionBuilder<'f>,
    pub vector: bool,
}

pub fn int_type(bytes: usize) -> Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

pub fn element_type(d: DType) -> Type {
    match d {
        DType::F32 => types::F32,
        DType::F64 => types::F64,
        _ => int_type(d.size()),
    }
}

pub fn vector_of(element: Type) -> Type {
    element.by((VECTOR / element.bytes() as usize) as u32).expect("elements of 1 to 8 bytes")
}

impl Ops<'_, '_> {
    pub fn ty(&self, v: Value) -> Type {
        self.b.func.dfg.value_type(v)
    }

    /// `bits` in every lane of a value of type `ty`.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        if ty.is_vector() {
            let size = ty.lane_type().bytes() as usize;
            let bytes: Vec<u8> = bits.to_le_bytes()[..size].iter().copied().cycle().take(VECTOR).collect();
            let handle = self.b.func.dfg.constants.insert(bytes.into());
            return self.b.ins().vconst(ty, handle);
        }
        match ty {
            types::F32 => self.b.ins().f32const(f32::from_bits(bits as u32)),
            types::F64 => self.b.ins().f64const(f64::from_bits(bits)),
            // An immediate is sign-extended to its type's width.
            types::I64 => self.b.ins().iconst(ty, bits as i64),
            _ => {
                let unused = 64 - ty.bits();
                self.b.ins().iconst(ty, (bits << unused >> unused) as i64)
            }
        }
    }

    fn float(&mut self, like: Value, x: f64) -> Value {
        let ty = self.ty(like);
        let bits = if ty.lane_type() == types::F32 { (x as f32).to_bits() as u64 } else { x.to_bits() };
        self.constant(ty, bits)
    }

    pub fn int(&mut self, like: Value, x: i64) -> Value {
        let ty = self.ty(like);
        self.constant(ty, x as u64)
    }

    pub fn bitcast(&mut self, to: Type, v: Value) -> Value {
        if self.ty(v) == to {
            return v;
        }
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.b.ins().bitcast(to, flags, v)
    }

    /// The bits of a float as an integer of its size.
    fn bits(&mut self, v: Value) -> Value {
        let to = self.ty(v).as_int();
        self.bitcast(to, v)
    }

    pub fn not(&mut self, mask: Value) -> Value {
        if self.vector { self.b.ins().bnot(mask) } else { self.b.ins().bxor_imm_u(mask, 1) }
    }

    /// A bool that is the same whatever `like` is; as wide as `like`.
    fn always(&mut self, like: Value, truth: bool) -> Value {
        let ty = if self.vector { self.ty(like).as_int() } else { types::I8 };
        let ones = if self.vector { u64::MAX } else { 1 };
        self.constant(ty, if truth { ones } else { 0 })
    }

    /// `yes` where `mask` is true, else `no`. In a vector the mask's lanes are as wide as the values'.
    pub fn select(&mut self, mask: Value, yes: Value, no: Value) -> Value {
        if !self.vector {
            return self.b.ins().select(mask, yes, no);
        }
        let ty = self.ty(yes);
        let lanes = match ty.as_int() {
            types::I16X8 => types::I8X16,
            t => t,
        };
        let (m, y, n) = (self.bitcast(lanes, mask), self.bitcast(lanes, yes), self.bitcast(lanes, no));
        let v = self.b.ins().blendv(m, y, n);
        self.bitcast(ty, v)
    }

    /// One operation of a supported loop whose inputs are of type `d`; a unary one ignores `b`.
    pub fn apply(&mut self, op: ScalarOp, d: DType, a: Value, b: Value) -> Value {
        match d.kind() {
            Kind::Bool => self.on_bools(op, a, b),
            Kind::Float => self.on_floats(op, a, b),
            kind => self.on_ints(op, kind == Kind::Signed, a, b),
        }
    }

    fn on_bools(&mut self, op: ScalarOp, a: Value, b: Value) -> Value {
        use ScalarOp::*;
        match op {
            Add | Maximum | Fmax | LogicalOr | BitwiseOr => self.b.ins().bor(a, b),
            Multiply | Minimum | Fmin | LogicalAnd | BitwiseAnd => self.b.ins().band(a, b),
            LogicalXor | BitwiseXor | NotEqual => self.b.ins().bxor(a, b),
            Equal => {
                let differ = self.b.ins().bxor(a, b);
                self.not(differ)
            }
            Less => self.b.ins().band_not(b, a),
            Greater => self.b.ins().band_not(a, b),
            LessEqual => {
                let greater = self.b.ins().band_not(a, b);
                self.not(greater)
            }
            GreaterEqual => {
                let less = self.b.ins().band_not(b, a);
                self.not(less)
            }
            LogicalNot | Invert => self.not(a),
            Isfinite => self.always(a, true),
            Isnan | Isinf => self.always(a, false),
            _ => a,
        }
    }

    fn on_ints(&mut self, op: ScalarOp, signed: bool, a: Value, b: Value) -> Value {
        use ScalarOp::*;
        let compare = |s: IntCC, u: IntCC| if signed { s } else { u };
        match op {
            Add => self.b.ins().iadd(a, b),
            Subtract => self.b.ins().isub(a, b),
            Multiply => self.multiply(a, b),
            Square => self.multiply(a, a),
            Negative => self.b.ins().ineg(a),
            Absolute if signed => self.b.ins().iabs(a),
            Maximum | Fmax if signed => self.b.ins().smax(a, b),
            Maximum | Fmax => self.b.ins().umax(a, b),
            Minimum | Fmin if signed => self.b.ins().smin(a, b),
            Minimum | Fmin => self.b.ins().umin(a, b),
            BitwiseAnd => self.b.ins().band(a, b),
            BitwiseOr => self.b.ins().bor(a, b),
            BitwiseXor => self.b.ins().bxor(a, b),
            Invert => self.b.ins().bnot(a),
            LeftShift | RightShift => self.shift(op, signed, a, b),
            Equal => self.b.ins().icmp(IntCC::Equal, a, b),
            NotEqual => self.b.ins().icmp(IntCC::NotEqual, a, b),
            Less => self.b.ins().icmp(compare(IntCC::SignedLessThan, IntCC::UnsignedLessThan), a, b),
            Greater => self.b.ins().icmp(compare(IntCC::SignedGreaterThan, IntCC::UnsignedGreaterThan), a, b),
            LessEqual => self.b.ins().icmp(compare(IntCC::SignedLessThanOrEqual, IntCC::UnsignedLessThanOrEqual), a, b),
            GreaterEqual => {
                self.b.ins().icmp(compare(IntCC::SignedGreaterThanOrEqual, IntCC::UnsignedGreaterThanOrEqual), a, b)
            }
            LogicalAnd | LogicalOr | LogicalXor => {
                let (x, y) = (self.truth(a), self.truth(b));
                self.on_bools(op, x, y)
            }
            LogicalNot => {
                let zero = self.int(a, 0);
                self.b.ins().icmp(IntCC::Equal, a, zero)
            }
            Sign => self.sign_of_int(signed, a),
            Isfinite => self.always(a, true),
            Isnan | Isinf => self.always(a, false),
            _ => a,
        }
    }

    fn on_floats(&mut self, op: ScalarOp, a: Value, b: Value) -> Value {
        use ScalarOp::*;
        match op {
            Add => self.b.ins().fadd(a, b),
            Subtract => self.b.ins().fsub(a, b),
            Multiply => self.b.ins().fmul(a, b),
            Square => self.b.ins().fmul(a, a),
            Divide => self.b.ins().fdiv(a, b),
            Reciprocal => {
                let one = self.float(a, 1.0);
                self.b.ins().fdiv(one, a)
            }
            Sqrt => self.b.ins().sqrt(a),
            Negative => self.b.ins().fneg(a),
            Absolute | Fabs => self.b.ins().fabs(a),
            Floor => self.b.ins().floor(a),
            Ceil => self.b.ins().ceil(a),
            Trunc => self.b.ins().trunc(a),
            Rint => self.b.ins().nearest(a),
            Equal => self.b.ins().fcmp(FloatCC::Equal, a, b),
            NotEqual => self.b.ins().fcmp(FloatCC::NotEqual, a, b),
            Less => self.less(a, b),
            LessEqual => self.less_equal(a, b),
            Greater => self.less(b, a),
            GreaterEqual => self.less_equal(b, a),
            LogicalAnd | LogicalOr | LogicalXor => {
                let (x, y) = (self.truth(a), self.truth(b));
                self.on_bools(op, x, y)
            }
            LogicalNot => {
                let zero = self.float(a, 0.0);
                self.b.ins().fcmp(FloatCC::Equal, a, zero)
            }
            Minimum => self.extreme(a, b, false, a),
            Maximum => self.extreme(a, b, true, a),
            Fmin => self.extreme(a, b, false, b),
            Fmax => self.extreme(a, b, true, b),
            Isnan => self.against_infinity(IntCC::SignedGreaterThan, a),
            Isinf => self.against_infinity(IntCC::Equal, a),
            Isfinite => self.against_infinity(IntCC::SignedLessThan, a),
            Signbit => {
                let x = self.bits(a);
                let zero = self.int(x, 0);
                self.b.ins().icmp(IntCC::SignedLessThan, x, zero)
            }
            Copysign => self.copysign(a, b),
            Sign => self.sign_of_float(a),
            _ => a,
        }
    }

    /// Whether a number is not zero; NaN is true.
    pub fn truth(&mut self, v: Value) -> Value {
        let ty = self.ty(v);
        let zero = self.constant(ty, 0);
        if ty.lane_type().is_float() {
            self.b.ins().fcmp(FloatCC::NotEqual, v, zero)
        } else {
            self.b.ins().icmp(IntCC::NotEqual, v, zero)
        }
    }

    fn multiply(&mut self, a: Value, b: Value) -> Value {
        if self.ty(a) != types::I8X16 {
            return self.b.ins().imul(a, b);
        }
        // The machine multiplies no bytes: two halves of 16 bits, low bytes kept.
        let low = {
            let (x, y) = (self.b.ins().uwiden_low(a), self.b.ins().uwiden_low(b));
            self.b.ins().imul(x, y)
        };
        let high = {
            let (x, y) = (self.b.ins().uwiden_high(a), self.b.ins().uwiden_high(b));
            self.b.ins().imul(x, y)
        };
        self.truncate_pair(low, high)
    }

    /// The low halves of the lanes of two vectors of 2 to 8 bytes a lane, as one vector.
    pub fn truncate_pair(&mut self, low: Value, high: Value) -> Value {
        let ty = self.ty(low);
        if ty == types::I64X2 {
            let (x, y) = (self.bitcast(types::I8X16, low), self.bitcast(types::I8X16, high));
            let even_words: Vec<u8> = vec![0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
            let mask = self.b.func.dfg.immediates.push(even_words.into());
            let v = self.b.ins().shuffle(x, y, mask);
            return self.bitcast(types::I32X4, v);
        }
        let keep = self.constant(ty, (1 << (ty.lane_bits() / 2)) - 1);
        let (x, y) = (self.b.ins().band(low, keep), self.b.ins().band(high, keep));
        self.b.ins().unarrow(x, y)
    }

    /// The lanes where neither value is NaN, and the values with zeros in the other lanes. The machine's
    /// ordered comparisons of vectors raise "invalid" for any NaN, and NumPy's do not.
    fn without_nans(&mut self, a: Value, b: Value) -> (Value, Value, Value) {
        let ordered = self.b.ins().fcmp(FloatCC::Ordered, a, b);
        let ty = self.ty(a);
        let keep = self.bitcast(ty, ordered);
        (ordered, self.b.ins().band(a, keep), self.b.ins().band(b, keep))
    }

    fn less(&mut self, a: Value, b: Value) -> Value {
        if self.vector {
            let (_, x, y) = self.without_nans(a, b);
            return self.b.ins().fcmp(FloatCC::LessThan, x, y);
        }
        // Cranelift makes a `min` or `max`, which are not quiet, of a selection by `LessThan`.
        self.b.ins().fcmp(FloatCC::GreaterThan, b, a)
    }

    fn less_equal(&mut self, a: Value, b: Value) -> Value {
        if self.vector {
            let (ordered, x, y) = self.without_nans(a, b);
            let below = self.b.ins().fcmp(FloatCC::LessThanOrEqual, x, y);
            return self.b.ins().band(ordered, below);
        }
        self.b.ins().fcmp(FloatCC::LessThanOrEqual, a, b)
    }

    /// NumPy's minimum or maximum: of equal values the second, and with a NaN `a` where `watched` is
    /// NaN, else `b`.
    fn extreme(&mut self, a: Value, b: Value, largest: bool, watched: Value) -> Value {
        let nan = self.b.ins().fcmp(FloatCC::Unordered, watched, watched);
        if !self.vector {
            let first = if largest { self.less(b, a) } else { self.less(a, b) };
            let first = self.b.ins().bor(first, nan);
            return self.b.ins().select(first, a, b);
        }
        let (ordered, x, y) = self.without_nans(a, b);
        // This very shape is what Cranelift turns into one `min` or `max`.
        let (low, high) = if largest { (y, x) } else { (x, y) };
        let first = self.b.ins().fcmp(FloatCC::LessThan, low, high);
        let ty = self.ty(a);
        let first = self.bitcast(ty, first);
        let number = self.b.ins().bitselect(first, x, y);
        let other = self.select(nan, a, b);
        self.select(ordered, number, other)
    }

    /// Compares the magnitude's bits with infinity's: quiet, even for signalling NaNs.
    fn against_infinity(&mut self, cc: IntCC, a: Value) -> Value {
        let x = self.bits(a);
        let wide = self.ty(x).lane_bits() == 64;
        let (magnitude, infinity) = if wide {
            (i64::MAX as u64, f64::INFINITY.to_bits())
        } else {
            (i32::MAX as u64, f32::INFINITY.to_bits() as u64)
        };
        let ty = self.ty(x);
        let (keep, limit) = (self.constant(ty, magnitude), self.constant(ty, infinity));
        let m = self.b.ins().band(x, keep);
        self.b.ins().icmp(cc, m, limit)
    }

    fn copysign(&mut self, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        let (x, y) = (self.bits(a), self.bits(b));
        let int = self.ty(x);
        let sign = self.constant(int, 1 << (int.lane_bits() - 1));
        let (magnitude, sign) = (self.b.ins().band_not(x, sign), self.b.ins().band(y, sign));
        let v = self.b.ins().bor(magnitude, sign);
        self.bitcast(ty, v)
    }

    fn sign_of_float(&mut self, a: Value) -> Value {
        let (zero, one, minus) = (self.float(a, 0.0), self.float(a, 1.0), self.float(a, -1.0));
        let is_zero = self.b.ins().fcmp(FloatCC::Equal, a, zero);
        let (below, above) = (self.less(a, zero), self.less(zero, a));
        let v = self.select(is_zero, zero, a);
        let v = self.select(below, minus, v);
        self.select(above, one, v)
    }

    fn sign_of_int(&mut self, signed: bool, a: Value) -> Value {
        let (zero, one, minus) = (self.int(a, 0), self.int(a, 1), self.int(a, -1));
        let positive = if signed { IntCC::SignedGreaterThan } else { IntCC::NotEqual };
        let above = self.b.ins().icmp(positive, a, zero);
        if !signed {
            return self.select(above, one, zero);
        }
        let below = self.b.ins().icmp(IntCC::SignedLessThan, a, zero);
        let v = self.select(below, minus, zero);
        self.select(above, one, v)
    }

    /// Single elements only; an amount that is negative or not below the width shifts everything out.
    fn shift(&mut self, op: ScalarOp, signed: bool, a: Value, amount: Value) -> Value {
        let bits = self.ty(a).bits() as i64;
        if op == ScalarOp::RightShift && signed {
            let most = self.int(amount, bits - 1);
            let amount = self.b.ins().umin(amount, most);
            return self.b.ins().sshr(a, amount);
        }
        let width = self.int(amount, bits);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, amount, width);
        let moved = if op == ScalarOp::LeftShift { self.b.ins().ishl(a, amount) } else { self.b.ins().ushr(a, amount) };
        let zero = self.int(a, 0);
        self.b.ins().select(inside, moved, zero)
    }

    /// A vector shifted by one single amount.
    pub fn shift_all(&mut self, op: ScalarOp, signed: bool, a: Value, amount: Value) -> Value {
        let ty = self.ty(a);
        let bits = ty.lane_bits() as i64;
        if op == ScalarOp::RightShift && signed {
            let most = self.int(amount, bits - 1);
            let amount = self.b.ins().umin(amount, most);
            return self.b.ins().sshr(a, amount);
        }
        let width = self.int(amount, bits);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, amount, width);
        let (all, none) = (self.int(amount, -1), self.int(amount, 0));
        let keep = self.b.ins().select(inside, all, none);
        let keep = self.b.ins().splat(ty, keep);
        let moved = if op == ScalarOp::LeftShift { self.b.ins().ishl(a, amount) } else { self.b.ins().ushr(a, amount) };
        self.b.ins().band(moved, keep)
    }
}

/// Shifts by one amount for all elements have a vector form of their own.
pub fn is_shift(op: ScalarOp) -> bool {
    matches!(op, ScalarOp::LeftShift | ScalarOp::RightShift)
}
