//! Several workers on one matrix. `faer` divides its work among the threads of a rayon pool; here the threads of that
//! pool are the workers of the runtime, lent for the length of one operation: the first tile leads, every further tile
//! is a thread that joins. Whoever comes late, or never, is not missed: the leader does what nobody takes.

use faer::Par;
use parking_lot::Mutex;
use rayon::{ThreadBuilder, ThreadPoolBuilder};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Places in the pool of one operation that nobody has taken yet.
#[derive(Default)]
pub struct Gang {
    free: Mutex<Vec<ThreadBuilder>>,
}

impl Gang {
    /// Runs `work` on this thread and on those that join; with `threads` of them at most.
    pub fn lead<R: Send>(&self, threads: usize, work: impl FnOnce(Par) -> R + Send) -> R {
        let Some(par) = NonZeroUsize::new(threads).filter(|n| n.get() > 1).map(Par::Rayon) else {
            return work(Par::Seq);
        };
        let places = Arc::new(Mutex::new(Vec::with_capacity(threads)));
        let handler = {
            let places = places.clone();
            move |place: ThreadBuilder| {
                places.lock().push(place);
                Ok(())
            }
        };
        let Ok(pool) = ThreadPoolBuilder::new().num_threads(threads).spawn_handler(handler).build() else {
            return work(Par::Seq);
        };
        let mut places = std::mem::take(&mut *places.lock());
        let Some(own) = places.pop() else { return work(Par::Seq) };
        *self.free.lock() = places;

        let mut answer = None;
        let job = {
            let slot = &mut answer;
            let body = move || *slot = Some(catch_unwind(AssertUnwindSafe(|| work(par))));
            // SAFETY: the job runs before `own.run` below returns: that ends only with the pool, and the job is what
            // ends the pool. So everything it borrows outlives it.
            unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Box<dyn FnOnce() + Send>>(Box::new(body)) }
        };
        let pool = Arc::new(pool);
        let held = pool.clone();
        pool.spawn(move || {
            job();
            // The last hold on the pool: its threads leave.
            drop(held);
        });
        drop(pool);
        own.run();
        self.free.lock().clear();
        match answer {
            Some(Ok(r)) => r,
            Some(Err(panic)) => resume_unwind(panic),
            None => panic!("a gang ended without its work"),
        }
    }

    /// Lends this thread to the leader until its work is over; returns at once if there is none or it needs nobody.
    pub fn join(&self) {
        let place = self.free.lock().pop();
        if let Some(place) = place {
            place.run();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    fn product(par: Par) -> f64 {
        let a = Mat::<f64>::from_fn(300, 300, |i, j| ((i * 7 + j * 3) % 11) as f64);
        let mut c = Mat::<f64>::zeros(300, 300);
        faer::linalg::matmul::matmul(&mut c, faer::Accum::Replace, &a, &a, 1.0, par);
        c[(17, 23)]
    }

    #[test]
    fn works_alone_and_with_company() {
        let want = product(Par::Seq);
        let gang = Gang::default();
        assert_eq!(gang.lead(3, product), want);
        gang.join();
        let gang = Gang::default();
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for _ in 0..1000 {
                        gang.join();
                        std::thread::yield_now();
                    }
                });
            }
            for _ in 0..20 {
                assert_eq!(gang.lead(3, product), want);
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_leader() {
        let gang = Gang::default();
        let failed = catch_unwind(AssertUnwindSafe(|| gang.lead(2, |_| panic!("as told"))));
        assert!(failed.is_err());
        assert_eq!(gang.lead(2, |_| 5), 5);
    }
}
