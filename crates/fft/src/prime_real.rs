//! The lengths of `prime.rs` for real numbers: by complex numbers of the same length, or, where it is even, by pairs of
//! real numbers as complex ones of half the length.

use crate::prime::prime_or_twice;
use crate::root::root;
use realfft::{ComplexToReal, FftError, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};
use std::sync::Arc;

type Done = Result<(), FftError>;

pub struct Real {
    n: usize,
    /// The transform of all numbers, or of the pairs.
    plan: Arc<dyn Fft<f64>>,
    /// For pairs: `exp(-2 pi i k / n)`, the other way round for the way back.
    roots: Vec<Complex<f64>>,
}

impl Real {
    pub fn new(n: usize, direction: FftDirection) -> Option<Real> {
        let pairs = if n.is_multiple_of(2) { n / 2 } else { 0 };
        let plan = prime_or_twice(if pairs > 0 { pairs } else { n }, direction)?;
        let turn = |w: Complex<f64>| if direction == FftDirection::Forward { w.conj() } else { w };
        Some(Real { n, plan, roots: (0..pairs + 1).map(|k| turn(root(k, n))).collect() })
    }

    fn pairs(&self) -> usize {
        self.roots.len() - 1
    }

    /// Room for the complex numbers, and for what their transform needs.
    fn scratch(&self) -> usize {
        self.plan.len() + self.plan.get_inplace_scratch_len()
    }
}

macro_rules! lengths {
    ($way:ident, $input:ty, $inputs:ident, $output:ty, $outputs:ident) => {
        fn process(&self, input: &mut [$input], output: &mut [$output]) -> Done {
            $way::process_with_scratch(self, input, output, &mut vec![Complex::default(); self.scratch()])
        }

        fn get_scratch_len(&self) -> usize {
            self.scratch()
        }

        fn len(&self) -> usize {
            self.n
        }

        fn make_input_vec(&self) -> Vec<$input> {
            vec![Default::default(); $way::$inputs(self)]
        }

        fn make_output_vec(&self) -> Vec<$output> {
            vec![Default::default(); $way::$outputs(self)]
        }

        fn make_scratch_vec(&self) -> Vec<Complex<f64>> {
            vec![Complex::default(); self.scratch()]
        }
    };
}

impl RealToComplex<f64> for Real {
    lengths!(RealToComplex, f64, len, Complex<f64>, complex_len);

    fn process_with_scratch(
        &self,
        input: &mut [f64],
        output: &mut [Complex<f64>],
        scratch: &mut [Complex<f64>],
    ) -> Done {
        let (z, rest) = scratch.split_at_mut(self.plan.len());
        let m = self.pairs();
        if m == 0 {
            z.iter_mut().zip(input).for_each(|(z, x)| *z = Complex::new(*x, 0.0));
            self.plan.process_with_scratch(z, rest);
            output.copy_from_slice(&z[..output.len()]);
            output[0].im = 0.0;
            return Ok(());
        }
        z.iter_mut().zip(input.as_chunks::<2>().0).for_each(|(z, [re, im])| *z = Complex::new(*re, *im));
        self.plan.process_with_scratch(z, rest);
        // The spectra of the even and the odd places, told apart.
        for (k, (x, w)) in output.iter_mut().zip(&self.roots).enumerate() {
            let (a, b) = (z[k % m], z[(m - k) % m].conj());
            let (even, odd) = ((a + b) * 0.5, (a - b) * 0.5);
            *x = even + Complex::new(odd.im, -odd.re) * w;
        }
        Ok(())
    }
}

impl ComplexToReal<f64> for Real {
    lengths!(ComplexToReal, Complex<f64>, complex_len, f64, len);

    fn process_with_scratch(
        &self,
        input: &mut [Complex<f64>],
        output: &mut [f64],
        scratch: &mut [Complex<f64>],
    ) -> Done {
        let (z, rest) = scratch.split_at_mut(self.plan.len());
        let m = self.pairs();
        if m == 0 {
            for (k, z) in z.iter_mut().enumerate() {
                *z = if k < input.len() { input[k] } else { input[self.n - k].conj() };
            }
            self.plan.process_with_scratch(z, rest);
            output.iter_mut().zip(z).for_each(|(x, z)| *x = z.re);
            return Ok(());
        }
        for (k, (z, w)) in z.iter_mut().zip(&self.roots).enumerate() {
            let (a, b) = (input[k], input[m - k].conj());
            let odd = (a - b) * w;
            *z = a + b + Complex::new(-odd.im, odd.re);
        }
        self.plan.process_with_scratch(z, rest);
        output.as_chunks_mut::<2>().0.iter_mut().zip(z).for_each(|(x, z)| *x = [z.re, z.im]);
        Ok(())
    }
}
