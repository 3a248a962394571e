//! A kernel made ready to run: block loops looked up, registers given scratch slots, stores forwarded,
//! and, when it pays, runs of simple instructions compiled to machine code.

use crate::copy::{Pairs, pairs_of};
use crate::partials::GRANULE;
use crate::trial::{self, Trial};
use numloom_ir::kernel::{Instr, Kernel, NO_REG, OperandId, ParamId, Reg};
use numloom_ir::{DType, ScalarOp};
use numloom_loops::{BLOCK, BlockFn, FoldFn, block_fn, cast_fn, fold_fn, select_fn};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How an operand's elements lie along the axis that blocks run over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Layout {
    /// Side by side: blocks read and write the memory itself.
    Dense,
    /// One element for the whole row.
    Uniform,
    /// Gathered into scratch before use, scattered after.
    Strided,
}

/// Operations of a segment that depend on one another, one by one. The processor looks a few hundred instructions ahead, so
/// it works on several elements at once only where the way of one is shorter than that. A hundred rounds of nine operations
/// on 40,000 elements took half as long again in long segments.
const DEEPEST: u32 = 16;

/// Which tier runs the simple instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    Interpreter,
    MachineCode,
}

pub(crate) enum Step {
    /// Gather an operand's block into the register's scratch.
    Gather {
        dst: Reg,
        operand: OperandId,
    },
    Iota {
        dst: Reg,
        start: ParamId,
        step: ParamId,
        dtype: DType,
    },
    Call {
        f: BlockFn,
        ins: [Reg; 3],
        outs: [Reg; 2],
    },
    /// Generated code over the registers, inputs then outputs.
    Code {
        code: Arc<numloom_jit::Compiled>,
        regs: Vec<Reg>,
    },
    /// Copy a register to a dense operand that it could not be computed into.
    CopyOut {
        f: BlockFn,
        src: Reg,
        operand: OperandId,
    },
    Scatter {
        src: Reg,
        operand: OperandId,
    },
    ScatterMasked {
        src: Reg,
        mask: Reg,
        operand: OperandId,
    },
    Fold {
        target: u16,
        src: Reg,
    },
}

/// Where a register's run lives while blocks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// Byte offset in the frame's scratch.
    Scratch(u32),
    /// A cell of the frame's uniform values.
    Cell(u16),
    /// A launch parameter.
    Param(ParamId),
    /// The block of a dense operand.
    Operand(OperandId),
    /// The row's element of a uniform operand.
    UniformOperand(OperandId),
}

pub(crate) struct Program {
    pub homes: Vec<Home>,
    pub sizes: Vec<u8>,
    /// Run once a row, on one element: everything that does not vary along it.
    pub uniform: Vec<Step>,
    /// Run for every block.
    pub body: Vec<Step>,
    pub folds: SmallVec<[TargetFns; 2]>,
    pub scratch_bytes: usize,
    pub cells: usize,
    pub block: usize,
}

#[derive(Clone, Copy)]
pub(crate) struct TargetFns {
    pub dtype: DType,
    pub fold: FoldFn,
    pub combine: BlockFn,
}

/// A kernel with its programs, one for each pattern of layouts and tier seen.
pub struct Compiled {
    pub kernel: Kernel,
    /// The copies it consists of, if it only copies.
    pub(crate) copies: Option<Pairs>,
    programs: Mutex<Vec<(SmallVec<[Layout; 8]>, Tier, Arc<Program>)>>,
    elements: AtomicU64,
    /// Block loops do it in less time than machine code.
    is_for_blocks: bool,
    /// Where that has to be found out.
    pub(crate) trial: Option<Arc<Trial>>,
}

/// Elements after which a kernel is worth the 0.02 ms of generating wide machine code for it, and the page it lies in.
const HOT: u64 = 40_000;
/// The same where it comes through Cranelift, in 0.2 ms or more.
const HOT_THROUGH_CRANELIFT: u64 = 150_000;
/// And for kernels over so few elements at a time that looking after the blocks is most of the work: Cranelift itself is
/// megabytes of code that would be read in for little.
const FEW: usize = 16_384;
const HOT_OF_FEW: u64 = 8_000_000;

/// Whether half of a short kernel's work is minima and maxima of floats: NaNs make ten instructions of each in narrow machine
/// code, for two elements, and a block loop has wider vectors.
fn is_for_blocks(kernel: &Kernel) -> bool {
    use ScalarOp::{Fmax, Fmin, Maximum, Minimum};
    let is_work = |i: &&Instr| matches!(i, Instr::Apply { .. } | Instr::Cast { .. } | Instr::Select { .. });
    let is_extreme = |i: &&Instr| match i {
        Instr::Apply { op: Maximum | Minimum | Fmax | Fmin, dst, .. } => kernel.regs[dst[0] as usize].is_inexact(),
        _ => false,
    };
    let work = kernel.instrs.iter().filter(is_work).count();
    work <= 4 && 2 * kernel.instrs.iter().filter(is_extreme).count() >= work.max(1)
}

impl Compiled {
    pub fn new(kernel: Kernel) -> Compiled {
        debug_assert_eq!(kernel.check(), Ok(()));
        Compiled {
            copies: pairs_of(&kernel),
            is_for_blocks: !numloom_jit::is_wide() && is_for_blocks(&kernel),
            trial: (!numloom_jit::is_wide() && trial::is_worth_it(&kernel)).then(Arc::default),
            kernel,
            programs: Mutex::new(Vec::new()),
            elements: AtomicU64::new(0),
        }
    }

    /// The tier for one more launch of `elements`: machine code once the kernel has proven hot.
    pub fn tier(&self, elements: usize) -> Tier {
        let seen = self.elements.fetch_add(elements as u64, Ordering::Relaxed) + elements as u64;
        let hot = match numloom_jit::is_wide() {
            true => HOT,
            false if elements < FEW => HOT_OF_FEW,
            false => HOT_THROUGH_CRANELIFT,
        };
        match &self.trial {
            _ if seen < hot || self.is_for_blocks => Tier::Interpreter,
            Some(trial) => trial.next(),
            None => Tier::MachineCode,
        }
    }

    pub(crate) fn program(&self, layouts: &SmallVec<[Layout; 8]>, tier: Tier) -> Arc<Program> {
        let mut programs = self.programs.lock().unwrap_or_else(|e| e.into_inner());
        if let Some((_, _, p)) = programs.iter().find(|(l, t, _)| l == layouts && *t == tier) {
            return p.clone();
        }
        let p = Arc::new(Builder::new(&self.kernel, layouts.clone(), tier).build());
        programs.push((layouts.clone(), tier, p.clone()));
        p
    }
}

struct Builder<'a> {
    kernel: &'a Kernel,
    layouts: SmallVec<[Layout; 8]>,
    tier: Tier,
    homes: Vec<Option<Home>>,
    /// Position of the last instruction that reads each register.
    last_use: Vec<usize>,
    is_uniform: Vec<bool>,
    free: Vec<(u8, u32)>,
    top: u32,
    cells: u16,
}

impl<'a> Builder<'a> {
    fn new(kernel: &'a Kernel, layouts: SmallVec<[Layout; 8]>, tier: Tier) -> Self {
        let mut last_use = vec![0; kernel.regs.len()];
        for (at, i) in kernel.instrs.iter().enumerate() {
            i.sources().for_each(|r| last_use[r as usize] = at);
        }
        let n = kernel.regs.len();
        Builder {
            kernel,
            layouts,
            tier,
            homes: vec![None; n],
            last_use,
            is_uniform: vec![false; n],
            free: Vec::new(),
            top: 0,
            cells: 0,
        }
    }

    fn size(&self, r: Reg) -> usize {
        self.kernel.regs[r as usize].size()
    }

    fn build(mut self) -> Program {
        let (mut uniform, mut body) = (Vec::new(), Vec::new());
        let mut run: Vec<usize> = Vec::new();
        let mut depths = vec![0u32; self.kernel.regs.len()];
        for (at, instr) in self.kernel.instrs.iter().enumerate() {
            let sources_uniform = instr.sources().all(|r| self.is_uniform[r as usize]);
            let computes = matches!(instr, Instr::Apply { .. } | Instr::Cast { .. } | Instr::Select { .. });
            if computes && sources_uniform {
                for r in instr.results() {
                    self.is_uniform[r as usize] = true;
                    self.homes[r as usize] = Some(Home::Cell(self.cells));
                    self.cells += 1;
                }
                uniform.push(self.call(instr));
                continue;
            }
            if self.tier == Tier::MachineCode && computes && numloom_jit::supports(self.kernel, instr) {
                run.push(at);
                let depth = 1 + instr.sources().map(|r| depths[r as usize]).max().unwrap_or(0);
                instr.results().for_each(|r| depths[r as usize] = depth);
                if depth >= DEEPEST && (depth >= 2 * DEEPEST || !self.has_masks_after(&run, at)) {
                    self.flush(&mut run, &mut body);
                    depths.fill(0);
                }
                continue;
            }
            if !matches!(instr, Instr::Load { .. } | Instr::Param { .. }) {
                self.flush(&mut run, &mut body);
            }
            self.lower(at, instr, &mut body);
        }
        self.flush(&mut run, &mut body);
        let per_element: usize = self.top as usize / BLOCK;
        let fits = (24 * 1024 / per_element.max(1)).clamp(256, BLOCK);
        let block = match widest_fold(self.kernel).filter(|_| self.top == 0) {
            _ if self.kernel.targets.is_empty() => fits / 64 * 64,
            Some(size) => (BLOCK * 8 / size).max(BLOCK),
            None => fits.max(GRANULE) / GRANULE * GRANULE,
        };
        Program {
            homes: self.homes.into_iter().map(|h| h.unwrap_or(Home::Scratch(0))).collect(),
            sizes: self.kernel.regs.iter().map(|d| d.size() as u8).collect(),
            uniform,
            body,
            folds: self.kernel.targets.iter().map(target_fns).collect(),
            scratch_bytes: self.top as usize,
            cells: self.cells as usize,
            block,
        }
    }

    fn lower(&mut self, at: usize, instr: &Instr, body: &mut Vec<Step>) {
        match *instr {
            Instr::Load { dst, operand } => match self.layouts[operand as usize] {
                Layout::Dense if self.is_overwritten(dst, operand) => {
                    self.allocate(dst);
                    body.push(Step::Gather { dst, operand });
                }
                Layout::Dense => self.homes[dst as usize] = Some(Home::Operand(operand)),
                Layout::Uniform => {
                    self.homes[dst as usize] = Some(Home::UniformOperand(operand));
                    self.is_uniform[dst as usize] = true;
                }
                Layout::Strided => {
                    self.allocate(dst);
                    body.push(Step::Gather { dst, operand });
                }
            },
            Instr::Param { dst, param } => {
                self.homes[dst as usize] = Some(Home::Param(param));
                self.is_uniform[dst as usize] = true;
            }
            Instr::Iota { dst, start, step } => {
                self.place_result(at, dst);
                body.push(Step::Iota { dst, start, step, dtype: self.kernel.regs[dst as usize] });
            }
            Instr::Apply { .. } | Instr::Cast { .. } | Instr::Select { .. } => {
                self.release_same_size(at, instr);
                for r in instr.results() {
                    self.place_result(at, r);
                }
                let step = self.call(instr);
                body.push(step);
                self.release_dead(at, instr);
            }
            Instr::Store { operand, src, mask } => {
                let dense = self.layouts[operand as usize] == Layout::Dense;
                if mask != NO_REG {
                    body.push(Step::ScatterMasked { src, mask, operand });
                } else if self.homes[src as usize] == Some(Home::Operand(operand)) {
                    // Computed in place.
                } else if dense {
                    let d = self.kernel.regs[src as usize];
                    body.push(Step::CopyOut { f: cast_fn(d, d), src, operand });
                } else {
                    body.push(Step::Scatter { src, operand });
                }
                self.release_dead(at, instr);
            }
            Instr::Reduce { target, src } => {
                body.push(Step::Fold { target, src });
                self.release_dead(at, instr);
            }
        }
    }

    /// Whether a run of instructions has made masks that are still wanted after it: they are bytes between two segments, for
    /// which both of them have to do sixteen elements at a time.
    fn has_masks_after(&self, run: &[usize], at: usize) -> bool {
        let wanted = |r: Reg| self.kernel.regs[r as usize] == DType::Bool && self.last_use[r as usize] > at;
        run.iter().flat_map(|&i| self.kernel.instrs[i].results()).any(wanted)
    }

    /// Whether the operand is stored to while the register loaded from it is still needed.
    fn is_overwritten(&self, reg: Reg, operand: OperandId) -> bool {
        let last = self.last_use[reg as usize];
        self.kernel.instrs[..last].iter().any(|i| matches!(i, Instr::Store { operand: o, .. } if *o == operand))
    }

    fn call(&self, instr: &Instr) -> Step {
        let regs = &self.kernel.regs;
        match *instr {
            Instr::Apply { op, lp, dst, src } => {
                Step::Call { f: block_fn(op, lp as usize), ins: [src[0], src[1], NO_REG], outs: dst }
            }
            Instr::Cast { dst, src } => Step::Call {
                f: cast_fn(regs[src as usize], regs[dst as usize]),
                ins: [src, NO_REG, NO_REG],
                outs: [dst, NO_REG],
            },
            Instr::Select { dst, mask, yes, no } => {
                Step::Call { f: select_fn(self.size(dst)), ins: [mask, yes, no], outs: [dst, NO_REG] }
            }
            _ => unreachable!("only computing instructions are called"),
        }
    }

    /// Compiles the collected run of simple instructions into one step (or calls, if that fails).
    fn flush(&mut self, run: &mut Vec<usize>, body: &mut Vec<Step>) {
        let (Some(&first), Some(&last)) = (run.first(), run.last()) else { return };
        let instrs: Vec<Instr> = run.iter().map(|&at| self.kernel.instrs[at]).collect();
        if instrs.len() == 1 {
            let at = run[0];
            run.clear();
            return self.lower(at, &instrs[0], body);
        }
        let made: Vec<Reg> = instrs.iter().flat_map(|i| i.results()).collect();
        // As they are first read: of the rounds of a loop the segments are alike then, and their code is made once.
        let mut inputs: Vec<Reg> = Vec::new();
        for r in instrs.iter().flat_map(|i| i.sources()) {
            if !made.contains(&r) && !inputs.contains(&r) {
                inputs.push(r);
            }
        }
        let outputs: Vec<Reg> = made.iter().copied().filter(|&r| self.last_use[r as usize] > last).collect();
        let declared: Vec<numloom_jit::Input> =
            inputs.iter().map(|&reg| numloom_jit::Input { reg, uniform: self.is_uniform[reg as usize] }).collect();
        let segment =
            numloom_jit::Segment { kernel: self.kernel, instrs: &instrs, inputs: &declared, outputs: &outputs };
        match numloom_jit::compile(&segment) {
            Ok(code) => {
                // Outputs are written while later inputs are still read, so no input's scratch is
                // handed to an output here; inputs die after the segment.
                for &r in &outputs {
                    self.place_result_of_segment(first, last, r);
                }
                let regs = inputs.iter().chain(&outputs).copied().collect();
                body.push(Step::Code { code, regs });
                for r in inputs {
                    if self.last_use[r as usize] <= last {
                        self.release(r);
                    }
                }
            }
            Err(_) => {
                for (&at, i) in run.iter().zip(&instrs) {
                    self.lower(at, i, body);
                }
            }
        }
        run.clear();
    }

    /// A store target the register can be computed into directly, if that overwrites nothing needed.
    fn forward_target(&self, from: usize, reg: Reg, until: usize) -> Option<OperandId> {
        let mut target = None;
        for i in &self.kernel.instrs[from..] {
            if let Instr::Store { operand, src, mask: NO_REG } = *i
                && src == reg
                && self.layouts[operand as usize] == Layout::Dense
                && self.kernel.operands[operand as usize].size() == self.size(reg)
            {
                target = Some(operand);
                break;
            }
        }
        let target = target?;
        let stores = |i: &&Instr| matches!(i, Instr::Store { operand, .. } if *operand == target);
        if self.kernel.instrs.iter().filter(stores).count() != 1 {
            return None;
        }
        let conflicts = self.kernel.instrs.iter().any(|i| match *i {
            Instr::Load { dst, operand } => operand == target && self.last_use[dst as usize] > until,
            _ => false,
        });
        let taken = self.homes.contains(&Some(Home::Operand(target)))
            && !self.kernel.instrs.iter().any(|i| matches!(i, Instr::Load { operand, .. } if *operand == target));
        if conflicts || taken { None } else { Some(target) }
    }

    fn place_result(&mut self, at: usize, r: Reg) {
        self.place_result_of_segment(at, at, r);
    }

    fn place_result_of_segment(&mut self, first: usize, last: usize, r: Reg) {
        match self.forward_target(first, r, last) {
            Some(operand) => self.homes[r as usize] = Some(Home::Operand(operand)),
            None => self.allocate(r),
        }
    }

    fn allocate(&mut self, r: Reg) {
        let size = self.size(r) as u8;
        let at = match self.free.iter().position(|&(s, _)| s == size) {
            Some(k) => self.free.swap_remove(k).1,
            None => {
                let at = self.top;
                self.top += (size as usize * BLOCK) as u32;
                at
            }
        };
        self.homes[r as usize] = Some(Home::Scratch(at));
    }

    fn release(&mut self, r: Reg) {
        if let Some(Home::Scratch(at)) = self.homes[r as usize] {
            let slot = (self.size(r) as u8, at);
            if !self.free.contains(&slot) {
                self.free.push(slot);
            }
        }
    }

    /// Sources that die here free their scratch before the result is placed: a block loop may write
    /// the very run it reads when the element sizes agree.
    fn release_same_size(&mut self, at: usize, instr: &Instr) {
        let Some(out) = instr.results().next() else { return };
        if instr.results().count() != 1 {
            return;
        }
        for r in instr.sources().filter(|&r| self.last_use[r as usize] == at).collect::<SmallVec<[Reg; 3]>>() {
            if self.size(r) == self.size(out) {
                self.release(r);
            }
        }
    }

    fn release_dead(&mut self, at: usize, instr: &Instr) {
        let placed: SmallVec<[Option<Home>; 2]> = instr.results().map(|r| self.homes[r as usize]).collect();
        for r in instr.sources().filter(|&r| self.last_use[r as usize] == at).collect::<SmallVec<[Reg; 3]>>() {
            if !placed.contains(&self.homes[r as usize]) {
                self.release(r);
            }
        }
        for r in instr.results().filter(|&r| self.last_use[r as usize] <= at).collect::<SmallVec<[Reg; 2]>>() {
            self.release(r);
        }
    }
}

/// Bytes of the largest value, of a kernel that does nothing but fold integers as they lie. Nothing keeps a block of such
/// elements, and of small ones a block would be over before it paid.
fn widest_fold(kernel: &Kernel) -> Option<usize> {
    let only_folds = kernel.instrs.iter().all(|i| matches!(i, Instr::Load { .. } | Instr::Reduce { .. }));
    let integers = kernel.regs.iter().all(|d| d.is_integer() || *d == DType::Bool);
    (only_folds && integers).then(|| kernel.regs.iter().map(|d| d.size()).max()).flatten()
}

fn target_fns(t: &numloom_ir::kernel::Target) -> TargetFns {
    let lp = t.lp as usize;
    TargetFns {
        dtype: t.dtype(),
        fold: fold_fn(t.op, lp).expect("a reduction's loop has a fold"),
        combine: block_fn(t.op, lp),
    }
}
