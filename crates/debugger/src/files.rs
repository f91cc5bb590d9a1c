//! Where source texts are looked for: under the name that debug information has, and under the file's own name in folders.

use crate::Sources;
use std::path::{Path, PathBuf};

/// Source files beyond this size are not shown.
const LARGEST: u64 = 16 << 20;

/// See the module.
#[derive(Clone, Debug)]
pub struct Files(Vec<PathBuf>);

impl Files {
    /// Files of these folders.
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self(folders)
    }

    fn find(&self, file: &str) -> Option<PathBuf> {
        let named = Path::new(file);
        let beside = self.0.iter().filter_map(|folder| Some(folder.join(named.file_name()?)));
        std::iter::once(named.to_owned()).chain(beside).find(|path| {
            let data = std::fs::metadata(path);
            data.is_ok_and(|data| data.is_file() && data.len() <= LARGEST)
        })
    }
}

impl Sources for Files {
    fn text(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.find(file)?).ok()
    }

    fn path(&self, file: &str) -> Option<String> {
        let found = std::path::absolute(self.find(file)?).ok()?;
        Some(found.to_string_lossy().into_owned())
    }
}
