//! Tables of numbers as text: `loadtxt` and `savetxt` where they are plain. None sends the caller to NumPy.

use crate::convert;
use crate::create::empty_array;
use crate::errors;
use crate::errors::Unsupported;
use crate::handle::{self, NdArray};
use crate::protocols;
use numloom_ir::DType;
use numloom_text::{Kind, Layout, Line, Number, Spec, Truth};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// Calls `$work` with `$t` standing for the type of a dtype that text is read into and written from.
macro_rules! with_type {
    ($dtype:expr, $t:ident => $work:expr) => {
        with_type!(@ $dtype, $t, $work, Bool Truth, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64,
            U64 u64, F32 f32, F64 f64)
    };
    (@ $dtype:expr, $t:ident, $work:expr, $($row:ident $type:ty),*) => {
        match $dtype {
            $(DType::$row => {
                type $t = $type;
                $work
            })*
            _ => return Ok(None),
        }
    };
}

fn threads() -> usize {
    numloom_config::current().cpus
}

/// A new array of `shape` whose elements `fill` writes.
fn filled<T: Number>(
    py: Python<'_>,
    shape: Bound<'_, PyTuple>,
    dtype: &Bound<'_, PyAny>,
    n: usize,
    fill: impl FnOnce(&mut [T]) + Send,
) -> PyResult<Py<PyAny>> {
    let array = empty_array(&shape, Some(dtype), None)?;
    let (data, _exporter) = protocols::export(py, &array)?;
    // SAFETY: a new array of `n` elements of this type, dense, aligned, seen by nobody else; the exporter keeps the
    // memory where it is. Any bytes are a value of each of these types.
    let elements = unsafe { std::slice::from_raw_parts_mut(data.cast::<T>(), n) };
    errors::detached(py, || fill(elements));
    handle::wrap(py, array)
}

/// The rows of a text as an array of two axes.
#[pyfunction]
fn read_table(
    text: &Bound<'_, PyBytes>,
    dtype: &Bound<'_, PyAny>,
    delimiter: Option<u8>,
    comment: Option<u8>,
    columns: Option<Vec<isize>>,
    skipped: usize,
    at_most: Option<usize>,
) -> PyResult<Option<Py<PyAny>>> {
    let py = text.py();
    let layout = Layout { delimiter, comment, columns, skipped, at_most };
    let bytes = text.as_bytes();
    with_type!(convert::dtype_from_py(dtype)?, T => {
        let Some(table) = errors::detached(py, || numloom_text::table::<T>(bytes, &layout, threads())) else { return Ok(None) };
        let shape = PyTuple::new(py, [table.rows, table.columns])?;
        let n = table.rows * table.columns;
        filled::<T>(py, shape, dtype, n, |to| table.copy_to(to, threads())).map(Some)
    })
}

/// The numbers of a text that is one sequence.
#[pyfunction]
fn read_sequence(
    text: &Bound<'_, PyBytes>,
    dtype: &Bound<'_, PyAny>,
    separator: Option<u8>,
) -> PyResult<Option<Py<PyAny>>> {
    let py = text.py();
    let bytes = text.as_bytes();
    with_type!(convert::dtype_from_py(dtype)?, T => {
        let Some(found) = errors::detached(py, || numloom_text::flat::<T>(bytes, separator)) else { return Ok(None) };
        let shape = PyTuple::new(py, [found.len()])?;
        filled::<T>(py, shape, dtype, found.len(), |to| to.copy_from_slice(&found)).map(Some)
    })
}

/// How one field of a line is printed: the conversion's letter, its flags, width and precision.
type Field = (char, String, usize, usize);

fn spec(field: &Field) -> Option<Spec> {
    let (letter, flags, width, precision) = field;
    let kind = match letter.to_ascii_lowercase() {
        'e' => Kind::Exponent,
        'f' => Kind::Fixed,
        'g' => Kind::General,
        'd' | 'i' => Kind::Integer,
        _ => return None,
    };
    let has = |flag: char| flags.contains(flag);
    Some(Spec {
        kind,
        upper: letter.is_ascii_uppercase(),
        left: has('-'),
        plus: has('+'),
        space: has(' '),
        zeros: has('0'),
        width: *width,
        precision: *precision,
    })
}

/// Rows of a dense array as text: `literals[0] fields[0] literals[1] ...` a line.
#[pyfunction]
fn write_table(x: &Bound<'_, NdArray>, fields: Vec<Field>, literals: Vec<Vec<u8>>) -> PyResult<Option<Py<PyBytes>>> {
    let py = x.py();
    let array = handle::sized(x)?;
    let Some(specs) = fields.iter().map(spec).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let line = Line { specs, literals };
    if !array.view.is_c_contiguous() {
        return Err(Unsupported::new_err("rows that do not lie one behind the other"));
    }
    let (data, _exporter) = protocols::export(py, &array)?;
    let n = array.view.size();
    let written = with_type!(array.view.dtype, T => {
        // SAFETY: dense elements of this type, complete; while the exporter lives they stay where they are. A program
        // that writes them from another thread now is a race of its own, as with NumPy.
        let elements = unsafe { std::slice::from_raw_parts(data.cast::<T>(), n) };
        errors::detached(py, || numloom_text::write(elements, &line, threads()))
    });
    Ok(written.map(|text| PyBytes::new(py, &text).unbind()))
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(read_table, m)?)?;
    m.add_function(wrap_pyfunction!(read_sequence, m)?)?;
    m.add_function(wrap_pyfunction!(write_table, m)?)
}
