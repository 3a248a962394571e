//! A task: what is launched. It waits for its predecessors, is prepared by the first worker that takes
//! it (memory, addresses, tiles), run tile by tile by any number of workers, and retired by the last.

use crate::chain::{ChainPlan, ChainRun};
use crate::error::{ErrorKind, ExecError};
use crate::operation::Operation;
use crate::plan::FusedPlan;
use crate::provenance::Provenance;
use crate::store::Store;
use numloom_cpu::Launch;
use numloom_ir::{Value, View};
use numloom_library::{Args, LibraryOp};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// What a task does, with the stores it does it to.
pub enum Payload {
    /// The stores of the plan's operands, then of its reductions' results.
    Fused { plan: Arc<FusedPlan>, stores: Vec<Arc<Store>>, params: Vec<Value> },
    /// For each step of the chain, as above.
    Chain { plan: Arc<ChainPlan>, stores: Vec<Vec<Arc<Store>>>, params: Vec<Vec<Value>> },
    /// The first of the task's operations, as it is.
    Opaque,
}

pub struct Task {
    /// Taken at retirement, so that stores and tasks do not keep each other alive.
    pub payload: Mutex<Option<Payload>>,
    /// Operations that are over when this is. Taken at retirement.
    pub ops: Mutex<Vec<Operation>>,
    /// Predecessors that are not over, plus one while the task is being built.
    waits: AtomicUsize,
    /// Tasks that wait for this one; `None` once it is over.
    successors: Mutex<Option<Vec<Arc<Task>>>>,
    pub prepared: OnceLock<Prepared>,
    /// Phase in the high half, next tile in the low half: claimed together.
    cursor: AtomicU64,
    done: AtomicUsize,
    pub flags: AtomicU8,
    pub error: Mutex<Option<ExecError>>,
}

/// A task bound to memory.
pub enum Prepared {
    Launch(Box<Launch>),
    Chain(ChainRun),
    /// `own`: an operation made while preparing; otherwise the recorded one runs.
    Library {
        own: Option<Box<dyn LibraryOp>>,
        args: Args,
        phases: SmallVec<[usize; 4]>,
    },
    /// Everything was done while preparing.
    Done,
}

impl Task {
    pub fn new(payload: Payload, ops: Vec<Operation>) -> Task {
        Task {
            payload: Mutex::new(Some(payload)),
            ops: Mutex::new(ops),
            waits: AtomicUsize::new(1),
            successors: Mutex::new(Some(Vec::new())),
            prepared: OnceLock::new(),
            cursor: AtomicU64::new(0),
            done: AtomicUsize::new(0),
            flags: AtomicU8::new(0),
            error: Mutex::new(None),
        }
    }

    /// Makes `self` wait for `earlier`, unless that is over already.
    pub fn follow(self: &Arc<Task>, earlier: &Arc<Task>) {
        if Arc::ptr_eq(self, earlier) {
            return;
        }
        if let Some(list) = earlier.successors.lock().as_mut() {
            self.waits.fetch_add(1, Ordering::Relaxed);
            list.push(self.clone());
        }
    }

    pub fn is_over(&self) -> bool {
        self.successors.lock().is_none()
    }

    /// One thing less to wait for; true when that was the last.
    pub fn arrive(&self) -> bool {
        self.waits.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Ends the task and answers the successors that became ready.
    pub fn release(&self) -> Vec<Arc<Task>> {
        let list = self.successors.lock().take().unwrap_or_default();
        list.into_iter().filter(|t| t.arrive()).collect()
    }

    /// The next tile to run, as (phase, tile), if one is left in this phase.
    pub fn claim(&self, tiles_of: impl Fn(usize) -> usize) -> Option<(usize, usize)> {
        let now = self.cursor.load(Ordering::Acquire);
        if (now as u32) as usize >= tiles_of((now >> 32) as usize) {
            return None;
        }
        let c = self.cursor.fetch_add(1, Ordering::AcqRel);
        let (phase, tile) = ((c >> 32) as usize, (c as u32) as usize);
        (tile < tiles_of(phase)).then_some((phase, tile))
    }

    /// Whether a tile of the current phase is still to be claimed.
    pub fn peek(&self, tiles_of: impl Fn(usize) -> usize) -> bool {
        let now = self.cursor.load(Ordering::Acquire);
        ((now as u32) as usize) < tiles_of((now >> 32) as usize)
    }

    /// Notes a finished tile; true when it was the last of its phase.
    pub fn finish_tile(&self, tiles: usize) -> bool {
        self.done.fetch_add(1, Ordering::AcqRel) + 1 == tiles
    }

    /// Opens the next phase. Only the worker that finished the last tile calls this.
    pub fn open_phase(&self, phase: usize) {
        self.done.store(0, Ordering::Release);
        self.cursor.store((phase as u64) << 32, Ordering::Release);
    }

    pub fn fail(&self, error: ExecError) {
        self.error.lock().get_or_insert(error);
    }

    /// Name and line of the first operation: what an error or a warning points at.
    pub fn headline(&self) -> (&'static str, Provenance) {
        self.ops.lock().first().map_or(("task", Provenance::default()), |o| (o.name(), o.at))
    }

    pub fn failure(&self, kind: ErrorKind, message: String) -> ExecError {
        let (op, provenance) = self.headline();
        ExecError { kind, message, op, provenance }
    }
}

/// A view's bytes as library operations take them. The store must have memory.
pub fn raw_view(store: &Store, view: &View) -> numloom_library::RawView {
    numloom_library::RawView {
        // SAFETY: a view's offset lies inside its store.
        ptr: unsafe { store.ptr().add(view.offset) },
        dtype: view.dtype,
        shape: view.shape.clone(),
        strides: view.strides.clone(),
    }
}
