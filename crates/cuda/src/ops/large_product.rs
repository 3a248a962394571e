//! Large products of float32 matrices by the fastest of the algorithms cuBLASLt proposes. Plain cuBLAS takes the first,
//! which may be a fifth slower than the best. The first products of a shape try one each, timed by the device, and later
//! ones take the fastest. None of them cuts the sums in pieces (they are given no scratch memory, which that needs): on
//! an H200 all of them, at all shapes tried, gave the same bits, so which one it was does not show.

use super::blas::{Product, check};
use crate::CudaError;
use crate::device::{Device, Event, Lane};
use crate::load::{Opened, table};
use numloom_ir::DType;
use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::{size_of, zeroed};
use std::ptr::null_mut;

type Handle = *mut c_void;

table! {
    /// `libcublasLt`, which comes with cuBLAS.
    CublasLt {
        create "cublasLtCreate" (*mut Handle);
        destroy "cublasLtDestroy" (Handle);
        operation_create "cublasLtMatmulDescCreate" (*mut Handle, i32, i32);
        operation_destroy "cublasLtMatmulDescDestroy" (Handle);
        operation_set "cublasLtMatmulDescSetAttribute" (Handle, i32, *const c_void, usize);
        layout_create "cublasLtMatrixLayoutCreate" (*mut Handle, i32, u64, u64, i64);
        layout_destroy "cublasLtMatrixLayoutDestroy" (Handle);
        preference_create "cublasLtMatmulPreferenceCreate" (*mut Handle);
        preference_destroy "cublasLtMatmulPreferenceDestroy" (Handle);
        preference_set "cublasLtMatmulPreferenceSetAttribute" (Handle, i32, *const c_void, usize);
        choose "cublasLtMatmulAlgoGetHeuristic" (Handle, Handle, Handle, Handle, Handle, Handle, Handle, i32, *mut Choice, *mut i32);
        product "cublasLtMatmul" (Handle, Handle, *const c_void, u64, Handle, u64, Handle, *const c_void, u64, Handle, u64, Handle, *const Algorithm, u64, usize, *mut c_void);
    } optional {
    }
}

// Numbers of NVIDIA's headers.
const COMPUTE_F32: i32 = 68;
const REAL_F32: i32 = 0;
const TRANSPOSE_A: i32 = 3;
const TRANSPOSE_B: i32 = 4;
const MOST_SCRATCH: i32 = 1;

/// cuBLASLt's own record of an algorithm.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Algorithm([u64; 8]);

/// What it answers when it is asked for one.
#[repr(C)]
pub(crate) struct Choice {
    algorithm: Algorithm,
    scratch: usize,
    status: i32,
    waves: f32,
    reserved: [i32; 4],
}

/// Multiplications from which on a better algorithm is worth looking for: asking takes a tenth of a millisecond or more,
/// the product some.
const LARGE: usize = 1 << 36;
/// Below this in any extent memory is what bounds a product.
const NARROW: usize = 256;

/// Shapes that are remembered.
const MOST_SHAPES: usize = 256;
/// Algorithms that are tried.
const PROPOSALS: usize = 4;

/// What an algorithm is chosen for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Shape {
    sizes: [usize; 3],
    leading: [usize; 3],
    transposed: [bool; 2],
}

pub(super) struct LargeProducts {
    table: CublasLt,
    handle: Handle,
    tried: HashMap<Shape, Tried>,
}

/// What is known of the algorithms for a shape.
#[derive(Default)]
struct Tried {
    proposed: Vec<Algorithm>,
    /// How many of them were tried, which was fastest, and its milliseconds.
    count: usize,
    best: usize,
    took: Option<f32>,
    /// One that is on its way, with the events around it.
    running: Option<(usize, Event, Event)>,
}

impl Tried {
    /// Hears how long the one took that was on its way, if it is over.
    fn hear(&mut self) -> Result<(), CudaError> {
        let Some((which, begun, ended)) = self.running.take() else { return Ok(()) };
        if !ended.is_done()? {
            self.running = Some((which, begun, ended));
            return Ok(());
        }
        let ms = ended.since(&begun)?;
        if self.took.is_none_or(|best| ms < best) {
            (self.best, self.took) = (which, Some(ms));
        }
        Ok(())
    }
}

impl LargeProducts {
    /// `None` where this cuBLAS has no cuBLASLt.
    pub fn open(cublas: &Opened) -> Option<LargeProducts> {
        // What a library depends on is looked through with it.
        let table = CublasLt::load(cublas, "cuBLASLt").ok()?;
        let mut handle = null_mut();
        // SAFETY: writes one handle.
        (unsafe { (table.create)(&mut handle) } == 0).then(|| LargeProducts { table, handle, tried: HashMap::new() })
    }

    pub fn takes(p: &Product) -> bool {
        let large = p.m.saturating_mul(p.n).saturating_mul(p.k) >= LARGE && p.m.min(p.n).min(p.k) >= NARROW;
        // It supposes that matrices begin so.
        let aligned = (p.a.ptr | p.b.ptr | p.c.ptr).is_multiple_of(256);
        p.dtype == DType::F32 && !p.tf32 && p.batch == 1 && large && aligned
    }

    /// Enqueues the product; `false` where no algorithm is proposed.
    ///
    /// # Safety
    /// As for `Device::product`.
    pub unsafe fn product(&mut self, device: &Device, p: &Product) -> Result<bool, CudaError> {
        // As for cuBLAS, which goes by columns, the factors change places.
        let shape = Shape {
            sizes: [p.n, p.m, p.k],
            leading: [p.b.leading, p.a.leading, p.c.leading],
            transposed: [p.b.transposed, p.a.transposed],
        };
        if self.tried.len() >= MOST_SHAPES {
            self.tried.clear();
        }
        let described = Described::new(&self.table, &shape)?;
        let proposed = || Tried { proposed: described.proposals(self.handle), ..Tried::default() };
        let tried = self.tried.entry(shape).or_insert_with(proposed);
        tried.hear()?;
        let is_trial = tried.running.is_none() && tried.count < tried.proposed.len();
        let which = if is_trial { tried.count } else { tried.best };
        let Some(algorithm) = tried.proposed.get(which) else { return Ok(false) };
        let begun = if is_trial { Some(device.record(Lane::Compute, true)?) } else { None };
        let (one, zero) = (1f32, 0f32);
        let [a, b, c] = described.layouts;
        let stream = device.giving(Lane::Compute)?;
        let code = (self.table.product)(
            self.handle,
            described.operation,
            (&raw const one).cast(),
            p.b.ptr,
            a,
            p.a.ptr,
            b,
            (&raw const zero).cast(),
            p.c.ptr,
            c,
            p.c.ptr,
            c,
            algorithm,
            0,
            0,
            stream,
        );
        if code != 0 {
            // What was proposed and does not run is not proposed again; plain cuBLAS says what is wrong, if it is more.
            tried.proposed.remove(which);
            (tried.best, tried.took) = (0, None);
            return Ok(false);
        }
        if let Some(begun) = begun {
            tried.count += 1;
            tried.running = Some((which, begun, device.record(Lane::Compute, true)?));
        }
        Ok(true)
    }

    pub fn close(self) {
        drop(self.tried);
        // SAFETY: destroyed once.
        unsafe { (self.table.destroy)(self.handle) };
    }
}

/// A product as cuBLASLt has it described.
struct Described<'a> {
    table: &'a CublasLt,
    operation: Handle,
    layouts: [Handle; 3],
}

impl<'a> Described<'a> {
    fn new(table: &'a CublasLt, shape: &Shape) -> Result<Described<'a>, CudaError> {
        let mut made = Described { table, operation: null_mut(), layouts: [null_mut(); 3] };
        let [rows, columns, inner] = shape.sizes;
        let turned = |(high, wide): (usize, usize), transposed| if transposed { (wide, high) } else { (high, wide) };
        let extents = [
            turned((rows, inner), shape.transposed[0]),
            turned((inner, columns), shape.transposed[1]),
            (rows, columns),
        ];
        // SAFETY: outputs are ours, attributes are read in the call.
        unsafe {
            check("cublasLtMatmulDescCreate", (table.operation_create)(&mut made.operation, COMPUTE_F32, REAL_F32))?;
            for (attribute, transposed) in [TRANSPOSE_A, TRANSPOSE_B].into_iter().zip(shape.transposed) {
                let value = transposed as i32;
                let set = (table.operation_set)(made.operation, attribute, (&raw const value).cast(), size_of::<i32>());
                check("cublasLtMatmulDescSetAttribute", set)?;
            }
            for ((layout, (high, wide)), apart) in made.layouts.iter_mut().zip(extents).zip(shape.leading) {
                let code = (table.layout_create)(layout, REAL_F32, high as u64, wide as u64, apart as i64);
                check("cublasLtMatrixLayoutCreate", code)?;
            }
        }
        Ok(made)
    }

    /// Algorithms that need no scratch memory, the one that is thought best first.
    fn proposals(&self, handle: Handle) -> Vec<Algorithm> {
        let [a, b, c] = self.layouts;
        let mut preference = null_mut();
        let mut found = 0;
        // SAFETY: outputs are ours; a choice is plain numbers.
        unsafe {
            let mut choices: [Choice; PROPOSALS] = zeroed();
            if (self.table.preference_create)(&mut preference) != 0 {
                return Vec::new();
            }
            let most = 0u64;
            let set = (self.table.preference_set)(preference, MOST_SCRATCH, (&raw const most).cast(), size_of::<u64>());
            let (to, count) = (choices.as_mut_ptr(), PROPOSALS as i32);
            let asked = (self.table.choose)(handle, self.operation, a, b, c, c, preference, count, to, &mut found);
            (self.table.preference_destroy)(preference);
            let usable = if set == 0 && asked == 0 { found.clamp(0, count) as usize } else { 0 };
            choices[..usable].iter().filter(|c| c.status == 0 && c.scratch == 0).map(|c| c.algorithm).collect()
        }
    }
}

impl Drop for Described<'_> {
    fn drop(&mut self) {
        // SAFETY: each is destroyed once; what was not made is null.
        unsafe {
            if !self.operation.is_null() {
                (self.table.operation_destroy)(self.operation);
            }
            for layout in self.layouts.into_iter().filter(|l| !l.is_null()) {
                (self.table.layout_destroy)(layout);
            }
        }
    }
}
