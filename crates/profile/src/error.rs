//! What can be wrong with a profile.

use std::io;
use std::path::PathBuf;

/// Why a chunk cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Damage {
    #[error("its checksum is wrong")]
    Checksum,
    #[error("it does not begin as a chunk does")]
    Mark,
    #[error("it claims {0}, more than a chunk may hold")]
    TooLarge(String),
    #[error("it is cut off")]
    Cut,
    #[error("it cannot be inflated")]
    Inflate,
    #[error("a column is wrong: {0}")]
    Column(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{}: this is no profile of Numloom", path.display())]
    NoProfile { path: PathBuf },
    #[error("{}: a profile of format {major}; this version reads format 1", path.display())]
    Version { path: PathBuf, major: u16 },
    #[error("{}: damaged at byte {offset}: {damage}", path.display())]
    Damaged { path: PathBuf, offset: u64, damage: Damage },
    #[error("{}: its tables need more than {limit} bytes of memory", path.display())]
    TooLarge { path: PathBuf, limit: usize },
    #[error("{0}")]
    Other(String),
}

pub type Result<T> = std::result::Result<T, Error>;
