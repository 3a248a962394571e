//! What a run did: events as threads see them, the file they go to, and what is read from it. The modules in the order
//! an event meets them; docs/profile-format.md describes the file.

mod clock;
pub mod device;
mod event;
pub mod kinds;
mod live;
mod local;
mod machine;
mod names;
pub mod nvtx;
mod queue;
pub mod record;
mod session;
mod write;

mod chunk;
mod column;
pub mod compare;
pub mod error;
pub mod export;
pub mod findings;
pub mod parquet;
pub mod print;
mod read;
pub mod report;
pub mod serve;
pub mod stats;
pub mod table;
mod thrift;
pub mod top;

pub use error::{Error, Result};
pub use local::Place;
pub use read::Profile;
pub use session::{Hooks, Line, MemoryLevel, Snapshot, forget, on, set_hooks, start, stop};
pub use table::Tables;
pub use write::memory_id;
