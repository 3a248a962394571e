//! The code that ordinary programs run, the constants and the tables of loops, brought in when the module is imported. `build.rs` lays it between two
//! marks; on first use it would come in by pieces of 64 KiB around every function, most of which nobody asked for.

/// Stands before the functions of `hot_functions.txt`.
#[unsafe(no_mangle)]
extern "C" fn numloom_hot_begin() -> usize {
    1
}

/// Stands behind them.
#[unsafe(no_mangle)]
extern "C" fn numloom_hot_end() -> usize {
    2
}

/// Stands before the constants.
#[unsafe(no_mangle)]
static NUMLOOM_CONSTANTS_BEGIN: u64 = 3;

/// More than this between the marks means that the linker did not lay them so.
const AT_MOST: usize = 4 << 20;
/// About as many bytes of constants as there are.
const CONSTANTS: usize = 832 << 10;
const PAGE: usize = 4096;

pub fn init() {
    numloom_loops::fill_tables();
    let (begin, end) = (numloom_hot_begin as *const () as usize, numloom_hot_end as *const () as usize);
    let Some(bytes) = end.checked_sub(begin).filter(|&bytes| bytes <= AT_MOST) else { return };
    bring_in(begin, bytes);
    // Behind the constants lie the tables of unwinding, and then the code: all of it ours.
    let constants = &raw const NUMLOOM_CONSTANTS_BEGIN as usize;
    bring_in(constants, begin.saturating_sub(constants).min(CONSTANTS));
}

fn bring_in(begin: usize, bytes: usize) {
    let start = begin & !(PAGE - 1);
    #[cfg(target_os = "linux")]
    // SAFETY: advice on our own code and constants; it changes no contents. A kernel that does not know it refuses.
    unsafe {
        libc::madvise(start as *mut libc::c_void, bytes + (begin - start), libc::MADV_POPULATE_READ);
    }
}
