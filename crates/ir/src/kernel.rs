//! The kernel form: the scalar program that a fused task runs for every point of its domain.
//! One form, several backends: the block interpreter, Cranelift, and later CUDA C.

use crate::dtype::DType;
use crate::scalar_op::ScalarOp;

/// A value of the program: assigned once, one element per point.
pub type Reg = u16;
pub const NO_REG: Reg = Reg::MAX;

/// An array the kernel reads or writes, by position in the launch's operand list.
pub type OperandId = u16;

/// A value given at launch (a Python number): by position in the launch's parameter list.
pub type ParamId = u16;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instr {
    /// The element of an operand at this point.
    Load { dst: Reg, operand: OperandId },
    /// A launch parameter, the same at every point.
    Param { dst: Reg, param: ParamId },
    /// `start + step * i`, where `i` is the point's place along the last axis of the domain.
    Iota { dst: Reg, start: ParamId, step: ParamId },
    /// A scalar operation in dtype loop `lp`; unused sources and results are `NO_REG`.
    Apply { op: ScalarOp, lp: u8, dst: [Reg; 2], src: [Reg; 2] },
    /// NumPy's unsafe cast between the registers' types.
    Cast { dst: Reg, src: Reg },
    /// `yes` where `mask` (a bool register) is true, else `no`.
    Select { dst: Reg, mask: Reg, yes: Reg, no: Reg },
    /// Write to an operand, everywhere or where `mask` is true.
    Store { operand: OperandId, src: Reg, mask: Reg },
    /// Fold into a reduction target.
    Reduce { target: u16, src: Reg },
}

/// A reduction at the tail of a kernel: `op` in loop `lp` (a loop of two equal inputs).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    pub op: ScalarOp,
    pub lp: u8,
}

impl Target {
    /// The type accumulated in.
    pub fn dtype(&self) -> DType {
        self.op.loops()[self.lp as usize].outs()[0]
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Kernel {
    /// Type of every register.
    pub regs: Vec<DType>,
    /// Type of every operand.
    pub operands: Vec<DType>,
    /// Type of every parameter.
    pub params: Vec<DType>,
    pub targets: Vec<Target>,
    /// In order; every register is assigned before it is used.
    pub instrs: Vec<Instr>,
}

impl Kernel {
    pub fn new_reg(&mut self, dtype: DType) -> Reg {
        self.regs.push(dtype);
        (self.regs.len() - 1) as Reg
    }

    /// Whether every instruction only names registers assigned before it, of the types it needs.
    pub fn check(&self) -> Result<(), String> {
        let mut set = vec![false; self.regs.len()];
        for (at, i) in self.instrs.iter().enumerate() {
            for r in i.sources() {
                if !set.get(r as usize).copied().unwrap_or(false) {
                    return Err(format!("instruction {at} reads r{r} before it is assigned: {i:?}"));
                }
            }
            for r in i.results() {
                if std::mem::replace(&mut set[r as usize], true) {
                    return Err(format!("instruction {at} assigns r{r} again"));
                }
            }
            if let Instr::Apply { op, lp, dst, src } = i {
                let l = &op.loops()[*lp as usize];
                let types = |regs: &[Reg], want: &[DType]| {
                    want.iter().zip(regs).all(|(&d, &r)| r == NO_REG || self.regs[r as usize] == d)
                };
                if !types(src, l.ins()) || !types(dst, l.outs()) {
                    return Err(format!("instruction {at} has the wrong types: {i:?}"));
                }
            }
        }
        Ok(())
    }
}

impl Instr {
    pub fn sources(&self) -> impl Iterator<Item = Reg> {
        let s = match *self {
            Instr::Load { .. } | Instr::Param { .. } | Instr::Iota { .. } => [NO_REG; 3],
            Instr::Apply { src, .. } => [src[0], src[1], NO_REG],
            Instr::Cast { src, .. } => [src, NO_REG, NO_REG],
            Instr::Select { mask, yes, no, .. } => [mask, yes, no],
            Instr::Store { src, mask, .. } => [src, mask, NO_REG],
            Instr::Reduce { src, .. } => [src, NO_REG, NO_REG],
        };
        s.into_iter().filter(|&r| r != NO_REG)
    }

    pub fn results(&self) -> impl Iterator<Item = Reg> {
        let d = match *self {
            Instr::Load { dst, .. }
            | Instr::Param { dst, .. }
            | Instr::Iota { dst, .. }
            | Instr::Cast { dst, .. }
            | Instr::Select { dst, .. } => [dst, NO_REG],
            Instr::Apply { dst, .. } => dst,
            Instr::Store { .. } | Instr::Reduce { .. } => [NO_REG; 2],
        };
        d.into_iter().filter(|&r| r != NO_REG)
    }
}
