//! A few arrays multiplied and summed over labelled axes at once: Einstein's convention, taken at its word.

use crate::dots_dense;
use crate::element::{Element, with_type};
use numloom_ir::{DType, Strides};
use smallvec::SmallVec;

/// An array over the labels: how many bytes a step along each of them is, 0 for those it has not.
#[derive(Clone, Debug)]
pub struct Labelled {
    pub ptr: *mut u8,
    pub strides: Strides,
}

/// `out` at every place is the sum, over the labels it has not, of the products of all `ins`. `extents` says how far
/// the labels go, and the last one is the innermost.
///
/// # Safety
/// The arrays are readable, and `out` writeable and dense, at every place; all of `dtype` and aligned for it; `out` is
/// apart from the others.
pub unsafe fn contract(dtype: DType, extents: &[usize], ins: &[Labelled], out: &Labelled) {
    with_type!(dtype, T => nest::<T>(extents, ins, out));
}

unsafe fn nest<T: Element>(extents: &[usize], ins: &[Labelled], out: &Labelled) {
    let places: usize = extents.iter().zip(&out.strides).map(|(&n, &s)| if s == 0 { 1 } else { n }).product();
    std::slice::from_raw_parts_mut(out.ptr.cast::<T>(), places).fill(T::ZERO);
    let Some((&inner, outer)) = extents.split_last() else {
        return row::<T>(1, &at(ins, &[], 0), out.ptr, 0);
    };
    let last = outer.len();
    // The rows along the last label, one below the other along the label before it.
    let (rows, around) = outer.split_last().map_or((1, outer), |(&rows, around)| (rows, around));
    let down = |x: &Labelled| if last > 0 { x.strides[last - 1] } else { 0 };
    let mut index: SmallVec<[usize; 8]> = SmallVec::from_elem(0, around.len());
    loop {
        let mut to = out.ptr.offset(offset(&out.strides, &index));
        let mut from = at(ins, &index, last);
        for _ in 0..rows {
            row::<T>(inner, &from, to, out.strides[last]);
            to = to.wrapping_offset(down(out));
            from.iter_mut().zip(ins).for_each(|(row, x)| row.0 = row.0.wrapping_offset(down(x)));
        }
        let Some(axis) = (0..around.len()).rev().find(|&axis| index[axis] + 1 < around[axis]) else { return };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}

#[inline]
fn offset(strides: &Strides, index: &[usize]) -> isize {
    index.iter().zip(strides).map(|(&i, &s)| i as isize * s).sum()
}

type Row = SmallVec<[(*const u8, isize); 4]>;

/// Where the row at `index` starts in every array, and its step along the last label.
#[inline]
unsafe fn at(ins: &[Labelled], index: &[usize], last: usize) -> Row {
    let start = |x: &Labelled| x.ptr.offset(offset(&x.strides, index)).cast_const();
    ins.iter().map(|x| (start(x), x.strides.get(last).copied().unwrap_or(0))).collect()
}

/// Adds the products of one row to where they belong.
#[inline]
unsafe fn row<T: Element>(n: usize, ins: &Row, to: *mut u8, step: isize) {
    let read = |(p, s): (*const u8, isize), i: usize| p.offset(i as isize * s).cast::<T>().read();
    let own = size_of::<T>() as isize;
    match ins.as_slice() {
        &[(a, s), (b, t)] if step == 0 && s == own && t == own && matches!(T::DTYPE, DType::F64 | DType::F32) => {
            let mut sum = T::ZERO;
            dots_dense(T::DTYPE, a, 0, b, [1, n], (&raw mut sum).cast());
            let to = to.cast::<T>();
            to.write(to.read().add(sum));
        }
        &[a, b] => add(n, to, step, |i| read(a, i).mul(read(b, i))),
        &[a] => add(n, to, step, |i| read(a, i)),
        all => add(n, to, step, |i| all[1..].iter().fold(read(all[0], i), |product, &x| product.mul(read(x, i)))),
    }
}

/// Sums that run beside each other: one after another would round far more often.
const SUMS: usize = 8;
/// Products that are summed before the next go to a sum of their own.
const BLOCK: usize = 256;

#[inline(always)]
unsafe fn add<T: Element>(n: usize, to: *mut u8, step: isize, product: impl Fn(usize) -> T) {
    if step == 0 {
        let to = to.cast::<T>();
        for from in (0..n).step_by(BLOCK) {
            to.write(to.read().add(sum(from, BLOCK.min(n - from), &product)));
        }
        return;
    }
    for i in 0..n {
        let to = to.offset(i as isize * step).cast::<T>();
        to.write(to.read().add(product(i)));
    }
}

/// The sum of `n` products.
#[inline(always)]
fn sum<T: Element>(from: usize, n: usize, product: &impl Fn(usize) -> T) -> T {
    if n < SUMS {
        return (from..from + n).fold(T::ZERO, |sum, i| sum.add(product(i)));
    }
    let mut sums = [T::ZERO; SUMS];
    let whole = n - n % SUMS;
    for i in (from..from + whole).step_by(SUMS) {
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = sum.add(product(i + k));
        }
    }
    for (k, sum) in sums.iter_mut().enumerate().take(n - whole) {
        *sum = sum.add(product(from + whole + k));
    }
    let mut half = SUMS / 2;
    while half > 0 {
        for k in 0..half {
            sums[k] = sums[k].add(sums[k + half]);
        }
        half /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    #[test]
    fn a_matrix_product() {
        let (mut a, mut b, mut c) = ([1i64, 2, 3, 4, 5, 6], [1i64, 10, 100, 1000, 10000, 100000], [0i64; 4]);
        let labelled = |ptr: *mut i64, strides: Strides| Labelled { ptr: ptr.cast(), strides };
        // i, k, j: 2, 2, 3.
        let ins = [labelled(a.as_mut_ptr(), smallvec![24, 0, 8]), labelled(b.as_mut_ptr(), smallvec![0, 8, 16])];
        let out = labelled(c.as_mut_ptr(), smallvec![16, 8, 0]);
        // SAFETY: the strides fit the arrays.
        unsafe { contract(DType::I64, &[2, 2, 3], &ins, &out) };
        assert_eq!(c, [30201, 302010, 60504, 605040]);
    }

    #[test]
    fn no_labels_and_three_arrays() {
        let (mut a, mut c) = ([3f64], [9f64]);
        let x = Labelled { ptr: a.as_mut_ptr().cast(), strides: smallvec![] };
        let out = Labelled { ptr: c.as_mut_ptr().cast(), strides: smallvec![] };
        // SAFETY: one element each.
        unsafe { contract(DType::F64, &[], &[x.clone(), x.clone(), x], &out) };
        assert_eq!(c, [27.0]);
    }
}
