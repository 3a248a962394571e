//! Factorisations by cuSOLVER of matrices that lie column by column.

use super::dense::Dense;
use crate::CudaError;
use crate::device::{Device, Lane};
use crate::load::{Kind, table};
use numloom_ir::DType;
use std::ffi::c_void;
use std::ptr::null_mut;

type Handle = *mut c_void;
type Bytes = *mut usize;

table! {
    /// `libcusolver`. Where there is a function for all types (`X`), it is that one.
    Cusolver {
        create "cusolverDnCreate" (*mut Handle);
        destroy "cusolverDnDestroy" (Handle);
        set_stream "cusolverDnSetStream" (Handle, *mut c_void);
        create_params "cusolverDnCreateParams" (*mut Handle);
        destroy_params "cusolverDnDestroyParams" (Handle);
        lu_room "cusolverDnXgetrf_bufferSize" (Handle, Handle, i64, i64, i32, u64, i64, i32, Bytes, Bytes);
        lu "cusolverDnXgetrf" (Handle, Handle, i64, i64, i32, u64, i64, u64, i32, u64, usize, *mut u8, usize, u64);
        lu_solve "cusolverDnXgetrs" (Handle, Handle, i32, i64, i64, i32, u64, i64, u64, i32, u64, i64, u64);
        cholesky_room "cusolverDnXpotrf_bufferSize" (Handle, Handle, i32, i64, i32, u64, i64, i32, Bytes, Bytes);
        cholesky "cusolverDnXpotrf" (Handle, Handle, i32, i64, i32, u64, i64, i32, u64, usize, *mut u8, usize, u64);
        qr_room "cusolverDnXgeqrf_bufferSize" (Handle, Handle, i64, i64, i32, u64, i64, i32, u64, i32, Bytes, Bytes);
        qr "cusolverDnXgeqrf" (Handle, Handle, i64, i64, i32, u64, i64, i32, u64, i32, u64, usize, *mut u8, usize, u64);
        eigen_room "cusolverDnXsyevd_bufferSize" (Handle, Handle, i32, i32, i64, i32, u64, i64, i32, u64, i32, Bytes, Bytes);
        eigen "cusolverDnXsyevd" (Handle, Handle, i32, i32, i64, i32, u64, i64, i32, u64, i32, u64, usize, *mut u8, usize, u64);
        polar_room "cusolverDnXgesvdp_bufferSize" (Handle, Handle, i32, i32, i64, i64, i32, u64, i64, i32, u64, i32, u64, i64, i32, u64, i64, i32, Bytes, Bytes);
        polar "cusolverDnXgesvdp" (Handle, Handle, i32, i32, i64, i64, i32, u64, i64, i32, u64, i32, u64, i64, i32, u64, i64, i32, u64, usize, *mut u8, usize, u64, *mut f64);
        svd_room "cusolverDnXgesvd_bufferSize" (Handle, Handle, i8, i8, i64, i64, i32, u64, i64, i32, u64, i32, u64, i64, i32, u64, i64, i32, Bytes, Bytes);
        svd "cusolverDnXgesvd" (Handle, Handle, i8, i8, i64, i64, i32, u64, i64, i32, u64, i32, u64, i64, i32, u64, i64, i32, u64, usize, *mut u8, usize, u64);
        real_q_room "cusolverDnDorgqr_bufferSize" (Handle, i32, i32, i32, u64, i32, u64, *mut i32);
        real_q "cusolverDnDorgqr" (Handle, i32, i32, i32, u64, i32, u64, u64, i32, u64);
        complex_q_room "cusolverDnZungqr_bufferSize" (Handle, i32, i32, i32, u64, i32, u64, *mut i32);
        complex_q "cusolverDnZungqr" (Handle, i32, i32, i32, u64, i32, u64, u64, i32, u64);
    } optional {
    }
}

/// A handle of cuSOLVER on a device's compute stream, made with its first factorisation.
pub(crate) struct Solver {
    table: Cusolver,
    handle: Handle,
    params: Handle,
}

// SAFETY: handles may move between threads; the device's lock lets in one at a time.
unsafe impl Send for Solver {}

/// The bounds of what can be given to cuSOLVER.
pub const LARGEST: usize = i32::MAX as usize;

/// One factorisation. Matrices are columns of float64 or complex128, which is what NumPy computes in. `info` is one
/// 64-bit integer of the device, zero before: what cuSOLVER has to say of the matrix.
#[derive(Clone, Copy, Debug)]
pub enum Factor {
    /// `a` becomes its factors; as many 64-bit pivots as it has rows.
    Lu { a: Dense, pivots: u64 },
    /// `b` becomes the solution, from what `Lu` left.
    LuSolve { a: Dense, pivots: u64, b: Dense },
    /// One triangle becomes the factor; the other is left alone.
    Cholesky { a: Dense, upper: bool },
    /// R and the reflections; `tau` has as many elements as `a` has rows or columns.
    Qr { a: Dense, tau: u64 },
    /// The first columns of Q, in the place of so many reflections.
    Q { a: Dense, reflections: usize, tau: u64 },
    /// The eigenvalues of a Hermitian matrix, which becomes its vectors if they are wanted.
    Eigen { a: Dense, upper: bool, vectors: bool, values: u64 },
    /// Singular values and vectors of a matrix that has no fewer rows than columns, which is destroyed. A `u` as wide as
    /// high is the full one. Answers by how much singular values were shifted.
    Polar { a: Dense, values: u64, u: Dense, v: Dense },
    /// The same by another way, which is slow and shifts nothing; the conjugate transpose of `v`. Where both are null,
    /// the values are all.
    Svd { a: Dense, values: u64, u: Dense, vh: Dense },
}

fn code_of(d: DType) -> i32 {
    if d.is_complex() { 5 } else { 1 }
}

const REAL: i32 = 1;

impl Solver {
    fn open(device: &Device) -> Result<Solver, CudaError> {
        let opened = device.search().open_for(Kind::Cusolver, device.properties().driver.0)?;
        let table = Cusolver::load(&opened, "cuSOLVER")?;
        let mut solver = Solver { table, handle: null_mut(), params: null_mut() };
        // SAFETY: the handles are ours; the stream lives as long as the device.
        unsafe {
            check("cusolverDnCreate", (solver.table.create)(&mut solver.handle))?;
            check("cusolverDnSetStream", (solver.table.set_stream)(solver.handle, device.stream(Lane::Compute)))?;
            check("cusolverDnCreateParams", (solver.table.create_params)(&mut solver.params))?;
        }
        Ok(solver)
    }

    /// Before the device's streams go.
    pub fn close(self) {
        // SAFETY: destroyed once.
        unsafe {
            (self.table.destroy_params)(self.params);
            (self.table.destroy)(self.handle);
        }
    }

    /// Asks for room, gives it and runs: on the device it is freed in the stream's order, on the host once the stream
    /// has come past its use.
    unsafe fn with_room(
        device: &Device,
        call: &'static str,
        ask: impl FnOnce(Bytes, Bytes) -> i32,
        run: impl FnOnce(u64, usize, *mut u8, usize) -> i32,
    ) -> Result<(), CudaError> {
        let (mut there, mut here) = (0usize, 0usize);
        check(call, ask(&mut there, &mut here))?;
        let mut host = Vec::<u64>::new();
        let words = here.div_ceil(8);
        host.try_reserve_exact(words).map_err(|_| CudaError::Driver { call, why: format!("no {here} bytes") })?;
        host.resize(words, 0);
        let room = device.alloc(there.max(1))?;
        let done = check(call, run(room, there, host.as_mut_ptr().cast(), here));
        let waited = if here > 0 { device.wait_for_lane(Lane::Compute) } else { Ok(()) };
        done.and(waited).and(device.free(room))
    }

    unsafe fn run(&self, device: &Device, factor: &Factor, info: u64) -> Result<f64, CudaError> {
        let (t, h, p) = (&self.table, self.handle, self.params);
        let mut shift = 0.0;
        match *factor {
            Factor::Lu { a, pivots } => {
                let (m, n, c) = (a.rows as i64, a.columns as i64, code_of(a.dtype));
                let ask = |x, y| (t.lu_room)(h, p, m, n, c, a.ptr, m, c, x, y);
                let run =
                    |room, bytes, host, size| (t.lu)(h, p, m, n, c, a.ptr, m, pivots, c, room, bytes, host, size, info);
                Self::with_room(device, "cusolverDnXgetrf", ask, run)?;
            }
            Factor::LuSolve { a, pivots, b } => {
                let (n, right, c) = (a.rows as i64, b.columns as i64, code_of(a.dtype));
                const AS_IT_IS: i32 = 0;
                let code = (t.lu_solve)(h, p, AS_IT_IS, n, right, c, a.ptr, n, pivots, c, b.ptr, n, info);
                check("cusolverDnXgetrs", code)?;
            }
            Factor::Cholesky { a, upper } => {
                let (n, c, side) = (a.rows as i64, code_of(a.dtype), upper as i32);
                let ask = |x, y| (t.cholesky_room)(h, p, side, n, c, a.ptr, n, c, x, y);
                let run = |room, bytes, host, size| {
                    (t.cholesky)(h, p, side, n, c, a.ptr, n, c, room, bytes, host, size, info)
                };
                Self::with_room(device, "cusolverDnXpotrf", ask, run)?;
            }
            Factor::Qr { a, tau } => {
                let (m, n, c) = (a.rows as i64, a.columns as i64, code_of(a.dtype));
                let ask = |x, y| (t.qr_room)(h, p, m, n, c, a.ptr, m, c, tau, c, x, y);
                let run =
                    |room, bytes, host, size| (t.qr)(h, p, m, n, c, a.ptr, m, c, tau, c, room, bytes, host, size, info);
                Self::with_room(device, "cusolverDnXgeqrf", ask, run)?;
            }
            Factor::Q { a, reflections, tau } => self.form_q(device, a, reflections, tau, info)?,
            Factor::Eigen { a, upper, vectors, values } => {
                let (n, c, v, side) = (a.rows as i64, code_of(a.dtype), vectors as i32, upper as i32);
                let ask = |x, y| (t.eigen_room)(h, p, v, side, n, c, a.ptr, n, REAL, values, c, x, y);
                let run = |room, bytes, host, size| {
                    (t.eigen)(h, p, v, side, n, c, a.ptr, n, REAL, values, c, room, bytes, host, size, info)
                };
                Self::with_room(device, "cusolverDnXsyevd", ask, run)?;
            }
            Factor::Polar { a, values, u, v } => {
                let (m, n, c) = (a.rows as i64, a.columns as i64, code_of(a.dtype));
                const VECTORS: i32 = 1;
                let thin = (u.columns < a.rows) as i32;
                let ask = |x, y| {
                    (t.polar_room)(
                        h, p, VECTORS, thin, m, n, c, a.ptr, m, REAL, values, c, u.ptr, m, c, v.ptr, n, c, x, y,
                    )
                };
                let shift = &mut shift;
                let run = |room, bytes, host, size| {
                    (t.polar)(
                        h, p, VECTORS, thin, m, n, c, a.ptr, m, REAL, values, c, u.ptr, m, c, v.ptr, n, c, room, bytes,
                        host, size, info, shift,
                    )
                };
                Self::with_room(device, "cusolverDnXgesvdp", ask, run)?;
            }
            Factor::Svd { a, values, u, vh } => {
                let (m, n, c) = (a.rows as i64, a.columns as i64, code_of(a.dtype));
                let (left, right) = match u.ptr {
                    0 => (b'N' as i8, b'N' as i8),
                    _ if u.columns == a.rows => (b'A' as i8, b'A' as i8),
                    _ => (b'S' as i8, b'S' as i8),
                };
                let ask = |x, y| {
                    (t.svd_room)(h, p, left, right, m, n, c, a.ptr, m, REAL, values, c, u.ptr, m, c, vh.ptr, n, c, x, y)
                };
                let run = |room, bytes, host, size| {
                    (t.svd)(
                        h, p, left, right, m, n, c, a.ptr, m, REAL, values, c, u.ptr, m, c, vh.ptr, n, c, room, bytes,
                        host, size, info,
                    )
                };
                Self::with_room(device, "cusolverDnXgesvd", ask, run)?;
            }
        }
        Ok(shift)
    }

    unsafe fn form_q(
        &self,
        device: &Device,
        a: Dense,
        reflections: usize,
        tau: u64,
        info: u64,
    ) -> Result<(), CudaError> {
        let (t, h) = (&self.table, self.handle);
        let small =
            |n: usize| i32::try_from(n).map_err(|_| CudaError::Launch(format!("cuSOLVER cannot take {n} rows")));
        let (m, n, k) = (small(a.rows)?, small(a.columns)?, small(reflections)?);
        let (ask, run) = if a.dtype.is_complex() { (t.complex_q_room, t.complex_q) } else { (t.real_q_room, t.real_q) };
        let mut elements = 0;
        check("cusolverDnOrgqr", ask(h, m, n, k, a.ptr, m, tau, &mut elements))?;
        let room = device.alloc((elements.max(1) as usize) * a.dtype.size())?;
        let done = check("cusolverDnOrgqr", run(h, m, n, k, a.ptr, m, tau, room, elements, info));
        done.and(device.free(room))
    }
}

impl Device {
    /// Enqueues a factorisation on the compute stream; some wait for it.
    ///
    /// # Safety
    /// The matrices are memory of the device and overlap nowhere; `info` is an integer there.
    pub unsafe fn factor(&self, factor: &Factor, info: u64) -> Result<f64, CudaError> {
        self.enter();
        let mut solver = self.libraries.solver.lock().unwrap_or_else(|e| e.into_inner());
        if solver.is_none() {
            self.stretch_ends();
            *solver = Some(Solver::open(self)?);
        }
        self.giving(Lane::Compute)?;
        solver.as_ref().map_or(Ok(0.0), |s| s.run(self, factor, info))
    }
}

fn check(call: &'static str, code: i32) -> Result<(), CudaError> {
    let why = match code {
        0 => return Ok(()),
        1 => "cuSOLVER was not initialised",
        2 => "cuSOLVER has no memory for its workspace",
        3 => "a parameter is wrong",
        4 => "the GPU lacks what the factorisation needs",
        6 => "the GPU failed",
        _ => "cuSOLVER failed",
    };
    Err(CudaError::Driver { call, why: format!("{why} (error {code})") })
}
