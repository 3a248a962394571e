//! Errors of execution: kept until the next sync point, with the line of the operation that failed.

use crate::provenance::Provenance;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    OutOfMemory,
    Index,
    Value,
    LinAlg,
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
}

/// Floating-point exceptions seen by a deferred operation, to be warned about at the next sync point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FpReport {
    /// `numloom_loops::FP_*`.
    pub flags: u8,
    pub op: &'static str,
    pub provenance: Provenance,
}
