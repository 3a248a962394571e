//! Small programs through the whole runtime, checked against plain loops.

use numloom_ir::view::Order;
use numloom_ir::{DType, ScalarOp, Value};
use numloom_runtime::record::{self, MapOp, Operand};
use numloom_runtime::{Array, Provenance};

fn at() -> Provenance {
    Provenance::default()
}

fn from(v: &[f64]) -> Array {
    unsafe { record::from_host(DType::F64, &[v.len()], &[8], v.as_ptr() as *const u8, at) }.unwrap()
}

fn read(a: &Array) -> Vec<f64> {
    let mut a = a.clone();
    record::resolve(&mut a).unwrap();
    assert!(record::sync(&a, || false).unwrap());
    let p = record::data(&a).unwrap();
    let s = a.view.strides.first().copied().unwrap_or(0);
    (0..a.view.size() as isize).map(|i| unsafe { (p.offset(i * s) as *const f64).read_unaligned() }).collect()
}

fn apply(op: ScalarOp, ins: &[Operand], shape: &[usize]) -> Array {
    let dtype = match ins[0] {
        Operand::Array(a) => a.view.dtype,
        Operand::Value(v) => v.dtype,
    };
    let lp = op.loop_for(dtype).unwrap();
    let out = record::empty(op.loops()[lp].outs()[0], shape, Order::C, at).unwrap();
    record::map(MapOp::Scalar { op, lp: lp as u8 }, ins, &[&out], None, at).unwrap();
    out
}

fn num(v: f64) -> Operand<'static> {
    Operand::Value(Value::from_f64(DType::F64, v))
}

fn ramp(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i % 1000) as f64 * 0.5).collect()
}

#[test]
fn a_chain_is_one_task_and_right() {
    for n in [10, 5000, 300_000] {
        let v = ramp(n);
        let x = from(&v);
        let a = apply(ScalarOp::Multiply, &[Operand::Array(&x), num(2.0)], &[n]);
        let b = apply(ScalarOp::Add, &[Operand::Array(&a), Operand::Array(&x)], &[n]);
        drop(a);
        let c = apply(ScalarOp::Sqrt, &[Operand::Array(&b)], &[n]);
        drop(b);
        let got = read(&c);
        for i in 0..n {
            assert_eq!(got[i], (v[i] * 2.0 + v[i]).sqrt(), "{n} {i}");
        }
    }
}

#[test]
fn sums_and_their_use() {
    let n = 1_000_000;
    let v = ramp(n);
    let x = from(&v);
    let s = record::empty(DType::F64, &[1], Order::C, at).unwrap();
    let lp = ScalarOp::Add.loop_for(DType::F64).unwrap() as u8;
    record::reduce(ScalarOp::Add, lp, &x, &[0], &s, None, None, at).unwrap();
    let d = apply(ScalarOp::Subtract, &[Operand::Array(&x), Operand::Array(&s)], &[n]);
    let want: f64 = v.iter().sum();
    assert!((read(&s)[0] - want).abs() < 1e-6 * want);
    assert!((read(&d)[7] - (v[7] - want)).abs() < 1e-6 * want);
}

#[test]
fn shifted_updates_read_before_they_write() {
    let n = 50_000;
    let v = ramp(n);
    let x = from(&v);
    let lo = x.with_view(x.view.slice(0, 0, 1, n - 1));
    let hi = x.with_view(x.view.slice(0, 1, 1, n - 1));
    let lp = ScalarOp::Add.loop_for(DType::F64).unwrap() as u8;
    let op = MapOp::Scalar { op: ScalarOp::Add, lp };
    record::map(op, &[Operand::Array(&hi), Operand::Array(&lo)], &[&hi], None, at).unwrap();
    let got = read(&x);
    for i in 1..n {
        assert_eq!(got[i], v[i] + v[i - 1]);
    }
}

#[test]
fn masks_written_back_never_pack() {
    let n = 100_000;
    let v = ramp(n);
    let z = apply(ScalarOp::Add, &[Operand::Array(&from(&v)), num(0.25)], &[n]);
    let m = apply(ScalarOp::Greater, &[Operand::Array(&z), num(100.0)], &[n]);
    let p = record::pack(&z, &m, at).unwrap();
    assert!(p.symbol().is_some());
    let q = record::empty_packed(&p, DType::F64, at).unwrap();
    let lp = ScalarOp::Add.loop_for(DType::F64).unwrap() as u8;
    record::map(MapOp::Scalar { op: ScalarOp::Add, lp }, &[Operand::Array(&p), num(2.0)], &[&q], None, at).unwrap();
    drop(p);
    assert!(record::same_mask(&q, &m));
    record::unpack(&z, &m, &q, at).unwrap();
    drop((q, m));
    let got = read(&z);
    for i in 0..n {
        let w = v[i] + 0.25;
        assert_eq!(got[i], if w > 100.0 { w + 2.0 } else { w });
    }
}

#[test]
fn packed_arrays_that_are_looked_at() {
    let n = 100_000;
    let v = ramp(n);
    let z = from(&v);
    let m = apply(ScalarOp::Greater, &[Operand::Array(&z), num(400.0)], &[n]);
    let p = record::pack(&z, &m, at).unwrap();
    let want: Vec<f64> = v.iter().copied().filter(|&x| x > 400.0).collect();
    assert_eq!(read(&p), want);
    let idx = record::nonzero(&m, at).unwrap();
    assert!(record::nonzero_mask(&[&idx[0]]).is_some());
    let mut i0 = idx[0].clone();
    record::resolve(&mut i0).unwrap();
    assert_eq!(i0.view.shape[0], want.len());
}

#[test]
fn a_loop_over_slices_becomes_one_task() {
    let n = 100_000;
    let v = ramp(n);
    let z = apply(ScalarOp::Add, &[Operand::Array(&from(&v)), num(1.0)], &[n]);
    let lp = ScalarOp::Multiply.loop_for(DType::F64).unwrap() as u8;
    for s in (0..n).step_by(4096) {
        let len = 4096.min(n - s);
        let part = z.with_view(z.view.slice(0, s, 1, len));
        let op = MapOp::Scalar { op: ScalarOp::Multiply, lp };
        record::map(op, &[Operand::Array(&part), num(3.0)], &[&part], None, at).unwrap();
    }
    let text = record::explain(&z, |_| String::new());
    assert_eq!(text.matches("task ").count(), 1, "{text}");
    let got = read(&z);
    for i in 0..n {
        assert_eq!(got[i], (v[i] + 1.0) * 3.0);
    }
}
