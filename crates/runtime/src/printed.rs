//! `--print-kernels`: what runs on the CPU, written as the CUDA programs that a GPU would run. The tests compile
//! them, so that a kernel no GPU has seen is known to be a program.

use crate::gpu;
use crate::plan::FusedPlan;
use numloom_cpu::{Operand, Output};
use numloom_ir::Value;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Texts written so far.
static WRITTEN: Mutex<Option<HashSet<u64>>> = Mutex::new(None);

/// Whether it was said that the directory cannot be written.
static SAID: AtomicBool = AtomicBool::new(false);

/// Writes the program, unless it was. A directory that cannot be written leaves it out, and that is said: the run itself
/// is right.
pub fn keep(directory: &str, plan: &FusedPlan, domain: &[usize], params: &[Value], of: (&[Operand], &[Output])) {
    if !plan.spots().all(|s| gpu::is_aligned(&s.view)) {
        return; // a GPU leaves these to the CPU
    }
    let text = match gpu::with_launch(plan, domain, params, of, numloom_cuda::text_of) {
        Ok(Some(text)) => text,
        Ok(None) => return,
        Err(e) => format!("#error \"{}\"\n", e.to_string().replace(['"', '\n'], " ")),
    };
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let key = hasher.finish();
    if WRITTEN.lock().get_or_insert_default().insert(key) {
        let path = Path::new(directory).join(format!("{key:016x}.cu"));
        let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(path, text));
        if let Err(error) = written
            && !SAID.swap(true, Ordering::Relaxed)
        {
            eprintln!("numloom: --print-kernels {directory}: kernels cannot be written there: {error}");
        }
    }
}
