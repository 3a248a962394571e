//! The hypergeometric distributions: Stadlober's ratio of uniforms for large samples, drawing one by one for small
//! ones; `RandomState` has its own versions of both.

use crate::bits::Bits;
use crate::bounded::interval;
use crate::discrete::{log_gamma, to_i64};
use crate::log_factorial::log_factorial;

const D1: f64 = 1.7155277699214135;
const D2: f64 = 0.8989161620588988;

pub fn hypergeometric<B: Bits>(bits: &mut B, good: i64, bad: i64, sample: i64) -> i64 {
    if sample >= 10 && sample <= good + bad - 10 {
        ratio_of_uniforms(bits, good, bad, sample)
    } else {
        one_by_one(bits, good, bad, sample)
    }
}

fn one_by_one<B: Bits>(bits: &mut B, good: i64, bad: i64, sample: i64) -> i64 {
    let total = good + bad;
    let half = sample > total / 2;
    let mut left = if half { total - sample } else { sample };
    let (mut all, mut wanted) = (total, good);
    while left > 0 && wanted > 0 && all > wanted {
        all -= 1;
        if (interval(bits, all as u64) as i64) < wanted {
            wanted -= 1;
        }
        left -= 1;
    }
    if all == wanted {
        wanted -= left;
    }
    if half { wanted } else { good - wanted }
}

/// The ratio of uniforms, over one of two ways to take logarithms of factorials.
struct Ratio {
    few: i64,
    many: i64,
    sample: i64,
    a: f64,
    h: f64,
    top: f64,
    limit: f64,
}

impl Ratio {
    fn log_weight(&self, k: i64, log_fact: impl Fn(i64) -> f64) -> f64 {
        log_fact(k) + log_fact(self.few - k) + log_fact(self.sample - k) + log_fact(self.many - self.sample + k)
    }

    fn draw<B: Bits>(&self, bits: &mut B, log_fact: impl Fn(i64) -> f64 + Copy) -> i64 {
        loop {
            let u = bits.next_f64();
            let v = bits.next_f64();
            let x = self.a + self.h * (v - 0.5) / u;
            if x < 0.0 || x >= self.limit {
                continue;
            }
            let k = to_i64(x.floor());
            let t = self.top - self.log_weight(k, log_fact);
            if u * (4.0 - u) - 3.0 <= t {
                return k;
            }
            if u * (u - t) >= 1.0 {
                continue;
            }
            if 2.0 * u.ln() <= t {
                return k;
            }
        }
    }
}

/// What was drawn among the fewer, told in terms of the good ones.
fn in_terms_of_good(k: i64, good: i64, bad: i64, drawn: i64, sample: i64) -> i64 {
    let k = if good > bad { drawn - k } else { k };
    if drawn < sample { good - k } else { k }
}

fn ratio_of_uniforms<B: Bits>(bits: &mut B, good: i64, bad: i64, sample: i64) -> i64 {
    let all = good + bad;
    let drawn = sample.min(all - sample);
    let (few, many) = (good.min(bad), good.max(bad));
    let p = few as f64 / all as f64;
    let q = many as f64 / all as f64;
    let a = drawn as f64 * p + 0.5;
    let var = (all - drawn) as f64 * drawn as f64 * p * q / (all - 1) as f64;
    let c = (var + 0.5).sqrt();
    let mode = to_i64(((drawn + 1) as f64 * (few + 1) as f64 / (all + 2) as f64).floor());
    let (support, far) = ((drawn.min(few) + 1) as f64, (a + 16.0 * c).floor());
    let mut ratio = Ratio { few, many, sample: drawn, a, h: D1 * c + D2, top: 0.0, limit: support.min(far) };
    ratio.top = ratio.log_weight(mode, log_factorial);
    in_terms_of_good(ratio.draw(bits, log_factorial), good, bad, drawn, sample)
}

/// As `RandomState` draws it.
pub fn legacy_hypergeometric<B: Bits>(bits: &mut B, good: i64, bad: i64, sample: i64) -> i64 {
    if sample > 10 {
        return legacy_ratio(bits, good, bad, sample);
    }
    if sample <= 0 {
        return 0;
    }
    let others = bad + good - sample;
    let few = bad.min(good) as f64;
    let (mut y, mut k) = (few, sample);
    while y > 0.0 {
        let u = bits.next_f64();
        y -= to_i64((u + y / (others + k) as f64).floor()) as f64;
        k -= 1;
        if k == 0 {
            break;
        }
    }
    let z = to_i64(few - y);
    if good > bad { sample - z } else { z }
}

fn legacy_ratio<B: Bits>(bits: &mut B, good: i64, bad: i64, sample: i64) -> i64 {
    let (few, many) = (good.min(bad), good.max(bad));
    let all = good + bad;
    let drawn = sample.min(all - sample);
    let d4 = few as f64 / all as f64;
    let d5 = 1.0 - d4;
    let a = drawn as f64 * d4 + 0.5;
    let c = ((all - drawn) as f64 * sample as f64 * d4 * d5 / (all - 1) as f64 + 0.5).sqrt();
    let mode = to_i64(((drawn + 1) as f64 * (few + 1) as f64 / (all + 2) as f64).floor());
    let log_fact = |k: i64| log_gamma((k + 1) as f64);
    let (support, far) = (drawn.min(few) as f64 + 1.0, (a + 16.0 * c).floor());
    let mut ratio = Ratio { few, many, sample: drawn, a, h: D1 * c + D2, top: 0.0, limit: support.min(far) };
    ratio.top = ratio.log_weight(mode, log_fact);
    in_terms_of_good(ratio.draw(bits, log_fact), good, bad, drawn, sample)
}

/// One multivariate hypergeometric by its marginals. `out` is zero before; `sample` is not above the sum of `colors`.
pub fn marginals<B: Bits>(bits: &mut B, colors: &[i64], sample: i64, out: &mut [i64]) {
    let total: i64 = colors.iter().sum();
    if total == 0 || sample == 0 {
        return;
    }
    let more_than_half = sample > total / 2;
    let mut left = if more_than_half { total - sample } else { sample };
    let mut rest = total;
    let last = colors.len() - 1;
    for j in 0..last {
        if left <= 0 {
            break;
        }
        rest -= colors[j];
        out[j] = hypergeometric(bits, colors[j], rest, left);
        left -= out[j];
    }
    if left > 0 {
        out[last] = left;
    }
    if more_than_half {
        out.iter_mut().zip(colors).for_each(|(x, c)| *x = c - *x);
    }
}

/// One multivariate hypergeometric by shuffling. `balls` holds each color as often as there are balls of it, in the
/// order the draw before left them.
pub fn by_count<B: Bits>(bits: &mut B, colors: &[i64], balls: &mut [u32], sample: i64, out: &mut [i64]) {
    let total = balls.len();
    if total == 0 || sample == 0 {
        return;
    }
    let more_than_half = sample > total as i64 / 2;
    let drawn = if more_than_half { total - sample as usize } else { sample as usize };
    for j in 0..drawn {
        let k = j + interval(bits, (total - j - 1) as u64) as usize;
        balls.swap(j, k);
    }
    for &color in &balls[..drawn] {
        out[color as usize] += 1;
    }
    if more_than_half {
        out.iter_mut().zip(colors).for_each(|(x, c)| *x = c - *x);
    }
}
