//! Factorisations on CUDA devices, one matrix after another: copied into dense columns of double precision, which is what
//! NumPy computes in, factored by cuSOLVER, and copied to where the results belong.

use crate::error::{ErrorKind, ExecError};
use crate::gpu::failure;
use crate::operation::Operation;
use numloom_cuda::ops::blas::Triangle;
use numloom_cuda::ops::dense::{Dense, Move, NOT_A_NUMBER, Part, identity};
use numloom_cuda::ops::solver::{Factor, LARGEST};
use numloom_cuda::ops::{Room, Step};
use numloom_cuda::{CudaError, Device, Lane, Place, Rows};
use numloom_ir::{DType, View};
use numloom_library::{Args, RawView};
use std::borrow::Cow;

type Result<T> = std::result::Result<T, Failure>;

enum Failure {
    Cuda(CudaError),
    /// A matrix without a result, in NumPy's words.
    LinAlg(Cow<'static, str>),
}

impl From<CudaError> for Failure {
    fn from(e: CudaError) -> Failure {
        Failure::Cuda(e)
    }
}

/// One call for one matrix: the operands without their batch axes.
struct Call<'a> {
    device: &'a Device,
    ins: Vec<Dense>,
    outs: Vec<Dense>,
    option: bool,
    /// What it is computed in.
    dtype: DType,
    /// Two integers: what was seen of the numbers read, and what cuSOLVER has to say.
    told: Room<'a>,
}

type Way = fn(&Call<'_>) -> Result<()>;

/// The rows of `numloom_linalg::ROWS` that have a way on GPUs.
const WAYS: &[(&str, Way)] = &[
    ("cholesky", cholesky),
    ("solve", solve),
    ("inv", inv),
    ("det", det),
    ("slogdet", slogdet),
    ("qr", qr),
    ("qr_r", qr),
    ("svd", svd),
    ("svdvals", svd),
    ("eigh", eigh),
    ("eigvalsh", eigh),
    ("solve_triangular", |call| triangular(call, false)),
    ("solve_unit_triangular", |call| triangular(call, true)),
];

/// Matrices of fewer rows or columns are factored on the CPU while they would be on their way to a GPU and started there.
const LEAST: usize = 128;

/// Whether GPUs can do a factorisation of arrays like these.
pub fn can_do(name: &str, cores: &[usize], ins: &[View]) -> bool {
    let known = WAYS.iter().any(|(n, _)| *n == name);
    let fits = |(v, &core): (&View, &usize)| {
        let matrix = v.shape.get(v.ndim().wrapping_sub(core)..).unwrap_or(&[]);
        matches!(v.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128)
            && v.size() > 0
            && matrix.iter().all(|&n| n < LARGEST)
    };
    let large = ins.first().is_some_and(|a| a.ndim() >= 2 && a.shape[a.ndim() - 2..].iter().all(|&n| n >= LEAST));
    known && large && ins.iter().zip(cores).all(fits)
}

/// Puts a factorisation into the device's stream and looks at what comes of it.
pub fn enqueue(
    device: &Device,
    op: &Operation,
    args: &Args,
    name: &str,
    cores: (&[usize], &[usize]),
    option: bool,
) -> std::result::Result<(), ExecError> {
    let raise = |e: Failure| match e {
        Failure::Cuda(e) => failure(e, op.name(), op.at),
        Failure::LinAlg(words) => ExecError::new(ErrorKind::LinAlg, words.into_owned(), op.name(), op.at),
    };
    let refused = || raise(CudaError::Launch("the factorisation has no way on a GPU".into()).into());
    let way = WAYS.iter().find(|(n, _)| *n == name).ok_or_else(refused)?.1;
    let first = &args.ins[0];
    let batch: usize = first.shape[..first.shape.len() - cores.0[0]].iter().product();
    let all = |views: &[RawView], cores: &[usize], i: usize| -> Vec<Dense> {
        views.iter().zip(cores).map(|(v, &core)| matrix(v, core, i)).collect()
    };
    let dtype = if first.dtype.is_complex() { DType::C128 } else { DType::F64 };
    let one = |i: usize| {
        let told = device.room(16)?;
        // SAFETY: the integers are ours.
        unsafe { device.fill(Lane::Compute, told.ptr(), 0, 16)? };
        let (ins, outs) = (all(&args.ins, cores.0, i), all(&args.outs, cores.1, i));
        way(&Call { device, ins, outs, option, dtype, told })
    };
    (0..batch).try_for_each(one).map_err(raise)
}

/// The `i`-th matrix of a view whose last `core` axes make one; a vector is a column.
fn matrix(v: &RawView, core: usize, mut i: usize) -> Dense {
    let outer = v.shape.len() - core;
    let mut ptr = v.ptr as u64;
    for axis in (0..outer).rev() {
        ptr = ptr.wrapping_add(((i % v.shape[axis]) as isize * v.strides[axis]) as u64);
        i /= v.shape[axis];
    }
    let axis = |k: usize| if k < core { (v.shape[outer + k], v.strides[outer + k]) } else { (1, 0) };
    let ((rows, row_step), (columns, column_step)) = (axis(0), axis(1));
    Dense { ptr, dtype: v.dtype, rows, columns, row_step, column_step }
}

impl<'a> Call<'a> {
    fn seen(&self) -> u64 {
        self.told.ptr()
    }

    fn run(&self, steps: Option<smallvec::SmallVec<[Step; 4]>>) -> Result<()> {
        let refused = || CudaError::Launch("matrices that do not fit".into());
        // SAFETY: the arrays are held on this device, and rooms have the sizes their matrices need.
        Ok(unsafe { self.device.run_steps(&steps.ok_or_else(refused)?) }?)
    }

    fn room(&self, bytes: usize) -> Result<Room<'a>> {
        Ok(self.device.room(bytes)?)
    }

    /// Room for dense columns of the type it is computed in.
    fn columns(&self, rows: usize, columns: usize) -> Result<(Room<'a>, Dense)> {
        let room = self.room(rows * columns * self.dtype.size())?;
        let made = Dense::in_columns(room.ptr(), self.dtype, rows, columns);
        Ok((room, made))
    }

    /// The first input in dense columns.
    fn copied(&self, from: Dense, part: Part, conjugate: bool) -> Result<(Room<'a>, Dense)> {
        let (room, to) = self.columns(from.rows, from.columns)?;
        self.run(Move { from, to, part, conjugate, seen: self.seen() }.steps())?;
        Ok((room, to))
    }

    fn write(&self, from: Dense, to: Dense) -> Result<()> {
        self.run(Move::whole(from, to).steps())
    }

    /// Numbers of double precision, one below the other.
    fn write_run(&self, values: u64, to: Dense) -> Result<()> {
        self.write(Dense::in_columns(values, DType::F64, to.rows, 1), to)
    }

    fn factor(&self, factor: Factor) -> Result<f64> {
        // SAFETY: as for `run`; what is told of it has its place beside what is seen.
        Ok(unsafe { self.device.factor(&factor, self.told.ptr() + 8) }?)
    }

    /// What cuSOLVER says of the matrix: positive for one without a result.
    fn info(&self) -> Result<i32> {
        // SAFETY: an integer of ours.
        Ok(unsafe { self.device.read(self.told.ptr() + 8) }? as i32)
    }

    /// The worst of the numbers that were copied.
    fn oddness(&self) -> Result<u64> {
        // SAFETY: as above.
        Ok(unsafe { self.device.read(self.seen()) }?)
    }

    /// The diagonal of a matrix in dense columns, as pairs of real and imaginary parts.
    fn diagonal(&self, a: Dense) -> Result<Vec<(f64, f64)>> {
        let (n, size) = (a.rows, self.dtype.size());
        let parts = size / 8;
        let mut numbers = vec![0f64; n * parts];
        let diagonal = Rows { width: size, height: n, from_pitch: (n + 1) * size, to_pitch: size };
        let to = Place::Host(numbers.as_mut_ptr().cast());
        // SAFETY: there is room for what is copied, and it is looked at once it is there.
        unsafe {
            self.device.copy_rows(Lane::Compute, to, Place::Device(a.ptr), diagonal)?;
            self.device.wait_for_lane(Lane::Compute)?;
        }
        let pair = |z: &[f64]| (z[0], z.get(1).copied().unwrap_or(0.0));
        Ok(numbers.chunks(parts).map(pair).collect())
    }

    /// The factors of the first input and their pivots.
    fn lu(&self) -> Result<(Room<'a>, Dense, Room<'a>)> {
        let (held, a) = self.copied(self.ins[0], Part::All, false)?;
        let pivots = self.room(a.rows * 8)?;
        self.factor(Factor::Lu { a, pivots: pivots.ptr() })?;
        Ok((held, a, pivots))
    }
}

fn cholesky(call: &Call<'_>) -> Result<()> {
    let upper = call.option;
    let part = if upper { Part::Upper } else { Part::Lower };
    let (_held, a) = call.copied(call.ins[0], part, false)?;
    call.factor(Factor::Cholesky { a, upper })?;
    if call.info()? != 0 || call.oddness()? == NOT_A_NUMBER {
        return Err(Failure::LinAlg(Cow::Borrowed("Matrix is not positive definite")));
    }
    call.write(a, call.outs[0])
}

fn solve(call: &Call<'_>) -> Result<()> {
    let (_held, a, pivots) = call.lu()?;
    if call.info()? > 0 {
        return Err(Failure::LinAlg(Cow::Borrowed("Singular matrix")));
    }
    let (_right, b) = call.copied(call.ins[1], Part::All, false)?;
    call.factor(Factor::LuSolve { a, pivots: pivots.ptr(), b })?;
    call.write(b, call.outs[0])
}

/// With the option, of the lower triangle.
fn triangular(call: &Call<'_>, unit: bool) -> Result<()> {
    let lower = call.option;
    let (_held, a) = call.copied(call.ins[0], if lower { Part::Lower } else { Part::Upper }, false)?;
    if !unit && let Some(i) = call.diagonal(a)?.iter().position(|&z| z == (0.0, 0.0)) {
        return Err(Failure::LinAlg(Cow::Owned(format!("singular matrix: resolution failed at diagonal {i}"))));
    }
    let (_right, b) = call.copied(call.ins[1], Part::All, false)?;
    let solved = Triangle { dtype: call.dtype, lower, unit, n: a.rows, right: b.columns, a: a.ptr, b: b.ptr };
    // SAFETY: both are dense columns in rooms of this size.
    unsafe { call.device.solve_triangle(&solved)? };
    call.write(b, call.outs[0])
}

/// With the option, a matrix without an inverse gives NaNs.
fn inv(call: &Call<'_>) -> Result<()> {
    let (_held, a, pivots) = call.lu()?;
    let (_made, b) = call.columns(a.rows, a.rows)?;
    if call.info()? > 0 {
        if !call.option {
            return Err(Failure::LinAlg(Cow::Borrowed("Singular matrix")));
        }
        // SAFETY: the room has this size; all bits set are not a number.
        unsafe { call.device.fill(Lane::Compute, b.ptr, 0xff, b.bytes())? };
        return call.write(b, call.outs[0]);
    }
    call.run(identity(b))?;
    call.factor(Factor::LuSolve { a, pivots: pivots.ptr(), b })?;
    call.write(b, call.outs[0])
}

/// Whether rows were exchanged an odd number of times, and the pivots, as pairs of real and imaginary parts.
fn pivots(call: &Call<'_>) -> Result<(bool, Vec<(f64, f64)>)> {
    let (_held, a, places) = call.lu()?;
    let mut exchanged = vec![0i64; a.rows];
    // SAFETY: there is room for what is copied; the diagonal is waited for after it.
    unsafe { call.device.download(Lane::Compute, exchanged.as_mut_ptr().cast(), places.ptr(), a.rows * 8)? };
    let diagonal = call.diagonal(a)?;
    let odd = exchanged.iter().enumerate().filter(|(i, to)| *i as i64 + 1 != **to).count() % 2 == 1;
    Ok((odd, diagonal))
}

fn times((a, b): (f64, f64), (c, d): (f64, f64)) -> (f64, f64) {
    (a * c - b * d, a * d + b * c)
}

/// Writes one number into an output.
fn write_number(call: &Call<'_>, number: (f64, f64), to: Dense) -> Result<()> {
    let (bytes, dtype) = ([number.0.to_le_bytes(), number.1.to_le_bytes()].concat(), to.dtype);
    let wide = if dtype.is_complex() { DType::C128 } else { DType::F64 };
    let room = call.room(16)?;
    // SAFETY: sixteen bytes at both ends, which are waited for.
    unsafe {
        call.device.upload(Lane::Compute, room.ptr(), bytes.as_ptr(), 16)?;
        call.device.wait_for_lane(Lane::Compute)?;
    }
    call.write(Dense::in_columns(room.ptr(), wide, 1, 1), to)
}

fn det(call: &Call<'_>) -> Result<()> {
    let (odd, pivots) = pivots(call)?;
    let start = (if odd { -1.0 } else { 1.0 }, 0.0);
    let product = if pivots.contains(&(0.0, 0.0)) { (0.0, 0.0) } else { pivots.into_iter().fold(start, times) };
    write_number(call, product, call.outs[0])
}

/// The sign (for complex matrices a number of size one), and the logarithm of the size.
fn slogdet(call: &Call<'_>) -> Result<()> {
    let (odd, pivots) = pivots(call)?;
    let start = ((if odd { -1.0 } else { 1.0 }, 0.0), 0.0);
    let fold = |(sign, log): ((f64, f64), f64), (re, im): (f64, f64)| {
        let size = re.hypot(im);
        (times(sign, (re / size, im / size)), log + size.ln())
    };
    let singular = pivots.contains(&(0.0, 0.0));
    let (sign, log) = if singular { ((0.0, 0.0), f64::NEG_INFINITY) } else { pivots.into_iter().fold(start, fold) };
    write_number(call, sign, call.outs[0])?;
    write_number(call, (log, 0.0), call.outs[1])
}

/// Q with as many columns as its view has, R with as many rows as its view; R alone where there is one output.
fn qr(call: &Call<'_>) -> Result<()> {
    let from = call.ins[0];
    let (q, r) = if call.outs.len() == 2 { (Some(call.outs[0]), call.outs[1]) } else { (None, call.outs[0]) };
    let wide = q.map_or(0, |q| q.columns).max(from.columns);
    let (_held, all) = call.columns(from.rows, wide)?;
    let a = Dense { columns: from.columns, ..all };
    call.run(Move::whole(from, a).steps())?;
    let reflections = from.rows.min(from.columns);
    let tau = call.room(reflections * call.dtype.size())?;
    call.factor(Factor::Qr { a, tau: tau.ptr() })?;
    let top = Dense { rows: r.rows, ..a };
    call.run(Move { part: Part::Upper, ..Move::whole(top, r) }.steps())?;
    if let Some(q) = q {
        let made = Dense { columns: q.columns, ..all };
        call.factor(Factor::Q { a: made, reflections, tau: tau.ptr() })?;
        call.write(made, q)?;
    }
    Ok(())
}

/// The vectors become those of the matrix, or with one output the values are all.
fn eigh(call: &Call<'_>) -> Result<()> {
    const NOT_CONVERGED: Failure = Failure::LinAlg(Cow::Borrowed("Eigenvalues did not converge"));
    let upper = call.option;
    // The other triangle is not looked at, whatever is there.
    let part = if upper { Part::Upper } else { Part::Lower };
    let (_held, a) = call.copied(call.ins[0], part, false)?;
    if call.oddness()? != 0 {
        return Err(NOT_CONVERGED);
    }
    let values = call.room(a.rows * 8)?;
    call.factor(Factor::Eigen { a, upper, vectors: call.outs.len() == 2, values: values.ptr() })?;
    if call.info()? != 0 {
        return Err(NOT_CONVERGED);
    }
    call.write_run(values.ptr(), call.outs[0])?;
    call.outs.get(1).map_or(Ok(()), |vectors| call.write(a, *vectors))
}

/// Factors the matrix or, if it is wide, its conjugate transpose: by the polar decomposition, which is ten times as fast as
/// the other way but has to shift the singular values of a matrix that is nearly singular.
fn svd(call: &Call<'_>) -> Result<()> {
    const NOT_CONVERGED: Failure = Failure::LinAlg(Cow::Borrowed("SVD did not converge"));
    let wide = call.ins[0].rows < call.ins[0].columns;
    let from = if wide { call.ins[0].turned() } else { call.ins[0] };
    let (m, n) = (from.rows, from.columns);
    let vectors = call.outs.len() == 3;
    let (_held, a) = call.copied(from, Part::All, wide)?;
    if call.oddness()? != 0 {
        return Err(NOT_CONVERGED);
    }
    let values = call.room(n * 8)?;
    // Of the tall matrix the left vectors are as many as the program asked for.
    let left = match (vectors, wide) {
        (false, _) => n,
        (true, false) => call.outs[0].columns,
        (true, true) => call.outs[2].rows,
    };
    // The polar way writes vectors even where none are asked for.
    let ((_u_held, u), (_v_held, v)) = (call.columns(m, left)?, call.columns(n, n)?);
    let shift = call.factor(Factor::Polar { a, values: values.ptr(), u, v })?;
    // SAFETY: the largest singular value.
    let largest = f64::from_bits(unsafe { call.device.read(values.ptr()) }?);
    let polar = call.info()? == 0 && shift <= largest * f64::EPSILON;
    if !polar {
        call.run(Move { conjugate: wide, ..Move::whole(from, a) }.steps())?;
        // SAFETY: an integer of ours.
        unsafe { call.device.fill(Lane::Compute, call.told.ptr() + 8, 0, 8)? };
        let nowhere = |x: Dense| if vectors { x } else { Dense { ptr: 0, ..x } };
        call.factor(Factor::Svd { a, values: values.ptr(), u: nowhere(u), vh: nowhere(v) })?;
        if call.info()? != 0 {
            return Err(NOT_CONVERGED);
        }
    }
    call.write_run(values.ptr(), call.outs[if vectors { 1 } else { 0 }])?;
    if !vectors {
        return Ok(());
    }
    // A tall matrix has these for its left and right vectors, the transpose of a wide one the other way round.
    let adjoint = |from: Dense, to: Dense| call.run(Move { conjugate: true, ..Move::whole(from.turned(), to) }.steps());
    match (wide, polar) {
        (false, true) => call.write(u, call.outs[0]).and_then(|()| adjoint(v, call.outs[2])),
        (false, false) => call.write(u, call.outs[0]).and_then(|()| call.write(v, call.outs[2])),
        (true, true) => call.write(v, call.outs[0]).and_then(|()| adjoint(u, call.outs[2])),
        (true, false) => adjoint(v, call.outs[0]).and_then(|()| adjoint(u, call.outs[2])),
    }
}
