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
    let _ = use_small_pages();
}

/// mimalloc asks for huge pages, and every thread's first few objects then cost 2 MiB. Arrays large enough for
/// huge pages are not on this heap.
fn use_small_pages() -> Option<()> {
    let inside = Box::new(0u64);
    let address = &*inside as *const u64 as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let range = maps.lines().find_map(|line| {
        let (start, rest) = line.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(rest.split_once(' ')?.0, 16).ok()?;
        (start..end).contains(&address).then_some(start..end)
    })?;
    // SAFETY: advice on a mapping of ours; it changes no contents.
    unsafe { libc::madvise(range.start as *mut libc::c_void, range.len(), libc::MADV_NOHUGEPAGE) };
    Some(())
}
