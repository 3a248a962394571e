//! Small launches wait in a queue and go as graphs; the stream sees the same in the same order as without either. A driver
//! that only writes down what it is asked for stands in for NVIDIA's.

use libloading::Library;
use numloom_cuda::{Device, FusedLaunch, Lane, Operand, Options, Search};
use numloom_ir::kernel::{Instr, Kernel, NO_REG};
use numloom_ir::{DType, ScalarOp, Value};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

/// The journal is the whole process's.
static ALONE: Mutex<()> = Mutex::new(());

struct StandIn {
    library: Library,
    search: Search,
    _turn: MutexGuard<'static, ()>,
}

const SETS: i32 = 0;
const GRAPHS: i32 = 1;
const REFUSED: i32 = 2;

impl StandIn {
    /// `None`, with a word about it, where there is no compiler for it.
    fn new(stem: &str) -> Option<StandIn> {
        let turn = ALONE.lock().unwrap_or_else(|e| e.into_inner());
        let site = Path::new(env!("CARGO_TARGET_TMPDIR")).join(stem);
        let dir = site.join("nvidia/cu13/lib");
        std::fs::create_dir_all(&dir).expect("a directory");
        let path: PathBuf = dir.join("libnvrtc.so.13");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/queue/driver.cpp");
        let made = Command::new("g++")
            .args(["-std=c++17", "-O1", "-shared", "-fPIC"])
            .arg(source)
            .arg("-o")
            .arg(&path)
            .output();
        let Ok(made) = made else {
            println!("skipped: there is no g++ to compile a driver's stand-in with");
            return None;
        };
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let search = Search::new(&[site]).with_driver(&path.display().to_string());
        // SAFETY: the library is the one above; loading it runs nothing.
        let library = unsafe { Library::new(&path) }.expect("the stand-in");
        Some(StandIn { library, search, _turn: turn })
    }

    /// What the stream saw of a program, and the numbers of the run.
    fn run(&self, graphs: bool, refusing: i32, program: &[Step]) -> (Vec<u64>, [u64; 3]) {
        // SAFETY: the functions are those of driver.cpp; the journal is copied while nobody writes it.
        unsafe {
            let reset: libloading::Symbol<unsafe extern "C" fn(i32)> = self.library.get(b"stand_in_reset").expect("it");
            let journal: libloading::Symbol<unsafe extern "C" fn(*mut *const u64) -> u64> =
                self.library.get(b"stand_in_journal").expect("it");
            let number: libloading::Symbol<unsafe extern "C" fn(i32) -> u64> =
                self.library.get(b"stand_in_number").expect("it");
            reset(refusing);
            let options = Options { search: self.search.clone(), cache: None, graphs };
            let device = Device::open(0, &options).expect("a device");
            let mut state = State { device: &device, blocks: Vec::new(), step: 0 };
            program.iter().for_each(|s| state.take(*s));
            device.wait().expect("nothing failed");
            let mut at = std::ptr::null();
            let len = journal(&mut at) as usize;
            let seen = std::slice::from_raw_parts(at, len).to_vec();
            (seen, [SETS, GRAPHS, REFUSED].map(|k| number(k)))
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A kernel of so many operations over so many elements, from and to blocks of these numbers.
    Launch(usize, usize, usize, usize),
    /// A block of so many bytes takes the place of that number.
    Renew(usize, usize),
    Upload(usize),
    Download(usize),
    Copy(usize, usize),
    Fill(usize),
    Event,
    WaitForUpload,
    Wait,
    RawStream,
}

struct State<'a> {
    device: &'a Device,
    blocks: Vec<u64>,
    step: u64,
}

const BLOCKS: usize = 6;
const BYTES: usize = 1 << 16;

impl State<'_> {
    fn take(&mut self, step: Step) {
        let d = self.device;
        while self.blocks.len() < BLOCKS {
            self.blocks.push(d.alloc(BYTES).expect("memory"));
        }
        self.step += 1;
        let b = &mut self.blocks;
        let mut host = [0u8; 64];
        // SAFETY: the stand-in touches no memory.
        unsafe {
            match step {
                Step::Launch(ops, n, from, to) => launch(d, ops, n, b[from], b[to], self.step as f64),
                Step::Renew(k, bytes) => {
                    d.free(b[k]).expect("freed");
                    b[k] = d.alloc(bytes).expect("memory");
                }
                Step::Upload(k) => d.upload(Lane::Compute, b[k], host.as_ptr(), 64).expect("a copy"),
                Step::Download(k) => d.download(Lane::Compute, host.as_mut_ptr(), b[k], 64).expect("a copy"),
                Step::Copy(k, j) => d.copy(Lane::Compute, b[k], b[j], 64).expect("a copy"),
                Step::Fill(k) => d.fill(Lane::Compute, b[k], 1, 64).expect("a fill"),
                Step::Event => drop(d.record(Lane::Compute, false).expect("an event")),
                Step::WaitForUpload => {
                    let event = d.record(Lane::Upload, false).expect("an event");
                    d.wait_for(Lane::Compute, &event).expect("a wait");
                }
                Step::Wait => d.wait_for_lane(Lane::Compute).expect("a wait"),
                Step::RawStream => drop(d.raw_stream()),
            }
        }
    }
}

/// `ops` multiplications of an array by a number.
unsafe fn launch(d: &Device, ops: usize, n: usize, from: u64, to: u64, by: f64) {
    let mut kernel = Kernel { operands: vec![DType::F64; 2], params: vec![DType::F64], ..Kernel::default() };
    let (mut value, factor) = (kernel.new_reg(DType::F64), kernel.new_reg(DType::F64));
    kernel.instrs.push(Instr::Load { dst: value, operand: 0 });
    kernel.instrs.push(Instr::Param { dst: factor, param: 0 });
    let lp = ScalarOp::Multiply.loops().iter().position(|l| l.outs() == [DType::F64]).expect("a loop") as u8;
    for _ in 0..ops {
        let dst = kernel.new_reg(DType::F64);
        let (dst2, src) = ([dst, NO_REG], [value, factor]);
        kernel.instrs.push(Instr::Apply { op: ScalarOp::Multiply, lp, dst: dst2, src });
        value = dst;
    }
    kernel.instrs.push(Instr::Store { operand: 1, src: value, mask: NO_REG });
    let strides = [8isize];
    let launch = FusedLaunch {
        kernel: &kernel,
        domain: &[n],
        operands: &[Operand { ptr: from, strides: &strides }, Operand { ptr: to, strides: &strides }],
        params: &[Value::from_f64(DType::F64, by)],
        reduced: &[false],
        outputs: &[],
    };
    d.run(&launch).expect("a launch");
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// A loop's body, a few times over: mostly launches, with whatever else touches a stream between them.
fn program(seed: u64) -> Vec<Step> {
    let mut dice = Dice(seed);
    let body: Vec<Step> = (0..4 + dice.below(30))
        .map(|_| {
            let (k, j) = (dice.below(BLOCKS), dice.below(BLOCKS));
            match dice.below(30) {
                0 => Step::Upload(k),
                1 => Step::Download(k),
                2 => Step::Copy(k, j),
                3 => Step::Fill(k),
                4 => Step::Event,
                5 => Step::WaitForUpload,
                6 => Step::Wait,
                7 => Step::RawStream,
                8 | 9 => Step::Renew(k, BYTES),
                // Too large to be kept: it goes back to the driver.
                10 => Step::Renew(k, 1 << 30),
                11 => Step::Launch(1 + dice.below(3), 1 << 22, k, j),
                _ => Step::Launch(1 + dice.below(3), 1000 * (1 + dice.below(2)), k, j),
            }
        })
        .collect();
    (0..5).flat_map(|_| body.clone()).collect()
}

#[test]
fn the_stream_sees_the_same_in_the_same_order() {
    let Some(stand_in) = StandIn::new("same_order") else { return };
    let mut graphs = 0;
    for seed in 0..200 {
        let program = program(seed);
        let (want, [_, none, _]) = stand_in.run(false, 0, &program);
        assert_eq!(none, 0);
        let (got, numbers) = stand_in.run(true, 0, &program);
        let first = got.iter().zip(&want).position(|(a, b)| a != b);
        assert!(got == want, "seed {seed}: word {first:?} of {} and {} is another", got.len(), want.len());
        graphs += numbers[GRAPHS as usize];
    }
    assert!(graphs > 500, "{graphs} graphs in 200 programs");
}

#[test]
fn a_driver_that_refuses_graphs_gets_launches() {
    let Some(stand_in) = StandIn::new("refused") else { return };
    let again = |k: usize| Step::Launch(1 + k % 3, 1000, k % BLOCKS, (k + 1) % BLOCKS);
    let program: Vec<Step> = (0..64).map(|k| again(k % 8)).collect();
    let (want, _) = stand_in.run(false, 0, &program);
    for refusing in 1..=4 {
        let (got, [_, graphs, refused]) = stand_in.run(true, refusing, &program);
        assert!(got == want, "call {refusing}");
        assert!(refused > 0 && (graphs == 0 || refusing == 3), "{graphs} graphs, {refused} refusals");
    }
    let (_, [sets, graphs, _]) = stand_in.run(true, 0, &program);
    assert!(graphs > 3 && sets > graphs, "{graphs} graphs, {sets} changed arguments");
}
