//! Every kernel of every level this machine runs, against libm.

mod accuracy;
mod calling;
mod special;

use crate::dispatch::Level;
use numloom_ir::ScalarOp::{self, *};

const UNARY: &[ScalarOp] = &[
    Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Arcsin, Arccos, Arctan, Sinh, Cosh, Tanh, Arcsinh,
    Arccosh, Arctanh, Cbrt,
];
const BINARY: &[ScalarOp] = &[Power, Arctan2, Hypot, Logaddexp, Logaddexp2, Fmod];

/// A small generator: the tests must not depend on a crate for a few numbers.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

fn run1_f64(op: ScalarOp, level: Level, x: &[f64]) -> (Vec<f64>, u8) {
    let mut out = vec![0.0; x.len()];
    let kernel = crate::unary_f64_at(op, level).expect("listed");
    // SAFETY: both hold `x.len()` elements.
    let flags = unsafe { kernel(x.len(), x.as_ptr(), out.as_mut_ptr()) };
    (out, flags)
}

fn run1_f32(op: ScalarOp, level: Level, x: &[f32]) -> (Vec<f32>, u8) {
    let mut out = vec![0.0; x.len()];
    let kernel = crate::unary_f32_at(op, level).expect("listed");
    // SAFETY: both hold `x.len()` elements.
    let flags = unsafe { kernel(x.len(), x.as_ptr(), out.as_mut_ptr()) };
    (out, flags)
}

fn run2_f64(op: ScalarOp, level: Level, a: &[f64], b: &[f64]) -> (Vec<f64>, u8) {
    let mut out = vec![0.0; a.len()];
    let kernel = crate::binary_f64_at(op, level).expect("listed");
    // SAFETY: all hold `a.len()` elements.
    let flags = unsafe { kernel(a.len(), a.as_ptr(), b.as_ptr(), out.as_mut_ptr()) };
    (out, flags)
}

fn run2_f32(op: ScalarOp, level: Level, a: &[f32], b: &[f32]) -> (Vec<f32>, u8) {
    let mut out = vec![0.0; a.len()];
    let kernel = crate::binary_f32_at(op, level).expect("listed");
    // SAFETY: all hold `a.len()` elements.
    let flags = unsafe { kernel(a.len(), a.as_ptr(), b.as_ptr(), out.as_mut_ptr()) };
    (out, flags)
}

macro_rules! references {
    ($($function:ident($($x:ident),*) by $libm:ident as $scalar:ty [$($name:ident)*];)*) => {$(
        /// What libm gives.
        fn $function(op: ScalarOp, $($x: &[f64]),*) -> Vec<f64> {
            let scalar: $scalar = match op {
                $($name => <crate::libm::$name as crate::libm::$libm<f64>>::libm,)*
                _ => panic!("{op:?} is not listed"),
            };
            let n = [$($x.len()),*][0];
            (0..n).map(|i| scalar($($x[i]),*)).collect()
        }
    )*};
}
references! {
    reference1(x) by Libm1 as fn(f64) -> f64 [Exp Exp2 Expm1 Log Log2 Log10 Log1p Sin Cos Tan Arcsin Arccos Arctan Sinh Cosh Tanh Arcsinh
        Arccosh Arctanh Cbrt];
    reference2(a, b) by Libm2 as fn(f64, f64) -> f64 [Power Arctan2 Hypot Logaddexp Logaddexp2 Fmod];
}

fn levels() -> impl Iterator<Item = Level> {
    Level::available().iter().copied()
}
