//! The CUDA backend: kernels are planned (`plan`), printed as CUDA C (`print`), compiled by NVRTC (`compile`) and
//! launched (`launch`) on a device (`device`) whose libraries are found at run time (`load`). `README.md` has the
//! contracts and the reasons.

mod background;
pub mod compile;
mod device;
mod driver;
mod error;
mod graph;
mod kept;
mod launch;
pub mod load;
pub mod ops;
mod peer;
pub mod plan;
pub mod print;
mod queue;
mod scalar;
mod sequence;
mod settled;
mod show;
pub mod structure;
mod timed;
mod wait;

pub use compile::{Compiler, default_cache};
pub use device::{Device, Event, Lane, Options, Pinned, Place, Properties, Rows};
pub use error::CudaError;
pub use launch::Prepared;
pub use load::{Kind, Report, Search};
pub use plan::{Chip, Facts, FusedLaunch, Operand, Output, Plan, plan};
pub use queue::graphs;
pub use scalar::agrees_with_cpu;
pub use settled::settled;
pub use show::text_of;
pub use timed::Stretches;
