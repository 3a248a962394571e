//! Folds of a run into one element.

use crate::cast::cast_fn;
use crate::element::{Bool, C64, C128, Element, Half};
use crate::fp_status::Quiet;
use crate::isa::{Isa, for_each_isa};
use crate::kernels::Truth;
use crate::map::{Two, hush, splat, unhush};
use crate::{BLOCK, FoldFn, In, fold_fn};
use numloom_ir::{DType, ScalarOp};
use std::mem::MaybeUninit;

/// Folds many lanes side by side, then the lanes in a tree: for operations that do not mind the order.
#[inline(always)]
unsafe fn lanes_body<T: Element, K: Two<T, T, Out = T>>(n: usize, input: In, out: *mut u8) -> u8 {
    let mut room = [const { MaybeUninit::<T>::uninit() }; BLOCK];
    let run = if input.step != 0 {
        input.ptr.cast::<T>()
    } else {
        splat(n, input.ptr.cast::<T>().read_unaligned(), room.as_mut_ptr().cast::<T>());
        room.as_ptr().cast()
    };
    let quiet = hush(K::STYLE.quiet());
    let mut flags = 0;
    let result = if n >= 128 {
        if size_of::<T>() >= 8 { lanes::<T, K, 32>(n, run, &mut flags) } else { lanes::<T, K, 64>(n, run, &mut flags) }
    } else if n >= 8 {
        lanes::<T, K, 8>(n, run, &mut flags)
    } else {
        let mut result = run.read_unaligned();
        for i in 1..n {
            result = K::call(result, run.add(i).read_unaligned(), &mut flags);
        }
        result
    };
    out.cast::<T>().write_unaligned(result);
    unhush(quiet);
    flags
}

/// What products are made of.
pub(crate) trait Factor: Element {
    /// Whether a product that came out as this does so in any order. Zeros and infinities depend on what they met: a lane
    /// may go beyond the range before a zero of another one comes, or the other way round.
    fn is_settled(self) -> bool;
}

macro_rules! factors {
    ($($t:ty |$x:ident| $settled:expr;)*) => { $(
        impl Factor for $t {
            #[inline(always)]
            fn is_settled(self) -> bool {
                let $x = self;
                $settled
            }
        }
    )* };
}

factors! {
    f32 |x| x.is_finite() & (x != 0.0);
    f64 |x| x.is_finite() & (x != 0.0);
    C64 |x| x.re.is_finite() & x.im.is_finite() & ((x.re != 0.0) | (x.im != 0.0));
    C128 |x| x.re.is_finite() & x.im.is_finite() & ((x.re != 0.0) | (x.im != 0.0));
}

/// A product that another order could change is made once more from the left, as NumPy makes all.
#[inline(always)]
unsafe fn product_body<T: Factor, K: Two<T, T, Out = T>>(n: usize, input: In, out: *mut u8) -> u8 {
    let before = Quiet::begin();
    let flags = lanes_body::<T, K>(n, input, out);
    if out.cast::<T>().read_unaligned().is_settled() {
        return flags;
    }
    before.end();
    left::<T, K>(n, input, out)
}

for_each_isa!(pub(crate) product = product_body[T: Factor, K: Two<T, T, Out = T>](n: usize, input: In, out: *mut u8) -> u8);

/// Nothing, as far as anybody can tell; but the compiler does not turn the loop around it into one over single lanes,
/// which of integers it may do, and then gathers them from all over the run.
#[inline(always)]
pub fn keep_lanes() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: no instruction.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags))
    };
}

#[inline(always)]
unsafe fn lanes<T: Element, K: Two<T, T, Out = T>, const N: usize>(n: usize, run: *const T, flags: &mut u8) -> T {
    let mut sums: [T; N] = run.cast::<[T; N]>().read_unaligned();
    let mut i = N;
    while i + N <= n {
        keep_lanes();
        for j in 0..N {
            sums[j] = K::call(sums[j], run.add(i + j).read_unaligned(), flags);
        }
        i += N;
    }
    for j in 0..n - i {
        sums[j] = K::call(sums[j], run.add(i + j).read_unaligned(), flags);
    }
    let mut width = N / 2;
    while width > 0 {
        for j in 0..width {
            sums[j] = K::call(sums[j], sums[j + width], flags);
        }
        width /= 2;
    }
    sums[0]
}

/// Lanes of folds whose elements are compared or tested.
const LANES: usize = 64;

/// The smaller or larger of two floats, once as if there were no NaN.
pub(crate) trait Extreme<T: Element>: Two<T, T, Out = T> {
    type Bits: Copy + Default + Eq + std::ops::BitOr<Output = Self::Bits>;
    /// What `call` gives for two numbers.
    fn of_numbers(a: T, b: T) -> T;
    /// Not zero for NaN.
    fn strange(a: T) -> Self::Bits;
}

/// As `lanes_body`, with NaNs looked for beside the comparisons: a run with any goes through `K::call` once more.
#[inline(always)]
unsafe fn extreme_body<T: Element, K: Extreme<T>>(n: usize, input: In, out: *mut u8) -> u8 {
    if n >= LANES && input.step != 0 {
        let quiet = hush(true);
        let (result, strange) = extreme_of_numbers::<T, K>(n, input.ptr.cast());
        out.cast::<T>().write_unaligned(result);
        unhush(quiet);
        if !strange {
            return 0;
        }
    }
    lanes_body::<T, K>(n, input, out)
}

/// The extreme of `n >= LANES` elements if none is NaN, and whether one is.
#[inline(always)]
unsafe fn extreme_of_numbers<T: Element, K: Extreme<T>>(n: usize, run: *const T) -> (T, bool) {
    let mut found: [T; LANES] = run.cast::<[T; LANES]>().read_unaligned();
    let mut bits = [K::Bits::default(); LANES];
    for j in 0..LANES {
        bits[j] = K::strange(found[j]);
    }
    let mut i = LANES;
    while i < n {
        // The last step reads some elements again, which changes nothing.
        let at = i.min(n - LANES);
        keep_lanes();
        for j in 0..LANES {
            let x = run.add(at + j).read_unaligned();
            found[j] = K::of_numbers(found[j], x);
            bits[j] = bits[j] | K::strange(x);
        }
        i += LANES;
    }
    let mut strange = K::Bits::default();
    for j in 0..LANES {
        strange = strange | bits[j];
    }
    let found = joined::<T, K, LANES, 32>(found);
    let found = joined::<T, K, 32, 16>(found);
    let found = joined::<T, K, 16, 8>(found);
    let found = joined::<T, K, 8, 4>(found);
    let found = joined::<T, K, 4, 2>(found);
    (K::of_numbers(found[0], found[1]), strange != K::Bits::default())
}

#[inline(always)]
fn joined<T: Element, K: Extreme<T>, const N: usize, const HALF: usize>(lanes: [T; N]) -> [T; HALF] {
    let mut joined = [lanes[0]; HALF];
    for j in 0..HALF {
        joined[j] = K::of_numbers(lanes[j], lanes[j + HALF]);
    }
    joined
}

for_each_isa!(pub(crate) extreme = extreme_body[T: Element, K: Extreme<T>](n: usize, input: In, out: *mut u8) -> u8);

for_each_isa!(lanes_fn = lanes_body[T: Element, K: Two<T, T, Out = T>](n: usize, input: In, out: *mut u8) -> u8);

/// The fold of an operation that does not mind the order.
pub(crate) fn any_order<T: Element, K: Two<T, T, Out = T>>(isa: Isa) -> FoldFn {
    lanes_fn::<T, K>(isa)
}

/// Folds from the left, one after another.
pub(crate) unsafe fn left<T: Element, K: Two<T, T, Out = T>>(n: usize, input: In, out: *mut u8) -> u8 {
    let quiet = hush(K::STYLE.quiet());
    let (mut result, mut flags) = (input.ptr.cast::<T>().read_unaligned(), 0);
    for i in 1..n {
        let next = input.ptr.add(i * input.step).cast::<T>().read_unaligned();
        result = K::call(result, next, &mut flags);
    }
    out.cast::<T>().write_unaligned(result);
    unhush(quiet);
    flags
}

/// As `left`, from zero: one negative element becomes positive.
pub(crate) unsafe fn left_from_zero<T: Element + Default, K: Two<T, T, Out = T>>(
    n: usize,
    input: In,
    out: *mut u8,
) -> u8 {
    let (mut result, mut flags) = (T::default(), 0);
    for i in 0..n {
        let next = input.ptr.add(i * input.step).cast::<T>().read_unaligned();
        result = K::call(result, next, &mut flags);
    }
    out.cast::<T>().write_unaligned(result);
    flags
}

/// Sums, differences, products and quotients of binary16 are kept in `f32` and rounded once.
pub(crate) unsafe fn half_in_f32<const OP: u8>(n: usize, input: In, out: *mut u8) -> u8 {
    let op = ScalarOp::ALL[OP as usize];
    let mut room = [const { MaybeUninit::<f32>::uninit() }; BLOCK];
    let ptr = room.as_mut_ptr().cast::<u8>();
    cast_fn(DType::F16, DType::F32)(n, &input, &ptr);
    let fold = op.loop_for(DType::F32).and_then(|lp| fold_fn(op, lp)).expect("the same fold over f32");
    let mut result = 0f32;
    let flags = fold(n, In { ptr, step: size_of::<f32>() }, (&raw mut result).cast());
    let mut rounding = 0;
    out.cast::<Half>().write_unaligned(Half::narrow(result, &mut rounding));
    flags | rounding
}

/// How truths fold: `mark` makes a lane's bit, bits of lanes `join`, and `answer` reads what came of it.
pub(crate) trait Logic: 'static {
    fn mark(truth: bool) -> u8;
    fn join(a: u8, b: u8) -> u8;
    fn answer(bit: u8) -> bool;
}

macro_rules! logic {
    ($($k:ident |$t:ident| $mark:expr, |$a:ident, $b:ident| $join:expr, |$bit:ident| $answer:expr;)*) => { $(
        pub(crate) struct $k;
        impl Logic for $k {
            #[inline(always)]
            fn mark($t: bool) -> u8 {
                $mark as u8
            }
            #[inline(always)]
            fn join($a: u8, $b: u8) -> u8 {
                $join
            }
            #[inline(always)]
            fn answer($bit: u8) -> bool {
                $answer
            }
        }
    )* };
}

logic! {
    All |t| !t, |a, b| a | b, |bit| bit == 0;
    Any |t| t, |a, b| a | b, |bit| bit != 0;
    Odd |t| t, |a, b| a ^ b, |bit| bit != 0;
}

#[inline(always)]
unsafe fn logic_body<T: ElementTruth, L: Logic>(n: usize, input: In, out: *mut u8) -> u8 {
    let run = input.ptr.cast::<T>();
    let mut bits = [0u8; LANES];
    let mut last = 0;
    if input.step == 0 {
        let bit = L::mark(run.read_unaligned().truth());
        for _ in 0..n {
            last = L::join(last, bit);
        }
    } else {
        let mut i = 0;
        while i + LANES <= n {
            for j in 0..LANES {
                bits[j] = L::join(bits[j], L::mark(run.add(i + j).read_unaligned().truth()));
            }
            i += LANES;
        }
        for j in i..n {
            last = L::join(last, L::mark(run.add(j).read_unaligned().truth()));
        }
    }
    let joined = bits.into_iter().fold(last, L::join);
    out.cast::<Bool>().write(Bool::new(L::answer(joined)));
    0
}

for_each_isa!(pub(crate) logic = logic_body[T: ElementTruth, L: Logic](n: usize, input: In, out: *mut u8) -> u8);

/// An element that is true or false.
pub(crate) trait ElementTruth: Element + Truth {}
impl<T: Element + Truth> ElementTruth for T {}
