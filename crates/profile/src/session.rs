//! A session: from the moment profiling begins until its file is whole. Threads find out here whether one runs, and get
//! their queues and processors; a thread of its own reads the queues and writes the file.

use crate::clock;
use crate::device::DeviceSpan;
use crate::error::{Error, Result};
use crate::kinds::Lane;
use crate::live::Door;
use crate::local::{self, Place};
use crate::queue::Queue;
use crate::write::Writer;
use parking_lot::{Condvar, Mutex};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A place in words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    pub file: String,
    pub line: u32,
    pub function: String,
}

/// A memory and how full it is.
pub struct MemoryLevel {
    pub id: u8,
    pub name: String,
    pub capacity: u64,
    pub live: u64,
    pub peak: u64,
}

/// What the runtime has counted itself.
#[derive(Default)]
pub struct Snapshot {
    pub counters: Vec<(&'static str, u64)>,
    pub levels: Vec<MemoryLevel>,
}

/// What a session asks others for.
pub struct Hooks {
    /// Places in words; `None` where nobody knows.
    pub lines: fn(&[Place]) -> Vec<Option<Line>>,
    /// Where the calling thread's program is.
    pub here: fn() -> Place,
    pub snapshot: fn() -> Snapshot,
    /// The instances that are there: id, how often the array was read, and when last.
    pub held: fn() -> Vec<(u64, u32, u64)>,
    /// Times on devices that have become known, in order for each; `all`: waits for what is still running.
    pub device_spans: fn(bool) -> Vec<DeviceSpan>,
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

pub fn set_hooks(hooks: Hooks) {
    let _ = HOOKS.set(hooks);
}

pub fn hooks() -> Option<&'static Hooks> {
    HOOKS.get()
}

/// The session that runs; 0: none.
static NUMBER: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicU32 = AtomicU32::new(0);
static BEGAN: AtomicU64 = AtomicU64::new(0);
static GAP: AtomicU64 = AtomicU64::new(0);
static LONG: AtomicU64 = AtomicU64::new(0);

/// Whether anything is to be recorded.
#[inline(always)]
pub fn on() -> bool {
    NUMBER.load(Ordering::Relaxed) != 0
}

#[inline]
pub fn number() -> u32 {
    NUMBER.load(Ordering::Relaxed)
}

/// When the session began.
pub fn began() -> u64 {
    BEGAN.load(Ordering::Relaxed)
}

#[inline]
pub fn limits() -> (u64, u64) {
    (GAP.load(Ordering::Relaxed), LONG.load(Ordering::Relaxed))
}

/// A lane of a thread.
#[derive(Clone)]
pub struct Processor {
    pub lane: Lane,
    pub index: u32,
    pub thread: String,
}

static QUEUES: Mutex<Vec<Arc<Queue>>> = Mutex::new(Vec::new());
static PROCESSORS: Mutex<Vec<Processor>> = Mutex::new(Vec::new());

pub fn new_queue() -> Arc<Queue> {
    let queue = Arc::new(Queue::default());
    QUEUES.lock().push(queue.clone());
    queue
}

/// Queues that have come since, taken.
pub fn new_queues() -> Vec<Arc<Queue>> {
    std::mem::take(&mut *QUEUES.lock())
}

pub fn new_processor(lane: Lane) -> u16 {
    let thread = std::thread::current().name().unwrap_or("program").to_string();
    let mut all = PROCESSORS.lock();
    let taken = |index: u32| all.iter().any(|p| p.lane == lane && p.index == index);
    // Workers keep their number after the program's own thread, which is CPU 0.
    let worker = thread.strip_prefix("numloom-cpu-").and_then(|n| n.parse::<u32>().ok());
    let wanted = worker.map_or(0, |n| n + 1);
    let index = (wanted..).find(|&n| !taken(n)).unwrap_or(wanted);
    all.push(Processor { lane, index, thread });
    (all.len() - 1) as u16
}

/// The processor that stands for a device.
pub fn device_processor(device: u32) -> u16 {
    let mut all = PROCESSORS.lock();
    let known = all.iter().position(|p| p.lane == Lane::GpuDevice && p.index == device);
    let at = known.unwrap_or_else(|| {
        all.push(Processor { lane: Lane::GpuDevice, index: device, thread: "stream".into() });
        all.len() - 1
    });
    at as u16
}

/// Processors from number `from` on.
pub fn processors(from: usize) -> Vec<Processor> {
    PROCESSORS.lock().get(from..).unwrap_or_default().to_vec()
}

struct Running {
    thread: JoinHandle<Result<()>>,
    path: PathBuf,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);
static BELL: Mutex<bool> = Mutex::new(false);
static RUNG: Condvar = Condvar::new();
static STOP: AtomicBool = AtomicBool::new(false);

/// How often queues are read, and the file written.
const READ_EVERY: Duration = Duration::from_millis(100);
const WRITE_EVERY: Duration = Duration::from_millis(500);
const MANY_ROWS: usize = 1 << 19;

/// There is much to read.
pub fn ring() {
    if let Some(mut bell) = BELL.try_lock() {
        *bell = true;
        RUNG.notify_one();
    }
}

/// Begins a session that goes to a new file.
pub fn start(path: &Path, meta: Vec<(String, String)>) -> Result<()> {
    let mut running = RUNNING.lock();
    if running.is_some() {
        return Err(Error::Other("a profile is being written already".into()));
    }
    clock::calibrate();
    let (gap, long) = local::limits();
    GAP.store(gap, Ordering::Relaxed);
    LONG.store(long, Ordering::Relaxed);
    QUEUES.lock().clear();
    PROCESSORS.lock().clear();
    STOP.store(false, Ordering::Release);
    let began = clock::now();
    let mut writer = Writer::create(path, meta, began)?;
    let thread = std::thread::Builder::new().name("numloom-profile".into()).spawn(move || tend(&mut writer));
    let thread = thread.map_err(|error| Error::Io { path: path.to_path_buf(), error })?;
    *running = Some(Running { thread, path: path.to_path_buf() });
    BEGAN.store(began, Ordering::Relaxed);
    NUMBER.store(LAST.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Release);
    Ok(())
}

fn tend(writer: &mut Writer) -> Result<()> {
    let mut written = Instant::now();
    let door = Door::open();
    loop {
        let stop = STOP.load(Ordering::Acquire);
        writer.read_queues(stop);
        if stop {
            drop(door);
            return writer.finish();
        }
        if let Some(door) = &door {
            door.answer(writer);
        }
        if written.elapsed() >= WRITE_EVERY || writer.rows() >= MANY_ROWS {
            writer.flush()?;
            written = Instant::now();
        }
        let mut bell = BELL.lock();
        if !*bell {
            RUNG.wait_for(&mut bell, READ_EVERY);
        }
        *bell = false;
    }
}

/// Ends the session: the path of its file. The caller's own thread hands over what it keeps; it must not hold a lock
/// that `Hooks::lines` needs.
pub fn stop() -> Result<Option<PathBuf>> {
    let mut running = RUNNING.lock();
    let Some(Running { thread, path }) = running.take() else { return Ok(None) };
    local::with(|l| l.hand_over());
    NUMBER.store(0, Ordering::Release);
    STOP.store(true, Ordering::Release);
    *BELL.lock() = true;
    RUNG.notify_one();
    match thread.join() {
        Ok(done) => done.map(|()| Some(path)),
        Err(_) => Err(Error::Other(format!("{}: the profile could not be written to its end", path.display()))),
    }
}

/// In a child of a fork, which has no thread to write: nothing is recorded any more.
pub fn forget() {
    NUMBER.store(0, Ordering::Release);
    if let Some(mut running) = RUNNING.try_lock() {
        std::mem::forget(running.take());
    }
}
