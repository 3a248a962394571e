//! Profiles as Parquet, a file a table, for data frames and databases: numbers as they are, texts and lines in words and
//! by dictionary, times in nanoseconds, everything deflated. A first column tells the rank.

use crate::kinds::{Doing, Lane, MemoryKind, Reason, Use};
use crate::print::place;
use crate::read::Profile;
use crate::table::Values;
use crate::thrift::{Fields, varint};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"PAR1";
/// Rows that stand together.
const GROUP: usize = 1 << 20;

/// Numbers of Parquet's own lists.
mod numbers {
    pub const INT32: i32 = 1;
    pub const INT64: i32 = 2;
    pub const BYTE_ARRAY: i32 = 6;
    pub const UTF8: i32 = 0;
    pub const UINT_32: i32 = 13;
    pub const UINT_64: i32 = 14;
    pub const REQUIRED: i32 = 0;
    pub const PLAIN: i32 = 0;
    pub const RLE: i32 = 3;
    pub const RLE_DICTIONARY: i32 = 8;
    pub const GZIP: i32 = 2;
    pub const DATA_PAGE: i32 = 0;
    pub const DICTIONARY_PAGE: i32 = 2;
}
use numbers::*;

/// What a number in a column stands for.
#[derive(Clone, Copy)]
enum Meaning {
    Number,
    /// Ticks, which become nanoseconds.
    Time,
    String,
    Line,
    /// A kind, with its name.
    Kind(fn(u8) -> &'static str),
}

const TIMES: [&str; 13] = [
    "created",
    "blocked",
    "queued",
    "ran",
    "mapped",
    "started",
    "recorded",
    "born",
    "time",
    "first",
    "last",
    "last_read",
    "since",
];
const STRINGS: [&str; 7] = ["name", "shape", "by", "file", "function", "path", "what"];

/// Columns that mean in their table what they do not mean elsewhere.
const SPECIAL: [(&str, &str, Meaning); 7] = [
    ("lines", "line", Meaning::Number),
    ("findings", "kind", Meaning::String),
    ("spans", "kind", Meaning::Kind(|k| Doing::of(k).map_or("?", Doing::text))),
    ("processors", "kind", Meaning::Kind(|k| Lane::of(k).map_or("?", Lane::text))),
    ("memories", "kind", Meaning::Kind(|k| MemoryKind::of(k).map_or("?", MemoryKind::text))),
    ("copies", "reason", Meaning::Kind(|k| Reason::of(k).map_or("?", Reason::text))),
    ("uses", "kind", Meaning::Kind(|k| Use::of(k).map_or("?", Use::text))),
];

fn meaning(table: &str, column: &str) -> Meaning {
    if let Some(&(.., special)) = SPECIAL.iter().find(|(t, c, _)| (*t, *c) == (table, column)) {
        return special;
    }
    match column {
        "line" | "by_line" | "loops" => Meaning::Line,
        c if TIMES.contains(&c) => Meaning::Time,
        c if STRINGS.contains(&c) => Meaning::String,
        _ => Meaning::Number,
    }
}

/// Writes the tables that have rows into a folder; their files.
pub fn write(profiles: &[Profile], folder: &Path) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut written = Vec::new();
    let Some(first) = profiles.first() else { return Ok(written) };
    for (at, (table, _)) in first.tables.columns().iter().enumerate() {
        if profiles.iter().all(|p| p.tables.columns()[at].1.first().is_none_or(|(_, v)| v.is_empty())) {
            continue;
        }
        let path = folder.join(format!("{table}.parquet"));
        let bytes = file(table, profiles, at).map_err(|e| format!("{}: {e}", path.display()))?;
        std::fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

/// One table of every profile.
fn file(table: &str, profiles: &[Profile], at: usize) -> std::io::Result<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    let (mut groups, mut rows, mut schema) = (Vec::new(), 0, Vec::new());
    for p in profiles {
        let all = p.tables.columns();
        let (_, columns) = &all[at];
        let count = columns.first().map_or(0, |(_, v)| v.len());
        schema = std::iter::once(("rank", INT32, UINT_32))
            .chain(columns.iter().map(|(name, v)| kind_of(name, v, meaning(table, name))))
            .collect();
        for from in (0..count).step_by(GROUP) {
            let to = count.min(from + GROUP);
            let mut chunks = vec![chunk(&mut out, "rank", &Cells::Small(vec![p.rank() as u32; to - from]))?];
            for (name, values) in columns {
                let cells = Cells::of(p, values, from, to, meaning(table, name));
                chunks.push(chunk(&mut out, name, &cells)?);
            }
            let bytes = chunks.iter().map(|(_, n)| n).sum::<i64>();
            let chunks = chunks.into_iter().map(|(f, _)| f).collect();
            groups.push(Fields::new().all(1, chunks).i64(2, bytes).i64(3, (to - from) as i64));
        }
        rows += count;
    }
    let root = Fields::new().text(4, "schema").i32(5, schema.len() as i32);
    let columns = schema
        .into_iter()
        .map(|(name, kind, converted)| Fields::new().i32(1, kind).i32(3, REQUIRED).text(4, name).i32(6, converted));
    let schema = std::iter::once(root).chain(columns).collect();
    let about = format!("numloom version {}", env!("CARGO_PKG_VERSION"));
    let footer = Fields::new().i32(1, 1).all(2, schema).i64(3, rows as i64).all(4, groups).text(6, &about).end();
    out.extend(&footer);
    out.extend((footer.len() as u32).to_le_bytes());
    out.extend(MAGIC);
    Ok(out)
}

/// A column's name, its type in the file, and what is made of that.
fn kind_of<'a>(name: &'a str, values: &Values, meaning: Meaning) -> (&'a str, i32, i32) {
    match (meaning, values) {
        (Meaning::String | Meaning::Line | Meaning::Kind(_), _) | (_, Values::Text(_)) => (name, BYTE_ARRAY, UTF8),
        (Meaning::Time, _) | (_, Values::U64(_)) => (name, INT64, UINT_64),
        _ => (name, INT32, UINT_32),
    }
}

/// Cells of a column as the file has them.
enum Cells {
    Small(Vec<u32>),
    Large(Vec<u64>),
    /// Different texts, and which of them each row has.
    Texts(Vec<String>, Vec<u32>),
}

impl Cells {
    fn of(p: &Profile, values: &Values, from: usize, to: usize, meaning: Meaning) -> Cells {
        let rows = from..to;
        let tick = p.tick();
        match (meaning, values) {
            (_, Values::Text(texts)) => Cells::dictionary(rows.map(|k| k as u64), |k| texts[k as usize].clone()),
            (Meaning::String, v) => Cells::dictionary(rows.map(|k| v.at(k)), |n| p.string(n as u32).to_string()),
            (Meaning::Line, v) => Cells::dictionary(rows.map(|k| v.at(k)), |n| match n {
                0 => String::new(),
                n => place(p, n as u32),
            }),
            (Meaning::Kind(text), v) => Cells::dictionary(rows.map(|k| v.at(k)), |n| text(n as u8).to_string()),
            (Meaning::Time, v) if tick != 1.0 => Cells::Large(rows.map(|k| (v.at(k) as f64 * tick) as u64).collect()),
            (Meaning::Time, v) | (_, v @ Values::U64(_)) => Cells::Large(rows.map(|k| v.at(k)).collect()),
            (Meaning::Number, v) => Cells::Small(rows.map(|k| v.at(k) as u32).collect()),
        }
    }

    fn dictionary(numbers: impl Iterator<Item = u64>, text: impl Fn(u64) -> String) -> Cells {
        let (mut texts, mut known) = (Vec::new(), FxHashMap::default());
        let which = numbers.map(|n| {
            *known.entry(n).or_insert_with(|| {
                texts.push(text(n));
                texts.len() as u32 - 1
            })
        });
        let which = which.collect();
        Cells::Texts(texts, which)
    }

    fn len(&self) -> usize {
        match self {
            Cells::Small(v) => v.len(),
            Cells::Large(v) => v.len(),
            Cells::Texts(_, which) => which.len(),
        }
    }
}

/// Adds a column's pages; what the footer says of them, and their bytes before they were deflated.
fn chunk(out: &mut Vec<u8>, name: &str, cells: &Cells) -> std::io::Result<(Fields, i64)> {
    let (begin, rows) = (out.len(), cells.len());
    let data = |encoding: i32| Fields::new().i32(1, rows as i32).i32(2, encoding).i32(3, RLE).i32(4, RLE);
    let mut raw = 0;
    let (kind, encoding, first) = match cells {
        Cells::Small(values) => {
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            raw += page(out, bytes, DATA_PAGE, 5, data(PLAIN))?;
            (INT32, PLAIN, begin)
        }
        Cells::Large(values) => {
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            raw += page(out, bytes, DATA_PAGE, 5, data(PLAIN))?;
            (INT64, PLAIN, begin)
        }
        Cells::Texts(texts, which) => {
            let mut bytes = Vec::new();
            for text in texts {
                bytes.extend((text.len() as u32).to_le_bytes());
                bytes.extend(text.as_bytes());
            }
            let about = Fields::new().i32(1, texts.len() as i32).i32(2, PLAIN);
            raw += page(out, bytes, DICTIONARY_PAGE, 7, about)?;
            let first = out.len();
            raw += page(out, packed(which, texts.len()), DATA_PAGE, 5, data(RLE_DICTIONARY))?;
            (BYTE_ARRAY, RLE_DICTIONARY, first)
        }
    };
    let about = Fields::new().i32(1, kind).i32s(2, &[encoding]).texts(3, &[name]).i32(4, GZIP).i64(5, rows as i64);
    let about = about.i64(6, raw).i64(7, (out.len() - begin) as i64).i64(9, first as i64);
    let about = if first == begin { about } else { about.i64(11, begin as i64) };
    Ok((Fields::new().i64(2, begin as i64).fields(3, about), raw))
}

/// Adds a page of a kind, whose own header is this field of the page's; its bytes before they were deflated.
fn page(out: &mut Vec<u8>, bytes: Vec<u8>, kind: i32, number: i16, about: Fields) -> std::io::Result<i64> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&bytes)?;
    let packed = packer.finish()?;
    let head = Fields::new().i32(1, kind).i32(2, bytes.len() as i32).i32(3, packed.len() as i32);
    let head = head.fields(number, about).end();
    let raw = (head.len() + bytes.len()) as i64;
    out.extend(head);
    out.extend(packed);
    Ok(raw)
}

/// Numbers below `count`, as one run of bits: their width, how many eights there are, and the bits, lowest first.
fn packed(which: &[u32], count: usize) -> Vec<u8> {
    let width = usize::BITS - count.saturating_sub(1).leading_zeros();
    let mut out = vec![width as u8];
    varint((which.len().div_ceil(8) as u64) << 1 | 1, &mut out);
    for eight in which.chunks(8) {
        let mut bits = 0u128;
        let mut all = 0;
        for k in 0..8 {
            bits |= (eight.get(k).copied().unwrap_or(0) as u128) << all;
            all += width;
            while all >= 8 {
                out.push(bits as u8);
                bits >>= 8;
                all -= 8;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::packed;

    #[test]
    fn numbers_are_packed_lowest_bit_first() {
        // The example of the format's description: 0 to 7 in three bits each.
        assert_eq!(packed(&[0, 1, 2, 3, 4, 5, 6, 7], 8), [3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        assert_eq!(packed(&[0, 0], 1), [0, 3]);
    }
}
