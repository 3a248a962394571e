//! Operations on whole vectors. A bool is a bit of a mask register.

use super::encode::{Length, NONE, Op, Place, Under, X66, XF2, XF3, op};
use super::values::{Class, Id, Values, by_width};
use numloom_ir::{DType, Kind, ScalarOp};

/// Predicates of float comparisons that are quiet about NaN.
const EQUAL: u8 = 0x00;
const UNORDERED: u8 = 0x03;
const NOT_EQUAL: u8 = 0x04;
const LESS: u8 = 0x11;
const LESS_EQUAL: u8 = 0x12;
const GREATER_EQUAL: u8 = 0x1D;
const GREATER: u8 = 0x1E;

/// Classes of floats that are told without raising anything.
const IS_NAN: u8 = 0x81;
const IS_INFINITE: u8 = 0x18;

/// Operations on mask registers.
const AND: u8 = 0x41;
const AND_NOT: u8 = 0x42;
const OR: u8 = 0x45;
const SAME: u8 = 0x46;
const DIFFERENT: u8 = 0x47;

const XOR_VECTORS: Op = op(X66, 1, 1, 0xEF);
const AND_VECTORS: Op = op(X66, 1, 1, 0xDB);
const OR_VECTORS: Op = op(X66, 1, 1, 0xEB);
const TERNARY: Op = op(X66, 3, 1, 0x25);

const ADD: [Op; 4] = [op(X66, 1, 0, 0xFC), op(X66, 1, 0, 0xFD), op(X66, 1, 0, 0xFE), op(X66, 1, 1, 0xD4)];
const SUBTRACT: [Op; 4] = [op(X66, 1, 0, 0xF8), op(X66, 1, 0, 0xF9), op(X66, 1, 0, 0xFA), op(X66, 1, 1, 0xFB)];
const ABSOLUTE: [Op; 4] = [op(X66, 2, 0, 0x1C), op(X66, 2, 0, 0x1D), op(X66, 2, 0, 0x1E), op(X66, 2, 1, 0x1F)];
const MIN: [Op; 4] = [op(X66, 2, 0, 0x38), op(X66, 1, 0, 0xEA), op(X66, 2, 0, 0x39), op(X66, 2, 1, 0x39)];
const MIN_UNSIGNED: [Op; 4] = [op(X66, 1, 0, 0xDA), op(X66, 2, 0, 0x3A), op(X66, 2, 0, 0x3B), op(X66, 2, 1, 0x3B)];
const MAX: [Op; 4] = [op(X66, 2, 0, 0x3C), op(X66, 1, 0, 0xEE), op(X66, 2, 0, 0x3D), op(X66, 2, 1, 0x3D)];
const MAX_UNSIGNED: [Op; 4] = [op(X66, 1, 0, 0xDE), op(X66, 2, 0, 0x3E), op(X66, 2, 0, 0x3F), op(X66, 2, 1, 0x3F)];
const COMPARE: [Op; 4] = [op(X66, 3, 0, 0x3F), op(X66, 3, 1, 0x3F), op(X66, 3, 0, 0x1F), op(X66, 3, 1, 0x1F)];
const COMPARE_UNSIGNED: [Op; 4] = [op(X66, 3, 0, 0x3E), op(X66, 3, 1, 0x3E), op(X66, 3, 0, 0x1E), op(X66, 3, 1, 0x1E)];
const IS_SET: [Op; 4] = [op(X66, 2, 0, 0x26), op(X66, 2, 1, 0x26), op(X66, 2, 0, 0x27), op(X66, 2, 1, 0x27)];
const IS_CLEAR: [Op; 4] = [op(XF3, 2, 0, 0x26), op(XF3, 2, 1, 0x26), op(XF3, 2, 0, 0x27), op(XF3, 2, 1, 0x27)];
const BLEND: [Op; 4] = [op(X66, 2, 0, 0x66), op(X66, 2, 1, 0x66), op(X66, 2, 0, 0x64), op(X66, 2, 1, 0x64)];
const MULTIPLY_WORDS: Op = op(X66, 1, 0, 0xD5);
const SHIFT_WORDS: Op = op(X66, 1, 0, 0x71);
/// From 2 bytes an element on.
const LEFT: [Op; 3] = [op(X66, 2, 1, 0x12), op(X66, 2, 0, 0x47), op(X66, 2, 1, 0x47)];
const RIGHT: [Op; 3] = [op(X66, 2, 1, 0x11), op(X66, 2, 0, 0x46), op(X66, 2, 1, 0x46)];
const RIGHT_UNSIGNED: [Op; 3] = [op(X66, 2, 1, 0x10), op(X66, 2, 0, 0x45), op(X66, 2, 1, 0x45)];

/// An operation on floats of 4 or 8 bytes in the first opcode map.
fn float_op(code: u8, width: usize) -> Op {
    if width == 8 { op(X66, 1, 1, code) } else { op(NONE, 1, 0, code) }
}

/// Whether there is a form for an operation on type `d`.
pub fn has(op: ScalarOp, d: DType) -> bool {
    !(matches!(op, ScalarOp::LeftShift | ScalarOp::RightShift) && d.size() == 1)
}

/// The constants that an operation on type `d` takes, as bits of such an element.
pub fn constants(op: ScalarOp, d: DType) -> Vec<u64> {
    use ScalarOp::*;
    let sign = 1u64 << (8 * d.size() - 1);
    match (op, d.kind()) {
        (Negative | Copysign, Kind::Float) => vec![sign],
        (Absolute | Fabs, Kind::Float) => vec![sign - 1],
        (Reciprocal, Kind::Float) => vec![one(d)],
        (Sign, Kind::Float) => vec![one(d), one(d) | sign],
        (Sign, Kind::Signed) => vec![1, sign | (sign - 1)],
        (Sign, Kind::Unsigned) => vec![1],
        _ => Vec::new(),
    }
}

/// The bits of the number one.
pub fn one(d: DType) -> u64 {
    match d {
        DType::F32 => 1f32.to_bits() as u64,
        DType::F64 => 1f64.to_bits(),
        _ => 1,
    }
}

/// Writes one instruction of the segment.
pub struct Ops<'v, 'a> {
    pub values: &'v mut Values<'a>,
    /// The place of the instruction in the segment.
    pub now: usize,
}

impl Ops<'_, '_> {
    fn write(&mut self, op: Op, width: usize, to: u8, a: u8, b: u8) {
        let length = self.values.length(width);
        self.values.code.vector(op, length, Under::All, to, a, Place::Register(b));
    }

    fn write_with(&mut self, op: Op, width: usize, to: u8, a: u8, b: u8, immediate: u8) {
        let length = self.values.length(width);
        self.values.code.vector_with(op, length, Under::All, to, a, Place::Register(b), immediate);
    }

    /// The same for what raises flags.
    fn raise(&mut self, op: Op, width: usize, to: u8, a: u8, b: u8) {
        let (length, under) = (self.values.length(width), self.values.raising());
        self.values.code.vector(op, length, under, to, a, Place::Register(b));
    }

    fn vector(&mut self) -> u8 {
        self.values.temporary(Class::Vector, self.now)
    }

    fn mask(&mut self) -> u8 {
        self.values.temporary(Class::Mask, self.now)
    }

    fn zero(&mut self) -> u8 {
        let r = self.vector();
        self.values.code.vector(XOR_VECTORS, Length::B16, Under::All, r, r, Place::Register(r));
        r
    }

    fn masks(&mut self, op: u8, to: u8, a: u8, b: u8) {
        self.values.code.masks(op, to, a, b, true);
    }

    fn not(&mut self, to: u8, a: u8) {
        self.values.code.masks(0x44, to, 0, a, false);
    }

    fn always(&mut self, to: u8, truth: bool) {
        self.masks(if truth { SAME } else { DIFFERENT }, to, to, to);
    }

    fn compare(&mut self, predicate: u8, width: usize, to: u8, a: u8, b: u8) {
        let (length, under) = (self.values.length(width), self.values.raising());
        // A comparison knows no zeroing: what it leaves out is zero.
        let under = if let Under::Zeroing(k) = under { Under::Merging(k) } else { under };
        let op = float_op(0xC2, width);
        self.values.code.vector_with(op, length, under, to, a, Place::Register(b), predicate);
    }

    /// Where a number is not zero; NaN is not.
    pub fn truth(&mut self, d: DType, to: u8, a: u8) {
        if d.is_float() {
            let zero = self.zero();
            return self.compare(NOT_EQUAL, d.size(), to, a, zero);
        }
        self.write(by_width(IS_SET, d.size()), d.size(), to, a, a);
    }

    /// One operation of a supported loop whose inputs are of type `d`; a unary one has `b` equal to `a`.
    pub fn apply(&mut self, op: ScalarOp, d: DType, to: Id, a: Id, b: Id, constants: &[Id]) {
        let (x, y) = (self.values.get(a, self.now), self.values.get(b, self.now));
        let given: Vec<u8> = constants.iter().map(|&c| self.values.get(c, self.now)).collect();
        let class = self.values.all[to].class;
        let to = self.values.make(to, self.now);
        match d.kind() {
            Kind::Bool => self.on_bools(op, to, x, y),
            Kind::Float => self.on_floats(op, d.size(), class, to, x, y, &given),
            kind => self.on_ints(op, d, kind == Kind::Signed, class, to, x, y, &given),
        }
    }

    fn on_bools(&mut self, op: ScalarOp, to: u8, a: u8, b: u8) {
        use ScalarOp::*;
        match op {
            Add | Maximum | Fmax | LogicalOr | BitwiseOr => self.masks(OR, to, a, b),
            Multiply | Minimum | Fmin | LogicalAnd | BitwiseAnd => self.masks(AND, to, a, b),
            LogicalXor | BitwiseXor | NotEqual => self.masks(DIFFERENT, to, a, b),
            Equal => self.masks(SAME, to, a, b),
            Less => self.masks(AND_NOT, to, a, b),
            Greater => self.masks(AND_NOT, to, b, a),
            LessEqual => {
                self.masks(AND_NOT, to, b, a);
                self.not(to, to);
            }
            GreaterEqual => {
                self.masks(AND_NOT, to, a, b);
                self.not(to, to);
            }
            LogicalNot | Invert => self.not(to, a),
            Isfinite => self.always(to, true),
            Isnan | Isinf => self.always(to, false),
            _ => self.values.copy(Class::Mask, to, a),
        }
    }

    fn on_ints(&mut self, op: ScalarOp, d: DType, signed: bool, class: Class, to: u8, a: u8, b: u8, constants: &[u8]) {
        use ScalarOp::*;
        let width = d.size();
        let of = |ops: [Op; 4]| by_width(ops, width);
        let (least, most) = if signed { (MIN, MAX) } else { (MIN_UNSIGNED, MAX_UNSIGNED) };
        let compare = of(if signed { COMPARE } else { COMPARE_UNSIGNED });
        match op {
            Add => self.write(of(ADD), width, to, a, b),
            Subtract => self.write(of(SUBTRACT), width, to, a, b),
            Multiply => self.multiply(width, to, a, b),
            Square => self.multiply(width, to, a, a),
            Negative => {
                let zero = self.zero();
                self.write(of(SUBTRACT), width, to, zero, a)
            }
            Absolute if signed => self.write(of(ABSOLUTE), width, to, 0, a),
            Maximum | Fmax => self.write(of(most), width, to, a, b),
            Minimum | Fmin => self.write(of(least), width, to, a, b),
            BitwiseAnd => self.write(AND_VECTORS, width, to, a, b),
            BitwiseOr => self.write(OR_VECTORS, width, to, a, b),
            BitwiseXor => self.write(XOR_VECTORS, width, to, a, b),
            Invert => self.write_with(TERNARY, width, to, a, a, 0x55),
            LeftShift => self.write(LEFT[width.trailing_zeros() as usize - 1], width, to, a, b),
            RightShift => {
                let ops = if signed { RIGHT } else { RIGHT_UNSIGNED };
                self.write(ops[width.trailing_zeros() as usize - 1], width, to, a, b)
            }
            Equal => self.write_with(compare, width, to, a, b, 0),
            NotEqual => self.write_with(compare, width, to, a, b, 4),
            Less => self.write_with(compare, width, to, a, b, 1),
            LessEqual => self.write_with(compare, width, to, a, b, 2),
            GreaterEqual => self.write_with(compare, width, to, a, b, 5),
            Greater => self.write_with(compare, width, to, a, b, 6),
            LogicalAnd | LogicalOr | LogicalXor => self.logical(op, d, to, a, b),
            LogicalNot => self.write(of(IS_CLEAR), width, to, a, a),
            Sign => {
                self.write(of(least), width, to, a, constants[0]);
                if signed {
                    self.write(of(most), width, to, to, constants[1]);
                }
            }
            Isfinite => self.always(to, true),
            Isnan | Isinf => self.always(to, false),
            _ => self.values.copy(class, to, a),
        }
    }

    fn logical(&mut self, op: ScalarOp, d: DType, to: u8, a: u8, b: u8) {
        let second = self.mask();
        self.truth(d, to, a);
        self.truth(d, second, b);
        self.on_bools(op, to, to, second);
    }

    fn multiply(&mut self, width: usize, to: u8, a: u8, b: u8) {
        match width {
            8 => self.write(op(X66, 2, 1, 0x40), width, to, a, b),
            4 => self.write(op(X66, 2, 0, 0x40), width, to, a, b),
            2 => self.write(MULTIPLY_WORDS, width, to, a, b),
            _ => {
                // The machine multiplies no bytes: the even ones as words, then the odd ones.
                let (odd, other) = (self.vector(), self.vector());
                let (left, right) = (6, 2);
                self.write_with(SHIFT_WORDS, width, right, odd, a, 8);
                self.write_with(SHIFT_WORDS, width, right, other, b, 8);
                self.write(MULTIPLY_WORDS, width, odd, odd, other);
                self.write_with(SHIFT_WORDS, width, left, odd, odd, 8);
                self.write(MULTIPLY_WORDS, width, other, a, b);
                self.write_with(SHIFT_WORDS, width, left, other, other, 8);
                self.write_with(SHIFT_WORDS, width, right, other, other, 8);
                self.write(OR_VECTORS, width, to, odd, other);
            }
        }
    }

    fn on_floats(&mut self, op: ScalarOp, width: usize, class: Class, to: u8, a: u8, b: u8, constants: &[u8]) {
        use ScalarOp::*;
        match op {
            Add => self.raise(float_op(0x58, width), width, to, a, b),
            Subtract => self.raise(float_op(0x5C, width), width, to, a, b),
            Multiply => self.raise(float_op(0x59, width), width, to, a, b),
            Square => self.raise(float_op(0x59, width), width, to, a, a),
            Divide => self.raise(float_op(0x5E, width), width, to, a, b),
            Reciprocal => self.raise(float_op(0x5E, width), width, to, constants[0], a),
            Sqrt => self.raise(float_op(0x51, width), width, to, 0, a),
            Negative => self.write(XOR_VECTORS, width, to, a, constants[0]),
            Absolute | Fabs => self.write(AND_VECTORS, width, to, a, constants[0]),
            Rint => self.round(8, width, to, a),
            Floor => self.round(9, width, to, a),
            Ceil => self.round(10, width, to, a),
            Trunc => self.round(11, width, to, a),
            Equal => self.compare(EQUAL, width, to, a, b),
            NotEqual => self.compare(NOT_EQUAL, width, to, a, b),
            Less => self.compare(LESS, width, to, a, b),
            LessEqual => self.compare(LESS_EQUAL, width, to, a, b),
            Greater => self.compare(GREATER, width, to, a, b),
            GreaterEqual => self.compare(GREATER_EQUAL, width, to, a, b),
            LogicalAnd | LogicalOr | LogicalXor => {
                let d = if width == 8 { DType::F64 } else { DType::F32 };
                self.logical(op, d, to, a, b)
            }
            LogicalNot => {
                let zero = self.zero();
                self.compare(EQUAL, width, to, a, zero)
            }
            Minimum => self.extreme(LESS, width, to, a, b, a),
            Maximum => self.extreme(GREATER, width, to, a, b, a),
            Fmin => self.extreme(LESS, width, to, a, b, b),
            Fmax => self.extreme(GREATER, width, to, a, b, b),
            Isnan => self.classify(IS_NAN, width, to, a),
            Isinf => self.classify(IS_INFINITE, width, to, a),
            Isfinite => {
                self.classify(IS_NAN | IS_INFINITE, width, to, a);
                self.not(to, to)
            }
            // The highest bit of each element.
            Signbit => self.write(super::encode::op(XF3, 2, (width == 8) as u8, 0x39), width, to, 0, a),
            Copysign => {
                // The sign's bit from `b`, all others from `a`.
                self.values.copy(Class::Vector, to, constants[0]);
                self.write_with(TERNARY, width, to, b, a, 0xCA)
            }
            Sign => {
                let (zero, k) = (self.zero(), self.mask());
                self.values.copy(Class::Vector, to, a);
                for (predicate, what) in [(EQUAL, zero), (GREATER, constants[0]), (LESS, constants[1])] {
                    self.compare(predicate, width, k, a, zero);
                    self.values.also_under(width, to, k, what);
                }
            }
            _ => self.values.copy(class, to, a),
        }
    }

    fn round(&mut self, how: u8, width: usize, to: u8, a: u8) {
        let (length, under) = (self.values.length(width), self.values.raising());
        let op = if width == 8 { op(X66, 3, 1, 0x09) } else { op(X66, 3, 0, 0x08) };
        self.values.code.vector_with(op, length, under, to, 0, Place::Register(a), how);
    }

    fn classify(&mut self, classes: u8, width: usize, to: u8, a: u8) {
        self.write_with(op(X66, 3, (width == 8) as u8, 0x66), width, to, 0, a, classes);
    }

    /// NumPy's minimum or maximum: of equal values the second, and with a NaN `a` where `watched` is NaN, else `b`.
    fn extreme(&mut self, predicate: u8, width: usize, to: u8, a: u8, b: u8, watched: u8) {
        let (first, nan) = (self.mask(), self.mask());
        self.compare(predicate, width, first, a, b);
        self.compare(UNORDERED, width, nan, watched, watched);
        self.masks(OR, first, first, nan);
        self.blend(width, to, first, a, b);
    }

    fn blend(&mut self, width: usize, to: u8, mask: u8, yes: u8, no: u8) {
        let (op, length) = (by_width(BLEND, width), self.values.length(width));
        self.values.code.vector(op, length, Under::Merging(mask), to, no, Place::Register(yes));
    }

    pub fn select(&mut self, to: Id, mask: Id, yes: Id, no: Id) {
        let [k, yes, no] = [mask, yes, no].map(|id| self.values.get(id, self.now));
        let (class, width) = (self.values.all[to].class, self.values.all[to].width);
        let to = self.values.make(to, self.now);
        if class == Class::Vector {
            return self.blend(width, to, k, yes, no);
        }
        let kept = self.mask();
        self.masks(AND_NOT, kept, k, no);
        self.masks(AND, to, k, yes);
        self.masks(OR, to, to, kept);
    }

    /// NumPy's unsafe cast. `one` is the number one of type `to`, where a bool becomes a number.
    pub fn cast(&mut self, from: DType, to: DType, result: Id, source: Id, one: Option<Id>) {
        let a = self.values.get(source, self.now);
        let one = one.map(|id| self.values.get(id, self.now));
        let class = self.values.all[result].class;
        let r = self.values.make(result, self.now);
        match (from.kind(), to.kind()) {
            _ if from == to => self.values.copy(class, r, a),
            (_, Kind::Bool) => self.truth(from, r, a),
            (Kind::Bool, _) => self.values.only_under(to.size(), r, a, one.expect("given for bools")),
            (Kind::Float, Kind::Float) => {
                let op = if from == DType::F32 { op(NONE, 1, 0, 0x5A) } else { op(X66, 1, 1, 0x5A) };
                self.raise(op, 8, r, 0, a)
            }
            (Kind::Float, _) => self.float_to_int(from, to, r, a),
            (kind, Kind::Float) => self.int_to_float(kind == Kind::Signed, from, to, r, a),
            (kind, _) => self.resize(kind == Kind::Signed, from.size(), to.size(), r, a),
        }
    }

    /// As C on x86: narrow targets go through 32 bits, and what is out of range is the smallest integer.
    fn float_to_int(&mut self, from: DType, to: DType, r: u8, a: u8) {
        let (op, widest) = match (from, to.size()) {
            (DType::F64, 8) => (op(X66, 1, 1, 0x7A), 8),
            (_, 8) => (op(X66, 1, 0, 0x7A), 8),
            (DType::F64, _) => (op(X66, 1, 1, 0xE6), 8),
            _ => (op(XF3, 1, 0, 0x5B), 4),
        };
        self.raise(op, widest, r, 0, a);
        if to.size() < 4 {
            self.resize(true, 4, to.size(), r, r);
        }
    }

    fn int_to_float(&mut self, signed: bool, from: DType, to: DType, r: u8, a: u8) {
        let a = if from.size() < 4 {
            self.resize(signed, from.size(), 4, r, a);
            r
        } else {
            a
        };
        let (op, widest) = match (from.size(), to, signed || from.size() < 4) {
            (8, DType::F64, true) => (op(XF3, 1, 1, 0xE6), 8),
            (8, DType::F64, false) => (op(XF3, 1, 1, 0x7A), 8),
            (8, _, true) => (op(NONE, 1, 1, 0x5B), 8),
            (8, _, false) => (op(XF2, 1, 1, 0x7A), 8),
            (_, DType::F64, true) => (op(XF3, 1, 0, 0xE6), 8),
            (_, DType::F64, false) => (op(XF3, 1, 0, 0x7A), 8),
            (_, _, true) => (op(NONE, 1, 0, 0x5B), 4),
            (_, _, false) => (op(XF2, 1, 0, 0x7A), 4),
        };
        self.raise(op, widest, r, 0, a);
    }

    /// Integers of `from` bytes as ones of `to`.
    fn resize(&mut self, signed: bool, from: usize, to: usize, r: u8, a: u8) {
        let step = |narrow: usize, wide: usize| match (narrow, wide) {
            (1, 2) => 0,
            (1, 4) => 1,
            (1, 8) => 2,
            (2, 4) => 3,
            (2, 8) => 4,
            _ => 5,
        };
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => self.values.copy(Class::Vector, r, a),
            std::cmp::Ordering::Less => {
                let first = if signed { 0x20 } else { 0x30 };
                self.write(op(X66, 2, 0, first + step(from, to)), to, r, 0, a)
            }
            // These have the source where others have the result.
            std::cmp::Ordering::Greater => self.write(op(XF3, 2, 0, 0x30 + step(to, from)), from, a, 0, r),
        }
    }
}
