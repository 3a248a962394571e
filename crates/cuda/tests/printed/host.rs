//! Printed programs run by the host's compiler through a small shim, against the CPU backend: the same text that
//! NVRTC compiles, so that what it computes is known to be right where there is no GPU.

use crate::cases::{Arena, Case};
use numloom_cuda::plan::check_kernel;
use numloom_cuda::print::{Printed, print, print_settled, program};
use numloom_cuda::{Chip, Facts, Plan, plan};
use std::path::PathBuf;
use std::process::Command;

/// Kernels in one shared object; two are compiled at a time.
const BATCH: usize = 60;
/// Blocks of several sizes, so that threads share results in all the ways there are.
fn chip(case: &Case) -> Chip {
    Chip { multiprocessors: 2, block: [32, 64, 128][case.arena.len() % 3] }
}

struct Ready<'a> {
    case: &'a Case,
    arena: Arena,
    plan: Plan,
    printed: Printed,
}

fn ready<'a>(case: &'a Case, name: &str) -> Result<Option<Ready<'a>>, String> {
    check_kernel(&case.kernel).map_err(|e| format!("{}: {e}", case.name))?;
    let mut arena = Arena::new(&case.arena);
    let base = arena.ptr() as u64;
    let facts = Facts::of(&case.kernel);
    let plan = case.with_launch(base, |l| plan(&facts, l, &chip(case))).map_err(|e| format!("{}: {e}", case.name))?;
    Ok(plan.map(|mut plan| {
        // 64-bit indices are right for any launch; half the programs are printed with them.
        plan.structure.wide |= case.name.len() % 2 == 1;
        // What has its parameters in the text is the same program.
        let printed = match name.len() + case.name.len() {
            n if n % 3 == 0 => print_settled(&case.kernel, &plan.structure, name, &plan.words),
            _ => print(&case.kernel, &plan.structure, name),
        };
        Ready { case, arena, plan, printed }
    }))
}

/// A program for GPUs as one for the host.
pub fn host_source(program: &str) -> String {
    let half = include_str!("host_half.h");
    let text = program.replace("#ifdef __CUDA_ARCH__", &format!("{half}#ifdef __CUDA_ARCH__"));
    format!("{}{text}", include_str!("host_shim.h"))
}

fn host_text(ready: &[Ready]) -> String {
    let functions: Vec<&Printed> = ready.iter().map(|r| &r.printed).collect();
    let mut all = host_source(&program(&functions));
    for (k, r) in ready.iter().enumerate() {
        let meets = !r.case.kernel.targets.is_empty();
        all.push_str(&format!(
            "extern \"C\" void run{k}(const void* w, unsigned g, unsigned x, unsigned y) {{ host_run(k{k}, w, g, x, y, {meets}); }}\n"
        ));
    }
    all
}

pub fn compile(text: &str, stem: &str) -> Result<PathBuf, String> {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (dir.join(format!("{stem}.cpp")), dir.join(format!("{stem}.so")));
    std::fs::write(&source, text).map_err(|e| e.to_string())?;
    let out = Command::new("g++")
        .args(["-std=c++17", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv", "-w", "-shared", "-fPIC"])
        .arg(&source)
        .arg("-o")
        .arg(&library)
        .output()
        .map_err(|e| e.to_string())?;
    if out.status.success() { Ok(library) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}

type Run = unsafe extern "C" fn(*const u64, u32, u32, u32);

fn run_batch(cases: &[Case], stem: &str) -> Result<usize, String> {
    let mut all = Vec::new();
    for case in cases {
        let name = format!("k{}", all.len());
        all.extend(ready(case, &name)?);
    }
    let library = compile(&host_text(&all), stem)?;
    // SAFETY: the library was just made by us; its functions have the type given.
    let library = unsafe { libloading::Library::new(library) }.map_err(|e| e.to_string())?;
    let mut failures = Vec::new();
    for (k, r) in all.iter_mut().enumerate() {
        let mut partials = vec![0u64; r.plan.partials.max(1)];
        let mut counters = vec![0u32; r.plan.counters.max(1)];
        if !r.case.kernel.targets.is_empty() {
            r.plan.words[0] = partials.as_mut_ptr() as u64;
            r.plan.words[1] = counters.as_mut_ptr() as u64;
        }
        let (x, y) = r.plan.block;
        // SAFETY: the plan's addresses are in `arena`, which outlives the call.
        unsafe {
            let run: libloading::Symbol<Run> = library.get(format!("run{k}").as_bytes()).map_err(|e| e.to_string())?;
            run(r.plan.words.as_ptr(), r.plan.grid, x, y);
        }
        let got = r.arena.bytes(r.case.arena.len());
        failures.extend(r.case.difference(&got, &r.case.on_cpu()));
        if counters.iter().any(|&c| c != 0) {
            failures.push(format!("{}: a counter was left at work", r.case.name));
        }
    }
    if failures.is_empty() { Ok(all.len()) } else { Err(failures.join("\n")) }
}

#[test]
fn printed_programs_agree_with_the_cpu() {
    if Command::new("g++").arg("--version").output().is_err() {
        println!("skipped: there is no g++ to compile printed programs with");
        return;
    }
    let cases = crate::cases::all(160);
    let batches: Vec<&[Case]> = cases.chunks(BATCH).collect();
    let results: Vec<Result<usize, String>> = std::thread::scope(|scope| {
        let batches = &batches;
        let workers: Vec<_> = (0..2)
            .map(|w| {
                scope.spawn(move || {
                    let mine = batches.iter().enumerate().filter(|(k, _)| k % 2 == w);
                    mine.map(|(k, b)| run_batch(b, &format!("host{k}"))).collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|w| w.join().unwrap_or_default()).collect()
    });
    let failures: Vec<String> = results.iter().filter_map(|r| r.clone().err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{} programs agree", results.iter().flatten().sum::<usize>());
}
