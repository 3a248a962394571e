//! A matrix times a vector, either side. Bound by memory: the matrix is read once, in the order it lies.

use crate::element::{read_run, write_run};
use crate::matmul::{Product, add_up, fetch};
#[cfg(target_arch = "x86_64")]
use crate::matvec_avx512 as avx512;
use crate::scratch::Buffer;
use crate::vector::vectorized;
use crate::walk::{piece, pieces};
use crate::{Args, LibraryError, RawView};
use numloom_ir::DType;
use numloom_loops::keep_lanes;
use std::ops::Range;

/// Elements of the matrix in one tile.
const TILE: usize = 1 << 18;
/// Results of one tile where the matrix lies column by column: long enough for the memory to stream.
const COLUMN: usize = 2048;
/// Summands of one partial sum. A multiple of every kernel's unrolling.
const CHUNK: usize = 1 << 16;

/// How a product of `len` results with `depth` summands each is cut: blocks of results x pieces of the sum.
#[derive(Clone, Copy)]
pub struct Plan {
    len: usize,
    depth: usize,
    blocks: usize,
    chunks: usize,
}

impl Plan {
    /// `by_columns`: the matrix lies column by column, so that tiles should have long pieces of these.
    pub fn new(len: usize, depth: usize, by_columns: bool) -> Plan {
        let area = len.saturating_mul(depth);
        if by_columns && len > 64 {
            let blocks = pieces(len, COLUMN);
            let chunks = (pieces(area, TILE) / blocks).min(32usize.div_ceil(blocks)).clamp(1, depth);
            return Plan { len, depth, blocks, chunks };
        }
        let blocks = pieces(area, TILE).min(len.div_ceil(64));
        // The sum is only cut where there are too few results to give every worker some.
        let chunks = if blocks < 8 && area > TILE / 2 { pieces(depth, CHUNK) } else { 1 };
        let blocks = if chunks > 1 { pieces(len, (TILE / CHUNK).max(256)) } else { blocks };
        Plan { len, depth, blocks, chunks }
    }

    /// All of it as one tile.
    pub fn whole(len: usize, depth: usize) -> Plan {
        Plan { len, depth, blocks: 1, chunks: 1 }
    }

    pub fn tiles(&self) -> usize {
        self.blocks * self.chunks
    }

    /// Partial sums of each result.
    pub fn sums(&self) -> usize {
        self.chunks
    }
}

/// `y = matrix x`, with the operands turned so that the vector is on the right.
pub struct Call<'a, T> {
    matrix: RawView,
    x: (&'a RawView, *const u8, isize),
    y: (DType, *mut u8, isize),
    kind: std::marker::PhantomData<T>,
}

impl<'a, T: Product> Call<'a, T> {
    /// Operand addresses of one product; `m == 1` or `n == 1`.
    pub unsafe fn new(args: &'a Args, [a, b, c]: [*mut u8; 3], m: usize, n: usize, k: usize) -> Call<'a, T> {
        let (va, vb, vc) = (&args.ins[0], &args.ins[1], &args.outs[0]);
        let nd = vc.shape.len();
        let matrix = |v: &RawView, ptr, rows, (row, col): (usize, usize)| RawView {
            ptr,
            dtype: v.dtype,
            shape: smallvec::smallvec![rows, k],
            strides: smallvec::smallvec![v.strides[row], v.strides[col]],
        };
        let kind = std::marker::PhantomData;
        if n == 1 {
            let y = (vc.dtype, c, vc.strides[nd - 2]);
            Call { matrix: matrix(va, a, m, (nd - 2, nd - 1)), x: (vb, b, vb.strides[nd - 2]), y, kind }
        } else {
            let y = (vc.dtype, c, vc.strides[nd - 1]);
            Call { matrix: matrix(vb, b, n, (nd - 1, nd - 2)), x: (va, a, va.strides[nd - 1]), y, kind }
        }
    }

    /// Computes a block of results, or of partial sums into `partial`.
    pub unsafe fn tile(&self, plan: &Plan, tile: usize, partial: *mut T) -> Result<(), LibraryError> {
        let rows = grouped(plan.len, plan.blocks, tile / plan.chunks);
        let chunk = tile % plan.chunks;
        let depth = piece(plan.depth, plan.chunks, chunk);
        if plan.chunks > 1 {
            return self.block(rows.clone(), depth, partial.add(chunk * plan.len + rows.start));
        }
        let (dtype, y, step) = self.y;
        let to = y.offset(rows.start as isize * step) as *mut T;
        if dtype == T::DTYPE && step == size_of::<T>() as isize && to.is_aligned() {
            return self.block(rows, depth, to);
        }
        let sums = Buffer::new::<T>(rows.len())?;
        self.block(rows.clone(), depth, sums.as_ptr())?;
        self.store(sums.as_ptr(), rows);
        Ok(())
    }

    pub unsafe fn finish(&self, plan: &Plan, partial: *mut T) -> Result<(), LibraryError> {
        add_up(partial, plan.chunks, plan.len);
        self.store(partial, 0..plan.len);
        Ok(())
    }

    unsafe fn store(&self, sums: *const T, rows: Range<usize>) {
        let (dtype, y, step) = self.y;
        write_run(sums, dtype, y.offset(rows.start as isize * step), step, rows.len());
    }

    unsafe fn block(&self, rows: Range<usize>, depth: Range<usize>, sums: *mut T) -> Result<(), LibraryError> {
        let (n, k) = (rows.len(), depth.len());
        let (xv, x, x_step) = self.x;
        let x = x.offset(depth.start as isize * x_step);
        let packed;
        let x = if xv.dtype == T::DTYPE && x_step == size_of::<T>() as isize && x.cast::<T>().is_aligned() {
            x as *const T
        } else {
            packed = Buffer::new::<T>(k)?;
            read_run(xv.dtype, x, x_step, packed.as_ptr::<T>(), k);
            packed.as_ptr::<T>() as *const T
        };
        let [row_stride, col_stride] = [self.matrix.strides[0], self.matrix.strides[1]];
        let start = self.matrix.ptr.offset(rows.start as isize * row_stride + depth.start as isize * col_stride);
        let mut pack = None;
        let a = fetch::<T>(&self.matrix, start, n, k, &mut pack)?;
        if a.col_step == 1 || k == 1 {
            dots(a.ptr, a.row_step, x, n, k, sums);
        } else if a.row_step == 1 || n == 1 || a.row_step.abs() < a.col_step.abs() {
            columns(a.ptr, a.row_step, a.col_step, x, n, k, sums);
        } else {
            let line = Buffer::new::<T>(k)?;
            for i in 0..n as isize {
                let row = a.ptr.offset(i * a.row_step) as *const u8;
                read_run(T::DTYPE, row, a.col_step * size_of::<T>() as isize, line.as_ptr::<T>(), k);
                dots(line.as_ptr::<T>(), 0, x, 1, k, sums.offset(i));
            }
        }
        Ok(())
    }
}

/// A piece of the results, cut at multiples of the rows that kernels take at once.
fn grouped(len: usize, parts: usize, i: usize) -> Range<usize> {
    const GROUP: usize = 16;
    let groups = piece(len.div_ceil(GROUP), parts, i);
    (groups.start * GROUP).min(len)..(groups.end * GROUP).min(len)
}

/// Running sums of a dot product: enough to hide the latency of an addition.
const LANES: usize = 32;
/// Elements summed up before the running sums are folded: keeps the error that of pairwise summation.
const STRETCH: usize = 1024;

/// The dot products of `n` dense rows, `row_step` elements apart, with a dense vector, of doubles or singles; false for
/// other types.
///
/// # Safety
/// Every row and `x` have `k` elements of `dtype`, aligned, and `sums` has `n`.
pub unsafe fn dots_dense(
    dtype: DType,
    a: *const u8,
    row_step: isize,
    x: *const u8,
    [n, k]: [usize; 2],
    sums: *mut u8,
) -> bool {
    match dtype {
        DType::F64 => dots::<f64>(a.cast(), row_step, x.cast(), n, k, sums.cast()),
        DType::F32 => dots::<f32>(a.cast(), row_step, x.cast(), n, k, sums.cast()),
        _ => return false,
    }
    true
}

/// Dot products of dense rows with `x`.
unsafe fn dots<T: Product>(a: *const T, row_step: isize, x: *const T, n: usize, k: usize, sums: *mut T) {
    #[cfg(target_arch = "x86_64")]
    if avx512::is_available() {
        match T::DTYPE {
            DType::F32 => return avx512::single::dots(a.cast(), row_step, x.cast(), n, k, sums.cast()),
            DType::F64 => return avx512::double::dots(a.cast(), row_step, x.cast(), n, k, sums.cast()),
            _ => {}
        }
    }
    if k <= 128 {
        return vectorized(
            #[inline(always)]
            || {
                for i in 0..n {
                    *sums.add(i) = dot::<T, 8>(a.offset(i as isize * row_step), x, k);
                }
            },
        );
    }
    vectorized(
        #[inline(always)]
        || {
            for i in 0..n {
                let row = a.offset(i as isize * row_step);
                let mut sum = T::ZERO;
                let mut at = 0;
                while at < k {
                    let len = STRETCH.min(k - at);
                    sum = sum.add(dot::<T, LANES>(row.add(at), x.add(at), len));
                    at += len;
                }
                *sums.add(i) = sum;
            }
        },
    )
}

#[inline(always)]
unsafe fn dot<T: Product, const L: usize>(a: *const T, b: *const T, k: usize) -> T {
    let mut lanes = [T::ZERO; L];
    let mut at = 0;
    while at + L <= k {
        keep_lanes();
        let (a, b) = (&*(a.add(at) as *const [T; L]), &*(b.add(at) as *const [T; L]));
        for j in 0..L {
            lanes[j] = lanes[j].add(a[j].mul(b[j]));
        }
        at += L;
    }
    let mut tail = T::ZERO;
    while at < k {
        tail = tail.add((*a.add(at)).mul(*b.add(at)));
        at += 1;
    }
    let mut width = L / 2;
    while width > 0 {
        for j in 0..width {
            lanes[j] = lanes[j].add(lanes[j + width]);
        }
        width /= 2;
    }
    lanes[0].add(tail)
}

/// Adds up columns that lie along the memory, four at a time.
unsafe fn columns<T: Product>(
    a: *const T,
    row_step: isize,
    col_step: isize,
    x: *const T,
    n: usize,
    k: usize,
    sums: *mut T,
) {
    #[cfg(target_arch = "x86_64")]
    if avx512::is_available() && (row_step == 1 || n == 1) {
        match T::DTYPE {
            DType::F32 => return avx512::single::columns(a.cast(), col_step, x.cast(), n, k, sums.cast()),
            DType::F64 => return avx512::double::columns(a.cast(), col_step, x.cast(), n, k, sums.cast()),
            _ => {}
        }
    }
    for i in 0..n {
        sums.add(i).write(T::ZERO);
    }
    // Results that stay in the first cache while all columns go by.
    const RESULTS: usize = 1024;
    for i0 in (0..n).step_by(RESULTS) {
        let (len, sums) = (RESULTS.min(n - i0), sums.add(i0));
        let a = a.offset(i0 as isize * row_step);
        vectorized(
            #[inline(always)]
            || {
                let mut j = 0;
                while j < k {
                    let taken = 4.min(k - j);
                    let p: [*const T; 4] =
                        std::array::from_fn(|c| a.offset((j + c.min(taken - 1)) as isize * col_step));
                    let v: [T; 4] = std::array::from_fn(|c| if c < taken { *x.add(j + c) } else { T::ZERO });
                    match (taken, row_step) {
                        (4, 1) => {
                            for i in 0..len {
                                let near = (*p[0].add(i)).mul(v[0]).add((*p[1].add(i)).mul(v[1]));
                                let far = (*p[2].add(i)).mul(v[2]).add((*p[3].add(i)).mul(v[3]));
                                *sums.add(i) = (*sums.add(i)).add(near.add(far));
                            }
                        }
                        _ => {
                            for c in 0..taken {
                                for i in 0..len {
                                    let value = *p[c].offset(i as isize * row_step);
                                    *sums.add(i) = (*sums.add(i)).add(value.mul(v[c]));
                                }
                            }
                        }
                    }
                    j += taken;
                }
            },
        );
    }
}
