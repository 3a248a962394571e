//! Columns of a table: how the values of each are written and read (docs/profile-format.md).

use crate::error::Damage;

/// How numbers are best written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Small or scattered.
    Plain,
    /// Close to the one before.
    Steps,
}

const BYTES: u8 = 0;
const VARINT: u8 = 1;
const DELTA: u8 = 2;
const TEXT: u8 = 3;
const SAME: u8 = 4;

/// A value of a column.
pub trait Cell: Sized + Clone {
    /// The encoding that was chosen; the bytes go to `out`.
    fn write(values: &[Self], shape: Shape, out: &mut Vec<u8>) -> u8;
    /// Adds `rows` values to `into`.
    fn read(encoding: u8, bytes: &[u8], rows: usize, into: &mut Vec<Self>) -> Result<(), Damage>;
    /// What a column that is not there holds.
    fn nothing() -> Self;
}

pub fn put_varint(mut v: u64, out: &mut Vec<u8>) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

fn zigzag(v: i64) -> u64 {
    (v << 1 ^ v >> 63) as u64
}

fn unzigzag(v: u64) -> i64 {
    (v >> 1) as i64 ^ -((v & 1) as i64)
}

/// Bytes that are read from the front.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Damage> {
        if let [first, rest @ ..] = self.0
            && *first < 0x80
        {
            self.0 = rest;
            return Ok(*first as u64);
        }
        let mut v = 0u64;
        for (k, &b) in self.0.iter().enumerate().take(10) {
            if k == 9 && b > 1 {
                break;
            }
            v |= ((b & 0x7f) as u64) << (7 * k);
            if b < 0x80 {
                self.0 = &self.0[k + 1..];
                return Ok(v);
            }
        }
        Err(Damage::Column("a number does not end"))
    }

    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(Damage::Column("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn end(&self) -> Result<(), Damage> {
        if self.0.is_empty() { Ok(()) } else { Err(Damage::Column("there are bytes left")) }
    }
}

/// Whole numbers up to some size.
pub trait Number: Copy + PartialEq {
    fn wide(self) -> u64;
    fn narrow(v: u64) -> Option<Self>;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            #[inline]
            fn wide(self) -> u64 {
                self as u64
            }
            #[inline]
            fn narrow(v: u64) -> Option<$t> {
                <$t>::try_from(v).ok()
            }
        }
        impl Cell for $t {
            fn write(values: &[$t], shape: Shape, out: &mut Vec<u8>) -> u8 {
                write_numbers(values, shape, out)
            }
            fn read(encoding: u8, bytes: &[u8], rows: usize, into: &mut Vec<$t>) -> Result<(), Damage> {
                read_numbers(encoding, bytes, rows, into)
            }
            fn nothing() -> $t {
                0
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64);

fn write_numbers<T: Number>(values: &[T], shape: Shape, out: &mut Vec<u8>) -> u8 {
    let first = values.first().map_or(0, |v| v.wide());
    if values.iter().all(|v| v.wide() == first) {
        put_varint(first, out);
        return SAME;
    }
    match shape {
        Shape::Plain if values.iter().all(|v| v.wide() < 0x80) => {
            out.extend(values.iter().map(|v| v.wide() as u8));
            BYTES
        }
        Shape::Plain => {
            values.iter().for_each(|v| put_varint(v.wide(), out));
            VARINT
        }
        Shape::Steps => {
            let mut before = 0u64;
            for v in values {
                put_varint(zigzag(v.wide().wrapping_sub(before) as i64), out);
                before = v.wide();
            }
            DELTA
        }
    }
}

fn read_numbers<T: Number>(encoding: u8, bytes: &[u8], rows: usize, into: &mut Vec<T>) -> Result<(), Damage> {
    let fit = |v: u64| T::narrow(v).ok_or(Damage::Column("a number is too large"));
    let mut input = Input(bytes);
    // Every value but those of `SAME` has a byte at least.
    if encoding != SAME && bytes.len() < rows {
        return Err(Damage::Column("it ends too early"));
    }
    into.reserve(rows);
    match encoding {
        BYTES => {
            for &b in input.take(rows)? {
                into.push(fit(b as u64)?);
            }
        }
        VARINT => {
            for _ in 0..rows {
                into.push(fit(input.varint()?)?);
            }
        }
        DELTA => {
            let mut v = 0u64;
            for _ in 0..rows {
                v = v.wrapping_add(unzigzag(input.varint()?) as u64);
                into.push(fit(v)?);
            }
        }
        SAME => {
            let v = fit(input.varint()?)?;
            into.resize(into.len() + rows, v);
        }
        _ => return Err(Damage::Column("numbers are not written so")),
    }
    input.end()
}

impl Cell for String {
    fn write(values: &[String], _: Shape, out: &mut Vec<u8>) -> u8 {
        for v in values {
            put_varint(v.len() as u64, out);
            out.extend_from_slice(v.as_bytes());
        }
        TEXT
    }

    fn read(encoding: u8, bytes: &[u8], rows: usize, into: &mut Vec<String>) -> Result<(), Damage> {
        if encoding != TEXT {
            return Err(Damage::Column("texts are not written so"));
        }
        let mut input = Input(bytes);
        for _ in 0..rows {
            let length = usize::try_from(input.varint()?).map_err(|_| Damage::Column("a text is too long"))?;
            into.push(String::from_utf8_lossy(input.take(length)?).into_owned());
        }
        input.end()
    }

    fn nothing() -> String {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<T: Cell + PartialEq + std::fmt::Debug>(values: &[T], shape: Shape) -> usize {
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        let encoding = T::write(values, shape, &mut bytes);
        T::read(encoding, &bytes, values.len(), &mut out).unwrap();
        assert_eq!(out, values);
        bytes.len()
    }

    #[test]
    fn numbers_come_back() {
        there_and_back(&[0u64, u64::MAX, 1, 1 << 63, 127, 128], Shape::Plain);
        there_and_back(&[u64::MAX, 0, 5, 1 << 63], Shape::Steps);
        assert_eq!(there_and_back(&[7u32; 1000], Shape::Steps), 1);
        assert_eq!(there_and_back(&[1u8, 2, 3], Shape::Plain), 3);
        there_and_back(&["".to_string(), "λ".to_string()], Shape::Plain);
    }

    #[test]
    fn wrong_bytes_are_refused() {
        let mut out: Vec<u8> = Vec::new();
        for (encoding, bytes, rows) in [
            (VARINT, &[0xff; 12][..], 1),
            (VARINT, &[1, 2][..], 1),
            (VARINT, &[1][..], 2),
            (SAME, &[0xff, 0x7f][..], 2),
            (BYTES, &[1][..], 9),
            (9, &[1][..], 1),
        ] {
            assert!(u8::read(encoding, bytes, rows, &mut out).is_err(), "{encoding} {bytes:?}");
        }
    }
}
