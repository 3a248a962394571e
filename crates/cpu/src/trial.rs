//! Which tier runs a kernel sooner, found out by trying both. Only where machine code comes through Cranelift: the wide form
//! is the better one always.
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

#[cfg(test)]
mod tests {
    use super::*;
    use numloom_ir::DType;
    use numloom_ir::kernel::NO_REG;
    use std::time::Duration;

    /// Tiles that take so long in each tier.
    fn tried(blocks: u64, code: u64) -> Tier {
        let trial = Trial::default();
        for _ in 0..LAUNCHES {
            assert!(!trial.is_over());
            let tier = trial.next();
            let took = if tier == Tier::Interpreter { blocks } else { code };
            trial.measure(tier, 1000, || std::thread::sleep(Duration::from_micros(took)));
        }
        assert!(trial.is_over());
        trial.next()
    }

    #[test]
    fn the_quicker_tier_is_kept() {
        assert_eq!(tried(100, 20_000), Tier::Interpreter);
        assert_eq!(tried(20_000, 100), Tier::MachineCode);
    }

    #[test]
    fn a_tier_that_never_ran_is_not_kept() {
        let trial = Trial::default();
        assert!((0..20).map(|_| trial.next()).last() == Some(Tier::MachineCode) && !trial.is_over());
    }

    #[test]
    fn only_mixtures_are_tried() {
        let apply = |op: ScalarOp, dst, src| Instr::Apply {
            op,
            lp: op.loop_for(DType::F64).unwrap() as u8,
            dst: [dst, NO_REG],
            src: [src, src],
        };
        let kernel = |instrs: Vec<Instr>| Kernel { regs: vec![DType::F64; 9], instrs, ..Kernel::default() };
        let sums: Vec<Instr> = (0..5).map(|k| apply(ScalarOp::Add, k + 1, k)).collect();
        assert!(!is_worth_it(&kernel(sums.clone())));
        let with_one = [&sums[..3], &[apply(ScalarOp::Maximum, 4, 3)]].concat();
        assert!(is_worth_it(&kernel(with_one)));
    }
}
