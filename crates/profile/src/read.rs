//! Reading a profile back.

use crate::chunk::{FILE_HEADER, HEADER, Header, MAGIC, MAJOR};
use crate::error::{Damage, Error, Result};
use crate::table::Tables;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

/// A profile as it was read.
#[derive(Debug, Default)]
pub struct Profile {
    pub path: PathBuf,
    pub tables: Tables,
    /// What a reader should know: parts that were skipped, an end that is missing.
    pub notes: Vec<String>,
}

/// Bytes that tables may take by default, for each byte of the file and at least.
const ROOM: usize = 96;
const LEAST_ROOM: usize = 1 << 30;

impl Profile {
    pub fn read(path: &Path) -> Result<Profile> {
        let io = |error| Error::Io { path: path.to_path_buf(), error };
        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len() as usize;
        Profile::read_from(path, BufReader::with_capacity(1 << 20, file), length.saturating_mul(ROOM).max(LEAST_ROOM))
    }

    /// Reads at most so much that the tables take `limit` bytes.
    pub fn read_from(path: &Path, input: impl Read, limit: usize) -> Result<Profile> {
        let mut reader = Reader::new(path, input, limit)?;
        let cut = reader.more()?;
        Ok(reader.finish(cut))
    }

    pub fn string(&self, number: u32) -> &str {
        let texts = &self.tables.strings.text;
        number.checked_sub(1).and_then(|n| texts.get(n as usize)).map_or("", |s| s)
    }

    /// The last value with this key.
    pub fn meta(&self, key: &str) -> Option<&str> {
        let meta = &self.tables.meta;
        (0..meta.key.len()).rev().find(|&k| meta.key[k] == key).map(|k| meta.value[k].as_str())
    }

    /// File, line and function of a line; empty and 0 where nobody knows.
    pub fn line(&self, number: u32) -> (&str, u32, &str) {
        let lines = &self.tables.lines;
        match number.checked_sub(1).map(|n| n as usize).filter(|&n| n < lines.line.len()) {
            Some(n) => (self.string(lines.file[n]), lines.line[n], self.string(lines.function[n])),
            None => ("", 0, ""),
        }
    }

    /// The text of a source file.
    pub fn source(&self, file: u32) -> Option<&str> {
        let sources = &self.tables.sources;
        sources.path.iter().position(|&p| p == file).map(|k| sources.text[k].as_str())
    }

    /// The text of a line, without its indentation.
    pub fn source_line(&self, number: u32) -> &str {
        let lines = &self.tables.lines;
        let Some(n) = number.checked_sub(1).map(|n| n as usize).filter(|&n| n < lines.line.len()) else { return "" };
        let text = self.source(lines.file[n]).unwrap_or("");
        (lines.line[n] as usize).checked_sub(1).and_then(|k| text.lines().nth(k)).unwrap_or("").trim()
    }

    /// Nanoseconds a tick.
    pub fn tick(&self) -> f64 {
        self.meta("tick_ns").and_then(|t| t.parse().ok()).filter(|&t: &f64| t > 0.0).unwrap_or(1.0)
    }

    pub fn rank(&self) -> usize {
        self.meta("rank").and_then(|r| r.parse().ok()).unwrap_or(0)
    }

    /// The time of the last thing that happened.
    pub fn length(&self) -> u64 {
        let t = &self.tables;
        let after = |started: &[u64], ran: &[u64]| {
            started.iter().zip(ran).map(|(&s, &r)| s.saturating_add(r)).max().unwrap_or(0)
        };
        let most = |times: &[u64]| times.iter().copied().max().unwrap_or(0);
        [most(&t.end.time), after(&t.spans.started, &t.spans.ran), most(&t.counters.time), most(&t.levels.time)]
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}

/// Reads a file as far as it goes; more, later, if it has grown.
pub struct Reader<R> {
    input: R,
    limit: usize,
    offset: u64,
    profile: Profile,
    unknown_tables: BTreeMap<u16, usize>,
    unknown_columns: usize,
}

impl<R: Read> Reader<R> {
    pub fn new(path: &Path, mut input: R, limit: usize) -> Result<Reader<R>> {
        let path = path.to_path_buf();
        let mut header = [0; FILE_HEADER];
        let got = fill(&mut input, &mut header).map_err(|error| Error::Io { path: path.clone(), error })?;
        if got < FILE_HEADER || &header[..8] != MAGIC {
            return Err(Error::NoProfile { path });
        }
        let major = u16::from_le_bytes([header[8], header[9]]);
        if major != MAJOR {
            return Err(Error::Version { path, major });
        }
        Ok(Reader {
            input,
            limit,
            offset: FILE_HEADER as u64,
            profile: Profile { path, ..Profile::default() },
            unknown_tables: BTreeMap::new(),
            unknown_columns: 0,
        })
    }

    /// Reads whole chunks until there are no more; true: a part of one is left.
    pub fn more(&mut self) -> Result<bool> {
        let path = self.profile.path.clone();
        let io = |error| Error::Io { path: path.clone(), error };
        loop {
            let mut bytes = [0; HEADER];
            let got = fill(&mut self.input, &mut bytes).map_err(io)?;
            if got < HEADER {
                return Ok(got > 0);
            }
            let offset = self.offset;
            let damaged = |damage| Error::Damaged { path: path.clone(), offset, damage };
            let header = Header::read(&bytes).map_err(damaged)?;
            let mut stored = Vec::new();
            // Grows as the bytes come, whatever the header claims.
            self.input.by_ref().take(header.stored as u64).read_to_end(&mut stored).map_err(io)?;
            if stored.len() < header.stored {
                return Ok(true);
            }
            let payload = header.payload(&bytes, stored).map_err(damaged)?;
            match self.profile.tables.add(header.kind, header.rows, &payload).map_err(damaged)? {
                Some(columns) => self.unknown_columns += columns,
                None => *self.unknown_tables.entry(header.kind).or_default() += 1,
            }
            if self.profile.tables.bytes() > self.limit {
                return Err(Error::TooLarge { path, limit: self.limit });
            }
            self.offset += (HEADER + header.stored) as u64;
        }
    }

    /// What has been read so far.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The profile, with what a reader should know about it.
    fn finish(self, cut: bool) -> Profile {
        let mut profile = self.profile;
        if cut {
            profile.notes.push(format!("the last piece, at byte {}, was never written to its end", self.offset));
        }
        if profile.tables.end.time.is_empty() {
            profile.notes.push("the run did not end by itself, or goes on: this is what it had told until then".into());
        }
        for (kind, chunks) in self.unknown_tables {
            profile
                .notes
                .push(format!("{chunks} chunk(s) of kind {kind}, which this version does not know, were skipped"));
        }
        if self.unknown_columns > 0 {
            let columns = self.unknown_columns;
            profile.notes.push(format!("{columns} column(s) that this version does not know were skipped"));
        }
        profile
    }
}

impl Reader<File> {
    /// Opens a file that may still grow.
    pub fn open(path: &Path) -> Result<Reader<File>> {
        let file = File::open(path).map_err(|error| Error::Io { path: path.to_path_buf(), error })?;
        Reader::new(path, file, usize::MAX)
    }

    /// Reads what has come since, from the last whole chunk on.
    pub fn catch_up(&mut self) -> Result<()> {
        let at = std::io::SeekFrom::Start(self.offset);
        let path = self.profile.path.clone();
        self.input.seek(at).map_err(|error| Error::Io { path, error })?;
        self.more().map(|_| ())
    }
}

/// Adds chunks that are all there to tables.
pub fn add_chunks(tables: &mut Tables, bytes: &[u8]) -> std::result::Result<(), Damage> {
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + HEADER).and_then(|h| <&[u8; HEADER]>::try_from(h).ok()) {
        let header = Header::read(head)?;
        let stored = bytes.get(at + HEADER..at + HEADER + header.stored).ok_or(Damage::Cut)?;
        tables.add(header.kind, header.rows, &header.payload(head, stored.to_vec())?)?;
        at += HEADER + header.stored;
    }
    Ok(())
}

/// Reads until the buffer is full or the input ends.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}
