//! Rows of numbers as lines of text.

use crate::number::Truth;
use crate::on_threads;
use crate::spec::Spec;

/// A line: `literals[0] specs[0] literals[1] ... literals[n]`, the last with the end of the line.
#[derive(Clone, Debug)]
pub struct Line {
    pub specs: Vec<Spec>,
    pub literals: Vec<Vec<u8>>,
}

/// An element that is written.
pub trait Printed: Copy + Sync {
    fn put(self, spec: &Spec, to: &mut Vec<u8>, digits: &mut Vec<u8>) -> Option<()>;
}

impl Printed for f64 {
    fn put(self, spec: &Spec, to: &mut Vec<u8>, digits: &mut Vec<u8>) -> Option<()> {
        spec.put(self, to, digits)
    }
}

impl Printed for f32 {
    fn put(self, spec: &Spec, to: &mut Vec<u8>, digits: &mut Vec<u8>) -> Option<()> {
        spec.put(f64::from(self), to, digits)
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Printed for $t {
            fn put(self, spec: &Spec, to: &mut Vec<u8>, digits: &mut Vec<u8>) -> Option<()> {
                spec.put_integer(i128::from(self), to, digits)
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Printed for Truth {
    fn put(self, spec: &Spec, to: &mut Vec<u8>, digits: &mut Vec<u8>) -> Option<()> {
        spec.put_integer(i128::from(self.0 != 0), to, digits)
    }
}

/// Rows that a thread takes at a time.
const ROWS: usize = 512;

/// The lines of `values`, which are whole rows; None where an element is Python's to print.
pub fn write<T: Printed>(values: &[T], line: &Line, threads: usize) -> Option<Vec<u8>> {
    let columns = line.specs.len();
    if columns == 0 || line.literals.len() != columns + 1 || !values.len().is_multiple_of(columns) {
        return None;
    }
    let parts: Vec<&[T]> = values.chunks(ROWS * columns).collect();
    let mut written = on_threads(&parts, threads, |part| lines(part, line)).into_iter();
    let mut all = written.next().unwrap_or(Some(Vec::new()))?;
    for more in written {
        all.extend_from_slice(&more?);
    }
    Some(all)
}

fn lines<T: Printed>(values: &[T], line: &Line) -> Option<Vec<u8>> {
    let mut to = Vec::with_capacity(values.len() * 26);
    let mut digits = Vec::with_capacity(32);
    for row in values.chunks(line.specs.len()) {
        for ((x, spec), literal) in row.iter().zip(&line.specs).zip(&line.literals) {
            to.extend_from_slice(literal);
            x.put(spec, &mut to, &mut digits)?;
        }
        to.extend_from_slice(line.literals.last()?);
    }
    Some(to)
}
