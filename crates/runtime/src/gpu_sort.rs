//! Sorts along any axis on CUDA devices, and what is made of them.

use crate::gpu_copy;
use numloom_cuda::ops::Room;
use numloom_cuda::ops::sort::{MOST, Sort, Wanted};
use numloom_cuda::{CudaError, Device};
use numloom_ir::{DType, Dims, Strides, View};
use numloom_library::RawView;

type Result<T> = std::result::Result<T, CudaError>;

/// Places that are looked up one after another.
pub const MOST_SELECTED: usize = 64;

/// Whether lanes along an axis can be sorted there.
pub fn can_do(x: &View, axis: usize) -> bool {
    !x.dtype.is_complex() && x.shape.get(axis).is_some_and(|&n| n < MOST)
}

/// The axes with `axis` last, the others as `v` lies in memory.
fn axes_to(v: &RawView, axis: usize) -> Dims {
    let mut order: Dims = (0..v.shape.len()).filter(|&a| a != axis).collect();
    order.sort_by_key(|&a| std::cmp::Reverse(v.strides[a].unsigned_abs()));
    order.push(axis);
    order
}

fn turned(v: &RawView, order: &[usize]) -> RawView {
    let (shape, strides) = order.iter().map(|&a| (v.shape[a], v.strides[a])).unzip();
    RawView { ptr: v.ptr, dtype: v.dtype, shape, strides }
}

fn dense(ptr: u64, dtype: DType, shape: &Dims) -> RawView {
    let mut strides: Strides = shape.iter().map(|_| 0).collect();
    let mut step = dtype.size();
    for (stride, &n) in strides.iter_mut().zip(shape).rev() {
        *stride = step as isize;
        step *= n.max(1);
    }
    RawView { ptr: ptr as *mut u8, dtype, shape: shape.clone(), strides }
}

fn is_dense(v: &RawView) -> bool {
    let like = dense(0, v.dtype, &v.shape);
    v.shape.iter().zip(&v.strides).zip(&like.strides).all(|((&n, &s), &want)| n <= 1 || s == want)
}

/// A dense array like `v`, in room of its own.
fn made<'a>(device: &'a Device, v: &RawView) -> Result<(Room<'a>, RawView)> {
    let room = device.room(v.size() * v.dtype.size())?;
    let there = dense(room.ptr(), v.dtype, &v.shape);
    Ok((room, there))
}

/// Sorts `x` along an axis into `out`, which may be `x` itself.
pub fn sort(device: &Device, x: &RawView, out: &RawView, axis: usize, wanted: Wanted) -> Result<()> {
    if x.size() == 0 {
        return Ok(());
    }
    let order = axes_to(out, axis);
    let (x, out) = (turned(x, &order), turned(out, &order));
    let (n, rows) = (x.shape[order.len() - 1], x.shape[..order.len() - 1].iter().product());
    let given = Sort { dtype: x.dtype, rows, n, src: x.ptr as u64, dst: out.ptr as u64, wanted };
    // Lanes that are not dense are copied. So are those that are still read when the result is written over them.
    let bytes = |v: &RawView| (v.size() * v.dtype.size()) as u64;
    let meets = given.src < given.dst + bytes(&out) && given.dst < given.src + bytes(&x);
    let (mut _from, mut _to) = (None, None);
    let mut src = x.clone();
    if !is_dense(&x) || (meets && (given.src != given.dst || batches(&given).any(|s| s.is_apart()))) {
        let (room, there) = made(device, &x)?;
        gpu_copy::cast(device, &x, &there, &x.shape)?;
        (_from, src) = (Some(room), there);
    }
    let mut dst = out.clone();
    if !is_dense(&out) {
        let (room, there) = made(device, &out)?;
        (_to, dst) = (Some(room), there);
    }
    for sort in batches(&Sort { src: src.ptr as u64, dst: dst.ptr as u64, ..given }) {
        // SAFETY: the arrays are held on this device, dense and of this size; the scratch is as large as is asked for.
        unsafe { device.run_with_scratch(sort.scratch(), 0, |at| sort.steps(at).unwrap_or_default()) }?;
    }
    if is_dense(&out) { Ok(()) } else { gpu_copy::cast(device, &dst, &out, &out.shape) }
}

/// Elements of a row that is sorted faster by itself than with others.
const ALONE: usize = 4 << 20;

/// As many rows at a time as are sorted together.
fn batches(all: &Sort) -> impl Iterator<Item = Sort> {
    let all = *all;
    let most = if all.n >= ALONE { 1 } else { ((MOST - 1) / all.n.max(1)).max(1) };
    let given = if all.wanted == Wanted::Places { DType::I64 } else { all.dtype };
    (0..all.rows).step_by(most).map(move |first| {
        let before = (first * all.n) as u64;
        Sort {
            rows: most.min(all.rows - first),
            src: all.src + before * all.dtype.size() as u64,
            dst: all.dst + before * given.size() as u64,
            ..all
        }
    })
}

/// The elements at the `kth` places of the sorted lanes along an axis.
pub fn select(device: &Device, x: &RawView, out: &RawView, axis: usize, kth: &[usize]) -> Result<()> {
    if out.size() == 0 {
        return Ok(());
    }
    let order = axes_to(x, axis);
    let (x, out) = (turned(x, &order), turned(out, &order));
    let last = order.len() - 1;
    let (_room, sorted) = made(device, &x)?;
    sort(device, &x, &sorted, last, Wanted::Values)?;
    let mut lanes = out.shape.clone();
    lanes[last] = 1;
    for (i, &k) in kth.iter().enumerate() {
        let at = |v: &RawView, place: usize| RawView {
            ptr: v.ptr.wrapping_offset(place as isize * v.strides[last]),
            ..v.clone()
        };
        gpu_copy::cast(device, &at(&sorted, k), &at(&out, i), &lanes)?;
    }
    Ok(())
}
