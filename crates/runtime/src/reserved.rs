//! Memories besides SYSTEM_MEM, each a range of addresses reserved at its configured size: the sockets', the pinned
//! host memory that devices can read, and the devices' own.

use crate::gpu;
use crate::lost;
use crate::memory::Memory;
use crate::region::Region;
use numloom_config::{Domain, GpuBackend, Machine};
use numloom_cuda::{CudaError, Device, Pinned};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// What devices like their arrays to start at.
pub const ALIGN: usize = 256;
const PAGE: usize = 4096;

pub struct Reserved {
    pub memory: Memory,
    pub capacity: usize,
    pub live: AtomicU64,
    pub peak: AtomicU64,
    backing: Backing,
    /// Of a device's memory: a task is being bound there, or runs.
    taken: AtomicBool,
}

/// Where the bytes of a pool really are.
enum Backing {
    Host(OnceLock<Option<Region>>),
    /// Host memory that the GPU's driver has pinned, all at once when the first block is asked for.
    Pinned(Arc<Device>, OnceLock<Option<(Region, Pinned)>>),
    Gpu(Arc<Device>),
}

/// The size a block of `nbytes` really has. Large ones have their pages to themselves.
pub fn rounded(nbytes: usize) -> usize {
    if nbytes < PAGE { nbytes.max(1).next_multiple_of(ALIGN) } else { nbytes.next_multiple_of(PAGE) }
}

struct All {
    pools: Vec<Reserved>,
    sockets: usize,
    domains: Vec<Domain>,
}

static ALL: LazyLock<All> = LazyLock::new(|| {
    let settings = numloom_config::current();
    let over = |memory, capacity, backing| Reserved {
        memory,
        capacity,
        live: AtomicU64::new(0),
        peak: AtomicU64::new(0),
        backing,
        taken: AtomicBool::new(false),
    };
    let pool = |memory, capacity| over(memory, capacity, Backing::Host(OnceLock::new()));
    let domains = if settings.numamem > 0 { Machine::here().domains() } else { Vec::new() };
    let sockets = if settings.numamem > 0 { domains.len().clamp(1, 64) } else { 0 };
    let mut pools: Vec<Reserved> = (0..sockets).map(|k| pool(Memory::Socket(k as u8), settings.numamem)).collect();
    if settings.gpus > 0 && settings.gpu_backend == GpuBackend::Sim {
        pools.push(pool(Memory::ZeroCopy, settings.zcmem));
        pools.extend((0..settings.gpus.min(64)).map(|k| pool(Memory::Framebuffer(k as u8), settings.fbmem)));
    } else {
        let gpus = gpu::open(settings.gpus.min(64));
        if let Some(first) = gpus.first() {
            let pinned = Backing::Pinned(first.clone(), OnceLock::new());
            pools.push(over(Memory::ZeroCopy, settings.zcmem, pinned));
        }
        for (k, device) in gpus.into_iter().enumerate() {
            let free = device.memory().map_or(0, |(free, _)| free / 10 * 9);
            let capacity = if settings.fbmem == 0 { free } else { settings.fbmem.min(free) };
            pools.push(over(Memory::Framebuffer(k as u8), capacity, Backing::Gpu(device)));
        }
    }
    EXIST.store(!pools.is_empty(), Ordering::SeqCst);
    All { pools, sockets, domains }
});

static EXIST: AtomicBool = AtomicBool::new(false);

/// Whether there are such memories. Nothing lies in one before somebody has asked for it.
#[inline]
pub fn exist() -> bool {
    EXIST.load(Ordering::Relaxed)
}

/// The pool of a memory, if there is such a memory here.
pub fn pool(memory: Memory) -> Option<&'static Reserved> {
    let at = match memory {
        Memory::Socket(k) if (k as usize) < ALL.sockets => k as usize,
        Memory::ZeroCopy => ALL.sockets,
        Memory::Framebuffer(k) => ALL.sockets + 1 + k as usize,
        _ => return None,
    };
    ALL.pools.get(at)
}

/// The GPU whose memory it is, if it is one's.
pub fn gpu(memory: Memory) -> Option<&'static Arc<Device>> {
    if memory.is_host() {
        return None;
    }
    pool(memory)?.gpu()
}

/// Whether the devices are GPUs, not simulated.
pub fn are_gpus() -> bool {
    devices() > 0 && gpu(Memory::Framebuffer(0)).is_some()
}

pub fn all() -> &'static [Reserved] {
    &ALL.pools
}

pub fn sockets() -> usize {
    ALL.sockets
}

/// The socket whose core this thread runs on.
pub fn socket_here() -> usize {
    // SAFETY: a plain query.
    let core = unsafe { libc::sched_getcpu() };
    ALL.domains.iter().position(|d| d.cores.contains(&(core.max(0) as usize))).unwrap_or(0)
}

/// How many devices there are. Asked for at every step, so it is kept close at hand.
#[inline]
pub fn devices() -> usize {
    static COUNT: AtomicU64 = AtomicU64::new(u64::MAX);
    match COUNT.load(Ordering::Relaxed) {
        u64::MAX => {
            let n = ALL.pools.len().saturating_sub(ALL.sockets + 1);
            COUNT.store(n as u64, Ordering::Relaxed);
            n
        }
        n => n as usize,
    }
}

impl Reserved {
    /// The GPU whose memory it is, unless that lies in host memory.
    pub fn gpu(&self) -> Option<&Arc<Device>> {
        match &self.backing {
            Backing::Gpu(device) => Some(device),
            Backing::Host(_) | Backing::Pinned(..) => None,
        }
    }

    /// Whether GPUs copy from and to it without a detour.
    pub fn is_pinned(&self) -> bool {
        matches!(&self.backing, Backing::Pinned(..)) && self.region().is_some()
    }

    fn region(&self) -> Option<&Region> {
        let region = match &self.backing {
            Backing::Host(region) => region,
            Backing::Pinned(device, made) => {
                let pin = || {
                    // Room for blocks to start at whole pages.
                    let memory = device.pinned(self.capacity.checked_add(PAGE)?).ok()?;
                    let start = memory.ptr().wrapping_add(memory.ptr().align_offset(PAGE));
                    Some((Region::over(start, self.capacity), memory))
                };
                return made.get_or_init(pin).as_ref().map(|(region, _)| region);
            }
            Backing::Gpu(_) => return None,
        };
        // Twice what may be used: room for blocks of any size between others.
        let made = region.get_or_init(|| {
            let region = Region::reserve(self.capacity.saturating_mul(2), PAGE)?;
            if let Memory::Socket(k) = self.memory {
                region.bind_to(ALL.domains.get(k as usize).map_or(0, |d| d.id));
            }
            Some(region)
        });
        made.as_ref()
    }

    /// A block; its bytes were taken from the budget before. Where it was not for want of room, what the device said.
    pub fn take(&self, size: usize) -> Result<*mut u8, Option<String>> {
        if let Some(device) = self.gpu() {
            let block = lost::check().and_then(|()| device.alloc(size));
            return block.map(|at| at as *mut u8).map_err(|e| match lost::heard(e) {
                CudaError::OutOfMemory { .. } => None,
                other => Some(other.to_string()),
            });
        }
        let region = self.region().ok_or(None)?;
        region.take(size, if size >= PAGE { PAGE } else { ALIGN }).ok_or(None)
    }

    /// # Safety
    /// The block must come from `take(size)` and not be used afterwards.
    pub unsafe fn give(&self, block: *mut u8, size: usize) {
        if let Some(device) = self.gpu() {
            if !lost::are_lost() {
                // SAFETY: the caller's. A device that fails says so again where somebody can be told.
                let _ = unsafe { device.free(block as u64) };
            }
            return;
        }
        if let Some(region) = self.region() {
            // SAFETY: the caller's.
            unsafe { region.give(block, size) };
        }
    }

    /// Starts to use the device alone; false while somebody else does.
    pub fn begin(&self) -> bool {
        !self.taken.swap(true, Ordering::Acquire)
    }

    pub fn end(&self) {
        self.taken.store(false, Ordering::Release);
    }
}
