//! Matrix products by cuBLAS, in row-major order, and systems with a triangular matrix.

use super::large_product::LargeProducts;
use crate::CudaError;
use crate::device::{Device, Lane};
use crate::load::{Kind, table};
use numloom_ir::DType;
use std::ffi::c_void;

type Handle = *mut c_void;

macro_rules! blas {
    ($($gemm:ident $gemm_symbol:literal $batched:ident $batched_symbol:literal $gemv:ident $gemv_symbol:literal;)*) => {
        table! {
            /// `libcublas`.
            Cublas {
                create "cublasCreate_v2" (*mut Handle);
                destroy "cublasDestroy_v2" (Handle);
                set_stream "cublasSetStream_v2" (Handle, *mut c_void);
                set_math "cublasSetMathMode" (Handle, i32);
                dtrsm "cublasDtrsm_v2" (Handle, i32, i32, i32, i32, i32, i32, *const c_void, *const c_void, i32, *mut c_void, i32);
                ztrsm "cublasZtrsm_v2" (Handle, i32, i32, i32, i32, i32, i32, *const c_void, *const c_void, i32, *mut c_void, i32);
                $($gemm $gemm_symbol (Handle, i32, i32, i32, i32, i32, *const c_void, *const c_void, i32, *const c_void, i32, *const c_void, *mut c_void, i32);)*
                $($batched $batched_symbol (Handle, i32, i32, i32, i32, i32, *const c_void, *const c_void, i32, i64, *const c_void, i32, i64, *const c_void, *mut c_void, i32, i64, i32);)*
                $($gemv $gemv_symbol (Handle, i32, i32, i32, *const c_void, *const c_void, i32, *const c_void, i32, *const c_void, *mut c_void, i32);)*
            } optional {
            }
        }
    };
}

blas! {
    sgemm "cublasSgemm_v2" sgemm_batched "cublasSgemmStridedBatched" sgemv "cublasSgemv_v2";
    dgemm "cublasDgemm_v2" dgemm_batched "cublasDgemmStridedBatched" dgemv "cublasDgemv_v2";
    cgemm "cublasCgemm_v2" cgemm_batched "cublasCgemmStridedBatched" cgemv "cublasCgemv_v2";
    zgemm "cublasZgemm_v2" zgemm_batched "cublasZgemmStridedBatched" zgemv "cublasZgemv_v2";
}

/// A handle of cuBLAS on a device's compute stream, made with its first product.
pub(crate) struct Blas {
    table: Cublas,
    handle: Handle,
    large: Option<LargeProducts>,
}

// SAFETY: a handle may move between threads; the device's lock lets in one at a time.
unsafe impl Send for Blas {}

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
    /// Whether float32 products may be rounded to TF32's eleven bits on the way.
    pub tf32: bool,
}

/// `a x = b`, `x` to where `b` is: `a` has a triangle of `n` by `n`, `b` is `n` by `right`, both in dense columns of
/// double precision.
#[derive(Clone, Copy, Debug)]
pub struct Triangle {
    pub dtype: DType,
    pub lower: bool,
    /// The diagonal is taken to be ones.
    pub unit: bool,
    pub n: usize,
    pub right: usize,
    pub a: u64,
    pub b: u64,
}

/// A number of any of the types as cuBLAS reads it: it takes a complex one to lie at a multiple of its size.
#[repr(C, align(16))]
struct Factor([u64; 2]);

impl Factor {
    fn one(dtype: DType) -> Factor {
        match dtype {
            DType::F32 | DType::C64 => Factor([1f32.to_bits() as u64, 0]),
            _ => Factor([1f64.to_bits(), 0]),
        }
    }

    fn ptr(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

impl Blas {
    fn open(device: &Device) -> Result<Blas, CudaError> {
        let library = device.search().open_for(Kind::Cublas, device.properties().driver.0)?;
        let table = Cublas::load(&library, "cuBLAS")?;
        let mut blas = Blas { table, handle: std::ptr::null_mut(), large: LargeProducts::open(&library) };
        // SAFETY: the handle is ours; the stream lives as long as the device.
        unsafe {
            check("cublasCreate", (blas.table.create)(&mut blas.handle))?;
            check("cublasSetStream", (blas.table.set_stream)(blas.handle, device.stream(Lane::Compute)))?;
        }
        Ok(blas)
    }

    unsafe fn product(&mut self, device: &Device, p: &Product) -> Result<(), CudaError> {
        if let Some(large) = self.large.as_mut().filter(|_| LargeProducts::takes(p))
            && large.product(device, p)?
        {
            return Ok(());
        }
        const DEFAULT_MATH: i32 = 0;
        const TF32_MATH: i32 = 3;
        check("cublasSetMathMode", (self.table.set_math)(self.handle, if p.tf32 { TF32_MATH } else { DEFAULT_MATH }))?;
        let (one, zero) = (Factor::one(p.dtype), Factor([0; 2]));
        let (alpha, beta) = (one.ptr(), zero.ptr());
        if p.batch == 1 && p.k > 0 && (p.n == 1 || p.m == 1) {
            return self.by_vector(p, alpha, beta);
        }
        let (m, n, k) = (small(p.m)?, small(p.n)?, small(p.k)?);
        // cuBLAS is column-major: the transposed product c' = b' a' is what lies in row-major memory.
        let (opa, opb) = (p.b.transposed as i32, p.a.transposed as i32);
        let (lda, ldb, ldc) = (small(p.b.leading)?, small(p.a.leading)?, small(p.c.leading)?);
        let (a, b, c) = (p.b.ptr as *const c_void, p.a.ptr as *const c_void, p.c.ptr as *mut c_void);
        let t = &self.table;
        let code = if p.batch == 1 {
            let gemm = of_type(p.dtype, [t.sgemm, t.dgemm, t.cgemm, t.zgemm])?;
            gemm(self.handle, opa, opb, n, m, k, alpha, a, lda, b, ldb, beta, c, ldc)
        } else {
            let gemm = of_type(p.dtype, [t.sgemm_batched, t.dgemm_batched, t.cgemm_batched, t.zgemm_batched])?;
            let (sa, sb, sc) = (p.b.batch_stride, p.a.batch_stride, p.c.batch_stride);
            let batch = small(p.batch)?;
            gemm(self.handle, opa, opb, n, m, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch)
        };
        check("cublasGemm", code)
    }

    unsafe fn triangle(&self, s: &Triangle) -> Result<(), CudaError> {
        const LEFT: i32 = 0;
        const AS_IT_IS: i32 = 0;
        let one = Factor::one(s.dtype);
        let (n, right) = (small(s.n)?, small(s.right)?);
        let solve = match s.dtype {
            DType::F64 => self.table.dtrsm,
            DType::C128 => self.table.ztrsm,
            d => return Err(CudaError::Launch(format!("triangles of {d} are not solved"))),
        };
        let (a, b, alpha) = (s.a as *const c_void, s.b as *mut c_void, one.ptr());
        let (upper, unit) = (!s.lower as i32, s.unit as i32);
        check("cublasTrsm", solve(self.handle, LEFT, upper, AS_IT_IS, unit, n, right, alpha, a, n, b, n))
    }

    /// A matrix times a vector, or a vector times a matrix, at the speed of reading the matrix.
    unsafe fn by_vector(&self, p: &Product, alpha: *const c_void, beta: *const c_void) -> Result<(), CudaError> {
        let column = p.n == 1;
        let (matrix, vector) = if column { (&p.a, &p.b) } else { (&p.b, &p.a) };
        // Along its dense axis a vector's elements are side by side, along the other `leading` apart.
        let apart = if column != vector.transposed { vector.leading } else { 1 };
        let out_apart = if column { p.c.leading } else { 1 };
        let (rows, columns) = if column { (p.m, p.k) } else { (p.k, p.n) };
        // As cuBLAS sees it, column by column, a row-major matrix is transposed.
        let (high, across) = if matrix.transposed { (rows, columns) } else { (columns, rows) };
        let transposed = (column != matrix.transposed) as i32;
        let t = &self.table;
        let gemv = of_type(p.dtype, [t.sgemv, t.dgemv, t.cgemv, t.zgemv])?;
        let code = gemv(
            self.handle,
            transposed,
            small(high)?,
            small(across)?,
            alpha,
            matrix.ptr as *const c_void,
            small(matrix.leading)?,
            vector.ptr as *const c_void,
            small(apart)?,
            beta,
            p.c.ptr as *mut c_void,
            small(out_apart)?,
        );
        check("cublasGemv", code)
    }

    /// Before the device's streams go.
    pub fn close(self) {
        // SAFETY: destroyed once.
        unsafe { (self.table.destroy)(self.handle) };
        if let Some(large) = self.large {
            large.close();
        }
    }
}

impl Device {
    /// Enqueues a product on the compute stream.
    ///
    /// # Safety
    /// The matrices are memory of the device, and `c` overlaps neither factor.
    pub unsafe fn product(&self, p: &Product) -> Result<(), CudaError> {
        if p.m == 0 || p.n == 0 || p.batch == 0 {
            return Ok(());
        }
        self.with_blas(|blas| blas.product(self, p))
    }

    /// Enqueues the solution of a system on the compute stream.
    ///
    /// # Safety
    /// The matrices are memory of the device, of the sizes that are told.
    pub unsafe fn solve_triangle(&self, s: &Triangle) -> Result<(), CudaError> {
        self.with_blas(|blas| blas.triangle(s))
    }

    fn with_blas(&self, f: impl FnOnce(&mut Blas) -> Result<(), CudaError>) -> Result<(), CudaError> {
        self.enter();
        let mut blas = self.libraries.blas.lock().unwrap_or_else(|e| e.into_inner());
        if blas.is_none() {
            self.stretch_ends();
            *blas = Some(Blas::open(self)?);
        }
        self.giving(Lane::Compute)?;
        blas.as_mut().map_or(Ok(()), f)
    }
}

fn small(n: usize) -> Result<i32, CudaError> {
    i32::try_from(n).map_err(|_| CudaError::Launch(format!("cuBLAS cannot take an extent of {n} elements")))
}

fn of_type<F: Copy>(d: DType, functions: [F; 4]) -> Result<F, CudaError> {
    match d {
        DType::F32 => Ok(functions[0]),
        DType::F64 => Ok(functions[1]),
        DType::C64 => Ok(functions[2]),
        DType::C128 => Ok(functions[3]),
        d => Err(CudaError::Launch(format!("cuBLAS has no product of {d}"))),
    }
}

pub(super) fn check(call: &'static str, code: i32) -> Result<(), CudaError> {
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
