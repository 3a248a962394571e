//! What threads share: tasks, the scheduler that runs them, and the blocks of memory they use. What a task does is
//! a [`Job`]; where memory comes from is a [`Source`]. The unit tests of this crate build it over the primitives of
//! `shuttle` and check the code itself under many interleavings; see `model`.

mod blocks;
mod primitives;
mod schedule;
mod task;

#[cfg(test)]
mod model;
#[cfg(test)]
mod orderings;

pub use blocks::{Blocks, Source};
pub use schedule::Scheduler;
pub use task::{Job, Task};
