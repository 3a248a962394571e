//! Library operations on CUDA devices. What has no way there runs on the CPU.

use crate::dot;
use crate::error::{ErrorKind, ExecError};
use crate::gpu::{failure, is_aligned};
use crate::gpu_copy;
use crate::gpu_factor;
use crate::gpu_fft::{self, Wanted};
use crate::memory::Memory;
use crate::operation::{Kind, Operation};
use crate::prepare::sized;
use crate::reserved;
use numloom_cuda::load::{Kind as Nvidia, Opened};
use numloom_cuda::ops::Step;
use numloom_cuda::ops::blas::{Matrix, Product};
use numloom_cuda::ops::extreme::Extreme;
use numloom_cuda::ops::scan::Scan;
use numloom_cuda::ops::search::{Run, Search};
use numloom_cuda::ops::select::{self, Indexed, Pack};
use numloom_cuda::ops::sort::Sort;
use numloom_cuda::{CudaError, Device, Lane};
use numloom_ir::{DType, View};
use numloom_library::{Args, Form, Mode, RawView};
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
        Form::Sort { .. } => {
            let dense = |v: &View| v.ndim() == 1 && is_flat(v);
            dense(first) && !first.dtype.is_complex() && first.size() < 1 << 31 && dense(&out)
        }
        Form::Extreme { axis, .. } => {
            let lies_well = match axis {
                Some(_) => first.ndim() <= 2 && is_aligned(first),
                None => is_even(first),
            };
            lies_well && !first.dtype.is_complex() && first.size() > 0 && is_aligned(&out)
        }
        Form::Take { axis: Some(_), .. } => {
            ins.len() == 2 && can_index(first, &ins[1]) && is_flat(&out) && first.dtype == out.dtype
        }
        Form::Put { axis: Some(_), .. } => {
            let one = |v: &View| v.size() == 1 || v.shape.iter().zip(&v.strides).all(|(&n, &s)| n <= 1 || s == 0);
            ins.len() == 2
                && can_index(&out, first)
                && ins[1].dtype == out.dtype
                && is_aligned(&ins[1])
                && (is_dense_from(&ins[1], 0) || one(&ins[1]))
        }
        Form::CountTrue => first.dtype == DType::Bool && is_flat(first) && is_aligned(&out),
        Form::SearchSorted { .. } => ins.len() == 2 && !first.dtype.is_complex() && is_even(&ins[1]) && is_even(&out),
        Form::Factor { name, ins: cores, .. } => gpu_factor::can_do(name, cores, &ins) && has(Nvidia::Cusolver),
        Form::Fourier { spectrum, axis, n, inverse, scale } => {
            gpu_fft::can_do(&Wanted { spectrum, axis, n, inverse, scale }, first, &out) && has(Nvidia::Cufft)
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

/// Whether the first axis of an array can be indexed there. Errors of empty axes are the CPU's to word.
fn can_index(array: &View, index: &View) -> bool {
    let extent = array.shape.first().copied().unwrap_or(0);
    extent > 0 && is_aligned(array) && is_dense_from(array, 1) && is_even(index) && index.dtype == DType::I64
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
        Form::Sort { places, stable } => {
            let (src, dst) = (&args.ins[0], &args.outs[0]);
            let (dtype, n) = (src.dtype, src.shape[0]);
            let sort = Sort { dtype, n, src: src.ptr as u64, dst: dst.ptr as u64, places };
            let by_place = stable && !places && dtype.is_float();
            // One pass reads and writes, and what is taken by its place is read while the result is written.
            let at_once = by_place || dtype.size() == 1;
            if at_once && sort.src.abs_diff(sort.dst) < (n * 8) as u64 {
                return apart(device, n * if places { 8 } else { dtype.size() }, sort.dst, |dst| {
                    sorted(device, &Sort { dst, ..sort }, by_place)
                })
                .map_err(fail);
            }
            sorted(device, &sort, by_place).map_err(fail)
        }
        Form::Extreme { max, axis } => {
            let extreme = extreme(max, axis, &args.ins[0], &args.outs[0]);
            // SAFETY: as above.
            unsafe { device.run_with_scratch(extreme.scratch(), 0, |at| extreme.steps(at).unwrap_or_default()) }
                .map_err(fail)
        }
        Form::Take { axis: Some(axis), mode } => {
            let (x, index, out) = (&args.ins[0], &args.ins[1], &args.outs[0]);
            let taken = indexed(x, index, out, mode);
            let steps = |bad: u64| Indexed { bad, ..taken }.take().unwrap_or_default();
            looked_at(device, op, axis, &taken, 0, |bad| (steps(bad), Default::default()))
        }
        Form::Put { axis: Some(axis), mode } => {
            let (index, values, x) = (&args.ins[0], &args.ins[1], &args.outs[0]);
            let put = indexed(x, index, values, mode);
            looked_at(device, op, axis, &put, put.put_scratch(), |bad| {
                let mut steps = Indexed { bad, ..put }.put(bad + BAD as u64).unwrap_or_default();
                let writing = steps.drain(1.min(steps.len())..).collect();
                (steps, writing)
            })
        }
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
            gpu_fft::enqueue(device, &Wanted { spectrum, axis, n, inverse, scale }, args).map_err(fail)
        }
        _ => Err(refused()),
    }
}

/// Writes a result into room of its own first, then to where it belongs.
fn apart(
    device: &Device,
    bytes: usize,
    to: u64,
    write: impl FnOnce(u64) -> std::result::Result<(), CudaError>,
) -> std::result::Result<(), CudaError> {
    let room = device.room(bytes)?;
    write(room.ptr())?;
    // SAFETY: both have the bytes of the result.
    unsafe { device.copy(Lane::Compute, to, room.ptr(), bytes) }
}

/// Sorts; with `by_place`, values by way of their places: sorted keys have lost in which order zeros of
/// both signs stood, and which NaN is which.
fn sorted(device: &Device, sort: &Sort, by_place: bool) -> std::result::Result<(), CudaError> {
    if !by_place {
        // SAFETY: the arrays are held on this device.
        return unsafe { device.run_with_scratch(sort.scratch(), 0, |at| sort.steps(at).unwrap_or_default()) };
    }
    let places = device.room(sort.n * 8)?;
    let by_place = Sort { dst: places.ptr(), places: true, ..*sort };
    let taken = Indexed {
        itemsize: sort.dtype.size(),
        array: sort.src,
        outer: 1,
        extent: sort.n,
        inner: 1,
        outer_stride: 0,
        axis_stride: sort.dtype.size() as isize,
        index: places.ptr(),
        index_stride: 8,
        count: sort.n,
        dense: sort.dst,
        single: false,
        mode: select::Mode::Clip,
        bad: 0,
    };
    // SAFETY: the arrays are held on this device; the result is apart from what is sorted.
    unsafe {
        device.run_with_scratch(by_place.scratch(), 0, |at| by_place.steps(at).unwrap_or_default())?;
        device.run_steps(&taken.take().unwrap_or_default())
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

/// The first axis of `array` indexed, against `dense`.
fn indexed(array: &RawView, index: &RawView, dense: &RawView, mode: Mode) -> Indexed {
    let repeats = dense.shape.iter().zip(&dense.strides).all(|(&n, &s)| n <= 1 || s == 0);
    Indexed {
        itemsize: array.dtype.size(),
        array: array.ptr as u64,
        outer: 1,
        extent: array.shape[0],
        inner: array.shape[1..].iter().product(),
        outer_stride: 0,
        axis_stride: array.strides[0],
        index: index.ptr as u64,
        index_stride: step_of(index),
        count: index.shape.iter().product(),
        dense: dense.ptr as u64,
        single: repeats,
        mode: match mode {
            Mode::Raise => select::Mode::Raise,
            Mode::Wrap => select::Mode::Wrap,
            Mode::Clip => select::Mode::Clip,
        },
        bad: 0,
    }
}

/// Room in front of scratch for what is told of wrong indices.
const BAD: usize = 256;

/// Runs steps that find wrong indices, and those that follow if there is none. The scratch, zero before, begins with
/// what is told of them.
fn looked_at(
    device: &Device,
    op: &Operation,
    axis: usize,
    indexed: &Indexed,
    scratch: usize,
    steps: impl FnOnce(u64) -> (smallvec::SmallVec<[Step; 4]>, smallvec::SmallVec<[Step; 4]>),
) -> Result<()> {
    let fail = |e: CudaError| failure(e, op.name(), op.at);
    let bytes = BAD + scratch;
    let bad = device.alloc(bytes).map_err(fail)?;
    // SAFETY: the arrays are held on this device; the scratch has the size asked for and is freed in the stream's order.
    let found = unsafe {
        let (looking, writing) = steps(bad);
        let found = device.fill(Lane::Compute, bad, 0, bytes).and_then(|()| {
            device.run_steps(&looking)?;
            let first = if indexed.mode == select::Mode::Raise { device.read(bad)? } else { 0 };
            if first != 0 {
                let at = indexed.index.wrapping_add((!first).wrapping_mul(indexed.index_stride as u64));
                return device.read(at).map(|index| Some(index as i64));
            }
            device.run_steps(&writing)?;
            Ok(None)
        });
        device.free(bad).and(found)
    };
    match found.map_err(fail)? {
        None => Ok(()),
        Some(index) => {
            let message = format!("index {index} is out of bounds for axis {axis} with size {}", indexed.extent);
            Err(ExecError::new(ErrorKind::Index, message, op.name(), op.at))
        }
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
