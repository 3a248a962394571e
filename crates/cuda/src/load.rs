//! CUDA's libraries, found at run time: on the loader's path, in a toolkit, or in NVIDIA's wheels.

use crate::CudaError;
use libloading::Library;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A library that may be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Driver,
    Nvrtc,
    Cublas,
    Cusolver,
    Cufft,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Driver, Kind::Nvrtc, Kind::Cublas, Kind::Cusolver, Kind::Cufft];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Driver => "CUDA driver",
            Kind::Nvrtc => "NVRTC",
            Kind::Cublas => "cuBLAS",
            Kind::Cusolver => "cuSOLVER",
            Kind::Cufft => "cuFFT",
        }
    }

    /// Names in the order they are tried: CUDA 13's, then CUDA 12's. Wheels have no plain `.so`.
    fn sonames(self) -> &'static [&'static str] {
        match self {
            Kind::Driver => &["libcuda.so.1", "libcuda.so"],
            Kind::Nvrtc => &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"],
            Kind::Cublas => &["libcublas.so.13", "libcublas.so.12", "libcublas.so"],
            Kind::Cusolver => &["libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"],
            Kind::Cufft => &["libcufft.so.12", "libcufft.so.11", "libcufft.so"],
        }
    }
}

/// A line of the report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    Found { library: &'static str, version: String, path: String },
    Missing { library: &'static str, why: String },
}

/// Where to look beside the loader's own path.
#[derive(Clone, Debug, Default)]
pub struct Search {
    dirs: Vec<PathBuf>,
    /// The driver's library, where it is not to be looked for.
    driver: PathBuf,
}

/// An open library and the path it was opened by.
#[derive(Clone)]
pub struct Opened {
    pub library: Arc<Library>,
    pub path: String,
}

impl Search {
    /// `site_packages`: directories in which NVIDIA's wheels may lie.
    pub fn new(site_packages: &[PathBuf]) -> Search {
        let mut dirs: Vec<PathBuf> = Vec::new();
        for variable in ["CUDA_HOME", "CUDA_PATH"] {
            if let Some(home) = std::env::var_os(variable).filter(|v| !v.is_empty()) {
                dirs.push(Path::new(&home).join("lib64"));
                dirs.push(Path::new(&home).join("targets/x86_64-linux/lib"));
            }
        }
        for site in site_packages {
            // `nvidia/cu13/lib` (CUDA 13) comes before `nvidia/<library>/lib` (CUDA 12).
            let mut wheels = subdirs(&site.join("nvidia"));
            wheels.sort_by_key(|p| std::cmp::Reverse(p.file_name().is_some_and(|n| n == "cu13")));
            dirs.extend(wheels.into_iter().map(|p| p.join("lib")));
        }
        let mut toolkits: Vec<PathBuf> = subdirs(Path::new("/usr/local"))
            .into_iter()
            .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("cuda")))
            .collect();
        // `cuda` itself first, then the newest version.
        toolkits.sort();
        let (plain, versions): (Vec<_>, Vec<_>) =
            toolkits.into_iter().partition(|p| p.file_name().is_some_and(|n| n == "cuda"));
        for t in plain.into_iter().chain(versions.into_iter().rev()) {
            dirs.push(t.join("lib64"));
            dirs.push(t.join("targets/x86_64-linux/lib"));
        }
        dirs.retain(|d| d.is_dir());
        Search { dirs, driver: PathBuf::new() }
    }

    /// The same with the driver's library at a path; an empty one leaves it to be found.
    pub fn with_driver(self, path: &str) -> Search {
        Search { driver: path.into(), ..self }
    }

    /// Opens a library: by the loader's own path first, so that what the user set up wins.
    pub fn open(&self, kind: Kind) -> Result<Opened, CudaError> {
        if kind == Kind::Driver && !self.driver.as_os_str().is_empty() {
            let path = self.driver.display().to_string();
            return match open(&self.driver) {
                Ok(library) => Ok(Opened { library, path }),
                Err(why) => {
                    Err(CudaError::Missing(format!("the CUDA driver of --cuda-driver-path cannot be used: {why}")))
                }
            };
        }
        self.open_among(kind, kind.sonames())
    }

    /// As `open`, but one that is not newer than the driver's CUDA if there is such a one.
    pub fn open_for(&self, kind: Kind, driver_major: i32) -> Result<Opened, CudaError> {
        // NVRTC's and cuBLAS's numbers are CUDA's own, the others' are one behind.
        let behind = matches!(kind, Kind::Cusolver | Kind::Cufft) as i32;
        let newer = format!(".so.{}", driver_major.max(0) + 1 - behind);
        let fitting: Vec<&str> = kind.sonames().iter().copied().filter(|n| !n.ends_with(&newer)).collect();
        match kind {
            Kind::Driver => self.open(kind),
            _ => self.open_among(kind, &fitting).or_else(|_| self.open(kind)),
        }
    }

    fn open_among(&self, kind: Kind, sonames: &[&str]) -> Result<Opened, CudaError> {
        let mut why = String::new();
        for name in sonames {
            match open(Path::new(name)) {
                Ok(library) => return Ok(Opened { library, path: (*name).to_string() }),
                Err(e) if why.is_empty() => why = e,
                Err(_) => {}
            }
        }
        for dir in &self.dirs {
            for name in sonames {
                let path = dir.join(name);
                if !path.exists() {
                    continue;
                }
                match open(&path) {
                    Ok(library) => return Ok(Opened { library, path: path.display().to_string() }),
                    Err(e) => why = e,
                }
            }
        }
        let hint = match kind {
            Kind::Driver => "; install NVIDIA's driver for the GPU",
            Kind::Nvrtc => "; `pip install nvidia-cuda-nvrtc` brings it",
            Kind::Cublas => "; `pip install nvidia-cublas` brings it",
            Kind::Cusolver => "; `pip install nvidia-cusolver` brings it",
            Kind::Cufft => "; `pip install nvidia-cufft` brings it",
        };
        Err(CudaError::Missing(format!("{} was not found ({why}){hint}", kind.name())))
    }

    /// What was found where, for `--info`.
    pub fn report(&self) -> Vec<Report> {
        Kind::ALL
            .iter()
            .map(|&kind| match self.open(kind) {
                Ok(opened) => {
                    let path = resolved(&opened).unwrap_or_else(|| opened.path.clone());
                    Report::Found { library: kind.name(), version: version(kind, &opened), path }
                }
                Err(e) => Report::Missing { library: kind.name(), why: e.to_string() },
            })
            .collect()
    }
}

fn subdirs(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.is_dir()).collect();
    all.sort();
    all
}

fn open(path: &Path) -> Result<Arc<Library>, String> {
    // SAFETY: NVIDIA's libraries run no code of ours on loading; a file that is none fails to open.
    let opened = unsafe {
        libloading::os::unix::Library::open(
            Some(path),
            libloading::os::unix::RTLD_NOW | libloading::os::unix::RTLD_GLOBAL,
        )
    };
    let words = |e: libloading::Error| std::error::Error::source(&e).map_or_else(|| e.to_string(), |s| s.to_string());
    opened.map(|l| Arc::new(Library::from(l))).map_err(words)
}

/// The file behind a name the loader resolved, from the process's map of its memory.
fn resolved(opened: &Opened) -> Option<String> {
    if opened.path.starts_with('/') {
        return Some(opened.path.clone());
    }
    let stem = opened.path.split(".so").next()?.to_string() + ".so";
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let path = |line: &str| line.find('/').map(|at| line[at..].to_string());
    maps.lines().filter_map(path).find(|p| p.rsplit('/').next().is_some_and(|f| f.starts_with(&stem)))
}

fn version(kind: Kind, opened: &Opened) -> String {
    /// SAFETY of the calls below: each function has the type of NVIDIA's documentation, and writes one number.
    type One = unsafe extern "C" fn(*mut i32) -> i32;
    type Two = unsafe extern "C" fn(*mut i32, *mut i32) -> i32;
    type Part = unsafe extern "C" fn(i32, *mut i32) -> i32;
    let dotted = |major: i32, minor: i32| format!("{major}.{minor}");
    let part = |name: &[u8]| {
        let get = |which: i32| unsafe {
            let f: libloading::Symbol<Part> = opened.library.get(name).ok()?;
            let mut v = 0;
            (f(which, &mut v) == 0).then_some(v)
        };
        Some(format!("{}.{}.{}", get(0)?, get(1)?, get(2)?))
    };
    let found = match kind {
        Kind::Driver => unsafe {
            opened.library.get::<One>(b"cuDriverGetVersion\0").ok().and_then(|f| {
                let mut v = 0;
                (f(&mut v) == 0).then(|| format!("for CUDA {}", dotted(v / 1000, v % 1000 / 10)))
            })
        },
        Kind::Nvrtc => unsafe {
            opened.library.get::<Two>(b"nvrtcVersion\0").ok().and_then(|f| {
                let (mut major, mut minor) = (0, 0);
                (f(&mut major, &mut minor) == 0).then(|| dotted(major, minor))
            })
        },
        Kind::Cublas => part(b"cublasGetProperty\0"),
        Kind::Cusolver => part(b"cusolverGetProperty\0"),
        Kind::Cufft => part(b"cufftGetProperty\0"),
    };
    found.unwrap_or_else(|| "of unknown version".to_string())
}

/// A table of a library's functions, all of which answer an error code; `optional` ones are `None` in versions that
/// lack them.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident { $($name:ident $symbol:literal ($($arg:ty),*);)* } optional { $($oname:ident $osymbol:literal ($($oarg:ty),*);)* }) => {
        $(#[$doc])*
        pub(crate) struct $table {
            $(pub $name: unsafe extern "C" fn($($arg),*) -> i32,)*
            $(pub $oname: Option<unsafe extern "C" fn($($oarg),*) -> i32>,)*
            _library: std::sync::Arc<libloading::Library>,
        }

        impl $table {
            pub fn load(opened: &$crate::load::Opened, library: &str) -> Result<$table, $crate::CudaError> {
                // SAFETY: the types are those of NVIDIA's headers; the library stays open as long as the table.
                unsafe {
                    Ok($table {
                        $($name: *opened.library.get(concat!($symbol, "\0").as_bytes()).map_err(|_| {
                            $crate::CudaError::Missing(format!(
                                "{library} at {} is too old: it has no {}", opened.path, $symbol
                            ))
                        })?,)*
                        $($oname: opened.library.get(concat!($osymbol, "\0").as_bytes()).ok().map(|f| *f),)*
                        _library: opened.library.clone(),
                    })
                }
            }
        }
    };
}
pub(crate) use table;
