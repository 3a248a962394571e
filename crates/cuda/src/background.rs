//! Compiling while the program goes on: a thread that makes cubins nobody waits for yet.

use crate::compile::Compiler;
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

/// Programs wanted for later. The thread ends when there are none left.
#[derive(Default)]
pub(crate) struct Background {
    shared: Arc<Mutex<Queue>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Wanted>,
    /// Waiting or in the works.
    known: HashSet<u128>,
    /// Whoever needs one of these compiles it again and is told why not.
    failed: HashSet<u128>,
    runs: bool,
}

struct Wanted {
    key: u128,
    text: String,
    arch: u32,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}

impl Background {
    /// Has the program compiled; false if that was tried and failed.
    pub fn want(&self, compiler: &Arc<Compiler>, text: String, arch: u32) -> bool {
        let key = compiler.key(&text, arch);
        let mut queue = lock(&self.shared);
        if queue.failed.contains(&key) {
            return false;
        }
        if !queue.known.insert(key) {
            return true;
        }
        queue.waiting.push_back(Wanted { key, text, arch });
        if !std::mem::replace(&mut queue.runs, true) {
            let (compiler, shared) = (compiler.clone(), self.shared.clone());
            let spawned = std::thread::Builder::new()
                .name("numloom-nvrtc".into())
                .spawn(move || while compile_next(&compiler, &shared) {});
            match spawned {
                Ok(handle) => drop(lock(&self.thread).replace(handle)),
                Err(_) => {
                    queue.runs = false;
                    queue.known.clear();
                    queue.waiting.clear();
                    return false;
                }
            }
        }
        true
    }

    /// Forgets what was not begun and waits for what was: before the process ends or forks.
    pub fn rest(&self) {
        {
            let mut queue = lock(&self.shared);
            for w in std::mem::take(&mut queue.waiting) {
                queue.known.remove(&w.key);
            }
        }
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

/// Compiles one; false when there is none left.
fn compile_next(compiler: &Compiler, shared: &Mutex<Queue>) -> bool {
    let wanted = {
        let mut queue = lock(shared);
        let Some(wanted) = queue.waiting.pop_front() else {
            queue.runs = false;
            return false;
        };
        wanted
    };
    let made = compiler.cubin(&wanted.text, wanted.arch);
    let mut queue = lock(shared);
    queue.known.remove(&wanted.key);
    if made.is_err() {
        queue.failed.insert(wanted.key);
    }
    true
}
