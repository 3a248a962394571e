//! From a fused group to its kernel: every value computed once, kept in a register while the group
//! needs it, and stored only if somebody can still see it.

use crate::filler::{filler, is_narrow, may_raise};
use crate::fuse::Group;
use crate::node::{Input, Node, Nodes, Spot, StoreId, Work};
use crate::record::MapOp;
use crate::stitch::Stitches;
use numloom_ir::kernel::{Instr, Kernel, NO_REG, OperandId, Reg, Target};
use numloom_ir::{DType, Identity, ScalarOp, Value, View};

/// Where a launch parameter's value comes from.
#[derive(Clone, Copy, Debug)]
pub enum ParamSource {
    /// Input `input` of node `node`.
    Node { node: u32, input: u8 },
    /// Start or step of an `arange` node.
    Iota { node: u32, step: bool },
    /// Part of the kernel's meaning (an identity).
    Fixed(Value),
}

/// A reduction's result.
#[derive(Clone, Debug)]
pub struct Folded {
    pub spot: Spot,
    pub initial: Option<Value>,
}

pub struct Lowered {
    pub kernel: Kernel,
    pub operands: Vec<Spot>,
    pub params: Vec<ParamSource>,
    pub folded: Vec<Folded>,
    /// For each instruction the node it is part of, by place in the group.
    pub origins: Vec<u32>,
}

/// The current value of a view inside the group.
struct Current {
    store: StoreId,
    view: View,
    reg: Reg,
    dirty: bool,
}

struct Lowering<'a> {
    nodes: &'a Nodes,
    out: Lowered,
    current: Vec<Current>,
}

/// `needed_later[store]`: a later group of the window touches it.
pub fn lower(nodes: &Nodes, group: &Group, stitches: &Stitches, needed_later: &dyn Fn(StoreId) -> bool) -> Lowered {
    let out = Lowered {
        kernel: Kernel::default(),
        operands: Vec::new(),
        params: Vec::new(),
        folded: Vec::new(),
        origins: Vec::new(),
    };
    let mut l = Lowering { nodes, out, current: Vec::new() };
    for (place, &i) in group.nodes.iter().enumerate() {
        if !stitches.has_copy(i) {
            l.node(i);
        }
        l.out.origins.resize(l.out.kernel.instrs.len(), place as u32);
    }
    for k in 0..l.current.len() {
        let c = &l.current[k];
        if c.dirty && (nodes.stores[c.store as usize].live || needed_later(c.store)) {
            let (spot, src) = (Spot { store: c.store, view: c.view.clone() }, c.reg);
            let operand = l.operand(&spot);
            l.emit(Instr::Store { operand, src, mask: NO_REG });
        }
    }
    l.out.origins.resize(l.out.kernel.instrs.len(), 0);
    drop_unused(&mut l.out);
    l.out
}

impl Lowering<'_> {
    fn emit(&mut self, i: Instr) {
        self.out.kernel.instrs.push(i);
    }

    fn reg(&mut self, dtype: DType) -> Reg {
        self.out.kernel.new_reg(dtype)
    }

    fn operand(&mut self, spot: &Spot) -> OperandId {
        if let Some(k) = self.out.operands.iter().position(|s| s == spot) {
            return k as OperandId;
        }
        self.out.operands.push(spot.clone());
        self.out.kernel.operands.push(spot.view.dtype);
        (self.out.operands.len() - 1) as OperandId
    }

    fn param(&mut self, dtype: DType, source: ParamSource) -> Reg {
        let p = self.param_id(dtype, source);
        let dst = self.reg(dtype);
        self.emit(Instr::Param { dst, param: p });
        dst
    }

    fn param_id(&mut self, dtype: DType, source: ParamSource) -> u16 {
        self.out.params.push(source);
        self.out.kernel.params.push(dtype);
        (self.out.params.len() - 1) as u16
    }

    fn read(&mut self, spot: &Spot) -> Reg {
        if let Some(c) = self.current.iter().find(|c| c.store == spot.store && c.view == spot.view) {
            return c.reg;
        }
        let operand = self.operand(spot);
        let dst = self.reg(spot.view.dtype);
        self.emit(Instr::Load { dst, operand });
        self.current.push(Current { store: spot.store, view: spot.view.clone(), reg: dst, dirty: false });
        dst
    }

    fn write(&mut self, spot: &Spot, value: Reg, mask: Option<Reg>) {
        let value = self.cast(value, spot.view.dtype);
        let value = match mask {
            None => value,
            Some(mask) => {
                let old = self.read(spot);
                let dst = self.reg(spot.view.dtype);
                self.emit(Instr::Select { dst, mask, yes: value, no: old });
                dst
            }
        };
        match self.current.iter_mut().find(|c| c.store == spot.store && c.view == spot.view) {
            Some(c) => {
                c.reg = value;
                c.dirty = true;
            }
            None => self.current.push(Current { store: spot.store, view: spot.view.clone(), reg: value, dirty: true }),
        }
    }

    fn cast(&mut self, src: Reg, to: DType) -> Reg {
        if self.out.kernel.regs[src as usize] == to {
            return src;
        }
        let dst = self.reg(to);
        self.emit(Instr::Cast { dst, src });
        dst
    }

    fn input(&mut self, index: u32, node: &Node, k: usize, want: DType) -> Reg {
        let r = self.given(index, node, k);
        self.cast(r, want)
    }

    /// An input in its own type.
    fn given(&mut self, index: u32, node: &Node, k: usize) -> Reg {
        match &node.ins[k] {
            Input::Spot(s) => self.read(s),
            Input::Value(v) => self.param(v.dtype, ParamSource::Node { node: index, input: k as u8 }),
        }
    }

    /// An input whose elements raise nothing where the guard is false.
    fn guarded(&mut self, given: Reg, guard: Option<Reg>, narrow: bool) -> Reg {
        let Some(mask) = guard else { return given };
        let dtype = self.out.kernel.regs[given as usize];
        let no = self.param(dtype, ParamSource::Fixed(filler(dtype, narrow)));
        let dst = self.reg(dtype);
        self.emit(Instr::Select { dst, mask, yes: given, no });
        dst
    }

    fn node(&mut self, index: u32) {
        let nodes = self.nodes;
        let node = &nodes.nodes[index as usize];
        let mask = node.mask.as_ref().map(|m| self.read(m)).map(|r| self.cast(r, DType::Bool));
        match node.work {
            Work::Map(op) => {
                let values = self.map(index, node, op, mask.filter(|_| may_raise(&op)));
                for (spot, value) in node.outs.iter().zip(values) {
                    self.write(spot, value, mask);
                }
            }
            Work::Reduce { op, lp, initial, .. } => self.reduce(index, node, op, lp, initial, mask),
            Work::Opaque => {}
        }
    }

    /// `guard`: where this is false, nothing may be raised.
    fn map(&mut self, index: u32, node: &Node, op: MapOp, guard: Option<Reg>) -> smallvec::SmallVec<[Reg; 2]> {
        let to = node.outs[0].view.dtype;
        let one = |r: Reg| smallvec::smallvec![r];
        match op {
            MapOp::Copy => {
                let mut r = self.given(index, node, 0);
                if self.out.kernel.regs[r as usize] != to {
                    r = self.guarded(r, guard, false);
                }
                one(self.cast(r, to))
            }
            MapOp::Select => {
                let mask = self.input(index, node, 0, DType::Bool);
                let yes = self.input(index, node, 1, to);
                let no = self.input(index, node, 2, to);
                let dst = self.reg(to);
                self.emit(Instr::Select { dst, mask, yes, no });
                one(dst)
            }
            MapOp::Iota { start, step } => {
                let start = self.param_id(start.dtype, ParamSource::Iota { node: index, step: false });
                let step = self.param_id(step.dtype, ParamSource::Iota { node: index, step: true });
                let dst = self.reg(to);
                self.emit(Instr::Iota { dst, start, step });
                one(dst)
            }
            MapOp::Scalar { op, lp } => {
                let l = &op.loops()[lp as usize];
                let mut src = [NO_REG; 2];
                for (k, &d) in l.ins().iter().enumerate() {
                    let given = self.given(index, node, k);
                    let given = self.guarded(given, guard, is_narrow(&MapOp::Scalar { op, lp }));
                    src[k] = self.cast(given, d);
                }
                let mut dst = [NO_REG; 2];
                for (k, &d) in l.outs().iter().enumerate() {
                    dst[k] = self.reg(d);
                }
                self.emit(Instr::Apply { op, lp, dst, src });
                dst.into_iter().take(l.outs().len()).collect()
            }
        }
    }

    fn reduce(&mut self, index: u32, node: &Node, op: ScalarOp, lp: u8, initial: Option<Value>, mask: Option<Reg>) {
        let (lp, dtype) = accumulator(op, lp);
        let mut value = self.input(index, node, 0, dtype);
        let initial = initial.map(|v| v.cast(dtype));
        let neutral = identity_value(op, dtype).or(initial);
        if let (Some(mask), Some(neutral)) = (mask, neutral) {
            let no = self.param(dtype, ParamSource::Fixed(neutral));
            let dst = self.reg(dtype);
            self.emit(Instr::Select { dst, mask, yes: value, no });
            value = dst;
        }
        let target = self.out.kernel.targets.len() as u16;
        self.out.kernel.targets.push(Target { op, lp });
        self.emit(Instr::Reduce { target, src: value });
        let empty = node.domain.contains(&0);
        let initial = if empty { initial.or(identity_value(op, dtype)) } else { initial };
        self.out.folded.push(Folded { spot: node.outs[0].clone(), initial });
    }
}

/// Loop and type a reduction accumulates in: truth values for the logical operations, and single precision for sums and
/// products of halves, whose parts a half would not hold where it holds the whole.
pub fn accumulator(op: ScalarOp, lp: u8) -> (u8, DType) {
    let other = match op {
        ScalarOp::LogicalAnd | ScalarOp::LogicalOr | ScalarOp::LogicalXor => op.loop_for(DType::Bool),
        ScalarOp::Add | ScalarOp::Multiply if op.loops()[lp as usize].outs()[0] == DType::F16 => {
            op.loop_for(DType::F32)
        }
        _ => None,
    };
    let lp = other.map_or(lp, |l| l as u8);
    (lp, op.loops()[lp as usize].outs()[0])
}

/// What folding nothing gives, in the accumulator's type.
pub fn identity_value(op: ScalarOp, dtype: DType) -> Option<Value> {
    match op.identity() {
        Identity::None => None,
        Identity::Zero | Identity::False => Some(Value::from_i128(dtype, 0)),
        Identity::One | Identity::True => Some(Value::from_i128(dtype, 1)),
        Identity::MinusOne => Some(Value::from_i128(dtype, -1)),
        Identity::MinusInfinity => Some(Value::from_f64(dtype, f64::NEG_INFINITY)),
    }
}

/// Removes instructions whose results nothing uses (temporaries of results that are not stored).
fn drop_unused(out: &mut Lowered) {
    let kernel = &mut out.kernel;
    let mut used = vec![false; kernel.regs.len()];
    let mut keep = vec![true; kernel.instrs.len()];
    for (i, instr) in kernel.instrs.iter().enumerate().rev() {
        let effect = matches!(instr, Instr::Store { .. } | Instr::Reduce { .. });
        keep[i] = effect || instr.results().any(|r| used[r as usize]);
        if keep[i] {
            instr.sources().for_each(|r| used[r as usize] = true);
        }
    }
    let mut it = keep.iter();
    kernel.instrs.retain(|_| *it.next().unwrap_or(&true));
    let mut it = keep.iter();
    out.origins.retain(|_| *it.next().unwrap_or(&true));
}
