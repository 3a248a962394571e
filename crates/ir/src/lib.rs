//! Pure data shared by every stage: element types, views, the table of scalar operations, kernels.
//! No threads, no memory, no Python.

pub mod draws;
pub mod dtype;
pub mod kernel;
pub mod overlap;
pub mod promote;
pub mod scalar_op;
pub mod value;
pub mod view;

pub use dtype::{DType, Kind};
pub use overlap::Overlap;
pub use scalar_op::{Identity, Loop, ScalarOp};
pub use value::Value;
pub use view::{Dims, Strides, View};
