//! Segments that were compiled before: the rounds of a loop are alike but for the numbers of their registers.

use crate::{Compiled, JitError, Segment};
use numloom_ir::DType;
use numloom_ir::kernel::{Instr, NO_REG, Reg};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, Weak};

/// A segment with its registers numbered as they appear.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    regs: Vec<DType>,
    /// Of the inputs, which are the first registers.
    uniform: Vec<bool>,
    instrs: Vec<Instr>,
    outputs: Vec<Reg>,
}

/// Code that somebody still uses.
static KNOWN: LazyLock<Mutex<HashMap<Key, Weak<Compiled>>>> = LazyLock::new(Mutex::default);

/// Entries from which on those without code are thrown out.
const MANY: usize = 1024;

/// The code of a segment, by `make` if there is none. Two threads may both make some: either will do.
pub fn compiled(
    segment: &Segment,
    make: impl FnOnce() -> Result<Compiled, JitError>,
) -> Result<Arc<Compiled>, JitError> {
    let Some(key) = key(segment) else { return make().map(Arc::new) };
    let lock = || KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(code) = lock().get(&key).and_then(Weak::upgrade) {
        return Ok(code);
    }
    let code = Arc::new(make()?);
    let mut known = lock();
    if known.len() >= MANY {
        known.retain(|_, code| code.strong_count() > 0);
    }
    known.insert(key, Arc::downgrade(&code));
    Ok(code)
}

/// `None` for a segment that reads what it was not given, which does not compile either.
fn key(segment: &Segment) -> Option<Key> {
    let mut numbers: HashMap<Reg, Reg> = HashMap::new();
    let mut regs = Vec::new();
    let mut define = |numbers: &mut HashMap<Reg, Reg>, r: Reg| -> Option<Reg> {
        let number = regs.len() as Reg;
        regs.push(*segment.kernel.regs.get(r as usize)?);
        numbers.insert(r, number).is_none().then_some(number)
    };
    for input in segment.inputs {
        define(&mut numbers, input.reg)?;
    }
    let mut instrs = Vec::with_capacity(segment.instrs.len());
    for instr in segment.instrs {
        let of = |numbers: &HashMap<Reg, Reg>, r: Reg| if r == NO_REG { Some(r) } else { numbers.get(&r).copied() };
        let mut to = |numbers: &mut HashMap<Reg, Reg>, r: Reg| if r == NO_REG { Some(r) } else { define(numbers, r) };
        instrs.push(match *instr {
            Instr::Apply { op, lp, dst: [d, e], src: [a, b] } => {
                let src = [of(&numbers, a)?, of(&numbers, b)?];
                Instr::Apply { op, lp, dst: [to(&mut numbers, d)?, to(&mut numbers, e)?], src }
            }
            Instr::Cast { dst, src } => {
                let src = of(&numbers, src)?;
                Instr::Cast { dst: to(&mut numbers, dst)?, src }
            }
            Instr::Select { dst, mask, yes, no } => {
                let (mask, yes, no) = (of(&numbers, mask)?, of(&numbers, yes)?, of(&numbers, no)?);
                Instr::Select { dst: to(&mut numbers, dst)?, mask, yes, no }
            }
            _ => return None,
        });
    }
    let outputs = segment.outputs.iter().map(|r| numbers.get(r).copied()).collect::<Option<_>>()?;
    Some(Key { uniform: segment.inputs.iter().map(|i| i.uniform).collect(), regs, instrs, outputs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use numloom_ir::ScalarOp;
    use numloom_ir::kernel::Kernel;

    /// `(a + b) * a` with the registers from `first` on.
    fn round(first: Reg, dtype: DType) -> (Kernel, Vec<Instr>, Vec<Input>, Vec<Reg>) {
        let kernel = Kernel { regs: vec![dtype; first as usize + 4], ..Kernel::default() };
        let lp = |op: ScalarOp| op.loop_for(dtype).unwrap() as u8;
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| first + k);
        let apply = |op, dst, x, y| Instr::Apply { op, lp: lp(op), dst: [dst, NO_REG], src: [x, y] };
        let instrs = vec![apply(ScalarOp::Add, c, a, b), apply(ScalarOp::Multiply, d, c, a)];
        (kernel, instrs, [a, b].map(|reg| Input { reg, uniform: false }).to_vec(), vec![d])
    }

    fn code(first: Reg, dtype: DType) -> Arc<Compiled> {
        let (kernel, instrs, inputs, outputs) = round(first, dtype);
        crate::compile(&Segment { kernel: &kernel, instrs: &instrs, inputs: &inputs, outputs: &outputs }).unwrap()
    }

    #[test]
    fn rounds_that_are_alike_share_their_code() {
        if cfg!(not(target_arch = "x86_64")) {
            return;
        }
        let (first, later, other) = (code(0, DType::F64), code(7, DType::F64), code(0, DType::F32));
        assert!(Arc::ptr_eq(&first, &later) && !Arc::ptr_eq(&first, &other));
    }

    #[test]
    fn what_is_read_before_it_is_there_has_no_key() {
        let (kernel, instrs, inputs, outputs) = round(0, DType::F64);
        let segment = Segment { kernel: &kernel, instrs: &instrs[1..], inputs: &inputs, outputs: &outputs };
        assert!(key(&segment).is_none() && crate::compile(&segment).is_err());
    }
}
