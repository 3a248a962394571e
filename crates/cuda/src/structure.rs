//! What a printed program depends on beside its kernel, and where its launch arguments lie.

use numloom_ir::DType;
use numloom_ir::kernel::Kernel;
use smallvec::SmallVec;

/// How an operand is read and written by the lanes of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// One element for the whole domain: read once, before the loop.
    Uniform,
    /// Lanes side by side at aligned addresses: accesses of up to sixteen bytes.
    Vector,
    /// Lane by lane.
    Scalar,
    /// Lane by lane, byte by byte: addresses below the type's alignment.
    Bytes,
}

/// In which order the threads of a fold go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Neighbouring threads walk along the reduced axes and share a result.
    Along,
    /// Neighbouring threads belong to neighbouring results.
    Across,
    /// One thread a result, from the left: for operations whose order matters.
    InOrder,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Walk {
    /// One axis.
    Flat,
    /// Threads along the last axis, lanes along the one before, the rest by division once a block.
    Rows { rank: u8 },
    /// A reduction; `split`: several blocks share a result and the last of them finishes it.
    Fold { order: Order, kept: u8, away: u8, split: bool },
}

/// Everything a printed program is specialised on. Extents, strides and addresses are not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Structure {
    pub walk: Walk,
    /// Indices need 64 bits.
    pub wide: bool,
    /// Neighbouring elements a thread takes at once.
    pub v: u8,
    /// Groups of `v` a thread takes at once.
    pub u: u8,
    /// No stride is negative: offsets are unsigned, which addresses take without widening.
    pub forward: bool,
    pub access: SmallVec<[Access; 8]>,
    /// For each operand the first one of the same strides, whose offsets it shares.
    pub twin: SmallVec<[u8; 8]>,
    /// For each operand one that reads the same array from a row further up, or itself; and how many rows further.
    /// A thread that takes several rows reads them once for both.
    pub above: SmallVec<[(u8, u8); 8]>,
    /// Type of each reduction's output, and whether an initial value is folded in.
    pub outputs: SmallVec<[(DType, bool); 2]>,
}

impl Structure {
    pub fn lanes(&self) -> usize {
        self.v as usize * self.u as usize
    }

    /// Axes of the walk.
    pub fn rank(&self) -> usize {
        match self.walk {
            Walk::Flat => 1,
            Walk::Rows { rank } => rank as usize,
            Walk::Fold { kept, away, .. } => kept as usize + away as usize,
        }
    }

    pub fn kept(&self) -> usize {
        match self.walk {
            Walk::Fold { kept, .. } => kept as usize,
            _ => 0,
        }
    }
}

/// Launch arguments are one array of 64-bit words, passed by value; this says what lies where.
///
/// In turn: the walk's own words and extents; address and strides of every operand (the progression of `Iota`
/// is a last one, with strides counted in elements); address, strides over the kept axes and initial value of
/// every output; parameters.
pub struct Arguments {
    rank: usize,
    kept: usize,
    head: usize,
    operands: usize,
    outputs: usize,
    params: SmallVec<[usize; 8]>,
    pub len: usize,
}

/// Words before the extents.
pub mod head {
    pub const TILES: usize = 0;
    pub const TILES_X: usize = 1;
    pub const TILES_Y: usize = 2;

    pub const PARTIALS: usize = 0;
    pub const COUNTERS: usize = 1;
    pub const KEPT: usize = 2;
    pub const AWAY: usize = 3;
    pub const CHUNK: usize = 4;
    pub const SPLITS: usize = 5;
    pub const LANES: usize = 6;
}

/// Kernel arguments every driver accepts: 4 KiB.
pub const MOST_WORDS: usize = 512;

impl Arguments {
    pub fn new(kernel: &Kernel, s: &Structure) -> Arguments {
        let head = match s.walk {
            Walk::Flat => 1,
            Walk::Rows { .. } => 3,
            Walk::Fold { .. } => 7,
        };
        let (rank, kept) = (s.rank(), s.kept());
        let operands = kernel.operands.len();
        let mut at = head + rank + (operands + 1) * (rank + 1) + kernel.targets.len() * (kept + 3);
        let params = kernel
            .params
            .iter()
            .map(|d| {
                let here = at;
                at += if d.size() > 8 { 2 } else { 1 };
                here
            })
            .collect();
        Arguments { rank, kept, head, operands, outputs: kernel.targets.len(), params, len: at }
    }

    pub fn extent(&self, axis: usize) -> usize {
        self.head + axis
    }

    pub fn operand(&self, o: usize) -> usize {
        self.head + self.rank + o * (self.rank + 1)
    }

    pub fn stride(&self, o: usize, axis: usize) -> usize {
        self.operand(o) + 1 + axis
    }

    /// The progression's place among the operands.
    pub fn iota(&self) -> usize {
        self.operands
    }

    pub fn output(&self, t: usize) -> usize {
        self.operand(self.operands + 1) + t.min(self.outputs) * (self.kept + 3)
    }

    pub fn output_stride(&self, t: usize, axis: usize) -> usize {
        self.output(t) + 1 + axis
    }

    pub fn initial(&self, t: usize) -> usize {
        self.output(t) + 1 + self.kept
    }

    pub fn param(&self, p: usize) -> usize {
        self.params.get(p).copied().unwrap_or(0)
    }
}
