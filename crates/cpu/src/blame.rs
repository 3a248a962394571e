//! Which instruction of a kernel raised a floating-point flag: the kernel runs once more, one instruction at
//! a time. The hardware only says that some instruction did, and hardly any kernel raises one, so this is
//! slow and simple.

use crate::program::Compiled;
use crate::walk::{self, Operand};
use numloom_ir::Value;
use numloom_ir::kernel::{Instr, Kernel, NO_REG, Reg};
use numloom_loops::{self as loops, BLOCK, In};
use smallvec::SmallVec;

/// The flags each instruction raises, by place; `None` if what the kernel read is overwritten by now.
///
/// # Safety
/// The operands must be valid memory over the domain that nobody writes meanwhile.
pub unsafe fn blame(compiled: &Compiled, domain: &[usize], operands: &[Operand], params: &[Value]) -> Option<Vec<u8>> {
    let kernel = &compiled.kernel;
    let loads = |o: u16| kernel.instrs.iter().any(|i| matches!(i, Instr::Load { operand, .. } if *operand == o));
    if kernel.instrs.iter().any(|i| matches!(i, Instr::Store { operand, .. } if loads(*operand))) {
        return None;
    }
    let mut raised = vec![0u8; kernel.instrs.len()];
    let mut bench = Bench::new(kernel, params);
    let (outer, inner) = match domain.split_last() {
        Some((&inner, outer)) => (outer, inner),
        None => (domain, 1),
    };
    for row in 0..outer.iter().product() {
        for start in (0..inner).step_by(BLOCK) {
            let n = BLOCK.min(inner - start);
            for (at, instr) in kernel.instrs.iter().enumerate() {
                if let Instr::Load { dst, operand } = *instr {
                    let o = &operands[operand as usize];
                    let stride = o.strides.last().copied().unwrap_or(0);
                    let ptr = o.ptr.offset(walk::offset_of(row, outer, &o.strides)).offset(stride * start as isize);
                    loops::gather(o.dtype.size(), n, ptr, stride, bench.block(dst));
                    continue;
                }
                loops::fp_clear();
                let flags = bench.run(instr, start, n);
                raised[at] |= flags | loops::fp_status();
            }
        }
    }
    Some(raised)
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
