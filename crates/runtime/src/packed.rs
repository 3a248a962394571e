//! Boolean indexing that has to exist packed: the length is counted when the task is ready, then the
//! memory is made and the library operation runs.

use crate::error::{ErrorKind, ExecError};
use crate::gpu_library;
use crate::mapper::Touch;
use crate::operation::{Kind, Operation, Place, Source};
use crate::prepare::{self, sized};
use crate::reserved;
use crate::task::{Prepared, Work};
use crate::unplaced;
use numloom_ir::view::Order;
use numloom_ir::{DType, View};
use numloom_library::{Args, CountTrue, LibraryOp, Nonzero, Pack, RawView, Unpack};

type Result<T> = std::result::Result<T, ExecError>;

pub fn prepare(work: &Work, op: &Operation, ops: &[Operation]) -> Result<Prepared> {
    let place = |k: usize| match op.ins.get(k) {
        Some(Source::Place(p)) => Ok(p),
        _ => Err(internal(op, "a packed operation without its arrays")),
    };
    if reserved::devices() > 0 && !able(op) {
        unplaced::count(op);
    }
    let library: Box<dyn LibraryOp> = match op.kind {
        Kind::Pack => {
            fix_length(work, op, ops, place(1)?)?;
            if keeps_all(op, place(0)?) {
                return Ok(Prepared::Done);
            }
            Box::new(Pack::new())
        }
        Kind::Nonzero => {
            fix_length(work, op, ops, place(0)?)?;
            Box::new(Nonzero::new())
        }
        _ => Box::new(Unpack::new()),
    };
    let bases = prepare::held(work, ops, able(op).then(|| prepare::elements_of(op)), || prepare::touches_of(op))?;
    let args = prepare::arguments(&bases, op)?;
    let memory = bases.memory();
    bases.keep(work);
    if let Some(device) = reserved::gpu(memory) {
        gpu_library::enqueue_packed(device, op, &args)?;
        return Ok(Prepared::Done);
    }
    let phases = library.phases(&args);
    Ok(Prepared::Library { own: Some(library), args, phases })
}

/// Whether devices do this. Simulated ones have no more ways than GPUs.
fn able(op: &Operation) -> bool {
    reserved::devices() > 0 && gpu_library::can_pack(op)
}

/// Whether the mask has kept all of an array that nobody reads after this, whose memory the result then has.
fn keeps_all(op: &Operation, x: &Place) -> bool {
    let [out] = &op.outs[..] else { return false };
    // In C order, in which what is kept lies.
    let whole = x.view == View::dense(x.view.dtype, &x.view.shape, Order::C);
    reserved::devices() == 0
        && whole
        && out.store.nbytes() == x.store.nbytes()
        && out.store.inherit(&x.store, 1, op.name(), op.at)
}

fn internal(op: &Operation, message: &str) -> ExecError {
    ExecError::new(ErrorKind::Internal, message, op.name(), op.at)
}

/// Counts the mask's trues once for all arrays that share the symbol, and sizes the outputs.
fn fix_length(work: &Work, op: &Operation, ops: &[Operation], mask: &Place) -> Result<()> {
    let Some(symbol) = op.outs.first().and_then(|p| p.store.symbol.clone()) else {
        return Err(internal(op, "a packed result without a length"));
    };
    if symbol.get().is_none() {
        let reads = || vec![Touch { store: &mask.store, view: mask.view.clone(), reads: true, writes: false }];
        let bases = prepare::held(work, ops, able(op).then(|| mask.view.size()), reads)?;
        let view = bases.raw(&mask.store, mask.view.clone())?;
        let count = match reserved::gpu(bases.memory()) {
            Some(device) => gpu_library::count_true(device, op, &view)?,
            None => count_true(op, view)?,
        };
        bases.keep(work);
        let _ = symbol.set(count);
    }
    for p in &op.outs {
        p.store.set_nbytes(sized(p).nbytes());
    }
    Ok(())
}

fn count_true(op: &Operation, mask: RawView) -> Result<usize> {
    let mut total = 0i64;
    let out = RawView {
        ptr: &mut total as *mut i64 as *mut u8,
        dtype: DType::I64,
        shape: Default::default(),
        strides: Default::default(),
    };
    let (count, args) = (CountTrue::new(), Args { ins: vec![mask], outs: vec![out] });
    for (phase, &tiles) in count.phases(&args).iter().enumerate() {
        for tile in 0..tiles {
            // SAFETY: the mask has memory and is not written while this task reads it; the output is ours.
            unsafe { count.run(&args, phase, tile) }
                .map_err(|e| ExecError::new(ErrorKind::Value, e.to_string(), op.name(), op.at))?;
        }
    }
    Ok(total as usize)
}
