//! Launches of small kernels wait here for a few more, and go to the compute stream together: a sequence that comes again
//! as a graph, which takes the host a fraction of what its launches take one by one.
//!
//! Whatever else touches the stream, or depends on how far it has come (copies, events, waits, libraries, memory that goes
//! back to the driver), first has the queue emptied. So the stream's order is the order in which things were asked for.
//! Nobody need empty it for any other reason: what waits is a few microseconds of the GPU's time.

use crate::CudaError;
use crate::device::{Code, Device, Lane};
use crate::graph::{Graph, Start};
use crate::sequence::{Form, Made, Sequences};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Launches that wait at most: of tiny kernels the GPU does so many while the host prepares as many more.
const MOST: usize = 8;
/// The same for the first launches after somebody waited for the GPU, up to that many: it has nothing to do then, and should
/// not be left so. Of these the first two do not wait at all.
const MOST_AT_FIRST: usize = 4;
const FIRST: usize = 10;
const AT_ONCE: usize = 2;
/// Fewer are launched one by one: a graph would save little and start later.
const FEWEST: usize = 3;

/// Elements of a small kernel: one over more keeps the GPU busy for longer than a launch takes the host.
pub(crate) const SMALL: usize = 1 << 20;

static BUILT: AtomicU64 = AtomicU64::new(0);
static REPLAYED: AtomicU64 = AtomicU64::new(0);

/// Graphs built so far, and how often one was replayed.
pub fn graphs() -> (u64, u64) {
    (BUILT.load(Ordering::Relaxed), REPLAYED.load(Ordering::Relaxed))
}

pub(crate) struct Queue {
    /// Off: everything is started at once.
    pub is_on: bool,
    waiting: Mutex<Waiting>,
    /// Launches that wait, to look at without the lock.
    length: AtomicUsize,
    /// Launches since somebody waited for the GPU.
    since_wait: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    starts: Vec<Start>,
    forms: Vec<Form>,
    words: Vec<u64>,
    sequences: Sequences<Graph>,
}

impl Queue {
    pub fn new(is_on: bool) -> Queue {
        Queue { is_on, waiting: Mutex::default(), length: AtomicUsize::new(0), since_wait: AtomicUsize::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Somebody waits for the GPU: afterwards it has nothing to do.
    pub fn waited(&self) {
        self.since_wait.store(0, Ordering::Relaxed);
    }

    /// Before the device's functions go.
    pub fn clear(&self) {
        let mut w = self.lock();
        w.sequences.clear();
        w.starts.clear();
    }
}

impl Device {
    /// Puts a launch into the queue, or starts it if the GPU may have nothing to do; the queue is emptied when it is long
    /// enough.
    ///
    /// # Safety
    /// As for starting it.
    pub(crate) unsafe fn enqueue(
        &self,
        code: &Arc<Code>,
        grid: u32,
        block: (u32, u32),
        words: &[u64],
    ) -> Result<(), CudaError> {
        let mut w = self.queue.lock();
        let before = self.queue.since_wait.fetch_add(1, Ordering::Relaxed);
        if before < AT_ONCE && w.starts.is_empty() {
            self.enter();
            return self.launch_now(code, grid, block, words);
        }
        let at = w.words.len();
        w.forms.push(Form { function: code.function as usize, grid, block, words: words.len() as u32 });
        w.starts.push(Start { code: code.clone(), grid, block, at, words: words.len() });
        w.words.extend_from_slice(words);
        self.queue.length.store(w.starts.len(), Ordering::Release);
        if w.starts.len() < if before < FIRST { MOST_AT_FIRST } else { MOST } {
            return Ok(());
        }
        self.empty(&mut w)
    }

    /// Starts what waits. The caller is about to touch the compute stream.
    #[inline]
    pub(crate) fn start_waiting(&self) -> Result<(), CudaError> {
        // Whoever depends on a launch saw it enqueued before.
        if self.queue.length.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        self.empty(&mut self.queue.lock())
    }

    fn empty(&self, w: &mut Waiting) -> Result<(), CudaError> {
        self.enter();
        // SAFETY: whoever put them there saw to it.
        let done = unsafe {
            if w.starts.len() >= FEWEST && self.launch_together(w) {
                Ok(())
            } else {
                let one = |s: &Start| self.launch_now(&s.code, s.grid, s.block, s.words(&w.words));
                // One that fails takes none of the others with it.
                w.starts.iter().map(one).fold(Ok(()), Result::and)
            }
        };
        w.starts.clear();
        w.forms.clear();
        w.words.clear();
        self.queue.length.store(0, Ordering::Release);
        done
    }

    /// As a graph, if the sequence was seen before and the driver does not refuse.
    unsafe fn launch_together(&self, w: &mut Waiting) -> bool {
        let Some(known) = w.sequences.again(&w.forms) else { return false };
        if matches!(known.made, Made::NotYet) {
            known.made = match unsafe { Graph::of(&self.driver, &w.starts, &w.words) } {
                Some(graph) => {
                    BUILT.fetch_add(1, Ordering::Relaxed);
                    Made::Ready(graph)
                }
                None => Made::Never,
            };
        }
        let Made::Ready(graph) = &mut known.made else { return false };
        let launched = unsafe { graph.launch(&w.starts, &w.words, self.stream(Lane::Compute)) };
        if launched {
            REPLAYED.fetch_add(1, Ordering::Relaxed);
        } else {
            known.made = Made::Never;
        }
        launched
    }
}
