//! The tables of a profile: one declaration each, from which writing and reading are made (docs/profile-format.md).

use crate::chunk::{self, MOST_ROWS};
use crate::column::{Cell, Input, Shape};
use crate::error::Damage;

/// What every table can do.
pub trait Table: Default {
    const KIND: u16;
    const NAME: &'static str;
    fn rows(&self) -> usize;
    fn bytes(&self) -> usize;
    /// The columns of rows `from..to`.
    fn payload(&self, from: usize, to: usize) -> Vec<u8>;
    /// Adds the rows of a chunk; answers how many columns it did not know.
    fn add(&mut self, rows: usize, payload: &[u8]) -> Result<usize, Damage>;
}

/// The cells of a column.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    Text(&'a [String]),
}

impl Values<'_> {
    pub fn len(&self) -> usize {
        match self {
            Values::U8(v) => v.len(),
            Values::U16(v) => v.len(),
            Values::U32(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::Text(v) => v.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number; texts have none.
    pub fn at(&self, row: usize) -> u64 {
        match self {
            Values::U8(v) => v[row] as u64,
            Values::U16(v) => v[row] as u64,
            Values::U32(v) => v[row] as u64,
            Values::U64(v) => v[row],
            Values::Text(_) => 0,
        }
    }
}

/// Kinds of cells, as columns.
trait AsValues: Sized {
    fn values(column: &[Self]) -> Values<'_>;
}

macro_rules! as_values {
    ($($ty:ty: $kind:ident),*) => {
        $(impl AsValues for $ty {
            fn values(column: &[$ty]) -> Values<'_> {
                Values::$kind(column)
            }
        })*
    };
}
as_values!(u8: U8, u16: U16, u32: U32, u64: U64, String: Text);

fn write_column<T: Cell>(id: u8, shape: Shape, values: &[T], out: &mut Vec<u8>) {
    let at = out.len();
    out.extend([id, 0, 0, 0, 0, 0]);
    out[at + 1] = T::write(values, shape, out);
    let length = (out.len() - at - 6) as u32;
    out[at + 2..at + 6].copy_from_slice(&length.to_le_bytes());
}

/// The next column of a payload: its id, encoding and bytes.
fn next_column<'a>(input: &mut Input<'a>) -> Result<(u8, u8, &'a [u8]), Damage> {
    let head = input.take(6)?;
    let length = u32::from_le_bytes([head[2], head[3], head[4], head[5]]);
    Ok((head[0], head[1], input.take(length as usize)?))
}

/// The chunks of a table that may be too long for one.
pub fn chunks<T: Table>(table: &T, out: &mut Vec<u8>) {
    let rows = table.rows();
    for from in (0..rows).step_by(MOST_ROWS / 2) {
        let to = rows.min(from + MOST_ROWS / 2);
        out.extend(chunk::chunk(T::KIND, to - from, &table.payload(from, to)));
    }
}

macro_rules! tables {
    ($($(#[$doc:meta])* $field:ident: $name:ident = $kind:literal {
        $($column:ident: $ty:ty = $id:literal $shape:ident),* $(,)?
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq, Eq)]
            pub struct $name {
                $(pub $column: Vec<$ty>,)*
            }

            impl $name {
                pub fn push(&mut self, $($column: $ty),*) {
                    $(self.$column.push($column);)*
                }
            }

            impl Table for $name {
                const KIND: u16 = $kind;
                const NAME: &'static str = stringify!($field);

                fn rows(&self) -> usize {
                    let lengths = [$(self.$column.len()),*];
                    lengths[0]
                }

                fn bytes(&self) -> usize {
                    0 $(+ self.$column.len() * size_of::<$ty>())*
                }

                fn payload(&self, from: usize, to: usize) -> Vec<u8> {
                    let mut out = Vec::new();
                    $(write_column($id, Shape::$shape, &self.$column[from..to], &mut out);)*
                    out
                }

                fn add(&mut self, rows: usize, payload: &[u8]) -> Result<usize, Damage> {
                    let (mut input, mut unknown, had) = (Input(payload), 0, self.rows());
                    while !input.0.is_empty() {
                        let (id, encoding, bytes) = next_column(&mut input)?;
                        match id {
                            $($id if self.$column.len() == had => {
                                <$ty>::read(encoding, bytes, rows, &mut self.$column)?
                            })*
                            _ if [$($id),*].contains(&id) => return Err(Damage::Column("it comes twice")),
                            _ => unknown += 1,
                        }
                    }
                    $(self.$column.resize(had + rows, <$ty>::nothing());)*
                    Ok(unknown)
                }
            }
        )*

        /// All tables of a profile, or of a part of one.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Tables {
            $(pub $field: $name,)*
        }

        impl Tables {
            /// Adds a chunk: how many of its columns are not known, or `None` if the table is not.
            pub fn add(&mut self, kind: u16, rows: usize, payload: &[u8]) -> Result<Option<usize>, Damage> {
                match kind {
                    $($kind => self.$field.add(rows, payload).map(Some),)*
                    _ => Ok(None),
                }
            }

            /// Everything as chunks.
            pub fn chunks(&self) -> Vec<u8> {
                let mut out = Vec::new();
                $(chunks(&self.$field, &mut out);)*
                out
            }

            /// Every table's name, with its columns.
            pub fn columns(&self) -> Vec<(&'static str, Vec<(&'static str, Values<'_>)>)> {
                vec![$((
                    stringify!($field),
                    vec![$((stringify!($column), AsValues::values(&self.$field.$column))),*],
                )),*]
            }

            /// A whole file.
            pub fn file(&self) -> Vec<u8> {
                let mut out = chunk::file_header().to_vec();
                out.extend(self.chunks());
                out
            }

            pub fn rows(&self) -> usize {
                0 $(+ self.$field.rows())*
            }

            pub fn bytes(&self) -> usize {
                0 $(+ self.$field.bytes())*
            }

            /// Moves the rows of another to the end of this one's.
            pub fn append(&mut self, other: &mut Tables) {
                $($(self.$field.$column.append(&mut other.$field.$column);)*)*
            }
        }
    };
}

tables! {
    /// What ran.
    meta: Meta = 1 { key: String = 1 Plain, value: String = 2 Plain }
    strings: Strings = 2 { text: String = 1 Plain }
    sources: Sources = 3 { path: u32 = 1 Plain, text: String = 2 Plain }
    lines: Lines = 4 { file: u32 = 1 Plain, line: u32 = 2 Steps, function: u32 = 3 Plain }
    processors: Processors = 5 { id: u32 = 1 Steps, kind: u8 = 2 Plain, index: u32 = 3 Plain, name: u32 = 4 Plain }
    memories: Memories = 6 {
        id: u32 = 1 Steps, kind: u8 = 2 Plain, index: u32 = 3 Plain, capacity: u64 = 4 Plain, name: u32 = 5 Plain,
    }
    /// Tasks that are over.
    tasks: Tasks = 7 {
        id: u32 = 1 Steps, name: u32 = 2 Plain, created: u64 = 3 Steps, blocked: u64 = 4 Plain, queued: u64 = 5 Plain,
        ran: u64 = 6 Plain, line: u32 = 7 Plain, variant: u8 = 8 Plain, read: u64 = 9 Plain, written: u64 = 10 Plain,
        tiles: u32 = 11 Plain, operations: u32 = 12 Plain, mapped: u64 = 13 Plain, failed: u8 = 14 Plain,
    }
    /// The boxes of the processors' lanes.
    spans: Spans = 8 {
        processor: u16 = 1 Plain, started: u64 = 2 Steps, ran: u64 = 3 Plain, kind: u8 = 4 Plain,
        subject: u32 = 5 Steps, line: u32 = 6 Plain, count: u64 = 7 Plain,
    }
    /// The recorded calls inside tasks.
    operations: Operations = 9 {
        task: u32 = 1 Steps, name: u32 = 2 Plain, line: u32 = 3 Plain, shape: u32 = 4 Plain, recorded: u64 = 5 Steps,
        times: u32 = 6 Plain, traits: u8 = 7 Plain,
    }
    edges: Edges = 10 { task: u32 = 1 Steps, from: u32 = 2 Steps }
    instances: Instances = 11 {
        id: u32 = 1 Steps, memory: u8 = 2 Plain, bytes: u64 = 3 Plain, born: u64 = 4 Steps, line: u32 = 5 Plain,
        by: u32 = 6 Plain, by_line: u32 = 7 Plain, shape: u32 = 8 Plain, store: u32 = 9 Plain,
        task: u32 = 10 Steps,
    }
    deaths: Deaths = 12 { instance: u32 = 1 Steps, time: u64 = 2 Steps, reads: u32 = 3 Plain }
    copies: Copies = 13 {
        from: u8 = 1 Plain, to: u8 = 2 Plain, started: u64 = 3 Steps, ran: u64 = 4 Plain, bytes: u64 = 5 Plain,
        reason: u8 = 6 Plain, line: u32 = 7 Plain, task: u32 = 8 Steps,
    }
    levels: Levels = 14 { memory: u8 = 1 Plain, time: u64 = 2 Steps, bytes: u64 = 3 Plain, peak: u64 = 4 Plain }
    /// Phases that the program names.
    ranges: Ranges = 15 {
        name: u32 = 1 Plain, started: u64 = 2 Steps, ran: u64 = 3 Plain, depth: u32 = 4 Plain, line: u32 = 5 Plain,
        thread: u16 = 6 Plain,
    }
    /// Operations that ran at once on the caller's thread.
    small: Small = 16 {
        name: u32 = 1 Plain, line: u32 = 2 Plain, first: u64 = 3 Steps, last: u64 = 4 Steps, count: u64 = 5 Plain,
        elements: u64 = 6 Plain,
    }
    counters: Counters = 17 { time: u64 = 1 Steps, name: u32 = 2 Plain, value: u64 = 3 Plain }
    /// What the program did that deserves a look.
    uses: Uses = 18 {
        kind: u8 = 1 Plain, line: u32 = 2 Plain, count: u64 = 3 Plain, bytes: u64 = 4 Plain, what: u32 = 5 Plain,
        time: u64 = 6 Steps,
    }
    findings: Findings = 19 {
        kind: u32 = 1 Plain, line: u32 = 2 Plain, loops: u32 = 3 Plain, micros: u64 = 4 Plain, bytes: u64 = 5 Plain,
        title: String = 6 Plain, text: String = 7 Plain, advice: String = 8 Plain,
    }
    /// The instances that tasks read.
    reads: Reads = 23 { task: u32 = 1 Steps, instance: u32 = 2 Steps }
    /// What threads are at: told to whoever asks, never written to the file.
    live: Live = 22 {
        processor: u16 = 1 Plain, kind: u8 = 2 Plain, subject: u32 = 3 Plain, line: u32 = 4 Plain, since: u64 = 5 Plain,
    }
    /// Instances that are still there at the end.
    held: Held = 21 { instance: u32 = 1 Steps, reads: u32 = 2 Plain, last_read: u64 = 3 Plain }
    /// The run was over.
    end: End = 20 { time: u64 = 1 Plain }
}
