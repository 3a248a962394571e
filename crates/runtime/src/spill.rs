//! The spill file: where arrays lie that do not fit in memory. It is mapped, so tasks work on them as anywhere; the
//! operating system moves the pages. It has no name: whatever ends the process, nothing of it stays.

use crate::ledger;
use crate::memory::Memory;
use crate::profile::{Doing, Lane, Span};
use crate::ranges::Ranges;
use crate::reserved;
use crate::store::Store;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

struct Spill {
    file: File,
    end: usize,
    /// Parts of the file that were given back.
    free: Ranges,
    /// Mapped blocks: where in the file each lies, and its length.
    blocks: FxHashMap<usize, (usize, usize)>,
}

static SPILL: LazyLock<Option<Mutex<Spill>>> = LazyLock::new(|| {
    let directory = numloom_config::current().spill.as_ref()?;
    let file = nameless(directory).ok()?;
    let (free, blocks) = (Ranges::none(), FxHashMap::default());
    Some(Mutex::new(Spill { file, end: 0, free, blocks }))
});

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// A file in the directory that no name leads to.
fn nameless(directory: &Path) -> std::io::Result<File> {
    let path = directory.join(format!(".numloom-spill-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

pub fn is_on() -> bool {
    SPILL.is_some()
}

/// Bytes the directory's file system has room for, with what is taken already.
pub fn capacity() -> usize {
    let Some(spill) = &*SPILL else { return 0 };
    // SAFETY: a plain query of an open file.
    let free = unsafe {
        let mut s: libc::statvfs = std::mem::zeroed();
        if libc::fstatvfs(spill.lock().file.as_raw_fd(), &mut s) != 0 {
            return 0;
        }
        s.f_bavail as usize * s.f_frsize as usize
    };
    free + LIVE.load(Ordering::Relaxed)
}

/// Bytes in the file now, and the most there were.
pub fn level() -> (usize, usize) {
    (LIVE.load(Ordering::Relaxed), PEAK.load(Ordering::Relaxed))
}

fn whole_pages(bytes: usize) -> usize {
    bytes.max(1).next_multiple_of(1 << 16)
}

/// A block in the file; `None` when it is off or full.
pub fn allocate(bytes: usize) -> Option<*mut u8> {
    let mut s = SPILL.as_ref()?.lock();
    let size = whole_pages(bytes);
    let end = s.end;
    let at = s.free.take(size, 1).unwrap_or(end);
    let fd = s.file.as_raw_fd();
    // SAFETY: room is taken in a file of ours before it is mapped, so that touching the pages cannot fail later.
    let p = unsafe {
        if libc::posix_fallocate(fd, at as libc::off_t, size as libc::off_t) != 0 {
            s.give(at, size);
            return None;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, fd, at as libc::off_t)
    };
    s.end = s.end.max(at + size);
    if p == libc::MAP_FAILED {
        s.give(at, size);
        return None;
    }
    s.blocks.insert(p as usize, (at, size));
    let now = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(now, Ordering::Relaxed);
    Some(p as *mut u8)
}

/// Frees a block of the file; false when the address is none.
///
/// # Safety
/// Nobody may use the block any more.
pub unsafe fn free(p: *mut u8) -> bool {
    let watched = WATCHED.load(Ordering::Relaxed);
    let Some(spill) = watched.then(|| SPILL.as_ref()).flatten() else { return false };
    let mut s = spill.lock();
    let Some((at, size)) = s.blocks.remove(&(p as usize)) else { return false };
    // SAFETY: a whole mapping of ours.
    unsafe { libc::munmap(p as *mut libc::c_void, size) };
    s.give(at, size);
    LIVE.fetch_sub(size, Ordering::Relaxed);
    true
}

impl Spill {
    /// A range of the file is empty again; the disk gets its room back.
    fn give(&mut self, at: usize, size: usize) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: a range of a file of ours that nothing maps.
        unsafe { libc::fallocate(self.file.as_raw_fd(), mode, at as libc::off_t, size as libc::off_t) };
        self.free.give(at, size);
    }
}

/// Moves arrays that nobody uses to the file until `missing` bytes of memory are free; false if none could be moved.
/// The largest go first.
pub fn evict(missing: usize) -> bool {
    if !is_on() {
        return false;
    }
    let mut span = Span::new(Lane::System, Doing::Spill);
    span.count(missing);
    let mut leaving: Vec<(*const Store, *mut u8, usize)> = Vec::new();
    let mut bytes = 0;
    ledger::look_through(Memory::System, |store, instance| {
        if let Some(from) = store.begin_move() {
            bytes += instance.bytes;
            leaving.push((store, from, instance.bytes));
        }
        bytes < missing
    });
    // Not under the ledger's lock: what runs inline may need it.
    let_inline_pass();
    let mut freed = 0;
    for (store, from, bytes) in leaving {
        // SAFETY: a store that is moving cannot go, see `finish_move`.
        if unsafe { (*store).finish_move(from, Memory::Spill, allocate) } {
            freed += bytes;
        }
    }
    freed > 0
}

/// Odd while an operation runs inline: it looks at addresses without telling the stores.
static INLINE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static RUNS_INLINE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs an operation inline while arrays may move. It holds addresses of arrays that look idle,
/// and others wait for it: it makes no room and waits for none. What it makes goes to the file.
pub fn runs_inline() -> bool {
    RUNS_INLINE.get()
}

/// Whether arrays may move: nothing does before there are threads, and settings are not read before they are needed.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Called before threads start.
pub fn watch() {
    WATCHED.store(numloom_config::current().spill.is_some() || reserved::devices() > 0, Ordering::SeqCst);
}

/// Held by operations that run inline, so that an array does not move under them. They hold the interpreter's lock,
/// so there is one at a time; one inside another is part of it.
pub struct Inline(bool);

#[inline]
pub fn inline() -> Inline {
    let watched = WATCHED.load(Ordering::Relaxed) && !RUNS_INLINE.get();
    if watched {
        RUNS_INLINE.set(true);
        INLINE.fetch_add(1, Ordering::SeqCst);
    }
    Inline(watched)
}

impl Drop for Inline {
    #[inline]
    fn drop(&mut self) {
        if self.0 {
            INLINE.fetch_add(1, Ordering::SeqCst);
            RUNS_INLINE.set(false);
        }
    }
}

/// Waits for the inline operation that was under way, if there was one.
pub fn let_inline_pass() {
    let seen = INLINE.load(Ordering::SeqCst);
    while seen % 2 == 1 && INLINE.load(Ordering::SeqCst) == seen {
        std::thread::yield_now();
    }
}
