//! Small fused kernels that library operations on CUDA devices need before and after: copies between layouts and types.

use numloom_cuda::{CudaError, Device, FusedLaunch, Operand};
use numloom_ir::kernel::{Instr, Kernel, NO_REG};
use numloom_ir::{Dims, Strides, Value};
use numloom_library::RawView;

/// Puts a kernel over operands, by their addresses and strides, into the device's stream. The arrays are held on this
/// device.
pub fn launch(
    device: &Device,
    kernel: &Kernel,
    domain: &Dims,
    operands: &[(u64, &Strides)],
    params: &[Value],
) -> Result<(), CudaError> {
    let operands: Vec<Operand> = operands.iter().map(|&(ptr, strides)| Operand { ptr, strides }).collect();
    let reduced = vec![false; domain.len()];
    let launch = FusedLaunch { kernel, domain, operands: &operands, params, reduced: &reduced, outputs: &[] };
    // SAFETY: the callers' arrays are held on this device, and their rooms have the sizes of their views.
    unsafe { device.run(&launch) }
}

/// Copies what lies within `domain` of both arrays, as the type of the second. They are apart.
pub fn cast(device: &Device, from: &RawView, to: &RawView, domain: &Dims) -> Result<(), CudaError> {
    let mut kernel = Kernel { regs: vec![from.dtype], operands: vec![from.dtype, to.dtype], ..Kernel::default() };
    kernel.instrs.push(Instr::Load { dst: 0, operand: 0 });
    let mut src = 0;
    if from.dtype != to.dtype {
        src = kernel.new_reg(to.dtype);
        kernel.instrs.push(Instr::Cast { dst: src, src: 0 });
    }
    kernel.instrs.push(Instr::Store { operand: 1, src, mask: NO_REG });
    launch(device, &kernel, domain, &[(from.ptr as u64, &from.strides), (to.ptr as u64, &to.strides)], &[])
}
