//! Mapping: gives a ready task its memory and addresses.

use crate::array::UNSIZED;
use crate::chain::{BoundStep, ChainRun};
use crate::device_time;
use crate::error::ExecError;
use crate::fp;
use crate::gpu;
use crate::gpu_library;
use crate::lost;
use crate::mapper::{self, Mapping, Part, Slab, Touch};
use crate::memory::{self, Memory};
use crate::node::{self, Spot, StoreId};
use crate::operation::{Kind, Operation, Place, Source};
use crate::packed;
use crate::plan::{self, FusedPlan};
use crate::pool;
use crate::printed;
use crate::profile::{Doing, Lane, Span, record};
use crate::provenance::Provenance;
use crate::reserved;
use crate::retire;
use crate::reuse::Takeover;
use crate::stats;
use crate::store::Store;
use crate::streamed;
use crate::swap;
use crate::task::{Payload, Prepared, Work};
use crate::unplaced;
use numloom_cpu::{Launch, Operand, Output, Raised};
use numloom_ir::kernel::Instr;
use numloom_ir::{Dims, Strides, Value, View};
use numloom_library::{Args, RawView};
use smallvec::SmallVec;
use std::sync::Arc;

type Result<T> = std::result::Result<T, ExecError>;

/// Memory and addresses for a task. All its new instances get room at once or not at all.
pub fn prepare(work: &Work) -> Result<Prepared> {
    memory::inside_a_task(|| bound(work))
}

fn bound(work: &Work) -> Result<Prepared> {
    let ops = &*work.ops.lock();
    let payload = work.payload.lock();
    match payload.as_ref() {
        None => Ok(Prepared::Done),
        Some(Payload::Fused { plan, stores, params, raised }) => {
            if let Some(e) = poison(stores.iter()).or_else(|| poison_of_reads(plan, ops)) {
                return Err(e);
            }
            fused(work, &FusedTask { ops, plan, stores, params, raised: Some(raised) })
        }
        Some(Payload::Chain { plan, stores, params, raised }) => {
            if let Some(e) = poison(stores.iter().flatten()) {
                return Err(e);
            }
            let kept = |(spot, _): &(&Spot, &Arc<Store>)| !plan.is_local(spot.store);
            let all = plan.steps.iter().zip(stores).flat_map(|(f, s)| f.spots().zip(s)).filter(kept);
            let jit = numloom_config::current().jit;
            let chain = |bases: &Bases, slab: Option<&Slab>| {
                let steps = plan.steps.iter().zip(stores).zip(params);
                let steps =
                    steps.map(|((f, s), p)| bind_step(bases, slab, f, s, p, &plan.locals)).collect::<Result<_>>()?;
                Ok(ChainRun { plan: plan.clone(), steps, jit, raised: raised.clone(), heard: fp::heard(ops) })
            };
            let touched = || -> Vec<Touch> {
                let all = plan.steps.iter().zip(stores).flat_map(|(f, s)| f.spots().zip(mapper::touches(f, s)));
                let kept = all.filter(|(spot, _)| !plan.is_local(spot.store));
                kept.map(|(_, t)| t).collect()
            };
            let elements: usize = plan.steps.iter().map(|f| f.domain.iter().product()).max().unwrap_or(0);
            let _room = room(ops, all.map(|(_, s)| s))?;
            let bases = match held(work, ops, Some(elements), touched) {
                Err(e) if let Some(memory) = streamed::helps(&e) => {
                    let streamed = streamed::run_chain(work, ops, &touched(), memory, plan.rows, plan.tile, chain);
                    return streamed.unwrap_or(Err(e));
                }
                bases => bases?,
            };
            let run = chain(&bases, None)?;
            bases.keep(work);
            Ok(Prepared::Chain { tiles: run.tiles(), run })
        }
        Some(Payload::Opaque) => {
            let Some(op) = ops.first() else { return Ok(Prepared::Done) };
            let stores: Vec<_> = op.reads().map(|p| p.store.clone()).collect();
            if let Some(e) = poison(stores.iter()) {
                return Err(e);
            }
            match &op.kind {
                Kind::Library(library) => {
                    let _room = room(ops, op.reads().chain(&op.outs).map(|p| &p.store))?;
                    // Simulated devices have no more ways than GPUs.
                    let able = reserved::devices() > 0 && !library.follows_all() && gpu_library::can_do(op);
                    if reserved::devices() > 0 && !able && !library.follows_all() {
                        unplaced::count(op);
                    }
                    let bases = held(work, ops, able.then(|| elements_of(op)), || touches_of(op))?;
                    let args = arguments(&bases, op)?;
                    let memory = bases.memory();
                    bases.keep(work);
                    if !memory.is_host() {
                        lost::made_to_fail().map_err(|e| gpu::failure(e, op.name(), op.at))?;
                    }
                    if let Some(device) = reserved::gpu(memory) {
                        device_time::around(device, memory, || gpu_library::enqueue(device, op, &args))?;
                        return Ok(Prepared::Done);
                    }
                    let phases = library.phases(&args);
                    Ok(Prepared::Library { own: None, args, phases })
                }
                Kind::Pack | Kind::Unpack | Kind::Nonzero => {
                    let _span = Span::of_task(Lane::Partition, Doing::Image);
                    packed::prepare(work, op, ops)
                }
                Kind::Map(_) | Kind::Reduce { .. } => late(work, ops, op),
            }
        }
    }
}

/// Where the arrays of a task lie while it runs.
pub enum Bases<'a> {
    /// At their own addresses.
    Host(&'a [Operation]),
    /// Where they are held.
    Held(Mapping, Memory),
}

impl Bases<'_> {
    /// The first element of a view of a store, and its strides there.
    pub fn locate(&self, store: &Store, view: &View) -> Result<(*mut u8, Strides)> {
        match self {
            Bases::Host(ops) => Ok((memory(ops, store)?.wrapping_add(view.offset), view.strides.clone())),
            Bases::Held(mapping, memory) => Ok(mapping.locate(*memory, store, view)),
        }
    }

    /// A view as library operations take it.
    pub fn raw(&self, store: &Store, view: View) -> Result<RawView> {
        let (ptr, strides) = self.locate(store, &view)?;
        Ok(RawView { ptr, dtype: view.dtype, shape: view.shape, strides })
    }

    pub fn memory(&self) -> Memory {
        match self {
            Bases::Host(_) => Memory::System,
            Bases::Held(_, memory) => *memory,
        }
    }

    /// Keeps them there until the task is over.
    pub fn keep(self, work: &Work) {
        if let Bases::Held(mapping, _) = self {
            *work.mapping.lock() = Some(mapping);
        }
    }
}

/// A task over so many elements that runs in one memory: brings there what it touches. Without a number it is for the
/// CPU alone.
pub fn held<'a>(
    work: &Work,
    ops: &'a [Operation],
    elements: Option<usize>,
    touched: impl FnOnce() -> Vec<Touch<'a>>,
) -> Result<Bases<'a>> {
    if reserved::devices() == 0 {
        return Ok(Bases::Host(ops));
    }
    let touches = touched();
    let before = work.mapping.lock().take();
    let (mut mapping, memory) = match before {
        // What was held to look at before is held anew, with all that is needed now.
        Some(mut m) => {
            m.let_go();
            let memory = m.parts[0].memory;
            (m, memory)
        }
        None => {
            let memory = elements.map_or(Memory::System, |n| mapper::memory_for(&touches, n));
            (Mapping::begin(vec![Part { memory, slab: None }]), memory)
        }
    };
    mapping.hold(memory, None, &touches, ops)?;
    mapping.commit();
    Ok(Bases::Held(mapping, memory))
}

/// What an operation that runs as it is touches. What it writes it may write in part.
pub fn touches_of(op: &Operation) -> Vec<Touch<'_>> {
    let reads = op.reads().map(|p| (p, false));
    let all = reads.chain(op.outs.iter().map(|p| (p, true)));
    all.map(|(p, writes)| Touch { store: &p.store, view: sized(p), reads: true, writes }).collect()
}

/// How many elements an operation touches in its largest array.
pub fn elements_of(op: &Operation) -> usize {
    op.reads().chain(&op.outs).map(|p| sized(p).size()).max().unwrap_or(0)
}

/// The operation's arrays as library operations take them.
pub fn arguments(bases: &Bases, op: &Operation) -> Result<Args> {
    let view = |p: &Place| bases.raw(&p.store, sized(p));
    let ins = op.reads().map(view).collect::<Result<_>>()?;
    Ok(Args { ins, outs: op.outs.iter().map(view).collect::<Result<_>>()? })
}

/// A fused task's plan with what it is to be done to.
#[derive(Clone, Copy)]
pub struct FusedTask<'a> {
    pub ops: &'a [Operation],
    pub plan: &'a FusedPlan,
    pub stores: &'a [Arc<Store>],
    pub params: &'a [Value],
    /// Where the flags that instructions raise are kept.
    pub raised: Option<&'a Arc<Raised>>,
}

impl FusedTask<'_> {
    /// Whose memory an operand is in, if another's took it over.
    fn home(&self, operand: usize) -> Option<&Arc<Store>> {
        let t = self.plan.takeovers.iter().find(|t| t.old as usize == operand)?;
        self.stores.get(t.new as usize)
    }
}

/// A fused task: in one memory, or in parts on several devices.
fn fused(work: &Work, task: &FusedTask) -> Result<Prepared> {
    let &FusedTask { ops, plan, stores, .. } = task;
    if reserved::devices() == 0 {
        let takeovers = takeovers(task);
        // Those that can be are ours before anything else is: only this task touches them.
        let new = plan.takeovers.iter().zip(&takeovers).filter(|(_, can)| !**can);
        let _room = room(ops, plan.made(stores).chain(new.map(|(t, _)| &stores[t.new as usize])))?;
        take_over(task, &takeovers)?;
        if !plan.regions.is_empty() {
            return regions(&Bases::Host(ops), task);
        }
        return Ok(Prepared::Launch(Box::new(launch(&Bases::Host(ops), task, None)?)));
    }
    if plan.swaps && swap::done(task)? {
        return Ok(Prepared::Done);
    }
    let touches = mapper::touches(plan, stores);
    let mut span = Span::of_task(Lane::Partition, Doing::Partition);
    let mut mapping = Mapping::begin(mapper::parts(plan, &touches));
    span.count(mapping.parts.len());
    drop(span);
    let parts = mapping.parts.clone();
    let _room = if parts[0].memory.is_host() { Some(room(ops, stores.iter())?) } else { None };
    if reserved::are_gpus() && parts[0].memory.is_host() && !gpu::can_run(plan) {
        ops.iter().for_each(unplaced::count);
    }
    for part in &parts {
        if let Err(e) = mapping.hold(part.memory, part.slab.as_ref(), &touches, ops) {
            drop(mapping);
            return match streamed::helps(&e) {
                Some(memory) => streamed::run(work, task, memory).unwrap_or(Err(e)),
                None => Err(e),
            };
        }
    }
    let mut bases = Bases::Held(mapping, parts[0].memory);
    let mut launches = Vec::with_capacity(parts.len());
    for part in &parts {
        if let Bases::Held(_, memory) = &mut bases {
            *memory = part.memory;
        }
        if !part.memory.is_host() {
            lost::made_to_fail().map_err(|e| gpu::failed(task, e))?;
        }
        if let Some(device) = reserved::gpu(part.memory) {
            device_time::around(device, part.memory, || gpu::enqueue(device, &bases, task, part.slab.as_ref()))?;
            continue;
        }
        launches.push(launch(&bases, task, part.slab.as_ref())?);
    }
    // Not before it is certain that there is a kernel to write them: otherwise arrays stay as they are.
    if let Bases::Held(mapping, _) = &bases {
        mapping.commit();
    }
    bases.keep(work);
    if launches.is_empty() {
        return Ok(Prepared::Done);
    }
    if parts.len() == 1
        && let Some(launch) = launches.pop()
    {
        return Ok(Prepared::Launch(Box::new(launch)));
    }
    Ok(parts_of(launches))
}

/// How often the task's operations read a store.
fn reads_of(ops: &[Operation], store: &Arc<Store>) -> u32 {
    ops.iter().flat_map(|op| op.reads()).filter(|p| Arc::ptr_eq(&p.store, store)).count() as u32
}

/// Which of the arrays that are to take over memory can.
fn takeovers(task: &FusedTask) -> SmallVec<[bool; 2]> {
    let &FusedTask { ops, plan, stores, .. } = task;
    let can = |t: &Takeover| {
        let old = &stores[t.old as usize];
        stores[t.new as usize].can_inherit(old, reads_of(ops, old))
    };
    plan.takeovers.iter().map(can).collect()
}

/// Puts new arrays where those are that they are computed from. Where that cannot be, they get memory of their own, and
/// what was to be overwritten is copied there.
fn take_over(task: &FusedTask, can: &[bool]) -> Result<()> {
    let &FusedTask { ops, plan, stores, .. } = task;
    if plan.takeovers.is_empty() {
        return Ok(());
    }
    // All else that can fail comes first: with its old arrays overwritten, the work could not be done in another way.
    let alone = plan.takeovers.iter().zip(can).filter(|(_, can)| !**can).map(|(t, _)| &stores[t.new as usize]);
    for store in plan.made(stores).chain(alone) {
        memory(ops, store)?;
    }
    for (t, &can) in plan.takeovers.iter().zip(can) {
        let (new, old) = (&stores[t.new as usize], &stores[t.old as usize]);
        let writes = |o: &&Operation| o.outs.iter().any(|p| Arc::ptr_eq(&p.store, new));
        let (name, at) = ops.iter().find(writes).map_or(("task", Provenance::default()), |o| (o.name(), o.at));
        if can && new.inherit(old, reads_of(ops, old), name, at) {
            continue;
        }
        let (from, to) = (memory(ops, old)?, memory(ops, new)?);
        // Of a store that is larger than it was where this was planned, only what is touched.
        let bytes = plan.operands[t.new as usize].view.nbytes();
        // SAFETY: both have the bytes of these views from their first on; this task alone touches the new one, and follows
        // those that wrote the other.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
    }
    Ok(())
}

/// Launches that run together.
fn parts_of(launches: Vec<Launch>) -> Prepared {
    let count = launches.iter().map(|l| l.phases().len()).max().unwrap_or(0);
    let tiles = |phase: usize| launches.iter().map(|l| l.phases().get(phase).copied().unwrap_or(0)).sum();
    let phases = (0..count).map(tiles).collect();
    Prepared::Parts { launches, phases }
}

/// A task that reads something in pieces: its kernel over every region, in which each is one piece.
fn regions(bases: &Bases, task: &FusedTask) -> Result<Prepared> {
    let &FusedTask { plan, stores, .. } = task;
    let mut operands = Vec::with_capacity(plan.operands.len());
    for (k, (spot, store)) in plan.operands.iter().zip(stores).enumerate() {
        let is_patched = plan.patches.iter().any(|p| p.operand as usize == k);
        // Of those that are read in pieces a place is kept.
        let nowhere = || Operand { ptr: std::ptr::null_mut(), dtype: spot.view.dtype, strides: Strides::new() };
        let store = task.home(k).unwrap_or(store);
        operands.push(if is_patched { nowhere() } else { address(bases, spot, None, store)? });
    }
    let mut stores = stores[plan.operands.len() + plan.folded.len()..].iter();
    let mut pieces = Vec::with_capacity(plan.patches.len());
    for patch in &plan.patches {
        let each = patch.pieces.iter().zip(&mut stores).map(|((_, spot), store)| address(bases, spot, None, store));
        pieces.push(each.collect::<Result<Vec<_>>>()?);
    }
    count_traffic(plan, &[]);
    let mut launches = Vec::with_capacity(plan.regions.len());
    for region in &plan.regions {
        // From where the operand begins to where the region does.
        let moved = |o: &Operand, from: &dyn Fn(usize) -> usize| {
            let step = |(a, s): (usize, &isize)| (region.at[a].start - from(a)) as isize * s;
            let bytes: isize = o.strides.iter().enumerate().map(step).sum();
            Operand { ptr: o.ptr.wrapping_offset(bytes), dtype: o.dtype, strides: o.strides.clone() }
        };
        let mut here: Vec<Operand> = operands.iter().map(|o| moved(o, &|_| 0)).collect();
        for ((patch, pieces), &k) in plan.patches.iter().zip(&pieces).zip(&region.pieces) {
            let (at, _) = &patch.pieces[k as usize];
            here[patch.operand as usize] = moved(&pieces[k as usize], &|a| at[a].start);
        }
        let domain = region.at.iter().map(|r| r.len()).collect();
        launches.push(launch_over(task, domain, here, Vec::new()));
    }
    Ok(parts_of(launches))
}

/// An elementwise operation or reduction over a length that has become known by now.
fn late(work: &Work, ops: &[Operation], op: &Operation) -> Result<Prepared> {
    let known = |p: &Place| Place { store: p.store.clone(), view: sized(p) };
    for p in &op.outs {
        if p.view.shape.first() == Some(&UNSIZED) && p.store.is_bare() {
            p.store.set_nbytes(sized(p).nbytes());
        }
    }
    let copy = Operation {
        kind: match &op.kind {
            Kind::Map(m) => Kind::Map(*m),
            Kind::Reduce { op, lp, axes, initial } => Kind::Reduce { op: *op, lp: *lp, axes: *axes, initial: *initial },
            _ => return Ok(Prepared::Done),
        },
        ins: op
            .ins
            .iter()
            .map(|s| match s {
                Source::Place(p) => Source::Place(known(p)),
                Source::Value(v) => Source::Value(*v),
            })
            .collect(),
        outs: op.outs.iter().map(known).collect(),
        mask: op.mask.as_deref().map(|p| Box::new(known(p))),
        at: op.at,
        told: op.told,
        fresh: op.fresh,
        times: op.times,
        recorded: op.recorded,
    };
    let nodes = node::build_one(&copy);
    let plan = plan::plan(&nodes, false);
    let Some(plan::TaskWork::Fused(fused)) = plan.tasks.first().map(|t| &t.work) else { return Ok(Prepared::Done) };
    let stores: Vec<_> = plan::stores_of(fused, &nodes);
    let (plan, params) = (fused, plan::param_values(fused, &nodes));
    self::fused(work, &FusedTask { ops, plan, stores: &stores, params: &params, raised: None })
}

/// The place's view with the real length in the place of an unknown one.
pub fn sized(p: &Place) -> View {
    let mut v = p.view.clone();
    if v.shape.first() == Some(&UNSIZED) {
        v.shape[0] = p.store.symbol.as_ref().and_then(|s| s.get().copied()).unwrap_or(0);
    }
    v
}

/// What a store stands in for has failed, and not the store.
fn poison_of_reads(plan: &FusedPlan, ops: &[Operation]) -> Option<ExecError> {
    if plan.swaps { poison(ops.iter().flat_map(|op| op.reads()).map(|p| &p.store)) } else { None }
}

fn poison<'a>(stores: impl Iterator<Item = &'a Arc<Store>>) -> Option<ExecError> {
    stores.into_iter().find_map(|s| retire::failure_of(s).map(|e| (*e).clone()))
}

/// A step of a chain, of which a slab of rows may be all that is there: operands stand at row zero, operands that live
/// in a tile buffer get their offset inside a row for an address.
fn bind_step(
    bases: &Bases,
    slab: Option<&Slab>,
    plan: &FusedPlan,
    stores: &[Arc<Store>],
    params: &[Value],
    locals: &[(StoreId, usize)],
) -> Result<BoundStep> {
    let bound = |spot: &Spot, store: &Arc<Store>| -> Result<(Operand, Option<usize>)> {
        let local = locals.iter().position(|(s, _)| *s == spot.store);
        if local.is_some() {
            let ptr = std::ptr::without_provenance_mut(spot.view.offset);
            return Ok((Operand { ptr, dtype: spot.view.dtype, strides: spot.view.strides.clone() }, local));
        }
        let mut operand = address(bases, spot, slab, store)?;
        if let Some(slab) = slab {
            let before = operand.strides.get(slab.axis).map_or(0, |s| s.wrapping_mul(slab.range.start as isize));
            operand.ptr = operand.ptr.wrapping_offset(before.wrapping_neg());
        }
        Ok((operand, None))
    };
    let (inputs, results) = stores.split_at(plan.operands.len());
    let mut step = BoundStep {
        operands: Vec::new(),
        operand_locals: Vec::new(),
        outputs: Vec::new(),
        output_locals: Vec::new(),
        params: params.to_vec(),
    };
    for (spot, store) in plan.operands.iter().zip(inputs) {
        let (operand, local) = bound(spot, store)?;
        step.operands.push(operand);
        step.operand_locals.push(local);
    }
    for (f, store) in plan.folded.iter().zip(results) {
        let (operand, local) = bound(&f.spot, store)?;
        step.outputs.push((operand, f.initial));
        step.output_locals.push(local);
    }
    count_traffic(plan, locals);
    Ok(step)
}

/// The store's address; if it has none, for the operation of the task that writes it.
fn memory(ops: &[Operation], store: &Store) -> Result<*mut u8> {
    let there = store.ptr();
    if !there.is_null() {
        return Ok(there);
    }
    let writes = |o: &&Operation| o.outs.iter().any(|p| std::ptr::eq(&*p.store, store));
    match ops.iter().find(writes).or(ops.first()) {
        Some(op) => address_for(op, store),
        None => store.materialise().map_err(|e| ExecError::no_memory(e, "task", Provenance::default())),
    }
}

fn address_for(op: &Operation, store: &Store) -> Result<*mut u8> {
    store.materialise_for(op.name(), op.at).map_err(|e| ExecError::no_memory(e, op.name(), op.at))
}

/// Room for those of the stores that have no memory yet.
fn room<'a>(ops: &[Operation], stores: impl Iterator<Item = &'a Arc<Store>>) -> Result<memory::Room> {
    let mut new: SmallVec<[&Arc<Store>; 8]> = SmallVec::new();
    for s in stores.filter(|s| s.is_bare() && s.nbytes() > 1024) {
        if !new.iter().any(|n| Arc::ptr_eq(n, s)) {
            new.push(s);
        }
    }
    let bytes = new.iter().map(|s| pool::rounded(s.nbytes())).sum();
    memory::room(bytes).map_err(|mut e| {
        let largest = new.iter().max_by_key(|s| s.nbytes());
        let writes = |o: &&Operation| largest.is_some_and(|s| o.outs.iter().any(|p| Arc::ptr_eq(&p.store, s)));
        e.0.store_at = largest.map_or(Provenance::default(), |s| s.provenance);
        let maker = ops.iter().rfind(writes).or(ops.first());
        let (op, at) = maker.map_or(("task", Provenance::default()), |o| (o.name(), o.at));
        ExecError::no_memory(e, op, at)
    })
}

/// Counts the bytes a task reads and writes, but for what stays in a tile.
fn count_traffic(plan: &FusedPlan, locals: &[(StoreId, usize)]) {
    let elements: usize = plan.domain.iter().product();
    let bytes = |o: u16| {
        let spot = &plan.operands[o as usize];
        if locals.iter().any(|(s, _)| *s == spot.store) { 0 } else { elements * spot.view.dtype.size() }
    };
    let (mut read, mut written) = (0, 0);
    for i in &plan.compiled.kernel.instrs {
        match i {
            Instr::Load { operand, .. } => read += bytes(*operand),
            Instr::Store { operand, .. } => written += bytes(*operand),
            _ => {}
        }
    }
    stats::count(&stats::BYTES_READ, read);
    stats::count(&stats::BYTES_WRITTEN, written);
    record::traffic(read as u64, written as u64);
}

fn domain_of(plan: &FusedPlan, slab: Option<&Slab>) -> Dims {
    let mut domain = plan.domain.clone();
    if let Some(slab) = slab {
        domain[slab.axis] = slab.range.len();
    }
    domain
}

fn address(bases: &Bases, spot: &Spot, slab: Option<&Slab>, store: &Store) -> Result<Operand> {
    let dtype = spot.view.dtype;
    let (ptr, strides) = match slab {
        Some(slab) => bases.locate(store, &mapper::within(&spot.view, slab))?,
        None => bases.locate(store, &spot.view)?,
    };
    Ok(Operand { ptr, dtype, strides })
}

/// The domain, operands and outputs of a task, or of a slab of it, in memory.
pub fn operands(bases: &Bases, task: &FusedTask, slab: Option<&Slab>) -> Result<(Dims, Vec<Operand>, Vec<Output>)> {
    let &FusedTask { plan, stores, .. } = task;
    let operands = plan.operands.iter().zip(stores).enumerate();
    let operands = operands.map(|(k, (spot, store))| address(bases, spot, slab, task.home(k).unwrap_or(store)));
    let operands = operands.collect::<Result<Vec<_>>>()?;
    let outputs = plan
        .folded
        .iter()
        .zip(&stores[plan.operands.len()..])
        .map(|(f, store)| Ok(Output { operand: address(bases, &f.spot, slab, store)?, initial: f.initial }))
        .collect::<Result<Vec<_>>>()?;
    if slab.is_none_or(|s| s.range.start == 0) {
        count_traffic(plan, &[]);
    }
    Ok((domain_of(plan, slab), operands, outputs))
}

/// The kernel bound to memory, over all of its domain or a slab.
pub fn launch(bases: &Bases, task: &FusedTask, slab: Option<&Slab>) -> Result<Launch> {
    let (domain, operands, outputs) = operands(bases, task, slab)?;
    Ok(launch_over(task, domain, operands, outputs))
}

fn launch_over(task: &FusedTask, domain: Dims, operands: Vec<Operand>, outputs: Vec<Output>) -> Launch {
    let &FusedTask { ops, plan, params, raised, .. } = task;
    let settings = numloom_config::current();
    let reduced: Vec<bool> = (0..domain.len()).map(|a| plan.reduced >> a.min(63) & 1 == 1).collect();
    if !settings.print_kernels.is_empty() {
        printed::keep(&settings.print_kernels, plan, &domain, params, (&operands, &outputs));
    }
    let launch = Launch::new(
        &plan.compiled,
        &domain,
        operands,
        params.to_vec(),
        &reduced,
        outputs,
        settings.min_cpu_chunk,
        settings.cpus,
        settings.jit,
    );
    let watch = raised.and_then(|raised| fp::watch(plan, fp::heard(ops), raised));
    launch.watched(watch)
}
