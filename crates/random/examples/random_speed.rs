//! Words and numbers on one thread, in nanoseconds each: `cargo run --release -p numloom-random --example random_speed`.

use numloom_random::fixed::Fixed;
use numloom_random::mt19937::Mt19937;
use numloom_random::pcg64::Pcg64;
use numloom_random::philox::Philox;
use numloom_random::sfc64::Sfc64;
use numloom_random::{Bits, normal};
use std::time::Instant;

const WORDS: usize = 1 << 12;
const ROUNDS: usize = 1000;

/// The best of several rounds, so that a busy machine does not matter.
fn best(mut work: impl FnMut()) -> f64 {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64 / WORDS as f64
    };
    (0..ROUNDS).map(|_| time(&mut work)).fold(f64::INFINITY, f64::min)
}

fn measure<B: Bits>(name: &str, mut bits: B) {
    let (mut words, mut halves) = (vec![0u64; WORDS], vec![0u32; WORDS]);
    let mut numbers = vec![0f64; WORDS];
    let wide = best(|| bits.fill_u64(&mut words));
    let narrow = best(|| bits.fill_u32(&mut halves));
    // SAFETY: there is room for the numbers.
    let uniform = best(|| unsafe { Fixed::F64.draw(&mut bits, numbers.as_mut_ptr().cast(), WORDS, 8) });
    let single = best(|| unsafe { Fixed::F32.draw(&mut bits, numbers.as_mut_ptr().cast(), WORDS, 4) });
    let one = best(|| numbers.iter_mut().for_each(|x| *x = normal::standard_normal(&mut bits)));
    println!("{name:10} u64 {wide:5.2}  u32 {narrow:5.2}  f64 {uniform:5.2}  f32 {single:5.2}  normal {one:5.2}");
}

fn main() {
    measure("PCG64", Pcg64::<false>::seeded([1, 2, 3, 4]));
    measure("PCG64DXSM", Pcg64::<true>::seeded([1, 2, 3, 4]));
    measure("Philox", Philox::new([1, 2], [0; 4]));
    measure("SFC64", Sfc64::seeded([1, 2, 3]));
    measure("MT19937", Mt19937::from_number(1));
    // A distance met for the first time, and again.
    for blocks in [2048u64, 4096, 16_384, 1 << 20] {
        let mut bits = Mt19937::from_number(1);
        let mut skip = || {
            let start = Instant::now();
            bits.skip32(blocks * 624);
            start.elapsed().as_nanos() as f64 / 1e6
        };
        let first = skip();
        let again = (0..10).map(|_| skip()).fold(f64::INFINITY, f64::min);
        println!("MT19937    {blocks:8} blocks skipped in {first:5.2} ms, again in {again:5.2} ms");
    }
}
