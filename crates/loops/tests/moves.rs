//! Copies, masks and progressions against plain loops.

use numloom_ir::DType;
use numloom_loops::*;

const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 31 + i / 251) as u8).collect()
}

fn mask(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * i % 7 < 3) as u8).collect()
}

#[test]
fn gather_and_scatter_follow_the_stride() {
    for size in SIZES {
        for n in (0..70).chain([200]) {
            for factor in [-3isize, -1, 0, 1, 2, 3, 5] {
                let stride = factor * size as isize;
                let far = vec![0u8; 6 * 201 * size].iter().enumerate().map(|(i, _)| (i * 7) as u8).collect::<Vec<_>>();
                let origin = if factor < 0 { 3 * 200 * size } else { 0 };
                let place = |i: usize| (origin as isize + i as isize * stride) as usize;
                let mut dense = vec![0u8; n * size];
                // SAFETY: `far` reaches from the lowest to the highest element.
                unsafe { gather(size, n, far.as_ptr().add(origin), stride, dense.as_mut_ptr()) };
                for i in 0..n {
                    assert_eq!(dense[i * size..][..size], far[place(i)..][..size], "gather {size} x {n} by {factor}");
                }
                if factor == 0 {
                    continue;
                }
                let (source, chosen) = (bytes(n * size), mask(n));
                let (mut all, mut some) = (far.clone(), far.clone());
                // SAFETY: as above.
                unsafe {
                    scatter(size, n, source.as_ptr(), all.as_mut_ptr().add(origin), stride);
                    let to = some.as_mut_ptr().add(origin);
                    scatter_masked(size, n, source.as_ptr(), chosen.as_ptr(), to, stride);
                }
                for i in 0..n {
                    assert_eq!(all[place(i)..][..size], source[i * size..][..size]);
                    let expected = if chosen[i] != 0 { &source[i * size..] } else { &far[place(i)..] };
                    assert_eq!(some[place(i)..][..size], expected[..size], "scatter {size} x {n} by {factor}");
                }
            }
        }
    }
}

#[test]
fn packing_keeps_order_and_touches_nothing_else() {
    for size in SIZES {
        for n in (0..70).chain([1000]) {
            let (source, chosen) = (bytes(n * size), mask(n));
            let count = chosen.iter().filter(|&&m| m != 0).count();
            let expected: Vec<u8> =
                (0..n).filter(|&i| chosen[i] != 0).flat_map(|i| source[i * size..][..size].to_vec()).collect();
            let mut packed = vec![0xee; (count + 1) * size];
            let mut spread = vec![0xdd; n * size];
            // SAFETY: `packed` has room for the chosen items, `spread` for all.
            unsafe {
                assert_eq!(count_true(n, chosen.as_ptr()), count);
                let written = compress(size, n, source.as_ptr(), chosen.as_ptr(), packed.as_mut_ptr());
                assert_eq!(written, count);
                assert_eq!(expand(size, n, packed.as_ptr(), chosen.as_ptr(), spread.as_mut_ptr()), count);
            }
            assert_eq!(packed[..count * size], expected);
            assert!(packed[count * size..].iter().all(|&b| b == 0xee), "compress {size} x {n} wrote past its end");
            for i in 0..n {
                let item = &spread[i * size..][..size];
                assert_eq!(item, if chosen[i] != 0 { &source[i * size..][..size] } else { &[0xdd; 16][..size] });
            }
        }
    }
}

#[test]
fn select_takes_runs_and_values() {
    for size in SIZES {
        let n = 77;
        let (yes, no, chosen) = (bytes(n * size), vec![7u8; n * size], mask(n));
        for steps in 0..8usize {
            let step = |k: usize, size: usize| if steps >> k & 1 != 0 { 0 } else { size };
            let ins = [
                In { ptr: chosen.as_ptr(), step: step(0, 1) },
                In { ptr: yes.as_ptr(), step: step(1, size) },
                In { ptr: no.as_ptr(), step: step(2, size) },
            ];
            let mut out = vec![0u8; n * size];
            let to = out.as_mut_ptr();
            // SAFETY: every run has `n` elements.
            unsafe { select_fn(size)(n, ins.as_ptr(), &to) };
            for i in 0..n {
                let from = if chosen[i * ins[0].step] != 0 { &yes[i * ins[1].step..] } else { &no[i * ins[2].step..] };
                assert_eq!(out[i * size..][..size], from[..size], "select {size}, values {steps:b}");
            }
        }
    }
}

#[test]
fn progressions_are_computed_from_the_start() {
    let mut floats = [0f64; 20];
    let mut bytes = [0u8; 300];
    // SAFETY: the arrays have as many elements as are asked for.
    unsafe {
        let (start, step) = (1.5f64, 0.1f64);
        let (start, step) = ((&raw const start).cast(), (&raw const step).cast());
        iota(DType::F64, 20, start, step, 5, floats.as_mut_ptr().cast());
        iota(DType::U8, 300, [250u8].as_ptr(), [3u8].as_ptr(), 0, bytes.as_mut_ptr());
    }
    assert!((0..20).all(|i| floats[i] == 1.5 + (5 + i) as f64 * 0.1));
    assert!((0..300).all(|i| bytes[i] == (250 + 3 * i) as u8));
}
