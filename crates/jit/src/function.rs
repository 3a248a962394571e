//! The function of a segment: a loop over vectors, and a loop over single elements for the rest.

use crate::Segment;
use crate::lanes::Lanes;
use crate::ops::{Ops, element_type};
use crate::plan::Plan;
use crate::support::apply_dtype;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, Function, InstBuilder, MemFlagsData, Value, types};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use numloom_ir::kernel::{Instr, Reg};
use std::collections::HashMap;

type Values = HashMap<Reg, Value>;

fn plain() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

pub fn emit(
    func: &mut Function,
    context: &mut FunctionBuilderContext,
    target: TargetFrontendConfig,
    segment: &Segment,
    plan: &Plan,
) {
    let mut b = FunctionBuilder::new(func, context);
    let [entry, start, vectors, rest, singles, exit] = [(); 6].map(|()| b.create_block());
    b.append_block_params_for_function_params(entry);
    let index = b.append_block_param(vectors, types::I64);
    let single = b.append_block_param(singles, types::I64);
    let arg = BlockArg::Value;

    b.switch_to_block(entry);
    let (n, table) = (b.block_params(entry)[0], b.block_params(entry)[1]);
    b.ins().brif(n, start, &[], exit, &[]);

    // Only here is there an element, so only from here on may operations raise flags.
    b.switch_to_block(start);
    let slots: Vec<Value> = (0..segment.inputs.len() + segment.outputs.len())
        .map(|at| b.ins().load(types::I64, plain().with_aligned(), table, at as i32 * 8))
        .collect();
    let uniforms = uniform_values(&mut b, segment, plan, &slots);
    let stride = plan.stride() as i64;
    let whole = b.ins().band_imm_s(n, -stride);
    let zero = b.ins().iconst(types::I64, 0);
    b.ins().brif(whole, vectors, &[arg(zero)], singles, &[arg(zero)]);

    b.switch_to_block(vectors);
    let here = addresses(&mut b, segment, &slots, index);
    let ops = Ops { b: &mut b, vector: true };
    Lanes { ops, segment, plan, slots: &here, uniforms: &uniforms }.iteration();
    let next = b.ins().iadd_imm_s(index, stride);
    let more = b.ins().icmp(IntCC::UnsignedLessThan, next, whole);
    b.ins().brif(more, vectors, &[arg(next)], rest, &[]);

    b.switch_to_block(rest);
    let more = b.ins().icmp(IntCC::UnsignedLessThan, whole, n);
    b.ins().brif(more, singles, &[arg(whole)], exit, &[]);

    b.switch_to_block(singles);
    b.set_cold_block(singles);
    let here = addresses(&mut b, segment, &slots, single);
    single_element(&mut b, segment, plan, &here, &uniforms);
    let next = b.ins().iadd_imm_s(single, 1);
    let more = b.ins().icmp(IntCC::UnsignedLessThan, next, n);
    b.ins().brif(more, singles, &[arg(next)], exit, &[]);

    b.switch_to_block(exit);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(target);
}

/// Inputs that are one value for all elements, and everything computed from them alone.
fn uniform_values(b: &mut FunctionBuilder, segment: &Segment, plan: &Plan, slots: &[Value]) -> Values {
    let mut values = Values::new();
    for (at, input) in segment.inputs.iter().enumerate().filter(|(_, i)| i.uniform) {
        let ty = element_type(segment.kernel.regs[input.reg as usize]);
        values.insert(input.reg, b.ins().load(ty, plain(), slots[at], 0));
    }
    let mut ops = Ops { b, vector: false };
    for instr in segment.instrs.iter().filter(|i| i.results().all(|r| plan.is_uniform(r))) {
        single_instr(&mut ops, segment, instr, &mut values);
    }
    values
}

/// Where element `index` lies in each slot.
fn addresses(b: &mut FunctionBuilder, segment: &Segment, slots: &[Value], index: Value) -> Vec<Value> {
    let regs = segment.inputs.iter().map(|i| i.reg).chain(segment.outputs.iter().copied());
    regs.zip(slots)
        .map(|(r, &slot)| {
            let shift = segment.kernel.regs[r as usize].size().trailing_zeros() as i64;
            let offset = b.ins().ishl_imm_u(index, shift);
            b.ins().iadd(slot, offset)
        })
        .collect()
}

fn single_element(b: &mut FunctionBuilder, segment: &Segment, plan: &Plan, slots: &[Value], uniforms: &Values) {
    let mut values = uniforms.clone();
    for (at, input) in segment.inputs.iter().enumerate().filter(|(_, i)| !i.uniform) {
        let ty = element_type(segment.kernel.regs[input.reg as usize]);
        values.insert(input.reg, b.ins().load(ty, plain(), slots[at], 0));
    }
    let mut ops = Ops { b, vector: false };
    for instr in segment.instrs.iter().filter(|i| i.results().any(|r| !plan.is_uniform(r))) {
        single_instr(&mut ops, segment, instr, &mut values);
    }
    for (at, r) in segment.outputs.iter().enumerate() {
        b.ins().store(plain(), values[r], slots[segment.inputs.len() + at], 0);
    }
}

fn single_instr(ops: &mut Ops, segment: &Segment, instr: &Instr, values: &mut Values) {
    let (dst, v) = match *instr {
        Instr::Apply { op, lp, dst, src } => {
            let (d, _) = apply_dtype(op, lp).expect("checked by Plan::of");
            let a = values[&src[0]];
            (dst[0], ops.apply(op, d, a, values.get(&src[1]).copied().unwrap_or(a)))
        }
        Instr::Cast { dst, src } => {
            let regs = &segment.kernel.regs;
            (dst, ops.cast(values[&src], regs[src as usize], regs[dst as usize]))
        }
        Instr::Select { dst, mask, yes, no } => (dst, ops.select(values[&mask], values[&yes], values[&no])),
        _ => unreachable!("checked by Plan::of"),
    };
    values.insert(dst, v);
}
