//! Operations along an axis: scans, extremes, sorts, reduceat.
mod harness;
use harness::*;
use numloom_ir::{DType, ScalarOp, Value};
use numloom_library::{Accumulate, ArgReduce, BinaryFn, Fold, LibraryError, ReduceAt, ReduceLeft, Select, Sort, Tally};
use std::sync::Arc;

const SHAPES: [(&[usize], usize); 9] = [
    (&[1], 0),
    (&[0], 0),
    (&[200], 0),
    (&[30, 40], 0),
    (&[30, 40], 1),
    (&[5, 70, 12], 1),
    (&[600, 300], 0),
    (&[3, 0, 2], 0),
    (&[200_000], 0),
];

fn is_nan(v: Number) -> bool {
    v.0.is_nan() || v.1.is_nan()
}

fn less(a: Number, b: Number) -> bool {
    a.0 < b.0 || (a.0 == b.0 && a.1 < b.1)
}

/// The folds and what they do to numbers that a dtype stores.
fn fold_of(i: usize) -> (Fold, fn(DType, Number, Number) -> Number) {
    match i {
        0 => (Fold::Add, |d, a, b| match d {
            DType::Bool => (((a.0 + b.0) > 0.0) as u8 as f64, 0.0),
            d if d.is_integer() => (numloom_ir::Value::from_i128(d, (a.0 + b.0) as i128).to_i128() as f64, 0.0),
            d => stored(d, (a.0 + b.0, a.1 + b.1)),
        }),
        1 => (Fold::Minimum, |_, a, b| if is_nan(a) || !(less(b, a) || is_nan(b)) { a } else { b }),
        2 => (Fold::Maximum, |_, a, b| if is_nan(a) || !(less(a, b) || is_nan(b)) { a } else { b }),
        _ => (Fold::Multiply, |d, a, b| match d {
            d if d.is_complex() => stored(d, (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)),
            d if d.is_inexact() => stored(d, (a.0 * b.0, 0.0)),
            d => (numloom_ir::Value::from_i128(d, (a.0 * b.0) as i128).to_i128() as f64, 0.0),
        }),
    }
}

#[test]
fn accumulate_every_dtype() {
    let mut rng = Rng(5);
    for dtype in DType::ALL {
        for (shape, axis) in SHAPES {
            for i in 0..4 {
                let (fold, apply) = fold_of(i);
                let from = if i == 0 && rng.below(3) == 0 { DType::I8 } else { dtype };
                // The sums of float16 and products must stay exact.
                let tame = i == 3 || (i == 0 && dtype == DType::F16);
                let x = Array::random(&mut rng, from, shape, i > 0 && !tame);
                if tame {
                    x.fill(|_| ((rng.below(3) as f64 - 1.0).abs(), 0.0));
                }
                if tame && i == 0 && shape[0] > 1000 {
                    continue;
                }
                let from_sign = |v: Number| stored(dtype, v);
                let out = Array::strided(&mut rng, dtype, shape);
                run(&mut rng, &Accumulate::new(fold, axis), &[&x], &[&out]).unwrap();
                each_index(&outer(shape, axis), |o| {
                    let mut acc = None;
                    let want: Vec<Number> = x
                        .lane(o, axis)
                        .into_iter()
                        .map(|v| {
                            let v = from_sign(v);
                            let next = acc.map_or(v, |a| apply(dtype, a, v));
                            acc = Some(next);
                            next
                        })
                        .collect();
                    if !(dtype.is_integer() && from == DType::I8 && dtype != DType::I8) {
                        assert_same(&out.lane(o, axis), &want, &format!("{dtype} fold {i} {shape:?} {axis}"));
                    }
                });
            }
        }
    }
}

#[test]
fn accumulate_logical_and_called_and_in_place() {
    let mut rng = Rng(9);
    let x = Array::random(&mut rng, DType::F32, &[300_000], false);
    let out = Array::strided(&mut rng, DType::Bool, &[300_000]);
    run(&mut rng, &Accumulate::new(Fold::LogicalXor, 0), &[&x], &[&out]).unwrap();
    let mut odd = false;
    for (v, o) in x.list().into_iter().zip(out.list()) {
        odd ^= v.0 != 0.0;
        assert_eq!(o.0 != 0.0, odd);
    }
    let subtract: BinaryFn =
        Arc::new(|a, b, out| unsafe { *(out as *mut i64) = *(a as *const i64) - *(b as *const i64) });
    let x = Array::random(&mut rng, DType::I64, &[200_000], false);
    let before = x.list();
    run(&mut rng, &Accumulate::new(Fold::Call(subtract), 0), &[&x], &[&x]).unwrap();
    let mut acc = before[0].0;
    for (i, got) in x.list().into_iter().enumerate().skip(1) {
        acc -= before[i].0;
        assert_eq!(got.0, acc);
    }
    let wrong = run(&mut rng, &Accumulate::new(Fold::LogicalAnd, 0), &[&x], &[&x]);
    assert!(matches!(wrong, Err(LibraryError::Value(_))));
}

#[test]
fn arg_reduce_every_dtype() {
    let mut rng = Rng(21);
    for dtype in DType::ALL {
        for (shape, axis) in SHAPES {
            for max in [true, false] {
                let nans = rng.below(2) == 0;
                let x = Array::random(&mut rng, dtype, shape, nans && dtype.is_inexact());
                let best = |lane: &[Number]| {
                    let mut best = 0;
                    for (i, &v) in lane.iter().enumerate() {
                        let b = lane[best];
                        let further = if max { less(b, v) } else { less(v, b) };
                        if !is_nan(b) && (further || is_nan(v)) {
                            best = i;
                        }
                    }
                    best as f64
                };
                let empty = shape[axis] == 0;
                let out = Array::strided(&mut rng, DType::I64, &outer(shape, axis));
                let result = run(&mut rng, &ArgReduce::new(max, Some(axis)), &[&x], &[&out]);
                assert_eq!(result.is_err(), empty && !out.list().is_empty());
                if result.is_ok() {
                    each_index(&outer(shape, axis), |o| {
                        assert_eq!(out.get(o).0, best(&x.lane(o, axis)), "{dtype} {shape:?} {axis} {max}");
                    });
                }
                let out = Array::dense(DType::I64, &[]);
                let result = run(&mut rng, &ArgReduce::new(max, None), &[&x], &[&out]);
                let all = x.list();
                assert_eq!(result.is_err(), all.is_empty());
                if !all.is_empty() {
                    assert_eq!(out.get(&[]).0, best(&all), "{dtype} {shape:?} flat");
                }
            }
        }
    }
    let out = Array::dense(DType::I64, &[]);
    let error = run(&mut rng, &ArgReduce::new(true, None), &[&Array::dense(DType::F64, &[0])], &[&out]);
    assert_eq!(error, Err(LibraryError::Value("attempt to get argmax of an empty sequence".into())));
}

/// NumPy's order of complex numbers with NaNs: by class of NaN parts, then by what is left.
fn key(v: Number) -> (u8, f64, f64) {
    let class = (v.0.is_nan() as u8) * 2 + v.1.is_nan() as u8;
    let real = |x: f64| if x.is_nan() { 0.0 } else { x };
    (class, real(v.0), real(v.1))
}

fn numpy_sorted(lane: &[Number]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..lane.len()).collect();
    places.sort_by(|&i, &j| key(lane[i]).partial_cmp(&key(lane[j])).unwrap());
    places
}

#[test]
fn sorts_every_dtype() {
    let mut rng = Rng(33);
    for dtype in DType::ALL {
        for (shape, axis) in SHAPES {
            let x = Array::random(&mut rng, dtype, shape, true);
            if rng.below(2) == 0 {
                x.fill(|_| (rng.below(100_000) as f64 - 20_000.0, rng.below(3) as f64));
            }
            let (out, places) = (Array::strided(&mut rng, dtype, shape), Array::strided(&mut rng, DType::I64, shape));
            let stable = rng.below(2) == 0;
            run(&mut rng, &Sort::new(axis, stable), &[&x], &[&out]).unwrap();
            run(&mut rng, &Sort::argsort(axis), &[&x], &[&places]).unwrap();
            each_index(&outer(shape, axis), |o| {
                let lane = x.lane(o, axis);
                let want = numpy_sorted(&lane);
                let what = format!("{dtype} {shape:?} {axis} stable {stable}");
                let values: Vec<Number> = want.iter().map(|&i| lane[i]).collect();
                assert_same(&out.lane(o, axis), &values, &what);
                let want: Vec<Number> = want.iter().map(|&i| (i as f64, 0.0)).collect();
                assert_same(&places.lane(o, axis), &want, &format!("places {what}"));
            });
            run(&mut rng, &Sort::new(axis, stable), &[&x], &[&x]).unwrap();
            assert_same(&x.list(), &out.list(), "in place");
        }
    }
}

#[test]
fn stable_sort_keeps_signs_of_zeros_in_order() {
    let mut rng = Rng(2);
    let x = Array::dense(DType::F64, &[100_000]);
    x.fill(|_| ((rng.below(3) as f64 - 1.0) * if rng.below(2) == 0 { 1.0 } else { -1.0 }, 0.0));
    let zeros = |a: &Array| -> Vec<bool> {
        a.list().into_iter().filter(|v| v.0 == 0.0).map(|v| v.0.is_sign_negative()).collect()
    };
    let out = Array::dense(DType::F64, &[100_000]);
    run(&mut rng, &Sort::new(0, true), &[&x], &[&out]).unwrap();
    assert_eq!(zeros(&out), zeros(&x));
}

#[test]
fn partitions_put_kth_in_place() {
    let mut rng = Rng(41);
    for dtype in DType::ALL {
        for (shape, axis) in SHAPES.into_iter().filter(|(s, a)| s[*a] >= 30) {
            let x = Array::random(&mut rng, dtype, shape, true);
            let kth = [shape[axis] / 3, 7, shape[axis] - 1, 7];
            let (out, places) = (Array::strided(&mut rng, dtype, shape), Array::strided(&mut rng, DType::I64, shape));
            run(&mut rng, &Sort::partition(axis, &kth), &[&x], &[&out]).unwrap();
            run(&mut rng, &Sort::argpartition(axis, &kth), &[&x], &[&places]).unwrap();
            each_index(&outer(shape, axis), |o| {
                let lane = x.lane(o, axis);
                let want: Vec<_> = numpy_sorted(&lane).into_iter().map(|i| key(lane[i])).collect();
                let chosen: Vec<Number> = places.lane(o, axis).iter().map(|p| lane[p.0 as usize]).collect();
                for got in [out.lane(o, axis), chosen] {
                    for &k in &kth {
                        assert_eq!(key(got[k]), want[k]);
                        assert!(got[..k].iter().all(|&v| key(v) <= want[k]));
                        assert!(got[k..].iter().all(|&v| key(v) >= want[k]));
                    }
                }
            });
        }
    }
    let x = Array::dense(DType::F64, &[5]);
    let error = run(&mut rng, &Sort::partition(0, &[5]), &[&x], &[&x]);
    assert_eq!(error, Err(LibraryError::Value("kth(=5) out of bounds (5)".into())));
}

#[test]
fn selects_what_a_sort_would_put_there() {
    let mut rng = Rng(43);
    let long: [(&[usize], usize); 2] = [(&[300_000], 0), (&[2, 150_000], 1)];
    for dtype in DType::ALL.into_iter().filter(|d| !d.is_complex()) {
        for (shape, axis) in SHAPES.into_iter().chain(long).filter(|(s, a)| s[*a] >= 30) {
            let x = Array::random(&mut rng, dtype, shape, true);
            if rng.below(2) == 0 {
                x.fill(|_| (rng.below(100_000) as f64 - 20_000.0, 0.0));
            }
            let n = shape[axis];
            let kth = [n / 2, n / 2 - 1, n - 1, 0, 7, n / 3];
            let mut out_shape = shape.to_vec();
            out_shape[axis] = kth.len();
            let out = Array::strided(&mut rng, dtype, &out_shape);
            run(&mut rng, &Select::new(axis, &kth), &[&x], &[&out]).unwrap();
            each_index(&outer(shape, axis), |o| {
                let lane = x.lane(o, axis);
                let sorted = numpy_sorted(&lane);
                let want: Vec<_> = kth.iter().map(|&k| key(lane[sorted[k]])).collect();
                let got: Vec<_> = out.lane(o, axis).into_iter().map(key).collect();
                assert_eq!(got, want, "{dtype} {shape:?} {axis}");
            });
        }
    }
}

#[test]
fn tallies_count_and_weigh() {
    let mut rng = Rng(44);
    for n in [0, 1, 1000, 200_000] {
        let (x, weights) = (Array::strided(&mut rng, DType::I32, &[n]), Array::strided(&mut rng, DType::F64, &[n]));
        x.fill(|_| (rng.below(50) as f64, 0.0));
        weights.fill(|_| (rng.below(9) as f64, 0.0));
        let edges = Array::dense(DType::F64, &[5]);
        edges.fill(|i| ([0.0, 3.5, 20.0, 20.0, 49.0][i[0]], 0.0));
        let of = |bins: usize, bin: &dyn Fn(f64) -> Option<usize>, weighted: bool| -> Vec<Number> {
            let mut counts = vec![(0.0, 0.0); bins];
            for (v, w) in x.list().iter().zip(weights.list()) {
                if let Some(b) = bin(v.0) {
                    counts[b].0 += if weighted { w.0 } else { 1.0 };
                }
            }
            counts
        };
        let between = |v: f64| {
            Some(if v < 3.5 {
                0
            } else if v < 20.0 {
                1
            } else {
                3
            })
        };
        let (counts, sums) = (Array::strided(&mut rng, DType::I64, &[50]), Array::strided(&mut rng, DType::F64, &[4]));
        let told = Array::dense(DType::I64, &[2]);
        run(&mut rng, &Tally::of_integers(), &[&x], &[&counts, &told]).unwrap();
        assert_same(&counts.list(), &of(50, &|v| Some(v as usize), false), "bincount");
        let ends = x.list().iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v.0), h.max(v.0)));
        assert!(n == 0 || told.list() == [(ends.0, 0.0), (ends.1, 0.0)]);
        run(&mut rng, &Tally::between(), &[&x, &edges, &weights], &[&sums]).unwrap();
        assert_same(&sums.list(), &of(4, &between, true), "weighted histogram");
    }
}

#[test]
fn reduceat_follows_numpy() {
    let mut rng = Rng(55);
    for dtype in DType::ALL {
        for (shape, axis) in SHAPES.into_iter().filter(|(s, a)| s[*a] > 0) {
            let (fold, apply) = fold_of(rng.below(3));
            let x = Array::random(&mut rng, dtype, shape, false);
            if dtype == DType::F16 {
                x.fill(|_| (rng.below(2) as f64 * 0.0, 0.0));
            }
            let mut out_shape = shape.to_vec();
            out_shape[axis] = 6;
            let indices = Array::strided(&mut rng, DType::I64, &[6]);
            indices.fill(|_| (rng.below(shape[axis]) as f64, 0.0));
            let starts: Vec<usize> = indices.list().iter().map(|v| v.0 as usize).collect();
            let out = Array::strided(&mut rng, dtype, &out_shape);
            run(&mut rng, &ReduceAt::new(fold, axis, "add"), &[&x, &indices], &[&out]).unwrap();
            each_index(&outer(shape, axis), |o| {
                let lane = x.lane(o, axis);
                for i in 0..6 {
                    let end = *starts.get(i + 1).unwrap_or(&lane.len());
                    let first = lane[starts[i]];
                    let rest = if starts[i] < end { &lane[starts[i] + 1..end] } else { &[] };
                    let want = rest.iter().fold(first, |a, &v| apply(dtype, a, v));
                    let got = out.get(&with_axis(o, axis, i));
                    assert!(same(got, want), "{dtype} {shape:?} {axis}: {got:?} {want:?}");
                }
            });
        }
    }
    let (x, bad) = (Array::dense(DType::F64, &[5]), Array::dense(DType::I64, &[2]));
    bad.set(&[1], (5.0, 0.0));
    let error = run(&mut rng, &ReduceAt::new(Fold::Add, 0, "add"), &[&x, &bad], &[&Array::dense(DType::F64, &[2])]);
    assert_eq!(error, Err(LibraryError::Index("index 5 out-of-bounds in add.reduceat [0, 5)".into())));
}

#[test]
fn reduce_left_begins_with_the_first_or_the_initial() {
    let mut rng = Rng(77);
    for dtype in [DType::I64, DType::F64, DType::C128] {
        let lp = ScalarOp::Subtract.loop_for(dtype).unwrap() as u8;
        for (shape, axis) in SHAPES {
            for (initial, masked) in [(false, false), (true, false), (true, true)] {
                if !initial && shape[axis] == 0 {
                    continue;
                }
                let x = Array::random(&mut rng, DType::I8, shape, false);
                let mask = Array::strided(&mut rng, DType::Bool, shape);
                mask.fill(|_| ((!masked || rng.below(3) > 0) as u8 as f64, 0.0));
                let mut out_shape = shape.to_vec();
                out_shape[axis] = 1;
                let out = Array::strided(&mut rng, dtype, &out_shape);
                let op = ReduceLeft::new(ScalarOp::Subtract, lp, axis, initial.then(|| Value::from_i128(dtype, 5)));
                let ins: &[&Array] = if masked { &[&x, &mask] } else { &[&x] };
                run(&mut rng, &op, ins, &[&out]).unwrap();
                each_index(&outer(shape, axis), |o| {
                    let kept = x.lane(o, axis).into_iter().zip(mask.lane(o, axis)).filter(|(_, m)| m.0 != 0.0);
                    let mut kept = kept.map(|(v, _)| v.0);
                    let first = if initial { 5.0 } else { kept.next().unwrap() };
                    let want = (kept.fold(first, |a, v| a - v), 0.0);
                    let got = out.get(&with_axis(o, axis, 0));
                    assert!(same(got, want), "{dtype} {shape:?} {axis}: {got:?} {want:?}");
                });
            }
        }
    }
    let (nothing, out) = (Array::dense(DType::F64, &[0]), Array::dense(DType::F64, &[1]));
    let lp = ScalarOp::Subtract.loop_for(DType::F64).unwrap() as u8;
    assert!(run(&mut rng, &ReduceLeft::new(ScalarOp::Subtract, lp, 0, None), &[&nothing], &[&out]).is_err());
}
