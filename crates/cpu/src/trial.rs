//! Which tier runs a kernel sooner, found out by trying both.
//!
//! Machine code saves what block loops write and read between two operations, and has vectors of 128 bits; block loops have
//! the widest of the machine. For arithmetic machine code wins by far. Comparisons, minima and selections take several of its
//! instructions each, as NaNs must raise nothing, and who wins depends on the mixture and on the machine.

use crate::program::Tier;
use numloom_ir::ScalarOp;
use numloom_ir::kernel::{Instr, Kernel};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Launches that try one tier or the other, before the better one is kept.
const LAUNCHES: u32 = 6;

#[derive(Default, Debug)]
pub(crate) struct Trial {
    launches: AtomicU32,
    /// Picoseconds an element in the best tile of each tier, one more than it was; 0 before the first.
    best: [AtomicU64; 2],
}

/// Whether a good part of the kernel's work is of the kind that decides it.
pub(crate) fn is_worth_it(kernel: &Kernel) -> bool {
    use ScalarOp::{Fmax, Fmin, Maximum, Minimum, Sign};
    let (mut work, mut doubtful) = (0, 0);
    for i in &kernel.instrs {
        match *i {
            Instr::Apply { op, src, .. } => {
                work += 1;
                let inexact = kernel.regs[src[0] as usize].is_inexact();
                let slow = op.is_comparison() || matches!(op, Maximum | Minimum | Fmax | Fmin | Sign);
                doubtful += (slow && inexact) as usize;
            }
            Instr::Select { .. } | Instr::Cast { .. } => {
                work += 1;
                doubtful += 1;
            }
            _ => {}
        }
    }
    doubtful > 0 && 4 * doubtful >= work
}

impl Trial {
    /// The tier of the next launch.
    pub fn next(&self) -> Tier {
        let [blocks, code] = [0, 1].map(|k| self.best[k].load(Relaxed));
        let turn = self.launches.load(Relaxed);
        if turn >= LAUNCHES {
            return if blocks > 0 && blocks < code { Tier::Interpreter } else { Tier::MachineCode };
        }
        self.launches.store(turn + 1, Relaxed);
        if turn.is_multiple_of(2) { Tier::MachineCode } else { Tier::Interpreter }
    }

    pub fn is_over(&self) -> bool {
        self.launches.load(Relaxed) >= LAUNCHES && self.best.iter().all(|b| b.load(Relaxed) > 0)
    }

    /// Runs a tile of so many elements, and remembers what it took if that was less than ever.
    pub fn measure<R>(&self, tier: Tier, elements: usize, tile: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let done = tile();
        let took = begun.elapsed().as_nanos() as u64 * 1000 / elements.max(1) as u64 + 1;
        let best = &self.best[(tier == Tier::MachineCode) as usize];
        // A better time of another thread may be lost: there will be more.
        let known = best.load(Relaxed);
        if known == 0 || took < known {
            best.store(took, Relaxed);
        }
        done
    }
}
