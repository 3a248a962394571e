//! Products of a few numbers with each other, and the floating-point flags that they raised.

use crate::element::{Element, with_type};
use crate::run::{Room, Run};
use numloom_ir::DType;
use numloom_loops::{fp_clear, fp_status};
use std::num::Wrapping;
use std::ops::{Mul, Sub};

/// Every element of `a` times every element of `b`, row by row into `out`.
///
/// # Safety
/// Both runs are readable memory of `dtype`, and `out` is writeable, aligned and apart from them.
pub unsafe fn outer(dtype: DType, a: Run, b: Run, out: *mut u8) -> u8 {
    fn multiply<T: Element>(a: &[T], b: &[T], out: &mut [T]) {
        for (row, &x) in out.chunks_exact_mut(b.len()).zip(a) {
            row.iter_mut().zip(b).for_each(|(o, &y)| *o = x.mul(y));
        }
    }
    fp_clear();
    with_type!(dtype, T => {
        let (mut a_room, mut b_room) = (Room::<T>::new(), Room::<T>::new());
        let out = std::slice::from_raw_parts_mut(out.cast::<T>(), a.len * b.len);
        multiply(a.slice(&mut a_room), b.slice(&mut b_room), out);
    });
    fp_status()
}

/// The vector products of `n` pairs of vectors in space; integers wrap. `None` for halves, complex numbers and bools.
///
/// # Safety
/// There are `3 * n` elements of `dtype` at each place; `out` is writeable and apart from the others.
pub unsafe fn cross(dtype: DType, a: *const u8, b: *const u8, n: usize, out: *mut u8) -> Option<u8> {
    unsafe fn multiply<T: Copy + Mul<Output = T> + Sub<Output = T>>(
        a: *const u8,
        b: *const u8,
        n: usize,
        out: *mut u8,
    ) {
        let (a, b, out) = (a.cast::<[T; 3]>(), b.cast::<[T; 3]>(), out.cast::<[T; 3]>());
        for i in 0..n {
            let (x, y) = (a.add(i).read_unaligned(), b.add(i).read_unaligned());
            let part = |j: usize, k: usize| x[j] * y[k] - x[k] * y[j];
            out.add(i).write_unaligned([part(1, 2), part(2, 0), part(0, 1)]);
        }
    }
    fp_clear();
    match dtype {
        DType::F64 => multiply::<f64>(a, b, n, out),
        DType::F32 => multiply::<f32>(a, b, n, out),
        DType::I8 | DType::U8 => multiply::<Wrapping<u8>>(a, b, n, out),
        DType::I16 | DType::U16 => multiply::<Wrapping<u16>>(a, b, n, out),
        DType::I32 | DType::U32 => multiply::<Wrapping<u32>>(a, b, n, out),
        DType::I64 | DType::U64 => multiply::<Wrapping<u64>>(a, b, n, out),
        DType::Bool | DType::F16 | DType::C64 | DType::C128 => return None,
    }
    Some(fp_status())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_in_space() {
        let (a, b, mut c) = ([1.0f64, 2.0, 3.0, 1.0, 0.0, 0.0], [4.0f64, 5.0, 6.0, 0.0, 1.0, 0.0], [0.0f64; 6]);
        // SAFETY: two vectors each.
        let flags = unsafe { cross(DType::F64, a.as_ptr().cast(), b.as_ptr().cast(), 2, c.as_mut_ptr().cast()) };
        assert_eq!((flags, c), (Some(0), [-3.0, 6.0, -3.0, 0.0, 0.0, 1.0]));
    }

    #[test]
    fn every_pair_and_what_overflows() {
        let (a, mut c) = ([1e200f64, 2.0], [0.0f64; 4]);
        let run = Run { ptr: a.as_ptr().cast(), step: 8, len: 2 };
        // SAFETY: two elements, four products.
        let flags = unsafe { outer(DType::F64, run, run, c.as_mut_ptr().cast()) };
        assert_eq!(c, [f64::INFINITY, 2e200, 2e200, 4.0]);
        assert_ne!(flags, 0);
    }
}
