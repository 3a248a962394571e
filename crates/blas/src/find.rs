//! Which of the libraries in this process is an OpenBLAS with all that is needed, under which names, with integers of
//! which width.

use crate::table::Table;
use crate::threads::Threads;
use crate::{Blas, Factors};
use parking_lot::Mutex;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// How a library spells the names of its routines, of Fortran's and of its own.
struct Spelling {
    prefix: &'static str,
    fortran: &'static str,
    own: &'static str,
}

/// The wide ones first: they have no limit that a matrix could reach.
const SPELLINGS: [Spelling; 4] = [
    Spelling { prefix: "scipy_", fortran: "_64_", own: "64_" },
    Spelling { prefix: "", fortran: "_64_", own: "64_" },
    Spelling { prefix: "scipy_", fortran: "_", own: "" },
    Spelling { prefix: "", fortran: "_", own: "" },
];

/// The first library of the process that will do, for `threads` threads.
pub(crate) fn find(threads: usize) -> Option<Blas> {
    let mut names = loaded();
    // NumPy's own before one that something else brought along.
    names.sort_by_key(|name| !name.to_string_lossy().contains("/numpy"));
    names.iter().find_map(|name| SPELLINGS.iter().find_map(|spelling| open(name, spelling, threads)))
}

/// Files that are loaded and called like a BLAS.
fn loaded() -> Vec<CString> {
    #[cfg(target_os = "linux")]
    {
        unsafe extern "C" fn see(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
            // SAFETY: the loader's record has a name or none, and `found` is the list below.
            let (name, found) = ((*info).dlpi_name, &mut *found.cast::<Vec<CString>>());
            if !name.is_null() {
                let name = CStr::from_ptr(name);
                let file = name.to_bytes().rsplit(|&b| b == b'/').next().unwrap_or_default();
                if file.windows(4).any(|part| part == b"blas") {
                    found.push(name.to_owned());
                }
            }
            0
        }
        let mut found: Vec<CString> = Vec::new();
        // SAFETY: the list outlives the walk, which is over when this returns.
        unsafe { libc::dl_iterate_phdr(Some(see), (&raw mut found).cast()) };
        found
    }
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

fn open(name: &CStr, spelling: &Spelling, threads: usize) -> Option<Blas> {
    // SAFETY: the library is there already (it is not loaded by this), and is never closed; what is looked up by
    // OpenBLAS's names in a library that has all of them is OpenBLAS's, and has its types.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() {
            return None;
        }
        let find = |text: String| CString::new(text).map_or(std::ptr::null_mut(), |s| libc::dlsym(library, s.as_ptr()));
        let own = |plain: &str| {
            let found = find(format!("{}{plain}{}", spelling.prefix, spelling.own));
            (!found.is_null()).then_some(found)
        };
        let config =
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(own("openblas_get_config")?);
        let parallel =
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(own("openblas_get_parallel")?);
        let get = std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(own("openblas_get_num_threads")?);
        let set = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int)>(own("openblas_set_num_threads")?);
        let table = Table::load(|plain| find(format!("{}{plain}{}", spelling.prefix, spelling.fortran)))?;

        let text = config();
        let wide = !text.is_null() && CStr::from_ptr(text).to_string_lossy().contains("USE64BITINT");
        let threads = Threads { wanted: threads, get, set, jobs: Mutex::default() };
        // One without threads would leave the other workers idle.
        let fast = parallel() != 0 || threads.wanted == 1;
        let blas = Blas { table, threads, wide, path: name.to_string_lossy().into_owned() };
        (fast && (wide || cfg!(target_endian = "little")) && is_right(&blas)).then_some(blas)
    }
}

/// Factors a small matrix whose rows must be exchanged: the places tell how wide integers are.
fn is_right(blas: &Blas) -> bool {
    let mut a = [1.0, 3.0, 4.0, 2.0, 5.0, 9.0, 7.0, 8.0, 6.0];
    let mut places = [0i64; 3];
    // SAFETY: the matrix is three by three, and there is room for three places.
    unsafe {
        let info = <f64 as Factors>::getrf(blas, 3, a.as_mut_ptr(), places.as_mut_ptr());
        info == 0 && a[0] == 4.0 && [0, 1, 2].map(|i| blas.integer(places.as_ptr(), i)) == [3, 2, 3]
    }
}
