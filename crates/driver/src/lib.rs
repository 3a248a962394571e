//! The command `numloom [flags] [program [arguments]]`. `plan` is pure: words and a `World` in, an `Outcome` out;
//! `run` does what it says. The rank that a launcher starts is this same command, with `--launcher none`.

mod bind;
mod command;
mod info;
mod launch;
mod plan;
pub mod prof;
pub mod run;
mod tell;
#[cfg(test)]
mod tests;
mod world;

pub use bind::Binding;
pub use plan::{How, Outcome, Plan, Refusal, plan};
pub use world::{FileKind, Here, World};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");
