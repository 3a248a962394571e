//! A symmetric matrix to tridiagonal form by Householder reflections, a panel of columns at a time. Half of the work is
//! products of the symmetric rest with a vector (`symmetric.rs`), which run as fast as the matrix can be read; the
//! other half is a matrix product a panel.

use crate::symmetric::{Dense, dots, minus_columns, multiply};
use faer::linalg::householder::upgrade_householder_factor;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

/// Columns of a panel, and of a strip of what is updated behind it.
const PANEL: usize = 32;
const STRIP: usize = 128;

pub struct Tridiagonal {
    pub diagonal: Vec<f64>,
    pub below: Vec<f64>,
    /// Column j holds, from row j + 1 on, the vector of reflection j; its first component is one.
    pub reflections: Mat<f64>,
    /// Their coefficients, block by block, as `faer` applies them.
    pub coefficients: Mat<f64>,
}

/// Reads the lower triangle of `a`, of side two or more.
pub fn reduce(mut a: Mat<f64>, par: Par) -> Tridiagonal {
    let n = a.nrows();
    let (mut diagonal, mut below) = (vec![0.0; n], vec![0.0; n]);
    let mut scales = vec![0.0; n - 1];
    let mut w = Mat::<f64>::zeros(n, PANEL);
    let mut start = 0;
    while start < n - 1 {
        let width = PANEL.min(n - 1 - start);
        for i in 0..width {
            let j = start + i;
            subtract_earlier(&mut a, &w, start, j);
            diagonal[j] = a[(j, j)];
            let (beta, scale) = reflect(&mut a.col_as_slice_mut(j)[j + 1..]);
            (below[j], scales[j]) = (beta, scale);
            image(&a, &mut w, start, j, scale, par);
        }
        update_rest(&mut a, &w, start, width, par);
        start += width;
    }
    diagonal[n - 1] = a[(n - 1, n - 1)];
    let coefficients = coefficients(&a, &scales, par);
    Tridiagonal { diagonal, below, reflections: a, coefficients }
}

/// Column `j` of the panel as it is after the reflections before it.
fn subtract_earlier(a: &mut Mat<f64>, w: &Mat<f64>, start: usize, j: usize) {
    let count = j - start;
    let (v_row, w_row): (Vec<f64>, Vec<f64>) = (0..count).map(|k| (a[(j, start + k)], w[(j, k)])).unzip();
    let n = a.nrows();
    let mut column = a.col_as_slice(j)[j..].to_vec();
    minus_columns(Dense::of(a, j..n, start..j), &w_row, &mut column);
    minus_columns(Dense::of(w, j..n, 0..count), &v_row, &mut column);
    a.col_as_slice_mut(j)[j..].copy_from_slice(&column);
}

/// Turns `x` into the vector of the reflection that leaves only a first component of it: that component, and the
/// reflection's scale (zero if there is nothing to do).
fn reflect(x: &mut [f64]) -> (f64, f64) {
    let (first, rest) = x.split_first_mut().expect("columns above the last one");
    let length = rest.iter().map(|t| t * t).sum::<f64>().sqrt();
    let alpha = std::mem::replace(first, 1.0);
    if length == 0.0 {
        return (alpha, 0.0);
    }
    let beta = -alpha.hypot(length).copysign(alpha);
    rest.iter_mut().for_each(|t| *t /= alpha - beta);
    (beta, (beta - alpha) / beta)
}

/// Column `j - start` of `w`: what is needed besides the reflection itself to update the rest by it.
fn image(a: &Mat<f64>, w: &mut Mat<f64>, start: usize, j: usize, scale: f64, par: Par) {
    let (n, count) = (a.nrows(), j - start);
    let v = &a.col_as_slice(j)[j + 1..];
    let mut y = vec![0.0; n - j - 1];
    multiply(Dense::of(a, j + 1..n, j + 1..n), v, &mut y, par);
    let (earlier, images) = (Dense::of(a, j + 1..n, start..j), Dense::of(w, j + 1..n, 0..count));
    let (p, q) = (dots(images, v), dots(earlier, v));
    minus_columns(earlier, &p, &mut y);
    minus_columns(images, &q, &mut y);
    let along = y.iter().zip(v).map(|(y, v)| y * v).sum::<f64>();
    let shift = -0.5 * scale * scale * along;
    for ((to, y), v) in w.col_as_slice_mut(count)[j + 1..].iter_mut().zip(&y).zip(v) {
        *to = scale * y + shift * v;
    }
}

/// The lower triangle behind the panel, minus V W' + W V', strip by strip.
fn update_rest(a: &mut Mat<f64>, w: &Mat<f64>, start: usize, width: usize, par: Par) {
    let (n, from) = (a.nrows(), start + width);
    if from >= n {
        return;
    }
    // Both products as one: (V W) (W V)'.
    let m = n - from;
    let both =
        Mat::from_fn(m, 2 * width, |i, k| if k < width { a[(from + i, start + k)] } else { w[(from + i, k - width)] });
    let swapped = Mat::from_fn(2 * width, m, |k, i| both[(i, (k + width) % (2 * width))]);
    for first in (0..m).step_by(STRIP) {
        let columns = STRIP.min(m - first);
        let strip = a.as_mut().submatrix_mut(from + first, from + first, m - first, columns);
        let (left, right) = (both.subrows(first, m - first), swapped.subcols(first, columns));
        matmul(strip, Accum::Add, left, right, -1.0, par);
    }
}

fn coefficients(a: &Mat<f64>, scales: &[f64], par: Par) -> Mat<f64> {
    let count = scales.len();
    let mut made = Mat::<f64>::zeros(PANEL.min(count), count);
    for (j, scale) in scales.iter().enumerate() {
        made[(j % PANEL, j)] = if *scale == 0.0 { f64::INFINITY } else { 1.0 / scale };
    }
    for j in (0..count).step_by(PANEL) {
        let size = PANEL.min(count - j);
        let vectors = a.submatrix(j + 1, j, count - j, size);
        let block = made.as_mut().submatrix_mut(0, j, size, size);
        upgrade_householder_factor(block, vectors, PANEL, 1, par);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_keep_their_sums() {
        for n in [2, 3, 33, 70, 300] {
            let a = Mat::from_fn(n, n, |i, j| ((i * j + i + j) % 13) as f64 - 6.0);
            let t = reduce(a.clone(), Par::Seq);
            let trace: f64 = (0..n).map(|i| a[(i, i)]).sum();
            assert!((trace - t.diagonal.iter().sum::<f64>()).abs() < 1e-9 * n as f64);
            let squares: f64 = (0..n).map(|i| (0..n).map(|j| a[(i.max(j), i.min(j))].powi(2)).sum::<f64>()).sum();
            let made = t.diagonal.iter().map(|x| x * x).sum::<f64>() + 2.0 * t.below.iter().map(|x| x * x).sum::<f64>();
            assert!((squares - made).abs() < 1e-9 * squares);
        }
    }
}
