//! Linear interpolation of a few points.

/// What the piecewise linear function through `(xp[i], fp[i])` is at every `x`; `left` and `right` beyond its ends.
/// `xp` rises. As NumPy's, number for number: around infinite slopes and bounds, too.
pub fn interpolate(x: &[f64], xp: &[f64], fp: &[f64], left: f64, right: f64, out: &mut [f64]) {
    let [first, .., last] = *xp else {
        let (at, value) = (xp[0], fp[0]);
        for (o, &x) in out.iter_mut().zip(x) {
            *o = if x < at {
                left
            } else if x > at {
                right
            } else {
                value
            };
        }
        return;
    };
    let mut before = 0;
    for (o, &x) in out.iter_mut().zip(x) {
        *o = if x.is_nan() {
            x
        } else if x < first {
            left
        } else if x > last {
            right
        } else {
            before = segment(xp, x, before);
            at(x, xp, fp, before)
        };
    }
}

/// The last place whose bound is not above `x`, which is likely `guess` or the one after it.
#[inline]
fn segment(xp: &[f64], x: f64, guess: usize) -> usize {
    let holds = |i: usize| xp[i] <= x && (i + 1 == xp.len() || x < xp[i + 1]);
    if holds(guess) {
        guess
    } else if guess + 1 < xp.len() && holds(guess + 1) {
        guess + 1
    } else {
        xp.partition_point(|&bound| bound <= x).saturating_sub(1)
    }
}

#[inline]
fn at(x: f64, xp: &[f64], fp: &[f64], i: usize) -> f64 {
    let (x0, f0) = (xp[i], fp[i]);
    if i + 1 == xp.len() || x0 == x {
        return f0;
    }
    let (x1, f1) = (xp[i + 1], fp[i + 1]);
    let slope = (f1 - f0) / (x1 - x0);
    let made = slope * (x - x0) + f0;
    if !made.is_nan() {
        return made;
    }
    // Seen from the other end it may still be a number.
    let made = slope * (x - x1) + f1;
    if made.is_nan() && f0 == f1 { f0 } else { made }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(x: f64, xp: &[f64], fp: &[f64]) -> f64 {
        let mut out = [0.0];
        interpolate(&[x], xp, fp, -1.0, -2.0, &mut out);
        out[0]
    }

    #[test]
    fn between_at_and_beyond_the_bounds() {
        let (xp, fp) = ([0.0, 1.0, 3.0, 4.0], [10.0, 20.0, 40.0, 30.0]);
        for (x, expected) in [(0.5, 15.0), (0.0, 10.0), (2.0, 30.0), (4.0, 30.0), (-0.1, -1.0), (4.1, -2.0)] {
            assert_eq!(one(x, &xp, &fp), expected, "{x}");
        }
        assert!(one(f64::NAN, &xp, &fp).is_nan());
    }

    #[test]
    fn one_point_and_infinities() {
        assert_eq!([one(1.0, &[2.0], &[5.0]), one(2.0, &[2.0], &[5.0]), one(3.0, &[2.0], &[5.0])], [-1.0, 5.0, -2.0]);
        assert_eq!(one(f64::NAN, &[2.0], &[5.0]), 5.0);
        assert_eq!(one(0.0, &[f64::NEG_INFINITY, 1.0], &[3.0, 3.0]), 3.0);
    }

    #[test]
    fn points_in_any_order() {
        let xp: Vec<f64> = (0..100).map(f64::from).collect();
        let x: Vec<f64> = (0..300).map(|i| f64::from((i * 37) % 397) / 4.0).collect();
        let mut out = vec![0.0; x.len()];
        interpolate(&x, &xp, &xp, 0.0, 0.0, &mut out);
        assert_eq!(out, x.iter().map(|&x| if x > 99.0 { 0.0 } else { x }).collect::<Vec<_>>());
    }
}
