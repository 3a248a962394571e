//! NumPy's unsafe cast: between single elements, and between vectors of different lane widths.

use crate::ops::{Ops, element_type, int_type, vector_of};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use numloom_ir::{DType, Kind};

impl Ops<'_, '_> {
    /// Casts a single element.
    pub fn cast(&mut self, v: Value, from: DType, to: DType) -> Value {
        let ty = element_type(to);
        match (from.kind(), to.kind()) {
            _ if from == to => v,
            (_, Kind::Bool) => self.truth(v),
            (Kind::Float, Kind::Float) if to == DType::F64 => self.b.ins().fpromote(ty, v),
            (Kind::Float, Kind::Float) => self.b.ins().fdemote(ty, v),
            (Kind::Float, _) => {
                // As C on x86: narrow targets go through 32 bits.
                let wide = if to.size() == 8 { types::I64 } else { types::I32 };
                let whole = self.truncate_float(v, wide);
                self.resize(whole, true, ty)
            }
            (Kind::Signed, Kind::Float) => self.b.ins().fcvt_from_sint(ty, v),
            (_, Kind::Float) if from.size() < 4 => {
                let wide = self.b.ins().uextend(types::I32, v);
                self.b.ins().fcvt_from_sint(ty, wide)
            }
            (_, Kind::Float) => self.b.ins().fcvt_from_uint(ty, v),
            _ => self.resize(v, from.kind() == Kind::Signed, ty),
        }
    }

    fn resize(&mut self, v: Value, signed: bool, to: Type) -> Value {
        let from = self.ty(v);
        if to.bits() < from.bits() {
            self.b.ins().ireduce(to, v)
        } else if to.bits() == from.bits() {
            v
        } else if signed {
            self.b.ins().sextend(to, v)
        } else {
            self.b.ins().uextend(to, v)
        }
    }

    /// The machine's truncation: NaN and what is out of range give the smallest integer and raise
    /// "invalid". Cranelift's saturating form begins with that very instruction, so the flag is
    /// right; only the values for NaN and too large ones differ.
    fn truncate_float(&mut self, v: Value, to: Type) -> Value {
        let saturated = self.b.ins().fcvt_to_sint_sat(to, v);
        let limit = -(if to == types::I64 { i64::MIN as f64 } else { i32::MIN as f64 });
        let limit = if self.ty(v) == types::F32 {
            self.constant(types::F32, (limit as f32).to_bits() as u64)
        } else {
            self.constant(types::F64, limit.to_bits())
        };
        let below = self.b.ins().fcmp(FloatCC::LessThan, v, limit);
        let lowest = self.constant(to, 1 << (to.bits() - 1));
        self.b.ins().select(below, saturated, lowest)
    }

    /// One vector of `to`, from the vectors of `from` that hold its elements: several where `from` is
    /// wider, and where it is narrower the `place`-th piece of one. Neither is bool.
    pub fn cast_vector(&mut self, parts: &[Value], place: usize, from: DType, to: DType) -> Value {
        let signed = from.kind() == Kind::Signed;
        match (from.is_float(), to.is_float()) {
            _ if from == to => parts[0],
            (false, false) => self.resize_lanes(parts, place, signed, to.size()),
            (true, true) if to == DType::F64 => {
                let half = self.half_to_front(parts[0], place);
                self.b.ins().fvpromote_low(half)
            }
            (true, true) => {
                let (low, high) = (self.b.ins().fvdemote(parts[0]), self.b.ins().fvdemote(parts[1]));
                let (low, high) = (self.bitcast(types::I64X2, low), self.bitcast(types::I64X2, high));
                let v = self.join_fronts(low, high);
                self.bitcast(types::F32X4, v)
            }
            (false, true) => self.ints_to_floats(parts, place, from, to),
            (true, false) if from == DType::F32 && to.size() <= 4 => {
                let whole: Vec<Value> = parts.iter().map(|&p| self.b.ins().x86_cvtt2dq(types::I32X4, p)).collect();
                self.resize_lanes(&whole, place, true, to.size())
            }
            (true, false) => self.cast_lanes(parts, place, from, to),
        }
    }

    fn ints_to_floats(&mut self, parts: &[Value], place: usize, from: DType, to: DType) -> Value {
        let signed = from.kind() == Kind::Signed;
        match (from.size(), to) {
            (8, DType::F64) if signed => self.b.ins().fcvt_from_sint(types::F64X2, parts[0]),
            (8, _) => self.cast_lanes(parts, place, from, to),
            (size, DType::F64) => {
                let words = self.resize_lanes(parts, place / 2, signed, 4);
                let half = self.half_to_front(words, place % 2);
                if signed || size < 4 {
                    let wide = self.b.ins().swiden_low(half);
                    self.b.ins().fcvt_from_sint(types::F64X2, wide)
                } else {
                    let wide = self.b.ins().uwiden_low(half);
                    self.b.ins().fcvt_from_uint(types::F64X2, wide)
                }
            }
            (size, _) => {
                let words = self.resize_lanes(parts, place, signed, 4);
                if signed || size < 4 {
                    self.b.ins().fcvt_from_sint(types::F32X4, words)
                } else {
                    self.b.ins().fcvt_from_uint(types::F32X4, words)
                }
            }
        }
    }

    /// Widens (the `place`-th piece of one vector) or truncates (several vectors) integer lanes.
    pub fn resize_lanes(&mut self, parts: &[Value], place: usize, signed: bool, to: usize) -> Value {
        let mut size = self.ty(parts[0]).lane_type().bytes() as usize;
        if size >= to {
            let mut parts = parts.to_vec();
            while size > to {
                parts = parts.chunks(2).map(|p| self.truncate_pair(p[0], p[1])).collect();
                size /= 2;
            }
            return parts[0];
        }
        let mut v = parts[0];
        // The highest bit of `place` says which half to widen first.
        let mut halvings = (to / size).trailing_zeros();
        while halvings > 0 {
            halvings -= 1;
            v = match (place >> halvings & 1 == 1, signed) {
                (false, true) => self.b.ins().swiden_low(v),
                (true, true) => self.b.ins().swiden_high(v),
                (false, false) => self.b.ins().uwiden_low(v),
                (true, false) => self.b.ins().uwiden_high(v),
            };
        }
        v
    }

    /// Masks of one width as masks of another, given as to `resize_lanes`.
    pub fn resize_masks(&mut self, parts: &[Value], place: usize, to: usize) -> Value {
        let mut size = self.ty(parts[0]).lane_type().bytes() as usize;
        if size < to {
            return self.resize_lanes(parts, place, true, to);
        }
        let mut parts = parts.to_vec();
        while size > to {
            // Saturating packs keep all ones and all zeros, with nothing to mask off first.
            parts = parts
                .chunks(2)
                .map(|p| if size == 8 { self.truncate_pair(p[0], p[1]) } else { self.b.ins().snarrow(p[0], p[1]) })
                .collect();
            size /= 2;
        }
        parts[0]
    }

    /// The low half of a vector, or its high half moved there.
    fn half_to_front(&mut self, v: Value, high: usize) -> Value {
        if high == 0 {
            return v;
        }
        let ty = self.ty(v);
        let bytes = self.bitcast(types::I8X16, v);
        let high_twice: Vec<u8> = (8..16).chain(8..16).collect();
        let mask = self.b.func.dfg.immediates.push(high_twice.into());
        let moved = self.b.ins().shuffle(bytes, bytes, mask);
        self.bitcast(ty, moved)
    }

    fn join_fronts(&mut self, low: Value, high: Value) -> Value {
        let (x, y) = (self.bitcast(types::I8X16, low), self.bitcast(types::I8X16, high));
        let fronts: Vec<u8> = (0..8).chain(16..24).collect();
        let mask = self.b.func.dfg.immediates.push(fronts.into());
        self.b.ins().shuffle(x, y, mask)
    }

    /// Lane by lane, for what has no vector form.
    fn cast_lanes(&mut self, parts: &[Value], place: usize, from: DType, to: DType) -> Value {
        let (in_part, count) = (16 / from.size(), 16 / to.size());
        let first = if in_part > count { place * count } else { 0 };
        let elements: Vec<Value> = (first..first + count)
            .map(|lane| {
                let x = self.b.ins().extractlane(parts[lane / in_part], (lane % in_part) as u8);
                self.cast(x, from, to)
            })
            .collect();
        self.gather_lanes(&elements)
    }

    pub fn gather_lanes(&mut self, elements: &[Value]) -> Value {
        let ty = vector_of(self.ty(elements[0]));
        let mut v = self.b.ins().splat(ty, elements[0]);
        for (lane, &x) in elements.iter().enumerate().skip(1) {
            v = self.b.ins().insertlane(v, x, lane as u8);
        }
        v
    }

    /// A single element in every lane; a bool as masks of `width` bytes.
    pub fn spread(&mut self, v: Value, d: DType, width: usize) -> Value {
        if d != DType::Bool {
            let ty = vector_of(self.ty(v));
            return self.b.ins().splat(ty, v);
        }
        let lane = int_type(width);
        let wide = self.resize(v, false, lane);
        let ones = self.b.ins().ineg(wide);
        self.b.ins().splat(vector_of(lane), ones)
    }

    /// A mask as the numbers 0 and 1 of type `to`; of the mask's own shape.
    pub fn mask_to_number(&mut self, mask: Value, to: DType) -> Value {
        let one = match to {
            DType::F32 => 1f32.to_bits() as u64,
            DType::F64 => 1f64.to_bits(),
            _ => 1,
        };
        let ty = self.ty(mask);
        let one = self.constant(ty, one);
        let v = self.b.ins().band(mask, one);
        self.bitcast(vector_of(element_type(to)), v)
    }
}
