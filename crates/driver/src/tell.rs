//! A plan in words, for `--dry-run` and `--verbose`.

use crate::plan::{How, Plan};
use numloom_config::{join, quote};

/// `not_run`: why the command could not be run, were it to be.
pub fn tell(plan: &Plan, not_run: Option<&str>) -> String {
    let here = if matches!(plan.how, How::Script | How::Module) { " (in this process)" } else { "" };
    let mut out = format!("Command{here}:\n  {}\n", join(&plan.argv));
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            out.push_str(&format!("{title}:\n"));
            lines.iter().for_each(|line| out.push_str(&format!("  {line}\n")));
        }
    };
    list("Environment", plan.variables.iter().map(|(name, value)| format!("{name}={}", quote(value))).collect());
    list("Binding", plan.binding.shown.clone());
    list("Notes", plan.resolved.notes.clone());
    list("Not run", not_run.map(str::to_string).into_iter().collect());
    out
}
