//! Copies from one GPU to another: directly where the hardware can, else as the driver finds a way.

use crate::CudaError;
use crate::device::{Device, Lane, Rows};
use crate::driver::Access;

impl Device {
    /// Lets this device reach another's memory without a detour, if it can. True if it does.
    pub fn reach(&self, other: &Device) -> bool {
        let d = &self.driver;
        let (Some(can), Some(enable)) = (d.can_access_peer, d.enable_peer) else { return false };
        const ALREADY: i32 = 704;
        let mut able = 0;
        self.enter();
        // SAFETY: writes one number; both contexts are retained as long as their devices live.
        unsafe {
            if can(&mut able, self.handle, other.handle) != 0 || able == 0 {
                return false;
            }
            if !matches!(enable(other.context, 0), 0 | ALREADY) {
                return false;
            }
            // A pool's memory is the owner's alone until somebody is let in.
            match d.pool_access {
                _ if other.pool.is_null() => true,
                Some(set) => {
                    const DEVICE: i32 = 1;
                    const READ_AND_WRITE: i32 = 3;
                    let access = Access { location_type: DEVICE, location_id: self.handle, flags: READ_AND_WRITE };
                    set(other.pool, &access, 1) == 0
                }
                None => false,
            }
        }
    }

    /// Copies rows of another device's memory to this one's, after what the other was given so far. Both go on with
    /// their kernels after the copy.
    ///
    /// # Safety
    /// Both ends have the rows; they are not freed but in the order of their devices' compute lanes.
    pub unsafe fn copy_from(&self, other: &Device, to: u64, from: u64, rows: Rows) -> Result<(), CudaError> {
        let Some(copy) = self.driver.copy_peer else {
            return Err(CudaError::Launch("the driver cannot copy between GPUs".into()));
        };
        self.after(Lane::Upload, &other.record(Lane::Compute, false)?)?;
        for k in 0..rows.height {
            let (to, from) = (to + (k * rows.to_pitch) as u64, from + (k * rows.from_pitch) as u64);
            self.enter();
            let code = copy(to, self.context, from, other.context, rows.width, self.stream(Lane::Upload));
            self.driver.check("cuMemcpyPeerAsync", code)?;
        }
        let done = self.record(Lane::Upload, false)?;
        self.wait_for(Lane::Compute, &done)?;
        other.wait_for(Lane::Compute, &done)
    }

    /// The lane goes on after the event and after what kernels were given before.
    pub fn after(&self, lane: Lane, event: &crate::Event) -> Result<(), CudaError> {
        self.wait_for(lane, event)?;
        self.wait_for(lane, &self.record(Lane::Compute, false)?)
    }
}
