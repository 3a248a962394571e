//! NVRTC, and the cubins it made: kept in memory and in files that survive the process.

use crate::CudaError;
use crate::load::{Kind, Search, table};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

type Program = *mut c_void;

table! {
    /// `libnvrtc`.
    Nvrtc {
        version "nvrtcVersion" (*mut i32, *mut i32);
        create "nvrtcCreateProgram" (*mut Program, *const c_char, *const c_char, i32, *const *const c_char, *const *const c_char);
        destroy "nvrtcDestroyProgram" (*mut Program);
        compile "nvrtcCompileProgram" (Program, i32, *const *const c_char);
        log_size "nvrtcGetProgramLogSize" (Program, *mut usize);
        log "nvrtcGetProgramLog" (Program, *mut c_char);
        cubin_size "nvrtcGetCUBINSize" (Program, *mut usize);
        cubin "nvrtcGetCUBIN" (Program, *mut c_char);
    } optional {
        arch_count "nvrtcGetNumSupportedArchs" (*mut i32);
        archs "nvrtcGetSupportedArchs" (*mut i32);
    }
}

// SAFETY: function pointers and a library handle; NVRTC may be called from any thread.
unsafe impl Send for Nvrtc {}
unsafe impl Sync for Nvrtc {}

/// Options of every compilation. NumPy does not contract `a * b + c`, so neither do we: results then equal the
/// CPU's to the last bit, and memory, not arithmetic, is what fused kernels wait for. Division and square roots
/// are rounded right and subnormals kept, as NVRTC does unless told otherwise.
const OPTIONS: &[&str] = &["--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"];

/// Leaves out what no kernel of ours uses of CUDA's own headers: a small program takes 25 ms instead of 29. Of CUDA 13.
const MINIMAL: &str = "--minimal";

/// Of the file format: changes when it does.
const MAGIC: &[u8; 8] = b"NLCUBIN1";

pub struct Compiler {
    nvrtc: Nvrtc,
    version: (i32, i32),
    dir: Option<PathBuf>,
    memory: Mutex<HashMap<u128, Arc<Vec<u8>>>>,
    compiled: AtomicU64,
}

/// `$XDG_CACHE_HOME/numloom` or `~/.cache/numloom`.
pub fn default_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").filter(|p| p.is_absolute()).or_else(|| set("HOME").map(|h| h.join(".cache")))?;
    Some(base.join("numloom"))
}

/// FNV-1a over 128 bits: the same in every process.
fn fingerprint(parts: &[&[u8]]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut h: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        for &b in part.iter().chain(&(part.len() as u64).to_le_bytes()) {
            h = (h ^ b as u128).wrapping_mul(PRIME);
        }
    }
    h
}

impl Compiler {
    /// `dir`: where cubins are kept; `None` keeps them in memory only. `driver_major`: the CUDA version of the driver
    /// that is to run them.
    pub fn open(search: &Search, dir: Option<PathBuf>, driver_major: Option<i32>) -> Result<Compiler, CudaError> {
        let opened = match driver_major {
            Some(major) => search.open_for(Kind::Nvrtc, major)?,
            None => search.open(Kind::Nvrtc)?,
        };
        let nvrtc = Nvrtc::load(&opened, "NVRTC")?;
        let mut version = (0, 0);
        // SAFETY: writes two numbers.
        unsafe { (nvrtc.version)(&mut version.0, &mut version.1) };
        let (memory, compiled) = (Mutex::new(HashMap::new()), AtomicU64::new(0));
        Ok(Compiler { nvrtc, version, dir, memory, compiled })
    }

    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// How many times NVRTC was run.
    pub fn compiled(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }

    /// The newest architecture NVRTC knows that code for `arch` (90 for compute capability 9.0) can be made for.
    pub fn supports(&self, arch: u32) -> bool {
        let (Some(count), Some(list)) = (self.nvrtc.arch_count, self.nvrtc.archs) else { return true };
        let mut n = 0;
        // SAFETY: `archs` writes as many numbers as `arch_count` says.
        unsafe {
            if count(&mut n) != 0 || n <= 0 {
                return true;
            }
            let mut all = vec![0; n as usize];
            list(all.as_mut_ptr()) != 0 || all.contains(&(arch as i32))
        }
    }

    /// What tells the cubin of a program from all others.
    pub(crate) fn key(&self, source: &str, arch: u32) -> u128 {
        fingerprint(&[
            source.as_bytes(),
            &arch.to_le_bytes(),
            &self.version.0.to_le_bytes(),
            &self.version.1.to_le_bytes(),
            self.options().join(" ").as_bytes(),
        ])
    }

    fn options(&self) -> Vec<&'static str> {
        let minimal = (self.version.0 >= 13).then_some(MINIMAL);
        OPTIONS.iter().copied().chain(minimal).collect()
    }

    fn file(&self, key: u128) -> Option<PathBuf> {
        self.dir.as_ref().map(|d| d.join(format!("{key:032x}.cubin")))
    }

    fn keep(&self, key: u128, cubin: Vec<u8>) -> Arc<Vec<u8>> {
        let cubin = Arc::new(cubin);
        self.memory.lock().unwrap_or_else(|e| e.into_inner()).insert(key, cubin.clone());
        cubin
    }

    /// The cubin of this name, if this process has it.
    pub(crate) fn made(&self, key: u128) -> Option<Arc<Vec<u8>>> {
        self.memory.lock().unwrap_or_else(|e| e.into_inner()).get(&key).cloned()
    }

    /// The cubin of a program that was compiled before, by this process or another.
    pub(crate) fn made_before(&self, source: &str, arch: u32) -> Option<Arc<Vec<u8>>> {
        let key = self.key(source, arch);
        self.made(key).or_else(|| self.file(key).and_then(|f| read(&f, key)).map(|cubin| self.keep(key, cubin)))
    }

    /// The cubin of a program for `arch`.
    pub fn cubin(&self, source: &str, arch: u32) -> Result<Arc<Vec<u8>>, CudaError> {
        if let Some(found) = self.made_before(source, arch) {
            return Ok(found);
        }
        let cubin = self.compile(source, arch)?;
        let key = self.key(source, arch);
        // A cache that cannot be written only costs time.
        if let Some(f) = self.file(key) {
            let _ = write(&f, key, &cubin);
        }
        Ok(self.keep(key, cubin))
    }

    fn compile(&self, source: &str, arch: u32) -> Result<Vec<u8>, CudaError> {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let failed = |what: &str| CudaError::Compile(what.to_string());
        let text = CString::new(source).map_err(|_| failed("the source has a zero byte"))?;
        let arch = format!("--gpu-architecture=sm_{arch}");
        let options: Vec<CString> =
            self.options().into_iter().chain([arch.as_str()]).filter_map(|o| CString::new(o).ok()).collect();
        let options: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: NVRTC copies the source; every buffer has the size NVRTC asked for; the program is destroyed on
        // every way out.
        unsafe {
            let (n, none) = (&self.nvrtc, std::ptr::null());
            if (n.create)(&mut program, text.as_ptr(), c"numloom.cu".as_ptr(), 0, none, none) != 0 {
                return Err(failed("NVRTC has no memory for the program"));
            }
            let code = (n.compile)(program, options.len() as i32, options.as_ptr());
            let result = if code != 0 {
                Err(CudaError::Compile(format!("NVRTC error {code}: {}", self.log(program))))
            } else {
                let mut size = 0;
                let mut cubin = Vec::new();
                let mut got = (n.cubin_size)(program, &mut size);
                if got == 0 {
                    cubin.resize(size, 0u8);
                    got = (n.cubin)(program, cubin.as_mut_ptr().cast());
                }
                if got == 0 && size > 0 { Ok(cubin) } else { Err(failed("NVRTC gave no machine code")) }
            };
            (n.destroy)(&mut program);
            result
        }
    }

    unsafe fn log(&self, program: Program) -> String {
        let mut size = 0;
        if (self.nvrtc.log_size)(program, &mut size) != 0 || size == 0 {
            return String::new();
        }
        let mut text = vec![0u8; size];
        (self.nvrtc.log)(program, text.as_mut_ptr().cast());
        String::from_utf8_lossy(&text).trim_end_matches('\0').to_string()
    }
}

/// A cached cubin, if the file is whole.
fn read(file: &Path, key: u128) -> Option<Vec<u8>> {
    let bytes = std::fs::read(file).ok()?;
    let (head, cubin) = bytes.split_at_checked(MAGIC.len() + 32)?;
    let number = |at: usize| head.get(at..at + 16).and_then(|b| b.try_into().ok()).map(u128::from_le_bytes);
    let sound = head.starts_with(MAGIC)
        && number(MAGIC.len()) == Some(key)
        && number(MAGIC.len() + 16) == Some(fingerprint(&[cubin]));
    sound.then(|| cubin.to_vec())
}

/// Under a name of its own first: a reader sees a whole file or none, whoever else writes.
fn write(file: &Path, key: u128, cubin: &[u8]) -> std::io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let dir = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    let unique = format!(".{key:032x}.{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let temporary = dir.join(unique);
    let mut out = std::fs::File::create(&temporary)?;
    let written = out
        .write_all(MAGIC)
        .and_then(|()| out.write_all(&key.to_le_bytes()))
        .and_then(|()| out.write_all(&fingerprint(&[cubin]).to_le_bytes()))
        .and_then(|()| out.write_all(cubin));
    drop(out);
    let moved = written.and_then(|()| std::fs::rename(&temporary, file));
    if moved.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    moved
}
