//! Library operations: work that is not a fused kernel. One declaration each: what it is called, how
//! it is cut into tiles, and what a tile does. The runtime runs the tiles of a phase on its workers
//! in any order, and the phases one after another.

mod abreast;
mod arg_reduce;
mod buckets;
#[cfg(target_arch = "x86_64")]
mod cells;
mod clock;
mod combining;
mod contract;
mod counting;
mod dealing;
mod divide;
mod division;
mod element;
mod even;
mod few;
mod few_products;
mod few_truths;
mod fold;
mod gather;
mod guide;
mod index;
mod interpolate;
mod latest;
mod matmul;
mod matvec;
#[cfg(target_arch = "x86_64")]
mod matvec_avx512;
mod merge;
#[cfg(target_arch = "x86_64")]
mod network;
mod order;
mod pack;
mod product;
mod quicksort;
mod radix;
mod reduce_left;
mod reduceat;
mod repeat;
mod run;
mod scan;
mod scatter;
mod scratch;
mod searchsorted;
mod select;
mod shares;
mod short_lanes;
mod slide;
mod sort;
mod sort_key;
mod tally;
mod vector;
mod walk;

pub use arg_reduce::{ArgReduce, TOGETHER, extreme_place, extremes_down};
pub use clock::Clock;
pub use contract::{Labelled, contract};
pub use few::{count, insertion_place, insertion_places, integers, repeat_pieces, weigh};
pub use few_products::{cross, outer};
pub use few_truths::Truths;
pub use fold::{BinaryFn, Fold};
pub use gather::Take;
pub use index::{Mode, Reaches};
pub use interpolate::{Interpolate, interpolate};
pub use matmul::MatMul;
pub use matvec::dots_dense;
pub use order::{distinct_few, lex_places_few, median_few, places_few, quantile_few, quantiles_few, sort_few};
pub use pack::{CountTrue, Nonzero, Pack, Unpack};
pub use product::Product;
pub use reduce_left::ReduceLeft;
pub use reduceat::{ReduceAt, reduce_stretches};
pub use repeat::Repeat;
pub use run::{Room, Run};
pub use scan::{Accumulate, scan_few};
pub use scatter::{Put, ScatterApply};
pub use scratch::{Buffer, Lender, Scratch, borrow_from};
pub use searchsorted::SearchSorted;
pub use select::Select;
pub use slide::slide;
pub use sort::Sort;
pub use tally::Tally;
pub use vector::vectorized;
pub use walk::{Walk, piece, pieces, without};

use numloom_ir::draws::Draws;
use numloom_ir::{DType, Dims, ScalarOp, Strides};
use smallvec::SmallVec;

/// Bytes of an output from which on it is written past the caches.
pub const LARGE: usize = 16 << 20;

/// The bytes of a view: where element zero lies and how to walk. Strides are in bytes.
#[derive(Clone, Debug)]
pub struct RawView {
    pub ptr: *mut u8,
    pub dtype: DType,
    pub shape: Dims,
    pub strides: Strides,
}

// SAFETY: a raw view is an address; the runtime's hazard analysis gives each task exclusive access to
// what it writes and shared access to what it reads.
unsafe impl Send for RawView {}
unsafe impl Sync for RawView {}

/// Why a library operation failed; becomes a Python exception of the same kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    #[error("{0}")]
    Index(String),
    #[error("{0}")]
    Value(String),
    #[error("{0}")]
    LinAlg(String),
    #[error("{0}")]
    Memory(String),
}

/// Inputs and outputs of one call, in the order of its declaration.
#[derive(Clone, Debug, Default)]
pub struct Args {
    pub ins: Vec<RawView>,
    pub outs: Vec<RawView>,
}

/// What an operation is, for backends that do it in their own way.
pub enum Form {
    MatMul,
    /// Running folds along an axis; by which operation, if it is a plain one.
    Accumulate {
        op: Option<ScalarOp>,
        axis: usize,
    },
    /// A sort along an axis, or the places that would sort it; `stable`: what is equal keeps its order. So is a
    /// partition, which a sort is as well.
    Sort {
        axis: usize,
        places: bool,
        stable: bool,
    },
    /// The elements at some places of every sorted lane along an axis.
    Select {
        axis: usize,
        kth: Vec<usize>,
    },
    /// Places of the largest or smallest along an axis, or of the whole input.
    Extreme {
        max: bool,
        axis: Option<usize>,
    },
    /// Elements by index; the axes that are indexed, as errors name them.
    Take {
        axes: Dims,
        mode: Mode,
    },
    Put {
        axes: Dims,
        mode: Mode,
    },
    CountTrue,
    /// Places in a sorted array; `right`: behind what is equal.
    SearchSorted {
        right: bool,
    },
    /// A factorisation by its name in the table of `numloom-linalg`: how many trailing axes of each input and output belong
    /// to one matrix, and the row's option.
    Factor {
        name: &'static str,
        ins: &'static [usize],
        outs: &'static [usize],
        option: bool,
    },
    /// A Fourier transform of `n` points along an axis, times `scale`.
    Fourier {
        spectrum: Spectrum,
        axis: usize,
        n: usize,
        inverse: bool,
        scale: f64,
    },
    /// Random numbers; the output is dense.
    Draw(Draws),
    Other,
}

/// What a Fourier transform goes from and to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spectrum {
    /// As many complex numbers as the output has places along the axis.
    Complex,
    /// Real numbers to the half of their spectrum that is not redundant.
    RealToHalf,
    /// Such a half to real numbers.
    HalfToReal,
}

/// One call of a library operation. It lives for one call, so it may keep scratch between phases.
pub trait LibraryOp: Send + Sync {
    /// The name in `explain`, errors and profiles.
    fn name(&self) -> &'static str;

    /// Whether it comes after everything launched before, whatever that touches.
    fn follows_all(&self) -> bool {
        false
    }

    /// How many tiles each phase has. Fixed by the shapes alone, never by the number of workers, so
    /// that results do not depend on it.
    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]>;

    /// Runs one tile. Tiles of one phase run concurrently and must not write the same bytes. When a tile
    /// fails, later phases are not run; of several errors the one of the lowest tile is the one to report.
    ///
    /// # Safety
    /// Every view in `args` must be valid memory, and nothing else may touch what the operation writes.
    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError>;

    /// The name that floating-point warnings give the operation, if the exceptions of its arithmetic are the program's.
    fn raises(&self) -> Option<&'static str> {
        None
    }

    fn form(&self) -> Form {
        Form::Other
    }

    /// Whether an input may be an output, element by element (otherwise, and where they overlap in another way, the runtime
    /// copies it first).
    fn in_place(&self) -> bool {
        false
    }
}

/// Looks for the libraries that operations will ask for, so that the first that does need not wait.
pub fn look_for_libraries() {
    let _ = numloom_blas::get();
}
