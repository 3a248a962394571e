//! Chunks: the pieces a profile is made of, each with its own checksum.

use crate::error::Damage;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Read, Write};

pub const MAGIC: &[u8; 8] = b"NLPROF\r\n";
pub const MAJOR: u16 = 1;
const MINOR: u16 = 0;
pub const FILE_HEADER: usize = 16;
pub const HEADER: usize = 24;
const MARK: u32 = u32::from_le_bytes(*b"CHNK");
const DEFLATED: u16 = 1;
const MOST_RAW: u32 = 1 << 26;
/// Most rows of a chunk.
pub const MOST_ROWS: usize = 1 << 20;
/// Payloads smaller than this are not worth deflating.
const LITTLE: usize = 64;

pub fn file_header() -> [u8; FILE_HEADER] {
    let mut out = [0; FILE_HEADER];
    out[..8].copy_from_slice(MAGIC);
    out[8..10].copy_from_slice(&MAJOR.to_le_bytes());
    out[10..12].copy_from_slice(&MINOR.to_le_bytes());
    out
}

pub struct Header {
    pub kind: u16,
    pub deflated: bool,
    pub stored: usize,
    pub raw: usize,
    pub rows: usize,
    crc: u32,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Header {
    pub fn read(bytes: &[u8; HEADER]) -> Result<Header, Damage> {
        if u32_at(bytes, 0) != MARK {
            return Err(Damage::Mark);
        }
        let (kind, flags) = (u16::from_le_bytes([bytes[4], bytes[5]]), u16::from_le_bytes([bytes[6], bytes[7]]));
        let (stored, raw, rows) = (u32_at(bytes, 8), u32_at(bytes, 12), u32_at(bytes, 16));
        let deflated = flags & DEFLATED != 0;
        if raw > MOST_RAW || stored > MOST_RAW {
            return Err(Damage::TooLarge(format!("{} bytes", raw.max(stored))));
        }
        if rows as usize > MOST_ROWS || rows > raw {
            return Err(Damage::TooLarge(format!("{rows} rows")));
        }
        if !deflated && stored != raw {
            return Err(Damage::Column("it is not as long as it says"));
        }
        let crc = u32_at(bytes, 20);
        Ok(Header { kind, deflated, stored: stored as usize, raw: raw as usize, rows: rows as usize, crc })
    }

    /// The payload of stored bytes, checked and inflated.
    pub fn payload(&self, header: &[u8; HEADER], stored: Vec<u8>) -> Result<Vec<u8>, Damage> {
        if checksum(&header[..20], &stored) != self.crc {
            return Err(Damage::Checksum);
        }
        if !self.deflated {
            return Ok(stored);
        }
        let mut out = Vec::with_capacity(self.raw);
        // One byte more than there should be tells too long from right.
        let inflated = DeflateDecoder::new(&stored[..]).take(self.raw as u64 + 1).read_to_end(&mut out);
        if inflated.is_err() || out.len() != self.raw {
            return Err(Damage::Inflate);
        }
        Ok(out)
    }
}

fn checksum(header: &[u8], stored: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(header);
    crc.update(stored);
    crc.finalize()
}

/// A whole chunk, ready to be written.
pub fn chunk(kind: u16, rows: usize, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; HEADER];
    let mut flags = 0;
    if payload.len() > LITTLE {
        let mut encoder = DeflateEncoder::new(out, Compression::new(4));
        // Writing to memory does not fail.
        let _ = encoder.write_all(payload);
        out = encoder.finish().unwrap_or_default();
        flags = DEFLATED;
    }
    if flags == 0 || out.len() >= payload.len() + HEADER {
        out.truncate(HEADER);
        out.extend_from_slice(payload);
        flags = 0;
    }
    let stored = (out.len() - HEADER) as u32;
    out[0..4].copy_from_slice(&MARK.to_le_bytes());
    out[4..6].copy_from_slice(&kind.to_le_bytes());
    out[6..8].copy_from_slice(&flags.to_le_bytes());
    out[8..12].copy_from_slice(&stored.to_le_bytes());
    out[12..16].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    out[16..20].copy_from_slice(&(rows as u32).to_le_bytes());
    let crc = checksum(&out[..20], &out[HEADER..]);
    out[20..24].copy_from_slice(&crc.to_le_bytes());
    out
}
