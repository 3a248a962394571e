//! A tree of files that stands for a machine, removed when dropped.

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
