//! Programs to compile: built by hand or at random, run by the generated code and by the plain evaluator.

use crate::{flags, reference};
use numloom_ir::kernel::{Instr, Kernel, NO_REG, Reg};
use numloom_ir::{DType, ScalarOp};
use numloom_jit::{Compiled, Input, Segment, compile, compile_narrow, supports};
use std::sync::Arc;

pub const TYPES: [DType; 11] = [
    DType::Bool,
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U64,
    DType::F32,
    DType::F64,
];

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn element(&mut self, d: DType) -> u64 {
        const F: [f64; 16] = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            0.5,
            2.5,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e-40,
            3e9,
            -3e9,
            1e19,
            2147483647.5,
            f32::MAX as f64,
            1e-310,
        ];
        let special = self.below(4) == 0;
        let bits = self.next();
        match d {
            DType::Bool => bits & 1,
            DType::F32 if special => (self.pick(&F) as f32).to_bits() as u64,
            DType::F64 if special => self.pick(&F).to_bits(),
            DType::F32 => (((bits >> 40) as f32 / 65536.0) - 128.0).to_bits() as u64,
            DType::F64 => ((bits >> 11) as f64 / (1u64 << 45) as f64 - 128.0).to_bits(),
            d => {
                let bits = if special {
                    self.pick(&[0, 1, u64::MAX, 1 << (8 * d.size() - 1), i64::MAX as u64, 33])
                } else {
                    bits
                };
                bits & (u64::MAX >> (64 - 8 * d.size()))
            }
        }
    }
}

/// A segment that owns its parts.
#[derive(Debug, Default)]
pub struct Program {
    pub kernel: Kernel,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Reg>,
}

impl Program {
    pub fn input(&mut self, d: DType, uniform: bool) -> Reg {
        let reg = self.kernel.new_reg(d);
        self.inputs.push(Input { reg, uniform });
        reg
    }

    pub fn apply(&mut self, op: ScalarOp, lp: usize, a: Reg, b: Reg) -> Option<Reg> {
        let dst = self.kernel.new_reg(op.loops()[lp].outs()[0]);
        let src = if op.nin() == 2 { [a, b] } else { [a, NO_REG] };
        self.push(Instr::Apply { op, lp: lp as u8, dst: [dst, NO_REG], src }, dst)
    }

    pub fn cast(&mut self, src: Reg, to: DType) -> Option<Reg> {
        let dst = self.kernel.new_reg(to);
        self.push(Instr::Cast { dst, src }, dst)
    }

    pub fn select(&mut self, mask: Reg, yes: Reg, no: Reg) -> Option<Reg> {
        let dst = self.kernel.new_reg(self.kernel.regs[yes as usize]);
        self.push(Instr::Select { dst, mask, yes, no }, dst)
    }

    fn push(&mut self, instr: Instr, dst: Reg) -> Option<Reg> {
        if !supports(&self.kernel, &instr) {
            self.kernel.regs.pop();
            return None;
        }
        self.kernel.instrs.push(instr);
        Some(dst)
    }

    /// The code for this machine, and the one for machines without wide vectors.
    pub fn compile(&self) -> [Arc<Compiled>; 2] {
        let segment =
            Segment { kernel: &self.kernel, instrs: &self.kernel.instrs, inputs: &self.inputs, outputs: &self.outputs };
        [compile(&segment), compile_narrow(&segment)].map(|code| code.unwrap_or_else(|e| panic!("{e}: {self:?}")))
    }

    pub fn size(&self, r: Reg) -> usize {
        self.kernel.regs[r as usize].size()
    }

    /// The instructions that an output depends on; others are not executed, and raise nothing.
    fn live(&self) -> Vec<Instr> {
        let mut needed = self.outputs.clone();
        let mut live = Vec::new();
        for instr in self.kernel.instrs.iter().rev() {
            if instr.results().any(|r| needed.contains(&r)) {
                needed.extend(instr.sources());
                live.push(*instr);
            }
        }
        live.reverse();
        live
    }

    pub fn check(&self, codes: &[Arc<Compiled>], n: usize, in_place: bool, random: &mut Random) {
        codes.iter().for_each(|code| self.check_one(code, n, in_place, random));
    }

    /// Runs the code and the evaluator over `n` elements and compares results and
    /// floating-point flags; guard bytes stand around every run.
    fn check_one(&self, code: &Compiled, n: usize, in_place: bool, random: &mut Random) {
        const GUARD: usize = 32;
        let ins: Vec<Vec<u64>> = self
            .inputs
            .iter()
            .map(|i| {
                let d = self.kernel.regs[i.reg as usize];
                (0..if i.uniform { 1 } else { n }).map(|_| random.element(d)).collect()
            })
            .collect();
        // Each run starts at an odd byte of its own buffer.
        let mut runs: Vec<(Vec<u8>, usize)> = Vec::new();
        for (i, values) in self.inputs.iter().zip(&ins) {
            let size = self.size(i.reg);
            let start = GUARD + random.below(16);
            let mut bytes = vec![0xA5; start + values.len() * size + GUARD];
            for (at, v) in values.iter().enumerate() {
                bytes[start + at * size..][..size].copy_from_slice(&v.to_le_bytes()[..size]);
            }
            runs.push((bytes, start));
        }
        let mut places = Vec::new();
        let mut taken = vec![false; self.inputs.len()];
        for &r in &self.outputs {
            let shared = self
                .inputs
                .iter()
                .enumerate()
                .position(|(at, i)| in_place && !taken[at] && !i.uniform && self.size(i.reg) == self.size(r));
            if let Some(at) = shared {
                taken[at] = true;
                places.push(at);
            } else {
                let start = GUARD + random.below(16);
                runs.push((vec![0xA5; start + n * self.size(r) + GUARD], start));
                places.push(runs.len() - 1);
            }
        }
        let slot = |at: usize| runs[at].0.as_ptr() as *mut u8;
        let slots: Vec<*mut u8> =
            (0..self.inputs.len()).chain(places.iter().copied()).map(|at| slot(at).wrapping_add(runs[at].1)).collect();
        let before = flags::take();
        // SAFETY: every slot has room for `n` elements; shared ones are of one size.
        unsafe { code.call(n, slots.as_ptr()) };
        let raised = flags::take();
        let live = self.live();
        for i in 0..n {
            let mut regs = vec![0; self.kernel.regs.len()];
            for (input, values) in self.inputs.iter().zip(&ins) {
                regs[input.reg as usize] = if input.uniform { values[0] } else { values[i] };
            }
            let given = regs.clone();
            live.iter().for_each(|instr| reference::step(&self.kernel, instr, &mut regs));
            for (&r, &at) in self.outputs.iter().zip(&places) {
                let (size, (bytes, start)) = (self.size(r), &runs[at]);
                let mut got = [0; 8];
                got[..size].copy_from_slice(&bytes[start + i * size..][..size]);
                let (got, want) = (u64::from_le_bytes(got), regs[r as usize]);
                let d = self.kernel.regs[r as usize];
                assert!(
                    reference::same(d, got, want),
                    "n {n}, element {i}, r{r}: got {got:#x}, want {want:#x}, from {given:#x?} in {self:?}"
                );
            }
        }
        let expected = flags::take();
        // An operation that cannot change an output (under a mask that is always false) may be dropped. An
        // optimised reference may speculate and raise flags of its own.
        let exact = self.kernel.instrs.len() == 1 && cfg!(debug_assertions);
        let missing = if exact { expected & !raised } else { 0 };
        assert_eq!((raised & !expected, missing), (0, 0), "flags, n {n}: {ins:#x?} in {self:?}");
        flags::set(before);
        for (&at, &r) in places.iter().zip(&self.outputs) {
            let (bytes, start) = &runs[at];
            let end = start + n * self.size(r);
            assert!(bytes[..*start].iter().chain(&bytes[end..]).all(|&x| x == 0xA5), "wrote outside of its run");
        }
    }
}

/// Up to 24 instructions over up to four inputs and three or so types.
pub fn random_program(random: &mut Random) -> Program {
    let mut p = Program::default();
    let pool: Vec<DType> = (0..1 + random.below(3)).map(|_| random.pick(&TYPES)).collect();
    let mut known: Vec<Reg> = (0..1 + random.below(4))
        .map(|_| {
            let uniform = random.below(4) == 0;
            p.input(random.pick(&pool), uniform)
        })
        .collect();
    let length = 1 + random.below(24);
    while p.kernel.instrs.len() < length {
        let a = random.pick(&known);
        let d = p.kernel.regs[a as usize];
        let alike: Vec<Reg> = known.iter().copied().filter(|&r| p.kernel.regs[r as usize] == d).collect();
        let masks: Vec<Reg> = known.iter().copied().filter(|&r| p.kernel.regs[r as usize] == DType::Bool).collect();
        let b = random.pick(&alike);
        let made = match random.below(8) {
            0 => p.cast(a, if random.below(2) == 0 { random.pick(&pool) } else { random.pick(&TYPES) }),
            1 | 2 if !masks.is_empty() => p.select(random.pick(&masks), a, b),
            _ => {
                let op = random.pick(ScalarOp::ALL);
                op.loop_for(d).and_then(|lp| p.apply(op, lp, a, b))
            }
        };
        known.extend(made);
    }
    let made: Vec<Reg> = known[p.inputs.len()..].to_vec();
    p.outputs.push(made[made.len() - 1]);
    for _ in 0..random.below(3) {
        let r = random.pick(&made);
        if !p.outputs.contains(&r) {
            p.outputs.push(r);
        }
    }
    p
}
