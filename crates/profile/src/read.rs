//! Reading a profile back.

use crate::chunk::{FILE_HEADER, HEADER, Header, MAGIC, MAJOR};
use crate::error::{Error, Result};
use crate::table::Tables;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
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
    pub fn read_from(path: &Path, mut input: impl Read, limit: usize) -> Result<Profile> {
        let path = path.to_path_buf();
        let io = |error| Error::Io { path: path.clone(), error };
        let mut header = [0; FILE_HEADER];
        if fill(&mut input, &mut header).map_err(io)? < FILE_HEADER || &header[..8] != MAGIC {
            return Err(Error::NoProfile { path });
        }
        let major = u16::from_le_bytes([header[8], header[9]]);
        if major != MAJOR {
            return Err(Error::Version { path, major });
        }
        let mut profile = Profile { path: path.clone(), ..Profile::default() };
        let (mut unknown_tables, mut unknown_columns): (BTreeMap<u16, usize>, usize) = (BTreeMap::new(), 0);
        let mut offset = FILE_HEADER as u64;
        let cut = loop {
            let mut bytes = [0; HEADER];
            let got = fill(&mut input, &mut bytes).map_err(io)?;
            if got < HEADER {
                break got > 0;
            }
            let damaged = |damage| Error::Damaged { path: path.clone(), offset, damage };
            let header = Header::read(&bytes).map_err(damaged)?;
            let mut stored = Vec::new();
            // Grows as the bytes come, whatever the header claims.
            input.by_ref().take(header.stored as u64).read_to_end(&mut stored).map_err(io)?;
            if stored.len() < header.stored {
                break true;
            }
            let payload = header.payload(&bytes, stored).map_err(damaged)?;
            match profile.tables.add(header.kind, header.rows, &payload).map_err(damaged)? {
                Some(columns) => unknown_columns += columns,
                None => *unknown_tables.entry(header.kind).or_default() += 1,
            }
            if profile.tables.bytes() > limit {
                return Err(Error::TooLarge { path, limit });
            }
            offset += (HEADER + header.stored) as u64;
        };
        if cut {
            profile.notes.push(format!("the last piece, at byte {offset}, was never written to its end"));
        }
        if profile.tables.end.time.is_empty() {
            profile.notes.push("the run did not end by itself, or goes on: this is what it had told until then".into());
        }
        for (kind, chunks) in unknown_tables {
            profile
                .notes
                .push(format!("{chunks} chunk(s) of kind {kind}, which this version does not know, were skipped"));
        }
        if unknown_columns > 0 {
            profile.notes.push(format!("{unknown_columns} column(s) that this version does not know were skipped"));
        }
        Ok(profile)
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
