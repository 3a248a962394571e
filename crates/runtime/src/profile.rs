//! What the runtime tells the profiler, in its words. Nothing here does anything while no profile is written.

use crate::array::UNSIZED;
pub use crate::device_time::spans as device_spans;
use crate::ledger::{self, Instance};
use crate::memory::{self, Memory};
use crate::operation::{Kind, Operation, Source};
use crate::provenance::Provenance;
use crate::record::MapOp;
use crate::reserved;
use crate::stats;
use crate::store::Store;
use crate::task::{Payload, Prepared, Task, Work};
use numloom_ir::View;
use numloom_library::Form;
use numloom_profile::kinds::{MemoryKind, Reason, traits};
use numloom_profile::record::{Born, Bound, OperationRecord, TaskRecord};
use numloom_profile::{MemoryLevel, Place, Snapshot, memory_id, nvtx};
use smallvec::SmallVec;

pub use numloom_profile::kinds::{Doing, Lane, Use};
pub use numloom_profile::record::{self, Span, on, small, used};

/// A provenance as the profiler carries it.
pub fn place(at: Provenance) -> Place {
    match at.place() {
        Provenance { code: 0, .. } => 0,
        Provenance { code, at } => (code as u64) << 32 | at as u64,
    }
}

/// The same back.
pub fn provenance(place: Place) -> Provenance {
    Provenance { code: (place >> 32) as u32, at: place as u32 }
}

pub fn memory_number(memory: Memory) -> u8 {
    let kind = match memory {
        Memory::System => MemoryKind::System,
        Memory::Socket(_) => MemoryKind::Socket,
        Memory::Framebuffer(_) => MemoryKind::Framebuffer,
        Memory::ZeroCopy => MemoryKind::ZeroCopy,
        Memory::Spill => MemoryKind::Spill,
    };
    memory_id(kind, memory.number())
}

/// What the runtime counts by itself.
pub fn snapshot() -> Snapshot {
    let name = |m: Memory| match m {
        Memory::Socket(k) | Memory::Framebuffer(k) => format!("{} {k}", m.name()),
        _ => m.name().to_string(),
    };
    let levels = memory::levels().into_iter().map(|l| MemoryLevel {
        id: memory_number(l.memory),
        name: name(l.memory),
        capacity: l.capacity as u64,
        live: l.live as u64,
        peak: l.peak as u64,
    });
    let levels = levels.collect();
    Snapshot { counters: stats::all().into_iter().map(|(name, count, _)| (name, count)).collect(), levels }
}

/// A task waits for another one.
pub fn follows(record: &mut Option<Box<TaskRecord>>, earlier: &Task) {
    if let (Some(own), Some(other)) = (record, &earlier.job.record)
        && !own.follows.contains(&other.id)
    {
        own.follows.push(other.id);
    }
}

pub fn bound(record: &TaskRecord, prepared: &Prepared) {
    record.bound(match prepared {
        Prepared::Done if reserved::are_gpus() => Bound::Enqueued,
        Prepared::Done => Bound::Done,
        _ => Bound::Tiles,
    });
}

/// A range for tools that listen: a task's, for as long as this lives.
pub struct Range(bool);

impl Range {
    #[inline]
    pub fn of(work: &Work) -> Range {
        if nvtx::attached() {
            nvtx::push(&title(work));
        }
        Range(nvtx::attached())
    }

    /// It is ended by `ends`.
    pub fn stays(mut self) {
        self.0 = false;
    }

    #[inline]
    pub fn ends() {
        if nvtx::attached() {
            nvtx::pop();
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if self.0 {
            nvtx::pop();
        }
    }
}

/// A task's name: its first operation's, and how many more there are.
fn title(work: &Work) -> String {
    let ops = work.ops.lock();
    let first = ops.first().map_or("task", name);
    if ops.len() > 1 { format!("{first} and {} more", ops.len() - 1) } else { first.to_string() }
}

/// A task is over; its operations are those it had.
pub fn retired(work: &Work, ops: &[Operation], failed: bool) {
    let Some(record) = &work.record else { return };
    let variant = match &*work.payload.lock() {
        Some(Payload::Fused { .. }) => 0,
        Some(Payload::Chain { .. }) => 1,
        Some(Payload::Opaque) | None => 2,
    };
    let mut instances: SmallVec<[u64; 8]> = SmallVec::new();
    for p in ops.iter().flat_map(|op| op.reads()).filter(|p| is_told(&p.store)) {
        ledger::read(&p.store, record::now(), |id| {
            if !instances.contains(&id) {
                instances.push(id);
            }
        });
    }
    record.retired(variant, failed, ops.iter().map(operation), &instances);
}

fn operation(op: &Operation) -> OperationRecord {
    let shape = op.outs.first().map_or(0, |p| shape_of(&p.view));
    OperationRecord {
        name: name(op),
        place: place(op.at),
        shape,
        recorded: op.recorded,
        times: op.times,
        traits: traits_of(op),
    }
}

/// The operation's name as NumPy knows it.
fn name(op: &Operation) -> &'static str {
    match &op.kind {
        Kind::Reduce { op, .. } => match op.name() {
            "add" => "sum",
            "multiply" => "prod",
            "maximum" => "max",
            "minimum" => "min",
            "logical_and" => "all",
            "logical_or" => "any",
            _ => "reduce",
        },
        _ => op.name(),
    }
}

fn traits_of(op: &Operation) -> u8 {
    let out = op.outs.first().map(|p| &p.view);
    let differs = |v: &View| out.is_some_and(|o| o.dtype != v.dtype);
    let copies = matches!(op.kind, Kind::Map(MapOp::Copy));
    let mut bits = 0;
    let casts = |s: &Source| matches!(s, Source::Place(p) if differs(&p.view));
    if copies && op.ins.iter().any(casts) {
        bits |= traits::CASTS;
    }
    if op.mask.is_some() || matches!(op.kind, Kind::Unpack) {
        bits |= traits::MASKED;
    }
    if matches!(&op.kind, Kind::Library(l) if matches!(l.form(), Form::MatMul | Form::Factor { .. })) {
        bits |= traits::THREADED;
    }
    // A product of matrices packs what it reads, in whatever order it lies.
    let packs = matches!(&op.kind, Kind::Library(l) if l.name() == "matmul");
    if !packs && op.reads().any(|p| jumps(&p.view)) {
        bits |= traits::JUMPS;
    }
    bits
}

/// Whether the view's last axis is long and has larger steps than another: it is read against the grain.
fn jumps(view: &View) -> bool {
    let (Some(&last), Some(&extent)) = (view.strides.last(), view.shape.last()) else { return false };
    let step = last.unsigned_abs();
    let other =
        view.strides.iter().zip(&view.shape).any(|(s, &n)| n > 8 && s.unsigned_abs() > 0 && s.unsigned_abs() < step);
    extent > 8 && step >= 64 && other
}

pub fn shape_of(view: &View) -> u32 {
    let unknown = view.shape.first() == Some(&UNSIZED);
    record::shape(view.dtype.name(), if unknown { &[UNSIZED] } else { &view.shape })
}

pub fn born(i: &Instance, level: usize) {
    record::born(Born {
        memory: memory_number(i.memory),
        id: i.id,
        bytes: i.bytes,
        shape: record::shape(i.dtype.name(), &i.shape),
        place: place(i.store_at),
        by: i.op,
        by_place: place(i.op_at),
        store: (i.store() >> 4) as u32,
        level,
    });
}

pub fn died(i: &Instance) {
    record::died(memory_number(i.memory), i.id, i.reads, i.memory.live().saturating_sub(i.bytes));
}

fn is_told(store: &Store) -> bool {
    on() && store.nbytes() >= ledger::TRACKED
}

/// Somebody reads the store.
pub fn read(store: &Store) {
    if is_told(store) {
        ledger::read(store, record::now(), |_| ());
    }
}

/// The program reads or writes one element.
#[inline]
pub fn element(store: &Store, writes: bool) {
    if on() {
        record::used(if writes { Use::ScalarWrite } else { Use::ScalarRead }, "element", 0);
        if !writes {
            read(store);
        }
    }
}

/// The instances there are, with how often and when last they were read.
pub fn held() -> Vec<(u64, u32, u64)> {
    ledger::instances().into_iter().map(|i| (i.id, i.reads, i.last_read)).collect()
}

/// Why bytes go from one memory to another.
pub fn reason(from: Memory, to: Memory) -> Reason {
    match (from, to) {
        (_, Memory::Spill) => Reason::Spilled,
        (Memory::Spill, _) => Reason::Unspilled,
        (Memory::Framebuffer(_), to) if to.is_host() => Reason::Host,
        _ => Reason::Read,
    }
}

pub fn copied(from: Memory, to: Memory, started: u64, bytes: usize, at: Provenance) {
    if on() {
        record::copied(memory_number(from), memory_number(to), started, bytes, reason(from, to), place(at));
    }
}

/// The sync point that is open waits for what writes the store last.
pub fn waits_for(store: &Store) {
    if on() {
        let accesses = store.accesses.lock();
        let last = accesses.all.iter().rev().find(|a| a.writes).and_then(|a| a.task.job.record.as_ref());
        if let Some(record) = last {
            record::waits_for(record.id);
        }
    }
}
