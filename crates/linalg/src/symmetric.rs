//! Products of columns with vectors, four columns at a time, in the widest vectors the machine has.

use faer::{Mat, Par};
use std::ops::Range;

/// A part of a matrix, column by column.
#[derive(Clone, Copy)]
pub struct Dense<'a> {
    data: &'a [f64],
    step: usize,
    rows: usize,
    columns: usize,
}

impl<'a> Dense<'a> {
    pub fn of(a: &'a Mat<f64>, rows: Range<usize>, columns: Range<usize>) -> Dense<'a> {
        let step = a.col_stride() as usize;
        let (height, width) = (rows.len(), columns.len());
        let data: &[f64] = if height == 0 || width == 0 {
            &[]
        } else {
            let from = rows.start + columns.start * step;
            // SAFETY: the last element of the part lies in the matrix, whose columns lie one after another.
            unsafe { std::slice::from_raw_parts(a.as_ptr().add(from), (width - 1) * step + height) }
        };
        Dense { data, step, rows: height, columns: width }
    }

    fn column(&self, j: usize) -> &'a [f64] {
        &self.data[j * self.step..j * self.step + self.rows]
    }
}

const LANES: usize = 8;

/// `y += a0 x0 + ... + a3 x3`, and the dot products of the four columns with `v`.
#[inline(always)]
fn four(a: [&[f64]; 4], x: [f64; 4], v: &[f64], y: &mut [f64]) -> [f64; 4] {
    let n = y.len();
    let a = a.map(|c| &c[..n]);
    let v = &v[..n];
    let mut sums = [[0.0; LANES]; 4];
    let whole = n - n % LANES;
    for i in (0..whole).step_by(LANES) {
        let mut t: [f64; LANES] = y[i..i + LANES].try_into().expect("a whole block");
        let u: [f64; LANES] = v[i..i + LANES].try_into().expect("a whole block");
        for k in 0..4 {
            let c: [f64; LANES] = a[k][i..i + LANES].try_into().expect("a whole block");
            for l in 0..LANES {
                t[l] += c[l] * x[k];
                sums[k][l] += c[l] * u[l];
            }
        }
        y[i..i + LANES].copy_from_slice(&t);
    }
    for i in whole..n {
        for k in 0..4 {
            y[i] += a[k][i] * x[k];
            sums[k][0] += a[k][i] * v[i];
        }
    }
    sums.map(|s| s.iter().sum())
}

/// The lower triangle of the symmetric `a`, columns `range` of it, times `x`: adds to `y`.
#[inline(always)]
fn columns_times(a: Dense<'_>, range: Range<usize>, x: &[f64], y: &mut [f64]) {
    let n = a.rows;
    let mut j = range.start;
    while j < range.end {
        let width = 4.min(range.end - j);
        // The triangle on the diagonal, element by element.
        for c in j..j + width {
            let column = a.column(c);
            y[c] += column[c] * x[c];
            for r in c + 1..(j + width).min(n) {
                y[r] += column[r] * x[c];
                y[c] += column[r] * x[r];
            }
        }
        let under = j + width;
        if width == 4 && under < n {
            let part = |k: usize| &a.column(j + k)[under..];
            let x4 = [x[j], x[j + 1], x[j + 2], x[j + 3]];
            let sums = four([part(0), part(1), part(2), part(3)], x4, &x[under..], &mut y[under..]);
            sums.iter().enumerate().for_each(|(k, s)| y[j + k] += s);
        } else {
            for c in j..under {
                let column = a.column(c);
                for r in under..n {
                    y[r] += column[r] * x[c];
                    y[c] += column[r] * x[r];
                }
            }
        }
        j = under;
    }
}

/// Defines a function as its body compiled for AVX-512, for AVX2 and for the baseline, chosen as it is called.
macro_rules! widest {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name($($arg: $type),*) $(-> $ret)? {
            #[inline(always)]
            fn plain($($arg: $type),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,fma")]
                fn wide($($arg: $type),*) $(-> $ret)? { plain($($arg),*) }
                #[target_feature(enable = "avx2,fma")]
                fn half($($arg: $type),*) $(-> $ret)? { plain($($arg),*) }
                if is_x86_feature_detected!("avx512f") {
                    // SAFETY: the machine has what the function was compiled for.
                    return unsafe { wide($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: as above.
                    return unsafe { half($($arg),*) };
                }
            }
            plain($($arg),*)
        }
    };
}

widest! {
    fn times(a: Dense<'_>, range: Range<usize>, x: &[f64], y: &mut [f64]) {
        columns_times(a, range, x, y)
    }
}

widest! {
    /// `y -= a x`.
    pub fn minus_columns(a: Dense<'_>, x: &[f64], y: &mut [f64]) {
        let n = y.len();
        let whole = a.columns - a.columns % 4;
        for j in (0..whole).step_by(4) {
            let c: [&[f64]; 4] = std::array::from_fn(|k| &a.column(j + k)[..n]);
            let x = [x[j], x[j + 1], x[j + 2], x[j + 3]];
            for i in 0..n {
                y[i] -= c[0][i] * x[0] + c[1][i] * x[1] + c[2][i] * x[2] + c[3][i] * x[3];
            }
        }
        for j in whole..a.columns {
            for (y, c) in y.iter_mut().zip(a.column(j)) {
                *y -= c * x[j];
            }
        }
    }
}

widest! {
    /// The dot products of the columns with `v`.
    pub fn dots(a: Dense<'_>, v: &[f64]) -> Vec<f64> {
        let dot = |c: &[f64]| {
            let mut sums = [0.0; 2 * LANES];
            let (blocks, rest) = c.as_chunks::<{ 2 * LANES }>();
            let (v_blocks, v_rest) = v[..c.len()].as_chunks::<{ 2 * LANES }>();
            for (c, v) in blocks.iter().zip(v_blocks) {
                for l in 0..2 * LANES {
                    sums[l] += c[l] * v[l];
                }
            }
            sums.iter().sum::<f64>() + rest.iter().zip(v_rest).map(|(c, v)| c * v).sum::<f64>()
        };
        (0..a.columns).map(|j| dot(a.column(j))).collect()
    }
}

/// Sides from which a product is divided, and into how many parts: fixed, so that sums do not depend on the workers.
const DIVIDED: usize = 256;
const PARTS: usize = 4;

/// `y += a x` for the symmetric `a` whose lower triangle is given.
pub fn multiply(a: Dense<'_>, x: &[f64], y: &mut [f64], par: Par) {
    let n = a.rows;
    if n < DIVIDED {
        return times(a, 0..n, x, y);
    }
    // Columns get shorter to the right; parts of equal area, their ends at multiples of the columns that go together.
    let end = |k: usize| (n as f64 * (1.0 - (1.0 - k as f64 / PARTS as f64).sqrt())) as usize / 4 * 4;
    let part = |k: usize| end(k)..if k + 1 == PARTS { n } else { end(k + 1) };
    let one = |k: usize| {
        let mut sums = vec![0.0; n];
        times(a, part(k), x, &mut sums);
        sums
    };
    let parts: [Vec<f64>; PARTS] = if par.degree() > 1 {
        let ((p, q), (r, s)) = rayon::join(|| rayon::join(|| one(0), || one(1)), || rayon::join(|| one(2), || one(3)));
        [p, q, r, s]
    } else {
        [one(0), one(1), one(2), one(3)]
    };
    for (k, sums) in parts.iter().enumerate() {
        let from = part(k).start;
        y[from..].iter_mut().zip(&sums[from..]).for_each(|(y, s)| *y += s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lower_triangle_counts() {
        for n in [1, 3, 4, 7, 40, 261, 300] {
            let value = |i: usize, j: usize| ((i * 5 + j * 3) % 17) as f64 - 8.0;
            let a = Mat::from_fn(n, n, |i, j| if i >= j { value(i, j) } else { f64::NAN });
            let x: Vec<f64> = (0..n).map(|i| (i % 5) as f64 - 2.0).collect();
            let mut y = vec![1.0; n];
            multiply(Dense::of(&a, 0..n, 0..n), &x, &mut y, Par::Seq);
            for i in 0..n {
                let want: f64 = 1.0 + (0..n).map(|j| value(i.max(j), i.min(j)) * x[j]).sum::<f64>();
                assert_eq!(y[i], want);
            }
        }
    }
}
