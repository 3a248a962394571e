//! Fourier transforms on CUDA devices. Lanes that lie as cuFFT wants them are transformed where they are; others are
//! brought there, cut or filled up with zeros, and from there to where they belong.

use crate::dot::loop_of;
use crate::gpu_copy::{cast, launch};
use numloom_cuda::ops::Room;
use numloom_cuda::ops::fourier::{self, Lanes, Transform};
use numloom_cuda::{CudaError, Device, Lane};
use numloom_ir::kernel::{Instr, Kernel, NO_REG};
use numloom_ir::{DType, ScalarOp, Strides, Value, View};
use numloom_library::{Args, RawView, Spectrum};

type Result<T> = std::result::Result<T, CudaError>;

/// One transform, as the operation declares it.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub spectrum: Spectrum,
    pub axis: usize,
    pub n: usize,
    pub inverse: bool,
    pub scale: f64,
}

/// Whether GPUs can transform arrays like these.
pub fn can_do(wanted: &Wanted, x: &View, out: &View) -> bool {
    let known = |d: DType| d.is_inexact() && d != DType::F16;
    let axis = wanted.axis;
    // The strides of a launch's operands go over one axis more than the arrays have.
    let fits = x.ndim() == out.ndim() && axis < x.ndim() && x.ndim() < 8;
    let half = wanted.spectrum == Spectrum::RealToHalf;
    fits && known(x.dtype)
        && known(out.dtype)
        && x.size() > 0
        && out.size() > 0
        && out.dtype.is_complex() == (wanted.spectrum != Spectrum::HalfToReal)
        && !(half && x.dtype.is_complex())
        && (wanted.spectrum != Spectrum::HalfToReal || x.dtype.is_complex())
}

/// Puts a transform into the device's stream.
pub fn enqueue(device: &Device, wanted: &Wanted, args: &Args) -> Result<()> {
    let (x, out) = (&args.ins[0], &args.outs[0]);
    let &Wanted { spectrum, axis, n, inverse, scale } = wanted;
    let double = matches!(out.dtype, DType::F64 | DType::C128);
    let (real, complex) = if double { (DType::F64, DType::C128) } else { (DType::F32, DType::C64) };
    let bins = n / 2 + 1;
    let (from_type, points, kind) = match spectrum {
        Spectrum::Complex => (complex, n, fourier::Spectrum::Complex),
        Spectrum::RealToHalf => (real, n, fourier::Spectrum::RealToHalf),
        Spectrum::HalfToReal => (complex, bins, fourier::Spectrum::HalfToReal),
    };
    let lanes = out.shape.iter().product::<usize>() / out.shape[axis];
    let direct = lanes_of(out, axis, complex);
    let to = match direct {
        Some(lanes) => Buffer { room: None, view: out.clone(), lanes },
        None => Buffer::new(device, out, axis, out.shape[axis], out.dtype)?,
    };
    let as_it_is = if x.dtype == from_type && x.shape[axis] == points && spectrum != Spectrum::HalfToReal {
        lanes_of(x, axis, complex)
    } else {
        None
    };
    let from = match as_it_is {
        Some(lanes) => Buffer { room: None, view: x.clone(), lanes },
        None => {
            // Complex numbers can be transformed where they are brought to.
            let made = match spectrum {
                Spectrum::Complex => Buffer { room: None, view: to.view.clone(), lanes: to.lanes },
                _ => Buffer::new(device, x, axis, points, from_type)?,
            };
            bring(device, x, &made.view, axis)?;
            made
        }
    };
    if spectrum == Spectrum::HalfToReal {
        drop_imaginary(device, &from.view, axis, n, real)?;
    }
    let transform = Transform {
        spectrum: kind,
        double,
        inverse,
        n,
        lanes,
        from: from.view.ptr as u64,
        from_lanes: from.lanes,
        to: to.view.ptr as u64,
        to_lanes: to.lanes,
    };
    // SAFETY: the arrays are held on this device; rooms have the sizes of their views.
    unsafe { device.transform(&transform)? };
    if direct.is_some() && scale == 1.0 {
        return Ok(());
    }
    scaled(device, &to.view, out, scale)
}

/// Where lanes are transformed: an array of the program, or room of our own.
struct Buffer<'a> {
    #[expect(dead_code, reason = "keeps the memory until the work that uses it is enqueued")]
    room: Option<Room<'a>>,
    view: RawView,
    lanes: Lanes,
}

impl<'a> Buffer<'a> {
    /// Dense lanes one after another, for an array like this one but with so many points along the axis.
    fn new(device: &'a Device, like: &RawView, axis: usize, points: usize, dtype: DType) -> Result<Buffer<'a>> {
        let mut shape = like.shape.clone();
        shape[axis] = points;
        let size = dtype.size() as isize;
        let mut strides: Strides = like.strides.clone();
        let mut step = size * points as isize;
        for k in (0..shape.len()).rev().filter(|&k| k != axis) {
            strides[k] = step;
            step *= shape[k] as isize;
        }
        strides[axis] = size;
        let room = device.room(step as usize)?;
        let view = RawView { ptr: room.ptr() as *mut u8, dtype, shape, strides };
        Ok(Buffer { room: Some(room), view, lanes: Lanes { step: 1, apart: points } })
    }
}

/// How the lanes of a dense array lie, if they are evenly apart: along its first axis or its last.
fn lanes_of(v: &RawView, axis: usize, complex: DType) -> Option<Lanes> {
    let mut step = v.dtype.size() as isize;
    for k in (0..v.shape.len()).rev() {
        if v.shape[k] != 1 && v.strides[k] != step {
            return None;
        }
        step *= v.shape[k] as isize;
    }
    let (outer, inner): (usize, usize) = (v.shape[..axis].iter().product(), v.shape[axis + 1..].iter().product());
    let aligned = (v.ptr as usize).is_multiple_of(complex.size());
    match (outer, inner) {
        (_, 1) if aligned => Some(Lanes { step: 1, apart: v.shape[axis] }),
        (1, _) if aligned => Some(Lanes { step: inner, apart: 1 }),
        _ => None,
    }
}

/// Copies what there is of the points, as the type that is transformed, and zeros for the rest.
fn bring(device: &Device, from: &RawView, to: &RawView, axis: usize) -> Result<()> {
    let shared = from.shape[axis].min(to.shape[axis]);
    if shared < to.shape[axis] {
        // SAFETY: room of our own, or a dense result that nothing has been written to.
        unsafe { device.fill(Lane::Compute, to.ptr as u64, 0, to.shape.iter().product::<usize>() * to.dtype.size())? };
    }
    let mut domain = from.shape.clone();
    domain[axis] = shared;
    cast(device, from, to, &domain)
}

/// The spectrum of real numbers is real at zero and, for even lengths, at the far end.
fn drop_imaginary(device: &Device, half: &RawView, axis: usize, n: usize, real: DType) -> Result<()> {
    let kernel = Kernel {
        regs: vec![real],
        operands: vec![real],
        params: vec![real],
        targets: Vec::new(),
        instrs: vec![Instr::Param { dst: 0, param: 0 }, Instr::Store { operand: 0, src: 0, mask: NO_REG }],
    };
    let mut domain = half.shape.clone();
    domain[axis] = 1;
    let far = (n.is_multiple_of(2) && n > 1).then_some(n / 2);
    for bin in std::iter::once(0).chain(far) {
        let at = half.ptr as u64 + (bin as isize * half.strides[axis]) as u64 + real.size() as u64;
        launch(device, &kernel, &domain, &[(at, &half.strides)], &[Value::from_f64(real, 0.0)])?;
    }
    Ok(())
}

/// `to = from * scale`; both may be the same. Complex numbers are pairs of real ones.
fn scaled(device: &Device, from: &RawView, to: &RawView, scale: f64) -> Result<()> {
    let real = to.dtype.real();
    let (mut domain, mut steps) = (to.shape.clone(), [from.strides.clone(), to.strides.clone()]);
    if to.dtype.is_complex() {
        domain.push(2);
        steps.iter_mut().for_each(|s| s.push(real.size() as isize));
    }
    let refused = || CudaError::Launch("a product of types that have no loop".into());
    let lp = loop_of(ScalarOp::Multiply, real).ok_or_else(refused)?;
    let kernel = Kernel {
        regs: vec![real; 3],
        operands: vec![real; 2],
        params: vec![real],
        targets: Vec::new(),
        instrs: vec![
            Instr::Load { dst: 0, operand: 0 },
            Instr::Param { dst: 1, param: 0 },
            Instr::Apply { op: ScalarOp::Multiply, lp, dst: [2, NO_REG], src: [0, 1] },
            Instr::Store { operand: 1, src: 2, mask: NO_REG },
        ],
    };
    let operands = [(from.ptr as u64, &steps[0]), (to.ptr as u64, &steps[1])];
    launch(device, &kernel, &domain, &operands, &[Value::from_f64(real, scale)])
}
