//! Models: the scheduler, the tasks and the blocks as they are, with jobs that check their contract, under the
//! schedules of `shuttle`. `shuttle` takes every atomic as sequentially consistent; what depends on the orderings
//! is checked in `orderings`.

mod blocks;
mod job;
mod memory;
pub mod primitives;
mod schedule;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

/// Schedules of each kind a model runs under; `NUMLOOM_MODEL_RUNS` replaces it.
const RUNS: usize = 3000;

/// Runs `model` under random schedules, and under those in which few preemptions decide.
fn check(model: fn()) {
    let runs = std::env::var("NUMLOOM_MODEL_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(RUNS);
    under(RandomScheduler::new(runs), model);
    under(PctScheduler::new(2, runs), model);
    under(PctScheduler::new(4, runs), model);
}

fn under(scheduler: impl Scheduler + 'static, model: fn()) {
    let mut config = Config::new();
    config.silence_warnings = true;
    config.stack_size = 256 << 10;
    Runner::new(scheduler, config).run(model);
}
