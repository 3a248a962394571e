//! Matrices between views and what computes with them: dense, column by column, in the type they are computed in.

use crate::scale;
use faer::{Mat, MatMut, MatRef, c64};
use numloom_blas::Factors;
use numloom_ir::DType;
use numloom_library::{LibraryError, RawView};
use std::ops::{Div, Mul, Sub};

/// What factorisations are computed in: double precision, as in NumPy, whatever the precision of the arrays.
pub trait Field:
    faer::traits::ComplexField
    + Factors
    + Copy
    + Send
    + Sync
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + 'static
{
    fn from_parts(re: f64, im: f64) -> Self;
    fn parts(self) -> (f64, f64);
    /// The quotient, also where the square of the divisor is no number.
    fn over(self, divisor: Self) -> Self;
    /// The dtype whose elements lie in memory as this type does.
    const DTYPE: DType;
}

impl Field for f64 {
    fn from_parts(re: f64, _: f64) -> f64 {
        re
    }
    fn parts(self) -> (f64, f64) {
        (self, 0.0)
    }
    fn over(self, divisor: f64) -> f64 {
        self / divisor
    }
    const DTYPE: DType = DType::F64;
}

impl Field for c64 {
    fn from_parts(re: f64, im: f64) -> c64 {
        c64::new(re, im)
    }
    fn parts(self) -> (f64, f64) {
        (self.re, self.im)
    }
    fn over(self, divisor: c64) -> c64 {
        match scale::power_of(divisor.re.abs().max(divisor.im.abs())) {
            0 => self / divisor,
            e => scale::moved(self / scale::moved(divisor, -e), -e),
        }
    }
    const DTYPE: DType = DType::C128;
}

/// Runs `$body` with `$t` as the type that `$dtype` is computed in.
macro_rules! typed {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            numloom_ir::DType::F32 | numloom_ir::DType::F64 => {
                type $t = f64;
                $body
            }
            numloom_ir::DType::C64 | numloom_ir::DType::C128 => {
                type $t = faer::c64;
                $body
            }
            other => Err(LibraryError::Value(format!("array type {} is unsupported in linalg", other.name()))),
        }
    };
}
pub(crate) use typed;

/// One element of any dtype that factorisations know.
unsafe fn read(dtype: DType, p: *const u8) -> (f64, f64) {
    match dtype {
        DType::F32 => (p.cast::<f32>().read_unaligned() as f64, 0.0),
        DType::F64 => (p.cast::<f64>().read_unaligned(), 0.0),
        DType::C64 => (p.cast::<f32>().read_unaligned() as f64, p.cast::<f32>().add(1).read_unaligned() as f64),
        DType::C128 => (p.cast::<f64>().read_unaligned(), p.cast::<f64>().add(1).read_unaligned()),
        _ => (f64::NAN, f64::NAN),
    }
}

unsafe fn write(dtype: DType, p: *mut u8, (re, im): (f64, f64)) {
    match dtype {
        DType::F32 => p.cast::<f32>().write_unaligned(re as f32),
        DType::F64 => p.cast::<f64>().write_unaligned(re),
        DType::C64 => {
            p.cast::<f32>().write_unaligned(re as f32);
            p.cast::<f32>().add(1).write_unaligned(im as f32);
        }
        DType::C128 => {
            p.cast::<f64>().write_unaligned(re);
            p.cast::<f64>().add(1).write_unaligned(im);
        }
        _ => {}
    }
}

/// Rows, columns and their byte steps; a vector is a column.
fn extents(view: &RawView) -> [(usize, isize); 2] {
    match view.shape.len() {
        0 => [(1, 0), (1, 0)],
        1 => [(view.shape[0], view.strides[0]), (1, 0)],
        n => [(view.shape[n - 2], view.strides[n - 2]), (view.shape[n - 1], view.strides[n - 1])],
    }
}

pub fn rows_and_columns(view: &RawView) -> (usize, usize) {
    let [(m, _), (n, _)] = extents(view);
    (m, n)
}

/// Side of the blocks in which matrices are copied, so that neither side leaves the cache between two of its lines.
const BLOCK: usize = 32;

/// Calls `f(i, j)` for every element, block by block.
fn blockwise(m: usize, n: usize, mut f: impl FnMut(usize, usize)) {
    for j0 in (0..n).step_by(BLOCK) {
        for i0 in (0..m).step_by(BLOCK) {
            for j in j0..n.min(j0 + BLOCK) {
                for i in i0..m.min(i0 + BLOCK) {
                    f(i, j);
                }
            }
        }
    }
}

/// The matrix of a view.
///
/// # Safety
/// The view is readable.
pub unsafe fn load<T: Field>(view: &RawView) -> Mat<T> {
    let (m, n) = rows_and_columns(view);
    let mut made = Mat::<T>::zeros(m, n);
    copy_columns(view, made.as_ptr_mut(), made.col_stride());
    made
}

/// Copies a view's matrix, `step` elements from column to column.
///
/// # Safety
/// The view is readable, and there is room for its columns.
pub unsafe fn copy_columns<T: Field>(view: &RawView, to: *mut T, step: isize) {
    let [(m, rs), (n, cs)] = extents(view);
    let at = |i: usize, j: usize| view.ptr.offset(i as isize * rs + j as isize * cs);
    if view.dtype == T::DTYPE {
        blockwise(m, n, |i, j| *to.offset(i as isize + j as isize * step) = at(i, j).cast::<T>().read_unaligned());
    } else {
        blockwise(m, n, |i, j| {
            let (re, im) = read(view.dtype, at(i, j));
            *to.offset(i as isize + j as isize * step) = T::from_parts(re, im)
        });
    }
}

/// One element of a view.
///
/// # Safety
/// It is inside, and readable.
#[inline]
pub unsafe fn element<T: Field>(view: &RawView, i: usize, j: usize) -> T {
    let [(_, rs), (_, cs)] = extents(view);
    let at = view.ptr.offset(i as isize * rs + j as isize * cs);
    if view.dtype == T::DTYPE {
        return at.cast::<T>().read_unaligned();
    }
    let (re, im) = read(view.dtype, at);
    T::from_parts(re, im)
}

/// Writes a matrix into a view of its shape (or of one column).
///
/// # Safety
/// The view is writeable, and nobody else looks at it.
pub unsafe fn store<T: Field>(from: MatRef<'_, T>, view: &RawView) {
    assert!(rows_and_columns(view) == (from.nrows(), from.ncols()), "a result of another shape");
    store_columns(from, view, 0);
}

/// Writes a matrix into the columns of a view from `first` on.
///
/// # Safety
/// As for `store`.
pub unsafe fn store_columns<T: Field>(from: MatRef<'_, T>, view: &RawView, first: usize) {
    let (m, n) = (from.nrows(), from.ncols());
    let [(rows, rs), (columns, cs)] = extents(view);
    assert!(m == rows && first + n <= columns, "more columns than there are");
    let at = |i: usize, j: usize| view.ptr.offset(i as isize * rs + (first + j) as isize * cs);
    if view.dtype == T::DTYPE {
        blockwise(m, n, |i, j| at(i, j).cast::<T>().write_unaligned(*from.get_unchecked(i, j)));
    } else {
        blockwise(m, n, |i, j| write(view.dtype, at(i, j), from.get_unchecked(i, j).parts()));
    }
}

/// Writes numbers into a view of one axis, or of none.
///
/// # Safety
/// As for `store`.
pub unsafe fn store_run<T: Field>(from: impl IntoIterator<Item = T>, view: &RawView) {
    let step = view.strides.last().copied().unwrap_or(0);
    for (i, x) in from.into_iter().enumerate() {
        write(view.dtype, view.ptr.offset(i as isize * step), x.parts());
    }
}

/// Whether all elements are finite.
pub fn is_finite<T: Field>(a: MatRef<'_, T>) -> bool {
    (0..a.ncols()).all(|j| {
        (0..a.nrows()).all(|i| {
            let (re, im) = a[(i, j)].parts();
            re.is_finite() && im.is_finite()
        })
    })
}

/// Whether some element is NaN.
pub fn has_nan<T: Field>(a: MatRef<'_, T>) -> bool {
    let is_nan = |(re, im): (f64, f64)| re.is_nan() || im.is_nan();
    (0..a.ncols()).any(|j| (0..a.nrows()).any(|i| is_nan(a[(i, j)].parts())))
}

/// Zeros, apart from one triangle with its diagonal.
pub fn keep_triangle<T: Field>(mut a: MatMut<'_, T>, lower: bool) {
    let (m, n) = (a.nrows(), a.ncols());
    for j in 0..n {
        let gone = if lower { 0..j.min(m) } else { (j + 1).min(m)..m };
        for i in gone {
            a[(i, j)] = T::from_parts(0.0, 0.0);
        }
    }
}

/// The error of a matrix that has no result.
pub fn failed<R>(words: &str) -> Result<R, LibraryError> {
    Err(LibraryError::LinAlg(words.to_owned()))
}
