//! The machine this process runs on: Cranelift's description of it, and executable memory.

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Function, Signature, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetFrontendConfig};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use memmap2::{Mmap, MmapMut};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

#[derive(Debug, thiserror::Error)]
pub enum JitError {
    #[error("the segment cannot be compiled: {0}")]
    Segment(String),
    #[error("no machine code for this host: {0}")]
    Host(String),
    #[error("code generation failed: {0}")]
    Codegen(String),
    #[error("no executable memory: {0}")]
    Memory(#[from] std::io::Error),
}

/// The machine function of one segment. It owns the pages of its code and gives them back when dropped.
pub struct Compiled {
    code: Mmap,
    len: usize,
}

impl Compiled {
    /// Runs the segment over `n` elements.
    ///
    /// # Safety
    /// `slots` holds one pointer for each input, then one for each output, each to `n` elements of its
    /// register's type (one element for a uniform input), of any alignment. Bools are bytes 0 or 1. An
    /// output run may be the very memory of a dense input of the same type size, and must otherwise
    /// overlap no other run.
    #[inline]
    pub unsafe fn call(&self, n: usize, slots: *const *mut u8) {
        // SAFETY: `code` starts with a function of this type, made by `build`, and lives as long as `self`.
        let run: extern "C" fn(usize, *const *mut u8) = std::mem::transmute(self.code.as_ptr());
        run(n, slots)
    }

    /// Bytes of machine code.
    pub fn code_len(&self) -> usize {
        self.len
    }
}

static HOST: LazyLock<Result<OwnedTargetIsa, String>> = LazyLock::new(|| {
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [("opt_level", "speed"), ("enable_verifier", verify), ("unwind_info", "false")] {
        flags.set(name, value).map_err(|e| e.to_string())?;
    }
    has_vectors()?;
    let isa = cranelift_native::builder().map_err(str::to_string)?;
    isa.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
});

/// The emitted vector operations need SSE 4.2 (blends, rounding, 64-bit compares).
#[cfg(target_arch = "x86_64")]
fn has_vectors() -> Result<(), String> {
    if std::arch::is_x86_feature_detected!("sse4.2") { Ok(()) } else { Err("SSE 4.2 is missing".into()) }
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vectors() -> Result<(), String> {
    Err("only x86-64 is supported".into())
}

thread_local! {
    /// Cranelift's tables, kept because growing them anew is a good part of a short compilation.
    static TABLES: RefCell<Option<(Context, FunctionBuilderContext)>> = const { RefCell::new(None) };
}

/// Compiles the function that `emit` writes, of type `fn(n, slots)`.
pub fn build(
    emit: impl FnOnce(&mut Function, &mut FunctionBuilderContext, TargetFrontendConfig),
) -> Result<Compiled, JitError> {
    let isa = HOST.as_ref().map_err(|e| JitError::Host(e.clone()))?;
    let (mut context, mut frontend) = TABLES.take().unwrap_or_else(|| (Context::new(), FunctionBuilderContext::new()));
    // Cranelift panics where it has no rule for an operation; that must not reach the caller. Tables
    // that a panic or an error left half filled are not kept.
    let memory = catch_unwind(AssertUnwindSafe(|| {
        context.func.signature = Signature::new(CallConv::SystemV);
        context.func.signature.params = vec![AbiParam::new(types::I64); 2];
        emit(&mut context.func, &mut frontend, isa.frontend_config());
        let code = context
            .compile(isa.as_ref(), &mut ControlPlane::default())
            .map_err(|e| JitError::Codegen(format!("{:?}", e.inner)))?;
        if !code.buffer.relocs().is_empty() {
            return Err(JitError::Codegen("the code calls outside functions".into()));
        }
        executable(code.code_buffer())
    }))
    .map_err(|_| JitError::Codegen("an operation has no machine form".into()))??;
    context.clear();
    TABLES.set(Some((context, frontend)));
    Ok(memory)
}

pub fn executable(code: &[u8]) -> Result<Compiled, JitError> {
    let mut memory = MmapMut::map_anon(code.len())?;
    memory[..code.len()].copy_from_slice(code);
    Ok(Compiled { code: memory.make_exec()?, len: code.len() })
}
