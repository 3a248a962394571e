//! Lines of text into rows of numbers.

use crate::number::Number;
use crate::on_threads;

/// How lines are divided.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// What stands between fields; None: any number of blanks.
    pub delimiter: Option<u8>,
    /// From here to the end of the line nothing counts.
    pub comment: Option<u8>,
    /// The fields that are wanted, in this order; negative ones count from the end.
    pub columns: Option<Vec<isize>>,
    /// Lines to leave out at the beginning.
    pub skipped: usize,
    /// As many rows as are wanted.
    pub at_most: Option<usize>,
}

/// Rows of equal length, in the pieces they were read in.
pub struct Table<T> {
    pub rows: usize,
    pub columns: usize,
    pieces: Vec<Vec<T>>,
}

impl<T: Number> Table<T> {
    /// All elements, row by row.
    pub fn copy_to(&self, to: &mut [T], threads: usize) {
        let mut parts = Vec::with_capacity(self.pieces.len());
        let mut rest = to;
        for piece in &self.pieces {
            let (part, after) = rest.split_at_mut(piece.len());
            parts.push((piece, std::sync::Mutex::new(part)));
            rest = after;
        }
        on_threads(&parts, threads, |(piece, part)| {
            part.lock().unwrap_or_else(|e| e.into_inner()).copy_from_slice(piece);
        });
    }
}

/// Text under this many bytes a thread is not worth dividing.
const PIECE: usize = 1 << 18;

/// The rows of a text; None if it is not plain.
pub fn table<T: Number>(text: &[u8], layout: &Layout, threads: usize) -> Option<Table<T>> {
    let text = after_lines(plain(text)?, layout.skipped);
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let parts = if layout.at_most.is_some() { vec![text] } else { pieces(text, threads) };
    let read = on_threads(&parts, threads, |part| rows::<T>(part, layout));
    let read: Vec<(usize, usize, Vec<T>)> = read.into_iter().collect::<Option<_>>()?;
    let columns = read.iter().map(|r| r.1).find(|&c| c > 0)?;
    if read.iter().any(|r| r.0 > 0 && r.1 != columns) {
        return None;
    }
    let width = layout.columns.as_ref().map_or(columns, Vec::len);
    Some(Table {
        rows: read.iter().map(|r| r.0).sum(),
        columns: width,
        pieces: read.into_iter().map(|r| r.2).collect(),
    })
}

/// The numbers of a text that is one sequence, however many lines it has. A separator may have blanks after it.
pub fn flat<T: Number>(text: &[u8], separator: Option<u8>) -> Option<Vec<T>> {
    if !text.is_ascii() {
        return None;
    }
    let text = text.trim_ascii_end();
    match separator {
        None => text.split(u8::is_ascii_whitespace).filter(|x| !x.is_empty()).map(T::parse).collect(),
        Some(s) => text.split(|&b| b == s).map(|x| T::parse(x.trim_ascii_start())).collect(),
    }
}

/// The text if it is ASCII with ordinary ends of lines.
fn plain(text: &[u8]) -> Option<&[u8]> {
    let ends_well = |text: &[u8]| text.split(|&b| b == b'\r').skip(1).all(|after| after.first() == Some(&b'\n'));
    (text.is_ascii() && (!text.contains(&b'\r') || ends_well(text))).then_some(text)
}

fn after_lines(text: &[u8], n: usize) -> &[u8] {
    let mut rest = text;
    for _ in 0..n {
        match rest.iter().position(|&b| b == b'\n') {
            Some(end) => rest = &rest[end + 1..],
            None => return &[],
        }
    }
    rest
}

/// The text in pieces of whole lines.
fn pieces(text: &[u8], threads: usize) -> Vec<&[u8]> {
    let wanted = (text.len() / PIECE).min(4 * threads).max(1);
    let size = text.len() / wanted + 1;
    let mut made = Vec::with_capacity(wanted);
    let mut rest = text;
    while rest.len() > size {
        let Some(end) = rest[size..].iter().position(|&b| b == b'\n') else { break };
        let (piece, after) = rest.split_at(size + end + 1);
        made.push(piece);
        rest = after;
    }
    made.push(rest);
    made
}

/// Rows, fields a row, and the wanted fields' numbers.
fn rows<T: Number>(text: &[u8], layout: &Layout) -> Option<(usize, usize, Vec<T>)> {
    let mut made: Vec<T> = Vec::with_capacity(text.len() / 12);
    let mut fields: Vec<&[u8]> = Vec::new();
    let (mut rows, mut columns) = (0, 0);
    let ends = memchr::memchr_iter(b'\n', text).chain([text.len()]);
    let mut start = 0;
    for end in ends {
        let line = &text[start..end];
        start = end + 1;
        if layout.at_most == Some(rows) {
            break;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = match layout.comment {
            Some(c) => &line[..memchr::memchr(c, line).unwrap_or(line.len())],
            None => line,
        };
        let count = match &layout.columns {
            None => {
                let before = made.len();
                divide(line, layout.delimiter, |field| T::parse(field).map(|x| made.push(x)))?;
                made.len() - before
            }
            Some(wanted) => {
                fields.clear();
                divide(line, layout.delimiter, |field| {
                    fields.push(field);
                    Some(())
                })?;
                // An empty line has none of them.
                for &i in wanted.iter().take(fields.len() * wanted.len()) {
                    let i = if i < 0 { fields.len().checked_add_signed(i)? } else { i.unsigned_abs() };
                    made.push(T::parse(fields.get(i)?)?);
                }
                fields.len()
            }
        };
        if count == 0 {
            if layout.at_most.is_some() {
                // It does not count, which NumPy says.
                return None;
            }
            continue;
        }
        if rows == 0 {
            columns = count;
        }
        if count != columns {
            return None;
        }
        rows += 1;
    }
    Some((rows, columns, made))
}

fn is_blank(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

/// Gives `take` the fields of a line, without the blanks around them, until it refuses one. A line of nothing has none.
#[inline]
fn divide<'a>(line: &'a [u8], delimiter: Option<u8>, mut take: impl FnMut(&'a [u8]) -> Option<()>) -> Option<()> {
    let Some(delimiter) = delimiter else {
        let mut rest = line;
        while let Some(from) = rest.iter().position(|&b| !is_blank(b)) {
            rest = &rest[from..];
            let to = rest.iter().position(|&b| is_blank(b)).unwrap_or(rest.len());
            take(&rest[..to])?;
            rest = &rest[to..];
        }
        return Some(());
    };
    if line.is_empty() {
        return Some(());
    }
    for field in line.split(|&b| b == delimiter) {
        let from = field.iter().position(|&b| !is_blank(b)).unwrap_or(field.len());
        let to = field.iter().rposition(|&b| !is_blank(b)).map_or(from, |i| i + 1);
        take(&field[from..to])?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, layout: &Layout) -> Option<(usize, usize, Vec<f64>)> {
        let found = table::<f64>(text.as_bytes(), layout, 2)?;
        let mut all = vec![0.0; found.rows * found.columns];
        found.copy_to(&mut all, 2);
        Some((found.rows, found.columns, all))
    }

    #[test]
    fn plain_rows() {
        let layout = Layout { comment: Some(b'#'), ..Layout::default() };
        let text = "# a head\n 1 2.5\t-3e2 \r\n\n4 inf nan # end";
        let (rows, columns, all) = read(text, &layout).unwrap();
        assert_eq!((rows, columns), (2, 3));
        assert_eq!(all[..5], [1.0, 2.5, -300.0, 4.0, f64::INFINITY]);
        assert!(all[5].is_nan());
    }

    #[test]
    fn chosen_columns_and_rows() {
        let layout = Layout {
            delimiter: Some(b','),
            columns: Some(vec![-1, 0]),
            skipped: 1,
            at_most: Some(1),
            ..Layout::default()
        };
        assert_eq!(read("a,b\n1, 2 ,3\n4,5,6\nx", &layout), Some((1, 2, vec![3.0, 1.0])));
        let more = Layout { at_most: Some(9), ..Layout::default() };
        assert_eq!(read("1\n2\n", &more), Some((2, 1, vec![1.0, 2.0])));
        assert_eq!(read("1\n\n2\n", &more), None);
    }

    #[test]
    fn what_is_not_plain_is_refused() {
        let comma = Layout { delimiter: Some(b','), ..Layout::default() };
        for text in ["1,,2", "1,2,", "1,2\n3", "1\r2", "1,\u{b5}", "", "\n", "1,x", "1_0", " \n1"] {
            assert!(read(text, &comma).is_none(), "{text:?}");
        }
        let far = Layout { columns: Some(vec![2]), ..Layout::default() };
        assert!(read("1 2", &far).is_none());
        assert!(table::<u8>(b"256", &Layout::default(), 1).is_none());
        assert!(table::<i64>(b"1.0", &Layout::default(), 1).is_none());
        assert!(table::<i64>(b"9223372036854775808", &Layout::default(), 1).is_none());
        assert!(table::<u64>(b"-1", &Layout::default(), 1).is_none());
        assert!(table::<i64>(b"-", &Layout::default(), 1).is_none());
    }

    #[test]
    fn many_pieces_are_one_table() {
        let text: String = (0..200_000).map(|i| format!("{i} {}\n", i as f64 / 8.0)).collect();
        let (rows, columns, all) = read(&text, &Layout::default()).unwrap();
        assert_eq!((rows, columns), (200_000, 2));
        assert!((0..rows).all(|i| all[2 * i] == i as f64 && all[2 * i + 1] == i as f64 / 8.0));
    }

    #[test]
    fn one_sequence() {
        assert_eq!(flat::<i64>(b"1, 2,\n3 ", Some(b',')), Some(vec![1, 2, 3]));
        assert_eq!(flat::<f64>(b" 1 2\n3 ", None), Some(vec![1.0, 2.0, 3.0]));
        assert_eq!(flat::<f64>(b"1 ,2", Some(b',')), None);
        assert_eq!(flat::<f64>(b"1,", Some(b',')), None);
    }
}
