//! Library operations: each is a list of steps over device memory, made without a device, so that tests can run the
//! same steps on the host. `blas`, `fourier` and `solver` are NVIDIA's libraries instead.

pub mod blas;
pub mod dense;
pub mod extreme;
pub mod fourier;
pub mod index;
mod large_product;
pub mod random;
pub mod scan;
pub mod search;
pub mod select;
pub mod solver;
pub mod sort;
pub mod transpose;

use crate::device::{Code, Device, Lane};
use crate::scalar::Sections;
use crate::{CudaError, load::Search};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex};

/// The arguments of a step; of most it is so many words.
pub type Words = SmallVec<[u64; WORDS]>;
const WORDS: usize = 16;
/// Threads of a step's blocks.
pub const BLOCK: usize = 256;

/// One launch of an operation.
#[derive(Clone, Debug)]
pub struct Step {
    pub program: Arc<Program>,
    pub function: &'static str,
    pub grid: u32,
    pub words: Words,
}

/// The program a step is a function of. There is one of each text, told apart by its number.
#[derive(Debug)]
pub struct Program {
    number: usize,
    text: String,
}

impl PartialEq for Program {
    fn eq(&self, other: &Program) -> bool {
        self.number == other.number
    }
}

impl Eq for Program {}

impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl Program {
    fn new(sections: Sections, definitions: String, file: &'static str) -> Arc<Program> {
        type Known = HashMap<(Sections, String, *const u8), Arc<Program>>;
        struct Shared(Known);
        // SAFETY: the address only tells one file from another.
        unsafe impl Send for Shared {}
        static KNOWN: LazyLock<Mutex<Shared>> = LazyLock::new(|| Mutex::new(Shared(HashMap::new())));
        let known = &mut KNOWN.lock().unwrap_or_else(|e| e.into_inner()).0;
        let number = known.len();
        let key = (sections, definitions, file.as_ptr());
        if let Some(program) = known.get(&key) {
            return program.clone();
        }
        let program = Arc::new(Program { number, text: format!("{}{}{file}", sections.text(), key.1) });
        known.insert(key, program.clone());
        program
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

fn arguments(words: &[u64]) -> Words {
    let mut all = Words::from_slice(words);
    all.resize(WORDS, 0);
    all
}

/// The device's type for elements of a size, whatever they are; that of 16 bytes is declared by the programs.
fn unit_of(itemsize: usize) -> Option<&'static str> {
    Some(match itemsize {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "u64",
        16 => "u128",
        _ => return None,
    })
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

/// NVIDIA's libraries, each opened with its first use.
#[derive(Default)]
pub(crate) struct Libraries {
    pub blas: Mutex<Option<blas::Blas>>,
    pub solver: Mutex<Option<solver::Solver>>,
    pub fourier: Mutex<Option<fourier::Fourier>>,
}

impl Libraries {
    /// Before the device's streams go.
    pub fn close(&mut self) {
        fn taken<T>(library: &mut Mutex<Option<T>>) -> Option<T> {
            library.get_mut().unwrap_or_else(|e| e.into_inner()).take()
        }
        if let Some(blas) = taken(&mut self.blas) {
            blas.close();
        }
        if let Some(solver) = taken(&mut self.solver) {
            solver.close();
        }
        if let Some(fourier) = taken(&mut self.fourier) {
            fourier.close();
        }
    }
}

/// Memory of the compute stream's for as long as this lives: what was enqueued by then still has it.
pub struct Room<'a> {
    device: &'a Device,
    ptr: u64,
}

impl Room<'_> {
    pub fn ptr(&self) -> u64 {
        self.ptr
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        // SAFETY: freed once, in the stream's order. A device that cannot free is lost, which the next call says.
        let _ = unsafe { self.device.free(self.ptr) };
    }
}

impl Device {
    pub fn room(&self, bytes: usize) -> Result<Room<'_>, CudaError> {
        Ok(Room { device: self, ptr: self.alloc(bytes.max(1))? })
    }

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
                    self.stretch_ends();
                    let cubin = self.compiler.cubin(step.program.text(), self.properties().arch)?;
                    let code = Arc::new(self.load_code(&cubin, step.function)?);
                    self.functions.known.lock().unwrap_or_else(|e| e.into_inner()).insert(key, code.clone());
                    code
                }
            };
            self.start(&code, step.grid, (BLOCK as u32, 1), &step.words, false)?;
        }
        Ok(())
    }

    /// Runs steps that need `bytes` of scratch, of which the first `zeroed` are zero; it is freed in the stream's order.
    ///
    /// # Safety
    /// As for `run_steps`.
    pub unsafe fn run_with_scratch(
        &self,
        bytes: usize,
        zeroed: usize,
        steps: impl FnOnce(u64) -> SmallVec<[Step; 4]>,
    ) -> Result<(), CudaError> {
        if bytes == 0 {
            return self.run_steps(&steps(0));
        }
        let scratch = self.alloc(bytes)?;
        let cleared = if zeroed > 0 { self.fill(Lane::Compute, scratch, 0, zeroed) } else { Ok(()) };
        let done = cleared.and_then(|()| self.run_steps(&steps(scratch)));
        let freed = self.free(scratch);
        done.and(freed)
    }

    /// A 64-bit number of the device's memory, once the compute stream has come this far.
    ///
    /// # Safety
    /// The address is memory of this device.
    pub unsafe fn read(&self, from: u64) -> Result<u64, CudaError> {
        let mut number = 0u64;
        self.download(Lane::Compute, (&raw mut number).cast(), from, 8)?;
        self.wait_for_lane(Lane::Compute)?;
        Ok(number)
    }

    /// The libraries this device was opened with.
    pub fn search(&self) -> &Search {
        &self.search
    }
}
