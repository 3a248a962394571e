//! Tasks on CUDA devices. They are over for the runtime once they stand in the device's stream: what comes later on the
//! device comes after them there, and whoever wants the bytes elsewhere copies them in the stream's order.

use crate::error::{ErrorKind, ExecError};
use crate::lost;
use crate::mapper::Slab;
use crate::memory::Memory;
use crate::plan::FusedPlan;
use crate::prepare::{self, Bases, FusedTask};
use crate::provenance::Provenance;
use crate::reserved;
use crate::stand_in;
use numloom_cuda::{CudaError, Device, FusedLaunch, Operand, Options, Output, Prepared, Report, Search};
use numloom_ir::{Value, View};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

type Result<T> = std::result::Result<T, ExecError>;

static SITE_PACKAGES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Where NVIDIA's wheels may lie, besides the system's own places.
pub fn look_in(directories: Vec<PathBuf>) {
    *SITE_PACKAGES.lock() = directories;
}

fn search() -> Search {
    Search::new(&SITE_PACKAGES.lock()).with_driver(&numloom_config::current().cuda_driver_path)
}

/// What there is of CUDA on this machine, and where.
pub fn report() -> Vec<Report> {
    search().report()
}

/// Whether this run has GPUs, not simulated ones.
pub fn are_there() -> bool {
    reserved::are_gpus()
}

/// The first `count` GPUs; fewer, with a word about it, where one cannot be used.
pub fn open(count: usize) -> Vec<Arc<Device>> {
    let graphs = numloom_config::current().cuda_graphs;
    let options = Options { search: search(), cache: numloom_cuda::default_cache(), graphs };
    let mut all = Vec::new();
    for k in 0..count {
        match Device::open(k as u32, &options) {
            Ok(device) => all.push(Arc::new(device)),
            Err(e) => {
                eprintln!("numloom: GPU {k} is not used: {e}");
                break;
            }
        }
    }
    for device in &all {
        for other in all.iter().filter(|o| !Arc::ptr_eq(o, device)) {
            // Where it cannot, copies between them take longer.
            let _ = device.reach(other);
        }
    }
    all
}

pub fn failure(e: CudaError, op: &'static str, at: Provenance) -> ExecError {
    ExecError::new(ErrorKind::Device, lost::heard(e).to_string(), op, at)
}

/// A kernel made ready for a GPU, kept with its plan.
#[derive(Clone, Default)]
pub struct OnGpu(OnceLock<Option<Ready>>);

#[derive(Clone)]
struct Ready {
    prepared: Arc<Prepared>,
    /// The CPU may do it in the GPU's stead.
    has_stand_in: bool,
}

/// Whether GPUs can run the kernel on arrays that lie like these.
pub fn can_run(plan: &FusedPlan) -> bool {
    let Some(device) = reserved::gpu(Memory::Framebuffer(0)) else { return false };
    let prepared = || {
        let aligned = plan.spots().all(|s| is_aligned(&s.view));
        let prepared = if aligned { device.prepare(&plan.compiled.kernel).ok()? } else { return None };
        let has_stand_in =
            numloom_config::current().background_compile && numloom_cuda::agrees_with_cpu(&plan.compiled.kernel);
        Some(Ready { prepared, has_stand_in })
    };
    plan.on_gpu.0.get_or_init(prepared).is_some()
}

/// A GPU reads elements only where their size divides the address. Blocks start where it does.
pub fn is_aligned(view: &View) -> bool {
    let size = view.dtype.size();
    view.offset.is_multiple_of(size) && view.strides.iter().all(|s| s.unsigned_abs().is_multiple_of(size))
}

/// A kernel over arrays in memory, as GPUs take it.
pub fn with_launch<R>(
    plan: &FusedPlan,
    domain: &[usize],
    params: &[Value],
    (operands, outputs): (&[numloom_cpu::Operand], &[numloom_cpu::Output]),
    then: impl FnOnce(&FusedLaunch) -> R,
) -> R {
    let mut of: SmallVec<[Operand; 8]> =
        operands.iter().map(|o| Operand { ptr: o.ptr as u64, strides: &o.strides }).collect();
    let results: SmallVec<[Output; 4]> = outputs
        .iter()
        .map(|o| Output {
            ptr: o.operand.ptr as u64,
            dtype: o.operand.dtype,
            strides: &o.operand.strides,
            initial: o.initial,
        })
        .collect();
    if domain.contains(&0) {
        // Arrays without elements have no bytes, and a kernel may look at an operand before it looks at its extents.
        let somewhere = results.first().map_or(0, |o| o.ptr & !255);
        of.iter_mut().for_each(|o| o.ptr = somewhere);
    }
    let reduced: SmallVec<[bool; 8]> = (0..domain.len()).map(|a| plan.reduced >> a.min(63) & 1 == 1).collect();
    then(&FusedLaunch {
        kernel: &plan.compiled.kernel,
        domain,
        operands: &of,
        params,
        reduced: &reduced,
        outputs: &results,
    })
}

/// Puts a fused task, or a slab of it, into the device's stream.
pub fn enqueue(device: &Device, bases: &Bases, task: &FusedTask, slab: Option<&Slab>) -> Result<()> {
    let plan = task.plan;
    let (domain, operands, outputs) = prepare::operands(bases, task, slab)?;
    // SAFETY: the task holds its arrays on this device, and the analysis ordered it after everything that touches what
    // it writes.
    let start = |launch: &FusedLaunch| unsafe {
        match plan.on_gpu.0.get() {
            Some(Some(r)) if reserved::devices() == 1 && r.has_stand_in => {
                let launched = device.launch_if_compiled(&r.prepared, launch, || stand_in::is_small(launch));
                launched.and_then(|launched| if launched { Ok(()) } else { stand_in::run(device, plan, launch) })
            }
            Some(Some(r)) if reserved::devices() == 1 => device.launch(&r.prepared, launch),
            _ => device.run(launch),
        }
    };
    let started = with_launch(plan, &domain, task.params, (&operands, &outputs), start);
    started.map_err(|e| failed(task, e))
}

/// The failure of a task, by its first line.
pub fn failed(task: &FusedTask, e: CudaError) -> ExecError {
    let op = task.ops.first();
    failure(e, op.map_or("task", |o| o.name()), op.map_or(Provenance::default(), |o| o.at))
}

/// Nothing compiles in the background any more, until the next kernel is seen.
pub fn rest() {
    if reserved::exist() && !lost::are_lost() {
        reserved::all().iter().filter_map(|pool| pool.gpu()).for_each(|device| device.rest());
    }
}

/// Waits for everything that was put into streams.
pub fn wait_for_all() -> Result<()> {
    if lost::are_lost() {
        return Ok(());
    }
    for pool in reserved::all() {
        if let Some(device) = pool.gpu() {
            device.wait().map_err(|e| failure(e, "task", Provenance::default()))?;
        }
    }
    Ok(())
}
