//! Printed programs: that they compile for GPUs, and that they compute what the CPU does.

mod cases;
mod host;
mod nvrtc;
mod ops;
mod picks;
