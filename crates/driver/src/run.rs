//! Doing what a plan says: binding, replacing this process, or starting another and waiting for it.

use crate::bind::Binding;
use crate::plan::Plan;
use crate::tell;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

/// The lines to print before the program starts.
pub fn opening(plan: &Plan) -> String {
    let settings = &plan.resolved.settings;
    let mut out = String::new();
    if settings.verbose {
        out.push_str(&tell::tell(plan, None));
    }
    if settings.bind_detail {
        let shown = &plan.binding.shown;
        out.push_str(&format!("bound to {}\n", if shown.is_empty() { "nothing".into() } else { shown.join(", ") }));
    }
    out
}

/// Keeps this process, and what it becomes or starts, to its cores and memories.
pub fn bind(binding: &Binding) -> io::Result<()> {
    if !binding.cores.is_empty() {
        let mask = bits(&binding.cores);
        // Threads that are there already do not follow the first one.
        for thread in std::fs::read_dir("/proc/self/task")?.flatten() {
            let Some(id) = thread.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            // SAFETY: the kernel reads the mask, of the size it is given.
            let done = unsafe {
                libc::syscall(libc::SYS_sched_setaffinity, id, std::mem::size_of_val(&mask[..]), mask.as_ptr())
            };
            if done != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    if !binding.domains.is_empty() {
        let mask = bits(&binding.domains);
        // SAFETY: as above; the size is in bits, and one more than is read.
        let done =
            unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, mask.as_ptr(), mask.len() * 64 + 1) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn bits(numbers: &[usize]) -> Vec<u64> {
    let mut mask = vec![0u64; numbers.iter().max().map_or(1, |most| most / 64 + 1)];
    for n in numbers {
        mask[n / 64] |= 1 << (n % 64);
    }
    mask
}

fn command(plan: &Plan) -> Command {
    let mut command = Command::new(&plan.argv[0]);
    command.args(&plan.argv[1..]).envs(plan.variables.iter().map(|(name, value)| (name, value)));
    command
}

/// Replaces this process; returns only if that failed.
pub fn exec(plan: &Plan) -> io::Error {
    command(plan).exec()
}

static CHILD: AtomicI32 = AtomicI32::new(0);
const FORWARDED: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT, libc::SIGHUP];

/// Hands a signal on to the child. What the terminal sends reaches the child without our doing.
extern "C" fn forward(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let child = CHILD.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a valid `info`; `kill` may be called in a handler.
    unsafe {
        if child > 0 && (*info).si_code != libc::SI_KERNEL {
            libc::kill(child, signal);
        }
    }
}

/// Starts the command, hands signals on to it, and waits; its exit status, or 128 and the signal that ended it.
pub fn spawn(plan: &Plan) -> io::Result<i32> {
    let mut child = command(plan).spawn()?;
    CHILD.store(child.id() as i32, Ordering::Relaxed);
    // SAFETY: a handler that only loads an atomic and calls `kill`; zeroed is a valid `sigaction`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = forward as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        for signal in FORWARDED {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    let ended = child.wait()?;
    CHILD.store(0, Ordering::Relaxed);
    Ok(ended.code().unwrap_or_else(|| 128 + ended.signal().unwrap_or(0)))
}
