//! Tasks on CUDA devices. They are over for the runtime once they stand in the device's stream: what comes later on the
//! device comes after them there, and whoever wants the bytes elsewhere copies them in the stream's order.

use crate::error::{ErrorKind, ExecError};
use crate::mapper::Slab;
use crate::operation::{Kind, Operation};
use crate::plan::FusedPlan;
use crate::prepare::{self, Bases, FusedTask};
use crate::provenance::Provenance;
use crate::reserved;
use numloom_cuda::ops::blas::{Matrix, Product};
use numloom_cuda::ops::scan::Scan;
use numloom_cuda::ops::sort::Sort;
use numloom_cuda::{CudaError, Device, FusedLaunch, Operand, Options, Output, Prepared, Report, Search};
use numloom_ir::DType;
use numloom_library::{Args, Form, RawView};
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

/// What there is of CUDA on this machine, and where.
pub fn report() -> Vec<Report> {
    Search::new(&SITE_PACKAGES.lock()).report()
}

/// The first `count` GPUs; fewer, with a word about it, where one cannot be used.
pub fn open(count: usize) -> Vec<Arc<Device>> {
    let options = Options { search: Search::new(&SITE_PACKAGES.lock()), cache: numloom_cuda::default_cache() };
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
    all
}

fn failure(e: CudaError, op: &'static str, at: Provenance) -> ExecError {
    ExecError::new(ErrorKind::Device, e.to_string(), op, at)
}

/// A kernel made ready for a GPU, kept with its plan.
#[derive(Default)]
pub struct OnGpu(OnceLock<Option<Arc<Prepared>>>);

/// Whether GPUs can run the kernel.
pub fn can_run(plan: &FusedPlan) -> bool {
    let Some(device) = reserved::gpu(crate::memory::Memory::Framebuffer(0)) else { return false };
    plan.on_gpu.0.get_or_init(|| device.prepare(&plan.compiled.kernel).ok()).is_some()
}

/// Puts a fused task, or a slab of it, into the device's stream.
pub fn enqueue(device: &Device, bases: &Bases, task: &FusedTask, slab: Option<&Slab>) -> Result<()> {
    let plan = task.plan;
    let (domain, operands, outputs) = prepare::operands(bases, task, slab)?;
    let of: SmallVec<[Operand; 8]> =
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
    let reduced: SmallVec<[bool; 8]> = (0..domain.len()).map(|a| plan.reduced >> a.min(63) & 1 == 1).collect();
    let launch = FusedLaunch {
        kernel: &plan.compiled.kernel,
        domain: &domain,
        operands: &of,
        params: task.params,
        reduced: &reduced,
        outputs: &results,
    };
    // SAFETY: the task holds its arrays on this device, and the analysis ordered it after everything that touches what
    // it writes.
    let started = unsafe {
        match plan.on_gpu.0.get() {
            Some(Some(prepared)) if reserved::devices() == 1 => device.launch(prepared, &launch),
            _ => device.run(&launch),
        }
    };
    let op = task.ops.first();
    started.map_err(|e| failure(e, op.map_or("task", |o| o.name()), op.map_or(Provenance::default(), |o| o.at)))
}

/// Whether GPUs can do a library operation on arrays like these.
pub fn can_do(op: &Operation) -> bool {
    let Kind::Library(library) = &op.kind else { return false };
    let dtype = |k: usize| op.reads().nth(k).map(|p| p.view.dtype);
    let out = op.outs.first().map(|p| &p.view);
    match library.form() {
        Form::MatMul => matches!(dtype(0), Some(DType::F32 | DType::F64 | DType::C64 | DType::C128)),
        Form::Accumulate { op: Some(_), .. } => dtype(0) == out.map(|v| v.dtype) && out.is_some_and(|v| v.ndim() <= 2),
        Form::Sort { .. } => {
            let run = op.reads().next().map(|p| &p.view);
            let dense = |v: &numloom_ir::View| v.ndim() == 1 && v.is_c_contiguous();
            run.is_some_and(|v| dense(v) && !v.dtype.is_complex() && v.size() < 1 << 31) && out.is_some_and(dense)
        }
        _ => false,
    }
}

/// Puts a library operation into the device's stream.
pub fn enqueue_library(device: &Device, op: &Operation, args: &Args) -> Result<()> {
    let Kind::Library(library) = &op.kind else { return Ok(()) };
    let fail = |e: CudaError| failure(e, op.name(), op.at);
    let refused = || fail(CudaError::Launch("the operation has no way on a GPU".into()));
    match library.form() {
        Form::MatMul => product(device, args).ok_or_else(refused)?.map_err(fail),
        Form::Accumulate { op: Some(scalar), axis } => {
            let (src, dst) = (&args.ins[0], &args.outs[0]);
            let other = 1 - axis.min(1);
            let flat = src.shape.len() < 2;
            let scan = Scan {
                op: scalar,
                dtype: src.dtype,
                src: src.ptr as u64,
                dst: dst.ptr as u64,
                rows: if flat { 1 } else { src.shape[other] },
                n: src.shape[axis],
                src_row: if flat { 0 } else { src.strides[other] },
                dst_row: if flat { 0 } else { dst.strides[other] },
                src_step: src.strides[axis],
                dst_step: dst.strides[axis],
            };
            // SAFETY: the arrays are held on this device.
            unsafe { device.run_with_scratch(scan.scratch(), 0, |at| scan.steps(at).unwrap_or_default()) }.map_err(fail)
        }
        Form::Sort { places } => {
            let (src, dst) = (&args.ins[0], &args.outs[0]);
            let (dtype, n) = (src.dtype, src.shape[0]);
            let sort = Sort { dtype, n, src: src.ptr as u64, dst: dst.ptr as u64, places };
            // SAFETY: as above.
            unsafe { device.run_with_scratch(sort.scratch(), 0, |at| sort.steps(at).unwrap_or_default()) }.map_err(fail)
        }
        _ => Err(refused()),
    }
}

/// A matrix product by cuBLAS; `None` where the matrices do not lie as it needs them.
fn product(device: &Device, args: &Args) -> Option<std::result::Result<(), CudaError>> {
    let (a, b, c) = (&args.ins[0], &args.ins[1], &args.outs[0]);
    let nd = c.shape.len();
    let (m, n, k) = (c.shape[nd - 2], c.shape[nd - 1], a.shape[nd - 1]);
    let batch: usize = c.shape[..nd - 2].iter().product();
    let product = Product {
        dtype: c.dtype,
        m,
        n,
        k,
        batch,
        a: matrix(a)?,
        b: matrix(b)?,
        c: matrix(c).filter(|c| !c.transposed)?,
        tf32: false,
    };
    // SAFETY: the arrays are held on this device, and the result is apart from the factors.
    Some(unsafe { device.product(&product) })
}

fn matrix(v: &RawView) -> Option<Matrix> {
    let (nd, size) = (v.shape.len(), v.dtype.size() as isize);
    let (rows, columns) = (v.shape[nd - 2], v.shape[nd - 1]);
    let (down, across) = (v.strides[nd - 2], v.strides[nd - 1]);
    let fits = |dense: isize, apart: isize, inner: usize| {
        (dense == size || inner <= 1) && apart % size == 0 && apart >= inner.max(1) as isize * size
    };
    let (transposed, leading) = if fits(across, down, columns) {
        (false, down / size)
    } else if fits(down, across, rows) {
        (true, across / size)
    } else if rows <= 1 && across == size {
        (false, columns.max(1) as isize)
    } else if columns <= 1 && down == size {
        (true, rows.max(1) as isize)
    } else {
        return None;
    };
    // Batches must be evenly apart.
    let outer = &v.shape[..nd - 2];
    let batch_stride = match outer.iter().zip(&v.strides[..nd - 2]).filter(|(d, _)| **d > 1).collect::<Vec<_>>()[..] {
        [] => 0,
        [(_, s)] => *s / size,
        _ => return None,
    };
    Some(Matrix { ptr: v.ptr as u64, transposed, leading: leading as usize, batch_stride: batch_stride as i64 })
}

/// Waits for everything that was put into streams.
pub fn wait_for_all() -> Result<()> {
    for pool in reserved::all() {
        if let Some(device) = pool.gpu() {
            device.wait().map_err(|e| failure(e, "task", Provenance::default()))?;
        }
    }
    Ok(())
}
