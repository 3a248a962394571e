mod harness;
use harness::*;
use numloom_ir::DType;
use numloom_library::MatMul;

fn naive(dtype: DType, a: &Array, b: &Array, batch: &[usize], i: usize, j: usize) -> Number {
    let nd = batch.len();
    let mut sum = (0.0, 0.0);
    for k in 0..a.view.shape[nd + 1] {
        let x = a.get(&[batch, &[i, k]].concat());
        let y = b.get(&[batch, &[k, j]].concat());
        sum.0 += x.0 * y.0 - x.1 * y.1;
        sum.1 += x.0 * y.1 + x.1 * y.0;
    }
    match dtype {
        DType::Bool => ((sum.0 != 0.0) as u8 as f64, 0.0),
        d if d.is_integer() => {
            let wrapped = numloom_ir::Value::from_i128(d, sum.0 as i128).to_i128();
            (wrapped as f64, 0.0)
        }
        d => stored(d, sum),
    }
}

fn check(rng: &mut Rng, dtype: DType, batch: &[usize], m: usize, k: usize, n: usize) {
    let shape = |r, c| [batch, &[r, c]].concat();
    let a = Array::random(rng, dtype, &shape(m, k), false);
    let mut b = Array::random(rng, dtype, &shape(k, n), false);
    if !batch.is_empty() && batch[0] > 0 && rng.below(2) == 0 {
        // A broadcast operand repeats along the batch.
        b.view.strides[0] = 0;
    }
    let c = Array::strided(rng, dtype, &shape(m, n));
    run(rng, &MatMul::new(), &[&a, &b], &[&c]).unwrap();
    each_index(&c.view.shape, |index| {
        let (batch, at) = index.split_at(index.len() - 2);
        let want = naive(dtype, &a, &b, batch, at[0], at[1]);
        assert!(same(c.get(index), want), "{dtype} {m}x{k}x{n} at {index:?}: {:?} {want:?}", c.get(index));
    });
}

#[test]
fn every_dtype_and_shape() {
    let mut rng = Rng(7);
    for dtype in DType::ALL {
        for (m, k, n) in
            [(1, 1, 1), (3, 4, 5), (17, 9, 33), (0, 3, 2), (2, 0, 3), (70, 300, 65), (1, 50, 7), (90, 40, 1)]
        {
            check(&mut rng, dtype, &[], m, k, n);
            check(&mut rng, dtype, &[3], m, k, n);
        }
        check(&mut rng, dtype, &[2, 3], 4, 5, 6);
        check(&mut rng, dtype, &[0], 4, 5, 6);
    }
}

#[test]
fn blocks_depth_and_vectors_are_cut() {
    let mut rng = Rng(11);
    for dtype in [DType::F32, DType::F64, DType::I32, DType::F16, DType::C64] {
        for _ in 0..2 {
            // Small inner sums keep float16 exact.
            check(&mut rng, dtype, &[], 500, 20, 410);
            check(&mut rng, dtype, &[2], 130, 100, 100);
        }
    }
    for dtype in [DType::F32, DType::F64, DType::C128, DType::U8] {
        check(&mut rng, dtype, &[], 12, 20_000, 9);
        for _ in 0..2 {
            check(&mut rng, dtype, &[], 1, 200_000, 1);
            check(&mut rng, dtype, &[], 20_000, 30, 1);
            check(&mut rng, dtype, &[], 1, 30, 20_000);
            check(&mut rng, dtype, &[], 30, 20_000, 1);
            check(&mut rng, dtype, &[2], 1, 20_000, 70);
            check(&mut rng, dtype, &[], 700, 800, 1);
        }
    }
}

#[test]
fn wrong_operands_are_errors() {
    let mut rng = Rng(3);
    let (a, b, c) =
        (Array::dense(DType::F64, &[2, 3]), Array::dense(DType::F64, &[2, 3]), Array::dense(DType::F64, &[2, 2]));
    assert!(run(&mut rng, &MatMul::new(), &[&a, &b], &[&c]).is_err());
    assert!(run(&mut rng, &MatMul::new(), &[&a], &[&c]).is_err());
    assert!(run(&mut rng, &MatMul::new(), &[&a, &b], &[&Array::dense(DType::F32, &[])]).is_err());
}
