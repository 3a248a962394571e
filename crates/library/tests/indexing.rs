//! Gathers, scatters, masks and searches.
mod harness;
use harness::*;
use numloom_ir::DType;
use numloom_library::{
    BinaryFn, CountTrue, Fold, LibraryError, Mode, Nonzero, Pack, Put, Repeat, ScatterApply, SearchSorted, Take, Unpack,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Base shape, number of indexed axes, index shape.
const CASES: [(&[usize], usize, &[usize]); 8] = [
    (&[7], 1, &[20]),
    (&[7, 5], 1, &[4, 3]),
    (&[7, 5], 2, &[11]),
    (&[4, 3, 600], 2, &[6, 5]),
    (&[4, 3, 2, 5], 1, &[]),
    (&[1000], 1, &[300, 400]),
    (&[9, 0], 1, &[3]),
    (&[9], 1, &[0, 2]),
];

fn indices(rng: &mut Rng, base: &[usize], count: usize, shape: &[usize]) -> Vec<Array> {
    (0..count)
        .map(|k| {
            let mut index = Array::strided(rng, DType::I64, shape);
            if shape.len() > 1 && rng.below(3) == 0 {
                index.view.strides[rng.below(2)] = 0;
            }
            index.fill(|_| (rng.below(2 * base[k]) as f64 - base[k] as f64, 0.0));
            index
        })
        .collect()
}

/// The base index that a position of the values means.
fn base_index(base: &[usize], indices: &[Array], nd: usize, at: &[usize]) -> Vec<usize> {
    let (position, rest) = at.split_at(nd);
    let wrapped = indices.iter().enumerate().map(|(k, index)| {
        let v = index.get(position).0 as i64;
        (if v < 0 { v + base[k] as i64 } else { v }) as usize
    });
    wrapped.chain(rest.iter().copied()).collect()
}

#[test]
fn take_and_put_every_dtype() {
    let mut rng = Rng(71);
    for dtype in DType::ALL {
        for (base, count, shape) in CASES {
            let x = Array::random(&mut rng, dtype, base, true);
            let at = indices(&mut rng, base, count, shape);
            let values_shape = [shape, &base[count..]].concat();
            let out = Array::strided(&mut rng, dtype, &values_shape);
            let axes: Vec<usize> = (0..count).collect();
            let ins: Vec<&Array> = std::iter::once(&x).chain(&at).collect();
            run(&mut rng, &Take::new(&axes, Mode::Raise), &ins, &[&out]).unwrap();
            each_index(&values_shape, |i| {
                assert!(same(out.get(i), x.get(&base_index(base, &at, shape.len(), i))), "{dtype} {base:?}");
            });

            let values = Array::random(&mut rng, dtype, &values_shape, true);
            let want = Array::dense(dtype, base);
            want.fill(|i| x.get(i));
            each_index(&values_shape, |i| want.set(&base_index(base, &at, shape.len(), i), values.get(i)));
            let ins: Vec<&Array> = at.iter().chain([&values]).collect();
            run(&mut rng, &Put::new(&axes, Mode::Raise), &ins, &[&x]).unwrap();
            assert_same(&x.list(), &want.list(), "put");
        }
    }
}

#[test]
fn at_folds_repeated_places_in_order() {
    let mut rng = Rng(73);
    let apply: BinaryFn =
        Arc::new(|a, b, out| unsafe { *(out as *mut f64) = *(a as *const f64) * 0.5 + *(b as *const f64) });
    for (base, count, shape) in CASES {
        let x = Array::random(&mut rng, DType::F64, base, false);
        let at = indices(&mut rng, base, count, shape);
        let values_shape = [shape, &base[count..]].concat();
        let values = Array::random(&mut rng, DType::F64, &values_shape, false);
        let want = Array::dense(DType::F64, base);
        want.fill(|i| x.get(i));
        each_index(&values_shape, |i| {
            let place = base_index(base, &at, shape.len(), i);
            want.set(&place, (want.get(&place).0 * 0.5 + values.get(i).0, 0.0));
        });
        let ins: Vec<&Array> = at.iter().chain([&values]).collect();
        let axes: Vec<usize> = (0..count).collect();
        run(&mut rng, &ScatterApply::new(&axes, Fold::Call(apply.clone()), "add"), &ins, &[&x]).unwrap();
        assert_same(&x.list(), &want.list(), "at");
    }
}

/// Base shapes, and whether their rows overlap.
const SHAPES_WRITTEN: [(&[usize], bool); 6] = [
    (&[5000], false),
    (&[5000, 3], false),
    (&[700, 30], false),
    (&[500, 40], true),
    (&[40, 2500], false),
    (&[40, 2500], true),
];

#[test]
fn many_places_are_written_in_order() {
    let mut rng = Rng(75);
    for (base, overlaps) in SHAPES_WRITTEN {
        let row: usize = base[1..].iter().product();
        let count = 400_000 / row;
        for sorted in [false, true] {
            let mut x = Array::dense(DType::F64, base);
            if overlaps {
                x.view.strides[0] = x.view.strides[1];
            }
            let mut places: Vec<i64> = (0..count).map(|_| rng.below(2 * base[0]) as i64 - base[0] as i64).collect();
            if sorted {
                places.iter_mut().for_each(|p| *p = p.rem_euclid(base[0] as i64));
                places.sort_unstable();
            }
            let index = Array::dense(DType::I64, &[count]);
            index.fill(|i| (places[i[0]] as f64, 0.0));
            let values = Array::random(&mut rng, DType::F64, &[&[count], &base[1..]].concat(), false);
            let mut want = vec![(0.0, 0.0); if overlaps { base[0] + row } else { base[0] * row }];
            for (i, place) in places.iter().enumerate() {
                let place = place.rem_euclid(base[0] as i64) as usize;
                let at = if overlaps { place } else { place * row };
                for j in 0..row {
                    want[at + j] = values.get(&[i, j][..base.len()]);
                }
            }
            run(&mut rng, &Put::new(&[0], Mode::Raise), &[&index, &values], &[&x]).unwrap();
            each_index(base, |i| {
                let at = if overlaps { i[0] + i[1] } else { i[0] * row + i.get(1).unwrap_or(&0) };
                assert!(same(x.get(i), want[at]), "{base:?} {sorted} {i:?}");
            });
        }
    }
}

/// More rows than there are places for, in no order: only the last for each place is written, wherever it comes from.
#[test]
fn of_many_rows_for_a_place_the_last_is_written() {
    let mut rng = Rng(79);
    // The dtype, the base (backwards along its first axis), the indexed axes, the shape of the indices.
    let cases: [(DType, &[usize], usize, &[usize]); 5] = [
        (DType::F64, &[70_000, 2], 1, &[270_000]),
        (DType::F32, &[300, 250, 3], 2, &[270_000]),
        (DType::I8, &[90_000, 2, 3], 1, &[400, 680]),
        (DType::C128, &[20, 2], 1, &[270_000]),
        (DType::I16, &[2_000, 4], 1, &[680, 400]),
    ];
    for (dtype, base, count, shape) in cases {
        for (swapped, one) in [(false, false), (true, false), (false, true)] {
            let mut x = Array::dense(dtype, base);
            x.view.ptr = unsafe { x.view.ptr.offset(x.view.strides[0] * (base[0] as isize - 1)) };
            x.view.strides[0] *= -1;
            let at: Vec<Array> = (0..count)
                .map(|k| {
                    let index = Array::dense(DType::I64, shape);
                    index.fill(|_| (rng.below(2 * base[k]) as f64 - base[k] as f64, 0.0));
                    index
                })
                .collect();
            let values_shape = [shape, &base[count..]].concat();
            let last = values_shape.len() - 1;
            let mut lies = values_shape.clone();
            if swapped {
                lies.swap(0, last);
            }
            let mut values = Array::random(&mut rng, dtype, &lies, false);
            if swapped {
                values.view.shape.swap(0, last);
                values.view.strides.swap(0, last);
            }
            if one {
                values.view.strides[..shape.len()].fill(0);
            }
            let want = Array::dense(dtype, base);
            each_index(&values_shape, |i| want.set(&base_index(base, &at, shape.len(), i), values.get(i)));
            let axes: Vec<usize> = (0..count).collect();
            let ins: Vec<&Array> = at.iter().chain([&values]).collect();
            run(&mut rng, &Put::new(&axes, Mode::Raise), &ins, &[&x]).unwrap();
            assert_same(&x.list(), &want.list(), "put");

            if swapped || one {
                continue;
            }
            values.fill(|_| (1.0, 0.0));
            let ends: Vec<usize> = shape.iter().map(|n| n - 1).collect();
            for place in [vec![0; shape.len()], shape.iter().map(|n| n / 2).collect(), ends] {
                let kept = at[count - 1].get(&place);
                at[count - 1].set(&place, (base[count - 1] as f64, 0.0));
                assert!(run(&mut rng, &Put::new(&axes, Mode::Raise), &ins, &[&x]).is_err());
                at[count - 1].set(&place, kept);
            }
            assert_same(&x.list(), &want.list(), "nothing is written where an index is outside");
        }
    }
}

/// Places all over a base that is larger than the caches: the positions go to buckets first.
#[test]
fn scattered_places_are_written_in_order() {
    let mut rng = Rng(77);
    let apply: BinaryFn =
        Arc::new(|a, b, out| unsafe { *(out as *mut f64) = *(a as *const f64) * 0.5 + *(b as *const f64) });
    // The dtype, the shape of what is indexed (backwards along its last axis), whether one value goes everywhere.
    let cases: [(DType, &[usize], bool); 6] = [
        (DType::F64, &[2_200_000], false),
        (DType::F64, &[2_200_000], true),
        (DType::F32, &[3, 1_450_000], false),
        (DType::C128, &[1_100_000], false),
        (DType::I32, &[4_200, 1_000], true),
        (DType::I8, &[17_100_000], false),
    ];
    for (dtype, base, one) in cases {
        let count = (base.iter().product::<usize>() / 15).max(330_000);
        let mut x = Array::dense(dtype, base);
        let last = base.len() - 1;
        let step = x.view.strides[last];
        x.view.ptr = unsafe { x.view.ptr.offset(step * (base[last] as isize - 1)) };
        x.view.strides[last] = -step;
        let at: Vec<Array> = base
            .iter()
            .map(|&extent| {
                let index = Array::dense(DType::I64, &[count]);
                index.fill(|_| (rng.below(2 * extent) as f64 - extent as f64, 0.0));
                index
            })
            .collect();
        let mut values = Array::random(&mut rng, dtype, &[count], false);
        if one {
            values.view.strides[0] = 0;
        }
        let axes: Vec<usize> = (0..base.len()).collect();
        let ins: Vec<&Array> = at.iter().chain([&values]).collect();
        let mut put = HashMap::new();
        let mut applied = HashMap::new();
        for i in 0..count {
            let place = base_index(base, &at, 1, &[i]);
            put.insert(place.clone(), values.get(&[i]));
            let so_far: &mut f64 = applied.entry(place).or_default();
            *so_far = *so_far * 0.5 + values.get(&[i]).0;
        }
        if dtype == DType::F64 {
            run(&mut rng, &ScatterApply::new(&axes, Fold::Call(apply.clone()), "add"), &ins, &[&x]).unwrap();
            assert!(applied.iter().all(|(place, v)| x.get(place).0 == *v), "at");
        }
        run(&mut rng, &Put::new(&axes, Mode::Raise), &ins, &[&x]).unwrap();
        assert!(put.iter().all(|(place, v)| same(x.get(place), *v)), "{dtype} {base:?}");
        let mut written = 0;
        each_index(base, |i| written += (x.get(i) != (0.0, 0.0)) as usize);
        let wanted = put.values().filter(|&&v| v != (0.0, 0.0)).count();
        assert_eq!(written, wanted, "{dtype} {base:?}: other places are untouched");

        at[last].set(&[count - 1], (base[last] as f64, 0.0));
        let before = x.get(&base_index(base, &at[..], 1, &[0]));
        values.set(&[0], (77.0, 0.0));
        assert!(run(&mut rng, &Put::new(&axes, Mode::Raise), &ins, &[&x]).is_err());
        assert!(same(x.get(&base_index(base, &at, 1, &[0])), before), "nothing is written before all are checked");
    }
}

#[test]
fn elements_are_repeated_as_their_counts_say() {
    let mut rng = Rng(78);
    for dtype in DType::ALL {
        for n in [0, 1, 3000, 200_000] {
            let x = Array::random(&mut rng, dtype, &[n], true);
            let counts = Array::strided(&mut rng, DType::I64, &[n]);
            counts.fill(|i| (if i[0] % 1000 == 7 { 2500 } else { rng.below(7) } as f64, 0.0));
            let want: Vec<Number> =
                (0..n).flat_map(|i| std::iter::repeat_n(x.get(&[i]), counts.get(&[i]).0 as usize)).collect();
            let out = Array::strided(&mut rng, dtype, &[want.len()]);
            run(&mut rng, &Repeat::new(), &[&x, &counts], &[&out]).unwrap();
            assert_same(&out.list(), &want, "repeat");
        }
    }
    let (x, counts) = (Array::dense(DType::F64, &[4]), Array::dense(DType::I64, &[4]));
    counts.fill(|i| (1.0 - i[0] as f64, 0.0));
    let words = LibraryError::Value("repeats may not contain negative values.".into());
    assert_eq!(run(&mut rng, &Repeat::new(), &[&x, &counts], &[&x]), Err(words));
    // Counts whose sum wraps round to the length of the output.
    counts.fill(|i| ([i64::MAX as f64 / 2.0, i64::MAX as f64 / 2.0, i64::MAX as f64 / 2.0, 4.0][i[0]], 0.0));
    assert!(run(&mut rng, &Repeat::new(), &[&x, &counts], &[&x]).is_err());
}

#[test]
fn bounds_have_numpys_words() {
    let mut rng = Rng(79);
    let x = Array::dense(DType::F32, &[5, 200]);
    let index = Array::dense(DType::I64, &[200_000]);
    index.set(&[150_000], (10.0, 0.0));
    index.set(&[190_000], (-6.0, 0.0));
    let words = LibraryError::Index("index 10 is out of bounds for axis 0 with size 5".into());
    let out = Array::dense(DType::F32, &[200_000, 200]);
    assert_eq!(run(&mut rng, &Take::new(&[0], Mode::Raise), &[&x, &index], &[&out]), Err(words.clone()));
    let value = Array::dense(DType::F32, &[200_000, 200]);
    value.set(&[0, 0], (9.0, 0.0));
    assert_eq!(run(&mut rng, &Put::new(&[0], Mode::Raise), &[&index, &value], &[&x]), Err(words));
    assert!(x.list().iter().all(|v| v.0 == 0.0), "nothing is written before all indices are checked");

    let x = Array::dense(DType::F64, &[5]);
    x.fill(|i| (i[0] as f64, 0.0));
    let index = Array::dense(DType::I64, &[4]);
    index.fill(|i| ([-7.0, -1.0, 5.0, 12.0][i[0]], 0.0));
    let out = Array::dense(DType::F64, &[4]);
    run(&mut rng, &Take::new(&[0], Mode::Wrap), &[&x, &index], &[&out]).unwrap();
    assert_same(&out.list(), &[3.0, 4.0, 0.0, 2.0].map(|v| (v, 0.0)), "wrap");
    run(&mut rng, &Take::new(&[0], Mode::Clip), &[&x, &index], &[&out]).unwrap();
    assert_same(&out.list(), &[0.0, 0.0, 4.0, 4.0].map(|v| (v, 0.0)), "clip");
    let empty = Array::dense(DType::F64, &[0]);
    let error = run(&mut rng, &Take::new(&[0], Mode::Clip), &[&empty, &index], &[&out]);
    assert_eq!(error, Err(LibraryError::Index("cannot do a non-empty take from an empty axes.".into())));
    let two = [Array::dense(DType::I64, &[2]), Array::dense(DType::I64, &[2])];
    two[0].set(&[1], (4.0, 0.0));
    two[1].set(&[0], (3.0, 0.0));
    let (x, out) = (Array::dense(DType::F64, &[3, 2]), Array::dense(DType::F64, &[2]));
    let error = run(&mut rng, &Take::new(&[1, 2], Mode::Raise), &[&x, &two[0], &two[1]], &[&out]);
    assert_eq!(error, Err(LibraryError::Index("index 4 is out of bounds for axis 1 with size 3".into())));
}

#[test]
fn masks_of_every_dtype_and_shape() {
    let mut rng = Rng(83);
    let shapes: [&[usize]; 7] = [&[], &[0], &[100], &[30, 40], &[5, 7, 3], &[200_000], &[400, 500]];
    for dtype in DType::ALL {
        for shape in shapes {
            let x = if rng.below(2) == 0 { Array::dense(dtype, shape) } else { Array::strided(&mut rng, dtype, shape) };
            x.fill(|_| (rng.below(7) as f64 - 3.0, 0.0));
            let mask = Array::dense(DType::Bool, shape);
            let mask = if rng.below(2) == 0 { mask } else { Array::strided(&mut rng, DType::Bool, shape) };
            let rare = 1 + rng.below(4);
            mask.fill(|_| ((rng.below(4) < rare) as u8 as f64, 0.0));
            let truth: Vec<bool> = mask.list().iter().map(|v| v.0 != 0.0).collect();
            let all = x.list();
            let want: Vec<Number> = all.iter().zip(&truth).filter(|(_, t)| **t).map(|(v, _)| *v).collect();
            let packed = Array::dense(dtype, &[want.len()]);
            run(&mut rng, &Pack::new(), &[&x, &mask], &[&packed]).unwrap();
            assert_same(&packed.list(), &want, "pack");
            let (roomy, count) = (Array::strided(&mut rng, dtype, &[want.len() + 3]), Array::dense(DType::I64, &[]));
            run(&mut rng, &Pack::new(), &[&x, &mask], &[&roomy, &count]).unwrap();
            assert_eq!(count.get(&[]).0 as usize, want.len());
            assert_same(&roomy.list()[..want.len()], &want, "pack with room");
            assert!(run(&mut rng, &Pack::new(), &[&x, &mask], &[&roomy]).is_err());

            let mut places = Vec::new();
            each_index(shape, |i| {
                if x.get(i).0 != 0.0 {
                    places.push(i.to_vec());
                }
            });
            run(&mut rng, &CountTrue::new(), &[&x], &[&count]).unwrap();
            assert_eq!(count.get(&[]).0 as usize, places.len());
            if !shape.is_empty() {
                let outs: Vec<Array> =
                    shape.iter().map(|_| Array::strided(&mut rng, DType::I64, &[places.len()])).collect();
                run(&mut rng, &Nonzero::new(), &[&x], &outs.iter().collect::<Vec<_>>()).unwrap();
                for (axis, out) in outs.iter().enumerate() {
                    assert!(out.list().iter().zip(&places).all(|(v, p)| v.0 as usize == p[axis]));
                }
            }

            let values = Array::random(&mut rng, dtype, &[want.len()], false);
            run(&mut rng, &Unpack::new(), &[&mask, &values], &[&x]).unwrap();
            let mut next = values.list().into_iter();
            let want: Vec<Number> =
                all.iter().zip(&truth).map(|(v, t)| if *t { next.next().unwrap() } else { *v }).collect();
            assert_same(&x.list(), &want, "unpack");
        }
    }
    let (x, mask, values) =
        (Array::dense(DType::F64, &[3]), Array::dense(DType::Bool, &[3]), Array::dense(DType::F64, &[3]));
    mask.fill(|i| ((i[0] < 2) as u8 as f64, 0.0));
    let words = "NumPy boolean array indexing assigns 3 input values to the 2 output values where the mask is true";
    assert_eq!(run(&mut rng, &Unpack::new(), &[&mask, &values], &[&x]), Err(LibraryError::Value(words.into())));
}

#[test]
fn searchsorted_both_sides() {
    let mut rng = Rng(89);
    for dtype in DType::ALL {
        for n in [0, 1, 2, 37, 1000] {
            let mut sorted = Array::random(&mut rng, dtype, &[n], false).list();
            sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let a = Array::strided(&mut rng, dtype, &[n]);
            a.fill(|i| sorted[i[0]]);
            let v = Array::random(&mut rng, dtype, &[300, 40], false);
            let out = Array::strided(&mut rng, DType::I64, &[300, 40]);
            let (shuffled, sorter) = (Array::dense(dtype, &[n]), Array::dense(DType::I64, &[n]));
            for i in 0..n {
                shuffled.set(&[n - 1 - i], sorted[i]);
                sorter.set(&[i], ((n - 1 - i) as f64, 0.0));
            }
            for right in [false, true] {
                let want: Vec<Number> = v
                    .list()
                    .iter()
                    .map(|key| (sorted.iter().filter(|s| if right { *s <= key } else { *s < key }).count() as f64, 0.0))
                    .collect();
                run(&mut rng, &SearchSorted::new(right), &[&a, &v], &[&out]).unwrap();
                assert_same(&out.list(), &want, &format!("{dtype} {n} {right}"));
                run(&mut rng, &SearchSorted::new(right), &[&shuffled, &v, &sorter], &[&out]).unwrap();
                assert_same(&out.list(), &want, &format!("sorter {dtype} {n} {right}"));
            }
        }
    }
}
