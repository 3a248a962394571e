//! The driver's functions that we call, and its error codes in our words.

use crate::CudaError;
use crate::load::table;
use std::ffi::{CStr, c_char, c_void};

pub(crate) type Context = *mut c_void;
pub(crate) type Stream = *mut c_void;
pub(crate) type Event = *mut c_void;
pub(crate) type Module = *mut c_void;
pub(crate) type Function = *mut c_void;
pub(crate) type Pool = *mut c_void;
pub(crate) type Graph = *mut c_void;
pub(crate) type Node = *mut c_void;
pub(crate) type Exec = *mut c_void;
pub(crate) type DevicePtr = u64;

/// `CUDA_MEMCPY2D`.
#[repr(C)]
pub(crate) struct Copy2d {
    pub src_x: usize,
    pub src_y: usize,
    pub src_type: u32,
    pub src_host: *const c_void,
    pub src_device: DevicePtr,
    pub src_array: *mut c_void,
    pub src_pitch: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_type: u32,
    pub dst_host: *mut c_void,
    pub dst_device: DevicePtr,
    pub dst_array: *mut c_void,
    pub dst_pitch: usize,
    pub width: usize,
    pub height: usize,
}

pub(crate) const MEMORY_HOST: u32 = 1;
pub(crate) const MEMORY_DEVICE: u32 = 2;

/// `CUmemPoolProps`.
#[repr(C)]
pub(crate) struct PoolProps {
    pub alloc_type: i32,
    pub handle_types: i32,
    pub location_type: i32,
    pub location_id: i32,
    pub security: *mut c_void,
    pub max_size: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
pub(crate) struct KernelNode {
    pub function: Function,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub arguments: *mut *mut c_void,
    pub extra: *mut *mut c_void,
    pub kernel: *mut c_void,
    pub context: Context,
}

/// `CUmemAccessDesc`.
#[repr(C)]
pub(crate) struct Access {
    pub location_type: i32,
    pub location_id: i32,
    pub flags: i32,
}

table! {
    /// `libcuda`.
    Driver {
        init "cuInit" (u32);
        driver_version "cuDriverGetVersion" (*mut i32);
        device_count "cuDeviceGetCount" (*mut i32);
        device_get "cuDeviceGet" (*mut i32, i32);
        device_name "cuDeviceGetName" (*mut c_char, i32, i32);
        device_attribute "cuDeviceGetAttribute" (*mut i32, i32, i32);
        primary_retain "cuDevicePrimaryCtxRetain" (*mut Context, i32);
        primary_release "cuDevicePrimaryCtxRelease_v2" (i32);
        set_current "cuCtxSetCurrent" (Context);
        get_current "cuCtxGetCurrent" (*mut Context);
        memory_info "cuMemGetInfo_v2" (*mut usize, *mut usize);
        alloc "cuMemAlloc_v2" (*mut DevicePtr, usize);
        free "cuMemFree_v2" (DevicePtr);
        host_alloc "cuMemHostAlloc" (*mut *mut c_void, usize, u32);
        host_free "cuMemFreeHost" (*mut c_void);
        to_device "cuMemcpyHtoDAsync_v2" (DevicePtr, *const c_void, usize, Stream);
        to_host "cuMemcpyDtoHAsync_v2" (*mut c_void, DevicePtr, usize, Stream);
        on_device "cuMemcpyDtoDAsync_v2" (DevicePtr, DevicePtr, usize, Stream);
        copy_2d "cuMemcpy2DAsync_v2" (*const Copy2d, Stream);
        fill_bytes "cuMemsetD8Async" (DevicePtr, u8, usize, Stream);
        stream_create "cuStreamCreateWithPriority" (*mut Stream, u32, i32);
        stream_destroy "cuStreamDestroy_v2" (Stream);
        stream_wait "cuStreamSynchronize" (Stream);
        stream_wait_event "cuStreamWaitEvent" (Stream, Event, u32);
        event_create "cuEventCreate" (*mut Event, u32);
        event_destroy "cuEventDestroy_v2" (Event);
        event_record "cuEventRecord" (Event, Stream);
        event_query "cuEventQuery" (Event);
        event_wait "cuEventSynchronize" (Event);
        event_elapsed "cuEventElapsedTime" (*mut f32, Event, Event);
        module_load "cuModuleLoadData" (*mut Module, *const c_void);
        module_unload "cuModuleUnload" (Module);
        module_function "cuModuleGetFunction" (*mut Function, Module, *const c_char);
        launch "cuLaunchKernel" (Function, u32, u32, u32, u32, u32, u32, u32, Stream, *mut *mut c_void, *mut *mut c_void);
        error_string "cuGetErrorString" (i32, *mut *const c_char);
    } optional {
        pool_create "cuMemPoolCreate" (*mut Pool, *const PoolProps);
        pool_destroy "cuMemPoolDestroy" (Pool);
        pool_set "cuMemPoolSetAttribute" (Pool, i32, *mut c_void);
        pool_trim "cuMemPoolTrimTo" (Pool, usize);
        pool_alloc "cuMemAllocFromPoolAsync" (*mut DevicePtr, usize, Pool, Stream);
        free_async "cuMemFreeAsync" (DevicePtr, Stream);
        pool_access "cuMemPoolSetAccess" (Pool, *const Access, usize);
        can_access_peer "cuDeviceCanAccessPeer" (*mut i32, i32, i32);
        enable_peer "cuCtxEnablePeerAccess" (Context, u32);
        copy_peer "cuMemcpyPeerAsync" (DevicePtr, Context, DevicePtr, Context, usize, Stream);
        graph_create "cuGraphCreate" (*mut Graph, u32);
        graph_destroy "cuGraphDestroy" (Graph);
        graph_add_kernel "cuGraphAddKernelNode_v2" (*mut Node, Graph, *const Node, usize, *const KernelNode);
        graph_instantiate "cuGraphInstantiateWithFlags" (*mut Exec, Graph, u64);
        graph_exec_destroy "cuGraphExecDestroy" (Exec);
        graph_set_kernel "cuGraphExecKernelNodeSetParams_v2" (Exec, Node, *const KernelNode);
        graph_launch "cuGraphLaunch" (Exec, Stream);
    }
}

pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const NOT_READY: i32 = 600;

/// Codes after which the context is of no more use.
fn is_fatal(code: i32) -> bool {
    matches!(code, 4 | 46 | 201 | 214 | 220 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 999)
}

impl Driver {
    pub fn words(&self, code: i32) -> String {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the driver answers a string that lives as long as it, or leaves null.
        unsafe {
            (self.error_string)(code, &mut text);
            if text.is_null() {
                return format!("error {code}");
            }
            format!("{} (error {code})", CStr::from_ptr(text).to_string_lossy())
        }
    }

    /// An error of `call`, if the code is one.
    pub fn check(&self, call: &'static str, code: i32) -> Result<(), CudaError> {
        match code {
            0 => Ok(()),
            OUT_OF_MEMORY => Err(self.no_room(0)),
            code if is_fatal(code) => Err(CudaError::Lost(format!("{} in {call}", self.words(code)))),
            code => Err(CudaError::Driver { call, why: self.words(code) }),
        }
    }

    pub fn no_room(&self, bytes: usize) -> CudaError {
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two numbers.
        unsafe { (self.memory_info)(&mut free, &mut total) };
        CudaError::OutOfMemory { bytes, free, total }
    }

    /// Why the driver does not start, in one sentence.
    pub fn why_not(&self, code: i32) -> CudaError {
        CudaError::Missing(match code {
            100 => "no GPU was found: the driver is there, but it sees no device (is CUDA_VISIBLE_DEVICES empty?)".into(),
            101 => "there is no GPU of that number".into(),
            35 | 803 => "the CUDA driver is too old for its kernel module, or the module is of another version; reboot or update the driver".into(),
            304 | 801 => format!("the GPU may not be used by this user or in this container: {}", self.words(code)),
            999 | 3 => format!("the CUDA driver did not start: {}; are the files /dev/nvidia* readable by this user?", self.words(code)),
            OUT_OF_MEMORY => "the GPU is full: there is not even room for a context on it".into(),
            code => format!("the CUDA driver did not start: {}", self.words(code)),
        })
    }
}
