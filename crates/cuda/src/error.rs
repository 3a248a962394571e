//! What can go wrong on a GPU.

use thiserror::Error;

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CudaError {
    /// A library, a function of one, or a device is not there; one sentence that says what and why.
    #[error("{0}")]
    Missing(String),
    #[error("the GPU has no room for {bytes} more bytes: {free} of {total} are free")]
    OutOfMemory { bytes: usize, free: usize, total: usize },
    /// The device or its context is gone; nothing on it can be used again in this process.
    #[error("the GPU was lost: {0}")]
    Lost(String),
    /// NVRTC's log.
    #[error("a kernel could not be compiled: {0}")]
    Compile(String),
    #[error("a kernel could not be launched: {0}")]
    Launch(String),
    #[error("{call} failed: {why}")]
    Driver { call: &'static str, why: String },
}
