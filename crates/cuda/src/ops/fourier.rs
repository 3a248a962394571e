//! Fourier transforms by cuFFT: many lanes of one length, evenly apart.

use crate::CudaError;
use crate::device::{Device, Lane};
use crate::load::{Kind, table};
use std::ffi::c_void;

table! {
    /// `libcufft`.
    Cufft {
        create "cufftCreate" (*mut i32);
        destroy "cufftDestroy" (i32);
        set_stream "cufftSetStream" (i32, *mut c_void);
        allocate_itself "cufftSetAutoAllocation" (i32, i32);
        set_work_area "cufftSetWorkArea" (i32, u64);
        plan "cufftMakePlanMany64" (i32, i32, *const i64, *const i64, i64, i64, *const i64, i64, i64, i32, i64, *mut usize);
        c2c "cufftExecC2C" (i32, u64, u64, i32);
        z2z "cufftExecZ2Z" (i32, u64, u64, i32);
        r2c "cufftExecR2C" (i32, u64, u64);
        d2z "cufftExecD2Z" (i32, u64, u64);
        c2r "cufftExecC2R" (i32, u64, u64);
        z2d "cufftExecZ2D" (i32, u64, u64);
    } optional {
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spectrum {
    Complex,
    /// Real numbers to the half of their spectrum that is not redundant.
    RealToHalf,
    /// Such a half to real numbers.
    HalfToReal,
}

/// How lanes lie: elements from one point to the next, and from one lane to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    pub step: usize,
    pub apart: usize,
}

/// Transforms of `lanes` lanes, of `n` points each, not scaled. Addresses are multiples of a complex number's size. What is
/// read of half a spectrum may be destroyed.
#[derive(Clone, Copy, Debug)]
pub struct Transform {
    pub spectrum: Spectrum,
    /// Of double precision.
    pub double: bool,
    pub inverse: bool,
    pub n: usize,
    pub lanes: usize,
    pub from: u64,
    pub from_lanes: Lanes,
    pub to: u64,
    pub to_lanes: Lanes,
}

/// What plans differ by.
type Key = (Spectrum, bool, usize, usize, Lanes, Lanes);

struct Plan {
    key: Key,
    number: i32,
    bytes: usize,
}

/// Plans that are kept. Each has tables as long as its transform on the device.
const KEPT: usize = 16;

/// cuFFT with the plans made last, the latest at the end.
pub(crate) struct Fourier {
    table: Cufft,
    plans: Vec<Plan>,
}

impl Fourier {
    fn open(device: &Device) -> Result<Fourier, CudaError> {
        let opened = device.search().open_for(Kind::Cufft, device.properties().driver.0)?;
        Ok(Fourier { table: Cufft::load(&opened, "cuFFT")?, plans: Vec::new() })
    }

    /// Before the device's streams go.
    pub fn close(self) {
        for plan in &self.plans {
            // SAFETY: destroyed once.
            unsafe { (self.table.destroy)(plan.number) };
        }
    }

    /// The number of a transform's plan and the bytes it works in.
    fn plan(&mut self, device: &Device, t: &Transform) -> Result<(i32, usize), CudaError> {
        let key = (t.spectrum, t.double, t.n, t.lanes, t.from_lanes, t.to_lanes);
        let plan = match self.plans.iter().position(|p| p.key == key) {
            Some(k) => self.plans.remove(k),
            None => {
                if self.plans.len() == KEPT {
                    let oldest = self.plans.remove(0);
                    // SAFETY: destroyed once; cuFFT waits for what still uses it.
                    unsafe { (self.table.destroy)(oldest.number) };
                }
                device.stretch_ends();
                let mut plan = Plan { key, number: 0, bytes: 0 };
                // SAFETY: writes one number.
                check("cufftCreate", unsafe { (self.table.create)(&mut plan.number) })?;
                if let Err(e) = self.make(device, t, &mut plan) {
                    // SAFETY: as above.
                    unsafe { (self.table.destroy)(plan.number) };
                    return Err(e);
                }
                plan
            }
        };
        let found = (plan.number, plan.bytes);
        self.plans.push(plan);
        Ok(found)
    }

    fn make(&self, device: &Device, t: &Transform, plan: &mut Plan) -> Result<(), CudaError> {
        let kind = match t.spectrum {
            Spectrum::Complex => 0x29,
            Spectrum::RealToHalf => 0x2a,
            Spectrum::HalfToReal => 0x2c,
        };
        let kind = if t.double { kind + 0x40 } else { kind };
        let (n, lanes) = ([t.n as i64], t.lanes as i64);
        // With one axis only their being there matters: steps and distances are what is gone by.
        let embedding = [t.n as i64];
        let (from, to) = (t.from_lanes, t.to_lanes);
        // SAFETY: the arrays outlive the call; the stream lives as long as the device.
        unsafe {
            check("cufftSetAutoAllocation", (self.table.allocate_itself)(plan.number, 0))?;
            let made = (self.table.plan)(
                plan.number,
                1,
                n.as_ptr(),
                embedding.as_ptr(),
                from.step as i64,
                from.apart as i64,
                embedding.as_ptr(),
                to.step as i64,
                to.apart as i64,
                kind,
                lanes,
                &mut plan.bytes,
            );
            check("cufftMakePlanMany64", made)?;
            check("cufftSetStream", (self.table.set_stream)(plan.number, device.stream(Lane::Compute)))
        }
    }

    unsafe fn run(&mut self, device: &Device, t: &Transform) -> Result<(), CudaError> {
        let (plan, bytes) = self.plan(device, t)?;
        device.giving(Lane::Compute)?;
        let room = device.alloc(bytes.max(1))?;
        let direction = if t.inverse { 1 } else { -1 };
        let f = &self.table;
        let set = check("cufftSetWorkArea", (f.set_work_area)(plan, room));
        let done = set.and_then(|()| {
            let code = match (t.spectrum, t.double) {
                (Spectrum::Complex, false) => (f.c2c)(plan, t.from, t.to, direction),
                (Spectrum::Complex, true) => (f.z2z)(plan, t.from, t.to, direction),
                (Spectrum::RealToHalf, false) => (f.r2c)(plan, t.from, t.to),
                (Spectrum::RealToHalf, true) => (f.d2z)(plan, t.from, t.to),
                (Spectrum::HalfToReal, false) => (f.c2r)(plan, t.from, t.to),
                (Spectrum::HalfToReal, true) => (f.z2d)(plan, t.from, t.to),
            };
            check("cufftExec", code)
        });
        done.and(device.free(room))
    }
}

impl Device {
    /// Enqueues transforms on the compute stream.
    ///
    /// # Safety
    /// The lanes are memory of the device; they are the same for input and output, or apart.
    pub unsafe fn transform(&self, t: &Transform) -> Result<(), CudaError> {
        self.enter();
        let mut fourier = self.libraries.fourier.lock().unwrap_or_else(|e| e.into_inner());
        if fourier.is_none() {
            self.stretch_ends();
            *fourier = Some(Fourier::open(self)?);
        }
        fourier.as_mut().map_or(Ok(()), |f| f.run(self, t))
    }
}

fn check(call: &'static str, code: i32) -> Result<(), CudaError> {
    let why = match code {
        0 => return Ok(()),
        2 => "cuFFT has no memory for the plan",
        4 => "a parameter is wrong",
        6 => "the GPU failed",
        8 => "cuFFT has no transform of this length",
        _ => "cuFFT failed",
    };
    Err(CudaError::Driver { call, why: format!("{why} (error {code})") })
}
