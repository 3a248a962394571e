//! Matrices by their steps, and what BLAS can read of them without a copy.

/// A matrix in memory; steps are in elements.
#[derive(Clone, Copy, Debug)]
pub struct Strided<T> {
    pub ptr: *const T,
    pub row_step: isize,
    pub col_step: isize,
}

// SAFETY: a matrix is an address and how to walk; who may read or write there is the contract of whoever is given it.
unsafe impl<T> Send for Strided<T> {}

/// How BLAS sees a matrix: columns one after another at a distance, or the same of its transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub turned: bool,
    pub step: i64,
}

/// Columns (or, turned, rows) that are dense and do not run into each other.
pub(crate) fn columns(rows: usize, cols: usize, row_step: isize, col_step: isize) -> Option<Columns> {
    let plain = |rows: usize, cols: usize, row_step: isize, col_step: isize| {
        let step = if cols <= 1 { rows.max(1) as isize } else { col_step };
        ((rows <= 1 || row_step == 1) && step >= rows.max(1) as isize).then_some(step as i64)
    };
    if let Some(step) = plain(rows, cols, row_step, col_step) {
        return Some(Columns { turned: false, step });
    }
    plain(cols, rows, col_step, row_step).map(|step| Columns { turned: true, step })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_one_way_or_the_other() {
        assert_eq!(columns(3, 4, 1, 3), Some(Columns { turned: false, step: 3 }));
        assert_eq!(columns(3, 4, 4, 1), Some(Columns { turned: true, step: 4 }));
        assert_eq!(columns(3, 4, 9, 1), Some(Columns { turned: true, step: 9 }));
        assert_eq!(columns(3, 1, 1, 77), Some(Columns { turned: false, step: 3 }));
        assert_eq!(columns(1, 4, 77, 2), Some(Columns { turned: false, step: 2 }));
    }

    #[test]
    fn what_needs_a_copy() {
        assert_eq!(columns(3, 4, 8, 2), None);
        assert_eq!(columns(3, 4, -4, 1), None);
        assert_eq!(columns(3, 4, 0, 1), None);
        assert_eq!(columns(3, 4, 1, 0), None);
    }
}
