//! The CPU backend: a kernel becomes a program for a pattern of operand layouts (`program`), a launch
//! binds it to memory and cuts its domain into tiles (`launch`, `walk`), and a tile runs block by block
//! (`run`, `fold`, `copy`). `blame` finds the instruction behind a floating-point flag.

mod blame;
mod copy;
mod fold;
mod frame;
mod launch;
mod program;
mod run;
mod walk;

pub use blame::{Raised, Watch, may_raise};
pub use launch::{Launch, Output};
pub use program::{Compiled, Tier};
pub use walk::Operand;
