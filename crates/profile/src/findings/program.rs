//! Rules about the program as a whole.

use super::Found;
use super::facts::Facts;
use crate::kinds::Use;

pub fn mpi(f: &Facts) -> Vec<Found> {
    if f.uses(Use::Mpi).is_empty() {
        return Vec::new();
    }
    vec![Found {
        line: 0,
        seconds: 0.0,
        bytes: 0,
        title: "mpi4py is imported".into(),
        text: "What it sends does not pass through Numloom, and is neither ordered with nor seen by it.".into(),
    }]
}
