//! GPUs that can be used no more. A fault leaves nothing of a GPU's context, and a child of a fork has none: from then on
//! work goes to the CPU, and arrays that lay on the GPU alone say why they cannot be read. Failures can also be made to
//! happen, for tests.

use crate::reserved;
use numloom_cuda::CudaError;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

static LOST: AtomicBool = AtomicBool::new(false);
static WHY: Mutex<String> = Mutex::new(String::new());

/// Whether the devices are not to be used any more.
#[inline]
pub fn are_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

fn lose(why: &str) {
    let mut said = WHY.lock();
    if !LOST.swap(true, Ordering::AcqRel) {
        why.clone_into(&mut said);
    }
}

/// Looks at what a device said.
pub fn heard(e: CudaError) -> CudaError {
    if let CudaError::Lost(why) = &e {
        lose(why);
    }
    e
}

/// An error if the devices are lost: before a driver is asked that might never answer.
pub fn check() -> Result<(), CudaError> {
    if are_lost() { Err(CudaError::Lost(WHY.lock().clone())) } else { Ok(()) }
}

/// In a child of a fork. CUDA cannot be used there if the parent has.
pub fn after_fork() {
    if reserved::exist() && reserved::are_gpus() {
        lose(
            "this process was made by fork() after its parent had used the GPU; use the `spawn` method, or fork first",
        );
    }
}

/// What is made to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    Compile,
    Launch,
    Loss,
}

/// Tasks put on a device until one is made to fail; negative: none is.
static FAIL_IN: AtomicI64 = AtomicI64::new(-1);
static FAILURE: Mutex<Failure> = Mutex::new(Failure::Launch);

/// Makes the task that comes to a device after `k` others fail. Answers what was left of the last call's count: negative
/// when the failure has happened, or none was wanted.
pub fn fail_task(failure: Failure, k: i64) -> i64 {
    *FAILURE.lock() = failure;
    FAIL_IN.swap(k, Ordering::SeqCst)
}

/// The failure a test wants, at the task it wants it for.
pub fn made_to_fail() -> Result<(), CudaError> {
    if FAIL_IN.load(Ordering::Relaxed) < 0 || FAIL_IN.fetch_sub(1, Ordering::SeqCst) != 0 {
        return Ok(());
    }
    let why = || "a test wants it so".to_string();
    Err(match *FAILURE.lock() {
        Failure::Compile => CudaError::Compile(why()),
        Failure::Launch => CudaError::Launch(why()),
        Failure::Loss => heard(CudaError::Lost(why())),
    })
}
