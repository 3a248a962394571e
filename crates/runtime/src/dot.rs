//! Products of vectors and of a matrix with a vector on GPUs: a product and a sum like any other. Two vectors' is
//! recorded so and fuses with what is computed beside it; a matrix is read once, at the speed of the memory.

use crate::array::Array;
use crate::error::ExecError;
use crate::node::is_unsized;
use crate::operation::{Kind, Operation};
use crate::provenance::Provenance;
use crate::record::{self, MapOp, Operand};
use crate::reserved;
use numloom_cuda::{CudaError, Device, FusedLaunch, Operand as GpuOperand, Output};
use numloom_ir::kernel::{Instr, Kernel, NO_REG, Target};
use numloom_ir::view::Order;
use numloom_ir::{DType, Dims, ScalarOp, Strides};
use numloom_library::{Args, Form, LibraryOp, RawView};

/// The loop of an operation on two values of a type.
pub fn loop_of(op: ScalarOp, dtype: DType) -> Option<u8> {
    let is_it = |l: &numloom_ir::Loop| l.ins() == [dtype, dtype] && l.outs() == [dtype];
    op.loops().iter().position(is_it).map(|k| k as u8)
}

/// Types whose products and sums are NumPy's when they are taken one by one.
fn is_plain(dtype: DType) -> bool {
    !matches!(dtype, DType::Bool | DType::F16)
}

/// Records the product of two vectors as a product and a sum; `None` where it is something else, or no GPU's.
pub fn record(op: &dyn LibraryOp, ins: &[&Array], outs: &[&Array], at: Provenance) -> Option<Result<u8, ExecError>> {
    let ([a, b], [out]) = (ins, outs) else { return None };
    let dtype = out.view.dtype;
    if !reserved::are_gpus() || !matches!(op.form(), Form::MatMul) || out.view.size() != 1 || !is_plain(dtype) {
        return None;
    }
    let (multiply, add) = (loop_of(ScalarOp::Multiply, dtype)?, loop_of(ScalarOp::Add, dtype)?);
    let k = *a.view.shape.last()?;
    let vector = |a: &Array, axis: usize| {
        let mut view = a.view.clone();
        (view.shape, view.strides) = (Dims::from_slice(&[k]), Strides::from_slice(&[a.view.strides[axis]]));
        a.with_view(view)
    };
    let (x, y) = (vector(a, a.view.ndim() - 1), vector(b, b.view.ndim().checked_sub(2)?));
    let mut total = out.view.clone();
    (total.shape, total.strides) = (Dims::from_slice(&[1]), Strides::from_slice(&[0]));
    let recorded = || {
        let products = record::empty(dtype, &[k], Order::C, || at)?;
        let times = MapOp::Scalar { op: ScalarOp::Multiply, lp: multiply };
        record::map(times, &[Operand::Array(&x), Operand::Array(&y)], &[&products], None, || at)?;
        record::reduce(ScalarOp::Add, add, &products, &[0], &out.with_view(total), None, None, || at)
    };
    (k > 0).then(recorded)
}

/// Whether a product is one of a matrix and a vector that a fold does.
pub fn is_matvec(left: &[usize], out: &[usize], dtype: DType) -> bool {
    let (matrix, batch) = out.split_at_checked(out.len().saturating_sub(2)).map_or((out, out), |(b, m)| (m, b));
    // A sum of nothing is not the fold's to give.
    let depth = left.last().copied().unwrap_or(0);
    depth > 0 && matrix.contains(&1) && batch.iter().all(|&n| n == 1) && is_plain(dtype)
}

/// Elements of a matrix that is multiplied with a vector, for one of other operations: so many take as long.
pub const LIGHT: usize = 8;

/// How many elements a library operation counts as when it is decided whether it runs at once. A matrix that a vector is
/// multiplied with is read once, as fast as memory goes: a task of its own would take longer, for a small one always, for a
/// middling one where its result is waited for. Of an array that is indexed, what is chosen counts.
pub fn weight(op: &dyn LibraryOp, ins: &[&Array], outs: &[&Array], elements: usize) -> usize {
    let most = numloom_config::current().inline_size;
    if elements <= most {
        return elements;
    }
    match op.form() {
        Form::MatMul if is_matvec(&ins[0].view.shape, &outs[0].view.shape, outs[0].view.dtype) => elements / LIGHT,
        Form::Take { .. } => elements.saturating_sub(ins[0].view.size()),
        Form::Put { .. } => elements.saturating_sub(outs[0].view.size()),
        _ => elements,
    }
}

/// How many elements of an operation take as long as one of others.
pub fn lightness(op: &Operation) -> usize {
    let Kind::Library(product) = &op.kind else { return 1 };
    let (Some(left), Some(out)) = (op.reads().next(), op.outs.first()) else { return 1 };
    let light = matches!(product.form(), Form::MatMul)
        && !is_unsized(&left.view)
        && is_matvec(&left.view.shape, &out.view.shape, out.view.dtype);
    if light { LIGHT } else { 1 }
}

/// Puts the product of a matrix and a vector into the device's stream.
pub fn enqueue(device: &Device, args: &Args) -> Result<(), CudaError> {
    let refused = || CudaError::Launch("a product of types that have no loop".into());
    let (a, b, c) = (&args.ins[0], &args.ins[1], &args.outs[0]);
    let dtype = c.dtype;
    let multiply = loop_of(ScalarOp::Multiply, dtype).ok_or_else(refused)?;
    let add = loop_of(ScalarOp::Add, dtype).ok_or_else(refused)?;
    // Axes of the domain: that of the result, that of the sum.
    let steps = |v: &RawView, of_result: usize, of_sum: usize| -> [isize; 2] {
        let nd = v.shape.len();
        let step = |axis: usize| if v.shape[nd - 2 + axis] == 1 { 0 } else { v.strides[nd - 2 + axis] };
        [if of_result < 2 { step(of_result) } else { 0 }, if of_sum < 2 { step(of_sum) } else { 0 }]
    };
    const NONE: usize = 2;
    let (nd, depth) = (c.shape.len(), a.shape[a.shape.len() - 1]);
    let (rows, columns) = (c.shape[nd - 2], c.shape[nd - 1]);
    let tall = columns == 1;
    let (a_steps, b_steps, c_steps) = if tall {
        (steps(a, 0, 1), steps(b, NONE, 0), steps(c, 0, NONE))
    } else {
        (steps(a, NONE, 1), steps(b, 1, 0), steps(c, 1, NONE))
    };
    let load = |dst, operand| Instr::Load { dst, operand };
    let kernel = Kernel {
        regs: vec![dtype; 3],
        operands: vec![dtype; 2],
        params: Vec::new(),
        targets: vec![Target { op: ScalarOp::Add, lp: add }],
        instrs: vec![
            load(0, 0),
            load(1, 1),
            Instr::Apply { op: ScalarOp::Multiply, lp: multiply, dst: [2, NO_REG], src: [0, 1] },
            Instr::Reduce { target: 0, src: 2 },
        ],
    };
    let launch = FusedLaunch {
        kernel: &kernel,
        domain: &[if tall { rows } else { columns }, depth],
        operands: &[
            GpuOperand { ptr: a.ptr as u64, strides: &a_steps },
            GpuOperand { ptr: b.ptr as u64, strides: &b_steps },
        ],
        params: &[],
        reduced: &[false, true],
        outputs: &[Output { ptr: c.ptr as u64, dtype, strides: &c_steps, initial: None }],
    };
    // SAFETY: the arrays are held on this device, and the result is apart from the factors.
    unsafe { device.run(&launch) }
}
