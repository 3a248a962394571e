//! Lengths, aliasing, alignment, and the processor's status.

use super::*;
use crate::status::Status;

/// Arguments that also need libm, so that both paths are at work.
fn arguments(n: usize) -> Vec<f64> {
    (0..n).map(|i| if i % 11 == 5 { 1e300 } else { 0.03 * i as f64 - 0.9 }).collect()
}

/// The result for one element does not depend on where in an array it stands, nor on its length.
#[test]
fn every_length_gives_the_same_numbers() {
    let x = arguments(600);
    for level in levels() {
        for &op in UNARY {
            let alone: Vec<u64> = x.iter().map(|&v| run1_f64(op, level, &[v]).0[0].to_bits()).collect();
            for n in (0..=70).chain([255, 256, 257, 600]) {
                let mut line = x[..n].to_vec();
                line.push(7.25);
                let kernel = crate::unary_f64_at(op, level).unwrap();
                // SAFETY: in place, on the first `n` of `n + 1` elements.
                unsafe { kernel(n, line.as_ptr(), line.as_mut_ptr()) };
                assert_eq!(line.pop(), Some(7.25), "{op:?} wrote past {n}");
                assert!((0..n).all(|i| line[i].to_bits() == alone[i]), "{level:?} {op:?} n={n}");
            }
        }
        for &op in BINARY {
            let y: Vec<f64> = x.iter().rev().copied().collect();
            let alone: Vec<u64> = (0..600).map(|i| run2_f64(op, level, &x[i..=i], &y[i..=i]).0[0].to_bits()).collect();
            for n in (0..=70).chain([255, 256, 257, 600]) {
                let kernel = crate::binary_f64_at(op, level).unwrap();
                for second in [false, true] {
                    let (mut a, mut b) = (x[..n].to_vec(), y[..n].to_vec());
                    let dst = if second { b.as_mut_ptr() } else { a.as_mut_ptr() };
                    // SAFETY: all hold `n` elements; `dst` is one of the sources exactly.
                    unsafe { kernel(n, a.as_ptr(), b.as_ptr(), dst) };
                    let got = if second { &b } else { &a };
                    assert!((0..n).all(|i| got[i].to_bits() == alone[i]), "{level:?} {op:?} n={n}");
                }
            }
        }
    }
}

/// Vector code of any width gives the same bits.
#[test]
fn vector_levels_agree() {
    let mut random = Random(7);
    let x: Vec<f64> = (0..5000).map(|_| random.within(-3.0, 30.0)).collect();
    let y: Vec<f64> = (0..5000).map(|_| random.within(-3.0, 30.0)).collect();
    let vector: Vec<Level> = levels().filter(|&l| l != Level::Baseline).collect();
    let bits = |v: Vec<f64>| v.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    for pair in vector.windows(2) {
        for &op in UNARY {
            assert!(bits(run1_f64(op, pair[0], &x).0) == bits(run1_f64(op, pair[1], &x).0), "{op:?}");
        }
        for &op in BINARY {
            assert!(bits(run2_f64(op, pair[0], &x, &y).0) == bits(run2_f64(op, pair[1], &x, &y).0), "{op:?}");
        }
    }
    let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<_>>();
    let (x, y) = (narrow(&x), narrow(&y));
    let bits = |v: Vec<f32>| v.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    for pair in vector.windows(2) {
        for &op in UNARY {
            assert!(bits(run1_f32(op, pair[0], &x).0) == bits(run1_f32(op, pair[1], &x).0), "{op:?} of f32");
        }
        for &op in BINARY {
            assert!(bits(run2_f32(op, pair[0], &x, &y).0) == bits(run2_f32(op, pair[1], &x, &y).0), "{op:?} of f32");
        }
    }
}

#[test]
fn single_precision_lengths_in_place_and_unaligned() {
    let x: Vec<f32> = arguments(300).iter().map(|&v| v as f32).collect();
    for level in levels() {
        for &op in UNARY {
            let alone: Vec<u32> = x.iter().map(|&v| run1_f32(op, level, &[v]).0[0].to_bits()).collect();
            let kernel = crate::unary_f32_at(op, level).unwrap();
            for n in (0..=70).chain([300]) {
                let mut bytes = vec![0u8; 4 * n + 1];
                let line = unsafe { bytes.as_mut_ptr().add(1) }.cast::<f32>();
                // SAFETY: `line` is room for `n` unaligned elements.
                unsafe {
                    std::ptr::copy_nonoverlapping(x.as_ptr().cast::<u8>(), line.cast::<u8>(), 4 * n);
                    kernel(n, line, line);
                }
                let got: Vec<u32> = bytes[1..].chunks(4).map(|c| u32::from_ne_bytes(c.try_into().unwrap())).collect();
                assert_eq!(got, alone[..n], "{level:?} {op:?} n={n}");
            }
        }
    }
}

#[test]
fn the_status_register_keeps_its_reported_bits() {
    let wild: Vec<f64> = [f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -1.0, 1e308, -1e308, 5e-324, 2.0].repeat(5);
    let other: Vec<f64> = wild.iter().rev().copied().collect();
    Status::clear();
    for level in levels() {
        for &op in UNARY {
            run1_f64(op, level, &wild);
            assert_eq!(Status::read().reported(), 0, "{level:?} {op:?}");
        }
        for &op in BINARY {
            run2_f64(op, level, &wild, &other);
            assert_eq!(Status::read().reported(), 0, "{level:?} {op:?}");
        }
    }
}

#[test]
fn only_the_listed_operations_have_kernels() {
    for &op in ScalarOp::ALL {
        assert_eq!(crate::unary_f64(op).is_some(), UNARY.contains(&op));
        assert_eq!(crate::unary_f32(op).is_some(), UNARY.contains(&op));
        assert_eq!(crate::binary_f64(op).is_some(), BINARY.contains(&op));
        assert_eq!(crate::binary_f32(op).is_some(), BINARY.contains(&op));
    }
}
