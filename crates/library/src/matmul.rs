//! Matrix products. Large ones of floats and complex numbers are BLAS's, where there is one and the matrices lie as it
//! can read them; the others go through the `gemm` crate tile by tile. Products with a vector are in `matvec.rs`;
//! integers and bools have a kernel of their own.

use crate::element::{Complex32, Complex64, Element, Truth, read_run, write_run};
use crate::matvec;
use crate::scratch::{Buffer, Scratch};
use crate::vector::vectorized;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces};
use crate::{Args, Form, LibraryError, LibraryOp, RawView};
use numloom_blas::{Blas, Strided};
use numloom_ir::DType;
use numloom_loops::{FP_INVALID, fp_clear, fp_raise, fp_status};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// `c = a @ b`: a `(..., m, k)`, b `(..., k, n)`, c `(..., m, n)`, all of one dtype, with equal batch shapes
/// (stride 0 where broadcast). Vectors come as matrices with an extent of 1.
#[derive(Default)]
pub struct MatMul {
    /// The name in floating-point warnings, if there are to be any.
    heard_as: Option<&'static str>,
    partial: Scratch,
}

/// Rows and columns of a tile: wide enough for the packing to pay, small enough to balance workers.
const SIDE: usize = 384;
/// Multiplications of a tile of many small matrices, and of a product not worth cutting.
const TILE_WORK: usize = 1 << 20;
/// Summands of a tile when the result is too small to be cut.
const DEPTH: usize = 8192;
/// Sides of a result to which so many summands each come that a BLAS, which cuts the result, has little to cut.
const FLAT: usize = 100;
/// Multiplications of a product that is worth all threads of a BLAS.
const LARGE: usize = 1 << 24;
/// Products of at most this many multiplications do not repay the packing of a GEMM.
const TINY: usize = 512;
/// Nor do these, where there are many of them.
const FEW: usize = 2048;

/// A matrix in memory as a kernel reads it; steps are in elements.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<T> {
    pub ptr: *const T,
    pub row_step: isize,
    pub col_step: isize,
}

/// What a matrix product is computed in: its own type, except float16, which accumulates in float32.
pub(crate) trait Product: Element {
    /// Writes `rows x cols` results to `dst`.
    ///
    /// # Safety
    /// `a` is `rows x depth`, `b` is `depth x cols`, `dst` is writeable and apart from both.
    unsafe fn product(
        rows: usize,
        cols: usize,
        depth: usize,
        a: Matrix<Self>,
        b: Matrix<Self>,
        dst: Matrix<Self>,
    ) -> Result<(), LibraryError>;

    /// The same by a BLAS, with all its threads; whether it could be done.
    ///
    /// # Safety
    /// As for `product`.
    unsafe fn by_blas(_: &Blas, _: [usize; 3], _: Matrix<Self>, _: Matrix<Self>, _: Matrix<Self>) -> bool {
        false
    }
}

/// Runs a kernel that pads its operands with zeros: infinity times one of those is invalid, and nobody's. What is invalid
/// in the product itself leaves a NaN in it.
unsafe fn without_false_alarm<T: Element, R>(rows: usize, cols: usize, to: Matrix<T>, kernel: impl FnOnce() -> R) -> R {
    let heard = fp_status();
    fp_clear();
    let done = kernel();
    let raised = fp_status();
    let at = |i: usize, j: usize| to.ptr.offset(i as isize * to.row_step + j as isize * to.col_step).read_unaligned();
    if raised & FP_INVALID != 0 && !(0..rows).any(|i| (0..cols).any(|j| at(i, j).is_nan())) {
        fp_clear();
        fp_raise(raised & !FP_INVALID);
    }
    fp_raise(heard);
    done
}

macro_rules! gemm_products {
    ($($t:ty, $one:expr;)*) => {$(
        impl Product for $t {
            unsafe fn product(
                rows: usize, cols: usize, depth: usize, a: Matrix<Self>, b: Matrix<Self>, dst: Matrix<Self>,
            ) -> Result<(), LibraryError> {
                if rows * cols * depth <= TINY {
                    return direct_product(rows, cols, depth, a, b, dst);
                }
                without_false_alarm(rows, cols, dst, || gemm::gemm(
                    rows, cols, depth,
                    dst.ptr as *mut $t, dst.col_step, dst.row_step, false,
                    a.ptr, a.col_step, a.row_step,
                    b.ptr, b.col_step, b.row_step,
                    <$t>::ZERO, $one, false, false, false, gemm::Parallelism::None,
                ));
                Ok(())
            }

            unsafe fn by_blas(
                blas: &Blas, sides: [usize; 3], a: Matrix<Self>, b: Matrix<Self>, dst: Matrix<Self>,
            ) -> bool {
                let [a, b, dst] =
                    [a, b, dst].map(|x| Strided { ptr: x.ptr, row_step: x.row_step, col_step: x.col_step });
                let to = Matrix { ptr: dst.ptr, row_step: dst.row_step, col_step: dst.col_step };
                without_false_alarm(sides[0], sides[1], to, || numloom_blas::product(blas, sides, a, b, dst))
            }
        }
    )*};
}
macro_rules! own_products {
    ($($t:ty),*) => {$(
        impl Product for $t {
            unsafe fn product(
                rows: usize, cols: usize, depth: usize, a: Matrix<Self>, b: Matrix<Self>, dst: Matrix<Self>,
            ) -> Result<(), LibraryError> {
                if rows * cols * depth <= TINY {
                    direct_product(rows, cols, depth, a, b, dst)
                } else {
                    blocked_product(rows, cols, depth, a, b, dst)
                }
            }
        }
    )*};
}
gemm_products! { f32, 1.0; f64, 1.0; Complex32, Complex32::new(1.0, 0.0); Complex64, Complex64::new(1.0, 0.0); }
own_products!(Truth, i8, u8, i16, u16, i32, u32, i64, u64);

unsafe fn direct_product<T: Element>(
    rows: usize,
    cols: usize,
    depth: usize,
    a: Matrix<T>,
    b: Matrix<T>,
    dst: Matrix<T>,
) -> Result<(), LibraryError> {
    for i in 0..rows as isize {
        for j in 0..cols as isize {
            let mut sum = T::ZERO;
            for k in 0..depth as isize {
                let x = *a.ptr.offset(i * a.row_step + k * a.col_step);
                sum = sum.add(x.mul(*b.ptr.offset(k * b.row_step + j * b.col_step)));
            }
            *(dst.ptr as *mut T).offset(i * dst.row_step + j * dst.col_step) = sum;
        }
    }
    Ok(())
}

/// The first matrices of a batch, if all can be read and written where they are.
unsafe fn in_place<T: Product>(args: &Args, bases: [*mut u8; 3]) -> Option<[Matrix<T>; 3]> {
    let item = size_of::<T>() as isize;
    let views = [&args.ins[0], &args.ins[1], &args.outs[0]];
    let regular = |v: &RawView| v.dtype == T::DTYPE && v.strides.iter().all(|s| s % item == 0);
    let distinct = views[2].strides.iter().zip(&views[2].shape).all(|(&s, &n)| n == 1 || s != 0);
    let fits = distinct && views.iter().all(|v| regular(v)) && bases.iter().all(|p| p.cast::<T>().is_aligned());
    let matrix = |(v, p): (&RawView, *mut u8)| {
        let [rs, cs] = last_two(v);
        Matrix { ptr: p as *const T, row_step: rs / item, col_step: cs / item }
    };
    fits.then(|| [matrix((views[0], bases[0])), matrix((views[1], bases[1])), matrix((views[2], bases[2]))])
}

/// Products of matrices of a few elements, `steps` elements apart: what is known of one is known of all.
unsafe fn few<T: Element>(sides: [usize; 3], first: [Matrix<T>; 3], steps: [isize; 3], batches: Range<usize>) {
    match sides[2] {
        2 => few_deep::<T, 2>(sides, first, steps, batches),
        3 => few_deep::<T, 3>(sides, first, steps, batches),
        4 => few_deep::<T, 4>(sides, first, steps, batches),
        _ if first[1].col_step == 1 && first[2].col_step == 1 => vectorized(
            #[inline(always)]
            || few_wide(sides, first, steps, batches.clone()),
        ),
        _ => {
            for i in batches {
                let [a, b, c] = nth(&first, steps, i);
                let _ = direct_product(sides[0], sides[1], sides[2], a, b, c);
            }
        }
    }
}

/// Of rows that lie side by side some columns at once.
#[inline(always)]
unsafe fn few_wide<T: Element>([m, n, k]: [usize; 3], first: [Matrix<T>; 3], steps: [isize; 3], batches: Range<usize>) {
    const WIDE: usize = 8;
    for i in batches {
        let [a, b, c] = nth(&first, steps, i);
        for row in 0..m as isize {
            let (line, to) = (a.ptr.offset(row * a.row_step), (c.ptr as *mut T).offset(row * c.row_step));
            let mut col = 0;
            while col + WIDE <= n {
                let mut sums = [T::ZERO; WIDE];
                for depth in 0..k as isize {
                    let x = *line.offset(depth * a.col_step);
                    let others = b.ptr.offset(depth * b.row_step).add(col).cast::<[T; WIDE]>().read_unaligned();
                    for (sum, y) in sums.iter_mut().zip(others) {
                        *sum = sum.add(x.mul(y));
                    }
                }
                to.add(col).cast::<[T; WIDE]>().write_unaligned(sums);
                col += WIDE;
            }
            for col in col..n {
                let mut sum = T::ZERO;
                for depth in 0..k as isize {
                    let y = *b.ptr.offset(depth * b.row_step).add(col);
                    sum = sum.add((*line.offset(depth * a.col_step)).mul(y));
                }
                *to.add(col) = sum;
            }
        }
    }
}

unsafe fn few_deep<T: Element, const K: usize>(
    [m, n, _]: [usize; 3],
    first: [Matrix<T>; 3],
    steps: [isize; 3],
    batches: Range<usize>,
) {
    for i in batches {
        let [a, b, c] = nth(&first, steps, i);
        for col in 0..n as isize {
            let column: [T; K] = std::array::from_fn(|k| *b.ptr.offset(k as isize * b.row_step + col * b.col_step));
            for row in 0..m as isize {
                let line = a.ptr.offset(row * a.row_step);
                let mut sum = T::ZERO;
                for (k, &y) in column.iter().enumerate() {
                    sum = sum.add((*line.offset(k as isize * a.col_step)).mul(y));
                }
                *(c.ptr as *mut T).offset(row * c.row_step + col * c.col_step) = sum;
            }
        }
    }
}

fn nth<T: Copy>(first: &[Matrix<T>; 3], steps: [isize; 3], i: usize) -> [Matrix<T>; 3] {
    std::array::from_fn(|o| Matrix { ptr: first[o].ptr.wrapping_offset(i as isize * steps[o]), ..first[o] })
}

/// Columns that the own kernel sums up in one go, and rows that share a load of `b`.
const LANES: usize = 64;
const SHARED_ROWS: usize = 4;

/// Panels of `b` are packed dense; each is multiplied with a few rows of `a` at a time.
unsafe fn blocked_product<T: Element>(
    rows: usize,
    cols: usize,
    depth: usize,
    a: Matrix<T>,
    b: Matrix<T>,
    dst: Matrix<T>,
) -> Result<(), LibraryError> {
    const DEPTH_BLOCK: usize = 256;
    let buffer = Buffer::new::<T>(DEPTH_BLOCK * LANES)?;
    let panel = buffer.as_ptr::<T>();
    let out = |i: usize, j: usize| (dst.ptr as *mut T).offset(i as isize * dst.row_step + j as isize * dst.col_step);
    for j0 in (0..cols).step_by(LANES) {
        let width = LANES.min(cols - j0);
        for k0 in (0..depth).step_by(DEPTH_BLOCK) {
            let deep = DEPTH_BLOCK.min(depth - k0);
            for k in 0..deep {
                let row = b.ptr.offset((k0 + k) as isize * b.row_step + j0 as isize * b.col_step);
                for j in 0..LANES {
                    *panel.add(k * LANES + j) = if j < width { *row.offset(j as isize * b.col_step) } else { T::ZERO };
                }
            }
            for i0 in (0..rows).step_by(SHARED_ROWS) {
                let high = SHARED_ROWS.min(rows - i0);
                let a_rows: [*const T; SHARED_ROWS] = std::array::from_fn(|r| {
                    a.ptr.offset((i0 + r.min(high - 1)) as isize * a.row_step + k0 as isize * a.col_step)
                });
                let mut sums = [[T::ZERO; LANES]; SHARED_ROWS];
                vectorized(
                    #[inline(always)]
                    || {
                        for k in 0..deep {
                            let x = a_rows.map(|p| *p.offset(k as isize * a.col_step));
                            let row = &*(panel.add(k * LANES) as *const [T; LANES]);
                            for r in 0..SHARED_ROWS {
                                for j in 0..LANES {
                                    sums[r][j] = sums[r][j].add(x[r].mul(row[j]));
                                }
                            }
                        }
                    },
                );
                for r in 0..high {
                    for j in 0..width {
                        let to = out(i0 + r, j0 + j);
                        *to = if k0 == 0 { sums[r][j] } else { (*to).add(sums[r][j]) };
                    }
                }
            }
        }
    }
    Ok(())
}

/// The part of a matrix that a kernel can read: in place where the layout allows, else packed (and cast)
/// into `buffer`, which must outlive the answer.
pub(crate) unsafe fn fetch<T: Product>(
    view: &RawView,
    ptr: *const u8,
    rows: usize,
    cols: usize,
    buffer: &mut Option<Buffer>,
) -> Result<Matrix<T>, LibraryError> {
    let item = size_of::<T>() as isize;
    let [rs, cs] = last_two(view);
    let regular = ptr.cast::<T>().is_aligned() && rs % item == 0 && cs % item == 0;
    if view.dtype == T::DTYPE && regular {
        return Ok(Matrix { ptr: ptr as *const T, row_step: rs / item, col_step: cs / item });
    }
    let packed = buffer.insert(Buffer::new::<T>(rows * cols)?).as_ptr::<T>();
    for i in 0..rows {
        read_run(view.dtype, ptr.offset(i as isize * rs), cs, packed.add(i * cols), cols);
    }
    Ok(Matrix { ptr: packed, row_step: cols as isize, col_step: 1 })
}

fn last_two(view: &RawView) -> [isize; 2] {
    let n = view.strides.len();
    [view.strides[n - 2], view.strides[n - 1]]
}

/// How a call is cut.
struct Plan {
    m: usize,
    n: usize,
    k: usize,
    batch: usize,
    grid: Grid,
}

enum Grid {
    Nothing,
    /// Groups of whole products.
    Batches {
        tiles: usize,
    },
    /// Blocks of each product's rows and columns.
    Blocks {
        rows: usize,
        cols: usize,
    },
    /// Pieces of the sum; a second phase adds them up.
    Depth {
        parts: usize,
    },
    Vector(matvec::Plan),
    /// Each product at once, by a library that divides it itself.
    Blas(&'static Blas),
}

/// The BLAS for large products of these operands, if there is one that can read them all.
fn blas_for(args: &Args, m: usize, n: usize, k: usize) -> Option<&'static Blas> {
    let sides = [(m, k), (k, n), (m, n)];
    let readable = |(view, (rows, cols)): (&RawView, (usize, usize))| {
        let (item, steps) = (view.dtype.size() as isize, last_two(view));
        // A complex number is aligned as its parts are.
        let aligned =
            (view.ptr as usize).is_multiple_of(view.dtype.size().min(8)) && view.strides.iter().all(|s| s % item == 0);
        aligned && numloom_blas::fits(rows, cols, steps.map(|s| s / item))
    };
    let known = matches!(args.outs[0].dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128);
    (known && args.ins.iter().chain(&args.outs).zip(sides).all(readable)).then(numloom_blas::get).flatten()
}

impl MatMul {
    pub fn new() -> MatMul {
        MatMul::default()
    }

    /// A product whose floating-point exceptions are those of `name`.
    pub fn heard_as(name: &'static str) -> MatMul {
        MatMul { heard_as: Some(name), ..MatMul::default() }
    }

    fn plan(&self, args: &Args) -> Result<Plan, LibraryError> {
        let name = self.name();
        ensure_operands(args, 2, 1, name)?;
        let (a, b, c) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        let nd = c.shape.len();
        ensure(nd >= 2 && a.shape.len() == nd && b.shape.len() == nd, name, "operands must be matrices")?;
        let (m, k, n) = (a.shape[nd - 2], a.shape[nd - 1], b.shape[nd - 1]);
        let batch = &c.shape[..nd - 2];
        let fits = b.shape[nd - 2] == k && c.shape[nd - 2..] == [m, n];
        ensure(fits && a.shape[..nd - 2] == *batch && b.shape[..nd - 2] == *batch, name, "shapes do not fit")?;
        ensure(a.dtype == c.dtype && b.dtype == c.dtype, name, "dtypes differ")?;
        let batch: usize = batch.iter().product();
        let work = m.saturating_mul(n).saturating_mul(k);
        let grid = if m * n * batch == 0 {
            Grid::Nothing
        } else if work <= TILE_WORK && batch > 1 {
            Grid::Batches { tiles: pieces(batch.saturating_mul(work.max(64)), TILE_WORK).min(batch) }
        } else if (m == 1 || n == 1) && k > 0 {
            let (row, col) =
                if n == 1 { (a.strides[nd - 2], a.strides[nd - 1]) } else { (b.strides[nd - 1], b.strides[nd - 2]) };
            Grid::Vector(matvec::Plan::new(m.max(n), k, row.unsigned_abs() < col.unsigned_abs()))
        } else if work <= TILE_WORK {
            Grid::Batches { tiles: batch }
        } else if m.max(n) <= FLAT && k >= 2 * DEPTH {
            Grid::Depth { parts: pieces(k, DEPTH / 2) }
        } else if work >= LARGE
            && let Some(blas) = blas_for(args, m, n, k)
        {
            Grid::Blas(blas)
        } else if pieces(m, SIDE) * pieces(n, SIDE) == 1 && k >= 2 * DEPTH {
            Grid::Depth { parts: pieces(k, DEPTH) }
        } else {
            let (mut rows, mut cols) = (pieces(m, SIDE), pieces(n, SIDE));
            if rows * cols * batch == 1 {
                if m >= n { rows = 2.min(m) } else { cols = 2 }
            }
            Grid::Blocks { rows, cols }
        };
        Ok(Plan { m, n, k, batch, grid })
    }

    /// A walk over the products, and where the operands of the first one lie.
    fn batches(args: &Args) -> (Walk<3>, [*mut u8; 3]) {
        let views = [&args.ins[0], &args.ins[1], &args.outs[0]];
        let nd = views[2].shape.len() - 2;
        (Walk::new(&views[2].shape[..nd], views.map(|v| &v.strides[..nd])), views.map(|v| v.ptr))
    }

    /// Byte addresses of the `i`-th product's operands.
    unsafe fn operands(args: &Args, i: usize) -> [*mut u8; 3] {
        let (mut walk, bases) = Self::batches(args);
        walk.seek(i);
        std::array::from_fn(|o| bases[o].offset(walk.offsets[o]))
    }

    unsafe fn run_typed<T: Product>(
        &self,
        args: &Args,
        plan: &Plan,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let (m, n, k) = (plan.m, plan.n, plan.k);
        match &plan.grid {
            Grid::Nothing => Ok(()),
            Grid::Batches { tiles } => {
                let vector = (m == 1 || n == 1) && m * n * k > TINY;
                let batches = piece(plan.batch, *tiles, tile);
                let (mut walk, bases) = Self::batches(args);
                if !vector
                    && m * n * k <= FEW
                    && let Some(steps) = walk.single_run()
                    && let Some(first) = in_place::<T>(args, bases)
                {
                    few::<T>([m, n, k], first, steps.map(|s| s / size_of::<T>() as isize), batches);
                    return Ok(());
                }
                walk.seek(batches.start);
                for _ in batches {
                    let operands = std::array::from_fn(|o| bases[o].offset(walk.offsets[o]));
                    walk.step();
                    if vector {
                        let cut = matvec::Plan::whole(m.max(n), k);
                        matvec::Call::<T>::new(args, operands, m, n, k).tile(&cut, 0, std::ptr::null_mut())?;
                    } else {
                        block::<T>(args, operands, 0..m, 0..n, k)?;
                    }
                }
                Ok(())
            }
            Grid::Blocks { rows, cols } => {
                let (i, at) = (tile / (rows * cols), tile % (rows * cols));
                let (row, col) = (snapped(m, *rows, at / cols), snapped(n, *cols, at % cols));
                block::<T>(args, Self::operands(args, i), row, col, k)
            }
            Grid::Depth { parts } => {
                let partial = self.partial.get::<T>(plan.batch * parts * m * n)?;
                if phase == 0 {
                    let range = piece(k, *parts, tile % parts);
                    let [a, b, _] = Self::operands(args, tile / parts);
                    let a = a.offset(range.start as isize * last_two(&args.ins[0])[1]);
                    let b = b.offset(range.start as isize * last_two(&args.ins[1])[0]);
                    let (mut a_pack, mut b_pack) = (None, None);
                    let a = fetch::<T>(&args.ins[0], a, m, range.len(), &mut a_pack)?;
                    let b = fetch::<T>(&args.ins[1], b, range.len(), n, &mut b_pack)?;
                    let dst = Matrix { ptr: partial.add(tile * m * n), row_step: n as isize, col_step: 1 };
                    return T::product(m, n, range.len(), a, b, dst);
                }
                let sum = partial.add(tile * parts * m * n);
                add_up(sum, *parts, m * n);
                let [_, _, c] = Self::operands(args, tile);
                store(sum, &args.outs[0], c, m, n);
                Ok(())
            }
            Grid::Blas(blas) => {
                let [pa, pb, pc] = Self::operands(args, tile);
                let (a, b) =
                    (fetch::<T>(&args.ins[0], pa, m, k, &mut None)?, fetch(&args.ins[1], pb, k, n, &mut None)?);
                let c = fetch::<T>(&args.outs[0], pc, m, n, &mut None)?;
                if T::by_blas(blas, [m, n, k], a, b, c) {
                    Ok(())
                } else {
                    block::<T>(args, [pa, pb, pc], 0..m, 0..n, k)
                }
            }
            Grid::Vector(cut) => {
                let (phase_tiles, chunks) = (cut.tiles(), cut.sums());
                let product = if phase == 0 { tile / phase_tiles } else { tile };
                let call = matvec::Call::<T>::new(args, Self::operands(args, product), m, n, k);
                let partial = if chunks > 1 {
                    self.partial.get::<T>(plan.batch * chunks * m.max(n))?.add(product * chunks * m.max(n))
                } else {
                    std::ptr::null_mut()
                };
                if phase == 0 { call.tile(cut, tile % phase_tiles, partial) } else { call.finish(cut, partial) }
            }
        }
    }
}

/// Sums `parts` runs of `n` into the first one.
pub(crate) unsafe fn add_up<T: Element>(runs: *mut T, parts: usize, n: usize) {
    vectorized(
        #[inline(always)]
        || {
            for part in 1..parts {
                for i in 0..n {
                    *runs.add(i) = (*runs.add(i)).add(*runs.add(part * n + i));
                }
            }
        },
    )
}

/// A piece of a side, cut at multiples of the kernels' register block where it is long enough.
fn snapped(len: usize, parts: usize, i: usize) -> Range<usize> {
    const GRAIN: usize = 24;
    if len < parts * GRAIN * 4 {
        return piece(len, parts, i);
    }
    let grains = piece(len / GRAIN, parts, i);
    let end = if i + 1 == parts { len } else { grains.end * GRAIN };
    grains.start * GRAIN..end
}

unsafe fn store<T: Product>(src: *const T, view: &RawView, to: *mut u8, rows: usize, cols: usize) {
    let [rs, cs] = last_two(view);
    for i in 0..rows {
        write_run(src.add(i * cols), view.dtype, to.offset(i as isize * rs), cs, cols);
    }
}

/// One block of one product.
unsafe fn block<T: Product>(
    args: &Args,
    [a, b, c]: [*mut u8; 3],
    rows: Range<usize>,
    cols: Range<usize>,
    k: usize,
) -> Result<(), LibraryError> {
    let (va, vb, vc) = (&args.ins[0], &args.ins[1], &args.outs[0]);
    let ([crs, ccs], item) = (last_two(vc), size_of::<T>() as isize);
    let a = a.offset(rows.start as isize * last_two(va)[0]);
    let b = b.offset(cols.start as isize * last_two(vb)[1]);
    let c = c.offset(rows.start as isize * crs + cols.start as isize * ccs);
    let (m, n) = (rows.len(), cols.len());
    let (mut a_pack, mut b_pack) = (None, None);
    let a = fetch::<T>(va, a, m, k, &mut a_pack)?;
    let b = fetch::<T>(vb, b, k, n, &mut b_pack)?;
    let distinct = (m == 1 || crs != 0) && (n == 1 || ccs != 0);
    if vc.dtype == T::DTYPE && distinct && c.cast::<T>().is_aligned() && crs % item == 0 && ccs % item == 0 {
        let dst = Matrix { ptr: c as *const T, row_step: crs / item, col_step: ccs / item };
        return T::product(m, n, k, a, b, dst);
    }
    let result = Buffer::new::<T>(m * n)?;
    let dst = Matrix { ptr: result.as_ptr::<T>(), row_step: n as isize, col_step: 1 };
    T::product(m, n, k, a, b, dst)?;
    store(result.as_ptr::<T>(), vc, c, m, n);
    Ok(())
}

impl LibraryOp for MatMul {
    fn form(&self) -> Form {
        Form::MatMul
    }

    fn name(&self) -> &'static str {
        "matmul"
    }

    fn raises(&self) -> Option<&'static str> {
        self.heard_as
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        let Ok(plan) = self.plan(args) else { return smallvec![1] };
        match plan.grid {
            Grid::Nothing => smallvec![0],
            Grid::Batches { tiles } => smallvec![tiles],
            Grid::Blas(_) => smallvec![plan.batch],
            Grid::Blocks { rows, cols } => smallvec![plan.batch * rows * cols],
            Grid::Depth { parts } => smallvec![plan.batch * parts, plan.batch],
            Grid::Vector(cut) if cut.sums() > 1 => smallvec![plan.batch * cut.tiles(), plan.batch],
            Grid::Vector(cut) => smallvec![plan.batch * cut.tiles()],
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let plan = self.plan(args)?;
        macro_rules! by_type {
            ($($d:ident $t:ty),*) => {
                match args.outs[0].dtype { $(DType::$d => self.run_typed::<$t>(args, &plan, phase, tile),)* }
            };
        }
        by_type!(Bool Truth, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64,
            F16 f32, F32 f32, F64 f64, C64 Complex32, C128 Complex64)
    }
}
