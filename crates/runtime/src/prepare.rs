//! Mapping: gives a ready task its memory and addresses.

use crate::array::UNSIZED;
use crate::chain::{BoundStep, ChainRun};
use crate::error::ExecError;
use crate::fp;
use crate::memory;
use crate::node::{self, Spot, StoreId};
use crate::operation::{Kind, Operation, Place, Source};
use crate::packed;
use crate::plan::{self, FusedPlan};
use crate::pool;
use crate::provenance::Provenance;
use crate::retire;
use crate::stats;
use crate::store::Store;
use crate::task::{Payload, Prepared, Work, raw_view};
use numloom_cpu::{Launch, Operand, Output, Watch};
use numloom_ir::Value;
use numloom_ir::kernel::Instr;
use numloom_library::Args;
use smallvec::SmallVec;
use std::sync::Arc;

type Result<T> = std::result::Result<T, ExecError>;

/// Memory and addresses for a task. All its new instances get room at once or not at all.
pub fn prepare(work: &Work) -> Result<Prepared> {
    memory::while_binding(|| bound(work))
}

fn bound(work: &Work) -> Result<Prepared> {
    let ops = &*work.ops.lock();
    let payload = work.payload.lock();
    match payload.as_ref() {
        None => Ok(Prepared::Done),
        Some(Payload::Fused { plan, stores, params, raised }) => {
            if let Some(e) = poison(stores.iter()) {
                return Err(e);
            }
            let _room = room(ops, stores.iter())?;
            bind(ops, plan, stores, params.clone(), fp::watch(plan, fp::heard(ops), raised))
        }
        Some(Payload::Chain { plan, stores, params, raised }) => {
            if let Some(e) = poison(stores.iter().flatten()) {
                return Err(e);
            }
            let kept = |(spot, _): &(&Spot, &Arc<Store>)| !plan.locals.iter().any(|(l, _)| *l == spot.store);
            let all = plan.steps.iter().zip(stores).flat_map(|(f, s)| f.spots().zip(s)).filter(kept);
            let _room = room(ops, all.map(|(_, s)| s))?;
            let steps = plan.steps.iter().zip(stores).zip(params);
            let steps = steps.map(|((f, s), p)| bind_step(ops, f, s, p, &plan.locals)).collect::<Result<Vec<_>>>()?;
            let jit = numloom_config::current().jit;
            let run = ChainRun { plan: plan.clone(), steps, jit, raised: raised.clone(), heard: fp::heard(ops) };
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
                    for p in op.reads().chain(&op.outs) {
                        address_for(op, &p.store)?;
                    }
                    let view = |p: &Place| raw_view(&p.store, &sized(p));
                    let args = Args { ins: op.reads().map(view).collect(), outs: op.outs.iter().map(view).collect() };
                    let phases = library.phases(&args);
                    Ok(Prepared::Library { own: None, args, phases })
                }
                Kind::Pack | Kind::Unpack | Kind::Nonzero => packed::prepare(op),
                Kind::Map(_) | Kind::Reduce { .. } => late(ops, op),
            }
        }
    }
}

/// An elementwise operation or reduction over a length that has become known by now.
fn late(ops: &[Operation], op: &Operation) -> Result<Prepared> {
    let known = |p: &Place| Place { store: p.store.clone(), view: sized(p) };
    for p in &op.outs {
        if p.view.shape.first() == Some(&UNSIZED) && p.store.ptr().is_null() {
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
        mask: op.mask.as_ref().map(known),
        at: op.at,
        fresh: op.fresh,
        times: op.times,
    };
    let nodes = node::build_one(&copy);
    let plan = plan::plan(&nodes, false);
    let Some(plan::TaskWork::Fused(fused)) = plan.tasks.first().map(|t| &t.work) else { return Ok(Prepared::Done) };
    let stores: Vec<_> = plan::stores_of(fused, &nodes);
    bind(ops, fused, &stores, plan::param_values(fused, &nodes.nodes), None)
}

/// The place's view with the real length in the place of an unknown one.
pub fn sized(p: &Place) -> numloom_ir::View {
    let mut v = p.view.clone();
    if v.shape.first() == Some(&UNSIZED) {
        v.shape[0] = p.store.symbol.as_ref().and_then(|s| s.get().copied()).unwrap_or(0);
    }
    v
}

fn poison<'a>(stores: impl Iterator<Item = &'a Arc<Store>>) -> Option<ExecError> {
    stores.into_iter().find_map(|s| retire::failure_of(s).map(|e| (*e).clone()))
}

/// A step of a chain: operands that live in a tile buffer get their offset inside a row for an address.
fn bind_step(
    ops: &[Operation],
    plan: &FusedPlan,
    stores: &[Arc<Store>],
    params: &[Value],
    locals: &[(StoreId, usize)],
) -> Result<BoundStep> {
    let bound = |spot: &Spot, store: &Arc<Store>| -> Result<(Operand, Option<usize>)> {
        let local = locals.iter().position(|(s, _)| *s == spot.store);
        let base = match local {
            Some(_) => std::ptr::null_mut(),
            None => memory(ops, store)?,
        };
        let ptr = base.wrapping_add(spot.view.offset);
        Ok((Operand { ptr, dtype: spot.view.dtype, strides: spot.view.strides.clone() }, local))
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
    for s in stores.filter(|s| s.ptr().is_null() && s.nbytes() > 1024) {
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
    for i in &plan.compiled.kernel.instrs {
        match i {
            Instr::Load { operand, .. } => stats::count(&stats::BYTES_READ, bytes(*operand)),
            Instr::Store { operand, .. } => stats::count(&stats::BYTES_WRITTEN, bytes(*operand)),
            _ => {}
        }
    }
}

/// The plan's operands in memory.
fn addresses(ops: &[Operation], plan: &FusedPlan, stores: &[Arc<Store>]) -> Result<Vec<Operand>> {
    plan.operands.iter().zip(stores).map(|(spot, store)| address(ops, spot, store)).collect()
}

fn address(ops: &[Operation], spot: &Spot, store: &Store) -> Result<Operand> {
    let base = memory(ops, store)?;
    Ok(Operand {
        // SAFETY: a view's offset lies inside its store.
        ptr: unsafe { base.add(spot.view.offset) },
        dtype: spot.view.dtype,
        strides: spot.view.strides.clone(),
    })
}

fn bind(
    ops: &[Operation],
    plan: &FusedPlan,
    stores: &[Arc<Store>],
    params: Vec<Value>,
    watch: Option<Watch>,
) -> Result<Prepared> {
    let operands = addresses(ops, plan, stores)?;
    let outputs = plan
        .folded
        .iter()
        .zip(&stores[plan.operands.len()..])
        .map(|(f, store)| Ok(Output { operand: address(ops, &f.spot, store)?, initial: f.initial }))
        .collect::<Result<Vec<_>>>()?;
    count_traffic(plan, &[]);
    let settings = numloom_config::current();
    let reduced: Vec<bool> = (0..plan.domain.len()).map(|a| plan.reduced >> a.min(63) & 1 == 1).collect();
    let launch = Launch::new(
        &plan.compiled,
        &plan.domain,
        operands,
        params,
        &reduced,
        outputs,
        settings.min_cpu_chunk,
        settings.cpus,
        settings.jit,
    );
    Ok(Prepared::Launch(Box::new(launch.watched(watch))))
}
