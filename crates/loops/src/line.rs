//! Arithmetic on strided lines without buffers: where one element lies far from the next, to gather them takes as long as
//! to compute.

use numloom_ir::{DType, ScalarOp};

/// Where a line begins.
#[derive(Clone, Copy)]
pub struct Line {
    pub ptr: *const u8,
    /// Bytes from one element to the next: 0 for one element that stands for all.
    pub step: isize,
    /// Bytes of an element.
    pub size: usize,
}

/// Computes `n` elements of two lines into a third. What is written is read as the same elements, or not at all.
pub type LineFn = unsafe fn(n: usize, a: Line, b: Line, to: Line);

/// The loop of an operation on two lines of one type, where there is one.
pub fn line_fn(op: ScalarOp, dtype: DType) -> Option<LineFn> {
    match dtype {
        DType::F64 => of::<f64>(op),
        DType::F32 => of::<f32>(op),
        _ => None,
    }
}

trait Real: Copy {
    fn add(self, b: Self) -> Self;
    fn subtract(self, b: Self) -> Self;
    fn multiply(self, b: Self) -> Self;
    fn divide(self, b: Self) -> Self;
}

macro_rules! real {
    ($($t:ty)*) => {$(
        impl Real for $t {
            fn add(self, b: Self) -> Self { self + b }
            fn subtract(self, b: Self) -> Self { self - b }
            fn multiply(self, b: Self) -> Self { self * b }
            fn divide(self, b: Self) -> Self { self / b }
        }
    )*};
}
real!(f64 f32);

fn of<T: Real>(op: ScalarOp) -> Option<LineFn> {
    Some(match op {
        ScalarOp::Add => |n, a, b, to| unsafe { each(n, a, b, to, T::add) },
        ScalarOp::Subtract => |n, a, b, to| unsafe { each(n, a, b, to, T::subtract) },
        ScalarOp::Multiply => |n, a, b, to| unsafe { each(n, a, b, to, T::multiply) },
        ScalarOp::Divide => |n, a, b, to| unsafe { each(n, a, b, to, T::divide) },
        _ => return None,
    })
}

#[inline(always)]
unsafe fn each<T: Copy>(n: usize, a: Line, b: Line, to: Line, f: impl Fn(T, T) -> T) {
    let read = |line: Line, i: isize| line.ptr.offset(i * line.step).cast::<T>().read_unaligned();
    let write = |i: isize, value: T| to.ptr.cast_mut().offset(i * to.step).cast::<T>().write_unaligned(value);
    // One value is read once.
    if b.step == 0 {
        let b = read(b, 0);
        (0..n as isize).for_each(|i| write(i, f(read(a, i), b)));
    } else {
        (0..n as isize).for_each(|i| write(i, f(read(a, i), read(b, i))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_steps() {
        let a: Vec<f64> = (0..30).map(f64::from).collect();
        let mut out = vec![0.0f64; 30];
        let line = |p: *const f64, step: isize| Line { ptr: p.cast(), step: step * 8, size: 8 };
        let f = line_fn(ScalarOp::Subtract, DType::F64).unwrap();
        // SAFETY: ten elements each, inside their vectors.
        unsafe { f(10, line(a.as_ptr(), 3), line(a.as_ptr().add(9), -1), line(out.as_mut_ptr(), 2)) };
        for i in 0..10 {
            assert_eq!(out[2 * i], 3.0 * i as f64 - (9 - i) as f64);
            assert_eq!(out[2 * i + 1], 0.0);
        }
        // SAFETY: as above.
        unsafe { f(10, line(out.as_ptr(), 2), line(a.as_ptr().add(5), 0), line(out.as_mut_ptr(), 2)) };
        assert_eq!(out[18], 27.0 - 0.0 - 5.0);
    }
}
