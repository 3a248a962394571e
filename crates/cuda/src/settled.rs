//! Parameters that stay the same. A program's constants are parameters of its kernels, so that kernels serve programs
//! that differ in them alone; but fetching them takes a tenth of the instructions of a long kernel. One that is launched
//! over much data with the same parameters again and again is compiled once more in the background, with the parameters
//! in its text (`print_settled`). Its results are the same to the bit, so when that is ready does not show.

use crate::device::{Code, Device};
use crate::launch::{NAME, Prepared};
use crate::plan::Plan;
use crate::print::print_settled;
use crate::structure::{Arguments, Structure};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Launches with the same parameters before they count as settled.
const TIMES: u32 = 8;
/// Elements from which on a launch counts: below that the time goes to starting it.
const MUCH: usize = 1 << 22;
/// Instructions of a lane from which on a kernel is bound by more than memory.
const LONG: usize = 40;
/// Parameters that change so often after they were settled are left alone.
const MOST_CHANGES: u32 = 3;

static USED: AtomicU64 = AtomicU64::new(0);

/// Launches by code with settled parameters so far.
pub fn settled() -> u64 {
    USED.load(Ordering::Relaxed)
}

/// What the launches of a kernel had for parameters, by structure.
#[derive(Default)]
pub(crate) struct Habits(Mutex<Vec<Habit>>);

struct Habit {
    structure: Structure,
    parameters: Vec<u64>,
    times: u32,
    changes: u32,
    /// What the compiler calls the program that was asked for.
    asked: Option<u128>,
    code: Option<Arc<Code>>,
}

impl Device {
    /// The code for a launch whose parameters are settled, if there is such code.
    pub(crate) fn settled_code(&self, p: &Prepared, plan: &Plan, elements: usize) -> Option<Arc<Code>> {
        if elements < MUCH || p.facts.cost() < LONG || p.kernel.params.is_empty() {
            return None;
        }
        let first = Arguments::new(&p.kernel, &plan.structure).param(0);
        let parameters = &plan.words[first..];
        let mut habits = p.habits.0.lock().unwrap_or_else(|e| e.into_inner());
        let at = match habits.iter().position(|h| h.structure == plan.structure) {
            Some(at) => at,
            None => {
                let (structure, parameters) = (plan.structure.clone(), parameters.to_vec());
                habits.push(Habit { structure, parameters, times: 0, changes: 0, asked: None, code: None });
                habits.len() - 1
            }
        };
        let h = &mut habits[at];
        if h.parameters != parameters {
            h.changes += h.asked.is_some() as u32;
            h.parameters.clear();
            h.parameters.extend(parameters);
            (h.times, h.asked, h.code) = (0, None, None);
        }
        h.times = h.times.saturating_add(1);
        if h.code.is_none() && h.times >= TIMES && h.changes < MOST_CHANGES {
            let arch = self.properties().arch;
            let cubin = match h.asked {
                Some(key) => self.compiler.made(key),
                None => {
                    let text = print_settled(&p.kernel, &plan.structure, NAME, &plan.words).program();
                    h.asked = Some(self.compiler.key(&text, arch));
                    let cubin = self.compiler.made_before(&text, arch);
                    if cubin.is_none() {
                        self.background.want(&self.compiler, text, arch);
                    }
                    cubin
                }
            };
            // What cannot be loaded goes on as it did.
            h.code = cubin.and_then(|c| self.load_code(&c, NAME).ok()).map(Arc::new);
        }
        if h.code.is_some() {
            USED.fetch_add(1, Ordering::Relaxed);
        }
        h.code.clone()
    }
}
