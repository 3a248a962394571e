//! What tasks do: the work of a task, the same bound to memory, and the scheduler that runs them.

use crate::appetite::{self, Appetite};
use crate::chain::{ChainPlan, ChainRun};
use crate::error::{ErrorKind, ExecError};
use crate::mapper::Mapping;
use crate::memory;
use crate::operation::{Kind, Operation};
use crate::pace::{self, Spent};
use crate::piecemeal;
use crate::plan::FusedPlan;
use crate::prepare;
use crate::profile;
use crate::provenance::Provenance;
use crate::record::run_tile;
use crate::retire;
use crate::store::Store;
use numloom_cpu::{Launch, Raised};
use numloom_ir::{Value, View};
use numloom_library::{Args, LibraryError, LibraryOp};
use numloom_profile::record::TaskRecord;
use numloom_threads::{Job, Scheduler};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

pub type Task = numloom_threads::Task<Work>;

pub static SCHEDULER: Scheduler<Work> = Scheduler::new();

/// What a task does, with the stores it does it to.
pub enum Payload {
    /// The stores of the plan's operands, then of its reductions' results.
    Fused { plan: Arc<FusedPlan>, stores: Vec<Arc<Store>>, params: Vec<Value>, raised: Arc<Raised> },
    /// For each step of the chain, as above.
    Chain { plan: Arc<ChainPlan>, stores: Vec<Vec<Arc<Store>>>, params: Vec<Vec<Value>>, raised: Vec<Arc<Raised>> },
    /// The first of the task's operations, as it is.
    Opaque,
}

pub struct Work {
    /// Taken at retirement, so that stores and tasks do not keep each other alive.
    pub payload: Mutex<Option<Payload>>,
    /// Operations that are over when this is. Taken at retirement.
    pub ops: Mutex<Vec<Operation>>,
    /// Floating-point flags seen so far.
    pub flags: AtomicU8,
    pub appetite: Appetite,
    /// Where its arrays are held while it runs, if there is a choice.
    pub mapping: Mutex<Option<Mapping>>,
    pub spent: Spent,
    /// Its times and its like, where a profile is written.
    pub record: Option<Box<TaskRecord>>,
}

/// Work bound to memory.
pub enum Prepared {
    Launch(Box<Launch>),
    /// The same kernel over parts of its domain, each in a memory of its own: tiles of all parts, phase by phase.
    Parts {
        launches: Vec<Launch>,
        phases: SmallVec<[usize; 4]>,
    },
    Chain {
        run: ChainRun,
        tiles: usize,
    },
    /// `own`: an operation made while preparing; otherwise the recorded one runs.
    Library {
        own: Option<Box<dyn LibraryOp>>,
        args: Args,
        phases: SmallVec<[usize; 4]>,
    },
    /// Everything was done while preparing.
    Done,
}

impl Job for Work {
    type Bound = Prepared;
    type Error = ExecError;

    fn ready(&self) {
        if let Some(record) = &self.record {
            record.ready();
        }
    }

    fn waits_for_others(&self, behind: bool) -> bool {
        appetite::waits_for_others(self, behind)
    }

    fn chosen(&self) {
        appetite::chosen(self);
    }

    fn bind(&self) -> Result<Prepared, ExecError> {
        let _range = profile::Range::of(self);
        if let Some(record) = &self.record {
            record.binding();
        }
        if is_abandoned() {
            return Ok(Prepared::Done);
        }
        let bound = match prepare::prepare(self) {
            Err(e) if piecemeal::helps(self, &e) => Ok(piecemeal::run(self)),
            done => done,
        };
        let phases = bound.as_ref().map_or(&[][..], Work::phases);
        appetite::bound(self, phases.iter().any(|&tiles| tiles > 1));
        if let Some(record) = &self.record {
            profile::bound(record, bound.as_ref().unwrap_or(&Prepared::Done));
        }
        bound
    }

    fn is_short(&self) -> bool {
        pace::is_short(self)
    }

    fn entered(&self) {
        profile::Range::of(self).stays();
        if let Some(record) = &self.record {
            record.entered();
        }
    }

    fn left(&self) {
        profile::Range::ends();
        if let Some(record) = &self.record {
            record.left();
        }
    }

    fn phases(prepared: &Prepared) -> &[usize] {
        match prepared {
            Prepared::Launch(l) => l.phases(),
            Prepared::Parts { phases, .. } => phases,
            Prepared::Chain { tiles, .. } => std::slice::from_ref(tiles),
            Prepared::Library { phases, .. } => phases,
            Prepared::Done => &[],
        }
    }

    fn run(&self, prepared: &Prepared, phase: usize, tile: usize) -> Result<(), ExecError> {
        if is_abandoned() {
            return Ok(());
        }
        // SAFETY, of all: the analysis ordered this task after everything that touches what it writes.
        let run = || match prepared {
            Prepared::Launch(l) => {
                self.flags.fetch_or(unsafe { l.run(phase, tile) }, Ordering::Relaxed);
                Ok(())
            }
            Prepared::Parts { launches, .. } => {
                let mut tile = tile;
                for l in launches {
                    let tiles = l.phases().get(phase).copied().unwrap_or(0);
                    if tile < tiles {
                        self.flags.fetch_or(unsafe { l.run(phase, tile) }, Ordering::Relaxed);
                        break;
                    }
                    tile -= tiles;
                }
                Ok(())
            }
            Prepared::Chain { run, .. } => {
                self.flags.fetch_or(unsafe { run.run(tile) }, Ordering::Relaxed);
                Ok(())
            }
            Prepared::Library { own, args, .. } => {
                let mut flags = 0;
                // SAFETY: besides, the operation stays in place until the task retires.
                let ran = unsafe {
                    let op = own.as_deref().unwrap_or_else(|| &*self.library());
                    run_tile(op, args, phase, tile, &mut flags)
                };
                self.flags.fetch_or(flags, Ordering::Relaxed);
                ran
            }
            Prepared::Done => Ok(()),
        };
        let ran = memory::inside_a_task(|| self.spent.measure(run));
        if let Some(record) = &self.record {
            record.tile();
        }
        ran.map_err(|e| match e {
            LibraryError::Index(m) => self.failure(ErrorKind::Index, m),
            LibraryError::Value(m) => self.failure(ErrorKind::Value, m),
            LibraryError::LinAlg(m) => self.failure(ErrorKind::LinAlg, m),
            LibraryError::Memory(m) => self.failure(ErrorKind::OutOfMemory, m),
        })
    }

    fn panicked(&self, message: String) -> ExecError {
        self.failure(ErrorKind::Internal, message)
    }

    fn retire(&self, error: Option<ExecError>) {
        appetite::bound(self, false);
        retire::retire(self, error);
    }
}

/// Nobody will look at any result again.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// From now on tasks do nothing.
pub fn abandon() {
    ABANDONED.store(true, Ordering::Relaxed);
}

fn is_abandoned() -> bool {
    ABANDONED.load(Ordering::Relaxed)
}

impl Work {
    pub fn new(payload: Payload, ops: Vec<Operation>) -> Work {
        let (payload, ops) = (Mutex::new(Some(payload)), Mutex::new(ops));
        Work {
            payload,
            ops,
            flags: AtomicU8::new(0),
            appetite: Appetite::default(),
            mapping: Mutex::new(None),
            spent: Spent::default(),
            record: None,
        }
    }

    /// Name and line of the first operation: what an error or a warning points at.
    pub fn headline(&self) -> (&'static str, Provenance) {
        self.ops.lock().first().map_or(("task", Provenance::default()), |o| (o.name(), o.at))
    }

    pub fn failure(&self, kind: ErrorKind, message: String) -> ExecError {
        let (op, provenance) = self.headline();
        ExecError::new(kind, message, op, provenance)
    }

    /// The library operation of an opaque task. It stays in place until retirement.
    fn library(&self) -> *const dyn LibraryOp {
        let ops = self.ops.lock();
        match ops.first().map(|o| &o.kind) {
            Some(Kind::Library(op)) => &**op as *const _,
            _ => unreachable!("only library operations are prepared as such"),
        }
    }
}

/// A view's bytes as library operations take them, in a store whose byte zero lies at `base`.
pub fn raw_view(base: *mut u8, view: &View) -> numloom_library::RawView {
    numloom_library::RawView {
        ptr: base.wrapping_add(view.offset),
        dtype: view.dtype,
        shape: view.shape.clone(),
        strides: view.strides.clone(),
    }
}
