//! Arithmetic progressions.

use crate::element::{Bool, C64, C128, Element, Half, complex};
use crate::isa::{ISA, for_each_isa};
use numloom_ir::DType;
use std::sync::LazyLock;

trait Progress: Element {
    fn term(start: Self, step: Self, i: usize) -> Self;
}

macro_rules! progress {
    ([$($t:ty)*], |$start:ident, $step:ident, $i:ident| $e:expr) => { $(impl Progress for $t {
        #[inline(always)]
        fn term($start: $t, $step: $t, $i: usize) -> $t {
            #[allow(dead_code)]
            type T = $t;
            $e
        }
    })* };
}

progress!([i8 u8 i16 u16 i32 u32 i64 u64], |start, step, i| start.wrapping_add(step.wrapping_mul(i as T)));
progress!([f32 f64], |start, step, i| start + i as T * step);
progress!([Half], |start, step, i| Half::narrow(start.widen() + i as f32 * step.widen(), &mut 0));
progress!([Bool], |start, step, i| Bool::new(start.get() | (step.get() & (i != 0))));
progress!([C64], |start, step, i| complex(start.re + i as f32 * step.re, start.im + i as f32 * step.im));
progress!([C128], |start, step, i| complex(start.re + i as f64 * step.re, start.im + i as f64 * step.im));

#[inline(always)]
unsafe fn body<T: Progress>(n: usize, start: *const u8, step: *const u8, first: usize, dst: *mut u8) {
    let (start, step, dst) = (start.cast::<T>().read_unaligned(), step.cast::<T>().read_unaligned(), dst.cast::<T>());
    for i in 0..n {
        dst.add(i).write_unaligned(T::term(start, step, first + i));
    }
}

type IotaFn = unsafe fn(usize, *const u8, *const u8, usize, *mut u8);

for_each_isa!(for_isa = body[T: Progress](n: usize, start: *const u8, step: *const u8, first: usize, dst: *mut u8) -> ());

static TABLE: LazyLock<[IotaFn; DType::COUNT]> = LazyLock::new(|| {
    macro_rules! row { ($($t:ty)*) => { [$(for_isa::<$t>(*ISA)),*] }; }
    row!(Bool i8 u8 i16 u16 i32 u32 i64 u64 Half f32 f64 C64 C128)
});

/// Writes `start + step * (first + i)` for `i` below `n`, computed in `dtype`; integers wrap.
#[inline]
pub unsafe fn iota(dtype: DType, n: usize, start: *const u8, step: *const u8, first: usize, dst: *mut u8) {
    TABLE[dtype as usize](n, start, step, first, dst)
}
