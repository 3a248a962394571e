//! One table of settings. The parser, the help text and the values all come from it.

mod settings;
mod text;

pub use settings::{SETTINGS, Setting, Settings};
pub use text::{ConfigError, parse, split};

use std::sync::OnceLock;

static CURRENT: OnceLock<Settings> = OnceLock::new();

/// The settings of this process, read once from `NUMLOOM_CONFIG` (or `LEGATE_CONFIG`).
/// What cannot be read is left at its default; `check` says what was wrong with it.
pub fn current() -> &'static Settings {
    CURRENT.get_or_init(|| parse(&environment()).unwrap_or_default())
}

/// Whether the environment's configuration can be read; the front calls this at import.
pub fn check() -> Result<(), ConfigError> {
    parse(&environment()).map(|_| ())
}

fn environment() -> String {
    std::env::var("NUMLOOM_CONFIG").or_else(|_| std::env::var("LEGATE_CONFIG")).unwrap_or_default()
}

/// The settings as `--help` lists them.
pub fn help() -> String {
    let mut out = String::from("usage: NUMLOOM_CONFIG=\"[--flag[=value]] ...\"\n\n");
    for s in SETTINGS {
        out.push_str(&format!("  --{:<18} {} (default {})\n", s.name, s.help, s.default));
    }
    out
}
