//! Thrift's compact protocol, as far as Parquet's headers need it: structures of integers, texts, lists and structures.

/// The types of fields, as the protocol numbers them.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure that is being written. Fields come in the order of their numbers.
pub struct Fields {
    out: Vec<u8>,
    last: i16,
}

impl Fields {
    pub fn new() -> Fields {
        Fields { out: Vec::new(), last: 0 }
    }

    fn head(&mut self, number: i16, kind: u8) {
        let step = number - self.last;
        debug_assert!((1..16).contains(&step), "fields come in order, and not far apart");
        self.out.push((step as u8) << 4 | kind);
        self.last = number;
    }

    pub fn i32(mut self, number: i16, value: i32) -> Fields {
        self.head(number, I32);
        varint(zigzag(value as i64), &mut self.out);
        self
    }

    pub fn i64(mut self, number: i16, value: i64) -> Fields {
        self.head(number, I64);
        varint(zigzag(value), &mut self.out);
        self
    }

    pub fn text(mut self, number: i16, text: &str) -> Fields {
        self.head(number, BINARY);
        binary(text, &mut self.out);
        self
    }

    pub fn fields(mut self, number: i16, inner: Fields) -> Fields {
        self.head(number, STRUCT);
        self.out.extend(inner.end());
        self
    }

    pub fn texts(mut self, number: i16, texts: &[&str]) -> Fields {
        self.list(number, BINARY, texts.len());
        texts.iter().for_each(|t| binary(t, &mut self.out));
        self
    }

    pub fn i32s(mut self, number: i16, values: &[i32]) -> Fields {
        self.list(number, I32, values.len());
        values.iter().for_each(|&v| varint(zigzag(v as i64), &mut self.out));
        self
    }

    pub fn all(mut self, number: i16, each: Vec<Fields>) -> Fields {
        self.list(number, STRUCT, each.len());
        each.into_iter().for_each(|f| self.out.extend(f.end()));
        self
    }

    fn list(&mut self, number: i16, kind: u8, length: usize) {
        self.head(number, LIST);
        if length < 15 {
            self.out.push((length as u8) << 4 | kind);
        } else {
            self.out.push(0xf0 | kind);
            varint(length as u64, &mut self.out);
        }
    }

    /// The bytes, with the mark of the end.
    pub fn end(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }
}

fn binary(text: &str, out: &mut Vec<u8>) {
    varint(text.len() as u64, out);
    out.extend(text.as_bytes());
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_by_steps_and_integers_by_zigzag() {
        let inner = Fields::new().i32(1, -1);
        let bytes = Fields::new().i32(1, 2).text(4, "ab").fields(5, inner).i32s(6, &[1, -2]).end();
        assert_eq!(bytes, [0x15, 4, 0x38, 2, b'a', b'b', 0x1c, 0x15, 1, 0, 0x19, 0x25, 2, 3, 0]);
    }
}
