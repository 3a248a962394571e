//! Draws that are recorded like any operation. How many words they take is known when they have run, so the stream owes
//! its state meanwhile: draws follow each other through a cell that each of them reads and writes, take the state where
//! the one before left it, and whoever else wants it (`BitStream::locked`, NumPy's C interface) waits for the last.

use numloom_library::{Args, LibraryError, LibraryOp};
use numloom_random::{After, BitGen, Settle};
use numloom_runtime::{Array, record};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// The draws of a stream that are still to run.
pub struct Chain {
    /// What orders them: every draw reads and writes it.
    pub cell: Array,
    last: Mutex<Last>,
}

/// Where the stream stands after the draws that have begun.
struct Last {
    state: BitGen,
    /// Where the last of them ends. It stays empty if that fails, and then nothing was drawn.
    after: After,
}

impl Last {
    fn settled(&mut self) -> &BitGen {
        if let Some(end) = self.after.lock().take() {
            self.state = end;
        }
        &self.state
    }
}

impl Chain {
    pub fn new(cell: Array, state: BitGen) -> Chain {
        Chain { cell, last: Mutex::new(Last { state, after: After::default() }) }
    }

    /// Whether every draw recorded so far has run.
    pub fn is_over(&self) -> bool {
        record::is_ready(&self.cell)
    }

    /// Goes on from `state`, when nothing is owed.
    pub fn restart(&self, state: BitGen) {
        *self.last.lock() = Last { state, after: After::default() };
    }

    /// The state for a draw whose turn it is.
    fn next(&self, after: After) -> BitGen {
        let mut last = self.last.lock();
        let state = last.settled().clone();
        last.after = after;
        state
    }
}

impl Settle for Chain {
    fn settle(&self) -> BitGen {
        record::wait_until_idle(&self.cell.store);
        self.last.lock().settled().clone()
    }
}

/// A draw that is made when its turn comes.
pub struct Later<F> {
    chain: Arc<Chain>,
    make: Mutex<Option<F>>,
    made: OnceLock<Option<Box<dyn LibraryOp>>>,
}

impl<F: FnOnce(BitGen, After) -> Box<dyn LibraryOp> + Send> Later<F> {
    pub fn new(chain: Arc<Chain>, make: F) -> Later<F> {
        Later { chain, make: Mutex::new(Some(make)), made: OnceLock::new() }
    }

    /// Bound when everything before it in the cell is over: only then the state is known.
    fn made(&self) -> Result<&dyn LibraryOp, LibraryError> {
        let made = self.made.get_or_init(|| {
            let make = self.make.lock().take()?;
            let after = After::default();
            Some(make(self.chain.next(after.clone()), after))
        });
        made.as_deref().ok_or_else(|| LibraryError::Value("a draw was lost".into()))
    }
}

impl<F: FnOnce(BitGen, After) -> Box<dyn LibraryOp> + Send> LibraryOp for Later<F> {
    fn name(&self) -> &'static str {
        "random"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        self.made().map_or_else(|_| SmallVec::new(), |op| op.phases(args))
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        self.made()?.run(args, phase, tile)
    }

    /// The cell is read and written.
    fn in_place(&self) -> bool {
        true
    }
}
