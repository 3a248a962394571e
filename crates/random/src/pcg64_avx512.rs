//! Sixteen words of PCG64 side by side: products of 128 bits out of 52-bit limbs.

use std::arch::x86_64::*;

/// Words made side by side.
pub const LANES: usize = 16;

const LIMB: u64 = (1 << 52) - 1;
const TOP: u64 = (1 << 24) - 1;

fn limbs(x: u128) -> [u64; 3] {
    [x as u64 & LIMB, (x >> 52) as u64 & LIMB, (x >> 104) as u64]
}

/// Whether the machine has what `fill` needs.
#[inline]
pub fn is_possible() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512ifma")
}

/// Eight states, limb by limb.
type Eight = [[u64; 8]; 3];

fn eight(states: &[u128]) -> Eight {
    let mut lanes = [[0; 8]; 3];
    for (i, &state) in states.iter().enumerate().take(8) {
        for (lane, limb) in lanes.iter_mut().zip(limbs(state)) {
            lane[i] = limb;
        }
    }
    lanes
}

/// Writes the outputs of the lanes' states, steps every lane by `state * mult + plus`, and so on to the end of `out`,
/// whose length is a multiple of the lanes. Answers the state of the first lane after the last step.
///
/// # Safety
/// `is_possible` holds.
pub unsafe fn fill<const DXSM: bool>(states: &[u128; LANES], mult: u128, plus: u128, out: &mut [u64]) -> u128 {
    let mut lanes = [eight(&states[..8]), eight(&states[8..])];
    run::<DXSM>(&mut lanes, &limbs(mult), &limbs(plus), out.as_mut_ptr(), out.len() / LANES);
    lanes[0][0][0] as u128 | (lanes[0][1][0] as u128) << 52 | (lanes[0][2][0] as u128) << 104
}

/// No function of the standard library in here but intrinsics: others are compiled for other machines, and called.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn run<const DXSM: bool>(
    lanes: &mut [Eight; 2],
    mult: &[u64; 3],
    plus: &[u64; 3],
    out: *mut u64,
    blocks: usize,
) {
    macro_rules! all {
        ($x:expr) => {
            _mm512_set1_epi64($x as i64)
        };
    }
    macro_rules! load {
        ($i:expr, $k:expr) => {
            _mm512_loadu_si512(&raw const lanes[$i][$k] as *const __m512i)
        };
    }
    let (m0, m1, m2) = (all!(mult[0]), all!(mult[1]), all!(mult[2]));
    let (p0, p1, p2) = (all!(plus[0]), all!(plus[1]), all!(plus[2]));
    let (limb, top, zero, one) = (all!(LIMB), all!(TOP), _mm512_setzero_si512(), all!(1));
    let cheap = all!(crate::pcg64::CHEAP);
    let (mut a0, mut a1, mut a2) = (load!(0, 0), load!(0, 1), load!(0, 2));
    let (mut b0, mut b1, mut b2) = (load!(1, 0), load!(1, 1), load!(1, 2));
    macro_rules! step {
        ($to:expr, $s0:ident, $s1:ident, $s2:ident) => {
            let low = _mm512_or_si512($s0, _mm512_slli_epi64::<52>($s1));
            let high = _mm512_or_si512(_mm512_srli_epi64::<12>($s1), _mm512_slli_epi64::<40>($s2));
            let word = if DXSM {
                let x = _mm512_xor_si512(high, _mm512_srli_epi64::<32>(high));
                let x = _mm512_mullo_epi64(x, cheap);
                let x = _mm512_xor_si512(x, _mm512_srli_epi64::<48>(x));
                _mm512_mullo_epi64(x, _mm512_or_si512(low, one))
            } else {
                _mm512_rorv_epi64(_mm512_xor_si512(high, low), _mm512_srli_epi64::<58>(high))
            };
            _mm512_storeu_si512($to as *mut __m512i, word);
            let t0 = _mm512_madd52lo_epu64(p0, $s0, m0);
            let t1 = _mm512_madd52lo_epu64(_mm512_madd52hi_epu64(p1, $s0, m0), $s0, m1);
            let t1 = _mm512_add_epi64(t1, _mm512_madd52lo_epu64(zero, $s1, m0));
            let t2 = _mm512_madd52hi_epu64(_mm512_madd52hi_epu64(p2, $s0, m1), $s1, m0);
            let u2 = _mm512_madd52lo_epu64(_mm512_madd52lo_epu64(zero, $s0, m2), $s1, m1);
            let t2 = _mm512_add_epi64(_mm512_madd52lo_epu64(t2, $s2, m0), u2);
            let t1 = _mm512_add_epi64(t1, _mm512_srli_epi64::<52>(t0));
            let t2 = _mm512_add_epi64(t2, _mm512_srli_epi64::<52>(t1));
            $s0 = _mm512_and_si512(t0, limb);
            $s1 = _mm512_and_si512(t1, limb);
            $s2 = _mm512_and_si512(t2, top);
        };
    }
    let mut block = 0;
    while block < blocks {
        let to = out.add(block * LANES);
        step!(to, a0, a1, a2);
        step!(to.add(8), b0, b1, b2);
        block += 1;
    }
    _mm512_storeu_si512(&raw mut lanes[0][0] as *mut __m512i, a0);
    _mm512_storeu_si512(&raw mut lanes[0][1] as *mut __m512i, a1);
    _mm512_storeu_si512(&raw mut lanes[0][2] as *mut __m512i, a2);
}
