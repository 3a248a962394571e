//! The OpenBLAS that NumPy brought into the process. It is looked for when it is first wanted, never linked with; where
//! there is none, or `--blas own` says so, `get` answers nothing and callers do the work themselves.

mod factors;
mod find;
mod layout;
mod product;
pub mod stack;
mod table;
mod threads;

pub use factors::Factors;
pub use layout::Strided;
pub use product::{Product, fits, product};
pub use table::Table;
pub use threads::Held;

use std::sync::OnceLock;

/// A library with every routine that is called here.
pub struct Blas {
    table: Table,
    threads: threads::Threads,
    /// Whether its integers have 64 bits. Every integer is given as one of 64, whose low half is the one of 32.
    wide: bool,
    /// The file it came from.
    pub path: String,
}

impl Blas {
    /// As many of the library's threads as were offered, until the answer is dropped; then as many as before.
    pub fn hold_threads(&self) -> Held<'_> {
        self.threads.hold()
    }

    /// Whether matrices of these sides can be given to it.
    pub fn takes(&self, sides: &[usize]) -> bool {
        let most = if self.wide { i64::MAX as usize } else { i32::MAX as usize };
        sides.iter().all(|&n| n <= most)
    }

    /// The `i`-th of the integers that a routine wrote.
    ///
    /// # Safety
    /// There are that many.
    pub unsafe fn integer(&self, from: *const i64, i: usize) -> i64 {
        if self.wide { *from.add(i) } else { *from.cast::<i32>().add(i) as i64 }
    }
}

static OFFER: OnceLock<fn() -> Option<usize>> = OnceLock::new();
static FOUND: OnceLock<Option<Blas>> = OnceLock::new();

/// Says how to learn with how many threads a library may work, or that none is to be used. Asked once, when the first
/// large job is there.
pub fn offer(threads: fn() -> Option<usize>) {
    let _ = OFFER.set(threads);
}

/// The library, if there is one to use.
pub fn get() -> Option<&'static Blas> {
    FOUND.get_or_init(|| OFFER.get().and_then(|ask| ask()).and_then(find::find)).as_ref()
}
