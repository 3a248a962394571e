//! Library operations on CUDA devices. What has no way there runs on the CPU.

use crate::dot;
use crate::error::{ErrorKind, ExecError};
use crate::gpu::{failure, is_aligned};
use crate::gpu_copy;
use crate::gpu_factor;
use crate::gpu_fft;
use crate::gpu_index;
use crate::gpu_sort;
use crate::memory::Memory;
use crate::operation::{Kind, Operation};
use crate::prepare::sized;
use crate::reserved;
use numloom_cuda::load::{Kind as Nvidia, Opened};
use numloom_cuda::ops::blas::{Matrix, Product};
use numloom_cuda::ops::extreme::Extreme;
use numloom_cuda::ops::random;
use numloom_cuda::ops::scan::Scan;
use numloom_cuda::ops::search::{Run, Search};
use numloom_cuda::ops::select::{self, Pack};
use numloom_cuda::ops::sort::Wanted;
use numloom_cuda::{CudaError, Device};
use numloom_ir::overlap::self_overlaps;
use numloom_ir::{DType, View};
use numloom_library::{Args, Form, RawView};
use parking_lot::Mutex;
use std::sync::Arc;

type Result<T> = std::result::Result<T, ExecError>;

/// Whether the axes from `first` on lie side by side.
fn is_dense_from(v: &View, first: usize) -> bool {
    let mut step = v.dtype.size() as isize;
    (first..v.ndim()).rev().all(|a| {
        let fits = v.shape[a] == 1 || v.strides[a] == step;
        step *= v.shape[a] as isize;
        fits
    })
}

fn is_flat(v: &View) -> bool {
    is_aligned(v) && is_dense_from(v, 0)
}

/// Elements evenly apart, whatever their shape.
fn is_even(v: &View) -> bool {
    is_aligned(v) && (v.ndim() <= 1 || is_dense_from(v, 0))
}

/// Whether GPUs can do a library operation on arrays like these.
pub fn can_do(op: &Operation) -> bool {
    let Kind::Library(library) = &op.kind else { return false };
    let ins: Vec<View> = op.reads().map(sized).collect();
    let Some(out) = op.outs.first().map(sized) else { return false };
    if let Form::Draw(d) = library.form() {
        return is_flat(&out) && random::steps(&d, 0, out.size(), out.dtype.size()).is_some();
    }
    let Some(first) = ins.first() else { return false };
    if !ins.iter().chain([&out]).all(is_aligned) {
        return false;
    }
    match library.form() {
        Form::MatMul if dot::is_matvec(&first.shape, &out.shape, out.dtype) => true,
        Form::MatMul => {
            let lies_well = |v: &View| matrix(v.dtype.size() as isize, &v.shape, &v.strides);
            let known = matches!(first.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128);
            known
                && has(Nvidia::Cublas)
                && lies_well(&out).is_some_and(|c| !c.transposed)
                && ins.iter().all(|v| lies_well(v).is_some())
        }
        Form::Accumulate { op: Some(_), .. } => (first.dtype == out.dtype || is_apart(op)) && out.ndim() <= 2,
        Form::Sort { axis, .. } => gpu_sort::can_do(first, axis),
        Form::Select { axis, kth } => gpu_sort::can_do(first, axis) && kth.len() <= gpu_sort::MOST_SELECTED,
        Form::Extreme { axis, .. } => {
            let lies_well = match axis {
                Some(_) => first.ndim() <= 2 && is_aligned(first),
                None => is_even(first),
            };
            lies_well && !first.dtype.is_complex() && first.size() > 0 && is_aligned(&out)
        }
        Form::Take { .. } => gpu_index::can_do(first, &ins[1..], &out),
        Form::Put { .. } => {
            let (values, indices) = ins.split_last().unwrap_or((first, &[]));
            gpu_index::can_do(&out, indices, values) && !self_overlaps(&out)
        }
        Form::CountTrue => first.dtype == DType::Bool && is_flat(first) && is_aligned(&out),
        Form::SearchSorted { .. } => ins.len() == 2 && !first.dtype.is_complex() && is_even(&ins[1]) && is_even(&out),
        Form::Factor { name, ins: cores, .. } => gpu_factor::can_do(name, cores, &ins) && has(Nvidia::Cusolver),
        Form::Fourier { spectrum, axis, n, inverse, scale } => {
            gpu_fft::can_do(&gpu_fft::Wanted { spectrum, axis, n, inverse, scale }, first, &out) && has(Nvidia::Cufft)
        }
        _ => false,
    }
}

/// Whether an operation reads no array that it writes.
fn is_apart(op: &Operation) -> bool {
    op.reads().all(|p| op.outs.iter().all(|o| !Arc::ptr_eq(&o.store, &p.store)))
}

/// Whether one of NVIDIA's libraries is there. Found once and kept open; simulated devices need none.
fn has(kind: Nvidia) -> bool {
    static OPENED: Mutex<Vec<(Nvidia, Option<Opened>)>> = Mutex::new(Vec::new());
    let Some(device) = reserved::gpu(Memory::Framebuffer(0)) else { return true };
    let mut all = OPENED.lock();
    if let Some((_, opened)) = all.iter().find(|(k, _)| *k == kind) {
        return opened.is_some();
    }
    let opened = device.search().open_for(kind, device.properties().driver.0).ok();
    let found = opened.is_some();
    all.push((kind, opened));
    found
}

/// Whether GPUs can pack by a mask, write back under it or tell where it is true.
pub fn can_pack(op: &Operation) -> bool {
    let all: Vec<View> = op.reads().map(|p| p.view.clone()).collect();
    match (&op.kind, &all[..]) {
        (Kind::Pack, [x, mask]) => mask.dtype == DType::Bool && is_flat(mask) && is_flat(x) && x.shape == mask.shape,
        (Kind::Unpack, [mask, values]) => {
            let known = |v: &View| v.shape.first() != Some(&crate::array::UNSIZED);
            let fits = |x: &View| is_flat(x) && x.shape == mask.shape && x.dtype == values.dtype;
            mask.dtype == DType::Bool
                && is_flat(mask)
                && known(values)
                && values.ndim() == 1
                && is_aligned(values)
                && op.outs.first().is_some_and(|p| fits(&p.view))
        }
        (Kind::Nonzero, [mask]) => mask.dtype == DType::Bool && mask.ndim() >= 1 && is_flat(mask),
        _ => false,
    }
}

/// Puts a library operation into the device's stream. Where indices may be wrong, they are looked at before this returns.
pub fn enqueue(device: &Device, op: &Operation, args: &Args) -> Result<()> {
    let Kind::Library(library) = &op.kind else { return Ok(()) };
    let fail = |e: CudaError| failure(e, op.name(), op.at);
    let refused = || fail(CudaError::Launch("the operation has no way on a GPU".into()));
    match library.form() {
        Form::MatMul if dot::is_matvec(&args.ins[0].shape, &args.outs[0].shape, args.outs[0].dtype) => {
            dot::enqueue(device, args).map_err(fail)
        }
        Form::MatMul => product(device, args).ok_or_else(refused)?.map_err(fail),
        Form::Accumulate { op: Some(scalar), axis } => {
            let (mut src, dst) = (&args.ins[0], &args.outs[0]);
            if src.dtype != dst.dtype {
                // What is scanned has the type of the result: it is brought there and scanned in its place.
                gpu_copy::cast(device, src, dst, &src.shape).map_err(fail)?;
                src = dst;
            }
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
        Form::Sort { axis, places, stable } => {
            let wanted = match (places, stable) {
                (true, _) => Wanted::Places,
                (false, true) => Wanted::Stable,
                (false, false) => Wanted::Values,
            };
            gpu_sort::sort(device, &args.ins[0], &args.outs[0], axis, wanted).map_err(fail)
        }
        Form::Select { axis, kth } => gpu_sort::select(device, &args.ins[0], &args.outs[0], axis, &kth).map_err(fail),
        Form::Extreme { max, axis } => {
            let extreme = extreme(max, axis, &args.ins[0], &args.outs[0]);
            // SAFETY: as above.
            unsafe { device.run_with_scratch(extreme.scratch(), 0, |at| extreme.steps(at).unwrap_or_default()) }
                .map_err(fail)
        }
        Form::Take { axes, mode } => gpu_index::take(device, op, args, &axes, mode),
        Form::Put { axes, mode } => gpu_index::put(device, op, args, &axes, mode),
        Form::CountTrue => count_into(device, &args.ins[0], args.outs[0].ptr as u64).map_err(fail),
        Form::SearchSorted { right } => {
            let run = |v: &RawView| Run { ptr: v.ptr as u64, step: step_of(v), n: v.shape.iter().product() };
            let (sorted, values, places) = (run(&args.ins[0]), run(&args.ins[1]), run(&args.outs[0]));
            let search = Search { dtype: args.ins[0].dtype, sorted, values, places, right };
            // SAFETY: as above.
            unsafe { device.run_steps(&search.steps().ok_or_else(refused)?) }.map_err(fail)
        }
        Form::Factor { name, ins, outs, option } => gpu_factor::enqueue(device, op, args, name, (ins, outs), option),
        Form::Fourier { spectrum, axis, n, inverse, scale } => {
            gpu_fft::enqueue(device, &gpu_fft::Wanted { spectrum, axis, n, inverse, scale }, args).map_err(fail)
        }
        Form::Draw(d) => {
            let (out, n) = (&args.outs[0], args.outs[0].shape.iter().product());
            let steps = random::steps(&d, out.ptr as u64, n, out.dtype.size()).ok_or_else(refused)?;
            // SAFETY: as above.
            unsafe { device.run_steps(&steps) }.map_err(fail)
        }
        _ => Err(refused()),
    }
}

fn extreme(max: bool, axis: Option<usize>, src: &RawView, dst: &RawView) -> Extreme {
    let all = Extreme {
        max,
        dtype: src.dtype,
        src: src.ptr as u64,
        dst: dst.ptr as u64,
        rows: 1,
        n: src.shape.iter().product(),
        src_row: 0,
        src_step: step_of(src),
        dst_row: 0,
    };
    match axis {
        Some(axis) if src.shape.len() == 2 => {
            let other = 1 - axis;
            let kept = dst.shape.len() == 2;
            let dst_row = if kept { dst.strides[other] } else { dst.strides[0] };
            let (rows, n) = (src.shape[other], src.shape[axis]);
            Extreme { rows, n, src_row: src.strides[other], src_step: src.strides[axis], dst_row, ..all }
        }
        _ => all,
    }
}

/// Bytes from one element to the next of an array whose elements are evenly apart.
fn step_of(v: &RawView) -> isize {
    match v.strides[..] {
        [step] => step,
        _ => v.dtype.size() as isize,
    }
}

fn mask_only(mask: &RawView) -> Pack {
    let n = mask.shape.iter().product();
    Pack { itemsize: 1, n, mask: mask.ptr as u64, values: 0, packed: 0, places: 0, count: 0 }
}

fn count_into(device: &Device, mask: &RawView, count: u64) -> std::result::Result<(), CudaError> {
    let pack = Pack { count, ..mask_only(mask) };
    // SAFETY: the mask and the count are held on this device.
    unsafe { device.run_with_scratch(pack.scratch(), 0, |at| pack.steps(at).unwrap_or_default().0) }
}

/// How many elements of a dense mask are true; waits for the device.
pub fn count_true(device: &Device, op: &Operation, mask: &RawView) -> Result<usize> {
    let fail = |e: CudaError| failure(e, op.name(), op.at);
    let count = device.alloc(8).map_err(fail)?;
    // SAFETY: freed once, in the stream's order.
    let total = count_into(device, mask, count).and_then(|()| unsafe { device.read(count) });
    let freed = unsafe { device.free(count) };
    freed.and(total).map(|n| n as usize).map_err(fail)
}

/// Packs by a mask, writes back under it, or tells where it is true.
pub fn enqueue_packed(device: &Device, op: &Operation, args: &Args) -> Result<()> {
    let fail = |e: CudaError| failure(e, op.name(), op.at);
    let (ins, out) = (&args.ins, &args.outs[0]);
    let (itemsize, to) = (out.dtype.size(), out.ptr as u64);
    if matches!(op.kind, Kind::Nonzero) && args.outs.len() > 1 {
        return places_by_axis(device, &ins[0], &args.outs).map_err(fail);
    }
    let (pack, apart) = match op.kind {
        Kind::Pack => (Pack { itemsize, values: ins[0].ptr as u64, packed: to, ..mask_only(&ins[1]) }, None),
        Kind::Nonzero => (Pack { places: to, ..mask_only(&ins[0]) }, None),
        _ => {
            let (mask, values) = (&ins[0], &ins[1]);
            let (given, total) = (values.shape[0], count_true(device, op, mask)?);
            if given != total && given != 1 {
                let message = format!(
                    "NumPy boolean array indexing assigns {given} input values to the {total} output values where the mask is true"
                );
                return Err(ExecError::new(ErrorKind::Value, message, op.name(), op.at));
            }
            let apart = if given == 1 { 0 } else { values.strides[0] };
            (Pack { itemsize, values: to, packed: values.ptr as u64, ..mask_only(mask) }, Some(apart))
        }
    };
    // The count comes first, where nobody reads it.
    let steps = |at: u64| {
        let (pack, offsets) = (Pack { count: at, ..pack }, at + 8);
        let both = match apart {
            Some(apart) => pack.steps_back(offsets, apart),
            None => pack.steps(offsets),
        };
        let (mut all, writing) = both.unwrap_or_default();
        all.extend(writing);
        all
    };
    // SAFETY: the arrays are held on this device.
    unsafe { device.run_with_scratch(8 + pack.scratch(), 0, steps) }.map_err(fail)
}

/// Where a mask of several axes is true: places in all of it, which are then told apart.
fn places_by_axis(device: &Device, mask: &RawView, outs: &[RawView]) -> std::result::Result<(), CudaError> {
    let count = outs[0].shape[0];
    let places = device.room(count * 8)?;
    let pack = Pack { places: places.ptr(), ..mask_only(mask) };
    let along: Vec<u64> = outs.iter().map(|o| o.ptr as u64).collect();
    let steps = |at: u64| {
        let (mut all, writing) = Pack { count: at, ..pack }.steps(at + 8).unwrap_or_default();
        all.extend(writing);
        all.extend(select::unravel(places.ptr(), count, &mask.shape, &along).unwrap_or_default());
        all
    };
    // SAFETY: the arrays are held on this device; the rooms have the sizes asked for.
    unsafe { device.run_with_scratch(8 + pack.scratch(), 0, steps) }
}

/// A matrix product by cuBLAS; `None` where the matrices do not lie as it needs them.
fn product(device: &Device, args: &Args) -> Option<std::result::Result<(), CudaError>> {
    let (a, b, c) = (&args.ins[0], &args.ins[1], &args.outs[0]);
    let nd = c.shape.len();
    let matrix = |v: &RawView| {
        let found = matrix(v.dtype.size() as isize, &v.shape, &v.strides)?;
        Some(Matrix { ptr: v.ptr as u64, ..found })
    };
    let product = Product {
        dtype: c.dtype,
        m: c.shape[nd - 2],
        n: c.shape[nd - 1],
        k: a.shape[nd - 1],
        batch: c.shape[..nd - 2].iter().product(),
        a: matrix(a)?,
        b: matrix(b)?,
        c: matrix(c).filter(|c| !c.transposed)?,
        tf32: numloom_config::current().tf32,
    };
    // SAFETY: the arrays are held on this device, and the result is apart from the factors.
    Some(unsafe { device.product(&product) })
}

/// How cuBLAS reads a matrix, or a batch of them: one axis dense, the other and the batches evenly apart.
fn matrix(size: isize, shape: &[usize], strides: &[isize]) -> Option<Matrix> {
    let (nd, leading) = (shape.len(), |apart: isize| (apart / size) as usize);
    let (rows, columns) = (*shape.get(nd.checked_sub(2)?)?, shape[nd - 1]);
    // Along an axis of one element any stride will do.
    let across = if columns <= 1 { size } else { strides[nd - 1] };
    let down = if rows <= 1 { columns.max(1) as isize * across.max(size) } else { strides[nd - 2] };
    let fits = |dense: isize, apart: isize, inner: usize| {
        dense == size && apart % size == 0 && apart >= inner.max(1) as isize * size
    };
    let (transposed, leading) = if fits(across, down, columns) {
        (false, leading(down))
    } else if fits(down, across, rows) {
        (true, leading(across))
    } else {
        return None;
    };
    let mut outer = shape[..nd - 2].iter().zip(strides).filter(|(d, _)| **d > 1);
    let batch_stride = outer.next().map_or(0, |(_, s)| *s as i64 / size as i64);
    outer.next().is_none().then_some(Matrix { ptr: 0, transposed, leading, batch_stride })
}
