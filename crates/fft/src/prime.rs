//! Transforms of a few prime lengths, and of twice those, in double precision, by their definition. `rustfft` computes the angles of its roots
//! in doubles; for these primes the errors of the angles add up to several units in the last place.

use crate::root::root;
use numloom_library::vectorized;
use rustfft::num_complex::Complex;
use rustfft::{Direction, Fft, FftDirection, Length};
use std::sync::Arc;

/// The primes.
const PRIMES: [usize; 3] = [13, 19, 23];
const MOST: usize = 23;
/// Pairs of opposite places, and a little room, so that they are whole vectors.
const PAIRS: usize = 12;

/// The transform of `n` points, if that is one of the primes or twice one.
pub fn prime_or_twice(n: usize, direction: FftDirection) -> Option<Arc<dyn Fft<f64>>> {
    let prime = PRIMES.into_iter().find(|&p| n == p || n == 2 * p)?;
    let alone = Prime::new(prime, direction);
    Some(if n == prime { Arc::new(Lanes(alone)) } else { Arc::new(Lanes(Twice(alone))) })
}

struct Prime {
    n: usize,
    direction: FftDirection,
    /// Row `k - 1`: cosine and sine of `j k` n-th parts of the circle, for j from 1 on.
    rows: Vec<[[f64; PAIRS]; 2]>,
}

impl Prime {
    fn new(n: usize, direction: FftDirection) -> Prime {
        let sign = if direction == FftDirection::Forward { -1.0 } else { 1.0 };
        let row = |k: usize| {
            let mut row = [[0.0; PAIRS]; 2];
            for j in 1..=n / 2 {
                let w = root(j * k, n);
                (row[0][j - 1], row[1][j - 1]) = (w.re, sign * w.im);
            }
            row
        };
        Prime { n, direction, rows: (1..=n / 2).map(row).collect() }
    }

    /// With `s` and `d` the sum and the difference of opposite places `k` and `n - k`, the frequencies j and n - j are
    /// the sum and the difference of `x0 + sum of cos s` and `i` times the sum of `sin d`.
    #[inline(always)]
    fn by_pairs(&self, x: &[Complex<f64>], out: &mut [Complex<f64>]) {
        let n = self.n;
        let mut even = [[x[0].re; PAIRS], [x[0].im; PAIRS]];
        let mut odd = [[0.0; PAIRS]; 2];
        let mut first = x[0];
        for (k, [cos, sin]) in self.rows.iter().enumerate() {
            let (s, d) = (x[k + 1] + x[n - k - 1], x[k + 1] - x[n - k - 1]);
            first += s;
            for j in 0..PAIRS {
                even[0][j] += cos[j] * s.re;
                even[1][j] += cos[j] * s.im;
                odd[0][j] -= sin[j] * d.im;
                odd[1][j] += sin[j] * d.re;
            }
        }
        out[0] = first;
        for j in 0..n / 2 {
            let (even, odd) = (Complex::new(even[0][j], even[1][j]), Complex::new(odd[0][j], odd[1][j]));
            (out[j + 1], out[n - j - 1]) = (even + odd, even - odd);
        }
    }
}

/// A transform of one short lane into a place apart from it.
trait Short: Send + Sync {
    fn points(&self) -> usize;
    fn direction(&self) -> FftDirection;
    /// Both are as long as there are points.
    fn transform(&self, x: &[Complex<f64>], out: &mut [Complex<f64>]);
}

impl Short for Prime {
    fn points(&self) -> usize {
        self.n
    }

    fn direction(&self) -> FftDirection {
        self.direction
    }

    #[inline(always)]
    fn transform(&self, x: &[Complex<f64>], out: &mut [Complex<f64>]) {
        self.by_pairs(x, out);
    }
}

/// Twice a prime: as the two have no divisor in common, there are no roots but those of the prime.
struct Twice(Prime);

impl Short for Twice {
    fn points(&self) -> usize {
        2 * self.0.n
    }

    fn direction(&self) -> FftDirection {
        self.0.direction
    }

    /// Place `p a + 2 b` and frequency k meet in the root `a k` of two and `b k` of p.
    #[inline(always)]
    fn transform(&self, x: &[Complex<f64>], out: &mut [Complex<f64>]) {
        let p = self.0.n;
        for parity in 0..2 {
            let (mut y, mut spectrum) = ([Complex::new(0.0, 0.0); MOST], [Complex::new(0.0, 0.0); MOST]);
            for (b, y) in y[..p].iter_mut().enumerate() {
                let (one, other) = (x[2 * b], x[(2 * b + p) % (2 * p)]);
                *y = if parity == 0 { one + other } else { one - other };
            }
            self.0.by_pairs(&y[..p], &mut spectrum[..p]);
            for k in (parity..2 * p).step_by(2) {
                out[k] = spectrum[k % p];
            }
        }
    }
}

/// Lane after lane.
struct Lanes<S>(S);

impl<S: Short> Lanes<S> {
    fn run(&self, out: &mut [Complex<f64>], from: Option<&[Complex<f64>]>) {
        let n = self.0.points();
        vectorized(
            #[inline(always)]
            || {
                for (lane, out) in out.chunks_exact_mut(n).enumerate() {
                    match from {
                        Some(from) => self.0.transform(&from[lane * n..][..n], out),
                        None => {
                            let mut x = [Complex::new(0.0, 0.0); 2 * MOST];
                            x[..n].copy_from_slice(out);
                            self.0.transform(&x[..n], out);
                        }
                    }
                }
            },
        );
    }
}

impl<S: Short> Length for Lanes<S> {
    fn len(&self) -> usize {
        self.0.points()
    }
}

impl<S: Short> Direction for Lanes<S> {
    fn fft_direction(&self) -> FftDirection {
        self.0.direction()
    }
}

impl<S: Short> Fft<f64> for Lanes<S> {
    fn process_with_scratch(&self, buffer: &mut [Complex<f64>], _: &mut [Complex<f64>]) {
        self.run(buffer, None);
    }

    fn process_outofplace_with_scratch(
        &self,
        input: &mut [Complex<f64>],
        output: &mut [Complex<f64>],
        _: &mut [Complex<f64>],
    ) {
        self.run(output, Some(input));
    }

    fn process_immutable_with_scratch(
        &self,
        input: &[Complex<f64>],
        output: &mut [Complex<f64>],
        _: &mut [Complex<f64>],
    ) {
        self.run(output, Some(input));
    }

    fn get_inplace_scratch_len(&self) -> usize {
        0
    }

    fn get_outofplace_scratch_len(&self) -> usize {
        0
    }

    fn get_immutable_scratch_len(&self) -> usize {
        0
    }
}
