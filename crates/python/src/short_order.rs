//! Short ways of functions that look for places in arrays of one dimension: quantiles, and where something is true.

use crate::short::{Given, Made, near, number, run};
use numloom_ir::{DType, Value};
use numloom_library::{self as library, Room};
use numloom_runtime::record;
use smallvec::smallvec;

/// One quantile of doubles, between its neighbours by NumPy's own rule.
unsafe fn share_of(given: &Given, whole: f64) -> Option<Made> {
    let _still = record::still();
    let [a, q] = given.bind([c"a", c"q"])?;
    let a = near(a).filter(|a| a.view.dtype == DType::F64 && a.view.ndim() == 1)?;
    let q = if q.is_null() { None } else { number(given.py, q) }? / whole;
    let mut values = Room::new();
    let values = library::copied(run(&a)?, &mut values);
    let found = (0.0..=1.0).contains(&q).then(|| library::quantile(values, q)).flatten()?;
    found.is_finite().then(|| Made::Value(Value::from_f64(DType::F64, found)))
}

pub unsafe fn quantile(given: &Given) -> Option<Made> {
    share_of(given, 1.0)
}

pub unsafe fn percentile(given: &Given) -> Option<Made> {
    share_of(given, 100.0)
}

pub unsafe fn nonzero(given: &Given) -> Option<Made> {
    let _still = record::still();
    let [a] = given.bind([c"a"])?;
    let a = near(a).filter(|a| a.view.ndim() == 1)?;
    let mut places = Room::new();
    library::true_places(a.view.dtype, run(&a)?, &mut places);
    let (made, to) = record::to_fill("nonzero", DType::I64, smallvec![places.len()])?;
    std::slice::from_raw_parts_mut(to.cast(), places.len()).copy_from_slice(&places);
    Some(Made::Alone(made))
}
