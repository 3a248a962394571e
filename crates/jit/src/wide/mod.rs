//! The form for machines with AVX-512: vectors of 64 bytes, bools in mask registers, and the elements that are left at the
//! end in one more round under a mask. Cranelift has no vectors of this kind, so the bytes are written here.

mod encode;
mod ops;
mod values;

use crate::Segment;
use crate::support::apply_dtype;
use encode::{Code, R11, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
use numloom_ir::DType;
use numloom_ir::kernel::{Instr, Reg};
use ops::Ops;
use std::collections::HashMap;
use values::{Class, Frame, Id, Origin, REST, Value, Values};

/// Vector bytes.
const VECTOR: usize = 64;
/// Registers for addresses: four that are free to use, and some that a function has to give back as they were.
const POINTERS: [u8; 9] = [RDX, 8, 9, 10, RBX, 12, 13, 14, 15];
const FREE_TO_USE: usize = 4;
/// Values that are the same for all elements and keep a register throughout.
const PINNED: usize = 14;
const PINNED_MASKS: usize = 1;
/// Units of 64 bytes on the stack, beyond which the segment is left to Cranelift.
const LARGEST_FRAME: usize = 128;

#[cfg(target_arch = "x86_64")]
pub fn is_possible() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx512f") && has!("avx512dq") && has!("avx512bw") && has!("avx512vl") && has!("bmi2")
}

#[cfg(not(target_arch = "x86_64"))]
pub fn is_possible() -> bool {
    false
}

/// An instruction with its values, and the constants it takes.
struct Job {
    instr: Instr,
    result: Id,
    sources: [Id; 3],
    constants: Vec<Id>,
}

/// A segment's values and the instructions that an output depends on.
#[derive(Default)]
struct Jobs {
    values: Vec<Value>,
    jobs: Vec<Job>,
    outputs: Vec<(Reg, Id)>,
    constants: Vec<u64>,
    known: HashMap<(u64, usize), Id>,
}

/// The function of a checked segment, `None` where an instruction has no wide form.
pub fn emit(segment: &Segment) -> Option<Vec<u8>> {
    let mut jobs = Jobs::of(segment)?;
    // Bytes of ones, which masks are stored as.
    let ones = jobs.outputs.iter().any(|&(_, id)| jobs.values[id].class == Class::Mask).then(|| jobs.constant(1, 1));
    let end = jobs.jobs.len();
    for (_, id) in &jobs.outputs {
        jobs.values[*id].uses.push(end);
    }
    if let Some(id) = ones {
        jobs.values[id].uses.push(end);
    }
    let widest = jobs.values.iter().map(|v| v.width).max().unwrap_or(8);
    let lanes = VECTOR / widest;
    let slots = segment.inputs.len() + segment.outputs.len();
    let mut free = POINTERS.iter().copied();
    let is_uniform = |slot: usize| segment.inputs.get(slot).is_some_and(|i| i.uniform);
    let pointers: Vec<Option<u8>> = (0..slots).map(|slot| if is_uniform(slot) { None } else { free.next() }).collect();
    let pointers = &pointers[..];
    let pinned = jobs.pinned();

    let mut code = Code::new(std::mem::take(&mut jobs.constants));
    code.general(0x85, RDI, RDI);
    let nothing = code.jump(4);
    let saved = &POINTERS[FREE_TO_USE..(POINTERS.len() - free.len()).max(FREE_TO_USE)];
    saved.iter().for_each(|&r| code.stack(r, true));
    code.stack(RBP, true);
    code.copy(RBP, RSP);
    code.immediate(4, RSP, -(VECTOR as i32));
    let room = code.immediate(5, RSP, 0);
    for (slot, register) in pointers.iter().enumerate() {
        if let Some(register) = *register {
            code.load(register, RSI, 8 * slot as i32);
        }
    }
    let mut frame = Frame::default();
    let mut values = Values::new(&mut code, &jobs.values, lanes, false, pointers, &mut frame, &[]);
    // Masks first: they come through vector registers.
    for &(id, register) in pinned.iter().rev() {
        values.fetch(id, register, 0);
        values.done(0);
    }
    code.general(0x31, RAX, RAX);
    code.copy(RCX, RDI);
    code.immediate(4, RCX, -(lanes as i32));
    let few = code.jump(4);

    code.align();
    let again = code.bytes.len();
    jobs.pass(&mut Values::new(&mut code, &jobs.values, lanes, false, pointers, &mut frame, &pinned), segment, ones);
    code.immediate(0, RAX, lanes as i32);
    code.general(0x39, RCX, RAX);
    code.jump_to(2, again);

    code.land(few);
    code.copy(R11, RDI);
    code.general(0x29, RAX, R11);
    let none_left = code.jump(4);
    code.low_bits();
    code.mask_from(REST, RCX);
    jobs.pass(&mut Values::new(&mut code, &jobs.values, lanes, true, pointers, &mut frame, &pinned), segment, ones);

    code.land(none_left);
    code.copy(RSP, RBP);
    code.stack(RBP, false);
    saved.iter().rev().for_each(|&r| code.stack(r, false));
    code.land(nothing);
    code.end();
    code.patch(room, (frame.size * VECTOR) as i32);
    (frame.size <= LARGEST_FRAME).then(|| code.finish())
}

impl Jobs {
    fn of(segment: &Segment) -> Option<Jobs> {
        let mut it = Jobs::default();
        let regs = &segment.kernel.regs;
        let mut ids: HashMap<Reg, Id> = HashMap::new();
        for (slot, input) in segment.inputs.iter().enumerate() {
            let origin = if input.uniform { Origin::Uniform(slot) } else { Origin::Dense(slot) };
            ids.insert(input.reg, it.value(regs[input.reg as usize], origin));
        }
        for instr in wanted(segment) {
            let dst = instr.results().next()?;
            let mut sources = [0; 3];
            for (at, r) in instr.sources().enumerate() {
                sources[at] = ids[&r];
            }
            let constants = match *instr {
                Instr::Apply { op, lp, .. } => {
                    let (d, _) = apply_dtype(op, lp)?;
                    if op.nin() == 1 {
                        sources[1] = sources[0];
                    }
                    if !ops::has(op, d) {
                        return None;
                    }
                    ops::constants(op, d).into_iter().map(|bits| it.constant(bits, d.size())).collect()
                }
                Instr::Cast { dst, src } if regs[src as usize] == DType::Bool && regs[dst as usize] != DType::Bool => {
                    let d = regs[dst as usize];
                    vec![it.constant(ops::one(d), d.size())]
                }
                _ => Vec::new(),
            };
            let now = it.jobs.len();
            for &id in instr.sources().map(|r| &ids[&r]).chain(&constants) {
                it.values[id].uses.push(now);
            }
            let result = it.value(regs[dst as usize], Origin::Made);
            ids.insert(dst, result);
            it.jobs.push(Job { instr: *instr, result, sources, constants });
        }
        it.outputs = segment.outputs.iter().map(|&r| (r, ids[&r])).collect();
        // An input that is an output as well would have to be read before anything is stored.
        it.outputs.iter().all(|&(_, id)| it.values[id].origin == Origin::Made).then_some(it)
    }

    fn value(&mut self, d: DType, origin: Origin) -> Id {
        let class = if d == DType::Bool { Class::Mask } else { Class::Vector };
        self.values.push(Value { class, width: d.size(), origin, uses: Vec::new() });
        self.values.len() - 1
    }

    fn constant(&mut self, bits: u64, width: usize) -> Id {
        let next = self.values.len();
        let id = *self.known.entry((bits, width)).or_insert(next);
        if id == next {
            let origin = Origin::Constant(self.constants.len());
            self.constants.push(bits);
            self.values.push(Value { class: Class::Vector, width, origin, uses: Vec::new() });
        }
        id
    }

    /// What keeps a register throughout, the most wanted first, from the last registers on.
    fn pinned(&self) -> Vec<(Id, u8)> {
        let mut pinned = Vec::new();
        for (class, most, last) in [(Class::Vector, PINNED, 31), (Class::Mask, PINNED_MASKS, 7)] {
            let same = |id: &Id| {
                let v = &self.values[*id];
                v.class == class && matches!(v.origin, Origin::Uniform(_) | Origin::Constant(_)) && !v.uses.is_empty()
            };
            let mut ids: Vec<Id> = (0..self.values.len()).filter(same).collect();
            ids.sort_by_key(|&id| std::cmp::Reverse(self.values[id].uses.len()));
            pinned.extend(ids.into_iter().take(most).zip((0..=last).rev()));
        }
        pinned
    }

    /// One round: all instructions, then all stores, so that an output may be the memory of an input.
    fn pass(&self, values: &mut Values, segment: &Segment, ones: Option<Id>) {
        let regs = &segment.kernel.regs;
        for (now, job) in self.jobs.iter().enumerate() {
            let [a, b, c] = job.sources;
            let mut ops = Ops { values, now };
            match job.instr {
                Instr::Apply { op, lp, .. } => {
                    let (d, _) = apply_dtype(op, lp).expect("checked by Jobs::of");
                    ops.apply(op, d, job.result, a, b, &job.constants);
                }
                Instr::Cast { dst, src } => {
                    let one = job.constants.first().copied();
                    ops.cast(regs[src as usize], regs[dst as usize], job.result, a, one);
                }
                Instr::Select { .. } => ops.select(job.result, a, b, c),
                _ => unreachable!("checked by Plan::of"),
            }
            values.done(now);
        }
        let end = self.jobs.len();
        for (at, &(r, id)) in self.outputs.iter().enumerate() {
            let mut register = values.get(id, end);
            if regs[r as usize] == DType::Bool {
                let ones = values.get(ones.expect("there is a mask to store"), end);
                let bytes = values.temporary(Class::Vector, end);
                values.only_under(1, bytes, register, ones);
                register = bytes;
            }
            values.store(segment.inputs.len() + at, regs[r as usize].size(), register);
            values.release();
        }
    }
}

/// The instructions that an output depends on.
fn wanted<'a>(segment: &Segment<'a>) -> Vec<&'a Instr> {
    let mut needed = vec![false; segment.kernel.regs.len()];
    segment.outputs.iter().for_each(|&r| needed[r as usize] = true);
    let mut wanted = Vec::new();
    for instr in segment.instrs.iter().rev() {
        if instr.results().any(|r| needed[r as usize]) {
            instr.sources().for_each(|r| needed[r as usize] = true);
            wanted.push(instr);
        }
    }
    wanted.reverse();
    wanted
}
