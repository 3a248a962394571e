//! Tier 1 of the CPU backend: a run of simple kernel instructions becomes one machine function over
//! a block, so that the values between them stay in machine registers. Cranelift is used here only.

mod cache;
mod cast;
mod function;
mod host;
mod lanes;
mod ops;
mod plan;
mod support;
mod wide;

use numloom_ir::kernel::{Instr, Kernel, Reg};
use std::sync::Arc;

pub use host::{Compiled, JitError};
pub use support::supports;

/// A register that a segment takes from outside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Input {
    pub reg: Reg,
    /// One value for all elements, instead of a dense run.
    pub uniform: bool,
}

/// A run of instructions to compile.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    pub kernel: &'a Kernel,
    /// Only instructions for which [`supports`] holds.
    pub instrs: &'a [Instr],
    pub inputs: &'a [Input],
    /// Registers needed after the segment; each is stored as a dense run.
    pub outputs: &'a [Reg],
}

/// Compiles a segment. A segment that breaks the rules, or a host that cannot run the code, is an
/// error; nothing here panics.
pub fn compile(segment: &Segment) -> Result<Arc<Compiled>, JitError> {
    cache::compiled(segment, || {
        let plan = plan::Plan::of(segment)?;
        match wide::is_possible().then(|| wide::emit(segment)).flatten() {
            Some(code) => host::executable(&code),
            None => through_cranelift(segment, &plan),
        }
    })
}

/// The same for machines without wide vectors.
#[doc(hidden)]
pub fn compile_narrow(segment: &Segment) -> Result<Arc<Compiled>, JitError> {
    through_cranelift(segment, &plan::Plan::of(segment)?).map(Arc::new)
}

fn through_cranelift(segment: &Segment, plan: &plan::Plan) -> Result<Compiled, JitError> {
    host::build(|func, context, target| function::emit(func, context, target, segment, plan))
}

/// Whether this machine has vectors of 64 bytes for the generated code.
pub fn is_wide() -> bool {
    wide::is_possible()
}
