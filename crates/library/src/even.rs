//! Edges that lie evenly: a product tells between which two a number lies, unless it is close to one of them.

use crate::RawView;
use crate::vector::vectorized;

/// How far from an edge, in bins, a number must be for the product to be relied on.
const CLOSE: f64 = 1e-6;
/// How far edges may be from where they would lie evenly: much less, as is what rounding adds for so many bins.
const ASIDE: f64 = 1e-8;
const MOST_BINS: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
pub struct Even {
    first: f64,
    /// Bins a unit.
    scale: f64,
    bins: usize,
}

impl Even {
    /// Of 1-d float64 edges; nothing if they lie unevenly.
    ///
    /// # Safety
    /// The view lies in readable memory.
    pub unsafe fn new(edges: &RawView) -> Option<Even> {
        let edge = |k: usize| edges.ptr.offset(k as isize * edges.strides[0]).cast::<f64>().read_unaligned();
        let bins = edges.shape[0].checked_sub(1).filter(|bins| (1..=MOST_BINS).contains(bins))?;
        let (first, last) = (edge(0), edge(bins));
        let even = Even { first, scale: bins as f64 / (last - first), bins };
        let fits = last > first
            && even.scale.is_finite()
            && (0..=bins).all(|k| ((edge(k) - first) * even.scale - k as f64).abs() <= ASIDE);
        fits.then_some(even)
    }

    /// The bin of each value, the number of bins for one that has none. False if some are too close to an edge to tell, or
    /// not finite.
    pub fn bins(&self, values: &[f64], to: &mut [u32]) -> bool {
        let Even { first, scale, bins } = *self;
        vectorized(
            #[inline(always)]
            || {
                let mut sure = true;
                for (&x, to) in values.iter().zip(to) {
                    let place = (x - first) * scale;
                    let whole = place.floor();
                    let beyond = place - whole;
                    sure &= (beyond > CLOSE) & (beyond < 1.0 - CLOSE);
                    let inside = (place >= 0.0) & (place < bins as f64);
                    let whole = if inside { whole } else { bins as f64 };
                    // SAFETY: a number from 0 to that of the bins.
                    *to = unsafe { whole.to_int_unchecked::<i32>() } as u32;
                }
                sure
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numloom_ir::DType;
    use smallvec::smallvec;

    fn even(edges: &mut [f64]) -> Option<Even> {
        let n = edges.len();
        let view =
            RawView { ptr: edges.as_mut_ptr().cast(), dtype: DType::F64, shape: smallvec![n], strides: smallvec![8] };
        // SAFETY: so many edges.
        unsafe { Even::new(&view) }
    }

    #[test]
    fn only_even_edges_are_taken() {
        assert!(even(&mut [0.0, 0.5, 1.0]).is_some());
        assert!(even(&mut [1e9, 1e9 + 1e-6, 1e9 + 2e-6, 1e9 + 3e-6]).is_none());
        for edges in
            [&mut [0.0, 0.6, 1.0][..], &mut [1.0, 1.0], &mut [1.0, 0.0], &mut [0.0], &mut [], &mut [0.0, f64::NAN]]
        {
            assert!(even(edges).is_none());
        }
    }

    #[test]
    fn bins_are_those_between_the_edges() {
        let mut edges: Vec<f64> = (0..=10).map(|k| -1.0 + k as f64 * 0.3).collect();
        let even = even(&mut edges).unwrap();
        let values: Vec<f64> = (0..1000).map(|k| -1.7 + k as f64 * 0.0041017).collect();
        let mut bins = vec![99; values.len()];
        assert!(even.bins(&values, &mut bins));
        for (x, bin) in values.iter().zip(bins) {
            let expected = edges.windows(2).position(|e| e[0] <= *x && *x < e[1]).unwrap_or(10);
            assert_eq!(bin as usize, expected, "{x}");
        }
        for x in [-1.0, 0.2, 2.0, f64::NAN, f64::INFINITY, -f64::INFINITY, 0.2 - 1e-12] {
            assert!(!even.bins(&[0.3, x], &mut [0; 2]), "{x}");
        }
    }
}
