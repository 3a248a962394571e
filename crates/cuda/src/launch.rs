//! Launching kernels: planned, looked up among what was compiled before, started on the compute stream.

use crate::CudaError;
use crate::device::{Code, Device, Lane};
use crate::ops::transpose::Transpose;
use crate::plan::{Facts, FusedLaunch, Plan, check_kernel, plan};
use crate::print::print;
use crate::queue::SMALL;
use crate::settled::Habits;
use crate::structure::{Structure, head};
use numloom_ir::kernel::Kernel;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

/// A kernel with its machine code, one for each structure of launch seen. A caller that keeps it saves the
/// look-up of the kernel.
pub struct Prepared {
    pub(crate) kernel: Kernel,
    pub(crate) facts: Facts,
    /// One load and one store: it may turn a matrix over, which has a way of its own.
    copies: bool,
    variants: RwLock<SmallVec<[(Structure, Arc<Code>); 2]>>,
    pub(crate) habits: Habits,
    /// Held while a variant is compiled, so that two threads do not both do it.
    compiling: Mutex<()>,
}

/// Kernels seen by a device.
#[derive(Default)]
pub(crate) struct Kernels {
    known: Mutex<HashMap<Kernel, Arc<Prepared>>>,
}

impl Kernels {
    pub fn clear(&self) {
        self.known.lock().unwrap_or_else(|e| e.into_inner()).clear();
    }
}

pub(crate) const NAME: &str = "numloom_kernel";

impl Prepared {
    fn code(&self, structure: &Structure) -> Option<Arc<Code>> {
        let variants = self.variants.read().unwrap_or_else(|e| e.into_inner());
        variants.iter().find(|(s, _)| s == structure).map(|(_, c)| c.clone())
    }
}

impl Device {
    /// The kernel made ready; nothing is compiled before its first launch.
    pub fn prepare(&self, kernel: &Kernel) -> Result<Arc<Prepared>, CudaError> {
        let mut known = self.kernels.known.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(p) = known.get(kernel) {
            return Ok(p.clone());
        }
        check_kernel(kernel)?;
        let prepared = Arc::new(Prepared {
            kernel: kernel.clone(),
            facts: Facts::of(kernel),
            copies: kernel.instrs.len() == 2,
            variants: RwLock::default(),
            habits: Habits::default(),
            compiling: Mutex::new(()),
        });
        known.insert(kernel.clone(), prepared.clone());
        Ok(prepared)
    }

    /// Runs a kernel on the compute stream; returns once it is enqueued.
    ///
    /// # Safety
    /// The addresses are memory of this device that covers the domain, and nothing else writes it meanwhile.
    pub unsafe fn run(&self, launch: &FusedLaunch) -> Result<(), CudaError> {
        let prepared = self.prepare(launch.kernel)?;
        self.launch(&prepared, launch)
    }

    /// As `run`, for a kernel prepared before; `launch.kernel` must be it.
    ///
    /// # Safety
    /// As for `run`.
    pub unsafe fn launch(&self, prepared: &Prepared, launch: &FusedLaunch) -> Result<(), CudaError> {
        self.launch_with(prepared, launch, |structure| self.compile(prepared, structure).map(Some)).map(|_| ())
    }

    /// As `launch`, if the machine code is there. If not, it is compiled now; or in the background if `otherwise` says
    /// that the caller can do without it: then nothing is launched, and the answer is false.
    ///
    /// # Safety
    /// As for `run`.
    pub unsafe fn launch_if_compiled(
        &self,
        prepared: &Prepared,
        launch: &FusedLaunch,
        otherwise: impl FnOnce() -> bool,
    ) -> Result<bool, CudaError> {
        self.launch_with(prepared, launch, |structure| {
            if otherwise() { self.compiled(prepared, structure) } else { self.compile(prepared, structure).map(Some) }
        })
    }

    /// Launches by the code of a variant seen before, or by what `made` has for it; false if it has none.
    unsafe fn launch_with(
        &self,
        prepared: &Prepared,
        launch: &FusedLaunch,
        made: impl FnOnce(&Structure) -> Result<Option<Arc<Code>>, CudaError>,
    ) -> Result<bool, CudaError> {
        debug_assert!(*launch.kernel == prepared.kernel);
        if prepared.copies
            && let Some(steps) = Transpose::of(launch).and_then(|t| t.steps())
        {
            return self.run_steps(&steps).map(|()| true);
        }
        let Some(mut plan) = plan(&prepared.facts, launch, &self.chip())? else { return Ok(true) };
        let code = match prepared.code(&plan.structure) {
            Some(code) => code,
            None => match made(&plan.structure)? {
                Some(code) => code,
                None => return Ok(false),
            },
        };
        let elements = launch.domain.iter().product::<usize>();
        let code = self.settled_code(prepared, &plan, elements).unwrap_or(code);
        self.start_planned(&code, &mut plan, elements <= SMALL).map(|()| true)
    }

    unsafe fn start_planned(&self, code: &Arc<Code>, plan: &mut Plan, small: bool) -> Result<(), CudaError> {
        if plan.partials == 0 {
            return self.start(code, plan.grid, plan.block, &plan.words, small);
        }
        // Held until the launch is enqueued: a fold that needs more scratch frees it in the stream's order.
        let mut scratch = self.scratch.lock().unwrap_or_else(|e| e.into_inner());
        if scratch.partial_words < plan.partials {
            let words = plan.partials.next_power_of_two().max(1 << 16);
            let fresh = self.alloc(words * 8)?;
            if scratch.partials != 0 {
                self.free(scratch.partials)?;
            }
            (scratch.partials, scratch.partial_words) = (fresh, words);
        }
        if scratch.counter_words < plan.counters {
            let words = plan.counters.next_power_of_two().max(1 << 14);
            let fresh = self.alloc(words * 4)?;
            self.fill(Lane::Compute, fresh, 0, words * 4)?;
            if scratch.counters != 0 {
                self.free(scratch.counters)?;
            }
            (scratch.counters, scratch.counter_words) = (fresh, words);
        }
        plan.words[head::PARTIALS] = scratch.partials;
        plan.words[head::COUNTERS] = scratch.counters;
        self.start(code, plan.grid, plan.block, &plan.words, small)
    }

    fn compile(&self, prepared: &Prepared, structure: &Structure) -> Result<Arc<Code>, CudaError> {
        let _only = prepared.compiling.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(code) = prepared.code(structure) {
            return Ok(code);
        }
        self.stretch_ends();
        let text = print(&prepared.kernel, structure, NAME).program();
        let cubin = self.compiler.cubin(&text, self.properties().arch)?;
        self.load_variant(prepared, structure, &cubin)
    }

    /// The code of a variant if it was compiled before; if not, it is from here on, on another thread.
    fn compiled(&self, prepared: &Prepared, structure: &Structure) -> Result<Option<Arc<Code>>, CudaError> {
        let text = print(&prepared.kernel, structure, NAME).program();
        let arch = self.properties().arch;
        match self.compiler.made_before(&text, arch) {
            Some(cubin) => self.load_variant(prepared, structure, &cubin).map(Some),
            None if self.background.want(&self.compiler, text, arch) => Ok(None),
            None => self.compile(prepared, structure).map(Some),
        }
    }

    fn load_variant(&self, p: &Prepared, structure: &Structure, cubin: &[u8]) -> Result<Arc<Code>, CudaError> {
        let code = Arc::new(self.load_code(cubin, NAME)?);
        p.variants.write().unwrap_or_else(|e| e.into_inner()).push((structure.clone(), code.clone()));
        Ok(code)
    }

    /// Ends what compiles in the background.
    pub fn rest(&self) {
        self.background.rest();
    }

    /// How often NVRTC was run for this device.
    pub fn compilations(&self) -> u64 {
        self.compiler.compiled()
    }
}
