//! What is said where CUDA is not: sentences, no panics.

use numloom_cuda::{CudaError, Device, Options, Report, Search};

#[test]
fn every_library_is_reported() {
    let report = Search::default().report();
    assert_eq!(report.len(), 5);
    for line in &report {
        match line {
            Report::Found { library, version, path } => println!("{library} {version} at {path}"),
            Report::Missing { library, why } => assert!(why.starts_with(library), "{why}"),
        }
    }
}

#[test]
fn a_wheel_that_holds_no_library_is_told_of() {
    let site = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("site");
    let dir = site.join("nvidia/cufft/lib");
    std::fs::create_dir_all(&dir).expect("a directory");
    std::fs::write(dir.join("libcufft.so.12"), "not a library").expect("a file");
    let search = Search::new(&[site]);
    match search.open(numloom_cuda::Kind::Cufft) {
        Ok(found) => println!("a real cuFFT was found first, at {}", found.path),
        Err(e) => assert!(e.to_string().contains("libcufft.so.12"), "{e}"),
    }
}

#[test]
fn a_device_that_cannot_be_opened_says_why() {
    match Device::open(999, &Options::default()) {
        Err(CudaError::Missing(why)) => assert!(why.len() > 20, "{why}"),
        Err(other) => panic!("{other}"),
        Ok(d) => panic!("there is a thousandth device: {:?}", d.properties()),
    }
}

#[test]
fn kernels_that_name_what_they_have_not_are_refused() {
    use numloom_cuda::plan::check_kernel;
    use numloom_ir::kernel::{Instr, Kernel};
    let mut kernel = Kernel::default();
    kernel.instrs.push(Instr::Load { dst: 3, operand: 7 });
    assert!(matches!(check_kernel(&kernel), Err(CudaError::Launch(_))));
}
