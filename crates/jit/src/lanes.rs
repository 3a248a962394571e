//! The vector form of a segment. A step takes `lanes` elements; a value of `width` bytes a lane is then
//! `lanes * width / 16` vectors, its parts, so that wide numbers and byte masks live side by side.
//! Parts are written on demand: what belongs to the first elements is finished before the next are
//! begun, which keeps few values alive.

use crate::Segment;
use crate::ops::{Ops, element_type, is_shift, vector_of};
use crate::plan::{Def, Plan, VECTOR};
use crate::support::apply_dtype;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use numloom_ir::kernel::{Instr, Reg};
use numloom_ir::{DType, Kind};
use std::collections::HashMap;

/// A part of a register, with lanes of `width` bytes (a bool may be asked for in any width).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Part {
    reg: Reg,
    width: usize,
    at: usize,
}

impl Part {
    /// The parts with lanes of `width` bytes that hold this part's elements.
    fn covered_by(self, reg: Reg, width: usize) -> impl Iterator<Item = Part> {
        let (first, count) = if width >= self.width {
            (self.at * (width / self.width), width / self.width)
        } else {
            (self.at * width / self.width, 1)
        };
        (first..first + count).map(move |at| Part { reg, width, at })
    }

    /// Which piece of a narrower covering part this one is.
    fn place_in(self, width: usize) -> usize {
        if width >= self.width { 0 } else { self.at % (self.width / width) }
    }
}

/// Writes steps of the vector loop.
pub struct Lanes<'a, 'b, 'f> {
    pub ops: Ops<'b, 'f>,
    pub segment: &'a Segment<'a>,
    pub plan: &'a Plan,
    /// Address of each slot's first element of this iteration.
    pub slots: &'a [Value],
    /// Registers that are the same for all elements, as single elements.
    pub uniforms: &'a HashMap<Reg, Value>,
}

impl Lanes<'_, '_, '_> {
    /// Writes all steps of one iteration.
    pub fn iteration(&mut self) {
        for step in 0..self.plan.steps {
            self.step(step * self.plan.lanes);
        }
    }

    /// Every load of an element comes before every store of it, so an output may be an input's memory.
    fn step(&mut self, first: usize) {
        let mut done = HashMap::new();
        let sizes = |r: Reg| self.segment.kernel.regs[r as usize].size();
        let inputs: Vec<(Reg, usize)> =
            self.segment.inputs.iter().filter(|i| !i.uniform).map(|i| (i.reg, sizes(i.reg))).collect();
        let outputs: Vec<(Reg, usize)> = self.segment.outputs.iter().map(|&r| (r, sizes(r))).collect();
        let slots = inputs.iter().chain(&outputs).map(|&(_, size)| size);
        let column = VECTOR / slots.max().unwrap_or(8);
        for lane in (0..self.plan.lanes).step_by(column) {
            for &(reg, size) in &inputs {
                let in_part = VECTOR / size;
                if lane % in_part == 0 {
                    self.value(Part { reg, width: size, at: lane / in_part }, first, &mut done);
                }
            }
            for (at, &(reg, size)) in outputs.iter().enumerate() {
                let in_part = VECTOR / size;
                if (lane + column).is_multiple_of(in_part) {
                    let part = Part { reg, width: size, at: lane / in_part };
                    let v = self.value(part, first, &mut done);
                    self.store(self.segment.inputs.len() + at, first + part.at * in_part, reg, v);
                }
            }
        }
    }

    fn store(&mut self, slot: usize, lane: usize, reg: Reg, v: Value) {
        let d = self.segment.kernel.regs[reg as usize];
        let v = if d == DType::Bool { self.ops.mask_to_number(v, DType::U8) } else { v };
        self.ops.b.ins().store(MemFlagsData::new().with_notrap(), v, self.slots[slot], (lane * d.size()) as i32);
    }

    fn load(&mut self, slot: usize, lane: usize, d: DType) -> Value {
        let ty = vector_of(element_type(d));
        self.ops.b.ins().load(ty, MemFlagsData::new().with_notrap(), self.slots[slot], (lane * d.size()) as i32)
    }

    /// A part, after everything it is made of. An explicit stack, since a segment may be long.
    fn value(&mut self, part: Part, first: usize, done: &mut HashMap<Part, Value>) -> Value {
        let mut stack = vec![part];
        while let Some(&top) = stack.last() {
            if done.contains_key(&top) {
                stack.pop();
                continue;
            }
            let sources = self.sources(top);
            let ready: Vec<Value> = sources.iter().filter_map(|s| done.get(s).copied()).collect();
            if ready.len() == sources.len() {
                let v = self.make(top, first, &ready);
                done.insert(top, v);
                stack.pop();
            } else {
                stack.extend(sources.into_iter().rev().filter(|s| !done.contains_key(s)));
            }
        }
        done[&part]
    }

    fn dtype(&self, r: Reg) -> DType {
        self.segment.kernel.regs[r as usize]
    }

    /// The parts that a part is made of, in the order in which `make` takes them.
    fn sources(&self, part: Part) -> Vec<Part> {
        let natural = self.plan.width(part.reg);
        if self.plan.is_uniform(part.reg) {
            return Vec::new();
        }
        if part.width != natural {
            return part.covered_by(part.reg, natural).collect();
        }
        let Def::Instr(at) = self.plan.def(part.reg) else {
            return Vec::new();
        };
        match self.segment.instrs[at] {
            Instr::Cast { src, .. } => {
                let (from, to) = (self.dtype(src), self.dtype(part.reg));
                let as_wide = from == DType::Bool || to == DType::Bool;
                let width = if as_wide { part.width } else { from.size() };
                part.covered_by(src, width).collect()
            }
            instr => instr.sources().map(|reg| Part { reg, ..part }).collect(),
        }
    }

    fn make(&mut self, part: Part, first: usize, sources: &[Value]) -> Value {
        let d = self.dtype(part.reg);
        if self.plan.is_uniform(part.reg) {
            return self.ops.spread(self.uniforms[&part.reg], d, part.width);
        }
        let natural = self.plan.width(part.reg);
        if part.width != natural {
            return self.ops.resize_masks(sources, part.place_in(natural), part.width);
        }
        match self.plan.def(part.reg) {
            Def::Input(slot) => {
                let v = self.load(slot, first + part.at * VECTOR / part.width, d);
                if d == DType::Bool { self.ops.b.ins().ineg(v) } else { v }
            }
            Def::Instr(at) => self.instr(part, at, sources),
        }
    }

    fn instr(&mut self, part: Part, at: usize, sources: &[Value]) -> Value {
        match self.segment.instrs[at] {
            Instr::Apply { op, lp, src, .. } => {
                let (d, _) = apply_dtype(op, lp).expect("checked by Plan::of");
                let signed = d.kind() == Kind::Signed;
                let (a, b) = (sources[0], *sources.last().expect("an operation has a source"));
                match self.uniforms.get(&src[1]) {
                    Some(&amount) if is_shift(op) => self.ops.shift_all(op, signed, a, amount),
                    _ if is_shift(op) => self.lane_by_lane(a, b, |ops, x, y| ops.apply(op, d, x, y)),
                    _ => self.ops.apply(op, d, a, b),
                }
            }
            Instr::Select { .. } => self.ops.select(sources[0], sources[1], sources[2]),
            Instr::Cast { dst, src } => match (self.dtype(src), self.dtype(dst)) {
                (DType::Bool, DType::Bool) => sources[0],
                (DType::Bool, to) => self.ops.mask_to_number(sources[0], to),
                (_, DType::Bool) => self.ops.truth(sources[0]),
                (from, to) => self.ops.cast_vector(sources, part.place_in(from.size()), from, to),
            },
            _ => unreachable!("checked by Plan::of"),
        }
    }

    fn lane_by_lane(&mut self, a: Value, b: Value, mut f: impl FnMut(&mut Ops, Value, Value) -> Value) -> Value {
        let lanes = self.ops.ty(a).lane_count() as u8;
        let elements: Vec<Value> = (0..lanes)
            .map(|lane| {
                let (x, y) = (self.ops.b.ins().extractlane(a, lane), self.ops.b.ins().extractlane(b, lane));
                self.ops.vector = false;
                let v = f(&mut self.ops, x, y);
                self.ops.vector = true;
                v
            })
            .collect();
        self.ops.gather_lanes(&elements)
    }
}
