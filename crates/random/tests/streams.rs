//! Streams in blocks, by jumps and in tiles give the words and the state of one step after another.

use numloom_ir::{DType, View, view::Order};
use numloom_library::{Args, LibraryOp, RawView};
use numloom_random::bounded::{Bounded, Buffer, Width};
use numloom_random::fixed::{Fill, Fixed};
use numloom_random::mt19937::Mt19937;
use numloom_random::pcg64::Pcg64;
use numloom_random::philox::Philox;
use numloom_random::rare::{Rare, is_apt};
use numloom_random::samplers::{ExponentialF32, Narrow, NormalF32, OfExponential, OfNormal, Sampler};
use numloom_random::sfc64::Sfc64;
use numloom_random::split::Split;
use numloom_random::{After, BitGen, Bits, Stream};
use std::fmt::Debug;
use std::marker::PhantomData;

fn pcg64() -> Pcg64<false> {
    Pcg64::seeded([1, 2, 3, 4])
}

fn dxsm() -> Pcg64<true> {
    Pcg64::seeded([5, 6, 7, 8])
}

fn philox() -> Philox {
    Philox::new([9, 10], [u64::MAX - 3, u64::MAX, 0, 0])
}

/// Blocks and skips of all lengths, begun with and without half a word left over.
fn steps_agree<B: Bits + Debug + PartialEq>(start: B) {
    for before in 0..3 {
        let mut start = start.clone();
        (0..before).for_each(|_| {
            start.next_u32();
        });
        for n in [0usize, 1, 2, 3, 4, 5, 7, 8, 9, 31, 511, 512, 513, 700] {
            let (mut one, mut block, mut skip) = (start.clone(), start.clone(), start.clone());
            let words: Vec<u64> = (0..n).map(|_| one.next_u64()).collect();
            let mut filled = vec![0; n];
            block.fill_u64(&mut filled);
            assert_eq!(words, filled);
            skip.skip64(n as u64);
            assert_eq!((&one, &one), (&block, &skip), "{n} words after {before}");

            let (mut one, mut block, mut skip) = (start.clone(), start.clone(), start.clone());
            let words: Vec<u32> = (0..n).map(|_| one.next_u32()).collect();
            let mut filled = vec![0; n];
            block.fill_u32(&mut filled);
            assert_eq!(words, filled);
            skip.skip32(n as u64);
            assert_eq!((&one, &one), (&block, &skip), "{n} halves after {before}");
        }
    }
}

#[test]
fn blocks_and_skips_are_steps() {
    steps_agree(pcg64());
    steps_agree(dxsm());
    steps_agree(philox());
    steps_agree(Sfc64::seeded([1, 2, 3]));
    steps_agree(Mt19937::from_number(5));
    steps_agree(Mt19937::from_array(&[1, 2, 3]));
}

/// Runs an operation over `n` elements, its tiles in falling order.
fn run(op: &dyn LibraryOp, dtype: DType, n: usize) -> Vec<u8> {
    let mut bytes = vec![0u64; (n * dtype.size()).div_ceil(8)];
    let view = View::dense(dtype, &[n], Order::C);
    let out = RawView { ptr: bytes.as_mut_ptr().cast(), dtype, shape: view.shape, strides: view.strides };
    let args = Args { ins: vec![], outs: vec![out] };
    for (phase, &tiles) in op.phases(&args).iter().enumerate() {
        for tile in (0..tiles).rev() {
            // SAFETY: the bytes are there and nobody else's.
            unsafe { op.run(&args, phase, tile) }.unwrap();
        }
    }
    bytes.iter().flat_map(|w| w.to_ne_bytes()).take(n * dtype.size()).collect()
}

fn state(after: &After) -> String {
    format!("{:?}", after.lock().as_ref().unwrap())
}

/// Tiles against one pass.
fn split_agrees<S: Sampler, B: Stream>(sampler: S, bits: B, dtype: DType, rate: f64) {
    for n in [1, 1000, 131_072, 200_001, 1_000_000] {
        let after = After::default();
        let bytes = run(&Split::new(sampler, bits.clone(), rate, after.clone()), dtype, n);
        let mut one = bits.clone();
        let drawn: Vec<S::Out> = (0..n).map(|_| sampler.sample(&mut one)).collect();
        // SAFETY: plain numbers.
        let expected = unsafe { std::slice::from_raw_parts(drawn.as_ptr().cast::<u8>(), n * size_of::<S::Out>()) };
        assert!(bytes == expected, "{n} elements differ");
        let one: BitGen = one.into();
        assert_eq!(state(&after), format!("{one:?}"), "{n} elements");
    }
}

#[test]
fn tiles_of_a_stream_are_one_pass() {
    split_agrees(OfNormal::Itself, pcg64(), DType::F64, 1.03);
    split_agrees(OfNormal::Affine { loc: 1.0, scale: 2.0 }, philox(), DType::F64, 1.03);
    split_agrees(OfExponential::Itself, dxsm(), DType::F64, 1.04);
    split_agrees(NormalF32, pcg64(), DType::F32, 1.03);
    split_agrees(ExponentialF32, philox(), DType::F32, 1.04);
    split_agrees(OfNormal::Itself, Sfc64::seeded([1, 2, 3]), DType::F64, 1.03);
    split_agrees(OfNormal::Itself, Mt19937::from_number(3), DType::F64, 1.03);
}

#[test]
fn many_rejections_and_too_few_tiles() {
    // Nearly half of the words are rejected, so tiles hardly ever begin where their guesses do.
    let bounded = Bounded { width: Width::W64, range: (1 << 31) + 5, masked: true };
    let sampler = Narrow::<u64> { low: 7, bounded, out: PhantomData };
    split_agrees(sampler, pcg64(), DType::I64, 2.02);
    // Words for half of the elements: the last tile goes on.
    split_agrees(sampler, pcg64(), DType::I64, 1.0);
    split_agrees(OfNormal::Itself, pcg64(), DType::F64, 0.5);
}

fn fill_agrees<B: Stream>(what: Fixed, bits: B, dtype: DType) {
    for n in [1, 5, 65_536, 200_003] {
        let bytes = run(&Fill::new(what, bits.clone(), After::default()), dtype, n);
        let mut one = bits.clone();
        let mut expected = vec![0u64; (n * dtype.size()).div_ceil(8)];
        // SAFETY: there is room for n elements.
        unsafe { what.draw(&mut one, expected.as_mut_ptr().cast(), n, dtype.size()) };
        let expected: Vec<u8> = expected.iter().flat_map(|w| w.to_ne_bytes()).take(n * dtype.size()).collect();
        assert!(bytes == expected);
        let mut skipped = bits.clone();
        what.skip(&mut skipped, n);
        let (one, skipped): (BitGen, BitGen) = (one.into(), skipped.into());
        assert_eq!(format!("{one:?}"), format!("{skipped:?}"), "{what:?} of {n}");
    }
}

#[test]
fn fixed_draws_jump() {
    let bounded = |width, range, masked| Fixed::Bounded { low: 3, bounded: Bounded { width, range, masked } };
    for masked in [false, true] {
        fill_agrees(bounded(Width::W64, 1023, masked), pcg64(), DType::I64);
        fill_agrees(bounded(Width::W64, (1 << 40) - 1, masked), pcg64(), DType::I64);
        fill_agrees(bounded(Width::W64, u64::MAX, masked), philox(), DType::U64);
        fill_agrees(bounded(Width::W32, 0xFFFF_FFFF, masked), philox(), DType::U32);
        fill_agrees(bounded(Width::W16, 255, masked), dxsm(), DType::I16);
        fill_agrees(bounded(Width::W8, 15, masked), dxsm(), DType::I8);
        fill_agrees(bounded(Width::Bit, 1, masked), pcg64(), DType::Bool);
        fill_agrees(bounded(Width::W64, 0, masked), pcg64(), DType::I64);
    }
    fill_agrees(Fixed::F64, pcg64(), DType::F64);
    fill_agrees(Fixed::Uniform { low: 1.0, range: 3.0 }, philox(), DType::F64);
    fill_agrees(Fixed::F32, dxsm(), DType::F32);
    fill_agrees(Fixed::Exponential, pcg64(), DType::F64);
    fill_agrees(Fixed::ExponentialF32, pcg64(), DType::F32);
    fill_agrees(Fixed::Raw, philox(), DType::U64);
}

/// The twister's state after `n` words, made block by block.
fn stepped(start: &Mt19937, n: u64) -> Mt19937 {
    let mut bits = start.clone();
    // Short skips make every block.
    for _ in 0..n / 100_000 {
        bits.skip32(100_000);
    }
    bits.skip32(n % 100_000);
    bits
}

#[test]
fn far_skips_of_the_twister_are_steps() {
    // A seeded state, whose first word obeys no recurrence, and one in the middle of a block.
    let mut middle = Mt19937::from_array(&[4, 5]);
    middle.skip32(1000);
    for start in [Mt19937::from_number(1), Mt19937::seeded(&[7; 624]), middle] {
        for n in [2_600_000, 624 * 4096, 624 * 4096 + 1, 624 * 5000 - 1, 12_345_678] {
            let mut jumped = start.clone();
            jumped.skip32(n);
            assert_eq!(jumped, stepped(&start, n), "{n} words from {}", start.at);
        }
    }
}

#[test]
fn tiles_of_the_twister_are_one_pass() {
    let bits = Mt19937::from_number(11);
    let bounded = |width, range| Fixed::Bounded { low: 3, bounded: Bounded { width, range, masked: true } };
    for (what, dtype) in [
        (Fixed::F64, DType::F64),
        (Fixed::Uniform { low: 1.0, range: 3.0 }, DType::F64),
        (Fixed::F32, DType::F32),
        (Fixed::Raw, DType::U64),
        (bounded(Width::W64, 1023), DType::I64),
        (bounded(Width::W64, (1 << 40) - 1), DType::I64),
        (bounded(Width::W8, 15), DType::I8),
        (bounded(Width::Bit, 1), DType::Bool),
    ] {
        let n = 9_000_001;
        let after = After::default();
        let drawn = run(&Fill::new(what, bits.clone(), after.clone()), dtype, n);
        let mut one = bits.clone();
        let mut expected = vec![0u64; (n * dtype.size()).div_ceil(8)];
        // SAFETY: there is room for n elements.
        unsafe { what.draw(&mut one, expected.as_mut_ptr().cast(), n, dtype.size()) };
        let expected: Vec<u8> = expected.iter().flat_map(|w| w.to_ne_bytes()).take(n * dtype.size()).collect();
        assert!(drawn == expected, "{what:?}");
        assert_eq!(state(&after), format!("{:?}", BitGen::from(one)), "{what:?}");
    }
}

/// Integers of which a few words are rejected, in tiles and one by one.
#[test]
fn rare_rejections_in_tiles() {
    let (bits, n) = (Mt19937::from_number(2), 9_000_000);
    let bounded = Bounded { width: Width::W64, range: 4_289_999, masked: false };
    assert!(is_apt(&bounded, 4_000));
    let after = After::default();
    let drawn = run(&Rare::<u64, _, false>::new(5, bounded.range, bits.clone(), after.clone()), DType::I64, n);
    let mut one = bits;
    let mut buffer = Buffer::default();
    let expected: Vec<u8> = (0..n).flat_map(|_| (5 + bounded.draw(&mut one, &mut buffer)).to_ne_bytes()).collect();
    assert!(drawn == expected);
    assert_eq!(state(&after), format!("{:?}", BitGen::from(one)));
}
