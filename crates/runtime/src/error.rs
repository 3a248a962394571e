//! Errors of execution: kept until the next sync point, with the line of the operation that failed.

use crate::memory::{Instance, Memory, NoMemory};
use crate::provenance::Provenance;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    OutOfMemory,
    Index,
    Value,
    LinAlg,
    /// A GPU that failed.
    Device,
    /// A defect of ours: a panic in a task.
    Internal,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ExecError {
    pub kind: ErrorKind,
    pub message: String,
    /// Name of the operation that failed.
    pub op: &'static str,
    pub provenance: Provenance,
    /// When memory ran out: what it was taken by.
    pub account: Option<Box<Account>>,
}

impl ExecError {
    pub fn new(kind: ErrorKind, message: impl Into<String>, op: &'static str, provenance: Provenance) -> ExecError {
        ExecError { kind, message: message.into(), op, provenance, account: None }
    }

    /// An operation that found no room.
    pub fn no_memory(e: NoMemory, op: &'static str, provenance: Provenance) -> ExecError {
        if let Some(said) = e.0.failed {
            return ExecError::new(ErrorKind::Device, said, op, provenance);
        }
        let message = format!("Unable to allocate {} bytes", e.0.bytes);
        ExecError { kind: ErrorKind::OutOfMemory, message, op, provenance, account: Some(e.0) }
    }
}

/// What a memory held when something did not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// Bytes that were asked for.
    pub bytes: usize,
    pub memory: Memory,
    /// Bytes taken, and bytes there are.
    pub reserved: usize,
    pub available: usize,
    /// Bytes of instances too small to be told of one by one.
    pub small: usize,
    /// Largest first.
    pub instances: Vec<Instance>,
    /// Instances that nothing recorded reads or writes.
    pub unread: Vec<u64>,
    /// The line that made the array there was no room for.
    pub store_at: Provenance,
    /// Where it was not for want of room: what the device said.
    pub failed: Option<String>,
}

/// Floating-point exceptions seen by a deferred operation, to be warned about at the next sync point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FpReport {
    /// `numloom_loops::FP_*`.
    pub flags: u8,
    pub op: &'static str,
    pub provenance: Provenance,
}
