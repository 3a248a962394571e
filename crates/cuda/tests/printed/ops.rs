//! The steps of library operations, run by the host's compiler, and compiled by NVRTC.

use crate::host::{compile, host_source};
use crate::nvrtc::compiler;
use crate::picks::Picks;
use numloom_cuda::ops::dense::{Dense, Move, NOT_A_NUMBER, Part, identity};
use numloom_cuda::ops::extreme::Extreme;
use numloom_cuda::ops::index::Mode;
use numloom_cuda::ops::random;
use numloom_cuda::ops::scan::Scan;
use numloom_cuda::ops::search::{Run as Elements, Search};
use numloom_cuda::ops::select::{Pack, unravel};
use numloom_cuda::ops::sort::{Sort, Wanted};
use numloom_cuda::ops::transpose::Transpose;
use numloom_cuda::ops::{BLOCK, Program, Step};
use numloom_ir::draws::{Drawn, Draws};
use numloom_ir::{DType, ScalarOp, Value};
use numloom_library::{Form, LibraryOp};
use numloom_random::bounded::{Bounded, Width};
use numloom_random::fixed::{Fill, Fixed};
use numloom_random::pcg64::Pcg64;
use numloom_random::philox::Philox;
use numloom_random::{After, BitGen, Bits};
use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;

const SCAN: &[&str] = &["scan_fold", "scan_tiles", "scan_write", "scan_columns"];
const SELECT: &[&str] = &["pack_count", "pack_offsets", "pack_write", "unpack_write", "unravel", "transpose"];
const INDEX: &[&str] = &["index_take", "index_marks", "index_owners", "index_put"];
const DENSE: &[&str] = &["dense_move", "dense_identity"];
const SEARCH: &[&str] = &["search"];
const RANDOM: &[&str] = &["draw"];
const EXTREME: &[&str] = &["extreme_rows", "extreme_parts", "extreme_columns"];
const SORT: &[&str] = &["sort_clear", "sort_count", "sort_starts", "sort_pass"];
const SORT_ROWS: &[&str] = &["sort_rows"];

#[derive(Default)]
pub struct Host {
    libraries: HashMap<Arc<Program>, libloading::Library>,
}

type Run = unsafe extern "C" fn(*const u64, u32, u32, u32);

impl Host {
    pub fn run(&mut self, steps: &[Step], stem: &str) {
        for step in steps {
            let count = self.libraries.len();
            let library = self.libraries.entry(step.program.clone()).or_insert_with(|| {
                let functions = [SCAN, SELECT, INDEX, SORT, SORT_ROWS, EXTREME, DENSE, SEARCH, RANDOM].into_iter().find(|f| f.contains(&step.function)).unwrap_or(&[]);
                let mut text = host_source(step.program.text());
                for f in functions {
                    text.push_str(&format!(
                        "extern \"C\" void run_{f}(const void* w, unsigned g, unsigned x, unsigned y) {{ host_run({f}, w, g, x, y, true); }}\n"
                    ));
                }
                let path = compile(&text, &format!("{stem}{count}")).unwrap_or_else(|e| panic!("{e}"));
                // SAFETY: just made by us.
                unsafe { libloading::Library::new(path) }.expect("a library just made")
            });
            // SAFETY: the function has this type; the words' addresses are the caller's live arrays.
            unsafe {
                let f: libloading::Symbol<Run> =
                    library.get(format!("run_{}", step.function).as_bytes()).expect("a step");
                f(step.words.as_ptr(), step.grid, BLOCK as u32, 1);
            }
        }
    }
}

pub fn has_compiler() -> bool {
    let there = Command::new("g++").arg("--version").output().is_ok();
    if !there {
        println!("skipped: there is no g++ to compile printed programs with");
    }
    there
}

pub fn bytes_of(values: &[Value]) -> Vec<u64> {
    let size = values.first().map_or(8, |v| v.dtype.size());
    let mut out = vec![0u64; (values.len() * size).div_ceil(8) + 2];
    for (k, v) in values.iter().enumerate() {
        // SAFETY: inside the buffer.
        unsafe { std::ptr::copy_nonoverlapping(v.bytes.as_ptr(), out.as_mut_ptr().cast::<u8>().add(k * size), size) };
    }
    out
}

pub fn values_of(d: DType, words: &[u64], n: usize) -> Vec<Value> {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    bytes.chunks(d.size()).take(n).map(|b| Value::from_bytes(d, b)).collect()
}

pub fn random_values(d: DType, n: usize, seed: u64) -> Vec<Value> {
    let mut random = crate::cases::Random::new(seed);
    (0..n).map(|k| crate::cases::special(d, if k < 300 { 1000 } else { k % 90 }, &mut random)).collect()
}

#[test]
fn scans_fold_in_order() {
    if !has_compiler() {
        return;
    }
    let mut host = Host::default();
    for (d, rows, n) in [
        (DType::I64, 1usize, 9_001usize),
        (DType::F32, 3, 5_000),
        (DType::I64, 7, 3),
        (DType::F32, 1, 4_096),
        (DType::I64, 5_000, 4),
        (DType::I16, 1, 20_001),
    ] {
        let values: Vec<Value> = (0..rows * n).map(|k| Value::from_f64(d, ((k * 7919) % 23) as f64 - 11.0)).collect();
        let size = d.size() as isize;
        for columns in [false, true] {
            let (row, step) = if columns { (size, rows as isize * size) } else { (n as isize * size, size) };
            let src = bytes_of(&values);
            let mut dst = vec![0u64; src.len()];
            let (op, dtype) = (ScalarOp::Add, d);
            let scan = Scan {
                op,
                dtype,
                src: src.as_ptr() as u64,
                dst: dst.as_mut_ptr() as u64,
                rows,
                n,
                src_row: row,
                dst_row: row,
                src_step: step,
                dst_step: step,
            };
            let mut scratch = vec![0u64; scan.scratch() / 8 + 2];
            host.run(&scan.steps(scratch.as_mut_ptr() as u64).expect("sums scan"), "scan");
            let got = values_of(d, &dst, rows * n);
            for r in 0..rows {
                let at = |i: usize| if columns { i * rows + r } else { r * n + i };
                let mut sum = 0.0;
                for i in 0..n {
                    sum += values[at(i)].to_f64();
                    assert_eq!(got[at(i)].to_f64(), sum, "{scan:?} row {r} place {i}");
                }
            }
        }
    }
}

#[test]
fn masks_pack_and_matrices_turn_over() {
    if !has_compiler() {
        return;
    }
    let mut host = Host::default();
    let mut random = crate::cases::Random::new(5);
    for d in [DType::U8, DType::F32, DType::C128] {
        let n = 10_007;
        let values = random_values(d, n, 3);
        let mask: Vec<u8> = (0..n).map(|_| (random.below(3) == 0) as u8 * 7).collect();
        let src = bytes_of(&values);
        let (mut packed, mut places, mut count) = (vec![0u64; src.len()], vec![0i64; n], 0i64);
        let pack = Pack {
            itemsize: d.size(),
            n,
            mask: mask.as_ptr() as u64,
            values: src.as_ptr() as u64,
            packed: packed.as_mut_ptr() as u64,
            places: places.as_mut_ptr() as u64,
            count: &raw mut count as u64,
        };
        let mut scratch = vec![0u64; pack.scratch() / 8 + 2];
        let (counting, writing) = pack.steps(scratch.as_mut_ptr() as u64).expect("an item size");
        host.run(&counting, "select");
        host.run(&writing, "select");
        let want: Vec<usize> = (0..n).filter(|&i| mask[i] != 0).collect();
        assert_eq!(count as usize, want.len());
        assert!(want.iter().zip(&places).all(|(&w, &p)| w as i64 == p));
        let got = values_of(d, &packed, want.len());
        assert!(want.iter().zip(&got).all(|(&w, g)| values[w] == *g));

        // Back to where they came from, and one value to all of their places.
        for apart in [d.size() as isize, 0] {
            let mut spread = vec![0u64; src.len()];
            let back = Pack { values: spread.as_mut_ptr() as u64, ..pack };
            let (counting, writing) = back.steps_back(scratch.as_mut_ptr() as u64, apart).expect("an item size");
            host.run(&counting, "select");
            host.run(&writing, "select");
            let got = values_of(d, &spread, n);
            let zero = Value::from_i128(d, 0);
            let value = |i: usize| if apart == 0 { values[want[0]] } else { values[i] };
            assert!((0..n).all(|i| got[i] == if mask[i] != 0 { value(i) } else { zero }));
        }

        let mut array = vec![0u64; src.len()];
        let (batch, rows, columns) = (2usize, 37usize, 70usize);
        let (row, turned) = ((columns * d.size()) as isize, (rows * d.size()) as isize);
        let step = row * rows as isize;
        let transpose = Transpose {
            itemsize: d.size(),
            src: src.as_ptr() as u64,
            dst: array.as_mut_ptr() as u64,
            rows,
            columns,
            batch,
            src_row: row,
            dst_row: turned,
            src_batch: step,
            dst_batch: step,
        };
        host.run(&transpose.steps().expect("an item size"), "select");
        let got = values_of(d, &array, batch * rows * columns);
        for (k, g) in got.iter().enumerate() {
            let (b, j, i) = (k / rows / columns, k / rows % columns, k % rows);
            assert_eq!(*g, values[(b * rows + i) * columns + j]);
        }
    }
}

#[test]
fn extremes_are_the_first_ones_and_nan_before_all() {
    if !has_compiler() {
        return;
    }
    let mut host = Host::default();
    for (d, rows, n) in [
        (DType::F32, 1usize, 40_001usize),
        (DType::F16, 3, 5_000),
        (DType::I64, 5_000, 7),
        (DType::Bool, 2, 900),
        (DType::U8, 70, 300),
    ] {
        let mut values: Vec<Value> =
            (0..rows * n).map(|k| Value::from_f64(d, ((k * 7919) % 4001) as f64 - 11.0)).collect();
        if d.is_inexact() {
            values[n / 2] = Value::from_f64(d, f64::NAN);
            values[n / 2 + 3] = Value::from_f64(d, f64::NAN);
        }
        let (src, size) = (bytes_of(&values), d.size() as isize);
        for (columns, max) in [(false, true), (true, false), (true, true)] {
            let (row, step) = if columns { (size, rows as isize * size) } else { (n as isize * size, size) };
            let mut dst = vec![-1i64; rows];
            let extreme = Extreme {
                max,
                dtype: d,
                src: src.as_ptr() as u64,
                dst: dst.as_mut_ptr() as u64,
                rows,
                n,
                src_row: row,
                src_step: step,
                dst_row: 8,
            };
            let mut scratch = vec![0u64; extreme.scratch() / 8 + 2];
            host.run(&extreme.steps(scratch.as_mut_ptr() as u64).expect("ordered"), "extreme");
            for (r, &got) in dst.iter().enumerate() {
                let at = |i: usize| values[if columns { i * rows + r } else { r * n + i }].to_f64();
                let beats = |v: f64, b: f64| (v.is_nan() && !b.is_nan()) || if max { v > b } else { v < b };
                let want = (1..n).fold(0, |best, i| if beats(at(i), at(best)) { i } else { best });
                assert_eq!(got, want as i64, "{extreme:?} row {r}");
            }
        }
    }
}

#[test]
fn sorts_are_stable_with_nan_last() {
    if !has_compiler() {
        return;
    }
    let mut host = Host::default();
    // All at once; rows that blocks sort, by the hundred, two and one at a time; and longer ones together.
    let (long, many, two, one, rows) = ((1usize, 11_003usize), (2_100, 4), (5, 850), (16, 2_100), (3, 4_001));
    let cases = [
        (DType::Bool, long),
        (DType::I8, long),
        (DType::F16, long),
        (DType::F32, long),
        (DType::U64, long),
        (DType::I8, many),
        (DType::F64, many),
        (DType::F16, two),
        (DType::U64, two),
        (DType::F32, one),
        (DType::Bool, rows),
        (DType::F16, rows),
        (DType::F32, rows),
        (DType::F64, rows),
    ];
    for (d, (rows, length)) in cases {
        let n = rows * length;
        let values = random_values(d, n, 17);
        let src = bytes_of(&values);
        let order = |a: &Value, b: &Value| {
            if d.is_float() {
                let (x, y) = (a.to_f64(), b.to_f64());
                x.is_nan().cmp(&y.is_nan()).then(x.partial_cmp(&y).unwrap_or(std::cmp::Ordering::Equal))
            } else {
                a.to_i128().cmp(&b.to_i128())
            }
        };
        let mut want: Vec<usize> = (0..n).collect();
        want.sort_by(|&a, &b| (a / length).cmp(&(b / length)).then(order(&values[a], &values[b])));
        for wanted in WANTED {
            let places = wanted == Wanted::Places;
            let mut dst = vec![0u64; if places { n } else { src.len() }];
            let (ptr, to) = (src.as_ptr() as u64, dst.as_mut_ptr() as u64);
            let sort = Sort { dtype: d, rows, n: n / rows, src: ptr, dst: to, wanted };
            // Sorts clear what they count in themselves.
            let mut scratch = vec![u64::MAX; sort.scratch() / 8 + 64];
            let base = (scratch.as_mut_ptr() as u64).next_multiple_of(256);
            host.run(&sort.steps(base).expect("a type with keys"), "sort");
            let (at, got) = (|i: usize| i / sort.n * sort.n, values_of(d, &dst, n));
            match wanted {
                Wanted::Places => {
                    assert!((0..n).all(|i| want[i] == at(i) + dst[i] as usize), "places of {d}, {rows} rows")
                }
                Wanted::Values => {
                    let same = |a: &Value, b: &Value| order(a, b) == std::cmp::Ordering::Equal;
                    assert!(want.iter().zip(&got).all(|(&w, g)| same(&values[w], g)), "values of {d}, {rows} rows")
                }
                Wanted::Stable => {
                    let same = |a: &Value, b: &Value| a.bytes[..d.size()] == b.bytes[..d.size()];
                    assert!(want.iter().zip(&got).all(|(&w, g)| same(&values[w], g)), "order of {d}, {rows} rows")
                }
            }
        }
    }
}

#[test]
fn matrices_come_and_go_in_columns() {
    if !has_compiler() {
        return;
    }
    let mut host = Host::default();
    let (rows, columns) = (37usize, 70usize);
    for (d, wide) in [(DType::F32, DType::F64), (DType::C64, DType::C128), (DType::F64, DType::F64)] {
        let values: Vec<Value> = (0..rows * columns)
            .map(|k| if d.is_complex() { Value::from_complex(d, k as f64, 0.5) } else { Value::from_f64(d, k as f64) })
            .collect();
        let src = bytes_of(&values);
        let size = d.size() as isize;
        let from = Dense {
            ptr: src.as_ptr() as u64,
            dtype: d,
            rows,
            columns,
            row_step: columns as isize * size,
            column_step: size,
        };
        for (part, conjugate) in [(Part::All, false), (Part::Lower, true), (Part::Upper, false)] {
            let (mut there, mut back) = (vec![7u64; rows * columns * 2], vec![7u64; src.len()]);
            let mut seen = 0u64;
            let to = Dense::in_columns(there.as_mut_ptr() as u64, wide, rows, columns);
            let go = Move { from, to, part, conjugate, seen: &raw mut seen as u64 };
            host.run(&go.steps().expect("types that solvers know"), "dense");
            let got = values_of(wide, &there, rows * columns);
            for (k, g) in got.iter().enumerate() {
                let (i, j) = (k % rows, k / rows);
                let kept = match part {
                    Part::All => true,
                    Part::Lower => i >= j,
                    Part::Upper => i <= j,
                };
                let want = if kept { values[i * columns + j].cast(wide) } else { Value::from_f64(wide, 0.0) };
                let sign = if conjugate { -1.0 } else { 1.0 };
                assert_eq!((g.to_f64(), g.imag()), (want.to_f64(), sign * want.imag()), "{go:?} {i} {j}");
            }
            assert_eq!(seen, 0);
            // Turned over and back again, it is what it was.
            let home = Dense { ptr: back.as_mut_ptr() as u64, ..from };
            host.run(&Move::whole(to.turned(), home.turned()).steps().expect("the same extents"), "dense");
            if part == Part::All {
                assert_eq!(values_of(d, &back, rows * columns), values);
            }
        }
        let mut odd = values.clone();
        let mut there = vec![0u64; rows * columns * 2];
        for (value, told) in [(f64::INFINITY, 1), (f64::NAN, NOT_A_NUMBER)] {
            odd[rows * columns - 1] = Value::from_f64(d, value);
            let (src, seen) = (bytes_of(&odd), std::cell::Cell::new(0u64));
            let to = Dense::in_columns(there.as_mut_ptr() as u64, wide, rows, columns);
            let from = Dense { ptr: src.as_ptr() as u64, ..from };
            let go = |part| Move { from, to, part, conjugate: false, seen: seen.as_ptr() as u64 };
            host.run(&go(Part::Lower).steps().expect("types that solvers know"), "dense");
            assert_eq!(seen.get(), 0, "it stands above the diagonal");
            host.run(&go(Part::All).steps().expect("types that solvers know"), "dense");
            assert_eq!(seen.get(), told);
        }
        let unit = Dense::in_columns(there.as_mut_ptr() as u64, wide, 30, 30);
        host.run(&identity(unit).expect("a square"), "dense");
        let got = values_of(wide, &there, 900);
        assert!(got.iter().enumerate().all(|(k, g)| (g.to_f64(), g.imag()) == ((k % 31 == 0) as u8 as f64, 0.0)));
        assert!(Move::whole(from, unit).steps().is_none(), "extents that differ");
    }
}

#[test]
fn values_find_their_places() {
    if !has_compiler() {
        return;
    }
    let mut host = Host::default();
    for d in [DType::F16, DType::F32, DType::I64, DType::U8, DType::Bool] {
        let mut sorted: Vec<Value> = random_values(d, 1_000, 3);
        let key = |v: &Value| if v.to_f64().is_nan() { f64::INFINITY } else { v.to_f64() };
        let class = |v: &Value| (v.to_f64().is_nan(), key(v));
        sorted.sort_by(|a, b| class(a).partial_cmp(&class(b)).expect("no NaN is left"));
        let values = random_values(d, 777, 5);
        let (a, v) = (bytes_of(&sorted), bytes_of(&values));
        let step = d.size() as isize;
        for right in [false, true] {
            let mut places = vec![-1i64; values.len()];
            let search = Search {
                dtype: d,
                sorted: Elements { ptr: a.as_ptr() as u64, step, n: sorted.len() },
                values: Elements { ptr: v.as_ptr() as u64, step, n: values.len() },
                places: Elements { ptr: places.as_mut_ptr() as u64, step: 8, n: values.len() },
                right,
            };
            host.run(&search.steps().expect("ordered"), "search");
            for (v, &got) in values.iter().zip(&places) {
                let want = sorted.partition_point(|s| if right { class(s) <= class(v) } else { class(s) < class(v) });
                assert_eq!(got, want as i64, "{d} {v:?} {right}");
            }
        }
    }
}

/// Arrays of all kinds that are drawn by place, and their elements.
fn drawings() -> Vec<(Fixed, usize)> {
    let bounded = |width, range, masked| Fixed::Bounded { low: 5, bounded: Bounded { width, range, masked } };
    vec![
        (Fixed::F64, 8),
        (Fixed::Uniform { low: -1.5, range: 4.25 }, 8),
        (Fixed::F32, 4),
        (bounded(Width::W64, 1023, false), 8),
        (bounded(Width::W64, u64::MAX >> 9, false), 8),
        (bounded(Width::W64, u64::MAX, false), 8),
        (bounded(Width::W32, 255, true), 4),
    ]
}

fn drawn_alike<B: Bits + Into<BitGen> + 'static>(host: &mut Host, bits: &B) {
    for (what, size) in drawings() {
        for n in [1usize, 2, 777, 20_001] {
            let Form::Draw(draws) = Fill::new(what, bits.clone(), After::default()).form() else {
                panic!("{what:?} has words of any place");
            };
            let (mut got, mut want) = (vec![0u64; n], vec![0u64; n]);
            // SAFETY: there is room for so many of eight bytes.
            unsafe { what.draw(&mut bits.clone(), want.as_mut_ptr().cast(), n, size) };
            host.run(&random::steps(&draws, got.as_mut_ptr() as u64, n, size).expect("a size"), "random");
            assert!(got == want, "{what:?} {n}");
        }
    }
}

#[test]
fn draws_are_those_of_the_stream() {
    if !has_compiler() {
        return;
    }
    let mut host = Host::default();
    let mut pcg = Pcg64::<false>::seeded([1, 2, 3, 4]);
    let mut dxsm = Pcg64::<true>::seeded([5, 6, 7, 8]);
    let mut philox = Philox::new([9, 10], [u64::MAX - 2, u64::MAX, 3, 4]);
    for _ in 0..3 {
        drawn_alike(&mut host, &pcg);
        drawn_alike(&mut host, &dxsm);
        drawn_alike(&mut host, &philox);
        // With half a word left over, and in the middle of a block.
        pcg.fill_u32(&mut [0; 3]);
        dxsm.fill_u32(&mut [0; 3]);
        philox.fill_u32(&mut [0; 3]);
    }
}

#[test]
fn places_are_told_apart_by_axis() {
    if !has_compiler() {
        return;
    }
    let shape = [5usize, 7, 11];
    let places: Vec<i64> = (0..385).step_by(3).collect();
    let mut along = vec![vec![0i64; places.len()]; 3];
    let to: Vec<u64> = along.iter_mut().map(|a| a.as_mut_ptr() as u64).collect();
    let steps = unravel(places.as_ptr() as u64, places.len(), &shape, &to).expect("an item size");
    Host::default().run(&steps, "unravel");
    for (k, &p) in places.iter().enumerate() {
        assert_eq!((along[0][k], along[1][k], along[2][k]), (p / 77, p / 11 % 7, p % 11));
    }
}

const WANTED: [Wanted; 3] = [Wanted::Values, Wanted::Places, Wanted::Stable];

#[test]
fn library_programs_compile() {
    let Some(compiler) = compiler(None) else { return };
    let mut programs: Vec<Arc<Program>> = Vec::new();
    let mut add = |steps: &[Step]| programs.extend(steps.iter().map(|s| s.program.clone()));
    for d in [DType::I8, DType::F16, DType::F32, DType::C128] {
        for op in [ScalarOp::Add, ScalarOp::Maximum] {
            let (src, dst, rows, n, step) = (0, 0, 2, 100_000, d.size() as isize);
            let row = step * n as isize;
            let scan =
                Scan { op, dtype: d, src, dst, rows, n, src_row: row, dst_row: row, src_step: step, dst_step: step };
            add(&scan.steps(0).expect("can be scanned"));
        }
        for extents in [&[7][..], &[7, 9], &[7, 9, 200]] {
            let picked = Picks::new(d, extents).picked(Mode::Raise);
            add(&picked.put(0).expect("an item size"));
            add(&[picked.take().expect("an item size")]);
        }
        let pack = Pack { itemsize: d.size(), n: 100, mask: 0, values: 0, packed: 0, places: 0, count: 0 };
        add(&pack.steps(0).expect("an item size").1);
        if d != DType::I8 && d != DType::F16 {
            let wide = if d.is_complex() { DType::C128 } else { DType::F64 };
            let (from, to) = (Dense::in_columns(0, d, 50, 50), Dense::in_columns(0, wide, 50, 50));
            add(&Move::whole(from, to).steps().expect("types that solvers know"));
            add(&Move::whole(to, from).steps().expect("types that solvers know"));
            add(&identity(to).expect("a square"));
        }
        if !d.is_complex() {
            let some = Elements { ptr: 0, step: d.size() as isize, n: 10 };
            add(&Search { dtype: d, sorted: some, values: some, places: some, right: true }.steps().expect("ordered"));
            let (rows, n, src_row, src_step) = (1, 1_000_000, 0, d.size() as isize);
            let extreme = Extreme { max: true, dtype: d, src: 0, dst: 0, rows, n, src_row, src_step, dst_row: 0 };
            add(&extreme.steps(0).expect("ordered"));
            // Several rows of a block, one, long ones of all together, and a single one. Types differ in few ways that
            // matter to the compiler: one sees all of it, the others each way once.
            for (k, (rows, n)) in [(100, 10), (100, 3_000), (300, 10_000), (1, 10_000)].into_iter().enumerate() {
                for (_, wanted) in WANTED.into_iter().enumerate().filter(|(i, _)| d == DType::F32 || k % 3 == *i) {
                    add(&Sort { dtype: d, rows, n, src: 0, dst: 0, wanted }.steps(0).expect("has keys"));
                }
            }
        }
    }
    for bits in [
        Pcg64::<false>::seeded([1; 4]).words(),
        Pcg64::<true>::seeded([1; 4]).words(),
        Philox::new([1; 2], [1; 4]).words(),
    ] {
        let (words, kept) = bits.expect("words of any place");
        for drawn in [Drawn::F64 { low: 0.0, range: 1.0 }, Drawn::F32] {
            let size = if drawn == Drawn::F32 { 4 } else { 8 };
            add(&random::steps(&Draws { words, kept, drawn }, 0, 100, size).expect("a size"));
        }
    }
    let mut seen = std::collections::HashSet::new();
    let distinct: Vec<Arc<Program>> = programs.into_iter().filter(|p| seen.insert(p.clone())).collect();
    for (k, p) in distinct.iter().enumerate() {
        // The oldest and the newest see a part of them, as of the fused ones.
        let archs: &[u32] = match k % 6 {
            0 => &[90, 75],
            3 => &[90, 100],
            _ => &[90],
        };
        for &arch in archs.iter().filter(|&&a| compiler.supports(a)) {
            compiler.cubin(p.text(), arch).unwrap_or_else(|e| panic!("sm_{arch}: {e}"));
        }
    }
    println!("{} library programs compile", distinct.len());
}
