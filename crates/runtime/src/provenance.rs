//! File and line of the user's code, as cheap as it can be carried.

use numloom_loops::FP_UNDERFLOW;

/// An opaque pair that the front turns into text: which code object, and where in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Provenance {
    pub code: u32,
    pub at: u32,
}

impl Provenance {
    /// Where the ignored kinds of floating-point exceptions stand in `at`, as the difference from the default.
    const IGNORED: u32 = 28;

    /// The same place, with the kinds (`FP_*`) that nobody wants to hear of there.
    pub fn ignoring(self, flags: u8) -> Provenance {
        Provenance { at: self.place().at | ((flags ^ FP_UNDERFLOW) as u32) << Provenance::IGNORED, ..self }
    }

    pub fn ignored(self) -> u8 {
        (self.at >> Provenance::IGNORED) as u8 ^ FP_UNDERFLOW
    }

    /// The place alone.
    pub fn place(self) -> Provenance {
        Provenance { at: self.at & ((1 << Provenance::IGNORED) - 1), ..self }
    }
}
