//! The heap that everything but large arrays lives on.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long free pages stay with the heap before the system gets them back. A window's operations are made and
/// dropped together, so what one window frees the next one takes; at mimalloc's own 10 ms the pages in between
/// go back to the system, and taking them again costs more than recording.
const KEEP_MILLISECONDS: i64 = 500;

/// mimalloc's number for the option; the binding leaves it out.
const PURGE_DELAY: i32 = 15;

pub fn init() {
    // SAFETY: called while the module is imported, before other threads of ours exist.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, KEEP_MILLISECONDS) };
}
