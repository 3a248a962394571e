//! Which instruction of a kernel raised a floating-point flag. The hardware only says that some instruction of a block
//! did. Then the block runs once more, one instruction at a time, on what it has read: for operands that the kernel
//! writes, a copy made before it ran. Hardly any block raises a flag, so the second run is slow and simple.

use crate::frame::Row;
use crate::program::Compiled;
use crate::walk::Operand;
use numloom_ir::kernel::{Instr, Kernel, NO_REG, OperandId, Reg};
use numloom_ir::{DType, ScalarOp, Value};
use numloom_loops::{self as loops, BLOCK, In};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex};

/// The flags that each instruction was seen to raise, by place.
#[derive(Default)]
pub struct Raised(Mutex<Vec<u8>>);

impl Raised {
    pub fn by_instruction(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    fn note(&self, at: usize, flags: u8) {
        let mut all = self.0.lock().unwrap_or_else(|e| e.into_inner());
        if all.len() <= at {
            all.resize(at + 1, 0);
        }
        all[at] |= flags;
    }
}

/// Watches the blocks of a launch for flags, and finds out who raised them.
pub struct Watch {
    compiled: Arc<Compiled>,
    /// Flags that somebody wants to hear of.
    heard: u8,
    /// Operands that are read and written.
    overwritten: SmallVec<[OperandId; 4]>,
    raised: Arc<Raised>,
}

impl Watch {
    pub fn new(compiled: &Arc<Compiled>, heard: u8, raised: &Arc<Raised>) -> Watch {
        Watch { compiled: compiled.clone(), heard, overwritten: SmallVec::new(), raised: raised.clone() }
    }

    /// Finds the operands that are read and written, be it under two numbers.
    pub(crate) fn over(mut self, operands: &[Operand]) -> Watch {
        let instrs = &self.compiled.kernel.instrs;
        let same = |a: OperandId, b: OperandId| a == b || operands[a as usize].ptr == operands[b as usize].ptr;
        let stored =
            |o: OperandId| instrs.iter().any(|i| matches!(i, Instr::Store { operand, .. } if same(*operand, o)));
        for i in instrs {
            if let Instr::Load { operand, .. } = *i
                && stored(operand)
                && !self.overwritten.contains(&operand)
            {
                self.overwritten.push(operand);
            }
        }
        self
    }

    pub(crate) fn overwrites(&self) -> bool {
        !self.overwritten.is_empty()
    }

    pub(crate) fn hears(&self, flags: u8) -> bool {
        flags & self.heard != 0
    }

    /// Room for the blocks that `save` keeps.
    pub(crate) fn room(&self) -> Vec<Vec<[u64; 2]>> {
        let size = |o: &OperandId| self.compiled.kernel.operands[*o as usize].size();
        self.overwritten.iter().map(|o| vec![[0; 2]; (size(o) * BLOCK).div_ceil(16)]).collect()
    }

    /// Keeps what a block is about to overwrite.
    pub(crate) unsafe fn save(&self, row: &Row, start: usize, n: usize, saved: &mut [Vec<[u64; 2]>]) {
        for (&o, to) in self.overwritten.iter().zip(saved) {
            row.gather(o as usize, start, n, to.as_mut_ptr().cast());
        }
    }

    /// After a block that raised `flags`: finds out which instructions did.
    pub(crate) unsafe fn blame(
        &self,
        flags: u8,
        params: &[Value],
        row: &Row,
        start: usize,
        n: usize,
        saved: &[Vec<[u64; 2]>],
    ) {
        if !self.hears(flags) {
            return;
        }
        let kernel = &self.compiled.kernel;
        let mut bench = Bench::new(kernel, params);
        for (at, instr) in kernel.instrs.iter().enumerate() {
            if let Instr::Load { dst, operand } = *instr {
                let to = bench.block(dst);
                match self.overwritten.iter().position(|&o| o == operand) {
                    Some(k) => {
                        let bytes = kernel.operands[operand as usize].size() * n;
                        std::ptr::copy_nonoverlapping(saved[k].as_ptr().cast(), to, bytes);
                    }
                    None => row.gather(operand as usize, start, n, to),
                }
                continue;
            }
            loops::fp_clear();
            let flags = bench.run(instr, start, n) | loops::fp_status();
            if self.hears(flags) {
                self.raised.note(at, flags);
            }
        }
    }

    /// Runs part of the folding of a target. Flags that were up before stay up.
    pub(crate) fn charge(&self, target: usize, fold: impl FnOnce() -> u8) -> u8 {
        let before = loops::fp_status();
        if before != 0 {
            loops::fp_clear();
        }
        let flags = fold() | loops::fp_status();
        if self.hears(flags) {
            let is_fold = |i: &Instr| matches!(i, Instr::Reduce { target: t, .. } if *t as usize == target);
            if let Some(at) = self.compiled.kernel.instrs.iter().position(is_fold) {
                self.raised.note(at, flags);
            }
        }
        if flags != 0 {
            loops::fp_clear();
        }
        loops::fp_raise(before);
        flags
    }
}

/// Runs part of the folding of a target under the watch, if there is one.
#[inline]
pub(crate) fn charged(watch: Option<&Watch>, target: usize, fold: impl FnOnce() -> u8) -> u8 {
    match watch {
        None => fold(),
        Some(w) => w.charge(target, fold),
    }
}

/// Whether an instruction could raise a flag at all.
pub fn may_raise(kernel: &Kernel, instr: &Instr) -> bool {
    use ScalarOp::{Divmod, FloorDivide, Fmod, Greater, GreaterEqual, Less, LessEqual, Reciprocal, Remainder};
    let inexact = |r: Reg| r != NO_REG && kernel.regs[r as usize].is_inexact();
    match *instr {
        Instr::Apply { op, dst, src, .. } => {
            let divides = matches!(op, FloorDivide | Remainder | Fmod | Divmod | Reciprocal);
            // Complex numbers are ordered by parts, and NaN among those shows.
            let orders = matches!(op, Less | LessEqual | Greater | GreaterEqual)
                && src.iter().any(|&r| r != NO_REG && kernel.regs[r as usize].is_complex());
            divides || orders || (!op.is_comparison() && src.iter().chain(&dst).any(|&r| inexact(r)))
        }
        // Integers may be too large for a half float.
        Instr::Cast { dst, src } => inexact(src) || kernel.regs[dst as usize] == DType::F16,
        Instr::Reduce { src, .. } => inexact(src),
        _ => false,
    }
}

/// A block of every register.
struct Bench<'a> {
    kernel: &'a Kernel,
    params: &'a [Value],
    blocks: Vec<Vec<[u64; 2]>>,
    /// The parameter that a register is, if it is one.
    constant: Vec<Option<u16>>,
}

impl<'a> Bench<'a> {
    fn new(kernel: &'a Kernel, params: &'a [Value]) -> Bench<'a> {
        let mut constant = vec![None; kernel.regs.len()];
        for i in &kernel.instrs {
            if let Instr::Param { dst, param } = *i {
                constant[dst as usize] = Some(param);
            }
        }
        let blocks = kernel.regs.iter().map(|d| vec![[0; 2]; (d.size() * BLOCK).div_ceil(16)]).collect();
        Bench { kernel, params, blocks, constant }
    }

    fn block(&mut self, r: Reg) -> *mut u8 {
        if r == NO_REG { std::ptr::null_mut() } else { self.blocks[r as usize].as_mut_ptr() as *mut u8 }
    }

    fn input(&self, r: Reg) -> In {
        if r == NO_REG {
            return In { ptr: std::ptr::null(), step: 0 };
        }
        match self.constant[r as usize] {
            Some(p) => In { ptr: self.params[p as usize].bytes.as_ptr(), step: 0 },
            None => {
                In { ptr: self.blocks[r as usize].as_ptr() as *const u8, step: self.kernel.regs[r as usize].size() }
            }
        }
    }

    unsafe fn run(&mut self, instr: &Instr, start: usize, n: usize) -> u8 {
        let regs = &self.kernel.regs;
        let (f, ins, outs): (loops::BlockFn, SmallVec<[Reg; 3]>, [Reg; 2]) = match *instr {
            Instr::Apply { op, lp, dst, src } => (loops::block_fn(op, lp as usize), SmallVec::from_slice(&src), dst),
            Instr::Cast { dst, src } => {
                (loops::cast_fn(regs[src as usize], regs[dst as usize]), SmallVec::from_slice(&[src]), [dst, NO_REG])
            }
            Instr::Select { dst, mask, yes, no } => {
                (loops::select_fn(regs[dst as usize].size()), SmallVec::from_slice(&[mask, yes, no]), [dst, NO_REG])
            }
            Instr::Iota { dst, start: first, step } => {
                let value = |p: u16| self.params[p as usize].bytes.as_ptr();
                let (first, step, dtype) = (value(first), value(step), regs[dst as usize]);
                loops::iota(dtype, n, first, step, start, self.block(dst));
                return 0;
            }
            Instr::Load { .. } | Instr::Param { .. } | Instr::Store { .. } | Instr::Reduce { .. } => return 0,
        };
        let args: SmallVec<[In; 3]> = ins.iter().map(|&r| self.input(r)).collect();
        let results = [self.block(outs[0]), self.block(outs[1])];
        f(n, args.as_ptr(), results.as_ptr())
    }
}
