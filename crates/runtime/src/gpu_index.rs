//! Elements read and written through index arrays on CUDA devices.

use crate::error::{ErrorKind, ExecError};
use crate::gpu::failure;
use crate::operation::Operation;
use numloom_cuda::ops::Step;
use numloom_cuda::ops::index::{self, Axis, Index, MOST_ARRAYS, MOST_AXES, Picked, REPEATED};
use numloom_cuda::{CudaError, Device, Lane};
use numloom_ir::{DType, View};
use numloom_library::{Args, Mode, RawView};
use smallvec::SmallVec;

type Result<T> = std::result::Result<T, ExecError>;

/// Whether elements of `array`, indexed along its first axes, can be moved to or from `values`. All are aligned. Errors
/// of empty axes are the CPU's to word.
pub fn can_do(array: &View, indices: &[View], values: &View) -> bool {
    let fits = indices.len() <= MOST_ARRAYS.min(array.ndim()) && values.ndim() <= MOST_AXES;
    let checked = indices.first().is_some_and(|i| i.size() == 0) || !array.shape.contains(&0);
    !indices.is_empty()
        && fits
        && checked
        && array.dtype == values.dtype
        && indices.iter().all(|i| i.dtype == DType::I64)
}

fn picked(array: &RawView, indices: &[RawView], values: &RawView, mode: Mode) -> Option<Picked> {
    let (count, nd) = (indices.len(), indices.first()?.shape.len());
    let of: SmallVec<[Index; 4]> = (indices.iter().enumerate())
        .map(|(k, i)| Index { ptr: i.ptr as u64, extent: array.shape[k], stride: array.strides[k] })
        .collect();
    let along = |a: usize| indices.iter().map(|i| i.strides[a]).collect();
    let positions = (0..nd).map(|a| Axis::new(values.shape[a], 0, values.strides[a], along(a))).collect();
    let still = || SmallVec::from_elem(0, count);
    let rest = (count..array.shape.len())
        .map(|a| Axis::new(array.shape[a], array.strides[a], values.strides[nd + a - count], still()))
        .collect();
    let mode = match mode {
        Mode::Raise => index::Mode::Raise,
        Mode::Wrap => index::Mode::Wrap,
        Mode::Clip => index::Mode::Clip,
    };
    Picked::new(array.dtype.size(), (array.ptr as u64, values.ptr as u64), &of, positions, rest, mode)
}

pub fn take(device: &Device, op: &Operation, args: &Args, axes: &[usize], mode: Mode) -> Result<()> {
    let (array, values) = (&args.ins[0], &args.outs[0]);
    if values.size() == 0 {
        return Ok(());
    }
    let call = Call { device, op, axes, mode, array };
    let mut picked = picked(array, &args.ins[1..], values, mode).ok_or_else(|| call.refused())?;
    call.looked_at(&mut picked, 0, |picked, _| [picked.take(), None]).map(|_| ())
}

pub fn put(device: &Device, op: &Operation, args: &Args, axes: &[usize], mode: Mode) -> Result<()> {
    let (array, Some((values, indices))) = (&args.outs[0], args.ins.split_last()) else { return Ok(()) };
    if values.size() == 0 {
        return Ok(());
    }
    let call = Call { device, op, axes, mode, array };
    let mut picked = picked(array, indices, values, mode).ok_or_else(|| call.refused())?;
    let scratch = picked.put_scratch();
    let steps = |steps: Option<[Step; 2]>| steps.map_or([None, None], |both| both.map(Some));
    if call.looked_at(&mut picked, scratch, |picked, at| steps(picked.put(at)))? {
        let scratch = picked.put_in_order_scratch();
        call.looked_at(&mut picked, scratch, |picked, at| steps(picked.put_in_order(at)))?;
    }
    Ok(())
}

struct Call<'a> {
    device: &'a Device,
    op: &'a Operation,
    axes: &'a [usize],
    mode: Mode,
    array: &'a RawView,
}

/// What a look at the indices has found.
enum Found {
    Nothing,
    Repeated,
    /// Of which index array, and the index.
    Wrong(usize, i64),
}

/// Room in front of scratch for what is told of wrong indices.
const BAD: usize = 256;

impl Call<'_> {
    fn refused(&self) -> ExecError {
        failure(CudaError::Launch("the index has no way on a GPU".into()), self.op.name(), self.op.at)
    }

    /// Runs a step that finds wrong indices, and the one that follows if there is none. True, with nothing written, if it
    /// has found that places are named more than once.
    fn looked_at(
        &self,
        picked: &mut Picked,
        scratch: usize,
        steps: impl FnOnce(&Picked, u64) -> [Option<Step>; 2],
    ) -> Result<bool> {
        let fail = |e: CudaError| failure(e, self.op.name(), self.op.at);
        let room = self.device.room(BAD + scratch).map_err(fail)?;
        picked.bad = room.ptr();
        let [looking, writing] = steps(picked, room.ptr() + BAD as u64);
        let tells = self.mode == Mode::Raise || writing.is_some();
        // SAFETY: the arrays are held on this device; the room has the size asked for.
        let found = unsafe {
            self.device.fill(Lane::Compute, room.ptr(), 0, BAD + scratch).and_then(|()| {
                self.device.run_steps(looking.as_slice())?;
                let found = if tells { self.device.read(room.ptr())? } else { 0 };
                match picked.wrong(found) {
                    _ if found == 0 => self.device.run_steps(writing.as_slice()).map(|()| Found::Nothing),
                    Some((k, at)) if found != REPEATED => self.device.read(at).map(|i| Found::Wrong(k, i as i64)),
                    _ => Ok(Found::Repeated),
                }
            })
        };
        let (k, index) = match found.map_err(fail)? {
            Found::Nothing => return Ok(false),
            Found::Repeated => return Ok(true),
            Found::Wrong(k, index) => (k, index),
        };
        let (axis, extent) = (self.axes[k], self.array.shape[k]);
        let message = format!("index {index} is out of bounds for axis {axis} with size {extent}");
        Err(ExecError::new(ErrorKind::Index, message, self.op.name(), self.op.at))
    }
}
