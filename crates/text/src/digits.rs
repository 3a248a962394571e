//! The first digits of a float, correctly rounded, by one multiplication: 19 digits are more than the standard library
//! gives without long arithmetic.

use std::sync::OnceLock;

/// Powers of ten that are needed: `x * 10^q` of 1 to 19 digits for every float `x`.
const LOW: i32 = -310;
const HIGH: i32 = 345;

/// `significand * 2^exponent`, the highest bit set, too small by less than two in the last place.
#[derive(Clone, Copy)]
struct Power {
    significand: u128,
    exponent: i32,
}

/// 192 bits, the highest word first.
#[derive(Clone, Copy)]
struct Wide([u64; 3]);

impl Wide {
    /// Five times it, with the highest bit set again; and by how many bits it was moved.
    fn times_five(self) -> (Wide, i32) {
        let mut carry = 0u128;
        let mut out = [0u64; 3];
        for i in (0..3).rev() {
            carry += u128::from(self.0[i]) * 5;
            out[i] = carry as u64;
            carry >>= 64;
        }
        let bits = 128 - carry.leading_zeros();
        let moved = [carry as u64, out[0], out[1], out[2]];
        let word = |i: usize| (moved[i] << (64 - bits)) | (moved[i + 1] >> bits);
        (Wide([word(0), word(1), word(2)]), bits as i32)
    }

    /// A fifth of it, likewise.
    fn over_five(self) -> (Wide, i32) {
        let mut rest = 0u128;
        let mut out = [0u64; 4];
        for (i, q) in out.iter_mut().enumerate() {
            rest = (rest << 64) | u128::from(*self.0.get(i).unwrap_or(&0));
            *q = (rest / 5) as u64;
            rest %= 5;
        }
        let bits = out[0].leading_zeros();
        let word = |i: usize| (out[i] << bits) | (out[i + 1] >> (64 - bits));
        (Wide([word(0), word(1), word(2)]), -(bits as i32))
    }

    fn power(self, exponent: i32) -> Power {
        Power { significand: (u128::from(self.0[0]) << 64) | u128::from(self.0[1]), exponent: exponent + 64 }
    }
}

/// Every power, each from its neighbour: what the steps lose stays far below the 128 bits that are kept.
fn powers() -> &'static [Power] {
    static TABLE: OnceLock<Vec<Power>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let one = (Wide([1 << 63, 0, 0]), -191);
        let mut below = Vec::new();
        let (mut x, mut e) = one;
        for _ in LOW..0 {
            let (next, moved) = x.over_five();
            (x, e) = (next, e + moved - 1);
            below.push(x.power(e));
        }
        below.reverse();
        let (mut x, mut e) = one;
        for _ in 0..=HIGH {
            below.push(x.power(e));
            let (next, moved) = x.times_five();
            (x, e) = (next, e + moved + 1);
        }
        below
    })
}

/// The first `n` digits (1 to 19) of a positive finite float as an integer, and the power of ten of the first. None
/// where two neighbours are so nearly equally close that longer arithmetic has to tell.
pub fn digits(x: f64, n: usize) -> Option<(u64, i32)> {
    if !(1..=19).contains(&n) || x <= 0.0 || !x.is_finite() {
        return None;
    }
    let bits = x.to_bits();
    let (mantissa, exponent) = match bits >> 52 {
        0 => (bits, -1074),
        e => ((bits & ((1 << 52) - 1)) | (1 << 52), e as i32 - 1075),
    };
    let up = mantissa.leading_zeros();
    let (m, e) = (mantissa << up, exponent - up as i32);
    let limit = 10u64.pow(n as u32 - 1);
    // The logarithm of 2 as a fraction, good for every exponent of a float: at most one too low.
    let mut first = ((i64::from(e + 63) * 1_262_611) >> 22) as i32;
    loop {
        let power = powers().get((n as i32 - 1 - first - LOW) as usize)?;
        // The higher 128 bits of m * significand, which has 192.
        let low = u128::from(m) * (power.significand & u128::from(u64::MAX));
        let high = u128::from(m) * (power.significand >> 64) + (low >> 64);
        // The integer is what is left when so many of them are dropped.
        let dropped = -(e + power.exponent) - 64;
        if !(2..128).contains(&dropped) {
            return None;
        }
        let (whole, rest) = (high >> dropped, high & ((1 << dropped) - 1));
        let Ok(whole) = u64::try_from(whole) else {
            first += 1;
            continue;
        };
        if whole < limit {
            return None;
        }
        if u128::from(whole) >= 10 * u128::from(limit) {
            first += 1;
            continue;
        }
        let half = 1u128 << (dropped - 1);
        // The error of the power, times m, is under two units of `high`.
        if rest.abs_diff(half) <= 4 {
            return None;
        }
        let rounded = whole + u64::from(rest > half);
        return Some(if u128::from(rounded) == 10 * u128::from(limit) { (limit, first + 1) } else { (rounded, first) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(x: f64, n: usize) -> (u64, i32) {
        let text = format!("{:.*e}", n - 1, x);
        let (digits, power) = text.split_once('e').unwrap();
        (digits.replace('.', "").parse().unwrap(), power.parse().unwrap())
    }

    #[test]
    fn as_long_arithmetic() {
        let mut state = 88_172_645_463_325_252u64;
        let mut told = 0;
        for i in 0..200_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let x = if i % 2 == 0 { f64::from_bits(state >> 1) } else { (state >> 40) as f64 / 1e3 };
            let n = 1 + (state % 19) as usize;
            if x > 0.0
                && x.is_finite()
                && let Some(found) = digits(x, n)
            {
                told += 1;
                assert_eq!(found, slow(x, n), "{x:e} {n}");
            }
        }
        assert!(told > 190_000, "{told}");
    }

    #[test]
    fn ends_and_ties() {
        for x in [f64::MAX, f64::MIN_POSITIVE, 5e-324, 1.0, 10.0, 1e22, 1e23, 0.1, 123_456.0] {
            assert_eq!(digits(x, 19), Some(slow(x, 19)), "{x:e}");
        }
        assert_eq!(digits(2.5, 1), None);
        assert_eq!(digits(9.96, 2), Some((10, 1)));
    }
}
