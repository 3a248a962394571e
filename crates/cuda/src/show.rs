//! The program of a launch as text, for those who have no GPU to run it.

use crate::plan::{Chip, Facts, FusedLaunch, check_kernel, plan};
use crate::print::print;
use crate::{CudaError, launch};

/// An H100's or H200's: what a program looks like hardly depends on it.
const CHIP: Chip = Chip { multiprocessors: 132, block: 256 };

/// The whole program; `None` where there is nothing to run.
pub fn text_of(of: &FusedLaunch) -> Result<Option<String>, CudaError> {
    check_kernel(of.kernel)?;
    let plan = plan(&Facts::of(of.kernel), of, &CHIP)?;
    Ok(plan.map(|p| print(of.kernel, &p.structure, launch::NAME).program()))
}
