//! Every printed program compiles with NVRTC for the architectures in use. No GPU and no driver is needed.

use crate::cases::{Arena, Case};
use numloom_cuda::print::{Printed, print, print_settled, program};
use numloom_cuda::{Chip, Compiler, Facts, Search, plan};
use std::path::{Path, PathBuf};

/// The site-packages of the virtual environment at the workspace's root, and `NUMLOOM_NVRTC` (a directory of
/// NVIDIA's wheels, or the library's own).
fn search() -> Search {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sites: Vec<PathBuf> = std::env::var_os("NUMLOOM_NVRTC").map(PathBuf::from).into_iter().collect();
    for python in std::fs::read_dir(root.join(".venv/lib")).into_iter().flatten().flatten() {
        sites.push(python.path().join("site-packages"));
    }
    Search::new(&sites)
}

pub fn compiler(dir: Option<PathBuf>) -> Option<Compiler> {
    match Compiler::open(&search(), dir, None) {
        Ok(c) => Some(c),
        Err(e) => {
            println!("skipped: {e}");
            None
        }
    }
}

fn printed(case: &Case, name: &str) -> Result<Option<Printed>, String> {
    let mut arena = Arena::new(&case.arena);
    let base = arena.ptr() as u64;
    let chip = Chip { multiprocessors: 132, block: 256 };
    let plan = case.with_launch(base, |l| plan(&Facts::of(&case.kernel), l, &chip)).map_err(|e| e.to_string())?;
    Ok(plan.map(|p| match case.name.len() % 2 {
        0 => print(&case.kernel, &p.structure, name),
        _ => print_settled(&case.kernel, &p.structure, name, &p.words),
    }))
}

#[test]
fn every_program_compiles() {
    let Some(compiler) = compiler(None) else { return };
    let mut cases = crate::cases::all(30);
    // Shapes of a fold differ in few ways that matter to the compiler: some of each type are enough.
    let mut folds = 0;
    cases.retain(|c| {
        folds += !c.kernel.targets.is_empty() as usize;
        c.kernel.targets.is_empty() || folds % 9 == 0
    });
    let batches: Vec<(usize, &[Case])> = cases.chunks(16).enumerate().collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    let compile = || {
        while let Some(&(k, batch)) = batches.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            let functions: Vec<Printed> = batch
                .iter()
                .enumerate()
                .filter_map(|(i, c)| printed(c, &format!("k{i}")).unwrap_or_else(|e| panic!("{}: {e}", c.name)))
                .collect();
            let text = program(&functions.iter().collect::<Vec<_>>());
            // The oldest and the newest see a part of them each: they differ from sm_90 in code, not in language.
            let archs: &[u32] = match k % 6 {
                0 => &[90, 75],
                3 => &[90, 100],
                _ => &[90],
            };
            for &arch in archs.iter().filter(|&&a| compiler.supports(a)) {
                if let Err(e) = compiler.cubin(&text, arch) {
                    let names: Vec<&str> = batch.iter().map(|c| c.name.as_str()).collect();
                    let mut all = failures.lock().unwrap_or_else(|e| e.into_inner());
                    all.push(format!("sm_{arch}, {names:?}: {e}"));
                }
            }
        }
    };
    std::thread::scope(|s| {
        s.spawn(compile);
        s.spawn(compile);
    });
    let failures = failures.into_inner().unwrap_or_else(|e| e.into_inner());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{} programs compile", cases.len());
}

#[test]
fn a_broken_program_has_nvrtcs_log() {
    let Some(compiler) = compiler(None) else { return };
    let error = compiler.cubin("extern \"C\" __global__ void f() { nonsense; }", 90).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("nonsense"), "{error}");
}

#[test]
fn cubins_are_kept_in_files_and_damaged_ones_made_anew() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cubins{}", std::process::id()));
    let source = "extern \"C\" __global__ void f(float* p) { p[threadIdx.x] = 1.5f; }";
    let Some(first) = compiler(Some(dir.clone())) else { return };
    let made = first.cubin(source, 90).expect("compiles");
    first.cubin(source, 90).expect("is known");
    assert_eq!(first.compiled(), 1);
    let files = || -> Vec<PathBuf> { std::fs::read_dir(&dir).expect("a cache").flatten().map(|e| e.path()).collect() };
    assert_eq!(files().len(), 1);

    let second = compiler(Some(dir.clone())).expect("NVRTC was there a moment ago");
    assert_eq!(*second.cubin(source, 90).expect("is read"), *made);
    assert_eq!(second.compiled(), 0);

    let file = files().remove(0);
    let mut bytes = std::fs::read(&file).expect("a cubin");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, &bytes).expect("can be damaged");
    let third = compiler(Some(dir.clone())).expect("NVRTC was there a moment ago");
    assert_eq!(*third.cubin(source, 90).expect("is made anew"), *made);
    assert_eq!(third.compiled(), 1);
    assert_eq!(files().len(), 1);
    let _ = std::fs::remove_dir_all(dir);
}
