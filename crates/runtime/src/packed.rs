//! Boolean indexing that has to exist packed: the length is counted when the task is ready, then the
//! memory is made and the library operation runs.

use crate::error::{ErrorKind, ExecError};
use crate::operation::{Kind, Operation, Place, Source};
use crate::prepare::sized;
use crate::task::{Prepared, raw_view};
use numloom_ir::DType;
use numloom_library::{Args, CountTrue, LibraryOp, Nonzero, Pack, RawView, Unpack};

type Result<T> = std::result::Result<T, ExecError>;

pub fn prepare(op: &Operation) -> Result<Prepared> {
    let place = |k: usize| match op.ins.get(k) {
        Some(Source::Place(p)) => Ok(p),
        _ => Err(internal(op, "a packed operation without its arrays")),
    };
    let library: Box<dyn LibraryOp> = match op.kind {
        Kind::Pack => {
            fix_length(op, place(1)?)?;
            Box::new(Pack::new())
        }
        Kind::Nonzero => {
            fix_length(op, place(0)?)?;
            Box::new(Nonzero::new())
        }
        _ => Box::new(Unpack::new()),
    };
    for p in op.reads().chain(&op.outs) {
        memory(op, p)?;
    }
    let view = |p: &Place| raw_view(&p.store, &sized(p));
    let args = Args { ins: op.reads().map(view).collect(), outs: op.outs.iter().map(view).collect() };
    let phases = library.phases(&args);
    Ok(Prepared::Library { own: Some(library), args, phases })
}

fn memory(op: &Operation, p: &Place) -> Result<()> {
    let got = p.store.materialise_for(op.name(), op.at);
    got.map(|_| ()).map_err(|e| ExecError::no_memory(e, op.name(), op.at))
}

fn internal(op: &Operation, message: &str) -> ExecError {
    ExecError::new(ErrorKind::Internal, message, op.name(), op.at)
}

/// Counts the mask's trues once for all arrays that share the symbol, and sizes the outputs.
fn fix_length(op: &Operation, mask: &Place) -> Result<()> {
    memory(op, mask)?;
    let Some(symbol) = op.outs.first().and_then(|p| p.store.symbol.clone()) else {
        return Err(internal(op, "a packed result without a length"));
    };
    if symbol.get().is_none() {
        let count = count_true(op, raw_view(&mask.store, &mask.view))?;
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
