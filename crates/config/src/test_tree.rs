//! Files for tests: a tree that stands for a machine, and texts kept beside the code.

use std::fs::{create_dir_all, remove_dir_all, write};
use std::path::{Path, PathBuf};

pub struct Tree(PathBuf);

impl Tree {
    pub fn new(name: &str) -> Tree {
        let root = std::env::temp_dir().join(format!("numloom-tree-{}-{name}", std::process::id()));
        create_dir_all(&root).unwrap();
        Tree(root)
    }

    pub fn file(self, path: &str, text: &str) -> Tree {
        let file = self.0.join(path);
        create_dir_all(file.parent().unwrap()).unwrap();
        write(file, text).unwrap();
        self
    }

    pub fn root(&self) -> &Path {
        &self.0
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = remove_dir_all(&self.0);
    }
}

/// A file of this crate must read so; with `UPDATE_DOCS` set it is written so.
pub fn assert_written(file: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        write(&file, text).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == text, "{} differs: run UPDATE_DOCS=1 cargo test -p numloom-config", file.display());
}
