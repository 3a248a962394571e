//! Normal and exponential numbers by ziggurat: nearly every word makes one number, and a few need more words.

use crate::bits::Bits;
use crate::ziggurat_tables as tables;

const NORMAL_R: f64 = 3.654_152_885_361_009;
const NORMAL_INV_R: f64 = 0.273_661_237_329_758_27;
const EXP_R: f64 = 7.697_117_470_131_05;

/// What a word makes, and whether it lies in the core of its layer; otherwise more words decide.
#[inline(always)]
pub fn normal_core(word: u64) -> (f64, bool) {
    let layer = (word & 0xFF) as usize;
    let size = (word >> 9) & 0x000F_FFFF_FFFF_FFFF;
    let x = size as f64 * f64::from_bits(tables::NORMAL_SCALE[layer]);
    // The sign bit of the word becomes that of the number.
    (f64::from_bits(x.to_bits() | ((word >> 8) & 1) << 63), size < tables::NORMAL_LIMIT[layer])
}

#[inline(always)]
pub fn standard_normal<B: Bits>(bits: &mut B) -> f64 {
    loop {
        let word = bits.next_u64();
        let (x, is_core) = normal_core(word);
        if is_core {
            return x;
        }
        if let Some(x) = normal_edge(bits, word, x) {
            return x;
        }
    }
}

/// A word outside the core of its layer: the tail, or the wedge under the density, or nothing.
#[cold]
fn normal_edge<B: Bits>(bits: &mut B, word: u64, x: f64) -> Option<f64> {
    let layer = (word & 0xFF) as usize;
    if layer == 0 {
        loop {
            let far = -NORMAL_INV_R * (-bits.next_f64()).ln_1p();
            let y = -(-bits.next_f64()).ln_1p();
            if y + y > far * far {
                return Some(if (word >> 17) & 1 == 1 { -(NORMAL_R + far) } else { NORMAL_R + far });
            }
        }
    }
    let density = |i: usize| f64::from_bits(tables::NORMAL_DENSITY[i]);
    let height = (density(layer - 1) - density(layer)) * bits.next_f64() + density(layer);
    (height < (-0.5 * x * x).exp()).then_some(x)
}

#[inline(always)]
pub fn normal_core_f32(word: u32) -> (f32, bool) {
    let layer = (word & 0xFF) as usize;
    let size = word >> 9;
    let x = size as f32 * f32::from_bits(tables::NORMAL_SCALE_F32[layer]);
    (f32::from_bits(x.to_bits() | ((word >> 8) & 1) << 31), size < tables::NORMAL_LIMIT_F32[layer])
}

#[inline(always)]
pub fn standard_normal_f32<B: Bits>(bits: &mut B) -> f32 {
    loop {
        let word = bits.next_u32();
        let (x, is_core) = normal_core_f32(word);
        if is_core {
            return x;
        }
        if let Some(x) = normal_edge_f32(bits, word, x) {
            return x;
        }
    }
}

#[cold]
fn normal_edge_f32<B: Bits>(bits: &mut B, word: u32, x: f32) -> Option<f32> {
    let layer = (word & 0xFF) as usize;
    if layer == 0 {
        loop {
            let far = -(NORMAL_INV_R as f32) * (-bits.next_f32()).ln_1p();
            let y = -(-bits.next_f32()).ln_1p();
            if y + y > far * far {
                let out = NORMAL_R as f32 + far;
                return Some(if (word >> 17) & 1 == 1 { -out } else { out });
            }
        }
    }
    let density = |i: usize| f32::from_bits(tables::NORMAL_DENSITY_F32[i]);
    let height = (density(layer - 1) - density(layer)) * bits.next_f32() + density(layer);
    // The exponential is taken in double precision.
    ((height as f64) < (-0.5 * x as f64 * x as f64).exp()).then_some(x)
}

#[inline(always)]
pub fn exponential_core(word: u64) -> (f64, bool) {
    let layer = (word >> 3 & 0xFF) as usize;
    let size = word >> 11;
    (size as f64 * f64::from_bits(tables::EXP_SCALE[layer]), size < tables::EXP_LIMIT[layer])
}

#[inline(always)]
pub fn standard_exponential<B: Bits>(bits: &mut B) -> f64 {
    loop {
        let word = bits.next_u64();
        let (x, is_core) = exponential_core(word);
        if is_core {
            return x;
        }
        if let Some(x) = exponential_edge(bits, (word >> 3 & 0xFF) as usize, x) {
            return x;
        }
    }
}

#[cold]
fn exponential_edge<B: Bits>(bits: &mut B, layer: usize, x: f64) -> Option<f64> {
    if layer == 0 {
        return Some(EXP_R - (-bits.next_f64()).ln_1p());
    }
    let density = |i: usize| f64::from_bits(tables::EXP_DENSITY[i]);
    let height = (density(layer - 1) - density(layer)) * bits.next_f64() + density(layer);
    (height < (-x).exp()).then_some(x)
}

#[inline(always)]
pub fn exponential_core_f32(word: u32) -> (f32, bool) {
    let layer = (word >> 1 & 0xFF) as usize;
    let size = word >> 9;
    (size as f32 * f32::from_bits(tables::EXP_SCALE_F32[layer]), size < tables::EXP_LIMIT_F32[layer])
}

#[inline(always)]
pub fn standard_exponential_f32<B: Bits>(bits: &mut B) -> f32 {
    loop {
        let word = bits.next_u32();
        let (x, is_core) = exponential_core_f32(word);
        if is_core {
            return x;
        }
        if let Some(x) = exponential_edge_f32(bits, (word >> 1 & 0xFF) as usize, x) {
            return x;
        }
    }
}

#[cold]
fn exponential_edge_f32<B: Bits>(bits: &mut B, layer: usize, x: f32) -> Option<f32> {
    if layer == 0 {
        return Some(EXP_R as f32 - (-bits.next_f32()).ln_1p());
    }
    let density = |i: usize| f32::from_bits(tables::EXP_DENSITY_F32[i]);
    let height = (density(layer - 1) - density(layer)) * bits.next_f32() + density(layer);
    (height < (-x).exp()).then_some(x)
}
