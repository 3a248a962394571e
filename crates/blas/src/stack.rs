//! Room on the stack. OpenBLAS keeps a table of every pair of threads it could have on the stack, LAPACK's recursive
//! routines several of them: more than a worker's stack holds.

use std::cell::Cell;
use std::io;
use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// Enough for a product, and for the deepest recursion of a factorisation.
pub const PRODUCT: usize = 1 << 20;
pub const FACTORS: usize = 8 << 20;

thread_local! {
    /// The lowest address of this thread's stack; 0 before it was asked for.
    static LOWEST: Cell<usize> = const { Cell::new(0) };
}

/// Runs `work` with at least `bytes` of stack: here if there is as much, else on a thread of its own. An error if no
/// such thread can be had.
pub fn with_stack<R: Send>(bytes: usize, work: impl FnOnce() -> R + Send) -> io::Result<R> {
    if left() >= bytes {
        return Ok(work());
    }
    scope(|s| {
        let thread = Builder::new().name("numloom-blas".to_owned()).stack_size(2 * bytes).spawn_scoped(s, work)?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Bytes left on this thread's stack; none where that is not known.
fn left() -> usize {
    let marker = 0u8;
    let here = std::hint::black_box(&raw const marker) as usize;
    if LOWEST.get() == 0 {
        LOWEST.set(lowest().unwrap_or(usize::MAX));
    }
    here.saturating_sub(LOWEST.get())
}

#[cfg(target_os = "linux")]
fn lowest() -> Option<usize> {
    // SAFETY: the attributes are filled in by the first call, read by the second, and given back by the third; the
    // guard below the stack is not part of what they say.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let (mut address, mut size) = (std::ptr::null_mut(), 0);
        let known = libc::pthread_attr_getstack(&attributes, &mut address, &mut size) == 0;
        libc::pthread_attr_destroy(&mut attributes);
        known.then_some(address as usize)
    }
}

#[cfg(not(target_os = "linux"))]
fn lowest() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_room() {
        let outcome = Builder::new()
            .stack_size(256 << 10)
            .spawn(|| {
                let here = std::thread::current().id();
                assert!(left() < 256 << 10);
                let near = with_stack(16 << 10, || std::thread::current().id()).unwrap();
                let (far, room) = with_stack(4 << 20, || (std::thread::current().id(), left())).unwrap();
                assert!(near == here && far != here && room >= 4 << 20);
            })
            .unwrap()
            .join();
        assert!(outcome.is_ok());
    }

    #[test]
    fn a_panic_comes_back() {
        let failed = std::panic::catch_unwind(|| with_stack(usize::MAX >> 8, || ()).is_err());
        assert!(failed.unwrap());
        assert!(std::panic::catch_unwind(|| with_stack(64 << 20, || panic!("as told"))).is_err());
    }
}
