//! Library operations: each is a list of steps over device memory, made without a device, so that tests can run the
//! same steps on the host. `blas` is NVIDIA's library instead.

pub mod blas;
pub mod scan;
pub mod select;
pub mod sort;
pub mod transpose;

use crate::device::{Code, Device, Lane};
use crate::scalar::Sections;
use crate::{CudaError, load::Search};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Words of every step's arguments.
pub const WORDS: usize = 16;
/// Threads of a step's blocks.
pub const BLOCK: usize = 256;

/// One launch of an operation.
#[derive(Clone, Debug)]
pub struct Step {
    pub program: Arc<Program>,
    pub function: &'static str,
    pub grid: u32,
    pub words: [u64; WORDS],
}

/// The program a step is a function of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    text: String,
}

impl Program {
    fn new(sections: Sections, definitions: &str, file: &str) -> Arc<Program> {
        Arc::new(Program { text: format!("{}{definitions}{file}", sections.text()) })
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

fn arguments(words: &[u64]) -> [u64; WORDS] {
    let mut all = [0; WORDS];
    all.iter_mut().zip(words).for_each(|(a, &w)| *a = w);
    all
}

fn grid_of(elements: usize, each: usize) -> u32 {
    elements.div_ceil(each).clamp(1, i32::MAX as usize) as u32
}

/// Functions of steps that were compiled before.
#[derive(Default)]
pub(crate) struct Functions {
    known: Mutex<HashMap<(Arc<Program>, &'static str), Arc<Code>>>,
}

impl Functions {
    pub fn clear(&self) {
        self.known.lock().unwrap_or_else(|e| e.into_inner()).clear();
    }
}

impl Device {
    /// Enqueues the steps on the compute stream.
    ///
    /// # Safety
    /// The addresses the steps were made with are memory of this device, of the sizes their makers ask for.
    pub unsafe fn run_steps(&self, steps: &[Step]) -> Result<(), CudaError> {
        for step in steps {
            let key = (step.program.clone(), step.function);
            let known = self.functions.known.lock().unwrap_or_else(|e| e.into_inner()).get(&key).cloned();
            let code = match known {
                Some(code) => code,
                None => {
                    let cubin = self.compiler.cubin(step.program.text(), self.properties().arch)?;
                    let code = Arc::new(self.load_code(&cubin, step.function)?);
                    self.functions.known.lock().unwrap_or_else(|e| e.into_inner()).insert(key, code.clone());
                    code
                }
            };
            self.start(&code, step.grid, (BLOCK as u32, 1), &step.words)?;
        }
        Ok(())
    }

    /// Runs steps that need `bytes` of scratch, given zeroed; it is freed in the stream's order.
    ///
    /// # Safety
    /// As for `run_steps`.
    pub unsafe fn run_with_scratch(
        &self,
        bytes: usize,
        steps: impl FnOnce(u64) -> SmallVec<[Step; 4]>,
    ) -> Result<(), CudaError> {
        let scratch = self.alloc(bytes)?;
        let done = self.fill(Lane::Compute, scratch, 0, bytes.max(1)).and_then(|()| self.run_steps(&steps(scratch)));
        let freed = self.free(scratch);
        done.and(freed)
    }

    /// The libraries this device was opened with.
    pub fn search(&self) -> &Search {
        &self.search
    }
}
