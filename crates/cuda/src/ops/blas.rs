//! Matrix products by cuBLAS, in row-major order.

use crate::CudaError;
use crate::device::{Device, Lane};
use crate::load::{Kind, table};
use numloom_ir::DType;
use std::ffi::c_void;

type Handle = *mut c_void;

macro_rules! blas {
    ($($name:ident $symbol:literal $batched:ident $batched_symbol:literal;)*) => {
        table! {
            /// `libcublas`.
            Cublas {
                create "cublasCreate_v2" (*mut Handle);
                destroy "cublasDestroy_v2" (Handle);
                set_stream "cublasSetStream_v2" (Handle, *mut c_void);
                set_math "cublasSetMathMode" (Handle, i32);
                $($name $symbol (Handle, i32, i32, i32, i32, i32, *const c_void, *const c_void, i32, *const c_void, i32, *const c_void, *mut c_void, i32);)*
                $($batched $batched_symbol (Handle, i32, i32, i32, i32, i32, *const c_void, *const c_void, i32, i64, *const c_void, i32, i64, *const c_void, *mut c_void, i32, i64, i32);)*
            } optional {
            }
        }
    };
}

blas! {
    sgemm "cublasSgemm_v2" sgemm_batched "cublasSgemmStridedBatched";
    dgemm "cublasDgemm_v2" dgemm_batched "cublasDgemmStridedBatched";
    cgemm "cublasCgemm_v2" cgemm_batched "cublasCgemmStridedBatched";
    zgemm "cublasZgemm_v2" zgemm_batched "cublasZgemmStridedBatched";
}

/// A handle of cuBLAS on a device's compute stream. One thread at a time.
pub struct Blas<'d> {
    device: &'d Device,
    table: Cublas,
    handle: Handle,
}

/// A matrix as cuBLAS can read it: one axis dense, the other `leading` elements apart.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    pub ptr: u64,
    /// The rows lie apart and columns are dense (`false`), or the other way round (`true`).
    pub transposed: bool,
    pub leading: usize,
    /// Elements from one matrix of a batch to the next.
    pub batch_stride: i64,
}

/// `c = a @ b`: `c` is `m` by `n` and not transposed, `a` is `m` by `k`.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub dtype: DType,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub batch: usize,
    pub a: Matrix,
    pub b: Matrix,
    pub c: Matrix,
}

impl<'d> Blas<'d> {
    /// `tf32`: whether float32 products may be rounded to TF32's eleven bits on the way.
    pub fn open(device: &'d Device, tf32: bool) -> Result<Blas<'d>, CudaError> {
        let table = Cublas::load(&device.search().open(Kind::Cublas)?, "cuBLAS")?;
        device.enter();
        let mut blas = Blas { device, table, handle: std::ptr::null_mut() };
        const DEFAULT_MATH: i32 = 0;
        const TF32_MATH: i32 = 3;
        // SAFETY: the handle is ours; the stream lives as long as the device.
        unsafe {
            check("cublasCreate", (blas.table.create)(&mut blas.handle))?;
            check("cublasSetStream", (blas.table.set_stream)(blas.handle, device.stream(Lane::Compute)))?;
            let mode = if tf32 { TF32_MATH } else { DEFAULT_MATH };
            check("cublasSetMathMode", (blas.table.set_math)(blas.handle, mode))?;
        }
        Ok(blas)
    }

    /// Enqueues the product.
    ///
    /// # Safety
    /// The matrices are memory of the device, and `c` overlaps neither factor.
    pub unsafe fn product(&self, p: &Product) -> Result<(), CudaError> {
        if p.m == 0 || p.n == 0 || p.batch == 0 {
            return Ok(());
        }
        self.device.enter();
        let small = |n: usize| {
            i32::try_from(n).map_err(|_| CudaError::Launch(format!("cuBLAS cannot take an extent of {n} elements")))
        };
        let (m, n, k) = (small(p.m)?, small(p.n)?, small(p.k)?);
        let (one, zero) = ([1f64.to_bits(), 0], [0u64; 2]);
        let one_f32 = [1f32.to_bits(), 0];
        let alpha: *const c_void = match p.dtype {
            DType::F32 | DType::C64 => one_f32.as_ptr().cast(),
            _ => one.as_ptr().cast(),
        };
        let beta: *const c_void = zero.as_ptr().cast();
        // cuBLAS is column-major: the transposed product c' = b' a' is what lies in row-major memory.
        let (opa, opb) = (p.b.transposed as i32, p.a.transposed as i32);
        let (lda, ldb, ldc) = (small(p.b.leading)?, small(p.a.leading)?, small(p.c.leading)?);
        let (a, b, c) = (p.b.ptr as *const c_void, p.a.ptr as *const c_void, p.c.ptr as *mut c_void);
        let t = &self.table;
        let code = if p.batch == 1 {
            let gemm = match p.dtype {
                DType::F32 => t.sgemm,
                DType::F64 => t.dgemm,
                DType::C64 => t.cgemm,
                DType::C128 => t.zgemm,
                d => return Err(CudaError::Launch(format!("cuBLAS has no product of {d}"))),
            };
            gemm(self.handle, opa, opb, n, m, k, alpha, a, lda, b, ldb, beta, c, ldc)
        } else {
            let gemm = match p.dtype {
                DType::F32 => t.sgemm_batched,
                DType::F64 => t.dgemm_batched,
                DType::C64 => t.cgemm_batched,
                DType::C128 => t.zgemm_batched,
                d => return Err(CudaError::Launch(format!("cuBLAS has no product of {d}"))),
            };
            let (sa, sb, sc) = (p.b.batch_stride, p.a.batch_stride, p.c.batch_stride);
            let batch = small(p.batch)?;
            gemm(self.handle, opa, opb, n, m, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch)
        };
        check("cublasGemm", code)
    }
}

impl Drop for Blas<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            self.device.enter();
            // SAFETY: destroyed once.
            unsafe { (self.table.destroy)(self.handle) };
        }
    }
}

fn check(call: &'static str, code: i32) -> Result<(), CudaError> {
    let why = match code {
        0 => return Ok(()),
        1 => "cuBLAS was not initialised",
        3 => "cuBLAS has no memory for its workspace",
        7 => "a parameter is wrong",
        8 => "the GPU lacks what the product needs",
        13 => "the GPU failed",
        _ => "cuBLAS failed",
    };
    Err(CudaError::Driver { call, why: format!("{why} (error {code})") })
}
