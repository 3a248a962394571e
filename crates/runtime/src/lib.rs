//! The runtime: from a recorded operation to its result.

pub mod array;
pub mod error;
pub mod provenance;
pub mod record;
pub mod store;

pub use array::Array;
pub use error::{ErrorKind, ExecError};
pub use provenance::Provenance;
pub use record::{MapOp, Operand};
