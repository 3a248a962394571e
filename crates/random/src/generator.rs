//! The bit generators as one type, and the place where a drawing operation leaves the state after it.

use crate::bits::Bits;
use crate::foreign::Foreign;
use crate::mt19937::Mt19937;
use crate::pcg64::Pcg64;
use crate::philox::Philox;
use crate::sfc64::Sfc64;
use parking_lot::Mutex;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum BitGen {
    Pcg64(Pcg64<false>),
    Pcg64Dxsm(Pcg64<true>),
    Philox(Philox),
    Sfc64(Sfc64),
    Mt19937(Box<Mt19937>),
    Foreign(Foreign),
    /// Draws that have not run yet leave the state behind.
    Owed(Owed),
}

/// Runs the expression with the generator's own type.
#[macro_export]
macro_rules! with_bits {
    ($generator:expr, $bits:ident => $body:expr) => {
        match $generator {
            $crate::BitGen::Pcg64($bits) => $body,
            $crate::BitGen::Pcg64Dxsm($bits) => $body,
            $crate::BitGen::Philox($bits) => $body,
            $crate::BitGen::Sfc64($bits) => $body,
            $crate::BitGen::Mt19937($bits) => {
                let $bits = &mut **$bits;
                $body
            }
            $crate::BitGen::Foreign($bits) => $body,
            // Whoever draws has settled it.
            $crate::BitGen::Owed(_) => unreachable!(),
        }
    };
}

macro_rules! kinds {
    ($($kind:ident($type:ty)),*) => {
        $(impl From<$type> for BitGen {
            fn from(bits: $type) -> BitGen {
                BitGen::$kind(bits)
            }
        })*
    };
}
kinds!(Pcg64(Pcg64<false>), Pcg64Dxsm(Pcg64<true>), Philox(Philox), Sfc64(Sfc64), Foreign(Foreign));

impl From<Mt19937> for BitGen {
    fn from(bits: Mt19937) -> BitGen {
        BitGen::Mt19937(Box::new(bits))
    }
}

/// A generator that drawing operations are made for.
pub trait Stream: Bits + Into<BitGen> + 'static {}

impl<B: Bits + Into<BitGen> + 'static> Stream for B {}

impl BitGen {
    /// Whether the state is a value: it can be copied, and drawing from the copy changes nothing here.
    pub fn is_value(&self) -> bool {
        !matches!(self, BitGen::Foreign(_))
    }

    /// Whether any distance is skipped at once.
    pub fn jumps(&self) -> bool {
        matches!(self, BitGen::Pcg64(_) | BitGen::Pcg64Dxsm(_) | BitGen::Philox(_))
    }
}

/// Whoever knows the draws that are still to run.
pub trait Settle: Send + Sync {
    /// Waits for them; the state after them.
    fn settle(&self) -> BitGen;
}

#[derive(Clone)]
pub struct Owed(pub Arc<dyn Settle>);

impl std::fmt::Debug for Owed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Owed")
    }
}

impl BitGen {
    pub fn is_owed(&self) -> bool {
        matches!(self, BitGen::Owed(_))
    }

    /// The state itself, after a wait if it is owed.
    pub fn settled(&mut self) -> &mut BitGen {
        if let BitGen::Owed(owed) = self {
            *self = owed.0.settle();
        }
        self
    }
}

/// The state after an operation, once it has run; nothing if it failed.
pub type After = Arc<Mutex<Option<BitGen>>>;
