//! What planning may know of the world outside.

use numloom_config::Machine;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Missing,
    Plain,
    Executable,
    Directory,
}

/// The world: this machine, or one that a test describes.
pub trait World {
    fn variable(&self, name: &str) -> Option<String>;
    /// The names of all variables, sorted.
    fn variables(&self) -> Vec<String>;
    /// A program on the `PATH`.
    fn find(&self, program: &str) -> Option<PathBuf>;
    /// What `mpirun --version` prints.
    fn version_of(&self, mpirun: &Path) -> String;
    fn file(&self, path: &str) -> FileKind;
    /// The Python interpreter that programs run under.
    fn python(&self) -> String;
    fn machine(&self) -> Machine;
}

/// This machine.
pub struct Here {
    pub python: String,
}

impl World for Here {
    fn variable(&self, name: &str) -> Option<String> {
        numloom_config::variable(name)
    }

    fn variables(&self) -> Vec<String> {
        let mut names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
        names.sort();
        names
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        let runs = |path: &Path| path.to_str().is_some_and(|p| self.file(p) == FileKind::Executable);
        if program.contains('/') {
            return Some(PathBuf::from(program)).filter(|p| runs(p));
        }
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|directory| directory.join(program)).find(|p| runs(p))
    }

    fn version_of(&self, mpirun: &Path) -> String {
        let asked = std::process::Command::new(mpirun).arg("--version").output();
        asked.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default()
    }

    fn file(&self, path: &str) -> FileKind {
        match std::fs::metadata(path) {
            Err(_) => FileKind::Missing,
            Ok(found) if found.is_dir() => FileKind::Directory,
            Ok(found) if found.permissions().mode() & 0o111 != 0 => FileKind::Executable,
            Ok(_) => FileKind::Plain,
        }
    }

    fn python(&self) -> String {
        self.python.clone()
    }

    fn machine(&self) -> Machine {
        Machine::here()
    }
}
