//! A GPU: its memory, copies, streams and events. Every call makes the device's context the calling thread's first.

use crate::CudaError;
use crate::background::Background;
use crate::compile::Compiler;
use crate::driver::{Context, Copy2d, Driver, Event as RawEvent, MEMORY_DEVICE, MEMORY_HOST, NOT_READY, OUT_OF_MEMORY};
use crate::driver::{Function, Module, Pool, PoolProps, Stream as RawStream};
use crate::graph;
use crate::kept::Kept;
use crate::launch::Kernels;
use crate::load::{Kind, Search};
use crate::ops::{Functions, Libraries};
use crate::plan::{Chip, MOST_THREADS};
use crate::queue::Queue;
use crate::timed;
use crate::wait::Waits;
use std::ffi::{CStr, CString, c_void};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Which of a device's streams: kernels in order on one, copies on their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lane {
    Compute,
    /// Host to device.
    Upload,
    /// Device to host.
    Download,
}

/// What the driver says of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Properties {
    pub ordinal: u32,
    pub name: String,
    /// Compute capability, as 90 for 9.0.
    pub arch: u32,
    pub multiprocessors: u32,
    pub threads_each: u32,
    pub l2_bytes: usize,
    /// The CUDA version the driver was made for, as (13, 0).
    pub driver: (i32, i32),
}

/// How to open a device.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub search: Search,
    /// Where cubins are kept.
    pub cache: Option<PathBuf>,
    /// Sequences of small launches that come again are replayed as graphs.
    pub graphs: bool,
}

pub struct Device {
    pub(crate) driver: Arc<Driver>,
    pub(crate) compiler: Arc<Compiler>,
    pub(crate) background: Background,
    pub(crate) kernels: Kernels,
    pub(crate) functions: Functions,
    pub(crate) search: Search,
    pub(crate) libraries: Libraries,
    pub(crate) context: Context,
    pub(crate) handle: i32,
    properties: Properties,
    pub(crate) pool: Pool,
    streams: [RawStream; 3],
    /// Lanes that were given something since the last wait for all.
    used: [AtomicBool; 3],
    pub(crate) scratch: Mutex<Scratch>,
    pub(crate) queue: Queue,
    kept: Mutex<Kept>,
    pub(crate) waits: Waits,
}

// SAFETY: the driver's handles may be used from any thread; each call sets the context of its thread first.
unsafe impl Send for Device {}
unsafe impl Sync for Device {}
unsafe impl Send for Driver {}
unsafe impl Sync for Driver {}

/// Memory of the folds: partial values, and counters that every fold leaves at zero. Kernels of the compute
/// stream run one after another and share it.
#[derive(Default)]
pub(crate) struct Scratch {
    pub partials: u64,
    pub partial_words: usize,
    pub counters: u64,
    pub counter_words: usize,
}

/// A place in a stream's work that others can wait for.
pub struct Event {
    driver: Arc<Driver>,
    context: Context,
    raw: RawEvent,
}

// SAFETY: as for `Device`.
unsafe impl Send for Event {}
unsafe impl Sync for Event {}

/// Host memory that copies of every device can run from while the program goes on.
pub struct Pinned {
    driver: Arc<Driver>,
    context: Context,
    ptr: *mut c_void,
    len: usize,
}

// SAFETY: plain memory; the driver frees it from any thread.
unsafe impl Send for Pinned {}
unsafe impl Sync for Pinned {}

/// A loaded cubin; unloaded with its last function.
pub(crate) struct Code {
    driver: Arc<Driver>,
    context: Context,
    module: Module,
    pub function: Function,
    /// It was launched, and the driver did not refuse.
    is_proven: AtomicBool,
}

// SAFETY: as for `Device`.
unsafe impl Send for Code {}
unsafe impl Sync for Code {}

/// A rectangle to copy: `height` rows of `width` bytes, `pitch` bytes apart at either end.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    pub width: usize,
    pub height: usize,
    pub from_pitch: usize,
    pub to_pitch: usize,
}

/// The other end of a copy.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Host(*mut u8),
    Device(u64),
}

fn enter(driver: &Driver, context: Context) {
    // Another library of this thread may have changed the current context. Asking costs a few nanoseconds.
    let mut current = null_mut();
    // SAFETY: the context is retained as long as its device, events and memory live.
    unsafe {
        if (driver.get_current)(&mut current) != 0 || current != context {
            (driver.set_current)(context);
        }
    }
}

impl Device {
    /// How many devices there are, or the sentence that says why none can be used.
    pub fn count(search: &Search) -> Result<u32, CudaError> {
        let driver = Device::driver(search)?;
        let mut n = 0;
        // SAFETY: writes one number.
        driver.check("cuDeviceGetCount", unsafe { (driver.device_count)(&mut n) })?;
        Ok(n.max(0) as u32)
    }

    fn driver(search: &Search) -> Result<Driver, CudaError> {
        let driver = Driver::load(&search.open(Kind::Driver)?, "the CUDA driver")?;
        // SAFETY: the first call of every program.
        match unsafe { (driver.init)(0) } {
            0 => Ok(driver),
            code => Err(driver.why_not(code)),
        }
    }

    /// Opens a device on its primary context, which other libraries of the process share.
    pub fn open(ordinal: u32, options: &Options) -> Result<Device, CudaError> {
        let driver = Device::driver(&options.search)?;
        let mut version = 0;
        // SAFETY: writes one number.
        unsafe { (driver.driver_version)(&mut version) };
        let compiler = Arc::new(Compiler::open(&options.search, options.cache.clone(), Some(version / 1000))?);
        let (mut handle, mut context) = (0, null_mut());
        // SAFETY: the calls below follow the driver's documentation; outputs are ours and initialised.
        unsafe {
            match (driver.device_get)(&mut handle, ordinal as i32) {
                0 => {}
                101 => return Err(CudaError::Missing(format!("there is no GPU number {ordinal}"))),
                code => return Err(driver.why_not(code)),
            }
            match (driver.primary_retain)(&mut context, handle) {
                0 => {}
                code => return Err(driver.why_not(code)),
            }
        }
        let driver = Arc::new(driver);
        let properties = properties(&driver, handle, ordinal);
        let queue = Queue::new(options.graphs && graph::are_there(&driver));
        let mut device = Device {
            driver,
            compiler,
            background: Background::default(),
            kernels: Kernels::default(),
            functions: Functions::default(),
            search: options.search.clone(),
            libraries: Libraries::default(),
            context,
            handle,
            properties,
            pool: null_mut(),
            streams: [null_mut(); 3],
            used: Default::default(),
            scratch: Mutex::new(Scratch::default()),
            queue,
            kept: Mutex::new(Kept::new(0)),
            waits: Waits::default(),
        };
        device.enter();
        for k in 0..device.streams.len() {
            const NON_BLOCKING: u32 = 1;
            // Kernels keep their turn with what other libraries put into the default stream.
            let flags = if k == Lane::Compute as usize { 0 } else { NON_BLOCKING };
            // SAFETY: writes the stream.
            let code = unsafe { (device.driver.stream_create)(&mut device.streams[k], flags, 0) };
            device.driver.check("cuStreamCreate", code)?;
        }
        device.pool = device.make_pool();
        device.kept = Mutex::new(Kept::new(device.memory()?.1));
        device.check_compiler()?;
        Ok(device)
    }

    /// A cubin made by a newer CUDA than the driver's is refused at launch; that is said here instead.
    fn check_compiler(&self) -> Result<(), CudaError> {
        let p = &self.properties;
        let (have, need) = (p.driver, self.compiler.version());
        if have.0 < need.0 {
            return Err(CudaError::Missing(format!(
                "the driver is for CUDA {}.{} and too old for the NVRTC found, of CUDA {}.{}; update the driver or \
                 `pip install nvidia-cuda-nvrtc-cu{}`",
                have.0, have.1, need.0, need.1, have.0
            )));
        }
        if !self.compiler.supports(p.arch) {
            return Err(CudaError::Missing(format!(
                "NVRTC {}.{} cannot make code for the {} (compute capability {}.{})",
                need.0,
                need.1,
                p.name,
                p.arch / 10,
                p.arch % 10
            )));
        }
        Ok(())
    }

    /// A pool that keeps what is freed; null where the driver has none.
    fn make_pool(&self) -> Pool {
        let d = &self.driver;
        let (Some(create), Some(set), Some(_), Some(_)) = (d.pool_create, d.pool_set, d.pool_alloc, d.free_async)
        else {
            return null_mut();
        };
        let props = PoolProps {
            alloc_type: 1,
            handle_types: 0,
            location_type: 1,
            location_id: self.handle,
            security: null_mut(),
            max_size: 0,
            usage: 0,
            reserved: [0; 54],
        };
        const RELEASE_THRESHOLD: i32 = 4;
        let (mut pool, mut keep) = (null_mut(), u64::MAX);
        // SAFETY: the structure is the driver's; the attribute is a 64-bit number.
        unsafe {
            if create(&mut pool, &props) != 0 {
                return null_mut();
            }
            set(pool, RELEASE_THRESHOLD, (&raw mut keep).cast());
        }
        pool
    }

    pub(crate) fn enter(&self) {
        enter(&self.driver, self.context);
    }

    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    pub fn chip(&self) -> Chip {
        Chip { multiprocessors: self.properties.multiprocessors, block: MOST_THREADS }
    }

    /// Bytes free and in all.
    pub fn memory(&self) -> Result<(usize, usize), CudaError> {
        self.enter();
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two numbers.
        self.driver.check("cuMemGetInfo", unsafe { (self.driver.memory_info)(&mut free, &mut total) })?;
        Ok((free, total))
    }

    pub(crate) fn stream(&self, lane: Lane) -> RawStream {
        self.streams[lane as usize]
    }

    /// The stream of a lane that the caller is about to put work into.
    pub(crate) fn giving(&self, lane: Lane) -> Result<RawStream, CudaError> {
        self.enter();
        if lane == Lane::Compute {
            self.start_waiting()?;
            self.stretch_begins();
        }
        self.used[lane as usize].store(true, Ordering::Release);
        Ok(self.stream(lane))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Memory that is the compute stream's from here on: other lanes must wait for an event recorded after this.
    pub fn alloc(&self, bytes: usize) -> Result<u64, CudaError> {
        let size = Kept::rounded(bytes);
        if let Some(block) = self.kept().take(size) {
            return Ok(block);
        }
        self.enter();
        let mut made = self.driver_alloc(size);
        if matches!(made, Err(CudaError::OutOfMemory { .. })) {
            self.give_up_kept()?;
            made = self.driver_alloc(size);
        }
        let block = made?;
        self.kept().watch(block, size);
        Ok(block)
    }

    fn driver_alloc(&self, bytes: usize) -> Result<u64, CudaError> {
        let mut ptr = 0;
        // SAFETY: writes one address.
        let code = unsafe {
            match self.driver.pool_alloc {
                Some(alloc) if !self.pool.is_null() => alloc(&mut ptr, bytes, self.pool, self.stream(Lane::Compute)),
                _ => (self.driver.alloc)(&mut ptr, bytes),
            }
        };
        if code == OUT_OF_MEMORY {
            return Err(self.driver.no_room(bytes));
        }
        self.driver.check("cuMemAlloc", code)?;
        Ok(ptr)
    }

    /// Frees once the compute stream has come this far.
    ///
    /// # Safety
    /// `ptr` came from `alloc` of this device, is freed once, and no other lane still uses it.
    pub unsafe fn free(&self, ptr: u64) -> Result<(), CudaError> {
        if self.kept().give(ptr) {
            return Ok(());
        }
        self.enter();
        self.driver_free(ptr)
    }

    unsafe fn driver_free(&self, ptr: u64) -> Result<(), CudaError> {
        self.start_waiting()?;
        let code = match self.driver.free_async {
            Some(free) if !self.pool.is_null() => free(ptr, self.stream(Lane::Compute)),
            _ => (self.driver.free)(ptr),
        };
        self.driver.check("cuMemFree", code)
    }

    fn give_up_kept(&self) -> Result<(), CudaError> {
        self.enter();
        let blocks: Vec<u64> = self.kept().all().collect();
        // SAFETY: nobody has them any more; the driver frees them in the stream's order.
        blocks.into_iter().try_for_each(|b| unsafe { self.driver_free(b) })
    }

    /// Gives memory the pool keeps but does not use back to the driver.
    pub fn trim(&self) -> Result<(), CudaError> {
        self.give_up_kept()?;
        self.wait()?;
        match self.driver.pool_trim {
            // SAFETY: the pool is ours.
            Some(trim) if !self.pool.is_null() => self.driver.check("cuMemPoolTrimTo", unsafe { trim(self.pool, 0) }),
            _ => Ok(()),
        }
    }

    pub fn pinned(&self, bytes: usize) -> Result<Pinned, CudaError> {
        self.enter();
        const PORTABLE: u32 = 1;
        let mut ptr = null_mut();
        // SAFETY: writes one address.
        let code = unsafe { (self.driver.host_alloc)(&mut ptr, bytes.max(1), PORTABLE) };
        if code == OUT_OF_MEMORY {
            return Err(CudaError::Driver { call: "cuMemHostAlloc", why: format!("no {bytes} bytes can be pinned") });
        }
        self.driver.check("cuMemHostAlloc", code)?;
        Ok(Pinned { driver: self.driver.clone(), context: self.context, ptr, len: bytes })
    }

    /// # Safety
    /// `to` has room; `from` stays as it is until the lane has come past the copy.
    pub unsafe fn upload(&self, lane: Lane, to: u64, from: *const u8, bytes: usize) -> Result<(), CudaError> {
        let code = (self.driver.to_device)(to, from.cast(), bytes, self.giving(lane)?);
        self.driver.check("cuMemcpyHtoDAsync", code)
    }

    /// # Safety
    /// `to` has room and is not touched until the lane has come past the copy.
    pub unsafe fn download(&self, lane: Lane, to: *mut u8, from: u64, bytes: usize) -> Result<(), CudaError> {
        let code = (self.driver.to_host)(to.cast(), from, bytes, self.giving(lane)?);
        self.driver.check("cuMemcpyDtoHAsync", code)
    }

    /// # Safety
    /// Both ranges are memory of this device and do not overlap.
    pub unsafe fn copy(&self, lane: Lane, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        self.driver.check("cuMemcpyDtoDAsync", (self.driver.on_device)(to, from, bytes, self.giving(lane)?))
    }

    /// # Safety
    /// As for the copies of one row, for every row.
    pub unsafe fn copy_rows(&self, lane: Lane, to: Place, from: Place, rows: Rows) -> Result<(), CudaError> {
        if rows.width == 0 || rows.height == 0 {
            return Ok(());
        }
        let end = |p: Place| match p {
            Place::Host(p) => (MEMORY_HOST, p.cast::<c_void>(), 0),
            Place::Device(d) => (MEMORY_DEVICE, null_mut(), d),
        };
        let ((src_type, src_host, src_device), (dst_type, dst_host, dst_device)) = (end(from), end(to));
        let copy = Copy2d {
            src_x: 0,
            src_y: 0,
            src_type,
            src_host,
            src_device,
            src_array: null_mut(),
            src_pitch: rows.from_pitch,
            dst_x: 0,
            dst_y: 0,
            dst_type,
            dst_host,
            dst_device,
            dst_array: null_mut(),
            dst_pitch: rows.to_pitch,
            width: rows.width,
            height: rows.height,
        };
        self.driver.check("cuMemcpy2DAsync", (self.driver.copy_2d)(&copy, self.giving(lane)?))
    }

    /// # Safety
    /// The range is memory of this device.
    pub unsafe fn fill(&self, lane: Lane, to: u64, byte: u8, bytes: usize) -> Result<(), CudaError> {
        self.driver.check("cuMemsetD8Async", (self.driver.fill_bytes)(to, byte, bytes, self.giving(lane)?))
    }

    /// An event after all that the lane was given so far. `timed` events can be measured, others are cheaper.
    pub fn record(&self, lane: Lane, timed: bool) -> Result<Event, CudaError> {
        self.enter();
        if lane == Lane::Compute {
            self.start_waiting()?;
        }
        const NO_TIMING: u32 = 2;
        self.used[lane as usize].store(true, Ordering::Release);
        let mut raw = null_mut();
        // SAFETY: writes the event.
        let code = unsafe { (self.driver.event_create)(&mut raw, if timed { 0 } else { NO_TIMING }) };
        self.driver.check("cuEventCreate", code)?;
        let event = Event { driver: self.driver.clone(), context: self.context, raw };
        self.record_again(&event, lane).map(|()| event)
    }

    /// Moves an event to the end of what a lane was given.
    pub(crate) fn record_again(&self, event: &Event, lane: Lane) -> Result<(), CudaError> {
        // SAFETY: both handles are alive.
        self.driver.check("cuEventRecord", unsafe { (self.driver.event_record)(event.raw, self.stream(lane)) })
    }

    /// The compute stream as the driver knows it, with all in it that was asked for.
    pub fn raw_stream(&self) -> u64 {
        // What fails here fails again at the next sync point.
        let _ = self.start_waiting();
        self.stream(Lane::Compute) as u64
    }

    /// The compute stream goes on only after what another library's stream was given so far.
    pub fn follow(&self, other: u64) -> Result<(), CudaError> {
        self.order(other as RawStream, self.stream(Lane::Compute))
    }

    /// Another library's stream goes on only after what the compute stream was given so far.
    pub fn precede(&self, other: u64) -> Result<(), CudaError> {
        self.order(self.stream(Lane::Compute), other as RawStream)
    }

    fn order(&self, first: RawStream, second: RawStream) -> Result<(), CudaError> {
        let event = self.record(Lane::Compute, false)?;
        // SAFETY: the event is alive; streams are ours, or given by libraries that share the context.
        unsafe {
            self.driver.check("cuEventRecord", (self.driver.event_record)(event.raw, first))?;
            self.driver.check("cuStreamWaitEvent", (self.driver.stream_wait_event)(second, event.raw, 0))
        }
    }

    /// The lane goes on only after the event.
    pub fn wait_for(&self, lane: Lane, event: &Event) -> Result<(), CudaError> {
        self.enter();
        if lane == Lane::Compute {
            self.start_waiting()?;
        }
        self.used[lane as usize].store(true, Ordering::Release);
        // SAFETY: both handles are alive.
        let code = unsafe { (self.driver.stream_wait_event)(self.stream(lane), event.raw, 0) };
        self.driver.check("cuStreamWaitEvent", code)
    }

    /// Blocks until everything given to the device is done; errors of kernels are told here.
    pub fn wait(&self) -> Result<(), CudaError> {
        self.enter();
        self.start_waiting()?;
        for lane in [Lane::Compute, Lane::Upload, Lane::Download] {
            // Kernels come from elsewhere, too; a copy's lane that nobody used has nothing to wait for.
            if self.used[lane as usize].swap(false, Ordering::AcqRel) || lane == Lane::Compute {
                self.wait_for_lane(lane)?;
            }
        }
        Ok(())
    }

    /// Blocks until a lane has done all it was given.
    pub fn wait_for_lane(&self, lane: Lane) -> Result<(), CudaError> {
        self.enter();
        if lane == Lane::Compute {
            self.start_waiting()?;
            self.queue.waited();
        }
        if self.ask_for_a_while(lane)? {
            return Ok(());
        }
        // SAFETY: the stream is ours.
        self.driver.check("cuStreamSynchronize", unsafe { (self.driver.stream_wait)(self.stream(lane)) })
    }

    pub(crate) fn load_code(&self, cubin: &[u8], name: &str) -> Result<Code, CudaError> {
        self.enter();
        let name = CString::new(name).map_err(|_| CudaError::Launch("a function's name has a zero byte".into()))?;
        let mut code = Code {
            driver: self.driver.clone(),
            context: self.context,
            module: null_mut(),
            function: null_mut(),
            is_proven: AtomicBool::new(false),
        };
        // SAFETY: a cubin carries its own length; outputs are ours.
        unsafe {
            let loaded = (self.driver.module_load)(&mut code.module, cubin.as_ptr().cast());
            self.driver.check("cuModuleLoadData", loaded)?;
            let found = (self.driver.module_function)(&mut code.function, code.module, name.as_ptr());
            self.driver.check("cuModuleGetFunction", found)?;
        }
        Ok(code)
    }

    /// Starts a function on the compute stream, or puts it into the queue if it is `small`: a driver that refuses says so
    /// at its first launch, which is not queued.
    ///
    /// # Safety
    /// The arguments are those the function was printed for, and their addresses are memory of this device.
    pub(crate) unsafe fn start(
        &self,
        code: &Arc<Code>,
        grid: u32,
        block: (u32, u32),
        words: &[u64],
        small: bool,
    ) -> Result<(), CudaError> {
        if small && self.queue.is_on && code.is_proven.load(Ordering::Relaxed) && !timed::is_timed() {
            return self.enqueue(code, grid, block, words);
        }
        self.giving(Lane::Compute)?;
        self.launch_now(code, grid, block, words)?;
        code.is_proven.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// # Safety
    /// As for `start`; the context is current, and nothing that should come first waits in the queue.
    pub(crate) unsafe fn launch_now(
        &self,
        code: &Code,
        grid: u32,
        block: (u32, u32),
        words: &[u64],
    ) -> Result<(), CudaError> {
        let mut arguments = [words.as_ptr() as *mut c_void];
        let done = (self.driver.launch)(
            code.function,
            grid,
            1,
            1,
            block.0,
            block.1,
            1,
            0,
            self.stream(Lane::Compute),
            arguments.as_mut_ptr(),
            null_mut(),
        );
        match self.driver.check("cuLaunchKernel", done) {
            Err(CudaError::Driver { why, .. }) => Err(CudaError::Launch(why)),
            other => other,
        }
    }
}

fn properties(driver: &Driver, handle: i32, ordinal: u32) -> Properties {
    let attribute = |which: i32| {
        let mut v = 0;
        // SAFETY: writes one number.
        unsafe { (driver.device_attribute)(&mut v, which, handle) };
        v.max(0) as u32
    };
    let mut name = [0i8; 128];
    let mut version = 0;
    // SAFETY: the driver writes at most the length given, with a zero at the end.
    let name = unsafe {
        (driver.driver_version)(&mut version);
        (driver.device_name)(name.as_mut_ptr().cast(), name.len() as i32 - 1, handle);
        CStr::from_ptr(name.as_ptr().cast()).to_string_lossy().into_owned()
    };
    Properties {
        ordinal,
        name,
        arch: attribute(75) * 10 + attribute(76),
        multiprocessors: attribute(16).max(1),
        threads_each: attribute(39),
        l2_bytes: attribute(38) as usize,
        driver: (version / 1000, version % 1000 / 10),
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.background.rest();
        let _ = self.give_up_kept();
        let _ = self.wait();
        self.queue.clear();
        self.waits.clear();
        self.kernels.clear();
        self.functions.clear();
        self.libraries.close();
        // SAFETY: nothing runs any more; each handle is given back once.
        unsafe {
            let s = self.scratch.get_mut().unwrap_or_else(|e| e.into_inner());
            for ptr in [s.partials, s.counters] {
                if ptr != 0 {
                    (self.driver.free)(ptr);
                }
            }
            if let (Some(destroy), false) = (self.driver.pool_destroy, self.pool.is_null()) {
                destroy(self.pool);
            }
            for stream in self.streams.into_iter().filter(|s| !s.is_null()) {
                (self.driver.stream_destroy)(stream);
            }
            (self.driver.primary_release)(self.handle);
        }
    }
}

impl Event {
    pub fn is_done(&self) -> Result<bool, CudaError> {
        enter(&self.driver, self.context);
        // SAFETY: the event is alive.
        match unsafe { (self.driver.event_query)(self.raw) } {
            NOT_READY => Ok(false),
            code => self.driver.check("cuEventQuery", code).map(|()| true),
        }
    }

    pub fn wait(&self) -> Result<(), CudaError> {
        if self.ask_for_a_while()? {
            return Ok(());
        }
        // SAFETY: the event is alive.
        self.driver.check("cuEventSynchronize", unsafe { (self.driver.event_wait)(self.raw) })
    }

    /// Milliseconds from an earlier event; both must be timed and done.
    pub fn since(&self, earlier: &Event) -> Result<f32, CudaError> {
        enter(&self.driver, self.context);
        let mut ms = 0.0;
        // SAFETY: both events are alive.
        let code = unsafe { (self.driver.event_elapsed)(&mut ms, earlier.raw, self.raw) };
        self.driver.check("cuEventElapsedTime", code)?;
        Ok(ms)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        enter(&self.driver, self.context);
        // SAFETY: destroyed once; the driver waits for work that still refers to it.
        unsafe { (self.driver.event_destroy)(self.raw) };
    }
}

impl Pinned {
    pub fn ptr(&self) -> *mut u8 {
        self.ptr.cast()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        enter(&self.driver, self.context);
        // SAFETY: freed once; the owner waits for copies before dropping it.
        unsafe { (self.driver.host_free)(self.ptr) };
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if !self.module.is_null() {
            enter(&self.driver, self.context);
            // SAFETY: unloaded once.
            unsafe { (self.driver.module_unload)(self.module) };
        }
    }
}
