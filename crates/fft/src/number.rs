//! Elements in and out of views, in the precision of the transform.

use numloom_ir::DType;
use rustfft::num_complex::Complex;

/// float32 or float64: what a transform computes in.
pub trait Number: rustfft::FftNum + crate::plans::Planned + Default {
    fn narrow(x: f64) -> Self;
    fn wide(self) -> f64;
}

impl Number for f32 {
    fn narrow(x: f64) -> f32 {
        x as f32
    }
    fn wide(self) -> f64 {
        self as f64
    }
}

impl Number for f64 {
    fn narrow(x: f64) -> f64 {
        x
    }
    fn wide(self) -> f64 {
        self
    }
}

/// # Safety
/// `p` is readable as an element of `dtype`, which is an inexact one other than float16.
#[inline(always)]
pub unsafe fn read<T: Number>(dtype: DType, p: *const u8) -> Complex<T> {
    let single = |i: usize| T::narrow(p.cast::<f32>().add(i).read_unaligned() as f64);
    let double = |i: usize| T::narrow(p.cast::<f64>().add(i).read_unaligned());
    match dtype {
        DType::F32 => Complex::new(single(0), T::zero()),
        DType::F64 => Complex::new(double(0), T::zero()),
        DType::C64 => Complex::new(single(0), single(1)),
        _ => Complex::new(double(0), double(1)),
    }
}

/// # Safety
/// As for `read`, writeable.
#[inline(always)]
pub unsafe fn write<T: Number>(dtype: DType, p: *mut u8, z: Complex<T>) {
    match dtype {
        DType::F32 => p.cast::<f32>().write_unaligned(z.re.wide() as f32),
        DType::F64 => p.cast::<f64>().write_unaligned(z.re.wide()),
        DType::C64 => {
            p.cast::<f32>().write_unaligned(z.re.wide() as f32);
            p.cast::<f32>().add(1).write_unaligned(z.im.wide() as f32);
        }
        _ => {
            p.cast::<f64>().write_unaligned(z.re.wide());
            p.cast::<f64>().add(1).write_unaligned(z.im.wide());
        }
    }
}
