//! What must be known of a segment before code is written: who defines each register, which are the
//! same for all elements, how wide each mask is kept, how many elements one step takes.

use crate::support::supports;
use crate::{JitError, Segment};
use numloom_ir::DType;
use numloom_ir::kernel::{Instr, Reg};

/// Vector bytes. Cranelift has no wider vectors on x86-64.
pub const VECTOR: usize = 16;
/// Vectors of the widest type in flight in one iteration of the loop.
const IN_FLIGHT: usize = 4;
/// Vector instructions in one iteration that more steps may bring it to: they cost time to compile.
const UNROLL_LIMIT: usize = 32;

#[derive(Clone, Copy, Debug)]
pub enum Def {
    Input(usize),
    Instr(usize),
}

pub struct Plan {
    defs: Vec<Option<Def>>,
    uniform: Vec<bool>,
    /// Bytes of a lane in which a register is computed: its size, and for bools the width of the mask.
    widths: Vec<u8>,
    /// Elements of one step: the lanes of a vector of the narrowest type.
    pub lanes: usize,
    /// Steps of one iteration of the vector loop.
    pub steps: usize,
}

impl Plan {
    pub fn of(segment: &Segment) -> Result<Plan, JitError> {
        let regs = &segment.kernel.regs;
        let mut plan = Plan {
            defs: vec![None; regs.len()],
            uniform: vec![false; regs.len()],
            widths: vec![0; regs.len()],
            lanes: 0,
            steps: 1,
        };
        for (at, input) in segment.inputs.iter().enumerate() {
            plan.define(input.reg, Def::Input(at))?;
            plan.uniform[input.reg as usize] = input.uniform;
            plan.widths[input.reg as usize] = simple_size(regs[input.reg as usize])?;
        }
        for (at, instr) in segment.instrs.iter().enumerate() {
            if !supports(segment.kernel, instr) {
                return Err(JitError::Segment(format!("{instr:?} is not supported")));
            }
            if let Some(r) = instr.sources().find(|&r| !plan.is_defined(r)) {
                return Err(JitError::Segment(format!("r{r} is read before it is assigned")));
            }
            for dst in instr.results() {
                plan.define(dst, Def::Instr(at))?;
                plan.uniform[dst as usize] = instr.sources().all(|r| plan.uniform[r as usize]);
                plan.widths[dst as usize] = plan.result_width(regs, instr, dst);
            }
        }
        if let Some(r) = segment.outputs.iter().find(|&&r| !plan.is_defined(r)) {
            return Err(JitError::Segment(format!("the output r{r} is never assigned")));
        }
        plan.choose_step(segment);
        Ok(plan)
    }

    fn is_defined(&self, r: Reg) -> bool {
        self.defs.get(r as usize).is_some_and(Option::is_some)
    }

    fn define(&mut self, r: Reg, def: Def) -> Result<(), JitError> {
        match self.defs.get_mut(r as usize) {
            Some(slot @ None) => {
                *slot = Some(def);
                Ok(())
            }
            Some(_) => Err(JitError::Segment(format!("r{r} is assigned twice"))),
            None => Err(JitError::Segment(format!("r{r} is not a register of the kernel"))),
        }
    }

    /// A mask is born as wide as what was compared, and bool operations keep the widest of theirs.
    fn result_width(&self, regs: &[DType], instr: &Instr, dst: Reg) -> u8 {
        if regs[dst as usize] != DType::Bool {
            return regs[dst as usize].size() as u8;
        }
        let varying = instr.sources().filter(|&r| !self.uniform[r as usize]);
        varying.map(|r| self.widths[r as usize]).max().unwrap_or(1)
    }

    fn choose_step(&mut self, segment: &Segment) {
        let (mut narrowest, mut widest) = (VECTOR / 2, 1);
        let mut see = |w: usize| {
            narrowest = narrowest.min(w);
            widest = widest.max(w);
        };
        for r in (0..self.defs.len()).filter(|&r| self.defs[r].is_some() && !self.uniform[r]) {
            see(self.widths[r] as usize);
        }
        for &r in segment.outputs {
            see(segment.kernel.regs[r as usize].size());
        }
        self.lanes = VECTOR / narrowest;
        let vectors = self.lanes * widest / VECTOR;
        let affordable = UNROLL_LIMIT / (segment.instrs.len() * vectors).max(1);
        self.steps = match (IN_FLIGHT / vectors).min(affordable) {
            0 => 1,
            steps => 1 << steps.ilog2(),
        };
    }

    pub fn def(&self, r: Reg) -> Def {
        self.defs[r as usize].expect("checked by Plan::of")
    }

    pub fn is_uniform(&self, r: Reg) -> bool {
        self.uniform[r as usize]
    }

    pub fn width(&self, r: Reg) -> usize {
        self.widths[r as usize] as usize
    }

    /// Elements of one iteration of the vector loop.
    pub fn stride(&self) -> usize {
        self.lanes * self.steps
    }
}

fn simple_size(d: DType) -> Result<u8, JitError> {
    if d.is_complex() || d == DType::F16 {
        return Err(JitError::Segment(format!("{d} values are not supported")));
    }
    Ok(d.size() as u8)
}
