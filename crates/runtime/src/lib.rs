//! The runtime: from a recorded operation to its result. The modules in the order an operation meets them.

pub mod array;
mod boxes;
mod dot;
mod edges;
pub mod error;
pub mod provenance;
pub mod store;

// record: the front's calls; small work runs inline
mod chosen;
mod cursor;
mod folds;
mod foreign;
pub mod fork;
mod host_copy;
mod inline;
mod operation;
mod pairs;
mod parts;
mod prompt;
mod recent;
pub mod record;
mod rows;
mod scans;
mod small;
mod window;

// analyse, fuse
mod chain;
mod filler;
mod fuse;
pub mod lost;
mod lower;
mod near;
mod node;
mod outline;
mod plan;
mod reuse;
mod sink;
mod slices;
mod stitch;

// map, execute, retire
mod appetite;
mod channel;
mod device_time;
mod fp;
pub mod gpu;
mod gpu_copy;
mod gpu_factor;
mod gpu_fft;
mod gpu_index;
mod gpu_library;
mod gpu_sort;
mod grid;
mod kept;
mod ledger;
pub mod lent;
mod lines;
mod loan;
mod mapper;
pub mod memory;
mod pace;
mod packed;
mod piecemeal;
mod placed;
pub mod pool;
mod prepare;
mod ranges;
mod rectangles;
mod region;
mod reserved;
mod retire;
mod spill;
mod staging;
mod stand_in;
mod stats;
mod streamed;
mod taint;
mod task;
pub mod unplaced;

// where values enter Python, and a look inside
mod explain;
mod printed;
pub mod profile;
mod swap;
mod sync;

pub use array::Array;
pub use error::{Account, ErrorKind, ExecError};
pub use provenance::Provenance;
pub use record::{MapOp, Operand};
pub use reserved::devices;
