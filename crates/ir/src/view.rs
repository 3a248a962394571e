//! An affine window on a store: where its elements lie. Everything NumPy does with strides.

use crate::dtype::DType;
use smallvec::SmallVec;

pub type Dims = SmallVec<[usize; 4]>;
pub type Strides = SmallVec<[isize; 4]>;

/// Offset and strides are in bytes from the start of the store; a stride of 0 broadcasts.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct View {
    pub dtype: DType,
    pub offset: usize,
    pub shape: Dims,
    pub strides: Strides,
}

impl Clone for View {
    #[inline]
    fn clone(&self) -> View {
        View { dtype: self.dtype, offset: self.offset, shape: copied(&self.shape), strides: copied(&self.strides) }
    }
}

/// A clone that copies the inline numbers in one go instead of one by one.
#[inline]
pub fn copied<T: Copy>(v: &SmallVec<[T; 4]>) -> SmallVec<[T; 4]> {
    if v.spilled() {
        return SmallVec::from_slice(v);
    }
    // SAFETY: not spilled, so it owns no memory, and its elements are plain numbers.
    unsafe { std::ptr::read(v) }
}

/// NumPy's memory orders for new arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    C,
    F,
}

/// Strides of a dense array of this shape.
#[inline]
pub fn dense_strides(itemsize: usize, shape: &[usize], order: Order) -> Strides {
    match shape.len() {
        0 => Strides::new(),
        1 => SmallVec::from_buf_and_len([itemsize as isize, 0, 0, 0], 1),
        _ => dense_strides_of_many(itemsize, shape, order),
    }
}

fn dense_strides_of_many(itemsize: usize, shape: &[usize], order: Order) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(0, shape.len());
    let mut step = itemsize as isize;
    let mut put = |i: usize| {
        strides[i] = step;
        step = step.saturating_mul(shape[i].max(1) as isize);
    };
    match order {
        Order::C => (0..shape.len()).rev().for_each(&mut put),
        Order::F => (0..shape.len()).for_each(&mut put),
    }
    strides
}

/// The number of elements; `None` when it does not fit in memory arithmetic.
#[inline]
pub fn checked_size(shape: &[usize]) -> Option<usize> {
    if let [n] = shape {
        return Some(*n).filter(|&n| n <= isize::MAX as usize);
    }
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= isize::MAX as usize)
}

/// NumPy's broadcasting of several shapes; `None` when they do not fit.
pub fn broadcast_shapes<'a>(shapes: impl IntoIterator<Item = &'a [usize]>) -> Option<Dims> {
    let mut out: Dims = SmallVec::new();
    for shape in shapes {
        while out.len() < shape.len() {
            out.insert(0, 1);
        }
        let skip = out.len() - shape.len();
        for (o, &d) in out[skip..].iter_mut().zip(shape) {
            if *o == 1 {
                *o = d;
            } else if d != 1 && d != *o {
                return None;
            }
        }
    }
    Some(out)
}

impl View {
    pub fn dense(dtype: DType, shape: &[usize], order: Order) -> View {
        let strides = dense_strides(dtype.size(), shape, order);
        View { dtype, offset: 0, shape: SmallVec::from_slice(shape), strides }
    }

    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    #[inline]
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    #[inline]
    pub fn nbytes(&self) -> usize {
        self.size() * self.dtype.size()
    }

    /// Dense in C order (axes of extent 1 and empty arrays do not matter).
    #[inline]
    pub fn is_c_contiguous(&self) -> bool {
        self.is_dense(self.shape.iter().zip(&self.strides).rev())
    }

    /// Whether no axis steps over more than one before it (axes of extent 1 do not matter).
    pub fn lies_in_c_order(&self) -> bool {
        let steps = self.shape.iter().zip(&self.strides).filter(|(n, _)| **n != 1).map(|(_, s)| s.unsigned_abs());
        steps.is_sorted_by(|before, after| before >= after)
    }

    pub fn is_f_contiguous(&self) -> bool {
        self.is_dense(self.shape.iter().zip(&self.strides))
    }

    /// Whether each axis steps over exactly what the ones before it cover.
    #[inline]
    fn is_dense<'a>(&self, inner_first: impl Iterator<Item = (&'a usize, &'a isize)>) -> bool {
        let mut step = self.dtype.size() as isize;
        for (&d, &s) in inner_first {
            if d != 1 && s != step {
                return self.shape.contains(&0);
            }
            step *= d as isize;
        }
        true
    }

    /// First and one-past-last byte that the view touches.
    pub fn byte_bounds(&self) -> (usize, usize) {
        let (mut lo, mut hi) = (self.offset as isize, self.offset as isize);
        for (&d, &s) in self.shape.iter().zip(&self.strides) {
            if d == 0 {
                return (self.offset, self.offset);
            }
            let reach = (d as isize - 1) * s;
            if reach < 0 { lo += reach } else { hi += reach }
        }
        (lo as usize, hi as usize + self.dtype.size())
    }

    /// The element at index `i` of `axis`; the axis disappears. `i` must be in range.
    #[inline]
    pub fn index(&self, axis: usize, i: usize) -> View {
        let mut v = self.clone();
        v.offset = (v.offset as isize + i as isize * v.strides[axis]) as usize;
        v.shape.remove(axis);
        v.strides.remove(axis);
        v
    }

    /// `len` elements of `axis` from `start`, `step` apart; already clipped to the extent.
    pub fn slice(&self, axis: usize, start: usize, step: isize, len: usize) -> View {
        let mut v = self.clone();
        if len > 0 {
            v.offset = (v.offset as isize + start as isize * v.strides[axis]) as usize;
        }
        v.shape[axis] = len;
        v.strides[axis] *= step;
        v
    }

    /// Axis `i` of the result is axis `perm[i]` of this view.
    pub fn transpose(&self, perm: &[usize]) -> View {
        View {
            dtype: self.dtype,
            offset: self.offset,
            shape: perm.iter().map(|&p| self.shape[p]).collect(),
            strides: perm.iter().map(|&p| self.strides[p]).collect(),
        }
    }

    #[inline]
    pub fn reversed_axes(&self) -> View {
        if self.ndim() <= 1 {
            return self.clone();
        }
        if let ([m, n], [s, t]) = (self.shape.as_slice(), self.strides.as_slice()) {
            return View {
                dtype: self.dtype,
                offset: self.offset,
                shape: SmallVec::from_buf_and_len([*n, *m, 0, 0], 2),
                strides: SmallVec::from_buf_and_len([*t, *s, 0, 0], 2),
            };
        }
        let perm: Dims = (0..self.ndim()).rev().collect();
        self.transpose(&perm)
    }

    /// A new axis of extent 1 before `axis`.
    pub fn expand(&self, axis: usize) -> View {
        let mut v = self.clone();
        v.shape.insert(axis, 1);
        v.strides.insert(axis, 0);
        v
    }

    /// Drops an axis of extent 1.
    pub fn squeeze(&self, axis: usize) -> View {
        let mut v = self.clone();
        v.shape.remove(axis);
        v.strides.remove(axis);
        v
    }

    pub fn broadcast_to(&self, shape: &[usize]) -> Option<View> {
        if shape == self.shape.as_slice() {
            return Some(self.clone());
        }
        let skip = shape.len().checked_sub(self.ndim())?;
        let mut strides: Strides = SmallVec::from_elem(0, shape.len());
        for i in 0..self.ndim() {
            match (self.shape[i], shape[skip + i]) {
                (a, b) if a == b => strides[skip + i] = self.strides[i],
                (1, _) => {}
                _ => return None,
            }
        }
        Some(View { dtype: self.dtype, offset: self.offset, shape: SmallVec::from_slice(shape), strides })
    }

    /// The same elements under another shape of the same size, if strides can express it.
    pub fn reshape(&self, shape: &[usize], order: Order) -> Option<View> {
        if self.size() == 0 {
            let mut v = View::dense(self.dtype, shape, order);
            v.offset = self.offset;
            return Some(v);
        }
        if order == Order::F {
            let back: Dims = shape.iter().rev().copied().collect();
            return Some(self.reversed_axes().reshape(&back, Order::C)?.reversed_axes());
        }
        let old: SmallVec<[(usize, isize); 4]> =
            self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|&(d, _)| d != 1).collect();
        let mut strides: Strides = SmallVec::from_elem(0, shape.len());
        let (mut oi, mut ni) = (0, 0);
        while ni < shape.len() && oi < old.len() {
            let (mut np, mut op) = (shape[ni], old[oi].0);
            let (n0, o0) = (ni, oi);
            while np != op {
                if np < op {
                    ni += 1;
                    np *= shape.get(ni)?;
                } else {
                    oi += 1;
                    op *= old.get(oi)?.0;
                }
            }
            for k in o0..oi {
                if old[k].1 != old[k + 1].1 * old[k + 1].0 as isize {
                    return None;
                }
            }
            let mut step = old[oi].1;
            for k in (n0..=ni).rev() {
                strides[k] = step;
                step *= shape[k] as isize;
            }
            ni += 1;
            oi += 1;
        }
        let last = if ni > 0 { strides[ni - 1] } else { self.dtype.size() as isize };
        strides[ni..].fill(last);
        Some(View { dtype: self.dtype, offset: self.offset, shape: SmallVec::from_slice(shape), strides })
    }

    /// `numpy.diagonal`: the two axes leave, the diagonal comes last.
    pub fn diagonal(&self, offset: isize, axis1: usize, axis2: usize) -> View {
        let (n1, n2) = (self.shape[axis1] as isize, self.shape[axis2] as isize);
        let (skip1, skip2) = if offset < 0 { (-offset, 0) } else { (0, offset) };
        let len = (n1 - skip1).min(n2 - skip2).max(0) as usize;
        let mut v = self.clone();
        if len > 0 {
            let at = v.offset as isize + skip1 * v.strides[axis1] + skip2 * v.strides[axis2];
            v.offset = at as usize;
        }
        let step = v.strides[axis1] + v.strides[axis2];
        let (a, b) = (axis1.max(axis2), axis1.min(axis2));
        for axis in [a, b] {
            v.shape.remove(axis);
            v.strides.remove(axis);
        }
        v.shape.push(len);
        v.strides.push(step);
        v
    }

    /// The layout of a copy that keeps this view's axis order (NumPy's 'K' for copies): axes by stride,
    /// the largest outermost, broadcast axes innermost.
    pub fn dense_like(&self, dtype: DType) -> View {
        self.dense_like_as(dtype, &self.shape)
    }

    /// The same for another shape of as many dimensions.
    pub fn dense_like_as(&self, dtype: DType, shape: &[usize]) -> View {
        let order = match () {
            _ if self.is_c_contiguous() || self.ndim() <= 1 => Some(Order::C),
            _ if self.is_f_contiguous() => Some(Order::F),
            _ => None,
        };
        if let Some(order) = order {
            return View::dense(dtype, shape, order);
        }
        let mut axes: Dims = (0..self.ndim()).collect();
        axes.sort_by_key(|&a| std::cmp::Reverse(self.strides[a].unsigned_abs()));
        let strides = strides_in_order(dtype.size(), shape, axes.iter().rev());
        View { dtype, offset: 0, shape: SmallVec::from_slice(shape), strides }
    }
}

/// Dense strides with the axes given from the innermost outwards.
fn strides_in_order<'a>(itemsize: usize, shape: &[usize], inner_first: impl Iterator<Item = &'a usize>) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(0, shape.len());
    let mut step = itemsize as isize;
    for &a in inner_first {
        strides[a] = step;
        step = step.saturating_mul(shape[a].max(1) as isize);
    }
    strides
}

/// Dense strides for `shape` whose axis order follows the operands' (NumPy's 'K' for ufunc outputs).
/// Axes are sorted from the innermost outwards as NumPy's iterator does it: an axis moves inwards past
/// another only if the first operand that tells them apart says so and none says the opposite.
pub fn keep_order_strides(itemsize: usize, shape: &[usize], operands: &[&Strides]) -> Strides {
    let mut axes: Dims = (0..shape.len()).rev().collect();
    for i in 1..axes.len() {
        let mut at = i;
        for j in (0..i).rev() {
            // Of an extent of 1 no operand has a say.
            let told = if shape[axes[i]] == 1 || shape[axes[j]] == 1 { &[][..] } else { operands };
            match belongs_inside(told, axes[i], axes[j]) {
                Some(true) => at = j,
                Some(false) => break,
                None => {}
            }
        }
        let moved = axes.remove(i);
        axes.insert(at, moved);
    }
    strides_in_order(itemsize, shape, axes.iter())
}

/// Whether `axis` should lie inside `other`; `None` when no operand tells them apart.
fn belongs_inside(operands: &[&Strides], axis: usize, other: usize) -> Option<bool> {
    let mut answer = None;
    for s in operands {
        let (a, b) = (s[axis].unsigned_abs(), s[other].unsigned_abs());
        if a != 0 && b != 0 {
            if b <= a {
                answer = Some(false);
            } else if answer.is_none() {
                answer = Some(true);
            }
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(shape: &[usize]) -> View {
        View::dense(DType::F64, shape, Order::C)
    }

    #[test]
    fn reshape_splits_and_joins() {
        let v = dense(&[4, 6]);
        assert_eq!(v.reshape(&[2, 2, 3, 2], Order::C).unwrap().strides.as_slice(), [96, 48, 16, 8]);
        let t = v.transpose(&[1, 0]);
        assert!(t.reshape(&[24], Order::C).is_none());
        assert_eq!(t.reshape(&[24], Order::F).unwrap().strides.as_slice(), [8]);
        assert_eq!(v.slice(0, 0, 2, 2).reshape(&[2, 3, 2], Order::C).unwrap().strides.as_slice(), [96, 16, 8]);
        assert_eq!(dense(&[1]).reshape(&[1, 1], Order::C).unwrap().shape.as_slice(), [1, 1]);
    }

    #[test]
    fn broadcasting() {
        assert_eq!(broadcast_shapes([&[3, 1][..], &[4][..]]).unwrap().as_slice(), [3, 4]);
        assert!(broadcast_shapes([&[3][..], &[4][..]]).is_none());
        assert_eq!(dense(&[3, 1]).broadcast_to(&[2, 3, 4]).unwrap().strides.as_slice(), [0, 8, 0]);
    }

    #[test]
    fn keep_order() {
        let t = dense(&[4, 6]).transpose(&[1, 0]);
        assert_eq!(t.dense_like(DType::F32).strides.as_slice(), [4, 24]);
        assert_eq!(dense(&[4, 6]).dense_like(DType::F32).strides.as_slice(), [24, 4]);
    }
}
