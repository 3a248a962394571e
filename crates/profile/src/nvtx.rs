//! Ranges for Nsight and other tools that listen to NVTX. Such a tool names a library in NVTX_INJECTION64_PATH; it is
//! loaded, asks for the places where it may put its functions, and is called from then on. Where none is named, a range
//! costs a load and a branch.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Functions of each of NVTX's modules, by the module's number: the first is nobody's. Those that are never called have
/// their places, too, since tools expect them.
const SIZES: [usize; 7] = [0, 16, 9, 15, 7, 16, 7];
const MOST: usize = 16;
const CORE: usize = 1;
const RANGE_PUSH: usize = 9;
const RANGE_POP: usize = 11;

static SLOTS: [[AtomicPtr<c_void>; MOST]; SIZES.len()] =
    [const { [const { AtomicPtr::new(null_mut()) }; MOST] }; SIZES.len()];
static ATTACHED: AtomicBool = AtomicBool::new(false);

#[repr(C)]
struct Callbacks {
    size: usize,
    module: unsafe extern "C" fn(c_int, *mut *const *const c_void, *mut c_uint) -> c_int,
}

#[repr(C)]
struct VersionInfo {
    size: usize,
    version: u32,
    reserved: u32,
    tell: unsafe extern "C" fn(u32),
}

static CALLBACKS: Callbacks = Callbacks { size: size_of::<Callbacks>(), module };
static VERSION: VersionInfo =
    VersionInfo { size: size_of::<VersionInfo>(), version: 3, reserved: 0, tell: version_of_tool };

type ExportTable = unsafe extern "C" fn(u32) -> *const c_void;

unsafe extern "C" fn export_table(number: u32) -> *const c_void {
    match number {
        1 => (&raw const CALLBACKS).cast(),
        3 => (&raw const VERSION).cast(),
        _ => std::ptr::null(),
    }
}

unsafe extern "C" fn version_of_tool(_: u32) {}

/// Gives a tool the places of a module's functions: pointers to them, with a null at the end.
unsafe extern "C" fn module(number: c_int, table: *mut *const *const c_void, size: *mut c_uint) -> c_int {
    static TABLES: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        let places =
            |k: usize| SLOTS[k].iter().enumerate().map(|(at, slot)| if at == 0 { 0 } else { slot.as_ptr() as usize });
        (0..SIZES.len()).map(|k| places(k).take(SIZES[k]).chain([0]).collect()).collect()
    });
    let Some(k) = usize::try_from(number).ok().filter(|k| (1..SIZES.len()).contains(k)) else { return 0 };
    // SAFETY: the caller passes places for its answers, or nulls.
    unsafe {
        if !size.is_null() {
            *size = SIZES[k] as c_uint;
        }
        if !table.is_null() {
            *table = tables[k].as_ptr().cast();
        }
    }
    1
}

/// Loads the tool that is named, if one is. Once, while the package is loaded.
pub fn attach() {
    let Some(path) = std::env::var_os("NVTX_INJECTION64_PATH").filter(|p| !p.is_empty()) else { return };
    let Ok(path) = CString::new(path.as_bytes()) else { return };
    // SAFETY: the user names the library to be loaded; what it exports under this name has this type.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return;
        }
        let begin = libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr());
        if !begin.is_null() {
            attach_to(std::mem::transmute::<*mut c_void, Begin>(begin));
        }
    }
}

type Begin = unsafe extern "C" fn(ExportTable) -> c_int;

/// # Safety
/// `begin` takes a table of exports as NVTX's injection libraries do.
unsafe fn attach_to(begin: Begin) {
    // SAFETY: the caller's.
    if unsafe { begin(export_table) } != 0 {
        ATTACHED.store(true, Ordering::Release);
    }
}

/// Whether a tool listens.
#[inline]
pub fn attached() -> bool {
    ATTACHED.load(Ordering::Relaxed)
}

/// Opens a range on this thread.
pub fn push(name: &str) {
    let push = SLOTS[CORE][RANGE_PUSH].load(Ordering::Acquire);
    if let Ok(name) = CString::new(name)
        && !push.is_null()
    {
        // SAFETY: the tool put a function of this type there.
        unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> c_int>(push)(name.as_ptr());
        }
    }
}

/// Closes the range that this thread opened last.
pub fn pop() {
    let pop = SLOTS[CORE][RANGE_POP].load(Ordering::Acquire);
    if !pop.is_null() {
        // SAFETY: the tool put a function of this type there.
        unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(pop)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::ffi::CStr;

    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    unsafe extern "C" fn hear_push(name: *const c_char) -> c_int {
        // SAFETY: a text that ends.
        HEARD.lock().push(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
        0
    }

    unsafe extern "C" fn hear_pop() -> c_int {
        HEARD.lock().push("pop".into());
        0
    }

    /// What a tool's library does when it is loaded.
    unsafe extern "C" fn tool(export: ExportTable) -> c_int {
        // SAFETY: as NVTX describes it.
        unsafe {
            let callbacks = &*export(1).cast::<Callbacks>();
            assert_eq!(callbacks.size, size_of::<Callbacks>());
            assert!((*export(3).cast::<VersionInfo>()).version == 3 && export(2).is_null());
            let (mut table, mut size) = (std::ptr::null(), 0);
            assert_eq!((callbacks.module)(7, &mut table, &mut size), 0);
            assert_eq!((callbacks.module)(CORE as c_int, &mut table, &mut size), 1);
            assert_eq!(size, 16);
            let place = |at: usize| (*table.add(at)).cast_mut().cast::<*const c_void>();
            assert!(place(0).is_null() && place(16).is_null());
            *place(RANGE_PUSH) = hear_push as *const c_void;
            *place(RANGE_POP) = hear_pop as *const c_void;
        }
        1
    }

    #[test]
    fn a_tool_hears_of_ranges() {
        push("before anybody listens");
        assert!(!attached());
        // SAFETY: it is what an injection library exports.
        unsafe { attach_to(tool) };
        assert!(attached());
        push("solve");
        push("with\0nothing");
        pop();
        assert_eq!(*HEARD.lock(), ["solve", "pop"]);
    }
}
