//! The CPU backend: a kernel becomes a program for a pattern of operand layouts (`program`), a launch
//! binds it to memory and cuts its domain into tiles (`launch`, `walk`), and a tile runs block by block
//! (`run`, `fold`, `copy`; `partials` for the order of sums). `trial` finds the better tier, `blame` the instruction behind a
//! floating-point flag.

mod blame;
mod copy;
mod fold;
mod frame;
mod launch;
mod partials;
mod program;
mod run;
mod trial;
mod walk;

pub use blame::{Raised, Watch, may_raise};
pub use launch::{Launch, Output};
pub use partials::{GRANULE, Partials, goes_along};
pub use program::{Compiled, Tier};
pub use walk::Operand;
