//! Dense linear algebra as library operations: one row of `ROWS` each. The numbers are `faer`'s; this crate says how
//! batches are cut into tiles, how matrices get in and out of views, and how one large matrix uses several workers.

mod balance;
mod batch;
mod cholesky;
mod complex_qr;
mod eigen;
mod gang;
mod general_eigen;
mod lapack;
mod least_squares;
mod lu;
mod matrix;
mod qr;
mod scale;
mod small;
mod svd;
mod symmetric;
mod triangular;
mod tridiagonal;

pub use batch::{Call, Factor, ROWS, Row};
