//! Tables of numbers as text, one row a line. `read` takes plain numbers apart and `write` puts them down, in pieces on
//! several threads; what is not plain (quotes, missing fields, other alphabets, rows of several lengths) is refused
//! whole, so that whoever knows more, or words errors, starts from the beginning.

mod digits;
mod number;
mod read;
mod spec;
mod write;

pub use number::{Number, Truth};
pub use read::{Layout, Table, flat, table};
pub use spec::{Kind, Spec};
pub use write::{Line, write};

/// Runs `work` on every item, on up to `threads` threads, and gives the answers in the order of the items.
fn on_threads<I: Sync, O: Send>(items: &[I], threads: usize, work: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let helpers = threads.min(items.len()).saturating_sub(1);
    if helpers == 0 {
        return items.iter().map(work).collect();
    }
    let next = std::sync::atomic::AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(item) = items.get(i) else { return done };
            done.push((i, work(item)));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (0..helpers).map(|_| scope.spawn(some)).collect();
        let mut all = some();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|&(i, _)| i);
    all.into_iter().map(|(_, o)| o).collect()
}
