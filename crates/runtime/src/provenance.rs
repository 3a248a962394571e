//! File and line of the user's code, as cheap as it can be carried.

/// An opaque pair that the front turns into text: which code object, and where in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Provenance {
    pub code: u32,
    pub at: u32,
}
